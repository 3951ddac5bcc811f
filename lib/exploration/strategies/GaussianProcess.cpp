#include "lib/exploration/strategies/GaussianProcess.h"
#include <cmath>

namespace accord {

Eigen::MatrixXd GaussianProcess::covariance(const Eigen::MatrixXd &a, const Eigen::MatrixXd &b) const {
  Eigen::MatrixXd dot = a * b.transpose();
  Eigen::MatrixXd distance = (-2 * dot).colwise() + a.rowwise().squaredNorm();
  distance.rowwise() += b.rowwise().squaredNorm().transpose();
  double narrow = -0.5 / (kernel_.length * kernel_.length);
  double share = kernel_.dot / std::max<double>(1, static_cast<double>(a.cols()));
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
  double share = kernel_.dot / std::max<double>(1, static_cast<double>(points.cols()));
  factor_.matrixL().solveInPlace(k);
  Eigen::ArrayXd variance =
      share * points.rowwise().squaredNorm().array() + kernel_.rbf - k.colwise().squaredNorm().transpose().array();
  return {mean, variance.max(0).sqrt()};
}

} // namespace accord
