#include "lib/import/jobs/SlurmFields.h"
#include "lib/import/jobs/SlurmTrace.h"
#include "lib/import/jobs/TraceBuilder.h"
#include "lib/support/documents/JsonParse.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

namespace json = llvm::json;

constexpr double kMaxNumber = 1e12;

/// A number that is plain or {"set": true, "infinite": false, "number": 5}. Nothing if it is null, not set or infinite.
bool readNumber(const json::Value *value, std::optional<double> &number, json::Path at) {
  number.reset();
  if (!value || value->getAsNull())
    return true;
  if (const json::Object *object = value->getAsObject()) {
    const bool set = object->getBoolean("set").value_or(true),
               infinite = object->getBoolean("infinite").value_or(false);
    return !set || infinite || readNumber(object->get("number"), number, at.field("number"));
  }
  number = value->getAsNumber();
  if (number && *number >= 0 && *number <= kMaxNumber)
    return true;
  number.reset();
  at.report("expected a number from 0 to 10^12, or an object with 'set' and 'number'");
  return false;
}

/// A text, or the first of a list of texts; empty if it is neither.
std::string firstText(const json::Value *value) {
  if (!value)
    return {};
  if (const json::Array *all = value->getAsArray())
    return all->empty() ? std::string() : firstText(&all->front());
  return value->getAsString().value_or("").str();
}

class Reader {
public:
  bool read(const json::Value &value, json::Path at) {
    const json::Object *document = value.getAsObject();
    const json::Value *listed = document ? document->get("jobs") : nullptr;
    const json::Array *jobs = listed ? listed->getAsArray() : nullptr;
    if (!jobs) {
      at.report("expected an object with a list 'jobs'");
      return false;
    }
    for (size_t i = 0; i < jobs->size(); ++i)
      if (!addJob((*jobs)[i], at.field("jobs").index(static_cast<unsigned>(i))))
        return false;
    return true;
  }
  Result<Trace> finish(const std::string &path) {
    return builder.finish(accounting ? "Slurm accounting, JSON" : "Slurm queue, JSON", path);
  }

private:
  bool addJob(const json::Value &value, json::Path at) {
    const json::Object *entry = value.getAsObject();
    if (!entry) {
      at.report("expected an object");
      return false;
    }
    TraceJob job;
    job.tenant = firstText(entry->get("account"));
    for (const char *key : {"user", "user_name"})
      if (job.tenant.empty())
        job.tenant = firstText(entry->get(key));
    SlurmDevices devices;
    const json::Object *time = entry->getObject("time");
    accounting |= time != nullptr;
    if (!(time ? readAccounted(*entry, *time, job, devices, at) : readQueued(*entry, job, devices, at)))
      return false;
    std::vector<std::string> names;
    if (!readNames(*entry, names, at))
      return false;
    if (devices.types.size() > 1)
      builder.count("jobs use several device types at once, and are taken to run on any one");
    if (devices.types.size() == 1)
      job.deviceTypes = devices.types;
    job.devices = static_cast<unsigned>(devices.count);
    for (std::string &name : names) {
      if (devices.count == 0) {
        builder.leaveOut();
        continue;
      }
      if (!builder.hasRoom()) {
        at.report("expected at most 10,000,000 jobs");
        return false;
      }
      job.name = std::move(name);
      builder.add(job);
    }
    return true;
  }

  /// A job of `sacct --json`.
  bool readAccounted(const json::Object &entry, const json::Object &time, TraceJob &job, SlurmDevices &devices,
                     json::Path at) {
    if (const json::Object *state = entry.getObject("state"))
      job.state = slurmState(firstText(state->get("current")));
    json::Path timeAt = at.field("time");
    std::optional<double> submitted, start, end, elapsed, limit;
    if (!readNumber(time.get("submission"), submitted, timeAt.field("submission")) ||
        !readNumber(time.get("start"), start, timeAt.field("start")) ||
        !readNumber(time.get("end"), end, timeAt.field("end")) ||
        !readNumber(time.get("elapsed"), elapsed, timeAt.field("elapsed")) ||
        !readNumber(time.get("limit"), limit, timeAt.field("limit")))
      return false;
    if (!submitted) {
      timeAt.report("expected the time 'submission'");
      return false;
    }
    if (!elapsed && start && end && *start > 0 && *end > *start)
      elapsed = *end - *start;
    setTimes(job, *submitted, elapsed.value_or(0), limit.value_or(0));
    const json::Object *resources = entry.getObject("tres");
    if (!resources)
      return true;
    for (const char *key : {"allocated", "requested"}) {
      const json::Array *list = resources->getArray(key);
      if (!list || devices.count > 0)
        continue;
      if (!readResources(*list, devices, at.field("tres").field(key)))
        return false;
    }
    return true;
  }

