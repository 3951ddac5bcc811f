// Sources: the configuration and modelling files of Hugging Face transformers, one for each `model_type`; what a
// setting is called there, and its default.
#include "lib/import/huggingface/Draft.h"
#include "lib/import/huggingface/Families.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

void t5(Config &c, Draft &d) {
  d.sentence = "an encoder and a decoder with RMS norms, learned biases per distance instead of "
               "positions, and no biases elsewhere.";
  d.take(c, "layers", {"num_layers"});
  d.size("decoder_layers", c.integer({"num_decoder_layers"}, c.integer({"num_layers"})), "num_decoder_layers");
  d.take(c, "hidden", {"d_model"});
  d.take(c, "heads", {"num_heads"});
  d.take(c, "inner", {"d_ff"});
  d.take(c, "vocab", {"vocab_size"});
  d.length(c, "length", c.integer({"n_positions"}, 512), "n_positions (512 unless given)");
  d.length(c, "target", 114, "what span corruption leaves of 512 tokens");
  if (c.integer({"d_kv"}, 64) * c.integer({"num_heads"}) != c.integer({"d_model"}))
    c.unsupported("d_kv", "heads whose widths do not add up to d_model are not supported");
  bool tied = c.flag("tie_word_embeddings", true);
  std::string kind = c.text("feed_forward_proj", "relu");
  if (kind != "relu" && kind != "gated-gelu")
    c.unsupported("feed_forward_proj", fmt::format("the feed-forward layer '{}' is not supported, expected 'relu' or "
                                                   "'gated-gelu'",
                                                   kind));
  d.set("epsilon", c.number("layer_norm_epsilon", 1e-6));
  d.set("drop", c.rate("dropout_rate", 0.1));
  d.set("buckets", std::to_string(c.integer({"relative_attention_num_buckets"}, 32)));
  if (c.integer({"relative_attention_max_distance"}, 128) != 128)
    c.unsupported("relative_attention_max_distance", "only a distance of 128 is supported");
  auto layer = [&](const char *x) {
    std::string normed = fmt::format("rms_norm({}, epsilon = $epsilon)", x);
    d.add(kind == "relu" ? fmt::format("{0} = {0} + maybe_dropout(relu_mlp({1}, hidden, inner, bias = false, "
                                       "drop = $drop), $drop)\n}}",
                                       x, normed)
                         : fmt::format("let normed = {1}\n"
                                       "let gated = gelu(linear(normed, out = inner, bias = false)) * "
                                       "linear(normed, out = inner, bias = false)\n"
                                       "{0} = {0} + maybe_dropout(linear(maybe_dropout(gated, $drop), out = "
                                       "hidden, bias = false), $drop)\n}}",
                                       x, normed));
  };
  d.add("input input_ids : int32[length]\ninput decoder_input_ids : int32[target]\n"
        "input labels     : int32[target]\n"
        "let word_embeddings = parameter([vocab, hidden])\n"
        "let encoder_position_bias = relative_bias(parameter([$buckets, heads]), queries = length, keys = length)\n"
        "var x = maybe_dropout(embedding(input_ids, rows = vocab, dim = hidden, table = "
        "word_embeddings), $drop)\n"
        "repeat layers as encoder {\n"
        "x = x + maybe_dropout(attention(rms_norm(x, epsilon = $epsilon), heads = heads, bias = "
        "false, biased = true, score_bias = encoder_position_bias, scaled = false, drop = $drop), $drop)");
  layer("x");
  d.add("let memory = maybe_dropout(rms_norm(x, epsilon = $epsilon), $drop)\n"
        "let decoder_position_bias = relative_bias(parameter([$buckets, heads]), queries = target, keys = target, "
        "bidirectional = false)\n"
        "var y = maybe_dropout(embedding(decoder_input_ids, rows = vocab, dim = hidden, table = "
        "word_embeddings), $drop)\n"
        "repeat decoder_layers as decoder {\n"
        "y = y + maybe_dropout(attention(rms_norm(y, epsilon = $epsilon), heads = heads, causal = "
        "true, bias = false, biased = true, score_bias = decoder_position_bias, scaled = false, drop = $drop), "
        "$drop)\n"
        "y = y + maybe_dropout(attention(rms_norm(y, epsilon = $epsilon), heads = heads, memory = "
        "memory, bias = false, scaled = false, drop = $drop), $drop)");
  layer("y");
  d.add("let last = maybe_dropout(rms_norm(y, epsilon = $epsilon), $drop)");
  if (tied) // the tied head reads its input divided by the root of the width
    d.set("root", fmt::format("{}", 1 / std::sqrt(c.integer({"d_model"}))));
  d.add(tied ? "loss cross_entropy(linear(scale(last, factor = $root), out = vocab, bias = false, "
               "weight = word_embeddings), labels)"
             : "loss cross_entropy(linear(last, out = vocab, bias = false), labels)");
  c.ignore({"decoder_start_token_id", "initializer_factor", "is_encoder_decoder", "task_specific_params",
            "dense_act_fn", "is_gated_act", "use_cache"});
}

