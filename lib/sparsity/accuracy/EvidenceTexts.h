// What is said of evidence: why it is not enough, and what is assumed.
#pragma once
#include "lib/sparsity/accuracy/Evidence.h"

namespace accord {

using QualityRequirement = SparsityRequest::Requirement;
using SparsityEvidence = SparsityRequest::Evidence;

Refusal noEvidence(const QualityRequirement &required,
                   const std::vector<AccuracyQuestion> &questions);                    // A1001
Refusal noDense(const AccuracyQuestion &question, const std::string &metric);          // A1001
Refusal layerNotMeasured(const AccuracyQuestion &question, const std::string &metric); // A1001
Refusal sparserThanMeasured(const AccuracyQuestion &question, const AccuracyQuestion::Zeros &zeros,
                            double density, const MeasuredAccuracy &sparsest); // A1002
/// `others`: what was measured instead.
Refusal patternNotMeasured(const AccuracyQuestion &question, const AccuracyQuestion::Zeros &zeros,
                           const std::string &pattern,
                           const std::vector<const MeasuredAccuracy *> &others); // A1003
Refusal notTogether(const AccuracyQuestion &question);                           // A1003
Refusal rankingAlone(const QualityRequirement &required,
                     const SparsityEvidence &sensitivities);                // A1004
Refusal estimatesAlone(const QualityRequirement &required, bool elsewhere); // A1005
Refusal ambiguousLayer(const AccuracyQuestion &question, const std::string &first,
                       const std::string &second); // A1009

struct LimitTooLow {
  const QualityRequirement &required;
  const AccuracyQuestion *question; ///< null: the dense network
  const MeasuredAccuracy &measured; ///< the line with the least limit
  Rational limit;
  std::optional<int64_t> samples; ///< with the same share, these would do
};
Refusal limitTooLow(const LimitTooLow &low); // A1005
/// Of losses that are summed: this one alone is more than what may be lost.
Refusal lossTooHigh(const QualityRequirement &required, const AccuracyQuestion &question,
                    const AccuracyEvidence &evidence, const Rational &loss); // A1005

struct EvidenceFacts {
  bool elsewhere = false, byLayer = false;
  double margin = 0;
  bool denseMeasured = false;
  bool between = false; ///< some density lies between two that were measured
  bool rounded = false; ///< some share is no number of right answers
};
std::vector<std::string> assumptionsOf(const AccuracyEvidence &evidence,
                                       const EvidenceFacts &facts);

} // namespace accord
