#include "lib/exploration/output/MiningObjective.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace accord {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr unsigned kMaxDepth = 600;

/// All numbers from one to another; NaN: none is known.
struct Range {
  double from = NAN, to = NAN;
};

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Range product(Range a, Range b) {
  double ends[] = {times(a.from, b.from), times(a.from, b.to), times(a.to, b.from), times(a.to, b.to)};
  if (std::any_of(std::begin(ends), std::end(ends), [](double end) { return std::isnan(end); }))
    return {};
  return {*std::min_element(std::begin(ends), std::end(ends)), *std::max_element(std::begin(ends), std::end(ends))};
}

/// 1 / a, of what does not change its sign.
Range inverse(Range a) {
  if (a.from >= 0 && a.to > 0)
    return {1 / a.to, 1 / a.from};
  if (a.to < 0)
    return {1 / a.to, 1 / a.from};
  return {};
}

class Ranges {
public:
  Ranges(const MiningTerms &terms, const Machine &machine, const StepUse &step)
      : terms_(terms), machine_(machine), step_(step) {}

  Range of(Attribute value, unsigned depth = 0) const {
    if (depth > kMaxDepth)
      return {};
    if (auto reference = dyn_cast<accel::ReferenceAttr>(value)) {
      double end = step_.orMore ? kInfinite : 0;
      double batch = step_.batch;
      if (reference.getPath() == "step_time")
        return {step_.seconds, std::max(step_.seconds, end)};
      if (reference.getPath() == "energy")
        return {step_.joules, std::max(step_.joules, end)};
      if (reference.getPath() == "batch")
        return {batch, batch};
      if (reference.getPath() == "throughput")
        return {step_.orMore ? 0 : batch / step_.seconds, batch / step_.seconds};
    }
    auto application = dyn_cast<accel::ApplyAttr>(value);
    if (!application) {
      double number = terms_.nearly(value, machine_);
      return {number, number};
    }
    std::vector<Range> all;
    for (Attribute operand : application.getOperands()) {
      all.push_back(of(operand, depth + 1));
      if (std::isnan(all.back().from) || std::isnan(all.back().to))
        return {};
    }
    return all.empty() ? Range{} : applied(application.getFunction(), all);
  }

private:
  static Range applied(llvm::StringRef function, const std::vector<Range> &all) {
    Range a = all.front(), b = all.back();
    if (function == "+" || function == "sum") {
      Range sum = a;
      for (size_t i = 1; i < all.size(); ++i)
        sum = {sum.from + all[i].from, sum.to + all[i].to};
      return sum;
    }
    if (function == "-")
      return all.size() == 1 ? Range{-a.to, -a.from} : Range{a.from - b.to, a.to - b.from};
    if (function == "*")
      return product(a, b);
    if (function == "/") { // a / b itself, where both are one number
      if (a.from == a.to && b.from == b.to)
        return b.from == 0 ? Range{} : Range{a.from / b.from, a.from / b.from};
      Range over = inverse(b);
      return std::isnan(over.from) ? over : product(a, over);
    }
    if (function == "min" || function == "max") {
      bool min = function == "min";
      Range best = a;
      for (size_t i = 1; i < all.size(); ++i)
        best = min ? Range{std::min(best.from, all[i].from), std::min(best.to, all[i].to)}
                   : Range{std::max(best.from, all[i].from), std::max(best.to, all[i].to)};
      return best;
    }
    if (function == "^")
      return power(a, b);
    if (function == "log2")
      return a.from > 0 ? Range{std::log2(a.from), std::log2(a.to)} : Range{};
    if (function == "pow2")
      return {std::exp2(a.from), std::exp2(a.to)};
    if (function == "floor_div" || function == "ceil_div" || function == "%")
      return whole(function, a, b);
    return {};
  }

  static Range power(Range a, Range b) {
    if (b.from != b.to)
      return {};
    double one = std::pow(a.from, b.from), other = std::pow(a.to, b.from);
    if (std::isnan(one) || std::isnan(other))
      return {};
    if (a.from >= 0)
      return {std::min(one, other), std::max(one, other)};
    if (a.to > 0 && (b.from < 0 || std::fmod(b.from, 2) != 1)) // turns at 0
      return b.from < 0 ? Range{} : Range{0, std::max(one, other)};
    return {std::min(one, other), std::max(one, other)};
  }

  static Range whole(llvm::StringRef function, Range a, Range b) {
    Range quotient = applied("/", {a, b});
    auto near = [](double x, double rounded) { // 0.3 / 0.1 is 3
      double n = std::round(x);
      return std::abs(x - n) <= 1e-12 * std::max(1.0, std::abs(x)) ? n : rounded;
    };
    if (function == "ceil_div")
      return {near(quotient.from, std::ceil(quotient.from)), near(quotient.to, std::ceil(quotient.to))};
    Range floors{near(quotient.from, std::floor(quotient.from)), near(quotient.to, std::floor(quotient.to))};
    if (function == "floor_div")
      return floors;
    if (a.from == a.to && b.from == b.to)
      return {a.from - b.from * floors.from, a.from - b.from * floors.from};
    return {std::min(0.0, b.from), std::max(0.0, b.to)};
  }

  const MiningTerms &terms_;
  const Machine &machine_;
  const StepUse &step_;
};

} // namespace

double MiningObjective::metricValue(const MiningTerms &terms, const Machine &machine, const StepUse &step) const {
  if (std::isinf(step.seconds))
    return kInfinite;
  Range all = Ranges(terms, machine, step).of(expression);
  if (std::isnan(all.from) || std::isnan(all.to))
    return NAN;
  if (!maximize)
    return std::max(0.0, all.from);
  return all.to > 0 ? 1 / all.to : all.to == 0 ? kInfinite : NAN;
}

} // namespace accord
