#include "lib/latency/model/LatencySweep.h"
#include "lib/support/Number.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

size_t LatencySweep::rows() const {
  size_t product = 1;
  for (const auto &of : values)
    product *= of.size();
  return product;
}

std::vector<double> LatencySweep::at(const LatencyModel &model, size_t row) const {
  std::vector<double> all = model.initial();
  for (size_t i = arguments.size(); i-- > 0; row /= values[i].size())
    all[arguments[i]] = values[i][row % values[i].size()];
  return all;
}

namespace {

struct Asked {
  std::string name;
  std::vector<double> values;
};

Error refused(const std::string &text) { return Error{Code::BadCommandLine, "--at: " + text}; }

/// What stands in the texts, whatever arguments there are.
Result<std::vector<Asked>> parseAsked(const std::vector<std::string> &texts) {
  std::vector<Asked> asked;
  for (const std::string &text : texts) {
    bool open = false; // a bare value goes on the list of the name before it
    for (size_t from = 0; from <= text.size();) {
      size_t end = std::min(text.find(',', from), text.size());
      std::string word = text.substr(from, end - from);
      from = end + 1;
      if (size_t equals = word.find('='); equals != std::string::npos) {
        std::string name = word.substr(0, equals);
        word = word.substr(equals + 1);
        if (std::ranges::find(asked, name, &Asked::name) != asked.end())
          return refused(fmt::format("'{}' is given twice", name));
        asked.push_back({name, {}});
        open = true;
      }
      auto value = parseReal(word);
      if (!open || !value)
        return refused(fmt::format("'{}' is no number; write name=value,value", word));
      asked.back().values.push_back(*value);
    }
  }
  return asked;
}

} // namespace

std::vector<int64_t> wholeValuesAskedFor(const std::string &name, const std::vector<std::string> &texts, int64_t max) {
  std::vector<int64_t> whole;
  auto asked = parseAsked(texts);
  if (!asked)
    return whole;
  for (const Asked &one : *asked)
    for (double value : one.values)
      if (one.name == name && value >= 1 && value <= static_cast<double>(max) && value == std::floor(value))
        whole.push_back(static_cast<int64_t>(value));
  return whole;
}

Result<LatencySweep> parseSweep(const LatencyModel &model, const std::vector<std::string> &texts) {
  ACCORD_TRY(asked, parseAsked(texts));
  std::vector<std::pair<size_t, std::vector<double>>> known;
  for (Asked &one : asked) {
    auto index = model.argument(one.name);
    if (!index) {
      std::string names;
      for (const LatencyArgument &a : model.arguments())
        names += (names.empty() ? "" : ", ") + a.name;
      return refused(fmt::format("the latency model has no argument '{}', but {}", one.name, names));
    }
    known.push_back({*index, std::move(one.values)});
  }
  std::sort(known.begin(), known.end());
  LatencySweep sweep;
  size_t rows = 1;
  for (auto &[index, values] : known) {
    if (values.size() > kMaxSweepRows / rows)
      return refused(fmt::format("more than {} configurations", kMaxSweepRows));
    rows *= values.size();
    sweep.arguments.push_back(index);
    sweep.values.push_back(std::move(values));
  }
  return sweep;
}

} // namespace accord
