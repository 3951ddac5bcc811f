// Quantities in text: `940 MHz`, or `"2 * clock" = 1880000000 cycle/s` when the words alone do not
// say the value.
#include "dialects/accel/BaseUnits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>

using namespace mlir;
using namespace accord::accel;
using llvm::DynamicAPInt;

namespace accord {
// Found by argument-dependent look-up in the attribute's storage class.
static llvm::hash_code hash_value(const Dimension &dimension) {
  return llvm::hash_combine_range(dimension.exponents.begin(), dimension.exponents.end());
}
} // namespace accord

#define GET_ATTRDEF_CLASSES
#include "dialects/accel/AccelAttributes.cpp.inc"

void AccelDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/accel/AccelAttributes.cpp.inc"
      >();
}

static void reduce(DynamicAPInt &numerator, DynamicAPInt &denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  DynamicAPInt common = gcd(abs(numerator), denominator);
  if (common > 1) {
    numerator /= common;
    denominator /= common;
  }
}

/// A number too large for 64 bits in its least width, so that equal numbers hash alike.
static DynamicAPInt narrowest(const DynamicAPInt &value) {
  if (value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max())
    return DynamicAPInt(static_cast<int64_t>(value));
  std::string digits;
  llvm::raw_string_ostream(digits) << value;
  APInt wide(APInt::getSufficientBitsNeeded(digits, 10) + 1, digits, 10);
  return DynamicAPInt(wide.trunc(wide.getSignificantBits()));
}

QuantityAttr QuantityAttr::get(MLIRContext *context, DynamicAPInt numerator, DynamicAPInt denominator,
                               accord::Dimension dimension, StringRef text, StringRef source) {
  if (denominator != 0)
    reduce(numerator, denominator);
  return Base::get(context, narrowest(numerator), narrowest(denominator), dimension, text, source);
}

// NOLINTBEGIN(performance-unnecessary-value-param): TableGen declares it.
LogicalResult QuantityAttr::verify(function_ref<InFlightDiagnostic()> error, DynamicAPInt numerator,
                                   DynamicAPInt denominator, accord::Dimension, StringRef, StringRef) {
  // NOLINTEND(performance-unnecessary-value-param)
  if (denominator <= 0)
    return error() << "a quantity's denominator must be positive";
  if (gcd(abs(numerator), denominator) != 1)
    return error() << "a quantity must be in lowest terms";
  return success();
}

QuantityAttr QuantityAttr::get(MLIRContext *context, const accord::Quantity &quantity, StringRef text,
                               StringRef source) {
  return get(context, quantity.value.numerator(), quantity.value.denominator(), quantity.dimension, text, source);
}

accord::Quantity QuantityAttr::quantity() const {
  return accord::Quantity(Rational(getNumerator(), getDenominator()), getDimension());
}

double QuantityAttr::toDouble() const { return quantity().toDouble(); }

bool QuantityAttr::below(QuantityAttr other) const { return quantity().value < other.quantity().value; }

std::string QuantityAttr::inBaseUnits() const {
  std::string out;
  llvm::raw_string_ostream stream(out);
  stream << getNumerator();
  if (getDenominator() != 1)
    stream << "/" << getDenominator();
  if (std::string units = baseUnits(getDimension()); !units.empty())
    stream << " " << units;
  return out;
}

std::string QuantityAttr::spelled() const { return getText().empty() ? quantity().print() : getText().str(); }

/// Text that the MLIR lexer takes apart and gives back unharmed: a number, then unit words joined
/// by `/` or `*`.
static bool plain(StringRef text) {
  size_t number = text.find_first_not_of("0123456789.");
  if (text.empty() || number == 0 || number == StringRef::npos || text.take_front(number).count('.') > 1 ||
      !llvm::isDigit(text[number - 1]) || !llvm::isDigit(text[0]) || text[number] != ' ')
    return false;
  SmallVector<StringRef> words;
  text.drop_front(number + 1).split(words, '/');
  return words.size() <= 2 && llvm::all_of(words, [](StringRef word) {
           return !word.empty() && llvm::isAlpha(word[0]) && word != "source" &&
                  llvm::all_of(word, [](char c) { return llvm::isAlnum(c) || c == '_'; });
         });
}

void QuantityAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (!getText().empty()) {
    if (plain(getText()))
      printer << getText();
    else
      printer.printString(getText());
  }
  if (getText().empty() || !textDefinesValue(*this))
    printer << (getText().empty() ? "= " : " = ") << inBaseUnits();
  if (!getSource().empty()) {
    printer << " source ";
    printer.printString(getSource());
  }
  printer << ">";
}

static ParseResult parseInteger(AsmParser &parser, DynamicAPInt &value) {
  APInt digits;
  bool negative = succeeded(parser.parseOptionalMinus());
  OptionalParseResult result = parser.parseOptionalInteger(digits);
  if (!result.has_value())
    return parser.emitError(parser.getCurrentLocation(), "expected an integer");
  if (*result)
    return failure();
  value = DynamicAPInt(digits.zext(digits.getBitWidth() + 1));
  if (negative)
    value = -value;
  return success();
}

