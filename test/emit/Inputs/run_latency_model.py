"""run_latency_model.py FOLDER CC: latency_model.mlir, lowered to LLVM IR and linked, against latency_model.h."""
import subprocess
import sys

folder, cc = sys.argv[1], sys.argv[2]
run = lambda *command, **more: subprocess.run(command, check=True, text=True, **more)
run("mlir-opt", f"{folder}/latency_model.mlir", "--arith-expand", "--convert-arith-to-llvm", "--convert-func-to-llvm",
    "--reconcile-unrealized-casts", "-o", f"{folder}/lowered.mlir")
run("mlir-translate", "--mlir-to-llvmir", f"{folder}/lowered.mlir", "-o", f"{folder}/model.ll")
run("llc", "--filetype=obj", "--relocation-model=pic", "--fp-contract=off", f"{folder}/model.ll", "-o", f"{folder}/model.o")
# The header's functions are static and named otherwise, so both fit into one program.
names = ["step_time_s", "memory_bytes", "flops"]
points = [(32, 4, 1024), (48, 1, 64), (48, 7, 1000), (64, 16, 8192)]
with open(f"{folder}/both.c", "w", encoding="utf-8") as file:
    file.write('#include <stdint.h>\n#include <stdio.h>\n')
    for name in names:
        file.write(f"#define gpt_small_{name} header_{name}\n")
    file.write('#include "latency_model.h"\n')
    for name in names:
        file.write(f"#undef gpt_small_{name}\ndouble gpt_small_{name}(int64_t, int64_t, int64_t);\n")
    file.write("int main(void) {\n")
    for name in names:
        for point in points:
            at = ", ".join(map(str, point))
            file.write(f'  printf("%.17g %.17g\\n", gpt_small_{name}({at}), gpt_small_{name}_at({at}));\n')
    file.write("  return 0;\n}\n")
run(cc, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"{folder}/both.c", f"{folder}/model.o", "-o", f"{folder}/both")
rows = [line.split() for line in run(f"{folder}/both", stdout=subprocess.PIPE).stdout.splitlines()]
for a, b in rows:
    assert a == b and float(a) > 0, (a, b)
print(len(rows), "values agree")
