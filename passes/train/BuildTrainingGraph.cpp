// The pass: forward, both gradients and the update of a model.
#include "dialects/dnn/Dnn.h"
#include "dialects/interfaces/Note.h"
#include "lib/compilation/TrainingGraphs.h"
#include "lib/support/EmitError.h"
#include "lib/training/differentiate/Differentiator.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/train/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accord {
namespace {

struct TrainingSettings {
  std::optional<dnn::OptimizerKind> optimizer;
  dnn::PrecisionAttr precision;
};

/// "sgd", "momentum", "adam", "adamw"; nullopt otherwise.
std::optional<dnn::OptimizerKind> optimizerFrom(StringRef text) {
  auto kind = dnn::symbolizeOptimizerKind(text);
  return kind == dnn::OptimizerKind::RowwiseAdagrad ? std::nullopt : kind; // of tables alone
}

Type formatFrom(StringRef text, MLIRContext *context) {
  text = text.trim();
  text.consume_front("f") && text.consume_front("p"); // fp32 and f32
  if (text == "32")
    return Float32Type::get(context);
  if (text == "16")
    return Float16Type::get(context);
  if (text == "64")
    return Float64Type::get(context);
  if (text == "bf16")
    return BFloat16Type::get(context);
  if (text == "tf32")
    return FloatTF32Type::get(context);
  return {};
}

/// "fp32", "bf16", "fp16", "tf32", "fp64" (also f32, …), "mixed(bf16)", "mixed(bf16, gradients = fp32)"; null
/// otherwise.
dnn::PrecisionAttr precisionFrom(StringRef text, MLIRContext *context) {
  text = text.trim();
  if (!text.consume_front("mixed")) {
    Type element = formatFrom(text, context);
    return element ? dnn::PrecisionAttr::get(context, false, element) : dnn::PrecisionAttr();
  }
  text = text.trim();
  if (!text.consume_front("(") || !text.consume_back(")"))
    return {};
  auto [format, rest] = text.split(',');
  Type element = formatFrom(format, context), gradients = element;
  if (!rest.empty()) {
    auto [key, value] = rest.split('=');
    gradients = key.trim() == "gradients" ? formatFrom(value, context) : Type();
  }
  return element && gradients ? dnn::PrecisionAttr::get(context, true, element, gradients) : dnn::PrecisionAttr();
}

/// The `dnn.train` that names the model, else the model's own attributes, fill what `given` leaves open. Two trains
/// that disagree and a model without a setting are errors.
FailureOr<TrainingSettings> settingsFor(dnn::ModelOp model, ModuleOp module, TrainingSettings given) {
  dnn::TrainOp first;
  for (auto train : module.getOps<dnn::TrainOp>()) {
    if (train.getModel() != model.getSymName())
      continue;
    if (first && (!given.optimizer || !given.precision) &&
        (first.getOptimizer() != train.getOptimizer() || first.getPrecisionAttr() != train.getPrecisionAttr()))
      return train.emitError() << "'" << train.getSymName() << "' trains model '" << model.getSymName()
                               << "' with other settings than '" << first.getSymName() << "'"
                               << note(first.getLoc(), "the other training");
    if (!first)
      first = train;
  }
  auto fillFrom = [&](auto op) {
    if (!given.optimizer)
      given.optimizer = op.getOptimizer();
    if (!given.precision)
      given.precision = op.getPrecisionAttr();
  };
  if (first)
    fillFrom(first);
  fillFrom(model);
  if (!given.optimizer)
    return model.emitError() << "nothing says which optimizer trains model '" << model.getSymName() << "'";
  if (!given.precision)
    return model.emitError() << "nothing says in which precision model '" << model.getSymName() << "' is trained";
  return given;
}

} // namespace

#define GEN_PASS_DEF_BUILDTRAININGGRAPH
#include "passes/train/Passes.h.inc"

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
  for (auto parameter : graph.getParameters()) {
    dnn::OptimizerKindAttr optimizer = graph.getOptimizerAttr();
    if (StringAttr own = tables.lookup(parameter.getSymNameAttr()))
      optimizer = dnn::OptimizerKindAttr::get(graph.getContext(), *dnn::symbolizeOptimizerKind(own.getValue()));
    auto update = dnn::UpdateOp::create(builder, parameter.getLoc(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                                        parameter.getTypeAttr(), parameter.getCopiesAttr(), optimizer,
                                        graph.getPrecisionAttr(), rows.lookup(parameter.getSymNameAttr()));
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

LogicalResult buildTrainingGraph(dnn::ModelOp model, const TrainingSettings &settings) {
  SparseTables tables;
  if (failed(findSparse(model, tables)))
    return failure();
  OpBuilder builder(model);
  auto graph = dnn::TrainingGraphOp::create(builder, model.getLoc(), model.getSymName(), settings.precision,
                                            dnn::OptimizerKindAttr::get(model.getContext(), *settings.optimizer));
  if (model.getInputNamesAttr())
    graph.setInputNamesAttr(model.getInputNamesAttr());
  if (Attribute policy = model->getAttr(kRecomputePolicy))
    graph->setAttr(kRecomputePolicy, policy);
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
  if (failed(Differentiator(body, names).run()) || failed(checkReached(graph)))
    return failure();
  addUpdates(graph, step.getBlock(), names, tables);
  return success();
}

struct BuildTrainingGraph : impl::BuildTrainingGraphBase<BuildTrainingGraph> {
  using BuildTrainingGraphBase::BuildTrainingGraphBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    TrainingSettings given;
    if (!optimizer.empty() && !(given.optimizer = optimizerFrom(optimizer))) {
      module.emitError() << "there is no optimizer '" << optimizer << "'; there are sgd, momentum, adam and adamw";
      return signalPassFailure();
    }
    if (!precision.empty() && !(given.precision = precisionFrom(precision, &getContext()))) {
      module.emitError() << "there is no precision '" << precision
                         << "'; there are fp32, bf16, fp16, tf32, fp64 and mixed(bf16)";
      return signalPassFailure();
    }
    for (auto model : llvm::make_early_inc_range(module.getOps<dnn::ModelOp>())) {
      FailureOr<TrainingSettings> settings = settingsFor(model, module, given);
      if (failed(settings) || failed(buildTrainingGraph(model, *settings)))
        return signalPassFailure();
    }
  }
};

} // namespace

} // namespace accord
