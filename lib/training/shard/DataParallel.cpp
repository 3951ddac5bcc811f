#include "lib/training/shard/DataParallel.h"
#include "lib/training/shard/Axes.h"
#include "lib/training/shard/ExpertParallel.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accord::shard {
namespace {

bool isLookup(Operation *op) { return isa<dnn::EmbeddingOp, dnn::EmbeddingBagOp>(op); }
bool isLookupGradient(Operation *op) { return isa<dnn::EmbeddingGradOp, dnn::EmbeddingBagGradOp>(op); }
RankedTensorType withShape(RankedTensorType type, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
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
