// Sums that must stay within a capacity at every point in time at once.
#pragma once
#include "lib/scheduling/output/SmtQueryBuilder.h"

namespace accord::smtquery {

/// What takes `amount` at the times whose bits are set.
struct Demand {
  int64_t amount = 0;
  Term when;
};
/// Demands of one group are never at the same time.
using DemandGroup = std::vector<Demand>;

/// At each time, the amounts of all groups together stay at most `capacity`. With few different
/// sums as a decision diagram: a symbol "what the groups from here on take is at least k" for each
/// group and each k that matters; else by adding in binary, a symbol for each digit.
void requireAtMost(SmtQueryBuilder &text, const std::string &name, std::vector<DemandGroup> groups, int64_t capacity);

} // namespace accord::smtquery
