#include "lib/ensembles/solve/BoundDescriptions.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

constexpr VoteBoundDescription kTexts[kNumVoteBounds] = {
    {"Poisson-binomial tail (independent errors)", "sum of the Poisson-binomial tail P(K >= t)",
     "errors of members are independent, as stated"},
    {"Hoeffding bound (independent errors)", "exp(-2 N (1/2 - S1/N)^2)",
     "errors of members are independent, as stated"},
    {"first-order bound (Markov)", "2 S1 / N", ""},
    {"second-order bound", "4 (S1 + 2 S2) / N^2", ""},
    {"C-bound (Cantelli)", "(m2 - mu^2) / (m2 - mu + 1/4)", ""},
    {"pairwise Markov bound", "S2 / C(t,2)", ""},
    {"bound from individual error rates", "min over j < t of (sum of the N-j smallest errors) / (t-j)", ""},
    {"binomial-moment bound (linear program)", "linear program over the number of wrong members", ""},
    {"joint-distribution bound (linear program over error patterns)",
     "linear program over the patterns of wrong members", ""},
    {"hold-out bound (Clopper-Pearson)", "Clopper-Pearson limit of wrong votes",
     "votes in the table are independent samples of what is voted on, and no member was trained or "
     "chosen with them"},
};

} // namespace

std::string nameOf(const std::vector<unsigned> &set, const std::vector<std::string> &names) {
  std::string result = set.size() > 1 ? "joint error of " : "error of ";
  for (size_t i = 0; i < set.size(); ++i) {
    result += i == 0 ? "" : i + 1 < set.size() ? ", " : " and ";
    result += set[i] < names.size() ? fmt::format("'{}'", names[set[i]]) : fmt::format("member {}", set[i] + 1);
  }
  return result;
}

VoteBoundDescription describe(VoteBoundKind kind) { return kTexts[static_cast<size_t>(kind)]; }

const char *describe(GuaranteeBasis basis) {
  switch (basis) {
  case GuaranteeBasis::Table:
    return "table of votes";
  case GuaranteeBasis::Measured:
    return "measured error rates";
  case GuaranteeBasis::Asserted:
    return "asserted error rates";
  case GuaranteeBasis::Independence:
    return "asserted independence";
  case GuaranteeBasis::None:
    return "none";
  }
  return "";
}

std::vector<std::string> inputsOf(const VoteBound &bound, const VoteRates &rates,
                                  const std::vector<std::string> &names) {
  const VoteCertificate &certificate = bound.certificate;
  std::vector<std::string> result;
  if (certificate.proof == VoteCertificate::Proof::Table) {
    for (const VoteLimit &limit : certificate.limits)
      result.push_back(
          fmt::format("{} of {} votes wrong: at most {}", limit.wrong, limit.samples, limit.limit.print()));
    return result;
  }
  // Of members of the same kinds what is known is the same.
  std::set<std::vector<unsigned>> listed;
  for (size_t size = 1; size <= rates.members; ++size)
    for (const auto &[set, rate] : rates.known) {
      if (set.size() != size || (size > 1 && certificate.proof == VoteCertificate::Proof::Independence))
        continue;
      std::vector<unsigned> kinds;
      for (unsigned member : set)
        kinds.push_back(member < certificate.kinds.size() ? certificate.kinds[member] : member);
      std::sort(kinds.begin(), kinds.end());
      if (!listed.insert(kinds).second)
        continue;
      const ErrorRate &fact = size == 1 ? certificate.statistics.memberErrors[set[0]]
                                        : certificate.statistics.jointErrors.find(set)->second;
      result.push_back(fmt::format("{} {}{}", nameOf(set, names), rate.exact ? "" : "at most ", rate.rate.print()));
      if (!rate.exact)
        result.back() += fmt::format(" ({} of {} samples)", fact.rate.print(), fact.samples);
    }
  return result;
}

std::vector<std::string> assumptionsOf(const VoteBound &bound, const VoteRates &rates) {
  const VoteCertificate &certificate = bound.certificate;
  std::vector<std::string> result;
  if (const char *own = describe(bound.kind).assumptions; *own)
    result.push_back(own);
  bool table = certificate.proof == VoteCertificate::Proof::Table;
  bool asserted =
      std::any_of(rates.known.begin(), rates.known.end(), [](const auto &entry) { return entry.second.exact; });
  if (!table && asserted)
    result.push_back("error rates without samples are exact, as stated");
  if (!table && !rates.limits.empty())
    result.push_back("samples are independent and of what is voted on, and no member was trained "
                     "or chosen with them");
  // Of a table each member has its own votes.
  std::set<unsigned> kinds(certificate.kinds.begin(), certificate.kinds.end());
  if (!table && !rates.known.empty() && kinds.size() < certificate.kinds.size())
    result.push_back("what is stated of a kind holds for every member of it");
  if (table || !rates.limits.empty())
    result.push_back(fmt::format("the limits of {} {} hold together with a probability of {}", certificate.tests,
                                 certificate.tests == 1 ? "test" : "tests", certificate.confidence.print()));
  result.push_back("half of the votes or more wrong is an error of the vote, a tie too");
  return result;
}

} // namespace accord
