#include "lib/import/jobs/SlurmFields.h"
#include "lib/import/jobs/SlurmTrace.h"
#include "lib/import/jobs/TraceBuilder.h"
#include "lib/import/jobs/TraceTable.h"
#include "lib/import/jobs/TraceTime.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using Column = std::optional<size_t>;

class Reader {
public:
  explicit Reader(const TraceTable &table) : table(table) {}

  Result<Trace> read() {
    if (auto found = findColumns(); !found)
      return found.takeError();
    for (row = 0; row < table.rows(); ++row)
      if (auto added = addRow(); !added)
        return added.takeError();
    builder.assume("times are local times of the cluster, without a zone or a change of the clock");
    return builder.finish("Slurm accounting, text", table.file());
  }

private:
  Result<void> findColumns() {
    id = table.find("JobID");
    if (!id)
      id = table.find("JobIDRaw");
    allocated = table.find("AllocTRES");
    requested = table.find("ReqTRES");
    if (!id)
      return table.wrongHeader("the header has neither column 'JobID' nor 'JobIDRaw'");
    if (!allocated && !requested)
      return table.wrongHeader("the header has neither column 'AllocTRES' nor 'ReqTRES'");
    ACCORD_TRY(column, table.need("Submit"));
    submit = column;
    return {};
  }

  Result<void> addRow() {
    const std::string_view name = table.text(row, *id);
    if (name.empty())
      return table.wrong(row, *id, "the job has no number");
    if (name.find('.') != std::string_view::npos)
      return {}; // a step of a job
    ACCORD_TRY(devices, devicesOf());
    ACCORD_TRY(job, jobOf(devices));
    if (name.find('+') != std::string_view::npos)
      builder.count("components of heterogeneous jobs are jobs of their own");
    const size_t bracket = name.find('[');
    std::vector<int64_t> tasks;
    if (bracket != std::string_view::npos) {
      const auto read = slurmTasks(name.substr(bracket));
      if (!read)
        return table.wrong(row, *id, fmt::format("'{}' has no tasks such as [1-10,12]", name));
      if (name.find("...") != std::string_view::npos)
        builder.count("lists of an array's tasks are cut, and their rest is left out");
      tasks = *read;
    }
    if (devices.count == 0) {
      for (size_t i = 0; i < std::max<size_t>(1, tasks.size()); ++i)
        builder.leaveOut();
      return {};
    }
    if (devices.types.size() > 1)
      builder.count("jobs use several device types at once, and are taken to run on any one");
    if (tasks.empty()) {
      job.name = name;
      builder.add(std::move(job));
      return {};
    }
    for (int64_t task : tasks) {
      job.name = fmt::format("{}{}", name.substr(0, bracket), task);
      if (!builder.hasRoom())
        return table.wrong(row, *id, fmt::format("there are more than {} jobs", kMaxTraceJobs));
      builder.add(job);
    }
    return {};
  }

  Result<SlurmDevices> devicesOf() const {
    for (Column column : {allocated, requested}) {
      if (!column)
        continue;
      const auto devices = readSlurmDevices(table.text(row, *column));
      if (!devices)
        return table.wrong(row, *column,
                           fmt::format("'{}' has a number of GPUs that is no whole number from 0 to {}",
                                       table.text(row, *column), kMaxTraceDevices));
      if (devices->count > 0)
        return *devices;
    }
    return SlurmDevices{};
  }

  Result<TraceJob> jobOf(const SlurmDevices &devices) {
    TraceJob job;
    job.line = table.line(row);
    for (const char *column : {"Account", "User"})
      if (const Column at = table.find(column); at && job.tenant.empty())
        job.tenant = table.text(row, *at);
    ACCORD_TRY(arrival, timeOf(submit));
    if (!arrival)
      return table.wrong(row, *submit,
                         fmt::format("'Submit' is '{}', but a time such as 2024-01-05T10:00:00 is expected",
                                     table.text(row, *submit)));
    job.arrival = *arrival;
    if (const Column at = table.find("State"))
      job.state = slurmState(table.text(row, *at));
    job.devices = static_cast<unsigned>(devices.count);
    if (devices.types.size() == 1)
      job.deviceTypes = devices.types;
    ACCORD_TRY(limit, limitOf());
    job.timeLimit = limit;
    ACCORD_TRY(duration, durationOf());
    if (job.state != TraceState::Running && job.state != TraceState::Waiting)
      job.duration = duration;
    return job;
  }

  /// Nothing for a time that is not known.
  Result<std::optional<double>> timeOf(Column column) const {
    if (!column || isUnknownTime(table.text(row, *column)))
      return std::optional<double>();
    const auto time = readDate(table.text(row, *column));
    if (!time)
      return table.wrong(row, *column,
                         fmt::format("'{}' is '{}', but a time such as 2024-01-05T10:00:00 is expected",
                                     table.name(*column), table.text(row, *column)));
    return time;
  }

  Result<double> limitOf() const {
    if (const Column at = table.find("Timelimit")) {
      const auto limit = slurmTimeLimit(table.text(row, *at));
      if (!limit)
        return table.wrong(row, *at,
                           fmt::format("'{}' is '{}', but a duration such as 1-12:00:00 is expected", table.name(*at),
                                       table.text(row, *at)));
      return *limit;
    }
    if (const Column at = table.find("TimelimitRaw"); at && slurmTimeLimit(table.text(row, *at)) != 0.0) {
      ACCORD_TRY(minutes, table.number(row, *at, 0, 1e9));
      return minutes.value_or(0) * 60;
    }
    return 0.0;
  }

  /// Seconds on its devices; 0 if they are not known.
  Result<double> durationOf() {
    if (const Column at = table.find("ElapsedRaw")) {
      ACCORD_TRY(elapsed, table.number(row, *at, 0, 1e12));
      if (elapsed)
        return *elapsed;
    }
    if (const Column at = table.find("Elapsed"); at && !isUnknownTime(table.text(row, *at))) {
      const auto elapsed = readSlurmDuration(table.text(row, *at));
      if (!elapsed)
        return table.wrong(row, *at,
                           fmt::format("'{}' is '{}', but a duration such as 1-12:00:00 is expected", table.name(*at),
                                       table.text(row, *at)));
      return *elapsed;
    }
    ACCORD_TRY(start, timeOf(table.find("Start")));
    ACCORD_TRY(end, timeOf(table.find("End")));
    if (!start || !end)
      return 0.0;
    if (*end < *start)
      builder.count("jobs end before they start, and their duration is unknown");
    return std::max(0.0, *end - *start);
  }

  const TraceTable &table;
  TraceBuilder builder;
  Column id, submit, allocated, requested;
  size_t row = 0;
};

} // namespace

Result<Trace> readSlurmText(std::string_view text, const std::string &path) {
  ACCORD_TRY(table, TraceTable::fromPipes(text, path, "JobName"));
  return Reader(table).read();
}

} // namespace accord::jobs
