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


def image_model(package, name, size=224, channels=3, **options):
    """A model of images in a subpackage of torchvision.models; its output `out` of a segmentation."""

    def make(torch):
        import importlib

        module = importlib.import_module("torchvision.models." + package)
        made = getattr(module, name)(weights=None, weights_backbone=None, **options)

        class Out(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = made

            def forward(self, x):
                return self.model(x)["out"]

        return Out(), (torch.randn(2, channels, size, size),), {}

    return make


def video_model(name, frames=8, size=112):
    def make(torch):
        import torchvision

        return getattr(torchvision.models.video, name)(), (torch.randn(2, 3, frames, size, size),), {}

    return make


def transformer_of(model, config, inputs, first=True, settings=None, **options):
    """A model of transformers with inputs of any shape: {name: shape} of numbers, or (shape, rows) of ids below `rows`."""

    def make(torch):
        import transformers

        stated = {key: getattr(transformers, value.pop("class"))(**value).to_dict() if isinstance(value, dict) and "class" in value
                  else value for key, value in {key: dict(value) if isinstance(value, dict) else value
                                                for key, value in options.items()}.items()}
        made = getattr(transformers, model)(getattr(transformers, config)(**stated))
        given = {key: torch.zeros(2, *shape, dtype=torch.int64) if isinstance(shape, list) else torch.randn(2, *shape)
                 for key, shape in inputs.items()}

        class First(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = made

            def forward(self, **inputs):
                outputs = self.model(**inputs, **(settings or {}), return_dict=True)
                return outputs[first] if isinstance(first, str) else outputs[0]

        return First(), (), given

    return make


def dlrm(torch):
    """Naumov et al., Deep Learning Recommendation Model, 2019."""
    nn = torch.nn

    class Dlrm(nn.Module):
        def __init__(self, tables=8, rows=10000, width=64):
            super().__init__()
            self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
            self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
            pairs = (tables + 1) * tables // 2
            self.top = nn.Sequential(nn.Linear(width + pairs, 256), nn.ReLU(), nn.Linear(256, 1))
            below = torch.tril_indices(tables + 1, tables + 1, -1)
            self.register_buffer("rows", below[0])
            self.register_buffer("columns", below[1])

        def forward(self, numbers, ids):
            x = self.bottom(numbers)
            all = torch.stack([x] + [table(ids[:, i]) for i, table in enumerate(self.tables)], dim=1)
            products = torch.bmm(all, all.transpose(1, 2))
            return self.top(torch.cat([x, products[:, self.rows, self.columns]], dim=1))

    return Dlrm(), (torch.randn(2, 13), torch.zeros(2, 8, 4, dtype=torch.int64)), {}


def wide_and_deep(torch):
    """Cheng et al., Wide & Deep Learning for Recommender Systems, 2016."""
    nn = torch.nn

    class WideAndDeep(nn.Module):
        def __init__(self, fields=26, rows=50000, width=16):
            super().__init__()
            self.wide = nn.Embedding(rows, 1)
            self.table = nn.Embedding(rows, width)
            self.deep = nn.Sequential(nn.Linear(fields * width + 13, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 128),
                                      nn.ReLU(), nn.Linear(128, 1))
            self.linear = nn.Linear(13, 1)

        def forward(self, numbers, ids):
            wide = self.wide(ids).sum(dim=1) + self.linear(numbers)
            return wide + self.deep(torch.cat([self.table(ids).flatten(1), numbers], dim=1))

    return WideAndDeep(), (torch.randn(2, 13), torch.zeros(2, 26, dtype=torch.int64)), {}


def dcn(torch):
    """Wang et al., DCN V2, 2021: crosses x0 * (W x + b) + x beside a deep part."""
    nn = torch.nn

    class Dcn(nn.Module):
        def __init__(self, fields=26, rows=50000, width=16):
            super().__init__()
            self.table = nn.Embedding(rows, width)
            all = fields * width + 13
            self.cross = nn.ModuleList(nn.Linear(all, all) for _ in range(3))
            self.deep = nn.Sequential(nn.Linear(all, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
            self.head = nn.Linear(all + 256, 1)

        def forward(self, numbers, ids):
            first = x = torch.cat([self.table(ids).flatten(1), numbers], dim=1)
            for layer in self.cross:
                x = first * layer(x) + x
            return self.head(torch.cat([x, self.deep(first)], dim=1))

    return Dcn(), (torch.randn(2, 13), torch.zeros(2, 26, dtype=torch.int64)), {}


def deep_fm(torch):
    """Guo et al., DeepFM, 2017: pairs by the square of a sum less the sum of squares."""
    nn = torch.nn

    class DeepFm(nn.Module):
        def __init__(self, fields=39, rows=50000, width=16):
            super().__init__()
            self.first = nn.Embedding(rows, 1)
            self.table = nn.Embedding(rows, width)
            self.deep = nn.Sequential(nn.Linear(fields * width, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 1))

        def forward(self, ids):
            x = self.table(ids)
            pairs = 0.5 * (x.sum(dim=1).pow(2) - x.pow(2).sum(dim=1)).sum(dim=1, keepdim=True)
            return torch.sigmoid(self.first(ids).sum(dim=1) + pairs + self.deep(x.flatten(1)))

    return DeepFm(), (torch.zeros(2, 39, dtype=torch.int64),), {}


def neural_cf(torch):
    """He et al., Neural Collaborative Filtering, 2017."""
    nn = torch.nn

    class NeuralCf(nn.Module):
        def __init__(self, users=6040, items=3706, width=32):
            super().__init__()
            self.users, self.items = nn.Embedding(users, width), nn.Embedding(items, width)
            self.mlp_users, self.mlp_items = nn.Embedding(users, 128), nn.Embedding(items, 128)
            self.mlp = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
            self.head = nn.Linear(32 + width, 1)

        def forward(self, user, item):
            product = self.users(user) * self.items(item)
            deep = self.mlp(torch.cat([self.mlp_users(user), self.mlp_items(item)], dim=-1))
            return self.head(torch.cat([product, deep], dim=-1))

    ids = torch.zeros(2, dtype=torch.int64)
    return NeuralCf(), (ids, ids), {}


def gcn(torch):
    """Kipf and Welling, 2017, on graphs of 64 nodes with a dense adjacency for each sample."""
    nn = torch.nn

    class Gcn(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.head = nn.Linear(32, 64), nn.Linear(64, 64), nn.Linear(64, 7)

        def forward(self, x, adjacency):
            degrees = adjacency.sum(dim=-1).clamp(min=1).rsqrt()
            adjacency = degrees.unsqueeze(-1) * adjacency * degrees.unsqueeze(-2)
            x = torch.relu(adjacency @ self.first(x))
            x = torch.relu(adjacency @ self.second(x))
            return self.head(x)

    return Gcn(), (torch.randn(2, 64, 32), torch.rand(2, 64, 64)), {}


def gat(torch):
    """Velickovic et al., 2018, on graphs of 64 nodes with a dense mask for each sample."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self, inside, out, heads):
            super().__init__()
            self.heads, self.out = heads, out
            self.linear = nn.Linear(inside, heads * out, bias=False)
            self.source = nn.Parameter(torch.zeros(heads, out))
            self.target = nn.Parameter(torch.zeros(heads, out))

        def forward(self, x, edges):
            h = self.linear(x).unflatten(-1, (self.heads, self.out))
            scores = (h * self.source).sum(-1).unsqueeze(2) + (h * self.target).sum(-1).unsqueeze(1)
            scores = torch.nn.functional.leaky_relu(scores, 0.2).masked_fill(edges.unsqueeze(-1) == 0, -1e9)
            return torch.einsum("bijh,bjho->biho", scores.softmax(dim=2), h).flatten(2)

    class Gat(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Layer(32, 8, 8), Layer(64, 7, 1)

        def forward(self, x, edges):
            return self.second(torch.nn.functional.elu(self.first(x, edges)), edges)

    return Gat(), (torch.randn(2, 64, 32), torch.ones(2, 64, 64, dtype=torch.int64)), {}


def graph_isomorphism(torch):
    """Xu et al., How Powerful are Graph Neural Networks?, 2019 (GIN), with a sum of all nodes."""
    nn = torch.nn

    class Gin(nn.Module):
        def __init__(self, layers=3, width=64):
            super().__init__()
            self.eps = nn.Parameter(torch.zeros(layers))
            self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(32 if i == 0 else width, width), nn.ReLU(), nn.Linear(width, width))
                                      for i in range(layers))
            self.head = nn.Linear(width, 10)

        def forward(self, x, adjacency):
            for i, mlp in enumerate(self.mlps):
                x = torch.relu(mlp((1 + self.eps[i]) * x + adjacency @ x))
            return self.head(x.sum(dim=1))

    return Gin(), (torch.randn(2, 64, 32), torch.rand(2, 64, 64)), {}


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

SMALL = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, vocab_size=1000)
GROUPED = dict(SMALL, num_key_value_heads=2)
VISION = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, image_size=224, patch_size=16)
PIXELS = {"pixel_values": (3, 224, 224)}
MODELS |= {name: torchvision_model(name) for name in (
    "squeezenet1_1", "shufflenet_v2_x1_0", "mnasnet1_0", "vgg16_bn", "alexnet", "resnext50_32x4d", "wide_resnet50_2",
    "efficientnet_v2_s", "convnext_base", "maxvit_t", "swin_v2_t", "mobilenet_v2")}
MODELS |= {name: timm_model(name) for name in (
    "convnextv2_tiny", "cait_xxs24_224", "eva02_tiny_patch14_224", "resnetv2_50", "res2net50_26w_4s", "ghostnet_100",
    "levit_128", "poolformer_s12", "gmlp_s16_224", "xcit_nano_12_p16_224", "coatnet_0_rw_224", "hrnet_w18_small", "dpn68",
    "nfnet_l0", "resnest50d", "seresnet50", "vit_small_patch16_224", "vit_base_patch32_clip_224", "mobilenetv4_conv_small",
    "mobilenetv4_hybrid_medium", "efficientformer_l1", "efficientformerv2_s0", "pvt_v2_b0", "twins_pcpvt_small",
    "twins_svt_small", "focalnet_tiny_srf", "volo_d1_224", "convmixer_768_32", "repvgg_a0", "edgenext_x_small", "fastvit_t8",
    "davit_tiny", "inception_next_tiny", "tiny_vit_5m_224", "repvit_m1", "convit_tiny", "tnt_s_patch16_224", "visformer_tiny",
    "resmlp_12_224", "nest_tiny", "mvitv2_tiny", "hiera_tiny_224", "vgg11", "tresnet_m", "cspresnet50", "skresnet18",
    "selecsls42b", "regnetz_b16", "deit3_small_patch16_224")}
MODELS |= {
    "mobilevit_s": timm_model("mobilevit_s", 256),
    "crossvit_tiny_240": timm_model("crossvit_tiny_240", 240),
    "deeplabv3_resnet50": image_model("segmentation", "deeplabv3_resnet50", num_classes=21),
    "fcn_resnet50": image_model("segmentation", "fcn_resnet50", num_classes=21),
    "lraspp_mobilenet_v3_large": image_model("segmentation", "lraspp_mobilenet_v3_large", num_classes=21),
    "r3d_18": video_model("r3d_18"),
    "mc3_18": video_model("mc3_18"),
    "r2plus1d_18": video_model("r2plus1d_18"),
    "s3d": video_model("s3d", 16, 224),
    "mvit_v2_s": video_model("mvit_v2_s", 16, 224),
    "swin3d_t": video_model("swin3d_t", 8, 224),
    "dlrm": dlrm,
    "wide_and_deep": wide_and_deep,
    "dcn_v2": dcn,
    "deep_fm": deep_fm,
    "neural_cf": neural_cf,
    "gcn": gcn,
    "gat": gat,
    "gin": graph_isomorphism,
}
MODELS |= {kind.lower(): hugging_face(kind + "ForCausalLM", kind + "Config", **GROUPED) for kind in (
    "Qwen2", "Qwen3", "Mistral", "Gemma", "Mixtral", "Olmoe", "Olmo2", "Cohere", "Granite", "StableLm", "Starcoder2", "Gemma2",
    "Qwen2Moe")}
MODELS |= {kind.lower(): hugging_face(kind + "ForMaskedLM", kind + "Config", **SMALL) for kind in (
    "Electra", "Roberta", "Albert", "Deberta", "DebertaV2", "MobileBert", "ConvBert")}
MODELS |= {
    "phi": hugging_face("PhiForCausalLM", "PhiConfig", **SMALL),
    "phi3": hugging_face("Phi3ForCausalLM", "Phi3Config", pad_token_id=0, **GROUPED),
    "falcon": hugging_face("FalconForCausalLM", "FalconConfig", hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                           vocab_size=1000),
    "gpt_neox": hugging_face("GPTNeoXForCausalLM", "GPTNeoXConfig", **SMALL),
    "gpt_neo": hugging_face("GPTNeoForCausalLM", "GPTNeoConfig", hidden_size=256, num_layers=4, num_heads=4, vocab_size=1000,
                            attention_types=[[["global", "local"], 2]]),
    "gptj": hugging_face("GPTJForCausalLM", "GPTJConfig", n_embd=256, n_layer=4, n_head=4, rotary_dim=32, vocab_size=1000),
    "opt": hugging_face("OPTForCausalLM", "OPTConfig", hidden_size=256, num_hidden_layers=4, num_attention_heads=4, ffn_dim=512,
                        vocab_size=1000, word_embed_proj_dim=256),
    "bloom": hugging_face("BloomForCausalLM", "BloomConfig", hidden_size=256, n_layer=4, n_head=4, vocab_size=1000),
    "distilbert": hugging_face("DistilBertForMaskedLM", "DistilBertConfig", dim=256, n_layers=4, n_heads=4, hidden_dim=512,
                               vocab_size=1000),
    "bart": hugging_face("BartForConditionalGeneration", "BartConfig", more={"decoder_input_ids": 64}, vocab_size=1000,
                         d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                         encoder_ffn_dim=512, decoder_ffn_dim=512),
    "longformer": hugging_face("LongformerForMaskedLM", "LongformerConfig", attention_window=32, **SMALL),
    "mamba": hugging_face("MambaForCausalLM", "MambaConfig", seq=32, hidden_size=128, num_hidden_layers=2, vocab_size=1000),
    "mamba2": hugging_face("Mamba2ForCausalLM", "Mamba2Config", seq=64, hidden_size=128, num_hidden_layers=2, vocab_size=1000,
                           num_heads=8, head_dim=32, state_size=32, n_groups=1, chunk_size=32),
    "rwkv": hugging_face("RwkvForCausalLM", "RwkvConfig", seq=16, hidden_size=128, num_hidden_layers=2, attention_hidden_size=128,
                         vocab_size=1000),
    "vit_hf": transformer_of("ViTForImageClassification", "ViTConfig", PIXELS, **VISION),
    "dinov2": transformer_of("Dinov2ForImageClassification", "Dinov2Config", PIXELS, **VISION),
    "vit_mae": transformer_of("ViTMAEForPreTraining", "ViTMAEConfig", PIXELS, first="logits", decoder_hidden_size=128,
                              decoder_num_hidden_layers=2, decoder_num_attention_heads=4, decoder_intermediate_size=256, **VISION),
    "segformer": transformer_of("SegformerForSemanticSegmentation", "SegformerConfig", PIXELS),
    "detr": transformer_of("DetrForObjectDetection", "DetrConfig", {"pixel_values": (3, 256, 256)}, use_timm_backbone=False,
                           use_pretrained_backbone=False, backbone=None,
                           backbone_config={"class": "ResNetConfig", "out_features": ["stage4"]}, encoder_layers=2,
                           decoder_layers=2),
    "wav2vec2": transformer_of("Wav2Vec2ForCTC", "Wav2Vec2Config", {"input_values": (16000,)}, **SMALL),
    "hubert": transformer_of("HubertForCTC", "HubertConfig", {"input_values": (16000,)}, **SMALL),
    "whisper": transformer_of("WhisperForConditionalGeneration", "WhisperConfig",
                              {"input_features": (80, 3000), "decoder_input_ids": [64]}, settings={"use_cache": False},
                              vocab_size=1000, d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                              decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=512, pad_token_id=0,
                              bos_token_id=1, eos_token_id=2, decoder_start_token_id=1),
    "clip_vision": transformer_of("CLIPVisionModelWithProjection", "CLIPVisionConfig", PIXELS, **VISION),
    "clip_text": transformer_of("CLIPTextModelWithProjection", "CLIPTextConfig", {"input_ids": [77]}, **SMALL),
    "siglip": transformer_of("SiglipVisionModel", "SiglipVisionConfig", PIXELS, first="pooler_output", **VISION),
    "blip_text": transformer_of("BlipTextModel", "BlipTextConfig", {"input_ids": [64]}, encoder_hidden_size=256, **SMALL),
    "convnext_hf": transformer_of("ConvNextForImageClassification", "ConvNextConfig", PIXELS),
    "dpt": transformer_of("DPTForDepthEstimation", "DPTConfig", {"pixel_values": (3, 224, 224)}, first="predicted_depth",
                          hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512, image_size=224,
                          backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[32, 64, 128, 128], fusion_hidden_size=64),
    "time_series": transformer_of("PatchTSTForPrediction", "PatchTSTConfig", {"past_values": (512, 7)}, num_input_channels=7,
                                  context_length=512, prediction_length=96, first="prediction_outputs"),
}


def without_initialization(torch):
    """Weights need no values: their pages are never touched."""
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *args, **kwargs: tensor)


def export(torch, model, args, kwargs, path):
    """Writes the program of a module as it trains, without its weights."""
    from accord.torch import save, trace

    program = trace(model, args, kwargs)
    save(program, path)
    return program


def flops(torch, model, args, kwargs, backward=True):
    """Of the batch, forward and backward, counted by PyTorch on the device `meta`."""
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
    if not backward:
        return forward.get_total_flops(), 0
    leaves = [one for one in torch.utils._pytree.tree_leaves(outputs) if isinstance(one, torch.Tensor) and one.requires_grad]
    with FlopCounterMode(display=False) as gradients:
        sum(one.float().sum() for one in leaves).backward()
    return forward.get_total_flops(), gradients.get_total_flops()


def main():
    import torch

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
            program = export(torch, model, args, kwargs, path)
            grouped = any(isinstance(m, torch.nn.modules.conv._ConvNd) and m.groups > 1 for m in model.modules())
            parameters = sum(p.numel() for p in model.parameters())
            forward, gradients = flops(torch, model, args, kwargs)
            rows[name] = dict(name=name, parameters=parameters, forward_flops=forward // 2, backward_flops=gradients // 2,
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
