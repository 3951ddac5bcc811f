// What a design is worth: an expression over it and a training step on it.
#include "lib/exploration/space/DesignData.h"
#include "lib/support/Diagnostics.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

using Kind = DesignTerms::Kind;

/// Steps, energies, areas and powers of any use: from a picosecond to 30 years, and so on.
constexpr DesignInterval<double> kSteps{1e-12, 1e9}, kEnergies{1e-12, 1e18}, kBatches{1, 1e18};
constexpr DesignInterval<double> kAreas{1e-12, 1e6}, kPowers{1e-12, 1e12};

/// Of which the smallest steps are still told apart.
constexpr double kMin = 1e-270;

/// What an expression does where a number that it speaks of grows.
struct Slope {
  bool rises = false, falls = false;
};
Slope operator|(Slope a, Slope b) { return {a.rises || b.rises, a.falls || b.falls}; }

/// How a part goes with an operand: the same way, the other way, or nobody knows.
constexpr Slope kNot{}, kAlong{true, false}, kAgainst{false, true}, kEither{true, true};
/// With what the operand itself goes with.
Slope operator*(Slope part, Slope operand) {
  return {(part.rises && operand.rises) || (part.falls && operand.falls),
          (part.rises && operand.falls) || (part.falls && operand.rises)};
}

/// Of a part: all values that it may have, and how it goes with each figure.
struct Known {
  DesignInterval<double> all{0, 0};
  Slope step, energy, area, power;
};
constexpr Slope Known::*kFigures[] = {&Known::step, &Known::energy, &Known::area, &Known::power};

Slope with(DesignInterval<double> factor) { return factor.low >= 0 ? kAlong : factor.high <= 0 ? kAgainst : kEither; }

class Measurer {
public:
  Measurer(DesignTerms &terms, const DesignBox &all, const DesignFigures &figures)
      : terms_(terms), all_(all), figures_(figures) {}

  std::optional<MetricError> problem;

  /// `written`: the part, as far as it stands in the expression itself.
  Known look(int term, Attribute written) {
    if (auto found = known_.find(term); found != known_.end())
      return found->second;
    const DesignTerms::Term one = terms_[term];
    Known known;
    if (one.kind == Kind::Apply) {
      std::vector<Known> of;
      auto application = dyn_cast_or_null<accel::ApplyAttr>(written);
      for (size_t i = 0; i < one.operands.size() && !problem; ++i) {
        at_.push_back(i);
        of.push_back(look(one.operands[i], operandOf(application, i)));
        at_.pop_back();
        if (problem && !application)
          problem->at = at_; // it stands in what this part refers to
      }
      if (problem || !defined(one, of))
        return known;
      for (size_t i = 0; i < of.size(); ++i)
        for (auto figure : kFigures)
          known.*figure = known.*figure | goes(one, of, i) * of[i].*figure;
    }
    known.step.rises |= one.kind == Kind::Step;
    known.energy.rises |= one.kind == Kind::Energy;
    known.area.rises |= one.kind == Kind::Area;
    known.power.rises |= one.kind == Kind::Power;
    known.all = terms_.nearly(term, all_, figures_);
    if (!(std::abs(known.all.low) < INFINITY && std::abs(known.all.high) < INFINITY))
      say(Code::OutOfRange, "this is beyond what numbers can hold for some steps",
          "divide by a unit, or take a smaller power");
    known_.emplace(term, known);
    return known;
  }

  /// Operands that lead to the part where something begins to fall, or to rise.
  std::vector<size_t> blame(int term, Attribute written, Slope Known::*figure, bool falls) {
    std::vector<size_t> at;
    for (bool deeper = true; deeper;) {
      deeper = false;
      auto application = dyn_cast_or_null<accel::ApplyAttr>(written);
      const DesignTerms::Term one = terms_[term];
      if (!application || one.kind != Kind::Apply)
        break;
      std::vector<Known> of;
      for (int operand : one.operands)
        of.push_back(known_.at(operand));
      for (size_t i = 0; i < of.size() && !deeper; ++i)
        if (Slope slope = of[i].*figure, way = goes(one, of, i);
            way.rises && !way.falls && (falls ? slope.falls : slope.rises)) {
          at.push_back(i);
          written = operandOf(application, i), term = one.operands[i];
          deeper = true;
        }
    }
    return at;
  }

private:
  static Attribute operandOf(accel::ApplyAttr application, size_t i) {
    return application && i < application.getOperands().size() ? application.getOperands()[i] : Attribute();
  }
  bool say(Code code, std::string message, std::string help) {
    if (!problem)
      problem = {{code, std::move(message), {}}, std::move(help), at_};
    return false;
  }

