#include "lib/import/jobs/GavelTrace.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr double kMaxSteps = 9007199254740992; ///< 2^53: whole numbers to here are exact
constexpr double kMaxSeconds = 1e10;
constexpr double kMaxGang = 1'000'000;

struct Field {
  std::string_view text;
  unsigned column = 1; ///< a byte, from 1
};

/// Where the columns of a format are; -1: it has none.
struct Format {
  size_t columns;
  int folder, data, steps, gang, weight, slo, arrival;
};
constexpr Format kFormat = {10, 2, 4, 5, 6, 7, 8, 9};
constexpr Format kOldFormat = {7, -1, 3, 4, 6, -1, -1, 5};

class Reader {
public:
  Reader(std::string_view text, const std::string &path) : text(text), path(path) {}

  Result<std::vector<GavelJob>> read() {
    std::vector<GavelJob> jobs;
    for (size_t start = 0; start < text.size();) {
      const size_t end = std::min(text.find('\n', start), text.size());
      std::string_view content = text.substr(start, end - start);
      start = end + 1;
      ++line;
      if (!content.empty() && content.back() == '\r')
        content.remove_suffix(1);
      if (content.find_first_not_of(" \t") == std::string_view::npos)
        continue;
      ACCORD_TRY(job, readLine(content));
      if (!jobs.empty() && job.arrival < jobs.back().arrival)
        return error(fields[static_cast<size_t>(format->arrival)].column,
                     fmt::format("arrival '{}' is before the one of the line above, expected jobs by arrival",
                                 fields[static_cast<size_t>(format->arrival)].text));
      jobs.push_back(std::move(job));
    }
    if (jobs.empty())
      return error(0, "trace has no jobs, expected one a line");
    return jobs;
  }

private:
  Result<GavelJob> readLine(std::string_view content) {
    split(content);
    if (!format && fields.size() != kFormat.columns && fields.size() != kOldFormat.columns)
      return error(1, fmt::format("found {} columns between tabs, expected {}, or {} of the older format",
                                  fields.size(), kFormat.columns, kOldFormat.columns));
    if (!format)
      format = fields.size() == kFormat.columns ? &kFormat : &kOldFormat;
    if (fields.size() != format->columns)
      return error(1, fmt::format("found {} columns between tabs, expected {} as in the first line", fields.size(),
                                  format->columns));
    GavelJob job;
    job.line = line;
    job.application = std::string(fields[0].text);
    job.command = std::string(fields[1].text);
    if (job.application.empty())
      return error(1, "application is empty, expected its name");
    if (format->folder >= 0)
      job.folder = std::string(fields[static_cast<size_t>(format->folder)].text);
    ACCORD_TRY(data, number(format->data, "flag of data", 0, 1, true));
    (void)data;
    ACCORD_TRY(steps, number(format->steps, "number of steps", 1, kMaxSteps, true));
    ACCORD_TRY(gang, number(format->gang, "number of devices", 1, kMaxGang, true));
    ACCORD_TRY(arrival, number(format->arrival, "arrival", 0, kMaxSeconds, false));
    job.steps = steps;
    job.gang = static_cast<unsigned>(gang);
    job.arrival = arrival;
    if (format->weight >= 0) {
      ACCORD_TRY(weight, number(format->weight, "priority", 1e-6, 1e6, false));
      ACCORD_TRY(slo, number(format->slo, "service-level objective", -1e6, 1e6, false));
      job.weight = weight;
      if (slo >= 0)
        job.slo = slo;
    }
    return job;
  }

  void split(std::string_view content) {
    fields.clear();
    for (size_t start = 0;;) {
      const size_t end = content.find('\t', start);
      fields.push_back({content.substr(start, end - start), static_cast<unsigned>(start + 1)});
      if (end == std::string_view::npos)
        return;
      start = end + 1;
    }
  }

  Result<double> number(int index, const char *what, double min, double max, bool whole) const {
    const Field &field = fields[static_cast<size_t>(index)];
    double value = 0;
    const char *begin = field.text.data(), *end = begin + field.text.size();
    const auto [stop, failure] = std::from_chars(begin, end, value);
    if (failure != std::errc() || stop != end || !(value >= min && value <= max) ||
        (whole && value != std::floor(value)))
      return error(field.column, fmt::format("{} is '{}', expected a {}number from {} to {}", what, field.text,
                                             whole ? "whole " : "", min, max));
    return value;
  }

  Error error(unsigned column, std::string message) const {
    return {Code::WrongJobsFile, std::move(message), {path, column ? line : 1, std::max(column, 1u)}};
  }

  std::string_view text;
  const std::string &path;
  const Format *format = nullptr;
  unsigned line = 0;
  std::vector<Field> fields; ///< of the line
};

} // namespace

Result<std::vector<GavelJob>> readGavelTrace(std::string_view text, const std::string &path) {
  return Reader(text, path).read();
}

} // namespace accord::jobs
