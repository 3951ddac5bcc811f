// What the server answers about a document: each request is a call of lib/editor and its conversion.
#include "lib/editor/Actions.h"
#include "lib/editor/Complete.h"
#include "lib/editor/Hints.h"
#include "lib/editor/Hover.h"
#include "lib/editor/Outline.h"
#include "lib/editor/References.h"
#include "tools/accord-lsp/Convert.h"
#include "tools/accord-lsp/Planner.h"
#include "tools/accord-lsp/Server.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::editor {
namespace {
namespace json = llvm::json;
using llvm::lsp::ErrorCode;

/// SymbolKind.
int symbolKindOf(const Symbol &symbol) {
  using enum ast::DeclarationKind;
  if (symbol.isPart)
    return 8; // a field
  switch (symbol.kind) {
  case Constant:
    return 14;
  case Accelerator:
  case Cluster:
  case Microarchitecture:
  case Framework:
    return 23; // a struct
  case Operation:
  case Module:
    return 12; // a function
  case Model:
    return 5; // a class
  default:
    return 24; // an event: a training, jobs
  }
}

json::Value toJson(const LineTable &lines, const Symbol &symbol) {
  json::Array children;
  for (const Symbol &part : symbol.parts)
    children.push_back(toJson(lines, part));
  // A file that is being written may have a name that ends behind its declaration.
  uint32_t begin = std::min(symbol.range.begin, symbol.nameRange.begin),
           end = std::max(symbol.range.end, symbol.nameRange.end);
  return json::Object{{"name", symbol.name},
                      {"detail", symbol.detail},
                      {"kind", symbolKindOf(symbol)},
                      {"range", toJson(lines, begin, end)},
                      {"selectionRange", toJson(lines, symbol.nameRange.begin, symbol.nameRange.end)},
                      {"children", std::move(children)}};
}

json::Array toJson(llvm::ArrayRef<FilePlace> places) {
  json::Array list;
  for (const FilePlace &one : places)
    list.push_back(toJson(one));
  return list;
}

llvm::Error failed(const Error &error) {
  return llvm::make_error<llvm::lsp::LSPError>(error.message, ErrorCode::RequestFailed);
}

} // namespace

Server::Answer Server::completion(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  // Names of the last moment at which the file was read are good enough while a word is typed.
  Snapshot *last = lastSnapshotOf(subject->path);
  Snapshot &snapshot = last ? *last : snapshotOf(subject->path);
  llvm::StringRef text = subject->file->text;
  Proposals proposals = complete(text, subject->path, subject->offset, snapshot);
  json::Value range = toJson(*subject->lines, proposals.begin, proposals.end);
  json::Array items;
  for (const Proposal &one : proposals.all)
    items.push_back(toJson(one, items.size(), range, text, *subject->lines, snippets));
  return Object{{"isIncomplete", false}, {"items", std::move(items)}};
}

Server::Answer Server::hover(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  Explanation explained = explainAt(snapshotOf(subject->path), subject->offset, findingsOf(subject->path));
  if (explained.markdown.empty())
    return nullptr;
  Object answer{{"contents", toMarkdown(explained.markdown)}};
  if (explained.range.end > explained.range.begin)
    answer["range"] = toJson(*subject->lines, explained.range.begin, explained.range.end);
  return answer;
}

Server::Answer Server::definition(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  auto place = definitionAt(snapshotOf(subject->path), subject->offset);
  return place ? toJson(*place) : json::Value(nullptr);
}

std::vector<std::string> Server::otherPaths(const std::string &path) const {
  std::vector<std::string> others;
  for (const auto &[real, file] : open.files())
    if (file.path != path)
      others.push_back(file.path);
  return others;
}

Server::Answer Server::references(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  const Object *context = parameters.getObject("context");
  bool withDeclaration = !context || context->getBoolean("includeDeclaration").value_or(true);
  return toJson(referencesAt(
      snapshotOf(subject->path), subject->offset, otherPaths(subject->path),
      [this](const std::string &path) { return &snapshotOf(path); }, withDeclaration));
}

Server::Answer Server::highlights(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  json::Array list;
  for (const FilePlace &one :
       referencesAt(snapshotOf(subject->path), subject->offset, {}, {}, /*withDeclaration=*/true))
    if (realPathOf(one.path) == realPathOf(subject->path))
      list.push_back(Object{{"range", Object{{"start", toJson(one.begin)}, {"end", toJson(one.end)}}}});
  return list;
}

Server::Answer Server::prepareRename(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  auto range = renameableAt(snapshotOf(subject->path), subject->offset);
  if (!range)
    return failed(range.error());
  return toJson(*subject->lines, range->begin, range->end);
}

Server::Answer Server::rename(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  std::optional<llvm::StringRef> name = parameters.getString("newName");
  if (!name)
    return llvm::make_error<llvm::lsp::LSPError>("newName is none", ErrorCode::InvalidParams);
  auto places = renameAt(snapshotOf(subject->path), subject->offset, *name, otherPaths(subject->path),
                         [this](const std::string &path) { return &snapshotOf(path); });
  if (!places)
    return failed(places.error());
  Object changes;
  for (const FilePlace &one : *places) {
    json::Value &edits = changes.try_emplace(uriOfPath(one.path), json::Array()).first->second;
    edits.getAsArray()->push_back(editOf(Object{{"start", toJson(one.begin)}, {"end", toJson(one.end)}}, name->str()));
  }
  return Object{{"changes", std::move(changes)}};
}

