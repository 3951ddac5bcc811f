#include "lib/training/differentiate/GradientGatherer.h"
#include "dialects/dnn/Dnn.h"
#include "dialects/dnn/Names.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accord {
namespace {

/// What one backward repeat gets.
class Gatherer {
public:
  Gatherer(dnn::RepeatOp repeat, Names &names);
  /// Replaces the repeat if there is something to move.
  void run();

private:
  /// A carried value that starts somewhere and has summands added in every iteration.
  struct Accumulator {
    unsigned index;                                ///< among the carried values
    llvm::SmallVector<mlir::Operation *> adds;     ///< of the body, the one that is yielded first
    llvm::SmallVector<mlir::Operation *> summands; ///< contractions, sums and gradients of look-ups
    mlir::Value start, end;                        ///< before and after the repeat
  };

  bool isInLoopBody(mlir::Value value) { return value.getParentBlock() == &repeat.getBlock(); }
  std::optional<Accumulator> accumulator(unsigned index);
  /// The repeat without the accumulators, with all that is stashed.
  void rebuild();
  /// A value of the body, of all iterations: with one more dimension after the batch.
  mlir::Value whole(mlir::Value value, mlir::Operation *user);
  mlir::Operation *gathered(mlir::Operation *summand);
  void sumUp(const Accumulator &accumulator);

