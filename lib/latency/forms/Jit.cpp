#include "lib/latency/forms/Jit.h"
#include "lib/latency/forms/MlirBody.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <mutex>

namespace accord {

void registerLatencyDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
}

struct LatencyJit::Code {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  int32_t (*one)(const int64_t *, double *) = nullptr;
  void (*many)(int64_t, const void *const *, void *const *) = nullptr;
};

LatencyJit::LatencyJit() = default;
LatencyJit::~LatencyJit() = default;

namespace {

/// Configurations that one pass of the batch function takes at once.
constexpr unsigned kLatencyLanes = 8;

/// `@one(arguments: ptr, results: ptr) -> i32`: 8 bytes per argument of `varying`, three doubles out. `@many(blocks:
/// i64, columns: ptr, results: ptr)`: `columns` points to one pointer per argument of `varying`, `results` to those of
/// step, memory, FLOPs (doubles) and status (i32), all of `blocks` * kLatencyLanes values.
std::string jitText(const LatencyModel &model, const std::vector<size_t> &varying, bool one, bool many) {
  std::string out = "module {\n";
  auto line = [&](const std::string &text) { out += "    " + text + "\n"; };
  auto arguments = [&](const char *prefix) {
    std::vector<std::string> names(model.arguments().size());
    for (size_t k = 0; k < varying.size(); ++k)
      names[varying[k]] = fmt::format("%{}{}", prefix, k);
    return names;
  };
  if (one) {
    MlirBody::picosecondsFunction(model.name + "_ps", out);
    if (model.uses(NodeKind::SquareRoot))
      MlirBody::rootFunction(model.name + "_root", out);
    out += "  func.func @one(%in: !llvm.ptr, %out: !llvm.ptr) -> i32 {\n";
    for (size_t k = 0; k < varying.size(); ++k) {
      const char *type = model.arguments()[varying[k]].integer ? "i64" : "f64";
      line(fmt::format("%p{} = llvm.getelementptr %in[{}] : (!llvm.ptr) -> !llvm.ptr, i64", k, k));
      line(fmt::format("%x{} = llvm.load %p{} : !llvm.ptr -> {}", k, k, type));
    }
    MlirBody body(model, 1, out, "    ");
    MlirBody::Results results = body.emit(arguments("x"));
    for (size_t i = 0; i < results.outputs.size(); ++i) {
      line(fmt::format("%q{} = llvm.getelementptr %out[{}] : (!llvm.ptr) -> !llvm.ptr, f64", i, i));
      line(fmt::format("llvm.store {}, %q{} : f64, !llvm.ptr", results.outputs[i], i));
    }
    line(fmt::format("return {} : i32\n  }}", results.status));
  }
  if (many) {
    out += "  func.func @many(%blocks: i64, %in: !llvm.ptr, %out: !llvm.ptr) {\n";
    for (size_t k = 0; k < varying.size(); ++k) {
      line(fmt::format("%pp{} = llvm.getelementptr %in[{}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr", k, k));
      line(fmt::format("%p{} = llvm.load %pp{} : !llvm.ptr -> !llvm.ptr", k, k));
    }
    for (size_t i = 0; i < 4; ++i) {
      line(fmt::format("%qq{} = llvm.getelementptr %out[{}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr", i, i));
      line(fmt::format("%q{} = llvm.load %qq{} : !llvm.ptr -> !llvm.ptr", i, i));
    }
    line("%zero = arith.constant 0 : i64\n    %each = arith.constant 1 : i64\n"
         "    scf.for %block = %zero to %blocks step %each : i64 {");
    MlirBody body(model, kLatencyLanes, out, "      ");
    std::string status = body.type("i32");
    for (size_t k = 0; k < varying.size(); ++k) {
      std::string type = model.arguments()[varying[k]].integer ? body.integer() : body.real();
      line(fmt::format("  %a{0} = llvm.getelementptr %p{0}[%block] : (!llvm.ptr, i64) -> !llvm.ptr, {1}", k, type));
      line(fmt::format("  %x{0} = llvm.load %a{0} {{alignment = 8 : i64}} : !llvm.ptr -> {1}", k, type));
    }
    MlirBody::Results results = body.emit(arguments("x"));
    for (size_t i = 0; i < 4; ++i) {
      std::string type = i < 3 ? body.real() : status;
      line(fmt::format("  %b{0} = llvm.getelementptr %q{0}[%block] : (!llvm.ptr, i64) -> !llvm.ptr, {1}", i, type));
      line(fmt::format("  llvm.store {}, %b{} {{alignment = 4 : i64}} : {}, !llvm.ptr",
                       i < 3 ? results.outputs[i] : results.status, i, type));
    }
    line("}\n    return\n  }");
  }
  return out + "}\n";
}

Error failed(const std::string &what) {
  return Error{Code::InternalError, "the latency model cannot be compiled: " + what, {}, {}};
}

/// Parses, simplifies and lowers; the LLVM module, or nothing and `why`.
std::unique_ptr<llvm::Module> lower(const std::string &text, llvm::LLVMContext &target, std::string &error) {
  mlir::DialectRegistry registry;
  registerLatencyDialects(registry);
  registry.insert<mlir::LLVM::LLVMDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (error.empty())
      error = d.str();
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  if (!module)
    return nullptr;
  mlir::PassManager passes(&context);
  passes.enableVerifier(false);
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (mlir::failed(passes.run(*module)))
    return nullptr;
  return mlir::translateModuleToLLVMIR(*module, target);
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  (level == 0 ? builder.buildO0DefaultPipeline(chosen) : builder.buildPerModuleDefaultPipeline(chosen))
      .run(module, modules);
}

/// Code for this machine at its full vector width; never a fused multiply-add that nobody asked for.
llvm::Expected<llvm::orc::JITTargetMachineBuilder> thisMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder;
}

} // namespace

