#include "lib/training/shard/Partitioner.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accord::shard {

static bool isBackward(Operation *op) { return dnn::phaseOf(op) != dnn::Phase::Forward; }

Partitioner::Partitioner(dnn::TrainingGraphOp graph, const PartitionOptions &options) : graph(graph), options(options) {
  for (auto parameter : graph.getParameters())
    parameters[parameter.getSymNameAttr()].op = parameter;
  graph.walk([&](Operation *op) { names.reserve(dnn::nameOf(op)); });
  llvm::DenseSet<StringAttr> others;
  graph.walk([&](dnn::ReadOp read) {
    for (OpOperand &use : read.getResult().getUses())
      if (isa<dnn::EmbeddingOp, dnn::EmbeddingBagOp>(use.getOwner()))
        lookedUp.insert(read.getParameterAttr().getAttr());
      else
        others.insert(read.getParameterAttr().getAttr());
  });
  for (StringAttr other : others)
    lookedUp.erase(other);
  // What is added up into a gradient, too.
  graph.walk([&](dnn::GradientOp gradient) {
    SmallVector<Value> sums{gradient.getValue()};
    for (unsigned i = 0; i < sums.size(); ++i) {
      gradients[sums[i]] = gradient.getParameterAttr().getAttr();
      if (Operation *sum = sums[i].getDefiningOp(); isa_and_nonnull<dnn::AddOp, dnn::JoinRowsOp>(sum))
        for (Value operand : sum->getOperands())
          if ((operand.getType() == sums[i].getType() || isa<dnn::JoinRowsOp>(sum)) && operand.hasOneUse())
            sums.push_back(operand);
    }
  });
}

Partitioner::~Partitioner() {
  for (Operation *draft : llvm::reverse(replacedOperations))
    draft->destroy();
}

LogicalResult Partitioner::run() {
  WalkResult known = graph.walk([&](Operation *op) {
    if (op->getNumRegions() == 0 ||
        isa<dnn::TrainingGraphOp, dnn::MicrobatchOp, dnn::RepeatOp, dnn::OptimizerStepOp>(op))
      return WalkResult::advance();
    return WalkResult(op->emitError() << "'" << op->getName() << "' cannot be divided among devices"
                                      << (isa<dnn::FusedOp>(op) ? ": shard before fuse" : ""));
  });
  if (known.wasInterrupted() || failed(addAxis(graph, options.axis, options.devices)))
    return failure();
  Block &micro = graph.getMicrobatch().getBlock();
  Block made;
  OpBuilder to(graph.getContext());
  to.setInsertionPointToEnd(&made);
  for (BlockArgument input : micro.getArguments())
    define(input, input, Sharding());
  conversions.emplace_back();
  block(micro, to);
  for (Operation *draft : replacedOperations)
    draft->dropAllReferences();
  micro.dropAllReferences();
  while (!micro.empty())
    micro.back().erase();
  micro.getOperations().splice(micro.end(), made.getOperations());
  finish();
  return success();
}

void Partitioner::block(Block &from, OpBuilder &to) {
  for (Operation &op : from) {
    if (auto one = dyn_cast<dnn::RepeatOp>(op))
      repeat(one, to);
    else if (auto one = dyn_cast<dnn::ReadOp>(op))
      read(one, to);
    else if (auto one = dyn_cast<dnn::GradientOp>(op))
      gradient(one, to);
    else if (!isa<dnn::YieldOp>(op))
      operation(&op, to);
  }
}

void Partitioner::operation(Operation *op, OpBuilder &to) {
  if (auto constant = dyn_cast<dnn::ConstantOp>(op); constant && constant.getValue().isZero()) {
    define(constant.getY(), to.clone(*op)->getResult(0), {Sharding::Zero, -1});
    return;
  }
  SmallVector<Rule> rules = rulesFor(op, options.devices);
  if (options.expertReplicas > 1 && isa<dnn::MoeExpertsOp, dnn::MoeExpertsGradOp>(op)) {
    unsigned weight = isa<dnn::MoeExpertsOp>(op) ? 1 : 2;
    bool divides = divisible(op->getOperand(weight).getType(), 0, options.devices * options.expertReplicas);
    llvm::erase_if(rules, [&](const Rule &rule) {
      Sharding of = rule.operands[weight];
      return !divides && of.kind == Sharding::Split && of.dimension == 0;
    });
  }
  const Rule &rule = choose(op, rules);
  if (isa<dnn::CrossEntropyOp, dnn::CrossEntropyGradOp>(op) && rule.parts >= 0)
    crossEntropy(op, rule, to);
  else if (!detachBias(op, rule, to))
    emit(op, rule, to);
}

