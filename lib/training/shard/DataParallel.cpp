#include "lib/training/shard/DataParallel.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accord::shard {
namespace {

bool isLookup(Operation *op) { return isa<dnn::EmbeddingOp, dnn::EmbeddingBagOp>(op); }
bool isLookupGradient(Operation *op) { return isa<dnn::EmbeddingGradOp, dnn::EmbeddingBagGradOp>(op); }
RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}

// ---- experts

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

/// The weights of `dnn.moe_experts` are divided along the experts among the devices of the axis. Every device routes
/// its own samples; the slots travel to the device that has their expert, and the rows come back, forward and backward
/// (Lepikhin et al., GShard, 2020, section 3.2).
class ExpertParallel {
public:
  ExpertParallel(dnn::TrainingGraphOp graph, llvm::StringRef axis, int64_t devices, Names &names)
      : graph(graph), axis(axis), devices(devices), names(names) {}
  void run();
  /// Parameters of which each device has now a part: their gradients take the samples of all devices into account.
  const llvm::DenseSet<mlir::StringAttr> &divided() const { return parts; }
  /// Weights of experts that the devices cannot divide, and so stay whole.
  llvm::ArrayRef<dnn::ParameterOp> whole() const { return unshardedParameters; }

private:
  void find();
  void forward(dnn::MoeExpertsOp op);
  void backward(dnn::MoeExpertsGradOp op);
  mlir::RankedTensorType allToAllType(mlir::RankedTensorType type) const;
  mlir::Value toExperts(mlir::Value slots, const llvm::Twine &name, mlir::OpBuilder &to);
  void fromExperts(mlir::Value rows, const llvm::Twine &name, mlir::OpBuilder &to);

  dnn::TrainingGraphOp graph;
  std::string axis;
  int64_t devices;
  Names &names;
  llvm::DenseSet<mlir::StringAttr> parts;
  llvm::DenseSet<mlir::Operation *> operations; ///< of the experts that are divided
  llvm::SmallVector<dnn::ParameterOp> unshardedParameters;
};

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
      read.getResult().setType(withShape(read.getType(), typeOf(read.getParameterAttr()).getShape()));
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
      retypeSlices(sent, sent.getType());
    }
  }
  retypeSlices(op.getSaved(), allToAllType(op.getSaved().getType()));
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
  for (auto [gradient, weight] :
       {std::pair(op.getDw1(), op.getW1()), std::pair(op.getDw2(), op.getW2()), std::pair(op.getDw3(), op.getW3())})
    if (gradient)
      gradient.setType(withShape(gradient.getType(), weight.getType().getShape()));
}

} // namespace

DataParallel::DataParallel(dnn::TrainingGraphOp graph, const DataParallelOptions &options)
    : graph(graph), options(options) {
  graph.walk([&](Operation *op) { names.reserve(dnn::nameOf(op)); });
}

