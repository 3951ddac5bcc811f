// What two plans say differently: figures, parts of the step, operations or stages, and why.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/TextStyle.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

enum class Preference : uint8_t { None, Lower, Higher };

/// A number of both plans. `unit`: "s", "B", "J", "USD", "samples/s", "1" (a share), "" (a count).
struct FigureDifference {
  std::string key; ///< in documents: "step_time_s"
  std::string label, unit;
  Preference preferred = Preference::None;
  double before = 0, after = 0;
  /// after / before - 1; nothing where `before` is 0.
  std::optional<double> change() const;
};

/// A word of both plans.
struct WordDifference {
  std::string key, label, before, after;
};

/// A part of a sum, in the unit of the sum.
struct PartDifference {
  std::string name;
  double before = 0, after = 0;
};

/// Seconds of an operation in a step, and what bounds it; nothing where a plan does not have it.
struct OperationDifference {
  std::string name;
  std::optional<double> before, after;
  std::string boundBefore, boundAfter;
};

/// One pipeline stage of one plan.
struct StageSide {
  std::string layers, devices;
  double forward = 0, backward = 0; ///< seconds of a micro-batch
  double memory = 0;                ///< bytes at the peak of a device
  double bubble = 0;                ///< share of the step
};
struct StageDifference {
  int64_t stage = 0;
  std::optional<StageSide> before, after;
};

struct DifferenceSide {
  std::string folder; ///< or plan.json, as on the command line
  std::string model, machine, status;
  bool planned = false; ///< whether there is a plan
};

struct PlanDifference {
  bool cluster = false;
  DifferenceSide before, after;
  std::vector<WordDifference> words;
  std::vector<FigureDifference> figures;
  std::vector<PartDifference> step;   ///< seconds that add up to the step: of the longest path, or of all devices' mean
  std::vector<PartDifference> energy; ///< joules that add up to the energy of a step; empty: not known by parts
  std::vector<std::string> causes;    ///< sentences, the largest first
  std::vector<OperationDifference> operations; ///< whose time or bound differs, by change of time
  std::vector<StageDifference> stages;         ///< of a cluster: all

  void figure(std::string key, std::string label, std::string unit, Preference preferred, double before, double after);
  void word(std::string key, std::string label, const std::string &before, const std::string &after);
  /// Causes that hold for all plans: parts of the step by their change, and energy by power and time.
  void explainStepAndEnergy();
};

/// "+12.5 %", "-3 %", "+1480 %": after / before - 1.
std::string changeText(double before, double after);

/// Of two plans for one device.
PlanDifference differenceOf(const Plan &before, const Plan &after);

/// For the terminal: words, figures, causes, then operations or stages.
std::string differenceText(const PlanDifference &difference, const TextStyle &style);

/// The fields of `accord diff --json` behind its head.
void describeDifference(JsonFields &f, PlanDifference &difference);

/// Where the reports of both plans are, seen from the page; empty: there is none.
struct DifferenceLinks {
  std::string before, after;
};
/// The page of `accord diff --html`.
std::string toReport(const PlanDifference &difference, const DifferenceLinks &links);

} // namespace accord
