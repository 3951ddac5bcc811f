// What a certificate's space makes least, computed here and in lib/mine each by itself.
#pragma once
#include "lib/exploration/output/MiningTerms.h"
#include "lib/exploration/verify/MiningVerifier.h"

namespace accord {

/// An expression over step_time, throughput, energy, batch, area, power.tdp and what a design has.
struct MiningObjective {
  bool maximize = false;
  std::string text;
  mlir::Attribute expression;

  /// "step_time * area", "1 / (throughput / price)": what is made least.
  std::string metric() const { return maximize ? "1 / (" + text + ")" : text; }
  /// Of the design of `terms` and such a step; of steps that take as much or more it is what none of them is worth less
  /// than, by interval arithmetic, whether or not it rises with them. NaN: no value.
  double metricValue(const MiningTerms &terms, const Machine &machine, const StepUse &step) const;
};

} // namespace accord