LogicalResult DataParallel::run() {
  if (failed(addAxis(graph, options.axis, options.devices)))
    return failure();
  OpBuilder builder(graph.getContext());
  SmallVector<Attribute> shares;
  if (auto given = graph->getAttrOfType<ArrayAttr>(dnn::DnnDialect::kBatchAxesAttr))
    llvm::append_range(shares, given);
  shares.push_back(builder.getStringAttr(options.axis));
  graph->setAttr(dnn::DnnDialect::kBatchAxesAttr, builder.getArrayAttr(shares));

  if (options.tables != TableSplit::None) {
    // A table is divided if nothing but lookups of samples reads it and nothing else feeds its gradient.
    llvm::MapVector<StringAttr, bool> tables;
    graph.walk([&](dnn::ReadOp read) {
      bool &only = tables.try_emplace(read.getParameterAttr().getAttr(), true).first->second;
      for (OpOperand &use : read.getResult().getUses()) {
        auto ids = dyn_cast<RankedTensorType>(use.getOwner()->getOperand(0).getType());
        only &= isLookup(use.getOwner()) && use.getOperandNumber() == 1 && dnn::batchRank(ids);
      }
    });
    graph.walk([&](dnn::GradientOp sink) {
      for (Value value : addends(sink))
        if (Operation *maker = value.getDefiningOp();
            !maker || (!isLookupGradient(maker) && !isa<dnn::AddOp, dnn::JoinRowsOp>(maker)))
          tables[sink.getParameterAttr().getAttr()] = false;
    });
    for (auto parameter : graph.getParameters())
      if (tables.lookup(parameter.getSymNameAttr()))
        divide(parameter);
    SmallVector<Operation *> lookups, gradients;
    graph.walk([&](dnn::ReadOp read) {
      if (divided.contains(read.getParameterAttr().getAttr()))
        llvm::append_range(lookups, read->getUsers());
    });
    graph.walk([&](dnn::GradientOp sink) {
      StringAttr name = sink.getParameterAttr().getAttr();
      if (!divided.contains(name))
        return;
      auto table = cast<dnn::ParameterOp>(SymbolTable::lookupSymbolIn(graph, name));
      for (Value value : addends(sink)) {
        dnn::RowsAttr rows = dnn::rowsOf(value.getType());
        RankedTensorType whole = table.getTensorType();
        if (rows) // of the ids of all devices
          whole =
              RankedTensorType::get(whole.getShape(), whole.getElementType(), dnn::timesRows(rows, options.devices));
        value.setType(whole);
        if (isLookupGradient(value.getDefiningOp()))
          gradients.push_back(value.getDefiningOp());
      }
    });
    for (Operation *op : lookups)
      lookUp(op);
    for (Operation *op : gradients)
      lookUpGradient(op);
  }

  if (options.experts == ExpertSplit::Divided) {
    ExpertParallel experts(graph, options.axis, options.devices, names);
    experts.run();
    divided.insert(experts.divided().begin(), experts.divided().end());
    llvm::append_range(unshardedParameters, experts.whole());
  }

  // Which elements are dropped depends on where in the whole batch a sample is.
  graph.walk([&](dnn::DropoutOp dropout) {
    if (dnn::batchRank(dropout.getX().getType()))
      dropout->setAttr(dnn::DnnDialect::kPartsAttr, appendPart(dropout, options.axis, 0, options.devices));
  });
  for (auto update : llvm::make_early_inc_range(graph.getOptimizerStep().getBlock().getOps<dnn::UpdateOp>())) {
    builder.setInsertionPoint(update);
    bool local = divided.contains(update.getParameterAttr().getAttr());
    dnn::RowsAttr rows = update.getRowsAttr();
    if (rows) // every device updates with the rows of all
      update.setRowsAttr(dnn::timesRows(rows, options.devices));
    if (rows && local) // which were gathered in each micro-batch
      rows = update.getRowsAttr();
    auto reduce = dnn::GradientAllReduceOp::create(
        builder, update.getLoc(), update.getParameterAttr(), update.getTypeAttr(), update.getCopiesAttr(),
        builder.getStringAttr(options.axis), builder.getI64IntegerAttr(options.devices), update.getPrecisionAttr(),
        local ? builder.getUnitAttr() : UnitAttr(), rows);
    names.setName(reduce, (update.getParameter() + ".gradient.all_reduce").str(),
                  local ? dnn::Phase::Update : dnn::Phase::Communication);
  }
  return success();
}

void DataParallel::divide(dnn::ParameterOp table) {
  int64_t dimension = options.tables == TableSplit::Rows ? 0 : 1;
  if (table.getTensorType().getRank() != 2 || !divisible(table.getTensorType(), dimension, options.devices)) {
    unshardedParameters.push_back(table);
    return;
  }
  divided.insert(table.getSymNameAttr());
  shardParameter(graph, table, dimension, options.axis, options.devices);
  graph.walk([&](dnn::ReadOp read) {
    if (read.getParameterAttr().getAttr() == table.getSymNameAttr())
      read.getResult().setType(table.getTensorType());
  });
}

