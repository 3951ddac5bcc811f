#include "lib/exploration/solve/MiningRun.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

constexpr size_t kPopulation = 32, kLot = 4, kTournament = 3;
constexpr unsigned kPatience = 64; ///< lots without a design that was not known

struct Individual {
  double value;
  Design design;
  friend bool operator<(const Individual &a, const Individual &b) {
    return std::tie(a.value, a.design) < std::tie(b.value, b.design);
  }
};

class GeneticSearch {
public:
  explicit GeneticSearch(MiningRun &run) : run_(run), random_(run.options().seed) {
    for (size_t i = 0; i < run.parameters().size(); ++i)
      if (run.parameters()[i].labels.size() > 1)
        open_.push_back(i);
  }

  void search() {
    if (open_.empty()) { // there is one design
      (void)run_.values({Design(run_.parameters().size())});
      return;
    }
    // Where hardly any design may be, a search is over at some point.
    const uint64_t maxLots = run_.limit() < UINT64_MAX / 64 ? 64 * run_.limit() : UINT64_MAX;
    unsigned quiet = 0;
    for (uint64_t lots = 0; lots < maxLots && !run_.isExhausted(); ++lots) {
      if (quiet > kPatience) { // all are alike
        if (!population_.empty())
          population_.resize(1);
        quiet = 0;
      }
      std::vector<Design> lot;
      for (size_t i = 0; i < kLot; ++i)
        lot.push_back(population_.size() < kPopulation ? drawn() : child());
      uint64_t before = run_.left();
      std::vector<double> values = run_.values(lot);
      quiet = run_.left() < before ? 0 : quiet + 1;
      for (size_t i = 0; i < lot.size(); ++i)
        join({values[i], std::move(lot[i])});
    }
  }

private:
  void join(Individual one) {
    if (!std::isfinite(one.value))
      return;
    auto place = std::lower_bound(population_.begin(), population_.end(), one);
    if (place != population_.end() && place->design == one.design)
      return;
    population_.insert(place, std::move(one));
    if (population_.size() > kPopulation)
      population_.pop_back();
  }

  Design possible(const Design &wanted) { return run_.possibleNear(wanted, random_).value_or(wanted); }
  Design drawn() { return possible(random_.design(run_.parameters())); }

  const Design &parent() {
    size_t best = population_.size();
    for (size_t i = 0; i < kTournament; ++i)
      best = std::min(best, static_cast<size_t>(random_.below(population_.size())));
    return population_[best].design;
  }

  Design child() {
    const Design &a = parent(), &b = parent();
    Design child = a;
    for (size_t i : open_) {
      if (random_.below(2))
        child[i] = b[i];
      if (random_.below(open_.size()) == 0)
        child[i] = random_.below(run_.parameters()[i].labels.size());
    }
    return possible(child);
  }

  MiningRun &run_;
  MiningRandom random_;
  std::vector<size_t> open_;           ///< parameters with more than one choice
  std::vector<Individual> population_; ///< the best first
};

} // namespace

MiningResult mineByGenetics(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "genetic", kDefaultEvaluations);
  run.screenInfeasible();
  if (!run.empty())
    GeneticSearch(run).search();
  return run.conclude(run.empty() || run.complete());
}

} // namespace accord
