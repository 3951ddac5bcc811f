// What policies did to jobs in a simulation: figures follow from the jobs and seeds that the document has; what the
// jobs did is what the command gives when it runs again.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/jobs/output/SimulationOutput.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

using jobs::MeanInterval;

constexpr const char *kSimulationFile = "simulation.json";

/// The numbers of a field of objects in a list; nothing where there is no list, or one has none.
std::optional<std::vector<double>> numbersOf(const json::Array *list, StringRef field) {
  if (!list)
    return std::nullopt;
  std::vector<double> out;
  for (const json::Value &one : *list) {
    const auto number = one.getAsObject() ? one.getAsObject()->getNumber(field) : std::nullopt;
    if (!number)
      return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

class SimulationVerifier {
public:
  explicit SimulationVerifier(const json::Object &document) : document_(document) {}

  Verification verify() {
    const json::Array *policies = document_.getArray("policies");
    if (!policies || policies->empty())
      return found("the document has no policies"), std::move(proof_);
    for (const json::Value &policy : *policies)
      if (policy.getAsObject())
        verifyPolicy(*policy.getAsObject());
      else
        found("a policy is no object");
    if (proof_.holds()) {
      proof_.checked.push_back(
          fmt::format("means, medians, tails and makespans of {} policies follow from their jobs", policies->size()));
      if (compared_ > 0)
        proof_.checked.push_back(fmt::format("{} comparisons with '{}', seed by seed", compared_,
                                             document_.getString("reference").value_or("").str()));
      proof_.trusted.push_back("what jobs did in the simulation, and regrets: --from runs it again");
    }
    return std::move(proof_);
  }

private:
  void found(std::string message) {
    proof_.findings.push_back({Code::CertificateDisagrees, std::move(message), {}, {}});
  }

  /// Whether a figure is what was computed again, but for rounding.
  void compare(const json::Object &of, StringRef name, StringRef field, double is) {
    const auto said = of.getNumber(field);
    if (!said || !(std::abs(*said - is) <= 1e-9 * std::max(1.0, std::abs(is))))
      found(fmt::format("'{}' of '{}' is {}, and follows as {}", field.str(), name.str(),
                        said ? fmt::format("{}", *said) : "missing", is));
  }
  void compare(const json::Object *of, StringRef name, const MeanInterval &is) {
    if (!of)
      return found(fmt::format("an interval of '{}' is missing", name.str()));
    compare(*of, name, "mean", is.mean), compare(*of, name, "low", is.low), compare(*of, name, "high", is.high);
  }

  void verifyPolicy(const json::Object &policy) {
    const StringRef name = policy.getString("policy").value_or("");
    const auto arrivals = numbersOf(policy.getArray("jobs"), "arrival_s"),
               completions = numbersOf(policy.getArray("jobs"), "completion_s");
    if (!arrivals || !completions)
      return found(fmt::format("a job of '{}' has no arrival or completion", name.str()));
    jobs::PolicyReport again;
    for (size_t i = 0; i < arrivals->size(); ++i)
      again.jobs.push_back({"", (*arrivals)[i], 0, (*completions)[i]});
    compare(policy, name, "mean_completion_s", again.meanCompletion());
    compare(policy, name, "median_completion_s", again.completionQuantile(0.5));
    compare(policy, name, "p99_completion_s", again.completionQuantile(0.99));
    compare(policy, name, "makespan_s", again.makespan());
    const json::Array *seeds = policy.getArray("seeds");
    const auto means = numbersOf(seeds, "mean_completion_s");
    if (seeds && means)
      compare(policy.getObject("mean_completion_over_seeds_s"), name, jobs::studentInterval(*means));
    if (const json::Object *change = policy.getObject("change"))
      verifyChange(*change, name, means);
  }

  /// Against the reference, each seed with its own ratio.
  void verifyChange(const json::Object &change, StringRef name, const std::optional<std::vector<double>> &means) {
    std::optional<std::vector<double>> reference;
    for (const json::Value &one : *document_.getArray("policies"))
      if (one.getAsObject() && one.getAsObject()->getString("policy") == document_.getString("reference"))
        reference = numbersOf(one.getAsObject()->getArray("seeds"), "mean_completion_s");
    if (!means || !reference || means->size() != reference->size() || means->empty())
      return found(fmt::format("'{}' is compared without seeds of both", name.str()));
    std::vector<double> changes;
    for (size_t i = 0; i < means->size(); ++i)
      if ((*reference)[i] > 0)
        changes.push_back((*means)[i] / (*reference)[i] - 1);
    const MeanInterval again = jobs::bootstrapInterval(changes, 0.95);
    compare(&change, name, again);
    const StringRef shown = again.high < 0 ? "shorter" : again.low > 0 ? "longer" : "no gain";
    if (change.getString("shown") != shown)
      found(fmt::format("what is shown of '{}' is {}", name.str(), shown.str()));
    ++compared_;
  }

  const json::Object &document_;
  Verification proof_;
  size_t compared_ = 0;
};

std::optional<VerifiedCertificate> verifySimulation(const CertificateRequest &request) {
  auto file = readResultFile(request.path, kSimulationFile, request.json, "verify");
  if (!file)
    return std::nullopt;
  if (!file->document.getAsObject())
    return VerifiedCertificate{{{{Code::CertificateDisagrees, "the document is no object", {}, {}}}, {}, {}, {}}};
  return VerifiedCertificate{SimulationVerifier(*file->document.getAsObject()).verify()};
}

} // namespace

CertificateKind simulationCertificate() {
  return {"simulation", [](const std::string &path) { return hasResultFile(path, kSimulationFile); }, verifySimulation};
}

} // namespace accord
