#include "lib/tuning/output/ServerOutput.h"
#include "lib/support/documents/Csv.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/SummaryLines.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord::tuning {
namespace {

constexpr const char *kKinds[] = {"baseline", "trial", "recovery"};
constexpr const char *kOutcomes[] = {"complete", "rolled_back", "failed"};
constexpr const char *kObjectives[] = {"samples_per_second", "samples_per_joule"};

void describeParameter(JsonFields &f, ServerParameter &parameter) {
  f.field("name", parameter.name)
      .about("of the values: W, B, s, …; empty: plain numbers")
      .field("unit", parameter.unit)
      .field("values", parameter.values, kAnyNumber)
      .field("words", parameter.words);
}

void describeProblem(JsonFields &f, ServerProblem &problem) {
  f.field("name", problem.name)
      .field("objective", problem.objective,
             [](JsonVisitor &v, ServerObjective &one) {
               v.oneOf(one, {"samples_per_second", "samples_per_joule"}, "unknown objective of a server");
             })
      .field("parameters", problem.parameters, describeParameter)
      .about("of each parameter the index of its value")
      .field("baseline", problem.baseline)
      .about("of the progress of the baseline")
      .field("floor", problem.floor, kShare)
      .about("with which no interval is below the floor, under the model")
      .field("confidence", problem.confidence, kShare)
      .field("interval_s", problem.intervalSeconds, NumberRange{.open = true})
      .about("at the start of each interval, not measured")
      .field("settle_s", problem.settleSeconds)
      .about("a training that reports nothing for longer has failed")
      .field("silence_s", problem.silenceSeconds)
      .field("intervals", problem.intervals, kFromOne)
      .field(
          "strategy", problem.strategy,
          [](JsonVisitor &v, ServerStrategy &one) { v.oneOf(one, {"safe", "unsafe", "random"}, "unknown strategy"); })
      .field("seed", problem.seed);
}

void describeScales(JsonFields &f, ServerScales &scales) {
  f.about("standard deviations of the logarithm of the ratio, and of one measurement of it")
      .field("signal", scales.signal, NumberRange{.open = true})
      .field("noise", scales.noise, NumberRange{.open = true})
      .about("by parameter, in steps")
      .field("lengths", scales.lengths, NumberRange{.open = true});
}

void describeInterval(JsonFields &f, ServerInterval &interval) {
  f.about("of the baseline, of a setting that is tried, or of the best safe one behind a trial that was rolled back")
      .field("kind", interval.kind,
             [](JsonVisitor &v, ServerInterval::Kind &one) {
               v.oneOf(one, {"baseline", "trial", "recovery"}, "unknown kind of interval");
             })
      .field("outcome", interval.outcome,
             [](JsonVisitor &v, ServerInterval::Outcome &one) {
               v.oneOf(one, {"complete", "rolled_back", "failed"}, "unknown outcome of an interval");
             })
      .field("setting", interval.setting)
      .about("lower confidence bound of progress over the baseline's when the setting was chosen, and its expectation")
      .field("lower", interval.lower)
      .field("mean", interval.mean)
      .about("samples per second of the baseline, as known then; 0: not yet")
      .field("reference", interval.reference)
      .about("of the posterior by which it was chosen")
      .maybe("scales", interval.scales, describeScales)
      .about("as the training reported them")
      .field("windows", interval.windows,
             [](JsonFields &g, ServerWindow &window) {
               g.field("seconds", window.seconds, NumberRange{.open = true})
                   .field("samples", window.samples)
                   .field("joules", window.joules);
             })
      .about("of one that failed")
      .field("reason", interval.reason);
}

std::string percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }
std::string interval(const SeedMean &mean) {
  return fmt::format("{} ({} .. {})", percent(mean.mean), percent(mean.low), percent(mean.high));
}

std::string comparisonText(const ServerReport &report, const TextStyle &style) {
  std::string out = fmt::format("\n  Over {} seeds, with intervals of 95 %, by the table:\n", report.seeds);
  TextTable table("lrrrrr",
                  {"strategy", "gain", "progress meanwhile", "intervals below the floor", "runs with one", "failures"});
  for (const ComparedServer &one : report.compared)
    table.row({one.name, interval(one.gain), interval(one.progress), fmt::format("{:.2f}", one.below),
               fmt::format("{} of {} ({:.0f} .. {:.0f} %)", one.runsBelow, report.seeds, 100 * one.runsBelowLow,
                           100 * one.runsBelowHigh),
               fmt::format("{:.2f}", one.failures)});
  return out + table.text(style);
}

} // namespace

