#include "lib/ensembles/output/VoteCertificateJson.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/StrictFields.h"

using namespace llvm;
namespace accord {
namespace {

using json::Path;

constexpr std::pair<VoteCertificate::Proof, StringLiteral> kProofs[] = {
    {VoteCertificate::Proof::Multipliers, "multipliers"},
    {VoteCertificate::Proof::Independence, "independence"},
    {VoteCertificate::Proof::Table, "table"},
    {VoteCertificate::Proof::Contradiction, "contradiction"},
};

json::Value write(const ErrorRate &rate) {
  return json::Object{{"rate", rate.rate.print()}, {"samples", rate.samples}};
}
json::Value write(const VoteTerm &term) {
  return json::Object{{"counts", ids(term.counts)}, {"value", term.value.print()}};
}

auto fraction(Rational &out) {
  return [&out](const json::Value &value, Path at) { return readFraction(value, out, at); };
}
bool readNumber(const json::Value &value, Path at, unsigned &out) {
  int64_t wide = 0;
  bool ok = StrictFields::readInteger(value, at, wide, 0, INT32_MAX);
  out = wide;
  return ok;
}
bool readNumbers(const json::Value &value, Path at, std::vector<unsigned> &out) {
  return StrictFields::readList(value, at, out, readNumber);
}
bool readRate(const json::Value &value, Path at, ErrorRate &out) {
  return StrictFields(value, at).read("rate", fraction(out.rate)).integer("samples", out.samples, -1).end();
}
bool readLimit(const json::Value &value, Path at, VoteLimit &out) {
  return StrictFields(value, at)
      .integer("wrong", out.wrong)
      .integer("samples", out.samples)
      .read("limit", fraction(out.limit))
      .end();
}
bool readTerm(const json::Value &value, Path at, VoteTerm &out) {
  return StrictFields(value, at).list("counts", out.counts, readNumber).read("value", fraction(out.value)).end();
}
bool readJoint(const json::Value &value, Path at, std::pair<std::vector<unsigned>, ErrorRate> &out) {
  return StrictFields(value, at)
      .list("members", out.first, readNumber)
      .read("rate", fraction(out.second.rate))
      .integer("samples", out.second.samples, -1)
      .end();
}
bool readVotes(const json::Value &value, Path at, std::pair<uint64_t, int64_t> &out) {
  return StrictFields(value, at).integer("wrong", out.first, 0, INT64_MAX).integer("count", out.second).end();
}

} // namespace

bool readFraction(const json::Value &value, Rational &out, Path path) {
  auto text = value.getAsString();
  if (!text) {
    path.report("expected a fraction as text");
    return false;
  }
  auto [above, below] = text->split('/');
  auto numerator = Rational::parse(above), denominator = Rational::parse(below.empty() ? "1" : below);
  if (!numerator || !denominator || denominator->isZero() || text->ends_with("/") ||
      numerator->bits() + denominator->bits() > Rational::kMaxBits) {
    path.report("not a fraction");
    return false;
  }
  out = *numerator / *denominator;
  return true;
}

json::Value toJson(const ErrorStatistics &statistics) {
  json::Array jointErrors, votes;
  for (const auto &[members, rate] : statistics.jointErrors)
    jointErrors.push_back(
        json::Object{{"members", ids(members)}, {"rate", rate.rate.print()}, {"samples", rate.samples}});
  for (auto [pattern, count] : statistics.votes)
    votes.push_back(json::Object{{"wrong", static_cast<int64_t>(pattern)}, {"count", count}});
  return json::Object{{"individual", list(statistics.memberErrors, [](const ErrorRate &rate) { return write(rate); })},
                      {"joint", std::move(jointErrors)},
                      {"independent", statistics.independent},
                      {"votes", std::move(votes)}};
}

json::Value toJson(const VoteCertificate &certificate) {
  StringRef proof;
  for (const auto &[kind, name] : kProofs)
    if (kind == certificate.proof)
      proof = name;
  auto terms = [](const std::vector<VoteTerm> &all) {
    return list(all, [](const VoteTerm &term) { return write(term); });
  };
  return json::Object{{"error_statistics", toJson(certificate.statistics)},
                      {"member_types", ids(certificate.kinds)},
                      {"confidence", certificate.confidence.print()},
                      {"tests", certificate.tests},
                      {"limits", list(certificate.limits,
                                      [](const VoteLimit &limit) {
                                        return json::Value(json::Object{{"wrong", limit.wrong},
                                                                        {"samples", limit.samples},
                                                                        {"limit", limit.limit.print()}});
                                      })},
                      {"proof", proof},
                      {"value", certificate.value.print()},
                      {"groups", list(certificate.groups, [](const auto &group) { return json::Value(ids(group)); })},
                      {"constant", certificate.constant.print()},
                      {"multipliers", terms(certificate.multipliers)},
                      {"attained", terms(certificate.attained)}};
}

bool readErrorStatistics(const json::Value &value, ErrorStatistics &out, Path path) {
  std::vector<std::pair<std::vector<unsigned>, ErrorRate>> jointErrors;
  std::vector<std::pair<uint64_t, int64_t>> votes;
  if (!StrictFields(value, path)
           .list("individual", out.memberErrors, readRate)
           .list("joint", jointErrors, readJoint)
           .flag("independent", out.independent)
           .list("votes", votes, readVotes)
           .end())
    return false;
  out.jointErrors = {jointErrors.begin(), jointErrors.end()};
  out.votes = {votes.begin(), votes.end()};
  if (out.jointErrors.size() != jointErrors.size() || out.votes.size() != votes.size()) {
    path.report("the same members, or the same pattern, twice");
    return false;
  }
  return true;
}

bool readVoteCertificate(const json::Value &value, VoteCertificate &out, Path path) {
  return StrictFields(value, path)
      .read("error_statistics",
            [&](const json::Value &statistics, Path at) { return readErrorStatistics(statistics, out.statistics, at); })
      .list("member_types", out.kinds, readNumber)
      .read("confidence", fraction(out.confidence))
      .integer("tests", out.tests, 1)
      .list("limits", out.limits, readLimit)
      .read("proof",
            [&](const json::Value &name, Path at) {
              for (const auto &[kind, known] : kProofs)
                if (name.getAsString() == StringRef(known)) {
                  out.proof = kind;
                  return true;
                }
              at.report("no such proof");
              return false;
            })
      .read("value", fraction(out.value))
      .list("groups", out.groups, readNumbers)
      .read("constant", fraction(out.constant))
      .list("multipliers", out.multipliers, readTerm)
      .list("attained", out.attained, readTerm)
      .end();
}

} // namespace accord
