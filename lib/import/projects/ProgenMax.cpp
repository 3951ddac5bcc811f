#include "lib/import/projects/NumberText.h"
#include "lib/import/projects/Projects.h"
#include <fmt/format.h>

namespace accord {

using namespace import;

namespace {

constexpr const char *kHelp = "a project of ProGen/max (.sch) has the numbers of jobs and of resources, a row of "
                              "successors and lags [..] for each job, a row of durations and requests, and the "
                              "capacities";

class ProgenMaxReader {
public:
  ProgenMaxReader(Diagnostics &diags, FileId file) : text(diags, file) {}

  std::optional<PsplibImport> run() {
    if (!text.isReadable(kHelp))
      return std::nullopt;
    auto real = text.next("the number of jobs", {0, kMaxProjectTasks - 2}),
         resources = text.next("the number of resources", {0, 1000});
    auto budgets = text.next("the number of nonrenewable resources", {0, 0}),
         both = text.next("the number of doubly constrained resources", {0, 0});
    if (!real || !resources || !budgets || !both)
      return std::nullopt;
    int64_t jobs = *real + 2; // with a source and a sink
    for (int64_t job = 0; job < jobs && !text.failed(); ++job)
      lagsOf(job, jobs);
    for (int64_t r = 1; r <= *resources; ++r)
      problem.addResource(fmt::format("R{}", r), kMaxProjectNumber);
    for (int64_t job = 0; job < jobs && !text.failed(); ++job)
      requestsOf(job);
    for (auto &resource : problem.resources)
      resource.capacity = text.next("the capacity of " + resource.name).value_or(0);
    if (!text.isDone("the capacities"))
      return std::nullopt;
    order();
    if (text.failed() || !text.isSound(problem))
      return std::nullopt;
    return PsplibImport{std::move(problem), {}};
  }

private:
  struct Lag {
    uint32_t before = 0, after = 0;
    int64_t value = 0;
    SourceRange range;
  };

  /// "8  1  3  1 2 11  [-22] [-34] [2]": one mode, three successors.
  void lagsOf(int64_t job, int64_t jobs) {
    if (!text.next("the next job", {job, job}))
      return;
    problem.addTask(std::to_string(job), 0, {});
    problem.tasks.back().location = text.location(text.lastWord());
    text.next(fmt::format("the number of modes of job {} (projects of several modes are not read)", job), {1, 1});
    auto count = text.next(fmt::format("the number of successors of job {}", job), {0, jobs});
    std::vector<uint32_t> successors;
    for (int64_t i = 0; count && i < *count && !text.failed(); ++i)
      if (auto next = text.next(fmt::format("a successor of job {}", job), {0, jobs - 1}))
        successors.push_back(static_cast<uint32_t>(*next));
    for (uint32_t next : successors)
      if (auto value = text.nextInBrackets(fmt::format("the time lag from job {} to job {}", job, next),
                                           {-kMaxProjectNumber, kMaxProjectNumber}))
        lags.push_back({static_cast<uint32_t>(job), next, *value, text.lastPlace()});
  }

  void requestsOf(int64_t job) {
    if (!text.next("the next job", {job, job}) || !text.next("the mode", {1, 1}))
      return;
    auto &mode = problem.tasks[job].modes[0];
    mode.duration = text.next(fmt::format("the duration of job {}", job)).value_or(0);
    for (uint32_t r = 0; r < problem.resources.size(); ++r)
      if (auto amount = text.next(fmt::format("the request of job {} for {}", job, problem.resources[r].name));
          amount && *amount > 0)
        mode.usage.push_back({r, *amount});
  }

  /// A lag of at least the duration is a precedence, unless such lags form a cycle: that asks for something
  /// impossible, which is the answer, not a mistake of the file.
  void order() {
    std::vector<const Lag *> rest;
    for (const Lag &lag : lags)
      if (int64_t duration = problem.tasks[lag.before].modes[0].duration; lag.value >= duration)
        problem.addPrecedence(lag.before, lag.after, lag.value - duration);
      else
        rest.push_back(&lag);
    if (problem.topologicalOrder().size() < problem.tasks.size()) {
      problem.precedences.clear();
      rest.clear();
      for (const Lag &lag : lags)
        rest.push_back(&lag);
    }
    for (const Lag *lag : rest)
      if (lag->before != lag->after)
        problem.lags.push_back({lag->before, lag->after, lag->value});
      else if (lag->value > 0)
        text.fail(lag->range, fmt::format("job {} starts {} after itself", lag->before, lag->value));
  }

  NumberText text;
  SchedulingProblem problem;
  std::vector<Lag> lags;
};

} // namespace

std::optional<PsplibImport> importProgenMax(Diagnostics &diags, FileId file) {
  return ProgenMaxReader(diags, file).run();
}

} // namespace accord
