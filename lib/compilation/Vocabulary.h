// Token tables and logits as frameworks pad them.
#pragma once
#include <cstdint>

namespace accord {
namespace dnn {
class ModelOp;
}

/// Rows of a model's token tables, and the classes of the loss over them, become the next multiple of `multiple`, as
/// Megatron-LM (Shoeybi et al., 2019, section 4) and others pad a vocabulary so that tensor parallelism divides it.
/// A vocabulary is the number of classes of a cross entropy of which an embedding has as many rows. One whose number is
/// also the extent of something else (the hidden size, a sequence) is left as it is, because types do not tell them
/// apart.
void padVocabulary(dnn::ModelOp model, int64_t multiple);

} // namespace accord
