// Regression by a Gaussian process (Rasmussen and Williams, 2006, algorithm 2.1), on a few hundred
// points.
#pragma once
#include <Eigen/Dense>
#include <utility>

namespace accord {

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
  const Kernel &kernel() const { return kernel_; }

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

} // namespace accord
