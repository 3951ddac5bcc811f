#include "lib/training/differentiate/Differentiator.h"
#include "lib/support/EmitError.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accord {

using dnn::Phase;

// ---- which values matter

static bool isFloat(Value value) {
  Type inner = value.getType();
  while (auto stash = dyn_cast<dnn::StashType>(inner))
    inner = stash.getElement();
  auto type = dyn_cast<RankedTensorType>(inner);
  return type && isa<FloatType>(type.getElementType());
}

void Activity::visit(Block &block) {
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<dnn::RepeatOp>(op)) {
      visit(repeat);
      continue;
    }
    if (!isa<dnn::ReadOp>(op) && llvm::none_of(op.getOperands(), [&](Value v) { return varied(v); }))
      continue;
    for (Value result : op.getResults())
      if (isFloat(result))
        variedValues.insert(result);
  }
}

void Activity::visit(dnn::RepeatOp repeat) {
  for (auto [argument, stash] : llvm::zip(repeat.getUnstashedArguments(), repeat.getUnstashed()))
    if (varied(stash))
      variedValues.insert(argument);
  // A value becomes varied at the latest after as many rounds as there are carried values.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [argument, init] : llvm::zip(repeat.getCarriedArguments(), repeat.getInits()))
      if (varied(init) && isFloat(argument))
        variedValues.insert(argument);
    visit(repeat.getBlock());
    for (auto [argument, yielded, result] :
         llvm::zip(repeat.getCarriedArguments(), repeat.getYield().getCarried(), repeat.getCarried())) {
      if (!varied(yielded) && !varied(argument))
        continue;
      variedValues.insert(result);
      changed |= variedValues.insert(argument).second;
    }
  }
  for (auto [stash, value] : llvm::zip(repeat.getStashed(), repeat.getYield().getStashed()))
    if (varied(value))
      variedValues.insert(stash);
}

llvm::SmallBitVector Activity::usefulCarried(dnn::RepeatOp repeat, llvm::SmallBitVector useful,
                                             ArrayRef<Value> stashed) const {
  for (bool changed = true; changed;) {
    changed = false;
    llvm::DenseSet<Value> live(stashed.begin(), stashed.end());
    for (auto [i, yielded] : llvm::enumerate(repeat.getYield().getCarried()))
      if (useful.test(i))
        live.insert(yielded);
    for (Operation &op : llvm::reverse(repeat.getBlock())) {
      if (llvm::none_of(op.getResults(), [&](Value result) { return live.contains(result); }))
        continue;
      live.insert(op.operand_begin(), op.operand_end());
      llvm::SetVector<Value> captured;
      for (Region &region : op.getRegions())
        getUsedValuesDefinedAbove(region, captured);
      live.insert(captured.begin(), captured.end());
    }
    for (auto [i, argument] : llvm::enumerate(repeat.getCarriedArguments()))
      if (!useful.test(i) && live.contains(argument) && varied(argument)) {
        useful.set(i);
        changed = true;
      }
  }
  return useful;
}

/// A value made of parameters only: its gradient is a weight gradient.
static bool parametersOnly(Value value) {
  for (unsigned depth = 0; depth < 64; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<dnn::RepeatOp>(op))
      return false;
    if (isa<dnn::ReadOp>(op))
      return true;
    if (op->getNumOperands() != 1)
      return false;
    value = op->getOperand(0); // a view or a unary function of a parameter
  }
  return false;
}

// ---- the gradients of a block

Differentiator::~Differentiator() {
  for (Operation *op : replaced)
    op->destroy();
}

/// What to call the gradients of a value: its operation, or the repeat or graph whose argument it is.
static std::string baseName(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    op = value.getParentBlock()->getParentOp();
  if (auto read = dyn_cast_or_null<dnn::ReadOp>(op))
    return read.getParameter().str();
  return op ? dnn::nameOf(op).str() : std::string();
}
static Phase phaseFor(Value value) { return parametersOnly(value) ? Phase::WeightGradient : Phase::DataGradient; }

LogicalResult Differentiator::run() {
  Frame top(nullptr, &block, &block);
  return differentiate(top);
}

