// The electrical power of boards and of the servers around them, from the time in which their units work.
#pragma once
#include "lib/support/Units.h"

namespace accord {

/// Shares of a time, 0 to 1, in which parts of a board work; those of units as far as they work at their peak.
struct UnitShares {
  double busy = 0; ///< any operation runs
  double vector = 0, tensor = 0, memory = 0, link = 0;
};

/// Voltage over that at the full clock, where the clock is a share c of the full one: max(floor, 1 - slope (1 - c)).
/// Dynamic power goes with c times the square of it: C V^2 f, as of any CMOS circuit. Near the top voltage falls faster
/// than the clock: by the alpha-power law (Sakurai and Newton, IEEE JSSC 1990), f ~ (V - Vt)^a / V, its slope is
/// (1 - Vt) / (a - 1 + Vt), which is 1.75 for a = 1 and Vt = 0.36. Below the floor it stays. Both numbers are fitted to
/// times and powers under caps (lib/catalog/measured-caps.csv) by lib/machine/calibration/CapFit.h; docs/power.md has
/// the errors.
struct VoltageLaw {
  double slope = 1.75, floor = 0.8;
};
double voltageAt(double clock, const VoltageLaw &law = {});
/// Over that at the full clock: c V(c)^2. It grows with the clock.
double dynamicPowerAt(double clock, const VoltageLaw &law = {});
/// The clock at which dynamic power is this share of that at the full one: 1 from 1 on, 0 at 0 and below.
double clockAt(double dynamicPower, const VoltageLaw &law = {});

/// Of the watts between idle and the largest power, the share that each adds while it works. Without a unit: shares.
/// `voltage`: how dynamic power falls with the clock. Fitted to measured
/// boards and servers (lib/catalog/measured-power.csv) with priors by lib/machine/calibration/PowerFit.h; docs/power.md
/// has the errors. No open row separates `link`, which keeps its prior.
struct BoardPowerLaw {
  double busy = 0.559, vector = 0.321, tensor = 0.882, memory = 0.119, link = 0.05;
  VoltageLaw voltage = {};
};

struct BoardRating {
  Watts idle, max; ///< max: the design power of the board
  Watts limit;     ///< that it is set to; 0: `max`
};

struct BoardPower {
  Watts average; ///< over the time, with what the limit stretches
  Watts active;  ///< while an operation runs
  /// How many times longer everything takes, because the clock falls where `active` would pass the limit.
  double slowdown = 1;
};

/// Active: idle + (max - idle) * min(1, sum of coefficients * shares / busy). Above the limit it is the limit, and what
/// runs takes 1 / `clockAt`((limit - idle) / (active - idle)) as long; where the limit is not above idle, as long as at
/// a hundredth of the dynamic power.
BoardPower boardPower(const BoardRating &rating, const UnitShares &shares, const BoardPowerLaw &law);

/// A server: `boards` of one power, CPUs, memory, network cards and disks (`host`), `fans` (0: cooled by a liquid),
/// over the efficiency of its supply, 0 to 1.
struct ServerRating {
  int boards = 1;
  Watts host, fans;
  double supplyEfficiency = 1;
};
Watts serverPower(const ServerRating &server, Watts board);

/// In which 90 of 100 measured powers lie, from the computed one: both are factors of it.
struct PowerInterval {
  double low = 1, high = 1;
};
/// Of boards and servers, by rows of sources that the fit has not seen.
constexpr PowerInterval kBoardPowerInterval{0.70, 1.10};

} // namespace accord
