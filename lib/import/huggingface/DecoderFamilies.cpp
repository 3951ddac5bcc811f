// Sources: the configuration and modelling files of Hugging Face transformers, one for each `model_type`; what a
// setting is called there, and its default.
#include "lib/import/huggingface/Decoder.h"
#include "lib/import/huggingface/Families.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

bool everyLayer(int64_t) { return true; }

void gatedBySilu(Config &c, Draft &d, llvm::StringRef key = "hidden_act") {
  refuseActivation(c, key, "silu", {"silu", "swish"});
  d.take(c, "inner", {"intermediate_size"});
}

void noFeedForwardBias(Config &c) {
  if (c.flag("mlp_bias", false))
    c.unsupported("mlp_bias", "biases in the feed-forward layers are not supported");
}

/// The root of the width, by which Gemma multiplies its token rows, as transformers rounds it: to bf16 it does so at
/// run time, which is no cost.
std::string rootOf(int64_t width) { return fmt::format("{:.6g}", std::sqrt(static_cast<double>(width))); }

} // namespace

void llama(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with RMS norms, rotary positions and gated feed-forward layers.";
  DecoderShape shape = readDecoder(c, d);
  shape.inputBias = shape.outputBias = c.flag("attention_bias", false);
  noFeedForwardBias(c);
  gatedBySilu(c, d);
  readWindow(c, d, shape, everyLayer);
  writeDecoder(d, shape);
}

void mixtral(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with RMS norms, rotary positions and gated experts, of which a token uses some.";
  DecoderShape shape = readDecoder(c, d);
  refuseActivation(c, "hidden_act", "silu", {"silu", "swish"});
  readWindow(c, d, shape, everyLayer);
  shape.experts = expertsCall(c, d, {"num_local_experts", "num_experts"}, 2, "intermediate_size", true);
  writeDecoder(d, shape);
}

/// From which layer on Qwen sees a window, where it is switched on.
static void qwenWindow(Config &c, Draft &d, DecoderShape &shape) {
  bool used = c.flag("use_sliding_window", false);
  int64_t first = c.integer({"max_window_layers"}, 28, 0);
  c.ignore({"sliding_window", "layer_types"}); // all of them full attention where it is switched off
  if (used)
    readWindow(c, d, shape, [&](int64_t layer) { return layer >= first; });
}

void qwen2(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with RMS norms, rotary positions, biases of queries, keys and values, and gated "
               "feed-forward layers.";
  DecoderShape shape = readDecoder(c, d);
  shape.inputBias = true;
  gatedBySilu(c, d);
  qwenWindow(c, d, shape);
  c.ignore({"use_mrope"});
  writeDecoder(d, shape);
}

void qwen3(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with RMS norms, also of each head's queries and keys, rotary positions and gated "
               "feed-forward layers.";
  DecoderShape shape = readDecoder(c, d, false, 128);
  shape.inputBias = shape.outputBias = c.flag("attention_bias", false);
  shape.headNorms = true;
  gatedBySilu(c, d);
  qwenWindow(c, d, shape);
  writeDecoder(d, shape);
}

void qwen3Experts(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with RMS norms, also of each head's queries and keys, rotary positions and gated "
               "experts, of which a token uses some.";
  DecoderShape shape = readDecoder(c, d);
  shape.inputBias = shape.outputBias = c.flag("attention_bias", false);
  shape.headNorms = true;
  refuseActivation(c, "hidden_act", "silu", {"silu", "swish"});
  if (c.integer({"decoder_sparse_step"}, 1) != 1)
    c.unsupported("decoder_sparse_step", "layers without experts between others with are not supported, expected 1");
  if (c.has("mlp_only_layers"))
    if (const llvm::json::Array *dense = c.list("mlp_only_layers"); dense && !dense->empty())
      c.unsupported("mlp_only_layers", "layers without experts between others with are not supported, expected []");
  qwenWindow(c, d, shape);
  shape.experts = expertsCall(c, d, {"num_experts", "num_local_experts"}, 8, "moe_intermediate_size",
                              c.flag("norm_topk_prob", false));
  c.ignore({"intermediate_size"}); // of layers without experts
  writeDecoder(d, shape);
}

/// What all three generations of Gemma share.
static DecoderShape readGemma(Config &c, Draft &d) {
  DecoderShape shape = readDecoder(c, d, true, 256);
  shape.inputBias = shape.outputBias = c.flag("attention_bias", false);
  shape.mlp = "geglu_mlp";
  shape.embeddingFactor = rootOf(c.integer({"hidden_size"}));
  d.take(c, "inner", {"intermediate_size"});
  refuseActivation(c, c.has("hidden_activation") ? "hidden_activation" : "hidden_act", "gelu_pytorch_tanh", kGelu);
  c.ignore({"hidden_act", "use_bidirectional_attention"});
  return shape;
}

