// `require` of a training that says where layers may be: `block[0..47].device == a100_80g`,
// `embedding.device != v100_32g`, `block[0..3].stage == 0`, `block[3].stage == head.stage`.
#pragma once
#include "lib/language/requests/TrainingJob.h"
#include "lib/language/syntax/Evaluate.h"

namespace accord {

/// Whether a condition is about the device or the stage of layers.
bool isLayerConstraint(const ast::Expr &condition);

/// Of a condition that is: without `text` and `at`. Layers and devices are looked up when the step
/// and the cluster are known. Nothing after an error (A0963, or that of an index).
std::optional<LayerConstraint> layerConstraintOf(const ast::Expr &condition, Diagnostics &diags, const Lookup &lookup);

/// Whether a layer is one of the pattern's.
bool matches(const LayerPattern &pattern, llvm::StringRef layer);

} // namespace accord
