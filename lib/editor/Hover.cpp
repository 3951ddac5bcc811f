#include "lib/editor/Hover.h"
#include "lib/editor/Blocks.h"
#include "lib/editor/Describe.h"
#include "lib/language/requests/RequestKeys.h"
#include "lib/placement/problem/Objective.h"
#include "lib/support/ErrorCodes.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::editor {
namespace {

std::string code(const std::string &text) { return "```accord\n" + text + "\n```\n"; }

class Explainer {
public:
  Explainer(Snapshot &snapshot, uint32_t offset)
      : snapshot(snapshot), unit(*snapshot.main()), file(*unit.file), offset(offset), text(snapshot.text()),
        place(around(text, offset)), word(text.slice(place.begin, place.end)) {}

  Explanation explain() {
    SourceRange range{file.id, place.begin, place.end};
    if (place.inComment)
      return {range, ""};
    if (place.inText)
      return {range, importText()};
    const Occurrence *name = nameAt(snapshot.namesOf(unit), offset);
    std::string markdown;
    if (name && name->target.valid())
      markdown = ofName(*name);
    if (markdown.empty())
      markdown = ofWord();
    if (markdown.empty())
      markdown = ofNumber(range);
    return {name && name->range.begin == place.begin ? name->range : range, markdown};
  }

private:
  std::string importText() const {
    for (const auto &[import, imported] : unit.imports)
      if (import->pathRange.begin <= offset && offset <= import->pathRange.end) {
        std::string names;
        for (const auto &[name, declaration] : imported->names)
          names += fmt::format("{}{} `{}`", names.empty() ? "" : ", ", ast::spelling(declaration->kind).str(), name);
        return fmt::format("`{}` declares {}", import->path, names.empty() ? "nothing" : names);
      }
    return "";
  }

  std::string ofName(const Occurrence &name) {
    const ast::Declaration *declaration = name.declaration;
    if (name.kind == NameKind::Declaration && declaration)
      return ofDeclaration(*declaration);
    if (name.kind == NameKind::Parameter)
      return ofParameter(name);
    if (name.kind == NameKind::Layer)
      return "name of the layers in plans: operations are called `model." + word.str() + ".…`\n";
    // Values and parts: the entry or statement that declares them.
    SourceRange line = lineOf(name.target);
    std::string shown = code(snapshot.sources().text(line).trim().str());
    const Sources::Unit *home = snapshot.unitOf(name.target.file);
    if (const ast::Entry *entry = home ? entryOf(*home->file, name.target) : nullptr; entry && !entry->doc.empty())
      shown += "\n" + entry->doc + "\n";
    return shown + where(name.target);
  }

  std::string ofDeclaration(const ast::Declaration &declaration) {
    std::string shown = code(headOf(snapshot, declaration));
    if (!declaration.doc.empty())
      shown += "\n" + declaration.doc + "\n";
    const Sources::Unit *home = snapshot.unitOf(declaration.range.file);
    if (declaration.kind == ast::DeclarationKind::Constant && declaration.value && home)
      if (auto value = snapshot.valueOf(*declaration.value, *home))
        shown += fmt::format("\n= **{}**\n", textOf(*value));
    return shown + where(declaration.name.range);
  }

  std::string ofParameter(const Occurrence &name) {
    const Sources::Unit *home = snapshot.unitOf(name.target.file);
    for (const ast::Declaration &one : home->file->declarations)
      for (const ast::Parameter &parameter : one.parameters)
        if (parameter.name.range == name.target) {
          std::string value = parameter.defaultValue
                                  ? " = " + snapshot.sources().text(parameter.defaultValue->range).str()
                                  : std::string();
          return code(parameter.name.text + value) + fmt::format("\nparameter of {} `{}`{}\n",
                                                                 ast::spelling(one.kind).str(), one.name.text,
                                                                 value.empty() ? ", without a default" : "");
        }
    return "";
  }

  static std::string textOf(const Constant &value) {
    if (auto *number = value.as<Quantity>())
      return number->print();
    if (auto *truth = value.as<bool>())
      return *truth ? "true" : "false";
    return value.describe();
  }

  std::string ofWord() {
    if (word.empty())
      return "";
    Block block = blockAt(place);
    std::string text = ofKey(block);
    if (text.empty())
      if (const OperationSpec *operation = findOperation(word);
          operation && (block.kind == Block::Kind::Body || followedBy('(')))
        text = ofOperation(*operation);
    if (text.empty())
      text = ofAttribute();
    if (text.empty())
      text = ofObjective();
    if (text.empty() && block.kind == Block::Kind::Machine)
      text = ofBlock();
    if (text.empty())
      text = paragraph(functionAbout(word));
    if (text.empty())
      text = paragraph(keywordAbout(word));
    return text;
  }
  std::string paragraph(const std::string &about) const {
    return about.empty() ? "" : fmt::format("**{}**: {}\n", word.str(), about);
  }
  bool followedBy(char c) const { return text.drop_front(place.end).ltrim(" \t").starts_with(llvm::StringRef(&c, 1)); }

  /// A key is the first word of its entry.
  std::string ofKey(const Block &block) const {
    if (!llvm::StringRef(place.before).trim().empty())
      return "";
    if (block.kind == Block::Kind::Machine && block.schema)
      if (const accel::KeySchema *key = block.schema->findKey(word))
        return fmt::format("**{}** of {}: {}\n\n{}\n", word.str(), accel::describe(*block.schema),
                           key->documentation.str(), describeKey(*key));
    if (block.kind == Block::Kind::Request)
      for (const RequestKey &key : requestKeysOf(block.word))
        if (key.name == word) {
          std::string words;
          for (const std::string &one : key.words)
            words += fmt::format("{}`{}`", words.empty() ? "\n\n" : ", ", one);
          return fmt::format("**{}** of `{}`: {}{}\n", key.name, block.word, key.documentation, words);
        }
    return "";
  }

