#include "tools/accord/Mine.h"
#include "lib/emit/JsonText.h"
#include "lib/emit/Mining.h"
#include "lib/mine/Compare.h"
#include "lib/mine/StepMemory.h"
#include "lib/mine/StepProblem.h"
#include "lib/mine/StepWork.h"
#include "lib/support/Version.h"
#include "tools/accord/SolveWatch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord {
namespace {

std::optional<MiningMetric> metricOf(const MineOptions &options, Session &session) {
  for (MiningMetric metric : {MiningMetric::StepTime, MiningMetric::TdpTime, MiningMetric::Energy,
                              MiningMetric::AreaTime})
    if (options.metric == name(metric))
      return metric;
  switch (session.job().objective) {
  case Objective::Throughput:
  case Objective::StepTime:
    return MiningMetric::StepTime;
  case Objective::TdpTime:
    return MiningMetric::TdpTime;
  case Objective::Energy:
    return MiningMetric::Energy;
  case Objective::Memory:
  case Objective::Price:
    break;
  }
  session.diagnostics()
      .error(Code::NotSupported, session.job().objectiveAt,
             fmt::format("not supported yet: mining for least {}", name(session.job().objective)))
      .help("say what is made least with --metric");
  return std::nullopt;
}

class Mining {
public:
  explicit Mining(const MineOptions &options) : options_(options) {}

  int run() {
    auto asked = SolveWatch::asked(options_.limits.gap, options_.limits.timeLimit);
    if (auto *wrong = std::get_if<std::string>(&asked))
      return refuse(Code::BadCommandLine, *wrong, options_.session.json, "mine");
    auto [gap, seconds] = std::get<SolveWatch::Asked>(asked);
    if (int status = prepare(); status != kDone)
      return status;
    SolveWatch watch("mining", {true, seconds});
    search_.gap = gap;
    search_.seed = options_.seed;
    search_.threads = options_.session.threads;
    search_.stop = watch.stop();
    if (options_.evaluations)
      search_.evaluations = options_.evaluations;
    searchAll();
    return write();
  }

private:
  Session &first() { return *sessions_.front(); }

  int prepare() {
    for (const std::string &file : options_.files) {
      Options &one = *own_.emplace_back(std::make_unique<Options>(options_.session));
      one.file = file;
      one.elaborate.mines = true;
      Session &session = *sessions_.emplace_back(std::make_unique<Session>(one));
      if (!session.prepare())
        return session.finish(kWrongInput, "mine");
      if (&session == &first()) {
        auto space = session.designSpace();
        if (!space)
          return session.finish(kWrongInput, "mine");
        space_ = std::make_unique<DesignSpace>(std::move(*space));
        auto metric = metricOf(options_, session);
        if (!metric)
          return session.finish(kWrongInput, "mine");
        metric_ = *metric;
      }
      if (!addJob(session))
        return session.finish(kWrongInput, "mine");
    }
    return kDone;
  }

  /// The job, for each micro-batch and recomputation that it offers.
  bool addJob(Session &session) {
    SingleDeviceRequest request = session.request();
    MiningJob &job = jobs_.emplace_back();
    // Each has a file of its own name.
    job.name = session.job().name;
    auto taken = [&](const std::string &name) {
      return name == "best" || std::any_of(jobs_.begin(), jobs_.end() - 1,
                                           [&](const MiningJob &one) { return one.name == name; });
    };
    for (int number = 2; taken(job.name); ++number)
      job.name = fmt::format("{}_{}", session.job().name, number);
    job.batch = request.batch;
    for (int64_t microbatch : request.microbatches)
      for (const std::string &policy : request.recomputes) {
        if (request.batch % microbatch != 0)
          continue;
        auto work = request.instantiate(microbatch, request.batch / microbatch, policy);
        if (auto *issue = std::get_if<Issue>(&work)) {
          session.report(*issue);
          return false;
        }
        job.ways.push_back({fmt::format("micro-batch {}{}", microbatch,
                                        policy == "none" ? "" : ", recompute " + policy),
                            std::make_shared<StepWork>(std::move(std::get<WorkGraph>(work)))});
      }
    if (!job.ways.empty())
      return true;
    session.diagnostics().error(
        Code::BatchNotDivisible, session.job().microbatchAt,
        fmt::format("no micro-batch that is offered divides the batch of {}", request.batch));
    return false;
  }

