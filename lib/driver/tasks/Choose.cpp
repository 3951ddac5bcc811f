#include "lib/driver/tasks/Choose.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/tasks/OfferSources.h"
#include "lib/language/syntax/Parser.h"
#include "lib/offers/output/OfferCertificate.h"
#include "lib/offers/solve/OfferChooser.h"
#include "lib/offers/verify/OfferVerifier.h"
#include "lib/placement/builder/StepVariants.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Quantity.h"
#include "lib/support/ThreadPool.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {
namespace {
using namespace offers;

/// Offers of one pool that are compared for each price; more would only cost more.
constexpr size_t kComparedOffers = 3;

class OfferTask {
public:
  explicit OfferTask(const ChooseOptions &options) : options(options), diags(sourceManager) {}

  int run() {
    if (!readLimits() || !findTrainings())
      return end(kWrongInput);
    auto read = readOfferSources(options, diags);
    if (!read)
      return end(kWrongInput);
    sources = std::move(*read);
    report.problem.offers = sources.offers;
    report.offers = static_cast<int64_t>(sources.offers.size());
    report.leftOut = sources.leftOut;
    for (const std::string &text : sources.assumptions)
      assume(text);
    const std::vector<PooledOffer> compared = cheapestOf(sources.offers, sources.pooled, kComparedOffers);
    report.compared = static_cast<int64_t>(compared.size());
    if (compared.size() < sources.pooled.size())
      assume(fmt::format("of offers with equal devices the {} cheapest are compared for each price: {} others are the "
                         "same and cost as much or more",
                         kComparedOffers, sources.pooled.size() - compared.size()));
    return planTrainings(compared) ? answer() : end(kWrongInput);
  }

private:
  struct Named {
    std::string file, train;
  };

  int end(int status) { return finish(diags, status, options.training.json, "choose"); }
  void assume(const std::string &text) {
    if (!llvm::is_contained(report.assumptions, text))
      report.assumptions.push_back(text);
  }

  // ------------------------------------------------------------- what is asked

  bool readQuantity(const char *name, const std::string &text, const char *like, double &value) {
    if (text.empty())
      return true;
    auto given = parseQuantity(text), unit = parseQuantity(like);
    const bool isRight = given && unit && compare(*given, *unit) && std::isfinite(given->toDouble());
    if (isRight && given->toDouble() > 0) {
      value = given->toDouble();
      return true;
    }
    diags.error(Code::BadCommandLine, {},
                fmt::format("{}: expected more than 0, as in '{}', found '{}'", name, like, text));
    return false;
  }

  bool readLimits() {
    OfferLimits &limits = report.problem.limits;
    limits.sure = options.sure;
    const std::map<std::string, OfferObjective> objectives = {{"cost", OfferObjective::Price},
                                                              {"time", OfferObjective::Time},
                                                              {"energy", OfferObjective::Energy},
                                                              {"carbon", OfferObjective::Carbon}};
    auto found = objectives.find(options.minimize);
    if (found == objectives.end()) {
      diags.error(Code::BadCommandLine, {},
                  fmt::format("--minimize: expected cost, time, energy or carbon, found '{}'", options.minimize));
      return false;
    }
    report.problem.objective = found->second;
    if (options.prices.empty() && options.inventories.empty()) {
      diags.error(Code::BadCommandLine, {}, "there are no offers: --from LIST.csv or --inventory FILE.accel has them");
      return false;
    }
    if (options.sure && options.deadline.empty()) {
      diags.error(Code::BadCommandLine, {}, "--sure is about a deadline, and none is stated");
      return false;
    }
    if (options.samples < 0 || !std::isfinite(options.samples)) {
      diags.error(Code::BadCommandLine, {}, "--samples: expected a number above 0");
      return false;
    }
    return readQuantity("--deadline", options.deadline, "48 h", limits.deadline) &&
           readQuantity("--budget", options.budget, "5000 USD", limits.budget) &&
           readQuantity("--power", options.power, "20 kW", limits.watts);
  }

