#include "lib/jobs/output/JobScheduleReport.h"
#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/jobs/output/ReplanOutput.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

const Words kUnits{{"devices", "W", "units"}};
const Words kCauses{{"dependence", "resource", "duration", "completion", "objective", "limit", "other"}};

/// From a time on.
struct StepView {
  int64_t from = 0, capacity = 0, used = 0;
};
struct ResourceView {
  std::string name, unit = "units";
  std::vector<StepView> steps;
};
struct RunView {
  int64_t begin = 0, end = 0;
  std::string configuration, type, plan, level, notStarted, withoutMegatron;
  int64_t devices = 0, memory = 0, watts = 0;
  double stepTime = 0, pricePerHour = 0;
  ConfigurationWords words; ///< of choice and batch
  JobPlacement servers;
};
struct WaitView {
  int64_t from = 0, until = 0;
  std::string cause, reason;
};
struct JobView {
  std::string name, tenant, train, elasticity;
  int64_t arrival = 0, deadline = -1, due = -1, weight = 1, start = -1, completion = -1;
  bool rejected = false, continues = false;
  double shareDone = 1; ///< if it continues
  double cost = 0, energy = 0, carbon = 0;
  std::vector<std::string> after;
  std::vector<RunView> runs;
  std::vector<WaitView> waits;
};
struct ServerView {
  std::string type;
  int64_t devices = 0;
};
struct MeasureView {
  std::string name, words, text, boundText;
  int64_t value = 0, bound = 0, max = 0;
  double gap = 0;
  bool proved = false;
};
struct CarbonView {
  int64_t from = 0;
  double grams = 0;
};
struct ScheduleView {
  std::string name, cluster, status;
  int64_t slot = 0, slots = 0;
  std::vector<std::string> types;
  std::vector<ServerView> servers;
  std::vector<ResourceView> resources;
  std::vector<CarbonView> carbon;
  std::vector<JobView> jobs;
  std::vector<MeasureView> objectives, requirements;
  std::vector<std::string> conflict, repairs, assumptions;
  std::optional<ReplanView> replan;
};

// --- what the document says of an answer

std::vector<ResourceView> resourcesOf(const JobAnswer &answer) {
  const JobScheduleProblem &problem = answer.problem;
  const auto used = usedAmounts(problem, answer.schedule);
  std::vector<ResourceView> all;
  for (size_t r = 0; r < problem.resources.size(); ++r) {
    const SlotResource &resource = problem.resources[r];
    ResourceView view{resource.name, "units", {}};
    if (resource.name == kPowerResource)
      view.unit = "W";
    else if (std::ranges::count(answer.cluster.types, resource.name))
      view.unit = "devices";
    for (size_t slot = 0; slot < used[r].size(); ++slot) {
      const int64_t capacity = slot < resource.capacity.size() ? resource.capacity[slot] : 0;
      if (view.steps.empty() || view.steps.back().capacity != capacity || view.steps.back().used != used[r][slot])
        view.steps.push_back({static_cast<int64_t>(slot) * problem.slot, capacity, used[r][slot]});
    }
    all.push_back(std::move(view));
  }
  return all;
}

RunView runView(const JobAnswer &answer, size_t j, size_t r) {
  const JobRun &run = answer.schedule.jobs[j].runs[r];
  RunView view;
  view.begin = run.begin * answer.problem.slot;
  view.end = run.end * answer.problem.slot;
  if (run.configuration < answer.problem.jobs[j].configurations.size()) {
    const JobConfiguration &configuration = answer.problem.jobs[j].configurations[run.configuration];
    view.configuration = configuration.name;
    view.watts = configuration.watts;
    view.pricePerHour = static_cast<double>(configuration.price) * 3600 / 1e6;
  }
  if (j < answer.jobs.size() && run.configuration < answer.jobs[j].configurations.size()) {
    const ConfigurationWords &words = answer.jobs[j].configurations[run.configuration];
    view.plan = words.plan;
    view.words = words;
    view.devices = words.devices;
    view.memory = words.memory;
    view.stepTime = words.stepTime;
    view.level = words.level;
    if (words.devices > 0 && words.type < answer.cluster.types.size())
      view.type = answer.cluster.types[words.type];
  }
  if (j < answer.placements.size() && r < answer.placements[j].size())
    view.servers = answer.placements[j][r];
  if (j < answer.launch.size())
    for (const JobLaunch::Configuration &one : answer.launch[j].configurations)
      if (one.index == run.configuration)
        view.notStarted = one.plan.refusal, view.withoutMegatron = one.plan.withoutMegatron;
  return view;
}

