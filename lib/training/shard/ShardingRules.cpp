#include "lib/training/shard/ShardingRules.h"
#include "dialects/dnn/Scalar.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accord::shard {

static RankedTensorType tensorOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool isConvolution(Operation *op) {
  return isa<dnn::Conv1dOp, dnn::Conv2dOp, dnn::Conv3dOp, dnn::DepthwiseConv2dOp, dnn::ConvTranspose1dOp,
             dnn::ConvTranspose2dOp, dnn::ConvTranspose3dOp>(op);
}

bool sums(Operation *op, unsigned result) {
  if (isConvolution(op) ||
      isa<dnn::LinearOp, dnn::MatmulOp, dnn::ContractOp, dnn::InteractionOp, dnn::ReduceSumOp, dnn::ReduceDimensionsOp>(
          op))
    return true;
  if (auto custom = dyn_cast<dnn::CustomOp>(op))
    return custom.getCombine() == dnn::Combine::Sum;
  if (isa<dnn::SelectiveScanGradOp>(op))
    return result > 1; // what all samples or all channels read
  return result > 0 && // keys and values serve all queries of their group
         isa<dnn::FlashAttentionGradOp, dnn::LayerNormGradOp, dnn::RmsNormGradOp, dnn::BatchNormGradOp,
             dnn::GroupNormGradOp, dnn::PreluGradOp>(op);
}

bool dependsOnPosition(Operation *op, int64_t dimension) {
  auto type = tensorOf(op->getOperand(0));
  int64_t fromEnd = type.getRank() - dimension;
  if (isa<dnn::SinusoidsOp, dnn::AlibiOp>(op))
    return fromEnd <= 2;
  if (auto rotary = dyn_cast<dnn::RotaryOp>(op))
    return fromEnd == 1 || dimension == dnn::tensorDimension(rotary.getAxis(), type);
  if (isa<dnn::FlashAttentionOp, dnn::FlashAttentionGradOp>(op))
    return fromEnd == 4 && op->getAttrOfType<BoolAttr>("causal") && op->getAttrOfType<BoolAttr>("causal").getValue();
  if (auto softmax = dyn_cast<dnn::SoftmaxOp>(op))
    return softmax.getCausal() && fromEnd <= 2;
  return false;
}

bool countsPositions(Operation *op, unsigned iterator) {
  auto custom = dyn_cast<dnn::CustomOp>(op);
  if (!custom)
    return false;
  llvm::SmallBitVector positions = dnn::ScalarProgram(custom.getBody()).positions();
  return iterator < positions.size() && positions.test(iterator);
}

