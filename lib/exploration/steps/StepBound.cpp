// What the operations of a step take on a machine at least, how long its regions are then, and the step of them.
#include "lib/exploration/steps/StepData.h"
#include "lib/machine/cost/InstructionBound.h"
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

/// Seconds of all instances of its core that a priced class needs in the forms that it may have.
double workOf(const StepPrice &price, uint8_t forms, const Machine &machine) {
  if (!(price.single > 0) || forms == (kSpread | kSingle))
    return price.work;
  return forms == kSpread ? price.spread : price.single / machine.cores[price.core].count;
}

/// Whether an operation runs on one instance and no more.
bool onOneInstance(const Core &core) { return core.perInstanceMapping && !core.anyMapping; }

/// Prices the classes of a step on one machine.
class ClassPricer {
public:
  ClassPricer(const StepCores &cores, const Machine &machine, const StepBoundOptions &options, StepCores::View &view,
              std::vector<Link> &links)
      : shapes_(cores.shapes), machine_(machine), options_(options), view_(view), links_(links),
        exact_(options.exact && options.sameArrays.empty() && options.cores.empty() && options.memories.empty()) {
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
  }

  void price(const StepClass &what, StepPrice &price, double *transfers) {
    switch (what.kind) {
    case StepClass::Kind::Free:
      return;
    case StepClass::Kind::Communication:
      return priceCommunication(what, price, transfers);
    case StepClass::Kind::Given:
      return priceGiven(what, price);
    case StepClass::Kind::Whole:
    case StepClass::Kind::Fused:
      break;
    }
    const StepCores::Choice &choice = view_.choices[what.want];
    if (choice.cores.empty() || choice.unknown)
      return;
    int only = choice.cores.size() == 1 ? choice.cores[0] : -1;
    Transfers moved{transfers, setTransfers(what, choice, only, transfers),
                    std::any_of(choice.cores.begin(), choice.cores.end(),
                                [&](int core) { return machine_.cores[core].microarchitecture != nullptr; })};
    if (what.kind == StepClass::Kind::Fused)
      priceFused(what, only, moved, price);
    else
      priceWhole(what, choice, only, moved, price);
  }

private:
  using Omitted = StepBoundOptions::Omitted;
  struct Transfers {
    const double *seconds;
    size_t levels; ///< memories from the farthest on that are used
    /// Some core that may do it is at the level of instructions: memories in it count in its cycles, and others are
    /// filled meanwhile.
    bool instructions = false;
  };

  bool omits(int core, Omitted what) const {
    return static_cast<size_t>(core) < options_.cores.size() && options_.cores[core] == what;
  }
  /// Whether operations on the core wait for each other.
  bool queues(int core) const { return !omits(core, Omitted::Time) && !omits(core, Omitted::Queue); }
  double joinedWith(double compute, const Transfers &moved) const {
    if (moved.instructions) {
      double time =
          std::max(compute, moved.levels ? *std::max_element(moved.seconds, moved.seconds + moved.levels) : 0);
      return time > 0 ? std::max(time, machine_.host.kernel.value) : 0;
    }
    return joined(compute, moved.seconds, moved.levels, links_, machine_.host.kernel.value);
  }

  void priceCommunication(const StepClass &what, StepPrice &price, double *transfers) const {
    if (!options_.communication)
      return;
    price.time = what.seconds;
    if (links_.empty())
      return;
    if (what.bytes > 0 && links_[0].perByte > 0)
      transfers[0] = links_[0].latency + what.bytes * links_[0].perByte;
    price.time = std::max(price.time, transfers[0]);
  }

  void priceGiven(const StepClass &what, StepPrice &price) const {
    price.time = what.seconds;
    int core = StepCores::ofProducts(machine_);
    if (core < 0 || !queues(core))
      return;
    const Core &on = machine_.cores[core];
    price.core = core;
    price.work = onOneInstance(on) ? what.seconds / on.count : what.seconds;
  }

