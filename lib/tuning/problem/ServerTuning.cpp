#include "lib/tuning/problem/ServerTuning.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::tuning {

double ServerInterval::seconds() const {
  double sum = 0;
  for (const ServerWindow &window : windows)
    sum += window.seconds;
  return sum;
}
double ServerInterval::samples() const {
  double sum = 0;
  for (const ServerWindow &window : windows)
    sum += window.samples;
  return sum;
}
double ServerInterval::joules() const {
  double sum = 0;
  for (const ServerWindow &window : windows)
    sum += window.joules;
  return sum;
}
double ServerInterval::rate() const {
  const double time = seconds();
  return time > 0 ? samples() / time : 0;
}

std::string valueText(const ServerParameter &parameter, int64_t index) {
  const auto at = static_cast<size_t>(index);
  if (!parameter.words.empty())
    return parameter.words[at];
  double value = parameter.values[at];
  if (parameter.unit.empty())
    return fmt::format("{}", value);
  static constexpr std::pair<double, const char *> kPrefixes[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
  const char *prefix = "";
  // Binary sizes read better in their own prefixes.
  static constexpr std::pair<double, const char *> kBinary[] = {{0x1p30, "Gi"}, {0x1p20, "Mi"}, {0x1p10, "Ki"}};
  if (parameter.unit == "B")
    for (auto [size, name] : kBinary)
      if (value >= size && std::fmod(value, size) == 0)
        return fmt::format("{} {}B", value / size, name);
  for (auto [size, name] : kPrefixes)
    if (value >= size) {
      value /= size, prefix = name;
      break;
    }
  return fmt::format("{} {}{}", value, prefix, parameter.unit);
}

std::string settingText(const std::vector<ServerParameter> &parameters, const Setting &setting) {
  std::string out;
  for (size_t i = 0; i < parameters.size(); ++i)
    out += fmt::format("{}{} {}", i ? ", " : "", parameters[i].name, valueText(parameters[i], setting[i]));
  return out;
}

int64_t numSettings(const std::vector<ServerParameter> &parameters) {
  int64_t count = 1;
  for (const ServerParameter &parameter : parameters)
    count = std::min(kMaxSettings + 1, count * static_cast<int64_t>(std::min<size_t>(parameter.size(), kMaxSettings)));
  return count;
}

Setting settingOf(const std::vector<ServerParameter> &parameters, int64_t number) {
  Setting out(parameters.size());
  for (size_t i = parameters.size(); i-- > 0;) {
    const auto size = static_cast<int64_t>(parameters[i].size());
    out[i] = number % size;
    number /= size;
  }
  return out;
}

std::vector<double> pointOf(const Setting &setting) { return {setting.begin(), setting.end()}; }

int64_t stepsBetween(const std::vector<ServerParameter> &parameters, const Setting &a, const Setting &b) {
  int64_t sum = 0;
  for (size_t i = 0; i < parameters.size(); ++i)
    sum += parameters[i].words.empty() ? std::abs(a[i] - b[i]) : int64_t(a[i] != b[i]);
  return sum;
}

bool isSetting(const std::vector<ServerParameter> &parameters, const Setting &setting) {
  if (setting.size() != parameters.size())
    return false;
  for (size_t i = 0; i < setting.size(); ++i)
    if (setting[i] < 0 || setting[i] >= static_cast<int64_t>(parameters[i].size()))
      return false;
  return true;
}

} // namespace accord::tuning
