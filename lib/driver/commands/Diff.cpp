// accord diff: what changed between two plans, and why, in words, as a document or as a page.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/placement/output/PlacementDifference.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/raw_ostream.h"

namespace accord {
namespace {

struct DifferenceDocument {
  PlanDifference difference;
  std::string text;
};
void describeDocument(JsonFields &f, DifferenceDocument &one) {
  f.head("diff");
  describeDifference(f, one.difference);
  f.about("what the command prints without --json, without colours").field("text", one.text);
}

const DocumentEntry kDifference("diff", "accord diff --json",
                                "What changed between two plans: figures by name, parts of the step, operations or "
                                "stages, and why.",
                                [] { return schemaOf<DifferenceDocument>(describeDocument); });

std::optional<PlanDifference> read(const std::string &a, const std::string &b, bool json) {
  if (holdsPlacement(a) || holdsPlacement(b)) {
    auto before = readPlacement(a, json, "diff");
    auto after = before ? readPlacement(b, json, "diff") : std::nullopt;
    return after ? std::optional(differenceOf(*before, *after)) : std::nullopt;
  }
  auto before = readPlan(a, json, "diff");
  auto after = before ? readPlan(b, json, "diff") : std::nullopt;
  return after ? std::optional(differenceOf(*before, *after)) : std::nullopt;
}

int diffCommand(const std::string &a, const std::string &b, const std::string &html, bool json) {
  auto difference = read(a, b, json);
  if (!difference)
    return kWrongInput;
  difference->before.folder = a, difference->after.folder = b;
  if (!html.empty() &&
      !writePage(html, toReport(*difference, {reportLink(a, html), reportLink(b, html)}), json, "diff"))
    return kWrongInput;
  // A document is the same wherever it is printed; other text suits the terminal.
  std::string text = differenceText(*difference, json ? TextStyle{} : TextStyle::of(standardOutput()));
  standardOutput() << (json ? jsonText(toDocument(DifferenceDocument{*difference, text}, describeDocument)) + "\n"
                            : text);
  return kDone;
}

const CommandEntry kDiff("diff", "What changed between two plans, and why", [](Command &command) {
  auto a = Command::values<std::string>(), b = Command::values<std::string>(), html = Command::values<std::string>();
  auto json = std::make_shared<bool>(false);
  command.option("before", *a, "A folder or plan.json").required();
  command.option("after", *b, "A folder or plan.json").required();
  addPage(command, *html);
  addJson(command, *json);
  command.example("accord diff out_a100/ out_h100/ --html diff.html");
  command.action([=] { return diffCommand(*a, *b, *html, *json); });
});

} // namespace
} // namespace accord
