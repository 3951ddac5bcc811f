#include "lib/driver/tasks/MemberAlternatives.h"
#include "lib/driver/Session.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

int64_t stateBytes(const MemoryUse &memory) {
  return memory.atPeak[static_cast<size_t>(Category::Weights)] +
         memory.atPeak[static_cast<size_t>(Category::OptimizerStates)];
}

bool dominates(const MemberCost &a, const MemberCost &b) {
  return a.time <= b.time && a.state <= b.state && a.state + a.activations <= b.state + b.activations &&
         a.activations <= b.activations && a.joules <= b.joules;
}

/// Adds a way unless another one beats it, and drops those that it beats.
void add(MemberAlternatives &to, const MemberCost &alternative, std::string text) {
  for (const MemberCost &other : to.alternatives)
    if (dominates(other, alternative))
      return;
  for (size_t i = to.alternatives.size(); i-- > 0;)
    if (dominates(alternative, to.alternatives[i])) {
      to.alternatives.erase(to.alternatives.begin() + static_cast<ptrdiff_t>(i));
      to.texts.erase(to.texts.begin() + static_cast<ptrdiff_t>(i));
    }
  to.alternatives.push_back(alternative);
  to.texts.push_back(std::move(text));
}

} // namespace

std::optional<MemberAlternatives> memberAlternatives(Session &session) {
  const TrainingJob &job = session.job();
  const Machine &machine = session.machine();
  SingleDeviceRequest request = session.request();
  MemberAlternatives result;
  result.machine = machine.name;
  result.memory = static_cast<int64_t>(machine.memories.front().capacity.value);
  result.assumptions = job.assumptions;
  int64_t min = INT64_MAX;
  for (const std::string &policy : job.recomputes)
    for (int64_t microbatch : job.microbatches) {
      if (microbatch < 1 || job.batch % microbatch != 0)
        continue;
      int64_t number = job.batch / microbatch;
      auto work = request.instantiate(microbatch, number, policy);
      if (!work) {
        session.report(work.error());
        return std::nullopt;
      }
      auto planned = accord::planFor(std::move(*work), machine, request);
      if (!planned) {
        for (const Error &error : planned.error())
          session.report(error);
        return std::nullopt;
      }
      const Plan &plan = *planned;
      if (!plan.feasible) {
        if (plan.memory.peak < min) {
          min = plan.memory.peak;
          result.reason = plan.conflicts.empty()
                              ? "no plan is feasible"
                              : fmt::format("{}: {}", plan.conflicts.front().constraint, plan.conflicts.front().detail);
        }
        continue;
      }
      MemberCost alternative;
      alternative.time = plan.schedule.step.value;
      alternative.state = stateBytes(plan.memory);
      alternative.activations = plan.memory.peak - alternative.state;
      alternative.joules = measureCandidate(plan).energy.value;
      std::string text = fmt::format("micro-batch {} x {}", microbatch, number);
      if (job.recomputes.size() > 1)
        text += fmt::format(", recompute {}", policy);
      add(result, alternative, std::move(text));
    }
  if (!result.alternatives.empty())
    result.reason.clear();
  else if (result.reason.empty())
    result.reason = fmt::format("no micro-batch size in the search space divides its batch of {}", job.batch);
  return result;
}

} // namespace accord
