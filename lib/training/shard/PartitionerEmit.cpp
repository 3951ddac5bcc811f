// What the partitioner writes: operations on parts, and collectives between them.
#include "lib/training/shard/Axes.h"
#include "lib/training/shard/Partitioner.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accord::shard {

template <typename OpTy, typename... Args>
OpTy Partitioner::create(OpBuilder &to, Location location, const Twine &name, dnn::Phase phase, Args &&...args) {
  auto op = OpTy::create(to, location, std::forward<Args>(args)...);
  names.setName(op, name.str(), phase);
  return op;
}

// ---- from one sharding to another

Value Partitioner::known(const Key &key) const {
  for (const auto &level : llvm::reverse(conversions))
    if (Value value = level.lookup(key))
      return value;
  return {};
}

Value Partitioner::as(Value value, Sharding sharding, OpBuilder &to, bool backward) {
  if (shardedValues[value].parameter)
    decide(shardedValues[value].parameter, sharding);
  ShardedValue from = shardedValues[value];
  if (from.parameter)
    from.sharding = *parameters[from.parameter].sharding;
  if (from.sharding == sharding)
    return from.value;
  // Parts that the forward pass has gathered are not kept for the backward pass, which gathers them again, unless that
  // is asked for: it is what saves the memory. A finished sum is kept.
  bool gathers = from.sharding.kind == Sharding::Split && !options.keepGathered;
  Key key{value, {sharding.kind, sharding.dimension, gathers && backward}};
  if (Value made = known(key))
    return made;
  Value made = converted(value, from, sharding, to);
  conversions.back()[key] = made;
  if (!gathers)
    conversions.back()[{value, {sharding.kind, sharding.dimension, true}}] = made;
  return made;
}

Value Partitioner::converted(Value value, ShardedValue from, Sharding sharding, OpBuilder &to) {
  Location location = value.getLoc();
  Operation *maker = value.getDefiningOp();
  std::string name = dnn::nameOf(maker ? maker : value.getParentBlock()->getParentOp()).str();
  auto phase = dnn::Phase::Communication;
  auto axis = to.getStringAttr(options.axis);
  auto devices = to.getI64IntegerAttr(options.devices);
  Type type = localType(value.getType(), sharding, options.devices);
  auto dimension = [&](Sharding of) { return to.getI64IntegerAttr(of.dimension); };
  bool toParts = sharding.kind == Sharding::Split;
  switch (from.sharding.kind) {
  case Sharding::Zero:
    return create<dnn::ConstantOp>(to, location, name + ".zero", maker ? dnn::phaseOf(maker) : dnn::Phase::DataGradient,
                                   type, to.getF64FloatAttr(0));
  case Sharding::Replicated: {
    assert(toParts && "a replicated value is not made a partial sum");
    auto local = maker ? dnn::phaseOf(maker) : dnn::Phase::Forward;
    return create<dnn::TakePartOp>(to, location, name + ".part", local, type, from.value, axis, devices,
                                   dimension(sharding));
  }
  case Sharding::Partial:
    if (toParts)
      return create<dnn::ReduceScatterOp>(to, location, name + ".reduce_scatter", phase, type, from.value, axis,
                                          devices, dimension(sharding), UnitAttr());
    return create<dnn::AllReduceOp>(to, location, name + ".all_reduce", phase, type, from.value, axis, devices,
                                    UnitAttr());
  case Sharding::Split:
    if (toParts)
      return create<dnn::AllToAllOp>(to, location, name + ".all_to_all", phase, type, from.value, axis, devices,
                                     dimension(sharding), dimension(from.sharding), UnitAttr(), UnitAttr());
    return create<dnn::AllGatherOp>(to, location, name + ".all_gather", phase, type, from.value, axis, devices,
                                    dimension(from.sharding), UnitAttr());
  }
  return {};
}

// ---- operations on parts

void Partitioner::emit(Operation *op, const Rule &rule, OpBuilder &to) {
  bool backward = dnn::phaseOf(op) != dnn::Phase::Forward;
  IRMapping mapping;
  for (auto [operand, sharding] : llvm::zip(op->getOperands(), rule.operands))
    mapping.map(operand, as(operand, sharding, to, backward));
  Operation *copy = to.clone(*op, mapping);
  // The same tensor twice may be needed in two ways.
  for (auto [i, sharding] : llvm::enumerate(rule.operands))
    copy->setOperand(i, as(op->getOperand(i), sharding, to, backward));
  for (auto [old, result, sharding] : llvm::zip(op->getResults(), copy->getResults(), rule.results)) {
    result.setType(localType(old.getType(), sharding, options.devices));
    define(old, result, sharding);
  }
  if (rule.iterator >= 0)
    TypeSwitch<Operation *>(copy).Case<dnn::ContractOp, dnn::CustomOp>([&](auto mapped) {
      SmallVector<int64_t> domain(mapped.getDomain());
      domain[static_cast<size_t>(rule.iterator)] /= options.devices;
      mapped.setDomain(domain);
    });
  if (auto reshape = dyn_cast<dnn::ReshapeOp>(copy)) {
    RankedTensorType type = reshape.getY().getType();
    reshape.setDims(type.getShape().drop_front(dnn::batchRank(type)));
  }
  if (rule.parts >= 0)
    copy->setAttr(dnn::DnnDialect::kPartsAttr, appendPart(copy, options.axis, rule.parts, options.devices));
}

