// Schedules of jobs that share a cluster, choices of offers for trainings, and tunings of hyper-parameters and servers.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/tasks/Choose.h"
#include "lib/driver/tuning/NetworkPrices.h"
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/jobs/verify/PlacementCheck.h"
#include "lib/jobs/verify/ReplanCheck.h"
#include "lib/launch/JobScripts.h"
#include "lib/offers/output/OfferCertificate.h"
#include "lib/tuning/output/ServerOutput.h"
#include "lib/tuning/output/TuningOutput.h"
#include "lib/tuning/verify/PriceVerifier.h"
#include "lib/tuning/verify/ServerVerifier.h"
#include "lib/tuning/verify/TuningVerifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/format.h>

namespace accord {
namespace {

using namespace jobs;

/// What is proved of an answer, in sentences.
Verification verifyJobs(const JobAnswer &answer) {
  Verification proof;
  if (auto checked = checkJobScheduleProblem(answer.problem); !checked) {
    proof.findings.push_back(checked.error());
    return proof;
  }
  if (auto verified = verifyJobSchedule(answer.problem, answer.schedule); !verified)
    proof.findings.push_back(verified.error());
  if (auto placed = checkPlacements(answer, /*partial=*/true); !placed)
    proof.findings.push_back(placed.error());
  if (auto goesOn = checkReplan(answer); !goesOn)
    proof.findings.push_back(goesOn.error());
  if (!proof.holds())
    return proof;
  const JobSchedule &schedule = answer.schedule;
  if (schedule.status == AllocationStatus::Infeasible) {
    proof.checked.push_back("no schedule keeps capacities, deadlines, dependences and requirements");
  } else if (schedule.status == AllocationStatus::Unknown) {
    proof.trusted.push_back("the search: that it found no schedule");
  } else {
    size_t runs = 0;
    for (const JobTrajectory &job : schedule.jobs)
      runs += job.runs.size();
    proof.checked.push_back(
        fmt::format("{} jobs in {} runs keep arrivals, deadlines, dependences, requirements and the "
                    "capacities of {} resources in {} periods",
                    schedule.jobs.size(), runs, answer.problem.resources.size(), answer.problem.slots));
    proof.checked.push_back("each run has its devices on named servers, none of which is full beyond its devices");
    for (size_t i = 0; i < schedule.values.size(); ++i)
      proof.checked.push_back(fmt::format("{}: {}, and no schedule that is as good before has less than {}",
                                          nameOf(answer.problem.objectives[i]), schedule.values[i],
                                          schedule.proofs[i].bound));
  }
  proof.trusted.push_back(
      "speeds, powers and prices of the configurations, as the latency models or profiles give them");
  if (llvm::any_of(answer.launch, [](const JobLaunch &one) { return !one.configurations.empty(); }))
    proof.trusted.push_back("the plans by which launch/ starts runs, but for their numbers of devices");
  if (answer.replan) {
    proof.checked.push_back("jobs go on as they run, completed ones are done, servers out of service have no run");
    if (!answer.replan->keptValues.empty() && !schedule.values.empty())
      proof.checked.push_back("no objective is worse than with the plan before, in their order");
    proof.trusted.push_back("the state from which the plan goes on, as the plan before and events say");
  }
  if (!answer.conflict.empty())
    proof.trusted.push_back("the search, in which constraints are in conflict and what repairs them");
  return proof;
}

std::optional<VerifiedCertificate> verify(const CertificateRequest &request) {
  const std::string folder = answerFolder(request.path),
                    file = (folder.empty() ? "." : folder) + "/" + kJobsCertificate;
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto answer = jobsFromCertificate(*text, file);
  if (!answer)
    return refused(answer.error().code, answer.error().message, request.json, "verify");
  VerifiedCertificate verified{verifyJobs(*answer)};
  if (verified.proof.holds()) {
    verified.printed = filesOf(*answer);
    for (AnswerFile &file : launchFiles(*answer))
      verified.printed.push_back(std::move(file));
  }
  return verified;
}

std::optional<VerifiedCertificate> verifyChoice(const CertificateRequest &request) {
  const std::string folder = answerFolder(request.path),
                    file = (folder.empty() ? "." : folder) + "/" + offers::kOfferCertificate;
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto report = offers::offersFromCertificate(*text, file);
  if (!report)
    return refused(report.error().code, report.error().message, request.json, "verify");
  VerifiedCertificate verified{proofOf(*report)};
  // What the document says of proofs is what was proved here.
  report->checked = verified.proof.checked, report->searchAlone = verified.proof.solverAnswers;
  if (verified.proof.holds())
    verified.printed = filesOf(*report);
  return verified;
}

/// Adds what another verifier says of the same answer.
void append(Verification &to, Verification more) {
  llvm::append_range(to.findings, more.findings);
  llvm::append_range(to.checked, more.checked);
  llvm::append_range(to.trusted, more.trusted);
}

/// Prices of a tuning, each computed again from the file that its manifest names, if that is still what it was.
Verification verifiedPrices(const tuning::TuningReport &report, const std::string &path) {
  const std::string folder = answerFolder(path);
  auto manifest = readManifest(folder.empty() ? "." : folder);
  Options options;
  bool isSame = true;
  for (const AnswerManifest::File &source : manifest ? manifest->sources : std::vector<AnswerManifest::File>()) {
    if (llvm::StringRef(source.name).starts_with("catalog/"))
      continue;
    if (options.file.empty())
      options.file = source.name;
    auto text = llvm::MemoryBuffer::getFile(source.name);
    isSame = isSame && text && sha256Of((*text)->getBuffer()) == source.sha256;
  }
  tuning::PricedTuning priced = *report.prices;
  NetworkPricer pricer(options, report.problem, priced, /*keepsGraphs=*/false);
  if (options.file.empty() || !isSame || pricer.prepare())
    return tuning::verifyPrices(report.problem, report.result, *report.prices, {});
  Verification out = tuning::verifyPrices(report.problem, report.result, *report.prices,
                                          [&](const tuning::Configuration &one) { return pricer.price(one); });
  if (priced.machine != report.prices->machine || priced.capacity != report.prices->capacity)
    out.findings.push_back(
        {Code::CertificateDisagrees,
         fmt::format("'{}' with {} bytes is said to train, but the file has '{}' with {}", report.prices->machine,
                     report.prices->capacity, priced.machine, priced.capacity)});
  return out;
}

std::optional<VerifiedCertificate> verifyServers(const CertificateRequest &request) {
  const std::string file = resultFile(request.path, tuning::kServersFile);
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto report = tuning::serversFromDocument(*text, file);
  if (!report)
    return refused(report.error().code, report.error().message, request.json, "verify");
  VerifiedCertificate verified{tuning::verifyServerTuning(report->problem, report->result)};
  if (!report->compared.empty())
    verified.proof.trusted.push_back("what was compared over seeds");
  if (verified.proof.holds())
    verified.printed = filesOf(*report);
  return verified;
}

std::optional<VerifiedCertificate> verifyTuned(const CertificateRequest &request) {
  const std::string file = resultFile(request.path, tuning::kTuningFile);
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto report = tuning::tuningFromDocument(*text, file);
  if (!report)
    return refused(report.error().code, report.error().message, request.json, "verify");
  const tuning::PricedTuning *priced = report->prices ? &*report->prices : nullptr;
  VerifiedCertificate verified{tuning::verifyTuning(report->problem, report->result, priced)};
  if (priced && verified.proof.holds())
    append(verified.proof, verifiedPrices(*report, request.path));
  if (!report->compared.empty())
    verified.proof.trusted.push_back("what was compared over seeds");
  if (verified.proof.holds())
    verified.printed = filesOf(*report);
  return verified;
}

} // namespace

CertificateKind tuningCertificate() {
  return {"tuning", [](const std::string &path) { return hasResultFile(path, tuning::kTuningFile); }, verifyTuned};
}

CertificateKind serversCertificate() {
  return {"tuning", [](const std::string &path) { return hasResultFile(path, tuning::kServersFile); }, verifyServers};
}

CertificateKind jobsCertificate() {
  return {"schedule", [](const std::string &path) { return hasResultFile(path, "jobs.json"); }, verify};
}

CertificateKind offersCertificate() {
  return {"choice", [](const std::string &path) { return hasResultFile(path, "choose.json"); }, verifyChoice};
}

} // namespace accord
