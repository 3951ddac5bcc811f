#include "lib/training/shard/ContextParallel.h"
#include "lib/training/shard/ShardingRules.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace accord::shard {
namespace {

bool isBackward(Operation *op) { return dnn::phaseOf(op) != dnn::Phase::Forward; }
RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t batchRankOf(Value value) { return dnn::batchRank(tensorOf(value)); }
bool isLoss(Operation *op) {
  return isa<dnn::CrossEntropyOp, dnn::CrossEntropyJoinOp, dnn::MseOp, dnn::SmoothL1Op, dnn::BinaryCrossEntropyOp>(op);
}
/// Elements between neighbours along a dimension.
int64_t strideOf(ArrayRef<int64_t> shape, int64_t dimension) {
  int64_t stride = 1;
  for (int64_t extent : shape.drop_front(dimension + 1))
    stride *= extent;
  return stride;
}
/// The iterator that an index of a tensor is; nothing where it is more or less than one.
std::optional<unsigned> iteratorAt(AffineMap map, int64_t dimension) {
  auto index = dyn_cast<AffineDimExpr>(map.getResult(dimension));
  return index ? std::optional(index.getPosition()) : std::nullopt;
}

} // namespace

ContextParallel::ContextParallel(dnn::TrainingGraphOp graph, const ContextOptions &options)
    : graph(graph), options(options) {
  graph.walk([&](Operation *op) { names.reserve(dnn::nameOf(op)); });
}

LogicalResult ContextParallel::run() {
  if (failed(addAxis(graph, options.axis, options.devices)) || failed(inputs()) ||
      failed(block(graph.getMicrobatch().getBlock())))
    return failure();
  retype();
  for (auto &[op, what] : changes)
    change(op, what);
  finish();
  return success();
}

LogicalResult ContextParallel::needsAll(Operation *op) {
  return op->emitError() << "'" << op->getName() << "' needs all of a sequence, which the " << options.devices
                         << " devices of axis '" << options.axis << "' divide";
}

// ---- what each value becomes

LogicalResult ContextParallel::inputs() {
  bool found = false;
  SmallVector<Attribute> all;
  Builder builder(graph.getContext());
  for (BlockArgument input : graph.getMicrobatch().getBlock().getArguments()) {
    SmallVector<Attribute> parts;
    if (auto type = tensorOf(input); dnn::batchRank(type) && divisible(type, 1, options.devices)) {
      held[input].part = {1, 1, type.getDimSize(1)};
      parts.push_back(dnn::PartAttr::get(graph.getContext(), builder.getStringAttr(options.axis), 1, options.devices));
      found = true;
    }
    all.push_back(builder.getArrayAttr(parts));
  }
  if (!found)
    return graph.emitError() << "'" << graph.getSymName() << "' has no input whose sequence " << options.devices
                             << " devices can divide";
  graph->setAttr(dnn::DnnDialect::kInputPartsAttr, builder.getArrayAttr(all));
  return success();
}

LogicalResult ContextParallel::block(Block &block) {
  for (Operation &op : block)
    if (failed(operation(&op)))
      return failure();
  return success();
}

