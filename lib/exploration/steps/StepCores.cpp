#include "lib/exploration/steps/StepCores.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <algorithm>
#include <mutex>

namespace accord {
namespace {

/// Entries of a table; what comes after is computed each time.
constexpr size_t kMax = size_t{1} << 17;

template <typename T> void put(std::string &key, const T &number) {
  key.append(reinterpret_cast<const char *>(&number), sizeof number);
}
void word(std::string &key, const std::string &text) {
  put(key, text.size());
  key += text;
}

} // namespace

int StepCores::ofProducts(const Machine &machine) {
  for (size_t i = 0; i < machine.cores.size(); ++i)
    if (machine.cores[i].kind == CoreKind::Tensor)
      return i;
  return machine.cores.empty() ? -1 : 0;
}

void StepCores::choose(const Machine &machine, View &view) const {
  // All that the choice follows from: kinds, and for which types there is a rate.
  std::string &key = view.key;
  key.clear();
  word(key, machine.costModel);
  for (const Core &core : machine.cores) {
    put(key, core.kind);
    key +=
        static_cast<char>((core.rows > 0) | (core.cols > 0) << 1 | (core.lanes > 0) << 2 | (core.efficiency > 0) << 3 |
                          (flopsPerCycle(core) * machine.clock.value > 0) << 4 | bool(core.microarchitecture) << 5);
    put(key, core.peak.size());
    for (const auto &[type, peak] : core.peak) {
      word(key, type);
      key += static_cast<char>(peak.value > 0);
    }
  }
  {
    std::shared_lock lock(mutex_);
    if (auto found = choices_.find(std::string_view(key)); found != choices_.end()) {
      view.choices = *found->second;
      return;
    }
  }
  auto made = std::make_unique<std::vector<Choice>>();
  for (const StepShapes::Want &want : shapes.wants) {
    Operation op;
    op.core = want.core, op.type = want.type;
    Choice &choice = made->emplace_back();
    for (const CoreChoice &one : chooseCores(op, machine)) {
      choice.cores.push_back(one.core);
      choice.type = one.type;
      choice.unknown |= builtinModel(machine, machine.cores[one.core]).empty();
    }
  }
  std::unique_lock lock(mutex_);
  view.choices = *choices_.try_emplace(key, std::move(made)).first->second;
}

/// Where all machines that the bound is for execute the same programs, by what these take of each resource; else by the
/// arithmetic of products.
void StepCores::setInstructionTimes(const Machine &machine, int index, bool same, std::vector<ShapeTime> &times) const {
  const Core &core = machine.cores[index];
  for (size_t s = 0; s < times.size(); ++s)
    times[s] = instructionTime(shapes.shapes[s], machine, index);
  if (!same || !(machine.clock.value > 0))
    return;
  const std::string machineKey = programKeyOf(*core.microarchitecture);
  for (bool one : {false, true}) {
    if (one ? !core.anyMapping && !core.perInstanceMapping : core.perInstanceMapping && !core.anyMapping)
      continue; // no operation runs so
    const int64_t instances = one ? 1 : core.count;
    const std::string key = std::to_string(instances) + " " + machineKey;
    const InstructionBound *programs = nullptr;
    {
      std::shared_lock lock(mutex_);
      if (auto found = programs_.find(std::string_view(key)); found != programs_.end())
        programs = found->second.get();
    }
    if (!programs) {
      std::vector<const Operation *> operations;
      for (const StepShape &shape : shapes.shapes)
        operations.push_back(&shape.operation);
      auto made =
          std::make_unique<const InstructionBound>(operations, shapes.optimizer, instances, *core.microarchitecture);
      std::unique_lock lock(mutex_);
      programs = programs_.try_emplace(key, std::move(made)).first->second.get();
    }
    const std::vector<int64_t> cycles = programs->cyclesOn(*core.microarchitecture);
    for (size_t s = 0; s < times.size(); ++s)
      if (!shapes.shapes[s].isPart) {
        double &time = one ? times[s].single : times[s].spread;
        time = std::max(time, double(cycles[s]) / machine.clock.value);
      }
  }
}

void StepCores::look(const Machine &machine, const StepBoundOptions &options, View &view) const {
  choose(machine, view);
  const void *layout = view.choices.data();
  std::string &key = view.key;
  view.own.clear();
  view.times.clear();
  for (size_t i = 0; i < machine.cores.size(); ++i) {
    const Core &core = machine.cores[i];
    bool same = i < options.sameArrays.size() ? options.sameArrays[i] : options.exact;
    key.clear();
    put(key, layout), put(key, i), put(key, same);
    for (int64_t number : {core.rows, core.cols, core.lanes, core.count})
      put(key, number);
    for (double number : {machine.clock.value, core.efficiency, core.halfPerformanceWork.value})
      put(key, number);
    key += static_cast<char>(core.overlapFill | core.overlapDrain << 1 | core.perInstanceMapping << 2 |
                             core.anyMapping << 3);
    word(key, core.dataflow);
    for (const auto &[type, peak] : core.peak)
      put(key, peak.value);
    for (const auto &[kind, cycles] : core.cyclesOf) {
      word(key, kind);
      put(key, cycles);
    }
    if (core.microarchitecture)
      word(key, PriceCache::keyOf(*core.microarchitecture));
    {
      std::shared_lock lock(mutex_);
      if (auto found = times_.find(std::string_view(key)); found != times_.end()) {
        view.times.push_back(found->second.get());
        continue;
      }
    }
    std::vector<ShapeTime> times(shapes.shapes.size());
    const bool isInstructions = builtinModel(machine, core) == kInstructionModel;
    if (isInstructions)
      setInstructionTimes(machine, i, same, times);
    for (size_t s = 0; s < times.size() && !isInstructions; ++s) {
      const Choice &choice = view.choices[shapes.shapes[s].want];
      int index = i;
      if (std::find(choice.cores.begin(), choice.cores.end(), index) != choice.cores.end())
        times[s] = shapeTime(shapes.shapes[s], machine, index, choice.type, same);
    }
    std::unique_lock lock(mutex_);
    if (times_.size() < kMax) {
      auto made = std::make_unique<std::vector<ShapeTime>>(std::move(times));
      view.times.push_back(times_.try_emplace(key, std::move(made)).first->second.get());
    } else {
      view.times.push_back(&view.own.emplace_back(std::move(times)));
    }
  }
}

} // namespace accord
