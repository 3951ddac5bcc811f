#include "lib/tuning/output/TuningPage.h"
#include "lib/report/ReportPage.h"
#include "lib/support/StableSort.h"
#include "lib/support/documents/JsonText.h"
#include "lib/tuning/solve/ParameterImportance.h"
#include <set>

using namespace llvm;
namespace accord::tuning {
namespace {

/// Trials with a value, the best first.
std::vector<unsigned> byValue(const TuningReport &report) {
  const std::vector<Trial> &trials = report.result.trials;
  std::vector<double> values;
  std::vector<unsigned> order;
  for (unsigned i = 0; i < trials.size(); ++i) {
    values.push_back(bestValue(report.problem, trials[i]));
    if (std::isfinite(values.back()))
      order.push_back(i);
  }
  stableSort(order, [&](unsigned a, unsigned b) { return isBetter(report.problem, values[a], values[b]); });
  return order;
}

json::Array trialsOf(const json::Value &document, const std::vector<unsigned> &shown) {
  json::Array out;
  const json::Array *all = document.getAsObject()->getArray("trials");
  for (unsigned number : shown) {
    json::Object trial = *(*all)[number].getAsObject();
    trial["number"] = number;
    out.push_back(std::move(trial));
  }
  return out;
}

/// In the order of the document.
json::Array segmentsOf(const TuningResult &result, const json::Value &document) {
  const json::Array &all = *document.getAsObject()->getArray("segments");
  if (all.size() <= kMaxPageSegments)
    return all;
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto length = [&](size_t i) { return result.segments[i].end - result.segments[i].start; };
  stableSort(order, [&](size_t a, size_t b) { return length(a) > length(b); });
  order.resize(kMaxPageSegments);
  std::ranges::sort(order);
  json::Array out;
  for (size_t i : order)
    out.push_back(all[i]);
  return out;
}

/// Values that were better than all before, with the units that all trials had run by then.
json::Array progressOf(const TuningResult &result) {
  std::vector<double> times;
  for (const Trial &trial : result.trials)
    for (const Report &report : trial.reports)
      times.push_back(report.time);
  std::ranges::sort(times);
  json::Array out;
  for (const Incumbent &one : result.incumbents)
    out.push_back(json::Object{{"time_s", one.time},
                               {"units", std::ranges::upper_bound(times, one.time) - times.begin()},
                               {"trial", one.trial},
                               {"unit", one.unit},
                               {"value", one.value}});
  return out;
}

/// `whole`: trainings that would have run to the end: children of a population begin with the units of others.
json::Object countsOf(const TuningReport &report) {
  const TuningResult &result = report.result;
  const bool isPopulation = report.problem.population.has_value();
  json::Object states;
  for (size_t i = 0; i < std::size(kTrialStates); ++i)
    if (const auto count =
            std::ranges::count_if(result.trials, [&](const Trial &one) { return static_cast<size_t>(one.state) == i; }))
      states[kTrialStates[i]] = static_cast<int64_t>(count);
  return json::Object{
      {"trials", static_cast<int64_t>(result.trials.size())},
      {"whole", std::ranges::count_if(result.trials, [&](const Trial &one) { return !isPopulation || !one.origin; })},
      {"segments", static_cast<int64_t>(result.segments.size())},
      {"states", std::move(states)}};
}

/// Values and costs of the front and of the drawn trials.
json::Array pricedTrialsOf(const TuningReport &report, const std::vector<unsigned> &shown) {
  std::set<unsigned> all(shown.begin(), shown.end());
  all.insert(report.prices->front.begin(), report.prices->front.end());
  json::Array out;
  for (unsigned i : all) {
    if (i >= report.prices->trials.size() || i >= report.result.trials.size())
      continue;
    const Price &price = report.prices->trials[i];
    const double value = bestValue(report.problem, report.result.trials[i]);
    if (!std::isfinite(value) || (!price.inference && price.training.empty()))
      continue;
    out.push_back(json::Object{
        {"trial", i},
        {"value", value},
        {"cost", frontCost(price)},
        {"parameters", price.parameters},
        {"configuration", configurationText(report.problem.space, report.result.trials[i].configuration)}});
  }
  return out;
}

} // namespace

std::vector<unsigned> pageTrials(const TuningReport &report) {
  const std::vector<Trial> &trials = report.result.trials;
  std::vector<unsigned> out(trials.size());
  std::iota(out.begin(), out.end(), 0U);
  if (out.size() <= kMaxPageTrials)
    return out;
  std::set<unsigned> chosen;
  for (unsigned i : byValue(report))
    if (chosen.size() < kMaxPageTrials / 3)
      chosen.insert(i);
  if (!report.result.incumbents.empty()) // from whose state the best began
    for (unsigned trial = report.result.incumbents.back().trial;;) {
      chosen.insert(trial);
      const auto &origin = trials[trial].origin;
      if (!origin || origin->trial >= trial)
        break;
      trial = origin->trial;
    }
  std::vector<unsigned> others;
  for (unsigned i : out)
    if (!chosen.contains(i))
      others.push_back(i);
  const size_t room = kMaxPageTrials - std::min(kMaxPageTrials, chosen.size());
  for (size_t i = 0; i < room; ++i)
    chosen.insert(others[i * others.size() / room]);
  return {chosen.begin(), chosen.end()};
}

std::string tuningPage(const TuningReport &report, const json::Value &document) {
  const std::vector<unsigned> shown = pageTrials(report);
  json::Object data;
  for (const auto &[key, value] : *document.getAsObject())
    if (key != "trials" && key != "segments")
      data[key] = value;
  data["trials"] = trialsOf(document, shown);
  data["segments"] = segmentsOf(report.result, document);
  data["progress"] = progressOf(report.result);
  data["counts"] = countsOf(report);
  data["rungs"] = json::Array(rungs(report.problem));
  data["min_importance_trials"] = kMinImportanceTrials;
  if (!report.result.incumbents.empty())
    data["best_configuration"] = json::Array(report.result.trials[report.result.incumbents.back().trial].configuration);
  if (report.prices) {
    data["prices"].getAsObject()->erase("trials"); // of each trial on each number of devices
    data["priced_trials"] = pricedTrialsOf(report, shown);
  }
  return pageOf(Page::Tuning, "tuning " + report.problem.name, jsonText(document) + "\n", std::move(data));
}

} // namespace accord::tuning
