// A repeat is differentiated as a region.
#include "lib/support/EmitError.h"
#include "lib/training/differentiate/Differentiator.h"

using namespace mlir;

namespace accord {

using dnn::Phase;

dnn::RepeatOp Differentiator::addStashes(Frame &outer, dnn::RepeatOp repeat, ArrayRef<Value> stashed) {
  if (stashed.empty())
    return repeat;
  repeat.getYield().getStashedMutable().append(stashed);
  SmallVector<Type> types(repeat.getStashed().getTypes());
  for (Value value : stashed)
    types.push_back(dnn::StashType::get(repeat.getContext(), repeat.getCount(), value.getType()));
  OpBuilder builder(repeat);
  auto wider = dnn::RepeatOp::create(builder, repeat.getLoc(), repeat.getCount(), repeat.getLabel(), repeat.getInits(),
                                     repeat.getUnstashed(), types, repeat.getReverse());
  wider->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
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

/// Where the slices of a value of the body are found from outside: the stash that the repeat takes it from, or one it
/// fills with it already; null if there is none.
static Value stackOf(dnn::RepeatOp repeat, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &repeat.getBlock())
    if (unsigned i = argument.getArgNumber(); i >= repeat.getInits().size())
      return repeat.getUnstashed()[i - repeat.getInits().size()];
  for (auto [kept, stash] : llvm::zip(repeat.getYield().getStashed(), repeat.getStashed()))
    if (kept == value)
      return stash;
  return {};
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
    if (!stackOf(repeat, value))
      missing.push_back(value);
  dnn::RepeatOp wider = addStashes(outer, repeat, missing);
  for (Value value : inner)
    unstashed.push_back(forwardValue(outer, stackOf(wider, value)));
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
