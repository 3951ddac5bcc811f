#include "lib/tuning/output/TuningOutput.h"
#include "lib/support/documents/Csv.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/SummaryLines.h"
#include "lib/tuning/output/OptunaJournal.h"
#include "lib/tuning/output/PriceOutput.h"
#include "lib/tuning/output/TuningPage.h"
#include "lib/tuning/solve/ParameterImportance.h"
#include <algorithm>
#include <fmt/format.h>

using namespace llvm;
namespace accord::tuning {
namespace {

void describeParameter(JsonFields &f, HyperParameter &parameter) {
  f.field("name", parameter.name)
      .field("kind", parameter.kind,
             [](JsonVisitor &v, HyperParameter::Kind &kind) {
               v.oneOf(kind, {"real", "integer", "choice"}, "unknown kind of hyper-parameter");
             })
      .field("min", parameter.min, kAnyNumber)
      .field("max", parameter.max, kAnyNumber)
      .field("log", parameter.isLog)
      .field("choices", parameter.choices)
      .about("units behind which it begins to act; absent: it acts from the start")
      .maybe("from", parameter.from);
}

void describeScale(JsonFields &f, ScaleRule &rule) {
  f.field("target", rule.target)
      .about("the hyper-parameter by which it is scaled")
      .field("by", rule.by)
      .field("rule", rule.kind,
             [](JsonVisitor &v, ScaleRule::Kind &kind) {
               v.oneOf(kind,
                       {"linear", "square-root", "inverse", "mup", "mup-sgd", "ada-scale", "ada-scale-root", "ema"},
                       "unknown rule of scaling");
             })
      .about("where the value that a program gets is the one in base terms")
      .field("base", rule.base, NumberRange{.open = true})
      .about("gradient noise scale of ada-scale, in samples")
      .maybe("noise", rule.noise);
}

void describePassed(JsonFields &f, PassedValue &passed) {
  f.field("name", passed.name).field("value", passed.value, kAnyNumber);
}

void describePopulation(JsonFields &f, Population &population) {
  f.field("members", population.members, IntegerRange{2})
      .about("units of a generation, behind which the worst are replaced")
      .field("every", population.every, kFromOne)
      .about("share of the members that are replaced")
      .field("replaced", population.replaced, NumberRange{0, 0.5, true})
      .about("how probable it is that a hyper-parameter of a child is drawn anew")
      .field("redrawn", population.redrawn, kShare)
      .about("by one of these a number that is not drawn anew is multiplied")
      .field("factors", population.factors, NumberRange{.open = true})
      .about("hyper-parameters that a child takes as they are")
      .field("fixed", population.fixed);
}

void describeProblem(JsonFields &f, TuningProblem &problem) {
  f.field("name", problem.name)
      .about("as the program calls it")
      .field("objective", problem.objective)
      .field("maximizes", problem.maximizes)
      .field("space", problem.space, describeParameter)
      .about("how programs get values that are searched in base terms")
      .maybe("scales", problem.scales, describeScale)
      .about("before a trial may be stopped, and of a complete one")
      .field("min_units", problem.minUnits, kFromOne)
      .field("max_units", problem.maxUnits, kFromOne)
      .about("of so many trials that reach a rung one goes on")
      .field("reduction", problem.reduction, IntegerRange{2})
      .about("so many trials tell whether the lowest rung says anything")
      .field("probes", problem.probes)
      .about("when trials are stopped before their end")
      .field("stops", problem.stops,
             [](JsonVisitor &v, Stops &one) { v.oneOf(one, {"halving", "curves", "both"}, "unknown stops"); })
      .about("with curves: how improbable it is that a trial that is stopped becomes the best")
      .field("stop_below", problem.stopBelow, kShare)
      .field("trials", problem.trials, kFromOne)
      .field("devices", problem.devices, kFromOne)
      .field("devices_per_node", problem.devicesPerNode, kFromOne)
      .about("so many slots are a device")
      .field("slots_per_device", problem.slotsPerDevice, kFromOne)
      .about("on how much a trial may run")
      .field("widths", problem.widths,
             [](JsonFields &g, Width &width) {
               g.field("slots", width.slots, kFromOne)
                   .about("1 is that of one whole device")
                   .field("speed", width.speed, NumberRange{.open = true});
             })
      .field("restart_s", problem.restart)
      .field("unit_s", problem.unitSeconds)
      .field("proposals", problem.proposals,
             [](JsonVisitor &v, Proposals &one) { v.oneOf(one, {"random", "density", "priced"}, "unknown proposals"); })
      .field("sharing", problem.sharing,
             [](JsonVisitor &v, Sharing &one) { v.oneOf(one, {"joint", "fixed"}, "unknown sharing"); })
      .field("fixed_slots", problem.fixedSlots, kFromOne)
      .about("0: no limit")
      .field("max_s", problem.maxSeconds)
      .maybe("target", problem.target, kAnyNumber)
      .field("seed", problem.seed)
      .about("configurations that were proposed before all others")
      .field("first", problem.first, [](JsonVisitor &v, Configuration &one) { visitValue(v, one, kAnyNumber); })
      .about("members that all run to the end, the worst of which are replaced by children of the best")
      .maybe("population", problem.population, describePopulation)
      .about("where hyper-parameters act later: so many trials go on from one state")
      .field("branches", problem.branches, kFromOne);
}

void describeReport(JsonFields &f, Report &report) {
  f.field("unit", report.unit)
      .about("null: the training has diverged")
      .field("value", report.value, [](JsonVisitor &v, double &value) { v.numberOrNull(value, kAnyNumber); })
      .about("seconds of the plan")
      .field("time_s", report.time);
}

void describeTrial(JsonFields &f, Trial &trial) {
  f.field("state", trial.state,
          [](JsonVisitor &v, Trial::State &one) {
            v.oneOf(one, {"paused", "complete", "diverged", "failed", "stopped", "replaced"},
                    "unknown state of a trial");
          })
      .about("a value of each hyper-parameter: a number, or the index of a choice")
      .field("configuration", trial.configuration, kAnyNumber)
      .field("unit_s", trial.unitSeconds)
      .field("reports", trial.reports, describeReport)
      .about("of one that failed")
      .field("reason", trial.reason)
      .about("what the program got instead of values in base terms, and ratios of widths beside them")
      .maybe("passed", trial.passed, describePassed)
      .about("the trial with whose state it began, and after which unit; absent: it began at unit 0")
      .maybe("origin", trial.origin, [](JsonFields &g, Origin &origin) {
        g.field("trial", origin.trial)
            .field("unit", origin.unit, kFromOne)
            .about("hyper-parameters that were drawn anew")
            .field("redrawn", origin.redrawn);
      });
}

void describeSegment(JsonFields &f, Segment &segment) {
  f.field("trial", segment.trial)
      .about("units that it had done, before and behind")
      .field("from", segment.from)
      .field("to", segment.to)
      .field("slots", segment.slots, kFromOne)
      .field("devices", segment.devices)
      .field("start_s", segment.start)
      .field("end_s", segment.end);
}

void describeMean(JsonFields &f, SeedMean &mean) {
  f.field("mean", mean.mean, kAnyNumber).field("low", mean.low, kAnyNumber).field("high", mean.high, kAnyNumber);
}

/// Shares of the hyper-parameters at a rung, with their names.
struct ImportanceView {
  struct Share {
    std::string name;
    ParameterShare of;
  };
  int64_t unit = 0, trials = 0;
  std::vector<Share> parameters;
};

std::vector<ImportanceView> importanceOf(const TuningReport &report) {
  std::vector<ImportanceView> out;
  for (const RungImportance &rung : parameterImportance(report.problem, report.result)) {
    ImportanceView &view = out.emplace_back(ImportanceView{rung.unit, rung.trials, {}});
    for (size_t p = 0; p < rung.parameters.size(); ++p)
      view.parameters.push_back({report.problem.space[p].name, rung.parameters[p]});
  }
  return out;
}

void describeImportance(JsonFields &f, ImportanceView &view) {
  f.about("whose values are compared, of so many trials")
      .field("unit", view.unit, kFromOne)
      .field("trials", view.trials, kFromOne)
      .field("parameters", view.parameters, [](JsonFields &g, ImportanceView::Share &one) {
        g.field("name", one.name)
            .about("of the variance of the ranks of values that it explains alone; below 0 is chance")
            .field("share", one.of.share, kAnyNumber)
            .about("interval of 95 %; above 0: it is shown to matter")
            .field("low", one.of.low, kAnyNumber)
            .field("high", one.of.high, kAnyNumber);
      });
}

std::string percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }
std::string seconds(double value) {
  return value >= 7200 ? fmt::format("{:.2f} h", value / 3600) : fmt::format("{:.4g} s", value);
}
std::string interval(const SeedMean &mean, const std::function<std::string(double)> &text) {
  return fmt::format("{} ({} .. {})", text(mean.mean), text(mean.low), text(mean.high));
}

/// Beside a configuration in base terms: what its program got.
void addPassedLine(SummaryLines &lines, const Trial &trial) {
  if (!trial.passed.empty())
    lines.add("passed", passedText(trial.passed) + " (the configuration is in base terms)");
}

/// With what the units of a training ran.
struct ScheduleStep {
  int64_t from = 1, to = 1; ///< units, both included
  unsigned trial = 0;
  Configuration configuration = {};
};

/// How the best value came about: the trials from whose state the best one began, the first one first. Empty where no
/// trial has a value.
std::vector<ScheduleStep> scheduleOf(const TuningResult &result) {
  std::vector<ScheduleStep> out;
  if (result.incumbents.empty())
    return out;
  unsigned trial = result.incumbents.back().trial;
  for (int64_t to = result.incumbents.back().unit;;) {
    const Trial &one = result.trials[trial];
    out.push_back({one.inherited() + 1, to, trial, one.configuration});
    if (!one.origin || one.origin->trial >= trial) // what a document says wrongly is found by its verifier
      break;
    to = one.origin->unit, trial = one.origin->trial;
  }
  std::ranges::reverse(out);
  return out;
}

void describeStep(JsonFields &f, ScheduleStep &step) {
  f.about("units, both included")
      .field("from", step.from, kFromOne)
      .field("to", step.to, kFromOne)
      .field("trial", step.trial)
      .field("configuration", step.configuration, kAnyNumber);
}

/// What stayed as it was in one line, and a line for each hyper-parameter that changed: "units 1-4: 0.01; 5-8: 0.008".
void addScheduleLines(SummaryLines &lines, const SearchSpace &space, const std::vector<ScheduleStep> &steps) {
  std::string kept;
  SummaryLines schedule(lines);
  schedule.text.clear();
  for (size_t p = 0; p < space.size(); ++p) {
    auto text = [&](const ScheduleStep &step) {
      return space[p].kind == HyperParameter::Kind::Real ? fmt::format("{:.4g}", step.configuration[p])
                                                         : valueText(space[p], step.configuration[p]);
    };
    std::string line;
    size_t values = 0;
    for (size_t i = 0, next; i < steps.size(); i = next, ++values) {
      for (next = i + 1; next < steps.size() && steps[next].configuration[p] == steps[i].configuration[p];)
        ++next;
      line += fmt::format("{}{}", i ? "; " : "units ", steps[i].from);
      if (steps[next - 1].to > steps[i].from)
        line += fmt::format("-{}", steps[next - 1].to);
      line += ": " + text(steps[i]);
    }
    if (values > 1)
      schedule.add(space[p].name, line);
    else
      kept += fmt::format("{}{} {}", kept.empty() ? "" : ", ", space[p].name, text(steps.front()));
  }
  if (!kept.empty())
    lines.add("configuration", kept);
  lines.text += schedule.text;
}

int64_t inheritedUnits(const TuningResult &result) {
  int64_t units = 0;
  for (const Trial &trial : result.trials)
    units += trial.inherited();
  return units;
}

std::string comparisonText(const TuningReport &report, const TextStyle &style) {
  std::string out = fmt::format("\n  Over {} seeds, with bootstrap intervals of 95 %:\n", report.seeds);
  const bool hasTarget = report.problem.target.has_value();
  TextTable table("lrrrr", {"tuning", hasTarget ? "time to the target" : "time",
                            hasTarget ? "reached" : report.problem.objective, "units", "the first against it"});
  for (const ComparedTuning &one : report.compared) {
    const bool isOwn = &one == &report.compared.front();
    const char *verdict = one.change.high < 0 ? "shorter" : one.change.low > 0 ? "longer" : "no gain";
    table.row({one.name, interval(one.seconds, seconds),
               hasTarget ? fmt::format("{} of {}", one.reached, report.seeds) : fmt::format("{:.4g}", one.value.mean),
               fmt::format("{:.0f}", one.units),
               isOwn ? "" : fmt::format("{}: {}", interval(one.change, percent), verdict)});
  }
  return out + table.text(style);
}

} // namespace

