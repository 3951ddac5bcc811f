#!/usr/bin/env python3
"""torch_small.py FOLDER [--read]: writes small programs of torch.export by hand, whole and broken ones, without PyTorch;
with --read, imports the broken ones."""
import json
import os
import random
import subprocess
import sys
import zipfile

S = "Symbol('s0', positive=True, integer=True)"


def extent(n):
    if n == "B":
        return {"as_expr": {"expr_str": S, "hint": {"as_int": 2}}}
    if isinstance(n, str):
        return {"as_expr": {"expr_str": n, "hint": {"as_int": 7}}}
    return {"as_int": n}


def meta(shape, dtype=7):
    return {"dtype": dtype, "sizes": [extent(n) for n in shape], "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": [], "storage_offset": {"as_int": 0}, "layout": 7}


class Program:
    def __init__(self):
        self.inputs, self.outputs, self.nodes, self.tensors, self.symbols = [], [], [], {}, {}

    def user(self, name, shape, dtype=7):
        self.inputs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
        self.tensors[name] = meta(shape, dtype)
        return name

    def parameter(self, target, shape):
        name = "p_" + target.replace(".", "_")
        self.inputs.append({"parameter": {"arg": {"name": name}, "parameter_name": target}})
        self.tensors[name] = meta(shape)
        return name

    def buffer(self, target, shape, dtype=7):
        name = "b_" + target.replace(".", "_")
        self.inputs.append({"buffer": {"arg": {"name": name}, "buffer_name": target, "persistent": True}})
        self.tensors[name] = meta(shape, dtype)
        return name

    def node(program, target, shape, dtype=7, module="", many=0, **arguments):
        name = f"v{len(program.nodes)}"
        outputs = [f"{name}_{i}" for i in range(many)] or [name]
        for i, output in enumerate(outputs):
            program.tensors[output] = meta(shape[i] if many else shape, dtype)
        stack = f"L__self__,,net.Net;L__self___{module},{module},torch.nn.modules.x.X" if module else "L__self__,,net.Net"
        program.nodes.append({
            "target": "torch.ops." + target, "name": name,
            "inputs": [{"name": key.rstrip("_"), "arg": value, "kind": 1} for key, value in arguments.items()],
            "outputs": [{"as_tensors": [{"name": n} for n in outputs]}] if many else [{"as_tensor": {"name": name}}],
            "metadata": {"stack_trace": f'File "/home/me/net.py", line {10 + len(program.nodes)}, in forward', "nn_module_stack": stack}})
        return outputs if many else name

    def document(self, major=8, minor=20):
        graph = {"inputs": [], "outputs": [], "nodes": self.nodes, "tensor_values": self.tensors, "sym_int_values": self.symbols,
                 "sym_bool_values": {}}
        signature = {"input_specs": self.inputs,
                     "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": name}}}} for name in self.outputs]}
        return {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": []}, "opset_version": {"aten": 10},
                "range_constraints": {}, "schema_version": {"major": major, "minor": minor}, "torch_version": "2.15.0"}


def T(name):
    return {"as_tensor": {"name": name}}


def I(n):
    return {"as_int": n}


def Is(*n):
    return {"as_ints": list(n)}