/// Speech: a spectrogram that two convolutions shorten to half, and text.
void whisper(Config &c, Draft &d) {
  d.sentence =
      "an encoder over a spectrogram, shortened to half by two convolutions, and a decoder of text, pre-norm with "
      "gelu and learned positions.";
  d.take(c, "layers", {"encoder_layers"});
  d.take(c, "decoder_layers", {"decoder_layers"});
  d.take(c, "hidden", {"d_model"});
  takeHeads(c, d, {"encoder_attention_heads"}, {"d_model"});
  takeHeads(c, d, {"decoder_attention_heads"}, {"d_model"}, "decoder_heads");
  d.take(c, "inner", {"encoder_ffn_dim"});
  d.take(c, "decoder_inner", {"decoder_ffn_dim"});
  d.take(c, "vocab", {"vocab_size"});
  d.take(c, "channels", {"num_mel_bins"});
  d.take(c, "frames", {"max_source_positions"});
  int64_t positions = c.integer({"max_target_positions"});
  d.set("positions", learnedPositions(positions, d.length(c, "seq", positions, "max_target_positions", true)));
  refuseActivation(c, "activation_function", "gelu", kGelu);
  bool tied = c.flag("tie_word_embeddings", true);
  std::string module = attentionModule(c, d);
  d.set("attention", module);
  d.set("drop", c.rate("dropout", 0));
  if (c.flag("scale_embedding", false))
    c.unsupported("scale_embedding", "token rows times the root of the width are not supported");
  d.note(
      "the sinusoids of the encoder's positions are a trained table here: transformers counts them as parameters, too");
  d.add("input features : float[channels, 2 * frames]\ninput tokens : int32[seq]\ninput labels : int32[seq]");
  if (tied)
    d.add("let word_embeddings = parameter([vocab, hidden])");
  d.add(fmt::format(
      "let heard = gelu(conv2d(reshape(features, [channels, 1, 2 * frames]), out = hidden, kernel = [1, 3], padding = "
      "[0, 1]))\n"
      "let shortened = gelu(conv2d(heard, out = hidden, kernel = [1, 3], stride = [1, 2], padding = [0, 1]))\n"
      "var x = maybe_dropout(transpose(reshape(shortened, [hidden, frames]), [1, 0]) + parameter([frames, hidden]), "
      "$drop)\n"
      "repeat layers as encoder {{\n"
      "x = x + maybe_dropout($attention(layer_norm(x), heads = heads, key_bias = false), $drop)\n"
      "x = x + maybe_dropout(gelu_mlp(layer_norm(x), hidden, inner), $drop)\n}}\n"
      "let memory = layer_norm(x)\n"
      "var y = maybe_dropout(embedding(tokens, rows = vocab, dim = hidden{}) + $positions, $drop)\n"
      "repeat decoder_layers as decoder {{\n"
      "y = y + maybe_dropout($attention(layer_norm(y), heads = decoder_heads, causal = true, key_bias = false), "
      "$drop)\n"
      "y = y + maybe_dropout($attention(layer_norm(y), heads = decoder_heads, memory = memory, key_bias = false), "
      "$drop)\n"
      "y = y + maybe_dropout(gelu_mlp(layer_norm(y), hidden, decoder_inner), $drop)\n}}",
      tied ? ", table = word_embeddings" : ""));
  head(d, "layer_norm(y)", tied);
  c.ignore({"num_hidden_layers",
            "decoder_start_token_id",
            "init_std",
            "activation_dropout",
            "encoder_layerdrop",
            "decoder_layerdrop",
            "classifier_proj_size",
            "use_weighted_layer_sum",
            "apply_spec_augment",
            "mask_time_prob",
            "mask_time_length",
            "mask_time_min_masks",
            "mask_feature_prob",
            "mask_feature_length",
            "mask_feature_min_masks",
            "median_filter_width",
            "max_length",
            "begin_suppress_tokens",
            "suppress_tokens",
            "forced_decoder_ids",
            "attention_dropout"});
}

} // namespace accord::import
