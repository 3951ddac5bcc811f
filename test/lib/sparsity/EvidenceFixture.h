// What tests of evidence share: files and questions as text.
#pragma once
#include "lib/sparsity/accuracy/Evidence.h"
#include "lib/sparsity/cost/MeasuredPattern.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace accord::evidence_test {

using Evidence = SparsityRequest::Evidence;
using Zeros = AccuracyQuestion::Zeros;

inline Evidence evidence(int64_t samples = 0, Evidence::Kind kind = Evidence::Kind::Measured) {
  return {
      kind, kind == Evidence::Kind::Sensitivity ? "" : "top1", "m.csv", samples, {"t.accel", 3, 5}};
}

inline AccuracyFile good(const std::string &text, const Evidence &source = evidence()) {
  auto read = readAccuracies(text, source);
  if (auto *wrong = std::get_if<std::vector<Refusal>>(&read)) {
    ADD_FAILURE() << wrong->front().issue.message << " in\n" << text;
    return {source, {}, {}};
  }
  return std::get<AccuracyFile>(read);
}

inline std::vector<Refusal> bad(const std::string &text, const Evidence &source = evidence()) {
  auto read = readAccuracies(text, source);
  if (auto *wrong = std::get_if<std::vector<Refusal>>(&read))
    return *wrong;
  ADD_FAILURE() << "accepted: " << text;
  return {{}};
}

inline Zeros zeros(const std::string &text, GemmOperand of = GemmOperand::Weights) {
  PatternText read = readPattern(text, of);
  EXPECT_EQ(read.wrong, "");
  return {of, read.pattern, text};
}
inline AccuracyQuestion ask(const std::string &operation,
                            const std::vector<std::string> &patterns) {
  AccuracyQuestion question{operation, {}, {"t.accel", 2, 3}};
  for (const std::string &pattern : patterns)
    question.zeros.push_back(zeros(pattern));
  return question;
}

inline SparsityRequest request(double least, double confidence = 0, double margin = 0) {
  SparsityRequest r;
  r.evidence.push_back(evidence());
  r.margin = margin;
  if (least >= 0)
    r.accuracy = SparsityRequest::Requirement{
        *Rational::parse(fmt::format("{}", least)), confidence, {"t.accel", 4, 3}};
  return r;
}

inline AccuracyEvidence judged(const std::string &text, const SparsityRequest &r,
                               const std::vector<AccuracyQuestion> &questions,
                               int64_t samples = 0) {
  return judge(r, {good(text, evidence(samples))}, questions);
}

inline Rational share(const char *text) { return *Rational::parse(text); }

} // namespace accord::evidence_test
