#include "lib/tuning/verify/ScaleProof.h"
#include "lib/support/Number.h"
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::tuning {
namespace {

using Rule = ScaleRule::Kind;

class Prover {
public:
  Prover(const TuningProblem &problem, Verification &verification) : problem_(problem), out_(verification) {}

  bool areRules() {
    std::set<std::string> names, targets;
    std::set<std::pair<std::string, std::string>> pairs;
    for (const HyperParameter &parameter : problem_.space)
      names.insert(parameter.name);
    for (const ScaleRule &rule : problem_.scales)
      targets.insert(rule.target);
    for (const ScaleRule &rule : problem_.scales) {
      const bool isNoisy = rule.kind == Rule::AdaScale || rule.kind == Rule::AdaScaleRoot;
      if (!names.count(rule.target) || !names.count(rule.by) || targets.count(rule.by) || !(rule.base > 0) ||
          !std::isfinite(rule.base) || (isNoisy && !(rule.noise > 0)) || !pairs.emplace(rule.target, rule.by).second)
        finding("'{}' is scaled by '{}' from the base {}, which is no rule", rule.target, rule.by, rule.base);
    }
    return out_.holds();
  }

  size_t prove(size_t number, const Trial &trial) {
    std::map<std::string, double> expected;
    std::set<std::string> whole;
    for (size_t p = 0; p < problem_.space.size(); ++p)
      if (auto passed = passedOf(p, trial.configuration)) {
        expected[problem_.space[p].name] = *passed;
        if (problem_.space[p].kind == HyperParameter::Kind::Integer)
          whole.insert(problem_.space[p].name);
      }
    for (const ScaleRule &rule : problem_.scales)
      if (rule.kind == Rule::Mup || rule.kind == Rule::MupSgd)
        expected[rule.by + "_ratio"] = valueOf(rule.by, trial.configuration) / rule.base;
    std::set<std::string> seen;
    for (const PassedValue &one : trial.passed) {
      const auto found = expected.find(one.name);
      if (found == expected.end() || !seen.insert(one.name).second) {
        finding("trial {}: its program got '{}', which no rule passes", number, one.name);
        continue;
      }
      // A whole number may be half a step off where the closed forms differ in the last digit.
      const double near = 1e-9 * std::abs(found->second);
      const bool isRight = whole.count(one.name)
                               ? one.value == std::round(one.value) && std::abs(one.value - found->second) <= 0.5 + near
                               : std::abs(one.value - found->second) <= near;
      if (!isRight)
        finding("trial {}: its program got {} as '{}', but the rules give {}", number, one.value, one.name,
                found->second);
    }
    if (seen.size() < expected.size())
      finding("trial {}: its program got {} of {} values that rules pass", number, seen.size(), expected.size());
    return seen.size();
  }

private:
  template <class... Args> void finding(fmt::format_string<Args...> format, Args &&...args) {
    out_.findings.push_back({Code::CertificateDisagrees, fmt::format(format, std::forward<Args>(args)...)});
  }

  double numberOf(size_t parameter, double value) const {
    const HyperParameter &one = problem_.space[parameter];
    if (one.kind != HyperParameter::Kind::Choice)
      return value;
    auto number = parseReal(one.choices[static_cast<size_t>(value)]);
    return number ? *number : std::nan("");
  }
  double valueOf(const std::string &name, const Configuration &configuration) const {
    for (size_t p = 0; p < problem_.space.size(); ++p)
      if (problem_.space[p].name == name)
        return numberOf(p, configuration[p]);
    return std::nan("");
  }

  /// Before it is rounded; nothing where no rule scales it.
  std::optional<double> passedOf(size_t parameter, const Configuration &configuration) const {
    bool isScaled = false;
    double logarithm = 0, power = 1;
    for (const ScaleRule &rule : problem_.scales) {
      if (rule.target != problem_.space[parameter].name)
        continue;
      isScaled = true;
      const double v = valueOf(rule.by, configuration), ratio = std::log(v) - std::log(rule.base);
      const double gain = std::log1p(rule.noise / rule.base) - std::log1p(rule.noise / v);
      switch (rule.kind) {
      case Rule::Linear:
        logarithm += ratio;
        break;
      case Rule::SquareRoot:
        logarithm += ratio / 2;
        break;
      case Rule::Inverse:
      case Rule::Mup:
        logarithm -= ratio;
        break;
      case Rule::MupSgd:
        break;
      case Rule::AdaScale:
        logarithm += gain;
        break;
      case Rule::AdaScaleRoot:
        logarithm += gain / 2;
        break;
      case Rule::Ema:
        power *= v / rule.base;
        break;
      }
    }
    if (!isScaled)
      return std::nullopt;
    const double value = numberOf(parameter, configuration[parameter]);
    if (value == 0)
      return 0;
    return std::copysign(std::exp(power * std::log(std::abs(value)) + logarithm), value);
  }

  const TuningProblem &problem_;
  Verification &out_;
};

} // namespace

void proveScales(const TuningProblem &problem, const TuningResult &result, Verification &verification) {
  Prover prover(problem, verification);
  if (!prover.areRules())
    return;
  size_t values = 0;
  for (size_t i = 0; i < result.trials.size(); ++i)
    values += prover.prove(i, result.trials[i]);
  if (values > 0 && verification.holds())
    verification.checked.push_back(
        fmt::format("{} values that programs got follow from the configurations by {} rules of scaling", values,
                    problem.scales.size()));
}

} // namespace accord::tuning
