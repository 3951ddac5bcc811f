#include "lib/driver/certificates/ExplorationCertificate.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/certificates/LayerCosts.h"
#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningSpace.h"
#include "lib/exploration/verify/CertificatePoints.h"
#include "lib/exploration/verify/MachineDifferences.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/energy/Energy.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/verify/Ordered.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

std::string folderOf(const std::string &path) {
  std::string folder = answerFolder(path);
  return folder.empty() ? "." : folder;
}

class MiningProver {
public:
  MiningProver(const std::string &path, bool json) : folder_(folderOf(path)), json_(json) {}

  std::optional<VerifiedCertificate> prove() {
    if (!read())
      return std::nullopt;
    prices_ = pricesOf(certificate_);
    MiningVerifier verifier(certificate_, *space_, prices_);
    if (verifier.byExpression() && certificate_.metric != space_->metric())
      find("the certificate minimizes '{}', '{}' minimizes {}", certificate_.metric, kMiningSpace,
           space_->metric().empty() ? "nothing" : "'" + space_->metric() + "'");
    checkOwn();
    for (const CertificateAnswer &answer : certificate_.answers)
      checkWinner(verifier, answer);
    // Of another winner nothing more is to be said.
    if (out_.holds())
      for (const CertificateAnswer &answer : certificate_.answers)
        checkBound(verifier, answer);
    return VerifiedCertificate{std::move(out_), std::move(answers_)};
  }

private:
  template <typename... T> void find(fmt::format_string<T...> text, T &&...args) {
    out_.findings.push_back({Code::BoundNotProved, fmt::format(text, std::forward<T>(args)...), {}, {}});
  }

