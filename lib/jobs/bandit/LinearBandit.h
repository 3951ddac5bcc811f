// A contextual bandit with a linear model for each arm: LinUCB with disjoint models (Li et al., WWW 2010, algorithm 1).
#pragma once
#include <cstddef>
#include <vector>

namespace accord::jobs {

/// What the bandit expects of an arm: the mean of its reward and the standard deviation of that mean.
struct ExpectedReward {
  double mean = 0, deviation = 0;
};

/// The reward of an arm is assumed to be theta . x with normal noise, where theta is the arm's own and x the context.
/// Before any reward, each number of theta is normal with a mean that is given. So what is known of theta is normal too
/// (Bayesian linear regression): its mean is inverse(A) b, its covariance noise^2 inverse(A), where A is the ridge
/// times the identity plus the sum of x x', b is the ridge times the first mean plus the sum of reward times x, and the
/// ridge is noise^2 / prior^2.
class LinearBandit {
public:
  /// `means`: of theta before any reward, for each arm as many numbers as there are features. Standard deviations:
  /// `noise` of one reward, `prior` of each number of theta; both more than 0.
  LinearBandit(const std::vector<std::vector<double>> &means, double noise, double prior);

  size_t arms() const { return models.size(); }
  /// A reward of an arm in a context, which has a number for each feature.
  void observe(size_t arm, const std::vector<double> &context, double reward);
  ExpectedReward expect(size_t arm, const std::vector<double> &context) const;
  /// The arm with the largest mean + `width` * deviation of those that are not left out; the first of equal ones. One
  /// at least is not left out.
  size_t choose(const std::vector<double> &context, double width, const std::vector<bool> &leftOut) const;

private:
  struct Model {
    std::vector<double> inverse; ///< of A: rows one after the other
    std::vector<double> sum;     ///< b
  };
  /// inverse(A) x.
  std::vector<double> solved(const Model &model, const std::vector<double> &context) const;

  size_t features;
  double noise;
  std::vector<Model> models; ///< of each arm
};

} // namespace accord::jobs
