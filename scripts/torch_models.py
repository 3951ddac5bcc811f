#!/usr/bin/env python3
"""torch_models.py FOLDER [NAME...]: exports models of PyTorch to small .pt2 files without weights, and writes
FOLDER/models.csv with what PyTorch itself counts: parameters, and floating-point operations of products, forward and
backward, of one sample. Needs torch, torchvision, timm, transformers and diffusers; neither the build nor the tests do.

Columns: name, parameters, forward_flops and backward_flops (torch.utils.flop_counter, which takes the backward pass of a
grouped convolution for a dense one: column `grouped`), nodes, bytes."""
import csv
import os
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "python"))


def torchvision_model(name, size=224, **options):
    def make(torch):
        import torchvision

        return getattr(torchvision.models, name)(**options), (torch.randn(2, 3, size, size),), {}

    return make


def timm_model(name, size=224, **options):
    def make(torch):
        import timm

        return timm.create_model(name, pretrained=False, **options), (torch.randn(2, 3, size, size),), {}

    return make


def hugging_face(model, config, seq=128, more=None, **options):
    """A model of transformers by its class and the class of its configuration, called with `input_ids`."""

    def make(torch):
        import transformers

        made = getattr(transformers, model)(getattr(transformers, config)(**options))
        ids = torch.zeros(2, seq, dtype=torch.int64)
        inputs = {"input_ids": ids, **({key: torch.zeros(2, n, dtype=torch.int64) for key, n in (more or {}).items()})}

        class Logits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = made

            def forward(self, **inputs):
                return self.model(**inputs, use_cache=False, return_dict=True)[0]

        class LogitsWithoutCache(Logits):
            def forward(self, **inputs):
                return self.model(**inputs, return_dict=True)[0]

        return (Logits() if hasattr(made.config, "use_cache") else LogitsWithoutCache()), (), inputs

    return make


def unet(torch):
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(sample_size=32, block_out_channels=(64, 128, 256, 256), cross_attention_dim=128,
                                 attention_head_dim=8, norm_num_groups=32)

    class Noise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unet = model

        def forward(self, sample, timestep, text):
            return self.unet(sample, timestep, text, return_dict=False)[0]

    return Noise(), (torch.randn(2, 4, 32, 32), torch.zeros(2, dtype=torch.int64), torch.randn(2, 77, 128)), {}


def dit(torch):
    from diffusers import DiTTransformer2DModel

    model = DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, num_layers=12, sample_size=32)

    class Noise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dit = model

        def forward(self, sample, timestep, labels):
            return self.dit(sample, timestep=timestep, class_labels=labels, return_dict=False)[0]

    ids = torch.zeros(2, dtype=torch.int64)
    return Noise(), (torch.randn(2, 4, 32, 32), ids, ids), {}


def lstm(torch):
    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(1000, 64)
            self.lstm = torch.nn.LSTM(64, 128, num_layers=2, batch_first=True, bidirectional=True)
            self.head = torch.nn.Linear(256, 50)

        def forward(self, tokens):
            y, _ = self.lstm(self.table(tokens))
            return self.head(y)

    return Tagger(), (torch.zeros(2, 24, dtype=torch.int64),), {}


def transformer(torch):
    model = torch.nn.Transformer(d_model=256, nhead=4, num_encoder_layers=3, num_decoder_layers=3, dim_feedforward=512,
                                 batch_first=True)
    return model, (torch.randn(2, 20, 256), torch.randn(2, 16, 256)), {}


GPT2 = dict(n_layer=12, n_embd=768, n_head=12)
LLAMA = dict(hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4,
             vocab_size=32000, max_position_embeddings=2048)

