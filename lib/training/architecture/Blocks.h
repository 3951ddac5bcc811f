// The parts of a transformer's blocks, found by what their operations do.
#pragma once
#include "lib/machine/model/ModelArchitecture.h"
#include "lib/training/architecture/ModelWalk.h"
#include <vector>

namespace accord {

/// What stands between the stream of a model and itself: a norm before or behind, and the sum with what came in.
struct Residual {
  mlir::Value from, to; ///< the stream before and behind
  bool normAfter = false;
  mlir::Operation *norm = nullptr;
  double dropout = 0;
};

struct AttentionPart {
  mlir::Operation *at = nullptr; ///< its softmax
  int64_t executions = 1, queries = 0, keys = 0;
  int64_t hidden = 0, heads = 0, keyValueHeads = 0, headSize = 0;
  bool causal = false, cross = false; ///< keys and values come from elsewhere: from `memory`
  mlir::Value memory;
  bool inputBias = false, bias = false; ///< of the products before; of the one behind
  bool unscaled = false, alibi = false, fused = false;
  double rotaryBase = 0, dropout = 0; ///< base 0: no rotary positions
  int64_t relativeBuckets = 0, relativeDistance = 0;
  Residual residual;
};

struct FeedForwardPart {
  mlir::Operation *at = nullptr;
  int64_t executions = 1, inner = 0;
  ModelArchitecture::Activation activation = ModelArchitecture::Activation::None;
  bool bias = false;
  double dropout = 0; ///< between its products
  int64_t experts = 0, expertsPerToken = 0, expertParameters = 0;
  double expertCapacity = 0;
  bool expertsNormalized = false;
  Residual residual;
};

/// Finds all parts of a model. What stands in its way is said in `reason`, by the kind of the operation, and ends it.
class BlockFinder {
public:
  BlockFinder(dnn::ModelOp model, ModelWalk &walk) : model(model), walk(walk) {}
  bool run();

  std::vector<AttentionPart> attentions;
  std::vector<FeedForwardPart> networks;
  std::string reason;

private:
  bool softmax(dnn::SoftmaxOp op);
  bool flash(dnn::FlashAttentionOp op);
  bool scores(mlir::Value value, AttentionPart &part, PassedOperations &passed, dnn::MatmulOp &product);
  /// The products before queries, keys and values, and the one behind. `product` gives the heads' sums.
  bool projections(AttentionPart &part, mlir::Value q, mlir::Value k, mlir::Value v, mlir::Value context,
                   PassedOperations passed);
  bool activation(mlir::Operation *op);
  bool gate(mlir::Operation *op, FeedForwardPart &part, const TrainedProduct &first, mlir::Value &out);
  bool experts(dnn::MoeDispatchOp op);
  bool residual(mlir::Value in, mlir::Value out, mlir::Operation *at, Residual &found);
  bool fail(mlir::Operation *at, const std::string &why);

  dnn::ModelOp model;
  ModelWalk &walk;
};

/// "'softmax' of 'block.attn'": an operation in messages.
std::string textOf(mlir::Operation *op);
bool isNorm(mlir::Operation *op);

} // namespace accord
