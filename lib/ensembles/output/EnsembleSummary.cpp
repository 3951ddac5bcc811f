#include "lib/ensembles/output/Ensemble.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/SummaryLines.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

std::string seconds(int64_t picoseconds) { return formatSi(picoseconds * 1e-12, "s"); }

std::string valueText(const MemberChoice &choice, MemberObjective objective) {
  const double value = valueOf(choice, objective);
  return objective == MemberObjective::StepTime ? seconds(choice.time)
         : objective == MemberObjective::Energy ? formatSi(value, "J")
         : objective == MemberObjective::Memory ? formatBytes(value)
                                                : fmt::format("{:.4g} $", value);
}

const char *objectiveText(MemberObjective objective) {
  constexpr const char *kTexts[] = {"step time", "energy of a step", "peak device memory", "price of a step"};
  return kTexts[llvm::to_underlying(objective)];
}

/// "a100 1: 2 thin (micro-batch 32 x 8)" by device.
std::vector<std::string> placementLines(const EnsemblePlan &plan, const MemberChoice &choice) {
  std::map<std::pair<unsigned, int64_t>, std::map<std::pair<unsigned, unsigned>, unsigned>> on;
  for (const PlacedMember &member : choice.members)
    ++on[{member.device, member.first}][{member.kind, member.alternative}];
  std::vector<std::string> lines;
  for (const auto &[device, members] : on) {
    std::string line;
    for (const auto &[member, count] : members) {
      auto [kind, alternative] = member;
      const MemberCost &cost = plan.problem.kinds[kind].alternatives[device.first][alternative];
      std::string inTurn = count > 1 ? " each, in turn" : "";
      std::string group =
          cost.devices > 1 ? fmt::format(" and {} more device{}", cost.devices - 1, cost.devices > 2 ? "s" : "") : "";
      line += fmt::format("{}{} {}{} ({}, {}{})", line.empty() ? "" : ", ", count, plan.problem.kinds[kind].name, group,
                          cost.text, seconds(cost.time), inTurn);
    }
    lines.push_back(fmt::format("{} {}: {}", plan.problem.devices[device.first].name, device.second + 1, line));
  }
  return lines;
}

std::string table(const EnsemblePlan &plan, const TextStyle &style) {
  bool price = std::ranges::any_of(plan.problem.devices,
                                   [](const MemberProblem::Device &device) { return device.pricePerHour > 0; });
  bool deviceFailures = plan.problem.deviceFailures > 0;
  std::vector<std::string> head = {"members", "size", "error at most", "step time", "energy", "memory"};
  std::string alignment = "lrrrrr";
  if (deviceFailures)
    head.insert(head.begin() + 3, "after failures"), alignment += "r";
  if (price)
    head.push_back("price"), alignment += "r";
  head.push_back(""), alignment += "l";
  TextTable table(alignment, head);
  for (size_t i = 0; i < plan.result.sizes.size(); ++i) {
    const MembersOfSize &of = plan.result.sizes[i];
    const MemberChoice *shown = of.shown();
    std::vector<std::string> row(head.size());
    row[1] = std::to_string(of.size);
    row.back() = !shown                             ? "none fits the devices"
                 : plan.result.best == i            ? "chosen"
                 : !plan.problem.max                ? ""
                 : of.best                          ? "feasible"
                 : shown->error > *plan.problem.max ? "not certified"
                                                    : "not after failures";
    if (shown) {
      size_t at = 0;
      row[at++] = membersText(plan.problem, shown->counts);
      ++at;
      row[at++] = percentText(shown->error);
      if (deviceFailures)
        row[at++] = percentText(shown->errorAfterFailures);
      row[at++] = seconds(shown->time);
      row[at++] = shown->joules > 0 ? formatSi(shown->joules, "J") : "-";
      row[at++] = formatBytes(shown->memory);
      if (price)
        row[at++] = fmt::format("{:.4g} $", shown->price);
    }
    table.row(std::move(row));
  }
  return table.text(style);
}

} // namespace

