// Sources: the configuration and modelling files of Hugging Face transformers, one for each
// `model_type`; what a setting is called there, and its default.
#include "lib/import/huggingface/HuggingFace.h"
#include "lib/import/huggingface/ImportConfig.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {
using import::Config;

/// The text of one model, with `$name` for what the configuration says.
class Draft {
public:
  explicit Draft(std::string sentence) : sentence(std::move(sentence)) {}

  std::string sentence; ///< what the model is
  /// A parameter of the model, with where its value comes from.
  void size(const std::string &name, int64_t value, const std::string &from) {
    sizes.push_back({name, std::to_string(value), from});
  }
  /// Shapes and layers; what follows is text of the language.
  void add(const std::string &line) { body += line + "\n"; }
  void set(const std::string &name, const std::string &value) { replaced[name] = value; }

  std::string text(const std::string &name, const std::string &type, const std::vector<std::string> &unread) const {
    std::string out = fmt::format("/// {}: {}\n/// Imported from a config.json of Hugging Face "
                                  "transformers with model_type \"{}\"; its sizes are\n",
                                  name, sentence, type);
    std::vector<std::string> parameters, origins;
    for (const auto &[key, value, from] : sizes) {
      parameters.push_back(key + " = " + value);
      origins.push_back(key == from ? key : key + " = " + from);
    }
    std::string line = "///";
    for (const std::string &origin : origins) {
      if (line.size() + origin.size() > 96) {
        out += line + "\n";
        line = "///";
      }
      line += " " + origin + (&origin == &origins.back() ? "." : ",");
    }
    out += line + "\n";
    if (!unread.empty())
      out += fmt::format("// Not understood and left out: {}.\n", fmt::join(unread, ", "));
    out += "import \"catalog/transformer.dnn\"\n\n";
    std::string lines = body;
    for (const auto &[key, value] : llvm::reverse(replaced)) // longer names first
      for (size_t at; (at = lines.find("$" + key)) != std::string::npos;)
        lines.replace(at, key.size() + 1, value);
    return out + fmt::format("model {}({}) {{\n{}}}\n", name, fmt::join(parameters, ", "), lines);
  }

private:
  struct Size {
    std::string name, value, from;
  };
  std::vector<Size> sizes;
  std::map<std::string, std::string> replaced;
  std::string body;
};

const char *kTokens = "input tokens : int32[seq]\ninput labels : int32[seq]";

/// The token table, and how the head reads it.
void embed(Draft &d, bool tied) {
  d.add(tied ? "let word_embeddings = parameter([vocab, hidden])\n"
               "var x = embedding(tokens, rows = vocab, dim = hidden, table = word_embeddings)"
             : "var x = embedding(tokens, rows = vocab, dim = hidden)");
}
void head(Draft &d, const std::string &last, bool tied) {
  d.add(fmt::format("loss cross_entropy(linear({}, out = vocab, bias = false{}), labels)", last,
                    tied ? ", weight = word_embeddings" : ""));
}

void refuseActivation(Config &c, llvm::StringRef key, llvm::StringRef missing, llvm::ArrayRef<llvm::StringRef> known) {
  std::string activation = c.text(key, missing);
  if (!llvm::is_contained(known, activation))
    c.unsupported(key, fmt::format("the activation '{}' is not supported, expected '{}'", activation,
                                   fmt::join(known, "' or '")));
}

