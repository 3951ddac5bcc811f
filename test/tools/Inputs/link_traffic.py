"""link_traffic.py ACCORD SCRATCH: bytes over links of plans for clusters, against formulas of this script alone.

A collective among n devices with a payload of S bytes sends, in the mean over its devices, by any algorithm that is optimal in
bandwidth: an all-reduce 2 (n-1)/n S, a reduce-scatter or all-gather (n-1)/n S (Patarasuk and Yuan, JPDC 69(2), 2009, section 2;
Thakur et al., IJHPCA 19(1), 2005, table 2), an all-to-all in which each device has S bytes (n-1)/n S. What is inside of layers is
compared by two models that differ in blocks alone, so that embedding and loss, which exchange other things, drop out. A block
exchanges what Shoeybi et al. (Megatron-LM, 2019, section 3) and, along the sequence, Korthikanti et al. (2022, section 4.2) say."""
import json
import os
import subprocess
import sys

accord, scratch = sys.argv[1:3]
os.makedirs(scratch, exist_ok=True)
HIDDEN, HEADS, TOKENS, BATCH, MICRO, BYTES, SUMMED = 512, 8, 256, 64, 2, 2, 4
CLUSTER = """import "catalog/a100.accel"
cluster pair {
  server box[%d] {
    device gpu[8] : a100_80g
    network nvlink { connects = gpu, topology = switch, bandwidth = 300 GB/s, latency = 2 us }
  }
  %s
}
"""
RAIL = "network ib { connects = box, topology = switch, bandwidth = 100 GB/s, latency = 5 us }"
MODELS = """import "catalog/transformer.dnn"
import "%s.accel"
model perceptron(layers = 8, hidden = 1024) {
  input x : float[hidden]
  input target : float[hidden]
  var y = x
  repeat layers as block { y = relu(linear(y, out = hidden)) }
  loss mse(y, target)
}
model decoder(layers = 4, hidden = 512, heads = 8, seq = 256, vocab = 1024) {
  input tokens : int32[seq]
  input labels : int32[seq]
  var x = embedding(tokens, rows = vocab, dim = hidden)
  repeat layers as block {
    x = x + attention(layer_norm(x), heads = heads, causal = true)
    x = x + gelu_mlp(layer_norm(x), hidden, 4 * hidden)
  }
  loss cross_entropy(linear(layer_norm(x), out = vocab, bias = false), labels)
}
model mixture(layers = 4, hidden = 512, heads = 8, seq = 256, vocab = 1024) {
  input tokens : int32[seq]
  input labels : int32[seq]
  var x = embedding(tokens, rows = vocab, dim = hidden)
  repeat layers as block {
    x = x + attention(layer_norm(x), heads = heads, causal = true)
    x = x + moe(layer_norm(x), experts = 8, inner = 2 * hidden, top_k = 2, capacity_factor = 1, gated = true, normalize = true)
  }
  loss cross_entropy(linear(layer_norm(x), out = vocab, bias = false), labels)
}
train t = %s on pair {
  batch = %d
  precision = mixed(bf16)
  optimizer = adam
  search { microbatch = %d, recompute = none, schedule = one_f_one_b, %s }
}
"""


