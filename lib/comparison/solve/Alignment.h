// Two sequences of work, of which one has operations that the other lacks, laid side by side.
#pragma once
#include "lib/comparison/problem/Work.h"

namespace accord::comparison {

/// How surely two operations are one, from 0 (they are not): 1 or 2 the same class where a size is not known, from 3 on
/// the same work. Element-wise operations with different words are the same only where their sizes are known and equal.
int likenessOf(const Signature &planned, const Signature &measured);

/// Pairs of indices, rising in both, whose likenesses have the largest sum (Needleman and Wunsch, A general method
/// applicable to the search for similarities, 1970, without a penalty for gaps). Ties go to the earlier pair. Takes
/// planned.size() * measured.size() bytes; nothing where these are more than 2^28.
std::vector<std::pair<uint32_t, uint32_t>> alignedPairs(const std::vector<const Signature *> &planned,
                                                        const std::vector<const Signature *> &measured);

} // namespace accord::comparison
