#include "lib/jobs/solve/GoodputFit.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

/// Logarithms of the six times, and gamma itself.
enum Parameter : size_t {
  ComputeConstant,
  ComputeSlope,
  BetweenConstant,
  BetweenSlope,
  WithinConstant,
  WithinSlope,
  Gamma
};
constexpr size_t kParameters = 7;
using Vector = std::array<double, kParameters>;
using Matrix = std::array<Vector, kParameters>;

constexpr double kMinSeconds = 1e-8, kMaxSeconds = 1e12;
constexpr double kGammaWeight = 1e-3, kRatioWeight = 1e-2;
constexpr double kUnseen = 1.1; ///< links between servers over those within one, where only these were measured

/// A row as the loss sees it.
struct Row {
  double batch = 0;                        ///< atomic
  double logAccumulation = 0, logStep = 0; ///< measured
  double beyond = 0;                       ///< devices beyond 2, at least 1e-8
  size_t link = kParameters;               ///< constant of its link; kParameters: one device
};

/// The loss with its gradient and the Gauss-Newton approximation of its Hessian.
struct Evaluation {
  double loss = 0, accumulationError = 0, stepError = 0;
  Vector gradient{};
  Matrix hessian{};
};

/// Residuals of one kind of time: sums of r^2, r J and J J'.
struct Residuals {
  double squares = 0;
  Vector gradient{};
  Matrix hessian{};

  void add(double residual, const Vector &jacobian) {
    squares += residual * residual;
    for (size_t i = 0; i < kParameters; ++i) {
      gradient[i] += residual * jacobian[i];
      for (size_t j = 0; j < kParameters; ++j)
        hessian[i][j] += jacobian[i] * jacobian[j];
    }
  }

  /// Adds sqrt(mean square + smoothing^2) to an evaluation; returns the root without smoothing.
  double addTo(Evaluation &to, size_t rows, double smoothing) const {
    const auto count = static_cast<double>(rows);
    const double root = std::sqrt(squares / count + smoothing * smoothing);
    to.loss += root;
    for (size_t i = 0; i < kParameters; ++i) {
      to.gradient[i] += gradient[i] / (count * root);
      for (size_t j = 0; j < kParameters; ++j)
        to.hessian[i][j] += hessian[i][j] / (count * root);
    }
    return std::sqrt(squares / count);
  }
};

class Problem {
public:
  explicit Problem(const std::vector<MeasuredStep> &measured) {
    bool batches = false, between = false, within = false;
    betweenSlope = withinSlope = true;
    for (const MeasuredStep &row : measured) {
      batches |= row.atomicBatch != measured.front().atomicBatch;
      between |= row.on.servers > 1;
      within |= row.on.servers == 1 && row.on.devices > 1;
      betweenSlope &= !(row.on.servers > 1 && row.on.devices > 2);
      withinSlope &= !(row.on.servers == 1 && row.on.devices > 2);
      rows.push_back({static_cast<double>(row.atomicBatch), std::log(row.accumulationSeconds),
                      std::log(row.stepSeconds), std::max(static_cast<double>(row.on.devices) - 2, 1e-8),
                      row.on.servers > 1   ? BetweenConstant
                      : row.on.devices > 1 ? WithinConstant
                                           : kParameters});
    }
    frozen = {!batches, !between, !within, betweenSlope, withinSlope};
    isFixed = {!batches, false, !between, betweenSlope, !within, withinSlope, !between && !within};
    lower.fill(std::log(kMinSeconds));
    upper.fill(std::log(kMaxSeconds));
    lower[Gamma] = 1;
    upper[Gamma] = 10;
  }

  std::vector<Vector> starts() const;
  /// The times of a model, within the bounds, as far as they may move.
  Vector startAt(const GoodputModel &model) const;
  Evaluation evaluate(const Vector &at, double smoothing) const;
  /// The local minimum that a start leads to.
  Vector minimize(Vector at) const;

  FrozenTerms frozen;

private:
  Vector step(const Vector &at, const Evaluation &now, double damping) const;
  void addPriors(const Vector &at, Evaluation &to) const;

  std::vector<Row> rows;
  std::array<bool, kParameters> isFixed{};
  Vector lower{}, upper{};
  bool betweenSlope = false, withinSlope = false;
};

