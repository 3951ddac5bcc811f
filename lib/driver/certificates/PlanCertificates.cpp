// Answers that are proved from the documents of their folder: plans, choices of sparsity patterns, ensembles.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/certificates/LatencyCertificate.h"
#include "lib/driver/certificates/ScheduleCertificate.h"
#include "lib/ensembles/output/Answer.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/verify/Answer.h"
#include "lib/ensembles/verify/Ensemble.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/output/PlacementMlir.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanFolder.h"
#include "lib/planning/output/PlanMlir.h"
#include "lib/run/verify/RunVerifier.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/sparsity/verify/Dataflow.h"
#include "lib/sparsity/verify/ReportedSelectionChecker.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// The answer in `file` of the folder, which `check` finds nothing wrong with; nothing after a refusal.
template <typename Answer>
std::optional<Answer> readAnswer(const CertificateRequest &request, const char *name, llvm::StringLiteral command,
                                 bool (*read)(const llvm::json::Value &, Answer &, llvm::json::Path),
                                 std::string (*check)(const Answer &)) {
  std::string file = resultFile(request.path, name);
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto answer = readJsonDocument<Answer>(*text, file, command, read);
  std::string error = answer ? check(*answer) : llvm::toString(answer.takeError());
  if (error.empty())
    return std::move(*answer);
  return refused(Code::BadPlan, answer ? fmt::format("{}: {}", file, error) : error, request.json, "verify");
}

/// What a plan says of its step and its devices, as far as its whole training follows from it.
struct RunFacts {
  std::shared_ptr<const TrainingRun> run;
  int64_t batch = 1, devices = 1, servers = 1;
  double step = 0, joules = 0; ///< seconds and energy of one step
  std::optional<StepEstimate> estimate;
  double idleWatts = 0, pricePerSecond = 0;
  std::optional<double> samples, gramsPerJoule; ///< nothing: the plan does not state them
  std::optional<bool> byBoards;                 ///< whether the law of boards gave the energy; nothing: not known
};

RunFacts runFacts(const Plan &plan) {
  RunFacts facts;
  facts.run = plan.run;
  facts.batch = plan.batch;
  facts.step = plan.schedule.step.seconds().value;
  facts.estimate = plan.estimate;
  facts.joules = measure(plan).energy.value;
  facts.idleWatts = plan.machine.idle.value;
  facts.gramsPerJoule = 0;
  facts.byBoards = hasBoardPower(plan.machine);
  return facts;
}

RunFacts runFacts(const PlacementPlan &plan) {
  RunFacts facts;
  facts.run = plan.run;
  facts.batch = plan.problem.batch;
  facts.devices = facts.servers = 0;
  const PlanMetrics &metrics = plan.result.metrics;
  facts.step = static_cast<double>(metrics.step) * 1e-12;
  facts.estimate = plan.estimate;
  facts.joules = metrics.joules;
  facts.pricePerSecond = facts.step > 0 ? metrics.price / facts.step : 0;
  facts.samples = plan.samples;
  if (!plan.result.plan)
    return facts;
  std::vector<int64_t> used(plan.problem.deviceTypes.size());
  for (const PlacedStage &stage : llvm::ArrayRef(plan.result.plan->stages).take_front(plan.result.plan->groups())) {
    const ParallelConfig &config = plan.problem.parallelConfigs[stage.parallelConfig];
    used[config.deviceType] += config.devices();
  }
  for (const auto &[type, number] : llvm::zip_equal(plan.problem.deviceTypes, used)) {
    int64_t each = std::max<int64_t>(1, type.devicesPerNode);
    facts.devices += number;
    facts.servers += number / each + (number % each != 0);
    facts.idleWatts += type.restWatts() * static_cast<double>(number);
  }
  return facts;
}

/// The whole training is that of the plan's step on the plan's devices, and follows from its problem.
void addRun(Verification &proof, const RunFacts &facts) {
  if (!facts.run)
    return;
  const RunProblem &problem = facts.run->problem;
  auto compare = [&](const char *what, double stated, double given) {
    if (!(std::abs(stated - given) <= 1e-9 * std::abs(given)))
      proof.findings.push_back(
          {Code::WrongObjective, fmt::format("run: {} is {:.9g}, the plan gives {:.9g}", what, stated, given), {}, {}});
  };
  if (facts.samples)
    compare("the number of samples", problem.samples, *facts.samples);
  compare("the number of steps", problem.steps, std::ceil(problem.samples / static_cast<double>(facts.batch)));
  compare("the number of devices", static_cast<double>(problem.devices), static_cast<double>(facts.devices));
  compare("the number of servers", static_cast<double>(problem.servers), static_cast<double>(facts.servers));
  compare("the step time", problem.step.value, facts.step);
  compare("the lower end of the step time", problem.step.low,
          facts.estimate ? std::min(facts.estimate->low, facts.step) : facts.step);
  compare("the upper end of the step time", problem.step.high,
          facts.estimate ? std::max(facts.estimate->high, facts.step) : facts.step);
  compare("the energy of a step", problem.joulesPerStep.value, facts.joules);
  compare("the idle power", problem.idleWatts, facts.idleWatts);
  compare("the price of a second", problem.pricePerSecond, facts.pricePerSecond);
  if (facts.gramsPerJoule)
    compare("the grid intensity", problem.gramsPerJoule, *facts.gramsPerJoule);
  bool byBoards = facts.byBoards.value_or(!problem.joulesPerStep.isExact());
  compare("the lower end of the energy of a step", problem.joulesPerStep.low,
          facts.joules * (byBoards ? kBoardPowerInterval.low : 1));
  compare("the upper end of the energy of a step", problem.joulesPerStep.high,
          facts.joules * (byBoards ? kBoardPowerInterval.high : 1));
  Verification whole = verifyRun(*facts.run);
  llvm::append_range(proof.findings, whole.findings);
  llvm::append_range(proof.checked, whole.checked);
  llvm::append_range(proof.trusted, whole.trusted);
}

