#include "tools/accord/VoteCosts.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

int64_t kept(const MemoryUse &memory) {
  return memory.atPeak[static_cast<size_t>(Category::Weights)] +
         memory.atPeak[static_cast<size_t>(Category::OptimizerStates)];
}

bool beats(const MemberCost &a, const MemberCost &b) {
  return a.time <= b.time && a.state <= b.state &&
         a.state + a.activations <= b.state + b.activations && a.activations <= b.activations &&
         a.joules <= b.joules;
}

/// Adds a way unless another one beats it, and drops those that it beats.
void add(MemberWays &to, const MemberCost &way, std::string text) {
  for (const MemberCost &other : to.ways)
    if (beats(other, way))
      return;
  for (size_t i = to.ways.size(); i-- > 0;)
    if (beats(way, to.ways[i])) {
      to.ways.erase(to.ways.begin() + static_cast<ptrdiff_t>(i));
      to.texts.erase(to.texts.begin() + static_cast<ptrdiff_t>(i));
    }
  to.ways.push_back(way);
  to.texts.push_back(std::move(text));
}

} // namespace

std::optional<MemberWays> memberWays(Session &session) {
  const TrainingJob &job = session.job();
  const Machine &machine = session.machine();
  SingleDeviceRequest request = session.request();
  MemberWays result;
  result.machine = machine.name;
  result.memory = static_cast<int64_t>(machine.memories.front().capacity.value);
  result.assumptions = job.assumptions;
  int64_t least = INT64_MAX;
  for (const std::string &policy : job.recomputes)
    for (int64_t microbatch : job.microbatches) {
      if (microbatch < 1 || job.batch % microbatch != 0)
        continue;
      int64_t number = job.batch / microbatch;
      auto work = request.instantiate(microbatch, number, policy);
      if (auto *issue = std::get_if<Issue>(&work)) {
        session.report(*issue);
        return std::nullopt;
      }
      auto planned = accord::planFor(std::move(std::get<WorkGraph>(work)), machine, request);
      if (auto *issues = std::get_if<std::vector<Issue>>(&planned)) {
        for (const Issue &issue : *issues)
          session.report(issue);
        return std::nullopt;
      }
      const Plan &plan = std::get<Plan>(planned);
      if (!plan.feasible) {
        if (plan.memory.peak < least) {
          least = plan.memory.peak;
          result.reason = plan.conflicts.empty()
                              ? "no plan is feasible"
                              : fmt::format("{}: {}", plan.conflicts.front().constraint,
                                            plan.conflicts.front().detail);
        }
        continue;
      }
      MemberCost way;
      way.time = plan.schedule.step.value;
      way.state = kept(plan.memory);
      way.activations = plan.memory.peak - way.state;
      way.joules = achievedBy(plan).energy.value;
      std::string text = fmt::format("micro-batch {} x {}", microbatch, number);
      if (job.recomputes.size() > 1)
        text += fmt::format(", recompute {}", policy);
      add(result, way, std::move(text));
    }
  if (!result.ways.empty())
    result.reason.clear();
  else if (result.reason.empty())
    result.reason =
        fmt::format("no micro-batch that is offered divides its batch of {}", job.batch);
  return result;
}

} // namespace accord