/// Norms behind layers, and scores divided by the root of a number of its own, as of the second generation.
static void laterGemma(Config &c, Draft &d, DecoderShape &shape) {
  shape.outerNorms = true;
  int64_t width = c.integer({"head_dim"}, 256), scalar = c.integer({"query_pre_attn_scalar"}, 256);
  if (scalar != width)
    shape.scoreFactor = fmt::format("{:.9g}", 1 / std::sqrt(static_cast<double>(scalar)));
  if (c.has("attn_logit_softcapping"))
    d.note(fmt::format("scores are not limited to {} by tanh here, one operation for each of them",
                       c.number("attn_logit_softcapping", 50)));
  if (c.has("final_logit_softcapping"))
    shape.logitCap = c.number("final_logit_softcapping", 30);
  if (shape.logitCap == "0")
    c.unsupported("final_logit_softcapping", "logits cannot be limited to 0");
  if (c.flag("use_bidirectional_attention", false))
    c.unsupported("use_bidirectional_attention", "attention in both directions is not supported");
}

void gemma(Config &c, Draft &d) {
  d.sentence =
      "a pre-norm decoder with RMS norms, rotary positions, feed-forward layers gated by gelu, and a tied head.";
  writeDecoder(d, readGemma(c, d));
}

void gemma2(Config &c, Draft &d) {
  d.sentence = "a decoder with RMS norms before and behind its layers, rotary positions, feed-forward layers gated by "
               "gelu, and a window in every second layer.";
  DecoderShape shape = readGemma(c, d);
  laterGemma(c, d, shape);
  readWindow(c, d, shape, [](int64_t layer) { return layer % 2 == 0; });
  c.ignore({"cache_implementation", "sliding_window_size"});
  writeDecoder(d, shape);
}

