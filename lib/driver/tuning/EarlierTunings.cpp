#include "lib/driver/tuning/EarlierTunings.h"
#include "lib/support/StableSort.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>

namespace accord {
using namespace tuning;
namespace {

constexpr size_t kFromEach = 5;

/// Whether there is a value for each hyper-parameter, of choices one that is there.
bool isOf(const SearchSpace &space, const Configuration &configuration) {
  if (configuration.size() != space.size())
    return false;
  for (size_t i = 0; i < space.size(); ++i)
    if (space[i].kind == HyperParameter::Kind::Choice &&
        !(configuration[i] >= 0 && configuration[i] < static_cast<double>(space[i].size())))
      return false;
  return true;
}

/// The trial without an origin from whose state, by others, a trial began.
const Trial &founderOf(const std::vector<Trial> &trials, size_t number) {
  while (trials[number].origin && trials[number].origin->trial < number)
    number = trials[number].origin->trial;
  return trials[number];
}

const char *wereText(size_t count) { return count == 1 ? "was" : "were"; }

} // namespace

Result<void> EarlierTunings::add(const TuningReport &earlier, const std::string &label) {
  const std::vector<Trial> &trials = earlier.result.trials;
  std::vector<std::pair<double, CarriedConfiguration>> all;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (!isOf(earlier.problem.space, trials[i].configuration))
      return Error{Code::BadCommandLine,
                   fmt::format("'{}' has a trial whose configuration is none of its space", label)};
    double best = std::numeric_limits<double>::infinity();
    for (const Report &one : trials[i].reports)
      if (std::isfinite(one.value))
        best = std::min(best, earlier.problem.maximizes ? -one.value : one.value);
    if (!std::isfinite(best))
      continue;
    CarriedConfiguration made = carry(earlier.problem.space, earlier.problem.scales, founderOf(trials, i).configuration,
                                      problem_.space, problem_.scales);
    if (made.outside.empty())
      all.emplace_back(best, std::move(made));
    else
      ++left_[whyOutside(earlier, made)];
  }
  stableSort(all, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<CarriedConfiguration> &ranked = ranked_.emplace_back();
  for (auto &[value, configuration] : all)
    ranked.push_back(std::move(configuration));
  return {};
}

/// Visits those that are tried first, in their order.
template <class Each> void EarlierTunings::each(const Each &visit) const {
  const auto max = static_cast<size_t>(problem_.population ? problem_.population->members : problem_.trials);
  std::set<Configuration> seen;
  for (size_t rank = 0; rank < kFromEach; ++rank)
    for (const auto &one : ranked_)
      if (rank < one.size() && seen.size() < max && seen.insert(one[rank].configuration).second)
        visit(one[rank]);
}

std::vector<Configuration> EarlierTunings::first() const {
  std::vector<Configuration> out;
  each([&](const CarriedConfiguration &one) { out.push_back(one.configuration); });
  return out;
}

std::vector<std::string> EarlierTunings::sentences() const {
  std::map<std::string, size_t> carried;
  size_t count = 0;
  each([&](const CarriedConfiguration &one) {
    ++count;
    if (!one.sizes.empty())
      ++carried[one.sizes];
  });
  std::vector<std::string> out{count == 1 ? "1 configuration of earlier tunings is tried first"
                                          : fmt::format("{} configurations of earlier tunings are tried first", count)};
  for (const auto &[sizes, number] : carried)
    out.push_back(fmt::format("{} of them {} carried by rules of scaling: {}", number, wereText(number), sizes));
  for (const auto &[why, number] : left_)
    out.push_back(fmt::format("{} of their configurations {} left out: {}", number, wereText(number), why));
  return out;
}

std::string EarlierTunings::whyOutside(const TuningReport &earlier, const CarriedConfiguration &made) const {
  const std::string &name = made.outside;
  if (made.isOtherMup)
    return fmt::format("'{}' has a rule mup in one of the tunings and not in the other, and they ran beside its base",
                       name);
  const auto from = std::ranges::find(earlier.problem.space, name, &HyperParameter::name);
  if (from == earlier.problem.space.end())
    return fmt::format("they have no '{}'", name);
  const auto to = std::ranges::find(problem_.space, name, &HyperParameter::name);
  const bool isNumber = to != problem_.space.end() && numberOf(*to, to->min) && numberOf(*from, from->min);
  const bool isSize = isNumber && (name == "batch" || name.find("width") != std::string::npos);
  return fmt::format("their '{}' is not in the space{}", name,
                     isSize
                         ? fmt::format("; with a rule (scale learning_rate {{ {} = {} }}) they would be carried there",
                                       name, name == "batch" ? "sqrt(BASE)" : "mup(BASE)")
                         : "");
}

} // namespace accord
