#include "tools/accord/Mine.h"
#include "lib/emit/JsonText.h"
#include "lib/emit/Mining.h"
#include "lib/support/Version.h"
#include "tools/accord/MineCertificate.h"
#include "tools/accord/MineJobs.h"
#include "tools/accord/MinePlacement.h"
#include "tools/accord/MineReport.h"
#include "tools/accord/SolveWatch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

class Mining {
public:
  explicit Mining(const MineOptions &options) : options_(options), jobs_(options) {}

  int run() {
    auto asked = SolveWatch::asked(options_.limits.gap, options_.limits.timeLimit);
    if (auto *wrong = std::get_if<std::string>(&asked))
      return refuse(Code::BadCommandLine, *wrong, options_.session.json, "mine");
    auto [gap, seconds] = std::get<SolveWatch::Asked>(asked);
    if (!options_.front.empty()) {
      auto near = SolveWatch::asked(options_.front, "none");
      if (!std::holds_alternative<SolveWatch::Asked>(near))
        return refuse(Code::BadCommandLine,
                      "--front: expected a share below 1, as in 2% or 0.02, found '" +
                          options_.front + "'",
                      options_.session.json, "mine");
      findings_.front = std::get<SolveWatch::Asked>(near).gap;
    }
    findings_.sensitivity = options_.sensitivity;
    if (int status = jobs_.prepare(); status != kDone)
      return status;
    if (int status = kDone; !options_.against.empty()) {
      plan_.findings.reference = jobs_.on(options_.against, status);
      if (status != kDone)
        return status;
    }
    SolveWatch watch("mining", {true, seconds});
    search_.gap = gap;
    search_.seed = options_.seed;
    search_.threads = options_.session.threads;
    search_.stop = watch.stop();
    search_.crew = options_.crew;
    if (options_.evaluations)
      search_.evaluations = options_.evaluations;
    searchAll();
    return options_.writes ? write() : kDone;
  }

private:
  void searchAll() {
    MiningStrategy strategy = miningStrategy(options_.strategy);
    plan_.space = jobs_.space().name();
    plan_.size = jobs_.space().size();
    plan_.metric = name(jobs_.metric());
    plan_.parameters = jobs_.space().parameters();
    plan_.version = kVersion;
    for (const DesignRequirement &requirement : jobs_.space().requirements())
      plan_.requirements.push_back(requirement.text);
    bool several = jobs_.size() > 1, ratio = several && options_.blend == "worst_ratio";
    if (several)
      plan_.blend = options_.blend;
    for (size_t j = 0; ratio && j < jobs_.size(); ++j) {
      const std::string &name = jobs_.jobs()[j].name;
      auto alone = jobs_.problemOf({j}, MiningBlend::Sum);
      MinedAnswer answer{strategy(*alone, kept("." + name)), {}};
      if (answer.result.best) {
        jobs_.best(j, answer.result.value);
        answer.design = jobs_.designed(name, *alone, {j}, *answer.result.best);
      }
      plan_.own.push_back(std::move(answer));
    }
    std::vector<size_t> all = jobs_.all();
    auto made = jobs_.problemOf(all, ratio ? MiningBlend::WorstRatio : MiningBlend::Sum);
    MiningProblem &problem = *made;
    plan_.best.result = strategy(problem, kept(""));
    if (const auto &best = plan_.best.result.best)
      plan_.best.design =
          jobs_.designed(several ? "common" : jobs_.jobs().front().name, problem, all, *best);
    else
      jobs_.explain(plan_);
    chosen_.resize(jobs_.size());
    for (size_t j = 0; plan_.best.result.best && j < jobs_.size(); ++j)
      if (jobs_.placed(j))
        chosen_[j] = static_cast<PlacedProblem &>(problem).placed(j, *plan_.best.result.best);
    if (plan_.best.result.best)
      addFindings(plan_,
                  {jobs_.space(), problem, search_,
                   [&](const std::string &name, const Design &design) {
                     return jobs_.designed(name, problem, all, design);
                   },
                   [&](const Design &design) { return jobs_.limits(problem, design); },
                   [&](const Design &design) { return jobs_.unfit(problem, design); }},
                  findings_);
    if (!options_.compare)
      return;
    MiningOptions equal = search_;
    equal.evaluations = std::max<uint64_t>(1, plan_.best.result.evaluations);
    for (const std::string &other : miningStrategies())
      if (other != options_.strategy) {
        MinedAnswer answer{miningStrategy(other)(problem, equal), {}};
        if (answer.result.best)
          answer.design = jobs_.designed(other, problem, all, *answer.result.best);
        plan_.compared.push_back(std::move(answer));
      }
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
    Diagnostics &diags = jobs_.first().diagnostics();
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

  /// A folder for each job of the best design that is placed on a cluster.
  bool placements() {
    if (!plan_.best.design)
      return true;
    for (size_t j = 0; j < jobs_.size(); ++j) {
      if (!chosen_[j])
        continue;
      std::string folder = options_.session.output + "/placement";
      if (jobs_.size() > 1)
        folder += "-" + jobs_.jobs()[j].name;
      if (!writeMinedPlacement(jobs_.session(j), plan_.best.design->machine, *chosen_[j],
                               jobs_.metric(), folder)) {
        failed_ = &jobs_.session(j);
        return false;
      }
    }
    return true;
  }

  int write() {
    Diagnostics &diags = jobs_.first().diagnostics();
    if (troubles())
      return jobs_.first().finish(kWrongInput, "mine");
    const std::string &folder = options_.session.output;
    if (std::error_code problem = llvm::sys::fs::create_directories(folder)) {
      diags.error(Code::CannotWrite, {},
                  fmt::format("folder '{}' cannot be made: {}", folder, problem.message()));
      return jobs_.first().finish(kWrongInput, "mine");
    }
    llvm::json::Value document = toJson(plan_);
    bool ok = writeFile(diags, folder + "/mine.json", jsonText(document) + "\n") &&
              writeFile(diags, folder + "/convergence.csv", convergenceCsv(plan_));
    if (plan_.best.design)
      ok = ok && writeFile(diags, folder + "/best.accel", plan_.best.design->text);
    ok = ok && writeFindings(diags, folder, plan_);
    for (const MinedAnswer &answer : plan_.own)
      if (answer.design)
        ok = ok &&
             writeFile(diags, folder + "/" + answer.design->name + ".accel", answer.design->text);
    ok = ok &&
         writeMiningCertificate(folder, jobs_.space(), jobs_.jobs(), jobs_.metric(), plan_, diags);
    if (!ok)
      return jobs_.first().finish(kWrongInput, "mine");
    for (size_t j = 0; j < jobs_.size(); ++j) // what pins said of layers
      if (jobs_.session(j).diagnostics().hasErrors())
        return jobs_.session(j).finish(kWrongInput, "mine");
    if (!placements())
      return failed_->finish(kWrongInput, "mine");
    if (options_.session.json)
      llvm::outs() << jsonText(document) << "\n";
    else
      llvm::outs() << miningSummary(plan_, llvm::StringRef(folder).rtrim('/').str(),
                                    TextStyle::of(llvm::outs()));
    return jobs_.first().finish(plan_.best.design ? kDone : kInfeasible, "mine");
  }

  const MineOptions &options_;
  MineJobs jobs_;
  std::vector<std::optional<PlacedBest>> chosen_; ///< by job, on the best design
  Session *failed_ = nullptr;
  MiningOptions search_;
  MineReportOptions findings_;
  MiningPlan plan_;
};

} // namespace

int mine(const MineOptions &options) { return Mining(options).run(); }

} // namespace accord
