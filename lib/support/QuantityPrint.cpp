// How quantities are written: in the unit of the field that gives the shortest exact number.
#include "lib/support/Quantity.h"
#include "lib/support/UnitTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace accord {
namespace {

struct Candidate {
  std::string unit;
  Quantity factor;
};

/// The units that are printed, best known first; those of one dimension compete for the shortest
/// number.
const std::vector<Candidate> &candidates() {
  static const std::vector<Candidate> list = [] {
    const char *names = "B kB MB GB TB PB EB KiB MiB GiB TiB PiB|B/s kB/s MB/s GB/s TB/s PB/s "
                        "KiB/s MiB/s GiB/s TiB/s|B/cycle "
                        "kB/cycle|s ms us ns ps h|Hz kHz MHz GHz|cycles|FLOP kFLOP MFLOP GFLOP "
                        "TFLOP PFLOP EFLOP ZFLOP|FLOP/s kFLOP/s "
                        "MFLOP/s GFLOP/s TFLOP/s PFLOP/s EFLOP/s|FLOP/cycle|J mJ uJ nJ pJ kJ MJ "
                        "GJ|W mW uW kW MW|pJ/bit pJ/B "
                        "nJ/B|pJ/FLOP nJ/FLOP|pJ/cycle nJ/cycle|m mm um nm|mm2 um2 m2|USD "
                        "MUSD|USD/h|FLOP/B|GFLOP/J|mm2/MiB "
                        "mm2/KiB um2/bit|W/mm2";
    std::vector<Candidate> result;
    llvm::SmallVector<llvm::StringRef> units;
    llvm::StringRef(names).split(units, ' ');
    for (llvm::StringRef group : units) {
      llvm::SmallVector<llvm::StringRef> parts;
      group.split(parts, '|');
      for (llvm::StringRef unit : parts)
        if (auto factor = parseUnit(unit))
          result.push_back({unit.str(), *factor});
    }
    return result;
  }();
  return list;
}

std::string approximately(const Quantity &quantity, llvm::StringRef unit) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "about " << llvm::format("%.6g", quantity.toDouble());
  if (!unit.empty())
    out << ' ' << unit;
  return text;
}

} // namespace

std::string Quantity::print() const {
  std::string best;
  unsigned bestCost = ~0u;
  const Rational thousand(1000), one(1);
  for (const Candidate &candidate : candidates()) {
    if (candidate.factor.dimension != dimension)
      continue;
    Rational number = value / candidate.factor.value;
    if (candidate.unit == "h" && !number.isInteger())
      continue;
    auto text = number.decimal(24);
    if (!text)
      continue;
    Rational size = number.sign() < 0 ? -number : number;
    bool handy = value.isZero() ||
                 (size >= one && size < (candidate.unit.find('i') == std::string::npos ? thousand : Rational(1024)));
    // Out of the handy range only if that saves four characters.
    unsigned cost = static_cast<unsigned>(text->size()) + (handy ? 0 : 4);
    if (cost < bestCost) {
      bestCost = cost;
      best = *text + " " + (candidate.unit == "cycles" && number == one ? "cycle" : candidate.unit);
    }
  }
  if (!best.empty())
    return best;
  std::string unit = baseUnitsOf(dimension), number = value.print();
  if (number.size() > 24)
    return approximately(*this, unit);
  return unit.empty() ? number : number + " " + unit;
}

} // namespace accord
