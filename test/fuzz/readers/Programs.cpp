#include "test/fuzz/readers/Programs.h"
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "lib/language/requests/Ensembles.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/translate/FromAccel.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "test/fuzz/Formatting.h"
#include "test/support/SourcePath.h"

namespace accord::fuzz {

/// Types and attributes are never freed, so a context serves only so many inputs.
static mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> current;
  static unsigned served = 0;
  if (!current || ++served == 500) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    current = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    current->printOpOnDiagnostic(false);
    current->loadAllAvailableDialects();
    served = 0;
  }
  return *current;
}

/// An input says by comments at its head with which options it is read: "//--target=a100_80g", "//--placement".
static ElaborateOptions optionsOf(llvm::StringRef text) {
  ElaborateOptions options;
  options.catalog = accord::sourcePath("lib/catalog");
  while (text.consume_front("//--")) {
    auto [line, rest] = text.split('\n');
    auto [name, value] = line.split('=');
    text = rest;
    for (auto [known, into] : {std::pair("target", &options.target), std::pair("train", &options.train),
                               std::pair("member", &options.member), std::pair("ensemble", &options.ensemble),
                               std::pair("framework", &options.framework), std::pair("batch", &options.batch),
                               std::pair("microbatch", &options.microbatch), std::pair("recompute", &options.recompute),
                               std::pair("precision", &options.precision), std::pair("optimizer", &options.optimizer),
                               std::pair("metric", &options.metric)})
      if (name == known)
        *into = value.str();
    for (auto [known, into] :
         {std::pair("clusters", &options.clusters), std::pair("placement", &options.placement),
          std::pair("ideal", &options.ideal), std::pair("mines", &options.mines), std::pair("prunes", &options.prunes)})
      if (name == known)
        *into = true;
  }
  return options;
}

/// What is behind a line "//=== NAME" of an input, up to the next one, is the file NAME that the program before names.
static std::string_view addOtherFiles(std::string_view input, SourceManager &sources) {
  constexpr std::string_view mark = "\n//=== ";
  auto program = input.substr(0, input.find(mark));
  for (size_t at = program.size(); at < input.size();) {
    at += mark.size();
    size_t end = std::min(input.find(mark, at), input.size());
    auto [name, text] = llvm::StringRef(input.substr(at, end - at)).split('\n');
    if (!name.empty() && !sources.find(name))
      sources.add(name.str(), text.str());
    at = end;
  }
  return program;
}

static void readMachines(accord::Program &program, const Diagnostics &diags) {
  using enum ast::DeclarationKind;
  for (const ast::Declaration &declaration : program.main()->declarations)
    if (!diags.hasErrors() && (declaration.kind == Accelerator || declaration.kind == Cluster))
      program.machine(declaration.name.text, declaration.name.range);
}

/// The job of a program with all that a command asks of it.
static void readTraining(accord::Program &program, Diagnostics &diags) {
  auto has = [&](ast::DeclarationKind kind) {
    return llvm::any_of(program.main()->declarations, [&](const auto &one) { return one.kind == kind; });
  };
  if (has(ast::DeclarationKind::Ensemble))
    if (auto request = program.ensemble(); request && !request->votesFile.empty())
      readVotes(*request, diags);
  std::optional<TrainingJob> job = diags.hasErrors() ? std::nullopt : program.job();
  if (!job)
    return;
  program.sparsity(*job);
  accel::AcceleratorOp machine = program.machineOf(*job);
  dnn::ModelOp model = program.model(*job);
  for (const ast::Parameter &parameter : job->model->parameters)
    program.parameter(*job, parameter.name.text);
  std::string assumed;
  if (!machine || !model || diags.hasErrors())
    return;
  program.framework(assumed);
  program.clusterText();
  // What a machine alone refuses is said by a pass, as MLIR's error.
  mlir::ScopedDiagnosticHandler passes(machine.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  if (auto plain = machineFrom(machine); mlir::succeeded(plain))
    program.limitsOn(*job, *plain);
}

void readProgram(std::string_view input, const std::string &path) {
  SourceManager sources;
  std::string_view text = addOtherFiles(input, sources);
  Program program{.name = path, .kind = *kindOf(path), .text = std::string(text)};
  Parsed parsed(program);
  if (parsed.file->complete != !parsed.diags.hasErrors())
    broken("a tree is complete where there are errors, or is not where there are none");
  if (parsed.file->complete)
    if (std::string wrong = badFormat(program, parsed); !wrong.empty())
      broken(wrong);

  Diagnostics diags(sources);
  if (sources.find(path))
    return; // one of its own files takes its name
  sources.add(path, program.text);
  mlir::ScopedDiagnosticHandler leaks(&context(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      broken("an error reaches the user as MLIR's own: " + d.str());
    return mlir::success();
  });
  accord::Program whole(diags, context(), path, optionsOf(text));
  if (!diags.hasErrors())
    whole.checkAll();
  if (!diags.hasErrors() && program.kind == Kind::Accel)
    readMachines(whole, diags);
  else if (!diags.hasErrors())
    readTraining(whole, diags);
  if (!diags.hasErrors())
    whole.reportUnused();
  expectPlaces(diags, false);
}

void expectProgram(const std::string &text) {
  SourceManager sources;
  Diagnostics diags(sources);
  FileId file = sources.add("imported.dnn", text);
  parse(diags, file);
  if (diags.hasErrors())
    broken("what is imported is no program: " + diags.text());
}

} // namespace accord::fuzz
