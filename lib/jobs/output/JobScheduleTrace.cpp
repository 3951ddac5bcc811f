#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>
#include <fmt/format.h>

using namespace llvm;
namespace accord::jobs {
namespace {

constexpr int kJobs = 1, kUse = 2, kFirstServer = 3; // process ids

class ScheduleTracer {
public:
  ScheduleTracer(const JobAnswer &answer, size_t maxSlices)
      : answer(answer), problem(answer.problem), byDevice(slices() <= maxSlices) {}

  json::Value run() {
    name("process", kJobs, 0, "jobs");
    name("process", kUse, 0, "use of the cluster");
    jobs();
    servers();
    counters();
    return json::Object{{"displayTimeUnit", "ms"},
                        {"otherData", json::Object{{"jobs", jsonString(answer.name)},
                                                   {"cluster", jsonString(answer.clusterName)},
                                                   {"version", kVersion}}},
                        {"traceEvents", std::move(events)}};
  }

private:
  /// Slices with one for each device of each run.
  size_t slices() const {
    size_t count = 0;
    for (const auto &job : answer.placements)
      for (const JobPlacement &placement : job)
        count += devicesOf(placement);
    return count;
  }

  void name(StringRef what, int pid, int64_t tid, StringRef text) {
    for (bool sort : {false, true})
      events.push_back(json::Object{{"name", sort ? what.str() + "_sort_index" : what.str() + "_name"},
                                    {"ph", "M"},
                                    {"pid", pid},
                                    {"tid", tid},
                                    {"args", sort ? json::Object{{"sort_index", what == "process" ? int64_t(pid) : tid}}
                                                  : json::Object{{"name", jsonString(text)}}}});
  }
  void slice(int pid, int64_t tid, StringRef text, StringRef category, int64_t fromSeconds, int64_t untilSeconds,
             json::Object args) {
    events.push_back(json::Object{{"name", jsonString(text)},
                                  {"cat", category},
                                  {"ph", "X"},
                                  {"pid", pid},
                                  {"tid", tid},
                                  {"ts", static_cast<double>(fromSeconds) * 1e6},
                                  {"dur", static_cast<double>(untilSeconds - fromSeconds) * 1e6},
                                  {"args", std::move(args)}});
  }

  const std::string &jobName(size_t job) const { return problem.jobs[job].name; }
  json::Object argsOf(size_t job, const JobRun &run) const {
    json::Object args{{"configuration", jsonString(configurationText(answer, job, run.configuration))}};
    if (job < answer.jobs.size() && !answer.jobs[job].tenant.empty())
      args["tenant"] = jsonString(answer.jobs[job].tenant);
    return args;
  }

  void jobs() {
    for (size_t j = 0; j < answer.schedule.jobs.size() && j < problem.jobs.size(); ++j) {
      const int64_t tid = static_cast<int64_t>(j) + 1;
      const JobTrajectory &does = answer.schedule.jobs[j];
      const std::string done = does.continues ? shareDoneText(problem, problem.jobs[j], does) : "";
      name("thread", kJobs, tid, done.empty() ? jobName(j) : fmt::format("{} (continues, {} done)", jobName(j), done));
      for (const JobRun &run : does.runs)
        slice(kJobs, tid, configurationText(answer, j, run.configuration), "run", run.begin * problem.slot,
              run.end * problem.slot, argsOf(j, run));
    }
    for (const JobWait &wait : answer.waits)
      if (wait.job < problem.jobs.size())
        slice(kJobs, int64_t(wait.job) + 1, "pending", "pending", wait.from, wait.until,
              json::Object{{"reason", jsonString(wait.text)}});
  }

  /// A run on one server.
  struct Held {
    int64_t begin = 0, end = 0;
    size_t job = 0, run = 0;
    unsigned devices = 0;
    auto operator<=>(const Held &) const = default;
  };

