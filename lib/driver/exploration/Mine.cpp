#include "lib/driver/exploration/Mine.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/PowerCap.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/certificates/ExplorationCertificate.h"
#include "lib/driver/exploration/MineCertificate.h"
#include "lib/driver/exploration/MineJobs.h"
#include "lib/driver/exploration/MinePlacement.h"
#include "lib/driver/exploration/MineStages.h"
#include "lib/exploration/output/DesignFindings.h"
#include "lib/exploration/output/MiningFolder.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/exploration/solve/FollowUpSearch.h"
#include "lib/machine/energy/Buildability.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/PageLinks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

class Mining {
public:
  explicit Mining(const MineOptions &options) : options_(options), jobs_(options) {}

  int run() {
    auto refused = [&](const std::string &why) {
      return refuse(Code::BadCommandLine, why, options_.session.json, "mine");
    };
    monitor_ = SolverMonitor::ofCommand("mine", "mining", options_.limits, options_.session.json);
    if (!monitor_)
      return kWrongInput;
    if (!options_.front.empty()) // checked
      findings_.front = std::get<SolverMonitor::ParsedLimits>(SolverMonitor::parsedLimits(options_.front, "none")).gap;
    findings_.sensitivity = options_.sensitivity;
    if (std::string wrong = wrongWeights(); !wrong.empty())
      return refused(wrong);
    if (int status = jobs_.prepare(*monitor_); status != kDone)
      return status;
    if (std::string wrong = checkScheduleEffort(); !wrong.empty())
      return refused(wrong);
    if (!mayMineStages(options_, jobs_))
      return jobs_.first().finish(kWrongInput, "mine");
    if (int status = kDone; !options_.against.empty()) {
      plan_.findings.reference = jobs_.on(options_.against, status);
      if (status != kDone)
        return status;
    }
    search_.gap = monitor_->gap();
    search_.seed = options_.seed;
    search_.threads = options_.session.threads;
    search_.stop = monitor_->stop();
    search_.progress = [&](const SolveProgress &progress) {
      if (std::isfinite(progress.incumbent)) // a design to write, however soon the search has to end
        monitor_->found();
    };
    search_.executor = options_.executor;
    if (options_.evaluations)
      search_.evaluations = options_.evaluations;
    searchAll();
    if (options_.writes)
      warnOfProposals();
    return options_.writes ? write() : kDone;
  }

  /// What `run` found without writing it; nothing where the search was refused.
  std::optional<MiningPlan> takePlan() {
    bool refused = troubles();
    jobs_.first().finish(kDone, "mine");
    return refused ? std::nullopt : std::optional(std::move(plan_));
  }

private:
  std::string wrongWeights() const {
    size_t weights = options_.weights.size(), files = options_.files.size();
    if (weights == 0)
      return "";
    if (options_.aggregation != "sum" || files < 2)
      return "--weights: only of several files and with --aggregation sum";
    if (weights != files)
      return fmt::format("--weights: {} numbers for {} files", weights, files);
    for (double weight : options_.weights)
      if (!std::isfinite(weight))
        return fmt::format("--weights: expected a number, found {}", weight);
    return "";
  }

  std::string checkScheduleEffort() const {
    if (options_.scheduleEffort == 0)
      return "";
    if (options_.strategy != "exact")
      return "--schedule-effort: only of the strategy exact";
    if (!options_.compare.empty() || !options_.front.empty() || options_.sensitivity)
      return "--schedule-effort: not with --compare, --pareto-front or --sensitivity, which value designs by "
             "schedules without search";
    for (size_t j = 0; j < jobs_.size(); ++j)
      if (jobs_.placed(j))
        return fmt::format("--schedule-effort: '{}' is placed on a cluster, of one device alone schedules can be "
                           "closed: leave out --schedule-effort",
                           jobs_.jobs()[j].name);
    return "";
  }

