"""run_megatron.py FOLDER: plans models of the catalogue on a cluster, writes their scripts for Megatron-LM, and counts what these build.

Published counts are those of Hugging Face transformers (test/catalog/expected.csv has the others' sources): LlamaForCausalLM with the
configurations of meta-llama/Llama-2-7b, Meta-Llama-3-8B and Meta-Llama-3-70B, MixtralForCausalLM of Mixtral-8x7B-v0.1, GPT2LMHeadModel
of gpt2-medium, BertForPreTraining of bert-large-uncased; of GPT-3 (Brown et al., 2020, table 2.1: "175.0B") the sum of its sizes.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import megatron_parameters  # noqa: E402
from own_models import SHARES, TIED  # noqa: E402

LLAMA3_70B = """module llama3_70b_logits(tokens) -> logits {
  let logits = llama_logits(tokens, layers = 80, hidden = 8192, heads = 64, kv_heads = 8, inner = 28672, vocab = 128256, base = 500000, flash = true)
}
model llama3_70b(seq = 8192) {
  input tokens : int32[seq]
  input labels : int32[seq]
  loss cross_entropy(llama3_70b_logits(tokens), labels)
}
"""
# T5's shape with what Megatron-LM has: gelu, scaled scores, no dropout between the products, a head with a bias.
T5_GELU = """model t5_gelu(layers = 12, hidden = 768, heads = 12, inner = 3072, vocab = 32128, length = 512, target = 128) {
  input input_ids : int32[length]
  input decoder_input_ids : int32[target]
  input labels : int32[target]
  let words = parameter([vocab, hidden])
  let encoder_bias = relative_bias(parameter([32, heads]), queries = length, keys = length)
  var x = embedding(input_ids, rows = vocab, dim = hidden, table = words)
  repeat layers as encoder {
    x = x + attention(layer_norm(x), heads = heads, biased = true, score_bias = encoder_bias)
    x = x + gelu_mlp(layer_norm(x), hidden, inner)
  }
  let memory = layer_norm(x)
  let decoder_bias = relative_bias(parameter([32, heads]), queries = target, keys = target, bidirectional = false)
  var y = embedding(decoder_input_ids, rows = vocab, dim = hidden, table = words)
  repeat layers as decoder {
    y = y + attention(layer_norm(y), heads = heads, causal = true, biased = true, score_bias = decoder_bias)
    y = y + attention(layer_norm(y), heads = heads, memory = memory)
    y = y + gelu_mlp(layer_norm(y), hidden, inner)
  }
  loss cross_entropy(linear(layer_norm(y), out = vocab, weight = words), labels)
}
"""
GROUPED = "llama2(layers = 8, hidden = 6144, heads = 48, kv_heads = 6, inner = 16384, vocab = 50021, seq = 1024, flash = true)"


def fused(text):
    """Scores of attention never reach memory."""
    return text.replace("attention(", "fused_attention(")


DGX, POD = ("dgx", "dgx_a100"), ("dgx", "dgx_superpod_a100")
# name, catalogue, text, call, cluster, batch, degrees, published parameters
MODELS = [
    ("llama2_7b", "llama2", "", "llama2(flash = true)", DGX, 16, "tensor_parallel = 4, sequence_parallel = 4, data_parallel = 2, zero = 1",
     6738415616),
    ("llama3_8b", "llama3", "", "llama3_8b(flash = true)", DGX, 8, "tensor_parallel = 8, sequence_parallel = 8, data_parallel = 1", 8030261248),
    ("llama3_70b", "llama2", LLAMA3_70B, "llama3_70b()", POD, 32,
     "tensor_parallel = 8, sequence_parallel = 8, pipeline_parallel = 4, data_parallel = 2, zero = 1", 70553706496),
    ("mixtral_8x7b", "mixtral", "", "mixtral_8x7b(flash = true)", POD, 64,
     "tensor_parallel = 2, sequence_parallel = 2, pipeline_parallel = 4, data_parallel = 8, expert_parallel = 8, zero = 1", 46702792704),
    ("gpt3", "gpt3", "", "gpt3()", POD, 64, "tensor_parallel = 8, sequence_parallel = 8, pipeline_parallel = 8, data_parallel = 2, zero = 1",
     174604259328),
    ("gpt2_medium", "gpt2", "", "gpt2_medium()", DGX, 16, "tensor_parallel = 2, pipeline_parallel = 2, data_parallel = 2, zero = 1", 354823168),
    ("bert_large", "bert", "", "bert_large()", DGX, 64, "tensor_parallel = 1, data_parallel = 8, zero = 1", 336226108),
    ("bert_divided", "bert", "", "bert_large()", DGX, 64, "tensor_parallel = 2, pipeline_parallel = 2, data_parallel = 2, zero = 1", 336226108),
    ("t5_gelu", "transformer", T5_GELU, "t5_gelu()", DGX, 64, "tensor_parallel = 2, data_parallel = 4, zero = 1", None),
    ("megatron_1_7b", "megatron", "", "megatron_1_7b()", DGX, 16, "tensor_parallel = 2, sequence_parallel = 2, data_parallel = 4, zero = 1", None),
    ("grouped", "llama2", "", GROUPED, DGX, 16, "tensor_parallel = 2, pipeline_parallel = 2, data_parallel = 2, zero = 1", None),
    ("tied", "transformer", fused(TIED), "tied()", DGX, 16, "tensor_parallel = 4, pipeline_parallel = 2, data_parallel = 1", None),
    ("shares", "transformer", fused(SHARES), "shares()", DGX, 16, "tensor_parallel = 1, data_parallel = 8, expert_parallel = 4, zero = 1", None),
    ("opt", "opt", "", "opt_1_3b()", DGX, 16, "tensor_parallel = 1, data_parallel = 8, zero = 1", None),
    ("bloom", "bloom", "", "bloom_176b()", POD, 64,
     "tensor_parallel = 8, sequence_parallel = 8, pipeline_parallel = 7, data_parallel = 2, zero = 1", None),
    ("t5", "t5", "", "t5_large()", DGX, 64, "tensor_parallel = 1, data_parallel = 8, zero = 1", None),
    ("vit", "vit", "", "vit_l_16()", DGX, 64, "tensor_parallel = 1, data_parallel = 8, zero = 1", None),
    ("resnet", "resnet", "", "resnet50()", DGX, 64, "tensor_parallel = 1, data_parallel = 8, zero = 0", None),
]


# Each of these builds another model, so that a count that does not see it counts wrongly.
WRONG = [("--swiglu", ""), ("--normalization RMSNorm", "--normalization LayerNorm"), ("--untie-embeddings-and-output-weights", ""),
         ("--disable-bias-linear", ""), ("--group-query-attention", ""), ("--normalization LayerNorm", "--normalization RMSNorm"),
         ("--bf16", "--bf16 --untie-embeddings-and-output-weights"), ("--bf16", "--bf16 --disable-bias-linear"),
         ("--bf16", "--bf16 --swiglu"), ("learned_absolute", "rope"), ("--num-layers ", "--num-layers 1"), ("--hidden-size ", "--hidden-size 1"),
         ("--num-experts 8", "--num-experts 16"), ("--num-experts 8", ""), ("--expert-model-parallel-size 8", "--expert-model-parallel-size 4"),
         ("--ffn-hidden-size ", "--ffn-hidden-size 1"), ("--moe-ffn-hidden-size ", "--moe-ffn-hidden-size 1"), ("--kv-channels ", "--kv-channels 1"), ("--vocab-size ", "--vocab-size 1"),
         ("--make-vocab-size-divisible-by 128", "--make-vocab-size-divisible-by 1009"), ("--use-distributed-optimizer", ""),
         ("--accumulate-allreduce-grads-in-fp32", ""), ("--position-embedding-type relative", "--position-embedding-type none"),
         ("pretrain_bert.py", "pretrain_gpt.py"), ("pretrain_t5.py", "pretrain_bert.py")]


def wrong_arguments(script, plan):
    """How many of the arguments that build another model are found, and of how many; the ones that are not."""
    missed, tried = [], 0
    for right, wrong in WRONG:
        is_there = wrong.startswith(right + " ") and wrong.split()[1] in script
        is_idle = right == "--ffn-hidden-size " and "--num-experts" in script  # experts have a size of their own
        if right not in script or is_there or is_idle:
            continue
        tried += 1
        try:
            megatron_parameters.compare(script.replace(right, wrong), plan, None)
            missed.append(f"{right} -> {wrong}")
        except (SystemExit, AssertionError, KeyError, TypeError, ValueError):
            pass
    return f"{tried - len(missed)} of {tried} wrong arguments found{''.join(', not ' + one for one in missed)}"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, catalogue, text, call, (machines, cluster), batch, degrees, published in MODELS:
        if "pipeline_parallel" not in degrees:
            degrees += ", pipeline_parallel = 1"
        file, out = os.path.join(folder, name + ".dnn"), os.path.join(folder, name)
        with open(file, "w", encoding="utf8") as written:
            written.write(f'import "catalog/{catalogue}.dnn"\nimport "catalog/{machines}.accel"\n{text}train t = {call} on {cluster} {{\n'
                          f"  batch = {batch}\n  precision = mixed(bf16)\n"
                          f"  search {{ microbatch = 1, {degrees}, schedule = one_f_one_b, stages = uniform }}\n}}\n")
        done = run("accord", "compile", file, "--effort", "0", "-o", out)
        if done.returncode:
            print(f"{name}: not planned: {done.stdout}{done.stderr}")
            continue
        made = run("accord", "emit", "megatron", out)
        if made.returncode:
            print(f"{name}: {made.stderr.strip()}")
            continue
        with open(os.path.join(out, "plan.json"), encoding="utf8") as plan:
            try:
                planned = json.load(plan)
                print(f"{name}: {megatron_parameters.compare(made.stdout, planned, published)}")
                print(f"{name}: {wrong_arguments(made.stdout, planned)}")
            except SystemExit as error:
                print(f"{name}: {error}")
        for line in made.stdout.splitlines():
            if "than planned" in line or "tokenizer" in line:
                print(f"{name} {line}")


main()
