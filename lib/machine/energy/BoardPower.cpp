#include "lib/machine/energy/BoardPower.h"
#include <algorithm>
#include <cmath>

namespace accord {

BoardPower boardPower(const BoardRating &rating, const UnitShares &shares, const BoardPowerLaw &law) {
  if (!(shares.busy > 0))
    return {rating.idle, rating.idle};
  const double idle = rating.idle.value, range = rating.max.value - idle;
  double sum = law.busy * shares.busy + law.vector * shares.vector + law.tensor * shares.tensor +
               law.memory * shares.memory + law.link * shares.link;
  double active = range * std::min(1.0, sum / shares.busy), stretch = 1;
  double limit = rating.limit.value > 0 ? std::max(rating.limit.value - idle, 0.01 * range) : range;
  if (active > limit) {
    stretch = std::pow(active / limit, 1 / law.clock);
    active = limit;
  }
  double time = shares.busy * stretch + (1 - shares.busy);
  return {Watts(idle + active * shares.busy * stretch / time), Watts(idle + active), time};
}

Watts serverPower(const ServerRating &server, Watts board) {
  return Watts((server.boards * board.value + server.host.value + server.fans.value) / server.supplyEfficiency);
}

} // namespace accord
