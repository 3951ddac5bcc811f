#include "lib/microarchitecture/search/MappingSearch.h"
#include "lib/microarchitecture/search/CycleEstimate.h"
#include "lib/microarchitecture/search/ScheduleBound.h"
#include "lib/microarchitecture/search/ScheduleText.h"
#include "lib/search/BestFirstQueue.h"
#include "lib/support/SplitMix.h"
#include "lib/support/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"
#include <fmt/format.h>
#include <set>

namespace accord::microarchitecture {
namespace {

using AnySchedule = std::variant<Schedule, RowSchedule>;
constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr __int128 kTimedAtOnce = 20'000; // instructions of a program that is not estimated
constexpr double kHopeless = 1.01;        // times the best: an estimate from which on a schedule is timed last
constexpr int64_t kDrawn = 400;           // schedules drawn at random, a tenth of which is estimated
constexpr size_t kStarts = 3;             // of local search
constexpr int kSteps = 3;                 // to a neighbour drawn at random, before local search begins again
constexpr int kTurns = 12;                // of these without a better schedule
using ProgramHash = std::pair<uint64_t, uint64_t>;

/// All that a program does, without names. Two that differ have different hashes but for one case in 2^128.
ProgramHash hashOf(const InstructionProgram &program) {
  std::vector<int64_t> all;
  auto registers = [&](const std::vector<Register> &of) {
    all.push_back(int64_t(of.size()));
    for (const Register &r : of)
      all.push_back(int64_t(r.file) << 32 | r.number);
  };
  auto visit = [&](auto &self, const Body &body) -> void {
    all.push_back(int64_t(body.size()));
    for (const Item &item : body) {
      if (item.loop != kNone) {
        all.push_back(-1), all.push_back(program.loops[item.loop].count);
        self(self, program.loops[item.loop].body);
        continue;
      }
      if (item.isFence()) {
        all.push_back(kFence);
        continue;
      }
      const Instruction &is = program.instructions[item.instruction];
      all.push_back(is.opcode);
      registers(is.reads), registers(is.writes);
      for (const MemoryOperand &operand : is.memory) {
        all.insert(all.end(), {operand.storage, operand.address.base, operand.bytes});
        size_t depth = operand.address.strides.size();
        while (depth > 0 && operand.address.strides[depth - 1] == 0)
          --depth;
        all.push_back(int64_t(depth));
        all.insert(all.end(), operand.address.strides.begin(), operand.address.strides.begin() + int64_t(depth));
      }
      all.insert(all.end(), is.immediates.begin(), is.immediates.end());
    }
  };
  visit(visit, program.body);
  const auto *bytes = reinterpret_cast<const uint8_t *>(all.data());
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits({bytes, all.size() * sizeof(int64_t)});
  return {hash.low64, hash.high64};
}

/// Emits, bounds and times schedules, and keeps the best.
class Valuation {
public:
  Valuation(const KernelProblem &problem, const Microarchitecture &machine, const MappingLimits &limits)
      : problem(problem), machine(machine), limits(limits), bounds(machine) {}

  struct Emitted {
    MappedKernel kernel;
    Cycles bound = 0;
  };

  Result<Emitted> emit(const AnySchedule &schedule) {
    ++kernels;
    auto kernel = std::holds_alternative<Contraction>(problem)
                      ? contractionKernel(std::get<Contraction>(problem), std::get<Schedule>(schedule))
                      : rowKernel(std::get<RowOperation>(problem), std::get<RowSchedule>(schedule));
    if (!kernel)
      return kernel.takeError();
    auto mapped = emitKernel(*kernel, machine, limits.emit);
    if (!mapped)
      return mapped.takeError();
    Emitted made;
    made.bound = bounds.ofProgram(mapped->program);
    made.kernel = std::move(*mapped);
    return made;
  }