/// Starts differ in the overlap and in how much of a step is constant and synchronization.
std::vector<Vector> Problem::starts() const {
  double accumulation = 0, batch = 0, mean = 0, between = 0, within = 0;
  size_t betweenRows = 0, withinRows = 0;
  for (const Row &row : rows) {
    accumulation += row.logAccumulation;
    mean += std::exp(row.logAccumulation);
    batch += std::log(row.batch);
    const double seconds = std::exp(row.logStep), rest = seconds - std::exp(row.logAccumulation);
    (row.link == BetweenConstant ? between : within) +=
        row.link == kParameters ? 0 : std::log(std::max(rest, 1e-3 * seconds));
    betweenRows += row.link == BetweenConstant;
    withinRows += row.link == WithinConstant;
  }
  const auto count = static_cast<double>(rows.size());
  Vector base{};
  base[ComputeConstant] = accumulation / count;
  base[ComputeSlope] = (accumulation - batch) / count;
  base[BetweenConstant] = betweenRows ? between / static_cast<double>(betweenRows) : lower[BetweenConstant];
  base[WithinConstant] = withinRows ? within / static_cast<double>(withinRows) : lower[WithinConstant];
  std::vector<Vector> all;
  for (double gamma : {1.01, 1.6, 3.0, 6.0})
    for (double constant : {0.5, 0.1}) {
      Vector start = base;
      start[ComputeConstant] += std::log(constant);
      start[ComputeSlope] += std::log(1 - constant);
      start[BetweenSlope] = start[BetweenConstant] + std::log(0.05);
      start[WithinSlope] = start[WithinConstant] + std::log(0.05);
      start[Gamma] = gamma;
      if (isFixed[ComputeConstant])
        start[ComputeConstant] = std::log(mean / count / 2);
      for (size_t i = 0; i < kParameters; ++i) {
        if (isFixed[i] && i != ComputeConstant)
          start[i] = lower[i];
        start[i] = std::clamp(start[i], lower[i], upper[i]);
      }
      all.push_back(start);
    }
  return all;
}

Vector Problem::startAt(const GoodputModel &model) const {
  Vector start = starts().front();
  const std::array<double, Gamma> seconds{model.compute.constant,        model.compute.slope,
                                          model.betweenServers.constant, model.betweenServers.slope,
                                          model.withinServer.constant,   model.withinServer.slope};
  // A link of which nothing was seen before has the start of its rows.
  constexpr double kSeen = 1e-6;
  for (size_t i = 0; i < Gamma; ++i)
    if (!isFixed[i] && seconds[i] > kSeen)
      start[i] = std::clamp(std::log(seconds[i]), lower[i], upper[i]);
  if (!isFixed[Gamma])
    start[Gamma] = std::clamp(model.gamma, 1.01, 9.9);
  return start;
}

void Problem::addPriors(const Vector &at, Evaluation &to) const {
  const double overlap = at[Gamma] - 1;
  to.loss += kGammaWeight * overlap * overlap;
  to.gradient[Gamma] += 2 * kGammaWeight * overlap;
  to.hessian[Gamma][Gamma] += 2 * kGammaWeight;
  for (size_t constant : {size_t(BetweenConstant), size_t(WithinConstant)}) {
    const size_t slope = constant + 1;
    if (isFixed[slope])
      continue;
    const double square = kRatioWeight * std::exp(2 * (at[slope] - at[constant]));
    to.loss += square;
    to.gradient[slope] += 2 * square;
    to.gradient[constant] -= 2 * square;
    to.hessian[slope][slope] += 4 * square;
    to.hessian[constant][constant] += 4 * square;
    to.hessian[slope][constant] -= 4 * square;
    to.hessian[constant][slope] -= 4 * square;
  }
}

Evaluation Problem::evaluate(const Vector &at, double smoothing) const {
  Residuals accumulation, whole;
  const double gamma = at[Gamma];
  Vector seconds{};
  for (size_t i = 0; i < Gamma; ++i)
    seconds[i] = std::exp(at[i]);
  for (const Row &row : rows) {
    const double compute = seconds[ComputeConstant] + seconds[ComputeSlope] * row.batch, logCompute = std::log(compute);
    Vector jacobian{};
    jacobian[ComputeConstant] = seconds[ComputeConstant] / compute;
    jacobian[ComputeSlope] = seconds[ComputeSlope] * row.batch / compute;
    accumulation.add(logCompute - row.logAccumulation, jacobian);
    double sync = kMinSeconds, slopeSeconds = 0;
    if (row.link < kParameters) {
      slopeSeconds = seconds[row.link + 1] * row.beyond;
      sync = seconds[row.link] + slopeSeconds;
    }
    // log((C^gamma + N^gamma)^(1 / gamma)), with the larger one outside of the powers.
    const double logSync = std::log(sync), larger = std::max(logCompute, logSync);
    const double a = std::exp(gamma * (logCompute - larger)), b = std::exp(gamma * (logSync - larger));
    const double logStep = larger + std::log(a + b) / gamma, ofCompute = a / (a + b), ofSync = b / (a + b);
    jacobian[ComputeConstant] *= ofCompute;
    jacobian[ComputeSlope] *= ofCompute;
    if (row.link < kParameters) {
      jacobian[row.link] = ofSync * seconds[row.link] / sync;
      jacobian[row.link + 1] = ofSync * slopeSeconds / sync;
    }
    jacobian[Gamma] = (ofCompute * logCompute + ofSync * logSync - logStep) / gamma;
    whole.add(logStep - row.logStep, jacobian);
  }
  Evaluation result;
  result.accumulationError = accumulation.addTo(result, rows.size(), smoothing);
  result.stepError = whole.addTo(result, rows.size(), smoothing);
  addPriors(at, result);
  return result;
}