// ---- which rule

/// Bytes of a tensor on one device, with a batch that stands for all.
static double bytesOfType(Type type) {
  constexpr int64_t kBatch = 8;
  return accord::bytesOf(type, kBatch).value_or(INT64_MAX);
}

/// How a value is best held where nothing asks for more: between iterations, and where partial sums end.
Sharding Partitioner::preferredSharding(Value value, Sharding now) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return now;
  bool sequence = options.sequence && type.getRank() == 3 && dnn::batchRank(type) &&
                  isa<FloatType>(type.getElementType()) && divisible(type, 1, options.devices);
  if (sequence)
    return Sharding::split(1);
  return now.kind == Sharding::Split ? now : Sharding();
}

double Partitioner::cost(Value value, Sharding to, bool backward) {
  const ShardedValue &from = shardedValues[value];
  if (from.parameter && to.kind == Sharding::Partial)
    return INFINITY;
  if (from.parameter) {
    std::optional<Sharding> decided = parameters[from.parameter].sharding;
    if (!decided || *decided == to)
      return 0;
    return 1e6 * bytesOfType(value.getType()); // parameters do not travel
  }
  if (from.sharding == to || from.sharding.kind == Sharding::Zero)
    return 0;
  if (known({value, {to.kind, to.dimension, backward}}))
    return 0;
  double bytes = bytesOfType(value.getType());
  switch (from.sharding.kind) {
  case Sharding::Zero:
    return 0;
  case Sharding::Replicated:
    return to.kind == Sharding::Split ? 1 : INFINITY;
  case Sharding::Partial:
    if (to.kind == Sharding::Replicated)
      return 2 * bytes;
    return to.kind == Sharding::Split && to == preferredSharding(value, {}) ? bytes : INFINITY;
  case Sharding::Split:
    if (to.kind == Sharding::Replicated)
      return bytes;
    return to.kind == Sharding::Split ? bytes / options.devices : INFINITY;
  }
  return INFINITY;
}

double Partitioner::cost(Operation *op, const Rule &rule) {
  double sum = 0;
  for (auto [operand, sharding] : llvm::zip(op->getOperands(), rule.operands))
    sum += cost(operand, sharding, isBackward(op));
  // A sum that nobody had to finish before.
  bool partial = llvm::any_of(rule.operands, [](Sharding s) { return s.kind == Sharding::Partial; });
  for (auto [result, sharding] : llvm::zip(op->getResults(), rule.results))
    if (sharding.kind == Sharding::Partial && !partial)
      sum += (options.sequence ? 1 : 2) * bytesOfType(result.getType());
  return sum;
}

/// A table is split by rows, as a vocabulary is (Shoeybi et al., 2019, section 3); by columns if its rows cannot be
/// divided and nothing but lookups reads it: a product with a table split by columns ends in a sum over all its rows.
bool Partitioner::splitsTable(Operation *op, const Rule &rule) {
  Value table = op->getOperand(1);
  if (rule.operands[1].kind != Sharding::Split || rule.operands[1].dimension == 0)
    return true;
  return !divisible(table.getType(), 0, options.devices) && lookedUp.contains(shardedValues[table].parameter);
}

