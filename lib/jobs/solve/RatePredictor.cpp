#include "lib/jobs/solve/RatePredictor.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace accord::jobs {
namespace {

using prediction::Effect;
using prediction::MixedModel;
using prediction::Normal;

constexpr double kNormal90 = 1.6448536269514722; ///< of a normal value, 90 % lie within so many standard deviations
constexpr double kRepeatedRuns = 0.01;           ///< standard deviation of the logarithm of a rate

enum RateEffect : size_t {
  Level,              ///< of an application
  Strength,           ///< of all: in proportion to the strengths of types
  Type,               ///< of all on a type
  Size,               ///< of all: in proportion to the logarithm of the number of devices
  TypeSize,           ///< of all on so many devices of a type
  FamilyStrength,     ///< the same of a family
  FamilyType,         //
  FamilySize,         //
  FamilyTypeSize,     //
  ApplicationFirst,   ///< the same of an application
  ApplicationType,    //
  ApplicationSize,    //
  ApplicationTypeSize //
};

/// Medians are engineering defaults in logarithms (0.1 is 10 %), set before any table was scored.
std::vector<Effect> rateEffects() {
  return {{"level", 10, 0},
          {"strength", 1, 0},
          {"type", 0.5, 0},
          {"size", 1, 0},
          {"type and size", 0.3, 1},
          {"family, strength", 0.3, 1},
          {"family, type", 0.2, 1},
          {"family, size", 0.2, 1},
          {"family, type and size", 0.1, 1},
          {"application, strength", 0.1, 1},
          {"application, type", 0.1, 1},
          {"application, size", 0.1, 1},
          {"application, type and size", 0.05, 1}};
}

/// Mean logarithm of the rates of a type over those of the same application and number of devices on all types that it
/// was measured on; the mean over families of their means. Types that nothing else was measured beside have 0.
std::vector<std::pair<std::string, double>> typeStrengths(const std::vector<MeasuredRate> &measured) {
  std::map<std::pair<std::string, unsigned>, std::vector<const MeasuredRate *>> together;
  for (const MeasuredRate &one : measured)
    together[{one.application, one.place.devices}].push_back(&one);
  struct Mean {
    double sum = 0, count = 0;
    void add(double value) { sum += value, ++count; }
    double value() const { return sum / count; }
  };
  std::map<std::pair<std::string, std::string>, Mean> ofFamily; // type, family
  for (const auto &[key, rates] : together) {
    if (rates.size() < 2)
      continue;
    Mean mean;
    for (const MeasuredRate *one : rates)
      mean.add(std::log(one->rate));
    for (const MeasuredRate *one : rates)
      ofFamily[{one->place.type, one->family}].add(std::log(one->rate) - mean.value());
  }
  std::map<std::string, Mean> ofType;
  for (const auto &[key, mean] : ofFamily)
    ofType[key.first].add(mean.value());
  std::vector<std::pair<std::string, double>> strengths;
  for (const auto &[type, mean] : ofType)
    strengths.push_back({type, mean.value()});
  return strengths;
}

} // namespace

/// Rows of a mixed model: measured rates, and behind them those that are asked for.
struct RatePredictor::Rows {
  struct Row {
    std::string family, application, type;
    double devices, size, strength;
  };
  std::vector<Row> rows;

  void add(const std::string &family, const std::string &application, const RatePlace &place,
           const std::vector<std::pair<std::string, double>> &strengths) {
    const auto found = std::ranges::find(strengths, place.type, &std::pair<std::string, double>::first);
    rows.push_back({family, application, place.type, static_cast<double>(place.devices), std::log2(place.devices),
                    found == strengths.end() ? 0 : found->second});
  }

  double operator()(size_t effect, size_t first, size_t second) const {
    const Row &a = rows[first], &b = rows[second];
    if (effect == Level)
      return a.application == b.application;
    if (effect >= ApplicationFirst ? a.application != b.application : effect >= FamilyStrength && a.family != b.family)
      return 0;
    switch ((effect - Strength) % 4) {
    case 0:
      return a.strength * b.strength;
    case 1:
      return a.type == b.type;
    case 2:
      return a.size * b.size;
    default: // one device is the reference
      return a.type == b.type && a.devices == b.devices && a.devices > 1;
    }
  }
};

