#include "lib/tuning/verify/PriceVerifier.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::tuning {
namespace {

bool areEqual(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

class Verifier {
public:
  Verifier(const TuningProblem &problem, const TuningResult &result, const PricedTuning &priced)
      : problem_(problem), result_(result), priced_(priced) {}

  Verification run(const PriceAgain &again) {
    if (!isWhole())
      return std::move(out_);
    limits();
    parts();
    memories();
    front();
    counts();
    if (again)
      compare(again);
    else
      out_.trusted.push_back("prices, since the sources are not there: name them to compute the prices again");
    return std::move(out_);
  }

private:
  template <class... Args> void finding(fmt::format_string<Args...> format, Args &&...args) {
    out_.findings.push_back({Code::CertificateDisagrees, fmt::format(format, std::forward<Args>(args)...)});
  }

  bool isWhole() {
    if (priced_.devices.empty() || priced_.devices.front() != 1 ||
        std::ranges::adjacent_find(priced_.devices, std::greater_equal()) != priced_.devices.end())
      finding("the numbers of devices do not ascend from 1 on");
    if (priced_.trials.size() != result_.trials.size())
      finding("{} prices for {} trials", priced_.trials.size(), result_.trials.size());
    for (size_t i = 0; i < priced_.trials.size(); ++i) {
      const Price &price = priced_.trials[i];
      if (!std::ranges::equal(price.training, priced_.devices, {}, &DevicePrice::devices))
        finding("trial {} is not priced on the {} numbers of devices", i, priced_.devices.size());
      if (price.inference.has_value() != !priced_.inference.empty())
        finding("trial {}: what is deployed is priced where nothing is, or not where something is", i);
    }
    return out_.holds();
  }

  const DevicePrice *priceOn(size_t trial, int64_t devices) const {
    for (const DevicePrice &one : priced_.trials[trial].training)
      if (one.devices == devices)
        return &one;
    return nullptr;
  }
  int64_t devicesOf(const Segment &segment) const {
    return std::max<int64_t>(1, segment.slots / problem_.slotsPerDevice);
  }

  void limits() {
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const Price &price = priced_.trials[i];
      for (const DevicePrice &one : price.training) {
        if (one.fits != one.broken.empty() || (one.fits && one.memory > priced_.capacity))
          finding("trial {} takes {} of {} bytes on {} devices and breaks {} limits, but it is said to {}", i,
                  one.memory, priced_.capacity, one.devices, one.broken.size(), one.fits ? "fit" : "fit not");
        if (!(one.unitSeconds > 0) || !(one.stepSeconds > 0) || !std::isfinite(one.unitSeconds))
          finding("trial {} has no time on {} devices", i, one.devices);
      }
      if (price.inference && !price.inference->broken.empty())
        finding("trial {} was started, but it breaks '{}'", i, price.inference->broken.front().limit);
      if (!areEqual(result_.trials[i].unitSeconds, price.training.front().unitSeconds))
        finding("a unit of trial {} takes {} s, but its price says {} s", i, result_.trials[i].unitSeconds,
                price.training.front().unitSeconds);
    }
    for (const Segment &segment : result_.segments) {
      const DevicePrice *one = priceOn(segment.trial, devicesOf(segment));
      if (!one || !one->fits)
        finding("trial {} ran on {} devices, on which it does not fit", segment.trial, devicesOf(segment));
    }
    if (out_.holds())
      out_.checked.push_back(fmt::format("{} trials kept all limits wherever they ran", result_.trials.size()));
  }

  /// A trial on a part of a device fits in that part of its memory, so that any trials whose parts are no more than a
  /// device fit on it together: on an engine, which chooses devices, others may be beside it than the plan has.
  void parts() {
    size_t count = 0;
    for (const Segment &segment : result_.segments) {
      if (segment.slots >= problem_.slotsPerDevice)
        continue;
      ++count;
      const double part = static_cast<double>(segment.slots) / static_cast<double>(problem_.slotsPerDevice);
      if (const DevicePrice *one = priceOn(segment.trial, 1);
          one && one->memory > priced_.capacity * part * (1 + 1e-12))
        return finding("trial {} takes {} bytes, but {} of a device has {}", segment.trial, one->memory, part,
                       priced_.capacity * part);
    }
    if (count > 0)
      out_.checked.push_back(fmt::format("{} segments on a part of a device fit in that part of its memory", count));
  }

  /// Of each device, whenever a trial begins on it.
  void memories() {
    size_t shared = 0;
    for (const Segment &begun : result_.segments)
      for (int64_t device : begun.devices) {
        double bytes = 0;
        std::set<unsigned> there;
        for (const Segment &other : result_.segments)
          if (other.start <= begun.start && begun.start < other.end &&
              std::ranges::find(other.devices, device) != other.devices.end() && there.insert(other.trial).second)
            if (const DevicePrice *one = priceOn(other.trial, devicesOf(other)))
              bytes += one->memory;
        shared += there.size() > 1;
        if (bytes > priced_.capacity * (1 + 1e-12))
          return finding("{} trials on device {} take {} of its {} bytes at {} s", there.size(), device, bytes,
                         priced_.capacity, begun.start);
      }
    out_.checked.push_back(fmt::format("devices hold their trials, {} times more than one", shared));
  }

  double valueOf(size_t trial) const {
    double best = -std::numeric_limits<double>::infinity();
    for (const Report &report : result_.trials[trial].reports)
      if (std::isfinite(report.value))
        best = std::max(best, problem_.maximizes ? report.value : -report.value);
    return best;
  }
  double costOf(size_t trial) const {
    const Price &price = priced_.trials[trial];
    return price.inference ? price.inference->latency : price.training.front().unitSeconds;
  }
  /// As good in both and better in one; of equals the first.
  bool dominates(size_t a, size_t b) const {
    const double va = valueOf(a), vb = valueOf(b), ca = costOf(a), cb = costOf(b);
    return va >= vb && ca <= cb && (va > vb || ca < cb || a < b);
  }

  void front() {
    std::set<unsigned> best;
    for (unsigned i = 0; i < result_.trials.size(); ++i) {
      bool isBest = std::isfinite(valueOf(i));
      for (unsigned other = 0; isBest && other < result_.trials.size(); ++other)
        isBest = other == i || !dominates(other, i);
      if (isBest)
        best.insert(i);
    }
    if (best != std::set<unsigned>(priced_.front.begin(), priced_.front.end()) || best.size() != priced_.front.size())
      return finding("the front lists {} trials, but {} are dominated by no other", priced_.front.size(), best.size());
    out_.checked.push_back(fmt::format("{} trials of the front are those that no other dominates", best.size()));
  }

  void counts() {
    int64_t sum = 0;
    for (const auto &[limit, count] : priced_.rejectedBy)
      sum += count;
    if (sum != priced_.rejected || priced_.rejected > priced_.proposed)
      finding("{} of {} configurations were rejected, but limits rejected {}", priced_.rejected, priced_.proposed, sum);
    else if (priced_.rejected > 0)
      out_.trusted.push_back("how many configurations were rejected before they began");
  }

  void compare(const PriceAgain &again) {
    for (size_t i = 0; i < result_.trials.size() && out_.findings.size() < 10; ++i) {
      const Price &stated = priced_.trials[i];
      const auto now = again(result_.trials[i].configuration);
      if (!now) {
        finding("trial {} cannot be priced: {}", i, now.error().front().message);
        continue;
      }
      bool isSame = now->training.size() == stated.training.size() && now->parameters == stated.parameters &&
                    now->inference.has_value() == stated.inference.has_value();
      for (size_t k = 0; isSame && k < stated.training.size(); ++k) {
        const DevicePrice &a = stated.training[k], &b = now->training[k];
        isSame = areEqual(a.unitSeconds, b.unitSeconds) && areEqual(a.stepSeconds, b.stepSeconds) &&
                 areEqual(a.memory, b.memory) && a.microbatch == b.microbatch && a.fits == b.fits;
      }
      if (isSame && stated.inference)
        isSame = areEqual(stated.inference->latency, now->inference->latency) &&
                 areEqual(stated.inference->memory, now->inference->memory) &&
                 areEqual(stated.inference->energy, now->inference->energy);
      auto figures = [](const Price &price) {
        return price.training.empty()
                   ? "nothing"
                   : fmt::format("{} s a unit and {} bytes{}", price.training.front().unitSeconds,
                                 price.training.front().memory,
                                 price.inference
                                     ? fmt::format(", {} s, {} bytes and {} J deployed", price.inference->latency,
                                                   price.inference->memory, price.inference->energy)
                                     : "");
      };
      if (!isSame)
        finding("trial {} is priced at {}, but the cost model says {}", i, figures(stated), figures(*now));
    }
    if (out_.holds())
      out_.checked.push_back(fmt::format("{} prices were computed again and are the same", priced_.trials.size()));
  }

  const TuningProblem &problem_;
  const TuningResult &result_;
  const PricedTuning &priced_;
  Verification out_;
};

} // namespace

Verification verifyPrices(const TuningProblem &problem, const TuningResult &result, const PricedTuning &priced,
                          const PriceAgain &again) {
  return Verifier(problem, result, priced).run(again);
}

} // namespace accord::tuning
