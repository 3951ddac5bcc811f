#include "lib/driver/tuning/TuneServer.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/tuning/LiveTraining.h"
#include "lib/jobs/simulate/Seeds.h"
#include "lib/language/program/ServerTuning.h"
#include "lib/language/syntax/Parser.h"
#include "lib/service/control/MakeEngine.h"
#include "lib/support/ClopperPearson.h"
#include "lib/support/CommandHost.h"
#include "lib/support/ThreadPool.h"
#include "lib/support/documents/JsonText.h"
#include "lib/tuning/output/ServerOutput.h"
#include "lib/tuning/solve/ServerTable.h"
#include "lib/tuning/verify/ServerVerifier.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace accord {
namespace {
using namespace tuning;
using Status = ServerReport::Status;
namespace fs = std::filesystem;

const DocumentEntry kDocument("servers", "accord tune --json, of a server",
                              "A tuning of a server's parameters while a training runs: each interval that was "
                              "measured, and the setting that stays.",
                              [] { return schemaOf<ServerReport>(); });

class TuneServer {
public:
  TuneServer(const TuneOptions &options, Workspace &workspace, ServerProblem problem)
      : options(options), workspace(workspace) {
    report.problem = std::move(problem);
    report.problem.seed = static_cast<uint64_t>(options.seed);
    report.seeds = options.seeds;
  }

  int run() {
    const std::pair<bool, const char *> others[] = {
        {options.trials.has_value(), "--trials"},    {options.target.has_value(), "--target"},
        {!options.maxTime.empty(), "--max-time"},    {!options.history.empty(), "--history"},
        {options.devices > 0, "--devices"},          {options.devicesPerNode > 0, "--node"},
        {!options.proposals.empty(), "--proposals"}, {options.sharing != "joint", "--sharing"}};
    for (auto [isGiven, name] : others)
      if (isGiven)
        return wrong(fmt::format("{} is of hyper-parameters, and '{}' tunes a server", name, report.problem.name));
    if (options.table.empty() == options.program.empty())
      return wrong("expected either --program 'python3 train.py', which is tuned while it runs, or --table TABLE.csv "
                   "with what it does with each setting");
    return options.table.empty() ? runProgram() : runTable();
  }

private:
  int end(int status) { return workspace.finish(status, "tune"); }
  int wrong(const std::string &message) {
    workspace.diagnostics().error(Code::BadCommandLine, {}, message);
    return end(kWrongInput);
  }

  // ---- On a table

  int runTable() {
    if (!options.engine.empty())
      return wrong("--engine runs programs, and --table needs none");
    auto file = readFile(workspace.diagnostics(), options.table);
    if (!file)
      return end(kWrongInput);
    auto table = readServerTable(workspace.diagnostics().sources().text(*file).str(), options.table, report.problem);
    if (!table) {
      workspace.reportAll(table.error());
      return end(kWrongInput);
    }
    std::vector<ServerStrategy> strategies{ServerStrategy::Safe};
    for (const std::string &name : options.compare) {
      if (name == "all" || name == "unsafe")
        strategies.push_back(ServerStrategy::Unsafe);
      if (name == "all" || name == "random")
        strategies.push_back(ServerStrategy::Random);
      if (name != "all" && name != "unsafe" && name != "random")
        return wrong(fmt::format("--compare: expected unsafe, random or all, found '{}'", name));
    }
    report.source = options.table;
    report.assumptions.push_back("the training does as the table says, with noise from one window to the next");
    ServerTableRunner runner(report.problem, *table);
    auto result = tuning::tuneServer(report.problem, runner, {}, nullptr);
    if (!result)
      return wrong(result.error().message);
    report.result = std::move(*result);
    settle();
    if (strategies.size() > 1 || options.seeds > 1)
      for (ServerStrategy strategy : strategies)
        compare(*table, strategy);
    return answer();
  }

