// Operations of a training graph as kernels, or why not.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/microarchitecture/mapping/LoopKernel.h"

namespace accord::microarchitecture {

/// A kernel with the plain schedule for the machine. `optimizer`: of the graph, for updates.
///
/// - Contractions: by the tensors of their loops, of two operands; a bias is not added. Padding is part of the tensors.
/// - Others: by kind and domain; loops that are no reduction are rows. Normalizations of channels have the domain
///   (image, channel, points).
/// Refused (A1308): addresses that depend on data, collectives, fused operations, and kinds without a kernel.
Result<LoopKernel> kernelOf(const Operation &operation, const std::string &optimizer, const Microarchitecture &machine);

} // namespace accord::microarchitecture