def write(path, document, entry="model/models/model.json", method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("model/archive_format", "pt2")
        archive.writestr(entry, document if isinstance(document, str) else json.dumps(document))


def moves():
    """Where the batch goes: second, joined with tokens and heads, and back."""
    p = Program()
    x = p.user("x", ["B", 6, 8])
    t = p.node("aten.transpose.int", [6, "B", 8], self=T(x), dim0=I(0), dim1=I(1), module="mix")
    f = p.node("aten.view.default", [f"Mul(Integer(6), {S})", 8], self=T(t), size=Is(-1, 8), module="mix")
    y = p.node("aten.linear.default", [f"Mul(Integer(6), {S})", 8], input=T(f), weight=T(p.parameter("mix.weight", [8, 8])), module="mix")
    h = p.node("aten.view.default", [6, f"Mul(Integer(2), {S})", 4], self=T(y), size=Is(6, -1, 4), module="mix")
    h = p.node("aten.transpose.int", [f"Mul(Integer(2), {S})", 6, 4], self=T(h), dim0=I(0), dim1=I(1), module="mix")
    s = p.node("aten.bmm.default", [f"Mul(Integer(2), {S})", 6, 6], self=T(h),
               mat2=T(p.node("aten.transpose.int", [f"Mul(Integer(2), {S})", 4, 6], self=T(h), dim0=I(1), dim1=I(2))))
    s = p.node("aten.softmax.int", [f"Mul(Integer(2), {S})", 6, 6], self=T(s), dim=I(-1))
    o = p.node("aten.bmm.default", [f"Mul(Integer(2), {S})", 6, 4], self=T(s), mat2=T(h))
    v = p.node("aten.view.default", ["B", 2, 6, 4], self=T(o), size=Is(-1, 2, 6, 4))
    e = p.node("aten.einsum.default", ["B", 6, 2, 5], equation={"as_string": "bhtd,hde->bthe"},
               tensors={"as_tensors": [{"name": v}, {"name": p.parameter("fold", [2, 4, 5])}]})
    p.outputs = [p.node("aten.sum.dim_IntList", ["B", 6, 2], self=T(e), dim=Is(3))]
    return p


def operators():
    """One of many operations each."""
    p = Program()
    x = p.user("x", ["B", 4, 8, 8])
    c = p.node("aten.conv2d.default", ["B", 6, 4, 4], input=T(x), weight=T(p.parameter("conv.weight", [6, 4, 3, 3])),
               bias=T(p.parameter("conv.bias", [6])), stride=Is(2, 2), padding=Is(1, 1), module="conv")
    c = p.node("aten.batch_norm.default", ["B", 6, 4, 4], input=T(c), weight=T(p.parameter("bn.weight", [6])),
               bias=T(p.parameter("bn.bias", [6])), running_mean=T(p.buffer("bn.mean", [6])),
               running_var=T(p.buffer("bn.var", [6])), training={"as_bool": True}, momentum={"as_float": 0.1},
               eps={"as_float": 1e-5}, cudnn_enabled={"as_bool": True}, module="bn")
    c = p.node("aten.relu_.default", ["B", 6, 4, 4], self=T(c), module="act")
    c = p.node("aten.group_norm.default", ["B", 6, 4, 4], input=T(c), num_groups=I(3), weight=T(p.parameter("gn.weight", [6])),
               bias=T(p.parameter("gn.bias", [6])), module="gn")
    c = p.node("aten.instance_norm.default", ["B", 6, 4, 4], input=T(c), module="plain")
    u = p.node("aten.upsample_nearest2d.vec", ["B", 6, 8, 8], input=T(c), output_size={"as_none": True},
               scale_factors={"as_floats": [2.0, 2.0]})
    m = p.node("aten.max_pool2d.default", ["B", 6, 4, 4], self=T(u), kernel_size=Is(2, 2), stride=Is(2, 2))
    m = p.node("aten.hardtanh.default", ["B", 6, 4, 4], self=T(m), min_val={"as_float": 0.0}, max_val={"as_float": 6.0})
    r = p.node("aten.roll.default", ["B", 6, 4, 4], self=T(m), shifts=Is(-1, 1), dims=Is(2, 3), module="roll")
    q = p.node("aten.pad.default", ["B", 6, 4, 6], self=T(r), pad=Is(1, 1, 0, 0), module="pad")
    a, b = p.node("aten.chunk.default", [["B", 6, 4, 3]] * 2, many=2, self=T(q), chunks=I(2), dim=I(3))
    k = p.node("aten.stack.default", ["B", 2, 6, 4, 3],
               tensors={"as_tensors": [{"name": a}, {"name": b}]}, dim=I(1))
    k = p.node("aten.select.int", ["B", 6, 4, 3], self=T(k), dim=I(1), index=I(-1))
    k = p.node("aten.flatten.using_ints", ["B", 72], self=T(k), start_dim=I(1))
    k = p.node("aten.leaky_relu.default", ["B", 72], self=T(k), negative_slope={"as_float": 0.2})
    k = p.node("aten.div.Tensor", ["B", 72], self=T(k), other={"as_float": 4.0})
    k = p.node("aten.pow.Tensor_Scalar", ["B", 72], self=T(k), exponent=I(3))
    k = p.node("aten.dropout.default", ["B", 72], input=T(k), p={"as_float": 0.25}, train={"as_bool": True})
    k = p.node("aten.view.default", ["B", 1, 72], self=T(k), size=Is(-1, 1, 72))
    k = p.node("aten.conv1d.default", ["B", 2, 70], input=T(k), weight=T(p.parameter("line.weight", [2, 1, 3])), module="line")
    y = p.node("aten.mean.dim", ["B", 70], self=T(k), dim=Is(1))
    y = p.node("aten.layer_norm.default", ["B", 70], input=T(y), normalized_shape=Is(70))
    y = p.node("aten.add.Tensor", ["B", 70], self=T(y), other={"as_float": 1.0})
    p.outputs = [p.node("aten.sigmoid.default", ["B", 70], self=T(y), module="end")]
    return p


def masks():
    """Positions and masks are no parameters; a causal mask is known; tied parameters stay one."""
    p = Program()
    ids, labels = p.user("ids", ["B", 5], 5), p.user("labels", ["B", 5], 5)
    table = p.parameter("table", [11, 8])
    x = p.node("aten.embedding.default", ["B", 5, 8], weight=T(table), indices=T(ids), module="words")
    places = p.node("aten.arange.default", [5], 5, end=I(5))
    places = p.node("aten.unsqueeze.default", [1, 5], 5, self=T(places), dim=I(0))
    at = p.node("aten.embedding.default", [1, 5, 8], weight=T(p.parameter("places", [9, 8])), indices=T(places), module="places")
    x = p.node("aten.add.Tensor", ["B", 5, 8], self=T(x), other=T(at))
    h = p.node("aten.view.default", ["B", 5, 2, 4], self=T(x), size=Is(-1, 5, 2, 4))
    h = p.node("aten.transpose.int", ["B", 2, 5, 4], self=T(h), dim0=I(1), dim1=I(2))
    mask = p.node("aten.ones.default", [5, 5], 12, size=Is(5, 5))
    mask = p.node("aten.tril.default", [5, 5], 12, self=T(mask))
    h = p.node("aten.scaled_dot_product_attention.default", ["B", 2, 5, 4], query=T(h), key=T(h), value=T(h), attn_mask=T(mask))
    h = p.node("aten.transpose.int", ["B", 5, 2, 4], self=T(h), dim0=I(1), dim1=I(2))
    h = p.node("aten.reshape.default", ["B", 5, 8], self=T(h), shape_=Is(-1, 5, 8))
    y = p.node("aten.linear.default", ["B", 5, 11], input=T(h), weight=T(table), module="head")
    y = p.node("aten.view.default", [f"Mul(Integer(5), {S})", 11], self=T(y), size=Is(-1, 11))
    t = p.node("aten.view.default", [f"Mul(Integer(5), {S})"], 5, self=T(labels), size=Is(-1))
    p.outputs = [p.node("aten.cross_entropy_loss.default", [], self=T(y), target_=T(t))]
    return p


def open_length():
    p = Program()
    length = "Symbol('s9', positive=True, integer=True)"
    x = p.user("x", ["B", length, 4])
    y = p.node("aten.linear.default", ["B", length, 4], input=T(x), weight=T(p.parameter("w", [4, 4])))
    p.outputs = [y]
    return p


def stated():
    """Operations that the file states, windows of three dimensions, places, and what is written in place."""
    p = Program()
    x = p.user("x", ["B", 2, 4, 8, 8])
    c = p.node("aten.conv3d.default", ["B", 4, 4, 8, 8], input=T(x), weight=T(p.parameter("deep.weight", [4, 2, 3, 3, 3])),
               padding=Is(1, 1, 1), module="deep")
    c = p.node("aten.max_pool3d.default", ["B", 4, 2, 4, 4], self=T(c), kernel_size=Is(2, 2, 2))
    c = p.node("aten.amax.default", ["B", 4, 4, 4], self=T(c), dim=Is(2))
    c = p.node("aten.upsample_bilinear2d.vec", ["B", 4, 8, 8], input=T(c), output_size=Is(8, 8), align_corners={"as_bool": False},
               scale_factors={"as_none": True})
    c = p.node("aten.clamp.default", ["B", 4, 8, 8], self=T(c), min={"as_float": -1.0}, max={"as_float": 2.0})
    c = p.node("aten.log1p.default", ["B", 4, 8, 8], self=T(c))
    w = p.node("aten.mul.Tensor", [6, 4, 3, 3], self=T(p.parameter("made", [6, 4, 3, 3])), other={"as_float": 0.5})
    c = p.node("aten.conv2d.default", ["B", 6, 6, 6], input=T(c), weight=T(w), module="by_made")
    part = p.node("aten.select.int", ["B", 6, 6], self=T(c), dim=I(1), index=I(0))
    p.node("aten.relu_.default", ["B", 6, 6], self=T(part), module="written")
    y = p.node("aten.cumsum.default", ["B", 6, 6, 6], self=T(c), dim=I(-1), module="sums")
    y = p.node("aten.maximum.default", ["B", 6, 6, 6], self=T(y), other=T(c))
    p.outputs = [p.node("aten.mean.dim", ["B", 6], self=T(y), dim=Is(2, 3))]
    return p


def graph():
    """Nodes and edges: no extent is a batch. Sums at nodes by `index_add`, and by `scatter_add` with expanded places."""
    p = Program()
    x, source, target = p.user("x", [20, 6]), p.user("origin", [50], 5), p.user("target", [50], 5)
    h = p.node("aten.batch_norm.default", [20, 6], input=T(x), weight=T(p.parameter("bn.weight", [6])),
               bias=T(p.parameter("bn.bias", [6])), training={"as_bool": True}, momentum={"as_float": 0.1},
               eps={"as_float": 1e-5}, cudnn_enabled={"as_bool": True}, module="bn")
    h = p.node("aten.linear.default", [20, 4], input=T(h), weight=T(p.parameter("inner.weight", [4, 6])), module="inner")
    edges = p.node("aten.index.Tensor", [50, 4], self=T(h), indices={"as_tensors": [{"name": source}]})
    zeros = p.node("aten.zeros.default", [20, 4], size=Is(20, 4))
    a = p.node("aten.index_add.default", [20, 4], self=T(zeros), dim=I(0), index=T(target), source=T(edges))
    column = p.node("aten.unsqueeze.default", [50, 1], 5, self=T(target), dim=I(-1))
    wide = p.node("aten.expand.default", [50, 4], 5, self=T(column), size=Is(50, 4))
    b = p.node("aten.scatter_add.default", [20, 4], self=T(h), dim=I(0), index=T(wide), src=T(edges))
    p.outputs = [p.node("aten.add.Tensor", [20, 4], self=T(a), other=T(b))]
    return p


def columns():
    """Sums at places that differ from column to column."""
    p = Program()
    x, places = p.user("x", [20, 6]), p.user("places", [50, 6], 5)
    h = p.node("aten.linear.default", [20, 6], input=T(x), weight=T(p.parameter("inner.weight", [6, 6])), module="inner")
    p.outputs = [p.node("aten.scatter_add.default", [20, 6], self=T(h), dim=I(0), index=T(places), src=T(h), module="out")]
    return p


def refused():
    p = Program()
    x = p.user("x", ["B", 4])
    a = p.node("aten.linalg_svd.default", ["B", 4], self=T(x), module="body.0")
    b = p.node("aten.linalg_svd.default", ["B", 4], self=T(x), module="body.1")
    c = p.node("higher_order.cond", ["B", 4], pred=T(x), true={"as_graph": {"name": "g", "graph": {}}}, module="body.2")
    d = p.node("aten.t.default", [4, "B"], self=T(x))
    d = p.node("aten.mm.default", ["B", "B"], self=T(x), mat2=T(d), module="contrast")
    e = p.node("mine.fused.default", ["B", 4], self=T(x), module="body.3")
    f = p.node("aten.clamp.default", ["B", 4], self=T(x), min={"as_float": -1.0}, max={"as_float": 1.0}, module="body.4")
    g = p.node("aten.relu.default", ["B", 5], self=T(x), module="body.5")
    h = p.node("aten.neg.default", ["B", 4], self=T(x), module="body.6")
    part = p.node("aten.select.int", ["B"], self=T(h), dim=I(1), index=I(0), module="body.6")
    p.node("aten.relu_.default", ["B"], self=T(part), module="body.6")
    p.outputs = [a, b, c, d, e, f, g, h]
    return p


def read(folder):
    """Imports the damaged files: each ends with 0 and a model, or with 1 and an error that names the file."""
    names = [f"damaged_{i}" for i in range(15)] + [f"changed_{i}" for i in range(30)]
    for name in names:
        path = os.path.join(folder, name + ".pt2")
        run = subprocess.run(["accord", "import", "torch", path], capture_output=True, text=True, timeout=60)
        if not (run.returncode == 0 and "model " in run.stdout or run.returncode == 1 and path + ":1:1: error[A0" in run.stderr):
            print(name, run.returncode, run.stderr[:500])
    print(f"{len(names)} files: each a model or an error")


def main():
    folder = sys.argv[1]
    if len(sys.argv) > 2:
        return read(folder)
    for make in (moves, operators, masks, open_length, stated, graph, columns, refused):
        write(os.path.join(folder, make.__name__ + ".pt2"), make().document(), method=zipfile.ZIP_STORED if make is moves else zipfile.ZIP_DEFLATED)
    write(os.path.join(folder, "old.pt2"), masks().document(7, 3))
    write(os.path.join(folder, "top.pt2"), masks().document(), entry="serialized_exported_program.json")
    write(os.path.join(folder, "no_json.pt2"), "{")
    write(os.path.join(folder, "no_model.pt2"), "{}", entry="model/other.json")
    write(os.path.join(folder, "other.pt2"), '{"a": 1}')
    with open(os.path.join(folder, "no_zip.pt2"), "w") as out:
        out.write("no archive")
    # Damage: bytes of the archive, and values of the document.
    rng = random.Random(7)
    with open(os.path.join(folder, "masks.pt2"), "rb") as whole:
        data = whole.read()
    for i in range(15):
        damaged = bytearray(data)
        if i % 3 == 0:
            damaged = damaged[:rng.randrange(len(damaged))]
        else:
            for _ in range(4):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with open(os.path.join(folder, f"damaged_{i}.pt2"), "wb") as out:
            out.write(damaged)

    def change(value, left):
        """Replaces the left-th leaf."""
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in list(items):
            if key in ("device", "strides", "storage_offset", "layout", "requires_grad", "kind", "metadata", "opset_version"):
                continue
            if isinstance(one, (dict, list)):
                left = change(one, left)
            elif left == 0:
                value[key] = rng.choice([None, -1, 2**62, 1e300, "", "x", [], {}])
                return -1
            else:
                left -= 1
            if left < 0:
                return left
        return left

    for i in range(30):
        document = (operators if i % 2 else masks)().document()
        change(document, rng.randrange(240))
        write(os.path.join(folder, f"changed_{i}.pt2"), document)


main()