  void searchAll() {
    MiningStrategy strategy = miningStrategy(options_.strategy);
    plan_.space = space_->name();
    plan_.size = space_->size();
    plan_.metric = name(metric_);
    plan_.parameters = space_->parameters();
    plan_.version = kVersion;
    for (const DesignRequirement &requirement : space_->requirements())
      plan_.requirements.push_back(requirement.text);
    bool several = jobs_.size() > 1, ratio = several && options_.blend == "worst_ratio";
    if (several)
      plan_.blend = options_.blend;
    for (size_t j = 0; ratio && j < jobs_.size(); ++j) {
      StepProblem alone(*space_, {jobs_[j]}, metric_, MiningBlend::Sum);
      MinedAnswer answer{strategy(alone, kept("." + jobs_[j].name)), {}};
      if (answer.result.best) {
        jobs_[j].best = answer.result.value;
        answer.design = designed(jobs_[j].name, alone, {j}, *answer.result.best);
      }
      plan_.own.push_back(std::move(answer));
    }
    plan_.comparedByTime = search_.timed = options_.compare == "time";
    MiningBlend blend = ratio ? MiningBlend::WorstRatio : MiningBlend::Sum;
    StepProblem problem(*space_, asked(), metric_, blend);
    plan_.best.result = strategy(problem, kept(""));
    std::vector<size_t> all(jobs_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (const auto &best = plan_.best.result.best)
      plan_.best.design = designed(several ? "common" : jobs_.front().name, problem, all, *best);
    else
      explain();
    if (options_.compare.empty())
      return;
    for (const std::string &other : miningStrategies())
      if (const auto &only = options_.against;
          other != options_.strategy &&
          (only.empty() || std::find(only.begin(), only.end(), other) != only.end())) {
        std::unique_ptr<StepProblem> anew;
        if (plan_.comparedByTime)
          anew = std::make_unique<StepProblem>(*space_, asked(), metric_, blend);
        MinedAnswer answer{mineAlike(other, anew ? *anew : problem, plan_.best.result,
                                     plan_.comparedByTime, search_),
                           {}};
        if (answer.result.best)
          answer.design = designed(other, problem, all, *answer.result.best);
        plan_.compared.push_back(std::move(answer));
      }
  }

  /// The jobs; where time is compared, each search prices every design itself.
  std::vector<MiningJob> asked() const {
    std::vector<MiningJob> jobs = jobs_;
    for (MiningJob &job : jobs)
      for (MiningWay &way : job.ways)
        if (plan_.comparedByTime)
          way.work = std::make_shared<StepWork>(way.work->graph());
    return jobs;
  }

  /// The search with its files.
  MiningOptions kept(const std::string &behind) const {
    MiningOptions search = search_;
    if (!options_.checkpoint.empty())
      search.checkpoint = options_.checkpoint + behind;
    if (!options_.resume.empty())
      search.resume = options_.resume + behind;
    return search;
  }

  /// What kept a search from its work, or its files from being written.
  bool troubles() {
    Diagnostics &diags = first().diagnostics();
    std::vector<const MiningResult *> all{&plan_.best.result};
    for (const MinedAnswer &own : plan_.own)
      all.push_back(&own.result);
    bool refused = false;
    for (const MiningResult *result : all) {
      refused |= result->refused;
      if (result->refused)
        diags.error(Code::BadCommandLine, {}, result->trouble);
      else if (!result->trouble.empty())
        diags.warning(Code::CannotWrite, {}, result->trouble);
    }
    return refused;
  }

  /// A requirement that the whole space breaks.
  void explain() {
    DesignBox all;
    for (const DesignParameter &parameter : space_->parameters()) {
      all.low.push_back(0);
      all.high.push_back(static_cast<uint32_t>(parameter.spelled.size() - 1));
    }
    if (auto broken = space_->broken(all)) {
      plan_.conflict = "'" + space_->requirements()[*broken].text + "'";
      plan_.conflictAt = space_->requirements()[*broken].location;
      return;
    }
    auto most = space_->best(all);
    auto *machine = std::get_if<Machine>(&most);
    if (!machine || machine->memories.empty())
      return;
    if (metric_ == MiningMetric::TdpTime && !(machine->tdp.value > 0))
      plan_.conflict = "what tdp_time needs: state 'technology', or 'tdp' of its power";
    if (metric_ == MiningMetric::AreaTime && !(machine->area.value > 0))
      plan_.conflict = "what area_time needs: state 'area'";
    for (const MiningJob &job : jobs_) {
      double least = INFINITY, room = machine->memories[0].capacity.value;
      for (const MiningWay &way : job.ways)
        least = std::min(least, leastPeak(way.work->graph()));
      if (least > room)
        plan_.conflict =
            fmt::format("'{}' in device memory: {} at least, '{}' has {} at most", job.name,
                        formatBytes(least), machine->memories[0].name, formatBytes(room));
    }
  }

  /// `of`: the problem's jobs, as numbers of ours.
  MinedDesign designed(const std::string &name, StepProblem &problem, const std::vector<size_t> &of,
                       const Design &design) {
    MinedDesign mined;
    mined.name = name;
    auto machine = space_->machine(design);
    if (auto *known = std::get_if<Machine>(&machine))
      mined.machine = std::move(*known);
    for (size_t i = 0; i < design.size(); ++i)
      mined.chosen.push_back(space_->parameters()[i].spelled[design[i]]);
    std::string text;
    for (size_t i = 0; i < of.size(); ++i) {
      const MiningJob &job = jobs_[of[i]];
      auto step = problem.step(i, design);
      if (!step)
        continue;
      const std::string &way = job.ways[step->way].label;
      mined.steps.push_back({job.name, way, job.batch, step->step, step->joules, step->bytes,
                             step->value, of.size() > 1 ? job.best : 0});
      text +=
          fmt::format("/// {}: {:.6g} s a step of {}, {}.\n", job.name, step->step, job.batch, way);
    }
    mined.text = text + space_->text(design);
    return mined;
  }

  int write() {
    Diagnostics &diags = first().diagnostics();
    if (troubles())
      return first().finish(kWrongInput, "mine");
    const std::string &folder = options_.session.output;
    if (std::error_code problem = llvm::sys::fs::create_directories(folder)) {
      diags.error(Code::CannotWrite, {},
                  fmt::format("folder '{}' cannot be made: {}", folder, problem.message()));
      return first().finish(kWrongInput, "mine");
    }
    llvm::json::Value document = toJson(plan_);
    bool ok = writeFile(diags, folder + "/mine.json", jsonText(document) + "\n") &&
              writeFile(diags, folder + "/convergence.csv", convergenceCsv(plan_));
    if (!plan_.compared.empty())
      ok = ok && writeFile(diags, folder + "/compared.csv", comparedCsv(plan_));
    if (plan_.best.design)
      ok = ok && writeFile(diags, folder + "/best.accel", plan_.best.design->text);
    for (const MinedAnswer &answer : plan_.own)
      if (answer.design)
        ok = ok &&
             writeFile(diags, folder + "/" + answer.design->name + ".accel", answer.design->text);
    if (!ok)
      return first().finish(kWrongInput, "mine");
    if (options_.session.json)
      llvm::outs() << jsonText(document) << "\n";
    else
      llvm::outs() << miningSummary(plan_, llvm::StringRef(folder).rtrim('/').str(),
                                    TextStyle::of(llvm::outs()));
    return first().finish(plan_.best.design ? kDone : kInfeasible, "mine");
  }

  const MineOptions &options_;
  std::vector<std::unique_ptr<Options>> own_;
  std::vector<std::unique_ptr<Session>> sessions_; ///< the first one's space is mined
  std::unique_ptr<DesignSpace> space_;
  MiningMetric metric_ = MiningMetric::StepTime;
  std::vector<MiningJob> jobs_;
  MiningOptions search_;
  MiningPlan plan_;
};

} // namespace

int mine(const MineOptions &options) { return Mining(options).run(); }

} // namespace accord
