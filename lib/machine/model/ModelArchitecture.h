// What a model is, in the words in which frameworks describe one: a transformer's sizes and kinds of layers, found in
// its training graph (lib/training/architecture), so that a launcher can build the model that was planned.
#pragma once
#include <cstdint>
#include <string>

namespace accord {

constexpr int64_t kMaxArchitectureSize = int64_t(1) << 30;

/// Sizes are at most `kMaxArchitectureSize`, so that products of two never overflow. They are 0 where the model has
/// none of it, or where it is not the same in all of its blocks (`irregular` says so).
struct ModelArchitecture {
  enum class Family : uint8_t {
    Other,          ///< no transformer, or one that is not understood
    Decoder,        ///< causal attention: GPT, Llama, Mixtral
    Encoder,        ///< BERT
    EncoderDecoder, ///< T5, Transformer
    Vision          ///< ViT: patches of an image
  } family = Family::Other;
  enum class Norm : uint8_t { None, LayerNorm, RmsNorm } norm = Norm::None;
  enum class Activation : uint8_t { None, Relu, Gelu, SwiGlu, GeGlu, Silu, SquaredRelu } activation = Activation::None;
  enum class Positions : uint8_t { None, Learned, Rope, Relative, Sinusoidal, Alibi } positions = Positions::None;

  int64_t layers = 0;        ///< blocks; of an encoder with a decoder: those of the decoder
  int64_t encoderLayers = 0; ///< of an encoder with a decoder
  int64_t hidden = 0;
  int64_t heads = 0, keyValueHeads = 0, headSize = 0; ///< fewer heads of keys and values: grouped queries
  int64_t inner = 0;                                  ///< of the feed-forward network; with experts, of one of them
  int64_t vocabulary = 0, sequence = 0;
  int64_t maxPositions = 0; ///< rows of the table of learned positions
  int64_t experts = 0, expertsPerToken = 0, expertLayers = 0;
  int64_t imageSize = 0, patchSize = 0, classes = 0;
  bool tiedEmbeddings = false;                    ///< the head's weights are those of the embedding
  bool linearBias = false, attentionBias = false; ///< of products; of queries, keys and values
  bool normAfter = false;                         ///< norms stand behind blocks, as in BERT
  bool finalNorm = false;                         ///< one stands before the head
  bool causal = false;                            ///< attention looks back alone
  bool irregular = false;                         ///< blocks differ in their sizes
  double dropout = 0;                             ///< share, of what blocks add to their input; 0: none
  int64_t parameters = 0, expertParameters = 0;   ///< trained scalars; of them, those of experts

  double attentionDropout = 0, innerDropout = 0; ///< of the softmax; between the products of a feed-forward network
  double normEpsilon = 0, rotaryBase = 0;
  bool normBias = false;          ///< norms have an offset
  bool embeddingNorm = false;     ///< one stands behind the embedding, beside those of blocks (BERT's, BLOOM's)
  bool unscaledAttention = false; ///< scores are not divided by the root of the head's size
  double embeddingScale = 1, logitScale = 1;         ///< of what leaves the embedding, and of what enters the head
  int64_t relativeBuckets = 0, relativeDistance = 0; ///< of relative positions: in each table
  double expertCapacity = 0;                         ///< slots of an expert over its even share of the tokens
  bool expertsNormalized = false;                    ///< the weights of the experts of a token add up to 1
  int64_t encoderSequence = 0;                       ///< of an encoder with a decoder
  int64_t segments = 0;                              ///< rows of a table of kinds of tokens
  int64_t classTokens = 0;                           ///< trained tokens before the patches of an image
  int64_t predictedPositions = 0; ///< positions of a sample of which the head predicts tokens; 0: all
  bool headBias = false;          ///< of the head
  bool headTransform = false;     ///< a product, an activation and a norm stand before the head (BERT)
  bool pairHead = false;          ///< a second head tells of the first token whether two sentences follow (BERT)
  bool fusedAttention = false;    ///< in one operation that keeps no scores

  std::string notUnderstood; ///< of `Other`: why

  bool operator==(const ModelArchitecture &) const = default;
};

} // namespace accord
