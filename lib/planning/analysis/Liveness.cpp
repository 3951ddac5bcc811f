#include "lib/planning/analysis/Liveness.h"
#include "lib/machine/model/Dependences.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <numeric>

namespace accord {

namespace {

/// In between, stashes grow and shrink in so many steps, for the picture.
constexpr int64_t kSteps = 8;
/// Repeats that stash the stacks of repeats inside them are followed iteration by iteration up to
/// so many.
constexpr int64_t kMaxNested = 4096;

/// Memory that several values share one after the other.
struct Storage {
  int64_t bytes = 0;
  Category category = Category::Activations;
  int64_t from = 0, to = 0;
  int64_t touches = 0; ///< how often it was used
};

struct Stack {
  /// Storages of the first and last followed iterations: -1 none that counts, below that a stack
  /// again (of a repeat inside the repeat).
  std::vector<int> first, last;
  struct Run {
    int64_t begin, end; ///< its first iteration, and the one after its last
    int storage;
  };
  bool reverse = false;    ///< the repeat that filled it runs from the last slice to the first
  std::vector<Run> middle; ///< empty if the middle's storages are among those of `first`
};

class Replay {
public:
  Replay(const WorkGraph &graph, const Schedule &schedule)
      : graph_(graph), schedule_(schedule), deps_(Dependences::of(graph)), bound_(graph.values.size(), -1),
        stacks_(graph.values.size()), inputs_(graph.regions.size()), begin_(graph.operations.size()),
        end_(graph.operations.size()), overlapped_(graph.operations.size()) {
    for (ValueId v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].region != kNone && deps_.producer[v] == kNone && deps_.root[v] == v && !deps_.changing[v])
        inputs_[graph.values[v].region].push_back(v);
    for (RegionId r = 0; r < graph.regions.size(); ++r) {
      readSlots(r);
      delay_ = std::max(delay_, delays(r) + overlapping(r));
    }
    ends_ = 2 + 2 * delay_;
  }

  std::vector<Storage> run(int64_t updateStart) {
    region(kMicrobatchRegion, 0);
    region(kUpdateRegion, updateStart);
    return std::move(storages_);
  }

private:
  int64_t lengthOf(RegionId r) const { return schedule_.regions[r].length.value; }

  /// Carried values that an iteration may not make itself: handed on from another argument (through
  /// an inner repeat, too) or from outside. So many iterations later than others they are in their
  /// steady state.
  int64_t delays(RegionId r) const {
    int64_t handed = 0;
    for (const Region::Carried &c : graph_.regions[r].carried) {
      ValueId root = deps_.root[c.yielded];
      OperationId maker = deps_.producer[root];
      bool made = maker != kNone && graph_.operations[maker].region == r && graph_.operations[maker].body == kNone;
      handed += root != c.argument && !made;
    }
    return std::min<int64_t>(handed, 32);
  }

  /// Iterations that start while one runs.
  int64_t overlapping(RegionId r) const {
    const RegionSchedule &region = schedule_.regions[r];
    return region.overhang.value > 0 ? (region.overhang.value + region.length.value - 1) / region.length.value : 0;
  }

  /// What surrounds a repeat is constant during the repeat: slots that overlap one count for all of
  /// it.
  void readSlots(RegionId r) {
    const std::vector<Slot> &slots = schedule_.regions[r].slots;
    std::vector<OperationId> repeats;
    for (const Slot &slot : slots) {
      begin_[slot.operation] = slot.start.value;
      end_[slot.operation] = slot.start.value + slot.duration.value;
      if (graph_.operations[slot.operation].body != kNone)
        repeats.push_back(slot.operation);
    }
    for (OperationId repeat : repeats) {
      int64_t from = begin_[repeat], to = end_[repeat];
      for (const Slot &slot : slots) {
        OperationId id = slot.operation;
        if (id == repeat || slot.start.value >= to || slot.start.value + slot.duration.value <= from)
          continue;
        if (graph_.operations[id].body != kNone) {
          overlapped_[id] = overlapped_[repeat] = true;
        } else {
          begin_[id] = std::min(begin_[id], from);
          end_[id] = std::max(end_[id], to);
        }
      }
    }
  }

