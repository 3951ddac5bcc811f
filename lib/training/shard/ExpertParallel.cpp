#include "lib/training/shard/ExpertParallel.h"
#include "lib/training/shard/Axes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accord::shard {
namespace {

using Allowed = llvm::function_ref<bool(OpOperand &)>;

/// The slices of a stash that a use of a value puts it into, or of which it takes one; null: another use.
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

/// Whether the value, through stashes or not, comes to allowed uses only.
bool endsIn(Value value, Allowed allowed) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Value next = slicesOf(use);
    return next ? endsIn(next, allowed) : allowed(use);
  });
}

/// The value has another type, and so have the stashes that it comes through.
void retype(Value value, Type type) {
  value.setType(type);
  for (OpOperand &use : value.getUses())
    if (Value next = slicesOf(use)) {
      auto repeat = dyn_cast<dnn::RepeatOp>(use.getOwner());
      if (repeat)
        retype(next, cast<dnn::StashType>(type).getElement());
      else
        retype(next, dnn::StashType::get(type.getContext(),
                                         cast<dnn::RepeatOp>(use.getOwner()->getParentOp()).getCount(), type));
    }
}

/// Of an operation on experts; empty if not all its weights are read from parameters.
SmallVector<StringAttr> weightsOf(Operation *op) {
  SmallVector<Value> weights;
  if (auto forward = dyn_cast<dnn::MoeExpertsOp>(op))
    weights = {forward.getW1(), forward.getW2(), forward.getW3()};
  else if (auto backward = dyn_cast<dnn::MoeExpertsGradOp>(op))
    weights = {backward.getW1(), backward.getW2(), backward.getW3()};
  SmallVector<StringAttr> names;
  for (Value weight : weights) {
    if (!weight)
      continue;
    auto read = weight.getDefiningOp<dnn::ReadOp>();
    if (!read)
      return {};
    names.push_back(read.getParameterAttr().getAttr());
  }
  return names;
}
bool isWeight(OpOperand &use) {
  unsigned i = use.getOperandNumber();
  return isa<dnn::MoeExpertsOp>(use.getOwner()) ? i > 0 : isa<dnn::MoeExpertsGradOp>(use.getOwner()) && i > 1 && i != 4;
}

} // namespace

/// Weights are divided if nothing but operations on experts reads them, nothing else feeds their gradients, and all
/// that such an operation reads can be divided.
void ExpertParallel::find() {
  llvm::MapVector<StringAttr, bool> weights;
  SmallVector<Operation *> all;
  graph.walk([&](Operation *op) {
    if (!isa<dnn::MoeExpertsOp, dnn::MoeExpertsGradOp>(op))
      return;
    all.push_back(op);
    for (StringAttr name : weightsOf(op))
      weights.try_emplace(name, true);
  });
  graph.walk([&](dnn::ReadOp read) {
    if (auto it = weights.find(read.getParameterAttr().getAttr()); it != weights.end())
      it->second &= llvm::all_of(read.getResult().getUses(), isWeight);
  });
  graph.walk([&](dnn::GradientOp sink) {
    if (auto it = weights.find(sink.getParameterAttr().getAttr()); it != weights.end())
      it->second &= llvm::all_of(addends(sink), [](Value value) {
        return isa_and_nonnull<dnn::MoeExpertsGradOp, dnn::AddOp>(value.getDefiningOp());
      });
  });
  for (auto parameter : graph.getParameters())
    if (auto it = weights.find(parameter.getSymNameAttr()); it != weights.end())
      it->second &= divisible(parameter.getTensorType(), 0, devices);
  auto possible = [&](Operation *op) {
    auto slots = cast<RankedTensorType>(op->getOperand(0).getType());
    SmallVector<StringAttr> names = weightsOf(op);
    auto forward = dyn_cast<dnn::MoeExpertsOp>(op);
    return dnn::batchRank(slots) && slots.getRank() > 3 && !names.empty() &&
           llvm::all_of(names, [&](StringAttr name) { return weights.lookup(name); }) &&
           (!forward || endsIn(forward.getSaved(), [](OpOperand &use) {
             return isa<dnn::MoeExpertsGradOp>(use.getOwner()) && use.getOperandNumber() == 4;
           }));
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : all)
      if (!possible(op))
        for (StringAttr name : weightsOf(op))
          changed |= std::exchange(weights[name], false);
  }
  for (Operation *op : all)
    if (possible(op))
      operations.insert(op);
  for (auto parameter : graph.getParameters())
    if (auto it = weights.find(parameter.getSymNameAttr()); it == weights.end())
      continue;
    else if (it->second)
      parts.insert(parameter.getSymNameAttr());
    else
      unshardedParameters.push_back(parameter);
}

