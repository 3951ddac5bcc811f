#include "lib/driver/ensembles/StatedErrors.h"
#include "lib/driver/Workspace.h"
#include "lib/ensembles/solve/Patterns.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

bool StatedErrors::check(unsigned size, Diagnostics &diags) const {
  if (hasTooManySets(size, diags))
    return false;
  std::vector<unsigned> all(request.kinds.size(), 1);
  for (const auto &[kinds, rate] : statistics.jointErrors) {
    std::vector<unsigned> counts(all.size(), 0);
    for (unsigned kind : kinds)
      all[kind] = std::max(all[kind], ++counts[kind]);
    if (contradicts(counts, diags))
      return false;
  }
  return !contradicts(all, diags);
}

bool StatedErrors::hasTooManySets(unsigned size, Diagnostics &diags) const {
  constexpr double kMaxSets = 100'000;
  for (const EnsembleRequest::JointError &joint : request.joint) {
    // By number of members: the most sets among them, kind by kind.
    std::vector<double> max(size + 1, 1);
    for (size_t i = 0; i < joint.kinds.size();) {
      const size_t times = std::ranges::count(joint.kinds, joint.kinds[i]);
      std::vector<double> sets(size + 1, 0), next(size + 1, 0);
      for (size_t n = times; n <= size; ++n)
        sets[n] = n == times ? 1 : sets[n - 1] * n / (n - times);
      for (size_t n = 0; n <= size; ++n)
        for (size_t of = 0; of <= n; ++of)
          next[n] = std::max(next[n], max[n - of] * sets[of]);
      max = std::move(next);
      i += times;
    }
    if (max[size] > kMaxSets) {
      diags.error(
          Code::NumberTooLarge, rangeOf(diags, joint.location),
          fmt::format("a joint error of {} members is one of {:.0f} sets among {}: at most {:.0f} are looked at",
                      joint.kinds.size(), max[size], size, kMaxSets));
      return true;
    }
  }
  return false;
}

bool StatedErrors::contradicts(const std::vector<unsigned> &counts, Diagnostics &diags) const {
  ErrorStatistics known = statisticsOf(statistics, counts);
  known.votes.clear();
  VoteOptions options;
  options.confidence = confidence;
  options.tests = tests;
  options.kinds = kindsOf(counts);
  auto conflict = conflictOf(known, options);
  if (!conflict)
    return false;
  SourceLocation at = request.location;
  std::vector<std::string> names;
  for (unsigned kind : options.kinds)
    names.push_back(request.kinds[kind].name);
  if (!conflict->sets.empty()) {
    std::vector<unsigned> last;
    for (unsigned member : conflict->sets.back())
      last.push_back(options.kinds[member]);
    for (const EnsembleRequest::JointError &joint : request.joint)
      if (joint.kinds == last)
        at = joint.location;
  }
  diags.error(Code::NoJointDistribution, rangeOf(diags, at), text(*conflict, names));
  return true;
}

} // namespace accord