  bool counts(ValueId v) const {
    Category c = graph_.values[v].category;
    return graph_.values[v].region != kNone && c != Category::Weights && c != Category::Gradients &&
           c != Category::OptimizerStates;
  }
  int allocate(int64_t bytes, Category category, int64_t at) {
    at = smearFrom_ >= 0 ? smearFrom_ : at;
    storages_.push_back({bytes, category, at, at, 0});
    return storages_.size() - 1;
  }
  /// Calls `visit` for each storage that a number stands for, or that a stack holds, with or without its middle.
  void each(int storage, bool middle, llvm::function_ref<void(int)> visit) const {
    if (storage >= 0)
      visit(storage);
    else if (storage < -1)
      each(inner_[-2 - storage], middle, visit);
  }
  void each(const Stack &stack, bool middle, llvm::function_ref<void(int)> visit) const {
    for (const auto *ends : {&stack.first, &stack.last})
      for (int storage : *ends)
        each(storage, middle, visit);
    for (const Stack::Run &run : stack.middle)
      if (middle)
        each(run.storage, middle, visit);
  }
  void touch(int storage, int64_t until) {
    each(storage, true, [&](int one) {
      storages_[one].to = std::max(storages_[one].to, smearFrom_ >= 0 ? smearTo_ : until);
      ++storages_[one].touches;
    });
  }
  /// Of a stack: a number for it as it is now.
  int storageOf(ValueId v) {
    const Stack &stack = stacks_[deps_.root[v]];
    if (stack.first.empty())
      return bound_[deps_.root[v]];
    // Of a repeat that runs once: its only slice, so that it is known for the storage that it is.
    if (stack.first.size() == 1 && stack.first[0] >= -1 && stack.last.empty() && stack.middle.empty())
      return stack.first[0];
    inner_.push_back(stack);
    return -1 - std::ssize(inner_);
  }
  /// What `storageOf` gave is what a value stands for from now on.
  void bind(ValueId v, int storage) {
    stacks_[v] = storage < -1 ? inner_[-2 - storage] : Stack{};
    bound_[v] = std::max(storage, -1);
  }
  int64_t bytesOf(int storage) const {
    int64_t sum = 0;
    each(storage, true, [&](int one) { sum += storages_[one].bytes; });
    return sum;
  }
  int64_t touchesOf(int storage) const {
    int64_t sum = 0;
    each(storage, false, [&](int one) { sum += storages_[one].touches; });
    return sum;
  }
  void use(ValueId v, int64_t until) {
    touch(bound_[deps_.root[v]], until);
    each(stacks_[deps_.root[v]], true, [&](int storage) { touch(storage, until); });
  }

  void region(RegionId r, int64_t at) {
    for (ValueId v : inputs_[r])
      if (counts(v))
        bound_[v] = allocate(graph_.values[v].bytes, graph_.values[v].category, at);
    for (OperationId id : graph_.regions[r].operations) {
      const Operation &op = graph_.operations[id];
      int64_t from = at + begin_[id], to = at + end_[id];
      if (op.body != kNone) {
        repeat(id, from, to);
        continue;
      }
      bool view = op.core == CoreKind::None &&
                  std::all_of(op.results.begin(), op.results.end(), [&](ValueId v) { return deps_.root[v] != v; });
      if (view)
        continue;
      for (ValueId v : op.operands)
        use(v, to);
      for (ValueId v : op.results) {
        if (deps_.root[v] != v)
          use(v, to);
        else if (counts(v))
          touch(bound_[v] = allocate(graph_.values[v].bytes, graph_.values[v].category, from), to);
      }
    }
  }