  /// All `train` blocks of the files, or those that are named.
  bool findTrainings() {
    std::set<std::string> wanted(options.trains.begin(), options.trains.end()), found;
    std::vector<std::string> known;
    for (const std::string &path : options.files) {
      auto file = readFile(diags, path);
      auto tree = file ? parse(diags, *file) : nullptr;
      if (!tree || diags.hasErrors())
        return false;
      bool any = false;
      for (const ast::Declaration &one : tree->declarations) {
        if (one.kind != ast::DeclarationKind::Train)
          continue;
        any = true;
        known.push_back(one.name.text);
        if (wanted.empty() || wanted.contains(one.name.text)) {
          trainings.push_back({path, one.name.text});
          found.insert(one.name.text);
        }
      }
      if (!any) {
        diags.error(Code::NoTraining, {*file, 0, 0}, fmt::format("'{}' has no `train` block", path))
            .help("train NAME = MODEL { batch = 256, samples = 1 M } says what is trained, and for how long");
        return false;
      }
    }
    for (const std::string &name : wanted)
      if (!found.contains(name)) {
        diags.error(Code::UnknownName, {}, fmt::format("--train: no file has a training '{}'", name))
            .suggest(nearest(name, known));
        return false;
      }
    return true;
  }
  /// Its own name, or with the file where several files have such a training.
  std::string nameOf(const Named &training) const {
    const auto same = std::ranges::count_if(trainings, [&](const Named &one) { return one.train == training.train; });
    return same == 1 ? training.train : fmt::format("{}:{}", training.file, training.train);
  }

  // ------------------------------------------------------------- options

  /// Powers of two up to the most instances, and that number.
  std::vector<int64_t> instanceCounts(unsigned pool) const {
    int64_t max = sources.maxInstances[pool] > 0 ? sources.maxInstances[pool] : options.maxInstances;
    int64_t available = 0;
    for (const PooledOffer &one : sources.pooled)
      if (one.pool == pool) {
        const int64_t own = sources.offers[one.offer].available;
        available = std::max(available, own > 0 ? std::min(own, max) : max);
      }
    std::vector<int64_t> counts;
    for (int64_t count = 1; count < available; count *= 2)
      counts.push_back(count);
    counts.push_back(available);
    return counts;
  }

  /// A training with its plans in all pools.
  struct Planned {
    std::unique_ptr<TrainingPlans> plans;
    OfferedWork work;
    std::vector<OfferPool> pools;
    bool isRight = true;
  };

  bool planTrainings(const std::vector<PooledOffer> &compared) {
    std::vector<Planned> planned;
    for (const Named &training : trainings) {
      planned.push_back(read(training));
      if (!planned.back().isRight)
        return false;
    }
    std::set<unsigned> used;
    for (const PooledOffer &one : compared)
      used.insert(one.pool);
    ThreadPool(options.training.threads).each(planned.size(), [&](size_t i) {
      for (unsigned pool : used)
        planned[i].isRight &= planned[i].isRight && planPool(*planned[i].plans, pool, planned[i].pools[pool]);
    });
    return std::ranges::all_of(planned, [&](Planned &one) { return one.isRight && addTraining(one, compared); });
  }

  Planned read(const Named &training) {
    Options own = options.training;
    own.file = training.file;
    own.elaborate.train = training.train;
    Planned made{std::make_unique<TrainingPlans>(own, networks), {}, std::vector<OfferPool>(sources.pools.size())};
    made.isRight = made.plans->prepare();
    if (!made.isRight)
      return made;
    made.work = {nameOf(training), options.samples > 0 ? options.samples : made.plans->samples(), made.plans->batch()};
    if (made.work.samples > 0)
      return made;
    diags
        .error(Code::MissingKey, {},
               fmt::format("training '{}' of '{}' does not say how long it is", training.train, training.file))
        .help("state 'samples', 'tokens' or 'steps' in its block, or --samples");
    made.isRight = false;
    return made;
  }

  bool addTraining(const Planned &planned, const std::vector<PooledOffer> &compared) {
    OptionSettings settings;
    settings.onDemand = options.onDemand, settings.spot = options.spot, settings.maxInstances = options.maxInstances;
    settings.threads = options.training.threads;
    OfferTraining made = optionsOf(planned.work, sources.offers, planned.pools, compared, settings);
    for (const OfferPool &pool : planned.pools)
      for (const OfferPlan &plan : pool.plans)
        maxGap = std::max(maxGap, plan.fits ? plan.gap : 0);
    for (const std::string &text : planned.plans->assumptions())
      assume(text);
    for (const std::string &text : assumptionsOf(sources.offers, made))
      assume(text);
    leaveOutUnfit(made);
    report.problem.trainings.push_back(std::move(made));
    return true;
  }