LogicalResult Differentiator::differentiate(Frame &frame) {
  SmallVector<Operation *> operations;
  llvm::DenseMap<StringAttr, unsigned> reads;
  for (Operation &op : *frame.forward) {
    operations.push_back(&op);
    if (auto read = dyn_cast<dnn::ReadOp>(op))
      ++reads[read.getParameterAttr().getAttr()];
  }
  for (Operation *op : llvm::reverse(operations)) {
    LogicalResult result = success();
    if (auto loss = dyn_cast<dnn::LossOp>(op)) {
      auto one = dnn::ConstantOp::create(frame.builder, op->getLoc(), loss.getValue().getType(),
                                         frame.builder.getF64FloatAttr(1));
      names.setName(one, "loss.seed", Phase::DataGradient);
      accumulate(frame, loss.getValue(), one);
    } else if (auto read = dyn_cast<dnn::ReadOp>(op)) {
      finish(frame, read, --reads[read.getParameterAttr().getAttr()] == 0);
    } else if (auto repeat = dyn_cast<dnn::RepeatOp>(op)) {
      result = differentiate(frame, repeat);
    } else if (!isa<dnn::YieldOp>(op)) {
      result = differentiate(frame, op);
    }
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult Differentiator::differentiate(Frame &frame, Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(frame.gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value v) { return v; }))
    return success();
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(activity.varied(operand));
  if (!llvm::is_contained(needed, true))
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return emitError(op, Code::OperationNotSupported)
           << "'" << op->getName().getStringRef() << "' has no gradient but lies between a parameter and the loss";

  Operation *before = frame.backward->empty() ? nullptr : &frame.backward->back();
  SmallVector<Value> operandGradients(op->getNumOperands());
  auto forward = [&](Value value) { return forwardValue(frame, value); };
  GradientContext context{frame.builder, op->getLoc(), resultGradients, needed, operandGradients, forward};
  if (failed(differentiable.buildGradient(context)))
    return failure();
  label(frame, op, before, operandGradients);
  for (auto [operand, gradient, isNeeded] : llvm::zip(op->getOperands(), operandGradients, needed))
    if (isNeeded && gradient)
      accumulate(frame, operand, gradient);
  return success();
}

void Differentiator::label(Frame &frame, Operation *op, Operation *before, ArrayRef<Value> operandGradients) {
  SmallVector<Operation *> added;
  for (auto it = before ? std::next(before->getIterator()) : frame.backward->begin(); it != frame.backward->end(); ++it)
    if (!it->hasAttr(dnn::DnnDialect::kPhaseAttr))
      added.push_back(&*it);
  // Whatever an activation's gradient is made of is data gradient; the rest is weight gradient.
  llvm::SetVector<Operation *> data;
  llvm::DenseMap<Operation *, StringRef> ends; // the operation that gives a parameter's gradient -> "weight", "bias", …
  for (auto [operand, gradient] : llvm::zip(op->getOperands(), operandGradients)) {
    Operation *producer = gradient ? gradient.getDefiningOp() : nullptr;
    if (!producer || !activity.varied(operand))
      continue;
    if (!parametersOnly(operand))
      data.insert(producer);
    else if (auto read = operand.getDefiningOp<dnn::ReadOp>())
      ends.try_emplace(producer, read.getParameter().rsplit('.').second.empty()
                                     ? read.getParameter()
                                     : read.getParameter().rsplit('.').second);
  }
  for (unsigned i = 0; i < data.size(); ++i)
    for (Value operand : data[i]->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && llvm::is_contained(added, producer))
        data.insert(producer);
  std::string base = dnn::nameOf(op).str();
  for (Operation *each : added) {
    if (isa<dnn::CastOp>(each)) // for the gradients of both operands
      names.setName(each, base + ".gradient_cast", Phase::DataGradient);
    else if (data.contains(each))
      names.setName(each, base + ".data_gradient", Phase::DataGradient);
    else
      names.setName(each, base + "." + (ends.contains(each) ? ends[each] : "weight").str() + "_gradient",
                    Phase::WeightGradient);
  }
}

void Differentiator::finish(Frame &frame, dnn::ReadOp read, bool last) {
  StringAttr name = read.getParameterAttr().getAttr();
  if (Value gradient = frame.gradients.lookup(read)) {
    Value &total = frame.parameters[name];
    total = total ? sum(frame, total, gradient, read) : gradient;
  }
  Value total = frame.parameters.lookup(name);
  if (!last || !total)
    return;
  auto sink = dnn::GradientOp::create(frame.builder, read.getLoc(), read.getParameterAttr(), total);
  names.setName(sink, (name.getValue() + ".gradient").str(), Phase::WeightGradient);
}