const std::vector<llvm::StringRef> kGelu = {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"};

/// A size that the configuration has to state, by the first of these keys that is there.
void take(Config &c, Draft &d, const char *name, llvm::ArrayRef<llvm::StringRef> keys) {
  d.size(name, c.integer(keys), keys.front().str());
}

void decoderSizes(Config &c, Draft &d) {
  take(c, d, "layers", {"num_hidden_layers"});
  take(c, d, "hidden", {"hidden_size"});
}

void textSizes(Config &c, Draft &d) {
  take(c, d, "vocab", {"vocab_size"});
  take(c, d, "seq", {"max_position_embeddings"});
}

/// Heads of attention, which share the width evenly; the first of the keys that is there counts.
void takeHeads(Config &c, Draft &d, llvm::ArrayRef<llvm::StringRef> keys, llvm::ArrayRef<llvm::StringRef> widths) {
  take(c, d, "heads", keys);
  auto stated = [&](llvm::ArrayRef<llvm::StringRef> all) {
    const llvm::StringRef *found = llvm::find_if(all, [&](llvm::StringRef key) { return c.has(key); });
    return (found == all.end() ? all.front() : *found).str();
  };
  int64_t width = c.integer(widths);
  c.expect(width % c.integer(keys) == 0, stated(keys), fmt::format("a divisor of '{}', {}", stated(widths), width));
}

/// Layers of attention and feed-forward as most encoders and decoders name them; `inner`: its key.
void blockSizes(Config &c, Draft &d, const char *inner = "intermediate_size") {
  decoderSizes(c, d);
  takeHeads(c, d, {"num_attention_heads"}, {"hidden_size"});
  take(c, d, "inner", {inner});
}

/// Llama, Mistral and Mixtral.
Draft llama(Config &c) {
  Draft d("a pre-norm decoder with RMS norms, rotary positions and gated feed-forward layers.");
  bool experts = c.text("model_type", "") == "mixtral", tied = c.flag("tie_word_embeddings", false);
  decoderSizes(c, d);
  int64_t hidden = c.integer({"hidden_size"}), heads = c.integer({"num_attention_heads"});
  int64_t width = c.integer({"head_dim"}, hidden / heads);
  if (hidden % heads || width != hidden / heads)
    c.unsupported("num_attention_heads", "the heads must share hidden_size evenly");
  if (c.flag("attention_bias", false))
    c.unsupported("attention_bias", "biases in the attention only are not supported");
  if (c.flag("mlp_bias", false))
    c.unsupported("mlp_bias", "biases in the feed-forward layers are not supported");
  if (c.has("sliding_window") && c.integer({"sliding_window"}) < c.integer({"max_position_embeddings"}))
    c.unsupported("sliding_window", "attention to a window is not supported");
  refuseActivation(c, "hidden_act", "silu", {"silu", "swish"});
  d.size("heads", heads, "num_attention_heads");
  int64_t shared = c.integer({"num_key_value_heads"}, heads);
  c.expect(heads % shared == 0, "num_key_value_heads", fmt::format("a divisor of 'num_attention_heads', {}", heads));
  d.size("kv_heads", shared, "num_key_value_heads");
  take(c, d, "inner", {"intermediate_size"});
  if (experts)
    take(c, d, "experts", {"num_local_experts"});
  textSizes(c, d);
  d.set("epsilon", c.number("rms_norm_eps", 1e-6));
  d.set("base", c.number("rope_theta", 10000));
  d.add(kTokens);
  embed(d, tied);
  d.add("repeat layers as block {\n"
        "x = x + attention(rms_norm(x, epsilon = $epsilon), heads = heads, kv_heads = kv_heads, "
        "causal = true, bias = false, rotary = true, base = $base)");
  if (experts) {
    int64_t top = c.integer({"num_experts_per_tok"}, 2), all = c.integer({"num_local_experts"});
    c.expect(top <= all, "num_experts_per_tok", fmt::format("at most 'num_local_experts', {}", all));
    d.set("top", std::to_string(top));
    d.add("x = x + moe(rms_norm(x, epsilon = $epsilon), experts = experts, inner = inner, "
          "top_k = $top, capacity_factor = 1, gated = true, normalize = true)");
  } else {
    d.add("x = x + swiglu_mlp(rms_norm(x, epsilon = $epsilon), hidden, inner)");
  }
  d.add("}");
  head(d, "rms_norm(x, epsilon = $epsilon)", tied);
  c.ignore({"rope_scaling", "pretraining_tp", "router_aux_loss_coef", "output_router_logits", "router_jitter_noise",
            "attention_dropout"});
  return d;
}

Draft gpt2(Config &c) {
  Draft d("a pre-norm decoder with gelu, learned positions and a tied head.");
  take(c, d, "layers", {"n_layer", "num_hidden_layers"});
  take(c, d, "hidden", {"n_embd", "hidden_size"});
  takeHeads(c, d, {"n_head", "num_attention_heads"}, {"n_embd", "hidden_size"});
  take(c, d, "vocab", {"vocab_size"});
  take(c, d, "seq", {"n_positions", "n_ctx"});
  int64_t hidden = c.integer({"n_embd", "hidden_size"});
  d.set("inner", c.has("n_inner") ? std::to_string(c.integer({"n_inner"}, 4 * hidden)) : "4 * hidden");
  refuseActivation(c, "activation_function", "gelu_new", kGelu);
  d.set("epsilon", c.number("layer_norm_epsilon", 1e-5));
  d.set("drop", c.number("resid_pdrop", 0.1));
  d.add(kTokens);
  embed(d, true);
  d.add("x = maybe_dropout(x + parameter([seq, hidden]), $drop)\n"
        "repeat layers as block {\n"
        "x = x + maybe_dropout(attention(layer_norm(x, epsilon = $epsilon), heads = heads, "
        "causal = true, drop = $drop), $drop)\n"
        "x = x + maybe_dropout(gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, $inner), "
        "$drop)\n}");
  head(d, "layer_norm(x, epsilon = $epsilon)", true);
  c.ignore({"n_ctx", "attn_pdrop", "embd_pdrop", "summary_type", "summary_use_proj", "summary_activation",
            "summary_proj_to_labels", "summary_first_dropout", "task_specific_params", "scale_attn_weights",
            "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx"});
  return d;
}

Draft gptNeoX(Config &c) {
  Draft d("a decoder whose attention and feed-forward layers run side by side, with rotary "
          "positions.");
  bool tied = c.flag("tie_word_embeddings", false);
  blockSizes(c, d);
  textSizes(c, d);
  d.set("epsilon", c.number("layer_norm_eps", 1e-5));
  d.set("base", c.number("rotary_emb_base", 10000));
  refuseActivation(c, "hidden_act", "gelu", kGelu);
  if (!c.flag("attention_bias", true))
    c.unsupported("attention_bias", "attention without biases beside others with is not supported");
  d.add(kTokens);
  embed(d, tied);
  d.add("repeat layers as block {");
  const char *attended = "attention(layer_norm(x, epsilon = $epsilon), heads = heads, causal = "
                         "true, rotary = true, base = $base)";
  if (c.flag("use_parallel_residual", true))
    d.add(fmt::format("x = x + {} + gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, inner)", attended));
  else
    d.add(fmt::format("x = x + {}\nx = x + gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, "
                      "inner)",
                      attended));
  d.add("}");
  head(d, "layer_norm(x, epsilon = $epsilon)", tied);
  c.ignore({"rotary_pct", "rope_scaling", "hidden_dropout", "attention_dropout", "classifier_dropout"});
  return d;
}

Draft opt(Config &c) {
  Draft d("a pre-norm decoder with relu, learned positions (two rows more than the longest text) "
          "and a tied head.");
  bool tied = c.flag("tie_word_embeddings", true);
  blockSizes(c, d, "ffn_dim");
  int64_t hidden = c.integer({"hidden_size"});
  textSizes(c, d);
  if (c.integer({"word_embed_proj_dim"}, hidden) != hidden)
    c.unsupported("word_embed_proj_dim", "a token table of another width than the layers has no "
                                         "is supported here");
  if (!c.flag("do_layer_norm_before", true))
    c.unsupported("do_layer_norm_before", "norms after the layers are not supported");
  if (!c.flag("enable_bias", true))
    c.unsupported("enable_bias", "layers without biases are not supported");
  refuseActivation(c, "activation_function", "relu", {"relu"});
  d.set("drop", c.number("dropout", 0.1));
  d.add(kTokens);
  embed(d, tied);
  d.add("x = x + slice(parameter([seq + 2, hidden]), axis = 0, start = 2, size = seq)\n"
        "repeat layers as block {\n"
        "x = x + maybe_dropout(attention(layer_norm(x), heads = heads, causal = true), $drop)\n"
        "x = x + maybe_dropout(relu_mlp(layer_norm(x), hidden, inner), $drop)\n}");
  head(d, "layer_norm(x)", tied);
  c.ignore({"attention_dropout", "activation_dropout", "layerdrop", "init_std", "prefix",
            "layer_norm_elementwise_affine", "_remove_final_layer_norm"});
  return d;
}

Draft bloom(Config &c) {
  Draft d("a pre-norm decoder with linear biases for positions and a norm after the token table.");
  take(c, d, "layers", {"n_layer", "num_hidden_layers"});
  take(c, d, "hidden", {"hidden_size", "n_embed"});
  takeHeads(c, d, {"n_head", "num_attention_heads"}, {"hidden_size", "n_embed"});
  take(c, d, "vocab", {"vocab_size"});
  d.size("seq", c.integer({"seq_length"}, 2048), "seq_length");
  d.set("epsilon", c.number("layer_norm_epsilon", 1e-5));
  if (c.flag("apply_residual_connection_post_layernorm", false))
    c.unsupported("apply_residual_connection_post_layernorm", "residuals from behind the norm are not supported");
  d.add(kTokens);
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
  return d;
}

Draft bert(Config &c) {
  Draft d("a post-norm encoder with the heads of its pre-training: masked tokens and next "
          "sentence.");
  blockSizes(c, d);
  textSizes(c, d);
  d.set("types", std::to_string(c.integer({"type_vocab_size"}, 2)));
  d.set("epsilon", c.number("layer_norm_eps", 1e-12));
  d.set("drop", c.number("hidden_dropout_prob", 0.1));
  refuseActivation(c, "hidden_act", "gelu", kGelu);
  if (std::string kind = c.text("position_embedding_type", "absolute"); kind != "absolute")
    c.unsupported("position_embedding_type", fmt::format("'{}' positions are not supported", kind));
  d.add("input tokens   : int32[seq]\ninput segments : int32[seq]\ninput labels   : int32[seq]\n"
        "input next_sentence_label : int32[1]\n"
        "let word_embeddings = parameter([vocab, hidden])\n"
        "let embedded = embedding(tokens, rows = vocab, dim = hidden, table = word_embeddings) + "
        "embedding(segments, rows = $types, dim = hidden) + parameter([seq, hidden])\n"
        "var x = maybe_dropout(layer_norm(embedded, epsilon = $epsilon), $drop)\n"
        "repeat layers as layer {\n"
        "let h = layer_norm(x + maybe_dropout(attention(x, heads = heads, drop = $drop), $drop), "
        "epsilon = $epsilon)\n"
        "x = layer_norm(h + maybe_dropout(gelu_mlp(h, hidden, inner), $drop), epsilon = "
        "$epsilon)\n}\n"
        "let transform = layer_norm(gelu(linear(x, out = hidden)), epsilon = $epsilon)\n"
        "let pooled = tanh(linear(slice(x, axis = 0, start = 0, size = 1), out = hidden))\n"
        "loss cross_entropy(linear(transform, out = vocab, weight = word_embeddings), labels) + "
        "cross_entropy(linear(pooled, out = 2), next_sentence_label)");
  c.ignore({"attention_probs_dropout_prob", "gradient_checkpointing", "classifier_dropout", "directionality",
            "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head",
            "pooler_type"});
  return d;
}

Draft t5(Config &c) {
  Draft d("an encoder and a decoder with RMS norms, learned biases per distance instead of "
          "positions, and no biases elsewhere.");
  take(c, d, "layers", {"num_layers"});
  d.size("decoder_layers", c.integer({"num_decoder_layers"}, c.integer({"num_layers"})), "num_decoder_layers");
  take(c, d, "hidden", {"d_model"});
  take(c, d, "heads", {"num_heads"});
  take(c, d, "inner", {"d_ff"});
  take(c, d, "vocab", {"vocab_size"});
  d.size("length", c.integer({"n_positions"}, 512), "n_positions (512 unless given)");
  d.size("target", 114, "what span corruption leaves of 512 tokens");
  if (c.integer({"d_kv"}, 64) * c.integer({"num_heads"}) != c.integer({"d_model"}))
    c.unsupported("d_kv", "heads whose widths do not add up to d_model are not supported");
  bool tied = c.flag("tie_word_embeddings", true);
  std::string kind = c.text("feed_forward_proj", "relu");
  if (kind != "relu" && kind != "gated-gelu")
    c.unsupported("feed_forward_proj", fmt::format("the feed-forward layer '{}' is not supported, "
                                                   "expected 'relu' or 'gated-gelu'",
                                                   kind));
  d.set("epsilon", c.number("layer_norm_epsilon", 1e-6));
  d.set("drop", c.number("dropout_rate", 0.1));
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
  return d;
}

Draft vit(Config &c) {
  Draft d("an encoder over patches of an image, classified by a token of its own.");
  decoderSizes(c, d);
  int64_t image = c.integer({"image_size"}), patch = c.integer({"patch_size"});
  if (image % patch)
    c.unsupported("patch_size", "the patches must cover the image evenly");
  takeHeads(c, d, {"num_attention_heads"}, {"hidden_size"});
  take(c, d, "inner", {"intermediate_size"});
  d.size("size", image, "image_size");
  d.size("patch", patch, "patch_size");
  d.size("classes", c.integer({"num_labels"}, 1000), "num_labels (1000 unless given)");
  d.set("channels", std::to_string(c.integer({"num_channels"}, 3)));
  d.set("patches", std::to_string(image / patch * (image / patch)));
  d.set("epsilon", c.number("layer_norm_eps", 1e-12));
  refuseActivation(c, "hidden_act", "gelu", kGelu);
  if (!c.flag("qkv_bias", true))
    c.unsupported("qkv_bias", "attention without biases beside others with is not supported");
  d.add("input image : float[$channels, size, size]\ninput label : int32[1]\n"
        "let cut = conv2d(image, out = hidden, kernel = patch, stride = patch)\n"
        "let patches = transpose(reshape(cut, [hidden, $patches]), [1, 0])\n"
        "let zeros = scale(slice(patches, axis = 0, start = 0, size = 1), factor = 0)\n"
        "var x = concat(zeros + parameter([1, hidden]), patches, axis = 0) + "
        "parameter([$patches + 1, hidden])\n"
        "repeat layers as layer {\n"
        "x = x + attention(layer_norm(x, epsilon = $epsilon), heads = heads)\n"
        "x = x + gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, inner)\n}\n"
        "let first = slice(layer_norm(x, epsilon = $epsilon), axis = 0, start = 0, size = 1)\n"
        "loss cross_entropy(linear(first, out = classes), label)");
  c.ignore(
      {"attention_probs_dropout_prob", "hidden_dropout_prob", "encoder_stride", "pooler_act", "pooler_output_size"});
  return d;
}

struct Family {
  const char *type;
  Draft (*draft)(Config &);
};
const Family kFamilies[] = {{"bert", bert},   {"bloom", bloom},   {"gpt2", gpt2},     {"gpt_neox", gptNeoX},
                            {"llama", llama}, {"mistral", llama}, {"mixtral", llama}, {"opt", opt},
                            {"t5", t5},       {"vit", vit}};

/// What says nothing about a training step.
const llvm::StringRef kIgnored[] = {"_name_or_path", "architectures",       "bos_token_id", "eos_token_id",
                                    "pad_token_id",  "torch_dtype",         "dtype",        "transformers_version",
                                    "use_cache",     "initializer_range",   "id2label",     "label2id",
                                    "output_past",   "tokenizer_class",     "model_type",   "tie_word_embeddings",
                                    "problem_type",  "word_embed_proj_dim", "auto_map",     "quantization_config"};

} // namespace

