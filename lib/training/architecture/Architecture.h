// What frameworks call a model: recognized from its operations, shapes, shared weights and constants, never from names.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/machine/model/ModelArchitecture.h"

namespace accord {

/// A transformer is understood if every operation of the model has its place in it: attention (in one operation or with
/// its scores), feed-forward networks and mixtures of experts, each with a norm and the sum with its input, embeddings
/// of tokens or patches with their positions, norms and heads. Blocks may stand in repeats or one after the other. Time
/// is in proportion to the operations, not to how often they are executed.
ModelArchitecture architectureOf(dnn::ModelOp model);

} // namespace accord
