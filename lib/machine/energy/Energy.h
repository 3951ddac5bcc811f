// Where a step's energy goes, and whether the chip can take it.
#pragma once
#include "lib/machine/energy/EnergyTable.h"
#include "lib/machine/model/Costs.h"

namespace accord {

struct EnergyBreakdown {
  Joules arithmetic;
  std::vector<Joules> memories; ///< per level, as in Machine::memories
  Joules idle;                  ///< idle power over the time
  Joules total() const;
};

/// Of one execution: bytes of each level times its energy per byte, what else the operation uses
/// as arithmetic, and idle power times its time.
EnergyBreakdown energyOf(const OperationCost &cost, const Machine &machine);

/// Of one step: all operations that are no repeats, times their executions, and idle power over
/// `step`.
EnergyBreakdown stepEnergyBreakdown(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step);

/// Error A0482, a warning, when the average is above the design power: the chip would lower its
/// clock. Nothing when the machine states no design power.
std::optional<Error> checkPower(const EnergyBreakdown &energy, const Machine &machine, Seconds step);

/// Numbers the machine does not state, from the table, for logic of a node in metres: energy per
/// FLOP by type unless it states `mac`, and energy per byte of each memory that states none: of
/// dram by its standard (hbm2 unless it is in `standards`, by name of the memory), of register
/// files and of other on-chip memory by capacity. Each gets an origin whose text starts with
/// "default". Types are those that cores state; all if one states none.
void fillEnergies(Machine &machine, double node, const std::map<std::string, std::string> &standards = {},
                  const EnergyTable &table = EnergyTable::shipped());

/// Whether `fillEnergies` filled a number in.
bool isFilledIn(const Origin &origin);

/// One sentence for each number that `fillEnergies` filled in.
std::vector<std::string> energyAssumptions(const Machine &machine);

} // namespace accord
