#include "lib/support/Quantity.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Number.h"
#include "lib/support/UnitTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace accord {
namespace {

Error tooLarge() { return {Code::NumberTooLarge, "the result is too large or too precise to be computed exactly"}; }

Result<Quantity> checked(Rational value, Dimension dimension) {
  for (int8_t exponent : dimension.exponents)
    if (exponent > 32 || exponent < -32)
      return Error{Code::BadExponent, "the dimension of the result has an exponent beyond 32"};
  if (value.bits() > Rational::kMaxBits)
    return tooLarge();
  return Quantity(std::move(value), dimension);
}

Error mismatch(llvm::StringRef verb, const Quantity &a, llvm::StringRef joint, const Quantity &b) {
  return {Code::DimensionMismatch,
          "cannot " + verb.str() + " " + describe(a.dimension) + " " + joint.str() + " " + describe(b.dimension)};
}

Error divisionByZero() { return {Code::DivisionByZero, "division by zero"}; }

/// A whole number that can be an exponent.
Result<int64_t> exponentOf(const Quantity &b) {
  if (!b.dimensionless())
    return Error{Code::BadExponent, "an exponent is a plain number, and this is " + describe(b.dimension)};
  auto n = b.value.toInt64();
  if (!n || *n > 8192 || *n < -8192)
    return Error{Code::BadExponent,
                 "an exponent is a whole number between -8192 and 8192, and this is " + b.value.print()};
  return *n;
}

} // namespace

std::optional<int64_t> Quantity::toInt64() const { return dimensionless() ? value.toInt64() : std::nullopt; }

Result<Quantity> parseUnit(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '/');
  Quantity result(Rational(1));
  for (size_t i = 0; i < parts.size(); ++i) {
    llvm::StringRef name = parts[i].trim();
    const UnitEntry *unit = findUnit(name);
    if (!unit) {
      std::string suggestion = usualMisspelling(name).str();
      if (suggestion.empty())
        suggestion = nearest(name, unitNames());
      std::string message = "unknown unit '" + name.str() + "'";
      if (parts.size() > 1) {
        message += " in '" + text.trim().str() + "'";
        std::string whole;
        for (size_t k = 0; !suggestion.empty() && k < parts.size(); ++k)
          whole += (k ? "/" : "") + (k == i ? suggestion : parts[k].trim().str());
        suggestion = whole;
      }
      return Error{Code::UnknownUnit, message, {}, {}, suggestion};
    }
    Quantity factor = unit->factor;
    result = i == 0 ? factor : Quantity(result.value / factor.value, result.dimension / factor.dimension);
    if (i > 16)
      return Error{Code::BadExponent, "a unit has at most 16 parts"};
  }
  return result;
}

/// "0x1000", of at most as many digits as a number may have.
static Result<Rational> parseHexadecimal(llvm::StringRef text) {
  Rational value(0);
  size_t digits = 0;
  for (char c : text.drop_front(2))
    if (c != '_') {
      value = value * Rational(16) + Rational(llvm::hexDigitValue(c));
      if (++digits > 256)
        return Error{Code::NumberTooLarge, "the number '" + text.take_front(40).str() + "...' is too large"};
    }
  return value;
}

Result<Quantity> parseQuantity(llvm::StringRef text) {
  text = text.trim();
  const llvm::StringRef hexadecimal = leadingHexadecimal(text);
  llvm::StringRef number = hexadecimal.empty() ? leadingNumber(text) : hexadecimal,
                  unit = text.drop_front(number.size()).trim();
  if (number.find_first_of("0123456789") == llvm::StringRef::npos)
    return Error{Code::WrongType, "'" + text.str() + "' is not a quantity"};
  ACCORD_TRY(value, hexadecimal.empty() ? parseNumber(number) : parseHexadecimal(number));
  if (unit.empty())
    return Quantity(value);
  ACCORD_TRY(factor, parseUnit(unit));
  // In base units, too: 1e-323 pJ is no energy.
  if (auto fits = expectDouble(value * factor.value, text); !fits)
    return fits.takeError();
  return checked(value * factor.value, factor.dimension);
}

