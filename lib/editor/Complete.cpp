#include "lib/editor/Complete.h"
#include "lib/editor/Blocks.h"
#include "lib/editor/Describe.h"
#include "lib/language/models/OperationTable.h"
#include "lib/language/requests/RequestKeys.h"
#include "lib/language/syntax/Parser.h"
#include "lib/placement/problem/Objective.h"
#include "lib/support/UnitTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <set>

namespace accord::editor {
namespace {
using enum ProposalKind;

/// Of the values after `key =` in a block.
struct Assigned {
  std::string key;   ///< empty: no '=' stands before the place
  bool first = true; ///< nothing of the value is written yet
};

class Completer {
public:
  Completer(llvm::StringRef text, llvm::StringRef path, uint32_t offset, Snapshot &snapshot)
      : text(text), path(path), isDnn(path.ends_with(".dnn")), snapshot(snapshot), place(around(text, offset)),
        block(blockAt(place)), pieces(piecesOf(place.before)) {}

  Proposals complete() {
    if (!place.inComment)
      propose();
    Proposals result{place.begin, place.end, {}};
    for (Proposal &one : all)
      if (llvm::StringRef(one.label).starts_with_insensitive(place.prefix) && seen.insert(one.label).second)
        result.all.push_back(std::move(one));
    return result;
  }

private:
  void propose() {
    if (place.inText)
      return files();
    if (isNumber(lastPiece()) || isNumber(place.prefix))
      return units();
    if (inCall())
      return;
    if (block.kind == Block::Kind::File)
      return atTop();
    if (pieces.empty())
      return entry();
    if (rule())
      return expression();
    switch (block.kind) {
    case Block::Kind::Machine:
      return machineValue();
    case Block::Kind::Request:
      return requestValue();
    default:
      if (assigned() || lastPiece() == "loss" || lastPiece() == "repeat" || lastPiece() == "scan")
        bodyExpression();
    }
  }

  llvm::StringRef lastPiece() const { return pieces.empty() ? "" : pieces.back(); }
  static bool isNumber(llvm::StringRef piece) { return !piece.empty() && llvm::isDigit(piece[0]); }
  bool assigned() const { return llvm::is_contained(pieces, "="); }
  bool rule() const {
    return llvm::is_contained({"require", "prefer", "maximize", "minimize"}, pieces.empty() ? "" : pieces[0]);
  }
  void add(std::string label, ProposalKind kind, std::string detail = "", std::string snippet = "") {
    all.push_back({std::move(label), kind, std::move(detail), "", std::move(snippet), ""});
  }

  // ---- Between quotes: files to import
  void files() {
    if (!llvm::StringRef(place.before).rtrim("\" \t").ends_with("import"))
      return;
    folder(snapshot.catalog(), "catalog/");
    folder(llvm::sys::path::parent_path(path), "");
  }
  void folder(llvm::StringRef where, const std::string &as) {
    std::error_code error;
    std::vector<std::string> found;
    for (llvm::sys::fs::directory_iterator file(where, error), end; !error && file != end; file.increment(error)) {
      llvm::StringRef name = llvm::sys::path::filename(file->path());
      if ((name.ends_with(".accel") || (isDnn && name.ends_with(".dnn"))) && file->path() != path)
        found.push_back(as + name.str());
    }
    llvm::sort(found);
    for (std::string &name : found)
      add(std::move(name), File);
  }

  // ---- After a number: units, of the dimension that the key asks for
  void units() {
    std::vector<Dimension> wanted = dimensionsHere();
    auto fits = [&](const Dimension &dimension) { return llvm::is_contained(wanted, dimension); };
    for (const UnitEntry &one : unitTable()) {
      if (wanted.empty() ? !one.factor.dimensionless() : fits(one.factor.dimension))
        add(one.name, Unit, describe(one.factor.dimension));
      if (!wanted.empty())
        for (const char *per : {"s", "cycle", "h", "B", "bit", "kWh"})
          if (auto *under = findUnit(per); under && fits(one.factor.dimension / under->factor.dimension))
            add(one.name + "/" + per, Unit, describe(one.factor.dimension / under->factor.dimension));
    }
  }
  std::vector<Dimension> dimensionsHere() const {
    if (block.kind != Block::Kind::Machine || !block.schema || pieces.empty())
      return {};
    const accel::KeySchema *key = block.schema->findKey(pieces[0]);
    return key ? key->dimensions : std::vector<Dimension>{};
  }

