// Stands in for the optimizer: equal cuts, judged.
#include "lib/place/Judge.h"
#include "lib/place/Pipeline.h"
#include "lib/place/Place.h"
#include <cmath>

namespace accord {

std::vector<Issue> __attribute__((weak)) check(const PlacementProblem &) { return {}; }

bool __attribute__((weak)) meets(const PlacementProblem &problem, const PlacementWorth &worth) {
  return problem.limits.step == 0 || worth.step <= problem.limits.step;
}

PlacementResult __attribute__((weak)) place(const PlacementProblem &problem,
                                            const PlaceOptions &options) {
  PlacementResult best;
  auto layers = static_cast<int64_t>(problem.layers.size());
  for (PlacementProblem::Id f = 0; f < problem.forms.size(); ++f) {
    const PlacementProblem::Form &form = problem.forms[f];
    std::vector<double> until{0};
    for (PlacementProblem::Id l = 0; l < problem.layers.size(); ++l) {
      const auto &cost = *problem.cost(l, f);
      until.push_back(until.back() + double(cost.forward + cost.backward + cost.weight));
    }
    int64_t most = std::min(layers, problem.kinds[form.kind].devices / form.devices());
    if (problem.mostStages)
      most = std::min(most, problem.mostStages);
    if (problem.batch % (form.data * form.microbatch))
      continue;
    int64_t m = problem.batch / form.data / form.microbatch;
    for (int64_t p = options.fewestStages; p <= most; ++p)
      for (PipelineSchedule schedule : problem.schedules)
        for (int64_t v :
             schedule == PipelineSchedule::Interleaved ? problem.chunks : std::vector<int64_t>{1}) {
          if (p * v > layers || (v > 1 && (m % p || p == 1)) || p * m * v > 4000000)
            continue;
          Placement plan;
          plan.schedule = schedule;
          plan.chunks = v;
          plan.microbatches = m;
          plan.stages.resize(size_t(p * v));
          for (size_t k = 0; k < 3; ++k) {
            for (auto &stage : plan.stages)
              stage = {{}, f, {}};
            for (PlacementProblem::Id l = 0; l < problem.layers.size(); ++l) {
              double mid = (until[l] + until[l + 1]) / 2 / until.back();
              auto s = std::min<size_t>(plan.stages.size() - 1, size_t(mid * double(p * v)));
              plan.stages[s].layers.push_back(l);
              plan.stages[s].keeps.push_back(
                  uint32_t(std::min(k, problem.cost(l, f)->keeps.size() - 1)));
            }
            if (!faults(problem, plan).empty())
              continue;
            PlacementWorth worth = judge(problem, plan);
            ++best.examined;
            if (worth.fits && meets(problem, worth) && (!best.plan || worth.value < best.value)) {
              best.plan = plan;
              best.worth = worth;
              best.value = worth.value;
            }
          }
        }
  }
  best.proof = "nothing";
  if (!best.plan)
    best.bound = INFINITY;
  return best;
}

std::vector<RunnerUp> __attribute__((weak))
runnersUp(const PlacementProblem &, const PlacementResult &, size_t, const PlaceOptions &) {
  return {};
}
PlacementConflict __attribute__((weak)) conflictsOf(const PlacementProblem &,
                                                    const PlaceOptions &) {
  return {};
}

} // namespace accord