Value Differentiator::forwardValue(Frame &frame, Value value) {
  if (value.getParentBlock() != frame.forward)
    return forwardValue(*frame.parent, value);
  if (Value known = frame.available.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  bool marked = op && op->hasAttr(dnn::DnnDialect::kRecomputeAttr);
  if (frame.forward == frame.backward && !marked)
    return value;
  if (marked || isa_and_nonnull<dnn::ReadOp, dnn::ReshapeOp, dnn::ConstantOp, dnn::UnstackOp, dnn::StackOp>(op)) {
    recomputeForward(frame, op, marked ? Phase::Recompute : Phase::DataGradient);
    return frame.available[value];
  }
  frame.stashed.push_back(value);
  return frame.available[value] = frame.backward->addArgument(value.getType(), value.getLoc());
}

void Differentiator::recomputeForward(Frame &frame, Operation *op, Phase phase) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, forwardValue(frame, operand));
  Operation *recomputed = frame.builder.clone(*op, mapping);
  recomputed->removeAttr(dnn::DnnDialect::kRecomputeAttr);
  recomputed->setAttr(dnn::DnnDialect::kAgainAttr, op->getAttr(dnn::DnnDialect::kNameAttr));
  names.setName(recomputed, (dnn::nameOf(op) + ".again").str(), phase);
  for (auto [result, copy] : llvm::zip(op->getResults(), recomputed->getResults()))
    frame.available[result] = copy;
}

Value Differentiator::sum(Frame &frame, Value a, Value b, Value of) {
  if (auto stash = dyn_cast<dnn::StashType>(a.getType())) { // as the tensors that they are views of
    auto slice = dyn_cast<RankedTensorType>(stash.getElement());
    if (!slice) {
      refused = true;
      emitError(of.getLoc()) << "two repeats read a " << stash
                             << ": the gradients of a stash of stashes cannot be added";
      return a;
    }
    SmallVector<int64_t> shape(slice.getShape());
    shape.insert(shape.begin() + dnn::batchRank(slice), stash.getCount());
    auto whole = RankedTensorType::get(shape, slice.getElementType());
    auto axis = frame.builder.getI64IntegerAttr(0);
    auto view = [&](auto op) {
      names.setName(op, baseName(of) + ".gradient_view", phaseFor(of));
      return op->getResult(0);
    };
    Value wholeA = view(dnn::StackOp::create(frame.builder, b.getLoc(), whole, a, axis));
    Value wholeB = view(dnn::StackOp::create(frame.builder, b.getLoc(), whole, b, axis));
    return view(dnn::UnstackOp::create(frame.builder, b.getLoc(), stash, sum(frame, wholeA, wholeB, of), axis));
  }
  if (dnn::RowsAttr rows = dnn::rowsOf(a.getType())) {
    auto table = cast<RankedTensorType>(a.getType());
    int64_t lookups = checkedAdd(rows.getLookups(), dnn::rowsOf(b.getType()).getLookups()).value_or(INT64_MAX);
    auto both = dnn::RowsAttr::get(rows.getContext(), lookups, rows.getIndex());
    auto join = dnn::JoinRowsOp::create(frame.builder, b.getLoc(),
                                        RankedTensorType::get(table.getShape(), table.getElementType(), both), a, b);
    names.setName(join, baseName(of) + ".gradient_rows", phaseFor(of));
    return join;
  }
  auto add = dnn::AddOp::create(frame.builder, b.getLoc(), a.getType(), a, b);
  names.setName(add, baseName(of) + ".gradient_sum", phaseFor(of));
  return add;
}

void Differentiator::accumulate(Frame &frame, Value value, Value gradient) {
  Value &total = frame.gradients[value];
  total = total ? sum(frame, total, gradient, value) : gradient;
}

Value Differentiator::orZero(Frame &frame, Value gradient, Value of) {
  if (gradient)
    return gradient;
  auto zero = dnn::ConstantOp::create(frame.builder, of.getLoc(), of.getType(), frame.builder.getF64FloatAttr(0));
  names.setName(zero, baseName(of) + ".zero_gradient", phaseFor(of));
  return zero;
}

// ---- a repeat is differentiated as a region

dnn::RepeatOp Differentiator::addStashes(Frame &outer, dnn::RepeatOp repeat, ArrayRef<Value> stashed) {
  if (stashed.empty())
    return repeat;
  repeat.getYield().getStashedMutable().append(stashed);
  SmallVector<Type> types(repeat.getStashed().getTypes());
  for (Value value : stashed)
    types.push_back(dnn::StashType::get(repeat.getContext(), repeat.getCount(), value.getType()));
  OpBuilder builder(repeat);
  dnn::RepeatOp wider = repeat.like(builder, repeat.getInits(), repeat.getUnstashed(), types);
  wider.getBody().takeBody(repeat.getBody());
  for (auto [from, to] : llvm::zip(repeat.getResults(), wider.getResults())) {
    from.replaceAllUsesWith(to);
    llvm::replace(outer.stashed, Value(from), Value(to));
    if (Value known = outer.available.lookup(from))
      outer.available[to] = known;
    outer.gradients.erase(from); // has been read, and is no value of any block any more
  }
  repeat->remove();
  repeat->dropAllReferences();
  replaced.push_back(repeat);
  return wider;
}