  void compare(const ServerTable &table, ServerStrategy strategy) {
    const auto seeds = static_cast<size_t>(options.seeds);
    const std::vector<ServerParameter> &parameters = report.problem.parameters;
    const bool isPerJoule = report.problem.objective == ServerObjective::SamplesPerJoule;
    auto rateOf = [&](const Setting &setting) {
      return table.rates[static_cast<size_t>(numberOf(parameters, setting))];
    };
    auto objectiveOf = [&](const Setting &setting) {
      return isPerJoule ? rateOf(setting) / table.watts[static_cast<size_t>(numberOf(parameters, setting))]
                        : rateOf(setting);
    };
    const double base = rateOf(report.problem.baseline);
    std::vector<double> gains(seeds), progress(seeds), below(seeds), failures(seeds);
    ThreadPool(0).each(seeds, [&](size_t i) {
      ServerProblem problem = report.problem;
      problem.strategy = strategy, problem.seed = static_cast<uint64_t>(options.seed) + i;
      ServerTableRunner runner(problem, table);
      auto result = tuning::tuneServer(problem, runner, {}, nullptr);
      if (!result)
        return; // a table has no errors behind its reader
      double samples = 0, expected = 0;
      for (const ServerInterval &one : result->intervals) {
        constexpr double kRounding = 1e-12;
        below[i] += rateOf(one.setting) < problem.floor * base * (1 - kRounding);
        samples += one.samples();
        expected +=
            base * (one.outcome == ServerInterval::Outcome::Failed ? problem.intervalSeconds - problem.settleSeconds
                                                                   : one.seconds());
      }
      failures[i] = static_cast<double>(result->failures);
      progress[i] = samples / expected - 1;
      gains[i] = objectiveOf(result->best) / objectiveOf(problem.baseline) - 1;
    });
    auto mean = [](const std::vector<double> &of) {
      auto made = jobs::bootstrapInterval(of, 0.95);
      return SeedMean{made.mean, made.low, made.high};
    };
    ComparedServer out;
    out.name = strategy == ServerStrategy::Safe ? "safe" : strategy == ServerStrategy::Unsafe ? "unsafe" : "random";
    out.gain = mean(gains), out.progress = mean(progress);
    out.below = mean(below).mean, out.failures = mean(failures).mean;
    for (double one : below)
      out.runsBelow += one > 0;
    const Rational tail = Rational(1) / Rational(40);
    out.runsBelowLow = lowerLimit(out.runsBelow, options.seeds, tail).toDouble();
    out.runsBelowHigh = upperLimit(out.runsBelow, options.seeds, tail).toDouble();
    report.compared.push_back(std::move(out));
  }

  // ---- A training that runs

  std::string recordFile() const { return options.output + "/training/record.json"; }

  /// Written beside and renamed, so that a kill leaves one that is whole.
  Result<void> keep(const std::vector<ServerInterval> &intervals) {
    ServerReport now = report;
    now.result.intervals = intervals, now.result.best = now.problem.baseline;
    const std::string beside = recordFile() + ".new";
    std::error_code failed;
    if (!(std::ofstream(beside) << jsonText(toDocument(now)) << "\n").flush() ||
        (fs::rename(beside, recordFile(), failed), failed))
      return Error{Code::CannotWrite, fmt::format("'{}' cannot be written", recordFile())};
    return {};
  }

  /// Intervals of the same tuning that was interrupted; nothing after an error.
  std::optional<std::vector<ServerInterval>> earlier() {
    if (!fs::exists(recordFile()))
      return std::vector<ServerInterval>();
    auto text = readText(recordFile(), options.json, "tune");
    if (!text)
      return std::nullopt;
    auto read = serversFromDocument(*text, recordFile());
    if (!read) {
      workspace.report(read.error());
      return std::nullopt;
    }
    ServerReport mine = report, theirs = *read;
    theirs.result = mine.result = {};
    theirs.result.best = mine.result.best = report.problem.baseline;
    for (ServerReport *one : {&mine, &theirs})
      one->assumptions.clear(), one->status = Status::Ended, one->reason.clear();
    if (jsonText(toDocument(mine)) != jsonText(toDocument(theirs))) {
      workspace.diagnostics().error(
          Code::BadCommandLine, {},
          fmt::format("'{}' has the record of another tuning: name another folder, or remove it", recordFile()));
      return std::nullopt;
    }
    for (const ServerInterval &one : read->result.intervals)
      if (!isSetting(report.problem.parameters, one.setting)) {
        workspace.diagnostics().error(Code::BadCommandLine, {},
                                      fmt::format("'{}' has a setting that does not exist", recordFile()));
        return std::nullopt;
      }
    // Who starts it again has mended what failed at a safe setting.
    std::vector<ServerInterval> &intervals = read->result.intervals;
    if (!intervals.empty() && intervals.back().outcome == ServerInterval::Outcome::Failed &&
        intervals.back().kind != ServerInterval::Kind::Trial)
      intervals.pop_back();
    return std::move(intervals);
  }