LogicalResult ContextParallel::operation(Operation *op) {
  changes.erase(op);
  if (auto loop = dyn_cast<dnn::RepeatOp>(op))
    return repeat(loop);
  if (isa<dnn::YieldOp, dnn::LossOp>(op))
    return success();
  for (Value result : op->getResults())
    held.erase(result);
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return held.lookup(operand).any(); }))
    return success();
  if (isa<dnn::GradientOp>(op)) {
    changes[op];
    return success();
  }
  if (!isa<dnn::FlashAttentionGradOp>(op) &&
      llvm::any_of(op->getOperands(), [&](Value operand) { return held.lookup(operand).heads >= 0; }))
    return needsAll(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](dnn::ReshapeOp one) { return reshape(one); })
      .Case([&](dnn::ConcatOp one) { return alongOthers(one, *one.getAxis()); })
      .Case([&](dnn::SplitOp one) { return alongOthers(one, *one.getAxis()); })
      .Case([&](dnn::SliceOp one) { return alongOthers(one, *one.getAxis()); })
      .Case([&](dnn::PadSliceOp one) { return alongOthers(one, one.getAxis()); })
      .Case<dnn::EmbeddingOp, dnn::EmbeddingGradOp, dnn::CrossEntropyOp, dnn::CrossEntropyGradOp,
            dnn::CrossEntropyStatsOp, dnn::CrossEntropyJoinOp, dnn::CrossEntropyPartGradOp, dnn::MseOp, dnn::MseGradOp,
            dnn::SmoothL1Op, dnn::SmoothL1GradOp, dnn::BinaryCrossEntropyOp, dnn::BinaryCrossEntropyGradOp>(
          [&](auto one) { return follow(one); })
      .Case<dnn::FlashAttentionOp, dnn::FlashAttentionGradOp>([&](auto one) { return attention(one); })
      .Case<dnn::MoeDispatchOp, dnn::MoeDispatchGradOp, dnn::MoeCombineOp, dnn::MoeCombineGradOp>(
          [&](auto one) { return experts(one); })
      .Case<dnn::AllReduceOp, dnn::AllGatherOp, dnn::ReduceScatterOp, dnn::AllToAllOp, dnn::TakePartOp>(
          [&](auto one) { return collective(one); })
      .Default([&](Operation *other) {
        bool known = isa<WorkOpInterface>(other) && other->getNumRegions() == 0 &&
                     !isa<dnn::MeanOp, dnn::PadOp, dnn::UnstackOp, dnn::StackOp, dnn::GatherOp, dnn::GatherGradOp,
                          dnn::ScatterOp, dnn::TopkOp, dnn::TopkGradOp, dnn::EmbeddingBagOp, dnn::EmbeddingBagGradOp,
                          dnn::RelativeBiasGradOp, dnn::SpmmOp, dnn::SpmmDenseGradOp, dnn::SpmmValuesGradOp,
                          dnn::SegmentSumOp, dnn::SegmentSoftmaxOp, dnn::SegmentSoftmaxGradOp, dnn::LstmOp,
                          dnn::LstmGradOp, dnn::GruOp, dnn::GruGradOp>(other);
        return known ? mapped(other) : needsAll(other);
      });
}

/// Carried values that start whole, as gradients that start at zero, become what an iteration makes of them.
LogicalResult ContextParallel::repeat(dnn::RepeatOp op) {
  SmallVector<Held> carried;
  for (Value init : op.getInits())
    carried.push_back(held.lookup(init));
  for (auto [argument, stash] : llvm::zip(op.getUnstashedArguments(), op.getUnstashed()))
    held[argument] = held.lookup(stash);
  dnn::YieldOp yield = op.getYield();
  for (bool again = true; again;) {
    for (auto [argument, now] : llvm::zip(op.getCarriedArguments(), carried))
      held[argument] = now;
    if (failed(block(op.getBlock())))
      return failure();
    again = false;
    for (auto [i, value] : llvm::enumerate(yield.getCarried()))
      if (Held made = held.lookup(value); !(made == carried[i])) {
        if (carried[i].any())
          return needsAll(op);
        carried[i] = made;
        again = true;
      }
  }
  Change starts;
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    if (!(held.lookup(init) == carried[i])) {
      if (held.lookup(init).any() || carried[i].heads >= 0 || carried[i].full)
        return needsAll(op);
      starts.taken.push_back({i, carried[i].part});
    }
  if (!starts.taken.empty())
    changes[op] = starts;
  for (auto [result, now] : llvm::zip(op.getCarried(), carried))
    held[result] = now;
  for (auto [result, value] : llvm::zip(op.getStashed(), yield.getStashed()))
    held[result] = held.lookup(value);
  return success();
}

/// Operations whose indexing maps say all: one iterator is divided, and operands that do not go along it are whole.
LogicalResult ContextParallel::mapped(Operation *op) {
  Work work = cast<WorkOpInterface>(op).getWork();
  Mapping mapping;
  if (failed(iteratorOf(op, work, mapping)))
    return failure();
  if (!mapping.change.gathered.empty() && options.exchange == KeyExchange::AllToAll)
    return op->emitError() << "heads are exchanged for attention in one operation, 'dnn.flash_attention': '"
                           << dnn::nameOf(op) << "' is a part of it";
  if (mapping.iterator && (failed(takeParts(op, work, mapping)) || failed(countPositions(op, mapping))))
    return failure();
  if (mapping.iterator && isa<dnn::ContractOp, dnn::CustomOp>(op))
    mapping.change.iterator = *mapping.iterator;
  changes[op] = mapping.change;
  return results(op, work, mapping);
}

