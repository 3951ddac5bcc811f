// What is claimed of the accuracy of a network with zeros, as an answer shows it.
#pragma once
#include "lib/support/Rational.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// What is claimed of accuracy, and why.
struct AccuracyReport {
  std::string metric;
  bool guaranteed = false;          ///< else an estimate
  Rational min;                     ///< a share, with the confidence
  std::optional<Rational> required; ///< nothing: it is told, not asked for
  std::string confidence;           ///< "0.95", empty without samples
  std::string level;                ///< "A: the whole network was measured", …
  std::vector<std::string> inputs, assumptions;
};

} // namespace accord