  /// Whether every design and step has a value.
  bool defined(const DesignTerms::Term &term, const std::vector<Known> &of) {
    const std::string &f = term.function;
    DesignInterval<double> last = of.back().all, first = of.front().all;
    bool zero = last.low <= 0 && last.high >= 0;
    if ((f == "/" || f == "%" || f == "floor_div" || f == "ceil_div") && zero) {
      at_.push_back(of.size() - 1);
      say(Code::DivisionByZero, "this may be 0, and is divided by", "");
      at_.pop_back();
      return false;
    }
    if (f == "log2" && first.low <= 0)
      return say(Code::BadExponent, "this is the logarithm of what may be 0 or less", "");
    if (f != "^")
      return true;
    bool whole = std::round(last.low) == last.low && std::round(last.high) == last.high;
    if (!whole && first.low < 0)
      return say(Code::BadExponent, "this is a root of what may be below 0", "");
    if (last.low < 0 && first.low <= 0 && first.high >= 0)
      return say(Code::DivisionByZero, "this is a negative power of what may be 0", "");
    if (last.low != last.high && (!whole || first.low < 1))
      return say(Code::BadExponent, "an exponent that differs between designs is whole, and of what is 1 or more", "");
    return true;
  }

  static Slope goes(const DesignTerms::Term &term, const std::vector<Known> &of, size_t i) {
    const std::string &f = term.function;
    DesignInterval<double> a = of.front().all, b = of.back().all;
    if (f == "+" || f == "sum" || f == "min" || f == "max" || f == "log2" || f == "pow2")
      return kAlong;
    if (f == "-")
      return of.size() == 1 || i == 1 ? kAgainst : kAlong;
    if (f == "*")
      return with(i == 0 ? b : a);
    if (f == "/" || f == "floor_div" || f == "ceil_div")
      return i == 0 ? with(b) : kAgainst * with(a);
    if (f != "^")
      return kEither;
    if (i == 1)
      return a.low >= 1 ? kAlong : kEither;
    bool odd = b.low == b.high && b.low > 0 && std::fmod(b.low, 2) == 1;
    if (a.low < 0)
      return odd ? kAlong : kEither;
    return b.low == 0 && b.high == 0 ? kNot : with(b);
  }

  DesignTerms &terms_;
  const DesignBox &all_;
  const DesignFigures &figures_;
  std::vector<size_t> at_;
  std::map<int, Known> known_;
};

DesignInterval<double> within(DesignInterval<double> all, DesignInterval<double> usual) {
  return {std::clamp(all.low, usual.low, usual.high), std::clamp(all.high, usual.low, usual.high)};
}

/// The first part, from the inside, that is no term by itself.
std::vector<size_t> wrongPart(DesignTerms &terms, Attribute expression, const DesignTerms::Resolve &resolve) {
  std::vector<size_t> at;
  for (bool deeper = true; deeper;) {
    deeper = false;
    auto application = dyn_cast<accel::ApplyAttr>(expression);
    if (!application)
      break;
    for (auto [i, operand] : llvm::enumerate(application.getOperands()))
      if (!terms.add(operand, resolve)) {
        at.push_back(i);
        expression = operand;
        deeper = true;
        break;
      }
  }
  return at;
}

/// In one line, with one space for each gap.
std::string oneLine(const std::string &text) {
  std::string line;
  for (char c : text)
    if (bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t'; !space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  return line;
}

MetricError metricError(Code code, std::string message, std::string help = "", std::vector<size_t> at = {}) {
  return {{code, std::move(message), {}}, std::move(help), std::move(at)};
}

/// Why what is known of the whole expression cannot be minimized (or maximized).
std::optional<MetricError> wholeError(const Known &known, bool maximize,
                                      llvm::function_ref<std::vector<size_t>(Slope Known::*)> blame) {
  for (auto [figure, what] : {std::pair{&Known::step, "step_time"}, std::pair{&Known::energy, "energy"}}) {
    Slope slope = known.*figure;
    if (maximize ? slope.rises : slope.falls)
      return metricError(Code::UnknownChoice,
                         fmt::format("what is {} may not {} where {} grows, as this part does",
                                     maximize ? "maximized" : "minimized", maximize ? "rise" : "fall", what),
                         fmt::format("'{}' what does", maximize ? "minimize" : "maximize"), blame(figure));
  }
  Slope both = known.step | known.energy;
  if (!both.rises && !both.falls)
    return metricError(Code::UnknownChoice, "this is the same for every step: nothing of it is mined for",
                       "speak of step_time, throughput or energy");
  if (known.all.low >= 0 && known.all.high < kMin)
    return metricError(Code::OutOfRange, "this is nearer to 0 than numbers can tell",
                       "divide by a unit, or take a smaller power");
  if (known.all.low < 0)
    return metricError(Code::OutOfRange,
                       fmt::format("what is {} may not be below 0", maximize ? "maximized" : "minimized"));
  return std::nullopt;
}

/// Which figures the terms of a metric are made of.
void findFigures(const DesignTerms &terms, DesignMetric &metric) {
  std::set<int> seen;
  for (std::vector<int> open{metric.term}; !open.empty();) {
    int term = open.back();
    open.pop_back();
    if (!seen.insert(term).second)
      continue;
    metric.area |= terms[term].kind == Kind::Area;
    metric.power |= terms[term].kind == Kind::Power;
    metric.energy |= terms[term].kind == Kind::Energy;
    open.insert(open.end(), terms[term].operands.begin(), terms[term].operands.end());
  }
}

/// Whether a path that the expression names is one that `isPart` says yes to.
bool namesPart(Attribute expression, llvm::function_ref<bool(const std::string &path)> isPart) {
  if (auto application = dyn_cast<accel::ApplyAttr>(expression))
    return llvm::any_of(application.getOperands(), [&](Attribute operand) { return namesPart(operand, isPart); });
  auto reference = dyn_cast<accel::ReferenceAttr>(expression);
  return reference && isPart(reference.getPath().str());
}

} // namespace