  /// Of bytes that it moves without zeros. Zeros save no more than their share of a tensor that passes once: however
  /// often it passes, the rest of it does, too.
  static double left(const StepClass &what, double bytes) {
    return std::max(0.0, bytes * what.zeros.bytes - what.savedBytes);
  }

  /// Seconds of each memory; returns how many memories are used.
  size_t setTransfers(const StepClass &what, const StepCores::Choice &choice, int only, double *transfers) const {
    size_t levels = machine_.memories.size();
    for (int core : choice.cores)
      levels = std::min(levels, levelsOf(machine_, machine_.cores[core]));
    double feed = 0;
    if (what.mapped && only >= 0 && levels >= 2) {
      feed = (*view_.times[only])[what.shape].feed;
      for (size_t m = 1; m < levels; ++m)
        feed = machine_.memories[m].capacity.value > 0 ? feed : 0;
    }
    for (size_t m = 0; m < levels; ++m)
      if (double bytes = left(what, m + 1 == levels ? std::max(feed, what.bytes) : what.bytes); bytes > 0)
        transfers[m] = links_[m].latency + bytes * links_[m].perByte;
    for (int core : choice.cores)
      for (size_t m = 0; m < levels; ++m)
        if (isInside(machine_.cores[core], machine_.memories[m]))
          transfers[m] = 0;
    return levels;
  }

  /// Where time and bytes are not bounds but those of `estimate`.
  void fill(const StepClass &what, StepPrice &price, double longest, const Transfers &moved) const {
    if (what.hasZeros()) // their times are bounds
      return;
    for (size_t m = 0; m < std::min<size_t>(moved.levels, 64) && !moved.instructions; ++m)
      if (!what.mapped && !what.lookup && moved.seconds[m] >= longest && longest > 1e-9)
        price.fills |= uint64_t{1} << m;
  }

  void priceFused(const StepClass &what, int only, const Transfers &moved, StepPrice &price) {
    double max = 0;
    bool sure = true; // of its time
    view_.sums.assign(machine_.cores.size(), 0);
    for (uint32_t shape : what.parts) {
      const StepCores::Choice &of = view_.choices[shapes_.shapes[shape].want];
      double min = INFINITY;
      for (int core : of.cores) {
        const ShapeTime &time = (*view_.times[core])[shape];
        min = std::min(min, omits(core, Omitted::Time)            ? 0
                            : onOneInstance(machine_.cores[core]) ? time.single
                                                                  : time.spread);
      }
      sure &= of.cores.size() == 1;
      if (of.cores.empty() || of.unknown || !std::isfinite(min))
        continue;
      max = std::max(max, min);
      if (of.cores.size() == 1) {
        int core = of.cores[0];
        max = std::max(max, view_.sums[core] += min);
        if (min > 0 && core < 64 && !omits(core, Omitted::Queue))
          price.holds |= uint64_t{1} << core;
      }
    }
    price.time = joinedWith(max, moved);
    if (sure && exact_ && only >= 0)
      fill(what, price, price.time, moved);
    if (only >= 0 && only < 64 && queues(only))
      price.holds |= uint64_t{1} << only;
  }