  bool planPool(TrainingPlans &plans, unsigned pool, OfferPool &made) const {
    const DevicePool &on = sources.pools[pool];
    made.catalogue = on.cluster;
    made.devices = on.devicesPerServer;
    if (made.devices == 0) // of an inventory, as it says
      for (const PooledOffer &one : sources.pooled)
        if (one.pool == pool)
          made.devices = static_cast<int64_t>(sources.offers[one.offer].devices);
    std::vector<int64_t> counts;
    for (int64_t count : instanceCounts(pool))
      counts.push_back(count * made.devices);
    auto rows = plans.on(on, counts);
    if (!rows)
      return false;
    for (const DeviceCountPlan &row : *rows)
      made.plans.push_back({row.devices,
                            row.servers,
                            row.fits,
                            row.reason,
                            {row.step, row.stepLow, row.stepHigh},
                            row.gap,
                            row.memory,
                            row.watts,
                            row.checkpoint,
                            row.plan});
    return true;
  }

  void leaveOutUnfit(const OfferTraining &training) {
    std::map<std::pair<std::string, std::string>, LeftOutReport> unfit;
    for (const auto &[offer, reason] : training.unfit) {
      const InstanceOffer &of = sources.offers[offer];
      const std::string accelerator = fmt::format("{}:{}", of.accelerator, of.devices);
      LeftOutReport &left = unfit[{accelerator, reason}];
      if (left.rows++ == 0)
        left.training = training.name, left.accelerator = accelerator, left.reason = reason, left.first = of.location;
    }
    for (auto &[key, left] : unfit)
      report.leftOut.push_back(std::move(left));
  }

  // ------------------------------------------------------------- the answer

  int answer() {
    SearchLimits search;
    search.effort = options.training.effort;
    report.choice = chooseOffers(report.problem, search);
    for (unsigned t = 0; t < report.choice.choice.size(); ++t)
      report.runnersUp.push_back(runnersUp(report.problem, report.choice, t, kRunnersUp));
    const Verification verified = proofOf(report);
    if (!verified.holds()) {
      for (const Error &error : verified.findings)
        diags.error(Code::InternalError, {}, "the choice does not hold: " + error.message);
      return end(kInternal);
    }
    report.checked = verified.checked, report.searchAlone = verified.solverAnswers;
    assume("numbers of instances are powers of two, and the largest");
    if (maxGap > 0)
      assume(fmt::format("plans are the best that were found; their step times are within {:.2g} % of the bound",
                         100 * maxGap));
    if (!options.sky.empty() && !writeTasks())
      return end(kWrongInput);
    if (!options.output.empty() && !AnswerFolder(diags, options.output).write(filesOf(report)).commit())
      return end(kWrongInput);
    if (options.training.json)
      standardOutput() << jsonText(offerJson(report)) << "\n";
    else
      standardOutput() << offerText(report, TextStyle::of(standardOutput()));
    static constexpr int kExits[] = {kDone, kDone, kInfeasible, kUnknown};
    return end(kExits[static_cast<size_t>(report.choice.status)]);
  }

  /// One file; of several trainings one for each, with its name before the suffix.
  bool writeTasks() {
    for (unsigned t = 0; t < report.choice.choice.size(); ++t) {
      auto task = skyTask(report, t);
      if (!task) {
        assume(
            fmt::format("'{}' runs on own servers, so there is no task of SkyPilot", report.problem.trainings[t].name));
        continue;
      }
      std::string path = options.sky;
      if (trainings.size() > 1) {
        size_t dot = path.rfind('.');
        if (dot == std::string::npos || path.find('/', dot) != std::string::npos)
          dot = path.size();
        path.insert(dot, "-" + trainings[t].train);
        if (!written.insert(path).second)
          path.insert(dot, fmt::format("-{}", t + 1));
      }
      if (!writeFile(diags, path, *task))
        return false;
    }
    return true;
  }

  const ChooseOptions &options;
  SourceManager sourceManager;
  Diagnostics diags;
  std::vector<Named> trainings;
  OfferSources sources;
  OfferReport report;
  std::shared_ptr<FabricCaches> networks = std::make_shared<FabricCaches>();
  double maxGap = 0;
  std::set<std::string> written;
};

const DocumentEntry kDocument("choose", "accord choose --json",
                              "Which offers of price lists and inventories train something, under a deadline, a budget "
                              "and a power: the proven best choice, the next ones, and the front of price and time.",
                              offerSchema);

} // namespace

Verification proofOf(const OfferReport &report) {
  Verification proof = verifyOffers(report.problem, report.choice);
  if (!proof.holds())
    return proof;
  Verification others = verifyRunnersUp(report.problem, report.choice, report.runnersUp);
  llvm::append_range(proof.findings, others.findings);
  llvm::append_range(proof.checked, others.checked);
  return proof;
}

int choose(const ChooseOptions &options) { return OfferTask(options).run(); }

} // namespace accord
