// Area, energies and power of a machine from its components: arithmetic with registers and wires, macros of memory,
// interfaces, leakage. docs/chips.md has the formulas in words, and how far they are from chips that were made.
#pragma once
#include "lib/machine/energy/Components.h"
#include "lib/machine/energy/EnergyTable.h"
#include "lib/machine/model/Machine.h"

namespace accord {

/// Smallest and largest.
struct ComponentSpan {
  double low = 0, high = 0;
};

/// What each memory of a chip takes with its interfaces, and what a byte of it takes, in square metres and joules.
struct MemoryMacros {
  std::vector<double> areas;
  std::vector<double> joulesPerByte; ///< by memory; negative: none, as for dram
  std::vector<double> standby;       ///< watts of interfaces and of the memory behind them while nothing moves
  /// Of one design, or as small or large as no design of a box passes.
  enum class End : uint8_t { Design, Low, High } end = End::Design;
};

/// A network on the chip: square metres, and joules of a byte that crosses it.
struct InterconnectCost {
  double area = 0, joulesPerByte = 0;
};

/// What a table of another program says of a memory or core of the chip (ForeignTable.h); it stands instead of the
/// model, as it is: at the supply of the table, and without what a chip is over its components.
struct TableNumbers {
  std::optional<double> area;         ///< square metres of the whole memory, of one element of a core
  std::optional<double> energy;       ///< joules of a byte, of a FLOP
  std::optional<double> leakage;      ///< watts of the whole memory
  std::optional<double> cycleLeakage; ///< joules of a cycle, of the whole memory or of one element
};

/// Components in one process at one share of its nominal supply.
class ComponentModel {
public:
  /// `node` in metres and `clock` in hertz are positive; `voltage` is a share of the nominal supply.
  ComponentModel(double node, double voltage, double clock,
                 const ComponentNumbers &numbers = ComponentNumbers::shipped(),
                 const ProcessTable &processes = ProcessTable::shipped(),
                 const InterfaceTable &interfaces = InterfaceTable::shipped(),
                 const EnergyTable &energies = EnergyTable::shipped());

  /// One multiplier with adder, registers for two operands, their successors, the next stationary one and the sum:
  /// (multiply + add + (5 w + accumulator) bits of register) * scaling * overhead, in square metres. Nothing for a type
  /// without a table.
  std::optional<double> elementArea(const std::string &type) const;
  /// Of a multiply-accumulate there, in joules: arithmetic and registers, and 2 w + accumulator bits over the pitch of
  /// an element in its array.
  std::optional<double> elementEnergy(const std::string &type) const;

  /// Macros of a memory, one for each bank: (bits * (1 + P / rows) * (1 + P / columns) of its subarrays + P * (width +
  /// P) of its data path and control) * cell * (1 + 0.6 (ports - 1)), with P as periphery. Subarrays are at most 256 x
  /// 256, and as square as the width of the bank lets them be, which is `port_width` of all ports, else the bandwidth
  /// over banks and clock. A register file is registers. Device memory has none. In square metres; it does not fall
  /// with capacity, banks, ports, width and bandwidth.
  double macroArea(const Memory &memory) const;
  /// Of a byte, in joules: the access of a bank (energy.csv; in proportion to the root of its size beyond the table),
  /// and a wire over the edge of its macro. A byte of a register file takes the clock of all its registers at its
  /// full bandwidth.
  double macroEnergy(const Memory &memory) const;

  /// Interfaces of a device memory of a standard: as many as its bandwidth takes. Their areas are those of
  /// interfaces.csv times what a chip has to feed them.
  double interfaceArea(const Memory &memory) const;
  double interfaceEdge(const Memory &memory) const;
  /// Watts of these interfaces and of the memory behind them while nothing moves: clocks, standby, refresh.
  double interfaceStandby(const Memory &memory) const;
  /// Of `count` interfaces that are no memory's: square metres.
  double linkArea(const Interface &one, double count) const;

  /// Leakage of an area of logic and memory at 25 degrees Celsius, in watts: in proportion to the supply.
  Watts leakage(double area) const;
  /// A network between `cores` and the memory that they share, which moves so many bits in a cycle, on a chip of an
  /// area without it. Each core has its share of the bits, n cores on a square grid of pitch sqrt(area / n):
  /// - mesh: a router of 5 ports a core, 2 (k^2 - 1) / (3 k) hops for k = sqrt(n), and links k / 4 as wide as a share
  ///   where that is more, for half of all bits cross the middle;
  /// - ring: 3 ports, n / 4 hops, links n / 8 as wide;
  /// - crossbar: a matrix of all bits by all bits in tracks, wires across it and over an edge of the chip;
  /// - bus: wires over an edge of the chip, and no area of their own.
  InterconnectCost interconnect(const std::string &kind, double cores, double bitsPerCycle, double area) const;
  /// One element of a core, in square metres: of its types the largest (`min`: the smallest).
  double elementArea(const Core &core, bool min) const;
  MemoryMacros macros(const Machine &machine) const;
  const InterfaceTable &interfaces() const { return interfaces_; }
  /// Share of the power above idle that runs while nothing computes.
  double clockShare() const { return numbers_.clock; }

private:
  double scaled(const ComponentNumbers::AtNode &number, bool area) const;
  double bankArea(const Memory &memory) const;
  double wireEnergy(double metres) const; ///< of a byte
  /// How many interfaces of its standard a memory has.
  std::pair<const Interface *, double> interfacesOf(const Memory &memory) const;

  const ComponentNumbers &numbers_;
  const InterfaceTable &interfaces_;
  const EnergyTable &energies_;
  double node_, voltage_, clock_, supply_; ///< energy at the supply over that at 0.8 V
  ProcessNode process_;
};

/// `area { model = "catalog/components" }` and `power { model = "catalog/components" }`: what of an accelerator follows
/// from its components.
struct ComponentRule {
  bool area = false, power = false;
  bool macStated = false, idleStated = false;
  double node = 0, voltage = 1;
  std::map<std::string, double> interfaces;   ///< how many of each that is no memory's
  std::string interconnect;                   ///< "mesh", …; empty: none
  std::map<std::string, TableNumbers> tables; ///< by name of a memory or core
};

/// Sets what follows: the area; energies of memories and arithmetic that are not stated; idle power as leakage at
/// the temperature of the die at its design power (Cooling.h), the links that always run, standby of device memory, and
/// the share of the clock. What tables say stands
/// instead of the model. `macros`: of all designs of a box instead of the machine's own; `min`: of the types of a core
/// the smallest element. Errors A0483 and A1405, without a place.
std::optional<Error> applyComponents(const ComponentRule &rule, Machine &machine, const MemoryMacros *macros = nullptr,
                                     bool min = false);

} // namespace accord
