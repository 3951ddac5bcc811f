// Paths through the passes of an interleaved pipeline: what bounds its step from below.
#pragma once
#include "lib/placement/evaluate/Pipeline.h"
#include <memory>

namespace accord::placing {

/// How often a path runs each pass, and at which group it ends; or a mean of paths.
struct PathCounts {
  std::vector<double> passes;                 ///< by stage: forward, backward
  std::vector<double> ends;                   ///< by group
  double sends = 0;                           ///< picoseconds of all transfers on it
  std::shared_ptr<const PathBound::Path> way; ///< of a path: itself
};

/// Times that a path is measured with.
struct PathTimes {
  std::vector<double> passes, stepTail; ///< by stage: forward, backward; by group
};

double lengthOf(const PathCounts &path, const PathTimes &times);

/// Passes of stages in a chain, each after those that it waits for: the one before it on its group, and its own of the
/// stage before it (behind it, backward), by `send` later.
class PassOrder {
public:
  PassOrder(const PipelineShape &shape, std::vector<double> send);

  /// Step without waits for links that are busy: no plan with these or longer times ends earlier. The longest path goes
  /// to `path`.
  double longest(const PathTimes &times, PathCounts &path);
  /// Through all passes of one group, from the first group; and, if `back`, to it.
  PathCounts through(int64_t group, bool back) const;
  size_t size() const { return nodes_.size(); }

private:
  struct Node {
    uint32_t pass;         ///< 2 * stage, 1 more if backward
    int32_t before, needs; ///< nodes, or -1
    int32_t boundary;      ///< behind this stage, what it needs comes across; or -1
  };
  static std::shared_ptr<const PathBound::Path> pathFrom(const std::vector<uint32_t> &runs);
  PipelineShape shape_;
  std::vector<double> send_, ends_;
  std::vector<Node> nodes_;
  std::vector<int32_t> last_; ///< by group
};

/// The value of a game: weights of the rows and columns of a positive matrix, such that the least weighed sum of rows
/// over columns is largest, and the other way round, to 1e-7 of it. As a linear program, by the simplex method
/// (Dantzig, 1951).
struct GameWeights {
  std::vector<double> rows, columns;
  double value = 0;
};
GameWeights solveGame(const std::vector<std::vector<double>> &matrix);

} // namespace accord::placing
