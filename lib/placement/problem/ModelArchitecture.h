// What a model is, in the words in which frameworks describe one: a transformer's sizes and kinds of layers, found in
// its training graph (lib/training/architecture), so that a launcher can build the model that was planned.
#pragma once
#include <cstdint>

namespace accord {

/// Sizes are 0 where the model has none of it, or where it is not the same in all of its blocks (`irregular` says so).
struct ModelArchitecture {
  enum class Family : uint8_t {
    Other,          ///< no transformer, or one that is not understood
    Decoder,        ///< causal attention: GPT, Llama, Mixtral
    Encoder,        ///< BERT
    EncoderDecoder, ///< T5, Transformer
    Vision          ///< ViT: patches of an image
  } family = Family::Other;
  enum class Norm : uint8_t { None, LayerNorm, RmsNorm } norm = Norm::None;
  enum class Activation : uint8_t { None, Relu, Gelu, SwiGlu, GeGlu, Silu } activation = Activation::None;
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
  double dropout = 0;                             ///< share; 0: none
  int64_t parameters = 0, expertParameters = 0;   ///< trained scalars; of them, those of experts

  bool operator==(const ModelArchitecture &) const = default;
};

} // namespace accord
