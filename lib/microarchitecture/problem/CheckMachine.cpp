#include "lib/microarchitecture/problem/Microarchitecture.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/format.h>
#include <set>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxCapacity = 1 << 20;
constexpr Cycles kMaxLatency = 1 << 30;
constexpr int64_t kMaxAddress = int64_t(1) << 62;

class MachineCheck {
public:
  explicit MachineCheck(const Microarchitecture &machine) : machine(machine) {}

  Errors run() {
    positive(machine.window, "window", machine.name, machine.location);
    fetch();
    for (const Stage &stage : machine.stages)
      checkStage(stage);
    for (const Unit &unit : machine.units)
      checkUnit(unit);
    for (const RegisterFile &file : machine.registers)
      checkFile(file);
    for (const Storage &storage : machine.storages)
      checkStorage(storage);
    if (errors.empty())
      circles();
    if (errors.empty())
      reach();
    return std::move(errors);
  }

private:
  void error(const SourceLocation &at, std::string message, Code code = Code::WrongPart) {
    errors.push_back({code, std::move(message), at});
  }
  void positive(int64_t value, const char *key, const std::string &of, const SourceLocation &at) {
    if (value < 1 || value > kMaxCapacity)
      error(at, fmt::format("'{}' of '{}' is {}, not from 1 to {}", key, of, value, kMaxCapacity), Code::NoCapacity);
  }
  void latency(Cycles value, const char *key, const std::string &of, const SourceLocation &at) {
    if (value < 0 || value > kMaxLatency)
      error(at, value < 0 ? fmt::format("'{}' of '{}' is negative", key, of)
                          : fmt::format("'{}' of '{}' is {}, not from 0 to {}", key, of, value, kMaxLatency));
  }
  bool known(Index index, size_t count) const { return index >= 0 && size_t(index) < count; }

  void fetch() {
    const Fetch &is = machine.fetch;
    positive(is.width, "width", is.name, is.location);
    positive(is.buffer, "buffer", is.name, is.location);
    latency(is.latency, "latency", is.name, is.location);
    if (!known(is.to, machine.stages.size()))
      error(is.location, fmt::format("'{}' hands its instructions to no stage", is.name));
  }

  void checkStage(const Stage &stage) {
    positive(stage.capacity, "capacity", stage.name, stage.location);
    positive(stage.width, "width", stage.name, stage.location);
    if (stage.to.empty() == stage.units.empty())
      error(stage.location, stage.to.empty()
                                ? fmt::format("stage '{}' has neither a stage behind it nor units", stage.name)
                                : fmt::format("stage '{}' has units, so nothing stands behind it", stage.name));
    for (Index next : stage.to)
      if (!known(next, machine.stages.size()))
        error(stage.location, fmt::format("stage '{}' names a stage that does not exist", stage.name));
    for (Index unit : stage.units)
      if (!known(unit, machine.units.size()))
        error(stage.location, fmt::format("stage '{}' names a unit that does not exist", stage.name));
  }

  void checkUnit(const Unit &unit) {
    positive(unit.count, "count", unit.name, unit.location);
    positive(unit.entries, "entries", unit.name, unit.location);
    if (unit.operations.empty())
      error(unit.location, fmt::format("unit '{}' has no operations", unit.name));
    std::set<Index> seen;
    for (const UnitOperation &operation : unit.operations) {
      if (!known(operation.opcode, machine.opcodes.size()))
        error(operation.location, fmt::format("unit '{}' names an opcode that does not exist", unit.name));
      else if (!seen.insert(operation.opcode).second)
        error(operation.location,
              fmt::format("unit '{}' has '{}' twice", unit.name, machine.opcodes[operation.opcode].name));
    }
    auto all = [&](const std::vector<Index> &of, size_t count, const char *what) {
      for (Index index : of)
        if (!known(index, count))
          error(unit.location, fmt::format("unit '{}' names a {} that does not exist", unit.name, what));
    };
    all(unit.reads, machine.registers.size(), "register file"),
        all(unit.writes, machine.registers.size(), "register file");
    all(unit.loadsFrom, machine.storages.size(), "memory"), all(unit.storesTo, machine.storages.size(), "memory");
  }

  void checkFile(const RegisterFile &file) {
    positive(file.count, "count", file.name, file.location);
    if (file.readPorts < 0 || file.writePorts < 0)
      error(file.location, fmt::format("a port count of '{}' is negative", file.name));
  }

