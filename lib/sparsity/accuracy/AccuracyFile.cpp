#include "lib/sparsity/accuracy/AccuracyEvaluation.h"
#include "lib/sparsity/accuracy/PatternParser.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Number.h"
#include "lib/support/documents/Csv.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <tuple>

namespace accord {
namespace {

using calibrate::Cell;
using calibrate::Record;
using Kind = SparsityRequest::AccuracyMeasurements::Kind;

constexpr size_t kMaxErrors = 20, kMaxLines = 10'000;
constexpr int64_t kMaxSamples = 1'000'000'000;
constexpr unsigned kMaxNumberBits = 128;
constexpr double kRoundedShare = 0.005; // a share beside its counts has two digits at least

/// Of all lines, what makes a configuration.
auto keyOf(const MeasuredAccuracy &a) {
  return std::tuple(a.of, a.layer, a.pattern, -a.density, a.denseEnds, a.isErdosRenyi);
}

std::string printed(const MeasuredAccuracy &a) {
  if (a.pattern == "dense")
    return "the dense network";
  return fmt::format("{}{} with density {:.6g}", a.pattern, a.layer.empty() ? "" : fmt::format(" in '{}'", a.layer),
                     a.density);
}

class AccuracyReader {
public:
  AccuracyReader(const SparsityRequest::AccuracyMeasurements &source, const std::vector<std::string> &otherMetrics)
      : others(otherMetrics) {
    out.source = source;
    ranking = source.kind == Kind::Sensitivity;
    known = ranking ? std::vector<std::string>{"layer", "sensitivity", "note"}
                    : std::vector<std::string>{"pattern", "density", "layer",        "of",           "right",
                                               "samples", "recipe",  "dense_layers", "distribution", "note"};
    if (!ranking)
      known.insert(known.begin(), source.metric);
  }

  AccuracyFile out;
  std::vector<Rejection> rejections;

  void read(std::string_view text) {
    if (!ranking && std::count(known.begin(), known.end(), out.source.metric) > 1)
      return complainAt(
          out.source.location,
          fmt::format("'{}' is no name of a metric: files of accuracies have a column of that name for another thing",
                      out.source.metric),
          "for example: accuracy \"top1\" from \"measured.csv\"");
    auto records = calibrate::readCsv(text, out.source.file);
    if (!records) {
      for (Error &issue : records.error())
        complainAt(issue.location, issue.message, "a file of comma-separated values, as text");
      return;
    }
    auto &lines = *records;
    if (lines.size() < 2 || lines.size() > kMaxLines + 1)
      return complainAt({out.source.file, 1, 1},
                        lines.empty()      ? "an empty file"
                        : lines.size() < 2 ? "names of columns without a line of values"
                                           : fmt::format("more than {} lines of values", kMaxLines),
                        example());
    if (header(lines.front()))
      for (size_t i = 1; i < lines.size(); ++i)
        line(lines[i]);
    auto place = [](const auto &value) { return std::tuple(value.location.line, value.location.column); };
    std::sort(out.accuracies.begin(), out.accuracies.end(), [&](auto &a, auto &b) {
      return std::tuple_cat(keyOf(a), place(a)) < std::tuple_cat(keyOf(b), place(b));
    });
    std::sort(out.sensitivities.begin(), out.sensitivities.end(), [&](auto &a, auto &b) {
      return std::tuple_cat(std::tie(a.layer), place(a)) < std::tuple_cat(std::tie(b.layer), place(b));
    });
    repeated();
  }

private:
  std::string example() const {
    return ranking ? "for example: layer,sensitivity / block.0,0.7"
                   : fmt::format("for example: pattern,density,{} / \"nm(2, 4)\",0.5,0.742", out.source.metric);
  }
  void complainAt(const SourceLocation &at, std::string message, std::string help = {}) {
    if (rejections.size() < kMaxErrors)
      rejections.push_back({{Code::WrongQualityFile, std::move(message), at, {}}, std::move(help)});
    failed = true;
  }
  void complain(const Cell &cell, std::string message, std::string help = {}) {
    complainAt({out.source.file, cell.line, cell.column}, std::move(message), std::move(help));
  }