PredictedRate predictedRate(double mean, double variance) {
  const double half = kNormal90 * std::sqrt(variance);
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

std::string familyOf(const std::string &application) {
  const auto letters =
      std::ranges::find_if_not(application, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  if (letters - application.begin() >= 2)
    return std::string(application.begin(), letters);
  const std::string word = application.substr(0, application.find_first_of("-_ ("));
  return word.empty() ? application : word;
}

std::vector<MeasuredRate> measuredRates(const ThroughputTable &table) {
  std::vector<MeasuredRate> measured;
  for (const auto &[key, rates] : table.rates)
    for (size_t type = 0; type < table.types.size(); ++type)
      if (rates[type] > 0)
        measured.push_back({familyOf(key.first), key.first, {table.types[type], key.second}, rates[type]});
  return measured;
}

RatePredictor::RatePredictor(std::vector<MeasuredRate> all) {
  const size_t count = std::min(all.size(), kMaxRates);
  for (size_t i = 0; i < count; ++i)
    measured.push_back(std::move(all[i * all.size() / count]));
  strengths = typeStrengths(measured);
  Rows rows;
  std::vector<size_t> numbers;
  for (const MeasuredRate &one : measured) {
    numbers.push_back(numbers.size());
    rows.add(one.family, one.application, one.place, strengths);
    values.push_back(std::log(one.rate));
    mean += values.back() / static_cast<double>(count);
  }
  for (double &value : values)
    value -= mean;
  MixedModel model(rateEffects(), std::move(rows), kRepeatedRuns);
  model.fit(numbers, values);
  scales = model.scales();
}

Normal RatePredictor::logRates(const std::string &family, const std::string &application,
                               const std::vector<RatePlace> &places) const {
  Rows rows;
  std::vector<size_t> known, asked;
  for (const MeasuredRate &one : measured) {
    known.push_back(rows.rows.size());
    rows.add(one.family, one.application, one.place, strengths);
  }
  for (const RatePlace &place : places) {
    asked.push_back(rows.rows.size());
    rows.add(family, application, place, strengths);
  }
  MixedModel model(rateEffects(), std::move(rows), kRepeatedRuns);
  model.setScales(scales);
  Normal normal = model.predict(known, values, asked);
  for (double &one : normal.mean)
    one += mean;
  return normal;
}

namespace {

/// What `KnownRates` says of a pair of places; nothing if none does.
std::optional<KnownRates> knownBy(const RatePlace &from, const RatePlace &to) {
  if (from.devices == to.devices)
    return from.type == to.type ? std::nullopt : std::optional(KnownRates::OneType);
  if (from.devices != 1)
    return std::nullopt;
  return from.type == to.type ? KnownRates::OneDevice : KnownRates::OneElsewhere;
}

} // namespace

std::vector<LeftOutRate> leaveRatesOut(const std::vector<MeasuredRate> &measured, bool sameModel) {
  const auto groupOf = [&](const MeasuredRate &one) { return sameModel ? one.application : one.family; };
  std::map<std::string, std::map<std::string, std::vector<const MeasuredRate *>>> groups; // and applications
  for (const MeasuredRate &one : measured)
    groups[groupOf(one)][one.application].push_back(&one);
  std::vector<LeftOutRate> leftOut;
  for (const auto &[group, applications] : groups) {
    std::vector<MeasuredRate> others;
    for (const MeasuredRate &one : measured)
      if (groupOf(one) != group)
        others.push_back(one);
    const RatePredictor predictor(std::move(others));
    for (const auto &[application, rates] : applications) {
      std::vector<RatePlace> places;
      for (const MeasuredRate *one : rates)
        places.push_back(one->place);
      const Normal prior = predictor.logRates(rates.front()->family, application, places);
      for (size_t from = 0; from < rates.size(); ++from) {
        const Normal normal = prediction::condition(prior, {from}, {std::log(rates[from]->rate)});
        for (size_t to = 0; to < rates.size(); ++to)
          if (const auto known = knownBy(places[from], places[to])) {
            const PredictedRate rate = predictedRate(normal.mean[to], normal.variance(to));
            leftOut.push_back({*known,
                               application,
                               places[from],
                               places[to],
                               {rates.front()->family, rates[to]->rate, rate.median, rate.low, rate.high}});
          }
      }
    }
  }
  return leftOut;
}

} // namespace accord::jobs
