// A lower bound of interleaved even stages, by arithmetic of its own.
#pragma once
#include "lib/verify/PlacementConfigurations.h"
#include <array>
#include <map>

namespace accord {

/// By groups, chunks, micro-batches and group: how many micro-batches each chunk holds. What it
/// takes to know depends on nothing else, and configurations have it in common.
using EvenHeld = std::map<std::array<int64_t, 4>, std::vector<double>>;

/// Picoseconds that no step of the configuration, of one form, on so many groups is below; infinite
/// where nothing fits. Of a chain of layers: stage s of S has l = L / S layers or one more (L % S
/// stages have it), and begins between layers s l and s l + min(s, L % S). Group g runs all passes
/// of its chunks, m times, after one pass forward through the g stages before it; a pass backward
/// through these comes behind it, or its own update. Memory is a price on each byte: for any price,
/// times and price * (bytes - memory) of a plan that fits are no less than the least of each layer,
/// with the micro-batches of a mean of moments in flight. The step is long enough where the groups'
/// larger stages within it are L % S together. `work`: steps taken.
double evenStep(const PlacementProblem &problem, const Configuration &configuration, int64_t groups,
                EvenHeld &held, uint64_t &work);

} // namespace accord
