#include "lib/ensembles/output/VoteCertificateJson.h"
#include "lib/support/documents/FractionText.h"

using namespace llvm;
namespace accord {
namespace {

/// Of members, and their groups.
constexpr IntegerRange kIndex{0, INT32_MAX};

void describeNumber(JsonVisitor &v, Rational &fraction) {
  describeFraction(v, fraction, [](const Rational &) { return true; }, "not a fraction");
}

void describeRate(JsonFields &f, ErrorRate &rate) {
  f.field("rate", rate.rate, describeNumber).field("samples", rate.samples, IntegerRange{.min = -1});
}

void describeTerm(JsonFields &f, VoteTerm &term) {
  f.field("counts", term.counts, kIndex).field("value", term.value, describeNumber);
}

void describeDelivery(JsonFields &f, VoteDelivery &delivery) {
  f.about("by member")
      .field("devices", delivery.device, kIndex)
      .about("by device: probability that none of its votes arrives in time")
      .field("undelivered", delivery.undelivered, describeNumber)
      .about("by device: the same, at least; where it is missing, the other is exact")
      .maybe("min_undelivered", delivery.minUndelivered, describeNumber)
      .about("by member: probability that its vote is wrong on its way")
      .field("corrupted", delivery.corrupted, describeNumber)
      .field("weights", delivery.weights, IntegerRange{1, 1 << 20})
      .about("weight of votes without which there is no answer")
      .field("quorum", delivery.quorum, IntegerRange{.min = 1})
      .about("the claim is that votes do not decide, not that an answer is wrong")
      .maybe("undecided", delivery.isUndecided);
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

void describe(JsonFields &f, VoteCertificate &certificate) {
  f.field("error_statistics", certificate.statistics, describeStatistics)
      .field("member_types", certificate.kinds, kIndex)
      .field("confidence", certificate.confidence, describeNumber)
      .field("tests", certificate.tests, IntegerRange{.min = 1})
      .field(
          "limits", certificate.limits,
          [](JsonFields &g, VoteLimit &limit) {
            g.field("wrong", limit.wrong).field("samples", limit.samples).field("limit", limit.limit, describeNumber);
          })
      .field("proof", certificate.proof,
             [](JsonVisitor &v, VoteCertificate::Proof &proof) {
               v.oneOf(proof, {"multipliers", "independence", "table", "contradiction"}, "no such proof");
             })
      .field("value", certificate.value, describeNumber)
      .maybe("delivery", certificate.delivery, describeDelivery)
      .field("groups", certificate.groups, kIndex)
      .field("constant", certificate.constant, describeNumber)
      .field("multipliers", certificate.multipliers, describeTerm)
      .field("attained", certificate.attained, describeTerm);
}

} // namespace accord
