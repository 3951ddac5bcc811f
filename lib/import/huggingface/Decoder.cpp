#include "lib/import/huggingface/Decoder.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {

DecoderShape readDecoder(Config &c, Draft &d, bool tied, int64_t widthMissing) {
  DecoderShape shape;
  shape.module = attentionModule(c, d);
  shape.layers = d.take(c, "layers", {"num_hidden_layers"});
  int64_t hidden = d.take(c, "hidden", {"hidden_size"}), heads = d.take(c, "heads", {"num_attention_heads"});
  int64_t shared = c.integer({"num_key_value_heads"}, heads);
  c.expect(heads % shared == 0, "num_key_value_heads", fmt::format("a divisor of 'num_attention_heads', {}", heads));
  d.size("kv_heads", shared, "num_key_value_heads");
  bool stated = c.has("head_dim") || widthMissing > 0;
  int64_t width = c.integer({"head_dim"}, widthMissing ? widthMissing : std::max<int64_t>(hidden / heads, 1));
  if (!stated)
    c.expect(hidden % heads == 0, "num_attention_heads", fmt::format("a divisor of 'hidden_size', {}", hidden));
  shape.headWidth = width * heads != hidden;
  if (shape.headWidth)
    d.size("head_dim", width, "head_dim");
  c.expect(width % 2 == 0, "head_dim", "even: rotary positions turn pairs");
  shape.tied = c.flag("tie_word_embeddings", tied);
  shape.epsilon = c.number("rms_norm_eps", 1e-6);
  shape.base = rotaryBase(c, d);
  if (std::string part = c.number("partial_rotary_factor", 1); part != "1")
    d.note(fmt::format("rotary positions turn each head as a whole here, not its part of {}", part));
  d.take(c, "vocab", {"vocab_size"});
  d.length(c, "seq", c.integer({"max_position_embeddings"}), "max_position_embeddings");
  c.ignore({"pretraining_tp", "router_aux_loss_coef", "output_router_logits", "router_jitter_noise",
            "attention_dropout", "original_max_position_embeddings"});
  return shape;
}

void readWindow(Config &c, Draft &d, DecoderShape &shape, llvm::function_ref<bool(int64_t)> rule) {
  int64_t positions = c.integer({"max_position_embeddings"});
  bool any = c.has("sliding_window");
  constexpr int64_t kLayers = 4096; // keeps the search for a period short
  if (any || c.has("layer_types"))
    c.expect(shape.layers <= kLayers, "num_hidden_layers",
             fmt::format("at most {} where a layer may see a window", kLayers));
  int64_t window = any ? c.integer({"sliding_window"}) : positions;
  std::vector<bool> windowed;
  if (c.has("layer_types")) {
    const llvm::json::Array *types = c.list("layer_types");
    bool fits = types && static_cast<int64_t>(types->size()) == shape.layers;
    c.expect(fits, "layer_types", fmt::format("a list of one word for each of the {} layers", shape.layers));
    for (int64_t i = 0; fits && i < shape.layers; ++i) {
      std::optional<llvm::StringRef> type = (*types)[i].getAsString();
      c.expect(type && (*type == "full_attention" || *type == "sliding_attention"), "layer_types",
               "of 'full_attention' and 'sliding_attention'");
      windowed.push_back(type && *type == "sliding_attention");
    }
    c.expect(any || !llvm::is_contained(windowed, true), "layer_types",
             "'full_attention' of all layers, because there is no 'sliding_window'");
  } else {
    for (int64_t i = 0; i < std::min(shape.layers, kLayers); ++i)
      windowed.push_back(any && rule(i));
  }
  if (!llvm::is_contained(windowed, true) || window >= positions)
    return;
  if (shape.module == "attention")
    d.note("scores in memory are computed in full and masked, whatever a window hides: 'window' has no effect");
  d.size("window", window, "sliding_window");
  shape.windowed = std::move(windowed);
}

std::string attentionCall(const DecoderShape &shape, const std::string &x, bool windowed) {
  std::string call = fmt::format("{}({}, heads = heads, kv_heads = kv_heads, causal = true, bias = {}, rotary = true, "
                                 "base = {}",
                                 shape.module, x, shape.inputBias,
                                 windowed && !shape.localBase.empty() ? shape.localBase : shape.base);
  if (shape.headWidth)
    call += ", head_dim = head_dim";
  if (shape.outputBias != shape.inputBias)
    call += fmt::format(", out_bias = {}", shape.outputBias);
  if (shape.headNorms)
    call += fmt::format(", head_norms = true, epsilon = {}", shape.epsilon);
  if (!shape.scoreFactor.empty())
    call += fmt::format(", factor = {}", shape.scoreFactor);
  if (windowed && shape.module == "fused_attention")
    call += ", window = window";
  return call + ")";
}

