#!/usr/bin/env python3
"""Counts parameters and bytes of each rank from a launch script alone, and holds them against a plan.

usage: fsdp_parameters.py SCRIPT [PLAN.json]

Reads what `accord emit accelerate|deepspeed|titan|maxtext` wrote: the configuration of Transformers, arguments of torchtitan's
models, or MaxText's YAML. Counts every tensor that these programs
train in the model: tables, products with their biases, norms, routers and heads, one after the other.

With a plan, its samples have to be those of the script, and its bytes of gradients and states those of each rank: 4 and 12 of a
parameter (fp32 with Adam) over the ranks that divide them, rounded up layer by layer.
"""
import ast
import json
import re
import shlex
import sys
import tomllib

import yaml

def linear(rows, columns, bias=False):
    return rows * columns + (columns if bias else 0)


def layer_norm(size):
    return 2 * size


def gpt_block(hidden, inner):
    attention = 4 * linear(hidden, hidden, True)
    return attention + linear(hidden, inner, True) + linear(inner, hidden, True) + 2 * layer_norm(hidden)


def llama_block(hidden, inner, heads, groups, head, experts):
    attention = linear(hidden, heads * head) + 2 * linear(hidden, groups * head) + linear(heads * head, hidden)
    network = 3 * linear(hidden, inner)
    return attention + (experts * network + linear(hidden, experts) if experts > 1 else network) + 2 * hidden


def of_gpt2(c):
    h = c["n_embd"]
    tables = (c["vocab_size"] * (1 if c["tie_word_embeddings"] else 2) + c["n_positions"]) * h
    return tables + c["n_layer"] * gpt_block(h, c["n_inner"]) + layer_norm(h)


def of_opt(c):
    h = c["hidden_size"]
    assert c["word_embed_proj_dim"] == h, "another projection of the embedding"
    tables = (c["vocab_size"] * (1 if c["tie_word_embeddings"] else 2) + c["max_position_embeddings"] + 2) * h
    return tables + c["num_hidden_layers"] * gpt_block(h, c["ffn_dim"]) + layer_norm(h)


def of_llama(c):
    h, heads = c["hidden_size"], c["num_attention_heads"]
    block = llama_block(h, c["intermediate_size"], heads, c["num_key_value_heads"], c["head_dim"], c.get("num_local_experts", 0))
    return c["vocab_size"] * h * (1 if c["tie_word_embeddings"] else 2) + c["num_hidden_layers"] * block + h


def of_bert(c, pairs):
    h = c["hidden_size"]
    tables = (c["vocab_size"] + c["max_position_embeddings"] + c["type_vocab_size"]) * h + layer_norm(h)
    masked = linear(h, h, True) + layer_norm(h) + c["vocab_size"]
    pooled = linear(h, h, True) + linear(h, 2, True)
    return tables + c["num_hidden_layers"] * gpt_block(h, c["intermediate_size"]) + masked + (pooled if pairs else 0)


def of_t5(c):
    h, inside = c["d_model"], c["num_heads"] * c["d_kv"]
    attention = 3 * linear(h, inside) + linear(inside, h) + h
    network = (3 if c.get("feed_forward_proj") == "gated-gelu" else 2) * linear(h, c["d_ff"]) + h
    distances = c["relative_attention_num_buckets"] * c["num_heads"]
    encoder = c["num_layers"] * (attention + network) + h + distances
    decoder = c["num_decoder_layers"] * (2 * attention + network) + h + distances
    return c["vocab_size"] * h * (1 if c["tie_word_embeddings"] else 2) + encoder + decoder


