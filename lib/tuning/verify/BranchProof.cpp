#include "lib/tuning/verify/BranchProof.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace accord::tuning {

/// When a trial ran on from a unit; infinite: it never did.
static double startOf(const TuningResult &result, unsigned trial, int64_t unit) {
  double start = std::numeric_limits<double>::infinity();
  for (const Segment &segment : result.segments)
    if (segment.trial == trial && segment.from == unit)
      start = std::min(start, segment.start);
  return start;
}

void proveBranches(const TuningProblem &problem, const TuningResult &result, Verification &out) {
  auto finding = [&](std::string text) { out.findings.push_back({Code::CertificateDisagrees, std::move(text)}); };
  std::map<std::pair<unsigned, int64_t>, std::vector<unsigned>> branches; // by state
  int64_t units = 0;
  for (unsigned i = 0; i < result.trials.size(); ++i) {
    const Trial &trial = result.trials[i];
    if (!trial.origin)
      continue;
    const auto [parent, unit, redrawn] = *trial.origin;
    if (parent >= i)
      return finding(fmt::format("trial {} begins from trial {}, which is not earlier", i, parent));
    const Trial &of = result.trials[parent];
    const Report *report = of.at(unit);
    if (std::ranges::none_of(problem.space, [&](const HyperParameter &one) { return one.from == unit && unit > 0; }))
      return finding(fmt::format("trial {} begins behind unit {}, where no hyper-parameter begins to act", i, unit));
    if (!redrawn.empty())
      return finding(fmt::format("trial {} has hyper-parameters that were drawn anew, as in a population", i));
    if (static_cast<int64_t>(i) < std::min(problem.probes, problem.trials))
      return finding(fmt::format("trial {} begins from trial {}, but it is one of those that judge rungs", i, parent));
    if (!report || !std::isfinite(report->value))
      return finding(
          fmt::format("trial {} begins from trial {} behind unit {}, where that one has no value", i, parent, unit));
    if (startOf(result, parent, unit) > startOf(result, i, unit))
      return finding(
          fmt::format("trial {} begins from trial {} behind unit {} before that one goes on", i, parent, unit));
    for (size_t p = 0; p < problem.space.size(); ++p)
      if (problem.space[p].from < unit && of.configuration[p] != trial.configuration[p])
        return finding(fmt::format("trial {} begins from trial {}, but '{}' acts before unit {} and is another one", i,
                                   parent, problem.space[p].name, unit));
    std::vector<unsigned> &siblings = branches[{parent, unit}];
    siblings.push_back(i);
    if (std::ssize(siblings) >= problem.branches)
      return finding(fmt::format("{} trials have the state of trial {} behind unit {}, but {} may have it",
                                 siblings.size() + 1, parent, unit, problem.branches));
    for (unsigned other : siblings)
      if (const Trial &same = other == i ? of : result.trials[other]; same.configuration == trial.configuration)
        return finding(fmt::format("trial {} is the same as trial {}, and begins from it or beside it", i,
                                   other == i ? parent : other));
    units += unit;
  }
  out.checked.push_back(
      fmt::format("{} trials begin from {} states of others that went on, and do not run {} units again",
                  std::ranges::count_if(result.trials, &Trial::inherited), branches.size(), units));
}

} // namespace accord::tuning
