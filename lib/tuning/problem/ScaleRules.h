// How a hyper-parameter follows the batch or the width, so that what is good at a small size is good at a large one.
//
// A search, its history and its tables are in *base terms*: the learning rate is that at the base of each rule, for
// example at batch 64 and width 256. A program gets the value times the factor of each rule of it. Where a rule scales
// by a value v, with the base b and S = v / b, its factor is
// - `Linear`: S. Learning rates of stochastic gradient descent by the batch (Goyal et al., arXiv 1706.02677, section
//   2.1); the epochs of a warm-up by the batch (LEGW: You et al., SC 2019); decoupled weight decay of hidden weights by
//   the width, against a learning rate that `Mup` divides, so that their product stays (Wang and Aitchison, arXiv
//   2405.13698);
// - `SquareRoot`: sqrt(S). Learning rates of Adam and its like by the batch (Malladi et al., arXiv 2205.10287; for
//   stochastic gradient descent Krizhevsky, arXiv 1404.5997);
// - `Inverse`: 1 / S;
// - `Mup`: 1 / S, of Adam by the width, and `MupSgd`: 1, of stochastic gradient descent: the learning rate of hidden
//   matrices in the maximal update parametrization (Yang et al., arXiv 2203.03466, table 8). The program gets S too, as
//   `width_ratio`, with which it sets what the table says of the rest: input weights and biases (with either optimizer)
//   and output weights have S times the learning rate of hidden matrices, the variance of hidden weights begins as
//   1 / fan-in, that of output weights at the one of the base, and outputs are divided by S;
// - `AdaScale`: the gain r = S (N + b) / (N + v) of a larger batch, where the gradient has the noise scale N, counted
//   in samples (McCandlish et al., arXiv 1812.06162; Johnson et al., ICML 2020), and `AdaScaleRoot`: sqrt(r), for Adam
//   (Qiao et al., OSDI 2021). Far below N they are `Linear` and `SquareRoot`; beyond it they end at 1 + N / b and its
//   root;
// - `Ema`: no factor, but the power to which the value is raised: S. Coefficients of moving averages by the batch, so
//   that their half-life stays the same in samples (Busbridge et al., arXiv 2307.13813).
#pragma once
#include "lib/tuning/problem/SearchSpace.h"
#include <optional>

namespace accord::tuning {

struct ScaleRule {
  enum class Kind : uint8_t { Linear, SquareRoot, Inverse, Mup, MupSgd, AdaScale, AdaScaleRoot, Ema };
  std::string target; ///< the hyper-parameter that is scaled, which scales no other
  std::string by;     ///< the one by which it is; all its values are above 0
  Kind kind = Kind::Linear;
  double base = 1;  ///< above 0
  double noise = 0; ///< with AdaScale, in samples: above 0

  bool isMup() const { return kind == Kind::Mup || kind == Kind::MupSgd; }
  bool operator==(const ScaleRule &) const = default;
};
using ScaleRules = std::vector<ScaleRule>;

/// What a program gets instead of the value in base terms, or beside it ("width_ratio").
struct PassedValue {
  std::string name;
  double value = 0;
  bool operator==(const PassedValue &) const = default;
};

/// The number that a value of a hyper-parameter is; nothing where it is a word.
std::optional<double> numberOf(const HyperParameter &parameter, double value);

/// The factor of a rule at a value, or with `Ema` the power.
double scaleOf(const ScaleRule &rule, double value);

/// The name by which a program gets the ratio of a rule of `isMup`.
std::string ratioName(const ScaleRule &rule);

/// What a program gets of a configuration besides its own values: each hyper-parameter that is scaled, in the order of
/// the space, then each ratio. Whole numbers are rounded.
std::vector<PassedValue> passedValues(const SearchSpace &space, const ScaleRules &rules,
                                      const Configuration &configuration);
/// "learning_rate 0.0005, width_ratio 4", to be read.
std::string passedText(const std::vector<PassedValue> &passed);

/// The first hyper-parameter of which some configuration would be passed as infinite, or as 0 though it is not 0.
std::optional<std::string> unboundedTarget(const SearchSpace &space, const ScaleRules &rules);

/// A configuration of another tuning in this one's space and base terms.
struct CarriedConfiguration {
  Configuration configuration;
  std::string sizes;       ///< "width 64 to 1024, batch 32 to 512": what rules scale by and was carried; empty: nothing
  std::string outside;     ///< the hyper-parameter for which there is no value here; empty: it is in the space
  bool isOtherMup = false; ///< `outside` ran in another parametrization, so its values say nothing here
};

/// What `configuration`, of a space with its rules, is in the space `to`. A hyper-parameter by which a rule of `to`
/// scales goes to the nearest value there is, by ratios; what is scaled is restated in base terms of `to`, from what
/// the program got at the size at which it ran. All others have to lie in the space as they are.
CarriedConfiguration carry(const SearchSpace &from, const ScaleRules &fromRules, const Configuration &configuration,
                           const SearchSpace &to, const ScaleRules &toRules);

} // namespace accord::tuning