  void searchAll() {
    plan_.space = jobs_.space().name();
    plan_.size = jobs_.space().size();
    plan_.metric = name(jobs_.metric());
    if (jobs_.metric() == MiningMetric::Expression)
      plan_.metric = jobs_.space().metric(), plan_.unit = jobs_.space().metricUnit();
    plan_.parameters = jobs_.space().parameters();
    plan_.version = kVersion;
    for (const DesignRequirement &requirement : jobs_.space().requirements())
      plan_.requirements.push_back(requirement.text);
    bool several = jobs_.size() > 1, ratio = several && options_.aggregation == "minimax_regret";
    if (several)
      plan_.aggregation = options_.aggregation;
    std::vector<size_t> all = jobs_.all();
    for (size_t j = 0; ratio && j < jobs_.size(); ++j) {
      auto alone = jobs_.problemOf({j}, ObjectiveAggregation::Sum);
      plan_.own.push_back(answered(jobs_.jobs()[j].name, alone, {j}, ObjectiveAggregation::Sum,
                                   kept("." + jobs_.jobs()[j].name, j == 0), chosenAlone_));
      if (plan_.own.back().result.best)
        jobs_.best(j, plan_.own.back().result.value);
    }
    plan_.comparedByTime = search_.timed = options_.compare == "time";
    ObjectiveAggregation aggregation = ratio ? ObjectiveAggregation::MinimaxRegret : ObjectiveAggregation::Sum;
    auto made = jobs_.problemOf(all, aggregation, plan_.comparedByTime);
    plan_.best =
        answered(several ? "common" : jobs_.jobs().front().name, made, all, aggregation, kept("", !ratio), chosen_);
    monitor_->found();
    llvm::append_range(plan_.assumptions, jobs_.assumptions());
    if (const auto &reference = plan_.findings.reference; reference && jobs_.hasZeros())
      plan_.assumptions.push_back(fmt::format("'{}' is compared without zeros", reference->name));
    addDense(aggregation);
    MiningProblem &problem = *made;
    if (statusOf(plan_) == SearchStatus::Infeasible)
      if (auto conflict = jobs_.conflict())
        plan_.conflicts.push_back(*conflict);
    MiningOptions here = search_; // rank 0 alone finds out more, and writes it
    here.executor = nullptr;
    if (plan_.best.design && options_.writes)
      addFindings(
          plan_,
          {jobs_.space(), problem, here,
           [&](const std::string &name, const Design &design) { return jobs_.designed(name, problem, all, design); },
           [&](const Design &design) { return jobs_.limits(problem, design); },
           [&](const Design &design) { return jobs_.unfit(problem, design); }},
          findings_);
    if (options_.stages && options_.writes && chosen_.front())
      plan_.stages = minedStages(options_, jobs_, *chosen_.front(), *plan_.best.result.best, search_.stop);
    if (auto &stages = plan_.stages; stages && stages->value < stages->common && !stages->text.empty())
      stages->sha256 = sha256Of(stages->text);
    if (options_.compare.empty())
      return;
    for (const std::string &other : miningStrategies()) {
      const auto &only = options_.strategies;
      if (other == options_.strategy || (!only.empty() && !llvm::is_contained(only, other)))
        continue;
      std::unique_ptr<MiningProblem> anew;
      if (plan_.comparedByTime)
        anew = jobs_.problemOf(all, aggregation, true);
      MinedAnswer &answer = plan_.compared.emplace_back();
      answer.result =
          mineWithEqualEffort(other, anew ? *anew : problem, plan_.best.result, plan_.comparedByTime, search_);
      if (answer.result.best)
        answer.design = jobs_.designed(other, problem, all, *answer.result.best);
    }
  }

  /// The best design where nothing is zero, beside one with zeros.
  void addDense(ObjectiveAggregation aggregation) {
    const auto &best = plan_.best.design;
    if (!best || !options_.writes || aggregation != ObjectiveAggregation::Sum || options_.scheduleEffort ||
        llvm::all_of(best->steps, [](const MinedStep &step) { return step.zeros.empty(); }))
      return;
    for (size_t j = 0; j < jobs_.size(); ++j)
      if (jobs_.placed(j))
        return;
    MiningOptions search = search_;
    search.executor = nullptr;
    auto problem = jobs_.denseProblem(aggregation);
    MinedAnswer &dense = plan_.dense.emplace();
    dense.result = miningStrategy(options_.strategy)(*problem, search);
    if (dense.result.best)
      dense.design = jobs_.designed("dense", *problem, jobs_.all(), *dense.result.best);
  }

