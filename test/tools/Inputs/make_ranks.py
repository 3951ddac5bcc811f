#!/usr/bin/env python3
"""Makes the traces that PyTorch's profiler would write of a step of a cluster, one a rank, with known differences from the plan.

usage: make_ranks.py plan.json FOLDER [--truth FILE] [option...]
Ranks run the passes of 1F1B with the times of the plan, and meet in collectives and messages: an event-driven simulation of its own,
in which whoever comes first waits. Options plant what `accord compare` has to find; --truth writes what was planted, in seconds.
"""
import argparse
import gzip
import json
import os

KINDS = {"allreduce": "AllReduce_Sum_bf16_RING_LL", "_allgather_base": "AllGather_RING_LL", "_reduce_scatter_base": "ReduceScatter_Sum_f32_RING_LL",
         "all_to_allv": "SendRecv", "send": "SendRecv", "recv": "SendRecv"}
# A layer: name of the call, kernel, share of its computation, and of its gradient.
LAYER = [("aten::layer_norm", "vectorized_layer_norm_kernel", 0.1, "NativeLayerNormBackward0"), ("aten::linear", "sm80_xmma_gemm_bf16", 0.4, "AddmmBackward0"),
         ("aten::_scaled_dot_product_flash_attention", "flash_fwd_kernel", 0.2, "ScaledDotProductFlashAttentionBackward0"),
         ("aten::gelu", "vectorized_elementwise_kernel", 0.1, "GeluBackward0"), ("aten::linear", "sm80_xmma_gemm_bf16", 0.2, "AddmmBackward0")]


def parsed():
    a = argparse.ArgumentParser()
    a.add_argument("plan"), a.add_argument("folder")
    a.add_argument("--truth")
    a.add_argument("--straggler", default="", help="RANK=FACTOR: its kernels take longer")
    a.add_argument("--slow-link", default="", help="RANKS=FACTOR, as 1,5=3: transfers among exactly these ranks take longer")
    a.add_argument("--no-overlap", action="store_true", help="gradients are exchanged behind the last pass")
    a.add_argument("--extra", default="", help="RANK=SECONDS: a multiplication in every forward pass of that rank; RANK may be 'all'")
    a.add_argument("--unknown", default="", help="RANK=SECONDS: the same by a kernel of no known kind")
    a.add_argument("--no-messages", action="store_true", help="traces say nothing of collectives but the kernels' names")
    a.add_argument("--no-ranks", action="store_true", help="they say sizes of groups, but not whose they are")
    a.add_argument("--no-info", action="store_true", help="no distributedInfo")
    a.add_argument("--skew", type=float, default=0, help="microseconds by which each rank's clock is ahead of the one before")
    a.add_argument("--steps", type=int, default=1)
    a.add_argument("--gzip", action="store_true")
    a.add_argument("--exchange-share", type=float, default=0.1, help="of the passes, in collectives of tensor and expert parallelism")
    return a.parse_args()


def option(text):
    name, _, value = text.partition("=")
    return name, float(value) if value else 0.0


class Rank:
    def __init__(self, number, stage, replica, tensor):
        self.number, self.stage, self.replica, self.tensor = number, stage, replica, tensor
        self.now = 1e6   # when its stream of computation is free, microseconds of a common clock
        self.side = 0.0     # and its stream of collectives that run beside
        self.busy, self.kernels, self.calls, self.marks = [], [], [], []
        self.correlation = self.sequence = 0
        self.truth = {}