  /// Times a kernel, and keeps it if it is the best. Nothing: it was not to be timed within the limits. A program that
  /// was timed before is not timed again.
  Result<Cycles> time(Emitted emitted, const AnySchedule &schedule, bool isFirst) {
    const ProgramHash hash = hashOf(emitted.kernel.program);
    if (auto before = timed.find(hash); before != timed.end()) {
      ++result.repeated;
      return before->second;
    }
    TimingLimits timing = limits.timing;
    timing.waits = false;
    if (!isFirst)
      timing.evaluated = std::min(timing.evaluated, std::max<int64_t>(limits.instructions - result.instructions, 1));
    auto found = timeProgram(machine, emitted.kernel.program, timing);
    ++result.valued;
    if (!found) {
      result.instructions += timing.evaluated;
      return found.takeError();
    }
    result.instructions += found->evaluated;
    const Cycles cycles = found->cycles;
    timed.emplace(hash, cycles);
    if (!hasBest || cycles < result.timing.cycles) {
      hasBest = true;
      result.schedule = schedule, result.kernel = std::move(emitted.kernel), result.timing = std::move(*found);
      if (limits.progress)
        limits.progress({"mapping", double(cycles), double(result.bound)});
    }
    return cycles;
  }

  /// Its cycles, or about how many where it is long; keeps it if it was timed and is the best.
  double about(Emitted emitted, const AnySchedule &schedule) {
    if (executedInstructions(emitted.kernel.program) > kTimedAtOnce) {
      const CycleEstimate made = estimateCycles(machine, emitted.kernel.program);
      result.instructions += made.evaluated;
      return made.cycles > 0 ? made.cycles : kUnknown; // no loop of it was to be timed
    }
    auto cycles = time(std::move(emitted), schedule, false);
    return cycles ? double(*cycles) : kUnknown;
  }

  bool ended() const {
    return limits.stopped() || result.valued >= limits.schedules || result.instructions >= limits.instructions ||
           kernels >= limits.kernels;
  }
  Cycles best() const { return hasBest ? result.timing.cycles : INT64_MAX; }
  bool isEnough(Cycles bound) const {
    return hasBest && (bound >= best() || double(best() - bound) <= limits.gap * double(best()));
  }

  Result<MappingResult> finish(Cycles open) {
    result.bound = std::min(open, result.timing.cycles), result.proven = result.bound == result.timing.cycles;
    if (limits.timing.waits) {
      auto again = timeProgram(machine, result.kernel.program, limits.timing);
      if (!again)
        return again.takeError();
      result.timing = std::move(*again);
    }
    return std::move(result);
  }

  MappingResult result;
  int64_t kernels = 0;
  bool hasBest = false;

private:
  const KernelProblem &problem;
  const Microarchitecture &machine;
  const MappingLimits &limits;
  WorkBound bounds;
  std::map<ProgramHash, Cycles> timed;
};

class ContractionSearch {
public:
  ContractionSearch(const KernelProblem &problem, const Microarchitecture &machine, const MappingLimits &limits)
      : machine(machine), limits(limits), space(std::get<Contraction>(problem), machine, limits.space),
        bounds(space, machine), value(problem, machine, limits) {}

  Result<MappingResult> run() {
    std::optional<Error> wrong;
    const Schedule plain = plainSchedule(space.of(), machine);
    if (auto emitted = value.emit(plain); !emitted)
      wrong = emitted.takeError();
    else if (auto cycles = value.time(std::move(*emitted), plain, true); !cycles)
      wrong = cycles.takeError();
    climbAll(space.pointOf(plain));
    const Cycles open = bestFirst();
    value.result.points = points;
    if (!value.hasBest)
      return wrong ? std::move(*wrong)
                   : Error{Code::NotMapped, fmt::format("'{}': no schedule was found", space.of().name), {}};
    return value.finish(open);
  }

private:
  struct Node {
    SchedulePoint point;
    PointBound bound;
    bool emitted = false; ///< its bound is that of its program
    int64_t serial = 0;
  };
  struct Later {
    bool operator()(const Node &a, const Node &b) const {
      return std::tuple(a.bound.cycles, a.bound.pressure, a.serial) >
             std::tuple(b.bound.cycles, b.bound.pressure, b.serial);
    }
  };

