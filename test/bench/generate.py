# Large inputs for run.sh, the same each time: declarations N | operations N | gpt3 LAYERS
import sys


def declarations(n):
    """A .accel file of n machines; no choices, so it is n designs."""
    for i in range(n):
        print(f"/// Machine {i}.")
        print(f"accelerator chip_{i} {{")
        print(f"  clock = {900 + i % 700} MHz source \"generated\"")
        print(f"  memory hbm : dram {{ capacity = {16 + i % 64} GiB, bandwidth = {900 + i % 1000} GB/s }}")
        print(f"  core mxu[{1 + i % 8}] : tensor {{ array = 128 x 128, dataflow = weight_stationary, multiply = bf16, reads = hbm }}")
        print("}")


def operations(n):
    """A dnn model of n element-wise operations in one chain."""
    t = "tensor<?x8xf32>"
    print(f"dnn.model @chain (%v0: {t}, %y: {t}) {{")
    for i in range(n):
        print(f"  %v{i + 1} = dnn.gelu %v{i} : ({t}) -> {t}")
    print(f"  %l = dnn.mse %v{n}, %y : ({t}, {t}) -> tensor<f32>")
    print("  dnn.loss %l : tensor<f32>")
    print("}")


def gpt3(layers):
    """GPT-3 with another depth, on a machine with room for it."""
    print('import "catalog/gpt3.dnn"')
    print('import "roomy.accel"')
    print(f"train deep = gpt3(layers = {layers}) on roomy {{")
    print("  batch     = 32")
    print("  precision = mixed(bf16)")
    print("  optimizer = adam")
    print("}")


def roomy():
    print("accelerator roomy {")
    print("  clock = 1410 MHz")
    print("  memory hbm : dram { capacity = 64 TiB, bandwidth = 2039 GB/s }")
    print("  core tc : tensor { peak = {bf16: 312 TFLOP/s} }")
    print("  core sm : vector { peak = {fp32: 19.5 TFLOP/s, bf16: 39 TFLOP/s} }")
    print("  power { idle = 60 W, tdp = 400 W }")
    print("}")


if __name__ == "__main__":
    kinds = {"declarations": declarations, "operations": operations, "gpt3": gpt3, "roomy": roomy}
    if len(sys.argv) < 2 or sys.argv[1] not in kinds:
        sys.exit("usage: generate.py declarations N | operations N | gpt3 LAYERS | roomy")
    kinds[sys.argv[1]](*map(int, sys.argv[2:]))
