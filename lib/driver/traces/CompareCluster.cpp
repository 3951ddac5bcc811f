#include "lib/comparison/solve/CompareCluster.h"
#include "lib/comparison/output/ClusterOutput.h"
#include "lib/comparison/solve/PlannedCluster.h"
#include "lib/comparison/trace/StepExtractor.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/traces/Compare.h"
#include "lib/driver/traces/StageSteps.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {
using namespace comparison;
using llvm::StringRef;

const DocumentEntry
    kDocument("compare_cluster", "accord compare --json (a cluster)",
              "A plan of a cluster beside the steps that PyTorch's profiler measured on its ranks: where "
              "the time of each goes, what it exchanges and waits for, and what explains the "
              "difference. Times in _s are seconds of one step.",
              clusterSchema);

/// The number in a name like "rank3.json", "trace_rank_3.json.gz" or "trace_3.json"; of several the one behind "rank",
/// else the last behind "_" or "-".
std::optional<int64_t> rankOfName(StringRef path) {
  StringRef name = llvm::sys::path::filename(path);
  name.consume_back(".gz"), name.consume_back(".json"), name.consume_back(".trace"), name.consume_back(".pt");
  auto numberAt = [](StringRef text) -> std::optional<int64_t> {
    int64_t number = 0;
    StringRef digits = text.take_while(llvm::isDigit);
    return digits.empty() || digits.getAsInteger(10, number) ? std::nullopt : std::optional(number);
  };
  std::string lower = name.lower();
  for (StringRef rest = lower; rest.contains("rank");) {
    rest = rest.split("rank").second;
    if (auto number = numberAt(rest.ltrim("_-.[=")))
      return number;
  }
  StringRef rest = name;
  while (!rest.empty()) {
    const size_t at = rest.find_last_of("_-");
    if (at == StringRef::npos)
      break;
    StringRef tail = rest.drop_front(at + 1);
    if (!tail.empty() && llvm::all_of(tail, llvm::isDigit))
      return numberAt(tail);
    rest = rest.take_front(at);
  }
  return numberAt(name);
}

class ClusterTask {
public:
  ClusterTask(const CompareOptions &options, const std::vector<std::string> &files) : options(options), files(files) {}

  int run() {
    auto placement = readPlacement(options.plan, options.json, "compare");
    if (!placement)
      return kWrongInput;
    if (!placement->result.plan)
      return refuse(Code::NotAPlacement, fmt::format("'{}' has no plan that fits", options.plan), options.json,
                    "compare");
    plan = plannedClusterOf(*placement);
    std::vector<PlannedStep> stages;
    if (!options.from.empty() && !readStages(*placement, stages))
      return kWrongInput;
    for (const std::string &file : files)
      if (auto error = addTrace(file))
        return refuseTrace(*error, options.json);
    return print(compareCluster(std::move(plan), std::move(ranks), stages));
  }

private:
  /// What the stages compute, by the file that the plan was made of, under the options that change its costs.
  bool readStages(const PlacementPlan &placement, std::vector<PlannedStep> &stages) {
    Options file;
    file.file = options.from, file.json = options.json;
    file.elaborate.clusters = file.elaborate.placement = true;
    file.elaborate.train = placement.job;
    if (auto answer = readManifest(options.plan))
      file.elaborate.ideal = llvm::is_contained(answer->arguments, "--ideal");
    auto made = stageSteps(placement, file);
    if (!made)
      return false;
    for (PlannedRank &rank : plan.ranks)
      addExchanges((*made)[rank.stage], rank);
    for (StageStep &stage : *made)
      stages.push_back(std::move(stage.step));
    return true;
  }

  /// Exchanges inside of layers: what of them the plan's passes have beside computation is hidden.
  static void addExchanges(const StageStep &stage, PlannedRank &rank) {
    double computed = 0, exchanged = 0, passes = 0;
    for (const PlannedExecution &execution : stage.step.executions)
      computed += stage.step.operations[execution.operation].seconds;
    for (const auto &[purpose, exchange] : stage.exchanges)
      exchanged += exchange.seconds;
    for (StepShare share : {StepShare::Forward, StepShare::Backward, StepShare::Recompute})
      passes += rank.shares[static_cast<unsigned>(share)];
    for (PlannedExchange &exchange : rank.exchanges) {
      auto found = stage.exchanges.find(exchange.purpose);
      if (found == stage.exchanges.end() || exchanged <= 0)
        continue;
      exchange.seconds = found->second.seconds;
      exchange.exposed = exchange.seconds * std::clamp((passes - computed) / exchanged, 0.0, 1.0);
      for (const auto &[kind, bytes] : found->second.bytes)
        exchange.bytes[kind] = bytes;
    }
  }

  static Error at(const std::string &file, Code code, std::string message) {
    return {code, std::move(message), {file, 1, 1}, {}, ""};
  }

  /// Whose trace a file is. One event list of one rank is in memory at a time.
  Result<int64_t> rankOf(const std::string &file, const TraceEvents &events) const {
    const auto devices = static_cast<int64_t>(plan.ranks.size());
    const DistributedInfo &said = events.distributed;
    if (said.worldSize >= 0 && said.worldSize != devices)
      return at(file, Code::ImportSetting,
                fmt::format("the trace is of a world of {} ranks, the plan has {}", said.worldSize, devices));
    std::optional<int64_t> rank = said.rank >= 0 ? std::optional(said.rank) : rankOfName(file);
    if (!rank && devices == 1)
      rank = 0;
    if (!rank)
      return at(file, Code::ImportSetting,
                "the trace does not say of which rank it is: expected 'distributedInfo' in it, or a file name such as "
                "rank3.json");
    if (*rank >= devices)
      return at(file, Code::ImportSetting,
                fmt::format("the trace is of rank {}, the plan has ranks 0 to {}", *rank, devices - 1));
    return *rank;
  }

  std::optional<Error> addTrace(const std::string &file) {
    auto events = readTraceEvents(file);
    if (!events)
      return events.error();
    auto rank = rankOf(file, *events);
    if (!rank)
      return rank.error();
    auto [known, isNew] = fileOf.try_emplace(*rank, file);
    if (!isNew)
      return at(file, Code::ImportSetting,
                fmt::format("a second trace of rank {}: '{}' is of that rank, too", *rank, known->second));
    StepChoice choice{options.step, options.device};
    if (step)
      choice.step = step;
    auto made = extractStep(*events, choice);
    if (!made)
      return made.error();
    // All ranks are compared in one step: the one of the first trace, where nobody chose another.
    int64_t number = 0;
    StringRef name = made->step;
    if (!step && name.consume_front("ProfilerStep#") && !name.getAsInteger(10, number))
      step = number;
    ranks.push_back({*rank, std::move(*made)});
    return std::nullopt;
  }

  int print(const ClusterComparison &both) {
    return writeComparison(options, {[&] { return clusterPage(both); }, [&] { return stepRows(both); },
                                     [&] { return operationRows(both); }, [&] { return jsonText(toJson(both)); },
                                     [&](const TextStyle &style) { return clusterText(both, options.all, style); }});
  }

  const CompareOptions &options;
  const std::vector<std::string> &files;
  PlannedCluster plan;
  std::vector<MeasuredRank> ranks;
  std::map<int64_t, std::string> fileOf;
  std::optional<int64_t> step;
};

} // namespace

int compareCluster(const CompareOptions &options, const std::vector<std::string> &files) {
  return ClusterTask(options, files).run();
}

} // namespace accord
