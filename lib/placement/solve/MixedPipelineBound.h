// How much a pipeline whose groups are of several device types gets done at most, whatever their order.
#pragma once
#include "lib/placement/problem/PipelineSchedule.h"
#include <vector>

namespace accord::placing {

/// Groups of one parallel configuration.
struct GroupKind {
  int64_t groups = 1; ///< of them at most; one at least
  double rate = 1;    ///< work that a group does in a unit of time
};

/// The most work of one micro-batch over the step time, of all pipelines of exactly `groups` groups of a chain of
/// layers, each kind with one group at least, in any order; infinite where nothing is known.
///
/// With w_s the time of group s, v_s its rate, A_s and B_s the sums of w before and behind it, a step T takes (see
/// `SuffixBound`, ConfigurationContext.h)
/// 1. A_s + m w_s and more: where each group waits for the one before it;
/// 2. of 1F1B with m > p, A_s + 2 B_s + (m - p + s + 1) w_s;
/// 3. of GPipe, the sum of w + (m - 1) w_s.
/// The work is the sum of v_s w_s. By duality of linear programs it is at most T times the sum of any l_s >= 0 for
/// which the rows, weighed with l, have coefficients v_s at least. The least such l follow one after the other: of 1.
/// from the last group on l_s = max(0, v_s - sum of l behind) / m; of 2. from the first, for a given sum L of all, l_s
/// = max(0, v_s - L - sum of l before) / (m - p + s), where L is any number that they sum up to at most. A larger sum
/// never makes the next one smaller, so a dynamic program over the numbers of groups of each kind finds the most of all
/// orders.
double maxMixedThroughput(PipelineSchedule schedule, int64_t microbatches, int64_t groups,
                          const std::vector<GroupKind> &kinds);

} // namespace accord::placing
