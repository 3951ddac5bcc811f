#include "tools/accord-lsp/Convert.h"
#include "llvm/Support/LSP/Protocol.h"
#include <fmt/format.h>

namespace accord::editor {
namespace {
namespace json = llvm::json;

/// CompletionItemKind.
int kindOf(ProposalKind kind) {
  switch (kind) {
  case ProposalKind::Keyword:
    return 14;
  case ProposalKind::Key:
    return 10;
  case ProposalKind::Word:
    return 20;
  case ProposalKind::Operation:
  case ProposalKind::Function:
    return 3;
  case ProposalKind::Module:
    return 9;
  case ProposalKind::Model:
    return 7;
  case ProposalKind::Machine:
    return 22;
  case ProposalKind::Training:
    return 23;
  case ProposalKind::Value:
  case ProposalKind::Parameter:
    return 6;
  case ProposalKind::Unit:
    return 11;
  case ProposalKind::File:
    return 17;
  case ProposalKind::Block:
    return 15;
  }
  return 1;
}

} // namespace

std::optional<std::string> pathOfUri(llvm::StringRef uri) {
  if (!uri.starts_with("file:"))
    return std::nullopt;
  auto parsed = llvm::lsp::URIForFile::fromURI(uri);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  return parsed->file().str();
}

std::string uriOfPath(llvm::StringRef path) {
  auto uri = llvm::lsp::URIForFile::fromFile(path);
  if (!uri) {
    llvm::consumeError(uri.takeError());
    return "file://" + path.str();
  }
  return uri->uri().str();
}

std::optional<EditorPosition> positionOf(const json::Value *value) {
  const json::Object *object = value ? value->getAsObject() : nullptr;
  std::optional<int64_t> line = object ? object->getInteger("line") : std::nullopt,
                         column = object ? object->getInteger("character") : std::nullopt;
  // A column far beyond its line is the end of the line.
  if (!line || !column || *line < 0 || *column < 0)
    return std::nullopt;
  return EditorPosition{static_cast<uint32_t>(std::min<int64_t>(*line, UINT32_MAX)),
                        static_cast<uint32_t>(std::min<int64_t>(*column, UINT32_MAX))};
}

std::optional<std::pair<EditorPosition, EditorPosition>> rangeOf(const json::Value *value) {
  const json::Object *object = value ? value->getAsObject() : nullptr;
  auto begin = object ? positionOf(object->get("start")) : std::nullopt,
       end = object ? positionOf(object->get("end")) : std::nullopt;
  if (!begin || !end)
    return std::nullopt;
  return std::pair(*begin, *end);
}

std::optional<std::vector<TextChange>> changesOf(const json::Array &list) {
  std::vector<TextChange> changes;
  for (const json::Value &one : list) {
    const json::Object *object = one.getAsObject();
    std::optional<llvm::StringRef> text = object ? object->getString("text") : std::nullopt;
    const json::Value *range = object ? object->get("range") : nullptr;
    if (!text)
      return std::nullopt;
    TextChange change{rangeOf(range), text->str()};
    if (range && !change.range && range->kind() != json::Value::Null)
      return std::nullopt;
    changes.push_back(std::move(change));
  }
  return changes;
}

json::Value toJson(EditorPosition position) {
  return json::Object{{"line", position.line}, {"character", position.column}};
}

json::Value toJson(const LineTable &lines, uint32_t begin, uint32_t end) {
  return json::Object{{"start", toJson(lines.position(begin))}, {"end", toJson(lines.position(end))}};
}

json::Value toJson(const FilePlace &place) {
  return json::Object{{"uri", uriOfPath(place.path)},
                      {"range", json::Object{{"start", toJson(place.begin)}, {"end", toJson(place.end)}}}};
}

json::Value toJson(const Finding &finding) {
  json::Array notes;
  for (const auto &[place, message] : finding.notes)
    notes.push_back(json::Object{{"location", toJson(place)}, {"message", message}});
  json::Object object{{"range", json::Object{{"start", toJson(finding.at.begin)}, {"end", toJson(finding.at.end)}}},
                      {"severity", finding.isError ? 1 : 2},
                      {"code", finding.code},
                      {"source", "accord"},
                      {"message", finding.message}};
  if (!notes.empty())
    object["relatedInformation"] = std::move(notes);
  if (!finding.suggestion.empty())
    object["data"] = json::Object{{"suggestion", finding.suggestion}};
  return object;
}

json::Value toMarkdown(const std::string &text) { return json::Object{{"kind", "markdown"}, {"value", text}}; }

json::Value editOf(json::Value range, const std::string &text) {
  return json::Object{{"range", std::move(range)}, {"newText", text}};
}

void write(json::OStream &out, const Proposal &proposal, size_t order, llvm::StringRef range, llvm::StringRef text,
           const LineTable &lines, bool snippets) {
  bool isSnippet = snippets && !proposal.snippet.empty();
  out.object([&] {
    out.attribute("label", proposal.label);
    out.attribute("kind", kindOf(proposal.kind));
    out.attribute("sortText", fmt::format("{:05}", order));
    out.attributeObject("textEdit", [&] {
      out.attributeBegin("range");
      out.rawValue(range);
      out.attributeEnd();
      out.attribute("newText", isSnippet ? proposal.snippet : proposal.label);
    });
    if (isSnippet)
      out.attribute("insertTextFormat", 2);
    if (!proposal.detail.empty())
      out.attribute("detail", proposal.detail);
    if (!proposal.documentation.empty())
      out.attribute("documentation", toMarkdown(proposal.documentation));
    if (!proposal.import.empty())
      if (auto line = importOf(text, proposal.import))
        out.attribute("additionalTextEdits",
                      json::Array{editOf(toJson(lines, line->first, line->first), line->second)});
  });
}

} // namespace accord::editor
