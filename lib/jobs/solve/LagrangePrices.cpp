#include "lib/jobs/solve/LagrangePrices.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

constexpr int kMaxSteps = 60;
constexpr double kRelativeGap = 1e-10; ///< of the primal and the dual objective at the end
constexpr double kStepShare = 0.995;   ///< of the way to the boundary
constexpr double kMaxPriceCap = 1e6;   ///< for what is missing, in scaled values
constexpr unsigned kRowRounds = 4;     ///< of adding rows that are exceeded, where not all are taken
constexpr double kExceeded = 1e-6;     ///< of the largest use: less is rounding
constexpr size_t kSmall = 100;         ///< rows of a relaxation that takes milliseconds and is always solved

struct ScaledUse {
  unsigned row = 0;
  double amount = 0;
};

/// A resource that all jobs together could use up.
struct Contended {
  unsigned resource = 0;
  int64_t maxAmount = 0; ///< the largest use of one job
};

std::vector<Contended> contendedResources(const CompactAllocation &problem, const std::vector<int64_t> &left,
                                          const OpenOptions &open) {
  std::vector<int64_t> jobMax(problem.resources(), 0), amountMax(problem.resources(), 0);
  std::vector<double> total(problem.resources(), 0);
  std::vector<unsigned> touched;
  for (size_t j = 0; j + 1 < open.first.size(); ++j) {
    for (unsigned i = open.first[j]; i < open.first[j + 1]; ++i) {
      const AllocationOption &option = problem.options[open.options[i]];
      for (unsigned u = option.firstUse; u < option.lastUse; ++u) {
        const ResourceUse &use = problem.uses[u];
        if (jobMax[use.resource] == 0)
          touched.push_back(use.resource);
        jobMax[use.resource] = std::max(jobMax[use.resource], use.amount);
      }
    }
    for (unsigned r : touched) {
      total[r] += jobMax[r];
      amountMax[r] = std::max(amountMax[r], jobMax[r]);
      jobMax[r] = 0;
    }
    touched.clear();
  }
  std::vector<Contended> contended;
  for (unsigned r = 0; r < problem.resources(); ++r)
    if (total[r] > left[r])
      contended.push_back({r, amountMax[r]});
  return contended;
}

/// Maximize v x with sum of x of a job = 1, A x + s - t = c, and x, s, t from 0; t costs `cap`. The dual has y of jobs
/// and p of rows: z = y + p A - v, and p and cap - p are the reduced costs of s and t.
class InteriorPoint {
public:
  InteriorPoint(const CompactAllocation &problem, const std::vector<int64_t> &left, const OpenOptions &open,
                RelaxedObjective objective, const SearchControl &control, const std::vector<Contended> &contended)
      : problem(problem), left(left), open(open), control(control), jobs(open.first.size() - 1),
        count(open.options.size()) {
    setRows(contended);
    scale(objective);
  }

  Relaxation solve() {
    Relaxation relaxed;
    relaxed.prices.assign(problem.resources(), 0);
    start();
    if (rows() > 0)
      for (int step = 0; step < kMaxSteps && gap() > kRelativeGap * (1 + std::abs(dualValue())); ++step)
        if (!advance())
          break;
    if (rows() == 0)
      chooseBest();
    for (size_t i = 0; i < rows(); ++i) {
      relaxed.prices[resource[i]] = p[i] * valueScale / amountScale[i];
      relaxed.overflow = std::max(relaxed.overflow, t[i] / std::max(1.0, c[i]));
    }
    relaxed.shares = std::move(x);
    return relaxed;
  }

private:
  size_t rows() const { return resource.size(); }
  bool isStopped() const { return rows() > kSmall && control.stopped(); }

  void setRows(const std::vector<Contended> &contended) {
    rowOf.assign(problem.resources(), -1);
    for (const Contended &one : contended) {
      rowOf[one.resource] = rows();
      resource.push_back(one.resource);
      amountScale.push_back(one.maxAmount);
      c.push_back(left[one.resource] / amountScale.back());
    }
  }

