#include "lib/jobs/output/ReplanOutput.h"
#include "lib/jobs/problem/JobWords.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using Kind = JobChange::Kind;
constexpr IntegerRange kFromMinusOne{-1};
constexpr size_t kMaxRows = 60; ///< of a terminal; jobs.json has all
constexpr std::initializer_list<llvm::StringRef> kKinds = {"complete", "goes_on", "moves",    "stops",
                                                           "starts",   "pending", "rejected", "cancelled"};

std::string kindText(Kind kind) {
  std::string text = std::data(kKinds)[static_cast<size_t>(kind)].str();
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

void describePlacement(JsonVisitor &v, JobPlacement &placement) {
  visitValue(v, placement, [](JsonVisitor &one, ServerShare &share) {
    one.tuple("expected [server, devices]", share.server, share.devices);
  });
}

void describeState(JsonFields &f, JobState &job) {
  f.field("name", job.name)
      .about("of its whole work")
      .field("samples", job.samples)
      .field("done", job.done)
      .about("-1: it is not complete")
      .field("completion", job.completion, kFromMinusOne)
      .maybe("running", job.running)
      .about("where it runs, or ran last")
      .maybe("type", job.deviceType)
      .maybe("devices", job.devices)
      .maybe("plan", job.plan)
      .maybe("configuration", job.configuration)
      .maybe("choice", job.choice)
      .maybeIf(!job.servers.empty(), "servers", job.servers, describePlacement)
      .about("when its run began to make progress")
      .maybe("begun", job.begun)
      .about("seconds until it makes progress")
      .maybe("restarting", job.restarting)
      .about("samples a second")
      .maybe("rate", job.rate)
      .about("its speed, of that in tables of configurations")
      .field("pace", job.pace)
      .about("of its runs so far")
      .maybe("starts", job.starts)
      .about("how often it may start again; -1: not limited")
      .field("restarts", job.restarts, kFromMinusOne);
}

void describeChange(JsonFields &f, JobChange &change) {
  f.field("job", change.job)
      .field("kind", change.kind, [](JsonVisitor &v, Kind &kind) { v.oneOf(kind, kKinds, "unknown kind of change"); })
      .maybe("from", change.from)
      .maybe("to", change.to)
      .field("before", change.before, kFromMinusOne)
      .field("after", change.after, kFromMinusOne)
      .maybe("restart_hours", change.restartHours)
      .maybe("why", change.why);
}

/// Whether a job goes on, waits or is left out as it was planned.
bool isAsPlanned(const JobChange &change) {
  return change.why.empty() && change.before == change.after && change.kind != Kind::Moves &&
         change.kind != Kind::Stops && change.kind != Kind::Cancelled;
}

double restartHours(const Replan &replan) {
  double sum = 0;
  for (const JobChange &change : replan.changes)
    sum += change.restartHours;
  return sum;
}

std::string completionText(int64_t completion) {
  return completion < 0 ? "-" : timeText(static_cast<double>(completion));
}

/// "1.2 h later", "45 min earlier", "as planned".
std::string againstText(const JobChange &change) {
  if (change.before < 0 || change.after < 0)
    return "-";
  const int64_t later = change.after - change.before;
  if (later == 0)
    return "as planned";
  return timeText(static_cast<double>(std::abs(later))) + (later > 0 ? " later" : " earlier");
}

} // namespace

void describe(JsonFields &f, Replan &replan) {
  f.about("seconds on the clock of the block, as all times here")
      .field("at", replan.state.at)
      .field("slot", replan.state.slot)
      .field("state", replan.state.jobs, describeState)
      .maybe("outages", replan.state.outages,
             [](JsonFields &g, ServerAway &one) {
               g.field("server", one.server).field("from", one.from).field("until", one.until);
             })
      .about("spent before: micro-dollars, joules, micrograms")
      .field("price", replan.state.price)
      .field("energy", replan.state.energy)
      .field("carbon", replan.state.carbon)
      .about("of runs, before")
      .maybe("starts", replan.state.starts)
      .field("changes", replan.changes, describeChange)
      .about("of the objectives, with the plan before as it was")
      .maybe("previous_values", replan.keptValues, kAnyInteger)
      .maybe("why_not_previous", replan.whyNotKept)
      .about("of each limit: what the time before counts in it")
      .maybe("spent", replan.spent, kAnyInteger)
      .about("of jobs that are complete")
      .maybe("completed_weight", replan.completedWeight);
}

