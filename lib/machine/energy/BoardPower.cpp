#include "lib/machine/energy/BoardPower.h"
#include <algorithm>

namespace accord {

double voltageAt(double clock, const VoltageLaw &law) { return std::max(law.floor, 1 - law.slope * (1 - clock)); }

double dynamicPowerAt(double clock, const VoltageLaw &law) {
  double voltage = voltageAt(clock, law);
  return clock * voltage * voltage;
}

double clockAt(double dynamicPower, const VoltageLaw &law) {
  if (!(dynamicPower < 1))
    return 1;
  double low = 0, high = 1;
  for (int halving = 0; halving < 60; ++halving) {
    double middle = (low + high) / 2;
    (dynamicPowerAt(middle, law) <= dynamicPower ? low : high) = middle;
  }
  return low;
}

BoardPower boardPower(const BoardRating &rating, const UnitShares &shares, const BoardPowerLaw &law) {
  if (!(shares.busy > 0))
    return {rating.idle, rating.idle};
  const double idle = rating.idle.value, range = rating.max.value - idle;
  double sum = law.busy * shares.busy + law.vector * shares.vector + law.tensor * shares.tensor +
               law.memory * shares.memory + law.link * shares.link;
  double active = range * std::min(1.0, sum / shares.busy), stretch = 1;
  double limit = rating.limit.value > 0 ? std::max(rating.limit.value - idle, 0.01 * range) : range;
  if (active > limit) {
    stretch = 1 / clockAt(limit / active, law.voltage);
    active = limit;
  }
  double time = shares.busy * stretch + (1 - shares.busy);
  return {Watts(idle + active * shares.busy * stretch / time), Watts(idle + active), time};
}

Watts serverPower(const ServerRating &server, Watts board) {
  return Watts((server.boards * board.value + server.host.value + server.fans.value) / server.supplyEfficiency);
}

} // namespace accord
