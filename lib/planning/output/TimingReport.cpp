#include "lib/planning/output/TimingReport.h"
#include "lib/planning/analysis/StepSensitivity.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/ArrayRef.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord {

void describe(JsonVisitor &v, Phase &phase);

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

void describeTiming(JsonFields &f, const Plan *plan) {
  StepSensitivity what;
  std::string error;
  if (plan) {
    auto made = StepSensitivity::of(*plan);
    if (made)
      what = *made;
    else
      error = made.error().message;
  }
  bool known = error.empty();
  auto describeName = [&](JsonVisitor &v, OperationId id) {
    std::string name = plan ? plan->graph.operations[id].name : "";
    v.text(name);
  };
  std::vector critical(what.critical.begin(), what.critical.begin() + std::min(kMaxCritical, what.critical.size()));
  std::vector operations(what.operations.begin(), what.operations.begin() + std::min(kRows, what.operations.size()));
  std::vector<std::pair<Phase, Picoseconds>> phases(what.phases.begin(), what.phases.end());
  f.about("why there is none: the plan contradicts itself")
      .maybe("error", error)
      .about("in the order of the plan, everything as early as possible")
      .computedIf(known, "step_time_s", [&] { return what.step.seconds(); })
      .about("of it, what the host takes")
      .computedIf(known, "host_s", [&] { return what.host.seconds(); })
      .maybeIf(known, "core_types", what.kinds,
               [](JsonFields &g, CoreKindShare &share) {
                 g.about("tensor, vector, network, or no core")
                     .computed("core_type", [&] { return std::string(kindName(share.kind)); })
                     .about("of the longest path")
                     .computed("critical_s", [&] { return share.critical.seconds(); })
                     .about("longest chain of dependences if all other core types took no time")
                     .computed("only_this_core_type_s", [&] { return share.alone.seconds(); });
               })
      .maybeIf(known, "phases", phases,
               [](JsonFields &g, std::pair<Phase, Picoseconds> &one) {
                 g.field("phase", one.first).about("of the longest path").computed("critical_s", [&] {
                   return one.second.seconds();
                 });
               })
      .about("operations of the longest path, a repeat followed by its body; the first 1000")
      .maybeIf(known, "critical", critical, describeName)
      .about("what shortens the step most, at most 10")
      .maybeIf(known, "operations", operations,
               [&](JsonFields &g, OperationSensitivity &s) {
                 const Operation none, &op = plan ? plan->graph.operations[s.operation] : none;
                 g.computed("name", [&] { return op.name; })
                     .computed("phase", [&] { return op.phase; })
                     .computed("core", [&] { return std::string(kindName(op.core)); })
                     .about("all executions, one after the other")
                     .computed("total_time_s", [&] { return s.busy.seconds(); })
                     .about("the step is so much shorter if the operation takes half its time")
                     .computed("gain_if_halved_s", [&] { return s.gainIfHalved.seconds(); })
                     .about("and if it takes none")
                     .computed("gain_if_removed_s", [&] { return s.gainIfFree.seconds(); });
               })
      .about("of the operations that have slack, the one with the least")
      .maybeIf(known && what.next != kNone, "next", what.next, [&](JsonFields &g, OperationId &id) {
        g.computed("name", [&] { return plan->graph.operations[id].name; }).computed("slack_s", [&] {
          return what.nextSlack.seconds();
        });
      });
}

} // namespace accord
