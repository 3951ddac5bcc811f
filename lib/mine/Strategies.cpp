#include "lib/mine/Mine.h"
#include <utility>

namespace accord {

static constexpr std::pair<const char *, MiningStrategy> kStrategies[] = {
    {"exact", mineExactly},         {"exhaustive", mineExhaustively}, {"random", mineAtRandom},
    {"annealing", mineByAnnealing}, {"wham", mineByCriticalPath},     {"bayes", mineByBayes},
    {"phaze", mineByAreaBins},
};

MiningStrategy miningStrategy(const std::string &name) {
  for (auto [known, strategy] : kStrategies)
    if (name == known)
      return strategy;
  return nullptr;
}

std::vector<std::string> miningStrategies() {
  std::vector<std::string> names;
  for (auto [name, strategy] : kStrategies)
    names.emplace_back(name);
  return names;
}

} // namespace accord