  // ---- Outside of all braces
  void atTop() {
    if (pieces.empty())
      return declarations();
    llvm::StringRef word = pieces[0], last = lastPiece();
    if (last == "on")
      return machines(word == "train" || word == "infer" || word == "jobs");
    if (last == "for" || (last == "of" && word == "ensemble"))
      return declared({ast::DeclarationKind::Train}, Training);
    if (last == "=" && (word == "train" || word == "infer"))
      return models();
    if (word == "let" && assigned())
      return expression();
    if ((word == "train" || word == "infer") && assigned())
      add("on", Keyword, "on a machine or cluster");
    if (word == "jobs" && pieces.size() == 2)
      add("on", Keyword, "on a cluster");
    if (word == "sparsity")
      add("for", Keyword, "for a training");
    if (word == "ensemble" && pieces.size() == 2)
      add("of", Keyword, "of a training");
  }
  void declarations() {
    add("import", Keyword, "use what another file declares", "import \"$0\"");
    for (const DeclarationWord &one : declarationWords())
      if (isDnn || !one.onlyDnn)
        add(one.word, Keyword, one.about, one.snippet);
  }
  void declared(llvm::ArrayRef<ast::DeclarationKind> kinds, ProposalKind kind) {
    const Sources::Unit *unit = snapshot.main();
    if (!unit)
      return;
    for (const std::string &name : snapshot.names().names(*unit, kinds)) {
      const ast::Declaration *one = snapshot.find(*unit, name);
      add(name, kind, one ? ast::spelling(one->kind).str() : "");
      if (one)
        all.back().documentation = one->doc;
    }
  }
  void machines(bool clusters) {
    declared({ast::DeclarationKind::Accelerator, ast::DeclarationKind::Cluster}, Machine);
    for (const std::string &name : snapshot.names().catalogMachines(clusters))
      add(name, Machine, "of the catalogue");
  }
  void models() {
    declared({ast::DeclarationKind::Model}, Model);
    for (const ShippedModel &one : shippedModels(snapshot.catalog())) {
      add(one.name, Model, one.about, one.name + "($0)");
      all.back().import = one.import;
    }
  }

  // ---- The beginning of an entry or statement
  void entry() {
    for (const auto &[word, snippet] : entryWords(block))
      add(word, snippet.empty() ? Keyword : Block_, "", snippet);
    if (block.kind == Block::Kind::Machine && block.schema)
      for (const accel::KeySchema &key : block.schema->keys) {
        add(key.name.str(), Key, describeKey(key), key.kind == accel::ValueKind::Block ? "" : key.name.str() + " = $0");
        all.back().documentation = key.documentation.str();
      }
    if (block.kind == Block::Kind::Request)
      for (const RequestKey &key : requestKeysOf(block.word)) {
        add(key.name, Key, "", key.isBlock ? key.name + " $0" : key.name + " = $0");
        all.back().documentation = key.documentation;
      }
    if (block.kind == Block::Kind::Body)
      locals();
  }
  static constexpr ProposalKind Block_ = ProposalKind::Block;