/// Which iterator is divided, and which operands are gathered for that: keys meet scores along all of the sequence, or
/// queries along their own part of it.
LogicalResult ContextParallel::iteratorOf(Operation *op, const Work &work, Mapping &mapping) {
  SmallVector<std::optional<unsigned>> &divided = mapping.divided;
  divided.resize(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Held now = held.lookup(operand);
    if (auto at = now.full ? iteratorAt(work.maps[i], now.full.dimension) : std::nullopt)
      mapping.full.push_back({*at, now.full});
    if (now.part && !(divided[i] = iteratorAt(work.maps[i], now.part.dimension)))
      return needsAll(op);
  }
  auto gatherOperand = [&](unsigned i) {
    mapping.change.gathered.push_back(i);
    mapping.full.push_back({*divided[i], held.lookup(op->getOperand(i)).part});
    divided[i].reset();
  };
  auto isFull = [&](unsigned iterator) {
    return llvm::any_of(mapping.full, [&](const auto &one) { return one.first == iterator; });
  };
  for (unsigned i = 0; i < divided.size(); ++i)
    if (divided[i] && isFull(*divided[i]))
      gatherOperand(i);
  for (unsigned i = 0; i < divided.size(); ++i) {
    if (!divided[i] || divided[i] == mapping.iterator)
      continue;
    if (!mapping.iterator) {
      mapping.iterator = divided[i];
      mapping.along = held.lookup(op->getOperand(i)).part;
    } else if (isa<dnn::MatmulOp, dnn::ContractOp>(op)) {
      gatherOperand(i);
    } else {
      return needsAll(op);
    }
  }
  return success();
}

/// Of operands that are whole along the divided iterator, a part.
LogicalResult ContextParallel::takeParts(Operation *op, const Work &work, Mapping &mapping) {
  const Along &along = mapping.along;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (mapping.divided[i])
      continue;
    for (int64_t d = 0; d < tensorOf(operand).getRank(); ++d) {
      if (!work.maps[i].getResult(d).isFunctionOfDim(*mapping.iterator))
        continue;
      bool whole = along.inner == 1 && tensorOf(operand).getDimSize(d) == along.extent;
      if (iteratorAt(work.maps[i], d) != mapping.iterator || !whole || llvm::is_contained(mapping.change.gathered, i))
        return needsAll(op);
      mapping.change.taken.push_back({i, along.at(d)});
    }
  }
  return success();
}

/// Whether the operation counts positions along its part.
LogicalResult ContextParallel::countPositions(Operation *op, Mapping &mapping) {
  if (countsPositions(op, *mapping.iterator))
    return needsAll(op);
  if (mapping.divided.empty() || !mapping.divided[0])
    return success();
  int64_t dimension = held.lookup(op->getOperand(0)).part.dimension;
  auto type = tensorOf(op->getOperand(0));
  bool counts = dependsOnPosition(op, dimension) && (!isa<dnn::SoftmaxOp>(op) || dimension == type.getRank() - 2);
  if (counts && (mapping.along.inner != 1 || type.getDimSize(dimension) != mapping.along.extent))
    return needsAll(op);
  if (counts || isa<dnn::DropoutOp>(op))
    mapping.change.position = dimension;
  return success();
}

/// Results go along the divided iterator, or are sums over it: of what each device has seen, to be added up.
LogicalResult ContextParallel::results(Operation *op, const Work &work, const Mapping &mapping) {
  for (auto [r, result] : llvm::enumerate(op->getResults())) {
    AffineMap map = work.maps[op->getNumOperands() + r];
    Held now;
    for (int64_t d = 0; d < tensorOf(result).getRank(); ++d) {
      std::optional<unsigned> at = iteratorAt(map, d);
      for (const auto &[iterator, full] : mapping.full)
        if (at == iterator && at != mapping.iterator)
          now.full = full.at(d);
      if (mapping.iterator && at == mapping.iterator)
        now.part = mapping.along.at(d);
      else if (mapping.iterator && map.getResult(d).isFunctionOfDim(*mapping.iterator))
        return needsAll(op);
    }
    if (mapping.iterator && !now.part) {
      if (!sums(op, r) && !isa<dnn::MoeExpertsGradOp>(op))
        return needsAll(op);
      if (!batchRankOf(result)) { // of a parameter: the mean is taken after the last micro-batch
        now = {};
      } else if (!now.full) {
        return needsAll(op);
      } else {
        changes[op].scattered.push_back({r, now.full});
        now = {now.full, {}, -1};
      }
    } else if (now.part && work.kinds[*mapping.iterator] != utils::IteratorType::parallel) {
      return needsAll(op);
    }
    held[result] = now;
  }
  return success();
}

