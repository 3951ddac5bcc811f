// Sources: the configuration and modelling files of Hugging Face transformers, one for each `model_type`; what a
// setting is called there, and its default.
#include "lib/import/huggingface/Draft.h"
#include "lib/import/huggingface/Families.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

void gpt2(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with gelu, learned positions and a tied head.";
  d.take(c, "layers", {"n_layer", "num_hidden_layers"});
  d.take(c, "hidden", {"n_embd", "hidden_size"});
  takeHeads(c, d, {"n_head", "num_attention_heads"}, {"n_embd", "hidden_size"});
  d.take(c, "vocab", {"vocab_size"});
  int64_t positions = c.integer({"n_positions", "n_ctx"}), length = d.length(c, "seq", positions, "n_positions", true);
  int64_t hidden = c.integer({"n_embd", "hidden_size"});
  d.set("inner", c.has("n_inner") ? std::to_string(c.integer({"n_inner"}, 4 * hidden)) : "4 * hidden");
  refuseActivation(c, "activation_function", "gelu_new", kGelu);
  d.set("epsilon", c.number("layer_norm_epsilon", 1e-5));
  d.set("drop", c.rate("resid_pdrop", 0.1));
  std::string module = attentionModule(c, d, "attn_pdrop");
  d.set("attention", module);
  d.set("dropped", dropOf(module));
  d.set("positions", learnedPositions(positions, length));
  addTokens(d);
  embed(d, true);
  d.add("x = maybe_dropout(x + $positions, $drop)\n"
        "repeat layers as block {\n"
        "x = x + maybe_dropout($attention(layer_norm(x, epsilon = $epsilon), heads = heads, "
        "causal = true$dropped), $drop)\n"
        "x = x + maybe_dropout(gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, $inner), "
        "$drop)\n}");
  head(d, "layer_norm(x, epsilon = $epsilon)", true);
  c.ignore({"n_ctx", "attn_pdrop", "embd_pdrop", "summary_type", "summary_use_proj", "summary_activation",
            "summary_proj_to_labels", "summary_first_dropout", "task_specific_params", "scale_attn_weights",
            "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx"});
}

void gptNeoX(Config &c, Draft &d) {
  d.sentence = "a decoder whose attention and feed-forward layers run side by side, with rotary positions.";
  bool tied = c.flag("tie_word_embeddings", false);
  blockSizes(c, d);
  d.take(c, "vocab", {"vocab_size"});
  d.length(c, "seq", c.integer({"max_position_embeddings"}), "max_position_embeddings");
  std::string module = attentionModule(c, d);
  d.set("epsilon", c.number("layer_norm_eps", 1e-5));
  d.set("base", rotaryBase(c, d, c.has("rotary_emb_base") ? "rotary_emb_base" : "rope_theta"));
  if (std::string part = c.number("rotary_pct", 0.25); part != "1")
    d.note(fmt::format("rotary positions turn each head as a whole here, not its part of {}", part));
  refuseActivation(c, "hidden_act", "gelu", kGelu);
  if (!c.flag("attention_bias", true))
    c.unsupported("attention_bias", "attention without biases beside others with is not supported");
  addTokens(d);
  embed(d, tied);
  d.add("repeat layers as block {");
  std::string attended = module + "(layer_norm(x, epsilon = $epsilon), heads = heads, causal = true, rotary = true, "
                                  "base = $base)";
  if (c.flag("use_parallel_residual", true))
    d.add(fmt::format("x = x + {} + gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, inner)", attended));
  else
    d.add(fmt::format("x = x + {}\nx = x + gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, "
                      "inner)",
                      attended));
  d.add("}");
  head(d, "layer_norm(x, epsilon = $epsilon)", tied);
  c.ignore({"hidden_dropout", "attention_dropout", "classifier_dropout"});
}

void opt(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with relu, learned positions (two rows more than the longest text) and a tied head.";
  bool tied = c.flag("tie_word_embeddings", true);
  blockSizes(c, d, "ffn_dim");
  int64_t hidden = c.integer({"hidden_size"}), positions = c.integer({"max_position_embeddings"});
  d.take(c, "vocab", {"vocab_size"});
  d.set("positions", learnedPositions(positions, d.length(c, "seq", positions, "max_position_embeddings", true), 2));
  d.set("attention", attentionModule(c, d));
  if (c.integer({"word_embed_proj_dim"}, hidden) != hidden)
    c.unsupported("word_embed_proj_dim", "a token table of another width than the layers has no "
                                         "is supported here");
  if (!c.flag("do_layer_norm_before", true))
    c.unsupported("do_layer_norm_before", "norms after the layers are not supported");
  if (!c.flag("enable_bias", true))
    c.unsupported("enable_bias", "layers without biases are not supported");
  refuseActivation(c, "activation_function", "relu", {"relu"});
  d.set("drop", c.rate("dropout", 0.1));
  addTokens(d);
  embed(d, tied);
  d.add("x = x + $positions\n"
        "repeat layers as block {\n"
        "x = x + maybe_dropout($attention(layer_norm(x), heads = heads, causal = true), $drop)\n"
        "x = x + maybe_dropout(relu_mlp(layer_norm(x), hidden, inner), $drop)\n}");
  head(d, "layer_norm(x)", tied);
  c.ignore({"attention_dropout", "activation_dropout", "layerdrop", "init_std", "prefix",
            "layer_norm_elementwise_affine", "_remove_final_layer_norm"});
}

