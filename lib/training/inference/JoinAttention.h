// Attention that engines of inference run as one kernel.
#pragma once
#include "dialects/dnn/Dnn.h"

namespace accord {

/// Attention that is written as products with a softmax between them becomes `dnn.flash_attention`, as engines run it,
/// where nothing but a causal mask and a factor touches the scores: queries are [key heads, group, queries, d] behind a
/// transposition, keys and values [key heads, keys, d] behind one. Norms and rotary positions of queries and keys move
/// before it. What has another form stays. Returns how many became one operation.
unsigned joinAttention(dnn::ModelOp model);

} // namespace accord