  bool header(const Record &record) {
    std::string near; // a name that may stand for a missing one
    for (size_t i = 0; i < record.size(); ++i) {
      const std::string &name = record[i].text;
      bool isKnown = std::find(known.begin(), known.end(), name) != known.end();
      if (!isKnown && std::find(others.begin(), others.end(), name) != others.end())
        continue;
      if (isKnown) {
        if (!columns.emplace(name, i).second)
          complain(record[i], fmt::format("column '{}' is named twice", name));
        continue;
      }
      std::string suggestion = name.empty() ? "" : nearest(name, known);
      near = suggestion.empty() ? near : name;
      complain(record[i], fmt::format("unknown column '{}'", name),
               suggestion.empty() ? fmt::format("columns are {}", fmt::join(known, ", "))
                                  : fmt::format("did you mean '{}'?", suggestion));
    }
    count = record.size();
    auto missing = [&](const std::string &what) {
      complain(record.front(), "no column " + what, near.empty() ? example() : fmt::format("is '{}' meant?", near));
    };
    auto has = [&](const char *name) { return columns.count(name) != 0; };
    if (ranking) {
      if (!has("layer"))
        missing("'layer'");
      if (!has("sensitivity"))
        missing("'sensitivity'");
      return !failed;
    }
    if (!columns.count(out.source.metric) && !(has("right") && has("samples")))
      missing(has("right") ? "'samples' beside 'right'"
                           : fmt::format("'{}', nor 'right' and 'samples'", out.source.metric));
    if (!has("pattern") && !has("density"))
      missing("'pattern', nor 'density'");
    return !failed;
  }

  /// The cell of a column; null where there is none or it is empty.
  const Cell *cell(const Record &record, const std::string &name) const {
    auto found = columns.find(name);
    return found == columns.end() || record[found->second].text.empty() ? nullptr : &record[found->second];
  }
  std::optional<Rational> number(const Cell &cell) const {
    auto value = parseNumber(cell.text);
    return value && cell.text.size() <= 60 && value->bits() <= kMaxNumberBits ? std::optional(*value) : std::nullopt;
  }
  Rational shareIn(const Cell &cell, const std::string &column) {
    auto value = number(cell);
    if (value && value->sign() >= 0 && *value <= Rational(1))
      return *value;
    bool percent = value && *value > Rational(1) && *value <= Rational(100);
    complain(cell, fmt::format("column '{}': expected a share from 0 to 1, found '{}'", column, cell.text),
             percent ? fmt::format("{} % is {}", cell.text, (*value / Rational(100)).print()) : "");
    return 0;
  }
  int64_t countIn(const Cell &cell, const std::string &column, int64_t min) {
    auto value = number(cell);
    auto whole = value ? value->toInt64() : std::nullopt;
    if (whole && *whole >= min && *whole <= kMaxSamples)
      return *whole;
    complain(cell, fmt::format("column '{}': expected a whole number from {} to {}, found '{}'", column, min,
                               kMaxSamples, cell.text));
    return min;
  }

  void line(const Record &record) {
    failed = false;
    if (record.size() != count)
      return complain(record.size() < count ? record.front() : record[count],
                      fmt::format("{} cells, but the first line names {} columns", record.size(), count),
                      record.size() > count ? "a pattern with commas is written in quotes: \"nm(2, 4)\"" : "");
    if (ranking)
      return sensitivity(record);
    MeasuredAccuracy a;
    a.location = {out.source.file, record.front().line, record.front().column};
    if (const Cell *of = cell(record, "of")) {
      const std::vector<std::string> operands{"weights", "activations", "gradients"};
      auto found = std::find(operands.begin(), operands.end(), of->text);
      if (found == operands.end())
        complain(*of, fmt::format("column 'of': '{}' is none of {}", of->text, fmt::join(operands, ", ")),
                 "without the column it is weights");
      else
        a.of = static_cast<GemmOperand>(found - operands.begin());
    }
    if (const Cell *layer = cell(record, "layer"); layer && layer->text != "*")
      a.layer = layer->text;
    sparsity(record, a);
    scope(record, a);
    measured(record, a);
    if (!failed)
      out.accuracies.push_back(std::move(a));
  }

