// How well predictions of left-out values hold: errors, coverage, and the widening that makes intervals hold.
#pragma once
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/TextTable.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace accord::prediction {

/// A measured value that its prediction has not seen, and the predicted interval. All are more than 0.
struct HeldOutValue {
  std::string group; ///< what was left out as a whole: a model, a family of models
  double measured = 0, predicted = 0, low = 0, high = 0;
  double error() const { return predicted / measured - 1; }
  bool isCovered() const { return low <= measured && measured <= high; }
};

struct HeldOutScore {
  size_t rows = 0;
  double meanError = 0;   ///< of |predicted / measured - 1|
  double medianError = 0; ///< of the same
  double worstError = 0;  ///< the largest of the same
  double coverage = 0;    ///< share of rows whose interval holds the measured value
  double width = 0;       ///< median of high / low
};
/// All zero without rows.
HeldOutScore scoreOf(const std::vector<HeldOutValue> &values);

/// Of each group, by its name.
std::vector<std::pair<std::string, HeldOutScore>> scoresByGroup(const std::vector<HeldOutValue> &values);

/// |log(measured / predicted)| of a left-out row over its standard deviation, and the group that was left out.
struct GroupedScore {
  std::string group;
  double score = 0;
};

/// The score that a new group's rows stay below with this probability, where each of the K groups counts 1 / (K + 1)
/// in equal parts of its rows, and the new one as infinite (hierarchical conformal prediction: Dunn, Wasserman and
/// Ramdas, Distribution-free prediction sets for two-layer hierarchical models, JASA 2022; Lee, Barber and Willett,
/// 2023). If groups are exchangeable and predictions were fitted to none of them, a random row of a new group is
/// covered at least so often; where each score comes from a fit to the other groups, it is so only if one group changes
/// the fit little (Barber et al., Predictive inference with the jackknife+, 2021). Nothing where K / (K + 1) is below
/// the coverage: 9 groups are needed for 90 %.
std::optional<double> conformalScore(const std::vector<GroupedScore> &scores, double coverage);

/// Left-out rows that are scored together.
struct HeldOutGroup {
  std::string name;
  HeldOutScore score;
};
struct HeldOutTable {
  std::string title;
  std::vector<HeldOutGroup> groups;
};

/// All values, and those of each group.
HeldOutTable heldOutTable(const std::string &title, const std::vector<HeldOutValue> &values);
void describeHeldOutTable(JsonFields &f, HeldOutTable &table);
std::string heldOutText(const HeldOutTable &table, const TextStyle &style);

} // namespace accord::prediction