Result<Quantity> add(const Quantity &a, const Quantity &b) {
  if (a.dimension != b.dimension)
    return mismatch("add", a, "and", b);
  return checked(a.value + b.value, a.dimension);
}

Result<Quantity> subtract(const Quantity &a, const Quantity &b) {
  if (a.dimension != b.dimension)
    return mismatch("subtract", b, "from", a);
  return checked(a.value - b.value, a.dimension);
}

Result<Quantity> multiply(const Quantity &a, const Quantity &b) {
  return checked(a.value * b.value, a.dimension * b.dimension);
}

Result<Quantity> divide(const Quantity &a, const Quantity &b) {
  if (b.value.isZero())
    return divisionByZero();
  return checked(a.value / b.value, a.dimension / b.dimension);
}

Result<Quantity> floorDivide(const Quantity &a, const Quantity &b) {
  if (b.value.isZero())
    return divisionByZero();
  return checked((a.value / b.value).floor(), a.dimension / b.dimension);
}

Result<Quantity> ceilDivide(const Quantity &a, const Quantity &b) {
  if (b.value.isZero())
    return divisionByZero();
  return checked((a.value / b.value).ceil(), a.dimension / b.dimension);
}

Result<Quantity> modulo(const Quantity &a, const Quantity &b) {
  if (a.dimension != b.dimension)
    return mismatch("divide with remainder", a, "by", b);
  if (b.value.isZero())
    return divisionByZero();
  return checked(a.value - b.value * (a.value / b.value).floor(), a.dimension);
}

Result<Quantity> power(const Quantity &a, const Quantity &b) {
  auto n = exponentOf(b);
  if (!n)
    return n.error();
  if (a.value.isZero() && *n < 0)
    return divisionByZero();
  int64_t size = *n < 0 ? -*n : *n;
  for (int8_t exponent : a.dimension.exponents)
    if (exponent != 0 && size * (exponent < 0 ? -exponent : exponent) > 32)
      return Error{Code::BadExponent, "the dimension of the result has an exponent beyond 32"};
  // 0, 1 and -1 stay small whatever the exponent.
  if (a.value.bits() > 1 && a.value.bits() * size > Rational::kMaxBits)
    return tooLarge();
  return checked(a.value.power(*n), a.dimension.power(a.dimensionless() ? 0 : *n));
}

Result<Quantity> powerOfTwo(const Quantity &a) { return power(Quantity::number(2), a); }

Result<Quantity> logTwo(const Quantity &a) {
  if (!a.dimensionless() || a.value.sign() <= 0)
    return Error{Code::BadExponent, "log2 needs a positive plain number, and this is " + a.print()};
  const Rational &v = a.value;
  auto exact = [](const llvm::DynamicAPInt &n) -> std::optional<int64_t> {
    unsigned bits = bitsOf(n);
    auto back = powerOfTwo(Quantity::number(bits - 1));
    if (back && back->value.numerator() == n)
      return bits - 1;
    return std::nullopt;
  };
  auto above = exact(v.numerator()), below = exact(v.denominator());
  if (above && below)
    return Quantity(Rational(*above - *below));
  // Beyond the range of a double the logarithm is split, so that it stays finite.
  int64_t bits = bitsOf(v.numerator()), shift = bits - bitsOf(v.denominator());
  auto scaled = multiply(Quantity(v), *powerOfTwo(Quantity::number(-shift)));
  if (!scaled)
    return tooLarge();
  return Quantity(Rational::ofDouble(std::log2(scaled->value.toDouble()) + shift));
}

Result<int> compare(const Quantity &a, const Quantity &b) {
  if (a.dimension != b.dimension)
    return mismatch("compare", a, "with", b);
  auto order = a.value <=> b.value;
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

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
    unsigned cost = text->size() + (handy ? 0 : 4);
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
