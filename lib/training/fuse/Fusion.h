// Which operations of one block run as one: chains of element-wise work behind what makes their tensor.
#pragma once
#include <cstdint>
#include <vector>

namespace accord {

struct FusionNode {
  /// How an operation may join others. A border joins nothing.
  enum class Family : uint8_t { Barrier, Elementwise, Normalization, Contraction };
  Family family = Family::Barrier;
  uint32_t zone = 0;              ///< only nodes of one zone run as one: a phase of the step
  std::vector<uint32_t> operands; ///< nodes that have to run before, each below this one's number
  /// Those of them whose result this node reads element by element over its own domain.
  std::vector<uint32_t> along;
};

struct FusionOptions {
  bool contractions = true;   ///< element-wise work behind a contraction
  bool normalizations = true; ///< element-wise work before and behind a normalization
  bool elementwise = true;    ///< chains of nothing but element-wise work
  unsigned max = 16;          ///< operations of one group
};

/// Groups of nodes, each ascending, in an order in which every group runs after those it needs: the groups and what is
/// between them have no cycle. Greedy in the order of the nodes: an element-wise node joins the latest group whose
/// tensor it follows (a contraction's first), a normalization a group of element-wise nodes alone; then groups that it
/// joins and that hold no contraction and no normalization come along. Every join saves a tensor's way through memory.
/// Two groups join if one of them can move to the place of the other: nobody else needs the earlier one in between, or
/// all that the later one needs is there by then. That is enough against cycles and takes time in proportion to the
/// edges of both; a join that needs a third group to move is left out. Deterministic.
std::vector<std::vector<uint32_t>> fuse(const std::vector<FusionNode> &nodes, const FusionOptions &options);

} // namespace accord