std::optional<VerifiedCertificate> verifyPlan(const CertificateRequest &request) {
  auto plan = readPlan(request.path, request.json, "verify");
  if (!plan)
    return std::nullopt;
  VerifiedCertificate verified{verify(*plan)};
  addRun(verified.proof, runFacts(*plan));
  if (verified.proof.holds())
    verifyQueries(verified.proof, *plan, answerFolder(request.path), request.solver);
  if (!verified.proof.holds())
    return verified;
  VerifiedLatencyModel model;
  if (llvm::sys::fs::is_directory(request.path))
    model = verifyLatencyModel(verified.proof, request.path, plannedStep(*plan));
  verified.printed = filesOf(*plan, model.script);
  verified.printed.push_back({"plan.mlir", planMlir(*plan) + "\n"});
  llvm::append_range(verified.printed, model.files);
  return verified;
}

std::optional<VerifiedCertificate> verifyClusterPlan(const CertificateRequest &request) {
  auto plan = readPlacementCertificate(request.path, request.json, "verify");
  if (!plan || !readPlacementPaths(*plan, request.path, request.json, "verify"))
    return std::nullopt;
  VerifiedCertificate verified{verifyPlacement(*plan)};
  addRun(verified.proof, runFacts(*plan));
  if (verified.proof.holds())
    verifyPlacementSmtQuery(verified.proof, *plan, answerFolder(request.path), request.solver);
  if (!verified.proof.holds())
    return verified;
  VerifiedLatencyModel model;
  if (llvm::sys::fs::is_directory(request.path))
    model = verifyLatencyModel(verified.proof, request.path, plannedStep(*plan));
  verified.printed = filesOf(*plan, model.script);
  verified.printed.push_back({"plan.mlir", planMlir(*plan) + "\n"});
  llvm::append_range(verified.printed, model.files);
  return verified;
}

std::string checkSparsity(const SparsityPlan &plan) {
  return plan.pipeline ? check(plan.pipeline->problem) : plan.step ? check(plan.step->problem) : "";
}

std::optional<VerifiedCertificate> verifySparsity(const CertificateRequest &request) {
  auto plan = readAnswer(request, kSparsityFile, "prune", readSparsity, checkSparsity);
  if (!plan)
    return std::nullopt;
  Verification proof;
  if (const auto &pipeline = plan->pipeline) {
    proof = verify(pipeline->problem, pipeline->result);
    if (pipeline->problem.resources.isStated() && plan->proven && !pipeline->result.proven)
      proof.findings.push_back(
          {Code::WrongObjective, "the choice is called proven, and shorter intervals are not excluded", {}, {}});
  } else if (const auto &step = plan->step) {
    proof = verify(step->problem, step->result);
    Errors found = verify(step->problem, step->result, {*step, plan->objective, plan->proven, plan->gap});
    if (found.empty())
      proof.checked.push_back("what is shown of layers, options and the step is what was chosen");
    llvm::append_range(proof.findings, found);
  }
  proof.trusted.push_back("times, energies, bytes and losses of the options, as the cost model and the measurements "
                          "gave them");
  if (plan->accuracy)
    proof.trusted.push_back("what is said of accuracy, as the measurements showed it");
  if (plan->pipeline)
    proof.trusted.push_back("what is stated of stages without a limit of multipliers, and why they are limited");
  VerifiedCertificate verified{std::move(proof)};
  if (verified.proof.holds())
    verified.printed = filesOf(*plan);
  return verified;
}

std::optional<VerifiedCertificate> verifyEnsemble(const CertificateRequest &request) {
  auto plan = readAnswer<EnsemblePlan>(request, kVoteFile, "vote", readEnsemble,
                                       [](const EnsemblePlan &) { return std::string(); });
  if (!plan)
    return std::nullopt;
  VerifiedCertificate verified{verify(*plan)};
  if (verified.proof.holds())
    verified.printed = filesOf(*plan);
  return verified;
}

std::optional<VerifiedCertificate> verifyAnswers(const CertificateRequest &request) {
  auto plan = readAnswer<AnswerPlan>(request, kAnswerFile, "vote", readAnswerPlan,
                                     [](const AnswerPlan &) { return std::string(); });
  if (!plan)
    return std::nullopt;
  VerifiedCertificate verified{verify(*plan)};
  if (verified.proof.holds())
    verified.printed = filesOf(*plan);
  return verified;
}

} // namespace

CertificateKind planCertificate() {
  return {"plan", [](const std::string &) { return true; }, verifyPlan};
}
CertificateKind placementCertificate() { return {"plan", holdsPlacement, verifyClusterPlan}; }
CertificateKind sparsityCertificate() {
  return {"choice", [](const std::string &path) { return hasResultFile(path, kSparsityFile); }, verifySparsity};
}
CertificateKind answerCertificate() {
  return {"answer", [](const std::string &path) { return hasResultFile(path, kAnswerFile); }, verifyAnswers};
}
CertificateKind ensembleCertificate() {
  return {"ensemble", [](const std::string &path) { return hasResultFile(path, kVoteFile); }, verifyEnsemble};
}

} // namespace accord
