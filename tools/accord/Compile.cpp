// accord compile: the best plan, and everything that explains and proves it.
#include "lib/planning/output/Certificate.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/PlanMlir.h"
#include "lib/planning/output/Report.h"
#include "lib/planning/output/Trace.h"
#include "lib/planning/verify/Verify.h"
#include "lib/support/documents/JsonText.h"
#include "tools/accord/Commands.h"
#include "tools/accord/CompilePlacement.h"
#include "tools/accord/LatencyFormats.h"
#include "tools/accord/PlanInterruptibly.h"
#include "tools/accord/Session.h"
#include "tools/accord/WhatIfTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace accord {
namespace {

bool emitAll(Session &session, const Plan &plan, const Options &options) {
  Diagnostics &diags = session.diagnostics();
  if (std::error_code error = llvm::sys::fs::create_directories(options.output)) {
    diags.error(Code::CannotWrite, {}, fmt::format("folder '{}' cannot be made: {}", options.output, error.message()));
    return false;
  }
  auto path = [&](const char *name) { return options.output + "/" + name; };
  bool ok = writeFile(diags, path("plan.json"), jsonText(toJson(plan)) + "\n");
  if (auto issue = ok ? writeCertificate(options.output, plan) : std::nullopt) {
    diags.error(Code::CannotWrite, {}, issue->message);
    return false;
  }
  std::string mlirText;
  llvm::raw_string_ostream stream(mlirText);
  mlir::OwningOpRef<mlir::ModuleOp> planModule = toPlanDialect(*session.module().getContext(), plan);
  planModule->print(stream);
  ok = ok && writeFile(diags, path("plan.mlir"), mlirText + "\n");
  ok = ok && writeLatencyFormats(session, latencyModel(session, plan, /*needed=*/false), options.output, {});
  ok = ok && writeFile(diags, path("trace.json"), jsonLine(toTrace(plan)) + "\n");
  ReportOptions reportOptions;
  reportOptions.sequence = session.sequence();
  ok = ok && writeFile(diags, path("report.html"), toReport(plan, whatIfTable(plan, session.request()), reportOptions));
  return ok && !diags.hasErrors();
}

int compile(Options options, const PlanSearchLimits &limits) {
  options.elaborate.clusters = options.elaborate.placement = true;
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "compile");
  if (session.cluster())
    return compilePlacement(session, options, limits);
  auto plan = planInterruptibly(session, limits);
  if (!plan)
    return session.finish(kWrongInput, "compile");
  Verification proof = verify(*plan);
  if (!proof.holds()) {
    for (const Error &finding : proof.findings)
      session.diagnostics().error(Code::InternalError, {}, "the plan does not verify: " + finding.message);
    return session.finish(kInternal, "compile");
  }
  if (!emitAll(session, *plan, options))
    return session.finish(kWrongInput, "compile");
  if (options.json) {
    llvm::outs() << jsonText(toJson(*plan)) << "\n";
  } else {
    SummaryOptions summary;
    summary.sequence = session.sequence();
    summary.report = llvm::StringRef(options.output).rtrim('/').str() + "/report.html";
    llvm::outs() << compileSummary(*plan, summary, TextStyle::of(llvm::outs()));
  }
  return session.finish(plan->feasible ? kDone : kInfeasible, "compile");
}

} // namespace

void addCompile(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  auto limits = std::make_shared<PlanSearchLimits>();
  CLI::App *command =
      app.add_subcommand("compile", "Find the best plan; write it with latency model, trace and report");
  addProgramOptions(*command, *options);
  command
      ->add_option("-o,--output", options->output,
                   "Folder for plan.json, plan.mlir, latency_model.{h,py,mlir,csv}, trace.json, "
                   "report.html, certificate/")
      ->capture_default_str();
  command->add_option("--gap", limits->gap,
                      "Stop when a region's schedule reaches this relative gap to its bound, such as 2%");
  command->add_option("--time-limit", limits->timeLimit,
                      "none, or a time such as '30 s', after which the best plan so far is "
                      "written; it then depends on the machine (default: none)");
  command->footer("Example: accord compile gpt2.dnn --target a100_80g -o out/\n"
                  "Ctrl-C while it plans writes the best plan so far, with its gap.");
  command->callback([options, limits, &status] { status = compile(*options, *limits); });
}

} // namespace accord
