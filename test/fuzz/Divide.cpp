#include "test/fuzz/Divide.h"
#include "lib/training/interpret/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <cmath>
#include <iterator>

namespace accord::fuzz {
namespace {

const char *const kPipelines[] = {
    "shard{devices=2}",
    "shard{devices=4 sequence=true}",
    "shard{devices=2 sequence=true keep-gathered=true}",
    "shard{devices=3}",
    "replicate{devices=2 tables=rows experts=divided}",
    "replicate{devices=4 tables=columns}",
    "shard{devices=2 sequence=true},replicate{devices=2 tables=rows experts=divided}",
    "shard{devices=2},dnn.training_graph(fuse)",
    "dnn.training_graph(fuse)",
    "canonicalize,cse",
};
constexpr double kMaxPoints = 3e5;
constexpr int64_t kBatch = 4;

/// Points of all iterations of all operations: what interpreting takes.
double points(mlir::Block &block) {
  double sum = 0;
  for (mlir::Operation &op : block) {
    if (auto repeat = mlir::dyn_cast<dnn::RepeatOp>(op))
      sum += static_cast<double>(repeat.getCount()) * points(repeat.getBlock());
    else if (auto work = mlir::dyn_cast<WorkOpInterface>(op))
      sum += static_cast<double>(volume(work.getWork().domain, kBatch).value_or(INT64_MAX));
  }
  return sum;
}

bool finite(const interpret::StepResult &result) {
  bool all = std::isfinite(result.loss);
  for (const auto &[name, copies] : result.gradients)
    for (const interpret::Array &copy : copies)
      for (double x : copy.data)
        all &= std::isfinite(x) && std::fabs(x) < 1e6;
  return all;
}

std::string difference(const interpret::StepResult &a, const interpret::StepResult &b) {
  auto differ = [](double x, double y) { return !(std::fabs(x - y) <= 1e-6 * (1 + std::fabs(x) + std::fabs(y))); };
  if (differ(a.loss, b.loss))
    return "the loss changes from " + std::to_string(a.loss) + " to " + std::to_string(b.loss);
  for (const auto &[name, copies] : a.gradients)
    for (size_t copy = 0; copy < copies.size(); ++copy)
      for (size_t i = 0; i < copies[copy].data.size(); ++i)
        if (double x = copies[copy].data[i], y = b.gradients.at(name).at(copy).data.at(i); differ(x, y))
          return "the gradient of '" + name + "' changes from " + std::to_string(x) + " to " + std::to_string(y);
  return {};
}

} // namespace

std::string divided(dnn::TrainingGraphOp graph, uint64_t choice) {
  std::string pipeline = kPipelines[choice % std::size(kPipelines)], message;
  auto own = mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp::create(graph.getLoc()));
  auto copy = mlir::cast<dnn::TrainingGraphOp>(graph->clone());
  own->push_back(copy);
  {
    mlir::ScopedDiagnosticHandler handler(graph.getContext(), [&](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error && message.empty())
        message = d.str();
      return mlir::success();
    });
    mlir::PassManager passes(graph.getContext());
    if (mlir::failed(mlir::parsePassPipeline(pipeline, passes)))
      return "there is no pipeline " + pipeline;
    if (mlir::failed(passes.run(*own)))
      return pipeline + " fails: " + message;
  }
  bool replicas = pipeline.find("replicate") != std::string::npos, ownStatistics = false;
  graph.walk([&](dnn::BatchNormOp) { ownStatistics = true; }); // of each replica's samples
  if ((replicas && ownStatistics) || points(graph.getMicrobatch().getBlock()) > kMaxPoints)
    return {};
  auto inputs = interpret::randomInputs(graph, kBatch, choice);
  if (!inputs)
    return llvm::consumeError(inputs.takeError()), "";
  auto before = interpret::interpret(graph, *inputs);
  if (!before) // what no kernel computes
    return llvm::consumeError(before.takeError()), "";
  if (!finite(*before))
    return {};
  auto after = interpret::interpret(copy, *inputs);
  if (!after)
    return pipeline + " leaves a step that cannot be executed: " + llvm::toString(after.takeError());
  std::string changed = difference(*before, *after);
  return changed.empty() ? changed : pipeline + ": " + changed;
}

} // namespace accord::fuzz
