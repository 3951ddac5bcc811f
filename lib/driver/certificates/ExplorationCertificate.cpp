#include "lib/driver/certificates/ExplorationCertificate.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/certificates/LayerCosts.h"
#include "lib/exploration/clusters/PlacedWork.h"
#include "lib/exploration/output/DesignFindings.h"
#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningFolder.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/exploration/output/MiningSpace.h"
#include "lib/exploration/steps/StepZeros.h"
#include "lib/exploration/verify/CertificatePoints.h"
#include "lib/exploration/verify/MachineDifferences.h"
#include "lib/exploration/verify/ZeroProof.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/energy/Energy.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/verify/Ordered.h"
#include "lib/search/ParetoFront.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

Error unproved(std::string message) { return {Code::BoundNotProved, std::move(message), {}, {}}; }

/// The text of a file; `why` it is needed.
Result<std::string> textOf(const std::string &file, const std::string &why = "") {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return unproved(fmt::format("'{}'{} cannot be read: {}", file, why, buffer.getError().message()));
  return (*buffer)->getBuffer().str();
}

/// What `parse` makes of the text of a file.
template <typename Parse> auto parsed(const std::string &file, const std::string &why, Parse parse) {
  using Value = decltype(parse(llvm::StringRef(), llvm::StringRef()))::value_type;
  auto text = textOf(file, why);
  if (!text)
    return Result<Value>(text.takeError());
  llvm::Expected<Value> value = parse(*text, file);
  return value ? Result<Value>(std::move(*value)) : Result<Value>(unproved(llvm::toString(value.takeError())));
}

class MiningProver {
public:
  MiningProver(const std::string &path, bool json) : folder_(answerFolder(path)), json_(json) {
    if (folder_.empty())
      folder_ = ".";
  }

  std::optional<VerifiedCertificate> prove() {
    if (!read())
      return std::nullopt;
    if (!readAlternativesWithZeros())
      return VerifiedCertificate{std::move(out_), {}, false, {}};
    prices_ = pricesOf(certificate_);
    MiningVerifier verifier(certificate_, *space_, prices_, kernelPrograms());
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
    AnswerFiles printed;
    if (out_.holds())
      printed = printedFiles(verifier);
    return VerifiedCertificate{std::move(out_), std::move(answers_), false, std::move(printed)};
  }

private:
  template <typename... T> void find(fmt::format_string<T...> text, T &&...args) {
    out_.findings.push_back(unproved(fmt::format(text, std::forward<T>(args)...)));
  }
  /// Findings of a part of the answer.
  void take(const Errors &findings, const std::string &part) {
    for (const Error &finding : findings)
      out_.findings.push_back({finding.code, fmt::format("{}: {}", part, finding.message), {}, {}});
  }
  /// The value; what it is instead is a finding.
  template <typename T> T orElse(Result<T> result, T otherwise) {
    if (result)
      return std::move(*result);
    out_.findings.push_back(result.takeError());
    return otherwise;
  }

  bool read() {
    auto fail = [&](Code code, const std::string &message) {
      refuse(code, message, json_, "verify");
      return false;
    };
    std::string file = folder_ + "/" + kMiningCertificate, spaceFile = folder_ + "/" + kMiningSpace,
                mined = folder_ + "/mine.json";
    std::string texts[3];
    for (auto [from, text] : llvm::zip_equal(std::array{file, spaceFile, mined}, texts)) {
      auto found = textOf(from, ", without which nothing of a mining is proved,");
      if (!found)
        return fail(Code::CannotRead, found.error().message);
      text = std::move(*found);
    }
    const auto &[text, spaceText, minedText] = texts;
    auto plan = miningFromJson(minedText, mined);
    if (!plan)
      return fail(Code::BadPlan, llvm::toString(plan.takeError()));
    mined_ = std::move(*plan);
    auto certificate = miningCertificateFromJson(text, file);
    if (!certificate)
      return fail(Code::BadPlan, llvm::toString(certificate.takeError()));
    certificate_ = std::move(*certificate);
    certificate_.space = spaceText;
    auto space = MiningSpace::read(spaceText);
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
    out_.checked.push_back(fmt::format("'{}' speaks of the space '{}' of {} (SHA-256 {}) and of the "
                                       "work of its certificate, whether or not files have changed",
                                       mined, space_->name(), kMiningSpace, sha256Of(spaceText).substr(0, 16)));
    return true;
  }

