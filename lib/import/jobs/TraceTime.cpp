#include "lib/import/jobs/TraceTime.h"
#include <charconv>
#include <cmath>
#include <cstdint>

namespace accord::jobs {
namespace {

constexpr double kMaxSeconds = 1e12;

/// Reads a number of `minDigits` to `maxDigits` digits from the front of a text.
std::optional<int64_t> takeNumber(std::string_view &text, size_t minDigits, size_t maxDigits) {
  size_t digits = 0;
  int64_t value = 0;
  while (digits < text.size() && digits < maxDigits && text[digits] >= '0' && text[digits] <= '9')
    value = value * 10 + (text[digits++] - '0');
  if (digits < minDigits)
    return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view &text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return true;
}

/// ".25" at the front of a text; 0 if there is none.
std::optional<double> takeFraction(std::string_view &text) {
  if (!take(text, "."))
    return 0.0;
  double value = 0, unit = 0.1;
  if (text.empty() || text.front() < '0' || text.front() > '9')
    return std::nullopt;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), unit /= 10)
    value += unit * (text.front() - '0');
  return value;
}

bool isLeap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int64_t daysOf(int64_t year, int64_t month) {
  constexpr int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && isLeap(year) ? 29 : kDays[month - 1];
}

/// Days from 1970-01-01 to the first day of a year.
int64_t daysBefore(int64_t year) {
  const int64_t past = year - 1;
  return 365 * (year - 1970) + (past / 4 - past / 100 + past / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
}

std::optional<double> readSeconds(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= kMaxSeconds))
    return std::nullopt;
  return value;
}

} // namespace

std::optional<double> readDate(std::string_view text) {
  if (text.find('-') == std::string_view::npos)
    return readSeconds(text);
  const auto year = takeNumber(text, 4, 4);
  if (!year || *year < 1970 || !take(text, "-"))
    return std::nullopt;
  const auto month = takeNumber(text, 2, 2);
  if (!month || *month < 1 || *month > 12 || !take(text, "-"))
    return std::nullopt;
  const auto day = takeNumber(text, 2, 2);
  if (!day || *day < 1 || *day > daysOf(*year, *month))
    return std::nullopt;
  int64_t days = daysBefore(*year) + *day - 1;
  for (int64_t before = 1; before < *month; ++before)
    days += daysOf(*year, before);
  const double date = static_cast<double>(days) * 86400;
  if (text.empty())
    return date;
  if (!take(text, "T "))
    return std::nullopt;
  const auto hour = takeNumber(text, 2, 2);
  if (!hour || *hour > 23 || !take(text, ":"))
    return std::nullopt;
  const auto minute = takeNumber(text, 2, 2);
  if (!minute || *minute > 59)
    return std::nullopt;
  const double time = date + static_cast<double>(*hour * 3600 + *minute * 60);
  if (text.empty())
    return time;
  if (!take(text, ":"))
    return std::nullopt;
  const auto second = takeNumber(text, 2, 2);
  const auto fraction = takeFraction(text);
  if (!second || *second > 60 || !fraction || !text.empty())
    return std::nullopt;
  return time + static_cast<double>(*second) + *fraction;
}

std::optional<double> readSlurmDuration(std::string_view text) {
  int64_t days = 0;
  const bool hasDays = text.find('-') != std::string_view::npos;
  if (hasDays) {
    const auto number = takeNumber(text, 1, 6);
    if (!number || !take(text, "-"))
      return std::nullopt;
    days = *number;
  }
  int64_t parts[3] = {0, 0, 0};
  size_t count = 0;
  do {
    const auto number = count < 3 ? takeNumber(text, 1, 9) : std::nullopt;
    if (!number)
      return std::nullopt;
    parts[count++] = *number;
  } while (take(text, ":"));
  const auto fraction = takeFraction(text);
  if (!fraction || !text.empty() || count < (hasDays ? 3u : 2u))
    return std::nullopt;
  const int64_t clock = count == 3 ? parts[0] * 3600 + parts[1] * 60 + parts[2] : parts[0] * 60 + parts[1];
  return static_cast<double>(days * 86400 + clock) + *fraction;
}

} // namespace accord::jobs
