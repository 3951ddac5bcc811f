// What inference says of a model beside its settings: an attribute of models and of training graphs.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace accord::dnn {

/// How a model runs without being trained, as attributes of the model and of its training graph.
struct ForwardOptions {
  bool lastPosition = false; ///< of the answers to all positions of a sequence, the last one alone is computed
  int64_t context = 0;       ///< tokens that attention sees, those of the step among them; 0: nothing is cached
  int64_t weightBits = 0;    ///< in which weights of products are stored; 0: as the graph has them
  int64_t groupSize = 0;     ///< weights that share a scale of 16 bits; 0: all of an output
  int64_t cacheBits = 0;     ///< in which keys and values are kept; 0: as the graph has them
  int64_t valueBits = 0;     ///< in which all other numbers are stored and multiplied; 0: as the graph has them

  bool compiled = true; ///< by an engine, which joins operations; else by a framework, one after the other

  mlir::DictionaryAttr attribute(mlir::MLIRContext &context) const;
};
inline constexpr const char *kForwardOptions = "dnn.inference";
/// Of a model or a training graph; nothing: it is trained.
std::optional<ForwardOptions> forwardOptionsOf(mlir::Operation *op);

} // namespace accord::dnn
