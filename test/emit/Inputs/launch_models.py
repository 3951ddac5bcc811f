"""launch_models.py ACCORD FOLDER COUNTER: plans models as FSDP, writes their scripts for each launcher that builds models, runs
`bash -n` on them, and prints what COUNTER says of each, or why there is none."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from own_models import SHARES, TIED  # noqa: E402

accord, folder, counter = sys.argv[1:]
# The call of the catalogue, devices, and samples of each.
MODELS = {
    "llama3": ("llama3", "llama3_8b(seq = 8192, flash = true)", 32),
    "llama3_70b": ("llama2", "llama3_70b()", 256),
    "llama2": ("llama2", "llama2(flash = true)", 16),
    "mixtral": ("mixtral", "mixtral_8x7b(flash = true)", 256),
    "gpt3": ("gpt3", "gpt3()", 1024),
    "gpt2": ("gpt2", "gpt2_xl()", 8),
    "opt": ("opt", "opt_1_3b()", 8),
    "t5": ("t5", "t5_large()", 8),
    "bert": ("bert", "bert_large()", 8),
    "vit": ("vit", "vit_b_16()", 8),
    # Nobody trained these: grouped queries of 6 among 48 heads, odd tables, one table for both ends, routers without a sum of 1.
    "grouped": ("llama2", "llama2(layers = 8, hidden = 6144, heads = 48, kv_heads = 6, inner = 16384, vocab = 50021, seq = 1024)", 8),
    "tied": ("transformer", "tied()", 8),
    "shares": ("transformer", "shares()", 8),
    "dropped": ("transformer", "dropped()", 8),
}
OWN = {
    "tied": TIED,
    "shares": SHARES,
    "dropped": """model dropped(seq = 1024) {
  input tokens : int32[seq]
  input labels : int32[seq]
  var x = embedding(tokens, rows = 50021, dim = 2048) + positions(seq, 2048)
  repeat 8 as block {
    x = x + attention(layer_norm(x), heads = 16, causal = true)
    x = x + relu_mlp(layer_norm(x), 2048, 8192, drop = 0.1)
  }
  loss cross_entropy(linear(layer_norm(x), out = 50021, bias = false), labels)
}
""",
}
LLAMA3_70B = """
model llama3_70b(seq = 8192) {
  input tokens : int32[seq]
  input labels : int32[seq]
  let logits = llama_logits(tokens, layers = 80, hidden = 8192, heads = 64, kv_heads = 8, inner = 28672, vocab = 128256, base = 500000, flash = true)
  loss cross_entropy(logits, labels)
}
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


os.makedirs(folder, exist_ok=True)
for name, (file, call, ranks) in MODELS.items():
    source = os.path.join(folder, name + ".dnn")
    with open(source, "w", encoding="utf8") as text:
        text.write(f'import "catalog/{file}.dnn"\nimport "catalog/dgx.accel"\n{LLAMA3_70B if "70b" in name else OWN.get(name, "")}'
                   f"train {name}_job = {call} on dgx_superpod_a100 {{\n  batch = {ranks}\n  precision = mixed(bf16)\n"
                   f"  search {{ microbatch = 1, tensor_parallel = 1, data_parallel = {ranks}, zero = 3, pipeline_parallel = 1, recompute = {{none, full}} }}\n}}\n")
    answer = os.path.join(folder, name)
    done = run(accord, "compile", source, "--framework", "fsdp", "-o", answer)
    if done.returncode:
        print(f"{name}: {done.stdout}{done.stderr}")
        continue
    for launcher in ("accelerate", "deepspeed", "titan", "maxtext"):
        script = os.path.join(folder, f"{name}.{launcher}.sh")
        done = run(accord, "emit", launcher, answer, "-o", script)
        if done.returncode:
            print(f"{name} {launcher}: {done.stderr.strip().removeprefix('accord: ')}")
            continue
        done = run("bash", "-n", script)
        if not done.returncode:
            done = run(sys.executable, counter, script, os.path.join(answer, "plan.json"))
        print(f"{name} {launcher}: {(done.stdout or done.stderr).strip()}")