JobView jobView(const JobAnswer &answer, size_t j) {
  const ScheduledJob &job = answer.problem.jobs[j];
  JobView view;
  view.name = job.name;
  view.elasticity = job.elasticity == Elasticity::Malleable ? "malleable"
                    : job.configurations.size() == 1        ? "rigid"
                                                            : "moldable";
  view.arrival = job.arrival;
  view.deadline = job.deadline;
  view.due = job.due;
  view.weight = job.weight;
  if (j < answer.jobs.size())
    view.tenant = answer.jobs[j].tenant, view.train = answer.jobs[j].train;
  for (unsigned earlier : job.after)
    if (earlier < answer.problem.jobs.size())
      view.after.push_back(answer.problem.jobs[earlier].name);
  if (j >= answer.schedule.jobs.size())
    return view;
  const JobTrajectory &does = answer.schedule.jobs[j];
  view.continues = does.continues;
  view.completion = does.continues ? -1 : does.completion;
  if (does.continues && job.work > 0)
    view.shareDone =
        1 - static_cast<double>(shownWorkLeft(answer.problem, job, does.runs)) / static_cast<double>(job.work);
  view.rejected = does.completion < 0;
  if (!does.runs.empty())
    view.start = does.runs.front().begin * answer.problem.slot;
  const RunCosts costs = runCosts(answer.problem, job, does.runs);
  view.cost = static_cast<double>(costs.price) / 1e6;
  view.energy = static_cast<double>(costs.energy);
  view.carbon = static_cast<double>(costs.carbon) / 1e6;
  for (size_t r = 0; r < does.runs.size(); ++r)
    view.runs.push_back(runView(answer, j, r));
  return view;
}

std::vector<MeasureView> objectivesOf(const JobAnswer &answer) {
  std::vector<MeasureView> all;
  for (size_t o = 0; o < answer.problem.objectives.size(); ++o) {
    const JobMeasure measure = answer.problem.objectives[o];
    MeasureView view;
    view.name = nameOf(measure);
    view.words = wordsOf(measure);
    if (o < answer.schedule.values.size()) {
      view.value = answer.schedule.values[o];
      view.text = measureText(answer.problem, measure, view.value);
      if (o < answer.schedule.proofs.size()) {
        view.proved = true;
        view.bound = answer.schedule.proofs[o].bound;
        view.boundText = measureText(answer.problem, measure, view.bound);
        view.gap = gapOf(view.value, view.bound);
      }
    }
    all.push_back(std::move(view));
  }
  return all;
}

std::vector<MeasureView> requirementsOf(const JobAnswer &answer) {
  std::vector<MeasureView> all;
  for (size_t l = 0; l < answer.problem.limits.size(); ++l) {
    const JobLimit &limit = answer.problem.limits[l];
    MeasureView view;
    view.name = nameOf(limit.measure);
    view.words = l < answer.requirements.size() ? answer.requirements[l] : limitText(answer.problem, limit);
    const bool goesOn = answer.replan && l < answer.replan->spent.size();
    view.max = limit.max;
    if (!answer.schedule.jobs.empty()) {
      view.value = shownValue(answer.problem, answer.schedule, limit.measure);
      view.text = wholeMeasureText(answer, l, view.value);
    }
    if (goesOn)
      view.max += answer.replan->spent[l], view.value += answer.replan->spent[l];
    all.push_back(std::move(view));
  }
  return all;
}