Result<std::unique_ptr<LatencyJit>> LatencyJit::compile(const LatencyModel &model, const LatencyJitOptions &options) {
  std::unique_ptr<LatencyJit> result(new LatencyJit);
  for (const std::string &name : options.varying) {
    auto index = model.argument(name);
    if (!index)
      return failed("it has no argument '" + name + "'");
    result->arguments.push_back(*index);
  }
  if (options.varying.empty())
    for (size_t i = 0; i < model.arguments().size(); ++i)
      result->arguments.push_back(i);
  std::sort(result->arguments.begin(), result->arguments.end());
  for (size_t index : result->arguments)
    result->described.push_back(model.arguments()[index]);

  auto context = std::make_unique<llvm::LLVMContext>();
  std::string error;
  std::unique_ptr<llvm::Module> module =
      lower(jitText(model, result->arguments, options.single, options.batches), *context, error);
  if (!module)
    return failed(error.empty() ? "lowering failed" : error);
  auto builder = thisMachine();
  if (!builder)
    return failed(llvm::toString(builder.takeError()));
  auto machine = builder->createTargetMachine();
  if (!machine)
    return failed(llvm::toString(machine.takeError()));
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  for (llvm::Function &function : *module) {
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
    function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
  }
  optimize(*module, **machine, options.optimize);
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*builder)).create();
  if (!jit)
    return failed(llvm::toString(jit.takeError()));
  result->code = std::make_unique<Code>();
  result->code->jit = std::move(*jit);
  llvm::orc::ThreadSafeModule safe(std::move(module), llvm::orc::ThreadSafeContext(std::move(context)));
  if (llvm::Error e = result->code->jit->addIRModule(std::move(safe)))
    return failed(llvm::toString(std::move(e)));
  auto find = [&](const char *name, auto &function) -> llvm::Error {
    auto address = result->code->jit->lookup(name);
    if (!address)
      return address.takeError();
    function = address->template toPtr<std::remove_reference_t<decltype(function)>>();
    return llvm::Error::success();
  };
  if (options.single)
    if (llvm::Error e = find("one", result->code->one))
      return failed(llvm::toString(std::move(e)));
  if (options.batches)
    if (llvm::Error e = find("many", result->code->many))
      return failed(llvm::toString(std::move(e)));
  return result;
}

bool LatencyJit::encode(const LatencyArgument &argument, double value, int64_t &bits) {
  if (!argument.integer) {
    bits = std::bit_cast<int64_t>(value);
    return true;
  }
  bits = -1; // outside of every range
  if (!(value >= -0x1p62 && value <= 0x1p62) || value != std::floor(value))
    return false;
  bits = static_cast<int64_t>(value);
  return true;
}