/// What counts before the cost, the least first. Weights are split where they can be: row parallel if the operand comes
/// split that way (0), else column parallel (1). Gradients come out as their parameters are held.
int Partitioner::rank(Operation *op, const Rule &rule) {
  bool lookup = isa<dnn::EmbeddingOp, dnn::EmbeddingBagOp>(op);
  auto work = dyn_cast<WorkOpInterface>(op);
  bool weighs = lookup || (work && work.isContraction());
  bool splits = false, undecided = false, asItComes = false, exchanges = false;
  for (auto [operand, sharding] : llvm::zip(op->getOperands(), rule.operands)) {
    const ShardedValue &from = shardedValues[operand];
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    bool split = sharding.kind == Sharding::Split;
    if (!from.parameter) {
      asItComes |= split && from.sharding == sharding;
      // A part of slots that all devices have is that of some experts: nothing travels for it.
      bool atHand = isa<dnn::MoeExpertsOp>(op) && from.sharding.kind == Sharding::Replicated;
      exchanges |= split && !atHand && !(from.sharding == sharding);
    } else if (type && type.getRank() >= 2 && !parameters[from.parameter].sharding) {
      undecided = true;
      splits |= split;
    }
  }
  if (weighs && undecided) {
    if (lookup && !splitsTable(op, rule))
      return 3;
    if (!splits || exchanges)
      return 2;
    return asItComes ? 0 : 1;
  }
  for (auto [result, sharding] : llvm::zip(op->getResults(), rule.results))
    if (StringAttr name = gradients.lookup(result)) {
      std::optional<Sharding> wanted = parameters[name].sharding;
      if (wanted && wanted->kind == Sharding::Split && !(sharding == *wanted))
        return 1;
    }
  return 0;
}

const Rule &Partitioner::choose(Operation *op, ArrayRef<Rule> rules) {
  const Rule *best = nullptr;
  std::pair<int, double> min;
  for (const Rule &rule : rules) {
    std::pair<int, double> here{rank(op, rule), cost(op, rule)};
    if (!best || here < min) {
      best = &rule;
      min = here;
    }
  }
  return *best;
}

// ---- reads and gradients of parameters

void Partitioner::read(dnn::ReadOp op, OpBuilder &to) {
  StringAttr name = op.getParameterAttr().getAttr();
  auto made = cast<dnn::ReadOp>(to.clone(*op.getOperation()));
  Parameter &parameter = parameters[name];
  if (parameter.sharding)
    made.getResult().setType(cast<RankedTensorType>(localType(op.getType(), *parameter.sharding, options.devices)));
  else
    parameter.reads.push_back(made);
  shardedValues[op.getResult()] = {made.getResult(), Sharding(), name};
}

void Partitioner::decide(StringAttr name, Sharding sharding) {
  Parameter &parameter = parameters[name];
  if (parameter.sharding)
    return;
  if (sharding.kind != Sharding::Split)
    sharding = Sharding();
  parameter.sharding = sharding;
  for (dnn::ReadOp read : parameter.reads)
    read.getResult().setType(cast<RankedTensorType>(localType(read.getType(), sharding, options.devices)));
}

void Partitioner::gradient(dnn::GradientOp op, OpBuilder &to) {
  StringAttr name = op.getParameterAttr().getAttr();
  decide(name, Sharding());
  IRMapping mapping;
  mapping.map(op.getValue(), as(op.getValue(), *parameters[name].sharding, to, true));
  to.clone(*op.getOperation(), mapping);
}

void Partitioner::define(Value old, Value value, Sharding sharding) { shardedValues[old] = {value, sharding, {}}; }

// ---- repeats

