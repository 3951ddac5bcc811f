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

struct TwoCostItem {
  double first = 0, second = 0, weight = 0;
  uint32_t index = 0; ///< the configuration
};

struct TwoCostChoice {
  double first = 0, second = 0, weight = 0;
  std::vector<uint32_t> index; ///< by class: the configuration
};

/// One item of each class, weights together at most `capacity`: all pairs of costs that no other choice is better than
/// in both (to a part in 10^12), where they are below `cutoff` together; by the first cost. Class by class, a choice is
/// kept while none is better in both costs and the weight (Nemhauser, Ullmann 1969). Where there are more than
/// `maxChoices`, those with the smallest sums are kept, and `isExact` is false.
std::vector<TwoCostChoice> chooseByTwoCosts(const std::vector<std::vector<TwoCostItem>> &classes, double capacity,
                                            double cutoff, size_t maxChoices, ChoiceEffort &effort);

} // namespace accord::partitioning
