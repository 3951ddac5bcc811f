#include "lib/voting/documents/VotingJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/SummaryLines.h"
#include <set>

namespace json = llvm::json;
namespace accord::voting {

constexpr IntegerRange kWeight{1, kMaxVoteWeight}, kClasses{2, kMaxClasses};

void describe(JsonFields &f, VotingMember &member) {
  f.field("name", member.name).about("http://HOST:PORT").field("url", member.url);
  if (f.reads())
    member.weight = 1;
  f.about("what its vote counts, unless the rule is majority: 1 if it is left out")
      .maybeIf(member.weight != 1, "weight", member.weight, kWeight);
  f.about("the file of its engine").maybe("model", member.model);
}

void describe(JsonFields &f, PlannedAnswer &planned) {
  f.about("share of requests that are answered wrongly, at most")
      .field("wrong", planned.wrong, kShare)
      .about("share of requests without an answer, at most")
      .field("none", planned.none, kShare);
}

static bool hasNames(const VotingConfig &config, json::Path at) {
  std::set<std::string> names;
  for (size_t i = 0; i < config.members.size(); ++i) {
    const std::string &name = config.members[i].name;
    if (name.empty() || !names.insert(name).second) {
      at.field("members").index(i).field("name").report("expected a name that no other member has");
      return false;
    }
    if (!config.members[i].url.starts_with("http://")) {
      at.field("members").index(i).field("url").report("expected http://HOST:PORT");
      return false;
    }
  }
  if (config.quorum <= config.totalWeight())
    return true;
  at.field("quorum").report("expected at most what all votes weigh together");
  return false;
}

void describe(JsonFields &f, VotingConfig &config) {
  f.about("the version of this form")
      .constant("voting", 1, "expected version 1 of ensemble.json")
      .field("name", config.name)
      .about("labels are 0 to classes - 1")
      .field("classes", config.classes, kClasses)
      .about("majority: one member, one vote; weighted: labels by weight; soft: mean of probabilities by weight")
      .field("rule", config.rule,
             [](JsonVisitor &v, VoteRule &rule) {
               v.oneOf(rule, {"majority", "weighted", "soft"}, "expected majority, weighted or soft");
             })
      .about("weight of votes without which there is no answer; with the rule majority, their number")
      .field("quorum", config.quorum, IntegerRange{1, kMaxVoteWeight * static_cast<int64_t>(kMaxVotingMembers)})
      .about("milliseconds from a request to its answer")
      .field("timeout_ms", config.timeout, NumberRange{0.1, 3.6e6})
      .visit("members", true, true, [&](JsonVisitor &v) {
        v.array(
            config.members.size(), "expected 1 to 63 members",
            [&](size_t size) {
              config.members.resize(size);
              return size >= 1 && size <= kMaxVotingMembers;
            },
            [&](size_t i, JsonVisitor &one) { one.object([&](JsonFields &g) { describe(g, config.members[i]); }); });
      });
  f.about("what the plan states of answers").maybe("planned", config.planned);
}

void describe(JsonFields &f, LatencyQuantiles &latency) {
  f.field("p50", latency.p50).field("p90", latency.p90).field("p99", latency.p99).field("p99_9", latency.p999);
}

void describe(JsonFields &f, MemberTally &tally) {
  f.field("name", tally.name)
      .field("asked", tally.asked)
      .about("votes that were counted")
      .field("in_time", tally.inTime)
      .about("not there at the time-out")
      .field("late", tally.late)
      .about("nobody took the request, or the connection ended without an answer")
      .field("unavailable", tally.refused)
      .about("no vote of these classes")
      .field("wrong_form", tally.wrongForm)
      .about("the decision was certain before it came")
      .field("unneeded", tally.unneeded);
  f.computed("lost_share", [&] {
    const int64_t needed = tally.inTime + tally.late + tally.refused + tally.wrongForm;
    return needed ? 1 - static_cast<double>(tally.inTime) / static_cast<double>(needed) : 0.0;
  });
}

void describe(JsonFields &f, VotingStatistics &statistics) {
  f.head("answer")
      .about("that could be understood")
      .field("requests", statistics.requests)
      .about("with a label")
      .field("answered", statistics.answered)
      .about("without a quorum")
      .field("none", statistics.none)
      .about("refused because too many were open")
      .field("overloaded", statistics.overloaded)
      .about("not answered yet")
      .field("open", statistics.open)
      .about("of those with a label: the true one was stated")
      .field("known", statistics.known)
      .field("wrong", statistics.wrong)
      .about("quantiles, at most 2 % too large")
      .field("latency_ms", statistics.latency)
      .field("members", statistics.members);
}

void describe(JsonFields &f, MeasuredShare &share) {
  f.field("number", share.number)
      .about("of all requests")
      .field("share", share.share, kShare)
      .about("limit of Clopper and Pearson; with the other one: 95 % confidence")
      .field("low", share.low, kShare)
      .field("high", share.high, kShare);
}

void describe(JsonFields &f, AskReport &report) {
  f.head("ask")
      .field("ensemble", report.name)
      .field("requests", report.requests)
      .about("with a label")
      .field("answered", report.answered)
      .about("neither a label nor no quorum")
      .field("failed", report.failed)
      .about("of those with a label: the true one is known")
      .field("known", report.known)
      .about("there is an answer and it is wrong")
      .field("wrong", report.wrong)
      .about("there is no quorum")
      .field("none", report.none)
      .field("seconds", report.seconds)
      .computed("requests_per_s", [&] { return report.rate(); })
      .about("from when a request was due to its answer")
      .field("latency_ms", report.latency)
      .field("max_latency_ms", report.maxLatency)
      .maybe("planned", report.planned)
      .about("what the plan states and the measurement contradicts")
      .field("contradictions", report.contradictions);
}

Result<VotingConfig> readVotingConfig(llvm::StringRef text, const std::string &path) {
  auto read = [](const json::Value &value, VotingConfig &config, json::Path at) {
    return readDocument(value, config, at) && hasNames(config, at);
  };
  auto config = readJsonDocument<VotingConfig>(text, path, "ensemble", read);
  if (!config)
    return Error{Code::BadPlan, llvm::toString(config.takeError())};
  return std::move(*config);
}

static std::string shareText(const MeasuredShare &share) {
  return fmt::format("{:.4g} % ({:.4g} to {:.4g} %, {} requests)", 100 * share.share, 100 * share.low, 100 * share.high,
                     share.number);
}

std::string askSummary(const AskReport &report, const TextStyle &style) {
  SummaryLines lines(style);
  lines.text = fmt::format("{}: {} requests in {:.4g} s, {:.0f} a second\n", report.name, report.requests,
                           report.seconds, report.rate());
  lines.add("answered", fmt::format("{}{}", report.answered,
                                    report.failed ? fmt::format(", {} failed", report.failed) : ", each once"));
  if (report.known > 0)
    lines.add("wrong",
              shareText(report.wrong) +
                  (report.planned ? fmt::format(", planned at most {:.4g} %", 100 * report.planned->wrong) : ""));
  lines.add("no answer",
            shareText(report.none) +
                (report.planned ? fmt::format(", planned at most {:.4g} %", 100 * report.planned->none) : ""));
  lines.add("latency", fmt::format("p50 {:.3f} ms, p90 {:.3f} ms, p99 {:.3f} ms, p99.9 {:.3f} ms, max {:.3f} ms",
                                   report.latency.p50, report.latency.p90, report.latency.p99, report.latency.p999,
                                   report.maxLatency));
  for (const std::string &text : report.contradictions)
    lines.add("contradicted", text);
  return lines.text;
}

} // namespace accord::voting
