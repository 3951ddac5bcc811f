// Quantities: exact arithmetic, units, dimensions, printing.
#include "lib/support/Quantity.h"
#include "lib/support/Units.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace accord;

static Quantity q(const char *text) {
  auto result = parseQuantity(text);
  EXPECT_TRUE(result) << text << ": " << (result ? "" : result.error().message);
  return result ? *result : Quantity();
}

TEST(Quantity, UnitsAreExact) {
  EXPECT_EQ(q("1 KiB").toDouble(), 1024.0);
  EXPECT_EQ(q("1 kB").toDouble(), 1000.0);
  EXPECT_EQ(q("16 GiB").toDouble(), 17179869184.0);
  EXPECT_EQ(q("8 bit"), q("1 B"));
  EXPECT_EQ(q("1 Gbit/s"), q("125 MB/s"));
  EXPECT_EQ(q("3.9 pJ/bit"), q("31.2 pJ/B"));
  EXPECT_EQ(q("1 MAC"), q("2 FLOP"));
  EXPECT_EQ(q("1 TOP/s"), q("1 TFLOP/s"));
  EXPECT_EQ(q("1 mm2"), q("1000000 um2"));
  EXPECT_EQ(q("1 kWh"), q("3.6 MJ"));
  EXPECT_EQ(q("36 USD/h").value, Rational(1) / Rational(100));
  EXPECT_EQ(q("36 gCO2e/kWh"), q("0.036 kg/kWh"));
  EXPECT_EQ(q("36 g/kWh").value, Rational(1) / Rational(100000));
  EXPECT_EQ(q("0.1").value, Rational(1) / Rational(10));
  EXPECT_EQ(q("1e3"), q("1_000"));
  EXPECT_EQ(q("300 G"), q("300e9")); // samples, tokens
  EXPECT_EQ(q("1.5 k").toInt64(), 1500);
  EXPECT_EQ(describe(q("1000 samples/s").dimension), "rate (1/s)");
}

TEST(Quantity, CyclesAndHertz) {
  auto bandwidth = multiply(q("64 B/cycle"), q("940 MHz"));
  ASSERT_TRUE(bandwidth);
  EXPECT_EQ(*bandwidth, q("60.16 GB/s")); // 64 * 940e6
  EXPECT_EQ(*divide(q("8 cycles"), q("1 GHz")), q("8 ns"));
  EXPECT_FALSE(add(q("1 GHz"), *divide(q("1"), q("1 s"))));
}

TEST(Quantity, MismatchNamesBothDimensions) {
  auto sum = add(q("300 W"), q("2 s"));
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().code, Code::DimensionMismatch);
  EXPECT_EQ(sum.error().message, "cannot add power (W) and time (s)");
  EXPECT_EQ(compare(q("1 GB"), q("1 GB/s")).error().message, "cannot compare size (B) with bandwidth (B/s)");
}

TEST(Quantity, UnknownUnitsSuggest) {
  EXPECT_EQ(parseQuantity("940 Mhz").error().suggestion, "MHz");
  EXPECT_EQ(parseQuantity("10 Gbps").error().suggestion, "Gbit/s");
  EXPECT_EQ(parseQuantity("5 KB").error().suggestion, "kB");
  EXPECT_EQ(parseQuantity("64 B/cylce").error().suggestion, "B/cycle");
  EXPECT_EQ(parseQuantity("64 B/cylce").error().code, Code::UnknownUnit);
}

TEST(Quantity, AbsurdNumbersAreRefusedNotComputed) {
  EXPECT_EQ(parseQuantity("1e999999999").error().code, Code::NumberTooLarge);
  EXPECT_EQ(parseQuantity("1e99999999999999999999").error().code, Code::NumberTooLarge);
  EXPECT_EQ(power(q("10"), q("8000")).error().code, Code::NumberTooLarge);
  EXPECT_EQ(power(q("10"), q("1e18")).error().code, Code::BadExponent);
  EXPECT_EQ(power(q("2"), q("0.5")).error().code, Code::BadExponent);
  EXPECT_EQ(divide(q("1"), q("0 s")).error().code, Code::DivisionByZero);
  EXPECT_EQ(power(q("0"), q("-1")).error().code, Code::DivisionByZero);
  EXPECT_EQ(logTwo(q("-4")).error().code, Code::BadExponent);
  EXPECT_TRUE(power(q("1"), q("8000")));
}

TEST(Quantity, Functions) {
  EXPECT_EQ(*floorDivide(q("-7"), q("2")), q("-4"));
  EXPECT_EQ(*ceilDivide(q("-7"), q("2")), q("-3"));
  EXPECT_EQ(*modulo(q("-7"), q("2")), q("1"));
  EXPECT_EQ(*modulo(q("5 GiB"), q("2 GiB")), q("1 GiB"));
  EXPECT_EQ(*powerOfTwo(q("-3")), q("0.125"));
  EXPECT_EQ(*logTwo(q("0.125")), q("-3"));
  EXPECT_NEAR(logTwo(q("10"))->toDouble(), 3.321928094887362, 1e-15);
  EXPECT_EQ(*power(q("2 m"), q("2")), q("4 m2"));
}

