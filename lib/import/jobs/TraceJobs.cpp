#include "lib/import/jobs/TraceJobs.h"
#include "lib/import/jobs/PolluxTable.h"
#include "lib/jobs/problem/Cluster.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

/// 1 on each of the types on which a job may run; empty if the cluster has none of them.
std::vector<double> ratesOn(const Cluster &cluster, const TraceJob &job) {
  std::vector<double> rates(cluster.types.size(), job.deviceTypes.empty() ? 1 : 0);
  bool any = job.deviceTypes.empty();
  for (size_t type = 0; type < cluster.types.size(); ++type)
    for (const std::string &name : job.deviceTypes)
      if (llvm::StringRef(cluster.types[type]).equals_insensitive(name)) {
        rates[type] = 1;
        any = true;
      }
  if (!any)
    rates.clear();
  return rates;
}

/// "jobs …: 3 (first 'a')", for each kind of jobs that a replay has.
class Note {
public:
  explicit Note(const char *text) : text(text) {}
  void add(const TraceJob &job) {
    if (count++ == 0)
      first = job.name;
  }
  void write(std::vector<std::string> &notes, size_t &counted) const {
    counted = count;
    if (count)
      notes.push_back(fmt::format("{}: {} (first '{}')", text, count, first));
  }

private:
  const char *text;
  std::string first;
  size_t count = 0;
};

} // namespace

Result<TraceReplay> replayOf(const Trace &trace, const Cluster &cluster, double restartSeconds) {
  if (!(restartSeconds >= 0) || std::isinf(restartSeconds))
    return Error{Code::WrongJobsFile, fmt::format("a restart takes {} s, but 0 or more is expected", restartSeconds)};
  const std::vector<int64_t> capacity = cluster.capacity();
  Note large("jobs that ask for more devices of one type than there are are left out"),
      endless("jobs of unknown duration are left out"),
      other("jobs on device types that the cluster does not have run on any type");
  TraceReplay replay;
  replay.notes = trace.assumptions;
  for (const TraceJob &job : trace.jobs) {
    if (!(job.duration > 0)) {
      endless.add(job);
      continue;
    }
    std::vector<double> rates = ratesOn(cluster, job);
    const bool isOther = rates.empty();
    if (isOther)
      rates.assign(cluster.types.size(), 1);
    int64_t largest = 0;
    for (size_t type = 0; type < capacity.size(); ++type)
      if (rates[type] > 0)
        largest = std::max(largest, capacity[type]);
    if (job.devices > largest) {
      large.add(job);
      continue;
    }
    if (isOther)
      other.add(job);
    replay.jobs.push_back(
        {job.name, job.tenant, job.arrival, job.duration, job.devices, 1, restartSeconds, std::move(rates)});
  }
  large.write(replay.notes, replay.tooLarge);
  endless.write(replay.notes, replay.unknownDuration);
  other.write(replay.notes, replay.otherTypes);
  if (!replay.jobs.empty())
    return replay;
  if (replay.tooLarge)
    return Error{Code::GangTooLarge, fmt::format("all {} jobs of known duration need more devices of one type than the "
                                                 "cluster has",
                                                 replay.tooLarge)};
  return Error{Code::WrongJobsFile,
               fmt::format("none of {} jobs has a known duration, so there is nothing to replay", trace.jobs.size())};
}

Result<std::vector<CompleteJob>> readWorkHistory(std::string_view text, const std::string &path) {
  enum Column : size_t { Application, Work, Rate };
  constexpr std::string_view kColumns[] = {"application", "work", "rate"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<CompleteJob> jobs;
  for (size_t row = 0; row < table.rows(); ++row) {
    CompleteJob &job = jobs.emplace_back();
    job.application = table.cell(row, Application).text;
    for (auto [column, number] : {std::pair(Work, &job.work), {Rate, &job.rate}}) {
      ACCORD_TRY(value, table.real(row, column, 0));
      if (value <= 0)
        return table.wrong(row, column, fmt::format("'{}' is 0, but a complete job has more", kColumns[column]));
      *number = value;
    }
  }
  return jobs;
}

std::string printWorkHistory(const std::vector<CompleteJob> &jobs) {
  std::string text = "application,work,rate\n";
  for (const CompleteJob &job : jobs)
    text += fmt::format("{},{},{}\n", calibrate::csvCell(job.application), job.work, job.rate);
  return text;
}

Result<std::vector<MeasuredNoise>> readNoiseTable(std::string_view text, const std::string &path) {
  enum Column : size_t { Model, Family, Task, Parameters, Data, Noise };
  constexpr std::string_view kColumns[] = {"model", "family", "task", "parameters", "data", "noise"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<MeasuredNoise> measured;
  std::set<std::string> names;
  for (size_t row = 0; row < table.rows(); ++row) {
    MeasuredNoise &one = measured.emplace_back();
    one.model = table.cell(row, Model).text, one.family = table.cell(row, Family).text;
    one.training.task = table.cell(row, Task).text;
    if (!names.insert(one.model).second)
      return table.wrong(row, Model, fmt::format("model '{}' stands twice", one.model));
    for (auto [column, number] :
         {std::pair(Parameters, &one.training.parameters), {Data, &one.training.data}, {Noise, &one.noise}}) {
      if (column == Parameters && table.cell(row, column).text.empty())
        continue;
      ACCORD_TRY(value, table.real(row, column, 0));
      if (value <= 0)
        return table.wrong(row, column, fmt::format("'{}' is 0, but a training has more", kColumns[column]));
      *number = value;
    }
  }
  return measured;
}

Result<std::map<std::string, double>> readAssumedNoise(std::string_view text, const std::string &path) {
  enum Column : size_t { Application, Noise };
  constexpr std::string_view kColumns[] = {"application", "noise"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::map<std::string, double> noises;
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string &application = table.cell(row, Application).text;
    ACCORD_TRY(noise, table.real(row, Noise, 0));
    if (!noises.try_emplace(application, noise).second)
      return table.wrong(row, Application, fmt::format("application '{}' stands twice", application));
  }
  return noises;
}

} // namespace accord::jobs