/// Gradients of stashes are stashes themselves, which nothing carries from one iteration to the next.
static LogicalResult requireTensor(Value value, dnn::RepeatOp repeat, StringRef what) {
  if (isa<RankedTensorType>(value.getType()))
    return success();
  return emitError(repeat, Code::OperationNotSupported) << "repeat '" << repeat.getLabel() << "' " << what << " a "
                                                        << value.getType() << ", which has no gradient there";
}

LogicalResult Differentiator::differentiate(Frame &outer, dnn::RepeatOp repeat) {
  llvm::SmallBitVector wanted(repeat.getCarried().size());
  for (auto [i, result] : llvm::enumerate(repeat.getCarried()))
    if (outer.gradients.lookup(result) && activity.varied(result))
      wanted.set(i);
  SmallVector<Value> kept,
      unstashed; // what a stash with a gradient was filled with, and that gradient
  for (auto [value, stash] : llvm::zip(repeat.getYield().getStashed(), repeat.getStashed()))
    if (Value gradient = outer.gradients.lookup(stash); gradient && activity.varied(value)) {
      kept.push_back(value);
      unstashed.push_back(gradient);
    }
  if (wanted.none() && kept.empty())
    return success();
  wanted = activity.usefulCarried(repeat, wanted, kept);

  auto backward = std::make_unique<Block>();
  Frame frame(&outer, &repeat.getBlock(), backward.get());
  SmallVector<Value> inits;
  for (unsigned i : wanted.set_bits()) {
    Value result = repeat.getCarried()[i], yielded = repeat.getYield().getCarried()[i];
    if (failed(requireTensor(yielded, repeat, "carries")))
      return failure();
    inits.push_back(orZero(outer, outer.gradients.lookup(result), result));
    Value argument = backward->addArgument(yielded.getType(), yielded.getLoc());
    if (activity.varied(yielded))
      accumulate(frame, yielded, argument);
  }
  for (Value value : kept)
    accumulate(frame, value, backward->addArgument(value.getType(), value.getLoc()));
  if (failed(differentiate(frame)))
    return failure();

  // The next iteration's gradients, then one accumulator per captured value.
  SmallVector<Value> yields, captured;
  for (unsigned i : wanted.set_bits()) {
    Value argument = repeat.getCarriedArguments()[i];
    yields.push_back(orZero(frame, frame.gradients.lookup(argument), argument));
  }
  for (auto [value, gradient] : frame.gradients)
    if (value.getParentBlock() != frame.forward)
      captured.push_back(value);
  for (Value value : captured) {
    if (failed(requireTensor(value, repeat, "takes from outside")))
      return failure();
    Value argument = backward->insertArgument(inits.size(), value.getType(), value.getLoc());
    inits.push_back(orZero(outer, outer.gradients.lookup(value), value));
    yields.push_back(sum(frame, argument, frame.gradients.lookup(value), value));
  }
  // The gradient of what was taken slice by slice is kept slice by slice.
  SmallVector<Value> taken, slices;
  SmallVector<Type> types;
  for (auto [argument, stash] : llvm::zip(repeat.getUnstashedArguments(), repeat.getUnstashed()))
    if (Value gradient = frame.gradients.lookup(argument); gradient && activity.varied(stash)) {
      taken.push_back(stash);
      slices.push_back(gradient);
      types.push_back(dnn::StashType::get(repeat.getContext(), repeat.getCount(), gradient.getType()));
    }
  auto yield = dnn::YieldOp::create(frame.builder, repeat.getLoc(), yields, slices);
  names.setName(yield, dnn::nameOf(repeat).str() + ".backward.yield", Phase::DataGradient);

  SmallVector<Value> inner = frame.stashed, missing;
  for (Value value : inner)
    if (!repeat.stashOf(value))
      missing.push_back(value);
  dnn::RepeatOp wider = addStashes(outer, repeat, missing);
  for (Value value : inner)
    unstashed.push_back(forwardValue(outer, wider.stashOf(value)));
  std::string name = dnn::nameOf(wider).str();
  auto reverse =
      dnn::RepeatOp::create(outer.builder, wider.getLoc(), wider.getCount(), (wider.getLabel() + ".backward").str(),
                            inits, unstashed, types, !wider.getReverse());
  names.setName(reverse, name + ".backward", Phase::DataGradient);
  reverse.getBody().getBlocks().clear();
  reverse.getBody().push_back(backward.release());

  unsigned next = 0;
  for (unsigned i : wanted.set_bits()) {
    Value init = wider.getInits()[i], gradient = reverse.getCarried()[next++];
    if (activity.varied(init))
      accumulate(outer, init, gradient);
  }
  for (Value value : captured)
    outer.gradients[value] = reverse.getCarried()[next++];
  for (auto [stash, gradient] : llvm::zip(taken, reverse.getStashed()))
    accumulate(outer, stash, gradient);
  return success(!refused);
}

} // namespace accord
