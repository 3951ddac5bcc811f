#include "lib/driver/ExitStatus.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace accord {
namespace {

void describePlace(JsonFields &f, const SourceManager &sources, SourceRange range) {
  bool known = range.valid();
  Position begin = known ? sources.position(range) : Position();
  Position end = known ? sources.position(range.file, range.end) : Position();
  f.computedIf(known, "file", [&] { return sources.path(range.file).str(); })
      .computedIf(known, "line", [&] { return begin.line; })
      .computedIf(known, "column", [&] { return begin.column; })
      .computedIf(known, "end_line", [&] { return end.line; })
      .computedIf(known, "end_column", [&] { return end.column; });
}

void describe(JsonFields &f, const Diagnostics &diags) {
  auto describeNote = [&](JsonFields &g, Note &note) {
    g.field("message", note.message);
    describePlace(g, diags.sources(), note.range);
  };
  auto describeOne = [&](JsonFields &g, Diagnostic &d) {
    g.field("severity", d.severity, [](JsonVisitor &v, Severity &s) { v.oneOf(s, {"error", "warning"}, ""); })
        .about("explained by accord explain", {{"pattern", "^A[0-9]{4}$"}})
        .computed("code", [&] { return numberOf(d.code); })
        .field("message", d.message);
    describePlace(g, diags.sources(), d.range);
    g.about("what to do about it").maybe("help", d.help).field("notes", d.notes, describeNote);
  };
  f.about("", {{"minItems", 1}}).computed("diagnostics", [&] { return diags.sorted(); }, describeOne);
}

void describeErrors(JsonVisitor &v, const Diagnostics &diags, llvm::StringRef command) {
  v.object([&](JsonFields &f) {
    f.head(command, "error", {"error"});
    describe(f, diags);
  });
}

} // namespace

int exitOf(SearchStatus status) {
  static constexpr int kExits[] = {kDone, kDone, kInfeasible, kUnknown};
  return kExits[static_cast<size_t>(status)];
}

int finish(const Diagnostics &diags, int status, bool json, llvm::StringRef command) {
  diags.render(llvm::errs(), llvm::errs().has_colors());
  if (json && diags.hasErrors())
    llvm::outs() << jsonText(errorDocument(diags, command)) << "\n";
  return !diags.hasErrors() || status == kInternal ? status : kWrongInput;
}

int refuse(Code code, const std::string &message, bool json, llvm::StringRef command, llvm::StringRef suggestion) {
  SourceManager sources;
  Diagnostics diags(sources);
  diags.error(code, {}, message).suggest(suggestion);
  return finish(diags, kWrongInput, json, command);
}

std::nullopt_t refused(Code code, const std::string &message, bool json, llvm::StringRef command) {
  refuse(code, message, json, command);
  return std::nullopt;
}

namespace {
void describeUnknown(JsonVisitor &v, std::string &reason, llvm::StringRef command) {
  v.object([&](JsonFields &f) {
    f.head(command, "unknown", {"unknown"}).field("stopped", reason, Words{{"time limit", "interrupted"}});
  });
}
} // namespace

void endUnanswered(llvm::StringRef command, const std::string &reason, bool json) {
  std::string told = reason;
  llvm::errs() << "accord: stopped (" << reason
               << ") before there was a first answer: the status is unknown, and nothing is written\n";
  if (json)
    llvm::outs() << jsonText(writeJson([&](JsonVisitor &v) { describeUnknown(v, told, command); })) << "\n";
  llvm::outs().flush();
  std::_Exit(kUnknown);
}

llvm::json::Value unknownSchema() {
  std::string none;
  return describeJson([&](JsonVisitor &v) { describeUnknown(v, none, ""); });
}

llvm::json::Value errorDocument(const Diagnostics &diags, llvm::StringRef command) {
  return writeJson([&](JsonVisitor &v) { describeErrors(v, diags, command); });
}

llvm::json::Value diagnosticsSchema() {
  SourceManager sources;
  Diagnostics none(sources);
  return describeJson([&](JsonVisitor &v) { describeErrors(v, none, ""); });
}

} // namespace accord
