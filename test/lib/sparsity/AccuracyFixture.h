// What tests of evidence share: files and questions as text.
#pragma once
#include "lib/sparsity/accuracy/AccuracyEvaluation.h"
#include "lib/sparsity/accuracy/PatternParser.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace accord::accuracy_test {

using AccuracyMeasurements = SparsityRequest::AccuracyMeasurements;
using Pattern = AccuracyQuery::Pattern;

inline AccuracyMeasurements measurements(int64_t samples = 0,
                                         AccuracyMeasurements::Kind kind = AccuracyMeasurements::Kind::Measured) {
  return {kind, kind == AccuracyMeasurements::Kind::Sensitivity ? "" : "top1", "m.csv", samples, {"t.accel", 3, 5}};
}

inline AccuracyFile good(const std::string &text, const AccuracyMeasurements &source = measurements()) {
  auto read = readAccuracies(text, source);
  if (auto *error = std::get_if<std::vector<Rejection>>(&read)) {
    ADD_FAILURE() << error->front().error.message << " in\n" << text;
    return {source, {}, {}};
  }
  return std::get<AccuracyFile>(read);
}

inline std::vector<Rejection> bad(const std::string &text, const AccuracyMeasurements &source = measurements()) {
  auto read = readAccuracies(text, source);
  if (auto *error = std::get_if<std::vector<Rejection>>(&read))
    return *error;
  ADD_FAILURE() << "accepted: " << text;
  return {{}};
}

inline Pattern sparsity(const std::string &text, GemmOperand of = GemmOperand::Weights) {
  PatternText read = parsePattern(text, of);
  EXPECT_EQ(read.error, "");
  return {of, read.pattern, text};
}
inline AccuracyQuery ask(const std::string &operation, const std::vector<std::string> &patterns) {
  AccuracyQuery query{operation, {}, {"t.accel", 2, 3}};
  for (const std::string &pattern : patterns)
    query.sparsity.push_back(sparsity(pattern));
  return query;
}

inline SparsityRequest request(double min, double confidence = 0, double margin = 0) {
  SparsityRequest r;
  r.measurements.push_back(measurements());
  r.margin = margin;
  if (min >= 0)
    r.accuracy = SparsityRequest::Requirement{*Rational::parse(fmt::format("{}", min)), confidence, {"t.accel", 4, 3}};
  return r;
}

inline AccuracyEvaluation evaluated(const std::string &text, const SparsityRequest &r,
                                    const std::vector<AccuracyQuery> &queries, int64_t samples = 0) {
  return evaluateAccuracy(r, {good(text, measurements(samples))}, queries);
}

inline Rational share(const char *text) { return *Rational::parse(text); }

} // namespace accord::accuracy_test
