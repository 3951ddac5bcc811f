// The values of one choice.
#include "lib/exploration/space/DesignData.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

constexpr int64_t kMaxValues = 100000; ///< as many as a count in brackets may have

Error tooMany() { return {Code::TooManyValues, fmt::format("has more than {} values to choose from", kMaxValues), {}}; }

std::optional<Rational> numberOf(Attribute value) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.quantity().value;
  if (auto integer = dyn_cast<IntegerAttr>(value); integer && !isa<BoolAttr>(value) && integer.getType().isInteger(64))
    return Rational(integer.getInt());
  return std::nullopt;
}

/// The largest of …, 1/1000, 1, 1000, … that a number is a multiple of: the unit in which powers
/// of two are counted (2 GHz is one, and so is 2 MiB).
Rational unitOf(const Rational &number) {
  Rational best(1);
  for (int places = -15; places <= 15; places += 3) {
    Rational unit = places >= 0 ? *Rational::parse("1e" + std::to_string(places))
                                : Rational(1) / *Rational::parse("1e" + std::to_string(-places));
    if ((number / unit).isInteger())
      best = unit;
  }
  return best;
}

Result<std::vector<Rational>> numbersOf(accel::ChoiceAttr choice) {
  ArrayAttr ends = choice.getValues();
  Rational low = *numberOf(ends[0]), high = *numberOf(ends[1]);
  std::vector<Rational> all;
  if (choice.getKind() == "pow2") {
    if (low.sign() <= 0)
      return Error{Code::EmptyRange, "chooses among powers of two, which are positive"};
    bool plain = isa<IntegerAttr>(ends[0]) || cast<accel::QuantityAttr>(ends[0]).getDimension().dimensionless();
    Rational next = plain ? Rational(1) : unitOf(low);
    while (plain && next > low)
      next = next / Rational(2);
    while (next < low)
      next = next * Rational(2);
    for (; next <= high; next = next * Rational(2)) {
      if (all.size() >= 4096)
        return tooMany();
      all.push_back(next);
    }
    if (all.empty())
      return Error{Code::EmptyRange,
                   fmt::format("leaves no power of two between {} and {}", spellingOf(ends[0]), spellingOf(ends[1]))};
    return all;
  }
  Rational step = ends.size() == 3 ? *numberOf(ends[2]) : Rational(1);
  if (step.sign() <= 0)
    return Error{Code::BadStep, "needs a positive step"};
  if ((high - low) / step >= Rational(kMaxValues))
    return tooMany();
  for (Rational next = low; next <= high; next = next + step)
    all.push_back(next);
  return all;
}

} // namespace

std::string spellingOf(Attribute value) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.spelled();
  if (auto truth = dyn_cast<BoolAttr>(value))
    return truth.getValue() ? "true" : "false";
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return std::to_string(integer.getInt());
  if (auto word = dyn_cast<StringAttr>(value))
    return word.str();
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(value))
    return symbol.getValue().str();
  return "…";
}

Result<std::vector<Attribute>> valuesOf(accel::ChoiceAttr choice, const accel::KeySchema &schema) {
  using accel::ValueKind;
  bool words =
      schema.kind == ValueKind::Word || schema.kind == ValueKind::Boolean || schema.kind == ValueKind::Reference;
  std::vector<Attribute> members(choice.getValues().begin(), choice.getValues().end());
  if (members.size() > static_cast<size_t>(kMaxValues))
    return tooMany();
  for (Attribute member : members)
    if (words ? !isa<StringAttr, BoolAttr, FlatSymbolRefAttr>(member) : !numberOf(member))
      return Error{Code::WrongType, words ? "is a word, and chooses among something else"
                                          : "chooses among what is no number: only numbers can be in a set"};
  std::vector<Attribute> all;
  if (choice.getKind() == "set") {
    if (!words)
      std::sort(members.begin(), members.end(), [](Attribute a, Attribute b) {
        auto order = *numberOf(a) <=> *numberOf(b);
        return order != 0 ? order < 0 : spellingOf(a) < spellingOf(b);
      });
    for (Attribute member : members)
      if (words ? !llvm::is_contained(all, member) : all.empty() || !(*numberOf(all.back()) == *numberOf(member)))
        all.push_back(member);
    return all;
  }
  if (words)
    return Error{Code::ChoiceNotAllowed, "is a word, of which there is no range"};
  Result<std::vector<Rational>> numbers = numbersOf(choice);
  if (!numbers)
    return numbers.error();
  MLIRContext *context = choice.getContext();
  auto first = dyn_cast<accel::QuantityAttr>(choice.getValues()[0]);
  for (const Rational &number : *numbers) {
    if (first) {
      Quantity value(number, first.getDimension());
      all.push_back(accel::QuantityAttr::get(context, value, value.print(), first.getSource()));
      continue;
    }
    auto whole = number.toInt64();
    if (!whole)
      return Error{Code::NotAnInteger, "chooses among what is no integer"};
    all.push_back(IntegerAttr::get(IntegerType::get(context, 64), *whole));
  }
  return all;
}

} // namespace accord
