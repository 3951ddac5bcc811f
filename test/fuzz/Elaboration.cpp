#include "test/fuzz/Elaboration.h"
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/planning/verify/Verify.h"
#include "lib/support/documents/JsonText.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "test/fuzz/Divide.h"
#include "test/support/SourcePath.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>

namespace accord::fuzz {

namespace {

std::unique_ptr<mlir::MLIRContext> current;
mlir::MLIRContext &context() { return *current; }

/// Types and attributes are never freed, so a context serves only so many programs.
void freshContext() {
  static unsigned served = 0;
  if (!current || ++served == 100) {
    static bool once = (registerAllPasses(), mlir::registerTransformsPasses(), true);
    (void)once;
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    current = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    current->printOpOnDiagnostic(false);
    current->loadAllAvailableDialects();
    served = 0;
  }
}

/// One program on its way; the first broken promise ends it.
class Run {
public:
  explicit Run(const Program &program) : program(program) {
    path = std::string("fuzz") + extension(program.kind);
    sources.add(path, program.text);
  }

  /// Everything up to the training graph. False after errors, which are in the diagnostics.
  bool front() {
    ElaborateOptions options;
    options.catalog = accord::sourcePath("lib/catalog");
    if (program.kind == Kind::Dnn && program.text.find("train ") == std::string::npos)
      options.target = "a100_80g"; // most models of the catalogue name no machine
    mlir::ScopedDiagnosticHandler leaks(&context(), [&](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
        fail("an error reaches the user as MLIR's own: " + d.str());
      return mlir::success();
    });
    whole.emplace(diags, context(), path, options);
    if (diags.hasErrors())
      return false;
    whole->checkAll();
    if (program.kind == Kind::Accel)
      machines();
    else if (!diags.hasErrors())
      training();
    return broken.empty() && !diags.hasErrors();
  }

  /// The training step with the smallest micro-batch size: planned, verified, written and read.
  /// True if there is a plan.
  bool back() {
    size_t operations = 0;
    graph.walk([&](mlir::Operation *) { ++operations; });
    if (operations > kMax)
      return false;
    uint64_t choice = llvm::xxh3_64bits(program.text);
    if (std::string wrong = divided(graph, choice); !wrong.empty())
      fail(wrong);
    int64_t min = 0;
    for (int64_t size : job->microbatches)
      if (size > 0 && job->batch % size == 0 && (!min || size < min))
        min = size;
    SingleDeviceRequest request;
    request.job = job->name;
    request.batch = job->batch;
    request.microbatches = {min};
    request.objective = job->objective;
    request.requirements = job->requirements;
    request.instantiate = [&](int64_t size, int64_t times, const std::string &) -> Result<WorkGraph> {
      std::string error;
      if (auto work = workGraphFrom(graph, size, times, error))
        return std::move(*work);
      return Error{Code::NumberTooLarge, error, sourceOf(graph.getLoc()), {}};
    };
    auto result = planSingleDevice(request, machine);
    if (!result) {
      if (result.error().empty())
        fail("there is no plan and nothing says why");
      for (const Error &issue : result.error())
        if (issue.message.empty())
          fail("an error of code " + numberOf(issue.code) + " has no message");
      return false;
    }
    const Plan &plan = *result;
    if (Verification proof = verify(plan); !proof.holds()) {
      const Error &first = proof.findings.front();
      fail("the plan does not verify: " + numberOf(first.code) + ": " + first.message);
      return true;
    }
    std::string text = jsonText(toJson(plan));
    llvm::Expected<Plan> again = planFromJson(text, "plan.json");
    if (!again)
      fail("the plan cannot be read again: " + llvm::toString(again.takeError()));
    else if (jsonText(toJson(*again)) != text)
      fail("the plan changes when it is written and read again");
    return true;
  }

  std::string broken;
  SourceManager sources;
  Diagnostics diags{sources};

private:
  /// Larger graphs are left alone: the time of the scheduler is not what is tested here.
  static constexpr size_t kMax = 20000;

  void fail(std::string why) {
    if (broken.empty())
      broken = std::move(why);
  }