namespace {

constexpr Sharding kWhole{}, kPartial{Sharding::Partial, -1};

/// Linear in its operands taken together: partial sums go in, a partial sum comes out.
bool isLinear(Operation *op) {
  return isa<dnn::AddOp, dnn::SubOp, dnn::ScaleOp, dnn::NegOp, dnn::ReshapeOp, dnn::TransposeOp, dnn::ReduceSumOp,
             dnn::ReduceDimensionsOp, dnn::SliceOp, dnn::PadSliceOp, dnn::ConcatOp, dnn::SplitOp, dnn::UnstackOp,
             dnn::StackOp>(op);
}

/// Operations whose maps say less than sharing needs to know: what they compute along a dimension depends on its extent
/// or on all of it, or their maps are open.
bool onlyOwnRules(Operation *op) {
  return isa<dnn::MeanOp, dnn::MeanGradOp, dnn::MseOp, dnn::MseGradOp, dnn::SmoothL1Op, dnn::SmoothL1GradOp,
             dnn::BinaryCrossEntropyOp, dnn::BinaryCrossEntropyGradOp, dnn::CrossEntropyOp, dnn::CrossEntropyGradOp,
             dnn::CrossEntropyStatsOp, dnn::CrossEntropyJoinOp, dnn::CrossEntropyPartGradOp, dnn::SegmentSumOp,
             dnn::SegmentSoftmaxOp, dnn::SegmentSoftmaxGradOp, dnn::GatherOp, dnn::GatherGradOp, dnn::ScatterOp,
             dnn::TopkOp, dnn::TopkGradOp, dnn::ConstantOp, dnn::ReshapeOp, dnn::ConcatOp, dnn::SplitOp, dnn::SliceOp,
             dnn::PadOp, dnn::PadSliceOp, dnn::UnstackOp, dnn::StackOp, dnn::EmbeddingOp, dnn::EmbeddingGradOp,
             dnn::EmbeddingBagOp, dnn::EmbeddingBagGradOp, dnn::RelativeBiasOp, dnn::RelativeBiasGradOp, dnn::SpmmOp,
             dnn::SpmmDenseGradOp, dnn::SpmmValuesGradOp, dnn::MoeDispatchOp, dnn::MoeDispatchGradOp, dnn::LstmOp,
             dnn::LstmGradOp, dnn::GruOp, dnn::GruGradOp, dnn::AllReduceOp, dnn::AllGatherOp, dnn::ReduceScatterOp,
             dnn::AllToAllOp, dnn::TakePartOp>(op);
}

class Builder {
public:
  Builder(Operation *op, int64_t devices) : op(op), devices(devices) {
    add(SmallVector<Sharding>(op->getNumOperands(), kWhole), SmallVector<Sharding>(op->getNumResults(), kWhole));
    if (isLinear(op) && op->getNumOperands() > 0)
      add(SmallVector<Sharding>(op->getNumOperands(), kPartial), SmallVector<Sharding>(op->getNumResults(), kPartial));
    if (auto work = dyn_cast<WorkOpInterface>(op); work && !onlyOwnRules(op))
      fromMaps(work.getWork());
    TypeSwitch<Operation *>(op)
        .Case<dnn::ReshapeOp, dnn::ConcatOp, dnn::SplitOp, dnn::SliceOp, dnn::PadOp, dnn::PadSliceOp, dnn::UnstackOp,
              dnn::StackOp, dnn::EmbeddingOp, dnn::EmbeddingGradOp, dnn::EmbeddingBagOp, dnn::EmbeddingBagGradOp,
              dnn::RelativeBiasGradOp, dnn::SpmmOp, dnn::SpmmDenseGradOp, dnn::SpmmValuesGradOp, dnn::MoeDispatchGradOp,
              dnn::MoeExpertsOp, dnn::MoeExpertsGradOp, dnn::MoeCombineOp, dnn::MoeCombineGradOp, dnn::CrossEntropyOp,
              dnn::CrossEntropyGradOp, dnn::CachedOp>([&](auto one) { own(one); });
  }
  SmallVector<Rule> rules;

private:
  Rule &add(ArrayRef<Sharding> operands, ArrayRef<Sharding> results) {
    rules.push_back({SmallVector<Sharding>(operands), SmallVector<Sharding>(results), -1, -1});
    return rules.back();
  }
  bool divides(Value value, int64_t dimension) const { return divisible(value.getType(), dimension, devices); }

  // ---- from the indexing maps

