#include "lib/jobs/output/JobScheduleText.h"
#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/jobs/output/JobScheduleReport.h"
#include "lib/jobs/output/ReplanOutput.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>

using namespace llvm;
namespace accord::jobs {
namespace {

constexpr IntegerRange kFromMinusOne{-1};

void describeMeasure(JsonVisitor &v, JobMeasure &measure) {
  SmallVector<StringRef, kJobMeasures> words;
  for (unsigned i = 0; i < kJobMeasures; ++i)
    words.push_back(nameOf(static_cast<JobMeasure>(i)));
  size_t index = static_cast<size_t>(measure);
  v.word(index, words, "unknown measure");
  if (v.reads())
    measure = static_cast<JobMeasure>(index);
}

void describeUse(JsonFields &f, ResourceUse &use) { f.field("resource", use.resource).field("amount", use.amount); }

void describeConfiguration(JsonFields &f, JobConfiguration &one) {
  f.field("name", one.name)
      .about("work in a second")
      .field("speed", one.speed)
      .field("uses", one.uses, describeUse)
      .maybe("watts", one.watts)
      .about("micro-dollars for each second")
      .maybe("price", one.price)
      .about("a job stays in one family of configurations")
      .maybe("family", one.family);
}

void describeJob(JsonFields &f, ScheduledJob &job) {
  f.field("name", job.name)
      .about("seconds from the start of the schedule, as all times")
      .field("arrival", job.arrival)
      .about("seconds since it arrived, of a job that was there before")
      .maybe("waited", job.waited)
      .about("-1: none")
      .field("deadline", job.deadline, kFromMinusOne)
      .about("-1: none")
      .field("due", job.due, kFromMinusOne)
      .about("micro-dollars for each second after it is due")
      .field("late_price", job.latePrice)
      .field("weight", job.weight)
      .field("work", job.work)
      .field("elasticity", job.elasticity,
             [](JsonVisitor &v, Elasticity &one) { v.oneOf(one, {"moldable", "malleable"}, "unknown elasticity"); })
      .field("restart", job.restart)
      .about("configuration in which it runs before slot 0; -1: none")
      .field("running", job.running, kFromMinusOne)
      .field("configurations", job.configurations, describeConfiguration)
      .maybe("after", job.after)
      .maybe("may_be_rejected", job.mayBeRejected)
      .about("work may be left at the end of the schedule")
      .maybe("may_continue", job.mayContinue)
      .about("runs that do not go on are at most so many; absent: any number")
      .maybeIf(job.maxRestarts >= 0, "max_restarts", job.maxRestarts)
      .field("isolated", job.isolated)
      .maybe("groups", job.groups);
}

void describeTrajectory(JsonFields &f, JobTrajectory &trajectory) {
  f.about("[begin, end, configuration]: slots from begin up to end, which it does not use")
      .field("runs", trajectory.runs,
             [](JsonVisitor &v, JobRun &run) {
               v.tuple("expected [begin, end, configuration]", run.begin, run.end, run.configuration);
             })
      .about("-1: rejected; if it continues, the end of the schedule, or its arrival if that is later")
      .field("completion", trajectory.completion, kFromMinusOne)
      .about("work is left at the end of the schedule")
      .maybe("continues", trajectory.continues);
}

/// Sets of prices, of which most are 0.
class PriceReader {
public:
  void describe(JsonFields &f, std::vector<int64_t> &prices) {
    size_t rows = prices.size();
    std::vector<int64_t> at;
    if (f.writes())
      for (size_t row = 0; row < prices.size(); ++row)
        if (prices[row] != 0)
          at.push_back(static_cast<int64_t>(row)), at.push_back(prices[row]);
    f.about("how many prices there are")
        .field("rows", rows, IntegerRange{1, static_cast<int64_t>(kMaxWrittenPrices)})
        .about("row, price, row, price: ascending rows, without prices of 0")
        .field("at", at, kAnyInteger);
    if (!f.reads())
      return;
    // What was refused before leaves numbers that are as they were.
    const bool isOrdered = isAscending(at, rows);
    f.check("at", isOrdered, "expected pairs of an ascending row and a price that is not 0");
    const bool isSmall = rows <= left;
    f.check("rows", isSmall, "too many prices");
    if (!isOrdered || !isSmall)
      return;
    left -= rows;
    prices.assign(rows, 0);
    for (size_t i = 0; i < at.size(); i += 2)
      prices[static_cast<size_t>(at[i])] = at[i + 1];
  }

private:
  static bool isAscending(const std::vector<int64_t> &at, size_t rows) {
    if (at.size() % 2 != 0)
      return false;
    for (size_t i = 0; i < at.size(); i += 2)
      if (at[i] < 0 || static_cast<uint64_t>(at[i]) >= rows || at[i + 1] == 0 || (i > 0 && at[i] <= at[i - 2]))
        return false;
    return true;
  }