  std::optional<Machine> plain(accel::AcceleratorOp op) {
    bool reported = false;
    mlir::ScopedDiagnosticHandler handler(&context(), [&](mlir::Diagnostic &d) {
      reported = true;
      expectPlace(d);
      return mlir::success();
    });
    auto result = machineFrom(op);
    if (mlir::succeeded(result))
      return *result;
    if (!reported)
      fail("a machine is refused without a word");
    return std::nullopt;
  }

  void expectPlace(mlir::Diagnostic &d) {
    if (d.str().empty())
      fail("an error of a pass has no message");
    if (sourceOf(d.getLocation()).file.empty())
      fail("an error of a pass has no place: " + d.str());
  }

  void machines() {
    if (!whole->main())
      return;
    for (const ast::Declaration &declaration : whole->main()->declarations)
      if (declaration.kind == ast::DeclarationKind::Accelerator && !diags.hasErrors())
        if (auto op = whole->machine(declaration.name.text, declaration.name.range))
          plain(op);
  }

  void training() {
    job = whole->job();
    if (!job || diags.hasErrors()) {
      if (!diags.hasErrors())
        fail("there is no training job and nothing says why");
      return;
    }
    accel::AcceleratorOp target = whole->machineOf(*job);
    dnn::ModelOp model = whole->model(*job);
    if (diags.hasErrors())
      return;
    if (!target || !model)
      return fail("there is no machine or no model and nothing says why");
    if (mlir::failed(mlir::verify(model)))
      return fail("the model does not verify");
    auto found = plain(target);
    if (!found)
      return; // what was said is not in the diagnostics, so `front` must not succeed
    machine = std::move(*found);
    own = mlir::ModuleOp::create(model.getLoc());
    model->moveBefore(own->getBody(), own->getBody()->end());
    bool reported = false;
    mlir::ScopedDiagnosticHandler handler(&context(), [&](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error) {
        reported = true;
        expectPlace(d);
      }
      return mlir::success();
    });
    mlir::PassManager passes(&context());
    const char *const policies[] = {"", "recompute{policy=full},", "recompute{policy=selective},"};
    std::string pipeline = policies[llvm::xxh3_64bits(program.text) / 64 % 3];
    bool overTime = llvm::xxh3_64bits(program.text) / 1024 % 4;
    pipeline = (overTime ? "expand-recurrent," : "") + pipeline + "build-training-graph";
    if (overTime)
      pipeline += ",dnn.training_graph(gather-gradients)";
    if (mlir::failed(mlir::parsePassPipeline(pipeline, passes)))
      return fail("there is no pipeline " + pipeline);
    if (mlir::failed(passes.run(*own))) {
      if (!reported)
        fail("a pass failed without saying why");
      return;
    }
    auto built = own->getOps<dnn::TrainingGraphOp>();
    if (built.empty())
      return fail("the passes left no training graph");
    graph = *built.begin();
  }

public:
  bool hasGraph() const { return graph != nullptr; }

private:
  const Program &program;
  std::string path;
  std::optional<accord::Program> whole;
  std::optional<TrainingJob> job;
  Machine machine;
  mlir::OwningOpRef<mlir::ModuleOp> own;
  dnn::TrainingGraphOp graph;
};

} // namespace

std::string badDiagnostic(const Diagnostics &diags) {
  for (const Diagnostic &diagnostic : diags.sorted()) {
    if (diagnostic.message.empty())
      return "a diagnostic has no message";
    const SourceRange &range = diagnostic.range;
    if (!range.valid())
      return "'" + diagnostic.message + "' has no place";
    if (range.begin > range.end || range.end > diags.sources().text(range.file).size())
      return "'" + diagnostic.message + "' lies outside the text";
  }
  return {};
}

void checkElaboration(const Program &program, Verdict &verdict) {
  freshContext();
  Run run(program);
  bool whole = run.front();
  verdict.broken = run.broken;
  if (verdict.broken.empty())
    verdict.broken = badDiagnostic(run.diags);
  if (verdict.broken.empty() && program.text.size() % 4 == 0) { // a quarter, as it costs as much again
    Run second(program);
    second.front();
    if (second.diags.text() != run.diags.text())
      verdict.broken = "elaborating the same text gives other messages the second time";
  }
  if (!whole || !run.hasGraph() || !verdict.broken.empty())
    return;
  verdict.planned = run.back();
  verdict.broken = run.broken;
}

} // namespace accord::fuzz
