#include "lib/jobs/output/SimulationOutput.h"
#include "lib/report/ReportPage.h"
#include "lib/support/Version.h"
#include "lib/support/documents/Csv.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

/// "2.6 h", "35 min 12 s" or "82 s".
std::string duration(double seconds) {
  if (seconds >= 7200)
    return fmt::format("{:.2f} h", seconds / 3600);
  if (seconds >= 600)
    return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} s", seconds);
}

std::string durationWithin(const MeanInterval &interval) {
  return fmt::format("{} ± {}", duration(interval.mean), duration(interval.high - interval.mean));
}

void describeCluster(JsonFields &f, const Cluster &cluster) {
  struct Type {
    std::string name;
    int64_t servers = 0, devices = 0;
  };
  std::vector<Type> types;
  for (const std::string &name : cluster.types)
    types.push_back({name, 0, 0});
  for (const Server &server : cluster.servers)
    ++types[server.type].servers, types[server.type].devices += server.devices;
  f.about("device types of the cluster").field("types", types, [](JsonFields &g, Type &type) {
    g.field("name", type.name).field("servers", type.servers).field("devices", type.devices);
  });
}

void describeJob(JsonFields &f, JobReport &job) {
  f.field("name", job.name)
      .field("arrival_s", job.arrival)
      .about("when it first held devices")
      .field("start_s", job.start)
      .field("completion_s", job.completion)
      .about("changes of its devices, without the first start")
      .field("restarts", job.restarts)
      .about("device-seconds that it held")
      .field("device_s", job.deviceSeconds)
      .maybe("deadline_s", job.deadline)
      .about("of a server while it ran there")
      .maybe("failures", job.failures)
      .about("seconds in which it ran, and which failures undid")
      .maybe("undone_s", job.lostSeconds);
}

void describeSeed(JsonFields &f, SeedOutcome &seed) {
  int64_t number = static_cast<int64_t>(seed.seed);
  f.field("seed", number)
      .field("mean_completion_s", seed.meanCompletion)
      .field("p99_completion_s", seed.tailCompletion)
      .field("makespan_s", seed.makespan)
      .field("restarts_per_job", seed.restartsPerJob)
      .about("of servers under jobs, of all jobs")
      .maybe("failures", seed.failures)
      .about("seconds in which jobs ran, and which failures undid, of all jobs")
      .maybe("undone_s", seed.lostSeconds);
}

void describeInterval(JsonFields &f, MeanInterval &interval) {
  f.field("mean", interval.mean).field("low", interval.low).field("high", interval.high);
}

constexpr double kPaired = 0.95; ///< confidence of comparisons

/// What the seeds show of a change of the mean completion.
std::string shown(const MeanInterval &change) {
  return change.high < 0 ? "shorter" : change.low > 0 ? "longer" : "no gain";
}

void describeChange(JsonFields &f, MeanInterval &change) {
  std::string what = shown(change);
  f.field("mean", change.mean, kAnyNumber).field("low", change.low, kAnyNumber).field("high", change.high, kAnyNumber);
  f.about("shorter, longer, or no gain: the interval holds 0").field("shown", what);
}

void describeParity(JsonFields &f, Parity &parity) {
  auto jobs = [](const std::optional<size_t> &of) { return static_cast<int64_t>(of.value_or(0)); };
  int64_t mean = jobs(parity.jobs), low = jobs(parity.low), high = jobs(parity.high);
  f.about("missing: never").maybeIf(parity.jobs.has_value(), "jobs", mean);
  f.about("the percentile bootstrap of 95 % over seeds; missing: never").maybeIf(parity.low.has_value(), "low", low);
  f.maybeIf(parity.high.has_value(), "high", high);
}

void describeAnyInterval(JsonFields &f, MeanInterval &interval) {
  f.field("mean", interval.mean, kAnyNumber)
      .field("low", interval.low, kAnyNumber)
      .field("high", interval.high, kAnyNumber);
}

