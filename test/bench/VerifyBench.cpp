// The verifiers of a large module: transformer layers one after the other, unrolled.
#include "dialects/Register.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <benchmark/benchmark.h>
#include <fmt/format.h>

using namespace accord;

namespace {
constexpr int64_t kPerLayer = 12;

std::string layers(int64_t operations) {
  std::string text = "dnn.model @deep (%h0: tensor<?x8x16xf32>, %y: tensor<?x8x16xf32>, "
                     "%scale: tensor<16xf32>, %w: tensor<16x16xf32>, %wide: tensor<64x16xf32>, "
                     "%narrow: tensor<16x64xf32>) {\n";
  std::string x = "tensor<?x8x16xf32>", s = "tensor<?x8x8xf32>", z = "tensor<?x8x64xf32>";
  std::string norm = fmt::format("({0}, tensor<16xf32>, tensor<16xf32>) -> {0}", x);
  int64_t n = operations / kPerLayer;
  for (int64_t i = 0; i < n; ++i) {
    auto line = [&](const std::string &line) { text += "  " + line + "\n"; };
    line(fmt::format("%a{0} = dnn.layer_norm %h{0}, %scale, %scale : {1}", i, norm));
    line(fmt::format("%q{0} = dnn.linear %a{0}, %w : ({1}, tensor<16x16xf32>) -> {1}", i, x));
    line(fmt::format("%s{0} = dnn.matmul %q{0}, %a{0} {{transpose_b = true}} : ({1}, {1}) -> {2}", i, x, s));
    line(fmt::format("%p{0} = dnn.softmax %s{0} : ({1}) -> {1}", i, s));
    line(fmt::format("%v{0} = dnn.matmul %p{0}, %a{0} : ({1}, {2}) -> {2}", i, s, x));
    line(fmt::format("%o{0} = dnn.linear %v{0}, %w : ({1}, tensor<16x16xf32>) -> {1}", i, x));
    line(fmt::format("%r{0} = dnn.add %o{0}, %h{0} : ({1}, {1}) -> {1}", i, x));
    line(fmt::format("%b{0} = dnn.layer_norm %r{0}, %scale, %scale : {1}", i, norm));
    line(fmt::format("%f{0} = dnn.linear %b{0}, %wide : ({1}, tensor<64x16xf32>) -> {2}", i, x, z));
    line(fmt::format("%g{0} = dnn.gelu %f{0} : ({1}) -> {1}", i, z));
    line(fmt::format("%d{0} = dnn.linear %g{0}, %narrow : ({1}, tensor<16x64xf32>) -> {2}", i, z, x));
    line(fmt::format("%h{2} = dnn.add %d{0}, %r{0} : ({1}, {1}) -> {1}", i, x, i + 1));
  }
  return text + fmt::format("  %l = dnn.mse %h{0}, %y : ({1}, {1}) -> tensor<f32>\n"
                            "  dnn.loss %l : tensor<f32>\n}}\n",
                            n, x);
}

mlir::OwningOpRef<mlir::ModuleOp> read(mlir::MLIRContext &context, const std::string &text) {
  return mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context, /*verifyAfterParse=*/false));
}
} // namespace

static void BM_ReadOperations(benchmark::State &state) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  std::string text = layers(state.range(0));
  for (auto _ : state) {
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    if (!read(context, text))
      return state.SkipWithError("the generated module does not parse");
  }
}
BENCHMARK(BM_ReadOperations)->Arg(2000)->Arg(200000)->Unit(benchmark::kMillisecond);

static void BM_VerifyOperations(benchmark::State &state) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = read(context, layers(state.range(0)));
  for (auto _ : state)
    if (!module || mlir::failed(mlir::verify(*module)))
      return state.SkipWithError("the generated module is wrong");
}
BENCHMARK(BM_VerifyOperations)->Arg(2000)->Arg(200000)->Unit(benchmark::kMillisecond);
