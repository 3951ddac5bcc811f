#include "lib/driver/tuning/Tune.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/Workspace.h"
#include "lib/driver/tuning/EarlierTunings.h"
#include "lib/driver/tuning/EngineTrials.h"
#include "lib/driver/tuning/KeptTunings.h"
#include "lib/driver/tuning/NetworkPrices.h"
#include "lib/driver/tuning/TuneServer.h"
#include "lib/jobs/simulate/Seeds.h"
#include "lib/language/program/Elaborate.h"
#include "lib/language/requests/Tuning.h"
#include "lib/language/syntax/Parser.h"
#include "lib/service/client/ServiceEngine.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Quantity.h"
#include "lib/support/StableSort.h"
#include "lib/support/ThreadPool.h"
#include "lib/support/documents/JsonText.h"
#include "lib/tuning/output/OptunaJournal.h"
#include "lib/tuning/solve/TrialTable.h"
#include "lib/tuning/verify/PriceVerifier.h"
#include "lib/tuning/verify/TuningVerifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace accord {
namespace {
using namespace tuning;
using Status = TuningReport::Status;

const DocumentEntry kDocument("tune", "accord tune --json",
                              "A tuning of hyper-parameters: its trials, where they ran, and the best of them.",
                              [] { return schemaOf<TuningReport>(); });

class Tune {
public:
  explicit Tune(const TuneOptions &options) : options(options), workspace(fileOptions(options)) {}

  int run() {
    if (!workspace.read())
      return end(kWrongInput);
    auto asked = workspace.program().tuning();
    if (auto server = serverProblemOf(workspace, options))
      return tuneServer(options, workspace, std::move(*server));
    if (!asked || workspace.diagnostics().hasErrors())
      return end(kWrongInput);
    report.problem = std::move(*asked);
    report.seeds = options.seeds;
    namePrices();
    if (!fitsPopulation())
      return end(kWrongInput);
    if (options.table.empty() == options.engine.empty())
      return wrong(
          "expected either --table TABLE.csv, of trials that were run before, or --engine, on which programs run");
    if (!readSettings() || !readHistory())
      return end(kWrongInput);
    return options.table.empty() ? runPrograms() : runTable();
  }

private:
  static const Options &fileOptions(const TuneOptions &tune) {
    static thread_local Options options; // kept by reference
    options = Options();
    options.file = tune.file, options.elaborate.tuning = tune.tuning, options.json = tune.json;
    return options;
  }
  int end(int status) { return workspace.finish(status, "tune"); }
  int wrong(const std::string &message) {
    workspace.diagnostics().error(Code::BadCommandLine, {}, message);
    return end(kWrongInput);
  }
  int wrong(Error &&error) {
    if (error.code == Code::EngineFailed) // what an engine cannot do is asked of it here
      error.code = Code::BadCommandLine;
    workspace.diagnostics().error(error.code, {}, error.message).suggest(error.suggestion);
    return end(kWrongInput);
  }
  bool isWrong(const std::string &message) {
    workspace.diagnostics().error(Code::BadCommandLine, {}, message);
    return false;
  }

  // ---- What is asked

  /// False after an error, where something is asked that a population does not have.
  bool fitsPopulation() {
    if (!report.problem.population)
      return true;
    const char *wrong =
        !options.table.empty()
            ? "--table: rows of a table keep their hyper-parameters to the end, and those of a population change: "
              "--engine runs its programs"
        : options.trials             ? "--trials: the population says how many members it has"
        : !options.proposals.empty() ? "--proposals: members of a population begin evenly, others near to their parents"
                                     : nullptr;
    if (!wrong)
      return true;
    auto diagnostic = workspace.diagnostics().error(Code::BadCommandLine, {}, wrong);
    if (const ast::Declaration *block = tuningBlock())
      if (auto at = tuningEntryPlace(*block, "population"))
        diagnostic.note(*at, "the population is here");
    return false;
  }

