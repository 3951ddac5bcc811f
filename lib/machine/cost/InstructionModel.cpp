#include "lib/machine/cost/InstructionBound.h"
#include "lib/machine/cost/MappingCache.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/search/MappingSearch.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include <algorithm>
#include <fmt/format.h>
#include <mutex>

namespace accord {
namespace {

using microarchitecture::InstructionTiming;
using microarchitecture::Microarchitecture;

/// Instructions of a program that are evaluated at most: some hundredths of a second.
constexpr int64_t kMaxEvaluated = 500'000;
/// Schedules of a product that are timed, and instructions of all of them that are evaluated.
constexpr int64_t kSearched = 60, kMaxSearched = 3'000'000;

std::string inOneLine(const std::string &text) {
  std::string line;
  for (char c : text)
    if (c != ' ' && c != '\n')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  while (!line.empty() && line.back() == ' ')
    line.pop_back();
  return line;
}

std::string textOf(const InstructionTiming &timing) {
  std::string text = fmt::format("{} instructions, of which {} were evaluated", timing.instructions, timing.evaluated);
  if (timing.bounds)
    text += fmt::format(", and the others go on as these: {} to {} cycles are proven", timing.bounds->low,
                        timing.bounds->high);
  else if (!timing.recurrences.empty())
    text += fmt::format(" and {} recurrence{} give the others exactly", timing.recurrences.size(),
                        timing.recurrences.size() == 1 ? "" : "s");
  return text;
}

/// cycles / clock of the program that an operation is mapped to: what memories take is part of it.
class InstructionModel : public CostModel {
public:
  explicit InstructionModel(bool searches) : searches(searches) {}

  Result<ComputeTime> compute(const CostQuery &query, Assumptions &assumptions) const override {
    ACCORD_TRY(timing, timed(query, assumptions));
    return timeOf(query, *timing);
  }

  /// Bytes of a memory that the core has by the same name are those of its beats, and their time is part of the cycles.
  /// Of other memories they are compulsory, and their bandwidth is a roof.
  Result<OperationCost> cost(const CostQuery &query, Assumptions &assumptions) const override {
    ACCORD_TRY(timing, timed(query, assumptions));
    const Machine &machine = query.machine;
    const Core &core = machine.cores[query.core];
    const Operation &op = query.operation;
    ComputeTime compute = timeOf(query, *timing);
    if (const std::string words = searched(query); !words.empty())
      compute.formula += ", " + words;
    OperationCost cost;
    cost.core = query.core, cost.type = query.type;
    cost.compute = cost.time = compute.time;
    cost.bound = "compute";
    cost.formula = fmt::format("compute = {} = {:.6g} s", compute.formula, compute.time.value);
    cost.bytes.resize(machine.memories.size()), cost.transfer.resize(machine.memories.size());
    cost.energy = Flops(op.flops) * energyPerFlop(machine, query.type);
    for (size_t i = 0; i < levelsOf(machine, core); ++i) {
      const Memory &memory = machine.memories[i];
      const auto inside = bytesOf(*core.microarchitecture, *timing, memory.name);
      cost.bytes[i] = inside ? *inside * instancesPerOperation(core) : compulsoryBytes(op);
      cost.energy += cost.bytes[i] * memory.energy;
      if (inside || memory.bandwidth.value <= 0 || cost.bytes[i].value == 0)
        continue;
      cost.transfer[i] = memory.latency + cost.bytes[i] / (memory.bandwidth * memory.efficiency);
      cost.formula += fmt::format("; {} = {:.0f} B / {:.6g} B/s = {:.6g} s", memory.name, cost.bytes[i].value,
                                  memory.bandwidth.value * memory.efficiency, cost.transfer[i].value);
      if (cost.transfer[i] > cost.time)
        cost.time = cost.transfer[i], cost.bound = "bandwidth " + memory.name;
    }
    cost.floor = cost.time.value > 0 ? machine.host.kernel : Seconds(0);
    if (cost.floor > cost.time)
      cost.time = cost.floor, cost.bound = "kernel launch overhead";
    cost.formula += fmt::format("; time = max = {:.6g} s ({})", cost.time.value, cost.bound);
    cost.cycles = machine.clock * cost.time;
    cost.timing = std::move(timing);
    return cost;
  }

private:
  static ComputeTime timeOf(const CostQuery &query, const InstructionTiming &timing) {
    const Seconds time(double(timing.cycles) / query.machine.clock.value);
    return {time,
            fmt::format("cycles / clock = {} / {:.6g}, {}", timing.cycles, query.machine.clock.value, textOf(timing))};
  }

  /// Bytes that a memory of this name moved, if the core has one.
  static std::optional<Bytes> bytesOf(const Microarchitecture &core, const InstructionTiming &timing,
                                      const std::string &name) {
    for (size_t s = 0; s < core.storages.size(); ++s)
      if (core.storages[s].name == name)
        return Bytes(double(timing.storages[s].beats) * core.storages[s].portBytes /
                     (timing.bounds ? double(timing.bounds->timed) / double(timing.instructions) : 1));
    return std::nullopt;
  }

