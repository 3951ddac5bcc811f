// How hot a die gets, what it leaks then, and what its board draws.
#pragma once
#include "lib/machine/model/Machine.h"

namespace accord {

/// What takes the heat away, in kelvins and watts; as `power { ambient, thermal_resistance, junction_limit,
/// regulator_efficiency }` has it.
struct Cooling {
  double ambient = 308.15; ///< air of 35 degrees Celsius, as servers are specified for (ASHRAE class A2)
  double resistance = 0;   ///< kelvins for a watt, from the die to what cools; 0: `kSink` + `kInterface` / area
  double limit = 378.15;   ///< of the die: 105 degrees Celsius
  double regulator = 0.85; ///< share of the power of the board that reaches the die

  /// What a machine states, by the origins of its keys.
  static Cooling of(const Machine &machine);
  /// From the die to what cools, for a die of an area in square metres.
  double resistanceOf(double area) const;
};

/// A heat sink in forced air, as for modules of 700 W: such a die of 814 mm2 (H100) is then at 87 degrees. Assumed.
constexpr double kSink = 0.05;
/// Die, solder or paste, and lid: kelvins for a watt, times square metres. Assumed, 10 to 30 mm2 K/W in what is sold.
constexpr double kInterface = 20e-6;

/// Temperature of the die in kelvins at its design power; 0 where power or area is not known.
double junctionOf(const Machine &machine);

/// Leakage at a temperature over that at 25 degrees Celsius, at which process.csv has it: it doubles with each 20 K.
/// Assumed: from 10 K of old processes to 25 K of FinFETs.
double leakageFactor(double kelvins);
/// Temperature of a die of `watts` beside `leakage` watts (at 25 degrees) over a resistance: where both agree, at most
/// the limit, since a hotter die lowers its clock.
double settledJunction(const Cooling &cooling, double resistance, double watts, double leakage);

/// What a chip may draw when everything on it works at its peak: idle power, of each core its peak times the energy of
/// an operation (of its types the one that draws most; a core that states no type computes bf16 if it is a tensor
/// core, fp32 if a vector core), of each memory its bandwidth times the energy of a byte. `min`: of each core's types
/// the one that draws least.
Watts powerAtPeak(const Machine &machine, bool min = false);

} // namespace accord
