#!/usr/bin/env python3
"""Makes the trace that PyTorch's profiler would write of a plan's step on a GPU, with known differences from the plan.

usage: make_kineto.py plan.json trace.json [--truth FILE] [option...]
Each operation of the plan becomes a call with its shapes and a kernel that takes the planned time. Options plant what
`accord compare` has to find; --truth writes what was planted: seconds by operation and group.
"""
import argparse
import gzip
import json
import re

CALLS = {"linear": "aten::linear", "matmul": "aten::bmm", "layer_norm": "aten::layer_norm", "softmax": "aten::softmax",
         "cross_entropy": "aten::cross_entropy_loss", "embedding": "aten::embedding", "add": "aten::add", "gelu": "aten::gelu",
         "relu": "aten::relu", "scale": "aten::mul", "mul": "aten::mul", "transpose": "aten::clone", "constant": "aten::ones_like",
         "conv2d": "aten::conv2d", "batch_norm": "aten::batch_norm", "max_pool": "aten::max_pool2d", "dropout": "aten::dropout",
         "global_avg_pool": "aten::adaptive_avg_pool2d", "reduce_dimensions": "aten::sum", "layer_norm_grad": "aten::native_layer_norm_backward",
         "softmax_grad": "aten::_softmax_backward_data", "cross_entropy_grad": "aten::nll_loss_backward",
         "embedding_grad": "aten::embedding_dense_backward", "gelu_grad": "aten::gelu_backward", "relu_grad": "aten::threshold_backward",
         "batch_norm_grad": "aten::native_batch_norm_backward", "max_pool_grad": "aten::max_pool2d_with_indices_backward",
         "dropout_grad": "aten::native_dropout_backward", "contract": "aten::mm", "broadcast": "aten::clone"}
PRODUCTS = ("linear", "matmul", "contract")


def parsed():
    a = argparse.ArgumentParser()
    a.add_argument("plan"), a.add_argument("trace")
    a.add_argument("--truth")
    a.add_argument("--slower", default="", help="KIND=FACTOR: kernels of this kind of operation take longer")
    a.add_argument("--drop", default="", help="end of a name: these operations are missing")
    a.add_argument("--copies", type=int, default=0, help="so many copies of 3 us behind each matrix product of the forward pass")
    a.add_argument("--fuse", default="", help="ends of names of products with one operand, separated by commas: one product does all")
    a.add_argument("--streams", type=int, default=1, help="every third kernel is on another stream, in parallel")
    a.add_argument("--collectives", type=int, default=0, help="so many all-reduces of 100 us on a stream of their own")
    a.add_argument("--host", type=float, default=1.0, help="microseconds of the host for each call")
    a.add_argument("--steps", type=int, default=2)
    a.add_argument("--loading", type=float, default=0, help="microseconds of the data loader before each step")
    a.add_argument("--no-shapes", action="store_true")
    a.add_argument("--no-sequence", action="store_true")
    a.add_argument("--annotate", action="store_true", help="record_function with the name of the operation around each forward call")
    a.add_argument("--graph", action="store_true", help="the kernels have no launch: as of a replayed graph")
    return a.parse_args()


