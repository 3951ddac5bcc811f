"""The rows of scripts/public_models.py: public models, and how PyTorch makes and counts them. No command of its own.

ROWS: name -> {family, route, ...}. Routes `torch` and `onnx` have `make`, a maker of torch_models.py; `huggingface` the file of a
configuration; `catalog` takes its counts from test/catalog/expected.csv. `cause` says why counts differ, if they do. `batch` and
`target` are of the training that is compiled; `dgx_superpod_h100[8]` is that cluster of the catalogue with 8 servers."""
import os

import torch_models as made

ROWS = {}


def machine(devices):
    """One H100, a server of eight, or so many servers of a SuperPOD."""
    return "h100" if devices == 1 else "dgx_h100" if devices == 8 else f"dgx_superpod_h100[{devices // 8}]"


def add(family, route, rows, **same):
    for name, row in rows.items():
        assert name not in ROWS, name
        ROWS[name] = {"family": family, "route": route, **same, **row}


def image_rows(maker, names):
    """`NAME` or `NAME SIZE`: the edge of a picture, where it is not 224."""
    split = [name.split() for name in names]
    return {name: {"make": maker(name, *map(int, size))} for name, *size in split}


add("torchvision", "torch", image_rows(made.torchvision_model, [
    "alexnet", "vgg16_bn", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "densenet121", "squeezenet1_1", "shufflenet_v2_x1_0", "mobilenet_v2",
    "mobilenet_v3_large", "mnasnet1_0", "regnet_y_400mf", "efficientnet_b0", "efficientnet_v2_s 384", "convnext_tiny", "vit_b_16", "swin_t",
    "swin_v2_t 256", "maxvit_t"]))
add("torchvision", "torch", {
    "googlenet": {"make": made.torchvision_model("googlenet", init_weights=False)},
    "inception_v3": {"make": made.torchvision_model("inception_v3", 299, init_weights=False)},
})
add("torchvision", "onnx", {"vgg19": {"make": made.torchvision_model("vgg19")}, "resnet34": {"make": made.torchvision_model("resnet34")},
                            "squeezenet1_0": {"make": made.torchvision_model("squeezenet1_0")},
                            "mnasnet0_5": {"make": made.torchvision_model("mnasnet0_5")}}, options="--untie")
add("torchvision", "catalog", {"vit_l_16": {"file": "lib/catalog/vit.dnn"}, "resnext101_32x8d": {"file": "lib/catalog/resnet.dnn"}})
add("timm", "torch", image_rows(made.timm_model, [
    "mixer_b16_224", "deit_tiny_patch16_224", "beit_base_patch16_224", "convnextv2_tiny", "resnetv2_50", "res2net50_26w_4s", "ghostnet_100",
    "levit_128", "poolformer_s12", "gmlp_s16_224", "hrnet_w18_small", "dpn68", "nfnet_l0", "seresnet50", "repvgg_a0", "convmixer_768_32",
    "eva02_tiny_patch14_224", "xcit_nano_12_p16_224", "coatnet_0_rw_224", "cait_xxs24_224"]))
add("timm", "torch", {"mobilevit_s": {"make": made.timm_model("mobilevit_s", 256)}})


