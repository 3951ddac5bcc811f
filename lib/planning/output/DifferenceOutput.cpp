// A difference between plans as text, as a document and as a page.
#include "lib/planning/output/PlanDifference.h"
#include "lib/report/ReportPage.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

std::string valueText(double value, const std::string &unit) {
  if (unit == "1")
    return fmt::format("{:.3g} %", value * 100);
  if (unit == "B")
    return formatBytes(value);
  if (unit == "USD")
    return fmt::format("{:.4g} USD", value);
  return unit.empty() ? fmt::format("{:.6g}", value) : formatSi(value, unit);
}

class Text {
public:
  Text(const PlanDifference &difference, const TextStyle &style) : d(difference), style(style) {}

  std::string run() {
    if (d.cluster)
      out = inked(style, Ink::Bold, d.before.model + " on " + d.before.machine) + "  ->  " +
            inked(style, Ink::Bold, d.after.model + " on " + d.after.machine) + "\n";
    if (!d.before.planned || !d.after.planned)
      return out + fmt::format("  {} before, {} after\n", d.before.status, d.after.status);
    figures();
    for (const std::string &cause : d.causes)
      out += (&cause == d.causes.data() ? "\n" : "") + wrapped(cause, "  ", style);
    if (d.cluster)
      stages();
    else
      operations();
    return out;
  }

private:
  std::string same() const { return style.unicode ? "–" : "-"; }
  std::string change(double x, double y, Preference preferred) const {
    if (x == y)
      return same();
    if (x == 0)
      return "new";
    std::string text = changeText(x, y);
    return preferred == Preference::None
               ? text
               : inked(style, (y < x) == (preferred == Preference::Lower) ? Ink::Green : Ink::Red, text);
  }

  void figures() {
    TextTable table("lrrr", {"", "before", "after", "change"});
    for (const WordDifference &word : d.words)
      if (word.key != "degrees") // too long for a column; the causes have them
        table.row({word.label, word.before, word.after, word.before == word.after ? same() : "changed"});
    for (const FigureDifference &one : d.figures)
      table.row({one.label, valueText(one.before, one.unit), valueText(one.after, one.unit),
                 one.key == "gap" ? std::fabs(one.before - one.after) < 1e-6 ? same() : "changed"
                                  : change(one.before, one.after, one.preferred)});
    out += table.text(style);
  }

  void operations() {
    if (d.operations.empty()) {
      out += "\nevery operation takes as long as before\n";
      return;
    }
    TextTable table("lrrrl", {"operation", "before", "after", "change", "bound"});
    constexpr size_t kRows = 20;
    const std::string arrow = style.unicode ? " → " : " -> ";
    for (size_t i = 0; i < d.operations.size() && i < kRows; ++i) {
      const OperationDifference &one = d.operations[i];
      std::string bound = !one.after                                         ? one.boundBefore
                          : !one.before || one.boundBefore == one.boundAfter ? one.boundAfter
                                                                             : one.boundBefore + arrow + one.boundAfter;
      table.row({one.name, one.before ? formatSi(*one.before, "s") : same(),
                 one.after ? formatSi(*one.after, "s") : same(),
                 one.after ? change(one.before.value_or(0), *one.after, Preference::Lower) : "removed", bound});
    }
    out += "\n" + table.text(style);
    if (d.operations.size() > kRows)
      out += fmt::format("and {} more operations\n", d.operations.size() - kRows);
  }

  void stages() {
    if (d.stages.empty())
      return;
    TextTable table("lrrrr", {"stage", "forward", "backward", "memory", "bubble"});
    const std::string arrow = style.unicode ? " → " : " -> ";
    auto both = [&](const StageDifference &one, auto text) {
      std::string x = one.before ? text(*one.before) : same(), y = one.after ? text(*one.after) : same();
      return x == y ? x : x + arrow + y;
    };
    constexpr size_t kRows = 16;
    for (size_t i = 0; i < d.stages.size() && i < kRows; ++i) {
      const StageDifference &one = d.stages[i];
      table.row({std::to_string(one.stage), both(one, [](const StageSide &s) { return formatSi(s.forward, "s"); }),
                 both(one, [](const StageSide &s) { return formatSi(s.backward, "s"); }),
                 both(one, [](const StageSide &s) { return formatBytes(s.memory); }),
                 both(one, [](const StageSide &s) { return fmt::format("{:.3g} %", s.bubble * 100); })});
    }
    out += "\n" + table.text(style);
    if (d.stages.size() > kRows)
      out += fmt::format("and {} more stages\n", d.stages.size() - kRows);
  }

