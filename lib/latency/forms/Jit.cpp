#include "lib/latency/forms/Jit.h"
#include "lib/latency/forms/MlirBody.h"
#include "lib/latency/forms/MlirLowering.h"
#include "llvm-c/LLJIT.h"
#include "llvm-c/Transforms/PassBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <mutex>

namespace accord {

// LLVM's C interface: the headers of its C++ JIT and pass builder take 11 s to compile.
struct LatencyJit::Code {
  LLVMOrcLLJITRef jit = nullptr;
  ~Code() {
    if (jit)
      LLVMConsumeError(LLVMOrcDisposeLLJIT(jit));
  }
  int32_t (*one)(const int64_t *, double *) = nullptr;
  void (*many)(int64_t, const void *const *, void *const *) = nullptr;
};

LatencyJit::LatencyJit() = default;
LatencyJit::~LatencyJit() = default;

namespace {

/// `@one(arguments: ptr, results: ptr) -> i32`: 8 bytes per argument of `varying`, three doubles out. `@many(blocks:
/// i64, columns: ptr, results: ptr)`: `columns` points to one pointer per argument of `varying`, `results` to those of
/// step, memory, FLOPs (doubles) and status (i32), all of `blocks` * LatencyJit::kLanes values.
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
         "    llvm.br ^head(%zero : i64)\n  ^head(%block: i64):\n"
         "    %goes_on = arith.cmpi slt, %block, %blocks : i64\n"
         "    llvm.cond_br %goes_on, ^body, ^end\n  ^body:");
    MlirBody body(model, LatencyJit::kLanes, out, "      ");
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
    line("  %next = arith.addi %block, %each : i64\n      llvm.br ^head(%next : i64)\n  ^end:\n    return\n  }");
  }
  return out + "}\n";
}

Error failed(const std::string &what) {
  return Error{Code::InternalError, "the latency model cannot be compiled: " + what};
}

Error failed(LLVMErrorRef error) {
  char *message = LLVMGetErrorMessage(error);
  Error made = failed(std::string(message));
  LLVMDisposeErrorMessage(message);
  return made;
}

LLVMTargetMachineRef wrap(llvm::TargetMachine *machine) { return reinterpret_cast<LLVMTargetMachineRef>(machine); }

/// Code for this machine at its full vector width; never a fused multiply-add that nobody asked for.
std::unique_ptr<llvm::TargetMachine> thisMachine(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::SubtargetFeatures features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, llvm::sys::getHostCPUName(), features.getString(), options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
}

LLVMErrorRef optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned level) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  std::string pipeline = fmt::format("default<O{}>", std::min(level, 3u));
  LLVMErrorRef error = LLVMRunPasses(llvm::wrap(&module), pipeline.c_str(), wrap(&machine), options);
  LLVMDisposePassBuilderOptions(options);
  return error;
}

/// Takes the machine over.
LLVMErrorRef makeJit(std::unique_ptr<llvm::TargetMachine> machine, LLVMOrcLLJITRef &jit) {
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
      builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(wrap(machine.release())));
  return LLVMOrcCreateLLJIT(&jit, builder);
}

LLVMErrorRef addModule(LLVMOrcLLJITRef jit, std::unique_ptr<llvm::LLVMContext> context,
                       std::unique_ptr<llvm::Module> module) {
  LLVMOrcThreadSafeContextRef shared = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(llvm::wrap(context.release()));
  LLVMOrcThreadSafeModuleRef safe = LLVMOrcCreateNewThreadSafeModule(llvm::wrap(module.release()), shared);
  LLVMOrcDisposeThreadSafeContext(shared);
  return LLVMOrcLLJITAddLLVMIRModule(jit, LLVMOrcLLJITGetMainJITDylib(jit), safe);
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
      lowerToLlvm(jitText(model, result->arguments, options.single, options.batches), *context, error);
  if (!module)
    return failed(error.empty() ? "lowering failed" : error);
  std::unique_ptr<llvm::TargetMachine> machine = thisMachine(error);
  if (!machine)
    return failed(error.empty() ? "LLVM has no code generator for this processor" : error);
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  for (llvm::Function &function : *module) {
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", machine->getTargetCPU());
    function.addFnAttr("target-features", machine->getTargetFeatureString());
  }
  if (LLVMErrorRef e = optimize(*module, *machine, options.optimize))
    return failed(e);
  result->code = std::make_unique<Code>();
  Code &code = *result->code;
  if (LLVMErrorRef e = makeJit(std::move(machine), code.jit))
    return failed(e);
  if (LLVMErrorRef e = addModule(code.jit, std::move(context), std::move(module)))
    return failed(e);
  auto find = [&](const char *name, auto &function) {
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef e = LLVMOrcLLJITLookup(code.jit, &address, name);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it is where the function lies
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    return e;
  };
  if (options.single)
    if (LLVMErrorRef e = find("one", code.one))
      return failed(e);
  if (options.batches)
    if (LLVMErrorRef e = find("many", code.many))
      return failed(e);
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
  llvm::SmallVector<int64_t, 64> in(arguments.size());
  for (size_t k = 0; k < arguments.size(); ++k)
    if (!encode(described[k], values[arguments[k]], in[k])) {
      result.status = static_cast<LatencyStatus>(arguments[k] + 1);
      return result;
    }
  double out[3];
  if (!code->one)
    return result;
  result.status = code->one(in.data(), out);
  result.result = {out[kStepTime], out[kMemory], out[kFlops]};
  return result;
}

void LatencyJit::evaluateBlocks(int64_t blocks, const std::vector<const void *> &columns, double *step, double *memory,
                                double *flops, LatencyStatus *status) const {
  void *results[] = {step, memory, flops, status};
  if (code->many && blocks > 0)
    code->many(blocks, columns.data(), results);
}

std::vector<LatencyEvaluation> LatencyJit::evaluate(size_t n,
                                                    const std::function<double(size_t, size_t)> &value) const {
  const size_t blocks = (n + kLanes - 1) / kLanes, size = blocks * kLanes;
  std::vector<std::vector<int64_t>> storage(arguments.size(), std::vector<int64_t>(size));
  std::vector<const void *> columns;
  for (size_t k = 0; k < arguments.size(); ++k) {
    for (size_t i = 0; i < size; ++i) // the last block is filled with the last configuration
      encode(described[k], value(std::min(i, n - 1), arguments[k]), storage[k][i]);
    columns.push_back(storage[k].data());
  }
  std::vector<double> step(size), memory(size), flops(size);
  std::vector<LatencyStatus> statuses(size);
  evaluateBlocks(blocks, columns, step.data(), memory.data(), flops.data(), statuses.data());
  std::vector<LatencyEvaluation> all(n);
  for (size_t i = 0; i < n; ++i)
    all[i] = {statuses[i], {step[i], memory[i], flops[i]}};
  return all;
}

} // namespace accord
