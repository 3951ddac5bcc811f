#include "lib/ensembles/output/Answer.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/support/documents/SummaryLines.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

std::string seconds(int64_t picoseconds) { return formatSi(double(picoseconds) * 1e-12, "s"); }
std::string percent(double share) { return fmt::format("{:.4g} %", 100 * share); }

std::string wantedText(const AnswerProblem &problem) {
  constexpr const char *kTexts[] = {"minimum energy of an input", "minimum time until 99 % of inputs are answered",
                                    "minimum share of wrong answers"};
  std::vector<std::string> wanted;
  if (problem.maxWrong)
    wanted.push_back(fmt::format("at most {} of answers wrong", percentText(*problem.maxWrong)));
  if (problem.maxNone)
    wanted.push_back(fmt::format("at most {} without an answer", percentText(*problem.maxNone)));
  for (const LatencyLimit &limit : problem.limits)
    wanted.push_back(fmt::format("{} in {}", percentText(limit.share), seconds(limit.time)));
  if (problem.deviceFailures > 0)
    wanted.push_back(fmt::format("whichever {} fail{}",
                                 problem.deviceFailures == 1 ? std::string("device")
                                                             : fmt::format("{} devices", problem.deviceFailures),
                                 problem.deviceFailures == 1 ? "s" : ""));
  return fmt::format("{}{}{}", kTexts[static_cast<size_t>(problem.objective)], wanted.empty() ? "" : ": ",
                     fmt::join(wanted, ", "));
}

std::string membersOf(const AnswerProblem &problem, const std::vector<unsigned> &counts) {
  std::string text;
  for (size_t k = 0; k < counts.size(); ++k)
    if (counts[k])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[k], problem.kinds[k].name);
  return text;
}

/// "thin", "2 thin, 1 full": members of one device.
std::string onOneDevice(const AnswerProblem &problem, const std::vector<unsigned> &kinds) {
  std::vector<unsigned> counts(problem.kinds.size(), 0);
  for (unsigned kind : kinds)
    ++counts[kind];
  return kinds.size() == 1 ? problem.kinds[kinds[0]].name : membersOf(problem, counts);
}

/// "raspberry_pi_5_8g 1 to 5: thin", devices with the same members in one line.
std::vector<std::string> placementLines(const AnswerProblem &problem, const AnswerChoice &choice) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < choice.devices.size();) {
    const AnsweringDevice &first = choice.devices[i];
    size_t next = i + 1;
    while (next < choice.devices.size() && choice.devices[next].device == first.device &&
           choice.devices[next].level == first.level && choice.devices[next].kinds == first.kinds)
      ++next;
    double joules = 0;
    for (unsigned kind : first.kinds)
      joules += problem.runs[kind][first.device][first.level].joules;
    const AnswerProblem::Device &device = problem.devices[first.device];
    const std::string &level = device.levels[first.level];
    lines.push_back(fmt::format("{} {}{}: {}{}{}", device.name, first.number + 1,
                                next - i > 1 ? fmt::format(" to {}", choice.devices[next - 1].number + 1) : "",
                                onOneDevice(problem, first.kinds), level.empty() ? "" : " at " + level,
                                joules > 0 ? fmt::format(" ({} an input)", formatSi(joules, "J")) : ""));
    i = next;
  }
  return lines;
}

} // namespace

std::string answerSummary(const AnswerPlan &plan, const TextStyle &style) {
  const AnswerProblem &problem = plan.problem;
  SummaryLines lines(style);
  lines.text =
      inked(style, Ink::Bold, plan.name) + fmt::format(" of {}: {}; confidence {} %\n", plan.train, wantedText(problem),
                                                       (plan.confidence * Rational(100)).print());
  if (const auto &best = plan.result.best) {
    lines.add("chosen", fmt::format("{}: {}{}", membersOf(problem, kindCounts(problem, best->devices)),
                                    best->joules > 0 ? formatSi(best->joules, "J") + " an input, " : "",
                                    plan.result.isComplete
                                        ? fmt::format("proven optimal of {} placements", plan.result.placements)
                                        : fmt::format("the best found; the bound is {:.4g}", plan.result.bound)));
    for (const std::string &line : placementLines(problem, *best))
      lines.add("device", line);
    int64_t weight = 0;
    for (const PlacedVote &member : placedVotes(best->devices))
      weight += problem.kinds[member.kind].weight;
    lines.add("quorum", fmt::format("votes of weight {} of {}{}", best->quorum, weight,
                                    problem.timeout > 0 ? fmt::format(" within {}", seconds(problem.timeout)) : ""));
    lines.add("answer", fmt::format("wrong at most {} (estimate {}), none at most {} (estimate {}), right at least {}",
                                    percentText(best->wrong), percent(best->wrongEstimate), percentText(best->none),
                                    percent(best->noneEstimate),
                                    percentText(std::max(Rational(0), Rational(1) - best->wrong - best->none),
                                                /*isFloor=*/true)));
    if (problem.deviceFailures > 0)
      lines.add("failures", fmt::format("after the worst of them wrong at most {}, none at most {}",
                                        percentText(best->wrongAfter), percentText(best->noneAfter)));
    if (problem.timeout > 0)
      for (const AnswerTime &time : best->times)
        lines.add("time", fmt::format("{} are decided in {} at most; the quorum is there in {} (estimate {})",
                                      percentText(time.share), seconds(time.decided), seconds(time.quorum),
                                      formatSi(time.quorumEstimate, "s")));
  } else {
    lines.add(name(statusOf(plan)), plan.conflict);
  }
  for (const IdleDevice &idle : plan.result.idle)
    lines.add("idle", fmt::format("{} {}: {}", idle.count, problem.devices[idle.device].name, idle.reason));
  for (const std::string &assumption : plan.assumptions)
    lines.add("assumed", assumption);
  return lines.text;
}

} // namespace accord
