#include "lib/jobs/simulate/DelaunayInterpolation.h"
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
extern "C" {
#include <libqhull_r/libqhull_r.h>
#include <libqhull_r/qset_r.h>
}

namespace accord::jobs {
namespace {

constexpr double kTolerance = 100 * std::numeric_limits<double>::epsilon();
/// Towards a flat tetrahedron, which may hide the point.
const double kBroadTolerance = std::sqrt(std::numeric_limits<double>::epsilon());

using Matrix = std::array<std::array<double, 3>, 3>;

/// Largest sum of the magnitudes of a column.
double norm(const Matrix &matrix) {
  double largest = 0;
  for (size_t column = 0; column < 3; ++column)
    largest =
        std::max(largest, std::abs(matrix[0][column]) + std::abs(matrix[1][column]) + std::abs(matrix[2][column]));
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

} // namespace

/// A run of Qhull; its memory is returned at the end.
class QhullRun {
public:
  QhullRun() : errors(std::fopen("/dev/null", "w")) { qh_zero(&state, errors); }
  ~QhullRun() {
    qh_freeqhull(&state, !qh_ALL);
    int remaining = 0, total = 0;
    qh_memfreeshort(&state, &remaining, &total);
    if (errors)
      std::fclose(errors);
  }
  QhullRun(const QhullRun &) = delete;
  QhullRun &operator=(const QhullRun &) = delete;

  /// Fills the tetrahedra of `made` (without inverses): the facets of the lower hull of the points on a paraboloid.
  void triangulate(DelaunayInterpolation &made) {
    for (const ScatteredPoint &point : made.points)
      coordinates.insert(coordinates.end(), point.at.begin(), point.at.end());
    char options[] = "qhull d Qt Qbb Qc Qz Q12";
    if (!errors || qh_new_qhull(&state, 3, static_cast<int>(made.points.size()), coordinates.data(), false, options,
                                nullptr, errors) != 0)
      return;
    std::map<const facetT *, size_t> numbers;
    bool isSimplicial = true; // as option Qt makes all facets
    for (const facetT *facet = state.facet_list; facet && facet->next; facet = facet->next)
      if (!facet->upperdelaunay)
        numbers.emplace(facet, numbers.size());
    for (const facetT *facet = state.facet_list; facet && facet->next; facet = facet->next)
      if (!facet->upperdelaunay)
        isSimplicial = isSimplicial && addTetrahedron(made, facet, numbers);
    if (!isSimplicial)
      made.tetrahedra.clear();
    if (state.SCALElast) {
      made.paraboloidScale = state.last_newhigh / (state.last_high - state.last_low);
      made.paraboloidShift = -state.last_low * made.paraboloidScale;
    }
  }

private:
  bool addTetrahedron(DelaunayInterpolation &made, const facetT *facet,
                      const std::map<const facetT *, size_t> &numbers) {
    if (qh_setsize(&state, facet->vertices) != 4 || qh_setsize(&state, facet->neighbors) != 4)
      return false;
    DelaunayInterpolation::Tetrahedron one;
    for (int i = 0; i < 4; ++i) {
      const auto *vertex = static_cast<const vertexT *>(SETelem_(facet->vertices, i));
      one.corners[i] = static_cast<size_t>(qh_pointid(&state, vertex->point));
      const auto found = numbers.find(static_cast<const facetT *>(SETelem_(facet->neighbors, i)));
      one.neighbours[i] = found == numbers.end() ? DelaunayInterpolation::kNone : found->second;
      one.plane[i] = facet->normal[i];
    }
    one.plane[4] = facet->offset;
    made.tetrahedra.push_back(one);
    return true;
  }

