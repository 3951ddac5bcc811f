#!/usr/bin/env python3
"""Parameters and forward FLOPs of configurations, as Hugging Face transformers and torch count them.

    scripts/huggingface_counts.py test/import/Inputs/*.json

Each configuration becomes the class that it names, on the meta device: no weights are made. Parameters are those of the
class, tied ones once. FLOPs are those that torch's FlopCounterMode sees in one forward pass of one sample of so many
tokens: convolutions and products, 2 for each multiply-accumulate. It counts scores in full where a window hides some,
so what layers with a window compute less is taken off: 4 FLOP for each hidden score and element of a head.
Needs torch and transformers."""
import json
import os
import sys

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers import CONFIG_MAPPING

TOKENS = 4096
# Where the configuration names no class that is trained, or another one than the import describes.
CLASSES = {"bert": "BertForPreTraining", "vit": "ViTForImageClassification", "t5": "T5ForConditionalGeneration"}


def windows(config):
    """How many layers see a window, and its keys."""
    window, kinds = getattr(config, "sliding_window", None), getattr(config, "layer_types", None)
    if not window or getattr(config, "use_sliding_window", True) is False:
        return 0, 0
    layers = config.num_hidden_layers
    return (sum(kind == "sliding_attention" for kind in kinds) if kinds else layers), window


def inputs(config, tokens):
    """Of one sample, by the name of the argument; and how many tokens that is."""
    kind = config.model_type
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 1 << 30
    if kind in ("roberta", "xlm-roberta", "camembert"):
        positions -= config.pad_token_id + 1
    tokens = min(tokens, positions)
    if kind == "mamba":  # torch runs its scan step by step
        tokens = 64
    ids = torch.zeros((1, tokens), dtype=torch.long, device="meta")
    if kind == "vit":
        return {"pixel_values": torch.zeros((1, config.num_channels, config.image_size, config.image_size), device="meta")}, 0
    if kind == "clip":
        vision = config.vision_config
        tokens = config.text_config.max_position_embeddings
        return {"input_ids": torch.zeros((1, tokens), dtype=torch.long, device="meta"),
                "pixel_values": torch.zeros((1, 3, vision.image_size, vision.image_size), device="meta")}, tokens
    if kind == "t5":
        return {"input_ids": ids[:, :512], "decoder_input_ids": ids[:, :114]}, 512
    if kind == "whisper":
        return {"input_features": torch.zeros((1, config.num_mel_bins, 2 * config.max_source_positions), device="meta"),
                "decoder_input_ids": ids[:, :config.max_target_positions]}, config.max_target_positions
    return {"input_ids": ids}, tokens


def count(path):
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    kind, architecture = said["model_type"], said["architectures"][0]
    said = {key: value for key, value in said.items() if key not in ("model_type", "quantization_config")}
    if kind == "vit":  # a file that lists its labels by name is cut short here
        said.setdefault("num_labels", 1000)
    config = CONFIG_MAPPING[kind](**said)
    # Experts as products of all tokens with the weights that each takes: what is counted does not depend on data.
    config._experts_implementation = "batched_mm"
    cls = getattr(transformers, CLASSES.get(kind) or architecture)
    with torch.device("meta"):
        model = cls(config)
    model.eval().to(torch.bfloat16)
    parameters = sum({id(p): p.numel() for p in model.parameters()}.values())
    if kind == "t5" and said.get("tie_word_embeddings") is False:
        # transformers 5 ties the head of every T5; the checkpoints of T5 1.1 have one of their own.
        parameters += config.vocab_size * config.d_model
    given, tokens = inputs(config, TOKENS)
    if "pixel_values" in given:
        given["pixel_values"] = given["pixel_values"].to(torch.bfloat16)
    if "input_features" in given:
        given["input_features"] = given["input_features"].to(torch.bfloat16)
    counter = FlopCounterMode(display=False)
    try:
        with torch.no_grad(), counter:
            model(**given)
        flops = counter.get_total_flops()
    except Exception as error:  # what the meta device cannot run has parameters only
        print(os.path.basename(path), type(error).__name__, str(error)[:300], file=sys.stderr)
        flops = 0
    layers, window = windows(config)
    if flops and layers and window < tokens:
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        flops -= layers * 4 * config.num_attention_heads * width * tokens * (tokens - window)
    return parameters, tokens, flops


def main():
    print("configuration,parameters,tokens,forward_flops")
    for path in sorted(sys.argv[1:]):
        print(os.path.basename(path)[:-len(".json")], *count(path), sep=",", flush=True)


if __name__ == "__main__":
    main()