LatencyEvaluation LatencyJit::evaluate(const std::vector<double> &values) const {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  LatencyEvaluation result;
  result.result = {kNan, kNan, kNan};
  std::array<int64_t, 64> slots;
  std::vector<int64_t> more;
  int64_t *in = slots.data();
  if (arguments.size() > slots.size())
    more.resize(arguments.size()), in = more.data();
  for (size_t k = 0; k < arguments.size(); ++k)
    if (!encode(described[k], values[arguments[k]], in[k])) {
      result.status = static_cast<LatencyStatus>(arguments[k] + 1);
      return result;
    }
  double out[3];
  if (!code->one)
    return result;
  result.status = code->one(in, out);
  result.result = {out[kStepTime], out[kMemory], out[kFlops]};
  return result;
}

void LatencyJit::evaluate(size_t n, const std::vector<LatencyColumn> &columns, const LatencyColumns &results) const {
  if (!code->many || n == 0)
    return;
  // Results that nobody wants, and the last block when it is not full, go through buffers.
  constexpr size_t kBlocks = 64, kBuffer = kBlocks * kLatencyLanes;
  std::vector<double> buffer(3 * kBuffer);
  std::vector<LatencyStatus> statuses(kBuffer);
  std::vector<const void *> in(columns.size());
  double *const wanted[] = {results.step, results.memory, results.flops};
  auto run = [&](size_t first, size_t blocks, const std::vector<LatencyColumn> &from, bool direct) {
    for (size_t k = 0; k < from.size(); ++k)
      in[k] = from[k].integers + first; // both types have 8 bytes
    void *out[4];
    for (size_t i = 0; i < 3; ++i)
      out[i] = direct && wanted[i] ? wanted[i] + first : buffer.data() + i * kBuffer;
    out[3] = direct && results.status ? results.status + first : statuses.data();
    code->many(static_cast<int64_t>(blocks), in.data(), out);
  };
  size_t whole = n / kLatencyLanes;
  for (size_t block = 0; block < whole; block += kBlocks)
    run(block * kLatencyLanes, std::min(kBlocks, whole - block), columns, true);
  size_t rest = n % kLatencyLanes, first = n - rest;
  if (!rest)
    return;
  std::vector<int64_t> padded(columns.size() * kLatencyLanes);
  std::vector<LatencyColumn> last(columns.size());
  for (size_t k = 0; k < columns.size(); ++k) {
    for (size_t i = 0; i < kLatencyLanes; ++i) // the first one again
      std::copy_n(reinterpret_cast<const char *>(columns[k].integers + first + (i < rest ? i : 0)), sizeof(int64_t),
                  reinterpret_cast<char *>(&padded[k * kLatencyLanes + i]));
    last[k].integers = padded.data() + k * kLatencyLanes;
  }
  run(0, 1, last, false);
  for (size_t i = 0; i < 3; ++i)
    if (wanted[i])
      std::copy_n(buffer.data() + i * kBuffer, rest, wanted[i] + first);
  if (results.status)
    std::copy_n(statuses.data(), rest, results.status + first);
}

std::vector<LatencyEvaluation> LatencyJit::evaluate(size_t n,
                                                    const std::function<double(size_t, size_t)> &value) const {
  std::vector<std::vector<int64_t>> storage(arguments.size(), std::vector<int64_t>(n));
  std::vector<LatencyColumn> columns(arguments.size());
  for (size_t k = 0; k < arguments.size(); ++k) {
    columns[k].integers = storage[k].data();
    for (size_t i = 0; i < n; ++i)
      encode(described[k], value(i, arguments[k]), storage[k][i]);
  }
  std::vector<double> results(3 * n);
  std::vector<LatencyStatus> statuses(n);
  if (n)
    evaluate(n, columns, {results.data(), results.data() + n, results.data() + 2 * n, statuses.data()});
  std::vector<LatencyEvaluation> all(n);
  for (size_t i = 0; i < n; ++i)
    all[i] = {statuses[i], {results[i], results[n + i], results[2 * n + i]}};
  return all;
}

} // namespace accord
