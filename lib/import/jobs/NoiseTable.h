// Gradient noise scales as tables: of trainings that were published, and those that a simulation assumes.
#pragma once
#include "lib/jobs/problem/MeasuredNoise.h"
#include "lib/support/Result.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace accord::jobs {

/// Reads lib/catalog/gradient-noise.csv: the columns model, family, task, parameters (or empty), data and noise; others
/// are not looked at. Numbers are more than 0, and a model stands once. Errors have the code A1101 and the place of the
/// cell.
Result<std::vector<MeasuredNoise>> readNoiseTable(std::string_view text, const std::string &path);

/// Reads a .csv of assumed noise scales: the columns application and noise, in samples, 0 or more; each application
/// stands once. Errors as above.
Result<std::map<std::string, double>> readAssumedNoise(std::string_view text, const std::string &path);

} // namespace accord::jobs