void describe(JsonFields &f, SeedMean &mean) { describeMean(f, mean); }

void describe(JsonFields &f, TuningReport &report) {
  static constexpr StringRef kStatus[] = {"ended", "reached", "stopped", "infeasible"};
  std::vector<ImportanceView> importance = f.writes() ? importanceOf(report) : std::vector<ImportanceView>();
  f.head("tune", kStatus[static_cast<size_t>(report.status)], kStatus)
      .about(
          "whether all trials ended, the target was reached, somebody stopped the tuning, or no configuration of the "
          "space keeps its limits")
      .field("ended_by", report.status,
             [](JsonVisitor &v, TuningReport::Status &one) {
               v.oneOf(one, {"ended", "reached", "stopped", "infeasible"}, "unknown end of a tuning");
             })
      .about("the table, or the program")
      .field("source", report.source)
      .field("problem", report.problem, describeProblem)
      .about("in the order in which they were proposed")
      .field("trials", report.result.trials, describeTrial)
      .about("where trials ran when, by start")
      .field("segments", report.result.segments, describeSegment)
      .about("each better than the one before")
      .field("incumbents", report.result.incumbents,
             [](JsonFields &g, Incumbent &one) {
               g.field("time_s", one.time)
                   .field("trial", one.trial)
                   .field("unit", one.unit)
                   .field("value", one.value, kAnyNumber);
             })
      .field("time_s", report.result.seconds)
      .field("device_s", report.result.deviceSeconds)
      .field("units", report.result.units)
      .about("of a population: with which hyper-parameters the best value came about")
      .computedIf(
          report.problem.population.has_value(), "schedule", [&] { return scheduleOf(report.result); }, describeStep)
      .about("at each rung that enough trials came to: what each hyper-parameter explains of the differences of trials")
      .computedIf(
          !importance.empty(), "importance", [&] { return importance; }, describeImportance)
      .about("what the cost model says of configurations")
      .maybe("prices", report.prices)
      .field("seeds", report.seeds, kFromOne)
      .about("other ways to tune, over the seeds")
      .field("compared", report.compared,
             [](JsonFields &g, ComparedTuning &one) {
               g.field("name", one.name)
                   .about("until the target is reached, or the tuning ends")
                   .field("time_s", one.seconds, describeMean)
                   .field("value", one.value, describeMean)
                   .field("trials", one.trials)
                   .field("units", one.units)
                   .field("busy", one.busy, kShare)
                   .field("reached", one.reached)
                   .about("of the time of the first against this one's, paired: -0.3 is 30 % shorter")
                   .field("change", one.change, describeMean)
                   .about("the best value so far, from when on all seeds have one")
                   .maybe("progress", one.progress, [](JsonFields &h, ProgressPoint &point) {
                     h.field("time_s", point.time).field("value", point.value, describeMean);
                   });
             })
      .field("assumptions", report.assumptions);
}