/// The bias of a row parallel layer is added once, to the finished sum.
bool Partitioner::detachBias(Operation *op, const Rule &rule, OpBuilder &to) {
  bool biased = isa<dnn::LinearOp, dnn::Conv2dOp, dnn::DepthwiseConv2dOp, dnn::ConvTranspose2dOp>(op) &&
                op->getNumOperands() == 3;
  if (!biased || rule.results[0].kind != Sharding::Partial)
    return false;
  Value y = op->getResult(0), bias = op->getOperand(2);
  Operation *bare = op->clone();
  bare->eraseOperand(2);
  Rule without = rule;
  without.operands.pop_back();
  emit(bare, without, to);
  // From here on `bare` stands for the sum that is not finished: an addition is chosen for it as if the graph had had
  // it.
  Value sum = bare->getResult(0);
  OpBuilder scratch(op->getContext());
  Value shaped = bias;
  replacedOperations.push_back(bare);
  auto type = cast<RankedTensorType>(y.getType());
  if (int64_t after = type.getRank() - 2; !isa<dnn::LinearOp>(op) && after > 0) {
    SmallVector<int64_t> dims(static_cast<size_t>(after) + 1, 1); // [o, 1, 1] over [n, o, p, q]
    dims[0] = type.getDimSize(1);
    auto reshape = dnn::ReshapeOp::create(scratch, op->getLoc(), RankedTensorType::get(dims, type.getElementType()),
                                          bias, scratch.getDenseI64ArrayAttr(dims));
    names.setName(reshape, dnn::nameOf(op).str() + ".bias", dnn::phaseOf(op));
    replacedOperations.push_back(reshape);
    operation(reshape, to);
    shaped = reshape.getY();
  }
  auto add = dnn::AddOp::create(scratch, op->getLoc(), type, sum, shaped);
  names.setName(add, dnn::nameOf(op).str() + ".biased", dnn::phaseOf(op));
  replacedOperations.push_back(add);
  operation(add, to);
  ShardedValue finished = shardedValues[add.getY()]; // inserting moves what is there
  shardedValues[y] = finished;
  return true;
}

// ---- the loss over classes that are split

Value Partitioner::statistics(Value logits, Value labels, Operation *op, OpBuilder &to) {
  if (Value made = stats.lookup(logits))
    return made;
  auto type = cast<RankedTensorType>(logits.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t last = type.getRank() - 1;
  shape.back() = 3;
  auto f32 = Float32Type::get(to.getContext());
  std::string name = dnn::nameOf(op).str();
  auto own = create<dnn::CrossEntropyStatsOp>(to, op->getLoc(), name + ".stats", dnn::phaseOf(op),
                                              RankedTensorType::get(shape, f32), logits, labels);
  own->setAttr(dnn::DnnDialect::kPartsAttr, appendPart(own, options.axis, last, options.devices));
  shape.back() *= options.devices;
  auto all = create<dnn::AllGatherOp>(to, op->getLoc(), name + ".stats.all_gather", dnn::Phase::Communication,
                                      RankedTensorType::get(shape, f32), own.getStats(), to.getStringAttr(options.axis),
                                      to.getI64IntegerAttr(options.devices), to.getI64IntegerAttr(last), UnitAttr());
  return stats[logits] = all.getY();
}

void Partitioner::crossEntropy(Operation *op, const Rule &rule, OpBuilder &to) {
  bool backward = isa<dnn::CrossEntropyGradOp>(op);
  SmallVector<Value> operands;
  for (auto [operand, sharding] : llvm::zip(op->getOperands(), rule.operands))
    operands.push_back(as(operand, sharding, to, backward));
  Value logits = operands[backward], labels = operands[backward + 1];
  Value all = statistics(logits, labels, op, to);
  Operation *made;
  if (backward) {
    made = create<dnn::CrossEntropyPartGradOp>(to, op->getLoc(), "", dnn::phaseOf(op), logits.getType(), operands[0],
                                               logits, labels, all);
    made->setAttr(dnn::DnnDialect::kPartsAttr, appendPart(made, options.axis, rule.parts, options.devices));
  } else {
    made = create<dnn::CrossEntropyJoinOp>(to, op->getLoc(), "", dnn::phaseOf(op), op->getResult(0).getType(), all);
  }
  made->setAttr(dnn::DnnDialect::kNameAttr, op->getAttr(dnn::DnnDialect::kNameAttr));
  define(op->getResult(0), made->getResult(0), rule.results[0]);
}

} // namespace accord::shard
