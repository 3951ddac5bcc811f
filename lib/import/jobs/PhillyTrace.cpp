#include "lib/import/jobs/PhillyTrace.h"
#include "lib/import/jobs/TraceBuilder.h"
#include "lib/import/jobs/TraceTable.h"
#include "lib/import/jobs/TraceTime.h"
#include "lib/support/documents/JsonParse.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

namespace json = llvm::json;
using llvm::StringRef;

constexpr const char *kLocalTimes = "times are local times of the cluster, without a zone or a change of the clock";

/// Nothing for null, "None" and an empty text; an error is reported for another text that is no date.
bool readTime(const json::Value *value, std::optional<double> &time, json::Path at) {
  time.reset();
  if (!value || value->getAsNull())
    return true;
  const std::optional<StringRef> text = value->getAsString();
  if (text && (text->empty() || *text == "None"))
    return true;
  if (text)
    time = readDate({text->data(), text->size()});
  if (!time)
    at.report("expected a time such as \"2017-10-07 01:11:39\", or null");
  return time.has_value();
}

class LogReader {
public:
  bool read(const json::Value &value, json::Path at) {
    const json::Array *jobs = value.getAsArray();
    if (!jobs) {
      at.report("expected a list of jobs");
      return false;
    }
    for (size_t i = 0; i < jobs->size(); ++i)
      if (!addJob((*jobs)[i], at.index(static_cast<unsigned>(i))))
        return false;
    return true;
  }
  Result<Trace> finish(const std::string &path) {
    builder.assume(kLocalTimes);
    return builder.finish("Philly job log, JSON", path);
  }

private:
  bool addJob(const json::Value &value, json::Path at) {
    const json::Object *entry = value.getAsObject();
    if (!entry) {
      at.report("expected an object");
      return false;
    }
    TraceJob job;
    const std::optional<StringRef> name = entry->getString("jobid");
    if (!name || name->empty()) {
      at.report("expected a name, 'jobid'");
      return false;
    }
    job.name = name->str();
    job.tenant = entry->getString("vc").value_or("").str();
    const StringRef status = entry->getString("status").value_or("");
    job.state = status == "Pass"     ? TraceState::Completed
                : status == "Killed" ? TraceState::Cancelled
                : status == "Failed" ? TraceState::Failed
                                     : TraceState::Unknown;
    std::optional<double> submitted;
    if (!readTime(entry->get("submitted_time"), submitted, at.field("submitted_time")))
      return false;
    devices = 0;
    if (!readAttempts(*entry, job, at))
      return false;
    if (devices == 0) {
      builder.leaveOut();
      return true;
    }
    if (!submitted && !firstStart) {
      at.report("expected 'submitted_time'");
      return false;
    }
    if (!submitted)
      builder.count("jobs have no time of submission, and arrive when they start");
    job.arrival = submitted ? *submitted : *firstStart;
    job.devices = static_cast<unsigned>(devices);
    builder.add(std::move(job));
    return true;
  }

  bool readAttempts(const json::Object &entry, TraceJob &job, json::Path at) {
    firstStart.reset();
    const json::Value *listed = entry.get("attempts");
    const json::Array *attempts = listed ? listed->getAsArray() : nullptr;
    if (!attempts) {
      at.report("expected a list 'attempts'");
      return false;
    }
    json::Path listAt = at.field("attempts");
    for (size_t i = 0; i < attempts->size(); ++i) {
      json::Path here = listAt.index(static_cast<unsigned>(i));
      const json::Object *attempt = (*attempts)[i].getAsObject();
      if (!attempt) {
        here.report("expected an object");
        return false;
      }
      std::optional<double> start, end;
      if (!readTime(attempt->get("start_time"), start, here.field("start_time")) ||
          !readTime(attempt->get("end_time"), end, here.field("end_time")) || !readDevices(*attempt, here))
        return false;
      if (start && !firstStart)
        firstStart = start;
      const bool last = i + 1 == attempts->size();
      if (start && end && *end >= *start) {
        job.duration += *end - *start;
      } else if (!last) {
        builder.count("attempts without a start and an end are not counted");
      } else {
        builder.count("jobs have no end of their last attempt, and their duration is unknown");
        job.duration = 0;
      }
    }
    return true;
  }

  /// The devices of the largest attempt so far.
  bool readDevices(const json::Object &attempt, json::Path at) {
    const json::Array *detail = attempt.getArray("detail");
    if (!detail)
      return true;
    size_t count = 0;
    for (const json::Value &server : *detail) {
      const json::Object *object = server.getAsObject();
      const json::Array *gpus = object ? object->getArray("gpus") : nullptr;
      if (!gpus) {
        at.field("detail").report("expected servers with a list 'gpus'");
        return false;
      }
      count += gpus->size();
    }
    if (count > kMaxTraceDevices) {
      at.field("detail").report("expected at most 1,000,000 devices");
      return false;
    }
    if (devices > 0 && count > 0 && count != devices)
      builder.count("attempts have another number of devices than those before; the largest counts");
    devices = std::max(devices, count);
    return true;
  }

  TraceBuilder builder;
  size_t devices = 0;               ///< of the job that is read
  std::optional<double> firstStart; ///< of it
};

} // namespace

Result<Trace> readPhillyTable(std::string_view text, const std::string &path) {
  constexpr std::string_view kColumns[] = {"timestamp", "duration", "num_gpus", "gpu_time", "cluster"};
  ACCORD_TRY(table, TraceTable::fromCsv(text, path, kColumns, "timestamp"));
  ACCORD_TRY(time, table.need("timestamp"));
  ACCORD_TRY(duration, table.need("duration"));
  ACCORD_TRY(gpus, table.need("num_gpus"));
  const std::optional<size_t> cluster = table.find("cluster");
  TraceBuilder builder;
  for (size_t row = 0; row < table.rows(); ++row) {
    TraceJob job;
    job.line = table.line(row);
    job.name = fmt::format("line{}", job.line);
    const auto arrival = readDate(table.text(row, time));
    if (!arrival)
      return table.wrong(row, time,
                         fmt::format("'timestamp' is '{}', but a time such as 2017-10-09 07:01:55 is expected",
                                     table.text(row, time)));
    ACCORD_TRY(seconds, table.needNumber(row, duration, 0, 1e10));
    ACCORD_TRY(devices, table.needNumber(row, gpus, 0, kMaxTraceDevices));
    if (devices != std::floor(devices))
      return table.wrong(row, gpus, fmt::format("'num_gpus' is {}, but a whole number is expected", devices));
    if (devices == 0) {
      builder.leaveOut();
      continue;
    }
    job.arrival = *arrival;
    job.duration = seconds;
    job.devices = static_cast<unsigned>(devices);
    if (cluster)
      job.tenant = table.text(row, *cluster);
    builder.add(std::move(job));
  }
  builder.assume(kLocalTimes);
  return builder.finish("Philly, table", path);
}

Result<Trace> readPhillyLog(std::string_view text, const std::string &path) {
  LogReader reader;
  auto read = readJsonDocument<bool>(
      text, path, "jobs", [&](const json::Value &value, bool &, json::Path at) { return reader.read(value, at); });
  if (!read)
    return wrongDocument(read.takeError(), path);
  return reader.finish(path);
}

} // namespace accord::jobs