void bloom(Config &c, Draft &d) {
  d.sentence = "a pre-norm decoder with linear biases for positions and a norm after the token table.";
  d.take(c, "layers", {"n_layer", "num_hidden_layers"});
  d.take(c, "hidden", {"hidden_size", "n_embed"});
  takeHeads(c, d, {"n_head", "num_attention_heads"}, {"hidden_size", "n_embed"});
  d.take(c, "vocab", {"vocab_size"});
  d.length(c, "seq", c.integer({"seq_length"}, 2048), "seq_length (2048 unless given)");
  d.set("epsilon", c.number("layer_norm_epsilon", 1e-5));
  if (c.flag("apply_residual_connection_post_layernorm", false))
    c.unsupported("apply_residual_connection_post_layernorm", "residuals from behind the norm are not supported");
  addTokens(d);
  embed(d, true);
  d.add("x = layer_norm(x, epsilon = $epsilon)\n"
        "repeat layers as block {\n"
        "x = x + attention(layer_norm(x, epsilon = $epsilon), heads = heads, causal = true, "
        "alibi = true)\n"
        "x = x + gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, 4 * hidden)\n}");
  head(d, "layer_norm(x, epsilon = $epsilon)", true);
  c.ignore({"attention_dropout", "hidden_dropout", "masked_softmax_fusion", "bias_dropout_fusion", "offset_alibi",
            "pretraining_tp", "skip_bias_add", "skip_bias_add_qkv", "slow_but_exact", "unk_token_id",
            "attention_softmax_in_fp32"});
}

/// Two generations: one norm for both layers that run side by side and one key for all heads (7B), and a norm of each
/// and as many keys as stated (40B, 180B).
void falcon(Config &c, Draft &d) {
  d.sentence =
      "a decoder whose attention and feed-forward layers run side by side, with rotary positions and few keys.";
  bool tied = c.flag("tie_word_embeddings", true), later = c.flag("new_decoder_architecture", false);
  bool single = c.flag("multi_query", true), parallel = c.flag("parallel_attn", true), bias = c.flag("bias", false);
  d.take(c, "layers", {"num_hidden_layers", "n_layer"});
  int64_t hidden = d.take(c, "hidden", {"hidden_size"});
  takeHeads(c, d, {"num_attention_heads", "n_head"}, {"hidden_size"});
  int64_t heads = c.integer({"num_attention_heads", "n_head"});
  int64_t shared = later ? c.integer({"num_kv_heads", "n_head_kv"}, heads) : single ? 1 : heads;
  c.expect(heads % shared == 0, "num_kv_heads", fmt::format("a divisor of 'num_attention_heads', {}", heads));
  d.size("kv_heads", shared, later ? "num_kv_heads" : "multi_query");
  d.size("inner", c.integer({"ffn_hidden_size"}, 4 * hidden), "ffn_hidden_size (4 hidden unless given)");
  d.take(c, "vocab", {"vocab_size"});
  bool linear = c.flag("alibi", false);
  d.length(c, "seq", c.integer({"max_position_embeddings"}, 2048), "max_position_embeddings (2048 unless given)");
  refuseActivation(c, "activation", "gelu", kGelu);
  std::string module = linear ? "attention" : attentionModule(c, d);
  std::string norm = fmt::format("layer_norm(x, epsilon = {})", c.number("layer_norm_epsilon", 1e-5));
  std::string places = linear ? "alibi = true" : "rotary = true, base = " + rotaryBase(c, d);
  int64_t norms = c.integer({"num_ln_in_parallel_attn"}, later ? 2 : 1);
  auto attended = [&](const char *x) {
    return fmt::format("{}({}, heads = heads, kv_heads = kv_heads, causal = true, bias = {}, {})", module, x, bias,
                       places);
  };
  auto fed = [&](const char *x) {
    return fmt::format("linear(gelu(linear({}, out = inner, bias = {})), out = hidden, bias = {})", x, bias, bias);
  };
  addTokens(d);
  embed(d, tied);
  d.add("repeat layers as block {\nlet normed = " + norm);
  if (parallel || later) {
    if (later && norms == 2)
      d.add("let other = " + norm);
    d.add(fmt::format("x = x + {} + {}", attended("normed"), fed(later && norms == 2 ? "other" : "normed")));
  } else {
    d.add(fmt::format("x = x + {}\nx = x + {}", attended("normed"), fed(norm.c_str())));
  }
  d.add("}");
  head(d, norm, tied);
  c.ignore({"num_kv_heads", "n_head_kv", "attention_dropout", "apply_residual_connection_post_layernorm"});
  if (std::string rate = c.rate("hidden_dropout", 0); rate != "0")
    d.note(fmt::format("'hidden_dropout', {}, is left out", rate));
}

} // namespace accord::import
