// The constants of the model of learning curves (solve/LearningCurve.h). Solver and verifier share nothing else of it.
#pragma once
#include <array>
#include <cstdint>

namespace accord::tuning {

/// A curve falls or rises as x^-p, as exp(-x / p) where x counts in the units that are seen, or not at all.
struct CurveShape {
  enum class Kind : uint8_t { Power, Exponential, Flat } kind = Kind::Flat;
  double p = 1;
};
inline constexpr std::array<CurveShape, 14> kCurveShapes{{{CurveShape::Kind::Power, 0.05},
                                                          {CurveShape::Kind::Power, 0.25},
                                                          {CurveShape::Kind::Power, 0.5},
                                                          {CurveShape::Kind::Power, 0.75},
                                                          {CurveShape::Kind::Power, 1},
                                                          {CurveShape::Kind::Power, 1.5},
                                                          {CurveShape::Kind::Power, 2},
                                                          {CurveShape::Kind::Power, 3},
                                                          {CurveShape::Kind::Exponential, 0.15},
                                                          {CurveShape::Kind::Exponential, 0.3},
                                                          {CurveShape::Kind::Exponential, 0.6},
                                                          {CurveShape::Kind::Exponential, 1.2},
                                                          {CurveShape::Kind::Exponential, 2.5},
                                                          {CurveShape::Kind::Flat, 1}}};
/// Shares of noise in what no shape explains.
inline constexpr std::array<double, 4> kCurveNoise{0.003, 0.03, 0.3, 1};
/// Of the prior: degrees of freedom of the scale; the variance of a and b in units of its square.
inline constexpr double kCurveFreedom = 4, kCurveVariance = 100;
/// Before so many units no curve is judged.
inline constexpr int64_t kMinCurveUnits = 3;
/// Of the prior: noise as a share of the range of the values that are looked at, and of the distance of the quartiles
/// of what trainings said last. Both are added as squares.
inline constexpr double kCurveOwnNoise = 0.15, kCurveSpreadNoise = 0.1;
/// The integral of the random walk wanders with so many times the walk's variance.
inline constexpr double kCurveIntegral = 10;
/// Of the values, those behind so large a part are looked at, at most so many, by equal ratios of units.
inline constexpr int64_t kCurveLeftOut = 8, kCurvePoints = 24;

} // namespace accord::tuning