  /// What alternatives with zeros keep in memory, and their shares: what a space makes of zeros is in all designs.
  bool readAlternativesWithZeros() {
    auto hasZeros = [](const CertificateJob &job) {
      return llvm::any_of(job.alternatives, [](const CertificateAlternative &one) { return one.dense.has_value(); });
    };
    if (llvm::none_of(certificate_.jobs, hasZeros))
      return true;
    for (const DesignParameter &parameter : certificate_.parameters)
      if (llvm::StringRef(parameter.name).contains(".sparse."))
        find("'{}' is open, with which nothing of zeros is proved", parameter.name);
    Design design(certificate_.parameters.size(), 0);
    const Machine *machine = space_->nearly(design);
    while (!machine && next(certificate_, design))
      machine = space_->nearly(design);
    if (machine)
      llvm::append_range(out_.findings, readZeros(certificate_, *machine));
    else
      find("no design of '{}' is a machine", kMiningSpace);
    if (out_.holds())
      out_.checked.push_back("what zeros leave of arithmetic, traffic and memory follows from their patterns");
    out_.trusted.push_back("which zeros there are to choose from, and what is known of the accuracy with them");
    return out_.holds();
  }

  /// What zeros leave of the operations of an alternative.
  StepZeroShares zerosOf(size_t job, size_t alternative) const {
    const CertificateAlternative &of = certificate_.jobs[job].alternatives[alternative];
    auto shares = zeroShares(of.graph, of.zeros);
    return shares ? std::move(*shares) : StepZeroShares();
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
    std::vector<MinedStep> &steps = steps_.emplace_back();
    for (size_t job : answer.jobs) {
      const CertificateJob &of = certificate_.jobs[job];
      MinedStep step = orElse(of.placed() ? stepOfPlacement(verifier, answer, job, *machine)
                                          : stepOfPlan(verifier, answer, job, *machine),
                              MinedStep());
      step.weight = of.weight, step.ownBest = answer.jobs.size() > 1 ? of.best : 0;
      values.push_back(step.value);
      steps.push_back(std::move(step));
    }
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

  Result<MinedStep> stepOfPlacement(MiningVerifier &verifier, const CertificateAnswer &answer, size_t job,
                                    const Machine &machine) {
    std::string at = planFolder(certificate_, answer, job),
                file = folder_ + "/" + at + "/" + kPlacementCertificate.str();
    ACCORD_TRY(plan, parsed(file, evaluates(answer), placementFromCertificate));
    if (!plan.result.plan)
      return unproved(fmt::format("{}: it has no placement", file));
    // That no other placement is better follows for all designs, below.
    PlacementProof brief;
    brief.effort = 0;
    take(verifyPlacement(plan, brief).findings, at);
    PlacementProblem problem = plan.problem;
    // The certificate knows nothing of these.
    problem.limits.watts = problem.limits.joules = 0;
    problem.placementConstraints.clear();
    for (PlacementProblem::Layer &layer : problem.layers)
      layer.placementConstraints.clear();
    std::string other = verifier.differs(job, problem, *answer.winner, machine);
    if (other.empty())
      other = differsByScheduling(certificate_.jobs[job].clusters[*clusterAt(certificate_, job, *answer.winner)], job,
                                  problem, machine, prices_, structures_);
    if (!other.empty())
      return unproved(fmt::format("{}: {}", file, other));
    const CertificateJob &of = certificate_.jobs[job];
    PlacedBest placed;
    placed.plan = plan.result.plan, placed.metrics = plan.result.metrics;
    placed.parallelConfig = plan.problem.parallelConfigs[placed.plan->stages.front().parallelConfig];
    placed.recomputePolicies = recomputedLayers(plan.problem, *placed.plan);
    placed.value = certificate_.metric == "tdp_time"
                       ? placed.metrics.value
                       : verifier.metricValue(machine, {placed.metrics.step * 1e-12, 0, of.batch});
    return minedStep(of.name, of.batch, placed);
  }

  Result<std::optional<PlacementProblem>> placementsOf(const CertificatePlan &claimed, const Design &design,
                                                       const Machine &machine) {
    std::string file = folder_ + "/" + miningPlanFile(claimed.number);
    ACCORD_TRY(value,
               parsed(file, "", [](llvm::StringRef text, llvm::StringRef name) { return parseJson(text, name); }));
    auto wrong = [&](const std::string &message) { return unproved(fmt::format("{}: {}", file, message)); };
    llvm::json::Path::Root root("problem");
    PlacementProblem problem;
    if (!readDocument(value, problem, root))
      return wrong(llvm::toString(root.getError()));
    if (auto errors = check(problem); !errors.empty())
      return wrong(errors.front().message);
    auto at = clusterAt(certificate_, claimed.job, design);
    if (!at)
      return wrong("there is no such cluster");
    std::string other = differsByScheduling(certificate_.jobs[claimed.job].clusters[*at], claimed.job, problem, machine,
                                            prices_, structures_);
    if (!other.empty())
      return wrong(other);
    return std::optional(std::move(problem));
  }

  static std::string evaluates(const CertificateAnswer &answer) {
    return fmt::format(", by which '{}' is evaluated,", answer.name);
  }

  /// How the machine or the prices of a plan differ from these.
  static Result<void> expectSame(const Plan &plan, const Machine &machine, const std::optional<Costs> &costs,
                                 const std::string &file) {
    std::string other = differs(plan.machine, machine);
    if (other.empty())
      other = costs ? differs(plan.graph, plan.costs, *costs) : "it has no price";
    return other.empty() ? Result<void>() : Result<void>(unproved(fmt::format("{}: {}", file, other)));
  }

  Result<MinedStep> stepOfPlan(MiningVerifier &verifier, const CertificateAnswer &answer, size_t job,
                               const Machine &machine) {
    std::string file = folder_ + "/" + planFolder(certificate_, answer, job) + "/plan.json";
    ACCORD_TRY(plan, parsed(file, evaluates(answer), planFromJson));
    const CertificateJob &of = certificate_.jobs[job];
    llvm::json::Value work = toJson(plan.graph);
    size_t alternative = 0;
    // Of the same work with other zeros the costs differ.
    std::optional<size_t> same;
    for (; alternative < of.alternatives.size(); ++alternative)
      if (work == toJson(of.alternatives[alternative].graph)) {
        same = alternative;
        if (auto costs = prices_(job, alternative, machine); costs && differs(plan.graph, plan.costs, *costs).empty())
          break;
      }
    if (same && alternative == of.alternatives.size())
      alternative = *same;
    if (alternative == of.alternatives.size())
      return unproved(fmt::format("{}: its work, {} operations, is none of the {} of '{}' in '{}'", file,
                                  plan.graph.operations.size(), of.alternatives.size(), of.name, kMiningCertificate));
    if (plan.graph.microbatch * plan.graph.microbatches != of.batch || plan.batch != of.batch)
      return unproved(fmt::format("{}: a step of {}, '{}' has one of {}", file, plan.batch, of.name, of.batch));
    if (auto same = expectSame(plan, machine, prices_(job, alternative, machine), file); !same)
      return same.takeError();
    take(verify(plan, zerosOf(job, alternative)).findings, file);
    if (!plan.feasible)
      return unproved(fmt::format("{}: the step does not fit", file));
    Seconds step = plan.schedule.step.seconds();
    double joules = stepEnergyBreakdown(plan.graph, plan.costs, plan.machine, step).total().value;
    MinedStep mined{of.name,
                    of.alternatives[alternative].label,
                    of.batch,
                    step.value,
                    joules,
                    static_cast<double>(plan.memory.peak),
                    verifier.metricValue(machine, {step.value, joules, of.batch})};
    mined.zeros = of.alternatives[alternative].zeros.layers;
    return mined;
  }

  /// What people read, as the certificate gives it. Of mine.json itself comes what no certificate proves: how the
  /// search went, and what it found of designs beside the best.
  AnswerFiles printedFiles(const MiningVerifier &verifier) {
    size_t behind = certificate_.parameters.size() - certificate_.clusterParameters;
    std::vector<std::string> order;
    for (size_t i = 0; i < behind; ++i)
      order.push_back(certificate_.parameters[i].name);
    auto space = DesignSpace::fromSource(
        certificate_.space,
        {certificate_.parameters.begin() + static_cast<ptrdiff_t>(behind), certificate_.parameters.end()}, order);
    if (!space) {
      find("'{}': {}", kMiningSpace, space.error().front().message);
      return {};
    }
    mined_.space = space->name(), mined_.size = space->size();
    mined_.version = certificate_.version, mined_.metric = certificate_.metric;
    mined_.aggregation = certificate_.aggregation, mined_.parameters = certificate_.parameters;
    mined_.requirements = space_->requirements();
    std::vector<std::string> names;
    for (const CertificateFile &file : mined_.certificate)
      names.push_back(file.name);
    mined_.certificate = certificateFiles(folder_, names);
    if (verifier.byExpression())
      mined_.unit = space->metricUnit();
    size_t alone = certificate_.answers.size() - 1;
    mined_.own.resize(alone);
    std::vector<std::vector<MinedStep>>::iterator steps = steps_.begin();
    for (size_t i = 0; i <= alone; ++i) {
      const CertificateAnswer &answer = certificate_.answers[i];
      MinedAnswer &mined = i < alone ? mined_.own[i] : mined_.best;
      mined.result.best = answer.winner;
      mined.result.value = answer.value, mined.result.bound = answer.bound;
      if (!answer.winner)
        mined.design.reset();
      else if (!mined.design)
        mined.design.emplace();
      if (!answer.winner)
        continue;
      mined.design->name = answer.name;
      describeDesign(*mined.design, *answer.winner, answer.jobs, *space, &*steps++);
    }
    std::vector<size_t> all = certificate_.answers.back().jobs;
    for (MinedAnswer &other : mined_.compared)
      if (other.design && other.result.best)
        describeDesign(*other.design, *other.result.best, all, *space);
    if (mined_.front)
      for (auto [point, design] : llvm::zip(mined_.front->front.points, mined_.front->designs)) {
        if (isValidDesign(point.design, mined_.parameters))
          describeDesign(design, point.design, all, *space);
        point.costs.clear();
        for (const std::string &cost : mined_.front->front.costs)
          point.costs.push_back(cost == "area" ? design.machine.area.value : design.machine.tdp.value);
      }
    checkEvaluated();
    const auto &best = certificate_.answers.back().winner;
    std::vector<RequirementSensitivity> &requirements = mined_.findings.requirements;
    for (size_t r = 0; best && r < requirements.size(); ++r) {
      RequirementSensitivity is = requirementSensitivity(*space, r, *best);
      requirements[r].text = is.text, requirements[r].figures = is.figures;
      requirements[r].figure = is.figure, requirements[r].atMost = is.atMost, requirements[r].limit = is.limit;
      settle(requirements[r].used, is.used);
    }
    if (const auto &stages = mined_.stages; stages && !stages->sha256.empty())
      if (std::string is = certificateFiles(folder_, {"best.accel"}).front().sha256; is != stages->sha256)
        find("'{}/best.accel' is not the file that mine.json states for its stages", folder_);
    out_.trusted.push_back(fmt::format("the search, in what '{}' says of its course and of designs beside the best",
                                       folder_ + "/mine.json"));
    return filesOf(mined_);
  }

  /// Designs that the search evaluated are of the space, none is below the bound, and area, power and which of them
  /// others dominate follow from their choices. Their values are the search's.
  void checkEvaluated() {
    const CertificateAnswer &answer = certificate_.answers.back();
    EvaluatedDesigns &evaluated = mined_.best.result.evaluated;
    for (EvaluatedDesign &one : evaluated.designs) {
      auto made = space_->exactly(one.design);
      const auto *machine = std::get_if<Machine>(&made);
      if (!machine || space_->violatedRequirement(one.design, *machine))
        return find("an evaluated design with the value {:.9g} is none that the space allows", one.value);
      if (one.value < answer.bound * (1 - 1e-9))
        return find("an evaluated design has the value {:.9g}, below the bound of {:.9g}", one.value, answer.bound);
      for (auto [name, cost] : llvm::zip_equal(evaluated.costs, one.costs))
        settle(cost, name == "area" ? machine->area.value : machine->tdp.value);
    }
    // What differs in the last digits alone may be equal.
    auto dominates = [](const EvaluatedDesign &a, const EvaluatedDesign &b) {
      bool better = a.value < b.value * (1 - 1e-9);
      for (auto [x, y] : llvm::zip_equal(a.costs, b.costs))
        better |= x < y * (1 - 1e-9);
      return better && a.value <= b.value && isAtMost(a.costs, b.costs);
    };
    for (const EvaluatedDesign &one : evaluated.designs)
      for (const EvaluatedDesign &other : evaluated.designs)
        if (one.nonDominated && dominates(other, one))
          return find("an evaluated design with the value {:.9g} is stated not to be dominated, one with {:.9g} is as "
                      "good in everything",
                      one.value, other.value);
  }

  /// A number that was computed in another order keeps its last digits.
  static void settle(double &stated, double is) {
    if (!close(stated, is))
      stated = is;
  }

  /// All of a design that follows from its choices, and, of what was proved, what its `steps` take.
  void describeDesign(MinedDesign &mined, const Design &design, const std::vector<size_t> &jobs,
                      const DesignSpace &space, const std::vector<MinedStep> *steps = nullptr) {
    mined.chosen = labelsOf(certificate_.parameters, design);
    auto made = space_->exactly(design);
    if (auto *machine = std::get_if<Machine>(&made)) {
      SquareMetres area = mined.machine.area;
      Watts tdp = mined.machine.tdp;
      settle(area.value, machine->area.value), settle(tdp.value, machine->tdp.value);
      mined.machine = std::move(*machine);
      mined.machine.area = area, mined.machine.tdp = tdp;
    }
    if (steps) {
      mined.steps.resize(steps->size());
      for (auto [stated, is] : llvm::zip_equal(mined.steps, *steps)) {
        MinedStep step = is;
        for (double MinedStep::*number : {&MinedStep::step, &MinedStep::joules, &MinedStep::bytes, &MinedStep::value,
                                          &MinedStep::ownBest, &MinedStep::weight})
          settle(stated.*number, step.*number), step.*number = stated.*number;
        stated = std::move(step);
      }
    }
    std::vector<std::string> clusters;
    for (size_t job : jobs)
      if (const CertificateJob &of = certificate_.jobs[job]; !of.descriptions.empty())
        clusters.push_back(of.descriptions.at(pointOf(certificate_, design)));
    mined.text = designText(space, design, mined.steps, clusters);
  }

  /// A plan of the certificate, whose bound holds for every schedule of the work on the machine.
  Result<double> provedBy(const CertificatePlan &claimed, const Machine &machine, const Costs &costs) {
    std::string file = folder_ + "/" + miningPlanFile(claimed.number);
    ACCORD_TRY(plan, parsed(file, "", planFromJson));
    const CertificateAlternative &alternative = certificate_.jobs[claimed.job].alternatives[claimed.alternative];
    if (toJson(plan.graph) != toJson(alternative.graph))
      return unproved(fmt::format("{}: its work, {} operations, is not that of '{}', {} operations", file,
                                  plan.graph.operations.size(), alternative.label,
                                  alternative.graph.operations.size()));
    if (auto same = expectSame(plan, machine, costs, file); !same)
      return same.takeError();
    // What is said of regions with repeats is about schedules in which these are units.
    std::vector<SchedulingBound> regions;
    for (RegionId r = 0; r < plan.schedule.regions.size() && claimed.ordered; ++r) {
      SchedulingBound &proven = plan.schedule.regions[r].proven;
      regions.push_back(proven);
      for (OperationId id : plan.graph.regions[r].operations)
        if (plan.graph.operations[id].body != kNone)
          proven = {};
    }
    PlanVerification proof = verify(plan, zerosOf(claimed.job, claimed.alternative));
    take(proof.findings, file);
    if (!proof.holds())
      return 0.0;
    double ordered = claimed.ordered ? proveOrdered(plan, regions).step.seconds().value : 0;
    return std::max(ordered, proof.boundProved ? plan.schedule.bound.seconds().value : 0);
  }

  void checkBound(MiningVerifier &verifier, const CertificateAnswer &answer) {
    auto designs = designsOf(certificate_);
    if (!certificate_.listedClusters.empty())
      return out_.trusted.push_back(fmt::format("the search: that no design is below {:.9g} for '{}' is not proved "
                                                "here, bounds of several clusters at once are the search's",
                                                answer.bound, answer.name));
    if (!designs || *designs > MiningVerifier::kMaxDesigns)
      return out_.trusted.push_back(fmt::format("the search: that no design is below {:.9g} for '{}' is not proved "
                                                "here, the space has more than {} designs",
                                                answer.bound, answer.name, MiningVerifier::kMaxDesigns));
    MiningProof proof;
    auto schedules = [&](const CertificatePlan &plan, const Machine &machine, const Costs &costs) {
      return orElse(provedBy(plan, machine, costs), 0.0);
    };
    auto placements = [&](const CertificatePlan &plan, const Design &design, const Machine &machine) {
      return orElse(placementsOf(plan, design, machine), std::optional<PlacementProblem>());
    };
    llvm::append_range(out_.findings, verifier.proveBound(answer, proof, schedules, placements));
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
  MiningPlan mined_;                          ///< as mine.json says
  std::vector<std::vector<MinedStep>> steps_; ///< of each answer with a design, as its plans prove them
  std::unique_ptr<MiningSpace> space_;
  CertificatePrices prices_;
  PriceCache structures_{PriceCache::Detail::Numbers};
  Verification out_;
  std::vector<ProvedAnswer> answers_;
};

/// By number among those of all clusters.
const CertificateStep &stepOf(const CertificateJob &job, size_t step) {
  auto behind = std::find_if(job.clusters.begin(), job.clusters.end(),
                             [&](const CertificateCluster &one) { return one.first > step; });
  return (behind - 1)->steps[step - (behind - 1)->first];
}

} // namespace

CertificateKind explorationCertificate() {
  return {"mining",
          [](const std::string &path) {
            return llvm::sys::fs::is_directory(path) ? llvm::sys::fs::exists(path + "/mine.json") ||
                                                           llvm::sys::fs::exists(path + "/" + kMiningCertificate)
                                                     : llvm::sys::path::filename(path) == "mine.json";
          },
          [](const CertificateRequest &request) { return MiningProver(request.path, request.json).prove(); }};
}

CertificatePrices pricesOf(const MiningCertificate &certificate) {
  std::vector<std::vector<std::shared_ptr<PriceCache>>> caches;
  for (const CertificateJob &job : certificate.jobs) {
    auto &alternatives = caches.emplace_back();
    if (job.placed()) { // its steps have operations in common
      const CertificateCluster &last = job.clusters.back();
      alternatives.resize(last.first + last.steps.size(), std::make_shared<PriceCache>(PriceCache::Detail::Numbers));
    }
    for (size_t alternative = 0; !job.placed() && alternative < job.alternatives.size(); ++alternative)
      alternatives
          .emplace_back(
              std::make_shared<PriceCache>(job.alternatives[alternative].zeros.empty()
                                               ? PriceCache::Detail::Numbers
                                               : PriceCache::Detail::All)) // what zeros save follows from tiles
          ->registerGraph(job.alternatives[alternative].graph);
  }
  // By job and alternative: operations that zeros touch.
  std::vector<std::vector<std::vector<ZeroOperation>>> zeros;
  for (const CertificateJob &job : certificate.jobs) {
    auto &alternatives = zeros.emplace_back();
    for (const CertificateAlternative &one : job.alternatives)
      alternatives.push_back(zeroOperations(one.graph, one.zeros));
  }
  return [&certificate, caches, zeros](size_t job, size_t alternative, const Machine &machine) -> std::optional<Costs> {
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
    else if (!priceZeros(graph, machine, zeros[job][alternative], *costs))
      return std::nullopt;
    return std::move(*costs);
  };
}

OperationPrograms kernelPrograms() {
  return
      [](const Operation &part, const std::string &optimizer,
         const microarchitecture::Microarchitecture &machine) -> std::optional<microarchitecture::InstructionProgram> {
        auto kernel = microarchitecture::kernelOf(part, optimizer, machine);
        if (!kernel)
          return std::nullopt;
        auto mapped = microarchitecture::emitKernel(*kernel, machine);
        return mapped ? std::optional(std::move(mapped->program)) : std::nullopt;
      };
}

std::vector<CertificateFile> certificateFiles(const std::string &folder, const std::vector<std::string> &names) {
  std::vector<CertificateFile> files;
  for (const std::string &name : names) {
    auto text = llvm::MemoryBuffer::getFile(folder + "/" + name, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    files.push_back({name, text ? sha256Of((*text)->getBuffer()) : ""});
  }
  return files;
}

std::string planFolder(const MiningCertificate &certificate, const CertificateAnswer &answer, size_t job) {
  std::string folder = certificate.jobs[job].placed() ? "placement" : "plan";
  if (certificate.jobs.size() == 1)
    return folder;
  bool alone = &answer != &certificate.answers.back();
  return folder + "-" + certificate.jobs[job].name + (alone ? "-alone" : "");
}

} // namespace accord