void describeRegret(JsonFields &f, RegretReport &regret) {
  f.field("policy", regret.policy)
      .field("reference", regret.against)
      .about("of the policies that know no work and learn nothing, the reference has the shortest mean over all seeds")
      .field("is_best_fixed", regret.isBestFixed)
      .about("the smallest number of jobs from which on the mean change is at most 2 %")
      .field("parity", regret.curve.parity, describeParity)
      .field("points", regret.curve.points, [](JsonFields &g, RegretPoint &point) {
        int64_t jobs = static_cast<int64_t>(point.jobs);
        g.about("that arrived first")
            .field("jobs", jobs)
            .about("sum of completion - arrival of these jobs, less that under the reference: mean over seeds, "
                   "bootstrap of "
                   "95 %")
            .field("regret_s", point.regret, describeAnyInterval)
            .about("the first sum over the second, less 1: likewise")
            .field("change", point.change, describeAnyInterval);
      });
}

void describePolicy(JsonFields &f, PolicyReport &policy, const SimulationReport &report) {
  double mean = policy.meanCompletion(), median = policy.completionQuantile(0.5),
         tail = policy.completionQuantile(0.99), makespan = policy.makespan(), used = report.utilization(policy),
         restarts = policy.restartsPerJob(), gap = policy.maxGap.value_or(0),
         inTime = policy.deadlinesMet().value_or(0);
  MeanInterval interval = policy.overSeeds(&SeedOutcome::meanCompletion);
  const bool hasSeeds = policy.seeds.size() > 1;
  const ShieldCount shield = policy.shield.value_or(ShieldCount());
  int64_t weighed = static_cast<int64_t>(shield.rounds), shielded = static_cast<int64_t>(shield.shielded);
  f.field("policy", policy.policy)
      .about("what it knows of the jobs")
      .field("knows", policy.knows)
      .about("of completion - arrival, over all jobs")
      .field("mean_completion_s", mean)
      .field("median_completion_s", median)
      .field("p99_completion_s", tail)
      .field("makespan_s", makespan)
      .about("device-seconds held / device-seconds there until the makespan")
      .field("utilization", used, kShare)
      .field("restarts_per_job", restarts)
      .field("rounds", policy.rounds)
      .about("of a policy that maximizes with a proved bound: the largest (bound - value) / bound of its rounds")
      .maybeIf(policy.maxGap.has_value(), "max_allocation_gap", gap, kShare)
      .about("rounds of all seeds in which an actor weighed the jobs")
      .maybeIf(policy.shield.has_value(), "weighed_rounds", weighed)
      .about("of them, rounds in which the planner's allocation was taken, because the weighed one lost too much")
      .maybeIf(policy.shield.has_value(), "shielded_rounds", shielded)
      .about("share of the jobs with a deadline that are complete then")
      .maybeIf(policy.deadlinesMet().has_value(), "deadlines_met", inTime, kShare)
      .about("of the means of all seeds: their mean, and Student's interval of 90 %")
      .maybeIf(hasSeeds, "mean_completion_over_seeds_s", interval, describeInterval)
      .about(
          "mean completion over that of `reference`, less 1: the mean over seeds, and the percentile bootstrap of 95 %")
      .maybe("change", policy.change, describeChange)
      .about("each seed; everything else is of the first")
      .maybeIf(hasSeeds, "seeds", policy.seeds, describeSeed)
      .field("jobs", policy.jobs, describeJob);
}

void describeReport(JsonFields &f, SimulationReport &report) {
  f.constant("command", "jobs", "expected jobs")
      .computed("version", [] { return std::string(kVersion); })
      .field("trace", report.trace)
      .about("seconds between two decisions of a policy")
      .field("round_s", report.round)
      .about("seconds without progress each time that a job starts or its devices change")
      .field("restart_s", report.restart)
      .field("cluster", report.cluster, [](JsonFields &g, Cluster &cluster) { describeCluster(g, cluster); })
      .about("no schedule of these jobs has less, whatever its policy: proved by prices of devices")
      .maybe("mean_completion_floor_s", report.meanFloor)
      .about("the same of the makespan")
      .maybe("makespan_floor_s", report.makespanFloor)
      .about("the policy that the others are compared with")
      .maybe("reference", report.reference)
      .about("by how much policies were behind others, job by job in the order of arrival")
      .maybeIf(!report.regrets.empty(), "regrets", report.regrets, describeRegret)
      .field("policies", report.policies,
             [&](JsonFields &g, PolicyReport &policy) { describePolicy(g, policy, report); });
}

} // namespace

