// What the server answers about a document: each request is a call of lib/editor and its conversion.
#include "lib/editor/Actions.h"
#include "lib/editor/Complete.h"
#include "lib/editor/Hints.h"
#include "lib/editor/Hover.h"
#include "lib/editor/Outline.h"
#include "lib/editor/References.h"
#include "lib/editor/Structure.h"
#include "tools/accord-lsp/Convert.h"
#include "tools/accord-lsp/Planner.h"
#include "tools/accord-lsp/Server.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

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

void write(json::OStream &out, llvm::StringRef key, const LineTable &lines, uint32_t begin, uint32_t end) {
  auto position = [&](llvm::StringRef name, EditorPosition at) {
    out.attributeObject(name, [&] {
      out.attribute("line", at.line);
      out.attribute("character", at.column);
    });
  };
  out.attributeObject(key, [&] {
    position("start", lines.position(begin));
    position("end", lines.position(end));
  });
}

void write(json::OStream &out, const LineTable &lines, const Symbol &symbol) {
  // A file that is being written may have a name that ends behind its declaration.
  uint32_t begin = std::min(symbol.range.begin, symbol.nameRange.begin),
           end = std::max(symbol.range.end, symbol.nameRange.end);
  out.object([&] {
    out.attribute("name", symbol.name);
    out.attribute("detail", symbol.detail);
    out.attribute("kind", symbolKindOf(symbol));
    write(out, "range", lines, begin, end);
    write(out, "selectionRange", lines, symbol.nameRange.begin, symbol.nameRange.end);
    out.attributeArray("children", [&] {
      for (const Symbol &part : symbol.parts)
        write(out, lines, part);
    });
  });
}

/// An array, written item by item.
template <class Function> JsonText arrayText(Function items) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  out.array([&] { items(out); });
  return JsonText::of(std::move(text));
}

/// Tokens as the protocol writes them: five numbers each, places as differences to the one before.
std::vector<uint32_t> encodedTokens(Snapshot &snapshot, const LineTable &lines) {
  std::vector<uint32_t> data;
  std::vector<ColouredToken> tokens = tokensOf(snapshot);
  data.reserve(5 * tokens.size());
  EditorPosition last;
  for (const ColouredToken &one : tokens) {
    EditorPosition begin = lines.position(one.range.begin), end = lines.position(one.range.end);
    if (begin.line != end.line)
      continue;
    uint32_t column = begin.line == last.line ? begin.column - last.column : begin.column;
    data.insert(data.end(), {begin.line - last.line, column, end.column - begin.column, static_cast<uint32_t>(one.kind),
                             one.isDeclaration ? 1u : 0u});
    last = begin;
  }
  return data;
}

std::string numbersText(llvm::ArrayRef<uint32_t> numbers) { return fmt::format("[{}]", fmt::join(numbers, ",")); }

json::Array toJson(llvm::ArrayRef<FilePlace> places) {
  json::Array list;
  for (const FilePlace &one : places)
    list.push_back(toJson(one));
  return list;
}

/// As many as a person looks at.
constexpr size_t kMaxFoundSymbols = 256;

llvm::Error failed(const Error &error) {
  return llvm::make_error<llvm::lsp::LSPError>(error.message, ErrorCode::RequestFailed);
}

} // namespace