void gemma3(Config &c, Draft &d) {
  d.sentence = "a decoder with RMS norms before and behind its layers and of each head's queries and keys, rotary "
               "positions, feed-forward layers gated by gelu, and windows in all layers but some.";
  DecoderShape shape = readGemma(c, d);
  laterGemma(c, d, shape);
  shape.headNorms = true;
  int64_t pattern = c.integer({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  readWindow(c, d, shape, [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  const llvm::json::Object *parameters = c.object("rope_parameters");
  const llvm::json::Object *local = parameters ? parameters->getObject("sliding_attention") : nullptr;
  const llvm::json::Object *full = parameters ? parameters->getObject("full_attention") : nullptr;
  shape.localBase = local ? c.numberIn(local, "rope_theta", 10000) : c.number("rope_local_base_freq", 10000);
  shape.base = full ? c.numberIn(full, "rope_theta", 1e6) : c.number("rope_theta", 1e6);
  c.ignore({"cache_implementation", "mm_tokens_per_image", "query_pre_attn_scalar"});
  writeDecoder(d, shape);
}

/// The text of a configuration that has images, too: what its class assumes is left out of the published files.
void gemma3WithImages(Config &c, Draft &d) {
  Config text(c, "text_config");
  if (!text.valid())
    return;
  for (auto [key, value] : {std::pair{"vocab_size", 262208},
                            {"num_attention_heads", 8},
                            {"num_key_value_heads", 4},
                            {"head_dim", 256},
                            {"max_position_embeddings", 131072}})
    text.assume(key, value);
  gemma3(text, d);
  d.note("the encoder of images ('vision_config') is left out: this is the model of texts");
  noteUnread(d, text, "text_config");
  c.ignore({"vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index", "image_token_index"});
}

void phi3(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with RMS norms, rotary positions and gated feed-forward layers. Its products of "
               "queries, keys and values are one in the published implementation, and so are gate and up.";
  DecoderShape shape = readDecoder(c, d);
  shape.inputBias = shape.outputBias = c.flag("attention_bias", false);
  gatedBySilu(c, d);
  readWindow(c, d, shape, everyLayer);
  for (const char *key : {"resid_pdrop", "embd_pdrop"})
    if (std::string rate = c.rate(key, 0); rate != "0")
      d.note(fmt::format("'{}', {}, is left out", key, rate));
  writeDecoder(d, shape);
}

/// The biases of experts and of their gate, and the sinks of attention, are trained but have no place in `moe` and
/// `flash_attention`.
void gptOss(Config &c, Draft &d) {
  d.sentence =
      "a pre-norm decoder with RMS norms, rotary positions, gated experts, and a window in every second layer.";
  DecoderShape shape = readDecoder(c, d, false, 64);
  shape.inputBias = shape.outputBias = c.flag("attention_bias", true);
  refuseActivation(c, "hidden_act", "silu", {"silu", "swish"});
  readWindow(c, d, shape, [](int64_t layer) { return layer % 2 == 0; });
  shape.experts = expertsCall(c, d, {"num_local_experts", "num_experts"}, 4, "intermediate_size", true);
  shape.behind = "x = x + reduce_mean(parameter([heads + experts * (2 * inner + hidden + 1), 1]), axis = 0)";
  d.note(
      "the biases of experts and of their gate, and the sinks of attention (a trained score for each head that weighs "
      "no value), are one trained tensor here whose mean is added: the same parameters, other values");
  c.ignore({"swiglu_alpha", "experts_per_token", "initial_context_length", "rope_scaling"});
  if (c.has("swiglu_limit"))
    d.note(fmt::format("gates of experts are not limited to {} here", c.number("swiglu_limit", 7)));
  writeDecoder(d, shape);
}

/// DeepSeek-V3 and R1: latent attention, some layers without experts first, and experts that every token passes.
void deepSeek(Config &c, Draft &d) {
  d.sentence =
      "a pre-norm decoder with latent attention, and experts in all layers but the first ones: some that every "
      "token passes, and many of which it takes a few.";
  int64_t layers = c.integer({"num_hidden_layers"}), dense = c.integer({"first_k_dense_replace"}, 3, 0);
  c.expect(dense < layers, "first_k_dense_replace", fmt::format("less than 'num_hidden_layers', {}", layers));
  d.size("dense_layers", dense, "first_k_dense_replace");
  d.size("layers", std::max<int64_t>(layers - dense, 1), "all others of num_hidden_layers");
  d.take(c, "hidden", {"hidden_size"});
  int64_t heads = d.take(c, "heads", {"num_attention_heads"});
  c.expect(c.integer({"num_key_value_heads"}, heads) == heads, "num_key_value_heads",
           fmt::format("'num_attention_heads', {}: each head has keys of its own", heads));
  d.size("query_rank", c.has("q_lora_rank") ? c.integer({"q_lora_rank"}) : 0, "q_lora_rank");
  d.take(c, "key_rank", {"kv_lora_rank"});
  d.take(c, "nope_dim", {"qk_nope_head_dim"});
  c.expect(d.take(c, "rope_dim", {"qk_rope_head_dim"}) % 2 == 0, "qk_rope_head_dim",
           "even: rotary positions turn pairs");
  d.take(c, "value_dim", {"v_head_dim"});
  d.take(c, "vocab", {"vocab_size"});
  d.length(c, "seq", c.integer({"max_position_embeddings"}), "max_position_embeddings");
  bool bias = c.flag("attention_bias", false), tied = c.flag("tie_word_embeddings", false);
  if (attentionModule(c, d) == "attention")
    c.unsupported("attn_implementation", "scores of latent attention in memory are not supported");
  refuseActivation(c, "hidden_act", "silu", {"silu", "swish"});
  if (c.integer({"moe_layer_freq"}, 1) != 1)
    c.unsupported("moe_layer_freq", "layers without experts between others with are not supported, expected 1");
  DecoderShape shape;
  shape.experts = expertsCall(c, d, {"n_routed_experts", "num_local_experts"}, 8, "moe_intermediate_size",
                              c.flag("norm_topk_prob", true));
  d.size("dense_inner", c.integer({"intermediate_size"}), "intermediate_size");
  d.size("shared_experts", c.integer({"n_shared_experts"}, 1), "n_shared_experts");
  std::string epsilon = c.number("rms_norm_eps", 1e-6), factor = c.number("routed_scaling_factor", 2.5);
  std::string normed = fmt::format("rms_norm(x, epsilon = {})", epsilon);
  std::string attended =
      fmt::format("x = x + latent_attention({}, heads, query_rank, key_rank, nope_dim, rope_dim, value_dim, bias = {}, "
                  "base = {}, epsilon = {})",
                  normed, bias, rotaryBase(c, d), epsilon);
  addTokens(d);
  embed(d, tied);
  if (dense > 0)
    d.add(fmt::format("repeat dense_layers as dense_block {{\n{}\nx = x + swiglu_mlp({}, hidden, dense_inner)\n}}",
                      attended, normed));
  std::string routed = shape.experts;
  routed.replace(routed.find("$x"), 2, "normed");
  d.add(fmt::format("repeat layers as block {{\n{}\nlet normed = {}\nx = x + scale({}, factor = {}) + "
                    "swiglu_mlp(normed, hidden, shared_experts * inner)\n}}",
                    attended, normed, routed, factor));
  head(d, normed, tied);
  d.note(
      "weights of experts come from a softmax here, whatever 'scoring_func' says, and tokens may choose all of them, "
      "not those of some groups: the same work");
  if (c.integer({"num_nextn_predict_layers"}, 0, 0) > 0)
    d.note("'num_nextn_predict_layers': layers that predict further tokens are left out, as transformers does");
  c.ignore({"n_group", "topk_group", "scoring_func", "topk_method", "ep_size", "aux_loss_alpha", "seq_aux",
            "pretraining_tp", "rope_interleave", "attention_dropout", "qk_head_dim", "head_dim", "router_aux_loss_coef",
            "output_router_logits"});
}

} // namespace accord::import
