// Sources: the configuration and modelling files of Hugging Face transformers, one for each `model_type`; what a
// setting is called there, and its default.
#include "lib/import/huggingface/Draft.h"
#include "lib/import/huggingface/Families.h"
#include "lib/import/text/DnnTextBuilder.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

namespace {

/// Word, segment and position rows, added and normed, then layers whose norms stand behind them.
void writeEncoder(Config &c, Draft &d, int64_t skipped) {
  blockSizes(c, d);
  d.take(c, "vocab", {"vocab_size"});
  int64_t positions = c.integer({"max_position_embeddings"});
  c.expect(positions > skipped, "max_position_embeddings", fmt::format("more than {}", skipped));
  positions = std::max<int64_t>(positions - skipped, 1);
  int64_t length = d.length(c, "seq", positions, "max_position_embeddings", true);
  d.set("positions", learnedPositions(positions, length, skipped));
  d.set("types", std::to_string(c.integer({"type_vocab_size"}, 2)));
  d.set("epsilon", c.number("layer_norm_eps", 1e-12));
  d.set("drop", c.rate("hidden_dropout_prob", 0.1));
  refuseActivation(c, "hidden_act", "gelu", kGelu);
  if (std::string kind = c.text("position_embedding_type", "absolute"); kind != "absolute")
    c.unsupported("position_embedding_type", fmt::format("'{}' positions are not supported", shown(kind)));
  if (c.flag("is_decoder", false))
    c.unsupported("is_decoder", "an encoder as a decoder is not supported");
  if (c.flag("add_cross_attention", false))
    c.unsupported("add_cross_attention", "attention to another text is not supported");
  std::string module = attentionModule(c, d, "attention_probs_dropout_prob");
  d.set("attention", module);
  d.set("dropped", dropOf(module));
  d.add("let word_embeddings = parameter([vocab, hidden])\n"
        "let embedded = embedding(tokens, rows = vocab, dim = hidden, table = word_embeddings) + "
        "embedding(segments, rows = $types, dim = hidden) + $positions\n"
        "var x = maybe_dropout(layer_norm(embedded, epsilon = $epsilon), $drop)\n"
        "repeat layers as layer {\n"
        "let h = layer_norm(x + maybe_dropout($attention(x, heads = heads$dropped), $drop), "
        "epsilon = $epsilon)\n"
        "x = layer_norm(h + maybe_dropout(gelu_mlp(h, hidden, inner), $drop), epsilon = "
        "$epsilon)\n}\n"
        "let transform = layer_norm(gelu(linear(x, out = hidden)), epsilon = $epsilon)");
  c.ignore({"attention_probs_dropout_prob", "gradient_checkpointing", "classifier_dropout", "directionality",
            "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head",
            "pooler_type"});
}

} // namespace

void bert(Config &c, Draft &d) {
  d.sentence = "a post-norm encoder with the heads of its pre-training: masked tokens and next sentence.";
  d.add("input tokens   : int32[seq]\ninput segments : int32[seq]\ninput labels   : int32[seq]\n"
        "input next_sentence_label : int32[1]");
  writeEncoder(c, d, 0);
  d.add("let pooled = tanh(linear(slice(x, axis = 0, start = 0, size = 1), out = hidden))\n"
        "loss cross_entropy(linear(transform, out = vocab, weight = word_embeddings), labels) + "
        "cross_entropy(linear(pooled, out = 2), next_sentence_label)");
}

/// RoBERTa, XLM-RoBERTa and CamemBERT: positions begin behind the padding's, and there is no next sentence.
void roberta(Config &c, Draft &d) {
  d.sentence = "a post-norm encoder with the head of its pre-training: masked tokens.";
  d.add("input tokens   : int32[seq]\ninput segments : int32[seq]\ninput labels   : int32[seq]");
  writeEncoder(c, d, c.integer({"pad_token_id"}, 1, 0) + 1);
  d.add("loss cross_entropy(linear(transform, out = vocab, weight = word_embeddings), labels)");
}

void vit(Config &c, Draft &d) {
  d.sentence = "an encoder over patches of an image, classified by a token of its own.";
  d.take(c, "layers", {"num_hidden_layers"});
  d.take(c, "hidden", {"hidden_size"});
  int64_t image = c.integer({"image_size"}), patch = c.integer({"patch_size"});
  if (image % patch)
    c.unsupported("patch_size", "the patches must cover the image evenly");
  takeHeads(c, d, {"num_attention_heads"}, {"hidden_size"});
  d.take(c, "inner", {"intermediate_size"});
  d.size("size", image, "image_size");
  d.size("patch", patch, "patch_size");
  d.size("classes", c.integer({"num_labels"}, 1000), "num_labels (1000 unless given)");
  d.set("channels", std::to_string(c.integer({"num_channels"}, 3)));
  d.set("patches", std::to_string(image / patch * (image / patch)));
  d.set("epsilon", c.number("layer_norm_eps", 1e-12));
  refuseActivation(c, "hidden_act", "gelu", kGelu);
  d.set("attention", attentionModule(c, d, "attention_probs_dropout_prob"));
  if (!c.flag("qkv_bias", true))
    c.unsupported("qkv_bias", "attention without biases beside others with is not supported");
  d.add("input image : float[$channels, size, size]\ninput label : int32[1]\n"
        "let cut = conv2d(image, out = hidden, kernel = patch, stride = patch)\n"
        "let patches = transpose(reshape(cut, [hidden, $patches]), [1, 0])\n"
        "let zeros = scale(slice(patches, axis = 0, start = 0, size = 1), factor = 0)\n"
        "var x = concat(zeros + parameter([1, hidden]), patches, axis = 0) + "
        "parameter([$patches + 1, hidden])\n"
        "repeat layers as layer {\n"
        "x = x + $attention(layer_norm(x, epsilon = $epsilon), heads = heads)\n"
        "x = x + gelu_mlp(layer_norm(x, epsilon = $epsilon), hidden, inner)\n}\n"
        "let first = slice(layer_norm(x, epsilon = $epsilon), axis = 0, start = 0, size = 1)\n"
        "loss cross_entropy(linear(first, out = classes), label)");
  c.ignore(
      {"attention_probs_dropout_prob", "hidden_dropout_prob", "encoder_stride", "pooler_act", "pooler_output_size"});
}

} // namespace accord::import
