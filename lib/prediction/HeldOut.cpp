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

static void describeGroup(JsonFields &f, HeldOutGroup &group) {
  f.about("all rows, or those of a part: a family, an application, from one type to another").field("name", group.name);
  f.about("predictions of left-out values").field("rows", group.score.rows);
  f.about("mean of |predicted / measured - 1|").field("mean_error", group.score.meanError);
  f.about("median of the same").field("median_error", group.score.medianError);
  f.about("largest of the same").field("worst_error", group.score.worstError);
  f.about("share of rows in their interval of 90 %").field("coverage", group.score.coverage);
  f.about("median of the upper over the lower end").field("interval_ratio", group.score.width);
}

void describeHeldOutTable(JsonFields &f, HeldOutTable &table) {
  f.about("what was left out, and what is known of it").field("title", table.title);
  f.field("groups", table.groups, describeGroup);
}

HeldOutTable heldOutTable(const std::string &title, const std::vector<HeldOutValue> &values) {
  HeldOutTable table{title, {{"all", scoreOf(values)}}};
  for (auto &[name, score] : scoresByGroup(values))
    table.groups.push_back({name, score});
  return table;
}

std::string heldOutText(const HeldOutTable &table, const TextStyle &style) {
  TextTable text("lrrrrrr", {"of", "rows", "mean error", "median", "worst", "within 90 %", "high / low"});
  for (const HeldOutGroup &group : table.groups)
    text.row({group.name, std::to_string(group.score.rows), fmt::format("{:.1f} %", 100 * group.score.meanError),
              fmt::format("{:.1f} %", 100 * group.score.medianError),
              fmt::format("{:.0f} %", 100 * group.score.worstError),
              fmt::format("{:.1f} %", 100 * group.score.coverage), fmt::format("{:.1f}", group.score.width)});
  return fmt::format("{}\n{}\n", table.title, text.text(style));
}

} // namespace accord::prediction