  const PlanDifference &d;
  const TextStyle &style;
  std::string out;
};

void describeSide(JsonFields &f, DifferenceSide &side) {
  f.about("folder or plan.json, as on the command line").field("plan", side.folder);
  f.field("model", side.model).about("machine or cluster").field("machine", side.machine).field("status", side.status);
}

void describeStageSide(JsonFields &f, StageSide &side) {
  f.field("layers", side.layers).field("devices", side.devices);
  f.about("of a micro-batch")
      .field("forward_s", side.forward)
      .about("of a micro-batch")
      .field("backward_s", side.backward);
  f.about("at the peak of a device").field("memory_bytes", side.memory);
  f.about("of the step").field("bubble", side.bubble, kShare);
}

void describePart(JsonFields &f, PartDifference &part) {
  f.field("part", part.name).field("before", part.before, kAnyNumber).field("after", part.after, kAnyNumber);
}

} // namespace

std::string differenceText(const PlanDifference &difference, const TextStyle &style) {
  return Text(difference, style).run();
}

void describeDifference(JsonFields &f, PlanDifference &d) {
  f.about("of plans for clusters, not for one device").field("cluster", d.cluster);
  f.field("before", d.before, describeSide).field("after", d.after, describeSide);
  std::map<std::string, FigureDifference> figures;
  for (const FigureDifference &one : d.figures)
    figures[one.key] = one;
  f.about("by name: step_time_s, throughput, memory_bytes, energy_J, price, …")
      .field("figures", figures, [](JsonFields &g, FigureDifference &one) {
        g.about("in words").field("label", one.label);
        g.about("s, B, J, USD, samples/s; 1: a share; empty: a number of something").field("unit", one.unit);
        g.field("before", one.before, kAnyNumber).field("after", one.after, kAnyNumber);
        std::optional<double> change = one.change();
        g.about("after / before - 1; null where before is 0").field("change", change, kAnyNumber);
      });
  std::map<std::string, WordDifference> words;
  for (const WordDifference &one : d.words)
    words[one.key] = one;
  f.about("by name: schedule, degrees, …").field("words", words, [](JsonFields &g, WordDifference &one) {
    g.field("label", one.label).field("before", one.before).field("after", one.after);
  });
  f.about("seconds that add up to the step: of the longest path by phase; on a cluster of the mean over all devices")
      .field("step", d.step, describePart);
  f.about("joules that add up to the energy of a step, where it is known by parts")
      .maybe("energy", d.energy, describePart);
  f.about("why: sentences, first about the step").field("causes", d.causes);
  f.about("of one device: whose time or bound differs, the largest change first; null where a plan has it not")
      .maybe("operations", d.operations, [](JsonFields &g, OperationDifference &one) {
        g.field("name", one.name).field("before_s", one.before).field("after_s", one.after);
        g.field("bound_before", one.boundBefore).field("bound_after", one.boundAfter);
      });
  f.about("of a cluster; null where a plan has fewer")
      .maybe("stages", d.stages, [](JsonFields &g, StageDifference &one) {
        g.field("stage", one.stage)
            .field("before", one.before, describeStageSide)
            .field("after", one.after, describeStageSide);
      });
}

std::string toReport(const PlanDifference &difference, const DifferenceLinks &links) {
  llvm::json::Value data = toDocument(difference, describeDifference);
  std::string document = jsonText(data) + "\n";
  data.getAsObject()->try_emplace("version", kVersion);
  data.getAsObject()->try_emplace("links", llvm::json::Object{{"before", links.before}, {"after", links.after}});
  return pageOf(Page::Difference,
                difference.before.model + " on " + difference.before.machine + " and on " + difference.after.machine,
                document, data);
}

} // namespace accord
