#include "lib/planning/analysis/PipelineOrder.h"
#include <algorithm>

namespace accord {

std::vector<PipelineTask> stageOrder(const Pipeline &pipeline, int64_t stage) {
  int64_t p = pipeline.stages, v = pipeline.virtualStages, all = pipeline.microbatches * v;
  auto task = [&](int64_t k, bool backward) {
    // Groups of p micro-batches go through one chunk after the other.
    int64_t group = k / (p * v), within = k % (p * v), virtualStage = within / p;
    return v == 1 ? PipelineTask{backward, k, 0}
                  : PipelineTask{backward, group * p + within % p, backward ? v - 1 - virtualStage : virtualStage};
  };
  int64_t warmUp = all;
  if (pipeline.kind == PipelineKind::OneFOneB)
    warmUp = std::min(all, p - stage - 1);
  else if (pipeline.kind == PipelineKind::Interleaved)
    warmUp = std::min(all, 2 * (p - stage - 1) + (v - 1) * p);
  std::vector<PipelineTask> order;
  for (int64_t k = 0; k < warmUp; ++k)
    order.push_back(task(k, false));
  for (int64_t k = warmUp; k < all; ++k) {
    order.push_back(task(k, false));
    order.push_back(task(k - warmUp, true));
  }
  for (int64_t k = all - warmUp; k < all; ++k)
    order.push_back(task(k, true));
  return order;
}

int64_t maxInFlight(const Pipeline &pipeline, int64_t stage) {
  int64_t now = 0, max = 0;
  for (const PipelineTask &task : stageOrder(pipeline, stage))
    max = std::max(max, now += task.backward ? -1 : 1);
  return max;
}

} // namespace accord
