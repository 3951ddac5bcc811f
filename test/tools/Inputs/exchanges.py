# What the documents of `accord estimate --json` on a cluster say about communication, against published formulas.
import json
import sys

# lib/catalog/dgx.accel: NVLink among 8 GPUs of a DGX A100 (measured), InfiniBand of a server in one direction.
NVLINK, IB, LATENCY = 230e9, 200e9, 17e-6
# GPT-2 medium: 24 layers, width 1024, sequence 1024.
LAYERS, HIDDEN, SEQUENCE, MICROBATCH = 24, 1024, 1024, 2


def load(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def exchanges(document, axis):
    return [o for o in document["operations"] if o.get("communication", {}).get("axis") == axis]


def close(found, expected, what):
    if abs(found - expected) > 1e-6 * expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


def main():
    tensor, sequence, both, one = (load(path) for path in sys.argv[1:5])
    payload = MICROBATCH * SEQUENCE * HIDDEN * 2  # bf16
    # Shoeybi et al., Megatron-LM, 2019, section 3: in each layer two all-reduces forward and two backward, of all activations.
    layers = [o for o in exchanges(tensor, "tensor") if ".block." in o["name"] and o["communication"]["payload"] == payload]
    if [o["communication"]["kind"] for o in layers] != ["all_reduce"] * 4:
        sys.exit(f"all-reduces of a layer: {[o['name'] for o in layers]}")
    for o in layers:
        if o["count"] != LAYERS * tensor["microbatches"]:
            sys.exit(f"{o['name']} runs {o['count']} times")
        # Thakur et al. 2005, table 2: recursive halving and doubling, the best one for powers of two.
        close(o["time_s"], 6 * LATENCY + 2 * 7 / 8 * payload / NVLINK, o["name"])
    # Korthikanti et al. 2022, section 4.2.2: with sequence parallelism each all-reduce becomes a reduce-scatter and an
    # all-gather: the same bytes. The backward pass gathers once more what a layer had thrown away.
    kinds = [o["communication"]["kind"] for o in exchanges(sequence, "tensor")
             if ".block." in o["name"] and o["communication"]["payload"] == payload]
    if kinds.count("reduce_scatter") != 4 or kinds.count("all_gather") not in (4, 6):
        sys.exit(f"exchanges of a layer with sequence parallelism: {kinds}")
    # Data parallelism: every gradient once a step; the eight replicas of a server share what leaves it.
    gradients = exchanges(both, "data")
    servers = both["cluster"]["data_parallel"]
    for o in gradients:
        size = o["communication"]["payload"]
        if o["count"] != 1 or o["communication"]["devices"] != servers:
            sys.exit(f"{o['name']} runs {o['count']} times")
        rounds = 2 * (servers.bit_length() - 1)
        close(o["time_s"], rounds * LATENCY + 2 * (servers - 1) / servers * size / (IB / 8), o["name"])
    # Each trained number has a gradient of two bytes.
    close(sum(o["communication"]["payload"] for o in gradients), 2 * both["totals"]["parameters"], "bytes of gradients")
    # One device of a cluster is that device alone.
    if exchanges(one, "tensor") or exchanges(one, "data") or one["totals"]["time_s"] <= tensor["totals"]["time_s"] / 8:
        sys.exit("one device exchanges data")
    print("ok")


if __name__ == "__main__":
    main()
