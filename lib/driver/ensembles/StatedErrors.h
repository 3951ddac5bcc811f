// Whether what a file states of errors of members can be, and can be computed with.
#pragma once
#include "lib/ensembles/problem/MemberStatistics.h"
#include "lib/support/Diagnostics.h"

namespace accord {

struct StatedErrors {
  const EnsembleRequest &request;
  const MemberStatistics &statistics;
  Rational confidence;
  int64_t tests = 1;

  /// Reports a joint error that is one of more sets of up to `size` members than are gone through, and rates that
  /// contradict each other (A1008): with as few members as the statements name; and each statement with what is stated
  /// of its members, for all may be too many to tell apart. False after errors.
  bool check(unsigned size, Diagnostics &diags) const;

private:
  bool hasTooManySets(unsigned size, Diagnostics &diags) const;
  bool contradicts(const std::vector<unsigned> &counts, Diagnostics &diags) const;
};

} // namespace accord
