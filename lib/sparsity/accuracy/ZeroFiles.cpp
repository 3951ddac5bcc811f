#include "lib/sparsity/accuracy/ZeroFiles.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Number.h"
#include "lib/support/documents/Csv.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

using calibrate::Cell;
using calibrate::Record;

constexpr size_t kMaxErrors = 20;
constexpr int64_t kMaxNumber = 1'000'000'000, kMaxChannel = int64_t(1) << 20, kMaxZeros = 1024;

/// A table with names of columns, and what is wrong with it.
class ZeroTable {
public:
  ZeroTable(std::string_view text, const std::string &file, std::vector<std::string> known, bool namesMetric)
      : file(file), known(std::move(known)), namesMetric(namesMetric) {
    auto records = calibrate::readCsv(text, file);
    if (!records) {
      for (Error &issue : records.error())
        complainAt(issue.location, issue.message);
      return;
    }
    lines = std::move(*records);
    if (lines.size() < 2) {
      complainAt({file, 1, 1}, lines.empty() ? "an empty file" : "names of columns without a line of values");
      return;
    }
    header();
    lines.erase(lines.begin());
  }

  std::vector<Rejection> rejections;
  std::vector<Record> lines;
  std::string metric; ///< the column that is not among the known ones

  bool has(const std::string &name) const { return columns.count(name) != 0; }
  /// The cell of a column; null where there is none or it is empty.
  const Cell *cell(const Record &record, const std::string &name) const {
    auto found = columns.find(name);
    return found == columns.end() || found->second >= record.size() || record[found->second].text.empty()
               ? nullptr
               : &record[found->second];
  }
  SourceLocation at(const Cell &cell) const { return {file, cell.line, cell.column}; }
  void complainAt(const SourceLocation &place, std::string message, std::string help = {}) {
    if (rejections.size() < kMaxErrors)
      rejections.push_back({{Code::WrongQualityFile, std::move(message), place, {}}, std::move(help)});
  }
  void complain(const Cell &cell, std::string message, std::string help = {}) {
    complainAt(at(cell), std::move(message), std::move(help));
  }
  const Cell *required(const Record &record, const std::string &name) {
    const Cell *found = cell(record, name);
    if (!found)
      complain(record.front(), fmt::format("no value of '{}' in this line", name));
    return found;
  }
  std::optional<int64_t> whole(const Cell &cell, const std::string &column, int64_t max) {
    auto value = parseNumber(cell.text);
    auto number = value ? value->toInt64() : std::nullopt;
    if (number && *number >= 0 && *number <= max)
      return number;
    complain(cell,
             fmt::format("column '{}': expected a whole number from 0 to {}, found '{}'", column, max, cell.text));
    return std::nullopt;
  }
  std::optional<Rational> share(const Cell &cell, const std::string &column) {
    auto value = parseNumber(cell.text);
    const bool isShort = value && cell.text.size() <= 60;
    if (isShort && value->sign() >= 0 && *value <= Rational(1))
      return *value;
    const bool isPercent = isShort && *value > Rational(1) && *value <= Rational(100);
    complain(cell, fmt::format("column '{}': expected a share from 0 to 1, found '{}'", column, cell.text),
             isPercent ? fmt::format("{} % is {}", cell.text, (*value / Rational(100)).print()) : "");
    return std::nullopt;
  }

private:
  std::string file;
  std::vector<std::string> known;
  bool namesMetric;
  std::map<std::string, size_t> columns;

  void header() {
    const Record &names = lines.front();
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string &name = names[i].text;
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        if (namesMetric && metric.empty() && !name.empty()) {
          metric = name;
        } else {
          const std::string suggestion = name.empty() ? "" : nearest(name, known);
          complain(names[i], fmt::format("unknown column '{}'", name),
                   suggestion.empty() ? fmt::format("columns are {}", fmt::join(known, ", "))
                                      : fmt::format("did you mean '{}'?", suggestion));
        }
      }
      if (!columns.emplace(name, i).second)
        complain(names[i], fmt::format("column '{}' is named twice", name));
    }
    for (size_t i = 1; i < lines.size(); ++i)
      if (lines[i].size() != names.size())
        complain(lines[i].front(),
                 fmt::format("{} values in this line, and {} columns", lines[i].size(), names.size()));
  }
};

} // namespace