  void sparsity(const Record &record, MeasuredAccuracy &a) {
    const Cell *pattern = cell(record, "pattern"), *density = cell(record, "density");
    if (!pattern && columns.count("pattern"))
      return complain(record[columns["pattern"]], "column 'pattern' is empty", "'dense' is the network without zeros");
    PatternText found = parsePattern(pattern ? pattern->text : "unstructured", a.of);
    if (!found.error.empty())
      return complain(*pattern, found.error);
    recipe(record, a, pattern, found.pattern);
    if (density) {
      double stated = shareIn(*density, "density").toDouble();
      if (found.density && *found.density != stated)
        return complain(
            *density, fmt::format("{} has a density of {:.6g}, not {}", pattern->text, *found.density, density->text));
      found.density = stated;
    }
    using Pattern = SparsityPattern::Kind;
    SparsityPattern &p = found.pattern;
    if (!found.density && p.kind != Pattern::Banded)
      return complain(pattern ? *pattern : record.front(),
                      fmt::format("no density of {}", pattern ? pattern->text : "this line"),
                      "a column 'density' says the share of elements that are not zero");
    p.density = a.density = p.kind == Pattern::Banded ? 0 : *found.density;
    a.pattern = measuredPattern(a.of, p);
    if (a.pattern == "dense") { // of which layers and operands says nothing
      a.density = 1;
      a.layer.clear();
      a.of = GemmOperand::Weights;
    }
  }

  /// The column `recipe`: masks of weights that move are another pattern.
  void recipe(const Record &record, const MeasuredAccuracy &a, const Cell *pattern, SparsityPattern &p) {
    const Cell *stated = cell(record, "recipe");
    if (!stated || p.kind == SparsityPattern::Kind::Dense)
      return;
    if (stated->text != "static" && stated->text != "dynamic")
      return complain(*stated, fmt::format("column 'recipe': '{}' is none of static, dynamic", stated->text),
                      "dynamic: masks are found again while the network is trained");
    if (a.of != GemmOperand::Weights)
      return complain(*stated, "column 'recipe' is of masks of weights");
    const bool moves = stated->text == "dynamic";
    const llvm::StringRef text = pattern ? llvm::StringRef(pattern->text) : "";
    if (text.contains(moves ? "static" : "dynamic"))
      return complain(*stated, fmt::format("{} and a {} recipe", pattern->text, stated->text));
    p.dynamic = moves;
  }

  /// Columns `dense_layers` and `distribution`.
  void scope(const Record &record, MeasuredAccuracy &a) {
    const Cell *dense = cell(record, "dense_layers"), *distribution = cell(record, "distribution");
    for (const Cell *stated : {dense, distribution})
      if (stated && (!a.layer.empty() || a.of != GemmOperand::Weights))
        return complain(*stated, "'dense_layers' and 'distribution' are of the weights of a whole network");
    if (a.pattern == "dense")
      return;
    if (dense) {
      bool first = false, last = false, isKnown = true;
      llvm::SmallVector<llvm::StringRef, 2> words;
      llvm::StringRef(dense->text).split(words, ' ', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef word : words) {
        first |= word == "first", last |= word == "last";
        isKnown &= word == "first" || word == "last" || (word == "none" && words.size() == 1);
      }
      if (!isKnown)
        return complain(
            *dense, fmt::format("column 'dense_layers': '{}' is none of none, first, last, first last", dense->text));
      a.denseEnds = {first, last};
    }
    if (!distribution)
      return;
    if (distribution->text != "uniform" && distribution->text != "erk")
      return complain(*distribution,
                      fmt::format("column 'distribution': '{}' is none of uniform, erk", distribution->text));
    a.isErdosRenyi = distribution->text == "erk";
  }

  void measured(const Record &record, MeasuredAccuracy &a) {
    const Cell *share = cell(record, out.source.metric), *right = cell(record, "right"),
               *samples = cell(record, "samples");
    if (!share && !right)
      return complain(record.front(), fmt::format("no value of '{}' in this line", out.source.metric));
    a.samples = samples ? countIn(*samples, "samples", 1) : std::clamp<int64_t>(out.source.samples, 0, kMaxSamples);
    if (share)
      a.share = shareIn(*share, out.source.metric);
    if (!right) {
      a.right = *(a.share * Rational(a.samples)).floor().toInt64();
      return;
    }
    a.right = countIn(*right, "right", 0);
    if (!samples)
      return complain(*right, "'right' without 'samples' in this line");
    if (a.right > a.samples)
      return complain(*right, fmt::format("{} right of {} samples", a.right, a.samples));
    Rational counted = Rational(a.right) / Rational(a.samples);
    if (share && std::abs((counted - a.share).toDouble()) > kRoundedShare)
      return complain(*share, fmt::format("{} is not {} of {}", share->text, a.right, a.samples));
    a.share = counted;
  }

  void sensitivity(const Record &record) {
    const Cell *layer = cell(record, "layer"), *value = cell(record, "sensitivity");
    if (!layer || !value)
      return complain(record.front(), "a layer and its sensitivity are expected in each line");
    auto found = number(*value);
    if (!found || found->sign() < 0)
      return complain(*value,
                      fmt::format("column 'sensitivity': expected a number of at least 0, found '{}'", value->text));
    out.sensitivities.push_back(
        {layer->text, found->toDouble(), {out.source.file, record.front().line, record.front().column}});
  }

