// What frameworks call a model, in plan.json and in its certificate.
#include "lib/planning/output/PlanJson.h"

namespace accord {
namespace {

constexpr IntegerRange kSize{0, kMaxArchitectureSize};

template <typename E>
JsonFields &word(JsonFields &f, llvm::StringLiteral key, E &value, std::initializer_list<llvm::StringRef> words) {
  return f.field(key, value, [&](JsonVisitor &v, E &one) { v.oneOf(one, words, "an unknown word"); });
}

void describeSizes(JsonFields &f, ModelArchitecture &a) {
  f.about("blocks; of an encoder with a decoder, those of the decoder").maybe("layers", a.layers, kSize);
  f.maybe("encoder_layers", a.encoderLayers, kSize).maybe("hidden", a.hidden, kSize).maybe("heads", a.heads, kSize);
  f.about("fewer than heads: grouped queries").maybe("key_value_heads", a.keyValueHeads, kSize);
  f.maybe("head_size", a.headSize, kSize);
  f.about("width of feed-forward networks; with experts, of one of them").maybe("inner", a.inner, kSize);
  f.maybe("vocabulary", a.vocabulary, kSize);
  f.about("tokens of a sample")
      .maybe("sequence", a.sequence, kSize)
      .maybe("encoder_sequence", a.encoderSequence, kSize);
  f.about("rows of the table of learned positions").maybe("max_positions", a.maxPositions, kSize);
  f.about("rows of the table of kinds of tokens").maybe("segments", a.segments, kSize);
  f.maybe("experts", a.experts, kSize)
      .maybe("experts_per_token", a.expertsPerToken, kSize)
      .maybe("expert_layers", a.expertLayers, kSize);
  f.about("slots of an expert over its even share of the tokens").maybe("expert_capacity", a.expertCapacity);
  f.about("the weights of the experts of a token add up to 1").maybe("experts_normalized", a.expertsNormalized);
  f.maybe("image_size", a.imageSize, kSize).maybe("patch_size", a.patchSize, kSize).maybe("classes", a.classes, kSize);
  f.about("trained tokens before the patches").maybe("class_tokens", a.classTokens, kSize);
  f.about("trained scalars").field("parameters", a.parameters).maybe("expert_parameters", a.expertParameters);
  f.about("blocks differ in sizes, which are left out").maybe("irregular", a.irregular);
}

void describeKinds(JsonFields &f, ModelArchitecture &a) {
  f.about("attention looks back alone").maybe("causal", a.causal);
  f.about("the weights of the head are those of the embedding").maybe("tied_embeddings", a.tiedEmbeddings);
  f.about("of products, but those of queries, keys and values").maybe("linear_bias", a.linearBias);
  f.about("of queries, keys and values").maybe("attention_bias", a.attentionBias);
  f.about("norms stand behind blocks").maybe("norm_after", a.normAfter);
  f.about("norms have an offset").maybe("norm_bias", a.normBias);
  f.maybe("norm_epsilon", a.normEpsilon, kAnyNumber);
  f.about("a norm stands before the head").maybe("final_norm", a.finalNorm);
  f.about("a norm stands behind the embedding").maybe("embedding_norm", a.embeddingNorm);
  f.maybe("rotary_base", a.rotaryBase, kAnyNumber);
  f.about("rows of a table of relative positions").maybe("relative_buckets", a.relativeBuckets, kSize);
  f.maybe("relative_distance", a.relativeDistance, kSize);
  f.about("scores are not divided by the root of the head's size").maybe("unscaled_attention", a.unscaledAttention);
  f.about("attention is one operation that keeps no scores").maybe("fused_attention", a.fusedAttention);
  f.about("share, of what blocks add to their input").maybe("dropout", a.dropout, kShare);
  f.about("of the softmax").maybe("attention_dropout", a.attentionDropout, kShare);
  f.about("between the products of a feed-forward network").maybe("inner_dropout", a.innerDropout, kShare);
  f.maybeIf(a.embeddingScale != 1, "embedding_scale", a.embeddingScale, kAnyNumber);
  f.maybeIf(a.logitScale != 1, "logit_scale", a.logitScale, kAnyNumber);
  f.about("positions of a sample of which the head predicts tokens, where these are not all")
      .maybe("predicted_positions", a.predictedPositions, kSize);
  f.maybe("head_bias", a.headBias);
  f.about("a product, an activation and a norm stand before the head").maybe("head_transform", a.headTransform);
  f.about("a second head tells whether two sentences follow each other").maybe("pair_head", a.pairHead);
}

} // namespace

void describe(JsonFields &f, ModelArchitecture &a) {
  f.about("other: no transformer, or one that is not understood");
  word(f, "family", a.family, {"other", "decoder", "encoder", "encoder_decoder", "vision"});
  f.about("of family other: why").maybe("not_understood", a.notUnderstood);
  word(f, "norm", a.norm, {"none", "layer_norm", "rms_norm"});
  word(f, "activation", a.activation, {"none", "relu", "gelu", "swiglu", "geglu", "silu", "squared_relu"});
  word(f, "positions", a.positions, {"none", "learned", "rope", "relative", "sinusoidal", "alibi"});
  describeSizes(f, a);
  describeKinds(f, a);
}

} // namespace accord