  void repeat(OperationId id, int64_t from, int64_t to) {
    const Region &body = graph_.regions[graph_.operations[id].body];
    RegionId r = graph_.operations[id].body;
    int64_t count = body.count, length = lengthOf(r);
    bool outermost = overlapped_[id] && smearFrom_ < 0;
    if (outermost) {
      smearFrom_ = from;
      smearTo_ = to;
    }
    for (const Region::Slice &s : body.stashed) {
      stacks_[s.stacked] = {};
      stacks_[s.stacked].reverse = body.reverse;
    }
    std::vector<int> carried;
    for (const Region::Carried &c : body.carried)
      carried.push_back(storageOf(c.initial));
    bool nested = false;
    for (const auto *slices : {&body.stashed, &body.unstashed})
      for (const Region::Slice &s : *slices)
        nested |= graph_.values[s.inside].slices > 1;
    bool many = count > 2 * ends_, skips = many && (!nested || count > kMaxNested);
    std::vector<int64_t> before;
    if (many)
      before = touchesOf(body);
    for (int64_t i = 0; i < count; ++i) {
      if (skips && i == ends_) {
        skip(body, from, length);
        i = count - ends_;
      }
      for (size_t k = 0; k < carried.size(); ++k)
        bind(body.carried[k].argument, carried[k]);
      for (const Region::Slice &s : body.unstashed)
        bind(s.inside, slice(body, s, i));
      region(r, from + i * length);
      if (many && i == ends_ - 1) {
        std::vector<int64_t> after = touchesOf(body);
        for (size_t k = 0; k < after.size(); ++k)
          if (after[k] > before[k])
            useMiddle(body, body.unstashed[k], from, schedule_.regions[r], skips);
      }
      for (size_t k = 0; k < carried.size(); ++k)
        carried[k] = storageOf(body.carried[k].yielded);
      for (const Region::Slice &s : body.stashed) {
        int storage = storageOf(s.inside);
        Stack &stack = stacks_[s.stacked];
        (i < ends_ ? stack.first : stack.last).push_back(storage);
      }
    }
    for (size_t k = 0; k < carried.size(); ++k)
      bind(body.carried[k].result, carried[k]);
    if (outermost)
      smearFrom_ = -1;
  }

  /// What the iterations between those at the ends use of a stack as those at the ends do. Whoever
  /// filled it may have been followed where this repeat is not, and the other way round.
  void useMiddle(const Region &body, const Region::Slice &s, int64_t from, const RegionSchedule &schedule, bool skips) {
    int64_t length = schedule.length.value, iteration = schedule.iteration().value;
    const std::vector<Stack::Run> &middle = stacks_[deps_.root[s.stacked]].middle;
    for (const Stack::Run &run : middle)
      touch(run.storage,
            from + (newestFirst(body, s) ? body.count - run.begin : run.end) * length + schedule.overhang.value);
    if (!skips || !middle.empty())
      return;
    int last = slice(body, s, ends_ - 1);
    int64_t start = from + (ends_ - 1) * length, used = iteration;
    if (last >= 0 && smearFrom_ < 0)
      used = std::clamp<int64_t>(storages_[last].to - start, 0, iteration);
    for (int64_t i = ends_; i < body.count - ends_; ++i)
      touch(slice(body, s, i), from + i * length + used);
  }

  /// By unstashed slice of a repeat's body: how often slices of its first iterations were used that
  /// are neither carried results of the repeat that made them nor read after those iterations.
  std::vector<int64_t> touchesOf(const Region &body) const {
    std::vector<int64_t> touches;
    for (const Region::Slice &s : body.unstashed) {
      touches.push_back(0);
      for (int64_t i = delay_ + 1; i < ends_; ++i)
        touches.back() += touchesOf(slice(body, s, i));
    }
    return touches;
  }

