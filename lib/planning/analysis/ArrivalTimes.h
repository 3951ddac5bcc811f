// Longest paths into every node of an acyclic graph, kept up to date while weights of nodes change.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace accord {

/// start(v) = max(0, end(u) + delay over edges u -> v), end(v) = start(v) + weight(v).
///
/// Nodes are numbered in topological order and cut into blocks of consecutive ones. A change is
/// followed in that order and only from nodes whose end moves (Ramalingam, Reps: An incremental
/// algorithm for a generalization of the shortest-path problem, J. Algorithms 21, 1996). A training
/// step is mostly a chain, where everything behind a change moves, by the same amount: a block
/// therefore has an offset, and moves as a whole where all edges that determine its nodes from
/// outside moved alike and no other edge from outside takes over. Edges between the same two blocks
/// are a bundle whose smallest slack decides that at once. So a change costs the nodes that move
/// apart plus the blocks that move together. Results are those of a full computation, always.
class ArrivalTimes {
public:
  struct Edge {
    uint32_t from = 0;
    int64_t delay = 0;
  };
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint32_t kBlock = 256; ///< nodes; a multiple of 64

  ArrivalTimes() = default;
  /// `firstIn[v] .. firstIn[v + 1]`: the edges of `in` that end at v; they start at lower numbers.
  /// No sum of weights and delays overflows.
  ArrivalTimes(std::vector<uint32_t> firstIn, std::vector<Edge> in, std::vector<int64_t> weights);

  int64_t start(uint32_t v) const { return start_[v] + offset_[v / kBlock]; }
  int64_t end(uint32_t v) const { return end_[v] + offset_[v / kBlock]; }
  int64_t weight(uint32_t v) const { return weight_[v]; }
  /// The largest end, 0 of an empty graph.
  int64_t length() const;
  uint32_t size() const { return static_cast<uint32_t>(weight_.size()); }

  /// Several weights at once; a node may occur more than once, the last one counts.
  void setWeights(const std::vector<std::pair<uint32_t, int64_t>> &changes);

  /// Edges into v.
  const Edge *begin(uint32_t v) const { return in_.data() + firstIn_[v]; }
  const Edge *finish(uint32_t v) const { return in_.data() + firstIn_[v + 1]; }

  /// Nodes computed and blocks moved so far, without the first computation.
  struct Work {
    uint64_t nodes = 0, blocks = 0;
  };
  Work work() const { return work_; }

private:
  struct Bundle {
    uint32_t block;              ///< its edges end here
    uint32_t firstEdge, endEdge; ///< of bundled_
    uint32_t from;               ///< and start in this block
    uint32_t binding = 0;        ///< of its edges: determine the start of their node
    bool stale = true;
    int64_t slack = 0; ///< smallest, before offsets
  };
  struct Move {
    uint32_t edge;
    int64_t by;
  };

  void prepare();
  void visit(uint32_t block);
  bool moveWhole(uint32_t block);
  void moveApart(uint32_t block);
  void compute(uint32_t v);
  int64_t slackOf(Bundle &bundle);
  void bind(uint32_t v, uint32_t edge);
  void pend(uint32_t block) { pending_[block / 64] |= uint64_t{1} << (block % 64); }
  void dirty(uint32_t v) { dirty_[v / 64] |= uint64_t{1} << (v % 64); }
  int64_t arrival(uint32_t edge) const { return end(in_[edge].from) + in_[edge].delay; }
  void measureEnds(uint32_t block);

  std::vector<uint32_t> firstIn_;
  std::vector<Edge> in_;
  std::vector<int64_t> weight_, start_, end_; ///< by node; the latter two before offsets
  std::vector<int64_t> offset_;               ///< by block
  std::vector<int64_t> last_;                 ///< by block: largest end, before its offset

  // Made at the first change.
  bool prepared_ = false;
  std::vector<uint32_t> target_;              ///< by edge
  std::vector<uint32_t> firstOut_, out_;      ///< edges by their start
  std::vector<uint32_t> binding_;             ///< by node: edge that determines its start
  std::vector<uint32_t> bundleOf_;            ///< by edge; kNone inside a block
  std::vector<uint32_t> bundled_;             ///< edges by bundle
  std::vector<Bundle> bundles_;               ///< by the block in which they end
  std::vector<uint32_t> firstInto_;           ///< by block: its part of bundles_
  std::vector<uint32_t> firstOutOf_, outOf_;  ///< bundles by the block in which they start
  std::vector<uint32_t> bound_;               ///< by block: nodes determined from outside
  std::vector<uint32_t> firstSink_, sinks_;   ///< nodes without edges out of them, by block
  std::vector<uint64_t> pending_, dirty_;     ///< bits by block, by node
  std::vector<std::vector<Move>> moves_;      ///< by block: edges whose start moved by itself
  std::vector<std::vector<uint32_t>> wholes_; ///< by block: bundles whose start moved whole
  std::vector<int64_t> by_;                   ///< by block that moved whole: how far
  Work work_;
};

} // namespace accord