Server::Answer Server::completion(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  Snapshot &snapshot = snapshotOf(subject->path);
  llvm::StringRef text = subject->file->text;
  Proposals proposals = complete(text, subject->path, subject->offset, snapshot);
  std::string range = JsonText(toJson(*subject->lines, proposals.begin, proposals.end)).text;
  JsonText items = arrayText([&](json::OStream &out) {
    for (size_t i = 0; i < proposals.all.size(); ++i)
      write(out, proposals.all[i], i, range, text, *subject->lines, snippets);
  });
  return JsonText::of(fmt::format(R"({{"isIncomplete":false,"items":{}}})", items.text));
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
  return place ? JsonText(toJson(*place)) : JsonText(nullptr);
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

Server::Answer Server::rangeFormatting(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  auto range = rangeOf(parameters.get("range"));
  if (!range)
    return llvm::make_error<llvm::lsp::LSPError>("range is none", ErrorCode::InvalidParams);
  json::Array edits;
  for (const TextEdit &edit : formattedBetween(snapshotOf(subject->path), subject->lines->offset(range->first),
                                               subject->lines->offset(range->second)))
    edits.push_back(editOf(toJson(*subject->lines, edit.begin, edit.end), edit.text));
  return edits;
}

Server::Answer Server::documentSymbols(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  return arrayText([&](json::OStream &out) {
    for (const Symbol &one : outline(snapshotOf(subject->path)))
      write(out, *subject->lines, one);
  });
}

Server::Answer Server::workspaceSymbols(const Object &parameters) {
  std::string query = parameters.getString("query").value_or("").lower();
  json::Array list;
  std::set<std::string> told;
  for (const auto &[real, file] : open.files())
    for (const FoundSymbol &one : symbolsOf(snapshotOf(file.path), query))
      if (list.size() < kMaxFoundSymbols && told.insert(one.at.path + ":" + one.name).second)
        list.push_back(Object{{"name", one.name},
                              {"kind", symbolKindOf({one.name, "", one.kind, false, {}, {}, {}})},
                              {"location", toJson(one.at)}});
  return list;
}

Server::Answer Server::foldingRanges(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  return arrayText([&](json::OStream &out) {
    for (const Fold &one : folds(snapshotOf(subject->path)))
      out.object([&] {
        out.attribute("startLine", one.begin);
        out.attribute("endLine", one.end);
        if (one.isComment)
          out.attribute("kind", "comment");
      });
  });
}

Server::Answer Server::selectionRanges(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  const json::Array *positions = parameters.getArray("positions");
  if (!positions)
    return llvm::make_error<llvm::lsp::LSPError>("positions are none", ErrorCode::InvalidParams);
  json::Array list;
  for (const json::Value &one : *positions) {
    auto place = positionOf(&one);
    if (!place)
      return llvm::make_error<llvm::lsp::LSPError>("a position is none", ErrorCode::InvalidParams);
    json::Value nested = nullptr;
    auto parts = enclosingParts(snapshotOf(subject->path), subject->lines->offset(*place));
    for (auto [begin, end] : llvm::reverse(parts)) {
      Object object{{"range", toJson(*subject->lines, begin, end)}};
      if (nested.kind() != json::Value::Null)
        object["parent"] = std::move(nested);
      nested = std::move(object);
    }
    list.push_back(std::move(nested));
  }
  return list;
}

Server::Answer Server::signatureHelp(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  auto found = signatureAt(subject->file->text, subject->offset, snapshotOf(subject->path));
  if (!found)
    return nullptr;
  json::Array labels;
  for (auto [begin, end] : found->parameters) { // in units of UTF-16
    LineTable table(found->label);
    labels.push_back(Object{{"label", json::Array{table.position(begin).column, table.position(end).column}}});
  }
  Object signature{{"label", found->label}, {"parameters", std::move(labels)}};
  if (!found->documentation.empty())
    signature["documentation"] = toMarkdown(found->documentation);
  auto active = static_cast<int64_t>(std::min(found->active, found->parameters.size()));
  return Object{{"signatures", json::Array{std::move(signature)}}, {"activeSignature", 0}, {"activeParameter", active}};
}

Server::Answer Server::semanticTokens(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  SentTokens &sent = sentTokens[subject->path];
  sent.data = encodedTokens(snapshotOf(subject->path), *subject->lines);
  sent.id = std::to_string(++numTokenAnswers);
  return JsonText::of(fmt::format(R"({{"resultId":"{}","data":{}}})", sent.id, numbersText(sent.data)));
}

Server::Answer Server::semanticTokenChanges(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  SentTokens &sent = sentTokens[subject->path];
  if (sent.id.empty() || parameters.getString("previousResultId") != sent.id)
    return semanticTokens(parameters); // all of them
  std::vector<uint32_t> data = encodedTokens(snapshotOf(subject->path), *subject->lines);
  size_t limit = std::min(data.size(), sent.data.size());
  size_t front = std::mismatch(data.begin(), data.begin() + limit, sent.data.begin()).first - data.begin();
  size_t back = std::mismatch(data.rbegin(), data.rbegin() + (limit - front), sent.data.rbegin()).first - data.rbegin();
  size_t removed = sent.data.size() - front - back;
  llvm::ArrayRef<uint32_t> added(data.data() + front, data.size() - front - back);
  std::string edits = "[]";
  if (removed > 0 || !added.empty())
    edits = fmt::format(R"([{{"start":{},"deleteCount":{},"data":{}}}])", front, removed, numbersText(added));
  std::string id = std::to_string(++numTokenAnswers);
  std::string text = fmt::format(R"({{"resultId":"{}","edits":{}}})", id, edits);
  sent = {std::move(id), std::move(data)};
  return JsonText::of(std::move(text));
}

Server::Answer Server::semanticTokensOfRange(const Object &parameters) {
  auto subject = subjectOf(parameters, false);
  if (!subject)
    return subject.takeError();
  auto range = rangeOf(parameters.get("range"));
  if (!range)
    return llvm::make_error<llvm::lsp::LSPError>("range is none", ErrorCode::InvalidParams);
  std::vector<uint32_t> all = encodedTokens(snapshotOf(subject->path), *subject->lines), data;
  EditorPosition at, last;
  for (size_t i = 0; i + 5 <= all.size(); i += 5) {
    at = {at.line + all[i], all[i] == 0 ? at.column + all[i + 1] : all[i + 1]};
    if (range->second <= at || EditorPosition{at.line, at.column + all[i + 2]} <= range->first)
      continue;
    uint32_t column = at.line == last.line ? at.column - last.column : at.column;
    data.insert(data.end(), {at.line - last.line, column, all[i + 2], all[i + 3], all[i + 4]});
    last = at;
  }
  return JsonText::of(fmt::format(R"({{"data":{}}})", numbersText(data)));
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
  background->derive(open, subject->path, range, [shared, range](std::optional<std::vector<Hint>> found) {
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
