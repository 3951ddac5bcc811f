#include "lib/planning/output/WhatIfTable.h"
#include <fmt/format.h>

namespace accord {

std::vector<WhatIf> whatIfTable(const Plan &plan, const SingleDeviceRequest &request) {
  std::vector<WhatIf> rows;
  auto row = [&](std::string change, const Machine &machine) {
    auto result = planSingleDevice(request, machine);
    auto *other = result.get();
    if (!other)
      return;
    CandidateMetrics achieved = measureCandidate(*other);
    WhatIf w;
    w.change = std::move(change);
    w.step = achieved.stepTime;
    w.throughput = achieved.throughput;
    w.memory = other->memory.peak;
    w.feasible = other->feasible;
    double gain = plan.schedule.step.seconds().value / achieved.stepTime.value - 1;
    w.note = plan.feasible != other->feasible ? fmt::format("fits, with micro-batch {}", other->graph.microbatch)
             : gain < 0.0005                  ? "does not help"
                                              : fmt::format("{:.1f} % faster", 100 * gain);
    rows.push_back(std::move(w));
  };
  for (size_t i = 0; i < plan.machine.memories.size(); ++i) {
    Machine machine = plan.machine;
    machine.memories[i].bandwidth = machine.memories[i].bandwidth * 1.1;
    row(fmt::format("{} bandwidth +10 %", machine.memories[i].name), machine);
  }
  for (size_t i = 0; i < plan.machine.cores.size(); ++i) {
    Machine machine = plan.machine;
    for (auto &[type, peak] : machine.cores[i].peak)
      peak = peak * 1.1;
    row(fmt::format("{} peak +10 %", machine.cores[i].name), machine);
  }
  Machine machine = plan.machine;
  if (!machine.memories.empty()) {
    machine.memories[0].capacity = machine.memories[0].capacity * 1.1;
    row(fmt::format("{} capacity +10 %", machine.memories[0].name), machine);
  }
  return rows;
}

} // namespace accord