Server::Answer Server::formatting(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  json::Array edits;
  if (auto edit = formatted(snapshotOf(subject->path)))
    edits.push_back(editOf(toJson(*subject->lines, edit->begin, edit->end), edit->text));
  return edits;
}

Server::Answer Server::documentSymbols(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  json::Array list;
  for (const Symbol &one : outline(snapshotOf(subject->path)))
    list.push_back(toJson(*subject->lines, one));
  return list;
}

Server::Answer Server::foldingRanges(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  json::Array list;
  for (const Fold &one : folds(snapshotOf(subject->path))) {
    Object fold{{"startLine", one.begin}, {"endLine", one.end}};
    if (one.isComment)
      fold["kind"] = "comment";
    list.push_back(std::move(fold));
  }
  return list;
}

Server::Answer Server::semanticTokens(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  json::Array data;
  EditorPosition last;
  for (const ColouredToken &one : tokensOf(snapshotOf(subject->path))) {
    EditorPosition begin = subject->lines->position(one.range.begin), end = subject->lines->position(one.range.end);
    if (begin.line != end.line)
      continue;
    data.push_back(begin.line - last.line);
    data.push_back(begin.line == last.line ? begin.column - last.column : begin.column);
    data.push_back(end.column - begin.column);
    data.push_back(static_cast<int>(one.kind));
    data.push_back(one.isDeclaration ? 1 : 0);
    last = begin;
  }
  return Object{{"data", std::move(data)}};
}

Server::Answer Server::codeActions(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  auto range = rangeOf(parameters.get("range"));
  if (!range)
    return llvm::make_error<llvm::lsp::LSPError>("range is none", ErrorCode::InvalidParams);
  json::Array list;
  for (const Action &one : actionsAt(snapshotOf(subject->path), subject->lines->offset(range->first),
                                     subject->lines->offset(range->second), findingsOf(subject->path))) {
    json::Array edits;
    for (const TextEdit &edit : one.edits)
      edits.push_back(editOf(toJson(*subject->lines, edit.begin, edit.end), edit.text));
    list.push_back(Object{{"title", one.title},
                          {"kind", "quickfix"},
                          {"isPreferred", one.preferred},
                          {"diagnostics", json::Array{toJson(one.finding)}},
                          {"edit", Object{{"changes", Object{{uriOfPath(subject->path), std::move(edits)}}}}}});
  }
  return list;
}

Server::Answer Server::codeLenses(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  json::Array list;
  for (const Lens &one : lenses(snapshotOf(subject->path)))
    list.push_back(Object{{"range", toJson(*subject->lines, one.at.begin, one.at.end)},
                          {"command", Object{{"title", one.title},
                                             {"command", "accord.plan"},
                                             {"arguments", json::Array{uriOfPath(subject->path), one.training}}}}});
  return list;
}

void Server::inlayHints(const Object &parameters, Reply reply) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return reply(subject.takeError());
  auto range = rangeOf(parameters.get("range"));
  auto shared = std::make_shared<Reply>(std::move(reply));
  background->derive(open, subject->path, [shared, range](std::optional<std::vector<Hint>> found) {
    if (!found)
      return (*shared)(llvm::make_error<llvm::lsp::LSPError>("the text has changed", ErrorCode::ContentModified));
    json::Array list;
    for (const Hint &one : *found)
      if (!range || (range->first <= one.at && one.at <= range->second))
        list.push_back(Object{{"position", toJson(one.at)},
                              {"label", one.text},
                              {"tooltip", toMarkdown(one.tooltip)},
                              {"paddingLeft", true}});
    (*shared)(std::move(list));
  });
}

void Server::executeCommand(const Object &parameters, Reply reply) {
  auto refuse = [&](const std::string &message) {
    reply(llvm::make_error<llvm::lsp::LSPError>(message, ErrorCode::InvalidParams));
  };
  const json::Array *arguments = parameters.getArray("arguments");
  if (parameters.getString("command") != "accord.plan")
    return refuse("the command is none of: accord.plan");
  auto uri = arguments && arguments->size() == 2 ? (*arguments)[0].getAsString() : std::nullopt,
       training = arguments && arguments->size() == 2 ? (*arguments)[1].getAsString() : std::nullopt;
  std::optional<std::string> path = uri ? pathOfUri(*uri) : std::nullopt;
  if (!path || !training)
    return refuse("accord.plan takes the URI of a file and the name of a training");
  if (const OpenFiles::File *file = open.find(*path); file && !isSaved(*file))
    return refuse("save the file first: it is planned as it is on the disk");
  auto shared = std::make_shared<Reply>(std::move(reply));
  planners.emplace_back([this, shared, path = *path, training = training->str(), id = requests.current] {
    PlanAnswer answer = planTraining(path, training, [&] { return ending || requests.isCancelled(id); });
    requests.forget(id);
    if (!answer.error.empty())
      return (*shared)(llvm::make_error<llvm::lsp::LSPError>(answer.error, ErrorCode::RequestFailed));
    {
      std::lock_guard<std::mutex> alone(findingsGuard);
      conflicts[path] = answer.conflicts;
    }
    publishFindings({path});
    (*shared)(Object{{"status", answer.status}, {"report", answer.report}, {"folder", answer.folder}});
  });
}

} // namespace accord::editor
