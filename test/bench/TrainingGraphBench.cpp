// From text to training graph: every network of the catalogue, and a flat graph of 100,000
// operations.
#include "dialects/Register.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/train/Passes.h"
#include "test/support/SourcePath.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <benchmark/benchmark.h>
#include <fmt/format.h>

using namespace accord;

namespace {

mlir::DialectRegistry &dialects() {
  static mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry all;
    registerAllDialects(all);
    return all;
  }();
  return registry;
}

bool differentiate(mlir::ModuleOp module, mlir::MLIRContext &context) {
  mlir::PassManager passes(&context);
  BuildTrainingGraphOptions options;
  options.optimizer = "adam";
  options.precision = "bf16";
  passes.addPass(createBuildTrainingGraph(options));
  return mlir::succeeded(passes.run(module));
}

/// Reads, elaborates and differentiates one file; the operations of the graph are a counter.
void network(benchmark::State &state, const std::string &path, const std::string &model) {
  mlir::MLIRContext context(dialects(), mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  int64_t operations = 0;
  for (auto _ : state) {
    SourceManager sources;
    Diagnostics diags(sources);
    ElaborateOptions options;
    options.catalog = accord::sourcePath("lib/catalog");
    options.train = model;
    options.batch = "8", options.precision = "bf16", options.optimizer = "adam";
    Program program(diags, context, path, options);
    auto job = diags.hasErrors() ? std::nullopt : program.job();
    if (!job || !program.model(*job) || !differentiate(program.module(), context))
      return state.SkipWithError("the model cannot be trained");
    operations = 0;
    program.module().walk([&](mlir::Operation *) { ++operations; });
  }
  state.counters["operations"] = static_cast<double>(operations);
}

void flat(benchmark::State &state) {
  std::string type = "tensor<?x64xf32>", text = "dnn.model @flat (%v0: tensor<?x64xf32>) {\n"
                                                "  dnn.parameter @w : tensor<64xf32>\n"
                                                "  %w = dnn.read @w : tensor<64xf32>\n";
  int64_t n = state.range(0) / 2; // as many again in the backward pass
  for (int64_t i = 0; i < n; ++i)
    text += i % 2 ? fmt::format("  %v{0} = dnn.tanh %v{1} : ({2}) -> {2}\n", i + 1, i, type)
                  : fmt::format("  %v{0} = dnn.mul %v{1}, %w : ({2}, tensor<64xf32>) -> {2}\n", i + 1, i, type);
  text += fmt::format("  %l = dnn.mse %v{0}, %v0 : ({1}, {1}) -> tensor<f32>\n"
                      "  dnn.loss %l : tensor<f32>\n}}\n",
                      n, type);
  for (auto _ : state) {
    state.PauseTiming();
    mlir::MLIRContext context(dialects(), mlir::MLIRContext::Threading::DISABLED);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    state.ResumeTiming();
    if (!module || !differentiate(*module, context))
      return state.SkipWithError("the generated model is wrong");
    state.PauseTiming();
    module = {};
    state.ResumeTiming();
  }
}
BENCHMARK(flat)->Name("BM_DifferentiateFlat")->Arg(100000)->Unit(benchmark::kMillisecond);

const bool registered = [] {
  std::error_code error;
  std::vector<std::string> files;
  for (llvm::sys::fs::directory_iterator it(accord::sourcePath("lib/catalog"), error), end; it != end && !error;
       it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".dnn"))
      files.push_back(it->path());
  std::sort(files.begin(), files.end());
  for (const std::string &file : files) {
    auto text = llvm::MemoryBuffer::getFile(file);
    llvm::StringRef rest = text ? (*text)->getBuffer() : "";
    for (llvm::StringRef line; !rest.empty();) {
      std::tie(line, rest) = rest.split('\n');
      if (!line.consume_front("model "))
        continue;
      std::string model = line.take_until([](char c) { return c == '(' || c == ' '; }).str();
      benchmark::RegisterBenchmark(("BM_Network/" + model).c_str(), [file, model](benchmark::State &state) {
        network(state, file, model);
      })->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

} // namespace
