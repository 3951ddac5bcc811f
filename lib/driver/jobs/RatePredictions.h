// Rates of jobs on devices where they never ran: how well they are predicted, and those of one application.
#pragma once
#include <string>
#include <vector>

namespace accord {

struct RatePredictionOptions {
  std::string table;              ///< rates by device type (.json, Gavel), or a folder of profiles (Pollux)
  std::string application;        ///< whose rates are predicted; "": tables of left-out families
  std::vector<std::string> known; ///< "v100x1=4.4": what it was measured to do there
  std::vector<std::string> where; ///< "type=v100": only such rates
  bool json = false;
};

/// Prints how far rates of left-out families are from measured ones, and how many lie in their intervals; or, with an
/// application, its rates at all places of the table, where all other rows of the table are known and of the
/// application those of `known` alone. Exit status: 0, 1 the input is wrong.
int predictRates(const RatePredictionOptions &options);

} // namespace accord
