// One configuration with its number of groups: what its stages take at least, how these bounds
// combine, and the search for its best plan.
#pragma once
#include "lib/placement/evaluate/Judge.h"
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/solve/PlaceEvenProof.h"
#include "lib/placement/solve/PlaceKeeps.h"
#include "lib/placement/solve/PlaceRates.h"
#include <atomic>
#include <cmath>
#include <functional>
#include <map>

namespace accord::placing {

/// Of which micro-batches, schedule, chunks and forms; the groups are `fewest` to `most`.
struct Configuration {
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t microbatches = 1, chunks = 1, fewest = 1, most = 1;
  std::vector<Id> forms; ///< that groups may have; if `each`, each of them in some group
  bool each = false;
  double bound = 0;  ///< of the value
  unsigned step = 0; ///< what was done for it so far
};

/// What all configurations share.
struct Answer {
  std::optional<Placement> plan;
  PlacementWorth worth;
  double value = INFINITY;
  double open = INFINITY; ///< least bound of what was left without having been searched
  double gap = 0;
  uint64_t examined = 0, pruned = 0;
  int64_t budget = 0; ///< work left
  const std::atomic<bool> *stop = nullptr;
  std::function<void(const Placement &, const PlacementWorth &)> seen; ///< each plan judged
  EvenProvedOf proved;

  /// What a plan must be worth less than to be of use.
  double goal() const {
    return std::isinf(value) || gap <= 0 ? value : value - gap * std::abs(value);
  }
  bool over() const { return budget <= 0 || (stop && stop->load(std::memory_order_relaxed)); }
  /// Whether something of this bound is no use; if so, it is noted as left.
  bool useless(double bound) {
    if (bound < goal())
      return false;
    leave(bound);
    return true;
  }
  void leave(double bound) { open = std::min(open, bound); }
};

/// A stage's times, none of them more than in any plan.
struct StageBound {
  int64_t forward = 0, backward = 0, weight = 0, finish = 0, send = 0;
  int64_t work() const { return forward + backward + weight; }
};

/// How long a suffix of the pipeline takes, from when its first stage may begin: until its last
/// gradient leaves it, and until all of it is finished. Neither is more than it really is:
/// - a group runs all passes of its m micro-batches: w = F + B + W each;
/// - where each stage waits for the one before it, the suffix behind a stage begins no earlier than
///   after the stage's first forward pass, and its last gradient is followed by the stage's last
///   backward pass. Neither needs equal stages, nor an order of the passes between.
/// - Of ZeroBubble, at most `held` weight gradients are left when the last backward pass ends, and
///   its own comes after it.
/// - Of 1F1B (and ZeroBubble) stage s runs k = min(m, p - s) forward passes before its first and k
///   backward passes after its last forward pass. Before the first backward pass a micro-batch goes
///   through all of the suffix and back, and another one after the last forward pass; between are m
///   - k passes each way (if m > k). With w the work of each stage, for all s:
///     step >= sum of w before s + 2 * sum of w behind s + (m - k + 1) w_s.
///   Weighed with l_s = (c - 1 - sum of l before s) / (m - p + s), which are not negative and sum
///   up to 1 for c = (m + p - 1) / p, each w has the factor c: for m > p no uneven cut beats the
///   closed form of even stages, step >= (m + p - 1) / p * (sum of w).
/// - Of GPipe all forward passes of the last stage come before any backward pass: step >= sum of w
///   + (m - 1) w_s.
struct Span {
  int64_t leave = 0, end = 0;
  int64_t through = 0; ///< a micro-batch alone, there and back
};

class Shape {
public:
  Shape(const Space &space, Keeps &keeps, const Configuration &configuration, Answer &answer);

  /// Lower bound of the value by what groups can hold; see there.
  double capacityBound();
  /// Lower bound of the value of interleaved stages; 0 where it says nothing. See there.
  double evenBound();
  /// The same by games between paths and plans (`EvenGame`): of all plans, then of parts of them
  /// with so many layers in a group or a stage, the least bound first; so many parts at most. Plans
  /// that the games come upon are judged.
  double gameBound(size_t parts);
  /// Judges plans that are easily made; with `moves`, others near them while that helps.
  void seed(bool moves = true);
  /// The dynamic program. Returns the bound of the value that it proves; what only plans no better
  /// than the answer at hand can do is left out.
  double table();
  /// Depth first, within `work`; true if nothing is left to be searched.
  bool search(int64_t work, double bound);

private:
  struct Cell {
    int64_t leave, end, through;
    uint32_t next, form, state;
  };
  struct Placed {
    uint32_t from, to;
    Id form;
  };
  struct Prefix;