  /// What is hard to build or to cool of each design that is proposed, at the prompt and in the report: the best, those
  /// of other strategies and of stages, and how many of the front.
  void warnOfProposals() {
    std::vector<const MinedDesign *> all;
    auto add = [&](const MinedAnswer &answer) {
      if (answer.design)
        all.push_back(&*answer.design);
    };
    add(plan_.best);
    llvm::for_each(plan_.own, add), llvm::for_each(plan_.compared, add);
    if (plan_.stages)
      for (const MinedDesign &design : plan_.stages->designs)
        all.push_back(&design);
    std::set<std::string> told, warned; // strategies may find the same design
    auto tell = [&](const std::string &text) {
      if (told.insert(text).second)
        plan_.assumptions.push_back(text);
    };
    for (const MinedDesign *design : all) {
      const std::vector<Buildability> known = buildabilityOf(design->machine);
      if (!known.empty() && warned.insert(known.front().error.message).second)
        warnOfBuildability(jobs_.first().diagnostics(), design->machine);
      for (const Buildability &one : known)
        tell(fmt::format("warning {} of {}: {}", numberOf(one.error.code), design->name, one.error.message));
    }
    if (!plan_.front)
      return;
    const std::vector<MinedDesign> &front = plan_.front->designs;
    auto hard = llvm::count_if(front, [](const MinedDesign &one) { return !buildabilityOf(one.machine).empty(); });
    for (const MinedDesign &design : front)
      for (const Buildability &one : buildabilityOf(design.machine))
        tell(fmt::format("warning {} of a design of the front: {}", numberOf(one.error.code), one.error.message));
    if (hard > 0)
      jobs_.first().diagnostics().warning(
          Code::PowerDensityAboveLimit, {},
          fmt::format("{} of the {} designs of the front are hard to build or to cool: mine.json says why, for each",
                      hard, front.size()));
  }

  /// What the chosen strategy finds for these jobs, with their placements by job. `problem` becomes that with an
  /// effort, where there is one.
  MinedAnswer answered(const std::string &name, std::unique_ptr<MiningProblem> &problem, const std::vector<size_t> &of,
                       ObjectiveAggregation aggregation, const MiningOptions &search,
                       std::vector<std::optional<PlacedBest>> &placements) {
    MinedAnswer answer{miningStrategy(options_.strategy)(*problem, search), {}};
    if (!options_.scheduleEffort)
      answer.result = tightenMining(*problem, std::move(answer.result), search);
    if (unsigned effort = options_.scheduleEffort ? options_.scheduleEffort : effortForGap(answer.result)) {
      certifiedEffort_ = effort;
      problem = jobs_.problemOf(of, aggregation, false, effort);
      answer.result = refineMining(*problem, answer.result, search_);
    }
    const auto &best = answer.result.best;
    for (size_t i = 0; i < of.size(); ++i)
      placements.push_back(best && jobs_.placed(of[i]) ? static_cast<PlacedProblem &>(*problem).placed(i, *best)
                                                       : std::nullopt);
    if (best)
      answer.design = jobs_.designed(name, *problem, of, *best);
    return answer;
  }

  /// Where a gap is asked for that the best schedules without search leave: the quick effort, where nothing else that
  /// is asked for values designs by these. 0: none.
  unsigned effortForGap(const MiningResult &found) const {
    bool alone = !options_.executor && options_.compare.empty() && options_.front.empty() && !options_.sensitivity &&
                 jobs_.size() == 1;
    bool open = search_.gap > 0 && found.isOptimal && found.gap() > search_.gap;
    return alone && open && options_.strategy == "exact" && !jobs_.placed(0) ? kQuickEffort : 0;
  }

  /// The search with its files. Of the first one there must be a file to go on from; it may have
  /// ended before the next had one.
  MiningOptions kept(const std::string &behind, bool isFirst) const {
    MiningOptions search = search_;
    if (!options_.checkpoint.empty())
      search.checkpoint = options_.checkpoint + behind;
    search.checkpointEvery = options_.checkpointEvery;
    if (!options_.resume.empty() && (isFirst || llvm::sys::fs::exists(options_.resume + behind)))
      search.resume = options_.resume + behind;
    return search;
  }

