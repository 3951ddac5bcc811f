#include "lib/support/Number.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>

using llvm::StringRef;
namespace accord {

/// The beginning of what was written, in quotes.
static std::string quoted(StringRef text) {
  return fmt::format("'{}{}'", text.take_front(40).str(), text.size() > 40 ? "..." : "");
}

static Error noNumber(StringRef text) { return {Code::WrongType, quoted(text) + " is not a number"}; }

StringRef leadingNumber(StringRef text) {
  size_t end = text.starts_with("-");
  auto digit = [&](size_t i) { return i < text.size() && llvm::isDigit(text[i]); };
  while (digit(end) || (end < text.size() && (text[end] == '.' || text[end] == '_')))
    ++end;
  bool begun = end > size_t(text.starts_with("-"));
  if (begun && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
    if (digit(end + 1 + sign))
      for (end += 1 + sign; digit(end);)
        ++end;
  }
  return text.take_front(end);
}

StringRef leadingHexadecimal(StringRef text) {
  auto digit = [](char c) { return llvm::isHexDigit(c); };
  if (text.size() < 3 || text[0] != '0' || llvm::toLower(text[1]) != 'x' || !digit(text[2]))
    return "";
  return text.take_front(2 + text.drop_front(2).take_while([&](char c) { return digit(c) || c == '_'; }).size());
}

Result<void> expectDouble(const Rational &value, StringRef shown) {
  double nearest = value.toDouble();
  if (std::isinf(nearest))
    return Error{Code::NumberTooLarge,
                 fmt::format("the number {} is too large; the largest is 1.8e308", quoted(shown))};
  if (nearest == 0 && !value.isZero())
    return Error{Code::NumberTooLarge,
                 fmt::format("the number {} is too small; the smallest above 0 is 4.9e-324", quoted(shown))};
  return {};
}

Result<Rational> parseNumber(StringRef text) {
  if (text.empty() || leadingNumber(text).size() != text.size() || text.count('.') > 1 ||
      text.find_first_of("0123456789") == StringRef::npos)
    return noNumber(text);
  auto value = Rational::parse(text);
  if (!value) {
    // Its digits or its exponent are absurd.
    StringRef digits = text.take_until([](char c) { return c == 'e' || c == 'E'; });
    bool zero = digits.find_first_of("123456789") == StringRef::npos;
    bool small = text.contains("e-") || text.contains("E-");
    return Error{Code::NumberTooLarge, fmt::format("the number {} is too {}", quoted(text),
                                                   zero    ? "long"
                                                   : small ? "small or too precise"
                                                           : "large or too precise")};
  }
  if (auto fits = expectDouble(*value, text); !fits)
    return fits.takeError();
  return *value;
}

Result<double> parseReal(StringRef text) {
  // Exact arithmetic takes a thousand times as long, which tables and documents of many numbers would show.
  double fast = 0;
  auto [end, error] = std::from_chars(text.begin(), text.end(), fast);
  if (error == std::errc() && end == text.end() && std::isnormal(fast))
    return fast;
  ACCORD_TRY(value, parseNumber(text));
  return value.toDouble();
}

Result<int64_t> parseWhole(StringRef text, WholeRange range) {
  auto value = parseNumber(text);
  if (value && !value->isInteger())
    return Error{Code::NotAnInteger, fmt::format("expected a whole number, found {}", quoted(text))};
  if (!value && value.error().code == Code::WrongType)
    return value.takeError();
  int64_t whole = 0;
  StringRef digits = text;
  digits.consume_front("-");
  if (value && digits.find_first_not_of("0123456789") != StringRef::npos)
    return noNumber(text); // 1e3 and 1_000 are no counts
  if (text.getAsInteger(10, whole) || whole < range.min || whole > range.max)
    return Error{Code::OutOfRange,
                 fmt::format("expected a whole number from {} to {}, found {}", range.min, range.max, quoted(text))};
  return whole;
}

} // namespace accord
