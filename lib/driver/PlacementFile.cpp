#include "lib/driver/PlacementFile.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementSmtQuery.h"
#include "lib/placement/output/SparsePlacementJson.h"
#include "lib/placement/verify/DeviceMemoryRules.h"
#include "lib/placement/verify/PlacementVerifier.h"
#include "lib/placement/verify/SparsePlacementVerifier.h"
#include "lib/placement/verify/TrafficRules.h"
#include "lib/planning/output/Certificate.h"
#include "lib/scheduling/solve/Oracle.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {

static std::string planFile(const std::string &path) { return resultFile(path, "plan.json"); }

bool holdsPlacement(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(planFile(path));
  return buffer && isPlacement((*buffer)->getBuffer());
}

std::optional<PlacementPlan> readPlacementCertificate(const std::string &path, bool json, const char *command) {
  auto fail = [&](Code code, const std::string &message) { return refused(code, message, json, command); };
  std::string file = planFile(path);
  auto text = readText(file, json, command);
  if (!text)
    return std::nullopt;
  if (!isPlacement(*text))
    return fail(Code::NotAPlacement,
                fmt::format("'{}' is not the plan of a cluster: it has no stages on groups of devices", file));
  llvm::SmallString<256> beside(llvm::sys::path::parent_path(file));
  llvm::sys::path::append(beside, kPlacementCertificate);
  std::string certificate = beside.str().str();
  auto proof = llvm::MemoryBuffer::getFile(certificate);
  if (!proof)
    return fail(Code::CertificateDisagrees, fmt::format("'{}', from which '{}' follows, cannot be read: {}",
                                                        certificate, file, proof.getError().message()));
  auto plan = placementFromCertificate((*proof)->getBuffer(), certificate);
  if (!plan)
    return fail(Code::BadPlan, llvm::toString(plan.takeError()));
  beside = llvm::sys::path::parent_path(file);
  llvm::sys::path::append(beside, kPlacementSparsity);
  if (auto chosen = llvm::MemoryBuffer::getFile(beside)) {
    auto zeros = placementSparsityFrom((*chosen)->getBuffer(), beside);
    if (!zeros)
      return fail(Code::BadPlan, llvm::toString(zeros.takeError()));
    if (Errors wrong = check(problemOf(plan->problem, *zeros)); !wrong.empty())
      return fail(Code::BadPlan, fmt::format("{}: {}", beside.str().str(), wrong.front().message));
    plan->zeros = std::move(*zeros);
  }
  return std::move(*plan);
}

std::optional<PlacementPlan> readPlacement(const std::string &path, bool json, const char *command) {
  auto plan = readPlacementCertificate(path, json, command);
  if (!plan)
    return std::nullopt;
  std::string file = planFile(path);
  auto text = readText(file, json, command);
  if (!text)
    return std::nullopt;
  if (llvm::Error error = agrees(*plan, *text, file))
    return refused(Code::CertificateDisagrees, llvm::toString(std::move(error)), json, command);
  return plan;
}

std::optional<PlacementPlan> readLaunchedPlan(const std::string &path, bool json, const char *command) {
  if (holdsPlacement(path))
    return readPlacement(path, json, command);
  auto plan = readPlan(path, json, command);
  if (!plan)
    return std::nullopt;
  return placementOf(*plan);
}

/// How often the longest repeat of the forward pass runs its body.
static int64_t blocksOf(const WorkGraph &graph) {
  int64_t blocks = 0;
  for (const Region &region : graph.regions)
    if (region.parent == kMicrobatchRegion && !region.reverse)
      blocks = std::max(blocks, region.count);
  return blocks;
}

PlacementPlan placementOf(const Plan &plan) {
  const WorkGraph &graph = plan.graph;
  PlacementPlan made;
  made.job = plan.job, made.model = graph.model, made.cluster = plan.machine.name;
  made.precision = graph.precision, made.optimizer = graph.optimizer, made.parameters = graph.parameters;
  made.architecture = plan.architecture;
  made.sequence = plan.sequence, made.version = plan.version, made.conflicts = plan.conflicts;
  if (plan.sequence > 0)
    made.sizes.push_back({"seq", plan.sequence});
  PlacementProblem &problem = made.problem;
  problem.name = graph.model, problem.batch = plan.batch;
  problem.deviceTypes.resize(1);
  problem.deviceTypes[0].name = plan.machine.name;
  problem.deviceTypes[0].memory = plan.memory.peak;
  problem.parallelConfigs.resize(1);
  problem.parallelConfigs[0].microbatch = graph.microbatch;
  PlacementProblem::Cost block, end;
  block.recomputeChoices.resize(1), end.recomputeChoices.resize(1);
  block.recomputeChoices[0].policy = graph.recompute, end.recomputeChoices[0].policy = "none";
  problem.classes = {{"front", {end}}, {"block", {block}}, {"back", {end}}};
  const int64_t blocks = blocksOf(graph);
  problem.layers.resize(static_cast<size_t>(std::max<int64_t>(1, blocks)));
  for (PlacementProblem::Layer &layer : problem.layers)
    layer.name = "block", layer.of = 1;
  if (blocks > 0) {
    problem.layers.insert(problem.layers.begin(), PlacementProblem::Layer{"front", 0, {}, {}});
    problem.layers.push_back({"back", 2, {}, {}});
  }
  if (!plan.feasible)
    return made;
  Placement placement;
  placement.microbatches = graph.microbatches;
  PlacedStage stage;
  for (PlacementProblem::Id layer = 0; layer < problem.layers.size(); ++layer)
    stage.layers.push_back(layer);
  stage.recomputeChoices.assign(stage.layers.size(), 0);
  placement.stages.push_back(std::move(stage));
  made.result.plan = std::move(placement);
  return made;
}

