// Population-based training: which members are replaced at the end of a generation, by whose children, and with which
// hyper-parameters those go on.
//
// Truncation selection (Jaderberg et al., arXiv 1711.09846, section 4): a member of the worst share is replaced by a
// child of one of the best share, drawn evenly. A hyper-parameter of the child is drawn anew with a stated probability,
// and else its parent's, multiplied by one of the stated factors. All draws follow from the seed, the generation and
// the member, so that a tuning that was interrupted draws the same again.
#pragma once
#include "lib/tuning/problem/Tuning.h"

namespace accord::tuning {

/// A member at the end of a generation.
struct Member {
  unsigned trial = 0;
  double value = 0; ///< after the last unit of the generation; not finite: it has diverged or failed
};

struct Replacement {
  size_t member = 0, parent = 0; ///< by their index among the members
  SplitMix random;               ///< what the child draws from
};

/// Who is replaced behind a generation (numbered from 0), by member, of a problem with a population. With k
/// members of a share (`numReplaced`): the parents are the best k of those that live, the earlier trial first where
/// values are equal; of the others that live the worst k are replaced, and all that have died. Empty where none lives.
std::vector<Replacement> selectReplacements(const TuningProblem &problem, const std::vector<Member> &members,
                                            size_t generation);

struct ChildConfiguration {
  Configuration configuration;
  std::vector<std::string> redrawn = {}; ///< hyper-parameters that were drawn anew
};

/// With what a child of a parent with `configuration` goes on. A number is multiplied by a factor and kept in its
/// range; a whole number is rounded, and moves by one where that would leave it as it is; a choice stays.
ChildConfiguration childOf(const TuningProblem &problem, const Configuration &configuration, SplitMix &random);

/// `count` points of the cube with which a population begins, a Latin hypercube (McKay, Beckman and Conover, 1979): of
/// `count` equal parts of a number's range each has one point, and each choice is taken equally often, but for one.
std::vector<CubePoint> latinHypercube(const SearchSpace &space, size_t count, SplitMix &random);

/// On how many of `freeSlots` slots each of so many members begins, all of which are waited for: the width with which
/// the last of them ends first if their units take the same time, of equals the narrowest. 0: no width is free.
int64_t memberSlots(const TuningProblem &problem, int64_t waiting, int64_t freeSlots);

} // namespace accord::tuning
