// Gradient noise of trainings that never ran: how well it is predicted from that of others.
#pragma once
#include "lib/jobs/problem/MeasuredNoise.h"
#include "lib/support/Diagnostics.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// The trainings of lib/catalog/gradient-noise.csv. Nothing after errors, which are reported.
std::optional<std::vector<jobs::MeasuredNoise>> catalogNoises(Diagnostics &diags);

struct NoisePredictionOptions {
  std::string table; ///< in the form of lib/catalog/gradient-noise.csv
  bool json = false;
};

/// Prints how far predicted noise scales of left-out models and families are from measured ones, and each of them.
/// Exit status: 0, 1 the input is wrong.
int predictNoises(const NoisePredictionOptions &options);

} // namespace accord