  void scale(RelaxedObjective objective) {
    v.resize(count);
    useFirst.assign(1, 0);
    std::vector<double> min(rows(), 1);
    for (size_t i = 0; i < count; ++i) {
      const AllocationOption &option = problem.options[open.options[i]];
      v[i] = objective == RelaxedObjective::Value ? option.value : 0;
      valueScale = std::max(valueScale, v[i]);
      for (unsigned u = option.firstUse; u < option.lastUse; ++u)
        if (int row = rowOf[problem.uses[u].resource]; row >= 0) {
          uses.push_back({static_cast<unsigned>(row), problem.uses[u].amount / amountScale[row]});
          min[row] = std::min(min[row], uses.back().amount);
        }
      useFirst.push_back(uses.size());
    }
    for (double &value : v)
      value /= valueScale;
    cap.resize(rows());
    for (size_t i = 0; i < rows(); ++i)
      cap[i] =
          objective == RelaxedObjective::Fit ? 1 : std::min(kMaxPriceCap, 10 / min[i] * (1 + std::log2(1.0 + jobs)));
  }

  /// A point in the inner of both the primal and the dual problem.
  void start() {
    x.resize(count);
    z.resize(count);
    y.assign(jobs, 0);
    p.resize(rows());
    s.resize(rows());
    t.resize(rows());
    std::vector<double> over(rows());
    for (size_t i = 0; i < rows(); ++i) {
      p[i] = std::min(1.0, cap[i] / 2);
      over[i] = -c[i];
    }
    for (size_t j = 0; j < jobs; ++j) {
      double best = -1e300, share = 1.0 / (open.first[j + 1] - open.first[j]);
      for (unsigned i = open.first[j]; i < open.first[j + 1]; ++i) {
        x[i] = share;
        z[i] = priced(i, p) - v[i];
        best = std::max(best, -z[i]);
        for (unsigned u = useFirst[i]; u < useFirst[i + 1]; ++u)
          over[uses[u].row] += uses[u].amount * share;
      }
      y[j] = best + 1;
      for (unsigned i = open.first[j]; i < open.first[j + 1]; ++i)
        z[i] += y[j];
    }
    for (size_t i = 0; i < rows(); ++i) {
      s[i] = std::max(0.0, -over[i]) + 1;
      t[i] = std::max(0.0, over[i]) + 1;
    }
    dx.resize(count), dz.resize(count), g.resize(count), dy.resize(jobs);
    dp.resize(rows()), ds.resize(rows()), dt.resize(rows());
    h.resize(jobs * rows()), weight.resize(jobs);
  }

  void chooseBest() {
    for (size_t j = 0; j < jobs; ++j) {
      unsigned best = open.first[j];
      for (unsigned i = best; i < open.first[j + 1]; ++i) {
        x[i] = 0;
        if (v[i] > v[best])
          best = i;
      }
      x[best] = 1;
    }
  }

  double priced(size_t option, const std::vector<double> &prices) const {
    double sum = 0;
    for (unsigned u = useFirst[option]; u < useFirst[option + 1]; ++u)
      sum += prices[uses[u].row] * uses[u].amount;
    return sum;
  }
  double gap() const {
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum += x[i] * z[i];
    for (size_t i = 0; i < rows(); ++i)
      sum += s[i] * p[i] + t[i] * (cap[i] - p[i]);
    return sum;
  }
  double dualValue() const {
    double sum = 0;
    for (double one : y)
      sum += one;
    for (size_t i = 0; i < rows(); ++i)
      sum += c[i] * p[i];
    return sum;
  }

  /// One predictor and one corrector. False if it is stopped, or the numbers give no direction any more.
  bool advance() {
    const double terms = count + 2 * rows(), mu = gap() / terms;
    if (!factor())
      return false;
    direct(0, false);
    double primal = std::min(1.0, primalStep()), dual = std::min(1.0, dualStep()), sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum += (x[i] + primal * dx[i]) * (z[i] + dual * dz[i]);
    for (size_t i = 0; i < rows(); ++i)
      sum += (s[i] + primal * ds[i]) * (p[i] + dual * dp[i]) + (t[i] + primal * dt[i]) * (cap[i] - p[i] - dual * dp[i]);
    const double ratio = sum / terms / mu;
    direct(mu * ratio * ratio * ratio, true);
    primal = std::min(1.0, kStepShare * primalStep()), dual = std::min(1.0, kStepShare * dualStep());
    if (!(primal > 1e-10) && !(dual > 1e-10))
      return false;
    for (size_t i = 0; i < count; ++i) {
      x[i] += primal * dx[i];
      z[i] += dual * dz[i];
    }
    for (size_t j = 0; j < jobs; ++j)
      y[j] += dual * dy[j];
    for (size_t i = 0; i < rows(); ++i) {
      s[i] += primal * ds[i];
      t[i] += primal * dt[i];
      p[i] += dual * dp[i];
    }
    return true;
  }

