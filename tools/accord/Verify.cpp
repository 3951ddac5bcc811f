// accord verify: re-proves a plan with code that shares nothing with what made it.
#include "lib/planning/verify/Verify.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "tools/accord/Commands.h"
#include "tools/accord/PlacementFile.h"
#include "tools/accord/PlanFile.h"
#include "tools/accord/Session.h"
#include "tools/accord/VerifyMining.h"
#include "tools/accord/VerifyPrune.h"
#include "tools/accord/VerifySchedule.h"
#include "tools/accord/VerifyVote.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace accord {
namespace {

llvm::json::Array strings(const std::vector<std::string> &texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(jsonString(text));
  return array;
}

int verifyCommand(const std::string &path, const std::string &solver, bool json) {
  bool mined = holdsMining(path), voted = !mined && holdsVote(path);
  bool pruned = !mined && !voted && holdsSparsity(path);
  auto scheduled = mined || voted || pruned ? std::nullopt : scheduleFileOf(path);
  bool placed = !mined && !voted && !pruned && !scheduled && holdsPlacement(path);
  auto placement = placed ? readPlacement(path, json, "verify") : std::nullopt;
  if (placement && !readPlacementPaths(*placement, path, json, "verify"))
    return kWrongInput;
  auto plan = mined || voted || pruned || scheduled || placed ? std::nullopt : readPlan(path, json, "verify");
  auto mining = mined ? verifyMining(path, json) : std::nullopt;
  auto ensemble = voted ? verifyVote(path, json) : std::nullopt;
  auto sparsity = pruned ? verifySparsity(path, json) : std::nullopt;
  if (!scheduled && !plan && !placement && !mining && !ensemble && !sparsity)
    return kWrongInput;
  Verification proof = mining      ? std::move(mining->proof)
                       : ensemble  ? std::move(*ensemble)
                       : sparsity  ? std::move(*sparsity)
                       : scheduled ? verifySchedule(*scheduled, solver)
                       : placement ? verifyPlacement(*placement)
                                   : verify(*plan);
  if (plan && proof.holds())
    verifyQueries(proof, *plan, llvm::sys::fs::is_directory(path) ? path : llvm::sys::path::parent_path(path).str(),
                  solver);
  if (placement && proof.holds())
    verifyPlacementSmtQuery(proof, *placement,
                         llvm::sys::fs::is_directory(path) ? path : llvm::sys::path::parent_path(path).str(), solver);
  if (json) {
    llvm::json::Array findings;
    for (const Error &finding : proof.findings)
      findings.push_back(
          llvm::json::Object{{"code", numberOf(finding.code)}, {"message", jsonString(finding.message)}});
    llvm::json::Object document{{"command", "verify"},
                                {"version", kVersion},
                                {"status", proof.holds() ? "done" : "error"},
                                {"valid", proof.holds()},
                                {"findings", std::move(findings)},
                                {"checked", strings(proof.checked)},
                                {"assumed", strings(proof.trusted)}};
    if (mining)
      document["answers"] = toJson(mining->answers);
    llvm::outs() << jsonText(std::move(document)) << "\n";
  } else {
    for (const std::string &line : proof.checked)
      llvm::outs() << "  checked  " << line << "\n";
    for (const std::string &line : proof.trusted)
      llvm::outs() << "  assumes  " << line << "\n";
  }
  for (const Error &finding : proof.findings) {
    fmt::print(stderr, "{}: error[{}]: {}\n",
               finding.location.file.empty() || !scheduled
                   ? path
                   : fmt::format("{}:{}:{}", finding.location.file, finding.location.line, finding.location.column),
               numberOf(finding.code), finding.message);
    if (!scheduled && !finding.location.file.empty() && finding.location.line > 0)
      fmt::print(stderr, "{}:{}:{}: note: it is written here\n", finding.location.file, finding.location.line,
                 finding.location.column);
  }
  if (!json)
    llvm::outs() << fmt::format("the {} is {}
                                ",
                                    mined
                                    ? "mining"
                                : voted     ? "ensemble"
                                : pruned    ? "choice"
                                : scheduled ? "schedule"
                                            : "plan",
                                proof.holds() ? "valid" : fmt::format("not valid: {} findings", proof.findings.size()));
  return proof.holds() ? kDone : kWrongInput;
}

} // namespace

void addVerify(CLI::App &app, int &status) {
  auto path = std::make_shared<std::string>();
  auto solver = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App *command = app.add_subcommand("verify", "Check a plan and its certificate independently");
  command
      ->add_option("plan", *path,
                   "A folder that `accord compile`, `mine`, `prune`, `vote` or `schedule` wrote, a "
                   "plan.json, or "
                   "a schedule in the plan dialect (.mlir)")
      ->required();
  command->add_option("--solver", *solver, "SMT solver that re-checks the queries: z3, cvc5 or a path");
  addJson(*command, *json);
  command->footer("Examples: accord verify out/\n"
                  "          accord verify schedule/ --solver cvc5");
  command->callback([path, solver, json, &status] { status = verifyCommand(*path, *solver, *json); });
}

} // namespace accord
