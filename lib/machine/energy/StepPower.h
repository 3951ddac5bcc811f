// What the board of a device draws over a step, from what its operations cost.
#pragma once
#include "lib/machine/energy/BoardPower.h"
#include "lib/machine/model/Costs.h"
#include <optional>

namespace accord {

/// Whether the law of boards counts the energy of a machine: it states `tdp`, and neither `mac` nor an energy of a
/// memory. A chip that states its own energies keeps the account of its parts (docs/decisions/0037).
bool hasBoardPower(const Machine &machine);

/// Shares of a step: any operation runs; vector and tensor cores work at their peak, the device memory at its
/// bandwidth; links carry something. Operations that run side by side count each, and no share is above 1.
UnitShares unitShares(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step);

/// What the board draws on average over a step. Nothing where the law does not count, or the step takes no time.
std::optional<BoardPower> stepPower(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step);

/// Replaces the energy of each operation, and of each alternative, by what a board draws above idle while it runs, by
/// the same law; leaves it where the law does not count. Operations that run side by side count each, so a step may
/// pass the design power.
void chargeBoard(const WorkGraph &graph, const Machine &machine, Costs &costs);

} // namespace accord