/// One copy of the body for carried values that are held as stated. Where a carried value starts as zero it takes on
/// what the first iteration makes of it, and the caller tries again.
std::unique_ptr<Block> Partitioner::body(dnn::RepeatOp op, MutableArrayRef<Sharding> carried,
                                         SmallVectorImpl<Sharding> &stashed) {
  auto made = std::make_unique<Block>();
  OpBuilder to(graph.getContext());
  to.setInsertionPointToEnd(made.get());
  for (auto [argument, sharding] : llvm::zip(op.getCarriedArguments(), carried))
    define(argument, made->addArgument(localType(argument.getType(), sharding, options.devices), argument.getLoc()),
           sharding);
  for (auto [argument, stash] : llvm::zip(op.getUnstashedArguments(), op.getUnstashed())) {
    Sharding sharding = shardedValues[stash].sharding;
    define(argument, made->addArgument(localType(argument.getType(), sharding, options.devices), argument.getLoc()),
           sharding);
  }
  conversions.emplace_back();
  block(op.getBlock(), to);
  dnn::YieldOp yield = op.getYield();
  bool backward = isBackward(op), again = false;
  SmallVector<Value> yielded, slices;
  for (auto [value, sharding] : llvm::zip(yield.getCarried(), carried)) {
    Sharding found = shardedValues[value].sharding;
    if (sharding.kind == Sharding::Zero && found.kind != Sharding::Zero) {
      sharding = found;
      again = true;
    } else if (sharding.kind == Sharding::Partial && found.kind != Sharding::Partial && found.kind != Sharding::Zero) {
      sharding = preferredSharding(value, found); // nothing becomes a partial sum again
      again = true;
    } else if (!again) {
      yielded.push_back(as(value, sharding, to, backward));
    }
  }
  stashed.clear();
  for (Value value : yield.getStashed()) {
    Sharding sharding = shardedValues[value].sharding;
    // The gradient of a mixture of experts is linear in the experts' rows: their sum is not needed. What an inner
    // repeat has stashed stays as it is: its slices are converted where they are read.
    bool summand = sharding.kind == Sharding::Partial && value.getDefiningOp<dnn::MoeExpertsOp>();
    bool stack = isa<dnn::StashType>(value.getType());
    if (!summand && !stack && (sharding.kind == Sharding::Partial || sharding.kind == Sharding::Zero))
      sharding = preferredSharding(value, {});
    Sharding whole;
    if (options.keepGathered && sharding.kind == Sharding::Split &&
        known({value, {whole.kind, whole.dimension, false}}))
      sharding = whole;
    stashed.push_back(sharding);
    if (!again)
      slices.push_back(as(value, sharding, to, backward));
  }
  conversions.pop_back();
  if (!again) {
    auto end = dnn::YieldOp::create(to, yield.getLoc(), yielded, slices);
    end->setDiscardableAttrs(yield->getDiscardableAttrDictionary());
    return made;
  }
  made->walk([&](dnn::ReadOp read) { llvm::erase(parameters[read.getParameterAttr().getAttr()].reads, read); });
  made->dropAllReferences();
  discardedBlocks.push_back(std::move(made));
  return nullptr;
}

void Partitioner::repeat(dnn::RepeatOp op, OpBuilder &to) {
  bool backward = isBackward(op);
  SmallVector<Sharding> carried, stashed;
  for (Value init : op.getInits()) {
    Sharding now = shardedValues[init].sharding;
    carried.push_back(now.kind == Sharding::Zero ? now : preferredSharding(init, now));
  }
  std::unique_ptr<Block> made;
  while (!made)
    made = body(op, carried, stashed);
  SmallVector<Value> inits, unstashed;
  for (auto [init, sharding] : llvm::zip(op.getInits(), carried))
    inits.push_back(as(init, sharding, to, backward));
  for (Value stash : op.getUnstashed())
    unstashed.push_back(shardedValues[stash].value);
  SmallVector<Type> types;
  for (auto [stash, sharding] : llvm::zip(op.getStashed(), stashed))
    types.push_back(localType(stash.getType(), sharding, options.devices));
  dnn::RepeatOp copy = op.like(to, inits, unstashed, types);
  copy.getBody().getBlocks().clear();
  copy.getBody().push_back(made.release());
  for (auto [old, result, sharding] : llvm::zip(op.getCarried(), copy.getCarried(), carried))
    define(old, result, sharding);
  for (auto [old, result, sharding] : llvm::zip(op.getStashed(), copy.getStashed(), stashed))
    define(old, result, sharding);
}

// ---- from one sharding to another

template <typename OpTy, typename... Args>
OpTy Partitioner::create(OpBuilder &to, Location location, const Twine &name, dnn::Phase phase, Args &&...args) {
  auto op = OpTy::create(to, location, std::forward<Args>(args)...);
  names.setName(op, name.str(), phase);
  return op;
}

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
  bool backward = isBackward(op);
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
      domain[rule.iterator] /= options.devices;
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
  bool biased = (isa<dnn::LinearOp>(op) || isConvolution(op)) && op->getNumOperands() == 3;
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
    SmallVector<int64_t> dims(after + 1, 1); // [o, 1, 1] over [n, o, p, q]
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

// ---- at the end

void Partitioner::finish() {
  for (auto &[name, parameter] : parameters) {
    Sharding sharding = parameter.sharding.value_or(Sharding());
    dnn::ParameterOp op = parameter.op;
    if (sharding.kind != Sharding::Split) {
      if (op.getTensorType().getRank() >= 2)
        unshardedParameters.push_back(op);
      continue;
    }
    shardParameter(graph, op, sharding.dimension, options.axis, options.devices);
  }
}

} // namespace accord::shard
