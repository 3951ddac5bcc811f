// Levels of a device at which its clock is lowered for less power, and what the device is at one of them.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/support/Result.h"

namespace accord {

/// A level states its clock, or a cap on the board's power from which the clock follows.
struct PowerLevel {
  std::string name; ///< "eco"; empty: the device as it is described
  double clock = 1; ///< share of the full one, above 0 and at most 1
  /// Of what the device draws above idle at the full clock, the share that it draws with the same work in each cycle.
  double power = 1;
  Watts cap;     ///< of the average of a step; 0: none
  Origin origin; ///< as it is written
};

/// The level of a clock, where power is not stated: `dynamicPowerAt`.
PowerLevel levelAt(double clock);
/// The lowest clock that a cap needs: at which the board keeps it while it draws all that it ever does, its design
/// power. 1 where the machine states no design power. Error A0302: the cap leaves less than 1 % of what the
/// board may draw above idle.
Result<double> lowestClockUnder(const PowerLevel &level, const Machine &machine);
/// The highest clock between `low` and 1 at which the average power of a step is at most `cap`, to within 1/512, by
/// bisection; `low` where even that draws more. `wattsAt`: of one device at a level, which grows with the clock;
/// negative where it is not known, as after a stop, which ends the search at the best clock so far.
template <typename WattsAt> double highestClockUnder(Watts cap, double low, WattsAt &&wattsAt) {
  double watts = wattsAt(levelAt(1));
  if (watts >= 0 && watts <= cap.value)
    return 1;
  for (double high = 1; high - low > 1.0 / 512;) {
    double middle = (low + high) / 2;
    watts = wattsAt(levelAt(middle));
    if (watts < 0)
      break;
    (watts <= cap.value ? low : high) = middle;
  }
  return low;
}

/// The machine at a level: what is clocked with the cores is slower, and all else stays.
/// - Peaks of cores and the clock are `clock` of what they were; so are bandwidths of memories on the chip, whose
///   latencies are longer by as much. Device memory, links and the host stay.
/// - Energies of an operation and of a byte of memory on the chip are power / clock of what they were, as power is
///   energy times rate. Idle power stays. A board whose power is known as a whole (`hasBoardPower`) draws at most idle
///   + power * (tdp - idle), since all that it draws above idle goes with what is clocked; what device memory draws is
///   a small part of that and falls with it.
/// - Fitted numbers of a calibration stay: they are shares of peaks and of bandwidths, and times of launches. What
///   is bound by arithmetic takes 1 / clock as long, and what is bound by memory, links or launches as long as before.
Machine atLevel(Machine machine, const PowerLevel &level);

} // namespace accord