/// Lookups and losses: position by position, and gradients of parameters or the loss besides.
LogicalResult ContextParallel::follow(Operation *op) {
  if (isa<dnn::EmbeddingOp>(op)) {
    Held ids = held.lookup(op->getOperand(0));
    if (held.lookup(op->getOperand(1)).any())
      return needsAll(op);
    held[op->getResult(0)] = {ids.part, {}, -1};
    return success();
  }
  if (isa<dnn::EmbeddingGradOp>(op) && dnn::rowsOf(op->getResult(0).getType()))
    return op->emitError() << "a sparse gradient has rows for whole samples, of which the " << options.devices
                           << " devices of axis '" << options.axis << "' have parts";
  Along part;
  for (Value operand : op->getOperands())
    if (Held now = held.lookup(operand); now.part) {
      if (part && !(now.part == part))
        return needsAll(op);
      part = now.part;
    }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (held.lookup(operand).part || tensorOf(operand).getRank() == 0 ||
        isa_and_nonnull<dnn::ReadOp>(operand.getDefiningOp()))
      continue;
    if (!divisible(operand.getType(), part.dimension, options.devices))
      return needsAll(op);
    changes[op].taken.push_back({i, part});
  }
  if (!isLoss(op) && !isa<dnn::EmbeddingGradOp>(op))
    held[op->getResult(0)].part = part;
  return success();
}

LogicalResult ContextParallel::reshape(dnn::ReshapeOp op) {
  auto x = op.getX().getType(), y = op.getY().getType();
  auto moved = [&](Along along) -> Along {
    if (!along || dnn::batchRank(x) != dnn::batchRank(y) || along.dimension < dnn::batchRank(x))
      return {};
    int64_t stride = strideOf(x.getShape(), along.dimension) * along.inner;
    for (int64_t d = dnn::batchRank(y); d < y.getRank(); ++d) {
      int64_t other = strideOf(y.getShape(), d), inner = stride / other;
      if (stride % other == 0 && y.getDimSize(d) % (inner * along.extent) == 0)
        return {d, inner, along.extent};
    }
    return {};
  };
  Held now = held.lookup(op.getX()), made{moved(now.part), moved(now.full), -1};
  if (now.part && !made.part)
    return needsAll(op);
  changes[op];
  held[op.getY()] = made;
  return success();
}

LogicalResult ContextParallel::alongOthers(Operation *op, int64_t axis) {
  Along part;
  for (Value operand : op->getOperands())
    if (Held now = held.lookup(operand); now.part) {
      if (part && part.dimension != now.part.dimension)
        return needsAll(op);
      part = now.part;
    }
  if (!part || dnn::tensorDimension(axis, tensorOf(op->getResult(0))) == part.dimension)
    return needsAll(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!held.lookup(operand).part)
      changes[op].taken.push_back({i, part});
  for (Value result : op->getResults())
    held[result] = {part, {}, -1};
  return success();
}

