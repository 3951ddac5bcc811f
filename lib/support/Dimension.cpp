#include "lib/support/Dimension.h"
#include "lib/support/Quantity.h"

namespace accord {
namespace {

struct Known {
  Dimension dimension;
  const char *name, *unit;
};

const std::vector<Known> &knownDimensions() {
  const auto s = Dimension::of(Base::Second), byte = Dimension::of(Base::Byte), flop = Dimension::of(Base::Flop),
             cycle = Dimension::of(Base::Cycle), joule = Dimension::of(Base::Joule), metre = Dimension::of(Base::Metre),
             dollar = Dimension::of(Base::Dollar), kelvin = Dimension::of(Base::Kelvin),
             gram = Dimension::of(Base::Gram);
  static const std::vector<Known> table = {
      {Dimension{}, "plain number", ""},
      {s, "time", "s"},
      {byte, "size", "B"},
      {flop, "work", "FLOP"},
      {cycle, "cycles", "cycle"},
      {joule, "energy", "J"},
      {metre, "length", "m"},
      {metre * metre, "area", "mm2"},
      {dollar, "cost", "USD"},
      {kelvin, "temperature", "K"},
      {gram, "mass", "g"},
      {byte / s, "bandwidth", "B/s"},
      {byte / cycle, "bytes per cycle", "B/cycle"},
      {flop / s, "compute rate", "FLOP/s"},
      {flop / cycle, "work per cycle", "FLOP/cycle"},
      {cycle / s, "frequency", "Hz"},
      {joule / s, "power", "W"},
      {joule / byte, "energy per byte", "pJ/B"},
      {joule / flop, "energy per operation", "pJ/FLOP"},
      {joule / cycle, "energy per cycle", "pJ/cycle"},
      {dollar / s, "price", "USD/h"},
      {flop / byte, "arithmetic intensity", "FLOP/B"},
      {flop / joule, "energy efficiency", "FLOP/J"},
      {gram / joule, "carbon intensity", "g/kWh"},
      {metre * metre / byte, "area per byte", "mm2/B"},
      {joule / s / (metre * metre), "power density", "W/mm2"},
      {joule * s, "energy-delay product", "J*s"},
      {Dimension{} / s, "rate", "1/s"},
  };
  return table;
}

std::string baseUnits(const Dimension &dimension) {
  std::string above, below;
  for (unsigned i = 0; i < Dimension::kBases; ++i) {
    int e = dimension.exponents[i];
    if (e == 0)
      continue;
    std::string part = Dimension::symbols()[i] + (e == 1 || e == -1 ? "" : "^" + std::to_string(e < 0 ? -e : e));
    if (e > 0)
      above += (above.empty() ? "" : "*") + part;
    else
      below += "/" + part;
  }
  return (above.empty() ? "1" : above) + below;
}

} // namespace

const std::array<const char *, Dimension::kBases> &Dimension::symbols() {
  static constexpr std::array<const char *, kBases> kSymbols = {"s", "B", "FLOP", "cycle", "J", "m", "USD", "K", "g"};
  return kSymbols;
}

std::string describe(const Dimension &dimension) {
  if (dimension.dimensionless())
    return "a plain number";
  for (const Known &known : knownDimensions())
    if (known.dimension == dimension)
      return std::string(known.name) + " (" + known.unit + ")";
  return "a quantity in " + baseUnits(dimension);
}

std::string baseUnitsOf(const Dimension &dimension) {
  return dimension.dimensionless() ? std::string() : baseUnits(dimension);
}

} // namespace accord
