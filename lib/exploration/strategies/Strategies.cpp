#include "lib/exploration/solve/Executor.h"
#include <utility>

namespace accord {

/// With the crew of the options, where they name one.
template <MiningStrategy strategy> static MiningResult together(MiningProblem &problem, const MiningOptions &options) {
  return options.executor ? options.executor->search(strategy, problem, options) : strategy(problem, options);
}

static constexpr std::pair<const char *, MiningStrategy> kStrategies[] = {
    {"exact", together<mineExactly>},       {"exhaustive", together<mineExhaustively>},
    {"random", together<mineAtRandom>},     {"annealing", together<mineByAnnealing>},
    {"wham", together<mineByCriticalPath>}, {"bayes", together<mineByBayes>},
    {"phaze", together<mineByAreaBins>},
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