LogicalResult ContextParallel::attention(Operation *op) {
  bool backward = isa<dnn::FlashAttentionGradOp>(op);
  Value q = op->getOperand(backward), k = op->getOperand(backward + 1), v = op->getOperand(backward + 2);
  int64_t positions = batchRankOf(q);
  Held queries = held.lookup(q), keys = held.lookup(k), values = held.lookup(v);
  if (queries.part.dimension != positions || !(keys == values) || (keys.part && keys.part.dimension != positions))
    return needsAll(op);
  Change change;
  if (options.exchange == KeyExchange::AllToAll) {
    int64_t heads = tensorOf(k).getDimSize(positions + 1);
    if (!keys.part || heads % options.devices != 0)
      return op->emitError() << options.devices << " devices of axis '" << options.axis << "' do not divide the "
                             << heads << " heads of keys and values, which all_to_all gives each a part of";
    change.heads = true;
  } else {
    if (keys.part)
      change.gathered = {backward + 1u, backward + 2u};
    if (dependsOnPosition(op, positions))
      change.position = positions;
  }
  if (backward) {
    held[op->getResult(0)] = queries;
    if (keys.part && !change.heads)
      change.scattered = {{1, keys.part}, {2, keys.part}};
    held[op->getResult(1)] = held[op->getResult(2)] = keys;
  } else {
    held[op->getResult(0)] = queries;
    if (change.heads)
      held[op->getResult(1)].heads = positions + 1;
    else
      held[op->getResult(1)] = queries;
  }
  changes[op] = change;
  return success();
}

/// Each device has so many slots of every expert as its tokens need.
LogicalResult ContextParallel::experts(Operation *op) {
  auto slotsOf = [](Value value, bool rows) { return tensorOf(value).getRank() - (rows ? 2 : 1); };
  auto part = [&](Value value, bool rows) -> std::optional<Along> {
    int64_t dimension = slotsOf(value, rows), slots = tensorOf(value).getDimSize(dimension);
    return slots % options.devices == 0 ? std::optional(Along{dimension, 1, slots}) : std::nullopt;
  };
  if (auto dispatch = dyn_cast<dnn::MoeDispatchOp>(op)) {
    auto x = dispatch.getX().getType();
    Held tokens = held.lookup(dispatch.getX());
    auto slots = part(dispatch.getSlots(), true);
    double each = dispatch.getTopK() * dispatch.getCapacityFactor().convertToDouble() / options.devices;
    int64_t experts = dispatch.getGate().getType().getDimSize(0);
    bool even = tokens.part && slots && x.getRank() == dnn::batchRank(x) + 2 &&
                std::ceil(tokens.part.extent * each / experts) * options.devices == double(slots->extent);
    if (!even)
      return op->emitError() << "the slots of an expert cannot be divided among the " << options.devices
                             << " devices of axis '" << options.axis << "'";
    held[dispatch.getSlots()].part = *slots;
    held[dispatch.getTokens()].part = *part(dispatch.getTokens(), false);
    held[dispatch.getWeights()].part = *part(dispatch.getWeights(), false);
    return success();
  }
  if (auto combine = dyn_cast<dnn::MoeCombineOp>(op)) {
    auto z = combine.getZ().getType();
    if (z.getRank() != dnn::batchRank(z) + 2)
      return needsAll(op);
    changes[op];
    held[combine.getZ()].part = {dnn::batchRank(z), 1, z.getDimSize(dnn::batchRank(z))};
    return success();
  }
  if (auto gradient = dyn_cast<dnn::MoeCombineGradOp>(op)) {
    held[gradient.getDy()] = held.lookup(gradient.getY());
    held[gradient.getDweights()] = held.lookup(gradient.getWeights());
    return success();
  }
  auto gradient = cast<dnn::MoeDispatchGradOp>(op);
  held[gradient.getDx()] = held.lookup(gradient.getX());
  for (auto [i, rows] : {std::pair{0u, true}, {1u, false}}) // zeros where nothing depends on them
    if (!held.lookup(op->getOperand(i)).part)
      changes[op].taken.push_back({i, *part(op->getOperand(i), rows)});
  return success();
}

/// Of another axis: tensors of parts.
LogicalResult ContextParallel::collective(Operation *op) {
  Held now = held.lookup(op->getOperand(0));
  auto scale = [&](int64_t joined, int64_t cut, int64_t devices) {
    for (Along *one : {&now.part, &now.full}) {
      if (*one && one->dimension == joined)
        one->extent *= devices;
      if (*one && one->dimension == cut)
        one->extent /= devices;
    }
  };
  bool stacked = false, blocked = now.part.inner != 1;
  TypeSwitch<Operation *>(op)
      .Case([&](dnn::AllGatherOp one) {
        stacked = one.getStacked();
        scale(one.getDimension(), -2, one.getDevices());
      })
      .Case([&](dnn::ReduceScatterOp one) {
        stacked = one.getStacked();
        scale(-2, one.getDimension(), one.getDevices());
      })
      .Case([&](dnn::TakePartOp one) { scale(-2, one.getDimension(), one.getDevices()); })
      .Case([&](dnn::AllToAllOp one) {
        stacked = one.getSplitStacked() || one.getJoinStacked();
        scale(one.getJoin(), one.getSplit(), one.getDevices());
      });
  if (stacked || (blocked && !(now == held.lookup(op->getOperand(0)))))
    return needsAll(op);
  held[op->getResult(0)] = now;
  return success();
}

