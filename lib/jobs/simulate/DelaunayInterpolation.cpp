#include "lib/jobs/simulate/DelaunayInterpolation.h"
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
extern "C" {
#include <libqhull_r/libqhull_r.h>
#include <libqhull_r/qset_r.h>
}

namespace accord::jobs {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

/// Largest sum of the magnitudes of a column.
double norm(const Matrix &matrix) {
  double largest = 0;
  for (size_t column = 0; column < 3; ++column)
    largest = std::max(largest, std::abs(matrix[0][column]) + std::abs(matrix[1][column]) + std::abs(matrix[2][column]));
  return largest;
}

/// By elimination with the largest pivot of a column; nothing if the matrix is singular, or so nearly that the result
/// would be noise.
std::optional<Matrix> inverted(const Matrix &matrix) {
  Matrix left = matrix, right{};
  for (size_t i = 0; i < 3; ++i)
    right[i][i] = 1;
  for (size_t column = 0; column < 3; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < 3; ++row)
      if (std::abs(left[row][column]) > std::abs(left[pivot][column]))
        pivot = row;
    if (left[pivot][column] == 0)
      return std::nullopt;
    std::swap(left[pivot], left[column]);
    std::swap(right[pivot], right[column]);
    for (size_t row = 0; row < 3; ++row) {
      if (row == column)
        continue;
      const double factor = left[row][column] / left[column][column];
      for (size_t i = 0; i < 3; ++i) {
        left[row][i] -= factor * left[column][i];
        right[row][i] -= factor * right[column][i];
      }
    }
  }
  for (size_t row = 0; row < 3; ++row)
    for (size_t i = 0; i < 3; ++i)
      right[row][i] /= left[row][row];
  if (norm(matrix) * norm(right) * 1000 * std::numeric_limits<double>::epsilon() > 1)
    return std::nullopt;
  return right;
}

/// A run of Qhull; its memory is returned at the end.
class Hull {
public:
  Hull() : files{std::fopen("/dev/null", "w")} { qh_zero(&state, files); }
  ~Hull() {
    qh_freeqhull(&state, !qh_ALL);
    int remaining = 0, total = 0;
    qh_memfreeshort(&state, &remaining, &total);
    if (files)
      std::fclose(files);
  }
  Hull(const Hull &) = delete;
  Hull &operator=(const Hull &) = delete;

  /// The corners of the facets of the lower hull, as indices of points.
  std::vector<std::array<size_t, 4>> triangulate(std::vector<double> &coordinates) {
    std::vector<std::array<size_t, 4>> result;
    char options[] = "qhull d Qt Qbb Qc Qz Q12";
    if (!files || qh_new_qhull(&state, 3, static_cast<int>(coordinates.size() / 3), coordinates.data(), false, options,
                               nullptr, files) != 0)
      return result;
    const size_t points = coordinates.size() / 3;
    for (facetT *facet = state.facet_list; facet && facet->next; facet = facet->next) {
      if (facet->upperdelaunay || !facet->simplicial)
        continue;
      std::array<size_t, 4> corners{};
      bool inside = qh_setsize(&state, facet->vertices) == 4;
      for (int i = 0; inside && i < 4; ++i) {
        const auto *vertex = static_cast<const vertexT *>(SETelem_(facet->vertices, i));
        corners[i] = static_cast<size_t>(qh_pointid(&state, vertex->point));
        inside = corners[i] < points; // Qz adds a point at infinity, behind all others
      }
      if (inside)
        result.push_back(corners);
    }
    return result;
  }

private:
  FILE *files;
  qhT state;
};

} // namespace

void DelaunayInterpolation::add(const std::array<const ScatteredPoint *, 4> &corners) {
  Tetrahedron made;
  Matrix edges{};
  for (size_t row = 0; row < 3; ++row)
    for (size_t corner = 0; corner < 3; ++corner)
      edges[row][corner] = corners[corner]->at[row] - corners[3]->at[row];
  auto inverse = inverted(edges);
  if (!inverse) // flat: others hold its points
    return;
  made.inverse = *inverse;
  made.last = corners[3]->at;
  for (size_t corner = 0; corner < 4; ++corner)
    made.values[corner] = corners[corner]->values;
  tetrahedra.push_back(made);
}

Result<DelaunayInterpolation> DelaunayInterpolation::make(const std::vector<ScatteredPoint> &points) {
  DelaunayInterpolation made;
  if (points.size() >= 5) {
    std::vector<double> coordinates;
    for (const ScatteredPoint &point : points)
      coordinates.insert(coordinates.end(), point.at.begin(), point.at.end());
    for (const std::array<size_t, 4> &corners : Hull().triangulate(coordinates))
      made.add({&points[corners[0]], &points[corners[1]], &points[corners[2]], &points[corners[3]]});
  }
  if (made.tetrahedra.empty())
    return Error{Code::WrongJobsFile, "times of steps cannot be interpolated: all are at points of one plane"};
  return made;
}

std::optional<std::array<double, 2>> DelaunayInterpolation::operator()(const std::array<double, 3> &at) const {
  constexpr double kTolerance = 100 * std::numeric_limits<double>::epsilon();
  for (const Tetrahedron &one : tetrahedra) {
    std::array<double, 4> share{};
    share[3] = 1;
    bool inside = true;
    for (size_t corner = 0; corner < 3; ++corner) {
      for (size_t i = 0; i < 3; ++i)
        share[corner] += one.inverse[corner][i] * (at[i] - one.last[i]);
      share[3] -= share[corner];
      inside = inside && share[corner] >= -kTolerance && share[corner] <= 1 + kTolerance;
    }
    if (!inside || share[3] < -kTolerance || share[3] > 1 + kTolerance)
      continue;
    std::array<double, 2> result{};
    for (size_t corner = 0; corner < 4; ++corner)
      for (size_t i = 0; i < 2; ++i)
        result[i] += share[corner] * one.values[corner][i];
    return result;
  }
  return std::nullopt;
}

} // namespace accord::jobs