  void priceWhole(const StepClass &what, const StepCores::Choice &choice, int only, const Transfers &moved,
                  StepPrice &price) const {
    const double share = what.zeros.compute; // of arithmetic
    price.time = price.ofKind = INFINITY;
    double longest = 0; // of all forms
    for (int index : choice.cores) {
      const Core &core = machine_.cores[index];
      const ShapeTime &time = (*view_.times[index])[what.shape];
      auto in = [&](double compute) { return joinedWith(omits(index, Omitted::Time) ? 0 : compute, moved); };
      double took = 0, work = 0;
      if (!onOneInstance(core))
        took = work = in(time.spread * share);
      if (core.anyMapping || core.perInstanceMapping) {
        double single = in(time.single * share), ofAll = single / core.count;
        longest = std::max(longest, single);
        took = onOneInstance(core) ? single : std::min(took, single);
        work = onOneInstance(core) ? ofAll : std::min(work, ofAll);
      }
      price.time = std::min(price.time, took), longest = std::max(longest, took);
      price.ofKind = std::min(price.ofKind, work);
    }
    if (!std::isfinite(price.time)) { // has no cost, and so no step
      price.time = price.ofKind = 0;
      return;
    }
    price.core = only, price.work = price.ofKind;
    if (only >= 0 && machine_.cores[only].anyMapping && machine_.cores[only].count > 1 &&
        !onOneInstance(machine_.cores[only]) && !omits(only, Omitted::Time)) {
      const ShapeTime &time = (*view_.times[only])[what.shape];
      price.spread = joinedWith(time.spread * share, moved), price.single = joinedWith(time.single * share, moved);
    }
    price.kind = machine_.cores[choice.cores[0]].kind == CoreKind::Tensor ? 0 : 1;
    if (exact_ && only >= 0)
      fill(what, price, longest, moved);
    for (int core : choice.cores) // as if there were no queue at any of its kind
      if (!queues(core))
        price.core = -1, price.ofKind = 0;
  }

  const StepShapes &shapes_;
  const Machine &machine_;
  const StepBoundOptions &options_;
  StepCores::View &view_;
  std::vector<Link> &links_; ///< by memory
  bool exact_;
};

} // namespace

/// To no less than what the class is priced at. What then takes longer than to move its bytes fills no memory.
static void raise(const StepPrices::OfClass &given, StepPrice &price, double *transfers) {
  for (size_t m = 0; m < given.transfers.size(); ++m)
    transfers[m] = std::max(transfers[m], std::min(given.transfers[m], given.time));
  if (given.time > price.time * (1 + 1e-9))
    price.fills = 0;
  price.time = std::max(price.time, given.time);
  if (given.core < 0 || price.core != given.core)
    return;
  price.work = std::max(price.work, given.work);
  price.ofKind = std::max(price.ofKind, price.work);
}

void StepWork::Data::price(const Machine &machine, const StepBoundOptions &options, StepScratch &scratch) const {
  static thread_local StepCores::View view;
  static thread_local std::vector<Link> links;
  ClassPricer pricer(cores, machine, options, view, links);
  const std::vector<StepClass> &classes = cores.shapes.classes;
  scratch.prices.assign(classes.size(), {});
  scratch.transfers.assign(classes.size() * links.size(), 0);
  for (size_t c = 0; c < classes.size(); ++c)
    if (!options.exchanges || classes[c].kind != StepClass::Kind::Communication)
      pricer.price(classes[c], scratch.prices[c], scratch.transfers.data() + c * links.size());
  for (size_t c = 0; c < classes.size() && options.prices; ++c)
    if (classes[c].kind == StepClass::Kind::Whole || classes[c].kind == StepClass::Kind::Fused)
      raise(options.prices->classes[c], scratch.prices[c], scratch.transfers.data() + c * links.size());
  if (!options.exchanges)
    return;
  static thread_local std::vector<bool> priced;
  priced.assign(classes.size(), false);
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    uint32_t c = cores.shapes.classOf[id];
    if (classes[c].kind != StepClass::Kind::Communication || priced[c])
      continue;
    StepClass given = classes[c];
    given.seconds = (*options.exchanges)[id];
    pricer.price(given, scratch.prices[c], scratch.transfers.data() + c * links.size());
    priced[c] = true;
  }
}

