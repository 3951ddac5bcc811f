// The one reader of numbers, against the C library's and by what it refuses.
#include "lib/support/Number.h"
#include "lib/support/Quantity.h"
#include "lib/support/SplitMix.h"
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace accord;

static std::string refusal(llvm::StringRef text) {
  auto value = parseNumber(text);
  return value ? "accepted" : numberOf(value.error().code) + ": " + value.error().message;
}

TEST(Number, EqualsTheCLibrary) {
  SplitMix random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = fmt::format("{}{}.{}e{}", random.next() % 2 ? "-" : "", random.next() % 1000,
                                   random.next() % 100000, int64_t(random.next() % 600) - 300);
    auto value = parseReal(text);
    ASSERT_TRUE(bool(value)) << text;
    EXPECT_EQ(*value, std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(Number, RefusesWhatNoDoubleIsNear) {
  EXPECT_EQ(refusal("1e400"), "A0205: the number '1e400' is too large; the largest is 1.8e308");
  EXPECT_EQ(refusal("-1e400"), "A0205: the number '-1e400' is too large; the largest is 1.8e308");
  EXPECT_EQ(refusal("1e-400"), "A0205: the number '1e-400' is too small; the smallest above 0 is 4.9e-324");
  EXPECT_EQ(refusal("1e999999"), "A0205: the number '1e999999' is too large or too precise");
  EXPECT_EQ(refusal("1e-999999"), "A0205: the number '1e-999999' is too small or too precise");
  EXPECT_EQ(refusal("1.7976931348623157e308"), "accepted"); // the largest double
  EXPECT_EQ(refusal("4.9e-324"), "accepted");               // the smallest
  EXPECT_EQ(refusal("0e-400"), "accepted");
  EXPECT_EQ(refusal("0.000"), "accepted");
}

TEST(Number, RefusesWhatIsNone) {
  for (const char *text :
       {"", "-", ".", "e5", "1e", "1.2.3", "0x10", "inf", "nan", "infinity", "1 ", " 1", "+1", "1,5", "--1", "_"})
    EXPECT_EQ(refusal(text).substr(0, 5), "A0301") << text;
}

TEST(Number, WholeNumbersKeepTheirRange) {
  auto whole = [](llvm::StringRef text, WholeRange range = {}) {
    auto value = parseWhole(text, range);
    return value ? std::to_string(*value) : numberOf(value.error().code);
  };
  EXPECT_EQ(whole("12"), "12");
  EXPECT_EQ(whole("007"), "7");
  EXPECT_EQ(whole("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(whole("9223372036854775808"), "A0302");
  EXPECT_EQ(whole("99999999999999999999999999"), "A0302");
  EXPECT_EQ(whole("-1"), "A0302");
  EXPECT_EQ(whole("-1", {-2, 2}), "-1");
  EXPECT_EQ(whole("3", {-2, 2}), "A0302");
  EXPECT_EQ(whole("2.5"), "A0308");
  EXPECT_EQ(whole("x"), "A0301");
  EXPECT_EQ(whole("1e3"), "A0301");
}

TEST(Number, QuantitiesAreNumbersInBaseUnits) {
  EXPECT_TRUE(bool(parseQuantity("1e299 GB")));
  EXPECT_FALSE(bool(parseQuantity("1e300 ZFLOP"))); // 1e321 FLOP
  EXPECT_FALSE(bool(parseQuantity("1e-320 pJ")));   // 1e-332 J
  EXPECT_EQ(parseQuantity("1e400 W").error().code, Code::NumberTooLarge);
}