  /// The block of the file that is tuned.
  const ast::Declaration *tuningBlock() {
    for (const ast::Declaration &block : workspace.program().main()->declarations)
      if (block.kind == ast::DeclarationKind::Tuning && block.name.text == report.problem.name)
        return &block;
    return nullptr;
  }

  bool readSettings() {
    TuningProblem &problem = report.problem;
    problem.seed = static_cast<uint64_t>(options.seed);
    if (options.trials)
      problem.trials = *options.trials;
    if (options.target) {
      if (!std::isfinite(*options.target))
        return isWrong("--target: expected a number");
      problem.target = options.target;
    }
    if (!options.maxTime.empty()) {
      auto given = parseQuantity(options.maxTime), unit = parseQuantity("1 s");
      if (!given || !accord::compare(*given, *unit) || !(given->toDouble() > 0))
        return isWrong(fmt::format("--max-time: expected a time as in '2 h', found '{}'", options.maxTime));
      problem.maxSeconds = given->toDouble();
    }
    if (!options.table.empty()) {
      problem.devices = std::max<int64_t>(1, options.devices);
      problem.devicesPerNode = options.devicesPerNode > 0 ? options.devicesPerNode : problem.devices;
    }
    auto own = wayOf((problem.population          ? "random"
                      : options.proposals.empty() ? "density"
                                                  : options.proposals) +
                     "/" + options.sharing);
    if (!own)
      return false;
    ways.push_back(*own);
    std::vector<std::string> names = options.compare;
    if (llvm::is_contained(names, "all")) {
      names = {"random/fixed:1"};
      for (const Width &width : problem.widths)
        names.push_back(fmt::format("density/fixed:{}", devicesOf(width)));
      names.push_back("density/joint");
    }
    for (const std::string &name : names) {
      auto way = wayOf(name);
      if (!way)
        return false;
      if (!llvm::is_contained(ways, *way))
        ways.push_back(*way);
    }
    problem.proposals = own->proposals, problem.sharing = own->sharing, problem.fixedSlots = own->slots;
    if (ways.size() > 1 && options.table.empty())
      return isWrong("--compare is about a table: programs run once");
    return true;
  }

  struct Way {
    std::string name;
    Proposals proposals = Proposals::Density;
    Sharing sharing = Sharing::Joint;
    int64_t slots = 1;
    bool operator==(const Way &) const = default;
  };

  double devicesOf(const Width &width) const {
    return static_cast<double>(width.slots) / static_cast<double>(report.problem.slotsPerDevice);
  }

  /// "density/joint", "random/fixed:2".
  std::optional<Way> wayOf(const std::string &name) {
    auto [proposals, sharing] = llvm::StringRef(name).split('/');
    auto [word, count] = sharing.split(':');
    Way way{.name = name};
    way.proposals = proposals == "random"   ? Proposals::Random
                    : proposals == "priced" ? Proposals::Priced
                                            : Proposals::Density;
    way.sharing = word == "fixed" ? Sharing::Fixed : Sharing::Joint;
    double devices = 1;
    const bool isRight = (proposals == "random" || proposals == "density" || proposals == "priced") &&
                         (word == "joint" ? count.empty() : word == "fixed") &&
                         (count.empty() || !count.getAsDouble(devices));
    if (!isRight) {
      isWrong(fmt::format("expected density/joint, random/joint, density/fixed:2 …, found '{}'", name));
      return std::nullopt;
    }
    if (way.sharing == Sharing::Joint)
      return way;
    std::string known;
    for (const Width &width : report.problem.widths) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", devicesOf(width));
      if (devicesOf(width) == devices)
        way.slots = width.slots;
      else
        continue;
      if (width.slots <= report.problem.devices * report.problem.slotsPerDevice || options.table.empty())
        return way;
      isWrong(fmt::format("a trial on {} devices does not fit on {}: --devices", count.str(), report.problem.devices));
      return std::nullopt;
    }
    isWrong(
        fmt::format("a trial does not run on {} devices: 'speed' and 'shared' of the tuning name {}", devices, known));
    return std::nullopt;
  }

