// Gradient noise scales of trainings that ran, and what is known of a training that may say something about its noise.
#pragma once
#include <string>

namespace accord::jobs {

/// What of a training says something about its noise. Language models that predict every token count in tokens, others
/// in samples.
struct NoisyTraining {
  std::string task;      ///< "vision", "language", …; a name that no measured training has is a task of its own
  double parameters = 0; ///< trained scalars; 0: not known
  double data = 0;       ///< samples (tokens) of a pass over its training set; more than 0
};
struct MeasuredNoise {
  std::string model, family;
  NoisyTraining training;
  double noise = 0; ///< in samples (tokens), on average over the training; more than 0
};

} // namespace accord::jobs
