#include "lib/support/documents/FractionText.h"

namespace accord {

void describeFraction(JsonVisitor &v, Rational &fraction, llvm::function_ref<bool(const Rational &)> holds,
                      llvm::StringLiteral wrong) {
  std::string text = v.mode() == JsonVisitor::Mode::Write ? fraction.print() : "";
  v.text(text, "^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?(/[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?)?$");
  v.check([&](llvm::json::Path at) {
    auto [above, below] = llvm::StringRef(text).split('/');
    auto numerator = Rational::parse(above), denominator = Rational::parse(above.size() < text.size() ? below : "1");
    if (!numerator || !denominator || denominator->sign() <= 0 ||
        numerator->bits() + denominator->bits() > Rational::kMaxBits || !holds(*numerator / *denominator))
      return at.report(wrong), false;
    fraction = *numerator / *denominator;
    return true;
  });
}

} // namespace accord
