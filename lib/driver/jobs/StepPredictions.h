// Steps of trainings with batches that they never ran with: how well they are predicted, and those of one application.
#pragma once
#include <optional>
#include <string>

namespace accord {

struct StepPredictionOptions {
  std::string folder;           ///< has a folder for each application, with its validation-BATCH.csv files (Pollux)
  std::string application;      ///< whose steps are predicted; "": tables of left-out applications
  int64_t batch = 0;            ///< of the run that is known of it; 0: that with the smallest
  std::optional<double> metric; ///< until which steps count; nothing: all progress of that run
  bool json = false;
};

/// Prints how far steps of left-out applications are from measured ones, and how many lie in their intervals; or, with
/// an application, its steps with larger batches, where of the application one run is known. Exit status: 0, 1 the
/// input is wrong.
int predictSteps(const StepPredictionOptions &options);

} // namespace accord