class World:
    def __init__(self, options, plan):
        self.o, self.plan = options, plan
        self.stages, self.m = plan["stages"], plan["microbatches"]
        self.ranks = {}
        for s, group in enumerate(plan["groups"]["stages"]):
            data, tensor = group["data"], group["tensor"]
            for r in range(data["count"]):
                for i in range(tensor["count"]):
                    number = data["first"] + r * data["stride"] + i
                    self.ranks[number] = Rank(number, s, r, i)
        self.config = self.stages[0]["parallel_config"]
        self.meeting, self.posted, self.sent = {}, {}, {}
        self.straggler = option(options.straggler)
        ranks, self.factor = option(options.slow_link)
        self.slow = sorted(int(r) for r in ranks.split(",")) if ranks else None

    def slowed(self, ranks, seconds):
        return seconds * (self.factor if self.slow == sorted(ranks) else 1)

    # What one rank does, step after step. It yields where it has to wait for others; time is its own `now`.
    def compute(self, rank, name, kernel, seconds, part, engine=None):
        if str(rank.number) == self.straggler[0]:
            seconds *= self.straggler[1]
        rank.sequence += part == "forward"
        self.kernel(rank, kernel, rank.now, seconds * 1e6, name, part, engine, None)
        rank.now += seconds * 1e6
        self.add(rank, "computation", seconds)

    def add(self, rank, key, seconds):
        rank.truth[key] = rank.truth.get(key, 0) + seconds

    def kernel(self, rank, kernel, start, duration, name, part, engine, said, stream=7):
        rank.correlation += 1
        rank.kernels.append((kernel, start, duration, rank.correlation, stream, said))
        rank.calls.append((name, rank.correlation, part, engine, rank.sequence, said))

    def said(self, call, elements, kind, ranks, group, ends=None):
        args = {"Collective name": call, "In msg nelems": elements, "Out msg nelems": elements, "dtype": kind, "Group size": len(ranks),
                "Process Group Name": group, "Process Group Ranks": str(sorted(ranks))}
        if ends:
            args["Src Rank"], args["Dst Rank"] = ends
        if self.o.no_ranks:
            for key in ("Process Group Name", "Process Group Ranks"):
                del args[key]
        return {} if self.o.no_messages else args

    def collective(self, rank, key, ranks, seconds, call, elements, kind, part, purpose):
        """A collective that its passes wait for."""
        meeting = self.meeting.setdefault(key, {})
        start = rank.now
        meeting[rank.number] = start
        while len(meeting) < len(ranks):
            yield
        end = max(meeting.values()) + self.slowed(ranks, seconds) * 1e6
        self.kernel(rank, "ncclDevKernel_" + KINDS[call], start, end - start, "c10d::" + call, part, None,
                    self.said(call, elements, kind, ranks, key[0]), 20)
        self.add(rank, purpose, self.slowed(ranks, seconds))
        self.add(rank, "rank waits", (max(meeting.values()) - start) * 1e-6)
        rank.now = end

    def inside(self, rank, seconds, kind, step, number, part):
        """Collectives inside of a layer."""
        config, stage = self.config, rank.stage
        if config["tensor"] > 1:
            ranks = [r.number for r in self.ranks.values() if r.stage == stage and r.replica == rank.replica]
            yield from self.collective(rank, (f"tensor{ranks[0]}", step, *number), ranks, seconds, "allreduce", 1 << 20, "BFloat16", part, "layer exchanges")
        if config.get("expert", 1) > 1:
            e = config["expert"]
            ranks = [r.number for r in self.ranks.values() if r.stage == stage and r.replica // e == rank.replica // e and r.tensor == rank.tensor]
            yield from self.collective(rank, (f"expert{ranks[0]}", step, *number), ranks, seconds, "all_to_allv", 1 << 20, "BFloat16", part, "layer exchanges")

    def peers(self, rank):
        return [r.number for r in self.ranks.values() if r.stage == rank.stage and r.tensor == rank.tensor]

    def divided(self, rank, step, number, part):
        """What ZeRO 3 gathers before a pass, and scatters behind it, so long as the plan has it."""
        if self.config.get("zero", 0) < 3:
            return
        moved = self.stages[rank.stage]["step"]["transfer_s"] / (2 * self.m)
        weights = self.weights(rank.stage)
        parts = [("_allgather_base", weights // 2, "BFloat16")] if part == "forward" else [("_allgather_base", weights // 2, "BFloat16"), ("_reduce_scatter_base", weights // 2, "Float")]
        for n, (call, elements, kind) in enumerate(parts):
            yield from self.collective(rank, (f"data{rank.stage}.{rank.tensor}", step, *number, n), self.peers(rank), moved / len(parts), call, elements, kind, part, "replicas")

    def weights(self, stage):
        return next((c["bytes"] for c in self.plan["communication"] if c["what"] == "gradients" and c["stage"] == stage), 0) // 2

    def run_pass(self, rank, kind, step, microbatch):
        part = "forward" if kind == 0 else "backward"
        stage = self.stages[rank.stage]
        seconds = (stage["step"]["forward_s"] if kind == 0 else stage["step"]["backward_s"] + stage["step"]["recompute_s"]) / self.m
        p = len(self.stages)
        before, after = (rank.stage - 1, rank.stage + 1) if kind == 0 else (rank.stage + 1, rank.stage - 1)
        if 0 <= before < p:
            yield from self.receive(rank, before, kind, step, microbatch, part)
        yield from self.divided(rank, step, (kind, microbatch, "weights"), part)
        layers = min(4, stage["layer_count"])
        exchanges = (self.config["tensor"] > 1) + (self.config.get("expert", 1) > 1)
        inside = seconds * self.o.exchange_share if exchanges else 0
        for layer in range(layers):
            if kind == 1 and microbatch == self.m - 1 and not self.o.no_overlap:
                self.post_gradients(rank, step, layer, layers)
            if kind == 0 and layer == 0:
                for name, option_text, kernel in (("aten::mul", self.o.extra, "vectorized_elementwise_kernel_mul"), ("my::thing", self.o.unknown, "mystery")):
                    whose, extra = option(option_text)
                    if whose in (str(rank.number), "all"):
                        self.compute(rank, name, kernel, extra, part)
                        self.add(rank, "extra", extra)
            for n, (name, kernel, share, engine) in enumerate(LAYER if kind == 0 else reversed(LAYER)):
                self.compute(rank, name, kernel if kind == 0 else kernel.replace("fwd", "bwd"), (seconds - inside) / layers * share, part, None if kind == 0 else engine)
                if n in (2, 4):
                    yield from self.inside(rank, inside / layers / 2 / max(1, exchanges), kind, step, (kind, microbatch, layer, n), part)
        if 0 <= after < p:
            self.send(rank, after, kind, step, microbatch, part)

    # Gradients: a bucket for each layer of the last backward pass, on a stream of their own.
    def gradients(self, stage):
        return next((c for c in self.plan["communication"] if c["what"] == "gradients" and c["stage"] == stage), None)

    def post_gradients(self, rank, step, bucket, buckets):
        if self.gradients(rank.stage) and self.config.get("zero", 0) < 3:
            self.posted.setdefault((rank.stage, rank.tensor, step), {}).setdefault(rank.number, []).append((rank.now, bucket, buckets))

    def wait_gradients(self, rank, step):
        """The exchange takes `time_s` of the plan; what the plan exposes of it is a bucket behind the last pass."""
        planned = self.gradients(rank.stage)
        if not planned or self.config.get("zero", 0) >= 3:
            return
        key, ranks = (rank.stage, rank.tensor, step), self.peers(rank)
        if self.o.no_overlap:
            self.post_gradients(rank, step, 0, 1)
        done = self.posted[key].setdefault("done", set())
        done.add(rank.number)
        while len(done) < len(ranks):
            yield
        posts = self.posted[key]
        free, ends = 0.0, {}
        zero = self.config.get("zero", 0)
        exposed = planned["exposed_s"] if not self.o.no_overlap else 0
        parts = [(planned["time_s"] - exposed) / len(posts[rank.number])] * len(posts[rank.number]) + ([exposed] if exposed else [])
        calls = len(parts)
        for n, seconds in enumerate(parts):
            late = n >= len(posts[rank.number])
            starts = {r: max(self.ranks[r].now if late else posts[r][n][0], free) for r in ranks}
            if late:
                starts = {r: max(self.posted[key].setdefault("ready", {}).setdefault(r, self.ranks[r].now), free) for r in ranks}
            end = max(starts.values()) + self.slowed(ranks, seconds) * 1e6
            call = "allreduce" if zero == 0 else "_reduce_scatter_base" if n < max(1, calls // 2) else "_allgather_base"
            elements = planned["bytes"] // 4 // calls if zero == 0 else planned["bytes"] // 4 // max(1, calls // 2) if call == "_reduce_scatter_base" else planned["bytes"] // 4 // max(1, calls - calls // 2)
            self.kernel(rank, "ncclDevKernel_" + KINDS[call], starts[rank.number], end - starts[rank.number], "c10d::" + call, "backward", None,
                        self.said(call, elements, "Float" if call != "_allgather_base" else "BFloat16", ranks, f"data{rank.stage}.{rank.tensor}"), 24)
            self.add(rank, "replica transfer", self.slowed(ranks, seconds))
            free = end
        rank.after = free

    def tied(self, rank, step):
        """Without replicas, what the plan exposes of exchanges of gradients are those of parameters of the first and the last stage."""
        last = len(self.stages) - 1
        seconds = self.stages[rank.stage]["step"]["gradient_sync_s"]
        if self.gradients(rank.stage) or seconds <= 0 or rank.stage not in (0, last):
            return
        ranks = [rank.number, self.facing(rank, last - rank.stage)]
        size = self.plan["sizes"]["vocab"] * self.plan["sizes"]["hidden"] // self.config["tensor"]
        yield from self.collective(rank, (f"embedding{min(ranks)}", step), ranks, seconds, "allreduce", size, "Float", "backward", "replica transfer")

    def send(self, rank, stage, kind, step, microbatch, part):
        other = self.facing(rank, stage)
        self.sent[rank.number, other, kind, step, microbatch] = rank.now
        rank.sends.append((other, kind, step, microbatch, rank.now, part))

    def facing(self, rank, stage):
        return next(r.number for r in self.ranks.values() if r.stage == stage and r.replica == rank.replica and r.tensor == rank.tensor)

    def message(self, a, b):
        low = min(self.ranks[a].stage, self.ranks[b].stage)
        one = next(c for c in self.plan["communication"] if c["what"] == "activations" and c["from_stage"] == low)
        return self.slowed([a, b], one["time_s"]), one["bytes"]

    def receive(self, rank, stage, kind, step, microbatch, part):
        other = self.facing(rank, stage)
        key = other, rank.number, kind, step, microbatch
        while key not in self.sent:
            yield
        seconds, size = self.message(other, rank.number)
        start, end = rank.now, max(rank.now, self.sent[key]) + seconds * 1e6
        self.meeting[key] = (start, end)
        self.kernel(rank, "ncclDevKernel_SendRecv", start, end - start, "c10d::recv", part, None,
                    self.said("recv", size // 2, "BFloat16", self.pipeline(rank), f"pipe{rank.replica}.{rank.tensor}", (other, rank.number)), 21)
        self.add(rank, "stage waits", end * 1e-6 - seconds - start * 1e-6)
        self.add(rank, "messages", seconds)
        rank.now = end

    def pipeline(self, rank):
        return [r.number for r in self.ranks.values() if r.replica == rank.replica and r.tensor == rank.tensor]

    def finish_sends(self, rank, step):
        for n, (other, kind, of, microbatch, start, part) in enumerate(rank.sends):
            if of != step:
                continue
            key = rank.number, other, kind, of, microbatch
            while key not in self.meeting:
                yield
            end = self.meeting[key][1]
            size = self.message(rank.number, other)[1]
            self.kernel(rank, "ncclDevKernel_SendRecv", start, end - start, "c10d::send", part, None,
                        self.said("send", size // 2, "BFloat16", self.pipeline(rank), f"pipe{rank.replica}.{rank.tensor}", (rank.number, other)), 22 + kind)

    def order(self, stage):
        p, m = len(self.stages), self.m
        warm = min(m, p - stage - 1)
        passes = [(0, i) for i in range(warm)]
        for i in range(m - warm):
            passes += [(0, warm + i), (1, i)]
        return passes + [(1, i) for i in range(m - warm, m)]

    def program(self, rank):
        rank.sends = []
        for step in range(self.o.steps):
            begin, first = rank.now, len(rank.kernels)
            rank.truth, rank.after = {}, 0
            for kind, microbatch in self.order(rank.stage):
                yield from self.run_pass(rank, kind, step, microbatch)
            yield from self.wait_gradients(rank, step)
            rank.now = max(rank.now, rank.after)
            yield from self.tied(rank, step)
            self.compute(rank, "aten::_fused_adam_", "multi_tensor_apply_kernel", self.stages[rank.stage]["step"]["update_s"], "update")
            yield from self.finish_sends(rank, step)
            rank.marks.append((step + 1, begin, rank.now, first, len(rank.kernels), dict(rank.truth)))
            rank.now += 3.0

    def run(self):
        programs = {number: self.program(rank) for number, rank in sorted(self.ranks.items())}
        stuck = 0
        while programs:
            before = sum(len(rank.kernels) for rank in self.ranks.values()) + len(self.sent) + sum(len(x) for x in self.posted.values()), len(programs)
            for number in list(programs):
                try:
                    next(programs[number])
                except StopIteration:
                    del programs[number]
            after = sum(len(rank.kernels) for rank in self.ranks.values()) + len(self.sent) + sum(len(x) for x in self.posted.values()), len(programs)
            stuck = stuck + 1 if before == after else 0
            if stuck > 3:
                raise SystemExit("the ranks wait for each other")

    # The trace of a rank. Its host runs ahead of its device, by 2 us for each kernel.
    def trace(self, rank):
        skew = self.o.skew * rank.number
        events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]

        def put(cat, name, start, duration, args=None, tid=1, pid=1):
            events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": round(start + skew, 3), "dur": round(duration, 3), "args": args or {}})
        for number, begin, end, first, last, _ in rank.marks:
            host = begin - 2.0 * (last - first) - 10
            opened = None
            for n in range(first, last):
                name, correlation, part, engine, sequence, said = rank.calls[n]
                at = host + 2.0 * (n - first) + 1
                args = {"External id": correlation}
                if part == "forward":
                    args["Sequence number"] = sequence
                put("cpu_op", name, at + 0.2, 1.0, args)
                if said is not None and said:
                    put("cpu_op", "record_param_comms", at + 0.3, 0.8, said)
                if engine:
                    put("cpu_op", "autograd::engine::evaluate_function: " + engine, at + 0.1, 1.2, {"Sequence number": sequence})
                if part == "backward" and not engine:
                    put("cpu_op", "autograd::engine::evaluate_function: CommBackward0", at + 0.1, 1.2)
                if part == "update":
                    put("user_annotation", "Optimizer.step#Adam.step", at + 0.1, 1.2)
                put("cuda_runtime", "cudaLaunchKernel", at + 0.5, 0.2, {"correlation": correlation})
                kernel, start, duration, _, stream, said = rank.kernels[n]
                put("kernel", kernel, start, duration, {"device": 0, "stream": stream, "correlation": correlation}, tid=stream, pid=0)
            put("user_annotation", f"ProfilerStep#{number}", host, 2.0 * (last - first) + 8)
        info = {} if self.o.no_info else {"distributedInfo": {"backend": "nccl", "rank": rank.number, "world_size": len(self.ranks)}}
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], **info, "traceEvents": events}


def main():
    options = parsed()
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    if plan["virtual_stages"] > 1 or plan["schedule"] != "one_f_one_b":
        raise SystemExit(f"only 1F1B is made here, the plan has {plan['schedule']}")
    world = World(options, plan)
    world.run()
    os.makedirs(options.folder, exist_ok=True)
    for number, rank in world.ranks.items():
        data = json.dumps(world.trace(rank)).encode()
        with open(os.path.join(options.folder, f"rank{number}.json" + (".gz" if options.gzip else "")), "wb") as file:
            file.write(gzip.compress(data, mtime=0) if options.gzip else data)
    if options.truth:
        with open(options.truth, "w", encoding="utf-8") as file:
            json.dump({str(rank.number): rank.marks[0][5] for rank in world.ranks.values()}, file)


main()