  /// How the tensor of `map` is held when iterator `i` is shared; nullopt if that cannot be said.
  std::optional<Sharding> sharding(AffineMap map, RankedTensorType type, unsigned i) const {
    int64_t found = -1;
    bool open = false;
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        if (dim.getPosition() != i)
          continue;
        if (found >= 0)
          return std::nullopt; // a diagonal
        found = d;
      } else if (expr.isFunctionOfDim(i)) {
        return std::nullopt; // windows overlap
      } else if (isa<AffineConstantExpr>(expr)) {
        open |= type.getDimSize(d) != 1;
      }
    }
    if (found < 0)
      return open ? std::nullopt : std::optional(kWhole);
    return divisible(type, found, devices) ? std::optional(Sharding::split(found)) : std::nullopt;
  }

  void fromMaps(const Work &work) {
    for (unsigned i = 0; i < work.domain.size(); ++i) {
      if (ShapedType::isDynamic(work.domain[i]) || work.domain[i] % devices != 0)
        continue;
      Rule rule;
      rule.iterator = i;
      bool possible = true, shared = false;
      unsigned next = 0;
      for (Value operand : op->getOperands()) {
        auto state = sharding(work.maps[next++], tensorOf(operand), i);
        possible &= state.has_value();
        rule.operands.push_back(state.value_or(kWhole));
        shared |= rule.operands.back().kind == Sharding::Split;
      }
      for (auto [r, result] : llvm::enumerate(op->getResults())) {
        auto state = sharding(work.maps[next++], tensorOf(result), i);
        possible &= state.has_value();
        bool split = state && state->kind == Sharding::Split;
        if (split)
          possible &= work.kinds[i] == utils::IteratorType::parallel;
        else
          possible &= sums(op, r);
        rule.results.push_back(split ? *state : kPartial);
        shared |= split;
      }
      if (!possible || !shared || countsPositions(op, i))
        continue;
      if (op->getNumOperands() > 0 && rule.operands[0].kind == Sharding::Split) {
        int64_t dimension = rule.operands[0].dimension;
        if (dependsOnPosition(op, dimension))
          continue;
        if (isa<dnn::DropoutOp, dnn::AlibiOp>(op))
          rule.parts = dimension;
      }
      rules.push_back(std::move(rule));
    }
  }

  // ---- rules of single operations

  /// The parts lie one behind the other in memory, so the dimension must be the outermost of those that the reshape
  /// joins or divides.
  void own(dnn::ReshapeOp reshape) {
    auto x = reshape.getX().getType(), y = reshape.getY().getType();
    int64_t i = dnn::batchRank(x), j = dnn::batchRank(y);
    if (i != j)
      return;
    while (i < x.getRank() && j < y.getRank()) {
      int64_t firstX = i, firstY = j, volumeX = x.getDimSize(i++), volumeY = y.getDimSize(j++);
      while (volumeX != volumeY) {
        if (volumeX < volumeY ? i == x.getRank() : j == y.getRank())
          return;
        volumeX < volumeY ? volumeX *= x.getDimSize(i++) : volumeY *= y.getDimSize(j++);
      }
      // Dimensions of extent 1 before the outermost one are in the way of nothing.
      while (firstX + 1 < i && x.getDimSize(firstX) == 1)
        ++firstX;
      while (firstY + 1 < j && y.getDimSize(firstY) == 1)
        ++firstY;
      if (divides(reshape.getX(), firstX) && divides(reshape.getY(), firstY))
        add({Sharding::split(firstX)}, {Sharding::split(firstY)});
    }
  }

  /// Every dimension but the one that is cut or joined.
  void alongOthers(int64_t axis, Value like) {
    auto type = tensorOf(like);
    int64_t skip = dnn::tensorDimension(axis, type);
    auto all = llvm::to_vector(
        llvm::concat<const Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())));
    for (Value value : all)
      if (tensorOf(value).getRank() != type.getRank())
        return; // an operand without the batch
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != skip && llvm::all_of(all, [&](Value value) { return divides(value, d); }))
        add(SmallVector<Sharding>(op->getNumOperands(), Sharding::split(d)),
            SmallVector<Sharding>(op->getNumResults(), Sharding::split(d)));
  }
  void own(dnn::ConcatOp concat) { alongOthers(*concat.getAxis(), concat.getY()); }
  void own(dnn::SplitOp split) { alongOthers(*split.getAxis(), split.getX()); }
  void own(dnn::SliceOp slice) { alongOthers(*slice.getAxis(), slice.getX()); }
  /// Every dimension that keeps its elements; partial sums too, unless something is added to them.
  void own(dnn::PadOp pad) {
    ArrayRef<int64_t> before = *pad.getBefore(), after = pad.getAfter().value_or(before);
    auto type = tensorOf(pad.getX());
    for (int64_t i = 0, first = dnn::batchRank(type); i < std::ssize(before); ++i)
      if (before[i] == 0 && after[i] == 0 && divides(pad.getX(), first + i))
        add({Sharding::split(first + i)}, {Sharding::split(first + i)});
    if (pad.getValue().isZero())
      add({kPartial}, {kPartial});
  }
  void own(dnn::PadSliceOp pad) { alongOthers(pad.getAxis(), pad.getY()); }

  /// Every dimension but the one that counts slices; that of a stash is that of its slices.
  void slices(int64_t counted, Value whole, bool cuts) {
    for (int64_t d = 0; d < tensorOf(whole).getRank(); ++d)
      if (d != counted && divides(whole, d)) {
        Sharding ofWhole = Sharding::split(d), ofSlice = Sharding::split(d < counted ? d : d - 1);
        add({cuts ? ofWhole : ofSlice}, {cuts ? ofSlice : ofWhole});
      }
  }
  void own(dnn::UnstackOp unstack) { slices(unstack.getDimension(), unstack.getX(), true); }
  void own(dnn::StackOp stack) { slices(stack.getDimension(), stack.getY(), false); }

  /// By rows: each device adds up the rows that it has. By columns: each device has a part of every row.
  void lookup(Value table, Value y) {
    int64_t last = tensorOf(y).getRank() - 1;
    if (divides(table, 0))
      add({kWhole, Sharding::split(0)}, {kPartial}).parts = 0;
    if (divides(table, 1))
      add({kWhole, Sharding::split(1)}, {Sharding::split(last)});
  }
  void lookupGradient(Value dy, Value table) {
    int64_t last = tensorOf(dy).getRank() - 1;
    if (divides(table, 0))
      add({kWhole, kWhole}, {Sharding::split(0)}).parts = 0;
    if (divides(table, 1))
      add({Sharding::split(last), kWhole}, {Sharding::split(1)});
  }
  void own(dnn::EmbeddingOp one) { lookup(one.getTable(), one.getY()); }
  void own(dnn::EmbeddingBagOp one) { lookup(one.getTable(), one.getY()); }
  void own(dnn::EmbeddingGradOp one) { lookupGradient(one.getDy(), one.getDtable()); }
  void own(dnn::EmbeddingBagGradOp one) { lookupGradient(one.getDy(), one.getDtable()); }

  void own(dnn::RelativeBiasGradOp bias) {
    if (divides(bias.getDtable(), 1))
      add({Sharding::split(0)}, {Sharding::split(1)});
  }

  /// By columns of the dense matrix; every device walks all non-zeros.
  void own(dnn::SpmmOp spmm) {
    int64_t dense = tensorOf(spmm.getDense()).getRank() - 1, y = tensorOf(spmm.getY()).getRank() - 1;
    if (divides(spmm.getDense(), dense))
      add({kWhole, kWhole, kWhole, Sharding::split(dense)}, {Sharding::split(y)});
  }
  void own(dnn::SpmmDenseGradOp spmm) {
    int64_t dense = tensorOf(spmm.getDdense()).getRank() - 1, dy = tensorOf(spmm.getDy()).getRank() - 1;
    if (divides(spmm.getDdense(), dense))
      add({Sharding::split(dy), kWhole, kWhole, kWhole}, {Sharding::split(dense)});
  }
  void own(dnn::SpmmValuesGradOp spmm) {
    int64_t dense = tensorOf(spmm.getDense()).getRank() - 1, dy = tensorOf(spmm.getDy()).getRank() - 1;
    if (divides(spmm.getDense(), dense))
      add({Sharding::split(dy), kWhole, kWhole, Sharding::split(dense)}, {kPartial});
  }

  /// Every expert's inner width is shared; that experts are, the maps say. What is kept for the gradient holds, on each
  /// device, the part of its weights: only the gradient reads it.
  void own(dnn::MoeExpertsOp experts) {
    if (!divides(experts.getW1(), 1))
      return;
    int64_t last = tensorOf(experts.getSaved()).getRank() - 1;
    Rule &rule = add({kWhole, Sharding::split(1), Sharding::split(2)}, {kPartial, Sharding::split(last)});
    if (experts.getW3())
      rule.operands.push_back(Sharding::split(1));
  }
  void own(dnn::MoeExpertsGradOp experts) {
    if (!divides(experts.getW1(), 1))
      return;
    int64_t last = tensorOf(experts.getSaved()).getRank() - 1;
    Rule &rule = add({kWhole, kWhole, Sharding::split(1), Sharding::split(2), Sharding::split(last)},
                     {kPartial, Sharding::split(1), Sharding::split(2)});
    if (experts.getW3()) {
      rule.operands.push_back(Sharding::split(1));
      rule.results.push_back(Sharding::split(1));
    }
  }

  /// Each device adds up the rows of its experts, or its summand of every row. Both gradients are linear in what
  /// depends on that; the rows' own does not.
  void own(dnn::MoeCombineOp combine) {
    Sharding experts = Sharding::split(tensorOf(combine.getTokens()).getRank() - 2);
    if (divides(combine.getTokens(), experts.dimension))
      add({experts, experts, experts}, {kPartial});
    add({kPartial, kWhole, kWhole}, {kPartial});
  }
  void own(dnn::MoeCombineGradOp combine) {
    Sharding experts = Sharding::split(tensorOf(combine.getTokens()).getRank() - 2);
    if (divides(combine.getTokens(), experts.dimension))
      add({kWhole, experts, experts, experts}, {experts, experts});
    add({kWhole, kPartial, kWhole, kWhole}, {kWhole, kPartial});
  }
  void own(dnn::MoeDispatchGradOp dispatch) {
    Sharding experts = Sharding::split(tensorOf(dispatch.getTokens()).getRank() - 2);
    if (divides(dispatch.getTokens(), experts.dimension))
      add({experts, experts, kWhole, kWhole, experts}, {kPartial, kPartial}).parts = experts.dimension;
    add({kPartial, kPartial, kWhole, kWhole, kWhole}, {kPartial, kPartial});
  }

  /// Each device has the cache of its heads.
  void own(dnn::CachedOp cached) { alongOthers(cached.getAxis(), cached.getX()); }

  /// By classes: the partitioner writes it out with statistics that travel.
  void own(dnn::CrossEntropyOp loss) {
    int64_t classes = tensorOf(loss.getLogits()).getRank() - 1;
    if (divides(loss.getLogits(), classes))
      add({Sharding::split(classes), kWhole}, {kWhole}).parts = classes;
  }
  void own(dnn::CrossEntropyGradOp loss) {
    int64_t classes = tensorOf(loss.getLogits()).getRank() - 1;
    if (divides(loss.getLogits(), classes))
      add({kWhole, Sharding::split(classes), kWhole}, {Sharding::split(classes)}).parts = classes;
  }

  Operation *op;
  int64_t devices;
};

} // namespace

SmallVector<Rule> rulesFor(Operation *op, int64_t devices) { return std::move(Builder(op, devices).rules); }

} // namespace accord::shard