  /// Iterations ends_ .. count-ends_-1 at once: what they stash, in a few steps. A step comes at
  /// its end, when the slices are there, and goes at its end, when they are gone. Steps lie alike
  /// from both sides, so that a repeat that takes slices and stashes others does both at a time.
  void skip(const Region &body, int64_t from, int64_t length) {
    int64_t between = body.count - 2 * ends_, steps = between <= kSteps ? between : kSteps - between % 2;
    auto boundary = [&](int64_t k) {
      return ends_ + (2 * k <= steps ? between * k / steps : between - between * (steps - k) / steps);
    };
    for (size_t k = 0; k < body.stashed.size(); ++k) {
      Stack &stack = stacks_[body.stashed[k].stacked];
      if (recurs(stack) || shares(body, k))
        continue;
      int one = stack.first[ends_ - 1];
      Category category = graph_.values[body.stashed[k].inside].category;
      if (one >= 0)
        category = storages_[one].category;
      for (int64_t step = 0; step < steps; ++step) {
        int64_t begin = boundary(step), end = boundary(step + 1);
        stack.middle.push_back({begin, end, allocate(bytesOf(one) * (end - begin), category, from + end * length)});
      }
    }
  }

  /// Its slices are no storages, or storages that come again: the first iterations hold them all.
  bool recurs(const Stack &stack) const {
    int one = stack.first[ends_ - 1];
    return one == -1 || std::count(stack.first.begin(), stack.first.begin() + ends_, one) > 1;
  }

  /// Slices that are the same storage are counted once: of another stack of this repeat, perhaps
  /// some iterations later (what an iteration yields and stashes is the next one's argument, which
  /// may be stashed, too), or of a stack that this repeat takes apart.
  bool shares(const Region &body, size_t k) {
    Stack &stack = stacks_[body.stashed[k].stacked];
    int one = stack.first[ends_ - 1];
    for (size_t earlier = 0; earlier < k; ++earlier) {
      const Stack &other = stacks_[body.stashed[earlier].stacked];
      if (recurs(other))
        continue;
      if (llvm::is_contained(other.first, one) || llvm::is_contained(stack.first, other.first[ends_ - 1])) {
        stack.middle = other.middle;
        return true;
      }
    }
    for (const Region::Slice &s : body.unstashed) {
      const Stack &other = stacks_[deps_.root[s.stacked]];
      bool newest = newestFirst(body, s);
      if (!llvm::is_contained(newest ? other.last : other.first, one))
        continue;
      if (!newest)
        stack.middle = other.middle;
      else
        for (auto run = other.middle.rbegin(); run != other.middle.rend(); ++run)
          stack.middle.push_back({body.count - run->end, body.count - run->begin, run->storage});
      return true;
    }
    return false;
  }

  /// Whether a repeat takes the slices of a stack in the opposite order to which they were made.
  bool newestFirst(const Region &body, const Region::Slice &s) const {
    return stacks_[deps_.root[s.stacked]].reverse != body.reverse;
  }
  /// Storage of the slice that the k-th execution of a body takes, if it is followed; all of a
  /// stack that was not filled by a repeat (a tensor that is taken apart).
  int slice(const Region &body, const Region::Slice &s, int64_t k) const {
    const Stack &stack = stacks_[deps_.root[s.stacked]];
    if (stack.first.empty())
      return bound_[deps_.root[s.stacked]];
    int64_t count = body.count, index = newestFirst(body, s) ? count - 1 - k : k;
    size_t fromEnd = count - 1 - index;
    if (index < std::ssize(stack.first))
      return stack.first[index];
    return fromEnd < stack.last.size() ? stack.last[stack.last.size() - 1 - fromEnd] : -1;
  }

