// accord explain: where a number comes from, or what an error code means.
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

struct Explanation {
  std::string text = {};
  const Plan *plan = nullptr; ///< whose times are explained, too
};
void describeExplanation(JsonFields &f, Explanation &one) {
  f.head("explain").about("what the command prints without --json, without colours").field("text", one.text);
  f.about("of a plan: what its longest path is made of, and what would shorten the step while every order stays")
      .maybeIf(one.plan, "timing", one.plan, describeTiming);
}

const DocumentEntry kExplanation("explain", "accord explain --json",
                                 "The explanation in words, for people: of a plan, of one of its operations, of an "
                                 "error code, or of all codes (--markdown). What it is made of is in plan.json.",
                                 [] { return schemaOf<Explanation>(describeExplanation); });

int print(const std::string &text, bool json, const Plan *plan = nullptr) {
  standardOutput() << (json ? jsonText(toDocument(Explanation{text, plan}, describeExplanation)) + "\n" : text);
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
    return print(
        placementSummary(*plan, {.sequence = {}, .report = {}, .proof = true}, style) + stageTable(*plan, style), json);
  auto text = explainLayer(*plan, layer, style);
  return text ? print(*text, json)
              : refuse(Code::UnknownName, what + ": " + llvm::toString(text.takeError()), json, "explain");
}

int explainCommand(const std::string &what, const std::string &operation, bool json) {
  if (looksLikeCode(what)) {
    if (const ErrorEntry *entry = findError(what))
      return print(explain(*entry), json);
    return refuse(Code::UnknownErrorCode, fmt::format("'{}' is no error code of Accord", what), json, "explain");
  }
  if (holdsPlacement(what))
    return explainPlacement(what, operation, json);
  auto plan = readPlan(what, json, "explain");
  if (!plan)
    return kWrongInput;
  TextStyle style = styleFor(json);
  if (operation.empty())
    return print(compileSummary(*plan, {}, style) + timingText(*plan, style), json, &*plan);
  auto text = explainOperation(*plan, operation, style);
  if (text)
    return print(*text, json);
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
        return *markdown ? print(errorsMarkdown(), *json) : explainCommand(*what, *operation, *json);
      });
    });

} // namespace
} // namespace accord