// ---- the change

void ContextParallel::retype() {
  llvm::DenseSet<Value> sums;
  for (auto &[op, what] : changes)
    for (auto [result, along] : what.scattered)
      sums.insert(op->getResult(result));
  for (auto &[value, now] : held) {
    int64_t dimension = now.part ? now.part.dimension : now.heads;
    if (dimension >= 0 && !sums.contains(value))
      Value(value).setType(localType(value.getType(), Sharding::split(dimension), options.devices));
  }
}

Value ContextParallel::named(Operation *op, Value of, const char *what, dnn::Phase phase) {
  Operation *maker = of.getDefiningOp();
  names.setName(op, (dnn::nameOf(maker ? maker : of.getParentBlock()->getParentOp()) + what).str(), phase);
  return op->getResult(0);
}

Value ContextParallel::join(Value value, int64_t dimension, StringAttr axis, int64_t devices, OpBuilder &to) {
  auto type = tensorOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape[dimension] *= devices;
  auto made =
      dnn::AllGatherOp::create(to, value.getLoc(), RankedTensorType::get(shape, type.getElementType()), value, axis,
                               to.getI64IntegerAttr(devices), to.getI64IntegerAttr(dimension), UnitAttr());
  return named(made, value, ".all_gather", dnn::Phase::Communication);
}

Value ContextParallel::cut(Value value, int64_t dimension, StringAttr axis, int64_t devices, OpBuilder &to) {
  Operation *maker = value.getDefiningOp();
  Type type = localType(value.getType(), Sharding::split(dimension), devices);
  auto made = dnn::TakePartOp::create(to, value.getLoc(), type, value, axis, to.getI64IntegerAttr(devices),
                                      to.getI64IntegerAttr(dimension));
  return named(made, value, ".part", maker ? dnn::phaseOf(maker) : dnn::Phase::Forward);
}

Value ContextParallel::gather(Value value, Along along, Operation *before) {
  Value &known = gathered[{value, before->getBlock(), isBackward(before)}];
  if (known)
    return known;
  OpBuilder to(before);
  known = join(value, along.dimension, to.getStringAttr(options.axis), options.devices, to);
  if (options.exchange == KeyExchange::Ring)
    known.getDefiningOp()->setAttr(dnn::DnnDialect::kRingAttr, to.getUnitAttr());
  return known;
}

/// What another axis has of a parameter along a dimension; null: all.
static dnn::PartAttr partOf(dnn::TrainingGraphOp graph, FlatSymbolRefAttr name, int64_t dimension) {
  Operation *parameter = SymbolTable::lookupSymbolIn(graph, name);
  if (auto parts = parameter->getAttrOfType<ArrayAttr>(dnn::DnnDialect::kPartsAttr))
    for (auto part : parts.getAsRange<dnn::PartAttr>())
      if (part.getDimension() == dimension)
        return part;
  return {};
}

