// What kind of work an operation is and how large: the words in which a plan and a trace of a profiler can be compared.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accord::comparison {

enum class WorkClass : uint8_t {
  Product, ///< of matrices
  Convolution,
  Attention, ///< in one kernel
  Normalization,
  Softmax,
  Loss,
  Embedding,
  Pool,
  Reduction,
  ElementWise,
  Copy, ///< a change of layout or type, a concatenation
  Fill, ///< of a tensor with one number
  Communication,
  Other
};
constexpr unsigned kWorkClasses = 14;
/// "matrix product", "convolution", "attention", …
inline const char *nameOf(WorkClass workClass) {
  constexpr const char *names[kWorkClasses] = {
      "matrix product", "convolution", "attention",    "normalization", "softmax", "loss",          "embedding",
      "pool",           "reduction",   "element-wise", "copy",          "fill",    "communication", "other"};
  return names[static_cast<unsigned>(workClass)];
}

/// Two operations with equal signatures do the same work on tensors of the same size.
struct Signature {
  WorkClass workClass = WorkClass::Other;
  std::string word; ///< within the class: "gelu", "add"; empty where nothing is to be told apart
  /// FLOPs of products and convolutions, each multiply-accumulate 2; of everything else the elements of the largest
  /// operand. 0: not known.
  int64_t size = 0;
  int64_t depth = 0; ///< of products and convolutions: terms of each sum. 0: not known.
};

/// The part of a step that an operation belongs to. `Recompute`: a forward operation in the backward pass. `Unknown`: a
/// kernel of which no call is known.
enum class Part : uint8_t { Forward, Backward, Recompute, Update, Accumulation, Unknown };
inline const char *nameOf(Part part) {
  constexpr const char *names[] = {"forward", "backward", "recompute", "update", "gradient accumulation", "unknown"};
  return names[static_cast<unsigned>(part)];
}

} // namespace accord::comparison
