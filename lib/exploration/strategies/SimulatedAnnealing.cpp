#include "lib/exploration/solve/MiningRandom.h"
#include "lib/exploration/solve/MiningRun.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord {
namespace {

class Annealing {
public:
  explicit Annealing(MiningRun &run) : run(run), random(run.options().seed) {
    for (size_t i = 0; i < run.parameters().size(); ++i)
      if (run.parameters()[i].labels.size() > 1)
        open.push_back(i);
  }

  void search() {
    sample();
    if (!run.best())
      return;
    Design at = *run.best();
    double energy = logarithm(run.incumbent()), first = spread;
    uint64_t begun = run.left(), quiet = 0, restart = std::max<uint64_t>(begun / 8, 50);
    // Known designs are free, so steps have a limit of their own.
    for (uint64_t steps = 0; !open.empty() && !run.isExhausted() && steps / 8 < run.limit(); ++steps) {
      // Down to a thousandth of where it began.
      double passed = double(begun - run.left()) / begun;
      double temperature = first * std::pow(1e-3, passed);
      Design next = neighbour(at);
      double before = run.incumbent(), value = run.value(next);
      quiet = run.incumbent() < before ? 0 : quiet + 1;
      if (std::isinf(value))
        continue;
      double rise = logarithm(value) - energy;
      if (rise <= 0 || (temperature > 0 && random.unit() < std::exp(-rise / temperature))) {
        at = std::move(next);
        energy += rise;
      }
      if (quiet >= restart) {
        at = *run.best();
        energy = logarithm(run.incumbent());
        quiet = 0;
      }
    }
  }

private:
  /// Relative differences matter: values are products of times, areas and powers.
  static double logarithm(double value) { return std::log(std::max(value, std::numeric_limits<double>::min())); }

  /// Of a part of the evaluations, longer while no design may be.
  void sample() {
    uint64_t size = std::clamp<uint64_t>(run.limit() / 20, 8, 64);
    std::vector<double> logs;
    for (uint64_t drawn = 0; !run.isExhausted() && drawn / 8 < run.limit(); drawn += size) {
      std::vector<Design> round;
      for (uint64_t i = 0; i < size; ++i)
        round.push_back(possible(random.design(run.parameters())));
      for (double value : run.values(round))
        if (std::isfinite(value))
          logs.push_back(logarithm(value));
      if (!logs.empty())
        break;
    }
    double mean = 0, square = 0;
    for (double value : logs)
      mean += value / logs.size();
    for (double value : logs)
      square += (value - mean) * (value - mean) / logs.size();
    spread = square > 0 ? std::sqrt(square) : 0.1;
  }

  /// A number one step away, or half as often any number of steps; another word.
  void move(Design &design, size_t i, bool up) {
    uint32_t choices = run.parameters()[i].labels.size();
    uint32_t max = up ? choices - 1 - design[i] : design[i];
    if (run.parameters()[i].numbers.empty() || max == 0) {
      uint32_t other = random.below(choices - 1);
      design[i] = other + (other >= design[i]);
      return;
    }
    uint32_t step = random.below(3) ? 1 : 1 + random.below(max);
    design[i] = up ? design[i] + step : design[i] - step;
  }

  /// Under a budget what one part gains another gives up: every third neighbour differs in two.
  Design neighbour(Design design) {
    size_t i = open[random.below(open.size())];
    bool up = random.below(2);
    move(design, i, up);
    if (open.size() > 1 && random.below(3) == 0) {
      size_t j = open[random.below(open.size() - 1)];
      move(design, j == i ? open.back() : j, !up);
    }
    return possible(design, i);
  }

  /// Nearby, with the choice of `kept` if that may be.
  Design possible(const Design &design, std::optional<size_t> kept = {}) {
    auto near = run.possibleNear(design, random, kept);
    if (!near && kept)
      near = run.possibleNear(design, random);
    return near.value_or(design);
  }

  MiningRun &run;
  MiningRandom random;
  std::vector<size_t> open; ///< parameters with more than one choice
  double spread = 0.1;
};

} // namespace

MiningResult mineByAnnealing(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "annealing", kDefaultEvaluations);
  run.screenInfeasible();
  if (!run.empty())
    Annealing(run).search();
  return run.conclude(run.empty() || run.complete());
}

} // namespace accord