  dnn::RepeatOp repeat, replaced;
  Names &names;
  mlir::OpBuilder builder;
  llvm::SmallVector<Accumulator> accumulators;
};

Gatherer::Gatherer(dnn::RepeatOp repeat, Names &names) : repeat(repeat), names(names), builder(repeat) {
  builder.setInsertionPointAfter(repeat);
}

void Gatherer::run() {
  for (unsigned i = 0; i < repeat.getInits().size(); ++i)
    if (std::optional<Accumulator> found = accumulator(i))
      accumulators.push_back(*found);
  if (accumulators.empty())
    return;
  for (const Accumulator &one : accumulators)
    for (Operation *summand : one.summands)
      for (Value operand : summand->getOperands())
        if (isInLoopBody(operand) && !repeat.stashOf(operand) &&
            !llvm::is_contained(repeat.getYield().getStashed(), operand))
          repeat.getYield().getStashedMutable().append(operand);
  rebuild();
  llvm::SetVector<Value> starts;
  for (const Accumulator &one : accumulators) {
    sumUp(one);
    starts.insert(one.start);
  }
  replaced.erase();
  for (Value start : starts)
    if (auto zero = start.getDefiningOp<dnn::ConstantOp>(); zero && zero->use_empty())
      zero.erase();
}

std::optional<Gatherer::Accumulator> Gatherer::accumulator(unsigned index) {
  BlockArgument argument = repeat.getCarriedArguments()[index];
  Accumulator found{index, {}, {}, repeat.getInits()[index], repeat.getCarried()[index]};
  SmallVector<Value> parts{repeat.getYield().getCarried()[index]};
  bool accumulates = false;
  for (unsigned i = 0; i < parts.size(); ++i) {
    if (!parts[i].hasOneUse() || parts[i].getType() != argument.getType())
      return std::nullopt;
    if (parts[i] == argument) {
      accumulates = true;
      continue;
    }
    Operation *op = isInLoopBody(parts[i]) ? parts[i].getDefiningOp() : nullptr;
    auto varies = [&](Value operand) { return isInLoopBody(operand); };
    if (isa_and_nonnull<dnn::AddOp>(op)) {
      found.adds.push_back(op);
      parts.append(op->operand_begin(), op->operand_end());
    } else if (isa_and_nonnull<dnn::ContractOp, dnn::ReduceDimensionsOp>(op)
                   ? llvm::any_of(op->getOperands(), varies)
                   : op && isa<dnn::EmbeddingGradOp>(op) && llvm::all_of(op->getOperands(), varies)) {
      found.summands.push_back(op);
    } else {
      return std::nullopt;
    }
  }
  return accumulates && !found.summands.empty() ? std::optional(found) : std::nullopt;
}

void Gatherer::rebuild() {
  dnn::YieldOp yield = repeat.getYield();
  SmallVector<Value> inits, carried, results;
  SmallVector<Type> stashes;
  llvm::BitVector dropped(repeat.getBlock().getNumArguments());
  for (const Accumulator &one : accumulators)
    dropped.set(one.index);
  for (unsigned i = 0; i < repeat.getInits().size(); ++i)
    if (!dropped[i]) {
      inits.push_back(repeat.getInits()[i]);
      carried.push_back(yield.getCarried()[i]);
      results.push_back(repeat.getCarried()[i]);
    }
  for (Value keptDimensions : yield.getStashed())
    stashes.push_back(dnn::StashType::get(repeat.getContext(), repeat.getCount(), keptDimensions.getType()));
  yield.getCarriedMutable().assign(carried);
  for (const Accumulator &one : accumulators) {
    for (Operation *add : one.adds)
      add->erase();
    for (Operation *summand : one.summands)
      summand->remove(); // stands behind the repeat later
  }
  OpBuilder before(repeat);
  dnn::RepeatOp smaller = repeat.like(before, inits, repeat.getUnstashed(), stashes);
  repeat.getBlock().eraseArguments(dropped);
  smaller.getBody().takeBody(repeat.getBody());
  for (auto [from, to] : llvm::zip(results, smaller.getCarried()))
    from.replaceAllUsesWith(to);
  for (auto [from, to] : llvm::zip(repeat.getStashed(), smaller.getStashed()))
    from.replaceAllUsesWith(to);
  replaced = repeat;
  repeat = smaller;
}

Value Gatherer::whole(Value value, Operation *user) {
  if (!isInLoopBody(value))
    return value;
  Operation *stack =
      *dnn::createInferred(builder, value.getLoc(), dnn::StackOp::getOperationName(), repeat.stashOf(value),
                           builder.getNamedAttr("axis", builder.getI64IntegerAttr(0)));
  names.setName(stack, (dnn::nameOf(user) + ".steps").str(), dnn::phaseOf(user));
  return stack->getResult(0);
}

Operation *Gatherer::gathered(Operation *summand) {
  SmallVector<Value> operands;
  SmallVector<int64_t> added; // the new dimension of each operand, -1 if it has none
  for (Value operand : summand->getOperands()) {
    added.push_back(isInLoopBody(operand) ? dnn::batchRank(cast<RankedTensorType>(operand.getType())) : -1);
    operands.push_back(whole(operand, summand));
  }
  summand->setOperands(operands);
  builder.insert(summand);
  if (auto contract = dyn_cast<dnn::ContractOp>(summand)) {
    SmallVector<int64_t> domain(contract.getDomain());
    unsigned at = !domain.empty() && ShapedType::isDynamic(domain[0]) ? 1 : 0;
    domain.insert(domain.begin() + at, repeat.getCount());
    SmallVector<AffineMap> maps;
    added.push_back(-1); // the result
    for (auto [map, dimension] : llvm::zip(contract.getMaps().getAsValueRange<AffineMapAttr>(), added)) {
      AffineMap shifted = map.shiftDims(1, at);
      maps.push_back(dimension < 0 ? shifted : shifted.insertResult(getAffineDimExpr(at, map.getContext()), dimension));
    }
    contract.setDomain(domain);
    contract.setMapsAttr(builder.getAffineMapArrayAttr(maps));
  } else if (auto reduce = dyn_cast<dnn::ReduceDimensionsOp>(summand)) {
    auto shift = [&](ArrayRef<int64_t> dimensions) {
      return llvm::map_to_vector(dimensions, [&](int64_t d) { return d < added[0] ? d : d + 1; });
    };
    SmallVector<int64_t> dimensions = shift(reduce.getDimensions()), keptDimensions = shift(reduce.getKept());
    dimensions.push_back(added[0]);
    llvm::sort(dimensions);
    reduce.setDimensions(dimensions);
    reduce.setKept(keptDimensions);
  }
  return summand;
}

void Gatherer::sumUp(const Accumulator &one) {
  auto constant = one.start.getDefiningOp<dnn::ConstantOp>();
  Value total = constant && constant.getValue().isZero() ? Value() : one.start;
  for (Operation *summand : one.summands) {
    Value value = gathered(summand)->getResult(0);
    if (total) {
      auto add = dnn::AddOp::create(builder, value.getLoc(), value.getType(), total, value);
      names.setName(add, (dnn::nameOf(summand) + ".sum").str(), dnn::phaseOf(summand));
      value = add;
    }
    total = value;
  }
  Value end = one.end;
  end.replaceAllUsesWith(total);
}

/// Whether a repeat walks a tensor: then what it keeps for this grows with time, as its activations do.
bool walksSlices(dnn::RepeatOp repeat) {
  return llvm::any_of(repeat.getUnstashed(), [](Value stash) { return stash.getDefiningOp<dnn::UnstackOp>(); }) ||
         llvm::any_of(repeat.getStashed(), [](Value stash) {
           return llvm::any_of(stash.getUsers(), [](Operation *user) { return isa<dnn::StackOp>(user); });
         });
}

} // namespace

void gatherGradients(Operation *root) {
  Names names;
  root->walk([&](Operation *op) { names.reserve(dnn::nameOf(op)); });
  SmallVector<dnn::RepeatOp> repeats;
  root->walk([&](dnn::RepeatOp repeat) { // inner ones first
    if (dnn::phaseOf(repeat) != dnn::Phase::Forward && walksSlices(repeat))
      repeats.push_back(repeat);
  });
  for (dnn::RepeatOp repeat : repeats)
    Gatherer(repeat, names).run();
}

} // namespace accord
