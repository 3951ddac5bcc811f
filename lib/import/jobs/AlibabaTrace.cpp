#include "lib/import/jobs/AlibabaTrace.h"
#include "lib/import/jobs/TraceBuilder.h"
#include "lib/import/jobs/TraceTable.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord::jobs {
namespace {

constexpr double kMaxTime = 1e12;
constexpr double kMaxPercent = 1e8; ///< of a device, for an instance

/// A job of 2020, as far as its tasks are read.
struct TaskSum {
  double percent = 0; ///< of a device
  std::optional<double> start, end;
  bool endless = false; ///< a task has no end
  std::vector<std::string> types;
  TraceState state = TraceState::Unknown;
  unsigned line = 0;
};

struct Submission {
  std::string user;
  std::optional<double> time;
};

TraceState stateOf(std::string_view status) {
  return status == "Terminated" || status == "Succeeded" ? TraceState::Completed
         : status == "Failed"                            ? TraceState::Failed
         : status == "Running"                           ? TraceState::Running
         : status == "Waiting" || status == "Pending"    ? TraceState::Waiting
                                                         : TraceState::Unknown;
}

/// Of two tasks of a job: a failure says more than a task that still runs or waits, and that more than an end.
TraceState joined(TraceState a, TraceState b) {
  for (TraceState state : {TraceState::Failed, TraceState::Running, TraceState::Waiting, TraceState::Completed})
    if (a == state || b == state)
      return state;
  return TraceState::Unknown;
}

/// Numbers of the columns of a table, by their place in `names`.
Result<std::vector<size_t>> columnsOf(const TraceTable &table, std::span<const std::string_view> names) {
  std::vector<size_t> columns;
  for (std::string_view name : names) {
    ACCORD_TRY(column, table.need(name));
    columns.push_back(column);
  }
  return columns;
}

/// Adds the row of a task to its job.
Result<void> addTask(const TraceTable &table, size_t row, const std::vector<size_t> &columns, TaskSum &sum) {
  enum Column : size_t { Job, Task, Instances, Status, Start, End, Cpu, Memory, Gpu, Type };
  ACCORD_TRY(gpu, table.number(row, columns[Gpu], 0, kMaxPercent));
  ACCORD_TRY(instances, table.number(row, columns[Instances], 0, kMaxTraceDevices));
  ACCORD_TRY(start, table.number(row, columns[Start], 0, kMaxTime));
  ACCORD_TRY(end, table.number(row, columns[End], 0, kMaxTime));
  if (!sum.line)
    sum.line = table.line(row);
  sum.state = joined(sum.state, stateOf(table.text(row, columns[Status])));
  if (start && (!sum.start || *start < *sum.start))
    sum.start = start;
  if (start && end && *end >= *start)
    sum.end = std::max(sum.end.value_or(0), *end);
  else
    sum.endless = true;
  const double percent = gpu.value_or(0) * instances.value_or(1);
  if (sum.percent + percent > kMaxTraceDevices * 100)
    return table.wrong(row, columns[Gpu], fmt::format("the job has more than {} devices", kMaxTraceDevices));
  sum.percent += percent;
  const std::string_view type = table.text(row, columns[Type]);
  if (percent > 0 && !type.empty() && std::ranges::count(sum.types, type) == 0)
    sum.types.emplace_back(type);
  return {};
}

Result<std::map<std::string, Submission>> readSubmissions(std::string_view text, const std::string &path) {
  constexpr std::string_view kColumns[] = {"job_name", "inst_id", "user", "status", "start_time", "end_time"};
  enum Column : size_t { Job, Instance, User, Status, Start, End };
  std::map<std::string, Submission> submissions;
  if (text.empty())
    return submissions;
  ACCORD_TRY(table, TraceTable::fromCsv(text, path, kColumns, "job_name"));
  ACCORD_TRY(columns, columnsOf(table, kColumns));
  for (size_t row = 0; row < table.rows(); ++row) {
    ACCORD_TRY(time, table.number(row, columns[Start], 0, kMaxTime));
    submissions.try_emplace(std::string(table.text(row, columns[Job])),
                            Submission{std::string(table.text(row, columns[User])), time});
  }
  return submissions;
}

void addJob(TraceBuilder &builder, const std::string &name, const TaskSum &sum, const Submission *submission) {
  if (sum.percent <= 0)
    return builder.leaveOut();
  std::optional<double> arrival = sum.start;
  if (submission && submission->time && (!sum.start || *submission->time <= *sum.start))
    arrival = submission->time;
  if (!arrival)
    return builder.count("jobs have no start, and are left out");
  TraceJob job;
  job.name = name;
  job.line = sum.line;
  job.arrival = *arrival;
  job.state = sum.state;
  if (submission)
    job.tenant = submission->user;
  const double devices = std::ceil(sum.percent / 100 - 1e-9);
  if (devices * 100 > sum.percent + 1e-6)
    builder.roundUp();
  job.devices = static_cast<unsigned>(std::max(1.0, devices));
  if (sum.types.size() == 1)
    job.deviceTypes = sum.types;
  else if (sum.types.size() > 1)
    builder.count("jobs use several device types at once, and are taken to run on any one");
  if (sum.start && sum.end && !sum.endless)
    job.duration = *sum.end - *sum.start;
  builder.add(std::move(job));
}

} // namespace

