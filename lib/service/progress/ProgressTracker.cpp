#include "lib/service/progress/ProgressTracker.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::service {

constexpr double kQuantile = 1.6449; ///< of a 90 % interval

ProgressTracker::ProgressTracker(double work, double at, double began, double planned)
    : work(work), start(at), began(began), planned(planned), savedSamples(at) {}

void ProgressTracker::begin(double time) { began = time; }

void ProgressTracker::add(const ProgressReport &report, double now) {
  const double time = report.time > 0 ? std::min(report.time, now) : now;
  if (report.saved >= 0)
    savedSamples = report.saved;
  if (report.batch > 0)
    batch = report.batch;
  if (report.noise > 0)
    noise = report.noise;
  if (report.loss > 0)
    loss = report.loss;
  if (report.samples < 0 || time < last)
    return;
  if (reports > 0 && time > last && report.samples > lastSamples) {
    const double seconds = time - last, rate = (report.samples - lastSamples) / seconds;
    weight += seconds;
    const double change = rate - mean;
    mean += change * seconds / weight;
    variance += seconds * change * (rate - mean);
  }
  if (reports == 0)
    firstTime = time, firstSamples = report.samples;
  ++reports;
  last = time, lastSamples = report.samples;
}

Interval ProgressTracker::rate() const {
  if (weight <= 0)
    return {planned, 0, 0};
  const double count = std::max<double>(1, static_cast<double>(reports) - 1);
  const double error = count > 1 ? kQuantile * std::sqrt(variance / weight / (count - 1)) : mean / 2;
  return {mean, std::max(mean - error, mean / 10), mean + error};
}

double ProgressTracker::samples(double now) const {
  const double speed = rate().value;
  if (reports == 0)
    return std::min(work > 0 ? work : 1e300, start + (began > 0 ? std::max(0.0, now - began) * speed : 0));
  return std::min(work > 0 ? work : 1e300, lastSamples + std::max(0.0, now - last) * speed);
}

Interval ProgressTracker::timeLeft(double now) const {
  const Interval speed = rate();
  if (work <= 0 || speed.value <= 0)
    return {-1, -1, -1};
  const double left = std::max(0.0, work - samples(now));
  return {left / speed.value, speed.high > 0 ? left / speed.high : -1, speed.low > 0 ? left / speed.low : -1};
}

double ProgressTracker::deviation() const {
  const Interval speed = rate();
  if (planned <= 0 || weight <= 0 || (planned >= speed.low && planned <= speed.high))
    return 0;
  return speed.value / planned - 1;
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
    auto value = llvm::json::parse(llvm::StringRef(one.data(), one.size()));
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    if (!object) {
      if (!value)
        llvm::consumeError(value.takeError());
      return Error{Code::WrongProgress, fmt::format("line {}: expected an object of JSON", line)};
    }
    ProgressReport report;
    auto number = [&](const char *key, double &to) {
      if (auto found = object->getNumber(key))
        to = *found;
    };
    number("samples", report.samples), number("saved", report.saved), number("time", report.time);
    number("batch", report.batch), number("noise", report.noise), number("loss", report.loss);
    reports.push_back(report);
  }
  return reports;
}

} // namespace accord::service