  void twice(const std::string &what, const SourceLocation &first, const SourceLocation &second) {
    complainAt(second, what + " is in this file twice",
               what == "the dense network" ? "a density of 1 is the dense network, whatever the pattern and the layer"
                                           : "");
    if (rejections.back().error.location.line == second.line)
      rejections.back().error.notes.push_back({first, "it is here, too"});
  }
  void repeated() {
    for (size_t i = 1; i < out.accuracies.size(); ++i)
      if (keyOf(out.accuracies[i - 1]) == keyOf(out.accuracies[i]))
        twice(printed(out.accuracies[i]), out.accuracies[i - 1].location, out.accuracies[i].location);
    for (size_t i = 1; i < out.sensitivities.size(); ++i)
      if (out.sensitivities[i - 1].layer == out.sensitivities[i].layer)
        twice(fmt::format("layer '{}'", out.sensitivities[i].layer), out.sensitivities[i - 1].location,
              out.sensitivities[i].location);
  }

  const std::vector<std::string> &others;
  std::vector<std::string> known;
  std::map<std::string, size_t> columns;
  size_t count = 0;
  bool ranking = false, failed = false;
};

/// The text of the file that a request names.
Result<std::string> contents(const SparsityRequest::AccuracyMeasurements &source) {
  using namespace llvm::sys::fs;
  auto unreadable = [&](const std::string &why) {
    return Error{Code::WrongQualityFile, fmt::format("cannot read '{}': {}", source.file, why), source.location};
  };
  file_status status;
  if (std::error_code error = llvm::sys::fs::status(source.file, status))
    return unreadable(llvm::StringRef(error.message()).lower());
  if (status.type() == file_type::directory_file)
    return unreadable("it is a directory");
  if (status.type() != file_type::regular_file)
    return unreadable("it is no regular file");
  if (status.getSize() > calibrate::kLargestText)
    return unreadable(fmt::format("it has more than {} bytes", calibrate::kLargestText));
  auto buffer = llvm::MemoryBuffer::getFile(source.file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return unreadable(llvm::StringRef(buffer.getError().message()).lower());
  return (*buffer)->getBuffer().str();
}

} // namespace

std::variant<AccuracyFile, std::vector<Rejection>> readAccuracies(std::string_view text,
                                                                  const SparsityRequest::AccuracyMeasurements &source,
                                                                  const std::vector<std::string> &otherMetrics) {
  AccuracyReader reader(source, otherMetrics);
  reader.read(text);
  if (!reader.rejections.empty())
    return std::move(reader.rejections);
  return std::move(reader.out);
}

std::variant<std::vector<AccuracyFile>, std::vector<Rejection>> readAccuracyFiles(const SparsityRequest &request) {
  std::vector<AccuracyFile> files;
  std::vector<Rejection> rejections;
  using Key = decltype(std::tuple_cat(std::tuple<std::string, Kind>(), keyOf(MeasuredAccuracy())));
  std::map<Key, SourceLocation> first;
  for (const SparsityRequest::AccuracyMeasurements &source : request.measurements) {
    auto text = contents(source);
    if (!text) {
      rejections.push_back({text.takeError(), "paths are beside the file that names them"});
      continue;
    }
    std::vector<std::string> others;
    for (const SparsityRequest::AccuracyMeasurements &other : request.measurements)
      if (other.file == source.file && other.metric != source.metric)
        others.push_back(other.metric);
    auto read = readAccuracies(*text, source, others);
    if (auto *error = std::get_if<std::vector<Rejection>>(&read)) {
      rejections.insert(rejections.end(), error->begin(), error->end());
      continue;
    }
    files.push_back(std::get<AccuracyFile>(std::move(read)));
    for (const MeasuredAccuracy &a : files.back().accuracies) {
      auto [other, isNew] = first.emplace(std::tuple_cat(std::tuple(source.metric, source.kind), keyOf(a)), a.location);
      if (!isNew && rejections.size() < kMaxErrors)
        rejections.push_back({{Code::WrongQualityFile,
                               fmt::format("'{}' of {} was measured in two files", source.metric, printed(a)),
                               a.location,
                               {{other->second, "it is here, too"}}},
                              "each configuration is there once"});
    }
  }
  if (!rejections.empty())
    return rejections;
  return files;
}

} // namespace accord
