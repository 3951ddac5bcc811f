// Exact fractions in documents.
#pragma once
#include "lib/support/Rational.h"
#include "lib/support/documents/Fields.h"

namespace accord {

/// A fraction as text, "0.25" or "1/3", which `holds` accepts; another one is answered with `wrong`.
void describeFraction(JsonVisitor &v, Rational &fraction, llvm::function_ref<bool(const Rational &)> holds,
                      llvm::StringLiteral wrong);

} // namespace accord