double PolicyReport::meanCompletion() const {
  double total = 0;
  for (const JobReport &job : jobs)
    total += job.completion - job.arrival;
  return jobs.empty() ? 0 : total / static_cast<double>(jobs.size());
}

double PolicyReport::completionQuantile(double share) const {
  std::vector<double> times;
  for (const JobReport &job : jobs)
    times.push_back(job.completion - job.arrival);
  std::sort(times.begin(), times.end());
  if (times.empty())
    return 0;
  const double rank = std::ceil(share * static_cast<double>(times.size()));
  return times[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

double PolicyReport::makespan() const {
  double last = 0;
  for (const JobReport &job : jobs)
    last = std::max(last, job.completion);
  return last;
}

double PolicyReport::restartsPerJob() const {
  double total = 0;
  for (const JobReport &job : jobs)
    total += job.restarts;
  return jobs.empty() ? 0 : total / static_cast<double>(jobs.size());
}

MeanInterval PolicyReport::overSeeds(double SeedOutcome::*number) const {
  std::vector<double> values;
  for (const SeedOutcome &seed : seeds)
    values.push_back(seed.*number);
  return studentInterval(values);
}

std::optional<double> PolicyReport::deadlinesMet() const {
  double inTime = 0, all = 0;
  for (const JobReport &job : jobs)
    if (job.deadline)
      ++all, inTime += job.completion <= *job.deadline;
  return all > 0 ? std::optional(inTime / all) : std::nullopt;
}

void SimulationReport::compareWith(const std::string &policy) {
  const auto found = std::ranges::find(policies, policy, &PolicyReport::policy);
  if (found == policies.end())
    return;
  reference = policy;
  for (PolicyReport &one : policies) {
    if (&one == &*found)
      continue;
    std::vector<double> changes;
    for (size_t i = 0; i < std::min(one.seeds.size(), found->seeds.size()); ++i)
      if (found->seeds[i].meanCompletion > 0)
        changes.push_back(one.seeds[i].meanCompletion / found->seeds[i].meanCompletion - 1);
    one.change = bootstrapInterval(changes, kPaired);
  }
}

void SimulationReport::addRegrets() {
  const auto found = std::ranges::find(policies, reference, &PolicyReport::policy);
  if (found == policies.end())
    return;
  const PolicyReport *bestFixed = nullptr;
  for (const PolicyReport &one : policies)
    if (one.isFixed && (!bestFixed || one.overSeeds(&SeedOutcome::meanCompletion).mean <
                                          bestFixed->overSeeds(&SeedOutcome::meanCompletion).mean))
      bestFixed = &one;
  for (const PolicyReport &one : policies)
    if (&one != &*found)
      regrets.push_back({one.policy, reference, false, regretCurve(one.completions, found->completions)});
  for (const PolicyReport &one : policies)
    if (bestFixed && !one.isFixed && &one != &*found)
      regrets.push_back({one.policy, bestFixed->policy, true, regretCurve(one.completions, bestFixed->completions)});
}

double SimulationReport::utilization(const PolicyReport &policy) const {
  const double there = static_cast<double>(cluster.devices()) * policy.makespan();
  return there > 0 ? std::min(policy.busy / there, 1.0) : 0;
}

llvm::json::Value simulationJson(const SimulationReport &report) { return toDocument(report, describeReport); }

llvm::json::Value simulationSchema() { return schemaOf<SimulationReport>(describeReport); }

namespace {

std::string change(const MeanInterval &interval) {
  return fmt::format("{:+.1f} % ({:+.1f} .. {:+.1f})", 100 * interval.mean, 100 * interval.low, 100 * interval.high);
}

std::string parityText(const Parity &parity) {
  auto jobs = [](const std::optional<size_t> &of) { return of ? fmt::format("{}", *of) : std::string("never"); };
  return fmt::format("{} ({} .. {})", jobs(parity.jobs), jobs(parity.low), jobs(parity.high));
}

/// Regret after a quarter, a half and all of the jobs.
std::string regretText(const SimulationReport &report, const TextStyle &style) {
  const std::vector<RegretPoint> &points = report.regrets.front().curve.points;
  std::vector<size_t> shown;
  for (size_t quarters : {1, 2, 4})
    if (const size_t at = points.size() * quarters / 4; at > 0)
      shown.push_back(at - 1);
  std::vector<std::string> heading{"policy", "reference"};
  for (size_t at : shown)
    heading.push_back(fmt::format("{} jobs", points[at].jobs));
  heading.insert(heading.end(), {"regret of all", "parity"});
  TextTable table("ll" + std::string(heading.size() - 2, 'r'), heading);
  for (const RegretReport &regret : report.regrets) {
    std::vector<std::string> cells{regret.policy, regret.against + (regret.isBestFixed ? " (best fixed)" : "")};
    for (size_t at : shown)
      cells.push_back(change(regret.curve.points[at].change));
    const double total = regret.curve.points.back().regret.mean;
    cells.push_back((total < 0 ? "-" : "+") + duration(std::abs(total)));
    cells.push_back(parityText(regret.curve.parity));
    table.row(std::move(cells));
  }
  return "\n" + table.text(style) +
         "N jobs: mean completion of the N that arrived first against the other policy's, with the bootstrap interval "
         "of "
         "95 %\nregret: the same as a sum over all jobs; parity: jobs from which on the mean is within 2 %; "
         "new: without --history\n";
}

} // namespace

std::string simulationText(const SimulationReport &report, const TextStyle &style) {
  std::string cluster;
  for (size_t type = 0; type < report.cluster.types.size(); ++type)
    cluster += fmt::format("{}{} {}", type ? ", " : "", report.cluster.capacity()[type], report.cluster.types[type]);
  std::string text = fmt::format("{} jobs on {}; a round of {} s, a restart of {} s\n",
                                 report.policies.empty() ? 0 : report.policies.front().jobs.size(), cluster,
                                 report.round, report.restart);
  const bool hasSeeds =
                 std::ranges::any_of(report.policies, [](const PolicyReport &one) { return one.seeds.size() > 1; }),
             hasDeadlines = std::ranges::any_of(report.policies,
                                                [](const PolicyReport &one) { return one.deadlinesMet().has_value(); });
  std::vector<std::string> heading{"policy", "knows", "mean", "median", "p99", "makespan", "use", "restarts/job"};
  if (hasSeeds)
    heading.insert(heading.end(), {"mean of seeds", "p99 of seeds"});
  if (!report.reference.empty())
    heading.insert(heading.end(), {"mean against " + report.reference, "shown"});
  if (report.hasEvents)
    heading.insert(heading.end(), {"failures", "undone"});
  if (hasDeadlines)
    heading.push_back("in time");
  TextTable table("ll" + std::string(heading.size() - 2, 'r'), heading);
  auto row = [&](std::vector<std::string> cells) {
    cells.resize(heading.size());
    table.row(std::move(cells));
  };
  for (const PolicyReport &policy : report.policies) {
    std::vector<std::string> cells{policy.policy,
                                   policy.knows,
                                   duration(policy.meanCompletion()),
                                   duration(policy.completionQuantile(0.5)),
                                   duration(policy.completionQuantile(0.99)),
                                   duration(policy.makespan()),
                                   fmt::format("{:.1f} %", 100 * report.utilization(policy)),
                                   fmt::format("{:.2f}", policy.restartsPerJob())};
    if (hasSeeds)
      for (auto number : {&SeedOutcome::meanCompletion, &SeedOutcome::tailCompletion})
        cells.push_back(durationWithin(policy.overSeeds(number)));
    if (policy.change) {
      cells.push_back(change(*policy.change));
      cells.push_back(shown(*policy.change));
    } else if (!report.reference.empty()) {
      cells.insert(cells.end(), 2, "");
    }
    if (report.hasEvents) {
      cells.push_back(fmt::format("{:.1f}", policy.overSeeds(&SeedOutcome::failures).mean));
      cells.push_back(duration(policy.overSeeds(&SeedOutcome::lostSeconds).mean));
    }
    if (const auto inTime = policy.deadlinesMet())
      cells.push_back(fmt::format("{:.1f} %", 100 * *inTime));
    row(std::move(cells));
  }
  if (report.meanFloor > 0)
    row({"no policy has less", "", duration(report.meanFloor), "", "", duration(report.makespanFloor)});
  text += table.text(style) + "mean, median, p99: of the time from arrival to completion\n";
  if (hasSeeds)
    text += fmt::format("of seeds: mean and half of Student's 90 % interval over {} seeds; all else is of the first\n",
                        report.policies.front().seeds.size());
  if (!report.reference.empty())
    text += fmt::format("against {}: mean over seeds of each seed's change, and its bootstrap interval of {:.0f} %\n",
                        report.reference, 100 * kPaired);
  for (const PolicyReport &policy : report.policies)
    if (policy.shield)
      text += fmt::format("{}: in {} of {} rounds of all seeds the shield took the planner's allocation\n",
                          policy.policy, policy.shield->shielded, policy.shield->rounds);
  if (report.hasEvents)
    text += "failures: of servers under jobs; undone: time that jobs ran and failures undid, of all jobs\n";
  if (!report.regrets.empty() && !report.regrets.front().curve.points.empty())
    text += regretText(report, style);
  return text;
}

std::string simulationCsv(const SimulationReport &report) {
  std::string text = "policy,job,start_s,end_s,devices,type,servers\n";
  for (const PolicyReport &policy : report.policies)
    for (const SpanReport &span : policy.spans) {
      std::string servers;
      for (const ServerShare &share : span.placement)
        servers += fmt::format("{}{}:{}", servers.empty() ? "" : " ", share.server, share.devices);
      const unsigned type = report.cluster.servers[span.placement.front().server].type;
      text += fmt::format("{},{},{},{},{},{},{}\n", policy.policy, calibrate::csvCell(span.job), span.start, span.end,
                          devicesOf(span.placement), report.cluster.types[type], servers);
    }
  return text;
}

std::string simulationPage(const SimulationReport &report, const llvm::json::Value &document) {
  constexpr int kShares = 50;
  llvm::json::Object data = *document.getAsObject();
  llvm::json::Array &policies = *data["policies"].getAsArray();
  for (size_t p = 0; p < report.policies.size(); ++p) {
    // Of the jobs the page has the quantiles of their times alone.
    std::vector<double> times;
    for (const JobReport &job : report.policies[p].jobs)
      times.push_back(job.completion - job.arrival);
    std::ranges::sort(times);
    llvm::json::Array quantiles;
    for (int i = 0; i <= kShares && !times.empty(); ++i)
      quantiles.push_back(
          times[std::max<size_t>((times.size() * static_cast<size_t>(i) + kShares - 1) / kShares, 1) - 1]);
    llvm::json::Object &policy = *policies[p].getAsObject();
    policy.erase("jobs");
    policy["quantiles_s"] = std::move(quantiles);
  }
  data["jobs"] = report.policies.empty() ? 0 : static_cast<int64_t>(report.policies.front().jobs.size());
  return pageOf(Page::Simulation, "policies on " + report.trace, jsonText(document) + "\n", std::move(data));
}

AnswerFiles filesOf(const SimulationReport &report) {
  const llvm::json::Value document = simulationJson(report);
  return {{"simulation.json", jsonText(document) + "\n"},
          {"simulation.txt", simulationText(report, TextStyle())},
          {"report.html", simulationPage(report, document)},
          {"schedule.csv", simulationCsv(report)}};
}

} // namespace accord::jobs