static ParseResult parseUnits(AsmParser &parser, accord::Dimension &dimension, int sign) {
  do {
    SMLoc at = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<accord::Dimension> factor = baseUnit(word);
    if (!factor)
      return parser.emitError(at) << "'" << word << "' is not a base unit";
    dimension = sign > 0 ? dimension * *factor : dimension / *factor;
  } while (succeeded(parser.parseOptionalStar()));
  return success();
}

/// `940000000 cycle/s`, `1/2 B`, `5 /s`, `7`.
static ParseResult parseBaseValue(AsmParser &parser, DynamicAPInt &numerator, DynamicAPInt &denominator,
                                  accord::Dimension &dimension) {
  denominator = DynamicAPInt(1);
  if (parseInteger(parser, numerator))
    return failure();
  bool inverse = false;
  if (succeeded(parser.parseOptionalSlash())) {
    APInt digits;
    SMLoc at = parser.getCurrentLocation();
    OptionalParseResult below = parser.parseOptionalInteger(digits);
    if (below.has_value()) {
      if (*below)
        return failure();
      denominator = DynamicAPInt(digits.zext(digits.getBitWidth() + 1));
      if (denominator == 0)
        return parser.emitError(at, "a quantity's denominator must be positive");
    } else {
      inverse = true;
    }
  }
  // `source` and the closing bracket end the units; neither is a unit.
  auto unitFollows = [&] {
    const char *next = parser.getCurrentLocation().getPointer();
    return llvm::isAlpha(*next) && std::strncmp(next, "source", 6) != 0;
  };
  if (!inverse && unitFollows() && parseUnits(parser, dimension, 1))
    return failure();
  if ((inverse || succeeded(parser.parseOptionalSlash())) && parseUnits(parser, dimension, -1))
    return failure();
  return success();
}

/// The text of `940 MHz` as it stands in the file: its tokens are skipped, its characters kept.
static ParseResult parsePlainText(AsmParser &parser, std::string &text) {
  const char *begin = parser.getCurrentLocation().getPointer();
  APInt whole;
  double number;
  StringRef word;
  OptionalParseResult integer = parser.parseOptionalInteger(whole);
  if (integer.has_value() ? failed(*integer) : failed(parser.parseFloat(number)))
    return failure();
  if (parser.parseKeyword(&word))
    return failure();
  const char *end = word.end();
  if (succeeded(parser.parseOptionalSlash())) {
    if (parser.parseKeyword(&word))
      return failure();
    end = word.end();
  }
  text.assign(begin, end);
  return success();
}

Attribute QuantityAttr::parse(AsmParser &parser, Type) {
  std::string text, source;
  DynamicAPInt numerator, denominator;
  accord::Dimension dimension;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  bool stated = succeeded(parser.parseOptionalEqual());
  if (!stated) {
    at = parser.getCurrentLocation();
    if (failed(parser.parseOptionalString(&text)) && parsePlainText(parser, text))
      return {};
    stated = succeeded(parser.parseOptionalEqual());
  }
  if (stated && parseBaseValue(parser, numerator, denominator, dimension))
    return {};
  if (!stated) {
    Result<accord::Quantity> value = parseQuantity(text);
    if (!value) {
      parser.emitError(at) << value.error().message << "; what other words are worth follows after '='";
      return {};
    }
    numerator = value->value.numerator();
    denominator = value->value.denominator();
    dimension = value->dimension;
  }
  if (succeeded(parser.parseOptionalKeyword("source")) && parser.parseString(&source))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), numerator, denominator, dimension, text, source);
}

LogicalResult ChoiceAttr::verify(function_ref<InFlightDiagnostic()> error, StringRef kind, ArrayAttr values) {
  size_t n = values.size();
  if (kind == "pow2" ? n != 2 : kind == "range" ? n < 2 || n > 3 : kind == "set" ? n == 0 : true)
    return error() << "a choice is 'pow2' of two values, 'range' of two or three or 'set' of at "
                      "least one, found '"
                   << kind << "' of " << n;
  if (kind == "set")
    return success();
  if (llvm::all_of(values, llvm::IsaPred<IntegerAttr>)) {
    if (cast<IntegerAttr>(values[0]).getInt() > cast<IntegerAttr>(values[1]).getInt())
      return error() << "the last value of a choice is below its first";
    if (n == 3 && cast<IntegerAttr>(values[2]).getInt() <= 0)
      return error() << "the step of a choice must be positive";
    return success();
  }
  if (!llvm::all_of(values, llvm::IsaPred<QuantityAttr>))
    return error() << "'" << kind << "' needs integers or quantities";
  auto first = cast<QuantityAttr>(values[0]), last = cast<QuantityAttr>(values[1]);
  for (Attribute value : values)
    if (cast<QuantityAttr>(value).getDimension() != first.getDimension())
      return error() << "the values of a choice must have one dimension";
  if (last.below(first))
    return error() << "the last value of a choice is below its first";
  if (n == 3 && cast<QuantityAttr>(values[2]).getNumerator() <= 0)
    return error() << "the step of a choice must be positive";
  return success();
}

Attribute ChoiceAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  ArrayAttr values;
  if (parser.parseLess() || parser.parseKeyword(&kind) || parser.parseAttribute(values) || parser.parseGreater())
    return {};
  return parser.getChecked<ChoiceAttr>(parser.getContext(), kind, values);
}

void ChoiceAttr::print(AsmPrinter &printer) const { printer << "<" << getKind() << " " << getValues() << ">"; }