/// Solves (H + damping * diagonal) d = -g over the parameters that may move, by Gaussian elimination; the matrix is
/// positive definite.
Vector Problem::step(const Vector &at, const Evaluation &now, double damping) const {
  std::array<bool, kParameters> moves{};
  Matrix matrix = now.hessian;
  Vector right{};
  for (size_t i = 0; i < kParameters; ++i) {
    const bool leaves = (at[i] <= lower[i] && now.gradient[i] > 0) || (at[i] >= upper[i] && now.gradient[i] < 0);
    moves[i] = !isFixed[i] && !leaves;
    right[i] = moves[i] ? -now.gradient[i] : 0;
  }
  for (size_t i = 0; i < kParameters; ++i)
    for (size_t j = 0; j < kParameters; ++j)
      if (!moves[i] || !moves[j])
        matrix[i][j] = i == j ? 1 : 0;
      else if (i == j)
        matrix[i][j] += damping * (matrix[i][j] + 1e-9) + 1e-12;
  for (size_t pivot = 0; pivot < kParameters; ++pivot)
    for (size_t i = pivot + 1; i < kParameters; ++i) {
      const double factor = matrix[i][pivot] / matrix[pivot][pivot];
      for (size_t j = pivot; j < kParameters; ++j)
        matrix[i][j] -= factor * matrix[pivot][j];
      right[i] -= factor * right[pivot];
    }
  Vector moved = at;
  for (size_t i = kParameters; i-- > 0;) {
    for (size_t j = i + 1; j < kParameters; ++j)
      right[i] -= matrix[i][j] * right[j];
    right[i] /= matrix[i][i];
  }
  for (size_t i = 0; i < kParameters; ++i)
    if (moves[i] && std::isfinite(right[i]))
      moved[i] = std::clamp(at[i] + std::clamp(right[i], -2.0, 2.0), lower[i], upper[i]);
  return moved;
}

Vector Problem::minimize(Vector at) const {
  constexpr unsigned kIterations = 80;
  for (double smoothing : {1e-1, 1e-2, 1e-4, 1e-7}) {
    double damping = 1e-3;
    Evaluation now = evaluate(at, smoothing);
    for (unsigned i = 0; i < kIterations && damping < 1e10; ++i) {
      const Vector next = step(at, now, damping);
      const Evaluation then = evaluate(next, smoothing);
      if (!(then.loss < now.loss)) {
        damping *= 4;
        continue;
      }
      const bool small = now.loss - then.loss < 1e-10 * now.loss;
      at = next;
      now = then;
      damping = std::max(1e-12, damping / 5);
      if (small)
        break;
    }
  }
  return at;
}

Result<void> check(const std::vector<MeasuredStep> &rows) {
  auto isTime = [](double seconds) { return std::isfinite(seconds) && seconds > 0; };
  if (rows.empty())
    return Error{Code::WrongJobsFile, "no step was measured, to which times could be fitted"};
  for (size_t i = 0; i < rows.size(); ++i) {
    const MeasuredStep &row = rows[i];
    if (row.on.servers < 1 || row.on.devices < row.on.servers || row.atomicBatch < 1 ||
        !isTime(row.accumulationSeconds) || !isTime(row.stepSeconds))
      return Error{Code::WrongJobsFile,
                   fmt::format("measured step {} has {} devices on {} servers, a batch of {}, and {} and {} s, but at "
                               "least 1 device for each server, a batch of 1 and times above 0 are expected",
                               i, row.on.devices, row.on.servers, row.atomicBatch, row.accumulationSeconds,
                               row.stepSeconds)};
  }
  return {};
}

GoodputModel modelOf(const Vector &at, const FrozenTerms &frozen) {
  GoodputModel model;
  model.compute = {std::exp(at[ComputeConstant]), std::exp(at[ComputeSlope])};
  model.betweenServers = {std::exp(at[BetweenConstant]), frozen.betweenSlope ? 0 : std::exp(at[BetweenSlope])};
  model.withinServer = {std::exp(at[WithinConstant]), frozen.withinSlope ? 0 : std::exp(at[WithinSlope])};
  model.gamma = at[Gamma];
  if (frozen.betweenServers) {
    model.betweenServers.constant = std::max(kMinSeconds, kUnseen * model.withinServer.constant);
    model.betweenServers.slope = kUnseen * model.withinServer.slope;
  }
  return model;
}

} // namespace

Result<GoodputFit> fitGoodput(const std::vector<MeasuredStep> &rows, const GoodputModel *near) {
  if (auto checked = check(rows); !checked)
    return checked.takeError();
  const Problem problem(rows);
  std::optional<std::pair<Evaluation, Vector>> best;
  for (const Vector &start : near ? std::vector{problem.startAt(*near)} : problem.starts()) {
    const Vector at = problem.minimize(start);
    const Evaluation found = problem.evaluate(at, 0);
    if (std::isfinite(found.loss) && (!best || found.loss < best->first.loss))
      best = {found, at};
  }
  if (!best)
    return Error{Code::WrongJobsFile, "the measured steps have no times that could be fitted to them"};
  GoodputFit fit;
  fit.model = modelOf(best->second, problem.frozen);
  fit.loss = best->first.loss;
  fit.accumulationError = best->first.accumulationError;
  fit.stepError = best->first.stepError;
  fit.frozen = problem.frozen;
  return fit;
}

} // namespace accord::jobs
