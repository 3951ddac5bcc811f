// What a tuning says of the prices of its configurations, in tune.json and in words.
#pragma once
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/SummaryLines.h"
#include "lib/tuning/problem/Prices.h"

namespace accord::tuning {

/// All fields of `prices` of tune.json.
void describe(JsonFields &f, PricedTuning &priced);

/// Lines about what was priced and rejected.
void addPriceLines(SummaryLines &lines, const PricedTuning &priced);
/// The front as a table: value, cost, parameters and configuration of each of its trials, by ascending cost.
std::string frontText(const TuningProblem &problem, const TuningResult &result, const PricedTuning &priced,
                      const TextStyle &style);

} // namespace accord::tuning
