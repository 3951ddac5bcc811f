// Sums of a comparison over what people ask about: parts of the step, classes of work, repeats.
#pragma once
#include "lib/comparison/problem/Comparison.h"

namespace accord::comparison {

struct Share {
  std::string name;
  double planned = 0, measured = 0; ///< seconds of a step; measured: what belongs to it alone
  double difference() const { return measured - planned; }
};

/// Forward pass, gradients of data and of weights, recomputation, update, groups of the trace, and what neither has:
/// planned time outside of operations (the host, or less than none where operations run side by side) and calls that
/// are not explained. Their sums are the planned and the measured step.
std::vector<Share> sharesByPart(const Comparison &comparison);
/// By class of work, and by repeat of the model; rows alone.
std::vector<Share> sharesByClass(const Comparison &comparison);
std::vector<Share> sharesByRepeat(const Comparison &comparison);

/// "gpt_logits.block.mlp.linear", or "conv1, gradients", or "gpt_logits.block.attn.raw_scores and 3 more".
std::string nameOf(const Comparison &comparison, const Row &row);
/// The part of a row as `sharesByPart` names it.
std::string partOf(const Comparison &comparison, const Row &row);
WorkClass classOf(const Comparison &comparison, const Row &row);

} // namespace accord::comparison