  std::optional<std::string> textOf(const std::string &file) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (buffer)
      return (*buffer)->getBuffer().str();
    refuse(Code::CannotRead,
           fmt::format("'{}', without which nothing of a mining is proved, cannot be read: {}", file,
                       buffer.getError().message()),
           json_, "verify");
    return std::nullopt;
  }

  bool read() {
    auto fail = [&](Code code, const std::string &message) {
      refuse(code, message, json_, "verify");
      return false;
    };
    std::string file = folder_ + "/" + kMiningCertificate, spaceFile = folder_ + "/" + kMiningSpace,
                mined = folder_ + "/mine.json";
    auto text = textOf(file), spaceText = text ? textOf(spaceFile) : std::nullopt,
         minedText = spaceText ? textOf(mined) : std::nullopt;
    if (!minedText)
      return false;
    auto certificate = miningCertificateFromJson(*text, file);
    if (!certificate)
      return fail(Code::BadPlan, llvm::toString(certificate.takeError()));
    certificate_ = std::move(*certificate);
    auto space = MiningSpace::read(*spaceText);
    if (auto *wrong = std::get_if<std::string>(&space))
      return fail(Code::BadPlan, fmt::format("{}: {}", spaceFile, *wrong));
    space_ = std::move(std::get<std::unique_ptr<MiningSpace>>(space));
    std::vector<std::string> paths;
    for (size_t i = 0; i + certificate_.clusterParameters < certificate_.parameters.size(); ++i) {
      const DesignParameter &parameter = certificate_.parameters[i];
      auto found = space_->choices().find(parameter.name);
      if (found == space_->choices().end())
        return fail(Code::CertificateDisagrees,
                    fmt::format("{}: '{}' is chosen, '{}' leaves no such choice", file, parameter.name, spaceFile));
      if (found->second != parameter.labels)
        return fail(Code::CertificateDisagrees,
                    fmt::format("{}: '{}' is one of {}, in '{}' one of {}", file, parameter.name,
                                llvm::join(parameter.labels, ", "), spaceFile, llvm::join(found->second, ", ")));
      paths.push_back(parameter.name);
    }
    if (!space_->arrange(paths))
      return fail(Code::CertificateDisagrees, fmt::format("{}: {} choices, '{}' leaves {}", file, paths.size(),
                                                          spaceFile, space_->choices().size()));
    if (llvm::Error error = agrees(certificate_, space_->name(), space_->requirements(), *minedText, mined))
      return fail(Code::CertificateDisagrees, llvm::toString(std::move(error)));
    llvm::SHA256 hash;
    hash.update(*spaceText);
    out_.checked.push_back(fmt::format("'{}' speaks of the space '{}' of {} (SHA-256 {}) and of the "
                                       "work of its certificate, whether or not files have changed",
                                       mined, space_->name(), kMiningSpace,
                                       llvm::toHex(hash.final(), true).substr(0, 16)));
    return true;
  }

  /// Ratios are to what was proved of each job alone.
  void checkOwn() {
    size_t alone = certificate_.answers.size() - 1;
    if (certificate_.aggregation == "minimax_regret" && certificate_.jobs.size() > 1 &&
        alone != certificate_.jobs.size())
      return find("{} jobs, {} of which were mined alone", certificate_.jobs.size(), alone);
    if (certificate_.answers.back().jobs.size() != certificate_.jobs.size())
      find("the answer is for {} of {} jobs", certificate_.answers.back().jobs.size(), certificate_.jobs.size());
    for (size_t j = 0; j < alone && j < certificate_.jobs.size(); ++j) {
      const CertificateAnswer &answer = certificate_.answers[j];
      double best = certificate_.jobs[j].best;
      if (answer.jobs != std::vector<size_t>{j})
        find("'{}' is not mined for job '{}' alone", answer.name, certificate_.jobs[j].name);
      else if (answer.winner ? !close(best, answer.value) : best != 0)
        find("ratios of '{}' are to {:.9g}, its individual best design has the value {:.9g}", certificate_.jobs[j].name,
             best, answer.value);
    }
  }

  void checkWinner(MiningVerifier &verifier, const CertificateAnswer &answer) {
    if (answer.bound > answer.value * (1 + 1e-9))
      find("'{}': its design has the value {:.9g}, below the bound of {:.9g}", answer.name, answer.value, answer.bound);
    if (!answer.winner)
      return;
    auto made = space_->exactly(*answer.winner);
    auto *machine = std::get_if<Machine>(&made);
    if (!machine)
      return find("'{}': {} is no machine: {}", answer.name, verifier.name(*answer.winner),
                  std::get<std::string>(made));
    if (auto violatedRequirement = space_->violatedRequirement(*answer.winner, *machine))
      return find("'{}': {} does not keep '{}': its area is {:.9g} mm2, its design power {:.9g} W", answer.name,
                  verifier.name(*answer.winner), *violatedRequirement, machine->area.squareMillimetres(),
                  machine->tdp.value);
    std::vector<double> values;
    for (size_t job : answer.jobs)
      values.push_back(certificate_.jobs[job].placed() ? valueOfPlacement(verifier, answer, job, *machine)
                                                       : valueOfPlan(verifier, answer, job, *machine));
    if (!out_.holds())
      return;
    double value = verifier.aggregate(answer, values);
    if (!close(value, answer.value))
      return find("'{}': its design is stated to have the value {:.9g}, its plans give {:.9g}", answer.name,
                  answer.value, value);
    out_.checked.push_back(
        fmt::format("'{}': its design is one of the space, satisfies all requirements, and has the value "
                    "{:.9g} by {}",
                    answer.name, value, values.size() > 1 ? "valid plans" : "a valid plan"));
  }

  double valueOfPlacement(MiningVerifier &verifier, const CertificateAnswer &answer, size_t job,
                          const Machine &machine) {
    std::string at = planFolder(certificate_, answer, job),
                file = folder_ + "/" + at + "/" + kPlacementCertificate.str();
    auto refused = [&](const std::string &message) {
      find("{}", message);
      return INFINITY;
    };
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return refused(fmt::format("'{}', by which '{}' is evaluated, cannot be read: {}", file, answer.name,
                                 buffer.getError().message()));
    auto plan = placementFromCertificate((*buffer)->getBuffer(), file);
    if (!plan)
      return refused(llvm::toString(plan.takeError()));
    if (!plan->result.plan)
      return refused(fmt::format("{}: it has no placement", file));
    // That no other placement is better follows for all designs, below.
    PlacementProof brief;
    brief.effort = 0;
    Verification proof = verifyPlacement(*plan, brief);
    for (const Error &finding : proof.findings)
      out_.findings.push_back({finding.code, fmt::format("{}: {}", at, finding.message), {}, {}});
    PlacementProblem problem = plan->problem;
    // The certificate knows nothing of these.
    problem.limits.watts = problem.limits.joules = 0;
    problem.placementConstraints.clear();
    for (PlacementProblem::Layer &layer : problem.layers)
      layer.placementConstraints.clear();
    if (std::string other = verifier.differs(job, problem, *answer.winner, machine); !other.empty())
      return refused(fmt::format("{}: {}", file, other));
    const CertificateCluster &cluster = certificate_.jobs[job].clusters[*clusterAt(certificate_, job, *answer.winner)];
    if (std::string other = differsByScheduling(cluster, job, problem, machine, prices_, structures_); !other.empty())
      return refused(fmt::format("{}: {}", file, other));
    bool tdp = certificate_.metric == "tdp_time";
    return tdp ? plan->result.metrics.value
               : verifier.metricValue(machine, {plan->result.metrics.step * 1e-12, 0, certificate_.jobs[job].batch});
  }

  std::optional<PlacementProblem> placementsOf(const CertificatePlan &claimed, const Design &design,
                                               const Machine &machine) {
    std::string file = folder_ + "/" + miningPlanFile(claimed.number);
    auto refused = [&](const std::string &message) {
      find("{}", message);
      return std::nullopt;
    };
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return refused(fmt::format("'{}' cannot be read: {}", file, buffer.getError().message()));
    auto value = parseJson((*buffer)->getBuffer(), file);
    if (!value)
      return refused(llvm::toString(value.takeError()));
    llvm::json::Path::Root root("problem");
    PlacementProblem problem;
    if (!readDocument(*value, problem, root))
      return refused(fmt::format("{}: {}", file, llvm::toString(root.getError())));
    if (auto wrong = check(problem); !wrong.empty())
      return refused(fmt::format("{}: {}", file, wrong.front().message));
    auto at = clusterAt(certificate_, claimed.job, design);
    if (!at)
      return refused(fmt::format("{}: there is no such cluster", file));
    if (std::string other = differsByScheduling(certificate_.jobs[claimed.job].clusters[*at], claimed.job, problem,
                                                machine, prices_, structures_);
        !other.empty())
      return refused(fmt::format("{}: {}", file, other));
    return problem;
  }

  double valueOfPlan(MiningVerifier &verifier, const CertificateAnswer &answer, size_t job, const Machine &machine) {
    std::string at = folder_ + "/" + planFolder(certificate_, answer, job), file = at + "/plan.json";
    auto buffer = llvm::MemoryBuffer::getFile(file);
    auto refused = [&](const std::string &message) {
      find("{}", message);
      return INFINITY;
    };
    if (!buffer)
      return refused(fmt::format("'{}', by which '{}' is evaluated, cannot be read: {}", file, answer.name,
                                 buffer.getError().message()));
    auto plan = planFromJson((*buffer)->getBuffer(), file);
    if (!plan)
      return refused(llvm::toString(plan.takeError()));
    const CertificateJob &of = certificate_.jobs[job];
    llvm::json::Value work = toJson(plan->graph);
    size_t alternative = 0;
    while (alternative < of.alternatives.size() && work != toJson(of.alternatives[alternative].graph))
      ++alternative;
    if (alternative == of.alternatives.size())
      return refused(fmt::format("{}: its work, {} operations, is none of the {} of '{}' in '{}'", file,
                                 plan->graph.operations.size(), of.alternatives.size(), of.name, kMiningCertificate));
    if (plan->graph.microbatch * plan->graph.microbatches != of.batch || plan->batch != of.batch)
      return refused(fmt::format("{}: a step of {}, '{}' has one of {}", file, plan->batch, of.name, of.batch));
    if (std::string other = differs(plan->machine, machine); !other.empty())
      return refused(fmt::format("{}: {}", file, other));
    auto priced = prices_(job, alternative, machine);
    std::string other = priced ? differs(plan->graph, plan->costs, *priced) : "it has no price";
    if (!other.empty())
      return refused(fmt::format("{}: {}", file, other));
    Verification proof = verify(*plan);
    for (const Error &finding : proof.findings)
      out_.findings.push_back({finding.code, fmt::format("{}: {}", file, finding.message), {}, {}});
    if (!plan->feasible)
      return refused(fmt::format("{}: the step does not fit", file));
    Seconds step = plan->schedule.step.seconds();
    double joules = stepEnergyBreakdown(plan->graph, plan->costs, plan->machine, step).total().value;
    return verifier.metricValue(machine, {step.value, joules, of.batch});
  }

  /// A plan of the certificate, whose bound holds for every schedule of the work on the machine.
  double provedBy(const CertificatePlan &claimed, const Machine &machine, const Costs &costs) {
    std::string file = folder_ + "/" + miningPlanFile(claimed.number);
    auto buffer = llvm::MemoryBuffer::getFile(file);
    auto refused = [&](const std::string &message) {
      find("{}", message);
      return 0.0;
    };
    if (!buffer)
      return refused(fmt::format("'{}' cannot be read: {}", file, buffer.getError().message()));
    auto plan = planFromJson((*buffer)->getBuffer(), file);
    if (!plan)
      return refused(llvm::toString(plan.takeError()));
    const CertificateAlternative &alternative = certificate_.jobs[claimed.job].alternatives[claimed.alternative];
    if (toJson(plan->graph) != toJson(alternative.graph))
      return refused(fmt::format("{}: its work, {} operations, is not that of '{}', {} operations", file,
                                 plan->graph.operations.size(), alternative.label,
                                 alternative.graph.operations.size()));
    if (std::string other = differs(plan->machine, machine); !other.empty())
      return refused(fmt::format("{}: {}", file, other));
    if (std::string other = differs(plan->graph, plan->costs, costs); !other.empty())
      return refused(fmt::format("{}: {}", file, other));
    // What is said of regions with repeats is about schedules in which these are units.
    std::vector<SchedulingBound> regions;
    for (RegionId r = 0; r < plan->schedule.regions.size(); ++r) {
      SchedulingBound &proven = plan->schedule.regions[r].proven;
      regions.push_back(proven);
      for (OperationId id : plan->graph.regions[r].operations)
        if (plan->graph.operations[id].body != kNone)
          proven = {};
    }
    Verification proof = verify(*plan);
    for (const Error &finding : proof.findings)
      out_.findings.push_back({finding.code, fmt::format("{}: {}", file, finding.message), {}, {}});
    if (!proof.holds())
      return 0;
    double ordered = proveOrdered(*plan, regions).step.seconds().value;
    return std::max(ordered, proof.boundProved ? plan->schedule.bound.seconds().value : 0);
  }

  void checkBound(MiningVerifier &verifier, const CertificateAnswer &answer) {
    auto designs = designsOf(certificate_);
    if (!designs || *designs > MiningVerifier::kMaxDesigns)
      return out_.trusted.push_back(fmt::format("the search: that no design is below {:.9g} for '{}' is not proved "
                                                "here, the space has more than {} designs",
                                                answer.bound, answer.name, MiningVerifier::kMaxDesigns));
    MiningProof proof;
    auto schedules = [&](const CertificatePlan &plan, const Machine &machine, const Costs &costs) {
      return provedBy(plan, machine, costs);
    };
    auto placements = [&](const CertificatePlan &plan, const Design &design, const Machine &machine) {
      return placementsOf(plan, design, machine);
    };
    for (Error &finding : verifier.proveBound(answer, proof, schedules, placements))
      out_.findings.push_back(std::move(finding));
    answers_.push_back({answer.name, answer.value, answer.bound, proof});
    if (!out_.holds())
      return;
    out_.checked.push_back(
        fmt::format("'{}': of {} designs {} break what is required or are no machines, {} are not below "
                    "{:.9g} by their work, {} with the prices of the cost model, {} with plans, {} by the "
                    "search alone",
                    answer.name, proof.designs, proof.refused, proof.byWork, answer.bound, proof.byPrices,
                    proof.byPlans, proof.bySearch));
    if (proof.unplaced > 0)
      out_.trusted.push_back(
          fmt::format("the search: that no stage of '{}' can be on the clusters of {} designs, though they "
                      "have as many devices as stages of others need",
                      answer.name, proof.unplaced));
    if (proof.bySearch > proof.unplaced)
      out_.trusted.push_back(fmt::format(
          "the search: for {} designs it found no step of less than {:.9g} for '{}'; that there is "
          "none of less than {:.9g} is proved",
          proof.bySearch - proof.unplaced, answer.bound, answer.name, std::min(proof.proven, answer.bound)));
    if (answer.value > answer.bound * (1 + 1e-9) && answer.winner)
      out_.trusted.push_back(
          fmt::format("the search: that it schedules no design of '{}' for less than {:.9g}; a design "
                      "of {:.9g} with another schedule is not ruled out",
                      answer.name, answer.value, answer.bound));
    bool placed = std::any_of(answer.jobs.begin(), answer.jobs.end(),
                              [&](size_t job) { return certificate_.jobs[job].placed(); });
    if (placed && proof.byPlans)
      out_.trusted.push_back(
          fmt::format("what layers keep and work in, and take as Accord schedules them without search, for {} "
                      "designs of '{}'",
                      proof.byPlans, answer.name));
    if (uint64_t priced = proof.byPrices + proof.byPlans)
      out_.trusted.push_back(
          fmt::format("the tiles that the cost model finds best, for {} designs of '{}'", priced, answer.name));
  }

  std::string folder_;
  bool json_;
  MiningCertificate certificate_;
  std::unique_ptr<MiningSpace> space_;
  CertificatePrices prices_;
  PriceCache structures_{PriceCache::Detail::Numbers};
  Verification out_;
  std::vector<ProvedAnswer> answers_;
};