ScheduleView viewOf(const JobAnswer &answer) {
  const JobScheduleProblem &problem = answer.problem;
  ScheduleView view;
  view.name = answer.name;
  view.cluster = answer.clusterName;
  view.status = statusWord(answer);
  view.slot = problem.slot;
  view.slots = problem.slots;
  view.types = answer.cluster.types;
  for (const Server &server : answer.cluster.servers)
    view.servers.push_back({server.type < view.types.size() ? view.types[server.type] : "", server.devices});
  view.resources = resourcesOf(answer);
  for (size_t slot = 0; slot < problem.carbon.size(); ++slot)
    if (slot == 0 || problem.carbon[slot] != problem.carbon[slot - 1])
      view.carbon.push_back(
          {static_cast<int64_t>(slot) * problem.slot, static_cast<double>(problem.carbon[slot]) * 3.6});
  for (size_t j = 0; j < problem.jobs.size(); ++j)
    view.jobs.push_back(jobView(answer, j));
  for (const JobWait &wait : answer.waits)
    if (wait.job < view.jobs.size())
      view.jobs[wait.job].waits.push_back(
          {wait.from, wait.until, kCauses.words[static_cast<size_t>(wait.cause)].str(), wait.text});
  view.objectives = objectivesOf(answer);
  view.requirements = requirementsOf(answer);
  view.conflict = answer.conflict;
  view.repairs = answer.repairs;
  view.assumptions = answer.assumptions;
  view.replan = replanView(answer);
  return view;
}

// --- its fields

void describeRun(JsonFields &f, RunView &run) {
  f.field("begin_s", run.begin)
      .field("end_s", run.end)
      .field("configuration", run.configuration)
      .maybe("devices", run.devices)
      .maybe("type", run.type)
      .about("the parallel plan; absent where the configuration was profiled")
      .maybe("plan", run.plan)
      .about("of the device that needs the most")
      .maybe("memory_bytes", run.memory)
      .maybe("step_time_s", run.stepTime)
      .about("the train block that it runs instead of the job's own")
      .maybe("choice", run.words.choice)
      .about("samples of a step, where the training has another batch; so are the next four")
      .maybe("batch", run.words.batch)
      .about("micro-batches whose gradients a step adds up")
      .maybe("accumulation", run.words.accumulation)
      .about("samples at the batch of the training that one at this batch replaces")
      .maybe("efficiency", run.words.efficiency)
      .about("that of the training is multiplied by it")
      .maybe("learning_rate_factor", run.words.learningRate)
      .about("that of the training is multiplied by it")
      .maybe("warmup_factor", run.words.warmup)
      .maybe("power_W", run.watts)
      .about("of the devices' power; absent: the full one")
      .maybe("power_level", run.level)
      .maybe("price_per_hour", run.pricePerHour)
      .about("devices of each server, from the start of the run to its end")
      .maybe("servers", run.servers,
             [](JsonFields &g, ServerShare &share) { g.field("server", share.server).field("devices", share.devices); })
      .about("why launch/ has nothing that starts it")
      .maybe("not_started", run.notStarted)
      .about("why Megatron-LM cannot run its plan")
      .maybe("without_megatron", run.withoutMegatron);
}

