#include "lib/ensembles/output/VoteCertificateJson.h"

using namespace llvm;
namespace accord {
namespace {

/// Of members, and their groups.
constexpr IntegerRange kIndex{0, INT32_MAX};

void describeRate(JsonFields &f, ErrorRate &rate) {
  f.field("rate", rate.rate, describeFraction).field("samples", rate.samples, IntegerRange{.min = -1});
}

void describeTerm(JsonFields &f, VoteTerm &term) {
  f.field("counts", term.counts, kIndex).field("value", term.value, describeFraction);
}

void describeStatistics(JsonVisitor &v, ErrorStatistics &statistics) {
  std::vector<std::pair<std::vector<unsigned>, ErrorRate>> joint(statistics.jointErrors.begin(),
                                                                 statistics.jointErrors.end());
  std::vector<std::pair<uint64_t, int64_t>> votes(statistics.votes.begin(), statistics.votes.end());
  v.object([&](JsonFields &f) {
    f.field("individual", statistics.memberErrors, describeRate)
        .field("joint", joint,
               [](JsonFields &g, std::pair<std::vector<unsigned>, ErrorRate> &one) {
                 g.field("members", one.first, kIndex);
                 describeRate(g, one.second);
               })
        .field("independent", statistics.independent)
        .field("votes", votes, [](JsonFields &g, std::pair<uint64_t, int64_t> &one) {
          g.field("wrong", one.first, IntegerRange{0, INT64_MAX}).field("count", one.second);
        });
  });
  v.check([&](json::Path at) {
    statistics.jointErrors = {joint.begin(), joint.end()};
    statistics.votes = {votes.begin(), votes.end()};
    return (statistics.jointErrors.size() == joint.size() && statistics.votes.size() == votes.size()) ||
           (at.report("the same members, or the same pattern, twice"), false);
  });
}

} // namespace

void describeCertificate(JsonFields &f, VoteCertificate &certificate) {
  using enum VoteCertificate::Proof;
  f.field("error_statistics", certificate.statistics, describeStatistics)
      .field("member_types", certificate.kinds, kIndex)
      .field("confidence", certificate.confidence, describeFraction)
      .field("tests", certificate.tests, IntegerRange{.min = 1})
      .field(
          "limits", certificate.limits,
          [](JsonFields &g, VoteLimit &limit) {
            g.field("wrong", limit.wrong).field("samples", limit.samples).field("limit", limit.limit, describeFraction);
          })
      .field("proof", certificate.proof,
             [](JsonVisitor &v, VoteCertificate::Proof &proof) {
               v.oneOf(proof, {"multipliers", "independence", "table", "contradiction"}, "no such proof");
             })
      .field("value", certificate.value, describeFraction)
      .field("groups", certificate.groups, kIndex)
      .field("constant", certificate.constant, describeFraction)
      .field("multipliers", certificate.multipliers, describeTerm)
      .field("attained", certificate.attained, describeTerm);
}

void describeFraction(JsonVisitor &v, Rational &fraction) {
  v.custom([&] { return fraction.print(); },
           [&](const json::Value &value, json::Path path) {
             auto text = value.getAsString();
             if (!text)
               return path.report("expected a fraction as text"), false;
             auto [above, below] = text->split('/');
             auto numerator = Rational::parse(above), denominator = Rational::parse(below.empty() ? "1" : below);
             if (!numerator || !denominator || denominator->isZero() || text->ends_with("/") ||
                 numerator->bits() + denominator->bits() > Rational::kMaxBits)
               return path.report("not a fraction"), false;
             fraction = *numerator / *denominator;
             return true;
           });
}

json::Value toJson(const VoteCertificate &certificate) { return toDocument(certificate, describeCertificate); }

bool readVoteCertificate(const json::Value &value, VoteCertificate &out, json::Path path) {
  return readDocument(value, out, path, describeCertificate);
}

} // namespace accord
