// Base units in text, as `#accel.quantity` prints exact values: "cycle/s", "B2/s*K".
#pragma once
#include "dialects/accel/AccelDialect.h"
#include <string>

namespace accord::accel {

/// "FLOP/s"; "/s" without a numerator; empty when dimensionless.
std::string baseUnits(const Dimension &);
/// The dimension of one word of that text: "B", "m2".
std::optional<Dimension> baseUnit(llvm::StringRef word);

/// Whether the written text alone gives the quantity's value and dimension back.
bool textDefinesValue(QuantityAttr);

} // namespace accord::accel