  // ---- Values of machines
  void machineValue() {
    llvm::StringRef word = pieces[0], last = lastPiece();
    if (last == ":") {
      for (llvm::StringRef one : accel::subtypesOf(word)) {
        const accel::BlockSchema *schema = accel::findSchema(word, one);
        add(one.str(), Word, schema ? schema->documentation.str() : "");
      }
      if (word == "device")
        machines(false);
      return;
    }
    if (word == "path" || word == "connects")
      return parts();
    const accel::KeySchema *key = block.schema ? block.schema->findKey(word) : nullptr;
    if (!key || !assigned())
      return;
    for (llvm::StringRef one : key->words)
      if (key->kind != accel::ValueKind::Reference && key->kind != accel::ValueKind::References)
        add(one.str(), Word, key->documentation.str());
    if (key->kind == accel::ValueKind::Boolean)
      truths();
    if (key->kind == accel::ValueKind::Reference || key->kind == accel::ValueKind::References)
      parts();
    if (word == "framework")
      declared({ast::DeclarationKind::Framework}, Machine);
    choices();
    constants();
  }
  void truths() {
    add("true", Keyword);
    add("false", Keyword);
  }
  void choices() { add("pow2", Keyword, "powers of two in a range", "pow2 ${1:1}..${2:8}"); }
  void constants() {
    declared({ast::DeclarationKind::Constant}, Value);
    for (llvm::StringRef word : {"if", "min", "max"})
      add(word.str(), word == "if" ? Keyword : Function, functionAbout(word));
  }
  /// Names of memories, cores and servers of the declaration around the place.
  void parts() {
    for (const Occurrence &one : names())
      if (one.kind == NameKind::Part && one.isDeclaration())
        add(snapshot.sources().text(one.range).str(), Value, "part");
  }

  // ---- Values of trainings and jobs
  void requestValue() {
    llvm::StringRef word = pieces[0], last = lastPiece();
    if (block.word == "jobs" && word == "job" && last == "=")
      return declared({ast::DeclarationKind::Train}, Training);
    if (word == "member" && last == "=")
      return models();
    for (const RequestKey &key : requestKeysOf(block.word))
      if (key.name == word && assigned()) {
        for (const std::string &one : key.words)
          add(one, Word, key.documentation);
        choices();
        if (word == "on" || word == "after" || word == "tenant")
          parts();
      }
    if (assigned())
      constants();
  }

  // ---- require, maximize, minimize
  void expression() {
    if (block.kind == Block::Kind::Request) {
      llvm::StringRef word = pieces[0];
      if (word == "minimize")
        for (const ObjectiveFormula &one : objectiveFormulas())
          if (one.minimize)
            add(one.minimize, Word, one.label);
      if (word == "maximize")
        add("throughput", Word, "samples per second");
      if (word == "require")
        for (const char *name : {"step_time", "throughput", "device.memory", "energy", "power", "devices", "price",
                                 "batch", "microbatch", "parameters"})
          add(name, Word, "of the plan");
      targetParts();
    }
    if (block.kind == Block::Kind::Machine)
      parts();
    constants();
  }
  /// Memories of the machine that a training names: hbm.capacity.
  void targetParts() {
    const Sources::Unit *unit = snapshot.main();
    const ast::Declaration *target = unit ? snapshot.find(*unit, block.target) : nullptr;
    if (!target)
      return;
    for (const ast::Entry &entry : target->entries)
      if (auto *node = entry.as<ast::Node>(); node && node->kind.text == "memory")
        for (const char *of : {".capacity", ".bandwidth"})
          add(node->name.text + of, Value, "of " + target->name.text);
  }

