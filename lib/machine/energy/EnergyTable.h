// Published energies: lib/catalog/energy.csv.
#pragma once
#include "lib/machine/energy/Table.h"
#include "lib/support/Units.h"
#include <map>
#include <optional>

namespace accord {

/// A number with what it rests on, for people.
template <typename Unit> struct Sourced {
  Unit value;
  std::string source;
};

class EnergyTable {
public:
  /// `text` in the form of lib/catalog/energy.csv. Issues as for `Table`; A0305 for an unknown
  /// part.
  static Result<EnergyTable> read(std::string_view text, const std::string &file);
  static const EnergyTable &shipped();

  /// Half a multiply-accumulate of a type at a node in metres: a multiplication in the type and an
  /// addition in its accumulator: fp32 for floating point, int32 for integers. Types that are not
  /// tabulated: bf16 as fp16, tf32 as fp32, fp8 and int4 as int8 with its accumulator, int16
  /// with four multiplications of int8, int64 as int32; fp64 is fp32 with the multiplication times (53/24)^2, for
  /// multipliers grow with the square of the significand. Nothing for any other type.
  std::optional<Sourced<JoulesPerFlop>> flop(const std::string &type, double node) const;
  /// An on-chip memory of a capacity at a node: between two tabulated sizes a straight line over
  /// the logarithms of both; beyond them as the nearest (a larger memory is made of such banks).
  Sourced<JoulesPerByte> sram(Bytes capacity, double node) const;
  std::pair<Bytes, Bytes> sramRange() const; ///< the smallest and the largest that is tabulated
  std::optional<Sourced<JoulesPerByte>> dram(const std::string &kind) const; ///< "hbm2", …
  Sourced<JoulesPerByte> registerFile() const;

private:
  struct Entry {
    double joules = 0; ///< per operation or byte
    double node = 0;   ///< 0: never scaled
    double size = 0;
    std::string source;
  };
  Entry sramAt(double size) const;
  std::optional<Sourced<JoulesPerByte>> perByte(const std::string &part, const std::string &type) const;
  std::map<std::pair<std::string, std::string>, Entry> entries; ///< by part and type, but for srams
  std::vector<Entry> srams;                                     ///< by size
};

} // namespace accord
