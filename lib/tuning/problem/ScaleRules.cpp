#include "lib/tuning/problem/ScaleRules.h"
#include "lib/jobs/problem/LearningRate.h"
#include "lib/support/Number.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace accord::tuning {
namespace {

using Kind = HyperParameter::Kind;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Whole numbers up to it are exact.
constexpr double kMaxWhole = 1e15;
/// Of values that went through a factor and back.
constexpr double kRounding = 1e-9;

/// What all rules of a hyper-parameter do together: value^power * factor.
struct Scale {
  double factor = 1, power = 1;
  double of(double value) const { return (power == 1 ? value : std::pow(value, power)) * factor; }
  double inverse(double passed) const { return std::pow(passed / factor, 1 / power); }
};

void add(Scale &scale, const ScaleRule &rule, double value) {
  (rule.kind == ScaleRule::Kind::Ema ? scale.power : scale.factor) *= scaleOf(rule, value);
}

ScaleRules rulesOf(const ScaleRules &rules, const std::string &target) {
  ScaleRules out;
  std::ranges::copy_if(rules, std::back_inserter(out), [&](const ScaleRule &one) { return one.target == target; });
  return out;
}

/// The number that a configuration has of a hyper-parameter; nothing where there is none.
std::optional<double> numberIn(const SearchSpace &space, const Configuration &configuration, const std::string &name) {
  const auto found = std::ranges::find(space, name, &HyperParameter::name);
  if (found == space.end())
    return std::nullopt;
  return numberOf(*found, configuration[static_cast<size_t>(found - space.begin())]);
}

/// What rules do at the sizes of a configuration; else the name of the size that it does not have.
std::optional<Scale> scaleAt(const ScaleRules &rules, const SearchSpace &space, const Configuration &configuration,
                             std::string &lacking) {
  Scale out;
  for (const ScaleRule &rule : rules) {
    const auto value = numberIn(space, configuration, rule.by);
    if (!value || !(*value > 0)) {
      lacking = rule.by;
      return std::nullopt;
    }
    add(out, rule, *value);
  }
  return out;
}

double asPassed(const HyperParameter &parameter, double scaled) {
  return parameter.kind == Kind::Integer ? std::round(scaled) : scaled;
}

/// The numbers from which on and up to which a hyper-parameter goes.
std::pair<double, double> numbersOf(const HyperParameter &parameter) {
  if (parameter.kind != Kind::Choice)
    return {parameter.min, parameter.max};
  std::pair<double, double> out{kInfinite, -kInfinite};
  for (size_t i = 0; i < parameter.size(); ++i)
    if (const auto number = numberOf(parameter, static_cast<double>(i)))
      out = {std::min(out.first, *number), std::max(out.second, *number)};
  return out;
}

/// The smallest and the largest of what is not 0, without signs. Of real numbers around 0 as near to it as are drawn.
std::pair<double, double> sizesOf(const HyperParameter &parameter) {
  if (parameter.kind == Kind::Choice) {
    std::pair<double, double> out{kInfinite, 0};
    for (size_t i = 0; i < parameter.size(); ++i)
      if (const auto number = numberOf(parameter, static_cast<double>(i)); number && *number != 0)
        out = {std::min(out.first, std::abs(*number)), std::max(out.second, std::abs(*number))};
    return out;
  }
  const double a = std::abs(parameter.min), b = std::abs(parameter.max), max = std::max(a, b);
  if (parameter.min > 0 || parameter.max < 0)
    return {std::min(a, b), max};
  return {parameter.kind == Kind::Integer ? 1 : max * std::numeric_limits<double>::epsilon() / 4, max};
}

/// The value of `parameter` that is nearest to a positive number by ratios.
double nearestValue(const HyperParameter &parameter, double number) {
  if (parameter.kind != Kind::Choice) {
    const double value = std::clamp(number, parameter.min, parameter.max);
    return parameter.kind == Kind::Integer ? std::round(value) : value;
  }
  size_t nearest = 0;
  auto far = [&](size_t i) {
    return std::abs(std::log(numberOf(parameter, static_cast<double>(i)).value_or(kInfinite) / number));
  };
  for (size_t i = 1; i < parameter.size(); ++i)
    if (far(i) < far(nearest))
      nearest = i;
  return static_cast<double>(nearest);
}

/// The value of `parameter` that a number is; nothing where it has none.
std::optional<double> valueOf(const HyperParameter &parameter, double number) {
  if (parameter.kind == Kind::Choice) {
    for (size_t i = 0; i < parameter.size(); ++i)
      if (const auto choice = numberOf(parameter, static_cast<double>(i));
          choice && std::abs(*choice - number) <= kRounding * std::abs(*choice))
        return static_cast<double>(i);
    return std::nullopt;
  }
  const double value = parameter.kind == Kind::Integer ? std::round(number) : number;
  const double near = kRounding * std::max(std::abs(parameter.min), std::abs(parameter.max));
  if (!(value >= parameter.min - near && value <= parameter.max + near))
    return std::nullopt;
  return std::clamp(value, parameter.min, parameter.max);
}

class Carrier {
public:
  Carrier(const SearchSpace &from, const ScaleRules &fromRules, const Configuration &configuration,
          const SearchSpace &to, const ScaleRules &toRules)
      : from_(from), fromRules_(fromRules), configuration_(configuration), to_(to), toRules_(toRules) {}