class ExplorationCertificateKind : public CertificateKind {
  const char *subject() const override { return "mining"; }
  bool matches(const std::string &path) const override {
    if (!llvm::sys::fs::is_directory(path))
      return llvm::sys::path::filename(path) == "mine.json";
    return llvm::sys::fs::exists(path + "/mine.json") || llvm::sys::fs::exists(path + "/" + kMiningCertificate);
  }
  std::optional<VerifiedCertificate> verify(const CertificateRequest &request) const override {
    return MiningProver(request.path, request.json).prove();
  }
};

/// By number among those of all clusters.
const CertificateStep &stepOf(const CertificateJob &job, size_t step) {
  auto behind = std::find_if(job.clusters.begin(), job.clusters.end(),
                             [&](const CertificateCluster &one) { return one.first > step; });
  return (behind - 1)->steps[step - (behind - 1)->first];
}

} // namespace

std::unique_ptr<CertificateKind> explorationCertificate() { return std::make_unique<ExplorationCertificateKind>(); }

CertificatePrices pricesOf(const MiningCertificate &certificate) {
  std::vector<std::vector<std::shared_ptr<PriceCache>>> caches;
  for (const CertificateJob &job : certificate.jobs) {
    auto &alternatives = caches.emplace_back();
    if (job.placed()) { // its steps have operations in common
      const CertificateCluster &last = job.clusters.back();
      alternatives.resize(last.first + last.steps.size(), std::make_shared<PriceCache>(PriceCache::Detail::Numbers));
    }
    for (size_t alternative = 0; !job.placed() && alternative < job.alternatives.size(); ++alternative)
      alternatives.emplace_back(std::make_shared<PriceCache>(PriceCache::Detail::Numbers))
          ->registerGraph(job.alternatives[alternative].graph);
  }
  return [&certificate, caches](size_t job, size_t alternative, const Machine &machine) -> std::optional<Costs> {
    EstimateOptions options;
    options.prices = caches[job][alternative].get();
    const CertificateJob &of = certificate.jobs[job];
    const WorkGraph &graph = of.placed() ? stepOf(of, alternative).graph : of.alternatives[alternative].graph;
    auto priced = estimate(graph, machine, options);
    auto *costs = priced.get();
    if (!costs)
      return std::nullopt;
    if (of.placed())
      priceExchanges(graph, machine, *costs);
    return std::move(*costs);
  };
}

std::string planFolder(const MiningCertificate &certificate, const CertificateAnswer &answer, size_t job) {
  std::string folder = certificate.jobs[job].placed() ? "placement" : "plan";
  if (certificate.jobs.size() == 1)
    return folder;
  bool alone = &answer != &certificate.answers.back();
  return folder + "-" + certificate.jobs[job].name + (alone ? "-alone" : "");
}

} // namespace accord
