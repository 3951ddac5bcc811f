#include "test/fuzz/Properties.h"
#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/Parser.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Summary.h"
#include "lib/planning/verify/Verify.h"
#include "lib/support/documents/JsonText.h"
#include "test/fuzz/Elaboration.h"
#include <algorithm>

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

/// What a formatter may not change: the lexer's own tokens but commas, and the comments. Blanks
/// inside a token (`16 GiB`) and at the end of a comment are layout.
std::vector<std::string> essence(const Parsed &parsed) {
  std::vector<std::string> result;
  for (const ast::Layout::Token &part : parsed.file->layout.tokens) {
    std::string token = parsed.sources.text(part.range).str();
    if (token[0] != '"')
      std::erase_if(token, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
    if (token != ",")
      result.push_back(std::move(token));
  }
  for (const ast::Comment &comment : parsed.file->comments)
    result.push_back(parsed.sources.text(comment.range).rtrim().str());
  return result;
}

std::string badFormat(const Program &program, const Parsed &parsed) {
  Program once{program.name, program.kind, format(parsed.sources, *parsed.file)};
  Parsed again(once);
  if (again.diags.hasErrors())
    return "the formatted text has errors: " + again.diags.text();
  std::vector<std::string> before = essence(parsed), after = essence(again);
  if (before != after) {
    auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    return "formatting changes '" + (a == before.end() ? "" : *a) + "' to '" + (b == after.end() ? "" : *b) + "'";
  }
  size_t starts = parsed.file->layout.starts.size(), startsAgain = again.file->layout.starts.size();
  if (starts != startsAgain) // `a, b = 1` are two entries, `a b = 1` is one
    return "formatting turns " + std::to_string(starts) + " entries into " + std::to_string(startsAgain);
  if (format(again.sources, *again.file) != once.text)
    return "formatting twice gives another text than once";
  return {};
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
