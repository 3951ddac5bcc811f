// What links carry in a step, added up over the devices of a plan.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include <array>

namespace accord {

/// Of all links of one kind.
struct LinkFigures {
  std::array<double, LinkTraffic::kKinds> bytes{}; ///< sent by all devices, by kind
  int64_t used = 0;                                ///< links that carry anything
  /// The link whose devices send more than those of any other one: from which rank of its device type on these are, and
  /// what they send. The first of equal ones.
  int64_t busiestRank = 0;
  double busiestBytes = 0;
  double utilization = 0; ///< of that link in its direction out, over the step, a share
  double total() const;
};

struct TrafficFigures {
  std::vector<LinkFigures> links;    ///< by `LinkTraffic::links`
  std::optional<size_t> busiestLink; ///< the first of the links with the highest utilization; nothing: none is used
};

/// Of a plan with traffic.
TrafficFigures trafficFiguresOf(const PlacementPlan &plan);

} // namespace accord
