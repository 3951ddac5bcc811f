#include "test/fuzz/Properties.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Summary.h"
#include "lib/planning/verify/Verify.h"
#include "lib/support/documents/JsonText.h"
#include "test/fuzz/Elaboration.h"
#include "test/fuzz/Formatting.h"

namespace accord::fuzz {

namespace {

Verdict checkPlan(const Program &program) {
  Verdict verdict;
  llvm::Expected<Plan> plan = planFromJson(program.text, "fuzz.json");
  if (!plan) {
    if (llvm::toString(plan.takeError()).empty())
      verdict.broken = "a plan is refused without a word";
    return verdict;
  }
  verdict.accepted = true;
  std::string text = jsonText(toJson(*plan));
  llvm::Expected<Plan> again = planFromJson(text, "again.json");
  if (!again)
    verdict.broken = "what was written cannot be read: " + llvm::toString(again.takeError());
  else if (jsonText(toJson(*again)) != text)
    verdict.broken = "a plan changes when it is written and read again";
  verify(*plan);
  for (const Operation &operation : plan->graph.operations)
    if (llvm::Expected<std::string> words = explainOperation(*plan, operation.name, {}); !words)
      llvm::consumeError(words.takeError());
  return verdict;
}

} // namespace

Verdict check(const Program &program) {
  if (program.kind == Kind::Plan)
    return checkPlan(program);
  Parsed once(program);
  Verdict verdict;
  verdict.accepted = !once.diags.hasErrors();
  if (!once.file)
    verdict.broken = "parse returned no tree";
  else if (once.file->complete && once.diags.hasErrors())
    verdict.broken = "the tree is called complete in spite of errors";
  else if (!once.file->complete && !once.diags.hasErrors())
    verdict.broken = "the tree is incomplete and nothing says why";
  else
    verdict.broken = badDiagnostic(once.diags);
  if (verdict.broken.empty() && Parsed(program).diags.text() != once.diags.text())
    verdict.broken = "the same text gives other messages the second time";
  if (verdict.broken.empty() && once.file->complete)
    verdict.broken = badFormat(program, once);
  if (verdict.broken.empty())
    checkElaboration(program, verdict);
  return verdict;
}

} // namespace accord::fuzz
