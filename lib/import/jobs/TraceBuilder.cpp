#include "lib/import/jobs/TraceBuilder.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace accord::jobs {
namespace {

/// UTF-8 without control characters.
std::string printable(std::string text) {
  if (!llvm::json::isUTF8(text))
    text = llvm::json::fixUTF8(text);
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      c = '_';
  return text;
}

} // namespace

void TraceBuilder::add(TraceJob job) {
  job.name = printable(std::move(job.name));
  job.tenant = printable(std::move(job.tenant));
  for (std::string &type : job.deviceTypes)
    type = printable(std::move(type));
  trace.jobs.push_back(std::move(job));
}

void TraceBuilder::numberEqualNames() {
  std::vector<std::string_view> all;
  for (const TraceJob &job : trace.jobs)
    all.push_back(job.name);
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) == all.end())
    return;
  const std::set<std::string> names(all.begin(), all.end());
  std::set<std::string> taken;
  std::map<std::string, size_t> next; // number of a name that occurs again
  for (TraceJob &job : trace.jobs) {
    if (taken.insert(job.name).second)
      continue;
    size_t &number = next.try_emplace(job.name, 2).first->second;
    std::string name;
    do
      name = fmt::format("{}#{}", job.name, number++);
    while (names.count(name) || !taken.insert(name).second);
    job.name = std::move(name);
    count("jobs have the name of another one and get a number behind it");
  }
}

Result<Trace> TraceBuilder::finish(std::string format, const std::string &path) {
  if (trace.jobs.empty())
    return Error{Code::WrongJobsFile,
                 trace.withoutDevices ? fmt::format("none of {} jobs uses a device", trace.withoutDevices)
                                      : std::string("the trace has no jobs"),
                 {path, 1, 1}};
  trace.format = std::move(format);
  std::vector<size_t> order(trace.jobs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return trace.jobs[a].arrival != trace.jobs[b].arrival ? trace.jobs[a].arrival < trace.jobs[b].arrival : a < b;
  });
  trace.origin = trace.jobs[order.front()].arrival;
  std::vector<TraceJob> sorted;
  sorted.reserve(order.size());
  for (size_t index : order) {
    TraceJob job = std::move(trace.jobs[index]);
    job.arrival -= trace.origin;
    sorted.push_back(std::move(job));
  }
  trace.jobs = std::move(sorted);
  numberEqualNames();
  if (trace.withoutDevices)
    assume(fmt::format("jobs without devices are left out: {}", trace.withoutDevices));
  if (trace.parts)
    assume(fmt::format("jobs on a part of a device get a whole one: {}", trace.parts));
  for (const auto &[text, number] : counts)
    assume(fmt::format("{}: {}", text, number));
  return std::move(trace);
}

Error wrongDocument(llvm::Error problem, const std::string &path) {
  const std::string full = llvm::toString(std::move(problem));
  Error error{Code::WrongJobsFile, full, {path, 1, 1}};
  llvm::StringRef rest(full);
  unsigned line = 0, column = 0;
  if (rest.consume_front(path) && rest.consume_front(":") && !rest.consumeInteger(10, line) &&
      rest.consume_front(":") && !rest.consumeInteger(10, column) && rest.consume_front(": ")) {
    error.message = rest.str();
    error.location = {path, line, column};
  }
  return error;
}

} // namespace accord::jobs