  /// The normal equations A D A^T - sum over jobs h h^T / weight + diagonal, as a Cholesky factor. False if it is
  /// stopped or has none.
  bool factor() {
    const size_t n = rows();
    matrix.assign(n * n, 0);
    std::fill(h.begin(), h.end(), 0);
    std::vector<size_t> touched; // rows by one job
    for (size_t j = 0; j < jobs; ++j) {
      if (isStopped())
        return false;
      double *hj = h.data() + j * n;
      weight[j] = 0;
      for (unsigned i = open.first[j]; i < open.first[j + 1]; ++i) {
        const double d = x[i] / z[i];
        weight[j] += d;
        for (unsigned a = useFirst[i]; a < useFirst[i + 1]; ++a) {
          hj[uses[a].row] += d * uses[a].amount;
          for (unsigned b = useFirst[i]; b <= a; ++b)
            matrix[uses[a].row * n + uses[b].row] += d * uses[a].amount * uses[b].amount;
        }
      }
      touched.clear();
      for (size_t a = 0; a < n; ++a)
        if (hj[a] != 0)
          touched.push_back(a);
      for (size_t a : touched)
        for (size_t b : touched)
          if (b <= a)
            matrix[a * n + b] -= hj[a] * hj[b] / weight[j];
    }
    for (size_t a = 0; a < n; ++a)
      matrix[a * n + a] += s[a] / p[a] + t[a] / (cap[a] - p[a]);
    for (size_t a = 0; a < n; ++a) {
      if (isStopped())
        return false;
      for (size_t b = 0; b <= a; ++b) {
        double sum = matrix[a * n + b];
        for (size_t k = 0; k < b; ++k)
          sum -= matrix[a * n + k] * matrix[b * n + k];
        if (a != b)
          matrix[a * n + b] = sum / matrix[b * n + b];
        else if (sum > 0 && std::isfinite(sum))
          matrix[a * n + a] = std::sqrt(sum);
        else
          return false;
      }
    }
    return true;
  }

  /// The direction to complementarity `target`; `second` subtracts the products of the direction before.
  void direct(double target, bool second) {
    const size_t n = rows();
    std::vector<double> rs(n), rt(n), right(n, 0);
    for (size_t i = 0; i < n; ++i) {
      rs[i] = target - s[i] * p[i] - (second ? ds[i] * dp[i] : 0);
      rt[i] = target - t[i] * (cap[i] - p[i]) + (second ? dt[i] * dp[i] : 0);
      right[i] = rs[i] / p[i] - rt[i] / (cap[i] - p[i]);
    }
    for (size_t j = 0; j < jobs; ++j) {
      double sum = 0;
      for (unsigned i = open.first[j]; i < open.first[j + 1]; ++i) {
        g[i] = (target - x[i] * z[i] - (second ? dx[i] * dz[i] : 0)) / z[i];
        sum += g[i];
        for (unsigned u = useFirst[i]; u < useFirst[i + 1]; ++u)
          right[uses[u].row] += uses[u].amount * g[i];
      }
      dy[j] = sum;
      for (size_t i = 0; i < n; ++i)
        right[i] -= h[j * n + i] * sum / weight[j];
    }
    substitute(right);
    dp = std::move(right);
    for (size_t j = 0; j < jobs; ++j) {
      for (size_t i = 0; i < n; ++i)
        dy[j] -= h[j * n + i] * dp[i];
      dy[j] /= weight[j];
      for (unsigned i = open.first[j]; i < open.first[j + 1]; ++i) {
        dz[i] = dy[j] + priced(i, dp);
        dx[i] = g[i] - x[i] / z[i] * dz[i];
      }
    }
    for (size_t i = 0; i < n; ++i) {
      ds[i] = (rs[i] - s[i] * dp[i]) / p[i];
      dt[i] = (rt[i] + t[i] * dp[i]) / (cap[i] - p[i]);
    }
  }

  void substitute(std::vector<double> &right) const {
    const size_t n = rows();
    for (size_t a = 0; a < n; ++a) {
      for (size_t k = 0; k < a; ++k)
        right[a] -= matrix[a * n + k] * right[k];
      right[a] /= matrix[a * n + a];
    }
    for (size_t a = n; a-- > 0;) {
      for (size_t k = a + 1; k < n; ++k)
        right[a] -= matrix[k * n + a] * right[k];
      right[a] /= matrix[a * n + a];
    }
  }