  int runProgram() {
    if (!options.compare.empty() || options.seeds > 1)
      return wrong("--compare and --seeds are about a table: a training runs once");
    if (options.output.empty())
      return wrong("a training has a folder: -o FOLDER");
    service::EngineOptions settings;
    for (const std::string &option : options.engineOptions) {
      auto [key, value] = llvm::StringRef(option).split('=');
      settings[key.str()] = value.str();
    }
    const std::string kind = options.engine.empty() ? "local" : options.engine;
    if (kind == "local")
      settings.try_emplace("nodes", "here=cpu:1");
    settings.try_emplace("folder", (fs::absolute(options.output) / "engine").string());
    settings.try_emplace("prefix", "tune-"); // of the names that LiveTraining gives to tasks
    auto engine = service::makeEngine(kind, settings);
    if (!engine)
      return wrong(engine.error().message);
    auto nodes = (*engine)->nodes();
    if (!nodes)
      return wrong(nodes.error().message);
    std::erase_if(*nodes, [](const service::EngineNode &node) {
      return node.state != service::EngineNode::State::Up || node.devices < 1;
    });
    if (nodes->empty())
      return wrong("the engine has no node with devices that is up: --engine-option nodes=here=cpu:1 names one");
    std::error_code failed;
    fs::create_directories(options.output + "/training", failed);
    report.source = options.program;
    auto record = earlier();
    if (!record)
      return end(kWrongInput);

    SolverMonitor monitor("tune", {.isLast = true});
    monitor.found();
    LiveTraining training(std::move(*engine), {.folder = fs::absolute(options.output + "/training").string(),
                                               .program = options.program,
                                               .problem = &report.problem,
                                               .node = nodes->front(),
                                               .stop = monitor.stop(),
                                               .interval = record->size()});
    auto result = tuning::tuneServer(
        report.problem, training, std::move(*record), [this](const auto &intervals) { return keep(intervals); },
        monitor.stop());
    if (!result) {
      workspace.report(result.error());
      return end(kWrongInput);
    }
    report.result = std::move(*result);
    settle();
    if (report.status == Status::Ended && !training.isComplete() && monitor.reason().empty()) {
      auto held = training.hold(report.result.best);
      if (!held) {
        workspace.report(held.error());
        return end(kWrongInput);
      }
      if (!held->empty())
        report.status = Status::Failed, report.reason = "with the setting that stays, " + *held;
    }
    if (report.status == Status::Ended && training.isComplete() &&
        static_cast<int64_t>(report.result.intervals.size()) < report.problem.intervals)
      report.status = Status::Complete;
    if (!monitor.reason().empty())
      report.status = Status::Stopped;
    report.assumptions.push_back("progress is what the training reports by its own clock");
    return answer();
  }

  // ---- The answer

  void settle() {
    report.reason = failureOf(report.result.intervals);
    report.status = report.reason.empty() ? Status::Ended : Status::Failed;
  }

  int answer() {
    const Verification verified = verifyServerTuning(report.problem, report.result);
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
      standardOutput() << serversText(report, TextStyle::of(standardOutput()));
    return end(report.status == Status::Failed ? kUnknown : kDone);
  }

  const TuneOptions &options;
  Workspace &workspace;
  ServerReport report;
};

} // namespace

std::optional<ServerProblem> serverProblemOf(Workspace &workspace, const TuneOptions &options) {
  const ast::File *file = workspace.program().main();
  if (!file || workspace.diagnostics().hasErrors())
    return std::nullopt;
  for (const ast::Declaration &declaration : file->declarations)
    if (declaration.kind == ast::DeclarationKind::Tuning && tunesServer(declaration) &&
        (options.tuning.empty() || declaration.name.text == options.tuning))
      return serverTuningRequest(declaration, *file, workspace.diagnostics());
  return std::nullopt;
}

int tuneServer(const TuneOptions &options, Workspace &workspace, ServerProblem problem) {
  return TuneServer(options, workspace, std::move(problem)).run();
}

} // namespace accord
