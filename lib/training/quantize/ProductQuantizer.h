// Products of a model's layers with their weights, on operands of 8 bits.
#pragma once
#include "dialects/dnn/Dnn.h"

namespace accord {

/// Rewrites the products with weights inside of a model's repeats (`dnn.linear`, `dnn.contract`, `dnn.moe_experts`), so
/// that they take operands of type `format` and give bf16, as Transformer Engine's layers do (NVIDIA, Transformer
/// Engine documentation, "Using FP8 with Transformer Engine"):
/// - an operand gets a `dnn.cast`, one for all products that take it; what is saved for the weight gradient is its
///   result, of half the bytes;
/// - a weight is read in the format: the update of the parameter writes that copy once per step.
/// Differentiation casts gradients of results to f8E5M2. Products of bf16 alone are rewritten, and only if both
/// dimensions of the weights are multiples of 16, as cuBLAS wants them for 8 bits. The products of attention, the gate
/// of a mixture of experts and what is outside of repeats (the logits) stay as they are, and so do repeats that take a
/// tensor apart (steps of a sequence).
///
/// Collectives that the graph gets later move what the products take: with sequence parallelism a gather of a product's
/// operand, and with divided experts the exchange of slots, is of 8 bits. Sums between devices are of bf16.
///
/// Returns how many products were rewritten.
unsigned quantizeProducts(dnn::ModelOp model, mlir::Type format);

} // namespace accord
