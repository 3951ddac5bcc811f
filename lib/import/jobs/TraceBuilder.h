// A trace under construction, and errors of the files that it is read from. Internal to lib/import/jobs.
#pragma once
#include "lib/jobs/problem/TraceJob.h"
#include "lib/support/Result.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace accord::jobs {

/// A trace has at most so many jobs, and a job at most so many devices.
constexpr size_t kMaxTraceJobs = 10'000'000;
constexpr double kMaxTraceDevices = 1'000'000;

class TraceBuilder {
public:
  /// `job.arrival` is in the seconds of the file. Bytes that are not UTF-8 or not printable are replaced.
  void add(TraceJob job);
  /// Whether another job may be added.
  bool hasRoom() const { return trace.jobs.size() < kMaxTraceJobs; }
  /// A job that is left out because it uses no device.
  void leaveOut() { ++trace.withoutDevices; }
  /// A part of a device that is rounded up.
  void roundUp() { ++trace.parts; }
  /// Something that was assumed of one job more.
  void count(const char *assumption) { ++counts[assumption]; }
  /// Something that was assumed of all.
  void assume(std::string assumption) { trace.assumptions.push_back(std::move(assumption)); }

  /// Sorts jobs by arrival, counts arrivals from the first, and gives each job a name of its own. Error A1101 if there
  /// are no jobs.
  Result<Trace> finish(std::string format, const std::string &path);

private:
  /// Gives each job a name of its own.
  void numberEqualNames();

  Trace trace;
  std::map<std::string, size_t> counts;
};

/// Error A1101 of an error "path:line:column: message", with its place apart from its message.
Error wrongDocument(llvm::Error error, const std::string &path);

} // namespace accord::jobs