  /// The best of earlier tunings, as far as they are in the space.
  bool readHistory() {
    EarlierTunings earlier(report.problem);
    for (const std::string &path : options.history)
      if (namesService(path) ? !readKept(path, earlier) : !readEarlier(path, earlier))
        return false;
    report.problem.first = earlier.first();
    if (!options.history.empty())
      std::ranges::move(earlier.sentences(), std::back_inserter(report.assumptions));
    return true;
  }

  /// A folder of an earlier tuning, or a study of Optuna; false after an error.
  bool readEarlier(const std::string &path, EarlierTunings &all) {
    const std::string file = resultFile(path, kTuningFile);
    auto text = readText(file, options.json, "tune");
    if (!text)
      return false;
    auto earlier = isOptunaJournal(*text) ? tuningFromOptuna(*text, file, report.problem.space, report.problem.name)
                                          : tuningFromDocument(*text, file);
    return addEarlier(earlier, file, all);
  }

  bool addEarlier(const Result<TuningReport> &earlier, const std::string &label, EarlierTunings &all) {
    if (!earlier)
      return isWrong(earlier.error().message);
    auto added = all.add(*earlier, label);
    return added ? true : isWrong(added.error().message);
  }

  /// Earlier tunings of this name that a service has; false after an error.
  bool readKept(const std::string &place, EarlierTunings &all) {
    auto client = clientOptions();
    const std::string folder = options.output.empty() ? "" : fmt::format("{}/history-{}", options.output, all.size());
    auto kept = client ? keptTunings(historyPlace(place, *client), report.problem.name, folder)
                       : Result<std::vector<KeptTuning>>(client.takeError());
    if (!kept) {
      workspace.report(kept.error());
      return false;
    }
    return std::ranges::all_of(*kept, [&](const KeptTuning &one) {
      return addEarlier(tuningFromDocument(one.document, one.label), one.label, all);
    });
  }

  /// Where a service is and who asks it: as options of the engine say, else as the environment does.
  Result<service::ClientOptions> clientOptions() const {
    if (options.engine != "serve")
      return service::ClientOptions();
    ACCORD_TRY(of, service::serviceEngineOptions(engineSettings()));
    return std::move(of.client);
  }

  // ---- Prices

  /// The blocks whose networks the tuning prices, if it names them.
  void namePrices() {
    if (const ast::Declaration *block = tuningBlock())
      if (const PricedBlocks blocks = pricedBlocks(*block); !blocks.training.empty()) {
        report.prices.emplace();
        report.prices->training = blocks.training.text, report.prices->inference = blocks.inference.text;
      }
  }

  /// Once the devices are known: reads the networks and prices some configurations, all where they are few, so that
  /// what the model cannot elaborate is said before anything starts. The exit status of a tuning that ends here;
  /// nothing where it may begin.
  std::optional<int> preparePrices() {
    if (!report.prices)
      return std::nullopt;
    PricedTuning &priced = *report.prices;
    const TuningProblem &problem = report.problem;
    priced.devices = {1};
    for (const Width &width : problem.widths)
      if (width.slots > problem.slotsPerDevice)
        priced.devices.push_back(width.slots / problem.slotsPerDevice);
    pricer = std::make_unique<NetworkPricer>(fileOptions(options), problem, priced);
    if (auto errors = pricer->prepare()) {
      workspace.reportAll(*errors);
      return end(kWrongInput);
    }
    for (const HyperParameter &parameter : problem.space)
      if (parameter.from > 0 && llvm::is_contained(priced.bound, parameter.name)) {
        const ast::Declaration *block = tuningBlock();
        workspace.diagnostics()
            .error(Code::NotSupported, block ? tuningEntryPlace(*block, "from").value_or(SourceRange()) : SourceRange(),
                   fmt::format("the cost model prices '{}', so that it acts from the start: a trial has one price",
                               parameter.name))
            .help("without 'training' the time of a unit is stated: unit = 3 s");
        return end(kWrongInput);
      }
    const auto all = allConfigurations(problem.space, priced.bound, kMaxPricedBefore);
    PricedTuning counted = priced;
    for (const Configuration &one : all ? *all : sampleConfigurations(problem.space, kPricedBefore)) {
      auto price = pricer->price(one);
      if (!price) {
        workspace.reportAll(price.error());
        return end(kWrongInput);
      }
      countPrice(counted, price);
    }
    if (all && counted.rejected == counted.proposed) {
      counted.isExhaustive = true;
      priced = counted;
      return endInfeasible();
    }
    setSpeeds(all ? *all : sampleConfigurations(problem.space, kPricedBefore));
    report.assumptions.insert(report.assumptions.end(), pricer->assumptions().begin(), pricer->assumptions().end());
    return std::nullopt;
  }
  /// All configurations are priced before a tuning begins where they are at most so many, else so many of them.
  static constexpr size_t kMaxPricedBefore = 2000, kPricedBefore = 100;