def transformer(model, config, inputs, **options):
    """A model of transformers as its configuration stands. `inputs`: name -> shape of a sample, a list for ids."""

    def make(torch):
        import transformers

        inner = getattr(transformers, model)(getattr(transformers, config)(**options))
        given = {key: torch.zeros(2, *shape, dtype=torch.int64) if isinstance(shape, list) else torch.randn(2, *shape)
                 for key, shape in inputs.items()}
        settings = {"use_cache": False} if hasattr(inner.config, "use_cache") else {}

        class First(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = inner

            def forward(self, **inputs):
                return self.model(**inputs, **settings, return_dict=True)[0]

        return First(), (), given

    return make


IDS = {"input_ids": [512]}
PIXELS = {"pixel_values": (3, 224, 224)}
add("huggingface", "torch", {
    "bert_base": {"make": transformer("BertForMaskedLM", "BertConfig", {"input_ids": [512], "attention_mask": [512]})},
    "gpt2_medium": {"make": made.hugging_face("GPT2LMHeadModel", "GPT2Config", seq=1024, n_layer=24, n_embd=1024, n_head=16), "batch": 8},
    "distilbert_base": {"make": transformer("DistilBertForMaskedLM", "DistilBertConfig", IDS)},
    "electra_small": {"make": transformer("ElectraForMaskedLM", "ElectraConfig", IDS)},
    "albert_base_v2": {"make": transformer("AlbertForMaskedLM", "AlbertConfig", IDS, embedding_size=128, hidden_size=768, num_attention_heads=12,
                                           intermediate_size=3072)},
    "bart_large": {"make": transformer("BartForConditionalGeneration", "BartConfig", {"input_ids": [512], "decoder_input_ids": [128]}), "batch": 16},
    "t5_small": {"make": made.hugging_face("T5ForConditionalGeneration", "T5Config", seq=512, more={"decoder_input_ids": 128}, d_model=512,
                                           num_layers=6, num_heads=8, d_ff=2048, decoder_start_token_id=0)},
    "tinyllama_1_1b": {"make": made.hugging_face("LlamaForCausalLM", "LlamaConfig", seq=2048, hidden_size=2048, intermediate_size=5632,
                                                 num_hidden_layers=22, num_attention_heads=32, num_key_value_heads=4, vocab_size=32000),
                       "batch": 4},
    "smollm2_135m": {"make": made.hugging_face("LlamaForCausalLM", "LlamaConfig", seq=2048, hidden_size=576, intermediate_size=1536,
                                               num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
                                               tie_word_embeddings=True), "batch": 8,
                     "cause": "attention in one kernel counts its softmax, 5 FLOP beside 256 for heads of 64"},
    "segformer_b0": {"make": transformer("SegformerForImageClassification", "SegformerConfig", PIXELS, num_labels=1000)},
    "dinov2_small": {"make": transformer("Dinov2ForImageClassification", "Dinov2Config", PIXELS, hidden_size=384, num_attention_heads=6,
                                         image_size=224, patch_size=14, num_labels=1000),
                     "cause": "its mask_token, which no operation of a classification reads"},
})
SOUND = {"input_values": (16000 * 10,)}
# Masks in time and layers that are left out at random are branches on data, which torch.export does not follow.
PLAIN = {"apply_spec_augment": False, "layerdrop": 0.0}
# Frames that are hidden in training read it; the program has the pass without.
UNREAD = "its masked_spec_embed, which no operation reads where no frame is hidden"
add("audio", "torch", {
    "wav2vec2_base": {"make": transformer("Wav2Vec2ForCTC", "Wav2Vec2Config", SOUND, **PLAIN), "cause": UNREAD},
    "hubert_base": {"make": transformer("HubertForCTC", "HubertConfig", SOUND, **PLAIN), "cause": UNREAD},
})
add("audio", "catalog", {"tc_resnet8": {"file": "lib/catalog/tc_resnet.dnn", "batch": 512}})


def video(name, frames, size):
    def make(torch):
        import torchvision

        return getattr(torchvision.models.video, name)(), (torch.randn(2, 3, frames, size, size),), {}

    return make


add("video", "onnx", {"r3d_18": {"make": video("r3d_18", 16, 112)}, "r2plus1d_18": {"make": video("r2plus1d_18", 16, 112)}},
    options="--untie", batch=8)
add("video", "torch", {"mc3_18": {"make": video("mc3_18", 16, 112)}, "s3d": {"make": video("s3d", 16, 224)},
                       "mvit_v2_s": {"make": video("mvit_v2_s", 16, 224)}}, batch=8)

# Configurations at their true sizes: name -> (length, batch, devices).
for config, seq, batch, devices in (
        ("bert-large-uncased", 512, 32, 1), ("bloom-560m", 2048, 8, 1), ("clip-vit-large-patch14", 0, 32, 1), ("deepseek-v3", 4096, 2048, 1024),
        ("falcon-40b", 2048, 128, 64), ("falcon-7b", 2048, 32, 8), ("gemma-2-9b", 4096, 32, 16), ("gemma-3-4b-text", 4096, 16, 8),
        ("gemma-7b", 4096, 32, 16), ("gpt-neox-20b", 2048, 64, 32), ("gpt-oss-120b", 4096, 256, 256), ("gpt-oss-20b", 4096, 64, 32),
        ("gpt2", 1024, 16, 1), ("llama-2-7b", 4096, 16, 8), ("mamba-130m-hf", 64, 32, 1), ("mamba-2.8b-hf", 64, 8, 1),
        ("mistral-7b-v0.1", 4096, 16, 8), ("mixtral-8x7b", 4096, 128, 64), ("opt-1.3b", 2048, 4, 1), ("phi-3-mini-4k", 4096, 16, 8),
        ("qwen2.5-7b", 4096, 16, 8), ("qwen3-30b-a3b", 4096, 128, 64), ("qwen3-8b", 4096, 16, 8), ("roberta-large", 512, 32, 1),
        ("t5-large", 0, 16, 1), ("t5-v1_1-base", 0, 32, 1), ("vit-base-patch16-224", 0, 64, 1), ("whisper-large-v3", 448, 8, 1),
        ("xlm-roberta-base", 512, 32, 1)):
    family = "state space" if config.startswith("mamba") else "audio" if config.startswith("whisper") else "huggingface"
    name = config.replace("-", "_").replace(".", "_").replace("_hf", "")
    add(family, "huggingface", {name: {"file": f"test/import/Inputs/{config}.json", "batch": batch, "options": f"--size seq={seq}" if seq else "",
                                       "target": machine(devices)}})



def ddpm(torch):
    """The U-Net of google/ddpm-cifar10-32."""
    from diffusers import UNet2DModel

    model = UNet2DModel(sample_size=32, in_channels=3, out_channels=3, center_input_sample=False, time_embedding_type="positional",
                        freq_shift=1, flip_sin_to_cos=False, block_out_channels=(128, 256, 256, 256), layers_per_block=2,
                        down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D", "DownBlock2D"),
                        up_block_types=("UpBlock2D", "UpBlock2D", "AttnUpBlock2D", "UpBlock2D"), norm_eps=1e-6, downsample_padding=0,
                        attention_head_dim=None)

    class Noise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unet = model

        def forward(self, sample, timestep):
            return self.unet(sample, timestep, return_dict=False)[0]

    return Noise(), (torch.randn(2, 3, 32, 32), torch.zeros(2, dtype=torch.int64)), {}


def autoencoder(torch):
    """Encoder and decoder of Stable Diffusion 1.5 for images of 256 x 256, without the sampling between them."""
    from diffusers import AutoencoderKL

    model = AutoencoderKL(in_channels=3, out_channels=3, block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4,
                          down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4, sample_size=512)

    class Picture(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, picture):
            means = self.model.quant_conv(self.model.encoder(picture))[:, :4]
            return self.model.decoder(self.model.post_quant_conv(means))

    return Picture(), (torch.randn(2, 3, 256, 256),), {}


def language_lstm(torch):
    """The medium network of Zaremba et al., Recurrent Neural Network Regularization, 2014: 2 layers of 650 over 35 words of 10,000."""
    class Words(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(10000, 650)
            self.lstm = torch.nn.LSTM(650, 650, num_layers=2, batch_first=True, dropout=0.5)
            self.head = torch.nn.Linear(650, 10000)

        def forward(self, words):
            y, _ = self.lstm(self.table(words))
            return self.head(y)

    return Words(), (torch.zeros(2, 35, dtype=torch.int64),), {}


def base_transformer(torch):
    """The layers of the base model of Vaswani et al., Attention Is All You Need, 2017: the defaults of torch.nn.Transformer."""
    return torch.nn.Transformer(batch_first=True), (torch.randn(2, 64, 512), torch.randn(2, 64, 512)), {}


def segmentation(name):
    def make(torch):
        import torchvision

        inner = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=21)

        class Out(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = inner

            def forward(self, picture):
                return self.model(picture)["out"]

        return Out(), (torch.randn(2, 3, 520, 520),), {}

    return make


add("segmentation and detection", "catalog", {"unet": {"file": "lib/catalog/unet.dnn", "batch": 8}, "ssd_resnet34": {"file": "lib/catalog/ssd.dnn"}})
add("segmentation and detection", "onnx", {"fcn_resnet50": {"make": segmentation("fcn_resnet50"), "batch": 8}}, options="--untie")
add("segmentation and detection", "torch", {name: {"make": segmentation(name), "batch": 8}
                                            for name in ("deeplabv3_resnet50", "lraspp_mobilenet_v3_large")})
add("diffusion", "catalog", {"stable_diffusion_unet": {"file": "lib/catalog/diffusion.dnn", "batch": 8}, "dit_xl_2": {"file": "lib/catalog/dit.dnn"}})
add("diffusion", "torch", {"dit_s_2": {"make": made.dit}, "ddpm_cifar10": {"make": ddpm}, "sd_vae": {"make": autoencoder, "batch": 8}})
add("recommendation", "catalog", {
    "dlrm_kaggle": {"file": "lib/catalog/dlrm.dnn", "batch": 2048}, "dlrm": {"file": "lib/catalog/dlrm.dnn", "batch": 65536, "target": machine(8)},
    "ncf": {"file": "lib/catalog/ncf.dnn", "batch": 65536}, "wide_deep": {"file": "lib/catalog/wide_deep.dnn", "batch": 16384}})
add("graph", "catalog", {name: {"file": f"lib/catalog/{name}.dnn", "batch": 1} for name in ("gcn", "gat", "graphsage")})
add("sequences", "torch", {"zaremba_medium": {"make": language_lstm}, "transformer_base": {"make": base_transformer}})
add("sequences", "catalog", {"gnmt": {"file": "lib/catalog/gnmt.dnn"}, "transformer_big": {"file": "lib/catalog/transformer_big.dnn"}})
add("large language", "catalog", {
    "llama3_8b": {"file": "lib/catalog/llama3.dnn", "batch": 32, "target": machine(16)},
    "llama3_70b": {"file": "lib/catalog/llama3.dnn", "batch": 512, "target": machine(256)},
    "gpt3": {"file": "lib/catalog/gpt3.dnn", "batch": 1536, "target": machine(1024)},
    "bloom_176b": {"file": "lib/catalog/bloom.dnn", "batch": 1024, "target": machine(256)},
    "qwen2_5_32b": {"file": "lib/catalog/qwen.dnn", "batch": 128, "target": machine(64)}})


def published(name):
    """FLOP that torchvision publishes with the weights of a model, or nothing."""
    try:
        import torchvision

        return int(2e9 * torchvision.models.get_model_weights(name).DEFAULT.meta["_ops"])
    except (ImportError, ValueError, AttributeError, KeyError):
        return ""


def counted(torch, name, row, root):
    """Columns `source`, `published`, `parameters`, `forward_flops` of a row; writes the program of routes torch and onnx."""
    if row["route"] == "huggingface":
        import huggingface_counts
        import transformers

        options = row["options"].split("=")
        huggingface_counts.TOKENS = int(options[1]) if len(options) == 2 else 4096
        parameters, _, flops = huggingface_counts.count(os.path.join(root, row["file"]))
        return {"source": f"transformers {transformers.__version__}, FlopCounterMode of torch {torch.__version__.split('+')[0]}",
                "parameters": parameters, "forward_flops": flops or ""}
    path = os.path.join(root, row["file"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    made.without_initialization(torch)
    torch.manual_seed(0)
    model, args, kwargs = ROWS[name]["make"](torch)
    model.train()
    if row["route"] == "onnx":
        write_onnx(torch, model, args, path)
    else:
        made.export(torch, model, args, kwargs, path)
    forward, _ = made.flops(torch, model, args, kwargs, backward=False)
    return {"source": f"FlopCounterMode of torch {torch.__version__.split('+')[0]}", "parameters": sum(p.numel() for p in model.parameters()),
            "forward_flops": forward // 2, "published": published(name) if row["family"] == "torchvision" else ""}


def write_onnx(torch, model, args, path):
    """The model as torch.onnx writes it, its weights in another file that is not kept."""
    import tempfile

    import onnx

    with tempfile.TemporaryDirectory() as folder:
        whole = os.path.join(folder, "model.onnx")
        torch.onnx.export(model, args, whole, dynamo=False, input_names=["image"], output_names=["logits"], do_constant_folding=False,
                          dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}}, training=torch.onnx.TrainingMode.TRAINING)
        loaded = onnx.load(whole)
        for node in loaded.graph.node:
            node.doc_string = ""
        kept = os.path.join(folder, "kept.onnx")
        onnx.save_model(loaded, kept, save_as_external_data=True, location="weights", size_threshold=65)
        os.replace(kept, path) if os.stat(folder).st_dev == os.stat(os.path.dirname(path)).st_dev else copy(kept, path)


def copy(source, target):
    with open(source, "rb") as old, open(target, "wb") as new:
        new.write(old.read())