Value DataParallel::nameCollective(Operation *collective, const Twine &name) {
  names.setName(collective, name.str(), dnn::Phase::Communication);
  return collective->getResult(0);
}

/// What all replicas have of a value with a batch: [batch, ..] -> [batch, devices, ..].
Value DataParallel::gather(Value value, const Twine &name, OpBuilder &to) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 1, options.devices);
  return nameCollective(dnn::AllGatherOp::create(to, value.getLoc(), withShape(type, shape), value,
                                                 to.getStringAttr(options.axis), to.getI64IntegerAttr(options.devices),
                                                 to.getI64IntegerAttr(1), to.getUnitAttr()),
                        name + ".all_gather");
}

Value DataParallel::gatherIds(Value ids, const Twine &name, OpBuilder &to) {
  Value &known = gathered[ids];
  if (!known || known.getParentBlock() != to.getInsertionBlock() ||
      !known.getDefiningOp()->isBeforeInBlock(&*to.getInsertionPoint()))
    known = gather(ids, name, to);
  return known;
}

void DataParallel::lookUp(Operation *op) {
  OpBuilder to(op);
  std::string name = dnn::nameOf(op).str();
  auto axis = to.getStringAttr(options.axis);
  auto devices = to.getI64IntegerAttr(options.devices);
  op->setOperand(0, gatherIds(op->getOperand(0), name + ".ids", to));
  Value y = op->getResult(0);
  auto type = cast<RankedTensorType>(y.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 1, options.devices);
  bool rows = options.tables == TableSplit::Rows;
  if (!rows)
    shape.back() /= options.devices;
  y.setType(withShape(type, shape));
  to.setInsertionPointAfter(op);
  Operation *made;
  if (rows) {
    op->setAttr(dnn::DnnDialect::kPartsAttr, appendPart(op, options.axis, 0, options.devices));
    made = dnn::ReduceScatterOp::create(to, op->getLoc(), type, y, axis, devices, to.getI64IntegerAttr(1),
                                        to.getUnitAttr());
    nameCollective(made, name + ".reduce_scatter");
  } else {
    made = dnn::AllToAllOp::create(to, op->getLoc(), type, y, axis, devices, to.getI64IntegerAttr(1),
                                   to.getI64IntegerAttr(type.getRank() - 1), to.getUnitAttr(), UnitAttr());
    nameCollective(made, name + ".all_to_all");
  }
  y.replaceAllUsesExcept(made->getResult(0), made);
}

void DataParallel::lookUpGradient(Operation *op) {
  OpBuilder to(op);
  std::string name = dnn::nameOf(op).str();
  Value dy = op->getOperand(0);
  auto type = cast<RankedTensorType>(dy.getType());
  bool rows = options.tables == TableSplit::Rows;
  if (rows) {
    op->setOperand(0, gather(dy, name, to));
    op->setAttr(dnn::DnnDialect::kPartsAttr, appendPart(op, options.axis, 0, options.devices));
  } else {
    SmallVector<int64_t> shape(type.getShape());
    shape.back() /= options.devices;
    shape.insert(shape.begin() + 1, options.devices);
    op->setOperand(
        0, nameCollective(dnn::AllToAllOp::create(to, op->getLoc(), withShape(type, shape), dy,
                                                  to.getStringAttr(options.axis), to.getI64IntegerAttr(options.devices),
                                                  to.getI64IntegerAttr(type.getRank() - 1), to.getI64IntegerAttr(1),
                                                  UnitAttr(), to.getUnitAttr()),
                          name + ".all_to_all"));
  }
  op->setOperand(1, gatherIds(op->getOperand(1), name + ".ids", to));
}

} // namespace accord::shard