TEST(Quantity, PrintsTheWayOfTheField) {
  for (const char *text :
       {"900 GB/s",  "16 GiB", "940 MHz", "1.05 GHz", "64 B/cycle", "3.9 pJ/bit",  "606.68 mm2", "300 W",
        "1.2 MW",    "1 us",   "120 ns",  "8 cycles", "1 cycle",    "312 TFLOP/s", "2 h",        "60 s",
        "4.1 USD/h", "1536",   "0.95",    "0 s",      "-3 ms",      "16 nm",       "760 um2",    "0.6 pJ"})
    EXPECT_EQ(q(text).print(), text);
  EXPECT_EQ(divide(q("1 s"), q("3"))->print(), "1/3 s");
  EXPECT_EQ(describe(q("2 B").dimension.power(2)), "a quantity in B^2");
}

TEST(Quantity, PrintAndParseAreInverse) {
  std::mt19937 random(1);
  const char *units[] = {"B", "GB/s", "MHz", "s", "pJ/bit", "W", "mm2", "FLOP/s", "cycles", "USD/h", "", "KiB"};
  for (int i = 0; i < 2000; ++i) {
    std::string text = std::to_string(random() % 100000) + (random() % 2 ? "." + std::to_string(random() % 1000) : "") +
                       " " + units[random() % std::size(units)];
    Quantity value = q(text.c_str());
    std::string printed = value.print();
    if (printed.find('/') == std::string::npos || printed.find(' ') < printed.find('/'))
      EXPECT_EQ(q(printed.c_str()), value) << text << " printed as " << printed;
  }
}

// Against long double arithmetic, which has 11 bits more than needed.
TEST(Quantity, ReadsHexadecimalNumbers) {
  auto of = [](llvm::StringRef text) { return parseQuantity(text)->print(); };
  EXPECT_EQ(of("0x1000"), "4096");
  EXPECT_EQ(of("0XfF"), "255");
  EXPECT_EQ(of("0x1000 B"), "4 KiB");
  EXPECT_EQ(of("0x10B"), "267"); // b is a digit
  EXPECT_EQ(of("0x8000_0000 B"), "2 GiB");
  EXPECT_EQ(of("0x1e5"), "485"); // and e no exponent
  EXPECT_EQ(of("0x10MiB"), "16 MiB");
  EXPECT_EQ(parseQuantity("0x10 BB").error().code, Code::UnknownUnit);
  EXPECT_EQ(parseQuantity("0x").error().code, Code::UnknownUnit);
  EXPECT_EQ(parseQuantity("0x" + std::string(1000, 'f')).error().code, Code::NumberTooLarge);
}

TEST(Rational, ToDoubleIsTheNearest) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    auto n = static_cast<int64_t>(random() >> 2), d = static_cast<int64_t>((random() >> 2) | 1);
    double got = (Rational(n) / Rational(d)).toDouble();
    double want = static_cast<double>(static_cast<long double>(n) / static_cast<long double>(d));
    EXPECT_LE(std::fabs(got - want), std::fabs(std::nextafter(want, 2 * want) - want));
  }
  for (double value : {0.1, 1e300, 1e-300, 5e-324, 123456789.123, -2.5})
    EXPECT_EQ(Rational::ofDouble(value).toDouble(), value);
  EXPECT_EQ(Rational::parse("0.1")->toDouble(), 0.1);
  EXPECT_EQ(Rational::parse("6.02214076e23")->toDouble(), 6.02214076e23);
  EXPECT_EQ(Rational::parse("1e-7")->toDouble(), 1e-7);
}

TEST(Rational, FieldLaws) {
  std::mt19937 random(3);
  auto any = [&] {
    return Rational(static_cast<int64_t>(random() % 2001) - 1000) / Rational(static_cast<int64_t>(random() % 97) + 1);
  };
  for (int i = 0; i < 2000; ++i) {
    Rational a = any(), b = any(), c = any();
    EXPECT_EQ((a + b) * c, a * c + b * c);
    EXPECT_EQ(a - b + b, a);
    if (!b.isZero())
      EXPECT_EQ(a / b * b, a);
    EXPECT_LE(a.floor(), a);
    EXPECT_LT(a, a.floor() + Rational(1));
    EXPECT_EQ(a.ceil(), -((-a).floor()));
  }
}

TEST(Picoseconds, RoundUpButNotByRoundingErrors) {
  EXPECT_EQ(Picoseconds::ceil(Seconds(1e-6)).value, 1000000);
  EXPECT_EQ(Picoseconds::ceil(Seconds(1.0000001e-6)).value, 1000001);
  EXPECT_EQ(Picoseconds::ceil(Seconds(3e-13)).value, 1);
  EXPECT_EQ(Picoseconds::ceil(Seconds(0)).value, 0);
  for (int i = 1; i < 1000; ++i)
    EXPECT_EQ(Picoseconds::ceil(Seconds(i * 1e-9)).value, i * 1000);
}