  const WorkGraph &graph_;
  const Schedule &schedule_;
  Dependences deps_;
  std::vector<int> bound_; ///< by ValueId (a root): the storage it stands for now
  std::vector<Stack> stacks_;
  std::vector<Stack> inner_;                 ///< slices that are stacks
  std::vector<std::vector<ValueId>> inputs_; ///< by RegionId: values that are there from the start
  std::vector<int64_t> begin_, end_;         ///< by OperationId: in its region
  /// Iterations of a long repeat that are followed at each end; between them memory is linear.
  int64_t ends_ = 2;
  int64_t delay_ = 0;            ///< most iterations that a storage is handed on from argument to argument
  std::vector<bool> overlapped_; ///< by OperationId of a repeat: another one runs beside it
  std::vector<Storage> storages_;
  int64_t smearFrom_ = -1,
          smearTo_ = 0; ///< inside overlapping repeats everything counts for the whole repeat
};

int64_t total(const std::array<int64_t, kCategories> &bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

/// Keeps of each stretch of points the highest.
std::vector<MemoryPoint> downsample(std::vector<MemoryPoint> points, size_t max) {
  if (points.size() <= max || max == 0)
    return points;
  std::vector<MemoryPoint> sampled;
  for (size_t k = 0; k < max; ++k) {
    auto begin = std::next(points.begin(), points.size() * k / max),
         end = std::next(points.begin(), points.size() * (k + 1) / max);
    sampled.push_back(*std::max_element(
        begin, end, [](const MemoryPoint &a, const MemoryPoint &b) { return total(a.bytes) < total(b.bytes); }));
  }
  return sampled;
}

} // namespace

MemoryUse liveness(const WorkGraph &graph, const Schedule &schedule, const LivenessOptions &options) {
  int64_t micro = schedule.regions[kMicrobatchRegion].length.value;
  int64_t update = micro * graph.microbatches;
  std::vector<Storage> storages = Replay(graph, schedule).run(update);

  struct Event {
    int64_t time, bytes;
    Category category;
  };
  std::vector<Event> begins, ends; // nearly in order already
  for (const Storage &s : storages)
    if (s.to > s.from && s.bytes > 0) {
      begins.push_back({s.from, s.bytes, s.category});
      ends.push_back({s.to, -s.bytes, s.category});
    }
  auto earlier = [](const Event &a, const Event &b) { return a.time < b.time; };
  for (std::vector<Event> *list : {&begins, &ends})
    if (!std::is_sorted(list->begin(), list->end(), earlier))
      std::sort(list->begin(), list->end(), earlier);
  std::vector<Event> events(begins.size() + ends.size());
  std::merge(begins.begin(), begins.end(), ends.begin(), ends.end(), events.begin(), earlier);

  MemoryUse use;
  MemoryPoint now;
  for (const StaticTensor &r : graph.staticTensors)
    now.bytes[static_cast<unsigned>(r.category)] += r.bytes;
  std::vector<MemoryPoint> points{now};
  use.peak = total(now.bytes);
  use.atPeak = now.bytes;
  for (size_t i = 0; i < events.size();) {
    now.time = {events[i].time};
    for (; i < events.size() && events[i].time == now.time.value; ++i)
      now.bytes[static_cast<unsigned>(events[i].category)] += events[i].bytes;
    if (points.back().time == now.time)
      points.back() = now;
    else
      points.push_back(now);
    if (int64_t sum = total(now.bytes); sum > use.peak) {
      use.peak = sum;
      use.atPeak = now.bytes;
      use.when = now.time;
    }
  }

  // The picture shows the first and the last micro-batch and the update.
  auto isUpdate = [&](const MemoryPoint &p) { return p.time.value >= update; };
  auto middle = std::find_if(points.begin(), points.end(), isUpdate);
  std::vector<MemoryPoint> first(points.begin(), middle), after(middle, points.end());
  bool twice = graph.microbatches > 1;
  unsigned share = std::max(1u, options.points / (twice ? 3 : 2));
  first = downsample(std::move(first), share);
  use.timeline = first;
  if (twice)
    for (MemoryPoint p : first) {
      p.time = {p.time.value + micro * (graph.microbatches - 1)};
      use.timeline.push_back(p);
    }
  after = downsample(std::move(after), share);
  use.timeline.insert(use.timeline.end(), after.begin(), after.end());
  return use;
}

} // namespace accord