std::string percentText(const Rational &share, bool isFloor) {
  Rational exact = share * Rational(1'000'000), digits = isFloor ? exact.floor() : exact.ceil();
  return fmt::format("{:.6g} %", digits.toDouble() / 10'000);
}

std::string ensembleSummary(const EnsemblePlan &plan, const std::string &folder, const TextStyle &style) {
  const MemberObjective objective = plan.problem.objective;
  SummaryLines lines(style);
  std::string wanted = plan.problem.max ? fmt::format("minimum {} with an error of at most {}",
                                                      objectiveText(objective), percentText(*plan.problem.max))
                                        : fmt::format("minimum error, then minimum {}", objectiveText(objective));
  // Not rounded: 0.99999999 is no certainty.
  std::string confidence = (plan.confidence * Rational(100)).print();
  lines.text = inked(style, Ink::Bold, plan.name) +
               fmt::format(" of {}: {}, confidence {} %\n", plan.train, wanted, confidence) + table(plan, style);
  const MemberChoice *chosen = plan.chosen();
  if (!chosen) {
    lines.add(name(statusOf(plan)), plan.conflict);
  } else {
    double gap = plan.result.gap(objective);
    lines.add("chosen", fmt::format("{}: {} {}, {}", membersText(plan.problem, chosen->counts),
                                    objectiveText(objective), valueText(*chosen, objective),
                                    gap > 0 ? fmt::format("relative gap {:.2g} %", 100 * gap)
                                            : "proven optimal for these sizes"));
    for (const std::string &line : placementLines(plan, *chosen))
      lines.add("device", line);
    if (*plan.result.best < plan.guarantees.size() && plan.guarantees[*plan.result.best]) {
      const GuaranteeText &text = *plan.guarantees[*plan.result.best];
      lines.add("guarantee",
                fmt::format("error at most {} ({}), by {}", percentText(text.value),
                            text.value.print().size() < 24 ? text.value.print() : "exact in vote.json", text.bound));
      lines.add("formula", text.formula);
      lines.add("basis", text.basis);
      for (const std::string &input : text.inputs)
        lines.add("input", input);
      for (const std::string &assumption : text.assumptions)
        lines.add("assumes", assumption);
    }
    for (const EnsemblePlan::FailureCase &failure : plan.failures)
      lines.add("failures", fmt::format("{}: vote with {}, error at most {}", fmt::join(failure.devices, ", "),
                                        membersText(plan.problem, failure.quorum), percentText(failure.error)));
  }
  if (const auto &answer = plan.answer)
    lines.add("answer", fmt::format("wrong at most {}, none {}, right at least {}; {}", percentText(answer->wrong),
                                    percentText(answer->none),
                                    percentText(Rational(1) - answer->wrong - answer->none, /*isFloor=*/true),
                                    answer->quorum > 1 ? fmt::format("none below votes of weight {}", answer->quorum)
                                                       : "any vote that arrives is an answer"));
  constexpr size_t kMaxClasses = 20;
  std::vector<EnsemblePlan::ClassError> classes = plan.classes;
  std::ranges::sort(classes,
                    [](const auto &a, const auto &b) { return std::tie(b.limit, a.name) < std::tie(a.limit, b.name); });
  for (size_t i = 0; i < std::min(kMaxClasses, classes.size()); ++i)
    lines.add("class", fmt::format("{}: error at most {} ({} of {} votes wrong)", classes[i].name,
                                   percentText(classes[i].limit), classes[i].wrong, classes[i].samples));
  if (classes.size() > kMaxClasses)
    lines.add("class", fmt::format("{} more with smaller errors in vote.json", classes.size() - kMaxClasses));
  for (const std::string &more : plan.moreData)
    lines.add("more data", more);
  for (const std::string &assumption : plan.assumptions)
    lines.add("assumed", assumption);
  if (!folder.empty())
    lines.add("report", folder + "/report.html");
  return lines.text;
}

std::string toReport(const EnsemblePlan &plan) {
  llvm::json::Value data = toJson(plan);
  std::string document = jsonText(data) + "\n";
  data.getAsObject()->erase("certificates"); // what proves it is for accord verify
  data.getAsObject()->erase("rejected");
  if (auto *answer = data.getAsObject()->getObject("answer"))
    answer->erase("certificate");
  return pageOf(Page::Ensemble, plan.name + " of " + plan.train, document, data);
}

AnswerFiles filesOf(const EnsemblePlan &plan) {
  return {{kVoteFile, jsonText(toJson(plan)) + "\n"}, {"report.html", toReport(plan)}};
}

} // namespace accord