  Node nodeOf(SchedulePoint point) {
    ++points;
    Node made;
    made.bound = bounds.of(point), made.point = std::move(point), made.serial = points;
    return made;
  }

  /// About its cycles; unknown where it is refused, or its bounds are enough.
  double scoreOf(const SchedulePoint &point) {
    const Schedule schedule = space.scheduleOf(point);
    auto emitted = value.emit(schedule);
    return !emitted || emitted->bound >= value.best() ? kUnknown : value.about(std::move(*emitted), schedule);
  }
  void timePoint(const SchedulePoint &point) {
    const Schedule schedule = space.scheduleOf(point);
    if (auto emitted = value.emit(schedule); emitted && emitted->bound < value.best())
      (void)value.time(std::move(*emitted), schedule, false);
  }

  /// From a point on the choice with the smallest bound, one row after the other.
  std::optional<SchedulePoint> dive(SchedulePoint point) {
    while (auto choices = space.children(point)) {
      std::optional<Node> first;
      for (SchedulePoint &choice : *choices)
        if (Node node = nodeOf(std::move(choice)); !first || Later()(*first, node))
          first = std::move(node);
      if (!first)
        return std::nullopt;
      point = std::move(first->point);
    }
    return point;
  }

  struct Start {
    SchedulePoint point;
    double score = kUnknown;
  };
  /// Local search from the plain schedule, and from what the smallest bounds lead to with each shape.
  void climbAll(std::optional<SchedulePoint> plain) {
    std::vector<Start> starts;
    auto add = [&](SchedulePoint point) {
      if (climbEnds())
        return;
      const double score = scoreOf(point);
      starts.push_back({std::move(point), score});
    };
    if (plain)
      add(std::move(*plain));
    if (auto shapes = space.children(space.root()))
      for (SchedulePoint &shape : *shapes)
        if (auto point = dive(std::move(shape)))
          add(std::move(*point));
    for (Node &node : drawn())
      add(std::move(node.point));
    stableSort(starts, [](const Start &a, const Start &b) { return a.score < b.score; });
    starts.resize(std::min(starts.size(), kStarts));
    Start best;
    auto keep = [&](Start &start) {
      climb(start);
      if (start.score == kUnknown || value.ended())
        return;
      timePoint(start.point);
      if (start.score < best.score)
        best = std::move(start);
    };
    for (Start &start : starts)
      keep(start);
    // From near the best again (H. Lourenco, O. Martin, T. Stuetzle, Iterated Local Search, 2003).
    SplitMix random(2);
    for (int turn = 0; turn < kTurns && best.score != kUnknown && !climbEnds(); ++turn) {
      Start next{best.point};
      for (int step = 0; step < kSteps; ++step)
        if (auto near = space.neighbours(next.point); !near.empty())
          next.point = std::move(near[random.below(near.size())]);
      next.score = scoreOf(next.point);
      const double before = best.score;
      keep(next);
      if (best.score < before)
        turn = -1;
    }
  }
  /// Of schedules drawn at random, those with the smallest bounds.
  std::vector<Node> drawn() {
    SplitMix random(1);
    std::vector<Node> all;
    for (int64_t i = 0; i < kDrawn; ++i) {
      SchedulePoint point = space.root();
      bool isWhole = true;
      while (auto choices = space.children(point)) {
        if (isWhole = !choices->empty(); !isWhole)
          break;
        point = std::move((*choices)[random.below(choices->size())]);
      }
      if (isWhole)
        all.push_back(nodeOf(std::move(point)));
    }
    std::sort(all.begin(), all.end(), [](const Node &a, const Node &b) { return Later()(b, a); });
    all.resize(std::min<size_t>(all.size(), size_t(std::min(kDrawn, limits.kernels) / 10)));
    return all;
  }
  bool climbEnds() const {
    return value.ended() || value.kernels * 3 >= limits.kernels * 2 || value.result.valued * 2 >= limits.schedules ||
           value.result.instructions * 3 >= limits.instructions * 2;
  }
  /// To a neighbour for as long as one is better.
  void climb(Start &at) {
    for (bool moved = true; moved;) {
      moved = false;
      std::vector<Node> near;
      for (SchedulePoint &point : space.neighbours(at.point))
        if (seen.emplace(point.shape, point.block, point.step, point.order, point.ahead).second)
          if (Node node = nodeOf(std::move(point)); double(node.bound.cycles) < at.score)
            near.push_back(std::move(node));
      std::sort(near.begin(), near.end(), [](const Node &a, const Node &b) { return Later()(b, a); });
      for (Node &node : near) {
        if (climbEnds())
          return;
        if (const double score = scoreOf(node.point); score < at.score) {
          at = {std::move(node.point), score}, moved = true;
          break;
        }
      }
    }
  }

