// Answers that are proved from the documents of their folder: plans, choices of sparsity patterns, ensembles.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/certificates/ScheduleCertificate.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/verify/Ensemble.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/sparsity/verify/Dataflow.h"
#include "lib/sparsity/verify/ReportedSelectionChecker.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord {
namespace {

/// The answer in `file` of the folder, which `check` finds nothing wrong with; nothing after a refusal.
template <typename Answer>
std::optional<Answer> readAnswer(const CertificateRequest &request, const char *file, const char *command,
                                 bool (*read)(const llvm::json::Value &, Answer &, llvm::json::Path),
                                 std::string (*check)(const Answer &)) {
  auto found = readResultFile(request.path, file, request.json, "verify");
  if (!found)
    return std::nullopt;
  std::optional<Answer> answer(std::in_place);
  llvm::json::Path::Root root(command);
  std::string error = read(found->document, *answer, root) ? check(*answer) : llvm::toString(root.getError());
  if (error.empty())
    return answer;
  refuse(Code::BadPlan, fmt::format("{}: {}", found->file, error), request.json, "verify");
  return std::nullopt;
}

std::optional<VerifiedCertificate> verifyPlan(const CertificateRequest &request) {
  auto plan = readPlan(request.path, request.json, "verify");
  if (!plan)
    return std::nullopt;
  VerifiedCertificate verified{verify(*plan)};
  if (verified.proof.holds())
    verifyQueries(verified.proof, *plan, answerFolder(request.path), request.solver);
  return verified;
}

std::optional<VerifiedCertificate> verifyClusterPlan(const CertificateRequest &request) {
  auto plan = readPlacement(request.path, request.json, "verify");
  if (!plan || !readPlacementPaths(*plan, request.path, request.json, "verify"))
    return std::nullopt;
  VerifiedCertificate verified{verifyPlacement(*plan)};
  if (verified.proof.holds())
    verifyPlacementSmtQuery(verified.proof, *plan, answerFolder(request.path), request.solver);
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
    proof.trusted.push_back("what is stated of stages: their cycles, what limits them, and why");
  return VerifiedCertificate{std::move(proof)};
}

std::optional<VerifiedCertificate> verifyEnsemble(const CertificateRequest &request) {
  auto plan = readAnswer<EnsemblePlan>(request, kVoteFile, "vote", readEnsemble,
                                       [](const EnsemblePlan &) { return std::string(); });
  return plan ? std::optional(VerifiedCertificate{verify(*plan)}) : std::nullopt;
}

} // namespace

CertificateKind planCertificate() {
  return {"plan", [](const std::string &) { return true; }, verifyPlan};
}
CertificateKind placementCertificate() { return {"plan", holdsPlacement, verifyClusterPlan}; }
CertificateKind sparsityCertificate() {
  return {"choice", [](const std::string &path) { return hasResultFile(path, kSparsityFile); }, verifySparsity};
}
CertificateKind ensembleCertificate() {
  return {"ensemble", [](const std::string &path) { return hasResultFile(path, kVoteFile); }, verifyEnsemble};
}

} // namespace accord