void describe(JsonFields &f, ServerReport &report) {
  static constexpr StringRef kStatus[] = {"ended", "complete", "stopped", "failed"};
  ServerResult &result = report.result;
  f.head("tune", kStatus[static_cast<size_t>(report.status)], kStatus)
      .about("whether all intervals were run, the training was complete before, somebody stopped it, or it failed")
      .field("ended_by", report.status,
             [](JsonVisitor &v, ServerReport::Status &one) {
               v.oneOf(one, {"ended", "complete", "stopped", "failed"}, "unknown end of a tuning");
             })
      .about("the program, or the table")
      .field("source", report.source)
      .about("of one that failed")
      .field("reason", report.reason)
      .field("problem", report.problem, describeProblem)
      .field("intervals", result.intervals, describeInterval)
      .about("the setting that stays")
      .field("best", result.best)
      .about("expected objective of it over that of the baseline, less 1, with its interval of 95 %")
      .field("gain", result.gain, kAnyNumber)
      .field("gain_low", result.gainLow, kAnyNumber)
      .field("gain_high", result.gainHigh, kAnyNumber)
      .about("of the posterior behind the last interval")
      .maybe("scales", result.scales, describeScales)
      .about("of that of samples per joule")
      .maybe("objective_scales", result.objectiveScales, describeScales)
      .field("trials", result.trials)
      .field("rollbacks", result.rollbacks)
      .field("failures", result.failures)
      .about("by which intervals that were rolled back or failed are behind the baseline")
      .field("lost_samples", result.lostSamples)
      .about("by which all other intervals are ahead of it")
      .field("gained_samples", result.gainedSamples, kAnyNumber)
      .field("seeds", report.seeds, kFromOne)
      .about("other strategies, over the seeds; what is below the floor is so by the table")
      .field("compared", report.compared,
             [](JsonFields &g, ComparedServer &one) {
               g.field("name", one.name)
                   .about("of the setting that is taken at the end, less 1")
                   .field("gain", one.gain)
                   .about("samples of all intervals over those of the baseline in the same time, less 1")
                   .field("progress", one.progress)
                   .about("intervals below the floor, mean")
                   .field("below", one.below)
                   .field("failures", one.failures)
                   .about("seeds with such an interval, and limits of their share")
                   .field("runs_below", one.runsBelow)
                   .field("runs_below_low", one.runsBelowLow, kShare)
                   .field("runs_below_high", one.runsBelowHigh, kShare);
             })
      .field("assumptions", report.assumptions);
}

Result<ServerReport> serversFromDocument(StringRef text, const std::string &file) {
  auto report = readJsonDocument<ServerReport>(
      text, file, "tune",
      [](const json::Value &value, ServerReport &read, json::Path at) { return readDocument(value, read, at); });
  if (!report)
    return Error{Code::WrongJobSchedule, toString(report.takeError())};
  return std::move(*report);
}

std::string serversText(const ServerReport &report, const TextStyle &style) {
  const ServerProblem &problem = report.problem;
  const ServerResult &result = report.result;
  static constexpr const char *kEnds[] = {"all intervals were run", "the training is complete", "stopped", "failed"};
  std::string out =
      fmt::format("server '{}': maximize {}, {}\n", problem.name, kObjectives[static_cast<size_t>(problem.objective)],
                  kEnds[static_cast<size_t>(report.status)]);
  SummaryLines lines(style);
  if (!report.reason.empty())
    lines.add("failed", report.reason);
  lines.add("best", result.best == problem.baseline
                        ? "the baseline: no safe setting was better"
                        : fmt::format("{} ({} .. {}) against the baseline, if progress is as the model says",
                                      percent(result.gain), percent(result.gainLow), percent(result.gainHigh)));
  lines.add("setting", settingText(problem.parameters, result.best));
  lines.add("baseline", settingText(problem.parameters, problem.baseline));
  lines.add("intervals", fmt::format("{} of {} s: {} trials, {} rolled back, {} failed", result.intervals.size(),
                                     problem.intervalSeconds, result.trials, result.rollbacks, result.failures));
  lines.add("samples", fmt::format("{:+.4g} against the baseline; {:.4g} lost by rollbacks and failures",
                                   result.gainedSamples - result.lostSamples, result.lostSamples));
  out += lines.text;
  if (!report.compared.empty())
    out += comparisonText(report, style);
  for (const std::string &assumption : report.assumptions)
    out += wrapped(assumption, "  note: ", style);
  return out;
}

AnswerFiles filesOf(const ServerReport &report) {
  const ServerProblem &problem = report.problem;
  std::string table = "interval,kind,outcome";
  for (const ServerParameter &parameter : problem.parameters)
    table += "," + calibrate::csvCell(parameter.name);
  table += ",lower,mean,ratio,seconds,samples,joules\n";
  size_t number = 0;
  for (const ServerInterval &one : report.result.intervals) {
    table += fmt::format("{},{},{}", ++number, kKinds[static_cast<size_t>(one.kind)],
                         kOutcomes[static_cast<size_t>(one.outcome)]);
    for (size_t i = 0; i < problem.parameters.size(); ++i)
      table += "," + calibrate::csvCell(valueText(problem.parameters[i], one.setting[i]));
    table += fmt::format(",{:.4f},{:.4f},{},{},{},{}\n", one.lower, one.mean,
                         one.reference > 0 ? fmt::format("{:.4f}", one.rate() / one.reference) : "", one.seconds(),
                         one.samples(), one.joules());
  }
  return {{kServersFile, jsonText(toDocument(report)) + "\n"},
          {"servers.txt", serversText(report, TextStyle())},
          {"intervals.csv", std::move(table)}};
}

} // namespace accord::tuning