  /// The smallest bound of what is left.
  Cycles bestFirst() {
    if (auto shapes = space.children(space.root()))
      for (SchedulePoint &point : *shapes)
        push(nodeOf(std::move(point)));
    while (!value.isEnough(left())) {
      if (value.ended() || points >= limits.points)
        break;
      if (open.empty() && later.empty())
        break; // what is left was not to be timed
      // What seems to be no better is timed when nothing else is left.
      const bool isLater = open.empty();
      Node node = isLater ? later.pop() : open.pop();
      if (auto choices = space.children(node.point)) {
        for (SchedulePoint &choice : *choices) {
          Node next = nodeOf(std::move(choice));
          next.bound.cycles = std::max(next.bound.cycles, node.bound.cycles);
          push(std::move(next));
        }
        continue;
      }
      if (node.bound.cycles < value.best())
        complete(std::move(node), isLater);
    }
    return left();
  }
  void push(Node node) {
    if (node.bound.cycles < value.best())
      open.push(std::move(node));
  }
  Cycles left() const {
    Cycles bound = closed;
    for (const auto *queue : {&open, &later})
      if (!queue->empty())
        bound = std::min(bound, queue->first().bound.cycles);
    return bound;
  }

  /// One schedule: its program is bounded, then estimated, then timed.
  void complete(Node node, bool isLater) {
    const Schedule schedule = space.scheduleOf(node.point);
    auto emitted = value.emit(schedule);
    if (!emitted) {
      ++value.result.refused;
      return;
    }
    if (!node.emitted) {
      node.emitted = true, node.bound.cycles = std::max(node.bound.cycles, emitted->bound);
      if (node.bound.cycles >= value.best()) {
        ++value.result.cut;
        return;
      }
      if (!open.empty() && Later()(node, open.first()))
        return push(std::move(node));
    }
    if (!isLater && executedInstructions(emitted->kernel.program) > kTimedAtOnce &&
        value.about(*emitted, schedule) > kHopeless * double(value.best()))
      return later.push(std::move(node));
    if (!value.time(std::move(*emitted), schedule, false))
      closed = std::min(closed, node.bound.cycles);
  }

  const Microarchitecture &machine;
  const MappingLimits &limits;
  ScheduleSpace space;
  ScheduleBound bounds;
  Valuation value;
  std::set<std::tuple<Index, std::vector<int64_t>, std::vector<int64_t>, std::vector<Index>, int64_t>>
      seen; ///< by local search
  BestFirstQueue<Node, Later> open{Later{}}, later{Later{}};
  Cycles closed = INT64_MAX; ///< bound of schedules that were not to be timed
  int64_t points = 0;
};

class RowSearch {
public:
  RowSearch(const KernelProblem &problem, const Microarchitecture &machine, const MappingLimits &limits)
      : operation(std::get<RowOperation>(problem)), machine(machine), limits(limits), value(problem, machine, limits) {}