Result<DesignMetric, MetricError> metricOf(DesignDescription &design, DesignMachines &machines, bool maximize,
                                           const std::string &text, Attribute expression) {
  DesignTerms &terms = design.terms;
  const Dimension time = Dimension::of(Base::Second), energy = Dimension::of(Base::Joule);
  std::map<std::string, int> own{{"step_time", terms.figure(Kind::Step, time)},
                                 {"energy", terms.figure(Kind::Energy, energy)},
                                 {"batch", terms.figure(Kind::Batch, {})}};
  if (auto throughput = terms.divided(own["batch"], own["step_time"]))
    own["throughput"] = *throughput;
  auto resolve = [&](const std::string &path) -> Result<int> {
    if (auto found = own.find(path); found != own.end())
      return found->second;
    Result<int> found = design.termAt(path, true);
    if (found || found.error().code != Code::UnknownName)
      return found;
    std::vector<std::string> known{"area", "power.tdp", "power.junction"};
    for (const auto &[one, term] : own)
      known.push_back(one);
    for (const auto &[one, place] : design.paths)
      known.push_back(one);
    Error problem = found.error();
    problem.suggestion = nearest(path, known);
    return problem;
  };
  bool neededArea = design.needsArea, neededPower = design.needsPower;
  auto root = terms.add(expression, resolve);
  if (!root)
    return MetricError{root.error(), "", wrongPart(terms, expression, resolve)};
  if (terms[*root].truth || terms[*root].word)
    return metricError(Code::WrongType, "this is not a number that can be minimized or maximized");
  DesignMetric metric;
  metric.text = oneLine(text);
  metric.term = *root, metric.maximize = maximize;
  llvm::raw_string_ostream(metric.printed) << expression;

  DesignBox all = wholeOf(design.parameters);
  DesignFigures figures = machines.figures(all);
  figures.area = within(figures.area, kAreas), figures.power = within(figures.power, kPowers);
  figures.step = kSteps, figures.energy = kEnergies, figures.batch = kBatches;
  Measurer measurer(terms, all, figures);
  Known known = measurer.look(*root, expression);
  if (measurer.problem)
    return *measurer.problem;
  if (auto error = wholeError(
          known, maximize, [&](Slope Known::*figure) { return measurer.blame(*root, expression, figure, !maximize); }))
    return *error;
  findFigures(terms, metric);
  // The least of a box has the least area and power, unless the expression falls with them.
  auto wrongAlternative = [&](Slope slope) { return maximize ? slope.rises : slope.falls; };
  metric.ends = wrongAlternative(known.area) || wrongAlternative(known.power);
  if (!metric.ends)
    design.needsArea = neededArea, design.needsPower = neededPower;
  metric.parts =
      namesPart(expression, [&](const std::string &path) { return !own.count(path) && design.paths.count(path); });
  return metric;
}

double evaluateMetric(const DesignMetric &metric, const DesignDescription &design, DesignMachines &machines,
                      const DesignBox &box, const Machine &machine, const MeasuredStep &step) {
  if (std::isinf(step.seconds))
    return INFINITY;
  DesignFigures figures{{machine.area.value, machine.area.value}, {machine.tdp.value, machine.tdp.value}};
  if (metric.ends && !box.one())
    figures = machines.figures(box);
  double batch = step.batch;
  figures.step = {step.seconds, step.seconds}, figures.energy = {step.joules, step.joules};
  figures.batch = {batch, batch};
  DesignInterval<double> all = design.terms.nearly(metric.term, box, figures);
  if (!(all.low >= 0)) // undefined, or rounded to below 0
    return all.low > -INFINITY ? 0 : NAN;
  return metric.maximize ? 1 / all.high : all.low;
}

} // namespace accord