/// All that a bound follows from, where nothing is left out of it; whatever a machine has but the
/// capacity of its memories, of which it only matters that there is one. Empty: not to be kept.
std::string StepWork::Data::keyOf(const Machine &machine, const StepBoundOptions &options) const {
  static thread_local StepCores::View view;
  std::string key;
  if (!options.cores.empty() || !options.memories.empty() || options.exchanges || options.prices)
    return key;
  cores.look(machine, options, view);
  if (!view.own.empty()) // these do not stay where they are
    return key;
  auto put = [&](auto value) { key.append(reinterpret_cast<const char *>(&value), sizeof(decltype(value))); };
  put(view.choices.data());
  put(static_cast<int64_t>(options.exact | options.sameArrays.empty() << 1 | options.communication << 2 |
                           options.closely << 3));
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
  // What is left out tells how much waits for it: of all that a core does.
  LoadSubsets subsets = !options.cores.empty() || !options.memories.empty() ? LoadSubsets::Whole
                        : options.exact                                     ? LoadSubsets::Every
                                                                            : LoadSubsets::Nested;
  for (const StepPart &part : parts)
    scratch.lengths[part.region] =
        options.closely ? lengthClosely(part, machine, scratch) : length(part, machine, scratch, subsets);
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
    scratch.lengths[parts[p].region] =
        length(parts[p], machine, scratch, options.prices ? LoadSubsets::Every : LoadSubsets::Whole);
  seconds.clear();
  for (size_t p = parts.size() - 2; p < parts.size(); ++p)
    for (const StepItem &item : parts[p].items)
      seconds.push_back(kStepRoundingFactor * (item.body == kNone
                                                   ? scratch.prices[item.price].time
                                                   : graph.regions[item.body].count * scratch.lengths[item.body]));
}

double StepLoad::length(LoadSubsets subsets, double whole) {
  if (!(sum_ > 0))
    return 0;
  double longest = head_ + sum_ * whole + tail_;
  if (subsets == LoadSubsets::Whole)
    return longest;
  std::sort(all_.begin(), all_.end(), [](const One &a, const One &b) { return a.head < b.head; });
  if (subsets == LoadSubsets::Every)
    return std::max(longest, preemptive(whole));
  double sum = 0, tail = INFINITY;
  for (size_t i = all_.size(); i-- > 0;) { // what begins no sooner than this
    sum += all_[i].work, tail = std::min(tail, all_[i].tail);
    longest = std::max(longest, all_[i].head + sum * whole + tail);
  }
  std::sort(all_.begin(), all_.end(), [](const One &a, const One &b) { return a.tail < b.tail; });
  double head = INFINITY;
  sum = 0;
  for (size_t i = all_.size(); i-- > 0;) { // what has as much behind it
    sum += all_[i].work, head = std::min(head, all_[i].head);
    longest = std::max(longest, head + sum * whole + all_[i].tail);
  }
  return longest;
}

/// Of what is there the one with most behind it runs, until another one comes.
double StepLoad::preemptive(double whole) {
  auto behind = [](const One &a, const One &b) { return a.tail < b.tail; };
  there_.clear();
  double now = 0, longest = 0;
  for (size_t next = 0; next < all_.size() || !there_.empty();) {
    if (there_.empty())
      now = std::max(now, all_[next].head);
    for (; next < all_.size() && all_[next].head <= now; ++next) {
      there_.push_back(all_[next]);
      there_.back().work *= whole;
      std::push_heap(there_.begin(), there_.end(), behind);
    }
    One &first = there_.front();
    double until = next < all_.size() ? all_[next].head : INFINITY;
    if (now + first.work > until) {
      first.work -= until - now, now = until;
      continue;
    }
    now += first.work;
    longest = std::max(longest, now + first.tail);
    std::pop_heap(there_.begin(), there_.end(), behind);
    there_.pop_back();
  }
  return longest;
}

double StepWork::Data::length(const StepPart &part, const Machine &machine, StepScratch &s, LoadSubsets subsets) const {
  s.forms.assign(part.items.size(), kSpread | kSingle);
  return lengthOfForms(part, machine, s, subsets);
}

