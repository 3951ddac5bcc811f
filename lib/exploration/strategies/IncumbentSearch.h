// A better incumbent for a search that proves, from bounds that cost a hundredth of a value.
#pragma once
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/exploration/solve/MiningRun.h"
#include <deque>
#include <tuple>

namespace accord {

/// Looks for designs that may be better than the incumbent: by local search over bounds times what values were above
/// bounds so far, a factor for each choice of each parameter (least mean squares: Widrow and Hoff, 1960); what that
/// ends at is valued, and the neighbours of the incumbent in one parameter and in two. Work is counted in bounds and
/// values, so that it is the same on any machine and with any number of threads.
class IncumbentSearch {
public:
  explicit IncumbentSearch(MiningRun &run);

  /// Whether it is its turn: its share of all work is large while it finds something, and small after many rounds in
  /// vain.
  bool isDue() const;
  /// One round: around the incumbent where that is new, else from other designs. `from`: a design to begin at.
  void search(const std::optional<Design> &from = std::nullopt);
  /// The value that a design of this bound promises; never below the bound.
  double predicted(const Design &design, double bound) const;
  void learn(const Design &design, double bound, double value);

private:
  struct Candidate {
    double predicted, bound;
    Design design;
    friend bool operator<(const Candidate &a, const Candidate &b) {
      return std::tie(a.predicted, a.bound, a.design) < std::tie(b.predicted, b.bound, b.design);
    }
  };
  /// Those that may be better than the incumbent and are not valued yet, the most promising first.
  std::vector<Candidate> candidates(const std::vector<Design> &designs, bool valued = false);
  /// Values at most so many, in rounds of a fixed size while they promise something. True: the incumbent is better.
  bool value(const std::vector<Candidate> &candidates, size_t max, double until);
  bool improve();
  Candidate descend(Candidate at);
  std::vector<Design> neighbours(const Design &design, bool pairs);
  std::vector<uint32_t> moves(const Design &design, size_t parameter) const;
  std::vector<Design> drawn(size_t count);
  Design perturbed(Design design);
  double correction(const Design &design) const;
  bool mayBound(size_t count) const;
  double work() const;

  MiningRun &run_;
  MiningRandom random_;
  std::vector<size_t> open_;                     ///< parameters with more than one choice
  double mean_ = 0;                              ///< logarithm of values over bounds
  std::vector<std::vector<double>> corrections_; ///< of it, by parameter and choice
  std::deque<std::pair<Design, double>> samples_;
  std::unordered_map<Design, double, DesignHash> bounds_;
  std::optional<Design> improved_; ///< its neighbours are looked at
  double spent_ = 0;
  uint64_t spentBounds_ = 0;
  unsigned rounds_ = 0, quiet_ = 0;
};

} // namespace accord