bool readPlacementPaths(PlacementPlan &plan, const std::string &path, bool json, const char *command) {
  llvm::SmallString<256> file(llvm::sys::path::parent_path(planFile(path)));
  llvm::sys::path::append(file, kPlacementPaths);
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return true; // the bound then rests on the planner where it has to
  auto paths = placementPathsFrom((*buffer)->getBuffer(), file);
  if (!paths)
    return refuse(Code::BadPlan, llvm::toString(paths.takeError()), json, command) == kDone;
  plan.result.paths = std::move(*paths);
  return true;
}

Verification verifyPlacement(const PlacementPlan &plan, const PlacementProof &how) {
  Verification proof;
  if (plan.zeros) {
    const SparsePlacementProblem joint = problemOf(plan.problem, *plan.zeros);
    proof.findings = verify(joint, resultOf(plan.result, *plan.zeros), &proof.trusted, how);
    for (Error &wrong : chosenCostViolations(plan.problem, joint, plan.zeros->choice))
      proof.findings.push_back(std::move(wrong));
  } else {
    proof.findings = verify(plan.problem, plan.result, &proof.trusted, how);
  }
  auto addOther = [&](const std::string &which, const Placement &other, const PlanMetrics &metrics) {
    for (Error &wrong : verifyMetrics(plan.problem, other, metrics)) {
      wrong.message = which + ": " + wrong.message;
      proof.findings.push_back(std::move(wrong));
    }
  };
  for (size_t i = 0; proof.findings.empty() && i < plan.runnersUp.size(); ++i)
    addOther(fmt::format("runner-up {}", i + 1), plan.runnersUp[i].plan, plan.runnersUp[i].metrics);
  for (size_t i = 0; proof.findings.empty() && i < plan.front.size(); ++i)
    addOther(fmt::format("the plan with {}", plan.front[i].what), plan.front[i].plan, plan.front[i].metrics);
  for (Error &wrong : deviceMemoryViolations(plan))
    proof.findings.push_back(std::move(wrong));
  bool hasTraffic = proof.findings.empty() && plan.traffic && plan.result.plan;
  if (hasTraffic)
    proof.findings = trafficViolations(plan.problem, *plan.result.plan, *plan.traffic);
  if (proof.findings.empty() && plan.deviceMemory)
    proof.checked.push_back(fmt::format("what '{}' leaves to tensors on each device, with a margin of {:.3g} %",
                                        plan.deviceMemory->framework, plan.deviceMemory->margin * 100));
  if (proof.findings.empty() && plan.result.plan)
    proof.checked.push_back(fmt::format("{} layers in {} stages: a step of {} ps in the memory of its devices",
                                        plan.problem.layers.size(), plan.result.plan->stages.size(),
                                        plan.result.metrics.step));
  if (proof.findings.empty() && proof.trusted.empty())
    proof.checked.push_back(
        fmt::format("no plan of the space is below {:.6g} {}", plan.result.bound,
                    plan.problem.objective == PlacementObjective::StepTime ? "ps" : "of the objective"));
  if (plan.zeros && proof.findings.empty()) {
    size_t decisions = 0;
    for (const SparsityUnit &unit : plan.zeros->units)
      decisions += unit.decisions.size();
    proof.checked.push_back(fmt::format(
        "zeros of layers: {} decision{}, {} budget{}, and that the {} of the search {} "
        "all choices",
        decisions, decisions == 1 ? "" : "s", plan.zeros->budgets.size(), plan.zeros->budgets.size() == 1 ? "" : "s",
        plan.zeros->proof.size() == 1 ? std::string("one part") : fmt::format("{} parts", plan.zeros->proof.size()),
        plan.zeros->proof.size() == 1 ? "is" : "are"));
    proof.trusted.push_back("what layers cost with zeros, as the training graph and the kernels give it");
    if (plan.zeros->accuracy)
      proof.trusted.push_back("what was measured of accuracy, and what zeros lose of it");
  }
  if (hasTraffic && proof.findings.empty()) {
    proof.checked.push_back("bytes over links: what goes between stages, and that gradients take no less");
    proof.trusted.push_back("what layers exchange inside of them over which links, as the training graph and the "
                            "networks give it");
  }
  return proof;
}

void verifyPlacementSmtQuery(Verification &proof, const PlacementPlan &plan, const std::string &folder,
                             const std::string &solver) {
  std::string claim = placementSmtQuery(plan);
  if (claim.empty())
    return;
  auto fail = [&](const std::string &message) { proof.findings.push_back({Code::BoundNotProved, message, {}, {}}); };
  std::string path = (folder.empty() ? "." : folder) + "/" + kPlacementSmtQuery;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer && solver.empty()) // nothing rests on it
    return;
  if (!buffer)
    return fail(fmt::format("the SMT query of the plan's arithmetic is missing: '{}'", path));
  if ((*buffer)->getBuffer() != claim)
    return fail(fmt::format("'{}' is not the SMT query of the arithmetic of this plan", path));
  proof.checked.push_back(fmt::format("'{}' is the arithmetic of this plan, byte for byte", kPlacementSmtQuery));
  SolverResult answer;
  if (solver.empty()) {
    SatResult said = checkSat(claim);
    answer = {said.solver, said.answer};
  } else {
    answer = runSolver(solver, path, claim);
  }
  if (answer.answer == "unsat")
    proof.checked.push_back(fmt::format("sums, memory and step of the plan: {}", answer.solver));
  else
    fail(fmt::format("{} does not confirm the plan's arithmetic: {}", answer.solver, answer.answer));
}

} // namespace accord