  FILE *errors;
  std::vector<double> coordinates;
  qhT state;
};

void DelaunayInterpolation::invert(Tetrahedron &one) const {
  Matrix edges{};
  for (size_t row = 0; row < 3; ++row)
    for (size_t corner = 0; corner < 3; ++corner)
      edges[row][corner] = points[one.corners[corner]].at[row] - points[one.corners[3]].at[row];
  const auto inverse = inverted(edges);
  one.flat = !inverse;
  if (inverse)
    one.inverse = *inverse;
}

Result<DelaunayInterpolation> DelaunayInterpolation::make(const std::vector<ScatteredPoint> &points) {
  DelaunayInterpolation made;
  made.points = points;
  if (points.size() >= 5)
    QhullRun().triangulate(made);
  bool solid = false;
  for (Tetrahedron &one : made.tetrahedra) {
    for (size_t corner : one.corners)
      if (corner >= points.size()) // Qz adds a point at infinity, behind all others
        return Error{Code::WrongJobsFile, "times of steps cannot be interpolated: a triangulation of them failed"};
    made.invert(one);
    solid = solid || !one.flat;
  }
  if (!solid)
    return Error{Code::WrongJobsFile, "times of steps cannot be interpolated: all are at points of one plane"};
  return made;
}

/// The barycentric coordinate of a corner; that of the last follows from the others.
double DelaunayInterpolation::share(const Tetrahedron &one, const std::array<double, 3> &at, const Shares &shares,
                                    size_t corner) const {
  if (corner == 3)
    return 1 - shares[0] - shares[1] - shares[2];
  double sum = 0;
  for (size_t i = 0; i < 3; ++i)
    sum += one.inverse[corner][i] * (at[i] - points[one.corners[3]].at[i]);
  return sum;
}

/// Whether a point is in a tetrahedron that is not flat, or a little beyond its face to the neighbour `beyond`.
bool DelaunayInterpolation::inside(const Tetrahedron &one, const std::array<double, 3> &at, size_t beyond,
                                   Shares &shares) const {
  bool isInside = true;
  for (size_t corner = 0; corner < 4; ++corner) {
    shares[corner] = share(one, at, shares, corner);
    const bool broad = beyond != kNone && one.neighbours[corner] == beyond;
    isInside =
        isInside && shares[corner] >= -(broad ? kBroadTolerance : kTolerance) && shares[corner] <= 1 + kTolerance;
  }
  return isInside;
}

/// From the first tetrahedron to neighbours whose plane is higher below the lifted point, until it is above one's plane
/// or none is higher.
size_t DelaunayInterpolation::walk(const std::array<double, 3> &at) const {
  const double square = at[0] * at[0] + at[1] * at[1] + at[2] * at[2];
  const double lifted = square * paraboloidScale + paraboloidShift;
  auto distance = [&](size_t number) {
    const std::array<double, 5> &plane = tetrahedra[number].plane;
    return plane[4] + plane[0] * at[0] + plane[1] * at[1] + plane[2] * at[2] + plane[3] * lifted;
  };
  size_t here = 0;
  double best = distance(here);
  for (bool moved = true; moved && best <= 0;) {
    moved = false;
    for (size_t i = 0; i < 4; ++i) { // of the tetrahedron that is the best by then
      const size_t next = tetrahedra[here].neighbours[i];
      if (next == kNone)
        continue;
      const double reached = distance(next);
      if (reached > best + kTolerance * (1 + std::abs(best))) {
        best = reached;
        here = next;
        moved = true;
      }
    }
  }
  return here;
}

/// From where `walk` ends through faces that have the point on their other side. A flat tetrahedron on the way, or too
/// long a way, ends this, and all are tried.
size_t DelaunayInterpolation::find(const std::array<double, 3> &at, Shares &shares) const {
  size_t here = walk(at);
  for (size_t step = 0; step < 1 + tetrahedra.size() / 4; ++step) {
    const Tetrahedron &one = tetrahedra[here];
    if (one.flat)
      break;
    size_t corner = 0;
    bool isInside = true;
    for (; corner < 4; ++corner) {
      shares[corner] = share(one, at, shares, corner);
      if (shares[corner] < -kTolerance)
        break;
      isInside = isInside && shares[corner] <= 1 + kTolerance;
    }
    if (corner == 4 && isInside)
      return here;
    if (corner == 4)
      break;
    if (one.neighbours[corner] == kNone)
      return kNone;
    here = one.neighbours[corner];
  }
  return findAmongAll(at, shares);
}

/// The first tetrahedron that holds the point; for a flat one, its neighbours do so too if the point is in a narrow
/// stretch on its side.
size_t DelaunayInterpolation::findAmongAll(const std::array<double, 3> &at, Shares &shares) const {
  for (size_t number = 0; number < tetrahedra.size(); ++number) {
    const Tetrahedron &one = tetrahedra[number];
    if (!one.flat) {
      if (inside(one, at, kNone, shares))
        return number;
      continue;
    }
    for (size_t next : one.neighbours)
      if (next != kNone && !tetrahedra[next].flat && inside(tetrahedra[next], at, number, shares))
        return next;
  }
  return kNone;
}

std::optional<std::array<double, 2>> DelaunayInterpolation::operator()(const std::array<double, 3> &at) const {
  Shares shares{};
  const size_t found = find(at, shares);
  if (found == kNone)
    return std::nullopt;
  std::array<double, 2> result{};
  for (size_t corner = 0; corner < 4; ++corner)
    for (size_t i = 0; i < 2; ++i)
      result[i] += shares[corner] * points[tetrahedra[found].corners[corner]].values[i];
  return result;
}

} // namespace accord::jobs