  using Known = InstructionTimings::Known;
  static std::string keyOf(const CostQuery &query) {
    return fmt::format("{} {} {}", query.core, query.optimizer, PriceCache::keyOf(query.operation));
  }
  std::string searched(const CostQuery &query) const {
    std::lock_guard lock(mutex_);
    auto found = known_.find(keyOf(query));
    return found == known_.end() ? "" : found->second.searched;
  }

  /// Of one instance's part of the operation. Operations of equal shape are timed once.
  Result<std::shared_ptr<const InstructionTiming>> timed(const CostQuery &query, Assumptions &assumptions) const {
    const std::string key = keyOf(query);
    Known known;
    {
      std::lock_guard lock(mutex_);
      if (auto found = known_.find(key); found != known_.end())
        known = found->second;
    }
    if (!known.timing) {
      ACCORD_TRY(found, foundOrTimed(query));
      known = std::move(found);
      std::lock_guard lock(mutex_);
      known_.try_emplace(key, known);
    }
    assumptions.insert(known.words.begin(), known.words.end());
    return known.timing;
  }

  /// On a machine before that differs in nothing that the time depends on, or now.
  Result<Known> foundOrTimed(const CostQuery &query) const {
    const Core &core = query.machine.cores[query.core];
    const int64_t instances = instancesPerOperation(core);
    InstructionTimings *timings = query.mappings && !searches ? query.mappings->timings() : nullptr;
    const std::string key =
        timings ? fmt::format("{} {} {}", instances, query.optimizer, PriceCache::keyOf(query.operation)) : "";
    if (timings)
      if (auto found = timings->find(key, *core.microarchitecture))
        return std::move(*found);
    auto mapped = timings ? timings->mapped(key, *core.microarchitecture) : nullptr;
    if (!mapped) {
      ACCORD_TRY(made, mapNow(query));
      mapped = std::make_shared<const InstructionTimings::Mapped>(std::move(made));
    }
    Known known;
    ACCORD_TRY(timing, timeNow(query, *mapped, timings != nullptr, known));
    known.timing = std::make_shared<const InstructionTiming>(std::move(timing));
    if (timings)
      timings->insert(key, *core.microarchitecture, std::move(mapped), known);
    return known;
  }

  static Result<InstructionTimings::Mapped> mapNow(const CostQuery &query) {
    const Core &core = query.machine.cores[query.core];
    ACCORD_TRY(kernel, microarchitecture::kernelOf(partOf(query.operation, instancesPerOperation(core)),
                                                   query.optimizer, *core.microarchitecture));
    ACCORD_TRY(mapped, microarchitecture::emitKernel(kernel, *core.microarchitecture));
    return InstructionTimings::Mapped{std::move(mapped.program),
                                      {kernel.assumptions.begin(), kernel.assumptions.end()}};
  }

  Result<InstructionTiming> timeNow(const CostQuery &query, const InstructionTimings::Mapped &mapped, bool waits,
                                    Known &known) const {
    Assumptions &words = known.words;
    const Core &core = query.machine.cores[query.core];
    const Microarchitecture &machine = *core.microarchitecture;
    const int64_t instances = instancesPerOperation(core);
    if (instances > 1)
      words.insert(fmt::format("an operation is cut along its longest parallel loop for the {} instances of core '{}', "
                               "whose memories do not meet",
                               instances, core.name));
    words.insert(mapped.words.begin(), mapped.words.end());
    microarchitecture::TimingLimits limits;
    limits.evaluated = kMaxEvaluated, limits.bounds = true, limits.waits = waits;
    if (searches && query.operation.contraction && query.operation.parts.empty())
      if (const auto product = microarchitecture::contractionOf(partOf(query.operation, instances))) {
        microarchitecture::MappingLimits search;
        search.schedules = kSearched, search.instructions = kMaxSearched, search.timing.evaluated = kMaxEvaluated;
        if (auto found = microarchitecture::searchMapping(*product, machine, search)) {
          known.searched = inOneLine(microarchitecture::describe(*found, *product));
          return std::move(found->timing);
        }
      }
    const microarchitecture::InstructionProgram &program = mapped.program;
    ACCORD_TRY(timing, microarchitecture::timeProgram(machine, program, limits));
    if (timing.bounds) { // never below what bounds of its work say, which searches over machines rest on
      const int64_t low = microarchitecture::WorkBound(machine).ofProgram(program);
      timing.bounds->low = std::max(timing.bounds->low, low);
      timing.cycles = std::max(timing.cycles, low);
      words.insert(fmt::format("a program whose state does not recur within {} instructions goes on as these did: its "
                               "time is an estimate between two proven ones",
                               kMaxEvaluated));
    }
    return timing;
  }

  const bool searches;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Known> known_; ///< by core, optimizer and what the operation is
};

} // namespace

std::unique_ptr<CostModel> makeInstructionModel() { return std::make_unique<InstructionModel>(false); }
std::unique_ptr<CostModel> makeMappingSearchModel() { return std::make_unique<InstructionModel>(true); }

} // namespace accord