  // ---- Bodies of modules and models
  bool inCall() {
    if (place.open.empty() || place.open.back().bracket != '(')
      return false;
    llvm::StringRef head = place.open.back().head, name = head;
    while (!name.empty() && isNameCharacter(name.back()))
      name = name.drop_back();
    name = head.drop_front(name.size());
    if (pieces.empty() || lastPiece() == "(")
      arguments(name);
    else if (pieces.size() >= 2 && pieces[1] == "=")
      attributeWords(name, pieces[0]);
    if (block.kind == Block::Kind::Body)
      bodyExpression();
    else
      constants();
    return true;
  }
  void arguments(llvm::StringRef callee) {
    const Sources::Unit *unit = snapshot.main();
    if (const ast::Declaration *called = unit ? snapshot.find(*unit, callee) : nullptr) {
      for (const ast::Parameter &one : called->parameters)
        add(one.name.text, Parameter, "parameter of " + callee.str(), one.name.text + " = $0");
      return;
    }
    if (const OperationSpec *operation = findOperation(callee))
      for (const AttributeSpec &one : operation->attributes)
        add(one.name.str(), Parameter, describeAttribute(one), one.name.str() + " = $0");
    if (callee == "mixed")
      for (const char *type : {"bf16", "fp16", "fp8"})
        add(type, Word);
  }
  void attributeWords(llvm::StringRef callee, llvm::StringRef attribute) {
    const OperationSpec *operation = findOperation(callee);
    const AttributeSpec *spec = operation ? operation->findAttribute(attribute) : nullptr;
    if (!spec)
      return;
    for (llvm::StringRef word : spec->words)
      add(word.str(), Word);
    if (spec->kind == AttributeKind::Boolean)
      truths();
  }
  void bodyExpression() {
    locals();
    for (const OperationSpec &one : operationTable()) {
      add(one.name.str(), Operation, signatureOf(one), one.name.str() + "($0)");
      all.back().documentation = operationAbout(one);
    }
    declared({ast::DeclarationKind::Module, ast::DeclarationKind::Operation}, Module);
    for (const std::string &one : modelFunctions())
      add(one, Function, functionAbout(one), one + "($0)");
    add("if", Keyword, "one of two values", "if ${1:condition} then ${2:a} else ${3:b}");
    truths();
    declared({ast::DeclarationKind::Constant}, Value);
  }
  /// Values of the declaration around the place that are declared before it.
  void locals() {
    for (const Occurrence &one : names())
      if (one.isDeclaration() && (one.kind == NameKind::Value || one.kind == NameKind::Parameter) &&
          one.range.begin < place.begin)
        add(snapshot.sources().text(one.range).str(), one.kind == NameKind::Value ? Value : Parameter);
  }

  /// Names of the declaration that the place is in, or was before the last edits: the one of the same first line.
  std::vector<Occurrence> names() {
    const Sources::Unit *unit = snapshot.main();
    const OpenBracket *outer = place.open.empty() ? nullptr : &place.open.front();
    if (!unit || !outer)
      return {};
    auto words = piecesOf(outer->head);
    llvm::StringRef name = words.size() > 1 ? words[1] : llvm::StringRef();
    std::vector<Occurrence> found;
    for (const Occurrence &one : snapshot.namesOf(*unit))
      if (one.within && one.within->name.text == name)
        found.push_back(one);
    return found;
  }

  llvm::StringRef text, path;
  bool isDnn;
  Snapshot &snapshot;
  Around place;
  editor::Block block;
  std::vector<llvm::StringRef> pieces;
  std::vector<Proposal> all;
  std::set<std::string> seen;
};

} // namespace

Proposals complete(llvm::StringRef text, llvm::StringRef path, uint32_t offset, Snapshot &snapshot) {
  return Completer(text, path, offset, snapshot).complete();
}

std::optional<std::pair<uint32_t, std::string>> importOf(llvm::StringRef text, llvm::StringRef import) {
  std::string line = fmt::format("import \"{}\"", import.str());
  if (text.contains(line))
    return std::nullopt;
  size_t last = text.rfind("\nimport \"");
  size_t at = last != llvm::StringRef::npos ? last + 1 : text.starts_with("import \"") ? 0 : llvm::StringRef::npos;
  llvm::StringRef end = text.contains("\r\n") ? "\r\n" : "\n";
  if (at != llvm::StringRef::npos) {
    size_t after = text.find('\n', at);
    if (after == llvm::StringRef::npos)
      return std::pair(static_cast<uint32_t>(text.size()), end.str() + line);
    return std::pair(static_cast<uint32_t>(after + 1), line + end.str());
  }
  return std::pair(0u, line + end.str() + end.str());
}

} // namespace accord::editor
