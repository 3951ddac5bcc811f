#include "lib/machine/calibration/Score.h"
#include <algorithm>
#include <cmath>
#include <map>
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

namespace {

/// Measured over computed time, with the weight of the row.
struct Ratio {
  double value, weight;
};

/// 90 of 100 of them, not less than `narrowest`; without any, `prior`.
StepTimeInterval intervalOf(std::vector<Ratio> ratios, StepTimeInterval narrowest, StepTimeInterval prior) {
  constexpr double kTail = 0.05;
  if (ratios.empty())
    return prior;
  StepTimeInterval interval = narrowest;
  std::ranges::sort(ratios, {}, &Ratio::value);
  double total = 0;
  for (const Ratio &ratio : ratios)
    total += ratio.weight;
  auto quantile = [&](double share) {
    double sum = 0;
    for (const Ratio &ratio : ratios)
      if ((sum += ratio.weight) >= share * total)
        return ratio.value;
    return ratios.back().value;
  };
  return {std::min(interval.low, quantile(kTail)), std::max(interval.high, quantile(1 - kTail))};
}

bool attends(const Case &one) { return one.candidates.front().layout.hostShare >= 1; }

/// Of a kind of training that rows are of, what clusters differ by.
StepTimeIntervals intervalsWithoutFit(const std::vector<Case> &cases, const StepTimeIntervals &withoutRows) {
  StepTimeIntervals intervals = withoutRows;
  for (const Case &one : cases)
    if (!one.candidates.empty())
      (attends(one) ? intervals.attending : intervals.other) = kUnseenSource;
  return intervals;
}

} // namespace

void weighBySource(std::vector<Case> &cases) {
  std::map<std::string, double> rows;
  for (const Case &one : cases)
    ++rows[one.source()];
  for (Case &one : cases)
    one.weight = 1 / std::sqrt(rows[one.source()]);
}

Result<StepTimeIntervals> unseenSourceIntervals(const std::vector<Case> &cases, const StepTimeIntervals &withoutRows) {
  std::map<std::string, std::vector<Case>> bySource;
  for (const Case &one : cases)
    if (!one.candidates.empty())
      bySource[one.source()].push_back(one);
  if (bySource.size() < 2)
    return intervalsWithoutFit(cases, withoutRows);
  std::vector<Ratio> attending, other;
  for (const auto &[source, own] : bySource) {
    std::vector<Case> others;
    for (const Case &one : cases)
      if (one.source() != source)
        others.push_back(one);
    ACCORD_TRY(fitted, fit(others, kCarriedPriorWeight));
    for (const Case &one : own)
      (attends(one) ? attending : other).push_back({one.seconds / predict(one, fitted.factors).total, one.weight});
  }
  return StepTimeIntervals{intervalOf(std::move(attending), kUnseenSource, withoutRows.attending),
                           intervalOf(std::move(other), kUnseenSource, withoutRows.other)};
}

Result<StepTimeIntervals> unseenRowIntervals(const std::vector<Case> &cases, const StepTimeIntervals &withoutRows) {
  constexpr size_t kFolds = 5;
  constexpr StepTimeInterval kRepeatedRuns = {0.95, 1.05};
  if (cases.size() < kMinRowsOfCluster)
    return intervalsWithoutFit(cases, withoutRows);
  std::vector<const Case *> ordered;
  for (const Case &one : cases)
    ordered.push_back(&one);
  std::ranges::sort(ordered, {}, &Case::id);
  std::vector<Ratio> attending, other;
  for (size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<Case> seen, unseen;
    for (size_t i = 0; i < ordered.size(); ++i)
      (i % kFolds == fold ? unseen : seen).push_back(*ordered[i]);
    ACCORD_TRY(fitted, fit(seen));
    for (const Case &one : unseen)
      if (!one.candidates.empty())
        (attends(one) ? attending : other).push_back({one.seconds / predict(one, fitted.factors).total, 1});
  }
  return StepTimeIntervals{intervalOf(std::move(attending), kRepeatedRuns, withoutRows.attending),
                           intervalOf(std::move(other), kRepeatedRuns, withoutRows.other)};
}

std::vector<Residual> residualsOf(const std::vector<Case> &cases, const Factors &factors) {
  std::vector<Residual> residuals;
  for (const Case &one : cases)
    residuals.push_back({one.id, one.stratum, one.seconds, predict(one, factors).total});
  return residuals;
}

} // namespace accord::calibrate
