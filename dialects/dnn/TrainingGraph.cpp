// Training-complete: no parameter without exactly one gradient and one update.
#include "dialects/dnn/ForwardOptions.h"
#include "dialects/dnn/Verify.h"
#include "dialects/interfaces/Note.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

std::optional<int64_t> dnn::repetitions(Operation *op) {
  std::optional<int64_t> product = 1;
  for (auto repeat = op->getParentOfType<RepeatOp>(); repeat; repeat = repeat->getParentOfType<RepeatOp>())
    product = checkedMultiply(product, repeat.getCount());
  return product;
}

static llvm::MapVector<StringAttr, ParameterOp> parametersOf(Block &block) {
  llvm::MapVector<StringAttr, ParameterOp> parameters;
  for (auto parameter : block.getOps<ParameterOp>())
    parameters[parameter.getSymNameAttr()] = parameter;
  return parameters;
}

/// `op` must stand in repeats whose counts multiply to the copies of `parameter`.
static LogicalResult verifyNest(Operation *op, ParameterOp parameter, StringRef verb) {
  std::optional<int64_t> count = repetitions(op);
  if (count == parameter.getCopies())
    return success();
  return op->emitError() << "parameter '" << parameter.getSymName() << "' has " << parameter.getCopies()
                         << " copies but is " << verb << " in repeats of "
                         << (count ? std::to_string(*count) : "more than 2^63") << " iterations"
                         << note(parameter.getLoc(), "the parameter");
}

LogicalResult dnn::verifyReads(ModelOp model) {
  llvm::MapVector<StringAttr, ParameterOp> parameters = parametersOf(model.getBlock());
  llvm::DenseMap<StringAttr, ReadOp> first;
  WalkResult result = model.walk([&](ReadOp read) {
    StringAttr name = read.getParameterAttr().getAttr();
    ParameterOp parameter = parameters.lookup(name);
    if (!parameter) // reported by the symbol check
      return WalkResult::advance();
    auto [entry, isFirst] = first.try_emplace(name, read);
    if (isFirst)
      return WalkResult(verifyNest(read, parameter, "read"));
    if (entry->second->getBlock() == read->getBlock())
      return WalkResult::advance();
    return WalkResult(read.emitError() << "parameter '" << name.getValue() << "' is read in two different regions"
                                       << note(entry->second.getLoc(),
                                               "the first read; read it once outside and use the value in both"));
  });
  return failure(result.wasInterrupted());
}

/// An update takes the rows that the lookups and the exchanges between replicas left.
static LogicalResult verifyRows(TrainingGraphOp graph, const llvm::DenseMap<StringAttr, Operation *> &gradients,
                                const llvm::DenseMap<StringAttr, Operation *> &updates) {
  llvm::DenseMap<StringAttr, RowsAttr> left;
  for (auto [name, op] : gradients)
    left[name] = rowsOf(cast<GradientOp>(op).getValue().getType());
  for (auto reduce : graph.getOptimizerStep().getBlock().getOps<GradientAllReduceOp>()) {
    RowsAttr &rows = left[reduce.getParameterAttr().getAttr()];
    if (reduce.getRowsAttr() != rows)
      return reduce.emitError() << "the gradient of '" << reduce.getParameter() << "' is not stored as stated here";
    if (rows && !reduce.getLocal())
      rows = timesRows(rows, reduce.getDevices());
  }
  for (auto [name, op] : updates)
    if (RowsAttr rows = left.lookup(name); cast<UpdateOp>(op).getRowsAttr() != rows)
      return op->emitError() << "the gradient of '" << name.getValue() << "' is not stored as its update takes it";
  return success();
}

/// Updates quantize the parameters that products read in a narrower type, and no others.
static LogicalResult verifyQuantized(TrainingGraphOp graph, const llvm::MapVector<StringAttr, ParameterOp> &parameters,
                                     const llvm::DenseMap<StringAttr, Operation *> &updates) {
  llvm::DenseMap<StringAttr, ReadOp> quantized;
  graph.walk([&](ReadOp read) {
    if (isQuantized(read.getType().getElementType()))
      quantized.try_emplace(read.getParameterAttr().getAttr(), read);
  });
  for (auto [name, parameter] : parameters) {
    auto update = cast<UpdateOp>(updates.lookup(name));
    Type stated = update.getQuantized().value_or(Type());
    ReadOp read = quantized.lookup(name);
    Type needed = read ? read.getType().getElementType() : Type();
    if (stated == needed || parameter.getTensorType().getElementType() == needed)
      continue;
    if (!needed)
      return update.emitError() << "the update quantizes parameter '" << name.getValue() << "' to " << stated
                                << ", in which nothing reads it";
    return read.emitError() << "parameter '" << name.getValue() << "' is read in " << needed
                            << ", to which no update quantizes it" << note(update.getLoc(), "the update");
  }
  return success();
}