std::optional<ReplanView> replanView(const JobAnswer &answer) {
  if (!answer.replan)
    return std::nullopt;
  const Replan &replan = *answer.replan;
  ReplanView view;
  view.at = replan.state.at;
  view.whyNotKept = replan.whyNotKept;
  view.restartHours = restartHours(replan);
  for (const JobChange &one : replan.changes)
    view.changes.push_back({one.job, std::data(kKinds)[static_cast<size_t>(one.kind)].str(), one.from, one.to, one.why,
                            one.before, one.after, one.restartHours});
  for (size_t o = 0; o < replan.keptValues.size() && o < answer.problem.objectives.size(); ++o) {
    const JobMeasure measure = answer.problem.objectives[o];
    view.kept.push_back({std::string(nameOf(measure)), measureText(answer.problem, measure, replan.keptValues[o]),
                         replan.keptValues[o]});
  }
  return view;
}

void describe(JsonFields &f, ReplanView &view) {
  const Words kinds{{"complete", "goes_on", "moves", "stops", "starts", "pending", "rejected", "cancelled"}};
  f.about("when it begins, on the clock of the block: all other times of the document count from there")
      .field("at_s", view.at)
      .about("of each job against the plan before; completions are on the clock of the block")
      .field("changes", view.changes,
             [&](JsonFields &g, ChangeView &one) {
               g.field("job", one.job)
                   .field("kind", one.kind, kinds)
                   .maybe("from", one.from)
                   .maybe("to", one.to)
                   .maybeIf(one.before >= 0, "planned_completion_s", one.before)
                   .maybeIf(one.after >= 0, "completion_s", one.after)
                   .maybe("restart_device_hours", one.restartHours)
                   .about("events")
                   .maybe("why", one.why);
             })
      .about("the objectives, if the plan before were kept")
      .maybe("previous", view.kept,
             [](JsonFields &g, KeptView &one) {
               g.field("name", one.name).field("value", one.value, kAnyInteger).field("text", one.text);
             })
      .maybe("why_not_previous", view.whyNotKept)
      .about("of all restarts that are paid")
      .field("restart_device_hours", view.restartHours);
}

void addReplan(const JobAnswer &answer, const TextStyle &style, SummaryLines &lines) {
  if (!answer.replan)
    return;
  const Replan &replan = *answer.replan;
  TextTable table("lllrrrl", {"job", "change", "devices", "completes at", "against plan", "restarts", "why"});
  size_t shown = 0, asPlanned = 0;
  for (const JobChange &one : replan.changes) {
    if (isAsPlanned(one)) {
      ++asPlanned;
      continue;
    }
    if (++shown > kMaxRows)
      continue;
    std::string devices = one.to.empty() ? one.from : one.to;
    if (one.kind == Kind::Moves || one.kind == Kind::Stops)
      devices = fmt::format("{} to {}", one.from.empty() ? "-" : one.from, one.to);
    table.row({one.job, kindText(one.kind), devices.empty() ? "-" : devices, completionText(one.after),
               againstText(one), one.restartHours > 0 ? fmt::format("{:.2f} device-h", one.restartHours) : "-",
               one.why.empty() ? "-" : one.why});
  }
  if (shown > 0)
    lines.text += table.text(style);
  if (shown > kMaxRows)
    lines.text += fmt::format("… and {} more changes\n", shown - kMaxRows);
  if (asPlanned > 0)
    lines.add("as planned", fmt::format("{} job{}", asPlanned, asPlanned == 1 ? "" : "s"));
  if (const double hours = restartHours(replan); hours > 0)
    lines.add("restarts", fmt::format("{:.2f} device-hours", hours));
  if (!replan.whyNotKept.empty())
    lines.add("plan before", "it cannot be kept: " + replan.whyNotKept);
  for (size_t o = 0; o < replan.keptValues.size() && o < answer.schedule.values.size(); ++o) {
    const JobMeasure measure = answer.problem.objectives[o];
    lines.add("plan before",
              fmt::format("{} {}, {}", wordsOf(measure), measureText(answer.problem, measure, replan.keptValues[o]),
                          replan.keptValues[o] == answer.schedule.values[o]
                              ? "as now"
                              : "now " + measureText(answer.problem, measure, answer.schedule.values[o])));
  }
}

} // namespace accord::jobs
