// What makes a chip hard to build or to cool.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/support/Diagnostics.h"
#include <vector>

namespace accord {

/// At most so many watts for a square metre of a die are taken away from products: an H100 has 0.86 W/mm2 and an A100
/// 0.48 W/mm2 by their data sheets; liquid in the chip itself is not counted on.
constexpr double kCoolableDensity = 1e6;
/// The field of a scanner: 26 mm x 33 mm.
constexpr double kReticle = 858e-6;

/// A warning, and what to do about it.
struct Buildability {
  Error error;
  std::string help;
};

/// Of a machine whose area is known: a design power above 1 W/mm2 (A1401), a die above the reticle (A1402), interfaces
/// longer than the perimeter of a square die (A1403). Where the process is known by the model of components: a clock
/// above that of its logic (A1404). What is not known is not judged.
std::vector<Buildability> buildabilityOf(const Machine &machine);

} // namespace accord
