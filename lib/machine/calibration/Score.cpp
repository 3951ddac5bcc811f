#include "lib/machine/calibration/Score.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord::calibrate {

Score scoreOf(const std::vector<Residual> &residuals) {
  Score score;
  score.rows = residuals.size();
  if (residuals.empty())
    return score;
  std::vector<double> sizes;
  for (const Residual &r : residuals) {
    sizes.push_back(std::abs(r.error()));
    score.mape += sizes.back();
    score.bias += r.error();
  }
  std::sort(sizes.begin(), sizes.end());
  double n = sizes.size();
  score.mape /= n;
  score.bias /= n;
  score.worst = sizes.back();
  score.median = (sizes[(sizes.size() - 1) / 2] + sizes[sizes.size() / 2]) / 2;
  return score;
}

static std::vector<double> ranks(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]])
      ++end;
    for (size_t j = i; j < end; ++j)
      rank[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

Ranking rankingOf(const std::vector<Residual> &group) {
  std::vector<double> measured, computed;
  for (const Residual &r : group) {
    measured.push_back(r.measured);
    computed.push_back(r.computed);
  }
  Ranking out;
  if (group.size() < 2)
    return out;
  std::vector<double> a = ranks(measured), b = ranks(computed);
  double mean = static_cast<double>(group.size() - 1) / 2, ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  out.spearman = aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
  auto pick = std::min_element(computed.begin(), computed.end()) - computed.begin();
  out.regret = measured[pick] / *std::min_element(measured.begin(), measured.end()) - 1;
  return out;
}

std::vector<Residual> residualsOf(const std::vector<Case> &cases, const Factors &factors) {
  std::vector<Residual> residuals;
  for (const Case &one : cases)
    residuals.push_back({one.id, one.stratum, one.seconds, predict(one, factors).total});
  return residuals;
}

} // namespace accord::calibrate