def of_vit(c):
    h = c["hidden_size"]
    patches = (c["image_size"] // c["patch_size"]) ** 2
    tables = linear(3 * c["patch_size"] ** 2, h, True) + h + (patches + 1) * h
    return tables + c["num_hidden_layers"] * gpt_block(h, c["intermediate_size"]) + layer_norm(h) + linear(h, c["num_labels"], True)


def transformers(config):
    kind = config["model_type"]
    if kind == "bert":
        return of_bert(config, config["architectures"] == ["BertForPreTraining"])
    return {"gpt2": of_gpt2, "opt": of_opt, "llama": of_llama, "mixtral": of_llama, "t5": of_t5, "vit": of_vit}[kind](config)


def titan(module):
    """The call that adds the model: its arguments are numbers, quotients of numbers, and those of MoEArgs."""
    call = next(node.value for node in ast.parse(module).body if isinstance(node, ast.Assign))
    arguments = {one.arg: one.value for one in call.keywords}
    number = {name: eval(compile(ast.Expression(of), "", "eval"), {}) for name, of in arguments.items() if name != "moe_args"}
    h, heads = number["dim"], number["n_heads"]
    if call.func.id == "TransformerModelArgs":
        inner = int(2 * 4 * h / 3)
        if "ffn_dim_multiplier" in number:
            inner = int(number["ffn_dim_multiplier"] * inner)
        inner = number["multiple_of"] * ((inner + number["multiple_of"] - 1) // number["multiple_of"])
        head, experts, tied = h // heads, 0, False
    else:
        assert number["qk_norm"] is False
        head, tied = number["head_dim"], number["enable_weight_tying"]
        experts = 0
        if number.get("moe_enabled"):
            moe = {one.arg: ast.literal_eval(one.value) for one in arguments["moe_args"].keywords}
            assert moe["num_shared_experts"] == 0
            experts = moe["num_experts"]
        inner = number["moe_inter_dim"] if experts else number["hidden_dim"]
    return number["vocab_size"] * h * (1 if tied else 2) + number["n_layers"] * llama_block(h, inner, heads, number["n_kv_heads"], head, experts) + h


def maxtext(c):
    h, inner, layers = c["base_emb_dim"], c["base_mlp_dim"], c["base_num_decoder_layers"]
    table = c["vocab_size"] * h * (1 if c["logits_via_embedding"] else 2)
    if c["decoder_block"] == "gpt3":
        assert c["base_num_query_heads"] * c["head_dim"] == h and c["base_num_kv_heads"] == c["base_num_query_heads"]
        return table + c["trainable_position_size"] * h + layers * gpt_block(h, inner) + layer_norm(h)
    experts = c.get("num_experts", 1)
    assert (c["decoder_block"] == "mixtral") == (experts > 1) and c["mlp_activations"] == ["silu", "linear"]
    inner = c["base_moe_mlp_dim"] if experts > 1 else inner
    return table + layers * llama_block(h, inner, c["base_num_query_heads"], c["base_num_kv_heads"], c["head_dim"], experts) + h


def read(script):
    """Parameters, ranks, samples of a step, and over how many ranks gradients and states are divided."""
    files = dict(re.findall(r'cat >"\$folder/([\w.]+)" <<END\n(.*?)^END\n', script, re.S | re.M))
    words = shlex.split(re.sub(r"\\\n", " ", re.sub(r"<<END\n.*?^END\n", "\n", script, flags=re.S | re.M)), comments=True)
    flags = {word: following for word, following in zip(words, words[1:] + [""]) if word.startswith("--")}
    flags |= dict(word.split("=", 1) for word in words if re.match(r"--[\w-]+=", word))
    if "titan.toml" in files:
        toml = tomllib.loads(files["titan.toml"])
        degrees, training = toml["parallelism"], toml["training"]
        shard = degrees["data_parallel_shard_degree"] * degrees["context_parallel_degree"]
        return titan(files["accord_model.py"]), int(flags["--nnodes"]) * int(flags["--nproc-per-node"]), training["global_batch_size"], shard, shard
    if "maxtext.yml" in files:
        c = yaml.safe_load(files["maxtext.yml"])
        ranks = 1
        for axis in ("tensor", "tensor_sequence", "context", "expert", "fsdp", "data", "pipeline"):
            ranks *= c.get(f"ici_{axis}_parallelism", 1) * c.get(f"dcn_{axis}_parallelism", 1)
        shard = c["ici_fsdp_parallelism"] * c["dcn_fsdp_parallelism"] * c["ici_context_parallelism"] * c["dcn_context_parallelism"]
        return maxtext(c), ranks, int(ranks * c["per_device_batch_size"]) * c["gradient_accumulation_steps"], shard, shard
    samples = int(flags["--per_device_train_batch_size"]) * int(flags["--gradient_accumulation_steps"])
    assert flags["--config_name"] == "$folder"
    count = transformers(json.loads(files["config.json"]))
    if "ds_config.json" in files:
        c = json.loads(files["ds_config.json"])
        ranks, stage = int(flags["--nnodes"]) * int(flags["--nproc-per-node"]), c["zero_optimization"]["stage"]
        assert c["train_batch_size"] == ranks * samples == ranks * c["train_micro_batch_size_per_gpu"] * c["gradient_accumulation_steps"]
        return count, ranks, ranks * samples, ranks if stage >= 2 else 1, ranks if stage >= 1 else 1
    ranks = int(flags["--num_processes"])
    shard = ranks if "--use_fsdp" in flags else 1
    return count, ranks, ranks * samples, shard, shard


def main():
    with open(sys.argv[1], encoding="utf8") as file:
        count, ranks, samples, gradients, states = read(file.read())
    planned = ""
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf8") as file:
            plan = json.load(file)
        if samples != plan["batch"]:
            sys.exit(f"{samples} samples by the script, the plan has {plan['batch']}")
        if count != plan["parameters"]:
            sys.exit(f"{count} parameters by the script, the plan has {plan['parameters']}")
        memory = plan["stages"][0]["memory"]
        layers = plan["stages"][0]["layer_count"]
        for name, each, shard in (("gradients_bytes", 4, gradients), ("optimizer_states_bytes", 12, states)):
            exact = each * count / shard
            if not exact <= memory[name] <= exact + layers + 4:
                sys.exit(f"{count} parameters, {exact} bytes of {name} by the script, the plan has {memory[name]}")
        planned = ", as planned"
    print(f"{count} parameters on {ranks} ranks, gradients over {gradients}, states over {states}{planned}")


main()