  size_t left = kMaxWrittenPrices;
};

void describeProof(JsonFields &f, JobScheduleProof &proof, PriceReader &reader) {
  auto prices = [&](JsonFields &g, std::vector<int64_t> &one) { reader.describe(g, one); };
  f.field("bound", proof.bound, kAnyInteger)
      .maybeIf(!proof.allocation.nodes.empty() || proof.allocation.denominator != 1, "allocation", proof.allocation,
               [&](JsonFields &g, AllocationProof &allocation) {
                 g.field("denominator", allocation.denominator, kAnyInteger)
                     .field("nodes", allocation.nodes, [&](JsonFields &h, AllocationProof::Node &node) {
                       h.maybeIf(node.job != -1, "job", node.job, kAnyInteger)
                           .maybe("next", node.next)
                           .maybeIf(!node.prices.empty(), "prices", node.prices, prices);
                     });
               })
      .maybeIf(!proof.prices.empty(), "prices", proof.prices, prices)
      .field("denominator", proof.denominator, kAnyInteger);
}

void describeCluster(JsonFields &f, Cluster &cluster) {
  f.field("types", cluster.types).field("servers", cluster.servers, [](JsonFields &g, Server &server) {
    g.field("type", server.type).field("devices", server.devices);
  });
}

void describeWords(JsonFields &f, JobWords &words) {
  f.maybe("tenant", words.tenant)
      .about("its work")
      .maybe("samples", words.samples)
      .maybe("train", words.train)
      .field("configurations", words.configurations, [](JsonFields &g, ConfigurationWords &one) {
        g.maybe("plan", one.plan)
            .field("type", one.type)
            .field("devices", one.devices)
            .about("bytes, of the device that needs the most; 0: not known")
            .field("memory", one.memory)
            .about("seconds; 0: not known")
            .field("step_time", one.stepTime)
            .about("of the devices' power; absent: the full one")
            .maybe("power_level", one.level)
            .maybe("choice", one.choice)
            .about("where it is not that of the training; so is what follows")
            .maybe("batch", one.batch)
            .maybe("accumulation", one.accumulation)
            .maybe("efficiency", one.efficiency)
            .maybe("learning_rate", one.learningRate)
            .maybe("warmup", one.warmup);
      });
}

void describeWait(JsonFields &f, JobWait &wait) {
  f.field("job", wait.job)
      .field("from", wait.from)
      .field("until", wait.until)
      .field("cause", wait.cause,
             [](JsonVisitor &v, WaitCause &cause) {
               v.oneOf(cause, {"dependence", "resource", "duration", "completion", "objective", "limit", "other"},
                       "unknown cause");
             })
      .field("text", wait.text);
}

void describeLaunchPlan(JsonFields &f, LaunchPlan &plan) {
  f.maybe("title", plan.title)
      .maybe("servers", plan.servers)
      .maybe("devices_per_server", plan.devicesPerServer)
      .maybe("cores_per_device", plan.coresPerDevice)
      .maybe("memory_bytes", plan.memory)
      .about("[name, value]")
      .maybe("environment", plan.environment,
             [](JsonVisitor &v, std::pair<std::string, std::string> &one) {
               v.tuple("expected [name, value]", one.first, one.second);
             })
      .maybe("megatron", plan.megatron)
      .maybe("remarks", plan.remarks)
      .maybe("without_megatron", plan.withoutMegatron)
      .maybe("refusal", plan.refusal);
}

void describeLaunch(JsonFields &f, JobLaunch &launch) {
  f.field("job", launch.job)
      .maybe("samples", launch.samples)
      .maybe("account", launch.account)
      .maybe("qos", launch.service)
      .maybe("queue", launch.queue)
      .maybe("priority_class", launch.priorityClass)
      .maybe("configurations", launch.configurations, [](JsonFields &g, JobLaunch::Configuration &one) {
        g.field("index", one.index).field("plan", one.plan, describeLaunchPlan);
      });
}

/// Each plan has as many devices as its configuration.
bool hasOnlyRealPlans(const JobAnswer &answer) {
  if (!answer.launch.empty() && answer.launch.size() != answer.jobs.size())
    return false;
  for (size_t job = 0; job < answer.launch.size(); ++job)
    for (const JobLaunch::Configuration &one : answer.launch[job].configurations) {
      if (one.index >= answer.jobs[job].configurations.size())
        return false;
      const int64_t devices = answer.jobs[job].configurations[one.index].devices, each = one.plan.devicesPerServer;
      if (one.plan.refusal.empty() &&
          (each < 1 || devices < 1 || devices % each != 0 || devices / each != one.plan.servers))
        return false;
    }
  return true;
}

bool hasOnlyRealRuns(const JobAnswer &answer) {
  const std::vector<JobTrajectory> &all = answer.schedule.jobs;
  if (!all.empty() && all.size() != answer.problem.jobs.size())
    return false;
  for (size_t job = 0; job < all.size(); ++job)
    for (const JobRun &run : all[job].runs)
      if (run.begin < 0 || run.end <= run.begin || run.end > answer.problem.slots ||
          run.configuration >= answer.problem.jobs[job].configurations.size())
        return false;
  return true;
}

bool hasWordsOfAll(const JobAnswer &answer) {
  if (answer.jobs.size() != answer.problem.jobs.size())
    return false;
  for (size_t job = 0; job < answer.jobs.size(); ++job)
    if (answer.jobs[job].configurations.size() != answer.problem.jobs[job].configurations.size() ||
        !all_of(answer.jobs[job].configurations, [&](const ConfigurationWords &one) {
          return one.type < answer.cluster.types.size() || one.devices == 0;
        }))
      return false;
  return true;
}

bool hasOnlyRealServers(const JobAnswer &answer) {
  if (answer.placements.empty())
    return true;
  if (answer.placements.size() != answer.schedule.jobs.size())
    return false;
  for (size_t job = 0; job < answer.placements.size(); ++job) {
    const std::vector<JobPlacement> &runs = answer.placements[job];
    if (!runs.empty() && runs.size() != answer.schedule.jobs[job].runs.size())
      return false;
    for (const JobPlacement &placement : runs)
      for (const ServerShare &share : placement)
        if (share.server >= answer.cluster.servers.size())
          return false;
  }
  return true;
}

bool hasRealState(const JobAnswer &answer) {
  if (!answer.replan)
    return true;
  const size_t servers = answer.cluster.servers.size(), kept = answer.replan->keptValues.size();
  return (kept == 0 || kept == answer.problem.objectives.size()) &&
         answer.replan->spent.size() <= answer.problem.limits.size() &&
         all_of(answer.replan->state.outages, [&](const ServerAway &one) { return one.server < servers; }) &&
         all_of(answer.replan->state.jobs, [&](const JobState &job) {
           return all_of(job.servers, [&](const ServerShare &share) { return share.server < servers; });
         });
}

void checkReferences(JsonFields &f, const JobAnswer &answer) {
  if (!f.reads())
    return;
  auto has = [&](size_t count, size_t of) { return count == 0 || count == of; };
  f.check("cluster",
          all_of(answer.cluster.servers, [&](const Server &one) { return one.type < answer.cluster.types.size(); }),
          "no such device type")
      .check("absences",
             all_of(answer.absences,
                    [&](const ServerAbsence &one) {
                      return one.server < answer.cluster.servers.size() && one.begin < one.end &&
                             one.end <= answer.problem.slots;
                    }),
             "no such server or slot")
      .check("schedule", hasOnlyRealRuns(answer), "no such job, slot or configuration")
      .check("schedule", has(answer.schedule.values.size(), answer.problem.objectives.size()),
             "expected a value of each objective")
      .check("replan", hasRealState(answer), "no such server or objective")
      .check("jobs", hasWordsOfAll(answer), "no such job, configuration or device type")
      .check("placements", hasOnlyRealServers(answer), "no such job, run or server")
      .check("reasons", all_of(answer.waits, [&](const JobWait &one) { return one.job < answer.problem.jobs.size(); }),
             "no such job")
      .check("requirements", has(answer.requirements.size(), answer.problem.limits.size()),
             "expected the words of each limit")
      .check("launch", hasOnlyRealPlans(answer), "no such job or configuration, or another number of devices");
}

} // namespace

void describe(JsonFields &f, JobScheduleProblem &problem) {
  f.about("seconds")
      .field("slot", problem.slot)
      .field("slots", problem.slots)
      .field("resources", problem.resources,
             [](JsonFields &g, SlotResource &resource) {
               g.field("name", resource.name).about("in each slot").field("capacity", resource.capacity);
             })
      .field("groups", problem.groups,
             [](JsonFields &g, JobGroup &group) { g.field("name", group.name).field("share", group.share); })
      .field("jobs", problem.jobs, describeJob)
      .field("objectives", problem.objectives, describeMeasure)
      .field("limits", problem.limits,
             [](JsonFields &g, JobLimit &limit) {
               g.field("measure", limit.measure, describeMeasure).field("max", limit.max, kAnyInteger);
             })
      .about("micrograms for each joule, in each slot")
      .maybe("carbon", problem.carbon)
      .about("jobs that the tail leaves out")
      .field("tail", problem.tail);
}

void describe(JsonFields &f, JobSchedule &schedule) {
  PriceReader reader;
  f.field("status", schedule.status,
          [](JsonVisitor &v, AllocationStatus &status) {
            v.oneOf(status, {"optimal", "feasible", "infeasible", "unknown"}, "unknown status");
          })
      .field("jobs", schedule.jobs, describeTrajectory)
      .about("of each objective")
      .field("values", schedule.values, kAnyInteger)
      .field("proofs", schedule.proofs,
             [&](JsonFields &g, JobScheduleProof &proof) { describeProof(g, proof, reader); });
}

void describe(JsonFields &f, JobAnswer &answer) {
  f.constant("kind", "jobs", "expected jobs")
      .field("name", answer.name)
      .maybe("cluster_name", answer.clusterName)
      .field("cluster", answer.cluster, describeCluster)
      .about("servers that are not there: [server, begin, end] in slots, of which end is not one")
      .maybe("absences", answer.absences,
             [](JsonVisitor &v, ServerAbsence &one) {
               v.tuple("expected [server, begin, end]", one.server, one.begin, one.end);
             })
      .field("problem", answer.problem)
      .field("schedule", answer.schedule)
      .field("jobs", answer.jobs, describeWords)
      .about("of each job and run: [server, devices]")
      .field("placements", answer.placements,
             [](JsonVisitor &v, JobPlacement &placement) {
               visitValue(v, placement, [](JsonVisitor &one, ServerShare &share) {
                 one.tuple("expected [server, devices]", share.server, share.devices);
               });
             })
      .field("reasons", answer.waits, describeWait)
      .maybe("requirements", answer.requirements)
      .maybe("assumptions", answer.assumptions)
      .about("the state from which it goes on, and what it changes")
      .maybe("replan", answer.replan)
      .maybe("conflict", answer.conflict)
      .maybe("repairs", answer.repairs)
      .maybe("launch", answer.launch, describeLaunch);
  checkReferences(f, answer);
}

std::string jobsCertificate(const JobAnswer &answer) { return jsonText(toDocument(answer)) + "\n"; }

Result<JobAnswer> jobsFromCertificate(StringRef text, const std::string &file) {
  auto answer =
      readJsonDocument<JobAnswer>(text, file, "jobs", [](const json::Value &value, JobAnswer &read, json::Path at) {
        return readDocument(value, read, at);
      });
  if (!answer)
    return Error{Code::WrongJobSchedule, toString(answer.takeError())};
  if (auto checked = checkJobScheduleProblem(answer->problem); !checked)
    return Error{Code::WrongJobSchedule, file + ": " + checked.error().message + " at jobs.problem"};
  return std::move(*answer);
}

AnswerFiles filesOf(const JobAnswer &answer) {
  return {{"jobs.json", jsonText(jobScheduleJson(answer)) + "\n"},
          {"jobs.csv", jobScheduleCsv(answer)},
          {"trace.json", jsonText(jobScheduleTrace(answer)) + "\n"},
          {"report.html", jobScheduleReport(answer)},
          {kJobsCertificate, jobsCertificate(answer)}};
}

} // namespace accord::jobs
