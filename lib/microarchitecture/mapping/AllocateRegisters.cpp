#include "lib/microarchitecture/mapping/AllocateRegisters.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

struct Range {
  int64_t begin = -1, end = -1;
  std::vector<Index> around; ///< of the first step, outermost first
};

class RangeFinder {
public:
  explicit RangeFinder(const LoopKernel &kernel) : kernel(kernel), ranges(kernel.valueBits.size()) {}

  std::vector<Range> run() {
    // The ends of loops first, since ranges reach them.
    ends.resize(kernel.loops.size());
    number(kernel.body);
    position = 0;
    walk(kernel.body);
    return std::move(ranges);
  }

private:
  void number(const KernelBody &body) {
    for (const KernelStep &step : body) {
      if (step.loop != kNone)
        number(kernel.loops[step.loop].body), ends[step.loop] = ++position;
      else
        ++position;
    }
  }
  void walk(const KernelBody &body) {
    for (const KernelStep &step : body) {
      if (step.loop != kNone) {
        around.push_back(step.loop);
        walk(kernel.loops[step.loop].body);
        around.pop_back();
        ++position;
        continue;
      }
      ++position;
      for (Index value : step.arguments)
        touch(value);
      if (step.result != kNone)
        touch(step.result);
      if (step.signals != kNone)
        touch(step.signals);
    }
  }
  void touch(Index value) {
    Range &range = ranges[value];
    if (range.begin < 0)
      range.begin = position, range.around = around;
    range.end = std::max(range.end, position);
    size_t common = 0;
    while (common < range.around.size() && common < around.size() && range.around[common] == around[common])
      ++common;
    if (common < around.size())
      range.end = std::max(range.end, ends[around[common]]);
  }

  const LoopKernel &kernel;
  std::vector<Range> ranges;
  std::vector<int64_t> ends; ///< by loop
  std::vector<Index> around;
  int64_t position = 0;
};

} // namespace

Result<Registers> allocateRegisters(const LoopKernel &kernel, const Microarchitecture &machine,
                                    const std::vector<std::vector<Index>> &files) {
  const std::vector<Range> ranges = RangeFinder(kernel).run();
  std::vector<Index> order;
  for (Index v = 0; v < Index(ranges.size()); ++v)
    if (ranges[v].begin >= 0)
      order.push_back(v);
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return std::pair(ranges[a].begin, a) < std::pair(ranges[b].begin, b); });
  Registers found;
  found.of.resize(ranges.size());
  std::vector<std::vector<int64_t>> until(machine.registers.size()); ///< by register: end of what it holds
  for (size_t f = 0; f < until.size(); ++f)
    until[f].assign(machine.registers[f].count, -1);
  for (Index v : order) {
    for (Index file : files[v]) {
      auto isFree = [&](int64_t end) { return end <= ranges[v].begin; };
      auto at = std::find_if(until[file].begin(), until[file].end(), isFree);
      if (at == until[file].end())
        continue;
      *at = ranges[v].end;
      found.of[v] = {file, Index(at - until[file].begin())};
      break;
    }
    if (found.of[v].file == kNone) {
      const RegisterFile &file = machine.registers[files[v].front()];
      return Error{Code::NotMapped,
                   fmt::format("'{}' needs more registers than the {} of '{}': unroll less, or keep less in registers",
                               kernel.name, file.count, file.name),
                   file.location};
    }
    int32_t held = 0;
    for (const auto &all : until)
      held += int32_t(std::count_if(all.begin(), all.end(), [&](int64_t end) { return end > ranges[v].begin; }));
    found.inUse = std::max(found.inUse, held);
  }
  return found;
}

} // namespace accord::microarchitecture