def compiled(name, model, servers=1, **degrees):
    search = {"tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 1, "zero": 0, **degrees}
    with open(os.path.join(scratch, name + ".accel"), "w", encoding="utf-8") as f:
        f.write(CLUSTER % (servers, RAIL if servers > 1 else ""))
    file, out = os.path.join(scratch, name + ".dnn"), os.path.join(scratch, name)
    with open(file, "w", encoding="utf-8") as f:
        f.write(MODELS % (name, model, BATCH, MICRO, ", ".join(f"{k} = {v}" for k, v in search.items())))
    subprocess.run([accord, "compile", "--ideal", file, "-o", out], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([accord, "verify", out], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "plan.json"), encoding="utf-8") as f:
        return json.load(f)


def sums(plan):
    """Bytes of all devices by kind. Those of links have to be those of flows, and links have to carry what they are said to."""
    links, flows = {}, {}
    traffic = plan["traffic"]
    for link in traffic["links"]:
        assert abs(sum(link["bytes_by_kind"].values()) - link["bytes"]) <= 1e-9 * max(1, link["bytes"]), link
        for kind, value in link["bytes_by_kind"].items():
            links[kind] = links.get(kind, 0) + value
        if link["used"]:
            assert link["busiest_bytes"] * link["used"] >= link["bytes"] * (1 - 1e-9), link
            share = link["busiest_bytes"] / link["bandwidth"] / plan["step_time_s"]
            assert abs(share - link["utilization"]) <= 1e-9 * share, link
    for flow in traffic["flows"]:
        devices = plan["stages"][flow["group"]]["devices"]["count"]
        flows[flow["kind"]] = flows.get(flow["kind"], 0) + flow["bytes"] * devices
    assert links.keys() == flows.keys(), (links, flows)
    assert all(abs(value - flows[kind]) <= 1e-9 * value for kind, value in links.items()), (links, flows)
    used = max(traffic["links"], key=lambda link: link["utilization"])
    assert traffic["links"][traffic["busiest_link"]]["utilization"] == used["utilization"]
    return links


wrong = []


def close(what, stated, by_formula):
    ratio = stated / by_formula
    print(f"{what}: {stated:.6g} B, {ratio:.6f} of what the formula gives")
    if abs(ratio - 1) > 1e-6:
        wrong.append(what)


def others(n):
    return (n - 1) / n


def inside(name, model, kind, **degrees):
    """What one more block adds."""
    small, large = (sums(compiled(f"{name}{layers}", f"{model}(layers = {layers})", **degrees)) for layers in (2, 6))
    return (large[kind] - small[kind]) / 4


def main():
    # Gradients of all parameters, added up in four bytes: one all-reduce; by ZeRO a reduce-scatter, in each micro-batch where there is
    # no room for them all the time, and a gather of weights, in stage 3 twice in each.
    parameters = 8 * (1024 * 1024 + 1024)
    for name, n, servers, zero in (("data", 8, 1, 0), ("servers", 16, 2, 0), ("zero1", 8, 1, 1), ("zero2", 8, 1, 2), ("zero3", 16, 2, 3)):
        plan = compiled(name, "perceptron()", servers, data_parallel=n, zero=zero)
        assert plan["parameters"] == parameters
        each = BATCH // MICRO // n
        scalar = {0: 2 * SUMMED, 1: SUMMED + BYTES, 2: each * SUMMED + BYTES, 3: each * (SUMMED + 2 * BYTES)}[zero]
        close(f"{n} replicas, ZeRO {zero}", sums(plan)["data"], n * others(n) * parameters * scalar)
    activations = BATCH * TOKENS * HIDDEN * BYTES
    # Two all-reduces in the forward and two in the backward pass.
    close("a block on 4 devices", inside("tensor", "decoder", "tensor", tensor_parallel=4, sequence_parallel=1),
          4 * 4 * 2 * others(4) * activations)
    # Gathered and scattered along the sequence instead, twice in each pass, and what was gathered once more for two gradients of
    # weights; gradients of two layer norms' scales and shifts are of a part of the tokens and are added up in each micro-batch.
    norms = BATCH // MICRO * 4 * HIDDEN * BYTES
    close("a block along the sequence", inside("sequence", "decoder", "tensor", tensor_parallel=4, sequence_parallel=4),
          4 * others(4) * ((4 + 4 + 2) * activations + 2 * norms))
    # Three boundaries, an activation and its gradient.
    plan = compiled("pipeline", "decoder(layers = 6)", pipeline_parallel=4)
    close("four stages", sums(plan)["pipeline"], 3 * 2 * activations)
    # Keys and values of all others, in the forward and the backward pass, and their gradients.
    close("a block of a context", inside("context", "decoder", "context", context_parallel=4), 4 * 6 * others(4) * activations)
    # Tokens to their two experts and back, and the gradients of both.
    close("a block of experts", inside("experts", "mixture", "expert", data_parallel=8, expert_parallel=8), 4 * 2 * others(8) * activations)
    if wrong:
        sys.exit("not as the formulas say: " + ", ".join(wrong))


main()
