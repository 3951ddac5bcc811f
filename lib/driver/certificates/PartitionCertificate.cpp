// Stages of a profiled graph.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/partitioning/output/LayerPlanCertificate.h"
#include "lib/partitioning/output/PartitioningCertificate.h"
#include "lib/partitioning/verify/LayerPlanBoundProof.h"
#include "lib/partitioning/verify/LayerPlanVerifier.h"
#include "lib/partitioning/verify/PartitioningBoundProof.h"
#include "lib/partitioning/verify/PartitioningVerifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <limits>

namespace accord {
namespace {

void take(BoundVerdict verdict, const std::string &what, Verification &proof) {
  switch (verdict) {
  case BoundVerdict::Holds:
    return proof.checked.push_back(what);
  case BoundVerdict::Open:
    return proof.trusted.push_back("the search: " + what);
  case BoundVerdict::Broken:
    return proof.findings.push_back({Code::BoundNotProved, what + " is stated, and there are some", {}, {}});
  }
}

Verification verifyStages(const PartitioningProblem &problem, const PartitioningResult &result) {
  using enum PartitioningResult::Status;
  Verification proof;
  proof.findings = verify(problem, result);
  if (!proof.holds())
    return proof;
  if (result.status == Unknown) {
    proof.trusted.push_back("the search: that it found no stages");
    return proof;
  }
  bool none = result.status == Infeasible;
  if (!none)
    proof.checked.push_back(fmt::format("{} nodes in {} stages: a load of {} ps in the memory of their devices",
                                        problem.nodes.size(), result.stages.size(), result.load));
  std::string what = none ? "that no stages fit" : fmt::format("that no stages have a load below {} ps", result.bound);
  take(provePartitioningBound(problem, none ? INT64_MAX : result.bound), what, proof);
  if (result.minMemory > 0)
    proof.trusted.push_back("the search, in the memory that it says would suffice");
  return proof;
}

Verification verifyLayerPlan(const LayerPlanAnswer &answer) {
  using enum LayerPlan::Status;
  const LayerPlan &plan = answer.plan;
  const char *objective = kPipelineObjectives[static_cast<size_t>(plan.objective)];
  Verification proof;
  proof.findings = verify(answer.graph, plan);
  if (!answer.allowReplicas)
    for (const LayerStage &stage : plan.stages)
      if (stage.data > 1)
        proof.findings.push_back({Code::OperationMissing, "a stage has replicas, which are not allowed", {}, {}});
  if (plan.status == Feasible && plan.stages.empty())
    proof.findings.push_back({Code::OperationMissing, "a plan without stages", {}, {}});
  if (!proof.holds())
    return proof;
  if (plan.status == Unknown) {
    proof.trusted.push_back("the search: that it found no stages");
    return proof;
  }
  bool none = plan.status == Infeasible;
  if (!none)
    proof.checked.push_back(fmt::format("{} layers in {} stages: a {} of {} s in the memory of their devices",
                                        answer.graph.layers.size(), plan.stages.size(), objective, plan.value));
  std::string what =
      none ? "that no stages fit" : fmt::format("that no stages have a {} below {} s", objective, plan.bound);
  take(proveLayerPlanBound(answer.graph, none ? std::numeric_limits<double>::infinity() : plan.bound,
                           answer.allowReplicas, plan.objective),
       what, proof);
  if (plan.minMemory > 0)
    proof.trusted.push_back("the search, in the memory that it says a layer needs");
  return proof;
}

std::optional<VerifiedCertificate> verifyLayers(const CertificateRequest &request, const std::string &folder) {
  auto layers = readText(folder + "/" + kLayerProblemCertificate, request.json, "verify");
  auto plan = layers ? readText(folder + "/" + kLayerPlanCertificate, request.json, "verify") : std::nullopt;
  if (!plan)
    return std::nullopt;
  auto answer = layerPlanFromCertificate(*layers, *plan, folder);
  if (!answer)
    return refused(answer.error().front().code, answer.error().front().message, request.json, "verify");
  VerifiedCertificate verified{verifyLayerPlan(*answer)};
  if (verified.proof.holds())
    verified.printed = filesOf(*answer);
  return verified;
}

std::optional<VerifiedCertificate> verifyPartition(const CertificateRequest &request) {
  std::string folder = answerFolder(request.path),
              file = (folder.empty() ? "." : folder) + "/" + kPartitioningCertificate;
  if (folder = folder.empty() ? "." : folder; llvm::sys::fs::exists(folder + "/" + kLayerPlanCertificate))
    return verifyLayers(request, folder);
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto answer = partitioningFromCertificate(*text, file);
  if (!answer)
    return refused(Code::BadPlan, llvm::toString(answer.takeError()), request.json, "verify");
  VerifiedCertificate verified{verifyStages(answer->problem, answer->result)};
  if (verified.proof.holds())
    verified.printed = filesOf(*answer);
  return verified;
}

} // namespace

CertificateKind partitionCertificate() {
  return {"partition", [](const std::string &path) { return hasResultFile(path, "stages.json"); }, verifyPartition};
}

} // namespace accord
