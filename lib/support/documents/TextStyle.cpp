#include "lib/support/documents/TextStyle.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {
/// At most four significant digits, without the zeros at the end.
std::string digits(double v) {
  std::string text = fmt::format("{:.4g}", v);
  if (v >= 999.5 && v < 100000) // 1234, not 1.234e+03
    text = fmt::format("{:.0f}", v);
  return text;
}
} // namespace

std::string formatSi(double value, llvm::StringRef unit) {
  if (!std::isfinite(value))
    return "-";
  static constexpr const char *kPrefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Z"};
  double a = std::fabs(value);
  int p = 4;
  bool small = unit == "s" || unit == "J" || unit == "W";
  while (a >= 999.95 && p < 11)
    a /= 1000, ++p;
  while (small && a > 0 && a < 0.99995 && p > 0)
    a *= 1000, --p;
  std::string text = (value < 0 ? "-" : "") + digits(a);
  if (!unit.empty() || p != 4)
    text += " " + std::string(kPrefixes[p]) + (p != 4 && unit.size() > 6 && unit != "FLOP/s" ? " " : "") + unit.str();
  return text;
}

std::string formatBytes(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double a = std::fabs(bytes);
  int p = 0;
  while (a >= 1023.95 && p < 5)
    a /= 1024, ++p;
  return (bytes < 0 ? "-" : "") + digits(a) + " " + kUnits[p];
}

} // namespace accord
