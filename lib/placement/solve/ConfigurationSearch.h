// The search for the best plan of one configuration.
#pragma once
#include "lib/placement/solve/BalancedStageSearch.h"

namespace accord::placing {

class ConfigurationSearch : public BalancedStageSearch {
public:
  ConfigurationSearch(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver,
                      const Configuration &configuration, SearchState &searchState);

  /// See `CapacityBound`.
  double capacityBound();
  /// Evaluates plans that are easily made; with `moves`, others near them while that helps.
  void seed(bool moves = true);
  /// The dynamic program from the last stage to the first. Returns the bound of the value that it proves; it leaves out
  /// plans that are no better than the best one known.
  double table();
  /// Depth first from the first stage on, what promises most first, within `work`; true if nothing is left to be
  /// searched.
  bool search(int64_t work, double bound);

private:
  struct Cell {
    int64_t leave, end, through;
    uint32_t next, parallelConfig, state;
  };
  struct Move {
    double bound;
    uint32_t to;
    Id parallelConfig;
    StageBound stage;
  };
  struct Prefix;

  template <typename Visit> void stagesFrom(uint32_t from, uint32_t max, Visit visit);
  int64_t limitAt(int64_t stage, uint32_t from) const; ///< of its time per micro-batch
  bool fitsWithin(int64_t stage, uint32_t from, uint32_t to);
  void windows();
  void listStates();
  bool makeCells();
  Cell *cellAt(int64_t stage, uint32_t node, uint32_t state);
  bool prepend(int64_t stage, uint32_t from, uint32_t to, int64_t limit);
  void fillCells(int64_t stage, uint32_t from, uint32_t to, size_t parallelConfig, const StageBound &bound);
  std::optional<Rates> ratesOfState(const std::vector<int64_t> &used) const;
  double bestOfTable();

  uint32_t reach(int64_t stage, uint32_t from, Id parallelConfig, int64_t bottleneck);
  std::optional<std::vector<StagePlacement>> greedy(int64_t bottleneck);
  bool mayTake(const std::vector<StagePlacement> &stages, const std::vector<int64_t> &used, Id parallelConfig) const;

  void dive(Prefix &prefix, uint32_t node);
  bool consider(Prefix &prefix, uint32_t node, uint32_t to, Id parallelConfig, int64_t limit, std::vector<Move> &moves);
  std::optional<int64_t> minStep(const Prefix &prefix, uint32_t node, const Move &move);
  int64_t minStepBehind(const Prefix &prefix, const Move &move, int64_t stage);
  Prefix advance(const Prefix &prefix, uint32_t node, const Move &move) const;

  std::vector<int64_t> chainForward_, chainBackward_; ///< of layers, when not a chain
  // The table.
  int64_t longest_ = 0;
  bool tabled_ = false, collapsed_ = false;
  std::vector<uint32_t> low_, high_;                      ///< by stage: nodes where it may begin
  std::vector<std::vector<std::vector<int64_t>>> states_; ///< by groups: devices used by type
  std::vector<std::vector<int64_t>> follow_; ///< by groups: [state * parallel configurations + one]: state, or -1
  std::vector<std::vector<Cell>> cells_;
  std::vector<uint32_t> stamp_;
  uint32_t stamps_ = 0;
};

/// Calls `visit` with the sets that contain `from`, up to `max`, until it says that larger ones are of no use.
template <typename Visit> void ConfigurationSearch::stagesFrom(uint32_t from, uint32_t max, Visit visit) {
  if (lattice_.above(0).empty()) { // a line
    for (uint32_t to = from + 1; to <= max && visit(to); ++to)
      ;
    return;
  }
  if (stamp_.empty())
    stamp_.assign(lattice_.last() + 1, 0);
  ++stamps_;
  std::vector<uint32_t> queue{from};
  for (size_t at = 0; at < queue.size(); ++at)
    for (uint32_t to : lattice_.above(queue[at]))
      if (stamp_[to] != stamps_) {
        stamp_[to] = stamps_;
        uint32_t mine = stamps_;
        if (visit(to))
          queue.push_back(to);
        stamps_ = mine;
      }
}

} // namespace accord::placing
