#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/jobs/output/ReplanOutput.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/support/documents/SummaryLines.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord::jobs {
namespace {

constexpr size_t kShownAssumptions = 5; ///< on a terminal, where a page has all

/// The terminal gets so many rows; the page and the CSV have all.
constexpr size_t kMaxRows = 120, kMaxWaits = 10;

const JobTrajectory &trajectoryOf(const JobAnswer &answer, size_t job) {
  static const JobTrajectory kNone;
  return job < answer.schedule.jobs.size() ? answer.schedule.jobs[job] : kNone;
}

/// "8 h100, then 16 h100", "8 h100 and 5 more": the configurations in their order.
std::string devicesText(const JobAnswer &answer, size_t job) {
  std::vector<std::string> names;
  for (const JobRun &run : trajectoryOf(answer, job).runs) {
    std::string name = configurationText(answer, job, run.configuration);
    if (names.empty() || names.back() != name)
      names.push_back(std::move(name));
  }
  if (names.empty())
    return "-";
  return names.size() == 1   ? names[0]
         : names.size() == 2 ? fmt::format("{}, then {}", names[0], names[1])
                             : fmt::format("{} and {} more", names[0], names.size() - 1);
}

int64_t waitOf(const JobAnswer &answer, size_t job) {
  int64_t sum = 0;
  for (const JobWait &wait : answer.waits)
    if (wait.job == job)
      sum += wait.until - wait.from;
  return sum;
}

std::string table(const JobAnswer &answer, const TextStyle &style) {
  const JobScheduleProblem &problem = answer.problem;
  const bool tenants = std::ranges::any_of(answer.jobs, [](const JobWords &job) { return !job.tenant.empty(); });
  const bool deadlines = std::ranges::any_of(problem.jobs, [](const ScheduledJob &job) { return job.deadline >= 0; });
  std::vector<std::string> head = {"job", "devices", "start", "completion", "cost", "energy", "wait time"};
  std::string alignment = "llrrrrr";
  if (deadlines)
    head.insert(head.begin() + 4, "slack"), alignment += "r";
  if (tenants)
    head.insert(head.begin() + 1, "tenant"), alignment.insert(1, "l");
  TextTable table(alignment, head);
  for (size_t j = 0; j < problem.jobs.size() && j < kMaxRows; ++j) {
    const ScheduledJob &job = problem.jobs[j];
    const JobTrajectory &does = trajectoryOf(answer, j);
    const RunCosts costs = runCosts(problem, job, does.runs);
    const int64_t waits = waitOf(answer, j);
    std::vector<std::string> row = {job.name};
    if (tenants)
      row.push_back(j < answer.jobs.size() ? answer.jobs[j].tenant : "");
    row.push_back(does.completion < 0 ? "rejected" : devicesText(answer, j));
    row.push_back(does.runs.empty() ? "-" : timeText(static_cast<double>(does.runs.front().begin * problem.slot)));
    row.push_back(does.continues        ? shareDoneText(problem, job, does) + " done"
                  : does.completion < 0 ? "-"
                                        : timeText(static_cast<double>(does.completion)));
    if (deadlines)
      row.push_back(job.deadline < 0 || does.completion < 0 || does.continues
                        ? "-"
                        : timeText(static_cast<double>(job.deadline - does.completion)));
    row.push_back(does.runs.empty() ? "-" : dollarText(static_cast<double>(costs.price) / 1e6));
    row.push_back(does.runs.empty() ? "-"
                                    : measureText(problem, JobMeasure::Energy, static_cast<int64_t>(costs.energy)));
    row.push_back(waits > 0 ? timeText(static_cast<double>(waits)) : "-");
    table.row(std::move(row));
  }
  std::string text = table.text(style);
  if (problem.jobs.size() > kMaxRows)
    text += fmt::format("… and {} more jobs\n", problem.jobs.size() - kMaxRows);
  return text;
}

/// The longest waits, in the order of the jobs.
void addWaits(const JobAnswer &answer, const TextStyle &style, SummaryLines &lines) {
  std::vector<size_t> order(answer.waits.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  auto length = [&](size_t i) { return answer.waits[i].until - answer.waits[i].from; };
  std::ranges::sort(order, [&](size_t a, size_t b) { return length(a) != length(b) ? length(a) > length(b) : a < b; });
  order.resize(std::min(order.size(), kMaxWaits));
  std::ranges::sort(order);
  for (size_t i : order) {
    const JobWait &wait = answer.waits[i];
    lines.add("wait", fmt::format("{} from {} to {}: {}", answer.problem.jobs[wait.job].name,
                                  timeText(static_cast<double>(wait.from)), timeText(static_cast<double>(wait.until)),
                                  wait.text));
  }
  if (answer.waits.size() > kMaxWaits)
    lines.add("", fmt::format("and {} shorter waits", answer.waits.size() - kMaxWaits));
}

/// Batches of runs that are not those of their trainings, each once for a job.
void addBatches(const JobAnswer &answer, SummaryLines &lines) {
  size_t count = 0;
  for (size_t j = 0; j < answer.schedule.jobs.size() && j < answer.jobs.size(); ++j) {
    std::vector<std::string> said;
    for (const JobRun &run : answer.schedule.jobs[j].runs) {
      if (run.configuration >= answer.jobs[j].configurations.size())
        continue;
      std::string text = batchText(answer.jobs[j].configurations[run.configuration]);
      if (text.empty() || std::ranges::count(said, text))
        continue;
      if (++count <= kMaxWaits)
        lines.add("batch", fmt::format("{} from {}: {}", answer.problem.jobs[j].name,
                                       timeText(static_cast<double>(run.begin * answer.problem.slot)), text));
      said.push_back(std::move(text));
    }
  }
  if (count > kMaxWaits)
    lines.add("", fmt::format("and {} more batches", count - kMaxWaits));
}

void addObjectives(const JobAnswer &answer, SummaryLines &lines) {
  const JobScheduleProblem &problem = answer.problem;
  for (size_t o = 0; o < problem.objectives.size() && o < answer.schedule.values.size(); ++o) {
    const JobMeasure measure = problem.objectives[o];
    const int64_t value = answer.schedule.values[o];
    std::string text = fmt::format("{} {}", wordsOf(measure), measureText(problem, measure, value));
    if (o < answer.schedule.proofs.size()) {
      const int64_t bound = answer.schedule.proofs[o].bound;
      const double gap = gapOf(value, bound);
      text += gap > 0 ? fmt::format(", no schedule is below {}: relative gap {:.2g} %",
                                    measureText(problem, measure, bound), 100 * gap)
                      : ", proven optimal";
    } else
      text += ", not proved";
    lines.add(o == 0 ? "minimum" : "then", text);
  }
}

void addLimits(const JobAnswer &answer, SummaryLines &lines) {
  for (size_t l = 0; l < answer.problem.limits.size(); ++l) {
    const JobLimit &limit = answer.problem.limits[l];
    const std::string text = l < answer.requirements.size() ? answer.requirements[l] : limitText(answer.problem, limit);
    lines.add(
        "requirement",
        answer.schedule.jobs.empty()
            ? text
            : fmt::format("{}: {}", text,
                          wholeMeasureText(answer, l, shownValue(answer.problem, answer.schedule, limit.measure))));
  }
}

std::string csvCell(const std::string &text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

/// Four cells, empty where the batch is that of the training.
std::string batchCells(const ConfigurationWords &words) {
  return words.batch == 0 ? ",,,"
                          : fmt::format("{},{},{:.6g},{:.6g}", words.batch, words.accumulation, words.efficiency,
                                        words.learningRate);
}

} // namespace

std::string_view statusWord(const JobAnswer &answer) {
  constexpr std::string_view kWords[] = {"optimal", "feasible", "infeasible", "unknown"};
  return kWords[static_cast<size_t>(answer.schedule.status)];
}

std::string jobScheduleText(const JobAnswer &answer, const std::string &folder, const TextStyle &style) {
  const JobScheduleProblem &problem = answer.problem;
  std::string cluster;
  const std::vector<int64_t> devices = answer.cluster.capacity();
  for (size_t type = 0; type < answer.cluster.types.size(); ++type)
    cluster += fmt::format("{}{} {}", cluster.empty() ? "" : ", ", devices[type], answer.cluster.types[type]);
  SummaryLines lines(style);
  lines.text =
      inked(style, Ink::Bold, answer.name) +
      fmt::format("{}: {} job{}{}; {} periods of {}\n", answer.clusterName.empty() ? "" : " on " + answer.clusterName,
                  problem.jobs.size(), problem.jobs.size() == 1 ? "" : "s", cluster.empty() ? "" : ", " + cluster,
                  problem.slots, timeText(static_cast<double>(problem.slot)));
  const bool scheduled =
      answer.schedule.jobs.size() == problem.jobs.size() && answer.schedule.status != AllocationStatus::Infeasible;
  if (answer.replan)
    lines.add("from", timeText(static_cast<double>(answer.replan->state.at)) +
                          " of the block on: other times count from there, those of changes from its begin");
  if (scheduled && !problem.jobs.empty()) {
    lines.text += table(answer, style);
    addBatches(answer, lines);
    addWaits(answer, style, lines);
  }
  if (scheduled)
    addReplan(answer, style, lines);
  if (scheduled)
    addObjectives(answer, lines);
  else
    lines.add(std::string(statusWord(answer)), answer.schedule.status == AllocationStatus::Infeasible
                                                   ? "no schedule keeps all that is stated"
                                                   : "no schedule was found");
  addLimits(answer, lines);
  for (const std::string &constraint : answer.conflict)
    lines.add("conflict", constraint);
  for (const std::string &repair : answer.repairs)
    lines.add("repair", repair);
  // Those of the schedule come first, those of each plan behind them.
  const size_t count = answer.assumptions.size(), shown = folder.empty() ? count : std::min(count, kShownAssumptions);
  for (size_t i = 0; i < shown; ++i)
    lines.add("assumed", answer.assumptions[i]);
  if (shown < count)
    lines.add("assumed", fmt::format("and {} more, of the plans of the trainings: in the report", count - shown));
  bool starts = false;
  std::set<std::string> refused;
  for (size_t j = 0; j < answer.launch.size() && j < answer.schedule.jobs.size(); ++j) {
    starts |= !answer.schedule.jobs[j].runs.empty();
    for (const JobLaunch::Configuration &one : answer.launch[j].configurations)
      if (!one.plan.refusal.empty() && refused.insert(one.plan.refusal).second)
        lines.add("not started", fmt::format("{}: {}", problem.jobs[j].name, one.plan.refusal));
  }
  if (!folder.empty())
    lines.add("report", folder + "/report.html");
  if (!folder.empty() && starts)
    lines.add("start", fmt::format("{0}/launch/submit.sh (Slurm), {0}/launch/apply.sh (Kubernetes)", folder));
  return lines.text;
}

std::string jobScheduleCsv(const JobAnswer &answer) {
  std::string text = "job,tenant,run,begin_s,end_s,configuration,devices,type,plan,servers,cost_usd,energy_J,"
                     "choice,batch,accumulation,efficiency,learning_rate_factor\n";
  const JobScheduleProblem &problem = answer.problem;
  for (size_t j = 0; j < answer.schedule.jobs.size() && j < problem.jobs.size(); ++j)
    for (size_t r = 0; r < answer.schedule.jobs[j].runs.size(); ++r) {
      const JobRun &run = answer.schedule.jobs[j].runs[r];
      ConfigurationWords words;
      if (j < answer.jobs.size() && run.configuration < answer.jobs[j].configurations.size())
        words = answer.jobs[j].configurations[run.configuration];
      std::string servers;
      if (j < answer.placements.size() && r < answer.placements[j].size())
        for (const ServerShare &share : answer.placements[j][r])
          servers += fmt::format("{}{}:{}", servers.empty() ? "" : " ", share.server, share.devices);
      const RunCosts costs = runCosts(problem, problem.jobs[j], {run});
      const bool known = words.devices > 0 && words.type < answer.cluster.types.size();
      const std::string configuration = run.configuration < problem.jobs[j].configurations.size()
                                            ? problem.jobs[j].configurations[run.configuration].name
                                            : "";
      const std::string type = known ? answer.cluster.types[words.type] : "";
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csvCell(problem.jobs[j].name),
                          csvCell(j < answer.jobs.size() ? answer.jobs[j].tenant : ""), r, run.begin * problem.slot,
                          run.end * problem.slot, csvCell(configuration), words.devices, csvCell(type),
                          csvCell(words.plan), servers, static_cast<double>(costs.price) / 1e6,
                          static_cast<double>(costs.energy), csvCell(words.choice), batchCells(words));
    }
  return text;
}

} // namespace accord::jobs