/// In a region that is not longer than `until` no operation is in a form that takes longer than the least chains before
/// and behind it leave. True: some form is out; where none is left `forms` is 0.
bool StepWork::Data::dropForms(const StepPart &part, StepScratch &s, double until) const {
  bool less = false;
  for (size_t i = 0; i < part.items.size(); ++i) {
    const StepPrice &price = s.prices[part.items[i].price];
    if (part.items[i].body != kNone || !(price.single > 0))
      continue;
    double room = (until - s.heads[i] - s.tails[i]) * (1 + 1e-9);
    auto drop = [&](uint8_t form, double time) {
      if ((s.forms[i] & form) && time > room)
        s.forms[i] &= static_cast<uint8_t>(~form), less = true;
    };
    drop(kSpread, price.spread);
    drop(kSingle, price.single);
  }
  return less;
}

/// A region is not shorter than the smaller of any time that is tried and its bound if it were no longer than that
/// (destructive bounds: Klein and Scholl, European J. Operational Research 112, 1999). Tried is all that it does one
/// after the other, then halves of what is open.
double StepWork::Data::lengthClosely(const StepPart &part, const Machine &machine, StepScratch &s) const {
  constexpr unsigned kTrials = 8, kRounds = 3;
  constexpr double kTrialFactor = 1 - 1e-4; // other trials come to less
  double plain = length(part, machine, s, LoadSubsets::Every), low = plain, high = 0;
  bool choice = false;
  for (size_t i = 0; i < part.items.size(); ++i) {
    high += s.times[i];
    choice |= part.items[i].body == kNone && s.prices[part.items[i].price].single > 0;
  }
  for (unsigned trial = 0; trial < kTrials && choice && high > low * (1 + 1e-4); ++trial) {
    double until = trial == 0 ? high : (low + high) / 2;
    double found = length(part, machine, s, LoadSubsets::Every);
    for (unsigned round = 0; round < kRounds && found < until && dropForms(part, s, until); ++round)
      found =
          std::count(s.forms.begin(), s.forms.end(), 0) ? until : lengthOfForms(part, machine, s, LoadSubsets::Every);
    low = std::max(low, std::min(found, until));
    if (found < until)
      high = until;
  }
  return std::max(plain, low * kTrialFactor);
}

double StepWork::Data::lengthOfForms(const StepPart &part, const Machine &machine, StepScratch &s,
                                     LoadSubsets subsets) const {
  size_t size = part.items.size(), memories = machine.memories.size(), nCores = machine.cores.size();
  s.times.assign(size, 0), s.heads.assign(size, 0), s.tails.assign(size, 0);
  double chain = 0;
  for (size_t i = 0; i < size; ++i) {
    const StepItem &item = part.items[i];
    if (item.body != kNone) {
      s.times[i] = graph.regions[item.body].count * s.lengths[item.body];
    } else {
      const StepPrice &price = s.prices[item.price];
      s.times[i] = s.forms[i] == kSpread && price.single > 0   ? price.spread
                   : s.forms[i] == kSingle && price.single > 0 ? price.single
                                                               : price.time;
    }
    double head = 0;
    for (uint32_t before : item.before)
      head = std::max(head, s.heads[before] + s.times[before]);
    s.heads[i] = head;
    chain = std::max(chain, head + s.times[i]);
  }
  for (size_t i = size; i-- > 0;)
    for (uint32_t before : part.items[i].before)
      s.tails[before] = std::max(s.tails[before], s.tails[i] + s.times[i]);

  s.loads.resize(nCores + memories);
  for (StepLoad &load : s.loads)
    load.clear();
  std::array<double, 2> &kinds = s.kinds[part.region];
  kinds = {};
  for (size_t i = 0; i < size; ++i) {
    const StepItem &item = part.items[i];
    double head = s.heads[i], tail = s.tails[i];
    if (item.body != kNone) {
      for (size_t r = 0; r < s.loads.size(); ++r)
        if (s.uses[item.body][r])
          s.loads[r].add(s.times[i], head, tail, true);
      for (size_t k = 0; k < 2; ++k)
        kinds[k] += graph.regions[item.body].count * s.kinds[item.body][k];
      continue;
    }
    const StepPrice &price = s.prices[item.price];
    if (price.core >= 0)
      s.loads[price.core].add(workOf(price, s.forms[i], machine), head, tail, price.work >= kMinVisibleWork);
    if (price.kind >= 0)
      kinds[price.kind] += price.ofKind;
    for (uint64_t rest = price.holds; rest; rest &= rest - 1)
      s.loads[__builtin_ctzll(rest)].add(price.time, head, tail, price.time >= kMinVisibleWork);
    const double *transfers = s.transfers.data() + item.price * memories;
    for (size_t m = 0; m < memories; ++m)
      s.loads[nCores + m].add(transfers[m], head, tail, transfers[m] >= kMinVisibleWork);
  }
  double whole = 1 - std::min(1.0, kMinBandwidthFraction * size), longest = chain;
  std::vector<char> &uses = s.uses[part.region];
  uses.assign(s.loads.size(), 0);
  for (size_t r = 0; r < s.loads.size(); ++r) {
    longest = std::max(longest, s.loads[r].length(subsets, r < nCores ? 1 : whole));
    uses[r] = s.loads[r].seen;
  }
  for (size_t c = 0; c < nCores; ++c)
    for (size_t m = 0; m < memories; ++m)
      for (bool byMemory : {false, true})
        if (!byMemory || subsets == LoadSubsets::Every)
          longest = std::max(longest, jointBound(part, machine, c, m, s, subsets, byMemory));
  std::array<double, 2> of = {0, 0};
  for (const Core &core : machine.cores)
    of[0] += core.kind == CoreKind::Tensor, of[1] += core.kind == CoreKind::Vector;
  for (size_t k = 0; k < 2; ++k)
    if (of[k] > 0)
      longest = std::max(longest, kinds[k] / of[k]);
  return longest;
}

