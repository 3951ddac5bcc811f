#include "lib/machine/collectives/AlphaBetaFit.h"
#include <cmath>

namespace accord {

Seconds AlphaBeta::time(Bytes payload, double factor) const { return alpha + payload * factor / beta; }

std::optional<AlphaBeta> fitAlphaBeta(std::span<const MeasuredCollective> rows, double factor) {
  // With weights 1/t^2: minimize the sum of (alpha/t + slope x/t - 1)^2.
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  if (!std::isfinite(factor) || factor <= 0)
    return std::nullopt;
  for (const MeasuredCollective &row : rows) {
    double t = row.time.value, x = row.payload.value * factor;
    if (!std::isfinite(t) || !std::isfinite(x) || t <= 0 || x <= 0)
      return std::nullopt;
    double u = 1 / t, v = x / t;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  double determinant = uu * vv - uv * uv;
  if (!(determinant > 1e-9 * uu * vv))
    return std::nullopt;
  double alpha = (u1 * vv - v1 * uv) / determinant, slope = (v1 * uu - u1 * uv) / determinant;
  if (alpha < 0) {
    alpha = 0;
    slope = v1 / vv;
  }
  if (!std::isfinite(alpha) || !std::isfinite(slope) || slope <= 0)
    return std::nullopt;
  return AlphaBeta{Seconds(alpha), BytesPerSecond(1 / slope)};
}

} // namespace accord
