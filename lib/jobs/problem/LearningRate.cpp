#include "lib/jobs/problem/LearningRate.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace accord::jobs {
namespace {

constexpr std::string_view kRules[] = {"linear", "square-root", "ada-scale", "ada-scale-root", "legw"};
constexpr std::string_view kOptimizers[] = {"sgd", "momentum", "lars", "adam", "adamw", "rmsprop", "lamb"};

template <class Enum, size_t count>
std::optional<Enum> find(const std::string_view (&names)[count], std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

} // namespace

std::string_view nameOf(LearningRateRule rule) { return kRules[static_cast<size_t>(rule)]; }
std::string_view nameOf(Optimizer optimizer) { return kOptimizers[static_cast<size_t>(optimizer)]; }
std::optional<LearningRateRule> learningRateRule(std::string_view name) { return find<LearningRateRule>(kRules, name); }
std::optional<Optimizer> optimizer(std::string_view name) { return find<Optimizer>(kOptimizers, name); }

std::vector<Optimizer> optimizersOf(LearningRateRule rule) {
  using enum Optimizer;
  switch (rule) {
  case LearningRateRule::Linear:
  case LearningRateRule::AdaScale:
    return {Sgd, Momentum};
  case LearningRateRule::SquareRoot:
    return {Sgd, Momentum, Adam, AdamW, RmsProp, Lamb};
  case LearningRateRule::AdaScaleRoot:
    return {Adam, AdamW, RmsProp};
  case LearningRateRule::Legw:
    return {Momentum, Lars};
  }
  return {};
}

Result<LearningRateScale> scaleLearningRate(LearningRateRule rule, Optimizer optimizer, double scale, double gain) {
  const std::vector<Optimizer> legal = optimizersOf(rule);
  if (std::ranges::count(legal, optimizer) == 0) {
    std::string names;
    for (Optimizer one : legal)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", nameOf(one));
    return Error{Code::WrongJobsFile,
                 fmt::format("learning-rate rule '{}' was not derived for optimizer '{}', but for {}", nameOf(rule),
                             nameOf(optimizer), names)};
  }
  for (double value : {scale, gain})
    if (!std::isfinite(value) || value <= 0)
      return Error{Code::WrongJobsFile,
                   fmt::format("a learning rate is scaled by {}, but a positive number is expected", value)};
  switch (rule) {
  case LearningRateRule::Linear:
    return LearningRateScale{scale, 1};
  case LearningRateRule::SquareRoot:
    return LearningRateScale{std::sqrt(scale), 1};
  case LearningRateRule::AdaScale:
    return LearningRateScale{gain, 1};
  case LearningRateRule::AdaScaleRoot:
    return LearningRateScale{std::sqrt(gain), 1};
  case LearningRateRule::Legw:
    return LearningRateScale{std::sqrt(scale), scale};
  }
  return LearningRateScale{};
}

} // namespace accord::jobs
