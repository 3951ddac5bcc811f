// Decoder-only transformers of one kind: pre-norm, rotary positions, gated feed-forward layers. What a family does
// otherwise is a difference. Internal to lib/import.
#pragma once
#include "lib/import/huggingface/Draft.h"

namespace accord::import {

struct DecoderShape {
  std::string module = "fused_attention";
  std::string epsilon = "1e-06", base = "10000"; ///< of norms; of rotary positions
  std::string localBase;                         ///< of rotary positions in layers with a window; empty: the same
  std::string scoreFactor;                       ///< of scores; empty: 1 / the root of the heads' width
  std::string mlp = "swiglu_mlp";
  std::string embeddingFactor, logitCap;
  bool tied = false;
  bool inputBias = false, outputBias = false; ///< of queries, keys and values; of what leads back to the stream
  bool headNorms = false;                     ///< RMS norms of each head's queries and keys
  bool outerNorms = false;                    ///< RMS norms of what attention and feed-forward layers give, too
  bool headWidth = false;                     ///< heads are not hidden / heads wide: `head_dim`
  int64_t layers = 1;
  std::vector<bool> windowed; ///< by layer; empty: none sees a window
  std::string experts;        ///< the call of the experts with `$x` for what they read; empty: `mlp`
  std::string behind;         ///< lines behind the feed-forward layer
};

/// Sizes, norms and attention as Llama's configuration names them: layers, hidden, heads, kv_heads, head_dim, vocab and
/// seq, and what the shape says of them. `widthMissing`: head_dim if it is not stated; 0: hidden / heads.
DecoderShape readDecoder(Config &c, Draft &d, bool tied = false, int64_t widthMissing = 0);

/// Which layers see `sliding_window` keys alone: those that `layer_types` says, else those of the rule, which is asked
/// for each layer. A window of all positions is none.
void readWindow(Config &c, Draft &d, DecoderShape &shape, llvm::function_ref<bool(int64_t)> rule);

/// The attention of a block to the normed stream, with a window or without.
std::string attentionCall(const DecoderShape &shape, const std::string &x, bool windowed);

/// Tokens, blocks and the head.
void writeDecoder(Draft &d, const DecoderShape &shape);

/// So many layers, by what differs: layers of one pattern become a `repeat`. `layer` writes one.
void writeLayers(Draft &d, const DecoderShape &shape, llvm::function_ref<void(bool)> layer);

/// `moe` with gated experts that drop no token; the keys of how many there are, how many a token takes, and their inner
/// width.
std::string expertsCall(Config &c, Draft &d, llvm::ArrayRef<llvm::StringRef> experts, int64_t topMissing,
                        llvm::StringRef inner, bool normalize);

} // namespace accord::import
