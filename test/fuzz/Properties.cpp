#include "test/fuzz/Properties.h"
#include "lib/emit/JsonText.h"
#include "lib/emit/PlanJson.h"
#include "lib/emit/Summary.h"
#include "lib/syntax/Parser.h"
#include "lib/verify/Verify.h"

namespace accord::fuzz {

namespace {

struct Parsed {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;

  explicit Parsed(const Program &program) {
    FileId id = sources.add(std::string("fuzz") + extension(program.kind), program.text);
    file = parse(diags, id);
  }
};

/// The first diagnostic without a message or with a place that is not there.
std::string badDiagnostic(const Parsed &parsed) {
  for (const Diagnostic &diagnostic : parsed.diags.sorted()) {
    if (diagnostic.message.empty())
      return "a diagnostic has no message";
    const SourceRange &range = diagnostic.range;
    if (!range.valid())
      return "'" + diagnostic.message + "' has no place";
    size_t size = parsed.sources.text(range.file).size();
    if (range.begin > range.end || range.end > size)
      return "'" + diagnostic.message + "' lies outside the text";
  }
  return {};
}

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
    verdict.broken = badDiagnostic(once);
  if (verdict.broken.empty() && Parsed(program).diags.text() != once.diags.text())
    verdict.broken = "the same text gives other messages the second time";
  return verdict;
}

} // namespace accord::fuzz