/// Inference: something comes out, and nothing has a gradient or an update.
static LogicalResult verifyForward(TrainingGraphOp graph) {
  WalkResult result = graph.walk([&](Operation *op) {
    if (!isa<GradientOp, UpdateOp>(op))
      return WalkResult::advance();
    op->emitError() << "inference '" << graph.getSymName() << "' has no gradients and no updates";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  if (llvm::range_size(graph.getMicrobatch().getBlock().getOps<OutputOp>()) != 1)
    return graph.emitError() << "inference '" << graph.getSymName() << "' must have exactly one output";
  return success();
}

void TrainingGraphOp::build(OpBuilder &builder, OperationState &state, StringRef name, PrecisionAttr precision,
                            OptimizerKindAttr optimizer) {
  state.addAttribute(::mlir::SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getPrecisionAttrName(state.name), precision);
  state.addAttribute(getOptimizerAttrName(state.name), optimizer);
  state.addRegion()->emplaceBlock();
}

template <typename OpTy> static OpTy only(Block &block) {
  auto ops = block.getOps<OpTy>();
  return ops.empty() ? OpTy() : *ops.begin();
}
MicrobatchOp TrainingGraphOp::getMicrobatch() { return only<MicrobatchOp>(getBlock()); }
OptimizerStepOp TrainingGraphOp::getOptimizerStep() { return only<OptimizerStepOp>(getBlock()); }

LogicalResult TrainingGraphOp::verifyRegions() {
  if (llvm::range_size(getBlock().getOps<MicrobatchOp>()) != 1)
    return emitError() << "training graph '" << getSymName() << "' must have exactly one micro-batch";
  if (llvm::range_size(getBlock().getOps<OptimizerStepOp>()) != 1)
    return emitError() << "training graph '" << getSymName() << "' must have exactly one optimizer step";

  if (isInference())
    return verifyForward(*this);
  llvm::MapVector<StringAttr, ParameterOp> parameters = parametersOf(getBlock());
  llvm::DenseMap<StringAttr, Operation *> gradients, updates;
  auto once = [&](llvm::DenseMap<StringAttr, Operation *> &seen, StringAttr name, Operation *op, StringRef what) {
    auto [entry, isFirst] = seen.try_emplace(name, op);
    if (isFirst)
      return success();
    InFlightDiagnostic error = op->emitError() << "parameter '" << name.getValue() << "' has a second " << what;
    error.attachNote(entry->second->getLoc()) << "the first one";
    if (ParameterOp parameter = parameters.lookup(name))
      error.attachNote(parameter.getLoc()) << "the parameter";
    return LogicalResult(error);
  };
  WalkResult result = walk([&](Operation *op) {
    if (auto gradient = dyn_cast<GradientOp>(op)) {
      StringAttr name = gradient.getParameterAttr().getAttr();
      ParameterOp parameter = parameters.lookup(name);
      if (parameter && failed(verifyNest(op, parameter, "given a gradient")))
        return WalkResult::interrupt();
      return WalkResult(once(gradients, name, op, "gradient"));
    }
    if (auto update = dyn_cast<UpdateOp>(op))
      return WalkResult(once(updates, update.getParameterAttr().getAttr(), op, "update"));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  bool complete = true;
  for (auto [name, parameter] : parameters)
    for (auto [seen, what] : {std::pair(&gradients, "gradient"), std::pair(&updates, "update")})
      if (!seen->contains(name)) {
        emitError() << "training graph '" << getSymName() << "' has no " << what << " for parameter '"
                    << name.getValue() << "'" << note(parameter.getLoc(), "the parameter");
        complete = false;
      }
  return failure(!complete || failed(verifyRows(*this, gradients, updates)) ||
                 failed(verifyQuantized(*this, parameters, updates)));
}

// ---- inference

namespace accord::dnn {

DictionaryAttr ForwardOptions::attribute(MLIRContext &context) const {
  Builder builder(&context);
  SmallVector<NamedAttribute> list{builder.getNamedAttr("last_position", builder.getBoolAttr(lastPosition)),
                                   builder.getNamedAttr("compiled", builder.getBoolAttr(compiled))};
  auto add = [&](StringRef name, int64_t value) {
    list.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  add("context", this->context);
  add("weight_bits", weightBits);
  add("group_size", groupSize);
  add("cache_bits", cacheBits);
  add("value_bits", valueBits);
  return builder.getDictionaryAttr(list);
}

std::optional<ForwardOptions> forwardOptionsOf(Operation *op) {
  auto attribute = op->getAttrOfType<DictionaryAttr>(kForwardOptions);
  if (!attribute)
    return std::nullopt;
  auto number = [&](StringRef name) {
    auto value = attribute.getAs<IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  auto truth = [&](StringRef name, bool otherwise) {
    auto value = attribute.getAs<BoolAttr>(name);
    return value ? value.getValue() : otherwise;
  };
  ForwardOptions options;
  options.lastPosition = truth("last_position", false);
  options.context = number("context");
  options.weightBits = number("weight_bits"), options.groupSize = number("group_size");
  options.cacheBits = number("cache_bits"), options.valueBits = number("value_bits");
  options.compiled = truth("compiled", true);
  return options;
}

} // namespace accord::dnn