# name -> how it is made: the module, its inputs by place, its inputs by name. A batch of 2.
MODELS = {
    "resnet50": torchvision_model("resnet50"),
    "convnext_tiny": torchvision_model("convnext_tiny"),
    "vit_b_16": torchvision_model("vit_b_16"),
    "swin_t": torchvision_model("swin_t"),
    "efficientnet_b0": torchvision_model("efficientnet_b0"),
    "densenet121": torchvision_model("densenet121"),
    "mobilenet_v3_large": torchvision_model("mobilenet_v3_large"),
    "regnet_y_400mf": torchvision_model("regnet_y_400mf"),
    "inception_v3": torchvision_model("inception_v3", 299, init_weights=False),
    "googlenet": torchvision_model("googlenet", init_weights=False),
    "mixer_b16": timm_model("mixer_b16_224"),
    "deit_tiny": timm_model("deit_tiny_patch16_224"),
    "beit_base": timm_model("beit_base_patch16_224"),
    "bert_base": hugging_face("BertForMaskedLM", "BertConfig", more={"attention_mask": 128}),
    "gpt2": hugging_face("GPT2LMHeadModel", "GPT2Config", **GPT2),
    "llama": hugging_face("LlamaForCausalLM", "LlamaConfig", **LLAMA),
    "t5_small": hugging_face("T5ForConditionalGeneration", "T5Config", more={"decoder_input_ids": 64},
                             d_model=512, num_layers=6, num_heads=8, d_ff=2048, decoder_start_token_id=0),
    "unet": unet,
    "dit": dit,
    "lstm": lstm,
    "transformer": transformer,
}


def without_initialization(torch):
    """Weights need no values: their pages are never touched."""
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *args, **kwargs: tensor)


def flops(torch, model, args, kwargs):
    """Of a sample, forward and backward, counted by PyTorch on the device `meta`."""
    from torch.utils.flop_counter import FlopCounterMode

    def to_meta(one):
        return one.to("meta") if isinstance(one, torch.Tensor) else one

    def run(model, args, kwargs):
        with FlopCounterMode(display=False) as counter:
            return counter, model(*args, **kwargs)

    try:
        import copy

        forward, outputs = run(copy.deepcopy(model).to("meta"), *torch.utils._pytree.tree_map(to_meta, (args, kwargs)))
    except RuntimeError:  # it asks for values of tensors
        forward, outputs = run(model, args, kwargs)
    leaves = [one for one in torch.utils._pytree.tree_leaves(outputs) if isinstance(one, torch.Tensor) and one.requires_grad]
    with FlopCounterMode(display=False) as backward:
        sum(one.float().sum() for one in leaves).backward()
    return forward.get_total_flops(), backward.get_total_flops()


def main():
    import torch

    from accord.torch import save, trace

    warnings.filterwarnings("ignore")
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    table = os.path.join(folder, "models.csv")
    rows = {}
    if os.path.exists(table):
        with open(table) as old:
            rows = {row["name"]: row for row in csv.DictReader(old)}
    without_initialization(torch)
    for name in sys.argv[2:] or MODELS:
        begin = time.time()
        try:
            model, args, kwargs = MODELS[name](torch)
            model.train()
            path = os.path.join(folder, name + ".pt2")
            program = trace(model, args, kwargs)
            save(program, path)
            grouped = any(isinstance(m, torch.nn.modules.conv._ConvNd) and m.groups > 1 for m in model.modules())
            parameters = sum(p.numel() for p in model.parameters())
            forward, backward = flops(torch, model, args, kwargs)
            rows[name] = dict(name=name, parameters=parameters, forward_flops=forward // 2, backward_flops=backward // 2,
                              grouped=int(grouped), nodes=len(program.graph.nodes), bytes=os.path.getsize(path))
            print(f"{name}: {time.time() - begin:.0f} s", flush=True)
        except Exception as error:  # the others go on
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
        with open(table, "w", newline="") as out:
            writer = csv.DictWriter(out, ["name", "parameters", "forward_flops", "backward_flops", "grouped", "nodes", "bytes"],
                                    lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows.values())


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(len(sys.argv) < 2)
    main()
