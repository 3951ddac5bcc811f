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

Result<LatencySweep> parseSweep(const LatencyModel &model, const std::vector<std::string> &texts) {
  auto refuse = [](const std::string &text) { return Error{Code::BadCommandLine, "--at: " + text}; };
  std::vector<std::pair<size_t, std::vector<double>>> asked;
  for (const std::string &text : texts) {
    bool open = false; // a bare value goes on the list of the name before it
    for (size_t from = 0; from <= text.size();) {
      size_t end = std::min(text.find(',', from), text.size());
      std::string word = text.substr(from, end - from);
      from = end + 1;
      if (size_t equals = word.find('='); equals != std::string::npos) {
        std::string name = word.substr(0, equals);
        word = word.substr(equals + 1);
        auto index = model.argument(name);
        if (!index) {
          std::string known;
          for (const LatencyArgument &a : model.arguments())
            known += (known.empty() ? "" : ", ") + a.name;
          return refuse(fmt::format("the latency model has no argument '{}', but {}", name, known));
        }
        for (const auto &other : asked)
          if (other.first == *index)
            return refuse(fmt::format("'{}' is given twice", name));
        asked.push_back({*index, {}});
        open = true;
      }
      auto value = parseReal(word);
      if (!open || !value)
        return refuse(fmt::format("'{}' is no number; write name=value,value", word));
      asked.back().second.push_back(*value);
    }
  }
  std::sort(asked.begin(), asked.end());
  LatencySweep sweep;
  size_t rows = 1;
  for (auto &[index, values] : asked) {
    if (values.size() > kMaxSweepRows / rows)
      return refuse(fmt::format("more than {} configurations", kMaxSweepRows));
    rows *= values.size();
    sweep.arguments.push_back(index);
    sweep.values.push_back(std::move(values));
  }
  return sweep;
}

} // namespace accord