/// What runs on a core and moves bytes of a memory excludes what takes all of that memory's bandwidth: the core idles
/// while the latter runs, nor does either run beside a repeat that uses the memory. What runs on one instance of the
/// core counts with its share of the core or, `byMemory`, with that of the memory: either sums up to one at most.
double StepWork::Data::jointBound(const StepPart &part, const Machine &machine, size_t core, size_t memory,
                                  StepScratch &s, LoadSubsets subsets, bool byMemory) const {
  if (memory >= 64)
    return 0;
  bool several = operationsAtOnce(machine.cores[core]) > 1;
  size_t memories = machine.memories.size();
  StepLoad &load = s.joint;
  load.clear();
  double slack = 0, min = INFINITY, whole = 1 - std::min(1.0, kMinBandwidthFraction * part.items.size());
  for (size_t i = 0; i < part.items.size(); ++i) {
    const StepItem &item = part.items[i];
    double time = s.times[i];
    if (item.body != kNone) {
      if (s.uses[item.body][machine.cores.size() + memory])
        load.add(time, s.heads[i], s.tails[i], true);
      continue;
    }
    const StepPrice &price = s.prices[item.price];
    double moved = s.transfers[item.price * memories + memory];
    if (price.fills >> memory & 1) {
      slack = std::max(slack, 2e-12 / time + 2 * kMinBandwidthFraction); // its share after rounding
    } else if (price.core == static_cast<int>(core) || price.holds >> core & 1) {
      if (!(moved > time * 1e-4))
        continue;
      min = std::min(min, moved);
      if (several && !(price.holds >> core & 1)) { // the least of any form
        if (byMemory && price.single > 0)
          time = s.forms[i] == kSpread ? time : std::min(time, moved * whole);
        else
          time = byMemory ? std::min(time, moved * whole) : workOf(price, s.forms[i], machine);
      }
    } else {
      continue;
    }
    load.add(time, s.heads[i], s.tails[i], true);
  }
  // An operation that takes so long that its share is lost in rounding is longer than this.
  return slack > 0 ? std::min(load.length(subsets), min / slack) : 0;
}

} // namespace accord
