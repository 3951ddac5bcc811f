#!/usr/bin/env python3
"""broken_configs.py CONFIGS WORK: each configuration with one thing wrong is refused with its code at its key, or imported with a note."""
import json
import os
import subprocess
import sys

configs, work = sys.argv[1:]
GONE = object()
# Base, what is changed, the code (or a note), what the message has.
CASES = [
    ("qwen2.5-7b", {"num_key_value_heads": 3}, "A0811", "'num_key_value_heads' must be a divisor of 'num_attention_heads', 28, found 3"),
    ("qwen2.5-7b", {"num_attention_heads": 0}, "A0811", "'num_attention_heads' must be a whole number from 1 to 2^31, found 0"),
    ("qwen2.5-7b", {"hidden_size": GONE}, "A0811", "the configuration says no 'hidden_size'"),
    ("qwen2.5-7b", {"use_sliding_window": "yes"}, "A0811", "'use_sliding_window' must be true or false"),
    ("qwen2.5-7b", {"hidden_act": "relu"}, "A0812", "the activation 'relu' is not supported"),
    ("qwen2.5-7b", {"attn_implementation": "mine"}, "A0812", "the attention 'mine' is not known"),
    ("qwen2.5-7b", {"attn_implementation": 7}, "A0811", "'attn_implementation' must be a text, found 7"),
    ("qwen2.5-7b", {"rope_theta": 1}, "A0812", "rotary positions need a base above 1, found 1"),
    ("roberta-large", {"hidden_dropout_prob": 1}, "A0811", "'hidden_dropout_prob' must be a number of at least 0 and below 1, found 1"),
    ("qwen2.5-7b", {"rope_parameters": 5}, "A0811", "'rope_parameters' must be an object of settings, found 5"),
    ("qwen2.5-7b", {"rope_parameters": {"rope_theta": -1}}, "A0811", "'rope_theta' must be a number of at least 0, found -1"),
    ("qwen2.5-7b", {"num_hidden_layers": 1 << 40}, "A0811", "'num_hidden_layers' must be a whole number from 1 to 2^31"),
    ("qwen2.5-7b", {"hidden_size": 3585}, "A0811", "a divisor of 'hidden_size', 3585"),
    ("qwen3-8b", {"head_dim": 127}, "A0811", "'head_dim' must be even"),
    ("qwen3-8b", {"head_dim": -2}, "A0811", "'head_dim' must be a whole number"),
    ("qwen3-8b", {"vocab_size": 1.5}, "A0811", "'vocab_size' must be a whole number"),
    ("qwen3-30b-a3b", {"num_experts_per_tok": 129}, "A0811", "'num_experts_per_tok' must be at most 'num_experts', 128"),
    ("qwen3-30b-a3b", {"decoder_sparse_step": 2}, "A0812", "layers without experts between others with"),
    ("qwen3-30b-a3b", {"mlp_only_layers": [0]}, "A0812", "layers without experts between others with"),
    ("qwen3-30b-a3b", {"mlp_only_layers": 0}, "A0811", "'mlp_only_layers' must be a list"),
    ("gemma-2-9b", {"sliding_window": 0}, "A0811", "'sliding_window' must be a whole number from 1"),
    ("gemma-2-9b", {"layer_types": ["full_attention"]}, "A0811", "'layer_types' must be a list of one word for each of the 42 layers"),
    ("gemma-2-9b", {"layer_types": ["linear_attention"] * 42}, "A0811", "'layer_types' must be of 'full_attention' and 'sliding_attention'"),
    ("gemma-2-9b", {"layer_types": ["sliding_attention"] * 42, "sliding_window": GONE}, "A0811", "because there is no 'sliding_window'"),
    ("gemma-2-9b", {"num_hidden_layers": 4097}, "A0811", "'num_hidden_layers' must be at most 4096 where a layer may see a window"),
    ("gemma-2-9b", {"final_logit_softcapping": 0}, "A0812", "logits cannot be limited to 0"),
    ("gemma-3-4b-text", {"sliding_window_pattern": 0}, "A0811", "'sliding_window_pattern' must be a whole number from 1"),
    ("gemma-3-4b-text", {"use_bidirectional_attention": True}, "A0812", "attention in both directions is not supported"),
    ("falcon-40b", {"num_kv_heads": 7}, "A0811", "'num_kv_heads' must be a divisor of 'num_attention_heads', 128, found 7"),
    ("deepseek-v3", {"first_k_dense_replace": 61}, "A0811", "'first_k_dense_replace' must be less than 'num_hidden_layers', 61"),
    ("deepseek-v3", {"num_key_value_heads": 64}, "A0811", "each head has keys of its own"),
    ("deepseek-v3", {"moe_layer_freq": 2}, "A0812", "layers without experts between others with"),
    ("deepseek-v3", {"attn_implementation": "eager"}, "A0812", "scores of latent attention in memory are not supported"),
    ("deepseek-v3", {"qk_rope_head_dim": 63}, "A0811", "'qk_rope_head_dim' must be even"),
    ("mamba-130m-hf", {"use_bias": True}, "A0812", "biases of the products into and out of a layer"),
    ("mamba-130m-hf", {"time_step_rank": "some"}, "A0811", "'time_step_rank' must be a whole number"),
    ("mamba-130m-hf", {"expand": 4096}, "A0811", "'expand' must be at most 1024"),
    ("whisper-large-v3", {"scale_embedding": True}, "A0812", "token rows times the root of the width"),
    ("whisper-large-v3", {"decoder_attention_heads": 21}, "A0811", "'decoder_attention_heads' must be a divisor of 'd_model', 1280, found 21"),
    ("clip-vit-large-patch14", {"text_config": GONE}, "A0811", "the configuration says no 'text_config'"),
    ("clip-vit-large-patch14", {"vision_config": [1]}, "A0811", "'vision_config' must be an object of settings"),
    ("roberta-large", {"max_position_embeddings": 2}, "A0811", "'max_position_embeddings' must be more than 2"),
    ("roberta-large", {"position_embedding_type": "relative_key"}, "A0812", "'relative_key' positions are not supported"),
    ("roberta-large", {"is_decoder": True}, "A0812", "an encoder as a decoder is not supported"),
    ("llama-2-7b", {"mlp_bias": True}, "A0812", "biases in the feed-forward layers are not supported"),
    ("llama-2-7b", {"quantization_config\nmodel evil() {": 1}, "note", "not understood and left out: quantization_config"),
    ("llama-2-7b", {"rope_scaling": {"rope_type": "llama3\n", "factor": 8}}, "note", "rotary positions are scaled ('llama3"),
    ("gpt2", {}, "note", "'attn_pdrop', 0.1, is left out"),
]
LENGTHS = [
    ("gpt2", "seq=2048", "A0812", "seq = 2048 is more than the 1024 positions that the model has a row for"),
    ("gpt2", "length=8", "A0812", "the model has no length of this name, only 'seq'"),
    ("vit-base-patch16-224", "seq=8", "A0812", "the model has no length of this name, and none to choose"),
    ("gpt2", "seq=0", "A0801", "expected NAME=N with a whole number from 1 to 2^31, found 'seq=0'"),
    ("gpt2", "seq", "A0801", "expected NAME=N"),
]


def checked(path, more, code, message):
    run = subprocess.run(["accord", "import", "huggingface", path] + more, capture_output=True, text=True)
    said = run.stderr
    if code == "note":
        return run.returncode == 0 and message in said and "\n\n" not in run.stdout[:run.stdout.index("import ")]
    return run.returncode not in (0, 70) and run.returncode > 0 and "error[" in said and message in said and code in said


def main():
    wrong = 0
    for number, (base, changes, code, message) in enumerate(CASES):
        with open(os.path.join(configs, base + ".json"), encoding="utf-8") as file:
            config = json.load(file)
        config.update(changes)
        path = os.path.join(work, "broken%d.json" % number)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({key: value for key, value in config.items() if value is not GONE}, file, indent=1)
        if not checked(path, [], code, message):
            wrong += 1
            print(base, changes, "is not refused with", code, message)
    for base, size, code, message in LENGTHS:
        if not checked(os.path.join(configs, base + ".json"), ["--size", size], code, message):
            wrong += 1
            print(base, size, "is not refused with", message)
    print("%d of %d are as they should be" % (len(CASES) + len(LENGTHS) - wrong, len(CASES) + len(LENGTHS)))


main()
