#include "lib/service/progress/ProgressTracker.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::service {
namespace {

constexpr size_t kMaxPoints = 512;
constexpr unsigned kBlocks = 8;
/// Student's t of a 90 % interval, by degrees of freedom from 1.
constexpr double kStudent[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895};
constexpr double kMinWindow = 60;   ///< seconds
constexpr double kMinError = 0.01;  ///< share: what no statistics of the past know
constexpr double kPlanError = 0.25; ///< of a speed that is planned and not seen
constexpr double kSettled = 0.1;

double student(unsigned count) { return kStudent[std::min<unsigned>(count - 2, 6)]; }

} // namespace

void ProgressTracker::add(const ProgressReport &report, double now) {
  const double time = report.time > 0 ? std::min(report.time, now) : now;
  if (time < last)
    return;
  last = time;
  if (report.saved >= 0)
    savedSamples = report.saved;
  if (report.batch > 0)
    batch = report.batch;
  if (report.noise > 0)
    noise = report.noise;
  if (report.loss != 0)
    loss = report.loss;
  if (report.samples >= 0)
    addPoint({time, report.samples});
}

void ProgressTracker::addPoint(ProgressPoint point) {
  if (!points.empty() && point.samples < points.back().samples)
    points.clear(), spacing = reports = 0;
  const size_t size = points.size();
  const bool isSame = size > 0 && points.back().time == point.time;
  reports += isSame ? 0 : 1;
  if (isSame || (size > 1 && points.back().time - points[size - 2].time < spacing))
    points.back() = point;
  else
    points.push_back(point);
  if (points.size() <= kMaxPoints)
    return;
  spacing = (points.back().time - points.front().time) / (kMaxPoints / 2);
  points = thinned(points, kMaxPoints / 2);
}

void ProgressTracker::shift(double seconds) {
  for (ProgressPoint &point : points)
    point.time += seconds;
  for (double *time : {&began, &last})
    if (*time > 0)
      *time = std::max(0.0, *time + seconds);
}

/// Seconds between two reports.
double ProgressTracker::gap() const {
  return reports > 1 ? (points.back().time - points.front().time) / (reports - 1) : 1;
}

/// Between reports, on a straight line.
double ProgressTracker::samplesAt(double time) const {
  const auto after = std::ranges::lower_bound(points, time, {}, &ProgressPoint::time);
  if (after == points.begin())
    return points.front().samples;
  if (after == points.end())
    return points.back().samples;
  const ProgressPoint &a = *std::prev(after), &b = *after;
  return a.samples + (b.samples - a.samples) * (time - a.time) / (b.time - a.time);
}

ProgressTracker::Speeds ProgressTracker::speeds() const {
  Speeds found;
  if (points.size() < 2)
    return found;
  const ProgressPoint &first = points[points.size() > 2 && points[0].samples <= start ? 1 : 0];
  const double end = points.back().time, all = end - first.time;
  const double window = std::min(all, std::max(kMinWindow, all / 3));
  const auto inside =
      static_cast<unsigned>(points.end() - std::ranges::lower_bound(points, end - window, {}, &ProgressPoint::time));
  found.count = std::clamp(inside - 1, 1u, kBlocks);
  found.seconds = window / found.count;
  std::vector<double> rates;
  for (unsigned i = 0; i < found.count; ++i) {
    const double from = end - window + i * found.seconds;
    rates.push_back((samplesAt(from + found.seconds) - samplesAt(from)) / found.seconds);
    found.mean += rates.back() / found.count;
  }
  double squares = 0;
  for (double rate : rates)
    squares += (rate - found.mean) * (rate - found.mean);
  found.deviation = found.count > 1 ? std::sqrt(squares / (found.count - 1)) : 0;
  return found;
}

Interval ProgressTracker::rate() const {
  const Speeds seen = speeds();
  if (seen.mean <= 0)
    return {planned, planned / (1 + kPlanError), planned * (1 + kPlanError)};
  const double error =
      seen.count > 1 ? student(seen.count) * seen.deviation / std::sqrt(seen.count) : kPlanError * seen.mean;
  const double wide = std::max(error, kMinError * seen.mean);
  return {seen.mean, std::max(seen.mean - wide, seen.mean / 10), seen.mean + wide};
}

double ProgressTracker::samples(double now) const {
  const double max = work > 0 ? work : 1e300, speed = rate().value;
  if (points.empty())
    return std::min(max, start + (began > 0 ? std::max(0.0, now - began) * speed : 0));
  return std::min(max, points.back().samples + std::clamp(now - points.back().time, 0.0, 2 * gap()) * speed);
}

Interval ProgressTracker::timeLeft(double now) const {
  const Interval speed = rate();
  if (work <= 0 || speed.value <= 0)
    return {-1, -1, -1};
  const double left = std::max(0.0, work - samples(now)), seconds = left / speed.value;
  const Speeds seen = speeds();
  if (seen.count < 2)
    return {seconds, left / speed.high, left / speed.low};
  const double error = student(seen.count) * seen.deviation / seen.mean *
                       std::sqrt(seconds * seconds / seen.count + seconds * seen.seconds);
  // One report more or less is not known either.
  const double wide = std::max(error, kMinError * seconds) + gap();
  return {seconds, std::max(0.0, seconds - wide), seconds + wide};
}

double ProgressTracker::deviationFrom(double rate) const {
  const Interval speed = this->rate();
  if (rate <= 0 || !isSettled() || (rate >= speed.low && rate <= speed.high))
    return 0;
  return speed.value / rate - 1;
}

bool ProgressTracker::isSettled() const {
  const Speeds seen = speeds();
  return seen.count >= 4 && seen.mean > 0 &&
         student(seen.count) * seen.deviation / std::sqrt(seen.count) <= kSettled * seen.mean;
}

std::vector<ProgressPoint> thinned(const std::vector<ProgressPoint> &points, size_t max) {
  if (points.size() <= max || max < 3)
    return points;
  const double apart = (points.back().time - points.front().time) / static_cast<double>(max - 1);
  std::vector<ProgressPoint> kept{points.front()};
  for (size_t i = 1; i + 1 < points.size(); ++i)
    if (points[i].time >= kept.back().time + apart && kept.size() + 1 < max)
      kept.push_back(points[i]);
  kept.push_back(points.back());
  return kept;
}

Result<std::vector<ProgressReport>> parseProgress(std::string_view text) {
  std::vector<ProgressReport> reports;
  size_t line = 0;
  while (!text.empty()) {
    ++line;
    const size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (one.empty())
      continue;
    auto value = readJsonText(llvm::StringRef(one.data(), one.size()));
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    if (!object)
      return Error{Code::WrongProgress, fmt::format("line {}: expected an object of JSON", line)};
    ProgressReport report;
    double unit = -1;
    std::string wrong;
    auto number = [&](const char *key, double &to, double min) {
      const llvm::json::Value *found = object->get(key);
      if (!found)
        return;
      const auto given = found->getAsNumber();
      if (!given || !std::isfinite(*given) || *given < min)
        wrong = fmt::format("line {}: '{}' is not a number{}", line, key, min == 0 ? " of at least 0" : "");
      else
        to = *given;
    };
    number("samples", report.samples, 0), number("saved", report.saved, 0), number("time_s", report.time, 0);
    number("batch", report.batch, 0), number("noise", report.noise, 0), number("loss", report.loss, -1e300);
    number("unit", unit, 0);
    if (report.samples < 0 && report.saved < 0)
      report.samples = report.saved = unit;
    if (!wrong.empty())
      return Error{Code::WrongProgress, wrong};
    reports.push_back(report);
  }
  return reports;
}

} // namespace accord::service
