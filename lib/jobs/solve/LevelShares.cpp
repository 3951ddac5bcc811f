#include "lib/jobs/solve/LevelShares.h"
#include "lib/search/LinearProgram.h"
#include <algorithm>

namespace accord::jobs {

LevelShares maximizeLevel(const std::vector<int64_t> &capacity, const std::vector<unsigned> &gangs,
                          const TypeMatrix &speeds) {
  const size_t types = capacity.size(), jobs = gangs.size();
  LinearProgram program;
  for (int64_t devices : capacity)
    program.addRow(static_cast<double>(devices));
  double fastest = 0;
  for (const std::vector<double> &row : speeds)
    fastest = std::max(fastest, *std::max_element(row.begin(), row.end()));
  const unsigned level = program.addColumn(1, fastest);
  std::vector<std::pair<size_t, size_t>> of; // job and type of each column behind `level`
  for (size_t j = 0; j < jobs; ++j) {
    const unsigned time = program.addRow(1), speed = program.addRow(0);
    program.columns[level].entries.push_back({speed, 1});
    for (size_t t = 0; t < types; ++t) {
      if (speeds[j][t] <= 0 || gangs[j] > capacity[t])
        continue;
      const unsigned share = program.addColumn(0, 1);
      program.columns[share].entries = {{static_cast<unsigned>(t), gangs[j]}, {time, 1}, {speed, -speeds[j][t]}};
      of.push_back({j, t});
    }
  }
  const LinearSolution solution = maximize(program);
  LevelShares result;
  result.shares.assign(jobs, std::vector<double>(types, 0));
  for (size_t c = 0; c < of.size() && !solution.x.empty(); ++c)
    result.shares[of[c].first][of[c].second] = solution.x[c + 1];
  result.level = solution.value;
  result.bound = dualBound(program, solution.multipliers);
  for (size_t t = 0; t < types; ++t)
    result.prices.push_back(solution.multipliers[t]);
  for (size_t j = 0; j < jobs; ++j)
    result.weights.push_back(solution.multipliers[types + 2 * j + 1]);
  return result;
}

} // namespace accord::jobs
