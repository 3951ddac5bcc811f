// Tails of binomial distributions for those who prove.
#pragma once
#include "lib/support/Rational.h"
#include <optional>

namespace accord {

/// Whether P(Binomial(samples, share) <= wrong) <= delta. The sum of all its terms, of which each
/// step is rounded up: what it finds to hold does. Nothing: more terms than `kMaxTerms`.
std::optional<bool> tailAtMost(int64_t wrong, int64_t samples, const Rational &share, const Rational &delta);
constexpr int64_t kMaxTerms = 5'000'000;

} // namespace accord
