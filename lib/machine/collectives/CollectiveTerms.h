// The cost of a collective as an expression of the latency and the bandwidth of each level.
#pragma once
#include "lib/machine/collectives/Network.h"

namespace accord {

/// A sum over levels, and over rounds that use several levels at once:
///   sum over l of alone[l] * x[l] + sum over r of max over l of among[r][l] * x[l]
struct LevelSum {
  std::vector<double> perLevel;                   ///< by level
  std::vector<std::vector<double>> maxOverLevels; ///< by level each; the slowest level counts

  explicit LevelSum(size_t levels = 0) : perLevel(levels) {}
  /// One round `times` times: what it needs of each level.
  void add(const std::vector<double> &levels, double times);
  void add(const LevelSum &other, double times);
  double at(const std::vector<double> &x) const;
};

/// One way to carry out a collective among n devices with payload S:
///   time = alpha(latencies) + S * beta(bandwidth ratios) + its trees
/// where alpha counts messages in a row (seconds when x is each level's latency) and beta is in s/B
/// (x is each level's bandwidth when the model was made over its bandwidth now: 1 as it was).
struct CollectiveTerms {
  /// A double tree (Sanders, Speck and Traeff 2009) with the best number m of pieces, 1..4096:
  ///   (depth + m - 1) * (alpha + S * beta / m), alpha and beta of a round up and one down
  struct Tree {
    LevelSum alpha, beta;
    int64_t depth = 1;
  };
  LevelSum alpha, beta;
  std::vector<Tree> trees;

  /// Seconds; latencies in seconds, `ratios` as `beta` says, both by level.
  double at(double payload, const std::vector<double> &latencies, const std::vector<double> &ratios) const;
};

constexpr double kMaxPieces = 4096; ///< shorter pieces are not worth a message

/// Pieces that make (d + m - 1) (a + c S / m) least: about sqrt((d - 1) c S / a).
int64_t piecesFor(int64_t depth, double a, double cs);

/// Without those that another one beats at every payload, latency and bandwidth.
std::vector<CollectiveTerms> nondominated(const std::vector<CollectiveTerms> &alternatives);

} // namespace accord
