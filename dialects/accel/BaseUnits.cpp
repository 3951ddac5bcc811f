#include "dialects/accel/BaseUnits.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace accord::accel {

std::string baseUnits(const Dimension &dimension) {
  std::string above, below;
  for (unsigned i = 0; i < Dimension::kBases; ++i) {
    int power = dimension.exponents[i];
    if (power == 0)
      continue;
    std::string &side = power > 0 ? above : below;
    if (!side.empty())
      side += "*";
    side += Dimension::symbols()[i];
    if (std::abs(power) != 1)
      side += std::to_string(std::abs(power));
  }
  return below.empty() ? above : above + "/" + below;
}

std::optional<Dimension> baseUnit(StringRef word) {
  StringRef letters = word.take_while([](char c) { return isAlpha(c); });
  StringRef digits = word.drop_front(letters.size());
  int power = 1;
  if (!digits.empty() && (digits.getAsInteger(10, power) || power < 1 || power > 100))
    return std::nullopt;
  for (unsigned i = 0; i < Dimension::kBases; ++i)
    if (letters == Dimension::symbols()[i])
      return Dimension::of(static_cast<Base>(i), power);
  return std::nullopt;
}

bool textDefinesValue(QuantityAttr quantity) {
  Result<Quantity> value = parseQuantity(quantity.getText());
  return value && *value == quantity.quantity();
}

} // namespace accord::accel