  /// Speeds by which devices are shared are geometric means over configurations that may run.
  void setSpeeds(const std::vector<Configuration> &configurations) {
    TuningProblem &problem = report.problem;
    for (Width &width : problem.widths) {
      if (width.slots <= problem.slotsPerDevice)
        continue;
      double logarithms = 0, count = 0;
      for (const Configuration &one : configurations) {
        const auto price = pricer->price(one);
        for (const DevicePrice &on : price ? price->training : std::vector<DevicePrice>())
          if (on.devices * problem.slotsPerDevice == width.slots && on.fits && price->training.front().fits)
            logarithms += std::log(price->training.front().unitSeconds / on.unitSeconds), ++count;
      }
      if (count > 0)
        width.speed = std::exp(logarithms / count);
    }
  }

  /// No configuration of the space keeps its limits, which pricing each of them has proved.
  int endInfeasible() {
    report.status = Status::Infeasible;
    const std::string rows = options.table.empty() ? "" : " of the table";
    report.assumptions.push_back(
        fmt::format("each of the {} configurations{} was priced: none may run", report.prices->proposed, rows));
    if (options.json)
      standardOutput() << jsonText(toDocument(report)) << "\n";
    else
      standardOutput() << tuningText(report, TextStyle::of(standardOutput()));
    return end(kInfeasible);
  }

  // ---- On a table

  int runTable() {
    auto file = readFile(workspace.diagnostics(), options.table);
    if (!file)
      return end(kWrongInput);
    auto table =
        readTrialTable(workspace.diagnostics().sources().text(*file).str(), options.table, report.problem.space);
    if (!table) {
      workspace.reportAll(table.error());
      return end(kWrongInput);
    }
    if (table->units < report.problem.maxUnits)
      return wrong(fmt::format("the table has values of {} units, but a complete trial has {}", table->units,
                               report.problem.maxUnits));
    report.source = options.table;
    report.assumptions.push_back(
        fmt::format("trials are rows of the table ({}), each at most once: of what is proposed the nearest one",
                    table->rows.size()));
    if (!report.problem.scales.empty())
      report.assumptions.push_back("rows of the table are in base terms, as trials.csv of a tuning has them, and not "
                                   "what programs got");
    if (!widthsFit())
      return end(kWrongInput);
    if (auto status = preparePrices())
      return *status;
    if (pricer && !keepAllowedRows(*table))
      return end(kWrongInput);
    if (table->rows.empty())
      return endInfeasible();
    auto result = tuneTable(report.problem, *table);
    if (!result)
      return wrong(result.error().message);
    report.result = std::move(*result);
    if (ways.size() > 1 || options.seeds > 1)
      compare(*table);
    return answer();
  }

  Result<TuningResult> tuneTable(const TuningProblem &problem, const TrialTable &table) {
    TableRunner runner(problem, table);
    if (!pricer)
      return tuning::tune(problem, runner);
    PricedTrials priced(problem, runner, *pricer, *report.prices, /*knowsAll=*/true);
    return tuning::tune(problem, priced);
  }