Result<TuningReport> tuningFromDocument(StringRef text, const std::string &file) {
  auto report = readJsonDocument<TuningReport>(
      text, file, "tune",
      [](const json::Value &value, TuningReport &read, json::Path at) { return readDocument(value, read, at); });
  if (!report)
    return Error{Code::WrongJobSchedule, toString(report.takeError())};
  return std::move(*report);
}

std::string tuningText(const TuningReport &report, const TextStyle &style) {
  const TuningProblem &problem = report.problem;
  const TuningResult &result = report.result;
  static constexpr const char *kEnds[] = {"all trials ended", "the target was reached", "stopped",
                                          "no configuration keeps its limits"};
  std::string out = fmt::format("tuning '{}': {} {}, {}\n", problem.name, problem.maximizes ? "maximize" : "minimize",
                                problem.objective, kEnds[static_cast<size_t>(report.status)]);
  SummaryLines lines(style);
  if (result.incumbents.empty()) {
    lines.add("best", "none: no trial has a value");
  } else {
    const Incumbent &best = result.incumbents.back();
    lines.add("best", fmt::format("{} {:.6g}, of trial {} after {} of {} units", problem.objective, best.value,
                                  best.trial, best.unit, problem.maxUnits));
    if (problem.population)
      addScheduleLines(lines, problem.space, scheduleOf(result));
    else
      lines.add("configuration", configurationText(problem.space, result.trials[best.trial].configuration));
    addPassedLine(lines, result.trials[best.trial]);
  }
  std::array<size_t, 6> count{};
  for (const Trial &trial : result.trials)
    ++count[static_cast<size_t>(trial.state)];
  std::string states;
  for (size_t i = 0; i < count.size(); ++i)
    if (count[i])
      states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count[i], kTrialStates[i]);
  const auto begun = result.trials.size() - size_t(std::ranges::count_if(result.trials, [](const Trial &one) {
                       return one.origin.has_value(); // these began with the units of others
                     }));
  const size_t whole = problem.population ? begun : result.trials.size();
  lines.add("trials", fmt::format("{}: {}; {} units, {:.0f} % of training {} to the end", result.trials.size(),
                                  states.empty() ? "none" : states, result.units,
                                  whole == 0 ? 0.0
                                             : 100.0 * static_cast<double>(result.units) /
                                                   static_cast<double>(problem.maxUnits) / static_cast<double>(whole),
                                  problem.population ? fmt::format("{} members", whole) : "all"));
  if (!problem.population && begun < result.trials.size())
    lines.add("branches", fmt::format("{} trials begin with the state of another one, and do not train {} units again",
                                      result.trials.size() - begun, inheritedUnits(result)));
  if (problem.population && !result.trials.empty() && std::ranges::none_of(result.trials, [](const Trial &one) {
        return one.state == Trial::State::Complete || one.state == Trial::State::Paused; // it could have gone on
      }))
    lines.add("population", "ended early: all its members had diverged or failed, so that nobody could be a parent");
  const double all = static_cast<double>(problem.devices) * result.seconds;
  lines.add("time",
            fmt::format("{} on {} device{}, of which {:.0f} % were in use", seconds(result.seconds), problem.devices,
                        problem.devices == 1 ? "" : "s", all > 0 ? 100 * result.deviceSeconds / all : 0.0));
  if (report.prices)
    addPriceLines(lines, *report.prices);
  for (size_t i = 0; i < result.trials.size(); ++i)
    if (result.trials[i].state == Trial::State::Failed) {
      lines.add("failed",
                fmt::format("trial {} ({}): {}", i, configurationText(problem.space, result.trials[i].configuration),
                            result.trials[i].reason));
      break; // the others are in trials.csv
    }
  out += lines.text;
  if (report.prices)
    out += frontText(problem, result, *report.prices, style);
  if (!report.compared.empty())
    out += comparisonText(report, style);
  for (const std::string &assumption : report.assumptions)
    out += wrapped(assumption, "  note: ", style);
  return out;
}

