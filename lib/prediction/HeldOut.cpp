#include "lib/prediction/HeldOut.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::prediction {
namespace {

/// The mean of the middle two of an even number of values; 0 of none.
double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

} // namespace

HeldOutScore scoreOf(const std::vector<HeldOutValue> &values) {
  HeldOutScore score;
  score.rows = values.size();
  if (values.empty())
    return score;
  const auto count = static_cast<double>(values.size());
  std::vector<double> errors, widths;
  for (const HeldOutValue &value : values) {
    errors.push_back(std::abs(value.error()));
    widths.push_back(value.high / value.low);
    score.meanError += errors.back() / count;
    score.worstError = std::max(score.worstError, errors.back());
    score.coverage += value.isCovered() ? 1 / count : 0;
  }
  score.medianError = medianOf(std::move(errors));
  score.width = medianOf(std::move(widths));
  return score;
}

std::vector<std::pair<std::string, HeldOutScore>> scoresByGroup(const std::vector<HeldOutValue> &values) {
  std::map<std::string, std::vector<HeldOutValue>> groups;
  for (const HeldOutValue &value : values)
    groups[value.group].push_back(value);
  std::vector<std::pair<std::string, HeldOutScore>> scores;
  for (const auto &[group, members] : groups)
    scores.emplace_back(group, scoreOf(members));
  return scores;
}

std::optional<double> conformalScore(const std::vector<GroupedScore> &scores, double coverage) {
  std::map<std::string, double> rowsOf;
  for (const GroupedScore &one : scores)
    ++rowsOf[one.group];
  std::vector<std::pair<double, double>> weighted; // score, share
  const auto groups = static_cast<double>(rowsOf.size());
  for (const GroupedScore &one : scores)
    weighted.push_back({one.score, 1 / (rowsOf[one.group] * (groups + 1))});
  std::ranges::sort(weighted);
  constexpr double kRounding = 1e-9;
  double sum = 0;
  for (const auto &[score, share] : weighted)
    if ((sum += share) >= coverage - kRounding)
      return score;
  return std::nullopt;
}

} // namespace accord::prediction
