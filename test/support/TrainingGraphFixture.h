// The training graph of a model written in `.dnn`, for tests that run it.
#pragma once
#include "dialects/Register.h"
#include "lib/language/program/Elaborate.h"
#include "lib/training/interpret/Interpreter.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/train/Passes.h"
#include "test/support/SourcePath.h"
#include <gtest/gtest.h>

namespace accord {

/// Elaborates a file with one `train` and runs build-training-graph, in fp32 with sgd unless told
/// otherwise, after one pass or two on the model if they are given. A text that does not compile
/// fails the test and leaves `graph` null.
struct TrainingGraph {
  explicit TrainingGraph(const char *text, BuildTrainingGraphOptions training = {"sgd", "fp32"},
                         std::unique_ptr<mlir::Pass> onModel = nullptr, std::unique_ptr<mlir::Pass> then = nullptr)
      : context(registry(), mlir::MLIRContext::Threading::DISABLED), diags(sources) {
    context.loadAllAvailableDialects();
    sources.add("model.dnn", text);
    ElaborateOptions options;
    options.ideal = true; // what a formula of the data sheet gives
    options.catalog = accord::sourcePath("lib/catalog");
    program = std::make_unique<Program>(diags, context, "model.dnn", options);
    auto job = program->job();
    if (!job || !program->model(*job)) {
      ADD_FAILURE() << diags.text();
      return;
    }
    batch = job->batch;
    if ((onModel && !run(std::move(onModel))) || (then && !run(std::move(then))))
      return;
    if (run(createBuildTrainingGraph(training)))
      graph = *program->module().getOps<dnn::TrainingGraphOp>().begin();
  }

  bool run(std::unique_ptr<mlir::Pass> pass) {
    mlir::PassManager passes(&context);
    passes.addPass(std::move(pass));
    bool passed = mlir::succeeded(passes.run(program->module()));
    EXPECT_TRUE(passed);
    return passed;
  }

  /// A pass on the training graph; `graph` is what it leaves.
  bool runOnGraph(std::unique_ptr<mlir::Pass> pass) {
    mlir::PassManager passes(&context);
    passes.addNestedPass<dnn::TrainingGraphOp>(std::move(pass));
    bool passed = mlir::succeeded(passes.run(program->module()));
    EXPECT_TRUE(passed);
    return passed;
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  mlir::MLIRContext context;
  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<Program> program;
  int64_t batch = 0;
  dnn::TrainingGraphOp graph;
};

/// Loss and gradients, element by element.
inline void expectSameStep(const interpret::StepResult &found, const interpret::StepResult &expected,
                           double tolerance = 1e-9) {
  EXPECT_NEAR(found.loss, expected.loss, tolerance * (1 + std::abs(expected.loss)));
  ASSERT_EQ(found.gradients.size(), expected.gradients.size());
  for (const auto &[name, copies] : expected.gradients) {
    ASSERT_TRUE(found.gradients.count(name)) << name;
    const interpret::Copies &others = found.gradients.at(name);
    ASSERT_EQ(others.size(), copies.size()) << name;
    for (size_t copy = 0; copy < copies.size(); ++copy) {
      ASSERT_EQ(others[copy].shape, copies[copy].shape) << name;
      double largest = 0;
      for (size_t i = 0; i < copies[copy].data.size(); ++i)
        largest = std::max(largest, std::abs(others[copy].data[i] - copies[copy].data[i]));
      EXPECT_LE(largest, tolerance) << name << "[" << copy << "]";
    }
  }
}

} // namespace accord