std::vector<std::string> huggingFaceFamilies() {
  std::vector<std::string> names;
  for (const Family &family : kFamilies)
    names.push_back(family.type);
  return names;
}

std::optional<ImportedModel> importHuggingFace(Diagnostics &diags, FileId file, const std::string &name) {
  size_t before = diags.errors();
  Config config(diags, file);
  if (!config.valid())
    return std::nullopt;
  std::string type = config.text("model_type", "");
  const Family *family = llvm::find_if(kFamilies, [&](const Family &f) { return f.type == type; });
  if (family == std::end(kFamilies)) {
    std::vector<std::string> known = huggingFaceFamilies();
    config.unsupported("model_type", type.empty() ? "the configuration says no 'model_type'"
                                                  : fmt::format("the model_type '{}' cannot be imported yet, "
                                                                "only '{}'",
                                                                type, fmt::join(known, "', '")));
    return std::nullopt;
  }
  Draft draft = family->draft(config);
  config.ignore(kIgnored);
  if (diags.errors() != before)
    return std::nullopt;
  std::vector<std::string> unread = config.unread(), notes;
  auto text = import::formatted(diags, file, draft.text(import::nameFrom(name, "model"), type, unread));
  if (!text)
    return std::nullopt;
  if (!unread.empty())
    notes.push_back(fmt::format("not understood and left out: {}", fmt::join(unread, ", ")));
  return ImportedModel{std::move(*text), std::move(notes)};
}

} // namespace accord
