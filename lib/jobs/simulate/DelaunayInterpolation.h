// Linear interpolation of two quantities that are known at scattered points of three dimensions.
#pragma once
#include "lib/support/Result.h"
#include <array>
#include <optional>
#include <vector>

namespace accord::jobs {

/// Where two quantities were measured.
struct ScatteredPoint {
  std::array<double, 3> at{};
  std::array<double, 2> values{};
};

/// The points are divided into tetrahedra by a Delaunay triangulation; within each, quantities are linear. Points on a
/// grid have several such triangulations, and Qhull (Barber, Dobkin, Huhdanpaa, ACM Transactions on Mathematical
/// Software 22, 1996) returns tetrahedra that are flat, and some that overlap, where more than four points lie on one
/// sphere. Both the triangulation (options Qt, Qbb, Qc, Qz and Q12) and the search for the tetrahedron of a point are
/// therefore those of SciPy's LinearNDInterpolator, so that interpolations which were published can be repeated.
class DelaunayInterpolation {
public:
  /// Error A1101 if the points have no triangulation: fewer than 5, or all in a plane.
  static Result<DelaunayInterpolation> make(const std::vector<ScatteredPoint> &points);

  /// Nothing outside of the convex hull of the points.
  std::optional<std::array<double, 2>> operator()(const std::array<double, 3> &at) const;

private:
  using Shares = std::array<double, 4>; ///< barycentric coordinates: of each corner

  struct Tetrahedron {
    std::array<size_t, 4> corners{};                ///< indices of points
    std::array<size_t, 4> neighbours{};             ///< opposite to each corner; `kNone`: the hull ends there
    std::array<double, 5> plane{};                  ///< of its corners on the lifted paraboloid: normal, offset
    bool flat = false;                              ///< no volume, so `inverse` is nothing
    std::array<std::array<double, 3>, 3> inverse{}; ///< of the edges from the last corner to the others, as columns
  };
  static constexpr size_t kNone = ~size_t(0);

  void invert(Tetrahedron &one) const;
  double share(const Tetrahedron &one, const std::array<double, 3> &at, const Shares &shares, size_t corner) const;
  bool inside(const Tetrahedron &one, const std::array<double, 3> &at, size_t beyond, Shares &shares) const;
  size_t walk(const std::array<double, 3> &at) const;
  size_t find(const std::array<double, 3> &at, Shares &shares) const;
  size_t findAmongAll(const std::array<double, 3> &at, Shares &shares) const;

  friend class QhullRun;
  std::vector<ScatteredPoint> points;
  std::vector<Tetrahedron> tetrahedra;
  double paraboloidScale = 1, paraboloidShift = 0; ///< of the squared distance from the origin
};

} // namespace accord::jobs
