#include "lib/ensembles/output/MemberStatisticsJson.h"
#include "lib/ensembles/problem/VoteCertificate.h"
#include "lib/support/documents/FractionText.h"

namespace json = llvm::json;
namespace accord {

void describeShare(JsonVisitor &v, Rational &share) {
  describeFraction(
      v, share, [](const Rational &value) { return value.sign() >= 0 && value <= Rational(1); },
      "expected a fraction of 0 to 1");
}

/// A rate that may be missing: then it is not known.
void describeRate(JsonFields &f, ErrorRate &rate) {
  if (f.reads())
    rate = {1, -1};
  f.visit("rate", false, rate.samples >= 0, [&](JsonVisitor &v) {
    describeShare(v, rate.rate);
    if (f.reads())
      rate.samples = 0;
  });
  f.maybeIf(rate.samples > 0, "samples", rate.samples, IntegerRange{0, int64_t(1) << 40});
}

namespace {

constexpr IntegerRange kIndex{0, 1 << 20}, kAny{0, INT64_MAX};

void describeVotes(JsonVisitor &v, VoteTable &table) {
  std::vector<std::array<int64_t, 2>> patterns;
  patterns.reserve(table.votes.size());
  for (auto [pattern, votes] : table.votes)
    patterns.push_back({int64_t(pattern), votes});
  std::vector<std::pair<std::string, std::vector<std::array<int64_t, 2>>>> classes;
  for (const auto &[name, votes] : table.classes) {
    auto &[own, list] = classes.emplace_back(name, std::vector<std::array<int64_t, 2>>());
    for (auto [pattern, number] : votes)
      list.push_back({int64_t(pattern), number});
  }
  v.object([&](JsonFields &f) {
    f.field("members", table.kinds, kIndex)
        .field("samples", table.samples)
        .field("patterns", patterns, kAny)
        .about("samples that a soft vote of all members gets wrong; where it is missing, votes are counted")
        .maybe("soft_wrong", table.softWrong)
        .about("the same by true class")
        .maybe("classes", classes, [](JsonFields &g, std::pair<std::string, std::vector<std::array<int64_t, 2>>> &one) {
          g.field("class", one.first).field("patterns", one.second, kAny);
        });
  });
  v.check([&](json::Path at) {
    int64_t left = table.samples;
    size_t members = table.kinds.size();
    for (const auto &one : patterns) {
      if (members > kMaxEnsembleMembers || one[0] >> members || one[1] > left) {
        at.report("expected patterns of at most 63 members and numbers of votes "
                  "that add up to the samples");
        return false;
      }
      table.votes[one[0]] += one[1];
      left -= one[1];
    }
    if (table.softWrong && *table.softWrong > table.samples) {
      at.report("more soft votes are wrong than there are samples");
      return false;
    }
    std::map<uint64_t, int64_t> sum;
    for (const auto &[name, list] : classes)
      for (const auto &one : list) {
        table.classes[name][one[0]] += one[1];
        sum[one[0]] += one[1];
      }
    std::erase_if(sum, [](const auto &one) { return one.second == 0; });
    std::map<uint64_t, int64_t> votes = table.votes;
    std::erase_if(votes, [](const auto &one) { return one.second == 0; });
    if (!classes.empty() && sum != votes) {
      at.report("votes by class are not those of the table");
      return false;
    }
    return true;
  });
}

} // namespace

void describe(JsonFields &f, MemberStatistics &statistics) {
  std::vector<std::pair<std::vector<unsigned>, ErrorRate>> joint(statistics.jointErrors.begin(),
                                                                 statistics.jointErrors.end());
  f.field("independent", statistics.independent)
      .field("joint", joint,
             [](JsonFields &g, std::pair<std::vector<unsigned>, ErrorRate> &one) {
               g.field("members", one.first, kIndex);
               describeRate(g, one.second);
             })
      .maybeIf(!statistics.table.kinds.empty(), "votes", statistics.table, describeVotes);
  if (f.reads())
    for (auto &[kinds, rate] : joint)
      statistics.jointErrors[kinds] = rate;
}

} // namespace accord