  CarriedConfiguration run() {
    if (!isSameMup(toRules_, fromRules_) || !isSameMup(fromRules_, toRules_))
      return std::move(out_);
    for (const HyperParameter &parameter : to_) {
      const auto value = valueIn(parameter);
      if (!value) {
        if (out_.outside.empty())
          out_.outside = parameter.name;
        return std::move(out_);
      }
      out_.configuration.push_back(*value);
    }
    return std::move(out_);
  }

private:
  /// Networks of two parametrizations are the same at the base alone.
  bool isSameMup(const ScaleRules &rules, const ScaleRules &others) {
    for (const ScaleRule &rule : rules)
      if (rule.isMup() && std::ranges::find(others, rule) == others.end() &&
          numberIn(from_, configuration_, rule.by) != rule.base) {
        out_.outside = rule.by, out_.isOtherMup = true;
        return false;
      }
    return true;
  }

  std::optional<double> valueIn(const HyperParameter &parameter) {
    const auto found = std::ranges::find(from_, parameter.name, &HyperParameter::name);
    if (found == from_.end())
      return std::nullopt;
    const double value = configuration_[static_cast<size_t>(found - from_.begin())];
    const auto number = numberOf(*found, value);
    if (std::ranges::find(toRules_, parameter.name, &ScaleRule::by) != toRules_.end()) {
      if (!number || !(*number > 0))
        return std::nullopt;
      const double nearest = nearestValue(parameter, *number);
      if (const double there = *numberOf(parameter, nearest); there != *number)
        out_.sizes += fmt::format("{}{} {} to {}", out_.sizes.empty() ? "" : ", ", parameter.name, *number, there);
      return nearest;
    }
    const ScaleRules was = rulesOf(fromRules_, parameter.name), is = rulesOf(toRules_, parameter.name);
    if (was != is && number) {
      const auto at = scaleAt(was, from_, configuration_, out_.outside);
      const auto here = at ? scaleAt(is, from_, configuration_, out_.outside) : std::nullopt;
      return here ? valueOf(parameter, here->inverse(at->of(*number))) : std::nullopt;
    }
    if (found->kind != parameter.kind)
      return std::nullopt;
    if (parameter.kind != Kind::Choice)
      return value < parameter.min || value > parameter.max ? std::nullopt : std::optional(value);
    const auto choice = std::ranges::find(parameter.choices, found->choices[static_cast<size_t>(value)]);
    if (choice == parameter.choices.end())
      return std::nullopt;
    return static_cast<double>(choice - parameter.choices.begin());
  }

  const SearchSpace &from_;
  const ScaleRules &fromRules_;
  const Configuration &configuration_;
  const SearchSpace &to_;
  const ScaleRules &toRules_;
  CarriedConfiguration out_;
};

} // namespace

