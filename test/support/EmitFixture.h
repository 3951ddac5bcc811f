// A small GPT trained on a made-up device, as the emitters see it: two repeats, overlap of two
// cores, an update.
#pragma once
#include "lib/machine/model/Plan.h"

namespace accord::test {

struct GptSize {
  int64_t microbatch = 4, sequence = 1024, microbatches = 8;
  int64_t layers = 12, hidden = 768, heads = 12, vocab = 50304;
};
/// Costs by flops/peak and bytes/bandwidth, list schedule in program order, memory by sizes of
/// stashes.
Plan gptPlan(const GptSize &size = {});

/// The same graph with costs at another size, for fits.
struct Costed {
  WorkGraph graph;
  Costs costs;
};
Costed gptCosts(const GptSize &size);

/// A stand-in for the liveness analysis: three moments, of values large at different sizes.
MemoryUse memoryOf(const WorkGraph &graph);

} // namespace accord::test