Result<Trace> readAlibaba2020(std::string_view taskText, const std::string &taskPath, std::string_view jobText,
                              const std::string &jobPath) {
  constexpr std::string_view kColumns[] = {"job_name", "task_name", "inst_num", "status",   "start_time",
                                           "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};
  ACCORD_TRY(table, TraceTable::fromCsv(taskText, taskPath, kColumns, "job_name"));
  ACCORD_TRY(columns, columnsOf(table, kColumns));
  ACCORD_TRY(submissions, readSubmissions(jobText, jobPath));
  std::map<std::string, size_t> numbers;
  std::vector<std::pair<std::string, TaskSum>> sums; // in the order of the file
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string name(table.text(row, columns[0]));
    if (name.empty())
      return table.wrong(row, columns[0], "the job has no name");
    const auto [found, isNew] = numbers.try_emplace(name, sums.size());
    if (isNew)
      sums.push_back({name, {}});
    if (auto added = addTask(table, row, columns, sums[found->second].second); !added)
      return added.takeError();
  }
  TraceBuilder builder;
  for (const auto &[name, sum] : sums) {
    const auto found = submissions.find(name);
    addJob(builder, name, sum, found == submissions.end() ? nullptr : &found->second);
  }
  if (jobText.empty())
    builder.assume("jobs arrive when they start, and have no tenant: pai_job_table was not given");
  builder.assume("the tasks of a job run together, from the first start to the last end");
  return builder.finish("Alibaba 2020, tasks", taskPath);
}

Error alibabaJobTableAlone(const std::string &path) {
  return {Code::WrongJobsFile,
          "this is pai_job_table of Alibaba's trace of 2020, which says no devices: give pai_task_table",
          {path, 1, 1}};
}

Result<Trace> readAlibaba2023(std::string_view text, const std::string &path) {
  constexpr std::string_view kColumns[] = {"name",          "cpu_milli",     "memory_mib",    "num_gpu",
                                           "gpu_milli",     "gpu_spec",      "qos",           "pod_phase",
                                           "creation_time", "deletion_time", "scheduled_time"};
  constexpr std::string_view kNeeded[] = {"name",      "num_gpu",       "gpu_milli",     "gpu_spec",
                                          "pod_phase", "creation_time", "deletion_time", "scheduled_time"};
  enum Column : size_t { Name, Gpus, Milli, Spec, Phase, Created, Deleted, Scheduled };
  ACCORD_TRY(table, TraceTable::fromCsv(text, path, kColumns, "name"));
  ACCORD_TRY(columns, columnsOf(table, kNeeded));
  TraceBuilder builder;
  for (size_t row = 0; row < table.rows(); ++row) {
    TraceJob job;
    job.line = table.line(row);
    job.name = table.text(row, columns[Name]);
    if (job.name.empty())
      return table.wrong(row, columns[Name], "the pod has no name");
    ACCORD_TRY(gpus, table.needNumber(row, columns[Gpus], 0, kMaxTraceDevices));
    ACCORD_TRY(milli, table.number(row, columns[Milli], 0, 1000));
    ACCORD_TRY(created, table.needNumber(row, columns[Created], 0, kMaxTime));
    ACCORD_TRY(deleted, table.number(row, columns[Deleted], 0, kMaxTime));
    ACCORD_TRY(scheduled, table.number(row, columns[Scheduled], 0, kMaxTime));
    if (gpus != std::floor(gpus))
      return table.wrong(row, columns[Gpus], fmt::format("'num_gpu' is {}, but a whole number is expected", gpus));
    if (gpus == 0) {
      builder.leaveOut();
      continue;
    }
    if (gpus == 1 && milli && *milli < 1000)
      builder.roundUp();
    job.devices = static_cast<unsigned>(gpus);
    job.state = stateOf(table.text(row, columns[Phase]));
    job.arrival = created;
    if (scheduled && deleted && *deleted >= *scheduled)
      job.duration = *deleted - *scheduled;
    llvm::SmallVector<llvm::StringRef> types;
    if (const llvm::StringRef spec = table.text(row, columns[Spec]); !spec.equals_insensitive("nan"))
      spec.split(types, '|', -1, false);
    for (llvm::StringRef type : types)
      job.deviceTypes.push_back(type.str());
    builder.add(std::move(job));
  }
  builder.assume("a pod that was scheduled holds its devices until its deletion, whatever its phase");
  return builder.finish("Alibaba 2023, pods", path);
}

} // namespace accord::jobs
