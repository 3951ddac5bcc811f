// Reading the module: upstream dialects live in a context of their own, for as long as this takes.
#include "lib/import/mlir/StableHlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

namespace accord {
using namespace import;

/// The parser of MLIR recurses; what is deeper than any network would exhaust its stack.
static bool isTooDeep(llvm::StringRef text) {
  int depth = 0;
  for (char c : text) {
    if (llvm::StringRef("([{<").contains(c) && ++depth > 256)
      return true;
    if (llvm::StringRef(")]}>").contains(c) && depth > 0)
      --depth;
  }
  return false;
}

/// The parsers of linalg's short forms go on after a list that is no list of numbers, and crash.
/// Returns where such a list begins.
static std::optional<size_t> badList(llvm::StringRef text) {
  for (llvm::StringRef key : {"dimensions", "permutation"})
    for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      llvm::StringRef rest = text.drop_front(at + key.size()).ltrim();
      if (!rest.consume_front("="))
        continue;
      rest = rest.ltrim();
      llvm::StringRef list = rest.take_until([](char c) { return c == ']'; });
      bool array = rest.starts_with("array<");
      if (!array && (!rest.starts_with("[") || list.size() == rest.size() ||
                     list.drop_front().find_first_not_of("0123456789, \t\n-") != text.npos))
        return at;
    }
  return std::nullopt;
}

/// `Expected 'x'.` -> `expected 'x'`
static std::string lowered(std::string text) {
  if (text.size() > 1 && !llvm::isUpper(text[1]) && !text.empty())
    text[0] = llvm::toLower(text[0]);
  while (!text.empty() && (text.back() == '.' || text.back() == '\n'))
    text.pop_back();
  return shown(text);
}

static mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  registry
      .insert<mlir::tosa::TosaDialect, mlir::linalg::LinalgDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
              mlir::math::MathDialect, mlir::tensor::TensorDialect, mlir::ml_program::MLProgramDialect>();
  return registry;
}

/// Bytecode has no lines: what its reader found, and how to get a file that can be read.
static void damaged(Diagnostics &diags, FileId file, const std::string &reason) {
  diags
      .error(Code::SyntaxError, {file, 0, 0},
             "this MLIR bytecode is damaged, cut short, or of dialects or versions that are not "
             "known here: " +
                 reason)
      .help("write it again with MLIR 22 in tosa, linalg, tensor, arith and math alone, or as "
            "text, whose errors have their lines: mlir-opt FILE -o FILE.mlir");
}

/// Upstream's reader of bytecode trusts sizes that a damaged file states, and writes past its
/// memory. A child process reads the file first: whether that ended otherwise than by a signal.
static bool survivesReading(llvm::StringRef text) {
  pid_t child = fork();
  if (child < 0)
    return true; // no process to spare: read it here
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
      std::signal(signal, SIG_DFL);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    mlir::MLIRContext context(dialects(), mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    context.allowUnregisteredDialects();
    mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
    mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::optional<ImportedModel> importMlir(Diagnostics &diags, FileId file, const NetworkOptions &options) {
  llvm::StringRef text = diags.sources().text(file);
  bool bytecode = text.starts_with("ML\xefR");
  auto fail = [&](Code code, const std::string &reason) {
    diags.error(code, {file, 0, 0}, reason);
    return std::nullopt;
  };
  if (text.trim().empty())
    return fail(Code::SyntaxError, "this is no MLIR module: the file is empty");
  if (!bytecode && text.contains('\0'))
    return fail(Code::SyntaxError, "this is no MLIR module: neither text nor bytecode");
  if (!bytecode && isTooDeep(text))
    return fail(Code::SyntaxError, "brackets are nested deeper than 256");
  if (auto at = bytecode ? std::nullopt : badList(text)) {
    diags.error(Code::SyntaxError, {file, static_cast<uint32_t>(*at), static_cast<uint32_t>(*at) + 1},
                "expected a list of numbers in brackets");
    return std::nullopt;
  }
  if (bytecode && !survivesReading(text)) {
    damaged(diags, file, "it states sizes that it does not have");
    return std::nullopt;
  }
  mlir::MLIRContext context(dialects(), mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects(); // told by name and number, all at once
  size_t before = diags.errors();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &found) {
    if (found.getSeverity() != mlir::DiagnosticSeverity::Error)
      return mlir::success();
    SourceRange place{file, 0, 0};
    if (auto at = llvm::dyn_cast<mlir::FileLineColLoc>(found.getLocation()); at && !bytecode)
      place = diags.sources().at(file, {at.getLine(), at.getColumn()});
    if (bytecode)
      damaged(diags, file, lowered(found.str()));
    else if (auto error = diags.error(Code::SyntaxError, place, lowered(found.str()));
             llvm::StringRef(found.str()).contains("ialect `stablehlo'"))
      error.help("the short form of StableHLO is not read; write the generic one, in JAX by "
                 "jax.jit(f).lower(*args).compiler_ir('stablehlo').operation.get_asm(print_generic_op_form=True, "
                 "enable_debug_info=True)");
    return mlir::success();
  });
  mlir::ParserConfig config(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, config, diags.sources().path(file));
  if (!module) {
    if (diags.errors() == before)
      fail(Code::SyntaxError, "this is no MLIR module: it is damaged, cut short, or another kind "
                              "of file");
    return std::nullopt;
  }
  std::vector<mlir::func::FuncOp> functions;
  std::vector<std::string> names;
  bool isStableHlo = false;
  module->walk([&](mlir::Operation *op) { isStableHlo |= op->getName().getDialectNamespace() == "stablehlo"; });
  module->walk([&](mlir::func::FuncOp one) {
    if (one.isDeclaration() || (isStableHlo && one.isPrivate())) // what JAX calls from its main function
      return;
    functions.push_back(one);
    names.push_back(fmt::format("'{}'", shown(one.getName().str())));
  });
  if (functions.size() != 1)
    return fail(Code::ImportSetting, fmt::format("expected one func.func with a body, the forward pass; found {}",
                                                 names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  NetworkOptions settings = options;
  MlirContext network(diags, file, settings);
  network.isStableHlo = isStableHlo;
  if (isStableHlo && !prepareStableHlo(network, *module, functions[0], settings))
    return std::nullopt;
  if (!importFunction(network, functions[0]))
    return std::nullopt;
  std::string name = nameFrom(options.name, "model");
  return finished(
      diags, file, network.textBuilder, name,
      {fmt::format("{}: imported from the function {} of an MLIR module;", name, names[0]), network.batchText() + "."},
      network.notes, !options.unrolled);
}

} // namespace accord