  static void limit(double value, double slope, double &step) {
    if (slope < 0)
      step = std::min(step, -value / slope);
  }
  double primalStep() const {
    double step = 1 / kStepShare;
    for (size_t i = 0; i < count; ++i)
      limit(x[i], dx[i], step);
    for (size_t i = 0; i < rows(); ++i) {
      limit(s[i], ds[i], step);
      limit(t[i], dt[i], step);
    }
    return step;
  }
  double dualStep() const {
    double step = 1 / kStepShare;
    for (size_t i = 0; i < count; ++i)
      limit(z[i], dz[i], step);
    for (size_t i = 0; i < rows(); ++i) {
      limit(p[i], dp[i], step);
      limit(cap[i] - p[i], -dp[i], step);
    }
    return step;
  }

  const CompactAllocation &problem;
  const std::vector<int64_t> &left;
  const OpenOptions &open;
  const SearchControl &control;
  const size_t jobs, count;
  std::vector<int> rowOf;          ///< of resources, -1: none
  std::vector<unsigned> resource;  ///< of rows
  std::vector<double> amountScale; ///< of rows
  double valueScale = 1;
  std::vector<ScaledUse> uses;
  std::vector<unsigned> useFirst; ///< of open options
  std::vector<double> v, c, cap, x, z, y, p, s, t, dx, dz, g, dy, dp, ds, dt;
  std::vector<double> h, weight, matrix; ///< rows of `h` are jobs
};

/// Adds to the rows that are taken those that shares exceed most, as many as there is room for.
class WorkingRows {
public:
  WorkingRows(const CompactAllocation &problem, const std::vector<int64_t> &left, const OpenOptions &open,
              std::vector<Contended> contended, size_t maxRows)
      : problem(problem), left(left), open(open), all(std::move(contended)), isTaken(all.size()),
        maxRows(std::max<size_t>(1, maxRows)) {
    // Neighbours are often slots of one resource: one of some stands for them.
    const size_t step = all.size() <= this->maxRows ? 1 : (2 * all.size() + this->maxRows - 1) / this->maxRows;
    for (size_t i = 0; i < all.size(); i += step)
      isTaken[i] = true, ++taken;
  }

  std::vector<Contended> rows() const {
    std::vector<Contended> chosen;
    for (size_t i = 0; i < all.size(); ++i)
      if (isTaken[i])
        chosen.push_back(all[i]);
    return chosen;
  }

  /// Whether a row was added.
  bool add(const std::vector<double> &shares) {
    if (taken == all.size())
      return false;
    std::vector<double> used(problem.resources(), 0);
    for (size_t i = 0; i < open.options.size(); ++i) {
      const AllocationOption &option = problem.options[open.options[i]];
      for (unsigned u = option.firstUse; u < option.lastUse; ++u)
        used[problem.uses[u].resource] += shares[i] * static_cast<double>(problem.uses[u].amount);
    }
    std::vector<std::pair<double, size_t>> exceeded;
    for (size_t i = 0; i < all.size(); ++i) {
      const double over = (used[all[i].resource] - static_cast<double>(left[all[i].resource])) /
                          static_cast<double>(std::max<int64_t>(1, all[i].maxAmount));
      if (!isTaken[i] && over > kExceeded)
        exceeded.emplace_back(-over, i);
    }
    std::sort(exceeded.begin(), exceeded.end());
    const size_t count = std::min({exceeded.size(), maxRows - taken, std::max<size_t>(1, maxRows / kRowRounds)});
    for (size_t i = 0; i < count; ++i)
      isTaken[exceeded[i].second] = true;
    taken += count;
    return count > 0;
  }

private:
  const CompactAllocation &problem;
  const std::vector<int64_t> &left;
  const OpenOptions &open;
  const std::vector<Contended> all;
  std::vector<bool> isTaken;
  const size_t maxRows;
  size_t taken = 0;
};

} // namespace

Relaxation relax(const CompactAllocation &problem, const std::vector<int64_t> &left, const OpenOptions &open,
                 RelaxedObjective objective, const SearchControl &control, size_t maxRows) {
  WorkingRows working(problem, left, open, contendedResources(problem, left, open), maxRows);
  uint64_t work = 0;
  for (unsigned round = 0;; ++round) {
    const std::vector<Contended> rows = working.rows();
    Relaxation relaxed = InteriorPoint(problem, left, open, objective, control, rows).solve();
    relaxed.work = work += static_cast<uint64_t>(rows.size()) * rows.size() * rows.size();
    if (round == kRowRounds || control.stopped() || !working.add(relaxed.shares))
      return relaxed;
  }
}

} // namespace accord::jobs
