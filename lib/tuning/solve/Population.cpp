#include "lib/tuning/solve/Population.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::tuning {

/// The stream of random numbers of a member behind a generation.
static SplitMix drawsOf(uint64_t seed, size_t generation, size_t member) {
  const uint64_t ofGeneration = SplitMix(seed ^ 0x706f70756c617469ull).next() + generation;
  return SplitMix(SplitMix(ofGeneration).next() + member);
}

std::vector<Replacement> selectReplacements(const TuningProblem &problem, const std::vector<Member> &members,
                                            size_t generation) {
  std::vector<size_t> live;
  std::vector<bool> isReplaced(members.size());
  for (size_t i = 0; i < members.size(); ++i)
    if (std::isfinite(members[i].value))
      live.push_back(i);
    else
      isReplaced[i] = true;
  if (live.empty())
    return {};
  std::ranges::sort(live, [&](size_t a, size_t b) {
    const Member &one = members[a], &other = members[b];
    return isBetter(problem, one.value, other.value) ||
           (!isBetter(problem, other.value, one.value) && one.trial < other.trial);
  });
  const size_t share = numReplaced(*problem.population, members.size());
  const size_t best = std::min(share, live.size()), worst = std::min(share, live.size() - best);
  for (size_t i = 0; i < worst; ++i)
    isReplaced[live[live.size() - 1 - i]] = true;
  std::vector<Replacement> out;
  for (size_t i = 0; i < members.size(); ++i)
    if (isReplaced[i]) {
      SplitMix random = drawsOf(problem.seed, generation, i);
      const size_t parent = live[random.below(best)];
      out.push_back({i, parent, random});
    }
  return out;
}

/// A number times a factor, in its range.
static double perturbed(const HyperParameter &parameter, double value, double factor) {
  double out = value * factor;
  if (parameter.kind == HyperParameter::Kind::Integer) {
    out = std::round(out);
    if (out == value && factor != 1)
      out += (factor > 1) == (value >= 0) ? 1 : -1;
  }
  return std::clamp(out, parameter.min, parameter.max);
}

ChildConfiguration childOf(const TuningProblem &problem, const Configuration &configuration, SplitMix &random) {
  const Population &population = *problem.population;
  ChildConfiguration out{.configuration = configuration};
  for (size_t i = 0; i < problem.space.size(); ++i) {
    const HyperParameter &parameter = problem.space[i];
    if (std::ranges::find(population.fixed, parameter.name) != population.fixed.end())
      continue;
    if (random.unit() < population.redrawn) {
      const SearchSpace one{parameter};
      out.configuration[i] = fromCube(one, drawPoint(one, random)).front();
      out.redrawn.push_back(parameter.name);
    } else if (parameter.kind != HyperParameter::Kind::Choice) {
      out.configuration[i] =
          perturbed(parameter, configuration[i], population.factors[random.below(population.factors.size())]);
    }
  }
  return out;
}

std::vector<CubePoint> latinHypercube(const SearchSpace &space, size_t count, SplitMix &random) {
  std::vector<CubePoint> out(count, CubePoint(space.size()));
  std::vector<size_t> part(count);
  for (size_t p = 0; p < space.size(); ++p) {
    for (size_t i = 0; i < count; ++i)
      part[i] = i;
    for (size_t i = count; i > 1; --i) // a random order of the parts
      std::swap(part[i - 1], part[random.below(i)]);
    const size_t first = space[p].size() ? random.below(space[p].size()) : 0; // the choice that has one point more
    for (size_t i = 0; i < count; ++i)
      out[i][p] = space[p].kind == HyperParameter::Kind::Choice
                      ? static_cast<double>((part[i] + first) % space[p].size())
                      : (static_cast<double>(part[i]) + random.unit()) / static_cast<double>(count);
  }
  return out;
}

int64_t memberSlots(const TuningProblem &problem, int64_t waiting, int64_t freeSlots) {
  int64_t out = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Width &width : problem.widths) {
    if (width.slots > freeSlots)
      break;
    const int64_t together = freeSlots / width.slots, rounds = (waiting + together - 1) / together;
    if (const double time = static_cast<double>(rounds) / width.speed; time < shortest)
      shortest = time, out = width.slots;
  }
  return out;
}

} // namespace accord::tuning
