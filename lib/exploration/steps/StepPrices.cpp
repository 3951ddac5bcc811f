// What the operations of a step take on a machine at least, and the step of them.
#include "lib/exploration/steps/StepData.h"
#include <algorithm>
#include <cmath>
#include <mutex>

namespace accord {
namespace {

struct Link {
  double latency = 0, perByte = 0; ///< seconds; 0 where no bandwidth is known
  bool adds = false;               ///< to the time of what is nearer: that memory is filled before
};

/// As `roofline`: from the core outwards.
double joined(double compute, const double *transfers, size_t levels, const std::vector<Link> &links, double floor) {
  double time = compute;
  for (size_t i = levels; i-- > 0;)
    if (i + 1 < levels && links[i].adds)
      time += transfers[i];
    else
      time = std::max(time, transfers[i]);
  return time > 0 ? std::max(time, floor) : 0;
}

} // namespace

void StepWork::Data::price(const Machine &machine, const StepBoundOptions &options, StepScratch &scratch) const {
  static thread_local StepCores::View view;
  static thread_local std::vector<Link> links;
  using Omitted = StepBoundOptions::Omitted;
  cores.look(machine, options, view);
  size_t memories = machine.memories.size();
  links.assign(memories, {});
  for (size_t m = 0; m < memories; ++m) {
    const Memory &memory = machine.memories[m];
    double rate = memory.bandwidth.value * memory.efficiency;
    bool left = m < options.memories.size() && options.memories[m] == Omitted::Time;
    if (rate > 0 && !left)
      links[m] = {std::max(memory.latency.value, 0.0), 1 / rate, false};
    links[m].adds = m + 1 < memories && !overlapsTransfers(machine.memories[m + 1]);
  }
  auto left = [&](int core, Omitted what) {
    return static_cast<size_t>(core) < options.cores.size() && options.cores[core] == what;
  };
  bool exact = options.exact && options.sameArrays.empty() && options.cores.empty() && options.memories.empty();
  // Where time and bytes are not bounds but those of `estimate`.
  auto fill = [&](const StepClass &what, StepPrice &price, double longest, const double *transfers, size_t levels) {
    for (size_t m = 0; m < std::min<size_t>(levels, 64); ++m)
      if (!what.mapped && !what.lookup && transfers[m] >= longest && longest > 1e-9)
        price.fills |= uint64_t{1} << m;
  };
  const StepShapes &shapes = cores.shapes;
  scratch.prices.assign(shapes.classes.size(), {});
  scratch.transfers.assign(shapes.classes.size() * memories, 0);
  for (size_t c = 0; c < shapes.classes.size(); ++c) {
    const StepClass &what = shapes.classes[c];
    StepPrice &price = scratch.prices[c];
    if (what.kind == StepClass::Kind::Free)
      continue;
    double *transfers = scratch.transfers.data() + c * memories;
    if (what.kind == StepClass::Kind::Communication) {
      if (!options.communication)
        continue;
      price.time = what.seconds;
      if (memories > 0 && what.bytes > 0 && links[0].perByte > 0)
        transfers[0] = links[0].latency + what.bytes * links[0].perByte;
      price.time = std::max(price.time, memories > 0 ? transfers[0] : 0);
      continue;
    }
    if (what.kind == StepClass::Kind::Given) {
      price.time = what.seconds;
      price.core = cores.ofProducts(machine);
      if (price.core >= 0 && (left(price.core, Omitted::Time) || left(price.core, Omitted::Queue)))
        price.core = -1;
      if (price.core >= 0) {
        const Core &core = machine.cores[price.core];
        price.work = core.perInstanceMapping && !core.anyMapping ? what.seconds / core.count : what.seconds;
      }
      continue;
    }
    const StepCores::Choice &choice = view.choices[what.want];
    if (choice.cores.empty() || choice.unknown)
      continue;
    size_t levels = memories;
    for (int core : choice.cores)
      levels = std::min(levels, levelsOf(machine, machine.cores[core]));
    int only = choice.cores.size() == 1 ? choice.cores[0] : -1;
    double feed = 0;
    if (what.mapped && only >= 0 && levels >= 2) {
      feed = (*view.times[only])[what.shape].feed;
      for (size_t m = 1; m < levels; ++m)
        feed = machine.memories[m].capacity.value > 0 ? feed : 0;
    }
    for (size_t m = 0; m < levels; ++m)
      if (double bytes = m + 1 == levels ? std::max(feed, what.bytes) : what.bytes; bytes > 0)
        transfers[m] = links[m].latency + bytes * links[m].perByte;
    double floor = machine.host.kernel.value;
    if (what.kind == StepClass::Kind::Fused) {
      double max = 0;
      bool sure = true; // of its time
      view.sums.assign(machine.cores.size(), 0);
      for (uint32_t shape : what.parts) {
        const StepCores::Choice &of = view.choices[shapes.shapes[shape].want];
        double min = std::numeric_limits<double>::infinity();
        for (int core : of.cores) {
          const Core &on = machine.cores[core];
          const ShapeTime &time = (*view.times[core])[shape];
          min = std::min(min, left(core, Omitted::Time)                 ? 0
                              : on.perInstanceMapping && !on.anyMapping ? time.single
                                                                        : time.spread);
        }
        sure &= of.cores.size() == 1;
        if (of.cores.empty() || of.unknown || !std::isfinite(min))
          continue;
        max = std::max(max, min);
        if (of.cores.size() == 1) {
          auto core = static_cast<size_t>(of.cores[0]);
          max = std::max(max, view.sums[core] += min);
          if (min > 0 && core < 64 && !left(of.cores[0], Omitted::Queue))
            price.holds |= uint64_t{1} << core;
        }
      }
      price.time = joined(max, transfers, levels, links, floor);
      if (sure && exact && only >= 0)
        fill(what, price, price.time, transfers, levels);
      if (only >= 0 && only < 64 && !left(only, Omitted::Time) && !left(only, Omitted::Queue))
        price.holds |= uint64_t{1} << only;
      continue;
    }
    price.time = price.ofKind = std::numeric_limits<double>::infinity();
    double longest = 0; // of all forms
    for (int index : choice.cores) {
      const Core &core = machine.cores[index];
      const ShapeTime &time = (*view.times[index])[what.shape];
      bool none = left(index, Omitted::Time);
      auto in = [&](double compute) { return joined(none ? 0 : compute, transfers, levels, links, floor); };
      double count = core.count, took = 0, work = 0;
      if (core.anyMapping || !core.perInstanceMapping)
        took = work = in(time.spread);
      if (core.anyMapping || core.perInstanceMapping) {
        double single = in(time.single);
        longest = std::max(longest, single);
        took = core.perInstanceMapping && !core.anyMapping ? single : std::min(took, single);
        work = core.perInstanceMapping && !core.anyMapping ? single / count : std::min(work, single / count);
      }
      price.time = std::min(price.time, took), longest = std::max(longest, took);
      price.ofKind = std::min(price.ofKind, work);
    }
    if (!std::isfinite(price.time)) { // has no cost, and so no step
      price.time = price.ofKind = 0;
      continue;
    }
    price.core = only, price.work = price.ofKind;
    price.kind = machine.cores[choice.cores[0]].kind == CoreKind::Tensor ? 0 : 1;
    if (exact && only >= 0)
      fill(what, price, longest, transfers, levels);
    for (int core : choice.cores) // as if there were no queue at any of its kind
      if (left(core, Omitted::Time) || left(core, Omitted::Queue))
        price.core = -1, price.ofKind = 0;
  }
}

/// All that a bound follows from, where nothing is left out of it; whatever a machine has but the
/// capacity of its memories, of which it only matters that there is one. Empty: not to be kept.
std::string StepWork::Data::keyOf(const Machine &machine, const StepBoundOptions &options) const {
  static thread_local StepCores::View view;
  std::string key;
  if (!options.cores.empty() || !options.memories.empty())
    return key;
  cores.look(machine, options, view);
  if (!view.own.empty()) // these do not stay where they are
    return key;
  auto put = [&](auto value) { key.append(reinterpret_cast<const char *>(&value), sizeof value); };
  put(view.choices.data());
  put(static_cast<int64_t>(options.exact | options.sameArrays.empty() << 1 | options.communication << 2));
  put(machine.host.kernel.value), put(machine.host.microbatch.value), put(machine.host.step.value);
  for (size_t c = 0; c < machine.cores.size(); ++c) {
    const Core &core = machine.cores[c];
    put(view.times[c]); // one for all that times follow from
    put(core.count), put(static_cast<int64_t>(core.kind));
    put(static_cast<int64_t>(core.perInstanceMapping | core.anyMapping << 1));
    put(static_cast<int64_t>(core.reads));
  }
  for (const Memory &memory : machine.memories) {
    put(memory.bandwidth.value), put(memory.efficiency), put(memory.latency.value);
    put(static_cast<int64_t>(overlapsTransfers(memory) | (memory.capacity.value > 0) << 1));
  }
  return key;
}

double StepWork::Data::priced(const Machine &machine, const StepBoundOptions &options) const {
  constexpr size_t kMax = size_t{1} << 17;
  std::string key = keyOf(machine, options);
  if (!key.empty()) {
    std::shared_lock lock(mutex);
    if (auto found = known.find(key); found != known.end())
      return found->second;
  }
  double seconds = pricedNow(machine, options);
  if (!key.empty()) {
    std::unique_lock lock(mutex);
    if (known.size() < kMax)
      known.emplace(std::move(key), seconds);
  }
  return seconds;
}

double StepWork::Data::pricedNow(const Machine &machine, const StepBoundOptions &options) const {
  static thread_local StepScratch scratch;
  price(machine, options, scratch);
  scratch.begin(graph.regions.size());
  for (const StepPart &part : parts)
    scratch.lengths[part.region] = length(part, machine, scratch);
  double micro = scratch.lengths[kMicrobatchRegion] + machine.host.microbatch.value,
         update = scratch.lengths[kUpdateRegion] + machine.host.step.value;
  return (graph.microbatches * micro + update) * kStepRoundingFactor;
}

void StepWork::Data::times(const Machine &machine, const StepBoundOptions &options,
                           std::vector<double> &seconds) const {
  static thread_local StepScratch scratch;
  price(machine, options, scratch);
  scratch.begin(graph.regions.size());
  for (size_t p = 0; p + 2 < parts.size(); ++p) // the bodies
    scratch.lengths[parts[p].region] = length(parts[p], machine, scratch);
  seconds.clear();
  for (size_t p = parts.size() - 2; p < parts.size(); ++p)
    for (const StepItem &item : parts[p].items)
      seconds.push_back(kStepRoundingFactor * (item.body == kNone
                                                   ? scratch.prices[item.price].time
                                                   : graph.regions[item.body].count * scratch.lengths[item.body]));
}

} // namespace accord
