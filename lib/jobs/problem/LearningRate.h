// How the learning rate follows the batch: rules, each for the optimizers for which it was derived.
#pragma once
#include "lib/support/Result.h"
#include <optional>
#include <string_view>
#include <vector>

namespace accord::jobs {

enum class Optimizer { Sgd, Momentum, Lars, Adam, AdamW, RmsProp, Lamb };

/// With the scale S = batch / initial batch and the gain r = (sigma^2 + |g|^2) / (sigma^2 / S + |g|^2), from 1 to S:
enum class LearningRateRule {
  Linear,       ///< S, for stochastic gradient descent (Goyal et al., arXiv 1706.02677)
  SquareRoot,   ///< sqrt(S), for it (Krizhevsky, arXiv 1404.5997) and adaptive methods (Malladi et al., NeurIPS 2022;
                ///< LAMB: You et al., ICLR 2020)
  AdaScale,     ///< r, for stochastic gradient descent (Johnson et al., ICML 2020)
  AdaScaleRoot, ///< sqrt(r), AdaScale for Adam and its like (Qiao et al., OSDI 2021, and AdaptDL)
  Legw          ///< sqrt(S), and a warm-up S times as long (You et al., SC 2019), for momentum and LARS
};

/// What the learning rate of the initial batch and its warm-up, in epochs, are multiplied by.
struct LearningRateScale {
  double rate = 1;
  double warmup = 1;
};

/// "linear", "square-root", "ada-scale", "ada-scale-root", "legw".
std::string_view nameOf(LearningRateRule rule);
/// "sgd", "momentum", "lars", "adam", "adamw", "rmsprop", "lamb".
std::string_view nameOf(Optimizer optimizer);
std::optional<LearningRateRule> learningRateRule(std::string_view name);
std::optional<Optimizer> optimizer(std::string_view name);

/// The optimizers for which a rule was derived, in the order of their enumeration.
std::vector<Optimizer> optimizersOf(LearningRateRule rule);

/// `scale` is S > 0 and `gain` is r > 0. Error A1101 if the rule was not derived for the optimizer, with those for
/// which it was, or if a number is not positive and finite.
Result<LearningRateScale> scaleLearningRate(LearningRateRule rule, Optimizer optimizer, double scale, double gain);

} // namespace accord::jobs
