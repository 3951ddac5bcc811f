#!/usr/bin/env python3
"""joint_graphs.py FOLDER [NAME...]: writes FOLDER/NAME.csv, the matrix products and convolutions of the backward pass
that PyTorch's own joint graph (forward and backward, torch._functorch.aot_autograd) has for a model of torch_models.py. The
loss is the sum of what the model gives, and has no products. Needs what torch_models.py needs; neither the build nor the
tests do. FOLDER is test/import/Inputs/joint, where test/import/joint-graphs.test reads what is written.

A row is a kind of operation of one shape, and how often it is in the graph; a step of a batch of 2. Columns:
  operation    as in the graph; a convolution_backward is up to two rows, by its output_mask
  gradient     input or weight of a convolution; empty for products, whose graph does not say
  shape        products: batch m n k. Convolutions: batch groups, then output and input channels of a group, extents of the
               output, extents of the kernel. Attention: batch heads queries keys width width-of-values
  count        how often
  flops        of one, 2 for each multiplication and addition; attention: of its five products, of which one is recomputed"""
import collections
import csv
import os
import sys
import time
import warnings

import torch_models

MODELS = ["resnet50", "vit_b_16", "swin_t", "efficientnet_b0", "googlenet", "lstm", "transformer", "llama", "gpt2", "t5_small",
          "bert_base", "dit", "regnet_y_400mf"]


def joint_graph(torch, name):
    """The graph of forward and backward pass of the exported model, and the node that is its loss."""
    from torch._functorch.aot_autograd import aot_export_module

    from accord.torch import trace

    model, args, kwargs = torch_models.MODELS[name](torch)
    model.train()
    program = trace(model, args, kwargs)
    module = program.module(check_guards=False)
    names = list(kwargs)
    leaves = torch.utils._pytree.tree_leaves

    def loss_of(outputs):
        return sum(one.float().sum() for one in leaves(outputs) if isinstance(one, torch.Tensor) and one.is_floating_point())

    # A weight of several names is one parameter, and one that nothing reads, which has no gradient, is a buffer.
    used = {spec.target for spec in program.graph_signature.input_specs
            if any(node.name == spec.arg.name and node.users for node in program.graph.nodes)}
    parameters = dict(module.named_parameters(remove_duplicate=False))
    read = {id(one) for key, one in parameters.items() if key in used}

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.place = {}
            for i, (key, one) in enumerate([*parameters.items(), *module.named_buffers(remove_duplicate=False)]):
                if id(one) not in self.place:
                    self.place[id(one)] = f"held_{i}"
                    if id(one) in read:
                        self.register_parameter(f"held_{i}", one)
                    else:
                        self.register_buffer(f"held_{i}", one.detach())
            self.names = {key: self.place[id(one)] for key, one in
                          [*parameters.items(), *module.named_buffers(remove_duplicate=False)]}

        def forward(self, *inputs):
            held = {key: getattr(self, place) for key, place in self.names.items()}
            return (loss_of(torch.func.functional_call(module, held, inputs[:len(args)],
                                                       dict(zip(names, inputs[len(args):])), tie_weights=False)),)

    graph, signature = aot_export_module(Loss(), (*args, *kwargs.values()), trace_joint=True, output_loss_index=0)
    output = next(node for node in graph.graph.nodes if node.op == "output")
    return graph.graph, output.args[0][len(signature.buffers_to_mutate)]  # new running means come first


def backward_nodes(graph, loss):
    """What the loss does not need is of the backward pass."""
    forward, open_nodes = set(), [loss]
    while open_nodes:
        node = open_nodes.pop()
        if node not in forward:
            forward.add(node)
            open_nodes += node.all_input_nodes
    return [node for node in graph.nodes if node.op == "call_function" and node not in forward and node.users]


def product(m, n, k, batch=1):
    return " ".join(map(str, (batch, *sorted((m, n)), k))), 2 * batch * m * n * k


def extents(argument):
    return list(argument.meta["val"].shape)


def rows_of(torch, node):
    """operation, gradient, shape, flops of each product of a node; nothing for other nodes."""
    aten = torch.ops.aten
    name = node.target._opname if hasattr(node.target, "_opname") else str(node.target)
    if node.target in (aten.mm.default, aten.addmm.default):
        a, b = (extents(one) for one in node.args[-2:])
        yield name, "", *product(a[0], b[1], a[1])
    elif node.target in (aten.bmm.default, aten.baddbmm.default):
        a, b = (extents(one) for one in node.args[-2:])
        yield name, "", *product(a[1], b[2], a[2], a[0])
    elif node.target == aten.convolution_backward.default:
        out, given, weight = (extents(one) for one in node.args[:3])
        transposed, groups, mask = node.args[7], node.args[9], node.args[10]
        if transposed:
            out, given = given, out
        shape = [out[0], groups, weight[0] // groups, weight[1], *out[2:], *weight[2:]]
        flops = 2
        for extent in shape:
            flops *= extent
        for wanted, gradient in zip(mask, ("input", "weight")):
            if wanted:
                yield name, gradient, " ".join(map(str, shape)), flops
    elif "attention" in name and "backward" in name:
        query, key, value = (extents(one) for one in node.args[1:4])
        scores = query[0] * query[1] * query[2] * key[2]
        shape = [*query[:3], key[2], query[3], value[3]]
        # The scores again and the gradients of queries and keys are over the width; of values and probabilities over theirs.
        yield name, "", " ".join(map(str, shape)), 2 * scores * (3 * query[3] + 2 * value[3])
    elif any(part in name for part in ("mm", "conv", "lstm", "gru", "rnn", "attention", "einsum", "linear", "bilinear")) and \
            name not in ("comm",):
        raise ValueError(f"the operation {name} of the graph is not known here")


def main():
    import torch

    warnings.filterwarnings("ignore")
    torch_models.without_initialization(torch)
    folder = sys.argv[1]
    for name in sys.argv[2:] or MODELS:
        begin = time.time()
        try:
            graph, loss = joint_graph(torch, name)
        except Exception as error:  # the others go on
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            continue
        found = collections.Counter(row for node in backward_nodes(graph, loss) for row in rows_of(torch, node))
        with open(os.path.join(folder, name + ".csv"), "w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(["operation", "gradient", "shape", "count", "flops"])
            for (operation, gradient, shape, flops), count in sorted(found.items()):
                writer.writerow([operation, gradient, shape, count, flops])
        print(f"{name}: {sum(found.values())} products in {len(found)} rows, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(len(sys.argv) < 2)
    main()