  void servers() {
    std::vector<std::vector<Held>> held(answer.cluster.servers.size());
    for (size_t j = 0; j < answer.placements.size() && j < answer.schedule.jobs.size(); ++j)
      for (size_t r = 0; r < answer.placements[j].size() && r < answer.schedule.jobs[j].runs.size(); ++r)
        for (const ServerShare &share : answer.placements[j][r])
          if (share.server < held.size()) {
            const JobRun &run = answer.schedule.jobs[j].runs[r];
            held[share.server].push_back({run.begin, run.end, j, r, share.devices});
          }
    for (size_t s = 0; s < held.size(); ++s)
      if (!held[s].empty())
        server(s, std::move(held[s]));
  }

  void server(size_t number, std::vector<Held> runs) {
    const int pid = kFirstServer + static_cast<int>(number);
    const Server &server = answer.cluster.servers[number];
    name("process", pid, 0,
         fmt::format("server {} ({} {})", number, server.devices, answer.cluster.types[server.type]));
    for (unsigned d = 0; d < (byDevice ? server.devices : 1); ++d)
      name("thread", pid, d + 1, byDevice ? fmt::format("device {}", d) : std::string("all devices"));
    std::sort(runs.begin(), runs.end());
    std::vector<int64_t> freeAt(server.devices, 0);
    for (const Held &held : runs) {
      const JobRun &run = answer.schedule.jobs[held.job].runs[held.run];
      unsigned left = byDevice ? held.devices : 1;
      for (unsigned d = 0; d < server.devices && left > 0; ++d) {
        if (byDevice && freeAt[d] > held.begin)
          continue;
        freeAt[d] = held.end;
        --left;
        json::Object args = argsOf(held.job, run);
        args["devices_of_this_server"] = int64_t(held.devices);
        slice(pid, d + 1, jobName(held.job), "run", held.begin * problem.slot, held.end * problem.slot,
              std::move(args));
      }
    }
  }

  /// A counter of the values in each slot, at each change.
  void counter(StringRef text, StringRef unit, ArrayRef<double> values) {
    for (size_t slot = 0; slot < values.size(); ++slot)
      if (slot == 0 || values[slot] != values[slot - 1])
        point(text, unit, static_cast<int64_t>(slot), values[slot]);
    if (!values.empty())
      point(text, unit, static_cast<int64_t>(values.size()), 0);
  }
  void point(StringRef text, StringRef unit, int64_t slot, double value) {
    events.push_back(json::Object{{"name", jsonString(text)},
                                  {"ph", "C"},
                                  {"pid", kUse},
                                  {"ts", static_cast<double>(slot * problem.slot) * 1e6},
                                  {"args", json::Object{{json::fixUTF8(unit), value}}}});
  }

  void counters() {
    const auto used = usedAmounts(problem, answer.schedule);
    for (size_t r = 0; r < used.size(); ++r) {
      const std::string &resource = problem.resources[r].name;
      counter(fmt::format("{} in use", resource), resource == kPowerResource ? "W" : "amount",
              std::vector<double>(used[r].begin(), used[r].end()));
      std::vector<double> capacity(problem.resources[r].capacity.begin(), problem.resources[r].capacity.end());
      counter(fmt::format("{} there", resource), resource == kPowerResource ? "W" : "amount", capacity);
    }
    std::vector<double> price(static_cast<size_t>(std::max<int64_t>(problem.slots, 0)), 0);
    for (size_t j = 0; j < answer.schedule.jobs.size() && j < problem.jobs.size(); ++j)
      for (const JobRun &run : answer.schedule.jobs[j].runs)
        if (run.configuration < problem.jobs[j].configurations.size())
          for (int64_t slot = std::max<int64_t>(run.begin, 0); slot < std::min(run.end, problem.slots); ++slot)
            price[slot] += static_cast<double>(problem.jobs[j].configurations[run.configuration].price) * 3600 / 1e6;
    counter("cost", "dollars an hour", price);
    std::vector<double> carbon;
    for (int64_t micrograms : problem.carbon)
      carbon.push_back(static_cast<double>(micrograms) * 3.6); // of a joule, in g of a kWh
    counter("carbon of electricity", "g CO2e a kWh", carbon);
  }

  const JobAnswer &answer;
  const JobScheduleProblem &problem;
  const bool byDevice;
  json::Array events;
};

} // namespace

json::Value jobScheduleTrace(const JobAnswer &answer, size_t maxSlices) {
  return ScheduleTracer(answer, maxSlices).run();
}

} // namespace accord::jobs
