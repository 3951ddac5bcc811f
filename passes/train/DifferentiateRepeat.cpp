// A repeat is differentiated as a region.
#include "passes/train/Differentiate.h"

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
  }
  repeat->remove();
  repeat->dropAllReferences();
  replaced.push_back(repeat);
  return wider;
}

LogicalResult Differentiator::differentiate(Frame &outer, dnn::RepeatOp repeat) {
  llvm::SmallBitVector wanted(repeat.getCarried().size());
  for (auto [i, result] : llvm::enumerate(repeat.getCarried()))
    if (outer.gradients.lookup(result) && activity.varied(result))
      wanted.set(i);
  if (wanted.none())
    return success();
  wanted = activity.usefulCarried(repeat, wanted);

  auto backward = std::make_unique<Block>();
  Frame frame(&outer, &repeat.getBlock(), backward.get());
  SmallVector<Value> inits;
  for (unsigned i : wanted.set_bits()) {
    Value result = repeat.getCarried()[i], yielded = repeat.getYield().getCarried()[i];
    inits.push_back(orZero(outer, outer.gradients.lookup(result), result));
    Value argument = backward->addArgument(yielded.getType(), yielded.getLoc());
    if (activity.varied(yielded))
      accumulate(frame, yielded, argument);
  }
  if (failed(differentiate(frame)))
    return failure();

  // The next iteration's gradients, then one accumulator per captured value.
  SmallVector<Value> yields, captured;
  for (unsigned i : wanted.set_bits()) {
    Value argument = repeat.getCarriedArguments()[i];
    yields.push_back(orZero(frame, frame.gradients.lookup(argument), argument));
  }
  // What an inner repeat gave before it was widened is in no block any more, and captured by nothing.
  for (auto [value, gradient] : frame.gradients)
    if (value.getParentBlock() && value.getParentBlock() != frame.forward)
      captured.push_back(value);
  for (Value value : captured) {
    Value argument = backward->insertArgument(inits.size(), value.getType(), value.getLoc());
    inits.push_back(orZero(outer, outer.gradients.lookup(value), value));
    yields.push_back(sum(frame, argument, frame.gradients.lookup(value), value));
  }
  auto yield = dnn::YieldOp::create(frame.builder, repeat.getLoc(), yields);
  names.give(yield, dnn::nameOf(repeat).str() + ".backward.yield", Phase::DataGradient);

  SmallVector<Value> inner = frame.stashed;
  dnn::RepeatOp wider = addStashes(outer, repeat, inner);
  SmallVector<Value> unstashed;
  for (Value stash : wider.getStashed().take_back(inner.size()))
    unstashed.push_back(forwardValue(outer, stash));
  std::string name = dnn::nameOf(wider).str();
  auto reverse = dnn::RepeatOp::create(outer.builder, wider.getLoc(), wider.getCount(), (wider.getLabel() + ".backward").str(),
                                       inits, unstashed, TypeRange(), !wider.getReverse());
  names.give(reverse, name + ".backward", Phase::DataGradient);
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
  return success();
}

} // namespace accord
