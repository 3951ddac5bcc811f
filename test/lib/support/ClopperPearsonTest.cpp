// Limits of shares: the binomial tail in exact integers, published limits, and what holds of all.
#include "lib/support/ClopperPearson.h"
#include <gtest/gtest.h>

using namespace accord;
using llvm::DynamicAPInt;

namespace {

Rational ratio(int64_t a, int64_t b) { return Rational(a) / Rational(b); }

/// P(Binomial(n, p) <= x) <= delta, in integers.
bool tailAtMost(int64_t x, int64_t n, const Rational &p, const Rational &delta) {
  const DynamicAPInt &a = p.numerator(), &m = p.denominator();
  DynamicAPInt b = m - a, sum(0), whole(1), rest(1);
  for (int64_t i = 0; i < n; ++i)
    whole *= m;
  for (int64_t i = 0; i < n - x; ++i)
    rest *= b;
  // Horner from the term of x down: b^(n-x) (C(n,x) a^x + b (C(n,x-1) a^(x-1) + b ( … ))).
  DynamicAPInt factor(1), choose(1);
  std::vector<DynamicAPInt> terms;
  for (int64_t i = 0; i <= x; ++i) {
    terms.push_back(choose * factor);
    choose = choose * DynamicAPInt(n - i) / DynamicAPInt(i + 1);
    factor *= a;
  }
  DynamicAPInt power(1);
  for (int64_t i = x; i >= 0; --i) {
    sum += terms[static_cast<size_t>(i)] * power;
    power *= b;
  }
  return sum * rest * delta.denominator() <= delta.numerator() * whole;
}

TEST(ClopperPearson, ExactTailsOfSmallSamples) {
  Rational digit = ratio(1, 1'000'000); // more than the last of seven digits
  for (int64_t n = 1; n <= 40; ++n)
    for (int64_t x = 0; x < n; ++x)
      for (const Rational &delta : {ratio(1, 20), ratio(1, 1000), ratio(1, 3)}) {
        Rational limit = upperLimit(x, n, delta);
        ASSERT_GT(limit, ratio(x, n));
        ASSERT_TRUE(tailAtMost(x, n, limit, delta)) << x << " of " << n;
        ASSERT_FALSE(tailAtMost(x, n, limit - digit * limit, delta)) << x << " of " << n;
        ASSERT_EQ(lowerLimit(n - x, n, delta), Rational(1) - limit);
      }
}

TEST(ClopperPearson, ExactTailsOfLargerSamples) {
  for (auto [x, n] : std::vector<std::pair<int64_t, int64_t>>{{40, 500}, {3, 1000}, {130, 300}, {199, 200}}) {
    Rational limit = upperLimit(x, n, ratio(1, 40));
    EXPECT_TRUE(tailAtMost(x, n, limit, ratio(1, 40)));
    EXPECT_FALSE(tailAtMost(x, n, limit - ratio(1, 1'000'000), ratio(1, 40)));
  }
}

/// Factorials are bounded where there are too many factors: the two meet there.
TEST(ClopperPearson, ManySamples) {
  // delta of 1/20: the limit of 0 is 1 - delta^(1/n); the rest by the normal distribution, whose
  // 95th percentile is 1.6449 (Johnson, Kotz and Kemp, Univariate Discrete Distributions, 3.8.3).
  EXPECT_NEAR(upperLimit(0, 1'000'000'000, ratio(1, 20)).toDouble(), 2.995733e-9, 1e-14);
  EXPECT_NEAR(upperLimit(500'000'000, 1'000'000'000, ratio(1, 20)).toDouble(), 0.5 + 1.6449 * 0.5 / 31622.8, 3e-7);
  EXPECT_NEAR(upperLimit(20'000'000, 1'000'000'000, ratio(1, 20)).toDouble(), 0.02 + 1.6449 * 0.14 / 31622.8, 1e-8);
  Rational before = 0;
  for (int64_t x = 4090; x < 4104; ++x) { // 4096 is the last to be multiplied out
    Rational limit = upperLimit(x, 1'000'000, ratio(1, 20));
    if (before.sign()) {
      EXPECT_NEAR((limit - before).toDouble(), 1.0127e-6, 3e-9);
    }
    before = limit;
  }
  EXPECT_EQ(upperLimit(INT64_MAX / 2, INT64_MAX, ratio(1, 20)), ratio(5'000'001, 10'000'000));
}

TEST(ClopperPearson, PublishedLimits) {
  // Two-sided 95 % intervals (Agresti and Coull, American Statistician 52, 1998, and R's
  // binom.test).
  EXPECT_NEAR(upperLimit(0, 10, ratio(1, 40)).toDouble(), 0.3085, 5e-5);
  EXPECT_NEAR(upperLimit(5, 10, ratio(1, 40)).toDouble(), 0.8129, 5e-5);
  EXPECT_NEAR(lowerLimit(5, 10, ratio(1, 40)).toDouble(), 0.1871, 5e-5);
  EXPECT_NEAR(lowerLimit(1, 10, ratio(1, 40)).toDouble(), 0.0025, 5e-5);
}

TEST(ClopperPearson, NothingShown) {
  EXPECT_EQ(upperLimit(0, 0, ratio(1, 20)), Rational(1));
  EXPECT_EQ(upperLimit(7, 7, ratio(1, 20)), Rational(1));
  EXPECT_EQ(upperLimit(9, 7, ratio(1, 20)), Rational(1));
  EXPECT_EQ(upperLimit(0, 7, 0), Rational(1));
  EXPECT_EQ(upperLimit(0, 7, -1), Rational(1));
  EXPECT_EQ(upperLimit(-3, 7, ratio(1, 20)), upperLimit(0, 7, ratio(1, 20)));
  EXPECT_EQ(lowerLimit(0, 7, ratio(1, 20)), Rational(0));
  EXPECT_EQ(lowerLimit(3, -1, ratio(1, 20)), Rational(0));
  // Above 1/2 it stays a limit.
  EXPECT_TRUE(tailAtMost(10, 20, upperLimit(10, 20, ratio(9, 10)), ratio(9, 10)));
  EXPECT_EQ(upperLimit(0, 5, Rational(1) / Rational::ofDouble(0x1p1000)), Rational(1));
}

TEST(ClopperPearson, MoreOfTheSameIsTighter) {
  Rational before = 1;
  for (int64_t n = 10; n < 10'000'000; n *= 3) {
    Rational limit = upperLimit(n / 10, n, ratio(1, 20));
    EXPECT_LT(limit, before);
    before = limit;
  }
  for (int64_t x = 0; x < 50; ++x)
    EXPECT_LT(upperLimit(x, 50, ratio(1, 20)), upperLimit(x + 1, 50, ratio(1, 20)));
}

} // namespace