class Trace:
    def __init__(self, options, plan):
        self.o, self.plan, self.graph = options, plan, plan["graph"]
        self.ops = self.graph["operations"]
        self.cost = [c["time_s"] for c in plan["costs"]["operations"]]
        self.events, self.correlation, self.sequence = [], 0, 0
        self.now = 1000.0  # of the host, in microseconds
        self.free = {}     # when a stream is
        self.kernels = 0
        self.truth = {"operations": {}, "missing": {}, "groups": {}, "fused": None}

    def put(self, cat, name, start, duration, args=None, tid=1, pid=1):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": round(start, 3), "dur": round(duration, 3),
                            "args": args or {}})

    def kernel(self, name, seconds, launched, stream=7, kind="kernel"):
        if self.o.streams > 1 and stream == 7:
            self.kernels += 1
            stream = 7 if self.kernels % 3 else 8
        start = max(launched + 3.0, self.free.get(stream, 0.0))
        if stream == 7 or stream == 8:  # one after the other, unless there are several streams
            start = max(start, self.free.get(7, 0.0)) if self.o.streams == 1 else start
        self.free[stream] = start + seconds * 1e6
        args = {"stream": stream, "device": 0}
        if not self.o.graph:
            args["correlation"] = self.correlation
        self.put(kind, name, start, seconds * 1e6, args, tid=stream, pid=0)

    def call(self, name, dims, kernels, sequence=None, values=None, scope=None, engine=None, stream=7):
        """A call that launches kernels: (name, seconds)."""
        start, spent = self.now, self.o.host
        args = {"External id": len(self.events)}
        if not self.o.no_shapes:
            args["Input Dims"] = dims
            args["Concrete Inputs"] = values or [""] * len(dims)
        if sequence is not None and engine is None and not self.o.no_sequence:
            args["Sequence number"] = sequence
        launched = []
        for kernel, seconds in kernels:
            self.correlation += 1
            launched.append((self.correlation, self.now + spent * 0.5))
            self.put("cuda_runtime", "cudaLaunchKernel", self.now + spent * 0.5, 0.2, {"correlation": self.correlation})
            self.kernel(kernel, seconds, self.now + spent * 0.5, stream)
            spent += self.o.host * 0.5
        self.put("cpu_op", name, start + 0.1, spent, args)
        if engine:
            more = {} if self.o.no_sequence or sequence is None else {"Sequence number": sequence}
            self.put("cpu_op", "autograd::engine::evaluate_function: " + engine, start + 0.04, spent + 0.12, more)
            self.put("cpu_op", engine, start + 0.06, spent + 0.08, more)
        if scope:
            self.put("user_annotation", scope, start + 0.02, spent + 0.16)
        self.now = start + spent + 0.4

    def sizes(self, op):
        return [t.get("sizes", []) for t in op.get("tensors", []) if not t.get("written")]

    def arguments(self, op):
        """Input Dims and Concrete Inputs of the call."""
        dims, kind = self.sizes(op), op["kind"]
        if kind in ("matmul", "contract"):
            k = 1
            for loop in op["domain"]:
                k *= loop["extent"] if loop["kind"] == "reduction" else 1
            out = [t for t in op["tensors"] if t.get("written")][0]["sizes"]
            n = out[-1]
            m = op["flops"] // 2 // k // n
            return ([[1, m, k], [1, k, n]], None) if kind == "matmul" else ([[m, k], [k, n]], None)
        if kind == "conv2d":
            out = [t for t in op["tensors"] if t.get("written")][0]["sizes"]
            x, w = dims[0], dims[1]
            stride = -(-x[2] // out[2])
            pad = -(-((out[2] - 1) * stride + w[2] - x[2]) // 2)
            return [x, w, [], [], [], [], []], ["", "", "", f"[{stride}, {stride}]", f"[{max(pad, 0)}, {max(pad, 0)}]", "[1, 1]", "1"]
        return dims, None

    def seconds(self, i):
        kind, _, factor = self.o.slower.partition("=")
        return self.cost[i] * (float(factor) if kind and self.ops[i]["kind"] == kind else 1)

    def add_truth(self, i, seconds):
        key = self.ops[i]["name"]
        self.truth["operations"][key] = self.truth["operations"].get(key, 0) + seconds

    def executions(self, region, layer=0):
        for i in self.graph["regions"][region]["operations"]:
            op = self.ops[i]
            if "body" in op:
                body = self.graph["regions"][op["body"]]
                for n in range(body["count"]):
                    yield from self.executions(op["body"], layer * body["count"] + (body["count"] - 1 - n if body.get("reverse") else n))
            elif self.cost[i] > 0:
                yield i, layer

    def forward_of(self, op, names):
        name = op["name"]
        while "." in name:
            name = name.rpartition(".")[0]
            if name in names:
                return name
        return None

    def step(self, number):
        o, begin = self.o, self.now
        self.truth["operations"].clear(), self.truth["missing"].clear(), self.truth["groups"].clear()
        if o.loading:
            self.put("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", self.now, o.loading)
            self.now += o.loading
        names = {op["name"] for op in self.ops if op["phase"] == "forward"}
        fused = [end for end in o.fuse.split(",") if end]
        for _ in range(self.graph["microbatches"]):
            numbers, together = {}, []
            for i, layer in self.executions(0):
                op = self.ops[i]
                backward = op["phase"] not in ("forward",)
                if o.drop and op["name"].endswith(o.drop):
                    self.truth["missing"][op["name"]] = self.truth["missing"].get(op["name"], 0) + 1
                    continue
                dims, values = self.arguments(op)
                if fused and not backward and any(op["name"].endswith(end) for end in fused):
                    together.append((i, dims))
                    if len(together) < len(fused):
                        continue
                    rows = sum(d[1][0] for _, d in together)
                    seconds = sum(self.seconds(j) for j, _ in together)
                    self.sequence += 1
                    self.call("aten::linear", [dims[0], [rows, dims[1][1]]], [("gemm_fused", seconds)], self.sequence)
                    for j, _ in together:
                        numbers[self.ops[j]["name"], layer] = self.sequence
                        self.add_truth(j, self.seconds(j))
                    self.truth["fused"] = [self.ops[j]["name"] for j, _ in together]
                    together = []
                    continue
                name = CALLS.get(op["kind"], "aten::" + op["kind"])
                kernel = ("sm80_xmma_gemm" if op["kind"] in PRODUCTS else "elementwise_kernel") + "_" + op["kind"]
                self.add_truth(i, self.seconds(i))
                if not backward:
                    self.sequence += 1
                    numbers[op["name"], layer] = self.sequence
                    # Numbers of layers as modules have them: block.3.mlp.linear.
                    scope = re.sub(r"\bblock\b", f"block.{layer}", op["name"]) if o.annotate else None
                    self.call(name, dims, [(kernel, self.seconds(i))], self.sequence, values, scope)
                    for _ in range(o.copies if op["kind"] in PRODUCTS else 0):
                        self.call("aten::contiguous", [dims[0]], [], None)
                        self.call("aten::copy_", [[7, 7], [7, 7]], [("copy_kernel", 3e-6)])
                        self.truth["groups"]["copies"] = self.truth["groups"].get("copies", 0) + 3e-6
                    continue
                of = self.forward_of(op, names)
                sequence = numbers.get((of, layer))
                if op["kind"] == "contract" and of and self.kind_of(of) == "conv2d":
                    self.convolution_backward(op, dims, sequence, i)
                    continue
                self.call(name, dims, [(kernel, self.seconds(i))], sequence, values, None,
                          (op["kind"].title() + "Backward0") if sequence is not None else "MiscBackward0")
        for _ in range(o.collectives):
            self.call("c10d::allreduce_", [[1000]], [("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 100e-6)], None, stream=20)
        start = self.now
        for i in self.graph["regions"][1]["operations"]:
            if self.cost[i] > 0:
                self.call("aten::_fused_adam_", [[10]], [("multi_tensor_apply_kernel", self.cost[i])], None)
                self.add_truth(i, self.cost[i])
        self.put("user_annotation", "Optimizer.step#Adam.step", start - 0.2, self.now - start + 0.2)
        # The host waits for the device: the next step begins behind all kernels.
        self.now = max([self.now, *self.free.values()]) + 5
        self.put("user_annotation", f"ProfilerStep#{number}", begin, self.now - begin - 1)

    def kind_of(self, name):
        return next(op["kind"] for op in self.ops if op["name"] == name)

    def convolution_backward(self, op, dims, sequence, i):
        self.call("aten::convolution_backward", [dims[0], dims[1], dims[1]], [("cudnn_dgrad_wgrad", self.seconds(i))], sequence, None, None,
                  "ConvolutionBackward0")

    def write(self, path):
        text = json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "record_shapes": 1,
                           "traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}, *self.events]})
        data = text.encode()
        with open(path, "wb") as file:
            file.write(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)


def main():
    options = parsed()
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    trace = Trace(options, plan)
    for number in range(options.steps):
        trace.step(number + 1)
    trace.write(options.trace)
    if options.truth:
        with open(options.truth, "w", encoding="utf-8") as file:
            json.dump(trace.truth, file)


main()