  /// Prices all rows and leaves out those that break a limit. False after errors.
  bool keepAllowedRows(TrialTable &table) {
    for (size_t row = 0; row < table.rows.size();) {
      auto price = pricer->price(table.rows[row].configuration);
      if (!price)
        return !workspace.reportAll(price.error());
      if (countPrice(*report.prices, price))
        ++row;
      else
        table.rows.erase(table.rows.begin() + static_cast<ptrdiff_t>(row));
    }
    report.prices->isExhaustive = true;
    if (report.prices->rejected > 0)
      report.assumptions.push_back(
          fmt::format("{} rows of the table break a limit and are left out", report.prices->rejected));
    return true;
  }

  /// Leaves out widths that the devices do not have.
  bool widthsFit() {
    TuningProblem &problem = report.problem;
    std::erase_if(problem.widths,
                  [&](const Width &one) { return one.slots > problem.devices * problem.slotsPerDevice; });
    return true;
  }

  struct SeedRun {
    double seconds = 0, value = 0;
    TuningResult result;
  };

  void compare(const TrialTable &table) {
    const auto seeds = static_cast<size_t>(options.seeds);
    std::vector<std::vector<SeedRun>> runs(ways.size(), std::vector<SeedRun>(seeds));
    ThreadPool(0).each(ways.size() * seeds, [&](size_t i) {
      const Way &way = ways[i / seeds];
      TuningProblem problem = report.problem;
      problem.proposals = way.proposals, problem.sharing = way.sharing, problem.fixedSlots = way.slots;
      problem.seed = static_cast<uint64_t>(options.seed) + i % seeds;
      SeedRun &run = runs[i / seeds][i % seeds];
      if (auto result = tuneTable(problem, table)) {
        run.seconds = result->seconds;
        run.value = result->incumbents.empty() ? 0 : result->incumbents.back().value;
        run.result = std::move(*result);
      }
    });
    for (size_t w = 0; w < ways.size(); ++w)
      report.compared.push_back(comparedOf(ways[w].name, runs[w], runs[0]));
  }

  ComparedTuning comparedOf(const std::string &name, const std::vector<SeedRun> &runs,
                            const std::vector<SeedRun> &own) const {
    ComparedTuning out;
    out.name = name;
    std::vector<double> seconds, values, ratios;
    const auto count = static_cast<double>(runs.size());
    for (size_t i = 0; i < runs.size(); ++i) {
      const SeedRun &run = runs[i];
      seconds.push_back(run.seconds), values.push_back(run.value);
      ratios.push_back(std::log(own[i].seconds / run.seconds));
      out.trials += static_cast<double>(run.result.trials.size()) / count;
      out.units += static_cast<double>(run.result.units) / count;
      out.busy += run.result.deviceSeconds / run.seconds / static_cast<double>(report.problem.devices) / count;
      out.reached += report.problem.target && !run.result.incumbents.empty() &&
                     !isBetter(report.problem, *report.problem.target, run.value);
    }
    out.busy = std::min(out.busy, 1.0); // rounding
    auto mean = [](const std::vector<double> &of) {
      auto made = jobs::bootstrapInterval(of, 0.95);
      return SeedMean{made.mean, made.low, made.high};
    };
    out.seconds = mean(seconds), out.value = mean(values);
    const SeedMean ratio = mean(ratios);
    out.change = {std::expm1(ratio.mean), std::expm1(ratio.low), std::expm1(ratio.high)};
    for (double time : progressTimes(runs)) {
      values.clear();
      for (const SeedRun &run : runs)
        values.push_back(bestUntil(run.result, time));
      const auto made = jobs::bootstrapInterval(values, 0.95, 2000);
      out.progress.push_back({time, {made.mean, made.low, made.high}});
    }
    return out;
  }

  /// At which times the best values of seeds are averaged: evenly by ratio, from when on all of them have a value to
  /// the end of the last one. None where a seed has no value.
  static std::vector<double> progressTimes(const std::vector<SeedRun> &runs) {
    constexpr int kTimes = 24;
    double from = 0, until = 0;
    for (const SeedRun &run : runs) {
      if (run.result.incumbents.empty())
        return {};
      from = std::max(from, run.result.incumbents.front().time), until = std::max(until, run.seconds);
    }
    std::vector<double> times;
    for (int i = 0; i < kTimes && until > from && from > 0; ++i)
      times.push_back(i + 1 < kTimes ? from * std::pow(until / from, static_cast<double>(i) / (kTimes - 1)) : until);
    return times;
  }

