// What inference makes of a model: no loss, no dropout, batch norms compiled, a cache where tokens are decoded.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "dialects/dnn/ForwardOptions.h"

namespace accord {

/// Changes a model that ends in a loss to one that ends in `dnn.output`:
/// - The outputs are the tensors, computed from parameters, from which the loss makes one number.
/// - Dropout is left out. Where `compiled`, a batch norm behind a convolution or a linear layer is part of its weights
///   (Jacob et al., 2018, section 3.2), and attention is one operation (`joinAttention`).
/// - With a context, keys and values of causal attention come from a cache of so many tokens. One of a window holds no
///   more than the window.
/// Fails, with an error at the model or an operation, if there is no output, or a context and nothing to cache.
llvm::LogicalResult makeForward(dnn::ModelOp model, const dnn::ForwardOptions &options);

} // namespace accord
