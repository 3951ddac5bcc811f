// accord explain: where a number comes from, or what an error code means. accord diff: what changed
// between two plans.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/tasks/ServiceCommands.h"
#include "lib/placement/output/PlacementSummary.h"
#include "lib/planning/output/Summary.h"
#include "lib/planning/output/TimingReport.h"
#include "lib/support/CommandHost.h"
#include "lib/support/ErrorCodes.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

bool looksLikeCode(llvm::StringRef text) {
  return text.size() == 5 && (text[0] == 'A' || text[0] == 'a') && llvm::all_of(text.drop_front(), llvm::isDigit);
}

/// What both commands print.
struct Explanation {
  llvm::StringRef command;
  std::string text = {};
  const Plan *plan = nullptr; ///< whose times are explained, too
};
void describe(JsonFields &f, Explanation &one) {
  f.head(one.command).about("what the command prints without --json, without colours").field("text", one.text);
  if (one.command == "explain")
    f.about("of a plan: what its longest path is made of, and what would shorten the step while every order stays")
        .maybeIf(one.plan, "timing", one.plan, describeTiming);
}
llvm::json::Value schemaFor(llvm::StringRef command) {
  return describeJson([&](JsonVisitor &v) {
    Explanation one{command};
    visitValue(v, one);
  });
}

const DocumentEntry kExplanation("explain", "accord explain --json",
                                 "The explanation in words, for people: of a plan, of one of its operations, of an "
                                 "error code, or of all codes (--markdown). What it is made of is in plan.json.",
                                 [] { return schemaFor("explain"); });
const DocumentEntry
    kDifference("diff", "accord diff --json",
                "What changed between two plans in words, for people; the numbers are in both plan.json.",
                [] { return schemaFor("diff"); });

int print(const std::string &text, bool json, const char *command, const Plan *plan = nullptr) {
  standardOutput() << (json ? jsonText(toDocument(Explanation{command, text, plan})) + "\n" : text);
  return kDone;
}

/// A document is the same wherever it is printed; other text suits the terminal.
TextStyle styleFor(bool json) { return json ? TextStyle{} : TextStyle::of(standardOutput()); }

int explainPlacement(const std::string &what, const std::string &layer, bool json) {
  auto plan = readPlacement(what, json, "explain");
  if (!plan)
    return kWrongInput;
  TextStyle style = styleFor(json);
  if (layer.empty())
    return print(placementSummary(*plan, {.sequence = {}, .report = {}, .proof = true}, style) +
                     stageTable(*plan, style),
                 json, "explain");
  auto text = explainLayer(*plan, layer, style);
  return text ? print(*text, json, "explain")
              : refuse(Code::UnknownName, what + ": " + llvm::toString(text.takeError()), json, "explain");
}

int explainCommand(const std::string &what, const std::string &operation, bool json) {
  if (looksLikeCode(what)) {
    if (const ErrorEntry *entry = findError(what))
      return print(explain(*entry), json, "explain");
    return refuse(Code::UnknownErrorCode, fmt::format("'{}' is no error code of Accord", what), json, "explain");
  }
  if (holdsPlacement(what))
    return explainPlacement(what, operation, json);
  auto plan = readPlan(what, json, "explain");
  if (!plan)
    return kWrongInput;
  TextStyle style = styleFor(json);
  if (operation.empty())
    return print(compileSummary(*plan, {}, style) + timingText(*plan, style), json, "explain", &*plan);
  auto text = explainOperation(*plan, operation, style);
  if (text)
    return print(*text, json, "explain");
  return refuse(Code::UnknownName, what + ": " + llvm::toString(text.takeError()), json, "explain");
}

const CommandEntry
    kExplain("explain", "Why a number of a plan is what it is, or what an error code means", [](Command &command) {
      auto what = Command::values<std::string>(), operation = Command::values<std::string>();
      auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
      OptionEntry plan =
          command.option("plan", *what, "A folder that `accord compile` wrote, a plan.json, or a code such as A0104");
      command.option("operation", *operation,
                     "Name of an operation, of a cluster's plan of a layer; without one, the plan as a whole");
      command.flag("--markdown", *markdown, "Print all error codes as one Markdown page, docs/errors.md")
          .excludes(plan);
      addJson(command, *json);
      command.example("accord explain out/ gpt_logits.block.attn.linear\n"
                      "         accord explain A0104\n"
                      "         accord explain 17");
      command.action([=] {
        if (!*markdown && what->empty())
          Command::missing("plan");
        int64_t job = 0; // a number that is no file is a job of a scheduler
        if (!llvm::StringRef(*what).getAsInteger(10, job) && !llvm::sys::fs::exists(*what))
          return explainJob({}, job, *json);
        return *markdown ? print(errorsMarkdown(), *json, "explain") : explainCommand(*what, *operation, *json);
      });
    });

int diffCommand(const std::string &a, const std::string &b, bool json) {
  if (holdsPlacement(a) || holdsPlacement(b)) {
    auto before = readPlacement(a, json, "diff");
    auto after = before ? readPlacement(b, json, "diff") : std::nullopt;
    return after ? print(diffPlacements(*before, *after, styleFor(json)), json, "diff") : kWrongInput;
  }
  auto before = readPlan(a, json, "diff");
  auto after = before ? readPlan(b, json, "diff") : std::nullopt;
  return after ? print(diffPlans(*before, *after, styleFor(json)), json, "diff") : kWrongInput;
}

const CommandEntry kDiff("diff", "What changed between two plans, and why", [](Command &command) {
  auto a = Command::values<std::string>(), b = Command::values<std::string>();
  auto json = std::make_shared<bool>(false);
  command.option("before", *a, "A folder or plan.json").required();
  command.option("after", *b, "A folder or plan.json").required();
  addJson(command, *json);
  command.example("accord diff out_a100/ out_h100/");
  command.action([=] { return diffCommand(*a, *b, *json); });
});

} // namespace
} // namespace accord
