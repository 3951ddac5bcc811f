// Sources: the configuration and modelling files of Hugging Face transformers, one for each `model_type`; what a
// setting is called there, and its default.
#include "lib/import/huggingface/Draft.h"
#include "lib/import/huggingface/Families.h"
#include <fmt/format.h>

namespace accord::import {

void mamba(Config &c, Draft &d) {
  d.sentence = "layers whose state is scanned along the text instead of attention, with RMS norms and a tied head.";
  d.useCatalog("catalog/mamba.dnn");
  d.take(c, "layers", {"num_hidden_layers", "n_layer"});
  int64_t hidden = d.take(c, "hidden", {"hidden_size", "d_model"}), expand = c.integer({"expand"}, 2);
  c.expect(expand <= 1024, "expand", "at most 1024");
  int64_t inner = c.integer({"intermediate_size", "d_inner"}, std::min<int64_t>(expand, 1024) * hidden);
  d.size("inner", inner, "intermediate_size");
  d.size("state", c.integer({"state_size"}, 16), "state_size");
  bool given = c.has("time_step_rank") && !c.says("time_step_rank", "auto");
  d.size("rank", given ? c.integer({"time_step_rank"}) : (hidden + 15) / 16, "time_step_rank");
  d.size("kernel", c.integer({"conv_kernel"}, 4), "conv_kernel");
  d.take(c, "vocab", {"vocab_size"});
  d.length(c, "seq", 2048, "2048, because a scan has no positions");
  bool tied = c.flag("tie_word_embeddings", true);
  std::string norm = fmt::format("rms_norm(x, epsilon = {})", c.number("layer_norm_epsilon", 1e-5));
  refuseActivation(c, "hidden_act", "silu", {"silu", "swish"});
  if (c.flag("use_bias", false))
    c.unsupported("use_bias", "biases of the products into and out of a layer are not supported");
  if (!c.flag("use_conv_bias", true))
    c.unsupported("use_conv_bias", "a convolution without a bias is not supported");
  addTokens(d);
  embed(d, tied);
  d.add(
      fmt::format("repeat layers as block {{\nx = x + mamba_mixer({}, inner, state, rank, kernel = kernel)\n}}", norm));
  head(d, norm, tied);
  d.note("the scan is said and priced step by step; a kernel that runs all steps of a layer at once is faster and "
         "keeps no "
         "states");
  c.ignore({"residual_in_fp32", "rescale_prenorm_residual", "fused_add_norm", "rms_norm", "time_step_floor",
            "time_step_init_scheme", "time_step_max", "time_step_min", "time_step_scale", "use_mambapy",
            "use_associative_scan", "ssm_cfg", "pad_vocab_size_multiple", "expand", "chunk_size_feed_forward"});
}

/// Sizes of one of CLIP's two encoders, each name after `prefix`.
static std::string readClip(Config &c, Draft &d, const std::string &prefix) {
  auto named = [&](const char *name) { return prefix + name; };
  d.take(c, named("layers").c_str(), {"num_hidden_layers"});
  d.take(c, named("hidden").c_str(), {"hidden_size"});
  takeHeads(c, d, {"num_attention_heads"}, {"hidden_size"}, named("heads").c_str());
  d.take(c, named("inner").c_str(), {"intermediate_size"});
  std::string activation = c.text("hidden_act", "quick_gelu");
  refuseActivation(c, "hidden_act", "quick_gelu", {"quick_gelu", "gelu", "gelu_new"});
  c.ignore({"projection_dim", "dropout", "initializer_factor", "attention_dropout"});
  return activation == "quick_gelu" ? "quick_gelu_mlp" : "gelu_mlp";
}

void clip(Config &c, Draft &d) {
  d.sentence = "an encoder of text and one of images, trained so that the two of a pair agree.";
  Config text(c, "text_config"), vision(c, "vision_config");
  if (!text.valid() || !vision.valid())
    return;
  std::string mlp = readClip(vision, d, ""), textMlp = readClip(text, d, "text_");
  int64_t image = vision.integer({"image_size"}, 224), patch = vision.integer({"patch_size"}, 32);
  if (image % patch)
    vision.unsupported("patch_size", "the patches must cover the image evenly");
  d.size("size", image, "image_size");
  d.size("patch", patch, "patch_size");
  d.size("vocab", text.integer({"vocab_size"}, 49408), "vocab_size");
  int64_t positions = text.integer({"max_position_embeddings"}, 77);
  std::string rows = learnedPositions(positions, d.length(text, "seq", positions, "max_position_embeddings", true));
  rows.replace(rows.find("hidden"), 6, "text_hidden");
  d.size("projection", c.integer({"projection_dim"}, 512), "projection_dim");
  std::string module = attentionModule(c, d);
  std::string norm = fmt::format(", epsilon = {}", vision.number("layer_norm_eps", 1e-5));
  std::string textNorm = fmt::format(", epsilon = {}", text.number("layer_norm_eps", 1e-5));
  std::string patches = std::to_string(image / patch * (image / patch));
  d.add("input tokens : int32[seq]");
  d.add(fmt::format("input image : float[{}, size, size]", vision.integer({"num_channels"}, 3)));
  d.add("input pair : float[1]");
  d.add(fmt::format("var t = embedding(tokens, rows = vocab, dim = text_hidden) + {}\n"
                    "repeat text_layers as text {{\n"
                    "t = t + {}(layer_norm(t{}), heads = text_heads, causal = true)\n"
                    "t = t + {}(layer_norm(t{}), text_hidden, text_inner)\n}}\n"
                    "let last_token = slice(layer_norm(t{}), axis = 0, start = seq - 1, size = 1)\n"
                    "let text_embedding = linear(last_token, out = projection, bias = false)",
                    rows, module, textNorm, textMlp, textNorm, textNorm));
  d.add(fmt::format(
      "let cut = conv2d(image, out = hidden, kernel = patch, stride = patch, bias = false)\n"
      "let patches = transpose(reshape(cut, [hidden, {0}]), [1, 0])\n"
      "let tokens_of_image = concat(parameter([1, hidden]), patches, axis = 0) + parameter([{0} + 1, hidden])\n"
      "var x = layer_norm(tokens_of_image{1})\n"
      "repeat layers as vision {{\n"
      "x = x + {2}(layer_norm(x{1}), heads = heads)\n"
      "x = x + {3}(layer_norm(x{1}), hidden, inner)\n}}\n"
      "let first = layer_norm(slice(x, axis = 0, start = 0, size = 1){1})\n"
      "let image_embedding = linear(first, out = projection, bias = false)",
      patches, norm, module, mlp));
  d.add("let agreement = reduce_sum(text_embedding * image_embedding, axis = 1)\n"
        "let text_norm = sqrt(reduce_sum(text_embedding * text_embedding, axis = 1))\n"
        "let image_norm = sqrt(reduce_sum(image_embedding * image_embedding, axis = 1))\n"
        "loss binary_cross_entropy(agreement / (text_norm * image_norm) * exp(parameter([1])), pair)");
  d.note("each pair is compared with nothing but its label: the loss of the published training compares all texts of a "
         "batch with all images, which is one product of two numbers for each pair of samples");
  c.ignore({"logit_scale_init_value", "initializer_factor", "text_config_dict", "vision_config_dict"});
  noteUnread(d, text, "text_config");
  noteUnread(d, vision, "vision_config");
}

} // namespace accord::import
