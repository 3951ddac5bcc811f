#include "lib/training/differentiate/TrainingGraphBuilder.h"
#include "dialects/interfaces/Note.h"
#include "lib/support/EmitError.h"
#include "lib/training/differentiate/Differentiator.h"
#include "lib/training/inference/ForwardGraph.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accord {
namespace {

/// Tables whose lookups ask for sparse gradients, with the optimizers that they name (null: that of the rest). A
/// gradient is sparse if nothing else uses the table, and the lookups are no part of a repeat, where gradients are
/// added up.
using SparseTables = llvm::MapVector<StringAttr, StringAttr>;
LogicalResult findSparse(dnn::ModelOp model, SparseTables &tables) {
  llvm::DenseMap<StringAttr, Operation *> sparse, others;
  bool good = true;
  auto refuse = [&](Operation *lookup) {
    good = false;
    return lookup->emitError();
  };
  model.walk([&](dnn::ReadOp read) {
    StringAttr name = read.getParameterAttr().getAttr();
    for (OpOperand &use : read.getResult().getUses()) {
      Operation *user = use.getOwner();
      auto isSparse = user->getAttrOfType<BoolAttr>("sparse");
      if (!isa<dnn::EmbeddingOp, dnn::EmbeddingBagOp>(user) || !isSparse || !isSparse.getValue()) {
        others.try_emplace(name, user);
        continue;
      }
      sparse.try_emplace(name, user);
      auto optimizer = user->getAttrOfType<StringAttr>("optimizer");
      auto [known, isNew] = tables.try_emplace(name, optimizer);
      if (known->second != optimizer)
        refuse(user) << "table '" << name.getValue() << "' has one optimizer, lookups name two";
      auto ids = cast<RankedTensorType>(user->getOperand(0).getType());
      auto first = cast<RankedTensorType>(sparse[name]->getOperand(0).getType());
      if (ids.getElementType() != first.getElementType())
        refuse(user) << "lookups of table '" << name.getValue()
                     << "' with a sparse gradient have ids of one type, found " << ids.getElementType() << " and "
                     << first.getElementType();
      if (user->getParentOp() != model)
        refuse(user) << "the gradient of table '" << name.getValue()
                     << "' cannot be sparse: a repeat adds up what its iterations give";
    }
  });
  for (auto [name, other] : others)
    if (Operation *lookup = sparse.lookup(name))
      refuse(lookup) << "the gradient of table '" << name.getValue()
                     << "' cannot be sparse: not all of its uses are sparse lookups"
                     << note(other->getLoc(), "this one is not");
  return success(good);
}

void addUpdates(dnn::TrainingGraphOp graph, Block &step, Names &names, const SparseTables &tables) {
  OpBuilder builder = OpBuilder::atBlockEnd(&step);
  llvm::DenseMap<StringAttr, dnn::RowsAttr> rows;
  graph.walk([&](dnn::GradientOp gradient) {
    rows[gradient.getParameterAttr().getAttr()] = dnn::rowsOf(gradient.getValue().getType());
  });
  llvm::DenseMap<StringAttr, TypeAttr> quantized; // by the reads of products
  graph.walk([&](dnn::ReadOp read) {
    if (Type element = read.getType().getElementType(); dnn::isQuantized(element))
      quantized[read.getParameterAttr().getAttr()] = TypeAttr::get(element);
  });
  for (auto parameter : graph.getParameters()) {
    dnn::OptimizerKindAttr optimizer = graph.getOptimizerAttr();
    if (StringAttr own = tables.lookup(parameter.getSymNameAttr()))
      optimizer = dnn::OptimizerKindAttr::get(graph.getContext(), *dnn::symbolizeOptimizerKind(own.getValue()));
    auto update =
        dnn::UpdateOp::create(builder, parameter.getLoc(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                              parameter.getTypeAttr(), parameter.getCopiesAttr(), optimizer, graph.getPrecisionAttr(),
                              rows.lookup(parameter.getSymNameAttr()), quantized.lookup(parameter.getSymNameAttr()));
    names.setName(update, (parameter.getSymName() + ".update").str(), dnn::Phase::Update);
  }
}

/// Every parameter must have got a gradient.
LogicalResult checkReached(dnn::TrainingGraphOp graph) {
  llvm::DenseSet<StringAttr> reached;
  graph.walk([&](dnn::GradientOp gradient) { reached.insert(gradient.getParameterAttr().getAttr()); });
  bool all = true;
  for (auto parameter : graph.getParameters())
    if (!reached.contains(parameter.getSymNameAttr())) {
      accord::emitError(parameter, accord::Code::NoGradient)
          << "parameter '" << parameter.getSymName() << "' does not reach the loss";
      all = false;
    }
  return success(all);
}

} // namespace

FailureOr<dnn::TrainingGraphOp> buildTrainingGraph(dnn::ModelOp model, const TrainingSettings &settings) {
  SparseTables tables;
  std::optional<dnn::ForwardOptions> forward;
  if (*settings.optimizer == dnn::OptimizerKind::None)
    forward = dnn::forwardOptionsOf(model).value_or(dnn::ForwardOptions{});
  if (failed(forward ? makeForward(model, *forward) : findSparse(model, tables)))
    return failure();
  OpBuilder builder(model);
  auto graph = dnn::TrainingGraphOp::create(builder, model.getLoc(), model.getSymName(), settings.precision,
                                            dnn::OptimizerKindAttr::get(model.getContext(), *settings.optimizer));
  if (model.getInputNamesAttr())
    graph.setInputNamesAttr(model.getInputNamesAttr());
  if (forward)
    graph->setAttr(dnn::kForwardOptions, forward->attribute(*model.getContext()));
  builder.setInsertionPointToEnd(&graph.getBlock());
  auto microbatch = dnn::MicrobatchOp::create(builder, model.getLoc());
  auto step = dnn::OptimizerStepOp::create(builder, model.getLoc());

  Block &body = microbatch.getBlock();
  for (BlockArgument input : model.getInputs())
    input.replaceAllUsesWith(body.addArgument(input.getType(), input.getLoc()));
  body.getOperations().splice(body.end(), model.getBlock().getOperations());
  for (auto parameter : llvm::make_early_inc_range(body.getOps<dnn::ParameterOp>()))
    parameter->moveBefore(microbatch);
  model.erase();

  Names names;
  names.nameForward(body);
  if (forward)
    return graph;
  if (failed(Differentiator(body, names).run()) || failed(checkReached(graph)))
    return failure();
  addUpdates(graph, step.getBlock(), names, tables);
  return graph;
}

} // namespace accord