std::optional<double> numberOf(const HyperParameter &parameter, double value) {
  if (parameter.kind != Kind::Choice)
    return value;
  auto number = parseReal(parameter.choices[static_cast<size_t>(value)]);
  return number ? std::optional(*number) : std::nullopt;
}

double scaleOf(const ScaleRule &rule, double value) {
  const double scale = value / rule.base;
  auto known = [&](jobs::LearningRateRule one) {
    const double gain = scale * (rule.noise + rule.base) / (rule.noise + value);
    auto made = jobs::scaleLearningRate(one, jobs::optimizersOf(one).front(), scale, gain);
    return made ? made->rate : kInfinite; // a ratio beyond all numbers
  };
  switch (rule.kind) {
  case ScaleRule::Kind::Linear:
    return known(jobs::LearningRateRule::Linear);
  case ScaleRule::Kind::SquareRoot:
    return known(jobs::LearningRateRule::SquareRoot);
  case ScaleRule::Kind::AdaScale:
    return known(jobs::LearningRateRule::AdaScale);
  case ScaleRule::Kind::AdaScaleRoot:
    return known(jobs::LearningRateRule::AdaScaleRoot);
  case ScaleRule::Kind::Inverse:
  case ScaleRule::Kind::Mup:
    return rule.base / value;
  case ScaleRule::Kind::MupSgd:
    return 1;
  case ScaleRule::Kind::Ema:
    return scale;
  }
  return 1;
}

std::string ratioName(const ScaleRule &rule) { return rule.by + "_ratio"; }

std::vector<PassedValue> passedValues(const SearchSpace &space, const ScaleRules &rules,
                                      const Configuration &configuration) {
  std::vector<PassedValue> out;
  for (size_t i = 0; i < space.size(); ++i) {
    const ScaleRules own = rulesOf(rules, space[i].name);
    std::string lacking;
    const auto scale = scaleAt(own, space, configuration, lacking);
    const auto number = numberOf(space[i], configuration[i]);
    if (!own.empty() && scale && number)
      out.push_back({space[i].name, asPassed(space[i], scale->of(*number))});
  }
  for (const ScaleRule &rule : rules)
    if (const auto value = numberIn(space, configuration, rule.by);
        value && rule.isMup() && std::ranges::find(out, ratioName(rule), &PassedValue::name) == out.end())
      out.push_back({ratioName(rule), *value / rule.base});
  return out;
}

std::string passedText(const std::vector<PassedValue> &passed) {
  std::string out;
  for (const PassedValue &one : passed)
    out += fmt::format("{}{} {:.4g}", out.empty() ? "" : ", ", one.name, one.value);
  return out;
}

std::optional<std::string> unboundedTarget(const SearchSpace &space, const ScaleRules &rules) {
  for (const HyperParameter &parameter : space) {
    const ScaleRules own = rulesOf(rules, parameter.name);
    Scale min, max;
    for (const ScaleRule &rule : own) {
      const auto by = std::ranges::find(space, rule.by, &HyperParameter::name);
      const auto [first, last] = numbersOf(*by);
      const auto [low, high] = std::minmax(scaleOf(rule, first), scaleOf(rule, last));
      const bool isPower = rule.kind == ScaleRule::Kind::Ema;
      (isPower ? min.power : min.factor) *= low;
      (isPower ? max.power : max.factor) *= high;
    }
    const auto [small, large] = sizesOf(parameter);
    if (own.empty() || large == 0)
      continue;
    for (const Scale &scale : {min, max})
      for (double value : {small, large}) {
        const double passed = asPassed(parameter, scale.of(value));
        if (!std::isfinite(passed) || passed == 0 || (parameter.kind == Kind::Integer && passed > kMaxWhole))
          return parameter.name;
      }
  }
  return std::nullopt;
}

CarriedConfiguration carry(const SearchSpace &from, const ScaleRules &fromRules, const Configuration &configuration,
                           const SearchSpace &to, const ScaleRules &toRules) {
  return Carrier(from, fromRules, configuration, to, toRules).run();
}

} // namespace accord::tuning