  /// What kept a search from its work, or its files from being written.
  bool troubles() {
    Diagnostics &diags = jobs_.first().diagnostics();
    std::vector<const MiningResult *> all{&plan_.best.result};
    for (const MinedAnswer &own : plan_.own)
      all.push_back(&own.result);
    bool refused = false;
    for (const MiningResult *result : all) {
      refused |= result->refused;
      if (result->refused)
        diags.error(Code::BadCommandLine, {}, result->error);
      else if (!result->error.empty())
        diags.warning(Code::CannotWrite, {}, result->error);
    }
    return refused;
  }

  /// A folder for each job of the best design that is placed on a cluster, and of its own best one.
  bool placements(const std::string &into) {
    auto write = [&](size_t j, const MinedAnswer &answer, const std::optional<PlacedBest> &chosen,
                     const std::string &behind) {
      if (!chosen || !answer.design)
        return true;
      std::string folder = into + "/placement" + behind;
      jobs_.chooseCluster(j, *answer.result.best);
      if (writeMinedPlacement(jobs_.session(j), answer.design->machine, *chosen, jobs_.metric(), folder))
        return true;
      failed_ = &jobs_.session(j);
      return false;
    };
    for (size_t j = 0; j < jobs_.size(); ++j) {
      std::string name = jobs_.size() > 1 ? "-" + jobs_.jobs()[j].name : "";
      if (!write(j, plan_.best, chosen_[j], name) ||
          (j < plan_.own.size() && !write(j, plan_.own[j], chosenAlone_[j], name + "-alone")))
        return false;
    }
    return true;
  }

  int write() {
    Diagnostics &diags = jobs_.first().diagnostics();
    if (troubles())
      return jobs_.first().finish(kWrongInput, "mine");
    const std::string &folder = options_.session.output;
    AnswerFolder answer(diags, folder);
    if (!answer || !writeMiningCertificate(answer.path(), jobs_, certifiedEffort_, plan_, diags, search_.stopped()))
      return jobs_.first().finish(kWrongInput, "mine");
    for (size_t j = 0; j < jobs_.size(); ++j) // what pins said of layers
      if (jobs_.session(j).diagnostics().hasErrors())
        return jobs_.session(j).finish(kWrongInput, "mine");
    if (!placements(answer.path()))
      return failed_->finish(kWrongInput, "mine");
    auto names = filesIn(answer.path());
    if (!names) {
      diags.error(names.error().code, {}, names.error().message);
      return jobs_.first().finish(kWrongInput, "mine");
    }
    // Their hashes are those with links to the report, which is written last.
    answer.write(linkedPages(answer.path(), *names, {{"report.html", "mining"}}));
    plan_.certificate = certificateFiles(answer.path(), *names);
    if (!answer.write(filesOf(plan_)).commit())
      return jobs_.first().finish(kWrongInput, "mine");
    if (options_.session.json)
      standardOutput() << jsonText(toJson(plan_)) << "\n";
    else
      standardOutput() << miningSummary(plan_, llvm::StringRef(folder).rtrim('/').str(),
                                        TextStyle::of(standardOutput()));
    return jobs_.first().finish(exitOf(statusOf(plan_)), "mine");
  }

  const MineOptions &options_;
  std::unique_ptr<SolverMonitor> monitor_;
  MineJobs jobs_;
  std::vector<std::optional<PlacedBest>> chosen_;      ///< by job that is placed, on the best design
  std::vector<std::optional<PlacedBest>> chosenAlone_; ///< on its own best one
  Session *failed_ = nullptr;
  MiningOptions search_;
  MineReportOptions findings_;
  unsigned certifiedEffort_ = 0; ///< of the schedules that designs are valued by
  MiningPlan plan_;
};

} // namespace

std::optional<MiningPlan> mineDesigns(MineOptions options) {
  options.writes = false;
  Mining mining(options);
  return mining.run() == kDone ? mining.takePlan() : std::nullopt;
}

int mine(const MineOptions &options) { return Mining(options).run(); }

} // namespace accord