  // PlaceShape.cpp
  int64_t chunkOf(int64_t stage) const { return stage / groups_; }
  /// Whether so many of the stages may hold just this set.
  bool mayHold(int64_t stages, uint32_t node) const {
    return space_.mayHold(stages, node) && space_.evenlyHeld(stages, stages_, node);
  }
  std::optional<StageBound> stageAt(Id form, uint32_t from, uint32_t to, int64_t stage,
                                    int64_t memory);
  int64_t transferAtLeast(Id form, int64_t bytes, int64_t stage) const;
  int64_t tiesAtLeast(Id form, uint32_t from, uint32_t to) const;
  Span extend(const Span &behind, const StageBound &stage, int64_t at) const;
  double value(double step, const Rates &rates) const {
    return valueOf(problem_, step + static_cast<double>(problem_.perStep), rates, joules_,
                   space_.mostTdpTime);
  }
  Rates ratesAtLeast(const std::vector<Placed> &stages) const;
  int64_t longest() const; ///< step below the answer's value, without perStep
  // PlaceTable.cpp
  template <typename Visit> void stagesFrom(uint32_t from, uint32_t most, Visit visit);
  int64_t limitAt(int64_t stage, uint32_t from) const; ///< of its time per micro-batch
  void windows();
  void listStates();
  Cell *cellAt(int64_t stage, uint32_t node, uint32_t state);
  // PlaceEven.cpp
  /// Whether an interleaved stage, and `left` ones behind it, can be even.
  bool evenAt(uint32_t from, uint32_t to, int64_t left) const;
  struct Middle {
    int64_t first = 0, last = 0; ///< layers before and behind
  };
  std::optional<Middle> middle() const;
  /// With `evenly`: the sizes of the stages. Nothing where several cuts are left, or sizes that
  /// differ by more than one.
  std::optional<std::vector<int64_t>> onlyCut() const;
  std::optional<EvenPlans> evenPlans(const Middle &middle) const;
  void seedEven(bool moves);
  // PlaceSeed.cpp
  std::optional<std::vector<Placed>> greedy(int64_t bottleneck);
  uint32_t reach(int64_t stage, uint32_t from, Id form, int64_t bottleneck, int64_t memory);
  // PlaceDive.cpp
  void dive(Prefix &prefix, uint32_t node);
  // PlaceLeaf.cpp
  /// Least value of a plan with these stages that was judged, infinite if none was. Unless all
  /// choices of what is kept were looked at, `complete_` is unset.
  double leaf(const std::vector<Placed> &stages, bool exhaustive);
  double choose(const std::vector<Placed> &stages, Placement &plan,
                const std::vector<Keeps::Options> &options, bool exhaustive);
  int64_t stepAtLeast(const PlacementWorth &worth, const StageEdges &edges) const;

  const Space &space_;
  Keeps &keeps_;
  const PlacementProblem &problem_;
  const Configuration &configuration_;
  Answer &answer_;
  int64_t groups_, stages_, microbatches_;
  std::vector<Held> held_;        ///< by group
  std::vector<int64_t> inFlight_; ///< by stage, the most by itself
  std::vector<Rates> rates_;      ///< by position in `forms`
  Rates least_;
  double joules_ = 0;
  std::vector<int64_t> chainForward_, chainBackward_; ///< of layers, when not a chain
  std::vector<uint32_t> line_; ///< nodes, each a layer more than the one before it
  bool even_ = false;          ///< interleaved, with a `middle`
  /// Then, keeps of the least recomputation by group, form and classes of its chunks' layers.
  std::map<std::vector<uint64_t>, Keeps::Options> known_;
  std::vector<int64_t> mostLarger_; ///< by group: chunks of one layer more, in a better plan
  // The table.
  int64_t longest_ = 0;
  bool tabled_ = false, collapsed_ = false;
  std::vector<uint32_t> low_, high_;                      ///< by stage: nodes where it may begin
  std::vector<std::vector<std::vector<int64_t>>> states_; ///< by groups: devices used by kind
  std::vector<std::vector<int64_t>> follow_; ///< by groups: [state * forms + form]: state, or -1
  std::vector<std::vector<Cell>> cells_;
  std::vector<uint32_t> stamp_;
  uint32_t stamps_ = 0;
  int64_t work_ = 0;
  bool complete_ = true;
};

/// Calls `visit` with the sets that contain `from`, up to `most` layers long, until it says that
/// larger ones are no use.
template <typename Visit> void Shape::stagesFrom(uint32_t from, uint32_t most, Visit visit) {
  if (space_.above(0).empty()) { // a line
    for (uint32_t to = from + 1; to <= most && visit(to); ++to)
      ;
    return;
  }
  if (stamp_.empty())
    stamp_.assign(space_.last() + 1, 0);
  ++stamps_;
  std::vector<uint32_t> queue{from};
  for (size_t at = 0; at < queue.size(); ++at)
    for (uint32_t to : space_.above(queue[at]))
      if (stamp_[to] != stamps_) {
        stamp_[to] = stamps_;
        uint32_t mine = stamps_;
        if (visit(to))
          queue.push_back(to);
        stamps_ = mine;
      }
}

} // namespace accord::placing