  /// The last of the incumbents at a time, which is not before the first.
  static double bestUntil(const TuningResult &result, double time) {
    double value = result.incumbents.front().value;
    for (const Incumbent &one : result.incumbents)
      if (one.time <= time)
        value = one.value;
    return value;
  }

  // ---- Programs

  service::EngineOptions engineSettings() const {
    service::EngineOptions settings;
    for (const std::string &option : options.engineOptions) {
      auto [key, value] = llvm::StringRef(option).split('=');
      settings[key.str()] = value.str();
    }
    return settings;
  }

  /// The engine of `--engine` with its options, for trials in a folder.
  Result<std::unique_ptr<service::Engine>> openEngine(const std::string &trials, const std::atomic<bool> *stop) const {
    service::EngineOptions settings = engineSettings();
    settings.try_emplace("prefix", EngineTrials::prefixOf(trials));
    if (options.engine == "serve") {
      ACCORD_TRY(of, service::serviceEngineOptions(settings));
      of.stop = stop;
      return service::serviceEngine(std::move(of));
    }
    settings.try_emplace("folder", (std::filesystem::absolute(options.output) / "engine").string());
    return service::makeEngine(options.engine, settings);
  }

  /// Why nodes do not divide their devices as the tuning does, and what would; empty: they do, or it does not.
  std::string unsharedReason(const std::vector<service::EngineNode> &nodes) const {
    const int64_t slots = report.problem.slotsPerDevice;
    const auto unfit = std::ranges::find_if(nodes, [&](const auto &node) { return node.sharesPerDevice % slots != 0; });
    if (unfit == nodes.end())
      return {};
    if (options.engine == "serve")
      return "jobs of a service have whole devices";
    if (options.engine == "kubernetes")
      return "Kubernetes gives whole ones";
    const std::string remedy = options.engine == "slurm" ? fmt::format("Gres=gpu:{},shard:{} in slurm.conf",
                                                                       unfit->devices, slots * unfit->devices)
                                                         : fmt::format("--engine-option shares={}", slots);
    return fmt::format("node '{}' {}, and {} trials share one: {}", unfit->name,
                       unfit->sharesPerDevice == 1 ? "does not divide them"
                                                   : fmt::format("divides each into {}", unfit->sharesPerDevice),
                       slots, remedy);
  }

  int runPrograms() {
    if (options.program.empty())
      return wrong("--engine runs programs: --program 'python3 train.py' is one");
    if (options.output.empty())
      return wrong("trials have folders: -o FOLDER");
    SolverMonitor monitor("tune", {.isLast = true});
    monitor.found();
    const std::string trials = std::filesystem::absolute(options.output + "/trials").string();
    auto engine = openEngine(trials, monitor.stop());
    if (!engine)
      return wrong(engine.takeError());
    auto nodes = (*engine)->nodes();
    if (!nodes)
      return wrong(nodes.takeError());
    std::erase_if(*nodes, [](const service::EngineNode &node) {
      return node.state != service::EngineNode::State::Up || node.devices < 1;
    });
    if (nodes->empty())
      return wrong("the engine has no node with devices that is up: --engine-option nodes=here=cpu:4 names one");
    TuningProblem &problem = report.problem;
    problem.devicesPerNode = std::ranges::min_element(*nodes, {}, &service::EngineNode::devices)->devices;
    problem.devices = problem.devicesPerNode * static_cast<int64_t>(nodes->size());
    if (const std::string reason = unsharedReason(*nodes); !reason.empty()) {
      std::erase_if(problem.widths, [&](const Width &one) { return one.slots < problem.slotsPerDevice; });
      for (Width &width : problem.widths)
        width.slots /= problem.slotsPerDevice;
      problem.fixedSlots = std::max<int64_t>(1, problem.fixedSlots / problem.slotsPerDevice);
      problem.slotsPerDevice = 1;
      report.assumptions.push_back("devices of the engine are not shared by trials: " + reason);
    }
    widthsFit();
    if (auto status = preparePrices())
      return *status;
    report.source = options.program;
    EngineTrials runner(
        std::move(*engine),
        {.folder = trials, .program = options.program, .problem = &problem, .nodes = *nodes, .stop = monitor.stop()});
    std::optional<PricedTrials> priced;
    if (pricer)
      priced.emplace(problem, runner, *pricer, *report.prices, /*knowsAll=*/false);
    auto result = tuning::tune(problem, priced ? static_cast<TrialRunner &>(*priced) : runner, monitor.stop());
    if (!result) {
      workspace.report(result.error());
      return end(kWrongInput);
    }
    report.result = std::move(*result);
    if (!monitor.reason().empty())
      report.status = Status::Stopped;
    if (!pricer)
      report.assumptions.push_back(
          fmt::format("times are those of the plan: a unit takes {} s on one device, as stated", problem.unitSeconds));
    return answer();
  }

