#include "lib/exploration/solve/MiningRandom.h"
#include "lib/exploration/solve/MiningRun.h"
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace accord {
namespace {

/// Regression by a Gaussian process (Rasmussen and Williams, 2006, algorithm 2.1), on a few hundred points.
class GaussianProcess {
public:
  /// k(a, b) = a.b / d * dot + rbf * exp(-|a - b|^2 / (2 * length^2)) + (white if the same point),
  /// for targets of mean 0 and variance 1.
  struct Kernel {
    double dot = 1, rbf = 1, length = 1, white = 1e-2;
  };

  /// `points`: one a row; `targets`: one for each. Takes of a few kernels that of the largest
  /// marginal likelihood where `choose` is set or none was taken, and factorises.
  void fit(const Eigen::MatrixXd &points, const Eigen::VectorXd &targets, bool choose);
  /// Mean and deviation at each row.
  std::pair<Eigen::VectorXd, Eigen::VectorXd> at(const Eigen::MatrixXd &points) const;

private:
  Eigen::MatrixXd covariance(const Eigen::MatrixXd &a, const Eigen::MatrixXd &b) const;
  /// Logarithm of the marginal likelihood; not finite if the matrix cannot be factorised.
  double factorise(const Eigen::VectorXd &targets);

  Kernel kernel_;
  bool chosen_ = false;
  Eigen::MatrixXd points_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd weights_;
};

Eigen::MatrixXd GaussianProcess::covariance(const Eigen::MatrixXd &a, const Eigen::MatrixXd &b) const {
  Eigen::MatrixXd dot = a * b.transpose();
  Eigen::MatrixXd distance = (-2 * dot).colwise() + a.rowwise().squaredNorm();
  distance.rowwise() += b.rowwise().squaredNorm().transpose();
  double narrow = -0.5 / (kernel_.length * kernel_.length);
  double share = kernel_.dot / std::max<double>(1, a.cols());
  return share * dot.array() + kernel_.rbf * (narrow * distance.array().max(0)).exp();
}

double GaussianProcess::factorise(const Eigen::VectorXd &targets) {
  Eigen::MatrixXd k = covariance(points_, points_);
  k.diagonal().array() += kernel_.white;
  factor_.compute(k);
  if (factor_.info() != Eigen::Success)
    return -INFINITY;
  weights_ = factor_.solve(targets);
  double likelihood = -0.5 * targets.dot(weights_);
  for (Eigen::Index i = 0; i < k.rows(); ++i)
    likelihood -= std::log(factor_.matrixLLT()(i, i));
  return likelihood;
}

void GaussianProcess::fit(const Eigen::MatrixXd &points, const Eigen::VectorXd &targets, bool choose) {
  points_ = points;
  if (choose || !chosen_) {
    Kernel best = kernel_;
    double max = -INFINITY;
    for (double length : {0.5, 1.0, 2.0, 4.0})
      for (double rbf : {0.3, 1.0, 3.0})
        for (double white : {1e-4, 1e-2, 1e-1}) {
          kernel_ = {1, rbf, length, white};
          if (double likelihood = factorise(targets); likelihood > max) {
            max = likelihood;
            best = kernel_;
          }
        }
    kernel_ = best;
    chosen_ = true;
  }
  // Rounding alone can make a matrix of near points singular: more noise until it is not.
  while (!std::isfinite(factorise(targets)) && kernel_.white < 1e6)
    kernel_.white *= 10;
}

std::pair<Eigen::VectorXd, Eigen::VectorXd> GaussianProcess::at(const Eigen::MatrixXd &points) const {
  Eigen::MatrixXd k = covariance(points_, points);
  Eigen::VectorXd mean = k.transpose() * weights_;
  double share = kernel_.dot / std::max<double>(1, points.cols());
  factor_.matrixL().solveInPlace(k);
  Eigen::ArrayXd variance =
      share * points.rowwise().squaredNorm().array() + kernel_.rbf - k.colwise().squaredNorm().transpose().array();
  return {mean, variance.max(0).sqrt()};
}

constexpr uint64_t kDefault = 300, kWarm = 30;
constexpr size_t kCandidates = 1000, kMax = 600;
constexpr size_t kRepaired = 64; ///< candidates of a step that may not be, and are moved to where they may

class Bayes {
public:
  explicit Bayes(MiningRun &run) : run(run), random(run.options().seed) {
    const std::vector<DesignParameter> &parameters = run.parameters();
    for (const DesignParameter &parameter : parameters) {
      first.push_back(features);
      // One-hot words beyond some hundred would be a feature per point.
      features += parameter.numbers.empty() ? std::min<size_t>(parameter.labels.size(), 128) : 1;
      scaled.push_back(logarithms(parameter.numbers));
    }
  }

  void search() {
    uint64_t warm = std::clamp<uint64_t>(run.limit() / 4, 1, kWarm);
    // Where hardly any design may be, more are drawn, for a process needs some that may.
    for (uint64_t drawn = 0; !run.isExhausted() && (drawn < warm || (!run.best() && drawn < run.limit()));
         drawn += warm) {
      std::vector<Design> round;
      for (uint64_t i = 0; i < warm; ++i)
        round.push_back(near(random.design(run.parameters())));
      std::vector<double> values = run.values(round);
      for (size_t i = 0; i < round.size(); ++i)
        learn(round[i], values[i]);
    }
    for (uint64_t step = 0; !run.isExhausted() && step / 4 < run.limit(); ++step) {
      std::optional<Design> next = candidate(step);
      if (!next)
        continue; // all that were drawn are known
      learn(*next, run.value(*next));
    }
  }

private:
  /// Of powers of two evenly between -1 and 1; numbers below 1 by position.
  static std::vector<double> logarithms(const std::vector<double> &numbers) {
    std::vector<double> logs;
    for (size_t i = 0; i < numbers.size(); ++i)
      logs.push_back(numbers[0] > 0 ? std::log2(numbers[i]) : double(i));
    double low = logs.empty() ? 0 : logs.front(), high = logs.empty() ? 0 : logs.back();
    for (double &log : logs)
      log = high > low && std::isfinite(high - low) ? 2 * (log - low) / (high - low) - 1 : 0;
    return logs;
  }

  Eigen::RowVectorXd pointOf(const Design &design) const {
    Eigen::RowVectorXd point = Eigen::RowVectorXd::Zero(features);
    for (size_t i = 0; i < design.size(); ++i) {
      if (scaled[i].empty())
        point[first[i] + design[i] % 128] = 1;
      else
        point[first[i]] = scaled[i][design[i]];
    }
    return point;
  }

  void learn(const Design &design, double value) {
    bool known = std::any_of(learnt.begin(), learnt.end(), [&](const auto &pair) { return pair.first == design; });
    if (!known)
      learnt.emplace_back(design, value);
    if (learnt.size() > kMax) { // the worst of the older half goes
      auto worst = std::max_element(learnt.begin(), learnt.begin() + kMax / 2,
                                    [](const auto &a, const auto &b) { return a.second < b.second; });
      learnt.erase(worst);
    }
  }

  /// Logarithms of values, of mean 0 and deviation 1. What may not be counts as one deviation
  /// above the worst: finite, so that one such design does not hide the differences of the rest.
  Eigen::VectorXd targets() const {
    Eigen::Index size = learnt.size();
    Eigen::VectorXd logs(size);
    double sum = 0, squares = 0, max = -INFINITY, count = 0;
    for (Eigen::Index i = 0; i < size; ++i) {
      double value = learnt[i].second;
      logs[i] = std::isinf(value) ? INFINITY : std::log(std::max(value, std::numeric_limits<double>::min()));
      if (std::isinf(value))
        continue;
      sum += logs[i];
      squares += logs[i] * logs[i];
      max = std::max(max, logs[i]);
      ++count;
    }
    double mean = count > 0 ? sum / count : 0;
    double deviation = count > 0 ? std::sqrt(std::max(0.0, squares / count - mean * mean)) : 0;
    double above = count > 0 ? max + std::max(deviation, 1e-3) : 1;
    for (double &log : logs)
      log = std::isinf(log) ? above : log;
    double middle = logs.mean();
    double spread = std::sqrt((logs.array() - middle).square().mean());
    return (logs.array() - middle) / (spread > 0 ? spread : 1);
  }

  Design near(const Design &design) { return run.possibleNear(design, random).value_or(design); }

  /// Of what may not be, the nearest that may, as far as there is time for that.
  std::optional<Design> mayBe(Design design, size_t &repaired) {
    if (run.problem().mayHold({design, design}))
      return design;
    return ++repaired > kRepaired ? std::nullopt : run.possibleNear(design, random);
  }

  std::optional<Design> candidate(uint64_t step) {
    std::vector<Design> drawn;
    size_t repaired = 0;
    for (size_t i = 0; i < kCandidates; ++i) {
      Design design = random.design(run.parameters());
      // A third near the best: in a large space 1,000 points are far from anything.
      if (run.best() && i < kCandidates / 3) {
        Design near = *run.best();
        for (size_t change = random.below(2) + 1; change > 0 && !near.empty(); --change) {
          size_t p = random.below(near.size());
          near[p] = design[p];
        }
        design = near;
      }
      if (std::optional<Design> possible = mayBe(std::move(design), repaired); possible && !run.known(*possible))
        drawn.push_back(std::move(*possible));
    }
    if (drawn.empty())
      return std::nullopt;
    auto rows = [this](size_t count, auto &&designOf) {
      Eigen::MatrixXd points(count, features);
      for (size_t i = 0; i < count; ++i)
        points.row(i) = pointOf(designOf(i));
      return points;
    };
    process.fit(rows(learnt.size(), [&](size_t i) -> const Design & { return learnt[i].first; }), targets(),
                step % 25 == 0);
    auto [mean, deviation] = process.at(rows(drawn.size(), [&](size_t i) -> const Design & { return drawn[i]; }));
    Eigen::Index best = 0;
    (mean - deviation).minCoeff(&best);
    return drawn[best];
  }

  MiningRun &run;
  MiningRandom random;
  size_t features = 0;
  std::vector<size_t> first;               ///< by parameter: its feature
  std::vector<std::vector<double>> scaled; ///< by parameter: of its numbers
  std::vector<std::pair<Design, double>> learnt;
  GaussianProcess process;
};

} // namespace

MiningResult mineByBayes(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "bayes", kDefault);
  run.screenInfeasible();
  if (!run.empty())
    Bayes(run).search();
  return run.conclude(run.empty() || run.complete());
}

} // namespace accord
