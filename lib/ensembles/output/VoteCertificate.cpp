#include "lib/ensembles/output/VoteCertificate.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/StrictFields.h"

using namespace llvm;
namespace accord {
namespace {

using json::Path;

constexpr std::pair<VoteClaim::Proof, StringLiteral> kProofs[] = {
    {VoteClaim::Proof::Multipliers, "multipliers"},
    {VoteClaim::Proof::Independence, "independence"},
    {VoteClaim::Proof::Table, "table"},
    {VoteClaim::Proof::Contradiction, "contradiction"},
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
  out = static_cast<unsigned>(wide);
  return ok;
}
bool readNumbers(const json::Value &value, Path at, std::vector<unsigned> &out) {
  return StrictFields::readList(value, at, out, readNumber);
}
bool readRate(const json::Value &value, Path at, ErrorRate &out) {
  return StrictFields(value, at)
      .read("rate", fraction(out.rate))
      .integer("samples", out.samples, -1)
      .end();
}
bool readLimit(const json::Value &value, Path at, VoteLimit &out) {
  return StrictFields(value, at)
      .integer("wrong", out.wrong)
      .integer("samples", out.samples)
      .read("limit", fraction(out.limit))
      .end();
}
bool readTerm(const json::Value &value, Path at, VoteTerm &out) {
  return StrictFields(value, at)
      .list("counts", out.counts, readNumber)
      .read("value", fraction(out.value))
      .end();
}
bool readJoint(const json::Value &value, Path at,
               std::pair<std::vector<unsigned>, ErrorRate> &out) {
  return StrictFields(value, at)
      .list("members", out.first, readNumber)
      .read("rate", fraction(out.second.rate))
      .integer("samples", out.second.samples, -1)
      .end();
}
bool readVotes(const json::Value &value, Path at, std::pair<uint64_t, int64_t> &out) {
  return StrictFields(value, at)
      .integer("wrong", out.first, 0, INT64_MAX)
      .integer("count", out.second)
      .end();
}

} // namespace

bool readFraction(const json::Value &value, Rational &out, Path path) {
  auto text = value.getAsString();
  if (!text) {
    path.report("expected a fraction as text");
    return false;
  }
  auto [above, below] = text->split('/');
  auto numerator = Rational::parse(above),
       denominator = Rational::parse(below.empty() ? "1" : below);
  if (!numerator || !denominator || denominator->isZero() || text->ends_with("/") ||
      numerator->bits() + denominator->bits() > Rational::kMaxBits) {
    path.report("not a fraction");
    return false;
  }
  out = *numerator / *denominator;
  return true;
}

json::Value toJson(const ErrorFacts &facts) {
  json::Array together, votes;
  for (const auto &[members, rate] : facts.together)
    together.push_back(json::Object{
        {"members", ids(members)}, {"rate", rate.rate.print()}, {"samples", rate.samples}});
  for (auto [pattern, count] : facts.votes)
    votes.push_back(json::Object{{"wrong", static_cast<int64_t>(pattern)}, {"count", count}});
  return json::Object{
      {"alone", list(facts.alone, [](const ErrorRate &rate) { return write(rate); })},
      {"together", std::move(together)},
      {"independent", facts.independent},
      {"votes", std::move(votes)}};
}

json::Value toJson(const VoteClaim &claim) {
  StringRef proof;
  for (const auto &[kind, name] : kProofs)
    if (kind == claim.proof)
      proof = name;
  auto terms = [](const std::vector<VoteTerm> &all) {
    return list(all, [](const VoteTerm &term) { return write(term); });
  };
  return json::Object{
      {"facts", toJson(claim.facts)},
      {"kinds", ids(claim.kinds)},
      {"confidence", claim.confidence.print()},
      {"tests", claim.tests},
      {"limits", list(claim.limits,
                      [](const VoteLimit &limit) {
                        return json::Value(json::Object{{"wrong", limit.wrong},
                                                        {"samples", limit.samples},
                                                        {"limit", limit.limit.print()}});
                      })},
      {"proof", proof},
      {"value", claim.value.print()},
      {"groups", list(claim.groups, [](const auto &group) { return json::Value(ids(group)); })},
      {"constant", claim.constant.print()},
      {"multipliers", terms(claim.multipliers)},
      {"attained", terms(claim.attained)}};
}

bool readErrorFacts(const json::Value &value, ErrorFacts &out, Path path) {
  std::vector<std::pair<std::vector<unsigned>, ErrorRate>> together;
  std::vector<std::pair<uint64_t, int64_t>> votes;
  if (!StrictFields(value, path)
           .list("alone", out.alone, readRate)
           .list("together", together, readJoint)
           .flag("independent", out.independent)
           .list("votes", votes, readVotes)
           .end())
    return false;
  out.together = {together.begin(), together.end()};
  out.votes = {votes.begin(), votes.end()};
  if (out.together.size() != together.size() || out.votes.size() != votes.size()) {
    path.report("the same members, or the same pattern, twice");
    return false;
  }
  return true;
}

bool readVoteClaim(const json::Value &value, VoteClaim &out, Path path) {
  return StrictFields(value, path)
      .read("facts",
            [&](const json::Value &facts, Path at) { return readErrorFacts(facts, out.facts, at); })
      .list("kinds", out.kinds, readNumber)
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