void ExpertParallel::run() {
  find();
  for (auto parameter : graph.getParameters())
    if (parts.contains(parameter.getSymNameAttr()))
      shardParameter(graph, parameter, 0, axis, devices);
  auto typeOf = [&](FlatSymbolRefAttr name) {
    return cast<dnn::ParameterOp>(SymbolTable::lookupSymbolIn(graph, name.getAttr())).getTensorType();
  };
  graph.walk([&](dnn::ReadOp read) {
    if (parts.contains(read.getParameterAttr().getAttr()))
      read.getResult().setType(typeOf(read.getParameterAttr()));
  });
  graph.walk([&](dnn::GradientOp sink) {
    if (parts.contains(sink.getParameterAttr().getAttr()))
      for (Value value : addends(sink))
        value.setType(typeOf(sink.getParameterAttr()));
  });
  graph.walk([&](dnn::MoeExpertsOp op) {
    if (operations.contains(op))
      forward(op);
  });
  graph.walk([&](dnn::MoeExpertsGradOp op) {
    if (operations.contains(op))
      backward(op);
  });
}

/// [batch, .., experts, slots, d] -> [batch, .., devices, experts / devices, slots, d].
RankedTensorType ExpertParallel::allToAllType(RankedTensorType type) const {
  SmallVector<int64_t> shape(type.getShape());
  size_t experts = shape.size() - 3;
  shape[experts] /= devices;
  shape.insert(shape.begin() + experts, devices);
  return RankedTensorType::get(shape, type.getElementType());
}

/// The slots of this device's experts, those of each device's samples one behind the other.
Value ExpertParallel::toExperts(Value slots, const Twine &name, OpBuilder &to) {
  auto type = cast<RankedTensorType>(slots.getType());
  auto experts = to.getI64IntegerAttr(type.getRank() - 3);
  auto made = dnn::AllToAllOp::create(to, slots.getLoc(), allToAllType(type), slots, to.getStringAttr(axis),
                                      to.getI64IntegerAttr(devices), experts, experts, UnitAttr(), to.getUnitAttr());
  names.setName(made, (name + ".all_to_all").str(), dnn::Phase::Communication);
  return made.getY();
}

/// `rows`, of the type of this device's samples, becomes that of its experts, and what reads it gets what comes back.
void ExpertParallel::fromExperts(Value rows, const Twine &name, OpBuilder &to) {
  auto type = cast<RankedTensorType>(rows.getType());
  auto experts = to.getI64IntegerAttr(type.getRank() - 3);
  rows.setType(allToAllType(type));
  auto made = dnn::AllToAllOp::create(to, rows.getLoc(), type, rows, to.getStringAttr(axis),
                                      to.getI64IntegerAttr(devices), experts, experts, to.getUnitAttr(), UnitAttr());
  names.setName(made, (name + ".all_to_all").str(), dnn::Phase::Communication);
  rows.replaceAllUsesExcept(made.getY(), made);
}

void ExpertParallel::forward(dnn::MoeExpertsOp op) {
  OpBuilder to(op);
  std::string name = dnn::nameOf(op).str();
  Value slots = op.getSlots(), sent = toExperts(slots, name + ".slots", to);
  op.getSlotsMutable().assign(sent);
  // What the gradient reads is kept as it arrived, so that it does not travel again.
  auto ofGradient = [&](OpOperand &use) {
    return isa<dnn::MoeExpertsGradOp>(use.getOwner()) && use.getOperandNumber() == 1 &&
           operations.contains(use.getOwner());
  };
  for (OpOperand &use : llvm::make_early_inc_range(slots.getUses())) {
    Operation *user = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (!user || !op->isBeforeInBlock(user))
      continue;
    Value stash = slicesOf(use);
    if (!stash && ofGradient(use)) {
      use.set(sent);
    } else if (stash && isa<dnn::YieldOp>(user) && user == use.getOwner() && endsIn(stash, ofGradient)) {
      use.set(sent);
      retype(sent, sent.getType());
    }
  }
  retype(op.getSaved(), allToAllType(op.getSaved().getType()));
  to.setInsertionPointAfter(op);
  fromExperts(op.getY(), name, to);
}

void ExpertParallel::backward(dnn::MoeExpertsGradOp op) {
  OpBuilder to(op);
  std::string name = dnn::nameOf(op).str();
  op.getDyMutable().assign(toExperts(op.getDy(), name + ".dy", to));
  if (op.getSlots().getType().getRank() < op.getDy().getType().getRank())
    op.getSlotsMutable().assign(toExperts(op.getSlots(), name + ".slots", to));
  to.setInsertionPointAfter(op);
  fromExperts(op.getDslots(), name, to);
  op.getDw1().setType(op.getW1().getType());
  op.getDw2().setType(op.getW2().getType());
  if (op.getDw3())
    op.getDw3().setType(op.getW3().getType());
}

} // namespace accord::shard