/// A part of what is whole; where another axis has cut that before, this one cuts first, because its parts are the
/// larger ones.
Value ContextParallel::part(Value value, Along along, Operation *before) {
  auto found = taken.find({value, before->getBlock()});
  if (found != taken.end())
    return found->second;
  OpBuilder to(before);
  Operation *maker = value.getDefiningOp();
  StringAttr axis = to.getStringAttr(options.axis);
  int64_t dimension = along.dimension;
  auto read = dyn_cast_or_null<dnn::ReadOp>(maker);
  Value made;
  if (auto constant = dyn_cast_or_null<dnn::ConstantOp>(maker)) {
    Type type = localType(value.getType(), Sharding::split(dimension), options.devices);
    auto local = dnn::ConstantOp::create(to, value.getLoc(), type, constant.getValueAttr());
    made = named(local, value, ".part", dnn::phaseOf(constant));
  } else if (auto inner = dyn_cast_or_null<dnn::TakePartOp>(maker); inner && inner.getDimension() == dimension) {
    made = cut(part(inner.getX(), along, before), dimension, inner.getAxisAttr(), inner.getDevices(), to);
  } else if (dnn::PartAttr other = read ? partOf(graph, read.getParameterAttr(), dimension) : dnn::PartAttr()) {
    Value whole = join(value, dimension, other.getAxis(), other.getDevices(), to);
    made = cut(cut(whole, dimension, axis, options.devices, to), dimension, other.getAxis(), other.getDevices(), to);
  } else {
    made = cut(value, dimension, axis, options.devices, to);
  }
  taken[{value, before->getBlock()}] = made;
  return made;
}

/// Before what another axis has done to a part: that cuts the parts of this one.
void ContextParallel::addPart(Operation *op, int64_t dimension) {
  ArrayAttr others = op->getAttrOfType<ArrayAttr>(dnn::DnnDialect::kPartsAttr);
  op->removeAttr(dnn::DnnDialect::kPartsAttr);
  SmallVector<Attribute> parts(appendPart(op, options.axis, dimension, options.devices).getValue());
  if (others)
    llvm::append_range(parts, others);
  op->setAttr(dnn::DnnDialect::kPartsAttr, ArrayAttr::get(op->getContext(), parts));
}

void ContextParallel::change(Operation *op, const Change &change) {
  if (auto gradient = dyn_cast<dnn::GradientOp>(op))
    return sink(gradient);
  if (change.heads)
    return exchangeHeads(op);
  for (unsigned i : change.gathered)
    op->setOperand(i, gather(op->getOperand(i), held.lookup(op->getOperand(i)).part, op));
  for (auto [i, along] : change.taken)
    op->setOperand(i, part(op->getOperand(i), along, op));
  OpBuilder to(op->getContext());
  to.setInsertionPointAfter(op);
  for (auto [i, along] : change.scattered) {
    Value sum = op->getResult(i);
    Type type = localType(sum.getType(), Sharding::split(along.dimension), options.devices);
    auto made = dnn::ReduceScatterOp::create(to, op->getLoc(), type, sum, to.getStringAttr(options.axis),
                                             to.getI64IntegerAttr(options.devices),
                                             to.getI64IntegerAttr(along.dimension), UnitAttr());
    if (options.exchange == KeyExchange::Ring)
      made->setAttr(dnn::DnnDialect::kRingAttr, to.getUnitAttr());
    sum.replaceAllUsesExcept(named(made, sum, ".reduce_scatter", dnn::Phase::Communication), made);
  }
  if (change.position >= 0)
    addPart(op, change.position);
  if (change.iterator >= 0)
    TypeSwitch<Operation *>(op).Case<dnn::ContractOp, dnn::CustomOp>([&](auto one) {
      SmallVector<int64_t> domain(one.getDomain());
      domain[change.iterator] /= options.devices;
      one.setDomain(domain);
    });
  if (auto reshape = dyn_cast<dnn::ReshapeOp>(op)) {
    RankedTensorType type = reshape.getY().getType();
    reshape.setDims(type.getShape().drop_front(dnn::batchRank(type)));
  } else if (auto combine = dyn_cast<dnn::MoeCombineOp>(op)) {
    auto type = combine.getZ().getType();
    combine.setDims(type.getShape().slice(dnn::batchRank(type), 1));
  }
}

/// The gradient of a parameter along the sequence: each device has that of its part. It counts the mean over the part,
/// of all devices' parts the mean is taken once more.
void ContextParallel::sink(dnn::GradientOp op) {
  OpBuilder to(op);
  Value value = op.getValue();
  Along along = held.lookup(value).part;
  if (!along)
    return;
  dnn::PartAttr other = partOf(graph, op.getParameterAttr(), along.dimension);
  if (other)
    value = join(value, along.dimension, other.getAxis(), other.getDevices(), to);
  Value whole = join(value, along.dimension, to.getStringAttr(options.axis), options.devices, to);
  auto scale = dnn::ScaleOp::create(to, op.getLoc(), whole.getType(), whole,
                                    to.getF64FloatAttr(1.0 / static_cast<double>(options.devices)));
  Value share = named(scale, value, ".share", dnn::Phase::WeightGradient);
  if (other)
    share = cut(share, along.dimension, other.getAxis(), other.getDevices(), to);
  op.getValueMutable().assign(share);
}

