// What is said of evidence: why it is not enough, and what is assumed.
#pragma once
#include "lib/sparsity/accuracy/AccuracyEvaluation.h"

namespace accord {

using QualityRequirement = SparsityRequest::Requirement;
using AccuracyMeasurements = SparsityRequest::AccuracyMeasurements;

Rejection noMeasurements(const QualityRequirement &required,
                         const std::vector<AccuracyQuery> &queries);               // A1001
Rejection denseNotMeasured(const AccuracyQuery &query, const std::string &metric); // A1001
Rejection layerNotMeasured(const AccuracyQuery &query, const std::string &metric); // A1001
Rejection sparserThanMeasured(const AccuracyQuery &query, const AccuracyQuery::Pattern &sparsity, double density,
                              const MeasuredAccuracy &sparsest); // A1002
/// `others`: what was measured instead.
Rejection patternNotMeasured(const AccuracyQuery &query, const AccuracyQuery::Pattern &sparsity,
                             const std::string &pattern,
                             const std::vector<const MeasuredAccuracy *> &others); // A1003
/// `other` was measured with other dense layers or another distribution.
Rejection scopeNotMeasured(const AccuracyQuery &query, const AccuracyQuery::Pattern &sparsity,
                           const SparsityScope &scope, const MeasuredAccuracy &other); // A1003
Rejection notMeasuredJointly(const AccuracyQuery &query);                              // A1003
Rejection sensitivitiesOnly(const QualityRequirement &required,
                            const AccuracyMeasurements &sensitivities);      // A1004
Rejection estimatesOnly(const QualityRequirement &required, bool published); // A1005
Rejection ambiguousLayer(const AccuracyQuery &query, const std::string &first,
                         const std::string &second); // A1009

/// A `limit` that the line `measured` shows of a query (null: of the dense network) is below what is required; with the
/// same share `samples` would do.
Rejection limitTooLow(const QualityRequirement &required, const AccuracyQuery *query, const MeasuredAccuracy &measured,
                      const Rational &limit, std::optional<int64_t> samples); // A1005
/// Of losses that are summed: this one alone is more than what may be lost.
Rejection lossTooHigh(const QualityRequirement &required, const AccuracyQuery &query,
                      const AccuracyEvaluation &evaluation, const Rational &loss); // A1005

struct MeasurementProperties {
  bool published = false, byLayer = false;
  double margin = 0;
  bool denseIsMeasured = false;
  bool hasIntermediateDensity = false; ///< some density lies between two that were measured
  bool rounded = false;                ///< some share is no number of right answers
  bool isScopeUnstated = false; ///< some line does not say which layers were dense, or how densities were divided
};
std::vector<std::string> assumptionsOf(const AccuracyEvaluation &evaluation, const MeasurementProperties &properties);

} // namespace accord
