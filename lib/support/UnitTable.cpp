#include "lib/support/UnitTable.h"
#include "lib/support/Units.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <initializer_list>

namespace accord {
namespace {

struct Prefix {
  const char *symbol;
  int64_t base;
  int exponent;
};
constexpr Prefix kLarge[] = {{"k", 10, 3},  {"M", 10, 6},  {"G", 10, 9}, {"T", 10, 12},
                             {"P", 10, 15}, {"E", 10, 18}, {"Z", 10, 21}};
constexpr Prefix kSmall[] = {{"f", 10, -15}, {"p", 10, -12}, {"n", 10, -9}, {"u", 10, -6}, {"m", 10, -3}};
constexpr Prefix kBinary[] = {{"Ki", 2, 10}, {"Mi", 2, 20}, {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60}};

class Builder {
public:
  std::vector<UnitEntry> entries;

  void one(const std::string &name, Rational factor, Dimension dimension) {
    entries.push_back({name, Quantity(std::move(factor), dimension)});
  }
  void with(llvm::ArrayRef<Prefix> prefixes, const std::string &name, const Rational &factor, Dimension dimension,
            int power = 1) {
    for (const Prefix &prefix : prefixes)
      one(prefix.symbol + name, Rational(prefix.base).power(int64_t(prefix.exponent) * power) * factor, dimension);
  }
};

std::vector<UnitEntry> build() {
  const auto second = Dimension::of(Base::Second), byte = Dimension::of(Base::Byte), flop = Dimension::of(Base::Flop),
             cycle = Dimension::of(Base::Cycle), joule = Dimension::of(Base::Joule), metre = Dimension::of(Base::Metre),
             dollar = Dimension::of(Base::Dollar), gram = Dimension::of(Base::Gram);
  const Rational one(1), eighth = one / Rational(8);
  Builder b;
  for (const auto &[name, factor] : {std::pair("B", one), std::pair("bit", eighth)}) {
    b.one(name, factor, byte);
    b.with(kLarge, name, factor, byte);
    b.with(kBinary, name, factor, byte);
  }
  // A multiply-accumulate is two operations.
  for (auto [name, count] : {std::pair("FLOP", 1), std::pair("OP", 1), std::pair("MAC", 2)}) {
    b.one(name, Rational(count), flop);
    b.with(kLarge, name, Rational(count), flop);
  }
  b.one("cycle", one, cycle);
  b.one("cycles", one, cycle);
  b.one("Hz", one, cycle / second);
  b.with(llvm::ArrayRef(kLarge, 4), "Hz", one, cycle / second);
  b.one("s", one, second);
  b.with(kSmall, "s", one, second);
  b.one("min", Rational(60), second);
  b.one("h", Rational(3600), second);
  b.one("day", Rational(86400), second);
  b.one("days", Rational(86400), second);
  b.one("J", one, joule);
  b.with(kSmall, "J", one, joule);
  b.with(llvm::ArrayRef(kLarge, 4), "J", one, joule);
  b.one("W", one, joule / second);
  b.with(llvm::ArrayRef(kSmall).drop_front(2), "W", one, joule / second);
  b.with(llvm::ArrayRef(kLarge, 3), "W", one, joule / second);
  b.one("Wh", Rational(3600), joule);
  b.with(llvm::ArrayRef(kLarge, 3), "Wh", Rational(3600), joule);
  const Prefix lengths[] = {{"n", 10, -9}, {"u", 10, -6}, {"m", 10, -3}, {"c", 10, -2}};
  b.one("m", one, metre);
  b.with(lengths, "m", one, metre);
  b.one("m2", one, metre * metre);
  b.with(lengths, "m2", one, metre * metre, 2);
  b.one("K", one, Dimension::of(Base::Kelvin));
  b.one("USD", one, dollar);
  b.with(llvm::ArrayRef(kLarge, 2), "USD", one, dollar);
  // Greenhouse gases are weighed as the carbon dioxide that warms as much.
  for (const char *name : {"g", "gCO2e"}) {
    b.one(name, one, gram);
    b.with(llvm::ArrayRef(kLarge, 1), name, one, gram);
  }
  b.one("tCO2e", Rational(1000000), gram);
  b.one("sample", one, {});
  b.one("samples", one, {});
  b.with(llvm::ArrayRef(kLarge, 4), "", one, {});
  return std::move(b.entries);
}

} // namespace

const std::vector<UnitEntry> &unitTable() {
  static const std::vector<UnitEntry> table = build();
  return table;
}

const UnitEntry *findUnit(llvm::StringRef name) {
  static const llvm::StringMap<const UnitEntry *> index = [] {
    llvm::StringMap<const UnitEntry *> map;
    for (const UnitEntry &entry : unitTable())
      map[entry.name] = &entry;
    return map;
  }();
  return index.lookup(name);
}

const std::vector<std::string> &unitNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const UnitEntry &entry : unitTable())
      list.push_back(entry.name);
    return list;
  }();
  return names;
}

llvm::StringRef usualMisspelling(llvm::StringRef name) {
  static const llvm::StringMap<llvm::StringRef> others = {
      {"bps", "bit/s"},      {"kbps", "kbit/s"},  {"Kbps", "kbit/s"},    {"Mbps", "Mbit/s"},    {"Gbps", "Gbit/s"},
      {"Tbps", "Tbit/s"},    {"Bps", "B/s"},      {"MBps", "MB/s"},      {"GBps", "GB/s"},      {"TBps", "TB/s"},
      {"GBs", "GB/s"},       {"KB", "kB"},        {"Kb", "kbit"},        {"Mb", "Mbit"},        {"Gb", "Gbit"},
      {"b", "bit"},          {"bits", "bit"},     {"bytes", "B"},        {"byte", "B"},         {"sec", "s"},
      {"seconds", "s"},      {"second", "s"},     {"hr", "h"},           {"hrs", "h"},          {"hour", "h"},
      {"hours", "h"},        {"mins", "min"},     {"minutes", "min"},    {"minute", "min"},     {"d", "day"},
      {"FLOPS", "FLOP/s"},   {"FLOPs", "FLOP"},   {"GFLOPS", "GFLOP/s"}, {"TFLOPS", "TFLOP/s"}, {"PFLOPS", "PFLOP/s"},
      {"EFLOPS", "EFLOP/s"}, {"GFLOPs", "GFLOP"}, {"TFLOPs", "TFLOP"},   {"PFLOPs", "PFLOP"},   {"flops", "FLOP/s"},
      {"OPS", "OP/s"},       {"GOPS", "GOP/s"},   {"TOPS", "TOP/s"},     {"POPS", "POP/s"},     {"TOPs", "TOP"},
      {"usd", "USD"},        {"dollars", "USD"},  {"EUR", "USD"},        {"watts", "W"},        {"watt", "W"},
      {"joules", "J"},       {"KHz", "kHz"},      {"mhz", "MHz"},        {"ghz", "GHz"},        {"sqmm", "mm2"},
      {"cyc", "cycles"},     {"clk", "cycle"},    {"clock", "cycle"},    {"KiloB", "kB"},       {"ops", "OP"}};
  return others.lookup(name);
}

Picoseconds Picoseconds::ceil(Seconds s) {
  double product = s.value * 1e12;
  // 1e-6 is no double, so 1 us * 1e12 may come out one rounding error above 1000000: that is still
  // 1000000 ps.
  double whole = std::nearbyint(product);
  if (std::fabs(product - whole) <= std::fabs(product) * 0x1p-50)
    return Picoseconds(whole);
  return Picoseconds(std::ceil(product));
}

} // namespace accord
