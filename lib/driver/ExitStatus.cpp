#include "lib/driver/ExitStatus.h"
#include "lib/support/CommandHost.h"
#include "lib/support/ReportedDiagnostic.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/raw_ostream.h"

namespace accord {
namespace {

ReportedPlace placeOf(const SourceManager &sources, SourceRange range) {
  if (!range.valid())
    return {};
  Position begin = sources.position(range), end = sources.position(range.file, range.end);
  return {sources.path(range.file).str(), begin.line, begin.column, end.line, end.column};
}

std::vector<ReportedDiagnostic> reportedOf(const Diagnostics &diags) {
  std::vector<ReportedDiagnostic> all;
  for (const Diagnostic &one : diags.sorted()) {
    ReportedDiagnostic &out = all.emplace_back();
    out.isError = one.severity == Severity::Error;
    out.code = numberOf(one.code);
    out.message = one.message;
    out.place = placeOf(diags.sources(), one.range);
    out.help = one.help;
    for (const Note &note : one.notes)
      out.notes.push_back({note.message, placeOf(diags.sources(), note.range)});
  }
  return all;
}

void describePlace(JsonFields &f, ReportedPlace &place) {
  bool known = !place.file.empty();
  f.maybeIf(known, "file", place.file)
      .maybeIf(known, "line", place.line)
      .maybeIf(known, "column", place.column)
      .maybeIf(known, "end_line", place.endLine)
      .maybeIf(known, "end_column", place.endColumn);
}

void describe(JsonFields &f, const Diagnostics &diags) {
  auto describeNote = [&](JsonFields &g, ReportedNote &note) {
    g.field("message", note.message);
    describePlace(g, note.place);
  };
  auto describeSeverity = [](JsonVisitor &v, bool &isError) {
    Severity severity = isError ? Severity::Error : Severity::Warning;
    v.oneOf(severity, {"error", "warning"}, "");
    isError = severity == Severity::Error;
  };
  auto describeOne = [&](JsonFields &g, ReportedDiagnostic &d) {
    g.field("severity", d.isError, describeSeverity)
        .about("explained by accord explain", {{"pattern", "^A[0-9]{4}$"}})
        .field("code", d.code)
        .field("message", d.message);
    describePlace(g, d.place);
    g.about("what to do about it").maybe("help", d.help).field("notes", d.notes, describeNote);
  };
  f.about("", {{"minItems", 1}}).computed("diagnostics", [&] { return reportedOf(diags); }, describeOne);
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

void printDiagnostics(const Diagnostics &diags) {
  diags.render(standardError(), standardError().has_colors());
  if (currentHost())
    for (ReportedDiagnostic &one : reportedOf(diags))
      reportToHost(std::move(one));
}

int finish(const Diagnostics &diags, int status, bool json, llvm::StringRef command) {
  printDiagnostics(diags);
  if (json && diags.hasErrors())
    standardOutput() << jsonText(errorDocument(diags, command)) << "\n";
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

int finishUnanswered(llvm::StringRef command, const std::string &reason, bool json) {
  std::string told = reason;
  standardError() << "accord: stopped (" << reason
                  << ") before there was a first answer: the status is unknown, and nothing is written\n";
  if (json)
    standardOutput() << jsonText(writeJson([&](JsonVisitor &v) { describeUnknown(v, told, command); })) << "\n";
  return kUnknown;
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
