// 6 2             jobs, resources
// 2 1             capacities
// 0 0 0 3 2 3 4   a job: duration, a request for each resource, three successors
// 3 2 0 1 5
#include "lib/import/projects/NumberText.h"
#include "lib/import/projects/Projects.h"
#include <fmt/format.h>

namespace accord {

using namespace import;

namespace {

constexpr const char *kHelp = "a project of Patterson (.rcp) has the numbers of jobs and of resources, the capacities, "
                              "then of each job duration, requests, number of successors, successors";

void readJob(NumberText &text, SchedulingProblem &problem, int64_t job, int64_t jobs) {
  const std::string of = fmt::format(" of job {}", job);
  auto duration = text.next("the duration" + of);
  if (!duration)
    return;
  auto task = problem.addTask(std::to_string(job), *duration, {});
  problem.tasks[task].location = text.location(text.lastWord());
  for (uint32_t r = 0; r < problem.resources.size(); ++r) {
    auto amount = text.next(fmt::format("the request{} for {}", of, problem.resources[r].name));
    if (amount && *amount > problem.resources[r].capacity)
      text.fail(text.lastPlace(), fmt::format("job {} requests {} of {}, which has {}", job, *amount,
                                              problem.resources[r].name, problem.resources[r].capacity));
    if (amount && *amount > 0)
      problem.tasks[task].modes[0].usage.push_back({r, *amount});
  }
  auto count = text.next("the number of successors" + of, {0, jobs});
  for (int64_t i = 0; count && i < *count; ++i)
    if (auto next = text.next("a successor" + of, {1, jobs}))
      problem.addPrecedence(task, static_cast<SchedulingProblem::Id>(*next - 1));
    else
      return;
}

} // namespace

std::optional<PsplibImport> importPatterson(Diagnostics &diags, FileId file) {
  NumberText text(diags, file);
  SchedulingProblem problem;
  if (!text.isReadable(kHelp))
    return std::nullopt;
  auto jobs = text.next("the number of jobs", {0, kMaxProjectTasks}),
       resources = text.next("the number of resources", {0, 1000});
  for (int64_t r = 1; resources && r <= *resources; ++r)
    problem.addResource(fmt::format("R{}", r), text.next(fmt::format("the capacity of R{}", r)).value_or(0));
  for (int64_t job = 1; jobs && job <= *jobs && !text.failed(); ++job)
    readJob(text, problem, job, *jobs);
  if (jobs && !text.isDone(fmt::format("the last of {} jobs", *jobs)))
    return std::nullopt;
  if (!text.isSound(problem))
    return std::nullopt;
  return PsplibImport{std::move(problem), {}};
}

} // namespace accord
