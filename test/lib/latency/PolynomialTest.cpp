#include "lib/latency/model/Polynomial.h"
#include "gtest/gtest.h"
#include <random>

using namespace accord;

namespace {
std::vector<PolynomialFit::Point> grid() {
  std::vector<PolynomialFit::Point> points;
  for (int64_t B : {1, 2, 5})
    for (int64_t S : {16, 48, 128, 1000})
      points.push_back({B, S});
  return points;
}
std::optional<Polynomial> interpolate(auto value) {
  std::vector<int64_t> values;
  for (auto [B, S] : grid())
    values.push_back(value(B, S));
  return PolynomialFit(grid()).through(values);
}
} // namespace

TEST(EmitPolynomial, FindsTheCoefficientsItWasMadeFrom) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    int64_t c[2][3];
    for (auto &row : c)
      for (int64_t &k : row)
        k = random() % 3 ? static_cast<int64_t>(random() % 2000001) - 1000000 : 0;
    auto value = [&](int64_t B, int64_t S) {
      return c[0][0] + c[0][1] * S + c[0][2] * S * S + B * (c[1][0] + c[1][1] * S + c[1][2] * S * S);
    };
    auto p = interpolate(value);
    ASSERT_TRUE(p);
    EXPECT_EQ(p->denominator, 1);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        EXPECT_EQ(p->c[i][j], c[i][j]);
    EXPECT_DOUBLE_EQ((*p)(3, 77), static_cast<double>(value(3, 77)));
  }
}

TEST(EmitPolynomial, CausalTrianglesHaveADenominator) {
  auto p = interpolate([](int64_t B, int64_t S) { return B * S * (S + 1) / 2; });
  ASSERT_TRUE(p);
  EXPECT_EQ(p->text(), "(1*B*S^2 + 1*B*S)/2");
  EXPECT_EQ((*p)(1, 4), 10);
}

TEST(EmitPolynomial, LargeCountsStayExact) {
  int64_t k = 2ll * 12288 * 51200; // the head of GPT-3
  auto p = interpolate([&](int64_t B, int64_t S) { return k * B * S; });
  ASSERT_TRUE(p);
  EXPECT_EQ(p->c[1][1], k);
}

TEST(EmitPolynomial, RefusesWhatIsNoPolynomial) {
  EXPECT_FALSE(interpolate([](int64_t B, int64_t S) { return B * S * S * S; }));
  EXPECT_FALSE(interpolate([](int64_t B, int64_t S) { return B * B; }));
  EXPECT_FALSE(interpolate([](int64_t B, int64_t S) { return (S + 99) / 100; }));
}

TEST(EmitPolynomial, PointsOnALineLeaveTheOtherMonomialsOut) {
  PolynomialFit fit({{1, 512}, {2, 512}, {4, 512}});
  std::optional<Polynomial> p = fit.through({10, 17, 31});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->text(), "7*B + 3");
  EXPECT_FALSE(fit.through({10, 17, 32}));
}

TEST(EmitPolynomial, WhatLeaves64BitsIsRefused) {
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  PolynomialFit fit({{1, 1}, {1, 2}, {1, 3}, {1, 4}});
  EXPECT_FALSE(fit.through({max, -max, max, -max}));
  EXPECT_EQ(fit.through({max, max, max, max})->c[0][0], max);
}

TEST(EmitPolynomial, Domination) {
  Polynomial a = Polynomial::constant(5), b = Polynomial::constant(7);
  b.c[1][2] = 3;
  EXPECT_TRUE(dominated(a, b));
  EXPECT_FALSE(dominated(b, a));
  a.c[0][1] = 1;
  EXPECT_FALSE(dominated(a, b));
  EXPECT_EQ(add(a, b, 2)->text(), "6*B*S^2 + 1*S + 19");
}
