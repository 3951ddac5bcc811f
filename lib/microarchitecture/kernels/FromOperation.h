// Operations of a training graph as kernels, or why not.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/microarchitecture/mapping/Contraction.h"

namespace accord::microarchitecture {

/// A kernel with the plain schedule for the machine. `optimizer`: of the graph, for updates.
///
/// - Contractions: by the tensors of their loops, of two operands; sums begin with a third one, a bias. Padding is part
///   of the tensors.
/// - Others: by kind, domain and tensors; loops that are no reduction are rows. Normalizations of channels have the
///   domain (image, channel, points).
/// - What moves data: with tensors in the order of their dimensions.
/// - Addresses that depend on data: in order, which is among the `assumptions` of the kernel.
/// - Fused operations: their parts one after the other, which pass their results on through memory.
/// Refused (A1308): collectives, and kinds without a kernel.
Result<LoopKernel> kernelOf(const Operation &operation, const std::string &optimizer, const Microarchitecture &machine);

/// The product that an operation of regular shape is, whose schedule may be searched for. Refused (A1308): what is no
/// product of two tensors with one result.
Result<Contraction> contractionOf(const Operation &operation);

} // namespace accord::microarchitecture
