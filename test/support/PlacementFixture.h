// A plan made by hand: GPT-3's shape on 1,024 A100, with round numbers.
#pragma once
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/problem/PlacementPlan.h"

namespace accord::test {

struct PlacementShape {
  int64_t blocks = 96, stages = 8, virtualStages = 1, tensor = 8, data = 16, microbatch = 1, batch = 1536;
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  std::vector<int64_t> blocksOf = {}; ///< by stage; empty: as even as can be
  int64_t fullInFirst = 0;            ///< blocks of the first stage that are computed again in full
  int zero = 0;
};

/// `worth`, value and bound are as `judge` gives them; the bound is 2 % below.
PlacementPlan gptPlacement(const PlacementShape &shape = {});

/// The same with two runners-up, what-if rows, assumptions and interesting names.
PlacementPlan fullPlacement(const PlacementShape &shape = {});

/// No plan, with a conflict.
PlacementPlan infeasiblePlacement();

} // namespace accord::test
