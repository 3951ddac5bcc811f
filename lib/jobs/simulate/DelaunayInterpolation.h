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
/// grid have several such triangulations. The one that is chosen here is that of Qhull (Barber, Dobkin, Huhdanpaa, ACM
/// Transactions on Mathematical Software 22, 1996) with its options Qt, Qbb, Qc, Qz and Q12, which numerical packages
/// use too, so that their interpolations can be repeated.
class DelaunayInterpolation {
public:
  /// Error A1101 if the points have no triangulation: fewer than 5, or all in a plane.
  static Result<DelaunayInterpolation> make(const std::vector<ScatteredPoint> &points);

  /// Nothing outside of the convex hull of the points.
  std::optional<std::array<double, 2>> operator()(const std::array<double, 3> &at) const;

  size_t size() const { return tetrahedra.size(); } ///< tetrahedra that are not flat

private:
  struct Tetrahedron {
    std::array<std::array<double, 2>, 4> values{};
    std::array<double, 3> last{};                   ///< its fourth corner
    std::array<std::array<double, 3>, 3> inverse{}; ///< of the edges from there to the others, as columns
  };
  void add(const std::array<const ScatteredPoint *, 4> &corners);

  std::vector<Tetrahedron> tetrahedra;
};

} // namespace accord::jobs