/// Layers in a row: `count` times those of the pattern, each with a window or without.
struct Segment {
  int64_t count;
  std::vector<bool> pattern;
};

/// Runs of equal layers if there are few, else the shortest period and what is left behind its last copy.
static std::vector<Segment> segmentsOf(const std::vector<bool> &windowed) {
  std::vector<Segment> runs;
  for (bool one : windowed) {
    if (runs.empty() || runs.back().pattern.front() != one)
      runs.push_back({0, {one}});
    ++runs.back().count;
  }
  if (runs.size() <= 3)
    return runs;
  size_t period = 1, layers = windowed.size();
  auto repeats = [&] {
    for (size_t i = period; i < layers; ++i)
      if (windowed[i] != windowed[i - period])
        return false;
    return true;
  };
  while (period < layers && !repeats())
    ++period;
  std::vector<Segment> segments = {{static_cast<int64_t>(layers / period),
                                    {windowed.begin(), windowed.begin() + static_cast<std::ptrdiff_t>(period)}}};
  for (size_t i = layers - layers % period; i < layers; ++i) {
    if (segments.size() == 1 || segments.back().pattern.front() != windowed[i])
      segments.push_back({0, {windowed[i]}});
    ++segments.back().count;
  }
  return segments;
}

void writeLayers(Draft &d, const DecoderShape &shape, llvm::function_ref<void(bool)> layer) {
  std::vector<Segment> segments =
      shape.windowed.empty() ? std::vector<Segment>{{shape.layers, {false}}} : segmentsOf(shape.windowed);
  for (const Segment &segment : segments) {
    bool all = segments.size() == 1 && segment.pattern.size() == 1;
    d.add(fmt::format("repeat {} as {} {{", all ? "layers" : std::to_string(segment.count),
                      segment.pattern.size() > 1 ? "blocks"
                      : all                      ? "block"
                      : segment.pattern.front()  ? "local_block"
                                                 : "full_block"));
    for (size_t i = 0, end = 0; i < segment.pattern.size(); i = end) { // layers alike are written once
      while (end < segment.pattern.size() && segment.pattern[end] == segment.pattern[i])
        ++end;
      if (end - i > 1)
        d.add(fmt::format("for i in 0..{} {{", end - i - 1));
      layer(segment.pattern[i]);
      if (end - i > 1)
        d.add("}");
    }
    d.add("}");
  }
}

void writeDecoder(Draft &d, const DecoderShape &shape) {
  auto normed = [&](const std::string &x) { return fmt::format("rms_norm({}, epsilon = {})", x, shape.epsilon); };
  auto joined = [&](const std::string &x) { return shape.outerNorms ? normed(x) : x; };
  addTokens(d);
  embed(d, shape.tied, shape.embeddingFactor);
  writeLayers(d, shape, [&](bool windowed) {
    d.add("x = x + " + joined(attentionCall(shape, normed("x"), windowed)));
    std::string mlp = shape.experts;
    if (size_t at = mlp.find("$x"); at != std::string::npos)
      mlp.replace(at, 2, normed("x"));
    else
      mlp = fmt::format("{}({}, hidden, inner)", shape.mlp, normed("x"));
    d.add("x = x + " + joined(mlp));
    if (!shape.behind.empty())
      d.add(shape.behind);
  });
  head(d, normed("x"), shape.tied, shape.logitCap);
}

std::string expertsCall(Config &c, Draft &d, llvm::ArrayRef<llvm::StringRef> experts, int64_t topMissing,
                        llvm::StringRef inner, bool normalize) {
  int64_t all = c.integer(experts), top = c.integer({"num_experts_per_tok"}, topMissing);
  c.expect(top <= all, "num_experts_per_tok", fmt::format("at most '{}', {}", experts.front().str(), all));
  d.size("experts", all, experts.front().str());
  d.take(c, "inner", {inner});
  return fmt::format("moe($x, experts = experts, inner = inner, top_k = {}, capacity_factor = 1, gated = true, "
                     "normalize = {})",
                     top, normalize);
}

} // namespace accord::import
