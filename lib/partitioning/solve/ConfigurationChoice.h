// One configuration for each layer of a stage: minimum time within the memory of a device. Internal to
// lib/partitioning.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace accord::partitioning {

struct ChoiceItem {
  double cost = 0, weight = 0;
  uint32_t index = 0; ///< the configuration
};

struct Choice {
  double cost = 0, weight = 0;
  std::vector<uint32_t> index; ///< by class: the configuration
};

/// What choices took so far, all together.
struct ChoiceEffort {
  int64_t work = 0; ///< relaxations, by their size
  bool isExact = true;
};

/// A knapsack of several choices (Kellerer, Pferschy, Pisinger 2004, chapter 11): one item of each class, minimum cost,
/// weights together at most `capacity`; to a part in 10^9. Nothing where that costs `cutoff` or more, or does not fit.
/// Where more than `maxNodes` relaxations would be solved, `isExact` is false, and there may be a better choice.
std::optional<Choice> chooseItems(const std::vector<std::vector<ChoiceItem>> &classes, double capacity, double cutoff,
                                  int64_t maxNodes, ChoiceEffort &effort);

} // namespace accord::partitioning