// ---- heads for sequence

Value ContextParallel::swapped(Value value, int64_t split, int64_t join, OpBuilder &to) {
  auto type = tensorOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape[split] /= options.devices, shape[join] *= options.devices;
  auto made = dnn::AllToAllOp::create(to, value.getLoc(), RankedTensorType::get(shape, type.getElementType()), value,
                                      to.getStringAttr(options.axis), to.getI64IntegerAttr(options.devices),
                                      to.getI64IntegerAttr(split), to.getI64IntegerAttr(join), UnitAttr(), UnitAttr());
  return named(made, value, ".all_to_all", dnn::Phase::Communication);
}
Value ContextParallel::toHeads(Value value, OpBuilder &to) {
  int64_t positions = batchRankOf(value);
  return swapped(value, positions + 1, positions, to);
}
Value ContextParallel::toSequence(Value value, OpBuilder &to) {
  int64_t positions = batchRankOf(value);
  return swapped(value, positions, positions + 1, to);
}

/// What the gradient reads is kept as it arrived, so that it does not travel again.
void ContextParallel::exchangeHeads(Operation *op) {
  OpBuilder to(op);
  bool backward = isa<dnn::FlashAttentionGradOp>(op);
  unsigned tensors = backward ? 5 : 3; // the last operand of a gradient has heads from the forward pass
  auto isSwapped = [&](Value value) {  // by the forward pass
    return tensorOf(value).getDimSize(batchRankOf(value)) == held.lookup(value).part.extent;
  };
  auto keep = [&](Value value, Value instead, unsigned place) {
    auto ofGradient = [&](OpOperand &use) {
      return isa<dnn::FlashAttentionGradOp>(use.getOwner()) && use.getOperandNumber() == place;
    };
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Value stash = slicesOf(use);
      if (stash && isa<dnn::YieldOp>(use.getOwner()) && endsIn(stash, ofGradient)) {
        use.set(instead);
        retypeSlices(instead, instead.getType());
      } else if (!stash && ofGradient(use)) {
        use.set(instead);
        held[instead].part = held.lookup(value).part;
      }
    }
  };
  for (unsigned i = 0; i < tensors; ++i) {
    Value value = op->getOperand(i);
    if (isSwapped(value))
      continue;
    Value sent = toHeads(value, to);
    op->setOperand(i, sent);
    if (!backward)
      keep(value, sent, i + 1);
  }
  to.setInsertionPointAfter(op);
  for (unsigned i = 0; i < (backward ? 3u : 1u); ++i) {
    Value result = op->getResult(i);
    auto type = tensorOf(result);
    int64_t positions = dnn::batchRank(type);
    SmallVector<int64_t> shape(type.getShape());
    shape[positions] *= options.devices, shape[positions + 1] /= options.devices;
    result.setType(RankedTensorType::get(shape, type.getElementType()));
    Value back = toSequence(result, to);
    held[back] = held.lookup(result);
    result.replaceAllUsesExcept(back, back.getDefiningOp());
    if (!backward)
      keep(back, result, 4);
  }
}

// ---- at the end

void ContextParallel::finish() {
  OpBuilder builder(graph.getContext());
  for (auto update : llvm::make_early_inc_range(graph.getOptimizerStep().getBlock().getOps<dnn::UpdateOp>())) {
    builder.setInsertionPoint(update);
    auto reduce = dnn::GradientAllReduceOp::create(
        builder, update.getLoc(), update.getParameterAttr(), update.getTypeAttr(), update.getCopiesAttr(),
        builder.getStringAttr(options.axis), builder.getI64IntegerAttr(options.devices), update.getPrecisionAttr(),
        UnitAttr(), update.getRowsAttr());
    names.setName(reduce, (update.getParameter() + ".gradient.all_reduce").str(), dnn::Phase::Communication);
  }
}

} // namespace accord::shard
