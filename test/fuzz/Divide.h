// Passes that must not change what a training step computes, held against the step as it was.
#pragma once
#include "dialects/dnn/Dnn.h"
#include <string>

namespace accord::fuzz {

/// Runs one of the pipelines that divide, fuse or simplify (chosen by `choice`) on a copy of the
/// graph, which must verify; small steps are interpreted before and after, which must give the same
/// loss and gradients. What is wrong, or an empty text.
std::string divided(dnn::TrainingGraphOp graph, uint64_t choice);

} // namespace accord::fuzz