  bool readResources(const json::Array &list, SlurmDevices &devices, json::Path at) {
    int64_t typed = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      json::Path here = at.index(static_cast<unsigned>(i));
      const json::Object *one = list[i].getAsObject();
      if (!one) {
        here.report("expected an object");
        return false;
      }
      if (one->getString("type").value_or("") != "gres")
        continue;
      std::optional<double> count;
      if (!readNumber(one->get("count"), count, here.field("count")))
        return false;
      if (count.value_or(0) > kMaxTraceDevices || count.value_or(0) != std::floor(count.value_or(0))) {
        here.field("count").report("expected a whole number of at most 1,000,000 devices");
        return false;
      }
      addSlurmDevice(devices, typed, fmt::format("gres/{}", one->getString("name").value_or("").str()),
                     static_cast<int64_t>(count.value_or(0)));
    }
    return true;
  }

  /// A job of `squeue --json`.
  bool readQueued(const json::Object &entry, TraceJob &job, SlurmDevices &devices, json::Path at) {
    job.state = slurmState(firstText(entry.get("job_state")));
    std::optional<double> submitted, start, end, limit;
    if (!readNumber(entry.get("submit_time"), submitted, at.field("submit_time")) ||
        !readNumber(entry.get("start_time"), start, at.field("start_time")) ||
        !readNumber(entry.get("end_time"), end, at.field("end_time")) ||
        !readNumber(entry.get("time_limit"), limit, at.field("time_limit")))
      return false;
    if (!submitted) {
      at.report("expected 'submit_time', or 'time' of accounting");
      return false;
    }
    const bool ran = start && end && *start > 0 && *end > *start;
    setTimes(job, *submitted, ran ? *end - *start : 0, limit.value_or(0));
    for (const char *key : {"tres_alloc_str", "tres_req_str"}) {
      if (devices.count > 0)
        continue;
      const auto read = readSlurmDevices(firstText(entry.get(key)));
      if (!read) {
        at.field(key).report("expected whole numbers of at most 1,000,000 devices");
        return false;
      }
      devices = *read;
    }
    return true;
  }

  /// `limit` in minutes.
  static void setTimes(TraceJob &job, double submitted, double elapsed, double limit) {
    job.arrival = submitted;
    job.timeLimit = limit * 60;
    if (job.state != TraceState::Running && job.state != TraceState::Waiting)
      job.duration = elapsed;
  }

  /// One name, or one for each pending task of an array.
  static bool readNames(const json::Object &entry, std::vector<std::string> &names, json::Path at) {
    std::optional<double> id, arrayId, task;
    const json::Object *array = entry.getObject("array");
    const json::Value *arrayValue = array ? array->get("job_id") : entry.get("array_job_id");
    const json::Value *taskValue = array ? array->get("task_id") : entry.get("array_task_id");
    const std::string waiting = firstText(array ? array->get("task") : entry.get("array_task_string"));
    if (!readNumber(entry.get("job_id"), id, at.field("job_id")) ||
        !readNumber(arrayValue, arrayId, at.field(array ? "array" : "array_job_id")) ||
        !readNumber(taskValue, task, at.field(array ? "array" : "array_task_id")))
      return false;
    if (!id) {
      at.report("expected 'job_id'");
      return false;
    }
    if (arrayId.value_or(0) > 0 && !waiting.empty()) {
      const auto tasks = slurmTasks(waiting);
      if (!tasks) {
        at.field(array ? "array" : "array_task_string").report("expected tasks such as 1-10,12");
        return false;
      }
      for (int64_t one : *tasks)
        names.push_back(fmt::format("{:.0f}_{}", *arrayId, one));
    } else if (arrayId.value_or(0) > 0 && task) {
      names.push_back(fmt::format("{:.0f}_{:.0f}", *arrayId, *task));
    } else {
      names.push_back(fmt::format("{:.0f}", *id));
    }
    return true;
  }

  TraceBuilder builder;
  bool accounting = false;
};

} // namespace

Result<Trace> readSlurmJson(std::string_view text, const std::string &path) {
  Reader reader;
  auto read = readJsonDocument<bool>(
      text, path, "jobs", [&](const json::Value &value, bool &, json::Path at) { return reader.read(value, at); });
  if (!read)
    return wrongDocument(read.takeError(), path);
  return reader.finish(path);
}

} // namespace accord::jobs
