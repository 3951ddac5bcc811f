#include "lib/machine/cost/InstructionTimings.h"
#include "lib/machine/cost/InstructionBound.h"
#include "lib/machine/cost/PriceCache.h"
#include <algorithm>

namespace accord {
namespace {

using microarchitecture::InstructionTiming;
using microarchitecture::Microarchitecture;
using microarchitecture::Wait;

/// Beyond so many all are forgotten: some hundred megabytes.
constexpr size_t kMax = 200000;

/// A capacity of a machine, and what an instruction that it delays names.
struct Capacity {
  int32_t *value = nullptr;
  Wait wait = Wait::Window;
  int32_t of = -1;
};

/// None is 0, but ports of a register file that has enough of them.
std::vector<Capacity> capacitiesOf(Microarchitecture &machine) {
  std::vector<Capacity> all = {{&machine.window, Wait::Window, -1}, {&machine.fetch.buffer, Wait::FetchBuffer, -1}};
  const bool isLine =
      std::all_of(machine.stages.begin(), machine.stages.end(), [](const auto &stage) { return stage.to.size() <= 1; });
  for (size_t s = 0; s < machine.stages.size() && isLine; ++s)
    all.push_back({&machine.stages[s].capacity, Wait::StageFull, int32_t(s)});
  for (size_t f = 0; f < machine.registers.size(); ++f) {
    all.push_back({&machine.registers[f].readPorts, Wait::ReadPorts, int32_t(f)});
    all.push_back({&machine.registers[f].writePorts, Wait::WritePorts, int32_t(f)});
  }
  return all;
}

/// The capacities of a copy of a machine, which has them no more, nor cycles of opcodes that a program has not.
std::vector<int64_t> take(Microarchitecture &machine, const std::vector<char> &opcodes) {
  std::vector<int64_t> values;
  for (const Capacity &one : capacitiesOf(machine)) {
    const bool isPorts = one.wait == Wait::ReadPorts || one.wait == Wait::WritePorts;
    values.push_back(isPorts && *one.value == 0 ? INT64_MAX : *one.value);
    *one.value = 0;
  }
  for (auto &unit : machine.units)
    for (auto &operation : unit.operations)
      if (!opcodes[operation.opcode])
        operation.latency.terms.clear(), operation.interval.terms.clear();
  return values;
}

/// Programs have more fences where the window is smaller.
std::string programsKeyOf(const std::string &operation, const Microarchitecture &machine) {
  return operation + "|" + std::to_string(machine.window) + "|" + programKeyOf(machine);
}

} // namespace

std::shared_ptr<const InstructionTimings::Mapped> InstructionTimings::mapped(const std::string &operation,
                                                                             const Microarchitecture &machine) {
  const std::string key = programsKeyOf(operation, machine);
  std::lock_guard lock(mutex_);
  auto programs = programs_.find(key);
  return programs == programs_.end() ? nullptr : programs->second.mapped;
}

std::optional<InstructionTimings::Known> InstructionTimings::find(const std::string &operation,
                                                                  const Microarchitecture &machine) {
  const std::string key = programsKeyOf(operation, machine);
  std::lock_guard lock(mutex_);
  auto programs = programs_.find(key);
  if (programs == programs_.end())
    return std::nullopt;
  Microarchitecture rest = machine;
  const std::vector<int64_t> values = take(rest, programs->second.opcodes);
  auto found = programs->second.entries.find(PriceCache::keyOf(rest));
  if (found == programs->second.entries.end())
    return std::nullopt;
  for (const Entry &entry : found->second) {
    bool holds = true;
    for (size_t i = 0; i < values.size() && holds; ++i)
      holds = values[i] == entry.capacities[i] || (entry.isFree[i] && values[i] > entry.capacities[i]);
    if (holds)
      return entry.known;
  }
  return std::nullopt;
}

void InstructionTimings::insert(const std::string &operation, const Microarchitecture &machine,
                                std::shared_ptr<const Mapped> mapped, Known known) {
  Entry entry;
  Microarchitecture rest = machine;
  for (const Capacity &one : capacitiesOf(rest)) {
    bool isFree = !known.timing->bounds;
    for (const auto &waited : known.timing->waits)
      isFree &=
          waited.wait != one.wait || (one.of >= 0 && waited.of != one.of) || (waited.oldest == 0 && waited.all == 0);
    entry.isFree.push_back(isFree);
  }
  std::vector<char> opcodes(machine.opcodes.size(), 0);
  for (const auto &instruction : mapped->program.instructions)
    opcodes[instruction.opcode] = 1;
  entry.capacities = take(rest, opcodes);
  entry.known = std::move(known);
  std::lock_guard lock(mutex_);
  if (++size_ > kMax)
    programs_.clear(), size_ = 1;
  Programs &programs = programs_[programsKeyOf(operation, machine)];
  programs.mapped = std::move(mapped), programs.opcodes = std::move(opcodes);
  programs.entries[PriceCache::keyOf(rest)].push_back(std::move(entry));
}

} // namespace accord