  // ---- The answer

  int answer() {
    const TuningResult &result = report.result;
    for (Trial &trial : report.result.trials)
      trial.passed = passedValues(report.problem.space, report.problem.scales, trial.configuration);
    if (report.status != Status::Stopped && report.problem.target && !result.incumbents.empty() &&
        !isBetter(report.problem, *report.problem.target, result.incumbents.back().value))
      report.status = Status::Reached;
    if (pricer)
      priceResult(report.problem, result, *pricer, *report.prices);
    Verification verified = verifyTuning(report.problem, result, report.prices ? &*report.prices : nullptr);
    if (pricer) {
      const Verification prices = verifyPrices(report.problem, result, *report.prices, {});
      verified.findings.insert(verified.findings.end(), prices.findings.begin(), prices.findings.end());
      if (static_cast<int64_t>(result.trials.size()) < report.problem.trials && report.prices->rejected > 0 &&
          !report.prices->isExhaustive && report.status == Status::Ended)
        report.assumptions.push_back("after 1,000 proposals in a row that break a limit no more were made: what keeps "
                                     "the limits was not found, which is no proof that there is nothing");
    }
    for (const Error &error : verified.findings)
      workspace.diagnostics().error(Code::InternalError, {}, "the tuning does not hold: " + error.message);
    if (!verified.holds())
      return end(kInternal);
    if (!options.output.empty() &&
        !AnswerFolder(workspace.diagnostics(), options.output).write(filesOf(report)).commit())
      return end(kWrongInput);
    if (options.json)
      standardOutput() << jsonText(toDocument(report)) << "\n";
    else
      standardOutput() << tuningText(report, TextStyle::of(standardOutput()));
    if (options.engine == "serve" && report.status != Status::Stopped && !result.incumbents.empty())
      keep();
    return end(result.incumbents.empty() ? kUnknown : kDone);
  }

  /// Hands the result to the service through which it ran. Where that fails the tuning is done all the same.
  void keep() {
    auto of = service::serviceEngineOptions(engineSettings());
    auto client = of ? service::ApiClient::open(of->client) : Result<service::ApiClient>(of.takeError());
    const service::TuningRecord record{.name = report.problem.name,
                                       .tenant = of ? of->tenant : "",
                                       .user = {},
                                       .document = jsonText(toDocument(report))};
    auto kept = client ? client->keepTuning(record) : Result<int64_t>(client.takeError());
    if (!kept)
      workspace.diagnostics().warning(kept.error().code, {},
                                      "the service does not keep the result: " + kept.error().message);
  }

  const TuneOptions &options;
  Workspace workspace;
  TuningReport report;
  std::unique_ptr<NetworkPricer> pricer; ///< null: nothing is priced
  std::vector<Way> ways;
};

} // namespace

int tune(const TuneOptions &options) { return Tune(options).run(); }

} // namespace accord
