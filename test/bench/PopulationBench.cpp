// Populations beside constant hyper-parameters: the loss of a training whose best schedule is known, at equal units.
//
// The noisy quadratic (Schaul et al., 2013; Zhang et al., 2019): of a parameter with curvature a, gradient descent with
// learning rate r has after a step the expected square v' = (1 - r a)^2 v + r^2, from v = 1 on, and the loss is the
// mean of a v. With one curvature, 1, the best learning rate of each step is v / (v + 1), and 1/v grows by 1 with each.
// With curvatures of 1 and 0.02 a rate that falls early looks good at once and is bad in the end.
#include "lib/jobs/simulate/Seeds.h"
#include "lib/tuning/solve/Tuner.h"
#include <benchmark/benchmark.h>
#include <cmath>
#include <map>

using namespace accord;
using namespace accord::tuning;

namespace {

constexpr int64_t kUnits = 32, kSteps = 10, kSeeds = 20;
enum Way : int64_t { kRandom, kHalving, kPopulation };

struct Quadratic {
  std::vector<double> curvatures, squares;
  explicit Quadratic(bool isIll) : curvatures(isIll ? std::vector<double>{1, 0.02} : std::vector<double>{1}) {
    squares.assign(curvatures.size(), 1);
  }
  void run(double rate) {
    for (int64_t step = 0; step < kSteps; ++step)
      for (size_t i = 0; i < squares.size(); ++i)
        squares[i] = (1 - rate * curvatures[i]) * (1 - rate * curvatures[i]) * squares[i] + rate * rate;
  }
  double loss() const {
    double sum = 0;
    for (size_t i = 0; i < squares.size(); ++i)
      sum += curvatures[i] * squares[i] / static_cast<double>(squares.size());
    return sum;
  }
};

class QuadraticRunner final : public TrialRunner {
public:
  explicit QuadraticRunner(bool isIll) : isIll_(isIll) {}
  std::optional<Configuration> accept(Configuration proposed) override { return proposed; }
  Result<void> inherit(unsigned trial, const Origin &origin) override {
    states_.insert_or_assign(trial, states_.at(origin.trial));
    return {};
  }
  Result<TrialValue> value(unsigned trial, const Configuration &configuration, int64_t) override {
    Quadratic &state = states_.try_emplace(trial, isIll_).first->second;
    state.run(configuration[0]);
    return TrialValue{state.loss()};
  }

private:
  bool isIll_;
  std::map<unsigned, Quadratic> states_;
};

/// The lowest loss after all units: of a constant rate by a fine grid.
double bestConstant(bool isIll) {
  double best = 1;
  for (double rate = 1e-4; rate < 1; rate *= 1.002) {
    Quadratic one(isIll);
    for (int64_t unit = 0; unit < kUnits; ++unit)
      one.run(rate);
    best = std::min(best, one.loss());
  }
  return best;
}

/// Arguments: the way, members, and whether there are two curvatures. Counters: the geometric mean of the loss over
/// seeds with its interval of 95 %, that of the best constant, and units.
void BM_Population(benchmark::State &state) {
  const int64_t way = state.range(0), members = state.range(1);
  const bool isIll = state.range(2) == 1;
  std::vector<double> logarithms;
  double units = 0;
  for (auto _ : state) {
    logarithms.clear(), units = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      TuningProblem problem;
      problem.space = {{.name = "rate", .min = 1e-4, .max = 1, .isLog = true}};
      problem.maximizes = false, problem.seed = seed, problem.minUnits = problem.maxUnits = kUnits;
      problem.devices = problem.devicesPerNode = 4, problem.sharing = Sharing::Fixed, problem.trials = members;
      problem.proposals = Proposals::Random;
      if (way == kPopulation) {
        problem.population = Population{.members = members, .every = 1};
        problem.trials = members * kUnits;
      } else if (way == kHalving) { // as a block without other keys, until as many units have run
        problem.minUnits = 1, problem.probes = 8, problem.trials = 100'000, problem.proposals = Proposals::Density;
        problem.maxSeconds = static_cast<double>(members * kUnits) / 4;
      }
      QuadraticRunner runner(isIll);
      const auto result = tune(problem, runner);
      logarithms.push_back(std::log(result->incumbents.back().value));
      units += static_cast<double>(result->units) / kSeeds;
    }
  }
  const auto mean = jobs::bootstrapInterval(logarithms, 0.95);
  state.counters["loss"] = std::exp(mean.mean), state.counters["low"] = std::exp(mean.low);
  state.counters["high"] = std::exp(mean.high), state.counters["constant"] = bestConstant(isIll);
  state.counters["units"] = units;
}
BENCHMARK(BM_Population)
    ->ArgNames({"way", "members", "two"})
    ->ArgsProduct({{kRandom, kHalving, kPopulation}, {2, 4, 8, 16, 32}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

} // namespace
