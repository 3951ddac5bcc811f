#include "lib/training/shard/Sharding.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accord::shard {

Type localType(Type type, Sharding sharding, int64_t devices) {
  if (sharding.kind != Sharding::Split)
    return type;
  if (auto stash = dyn_cast<dnn::StashType>(type))
    return dnn::StashType::get(type.getContext(), stash.getCount(), localType(stash.getElement(), sharding, devices));
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[sharding.dimension] /= devices;
  return RankedTensorType::get(shape, tensor.getElementType(), tensor.getEncoding());
}

bool divisible(Type type, int64_t dimension, int64_t devices) {
  if (auto stash = dyn_cast<dnn::StashType>(type))
    return divisible(stash.getElement(), dimension, devices);
  auto tensor = cast<RankedTensorType>(type);
  return dimension >= 0 && dimension < tensor.getRank() && !tensor.isDynamicDim(dimension) &&
         tensor.getDimSize(dimension) % devices == 0;
}

LogicalResult addAxis(dnn::TrainingGraphOp graph, StringRef axis, int64_t devices) {
  auto axes = graph->getAttrOfType<DictionaryAttr>(dnn::DnnDialect::kAxesAttr);
  if (axes && axes.contains(axis))
    return graph.emitError() << "'" << graph.getSymName() << "' already has an axis '" << axis << "' of "
                             << cast<IntegerAttr>(axes.get(axis)).getInt() << " devices";
  if (axis.empty())
    return graph.emitError() << "an axis of devices has a name";
  if (devices < 2)
    return graph.emitError() << "there are at least 2 devices on an axis, found " << devices;
  NamedAttrList list;
  if (axes)
    list.append(axes.getValue());
  list.set(axis, Builder(graph.getContext()).getI64IntegerAttr(devices));
  graph->setAttr(dnn::DnnDialect::kAxesAttr, list.getDictionary(graph.getContext()));
  return success();
}

ArrayAttr appendPart(Operation *op, StringRef axis, int64_t dimension, int64_t devices) {
  SmallVector<Attribute> parts;
  if (auto given = op->getAttrOfType<ArrayAttr>(dnn::DnnDialect::kPartsAttr))
    llvm::append_range(parts, given);
  MLIRContext *context = op->getContext();
  parts.push_back(dnn::PartAttr::get(context, StringAttr::get(context, axis), dimension, devices));
  return ArrayAttr::get(context, parts);
}

void shardParameter(dnn::TrainingGraphOp graph, dnn::ParameterOp parameter, int64_t dimension, StringRef axis,
                    int64_t devices) {
  auto local = TypeAttr::get(localType(parameter.getTensorType(), Sharding::split(dimension), devices));
  parameter.setTypeAttr(local);
  parameter->setAttr(dnn::DnnDialect::kPartsAttr, appendPart(parameter, axis, dimension, devices));
  for (Operation &step : graph.getOptimizerStep().getBlock())
    TypeSwitch<Operation *>(&step).Case<dnn::UpdateOp, dnn::GradientAllReduceOp>([&](auto one) {
      if (one.getParameterAttr().getAttr() == parameter.getSymNameAttr())
        one.setTypeAttr(local);
    });
}

SmallVector<Value> addends(dnn::GradientOp sink) {
  SmallVector<Value> values{sink.getValue()};
  for (size_t i = 0; i < values.size(); ++i)
    if (Operation *sum = values[i].getDefiningOp(); isa_and_nonnull<dnn::AddOp, dnn::JoinRowsOp>(sum))
      llvm::append_range(values, sum->getOperands());
  return values;
}

Value slicesOf(OpOperand &use) {
  unsigned i = use.getOperandNumber();
  if (auto yield = dyn_cast<dnn::YieldOp>(use.getOwner()))
    if (auto repeat = dyn_cast<dnn::RepeatOp>(yield->getParentOp()); i >= yield.getCarried().size())
      return repeat ? repeat.getStashed()[i - yield.getCarried().size()] : Value();
  if (auto repeat = dyn_cast<dnn::RepeatOp>(use.getOwner()))
    if (i >= repeat.getInits().size())
      return repeat.getUnstashedArguments()[i - repeat.getInits().size()];
  return {};
}

bool endsIn(Value value, llvm::function_ref<bool(OpOperand &)> allowed) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Value next = slicesOf(use);
    return next ? endsIn(next, allowed) : allowed(use);
  });
}

void retypeSlices(Value value, Type type) {
  value.setType(type);
  for (OpOperand &use : value.getUses())
    if (Value next = slicesOf(use)) {
      auto repeat = dyn_cast<dnn::RepeatOp>(use.getOwner());
      if (repeat)
        retypeSlices(next, cast<dnn::StashType>(type).getElement());
      else
        retypeSlices(next, dnn::StashType::get(type.getContext(),
                                               cast<dnn::RepeatOp>(use.getOwner()->getParentOp()).getCount(), type));
    }
}

} // namespace accord::shard