  void checkStorage(const Storage &is) {
    positive(is.portBytes, "port_width", is.name, is.location);
    positive(is.ports, "ports", is.name, is.location);
    positive(is.banks, "banks", is.name, is.location);
    positive(is.requests, "requests", is.name, is.location);
    latency(is.readLatency, "read_latency", is.name, is.location);
    latency(is.writeLatency, "write_latency", is.name, is.location);
    latency(is.rows.miss, "row_miss", is.name, is.location);
    if (is.rows.bytes < 0 || is.rows.miss < 0 || (is.rows.bytes > 0 && is.rows.bytes % is.portBytes != 0) ||
        is.rows.bytes > kMaxAddress)
      error(is.location, fmt::format("'row' of '{}' is {} B, no whole number of ports of {} B", is.name, is.rows.bytes,
                                     is.portBytes));
    if (!is.cache) {
      if (is.begin < 0 || is.end <= is.begin)
        error(is.location, fmt::format("memory '{}' has no bytes", is.name));
      else if (is.end > kMaxAddress)
        error(is.location, fmt::format("memory '{}' ends at {}, beyond 2^62", is.name, is.end));
      return;
    }
    const Storage::Cache &cache = *is.cache;
    auto power = [&](int64_t value, const char *key) {
      if (value < 1 || value > kMaxCapacity || !llvm::isPowerOf2_64(value))
        error(is.location, fmt::format("'{}' of cache '{}' is {}, no power of two", key, is.name, value));
    };
    power(cache.sets, "sets"), power(cache.lineBytes, "line");
    positive(cache.ways, "ways", is.name, is.location);
    if (cache.replacement == Replacement::TreePlru) {
      power(cache.ways, "ways");
      if (cache.ways > 32)
        error(is.location, fmt::format("'ways' of '{}' is {}, and a tree has at most 32", is.name, cache.ways));
    }
    if (cache.lineBytes % is.portBytes != 0)
      error(is.location, fmt::format("'line' of '{}' is {} B, no whole number of ports of {} B", is.name,
                                     cache.lineBytes, is.portBytes));
    if (!known(cache.behind, machine.storages.size()))
      error(is.location, fmt::format("cache '{}' has no memory behind it", is.name));
  }

  void circles() {
    std::vector<char> state(machine.stages.size(), 0); // 1: on the way, 2: done
    auto visit = [&](auto &self, Index stage) -> void {
      state[stage] = 1;
      for (Index next : machine.stages[stage].to) {
        if (state[next] == 1)
          error(machine.stages[stage].location,
                fmt::format("stage '{}' hands instructions back to '{}'", machine.stages[stage].name,
                            machine.stages[next].name),
                Code::NotReached);
        else if (state[next] == 0)
          self(self, next);
      }
      state[stage] = 2;
    };
    visit(visit, machine.fetch.to);
    for (size_t s = 0; s < state.size(); ++s)
      if (state[s] == 0)
        error(machine.stages[s].location, fmt::format("no instruction reaches stage '{}'", machine.stages[s].name),
              Code::NotReached);
    for (const Storage &storage : machine.storages) {
      size_t steps = 0;
      for (const Storage *at = &storage; at->cache; at = &machine.storages[at->cache->behind])
        if (++steps > machine.storages.size()) {
          error(storage.location, fmt::format("the memories behind cache '{}' form a cycle", storage.name));
          break;
        }
    }
  }

  void reach() {
    std::vector<char> units(machine.units.size(), 0), opcodes(machine.opcodes.size(), 0);
    for (const Stage &stage : machine.stages)
      for (Index unit : stage.units) {
        if (units[unit]++)
          error(stage.location, fmt::format("unit '{}' is in two stages", machine.units[unit].name), Code::NotReached);
        for (const UnitOperation &operation : machine.units[unit].operations)
          opcodes[operation.opcode] = 1;
      }
    for (size_t u = 0; u < units.size(); ++u)
      if (!units[u])
        error(machine.units[u].location, fmt::format("unit '{}' is in no stage", machine.units[u].name),
              Code::NotReached);
    for (size_t o = 0; o < opcodes.size(); ++o)
      if (!opcodes[o])
        error(machine.opcodes[o].location, fmt::format("no unit processes '{}'", machine.opcodes[o].name),
              Code::NotReached);
  }

  const Microarchitecture &machine;
  Errors errors;
};

} // namespace

Errors check(const Microarchitecture &machine) { return MachineCheck(machine).run(); }

} // namespace accord::microarchitecture