void describeJob(JsonFields &f, JobView &job) {
  f.field("name", job.name)
      .maybe("tenant", job.tenant)
      .about("the train block that it runs; absent where it is profiled")
      .maybe("train", job.train)
      .field("elasticity", job.elasticity, Words{{"rigid", "moldable", "malleable"}})
      .field("arrival_s", job.arrival)
      .maybeIf(job.deadline >= 0, "deadline_s", job.deadline)
      .maybeIf(job.due >= 0, "due_s", job.due)
      .field("weight", job.weight)
      .maybe("after", job.after)
      .about("whether the schedule leaves it out")
      .maybe("rejected", job.rejected)
      .maybeIf(job.start >= 0, "start_s", job.start)
      .maybeIf(job.completion >= 0, "completion_s", job.completion)
      .about("whether work is left at the end of the schedule, and how much of it is done then")
      .maybe("continues", job.continues)
      .maybeIf(job.continues, "share_done", job.shareDone)
      .about("dollars")
      .field("cost", job.cost)
      .field("energy_J", job.energy)
      .maybe("carbon_g", job.carbon)
      .field("runs", job.runs, describeRun)
      .about("why it does not run between its arrival and its completion")
      .maybe("pending", job.waits, [](JsonFields &g, WaitView &wait) {
        g.field("from_s", wait.from)
            .field("until_s", wait.until)
            .field("cause", wait.cause, kCauses)
            .field("reason", wait.reason);
      });
}

void describeResource(JsonFields &f, ResourceView &resource) {
  f.field("name", resource.name)
      .field("unit", resource.unit, kUnits)
      .about("capacity and amount in use from a time on")
      .field("steps", resource.steps, [](JsonFields &g, StepView &step) {
        g.field("from_s", step.from).field("capacity", step.capacity).field("used", step.used);
      });
}

void describeObjective(JsonFields &f, MeasureView &one) {
  f.field("name", one.name)
      .field("words", one.words)
      .about("in the unit of the problem: seconds, micro-dollars, joules, micrograms, thousandths, or of goodput "
             "millionths that are left")
      .maybeIf(!one.text.empty(), "value", one.value, kAnyInteger)
      .maybe("text", one.text)
      .about("no schedule is below, while the objectives before have their values")
      .maybeIf(one.proved, "bound", one.bound, kAnyInteger)
      .maybe("bound_text", one.boundText)
      .about("(value - bound) / value")
      .maybeIf(one.proved, "gap", one.gap);
}

void describeRequirement(JsonFields &f, MeasureView &one) {
  f.field("name", one.name)
      .field("words", one.words)
      .field("max", one.max, kAnyInteger)
      .maybeIf(!one.text.empty(), "value", one.value, kAnyInteger)
      .maybe("text", one.text);
}

void describeSchedule(JsonFields &f, ScheduleView &view) {
  f.head("jobs", view.status, {"optimal", "feasible", "infeasible", "unknown"})
      .field("name", view.name)
      .maybe("cluster", view.cluster)
      .field("slot_s", view.slot)
      .field("slots", view.slots)
      .field("objectives", view.objectives, describeObjective)
      .maybe("requirements", view.requirements, describeRequirement)
      .about("constraints that exclude each other")
      .maybe("conflict", view.conflict)
      .about("changes of which each removes the conflict")
      .maybe("repairs", view.repairs)
      .field("types", view.types)
      .field("servers", view.servers,
             [](JsonFields &g, ServerView &server) { g.field("type", server.type).field("devices", server.devices); })
      .field("resources", view.resources, describeResource)
      .about("of electricity, from a time on")
      .maybe("carbon", view.carbon,
             [](JsonFields &g, CarbonView &step) { g.field("from_s", step.from).field("g_per_kWh", step.grams); })
      .field("jobs", view.jobs, describeJob)
      .about("of a plan that goes on from a moment: what it changes")
      .maybe("replan", view.replan)
      .maybe("assumptions", view.assumptions);
}

} // namespace

llvm::json::Value jobScheduleJson(const JobAnswer &answer) { return toDocument(viewOf(answer), describeSchedule); }

llvm::json::Value jobScheduleSchema() { return schemaOf<ScheduleView>(describeSchedule); }

std::string jobScheduleReport(const JobAnswer &answer) {
  const llvm::json::Value data = jobScheduleJson(answer);
  return pageOf(Page::Jobs, answer.name.empty() ? "jobs" : answer.name, jsonText(data) + "\n", data);
}

} // namespace accord::jobs