AnswerFiles filesOf(const TuningReport &report) {
  std::string table;
  const bool isPopulation =
      report.problem.population.has_value(); // no table of complete trainings: it begins otherwise
  if (isPopulation)
    table += "origin,origin_unit,";
  for (const HyperParameter &parameter : report.problem.space)
    table += calibrate::csvCell(parameter.name) + ",";
  table += "seconds";
  for (int64_t unit = 1; unit <= report.problem.maxUnits; ++unit)
    table += fmt::format(",{}", unit);
  table += "\n";
  for (unsigned number = 0; number < report.result.trials.size(); ++number) {
    const Trial &trial = report.result.trials[number];
    // A branch has the values of its origin, as if it had been trained alone; a child of a population has others.
    const std::vector<double> values = isPopulation ? std::vector<double>() : curveOf(report.result, number);
    if (isPopulation)
      table += trial.origin ? fmt::format("{},{},", trial.origin->trial, trial.origin->unit) : ",,";
    for (size_t i = 0; i < trial.configuration.size(); ++i)
      table += calibrate::csvCell(valueText(report.problem.space[i], trial.configuration[i])) + ",";
    table += fmt::format("{}", trial.unitSeconds);
    for (int64_t unit = 1; unit <= report.problem.maxUnits; ++unit) {
      const auto index = static_cast<size_t>(unit - 1);
      std::optional<double> value;
      if (const Report *own = trial.at(unit))
        value = own->value;
      else if (index < values.size())
        value = values[index];
      table += !value ? "," : std::isfinite(*value) ? fmt::format(",{}", *value) : ",nan";
    }
    table += "\n";
  }
  const json::Value document = toDocument(report);
  return {{kTuningFile, jsonText(document) + "\n"},
          {"tune.txt", tuningText(report, TextStyle())},
          {"report.html", tuningPage(report, document)},
          {"trials.csv", std::move(table)},
          {kJournalFile, optunaJournal(report)}};
}

} // namespace accord::tuning
