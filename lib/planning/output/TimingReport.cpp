#include "lib/planning/output/TimingReport.h"
#include "lib/planning/analysis/StepSensitivity.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/ArrayRef.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

constexpr size_t kRows = 10;
constexpr size_t kMaxCritical = 1000;

std::string time(Picoseconds t) { return formatSi(t.seconds().value, "s"); }
const char *kindName(CoreKind kind) { return kind == CoreKind::None ? "no core" : name(kind); }

} // namespace

std::string timingText(const Plan &plan, const TextStyle &style) {
  auto made = StepSensitivity::of(plan);
  if (!made)
    return "\nno timing: " + made.error().message + "\n";
  const StepSensitivity &what = *made;
  double step = std::max<int64_t>(what.step.value, 1);
  auto percent = [&](Picoseconds t) { return fmt::format("{:.3g} %", 100 * static_cast<double>(t.value) / step); };
  std::string kinds, phases;
  auto add = [&](std::string &to, const char *label, Picoseconds t) {
    if (t.value > 0)
      to += fmt::format("{}{} {} ({})", to.empty() ? "" : ", ", label, time(t), percent(t));
  };
  for (const CoreKindShare &share : what.kinds)
    add(kinds, kindName(share.kind), share.critical);
  add(kinds, "host", what.host);
  for (auto [phase, t] : what.phases)
    add(phases, name(phase), t);
  std::string out = "\n" + inked(style, Ink::Bold, "Longest path") + "\n";
  auto line = [&](const std::string &label, const std::string &value) {
    std::string text = wrapped(value, std::string(16, ' '), style);
    out += "  " + inked(style, Ink::Dim, label) + std::string(14 - label.size(), ' ') +
           (text.size() > 16 ? text.substr(16) : "\n");
  };
  if (!kinds.empty())
    line("by core", kinds);
  if (!phases.empty())
    line("by phase", phases);
  for (const CoreKindShare &share : what.kinds)
    line(&share == what.kinds.data() ? "lower bound" : "",
         fmt::format("{}: {} if everything else took no time", kindName(share.kind), time(share.alone)));
  if (what.next != kNone)
    line("next", fmt::format("{}, with {} of slack", plan.graph.operations[what.next].name, time(what.nextSlack)));
  if (what.operations.empty())
    return out;
  out += "\n" + inked(style, Ink::Bold, "What would shorten the step") + " of " + time(what.step) +
         ", in the order of the plan\n";
  TextTable table("llrrrr", {"operation", "phase", "time", "gain if halved", "gain if removed", ""});
  for (const OperationSensitivity &s : ArrayRef(what.operations).take_front(kRows)) {
    const Operation &op = plan.graph.operations[s.operation];
    table.row({op.name, name(op.phase), time(s.busy), "-" + time(s.gainIfHalved), "-" + time(s.gainIfFree),
               "-" + percent(s.gainIfFree)});
  }
  out += table.text(style);
  if (what.operations.size() > kRows)
    out += fmt::format("and {} more operations\n", what.operations.size() - kRows);
  return out;
}

json::Object timingData(const Plan &plan) {
  auto made = StepSensitivity::of(plan);
  if (!made)
    return json::Object{{"error", jsonString(made.error().message)}};
  const StepSensitivity &what = *made;
  auto nameOf = [&](OperationId id) { return jsonString(plan.graph.operations[id].name); };
  json::Array kinds, phases, critical, operations;
  for (const CoreKindShare &share : what.kinds)
    kinds.push_back(json::Object{{"core_type", kindName(share.kind)},
                                 {"critical_s", share.critical.seconds().value},
                                 {"only_this_core_type_s", share.alone.seconds().value}});
  for (auto [phase, t] : what.phases)
    phases.push_back(json::Object{{"phase", name(phase)}, {"critical_s", t.seconds().value}});
  for (OperationId id : ArrayRef(what.critical).take_front(kMaxCritical))
    critical.push_back(nameOf(id));
  for (const OperationSensitivity &s : ArrayRef(what.operations).take_front(kRows))
    operations.push_back(json::Object{{"name", nameOf(s.operation)},
                                      {"phase", name(plan.graph.operations[s.operation].phase)},
                                      {"core", kindName(plan.graph.operations[s.operation].core)},
                                      {"total_time_s", s.busy.seconds().value},
                                      {"gain_if_halved_s", s.gainIfHalved.seconds().value},
                                      {"gain_if_removed_s", s.gainIfFree.seconds().value}});
  json::Object data{{"step_time_s", what.step.seconds().value}, {"host_s", what.host.seconds().value},
                    {"core_types", std::move(kinds)},           {"phases", std::move(phases)},
                    {"critical", std::move(critical)},          {"operations", std::move(operations)}};
  if (what.next != kNone)
    data["next"] = json::Object{{"name", nameOf(what.next)}, {"slack_s", what.nextSlack.seconds().value}};
  return data;
}

} // namespace accord