  std::string ofOperation(const OperationSpec &operation) const {
    std::string shown = code(signatureOf(operation)) + "\n" + operationAbout(operation) + "\n";
    for (const AttributeSpec &attribute : operation.attributes)
      shown += fmt::format("\n- `{}`: {}", attribute.name.str(), describeAttribute(attribute));
    return shown + "\n";
  }

  std::string ofAttribute() const {
    if (place.open.empty() || place.open.back().bracket != '(' || !followedBy('='))
      return "";
    std::vector<llvm::StringRef> head = piecesOf(place.open.back().head);
    const OperationSpec *operation = head.empty() ? nullptr : findOperation(head.back());
    const AttributeSpec *attribute = operation ? operation->findAttribute(word) : nullptr;
    if (!attribute)
      return "";
    return fmt::format("**{}** of `{}`: {}\n", word.str(), operation->name.str(), describeAttribute(*attribute));
  }

  std::string ofObjective() const {
    llvm::StringRef before = llvm::StringRef(place.before).trim();
    if (before == "minimize")
      if (const ObjectiveFormula *formula = findMinimized(word))
        return paragraph(formula->label);
    return before == "maximize" && word == "throughput" ? paragraph("samples per second") : "";
  }

  /// `memory`, or `dram` behind the colon.
  std::string ofBlock() const {
    for (const accel::BlockSchema &schema : accel::allSchemas())
      if (schema.subtype == word && llvm::StringRef(place.before).trim().starts_with(schema.kind))
        return fmt::format("**{}**: {}\n", accel::describe(schema), schema.documentation.str());
    const accel::BlockSchema *schema = accel::findSchema(word);
    return schema ? fmt::format("**{}**: {}\n", word.str(), schema->documentation.str()) : "";
  }

  /// A number with its unit in base units: 900 GB/s.
  std::string ofNumber(SourceRange &range) const {
    for (const ast::Layout::Token &token : file.layout.tokens)
      if (token.kind == ast::Layout::Kind::Number && token.range.begin <= offset && offset <= token.range.end) {
        llvm::StringRef written = snapshot.sources().text(token.range);
        auto quantity = parseQuantity(written);
        if (!quantity)
          return "";
        range = token.range;
        return fmt::format("**{}**: {}\n", quantity->print(),
                           quantity->dimensionless() ? "a plain number" : describe(quantity->dimension));
      }
    return "";
  }

  SourceRange lineOf(SourceRange range) const {
    uint32_t start = 0;
    llvm::StringRef line = snapshot.sources().line(range.file, range.begin, &start);
    return {range.file, start, start + static_cast<uint32_t>(line.size())};
  }

  static const ast::Entry *entryOf(llvm::ArrayRef<ast::Entry> entries, SourceRange at) {
    for (const ast::Entry &entry : entries)
      if (auto *node = entry.as<ast::Node>()) {
        if (node->name.range == at)
          return &entry;
        if (const ast::Entry *inner = entryOf(node->entries, at))
          return inner;
      }
    return nullptr;
  }
  static const ast::Entry *entryOf(const ast::File &file, SourceRange at) {
    for (const ast::Declaration &declaration : file.declarations)
      if (const ast::Entry *found = entryOf(declaration.entries, at))
        return found;
    return nullptr;
  }

  std::string where(SourceRange range) const {
    if (range.file == file.id)
      return "";
    return fmt::format("\n{}:{}\n", snapshot.sources().path(range.file).str(), snapshot.sources().position(range).line);
  }

  Snapshot &snapshot;
  const Sources::Unit &unit;
  const ast::File &file;
  uint32_t offset;
  llvm::StringRef text;
  Around place;
  llvm::StringRef word;
};

bool holds(const Finding &finding, EditorPosition at) { return finding.at.begin <= at && at <= finding.at.end; }

} // namespace

std::string headOf(const Snapshot &snapshot, const ast::Declaration &declaration) {
  llvm::StringRef written = snapshot.sources().text(declaration.range);
  if (declaration.kind == ast::DeclarationKind::Constant)
    return written.trim().str();
  int depth = 0;
  for (size_t i = 0; i < written.size(); ++i) {
    depth += written[i] == '(' || written[i] == '[' ? 1 : written[i] == ')' || written[i] == ']' ? -1 : 0;
    if (written[i] == '{' && depth <= 0)
      return written.take_front(i).trim().str();
  }
  return written.trim().str();
}

Explanation explainAt(Snapshot &snapshot, uint32_t offset, llvm::ArrayRef<Finding> findings) {
  if (!snapshot.main())
    return {};
  Explanation result = Explainer(snapshot, offset).explain();
  EditorPosition at = snapshot.lines(snapshot.tree()->id).position(offset);
  for (const Finding &finding : findings)
    if (const ErrorEntry *entry = holds(finding, at) ? findError(finding.code) : nullptr)
      result.markdown += fmt::format("{}**{}**: {}\n\n{}\n", result.markdown.empty() ? "" : "\n---\n", finding.code,
                                     entry->title.str(), entry->explanation.str());
  return result;
}

} // namespace accord::editor
