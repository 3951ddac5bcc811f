// Values of a description as they follow from one design of it.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/exploration/verify/MiningVerifier.h"
#include "lib/support/Quantity.h"
#include "lib/support/Result.h"
#include <set>

namespace accord {

/// What a choice offers: numbers ascending, words as written. Powers of two of a quantity are counted in the largest
/// power of 1,000 of its unit that the first is a multiple of. Nothing where it offers none, or more than 100,000.
std::vector<mlir::Attribute> choicesOf(accel::ChoiceAttr choice);
std::string spelled(mlir::Attribute value);

/// All numbers from one to another; NaN: none is known.
struct MetricRange {
  double from = NAN, to = NAN;
};

/// The values of an accelerator by path, and of one design.
class MiningTerms {
public:
  std::map<std::string, mlir::Attribute> values; ///< as written: "mxu.array.rows"
  struct Parameter {
    std::vector<mlir::Attribute> choices;
    size_t place = 0; ///< in a design
  };
  std::map<std::string, Parameter> parameters; ///< by path
  const Design *design = nullptr;

  /// What a choice has in the design, else the value itself.
  mlir::Attribute chosen(const std::string &path, mlir::Attribute value) const;
  /// Exactly, of the design: of a number, a reference or an expression.
  Result<Quantity> exact(mlir::Attribute value, unsigned depth = 0) const;
  /// What is made least by an expression over step_time, throughput, energy, batch, area, power.tdp and what the design
  /// has: its value, or 1 / value of what is maximized. Of a step; of steps that take as much or more it is what none
  /// of them is worth less than, by interval arithmetic, whether or not it rises with them. NaN: no value.
  double metricValue(bool maximize, mlir::Attribute expression, const Machine &machine, const StepUse &step) const;
  /// Numbers that differ by less than 1e-12 of the larger are equal.
  bool holds(mlir::Attribute condition, const Machine &machine, unsigned depth = 0) const;
  /// The choices that a value follows from, by path.
  void follow(mlir::Attribute value, std::set<std::string> &paths) const;

private:
  /// Nearly, with area and design power of a machine and, where there is one, a step.
  MetricRange range(mlir::Attribute value, const Machine &machine, const StepUse *step, unsigned depth = 0) const;
  bool more(unsigned depth) const; ///< whether a value may be looked into further
  mutable unsigned spent_ = 0;     ///< on the value that is computed
  std::optional<std::string> word(mlir::Attribute value) const;
};

} // namespace accord