std::variant<ZeroTraces, std::vector<Rejection>> readZeroTraces(std::string_view text, const std::string &file) {
  ZeroTable table(text, file, {"layer", "channel", "zeros", "count", "share", "threshold", "note"}, false);
  ZeroTraces out;
  out.file = file;
  const std::string amount = table.has("count") ? "count" : "share";
  if (table.rejections.empty())
    for (const char *name : {"layer", "channel", "zeros", amount.c_str()})
      if (!table.has(name))
        table.complainAt({file, 1, 1}, fmt::format("no column '{}'", name),
                         "for example: layer,channel,zeros,count / conv1,0,4,1250");
  if (!table.rejections.empty())
    return std::move(table.rejections);
  std::map<std::tuple<std::string, std::string, int64_t>, size_t> at;
  std::map<std::pair<size_t, int64_t>, SourceLocation> seen;
  for (const Record &line : table.lines) {
    const Cell *layer = table.required(line, "layer"), *channel = table.required(line, "channel");
    const Cell *zeros = table.required(line, "zeros"), *count = table.required(line, amount);
    if (!layer || !channel || !zeros || !count)
      continue;
    auto number = table.whole(*channel, "channel", kMaxChannel), z = table.whole(*zeros, "zeros", kMaxZeros);
    auto value = amount == "share" ? table.share(*count, amount) : std::nullopt;
    if (amount == "count")
      if (auto windows = table.whole(*count, amount, kMaxNumber * 1000))
        value = Rational(*windows);
    if (!number || !z || !value)
      continue;
    const Cell *threshold = table.cell(line, "threshold");
    auto [found, isNew] = at.try_emplace({threshold ? threshold->text : "", layer->text, *number}, out.channels.size());
    if (isNew)
      out.channels.push_back({threshold ? threshold->text : "", layer->text, *number, {}, table.at(*layer)});
    auto [first, isFirst] = seen.try_emplace({found->second, *z}, table.at(*zeros));
    if (!isFirst) {
      table.complain(*zeros,
                     fmt::format("channel {} of '{}' has windows with {} zeros twice", *number, layer->text, *z));
      if (table.rejections.back().error.location.line == zeros->line)
        table.rejections.back().error.notes.push_back({first->second, "they are here, too"});
      continue;
    }
    std::vector<double> &counts = out.channels[found->second].counts;
    if (std::ssize(counts) <= *z)
      counts.resize(*z + 1, 0.0);
    counts[*z] = value->toDouble();
  }
  if (!table.rejections.empty())
    return std::move(table.rejections);
  return out;
}

std::variant<ThresholdTable, std::vector<Rejection>> readThresholds(std::string_view text, const std::string &file) {
  ZeroTable table(text, file, {"threshold", "density", "layer", "right", "samples", "note"}, true);
  ThresholdTable out;
  out.file = file;
  out.metric = table.metric.empty() ? "accuracy" : table.metric;
  if (table.rejections.empty()) {
    const char *example = "for example: threshold,density,top1,samples / 0.005,0.4367,0.6942,50000";
    for (const char *name : {"threshold", "density"})
      if (!table.has(name))
        table.complainAt({file, 1, 1}, fmt::format("no column '{}'", name), example);
    if (table.metric.empty() && !(table.has("right") && table.has("samples")))
      table.complainAt({file, 1, 1}, "no column that is named as a metric, nor 'right' and 'samples'", example);
  }
  if (!table.rejections.empty())
    return std::move(table.rejections);
  for (const Record &line : table.lines) {
    const Cell *threshold = table.required(line, "threshold"), *density = table.required(line, "density");
    if (!threshold || !density)
      continue;
    const Cell *share = table.metric.empty() ? nullptr : table.cell(line, table.metric);
    const Cell *right = table.cell(line, "right"), *samples = table.cell(line, "samples"),
               *layer = table.cell(line, "layer");
    ThresholdTable::Network one{threshold->text, 0, 0, 0, {}, table.at(*threshold)};
    if (samples)
      one.samples = table.whole(*samples, "samples", kMaxNumber).value_or(0);
    if (right && one.samples > 0) {
      one.right = table.whole(*right, "right", one.samples).value_or(0);
      one.share = Rational(one.right) / Rational(one.samples);
    } else if (right) {
      table.complain(*right, "'right' without 'samples' in this line");
    } else if (share) {
      one.share = table.share(*share, table.metric).value_or(Rational(0));
      one.right = (one.share * Rational(one.samples)).floor().toInt64().value_or(0);
    }
    const bool states = right || share;
    auto known = std::find_if(out.networks.begin(), out.networks.end(),
                              [&](const auto &network) { return network.threshold == one.threshold; });
    if (known == out.networks.end()) {
      if (!states)
        table.complain(*threshold,
                       fmt::format("how accurate the network with threshold {} is, is not said", threshold->text));
      out.networks.push_back(one);
      known = out.networks.end() - 1;
    } else if (states && (known->share != one.share || known->samples != one.samples)) {
      table.complain(*threshold, fmt::format("the network with threshold {} has two accuracies", threshold->text));
    }
    const std::string name = layer ? layer->text : "";
    for (const ThresholdTable::Density &other : known->densities)
      if (other.layer == name)
        table.complain(*threshold, fmt::format("the density of {} with threshold {} is there twice",
                                               name.empty() ? "all layers" : "'" + name + "'", threshold->text));
    auto value = table.share(*density, "density");
    known->densities.push_back({name, value ? value->toDouble() : 1, table.at(*density)});
  }
  if (!table.rejections.empty())
    return std::move(table.rejections);
  return out;
}

} // namespace accord
