#include "tools/accord/MineClose.h"
#include <algorithm>

namespace accord {

MiningResult closeMining(MiningProblem &problem, const MiningResult &quick,
                         const MiningOptions &options) {
  if (!quick.best || quick.refused || (options.stop && *options.stop) ||
      quick.evaluations >= options.evaluations)
    return quick;
  MiningOptions search = options;
  search.known = {*quick.best};
  search.evaluations = options.evaluations - quick.evaluations;
  MiningResult closed = miningStrategy("exact")(problem, search);
  closed.evaluations += quick.evaluations, closed.bounds += quick.bounds;
  closed.seconds += quick.seconds;
  // What no schedule is below with repeats that overlap is no less a bound.
  closed.bound = std::max(closed.bound, std::min(quick.bound, closed.value));
  std::vector<MiningMoment> moments = quick.moments;
  for (MiningMoment moment : closed.moments) {
    moment.evaluations += quick.evaluations, moment.bounds += quick.bounds;
    moment.seconds += quick.seconds;
    moment.incumbent = std::min(moment.incumbent, quick.value);
    moment.bound = std::max(moment.bound, std::min(quick.bound, moment.incumbent));
    moments.push_back(moment);
  }
  closed.moments = std::move(moments);
  return closed;
}

} // namespace accord
