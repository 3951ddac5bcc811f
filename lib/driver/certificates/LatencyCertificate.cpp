#include "lib/driver/certificates/LatencyCertificate.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/tasks/Latency.h"
#include "lib/latency/forms/ModelJson.h"
#include "lib/latency/forms/Print.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/planning/output/Metrics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

class LatencyChecker {
public:
  LatencyChecker(Verification &proof, const LatencyModel &model) : proof_(proof), model_(model) {}

  void samples() {
    for (const LatencyModel::Sample &sample : model_.samples) {
      LatencyEvaluation found = evaluate(model_, sample.arguments);
      const LatencyResult &is = found.result, &said = sample.result;
      if (found.status != 0 || is.step != said.step || is.memory != said.memory || is.flops != said.flops)
        return find("a sample of the latency model is not what it gives there");
    }
    if (model_.samples.front().arguments != model_.initial())
      find("the first sample of the latency model is not at its defaults");
  }

  void against(const PlannedStep &plan) {
    auto same = [&](const char *what, double said, double is) {
      if (!(std::abs(said - is) <= 1e-9 * std::abs(is)))
        find("the latency model has {} {} where the plan has {}", what, said, is);
    };
    if (model_.model != plan.model || model_.machine != plan.machine || model_.version != plan.version)
      find("the latency model is of '{}' on '{}', the plan of '{}' on '{}'", model_.model, model_.machine, plan.model,
           plan.machine);
    const std::vector<double> initial = model_.initial();
    same("a batch of", initial[kBatch], plan.batch);
    same("a micro-batch of", initial[kMicrobatch], plan.microbatch);
    if (plan.sequence > 0)
      same("a sequence of", initial[kSequence], plan.sequence);
    const LatencyResult &here = model_.samples.front().result;
    same("a planned step time of", model_.planStep, plan.step);
    // Where the plan waits without need, the model is a little below.
    if (model_.exact || here.step > plan.step)
      same("a step time of", here.step, plan.step);
    same("a memory of", here.memory, plan.memory);
    same("a number of FLOPs of", here.flops, plan.flops);
  }

private:
  template <typename... T> void find(fmt::format_string<T...> text, T &&...args) {
    proof_.findings.push_back({Code::CertificateDisagrees, fmt::format(text, std::forward<T>(args)...), {}, {}});
  }

  Verification &proof_;
  const LatencyModel &model_;
};

} // namespace

PlannedStep plannedStep(const Plan &plan) {
  Metrics metrics = measure(plan);
  return {plan.graph.model,
          plan.machine.name,
          plan.version,
          static_cast<double>(plan.batch),
          static_cast<double>(plan.graph.microbatch),
          static_cast<double>(plan.sequence),
          metrics.step.value,
          static_cast<double>(plan.memory.peak),
          static_cast<double>(metrics.flops)};
}

PlannedStep plannedStep(const PlacementPlan &plan) {
  PlannedStep step{plan.model, plan.cluster, plan.version, static_cast<double>(plan.problem.batch)};
  step.sequence = static_cast<double>(plan.sequence);
  step.flops = plan.modelFlops;
  if (plan.result.plan) {
    const PlacedStage &stage = plan.result.plan->stages.front();
    step.microbatch = static_cast<double>(plan.problem.parallelConfigs[stage.parallelConfig].microbatch);
    step.step = static_cast<double>(plan.result.metrics.step) * 1e-12;
    step.memory = static_cast<double>(maxDeviceMemory(plan.result.metrics));
  }
  return step;
}

VerifiedLatencyModel verifyLatencyModel(Verification &proof, const std::string &folder,
                                        const std::optional<PlannedStep> &plan) {
  std::string path = (folder.empty() ? "." : folder) + "/" + kLatencyCertificate;
  auto exists = [&](llvm::StringRef name) { return llvm::sys::fs::exists(folder + "/" + name); };
  bool any = llvm::any_of(latencyFormats(), [&](const LatencyFormat &form) { return exists(form.file); });
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text && !any)
    return {};
  auto refused = [&](std::string message) {
    proof.findings.push_back({Code::CertificateDisagrees, std::move(message), {}, {}});
    return VerifiedLatencyModel();
  };
  if (!text)
    return refused(
        fmt::format("'{}', which the latency model follows from, cannot be read: {}", path, text.getError().message()));
  auto model = latencyModelFromJson((*text)->getBuffer(), path);
  if (!model)
    return refused(llvm::toString(model.takeError()));
  size_t before = proof.findings.size();
  LatencyChecker checker(proof, *model);
  checker.samples();
  if (plan)
    checker.against(*plan);
  if (proof.findings.size() > before)
    return {};
  proof.checked.push_back(fmt::format("the latency model: {} samples{}", model->samples.size(),
                                      plan ? ", and step time, memory and FLOPs of the plan" : ""));
  proof.trusted.push_back("the latency model at other sizes than these, as it was fitted to priced steps");
  VerifiedLatencyModel verified{filesOf(*model), printJavaScript(*model)};
  llvm::erase_if(verified.files, [&](const AnswerFile &file) { return !exists(file.name); });
  return verified;
}

CertificateKind latencyCertificate() {
  return {"latency model",
          [](const std::string &path) {
            return llvm::sys::fs::is_directory(path) && hasResultFile(path, kLatencyCertificate) &&
                   !hasResultFile(path, "plan.json");
          },
          [](const CertificateRequest &request) -> std::optional<VerifiedCertificate> {
            VerifiedCertificate verified;
            verified.printed = verifyLatencyModel(verified.proof, request.path, {}).files;
            return verified;
          }};
}

} // namespace accord