  Result<MappingResult> run() {
    const RowSchedule plain = plainRowSchedule(operation, machine);
    auto emitted = value.emit(plain);
    if (!emitted)
      return emitted.takeError();
    if (auto cycles = value.time(std::move(*emitted), plain, true); !cycles)
      return cycles.takeError();
    struct Left {
      Cycles bound;
      size_t number;
    };
    std::vector<Left> left;
    const std::vector<RowSchedule> all = schedules();
    for (size_t i = 0; i < all.size(); ++i) {
      if (limits.stopped() || value.kernels >= limits.kernels) {
        left.push_back({0, i}); // not looked at
        continue;
      }
      ++value.result.points;
      if (auto made = value.emit(all[i]); !made)
        ++value.result.refused;
      else if (made->bound >= value.best())
        ++value.result.cut;
      else
        left.push_back({made->bound, i});
    }
    std::sort(left.begin(), left.end(),
              [](const Left &a, const Left &b) { return std::pair(a.bound, a.number) < std::pair(b.bound, b.number); });
    Cycles open = INT64_MAX;
    for (const Left &one : left) {
      if (value.isEnough(one.bound) || value.ended()) {
        open = std::min(open, one.bound);
        break;
      }
      auto made = value.emit(all[one.number]);
      if (made && !value.time(std::move(*made), all[one.number], false))
        open = std::min(open, one.bound);
    }
    return value.finish(open);
  }

private:
  /// Loops that lanes go along, lanes, and unrollings of the innermost loop: up to 16 all, then its divisors.
  std::vector<RowSchedule> schedules() const {
    std::set<int32_t> lanes{1};
    for (const Opcode &opcode : machine.opcodes)
      if (opcode.role.does == Role::Load && !opcode.role.isTile())
        lanes.insert(opcode.role.lanes);
    std::vector<RowSchedule> all;
    const Index loops = Index(operation.loops.size());
    const int64_t last = loops > 0 ? std::max<int64_t>(operation.loops.back().extent, 1) : 1;
    for (int32_t count : lanes)
      for (Index l = 0; l < (count == 1 ? 1 : loops); ++l) {
        const RowSchedule shape{count == 1 ? kNone : l, count, 1};
        const int64_t iterations = l + 1 == loops && count > 1 ? (last + count - 1) / count : last;
        for (int64_t unroll = 1; unroll <= std::min<int64_t>(iterations, 64); ++unroll)
          if (unroll <= 16 || iterations % unroll == 0)
            all.push_back({shape.vectorLoop, shape.lanes, unroll});
      }
    return all;
  }

  const RowOperation &operation;
  const Microarchitecture &machine;
  const MappingLimits &limits;
  Valuation value;
};

} // namespace

Result<MappingResult> searchMapping(const KernelProblem &problem, const Microarchitecture &machine,
                                    const MappingLimits &limits) {
  if (std::holds_alternative<Contraction>(problem))
    return ContractionSearch(problem, machine, limits).run();
  return RowSearch(problem, machine, limits).run();
}

std::string describe(const MappingResult &result, const KernelProblem &problem) {
  const std::string schedule =
      std::holds_alternative<Contraction>(problem)
          ? printSchedule(std::get<Schedule>(result.schedule), std::get<Contraction>(problem))
          : printSchedule(std::get<RowSchedule>(result.schedule), std::get<RowOperation>(problem));
  const std::string bound =
      result.proven ? "no schedule of its space takes fewer"
                    : fmt::format("none takes fewer than {} (gap {:.1f} %)", result.bound, 100 * result.gap());
  return fmt::format("{} cycles; {}; {} schedules timed, {} bounded\n{}", result.timing.cycles, bound, result.valued,
                     result.points, schedule);
}

} // namespace accord::microarchitecture
