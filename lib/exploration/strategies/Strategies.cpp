// All strategies by name; every design, and designs at random.
#include "lib/exploration/solve/Executor.h"
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/exploration/solve/MiningRun.h"
#include <algorithm>
#include <utility>

namespace accord {
namespace {

/// By the executor of the options, where they name one.
template <MiningStrategy strategy> MiningResult together(MiningProblem &problem, const MiningOptions &options) {
  return options.executor ? options.executor->search(strategy, problem, options) : strategy(problem, options);
}

constexpr std::pair<const char *, MiningStrategy> kStrategies[] = {
    {"exact", together<mineExactly>},       {"exhaustive", together<mineExhaustively>},
    {"random", together<mineAtRandom>},     {"annealing", together<mineByAnnealing>},
    {"wham", together<mineByCriticalPath>}, {"bayes", together<mineByBayes>},
    {"phaze", together<mineByAreaBins>},    {"genetic", together<mineByGenetics>},
};

} // namespace

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

MiningResult mineExhaustively(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "exhaustive");
  run.forget();
  run.useEvaluations();
  std::optional<uint64_t> size = designsOf(run.parameters());
  constexpr uint64_t kMax = uint64_t(1) << 48;
  if ((!size || *size > kMax) && options.evaluations == UINT64_MAX)
    return run.refuse("the space has more than 2^48 designs: not all of them can be evaluated");
  Design design(run.parameters().size(), 0);
  bool all = size == 0;
  while (!all && !run.isExhausted()) {
    std::vector<Design> round;
    while (!all && round.size() < std::min<uint64_t>(64, run.left())) {
      round.push_back(design);
      size_t i = design.size();
      while (i > 0 && ++design[i - 1] == run.parameters()[i - 1].labels.size())
        design[--i] = 0;
      all = i == 0;
    }
    run.values(round);
  }
  return run.conclude(all);
}

MiningResult mineAtRandom(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "random", kDefaultEvaluations);
  run.screenInfeasible();
  std::optional<uint64_t> size = designsOf(run.parameters());
  // Of a large space where hardly any design may be, what is near a drawn one instead, which may come twice.
  bool nearby = !run.empty() && (!size || *size > 256 * run.limit());
  if (size && !nearby)
    run.forget();
  // Where hardly any design may be, a search is over at some point.
  uint64_t max = run.limit() < UINT64_MAX / 256 ? 256 * run.limit() : UINT64_MAX;
  uint64_t count = run.empty() ? 0 : std::min(size.value_or(max), max);
  Shuffled order(size.value_or(1), options.seed);
  MiningRandom random(options.seed);
  uint64_t drawn = 0;
  while (drawn < count && !run.isExhausted()) {
    std::vector<Design> round;
    while (drawn < count && round.size() < 64) {
      // Beyond 2^63 a design that comes twice is improbable, and is not counted if it does.
      Design next = size ? designAt(run.parameters(), order.at(drawn)) : random.design(run.parameters());
      round.push_back(nearby ? run.possibleNear(next, random).value_or(next) : next);
      ++drawn;
    }
    run.values(round);
  }
  return run.conclude(run.empty() || (size && drawn == *size && !run.isTruncated()));
}

} // namespace accord
