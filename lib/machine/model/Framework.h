// What the software that runs a training does to its memory: which copies of parameters it keeps in which type, how it
// pads, and what lies on a device besides tensors. `framework NAME { … }` of `.accel` states it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// All sizes are bytes of one device. Types matter where parameters are trained in mixed precision; in one precision
/// there is one copy of each.
struct Framework {
  std::string name;
  bool masterWeightsAlone = false; ///< no copy in the type of products stays beside the fp32 weights
  bool fp32Gradients = false;      ///< gradients are added up in fp32, else in the type of products
  /// Those of a micro-batch stay in the type of products until its whole backward pass has run, beside their fp32 sums.
  bool gradientsInBoth = false;
  bool fp32Reductions = false;        ///< gradients are exchanged between replicas in fp32
  int64_t zero = 0;                   ///< stage of ZeRO of a training that states none
  int64_t minZero = 0, maxZero = 3;   ///< stages that it has
  std::vector<std::string> divides;   ///< degrees that it has: "tensor", "sequence", …; empty: not said
  std::optional<bool> hidesGradients; ///< whether gradients are exchanged behind the backward pass; nothing: not said
  /// Rows of the token table, and logits, are padded to a multiple of this, or of this times the tensor degree.
  int64_t vocabularyMultiple = 1;
  bool vocabularyPerTensor = false;
  bool fusesElementwise = false; ///< element-wise work runs where its tensor is made, as compilers do
  double lossBytes = 0;          ///< of everything of the size of the logits while the loss runs, for each logit
  int64_t gradientBuckets = 0;   ///< copies of gradients under way between replicas
  double reservedRatio = 1;      ///< what the allocator reserves at its peak over what is allocated then
  int64_t context = 0;           ///< of the driver's context and loaded kernels: in no allocator
  int64_t communication = 0;     ///< of the communication library: in no allocator
  double margin = 0;             ///< share that a prediction may be too low, at `confidence`
  double confidence = 0.9;       ///< of `margin`
  double hostPerMicrobatch = 0;  ///< seconds of the host that no machine states, for each micro-batch
  double hostPerStep = 0;        ///< and for each step

  bool has(const std::string &degree) const {
    return divides.empty() || std::find(divides.begin(), divides.end(), degree) != divides.end();
  }
  /// What the vocabulary is padded to a multiple of.
  int64_t multipleAt(int64_t tensor) const { return vocabularyMultiple * (vocabularyPerTensor ? tensor : 1); }
};

} // namespace accord
