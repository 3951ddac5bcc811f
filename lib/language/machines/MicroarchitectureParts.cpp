#include "lib/language/machines/MicroarchitectureParts.h"
#include "dialects/accel/Schema.h"
#include "lib/language/syntax/Arguments.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

const std::vector<std::string> kSides = {"west", "east", "north", "south"};

/// Kinds of parts that are written in a microarchitecture or a template.
std::vector<std::string> writtenKinds(bool inTemplate) {
  std::vector<std::string> kinds;
  for (llvm::StringRef kind : accel::subtypesOf("part"))
    if (kind != "operation" && (!inTemplate || (kind != "opcode" && kind != "fetch")))
      kinds.push_back(kind.str());
  if (!inTemplate)
    kinds.insert(kinds.end(), {"template", "array"});
  return kinds;
}

/// "a register file", "a memory or cache", "an execute stage".
std::string wordsOf(llvm::ArrayRef<llvm::StringRef> kinds) {
  std::string words;
  for (llvm::StringRef kind : kinds) {
    std::string word = kind == "registers" ? "register file" : kind == "execute" ? "execute stage" : kind.str();
    words += words.empty() ? (llvm::is_contained("eo", kind[0]) ? "an " : "a ") + word : " or " + word;
  }
  return words;
}

} // namespace

std::string PartArray::prefix(int64_t row, int64_t column) const {
  return line ? fmt::format("{}_{}_", node->name.text, column) : fmt::format("{}_{}_{}_", node->name.text, row, column);
}

const NamedPart *MicroarchitectureParts::find(llvm::StringRef name) const {
  auto found = byName.find(name.str());
  return found == byName.end() ? nullptr : found->second;
}

void MicroarchitectureParts::declare(std::string name, const ast::Node &node, const TemplateCopy *copy) {
  // Opcodes are named in programs, all else in machines: a unit may be called like what it does.
  std::string key = node.kind.text == "opcode" ? "opcode." + name : name;
  if (const NamedPart *earlier = find(key)) {
    diags.error(Code::DuplicateName, node.name.range, fmt::format("'{}' is already declared here", name))
        .note(earlier->node->name.range, "the earlier declaration");
    return;
  }
  parts.push_back({std::move(name), &node, copy});
  byName[key] = &parts.back();
}

void MicroarchitectureParts::collect(const std::vector<ast::Entry> &entries) {
  auto isPart = [&](const ast::Node &node, bool inTemplate) {
    const std::vector<std::string> kinds = writtenKinds(inTemplate);
    const char *where = inTemplate ? "a template" : "a microarchitecture";
    if (!llvm::is_contained(kinds, node.kind.text)) {
      diags.error(Code::UnknownEntryKind, node.kind.range, fmt::format("{} has no '{}'", where, node.kind.text))
          .suggest(nearest(node.kind.text, kinds))
          .help(fmt::format("{} has {}", where, fmt::join(kinds, ", ")));
      return false;
    }
    if (node.name.empty())
      diags.error(Code::SyntaxError, node.kind.range, fmt::format("this {} has no name", node.kind.text))
          .help(fmt::format("write '{} name {{ … }}'", node.kind.text));
    return !node.name.empty();
  };
  const size_t before = diags.errors();
  for (const ast::Entry &entry : entries)
    if (auto *node = entry.as<ast::Node>(); node && node->kind.text == "template" && isPart(*node, false)) {
      addTemplate(*node);
      for (const ast::Entry &inner : node->entries)
        if (auto *part = inner.as<ast::Node>())
          isPart(*part, true);
        else
          diags.error(Code::UnknownEntryKind, inner.range, "a template has parts alone")
              .help("its parameters are in brackets: template pe(width = 4) { … }");
    }
  if (diags.errors() > before)
    return;
  for (const ast::Entry &entry : entries) {
    auto *node = entry.as<ast::Node>();
    if (!node && !entry.as<ast::KeyValue>())
      diags.error(Code::UnknownEntryKind, entry.range, "a microarchitecture has keys and parts alone");
    if (!node || node->kind.text == "template" || !isPart(*node, false))
      continue;
    if (node->kind.text == "array")
      addArray(*node);
    else
      declare(node->name.text, *node, nullptr);
  }
  for (const auto &[name, array] : arrays)
    if (!array.failed)
      makeCopies(array);
  for (const auto &[name, node] : templates)
    if (!uses.count(name))
      diags.error(Code::NotReached, node->name.range, fmt::format("no array is made of template '{}'", name))
          .help(fmt::format("for example: array mesh[4 x 4] : {}", name));
}

void MicroarchitectureParts::addTemplate(const ast::Node &node) {
  auto [slot, isNew] = templates.try_emplace(node.name.text, &node);
  if (!isNew)
    diags.error(Code::DuplicateName, node.name.range, fmt::format("'{}' is already declared here", node.name.text))
        .note(slot->second->name.range, "the earlier declaration");
  for (const ast::Argument &argument : node.arguments)
    if (!argument.name && !argument.value->as<ast::Reference>())
      diags.error(Code::SyntaxError, argument.value->range, "a parameter of a template is a name")
          .help("for example: template pe(width, depth = 2) { … }");
}

void MicroarchitectureParts::extents(const ast::Node &node, PartArray &into) const {
  if (!node.count) {
    diags.error(Code::MissingKey, node.name.range, fmt::format("array '{}' does not say how many", node.name.text))
        .help("for example: array mesh[4 x 4] : pe, or array lanes[16] : lane");
    return;
  }
  Constant count = evaluate(*node.count, diags, constants);
  if (count.failed())
    return;
  auto isOpen = [](const Constant &one) {
    auto *word = one.as<Word>();
    return one.as<Choice>() || one.as<CallValue>() || (word && llvm::StringRef(word->text).contains('.'));
  };
  if (auto *list = count.as<ListValue>(); list ? llvm::any_of(*list->elements, isOpen) : isOpen(count)) {
    diags
        .error(Code::ChoiceNotAllowed, count.range,
               fmt::format("how many copies array '{}' makes cannot be a choice", node.name.text))
        .help("choose among microarchitectures with a fixed extent each, or among counts of units");
    return;
  }
  auto *shape = count.as<ListValue>();
  std::vector<int64_t> numbers;
  for (const Constant &one : shape ? *shape->elements : Constants{count}) {
    auto *number = one.as<Quantity>();
    auto extent = number ? number->toInt64() : std::nullopt;
    if (extent && *extent >= 1 && *extent <= kMaxCopies)
      numbers.push_back(*extent);
  }
  into.line = !shape;
  if (numbers.size() != (shape ? shape->elements->size() : 1) || numbers.size() > 2 ||
      numbers.front() * numbers.back() > kMaxCopies) {
    diags.error(Code::OutOfRange, count.range,
                fmt::format("the extents of array '{}' are one number or ROWS x COLUMNS, {} copies at most",
                            node.name.text, kMaxCopies));
    return;
  }
  into.columns = numbers.back();
  into.rows = into.line ? 1 : numbers.front();
}

/// `: pe(4, width = 16 bit)`, by place or by name.
void MicroarchitectureParts::arguments(const ast::Node &node, PartArray &into) const {
  std::vector<std::string> known;
  for (const ast::Argument &parameter : into.pattern->arguments) {
    auto *reference = parameter.value->as<ast::Reference>();
    known.push_back(parameter.name ? parameter.name->text : reference ? reference->name : "");
    if (parameter.name)
      into.values[parameter.name->text] = evaluate(*parameter.value, diags, constants);
  }
  const size_t before = diags.errors();
  const Callee callee{fmt::format("template '{}'", node.type.text), into.pattern->name.range, known};
  for (const auto &[name, argument] : bindArguments(callee, node.typeArguments, diags))
    into.values[name] = evaluate(*argument->value, diags, constants);
  for (const std::string &name : known)
    if (!into.values.count(name) && diags.errors() == before) // else it may be the one that is misspelt
      diags.error(Code::MissingArgument, node.type.range,
                  fmt::format("array '{}' does not state '{}' of template '{}'", node.name.text, name, node.type.text));
}

/// `{ west = inputs, north = {acc: zeros} }`
void MicroarchitectureParts::sides(const ast::Node &node, PartArray &into) const {
  // What stands at a side is a name, whatever constants there are.
  const Lookup names = [](llvm::StringRef, SourceRange) { return std::nullopt; };
  std::map<std::string, SourceRange> given;
  for (const ast::Entry &entry : node.entries) {
    auto *pair = entry.as<ast::KeyValue>();
    if (!pair || !llvm::is_contained(kSides, pair->key.text)) {
      diags
          .error(Code::UnknownKey, pair ? pair->key.range : entry.range,
                 fmt::format("array '{}' has sides alone", node.name.text))
          .suggest(pair ? nearest(pair->key.text, kSides) : "")
          .help(fmt::format("sides are {}", fmt::join(kSides, ", ")));
      continue;
    }
    auto [slot, isNew] = given.try_emplace(pair->key.text, pair->key.range);
    if (!isNew)
      diags.error(Code::DuplicateKey, pair->key.range, fmt::format("'{}' is given twice", pair->key.text))
          .note(slot->second, "the first time");
    Constant value = evaluate(*pair->value, diags, names);
    if (!value.failed() && !value.as<Word>() && !value.as<MapValue>())
      diags
          .error(Code::WrongType, value.range,
                 fmt::format("a side is joined to a part or an array, not to {}", value.describe()))
          .help("for example: west = inputs, or by part of the template: west = {a: rows, b: weights}");
    into.sides[pair->key.text] = std::move(value);
  }
}

void MicroarchitectureParts::addArray(const ast::Node &node) {
  const size_t before = diags.errors();
  PartArray array;
  array.node = &node;
  auto found = templates.find(node.type.text);
  if (found != templates.end()) {
    array.pattern = found->second;
    ++uses[found->first];
    extents(node, array);
    arguments(node, array);
    sides(node, array);
  } else {
    std::vector<std::string> known;
    for (const auto &[name, at] : templates)
      known.push_back(name);
    diags
        .error(Code::UnknownName, node.type.empty() ? node.name.range : node.type.range,
               node.type.empty() ? fmt::format("array '{}' does not say of which template", node.name.text)
                                 : fmt::format("there is no template '{}'", node.type.text))
        .suggest(nearest(node.type.text, known))
        .help("for example: array mesh[4 x 4] : pe");
  }
  array.failed = diags.errors() > before;
  auto earlier = arrays.find(node.name.text);
  const NamedPart *part = find(node.name.text);
  if (earlier == arrays.end() && !part)
    arrays[node.name.text] = std::move(array);
  else
    diags.error(Code::DuplicateName, node.name.range, fmt::format("'{}' is already declared here", node.name.text))
        .note(part ? part->node->name.range : earlier->second.node->name.range, "the earlier declaration");
}

void MicroarchitectureParts::makeCopies(const PartArray &array) {
  const size_t before = diags.errors();
  if (int64_t(copies.size()) + array.rows * array.columns > kMaxCopies) {
    diags.error(Code::TooManyValues, array.node->name.range,
                fmt::format("the arrays make more than {} copies", kMaxCopies));
    return;
  }
  for (int64_t row = 0; row < array.rows; ++row)
    for (int64_t column = 0; column < array.columns && diags.errors() == before; ++column) {
      copies.push_back({&array, row, column, array.prefix(row, column)});
      for (const ast::Entry &entry : array.pattern->entries)
        if (auto *node = entry.as<ast::Node>())
          declare(copies.back().prefix + node->name.text, *node, &copies.back());
    }
}

Lookup MicroarchitectureParts::lookupIn(const NamedPart &part) const {
  return [this, copy = part.copy](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
    if (name == "bytes" || accel::isImmediate(name))
      return std::nullopt;
    if (copy) {
      if (auto value = copy->array->values.find(name.str()); value != copy->array->values.end())
        return value->second;
      if (name == "row" || name == "column")
        return Constant{at, Quantity::number(name == "row" ? copy->row : copy->column)};
    }
    return constants(name, at);
  };
}

void MicroarchitectureParts::unknown(llvm::StringRef name, SourceRange at, const NamedPart *from,
                                     llvm::ArrayRef<llvm::StringRef> kinds) const {
  std::vector<std::string> known;
  for (const NamedPart &part : parts)
    if (llvm::is_contained(kinds, llvm::StringRef(part.node->kind.text))) {
      if (!part.copy)
        known.push_back(part.name);
      else if (from && part.copy == from->copy)
        known.push_back(part.node->name.text);
    }
  auto error =
      diags.error(Code::UnknownName, at, fmt::format("'{}' is not the name of {}", name.str(), wordsOf(kinds)));
  error.suggest(nearest(name, known));
  if (!known.empty() && known.size() <= 12)
    error.help(fmt::format("there is {}", fmt::join(known, ", ")));
}

std::optional<std::vector<std::string>> MicroarchitectureParts::checked(const std::string &name, SourceRange at,
                                                                        llvm::ArrayRef<llvm::StringRef> kinds) const {
  const NamedPart &part = *find(name);
  if (llvm::is_contained(kinds, llvm::StringRef(part.node->kind.text)))
    return std::vector<std::string>{name};
  diags
      .error(Code::WrongNameKind, at,
             fmt::format("'{}' is {}, not {}", name, wordsOf({part.node->kind.text}), wordsOf(kinds)))
      .note(part.node->name.range, "declared here");
  return std::nullopt;
}

std::optional<std::vector<std::string>> MicroarchitectureParts::ofArray(const PartArray &array, llvm::StringRef what,
                                                                        SourceRange at,
                                                                        llvm::ArrayRef<llvm::StringRef> kinds) const {
  if (array.failed)
    return std::nullopt;
  std::vector<std::string> names;
  for (const NamedPart &part : parts)
    if (part.copy && part.copy->array == &array && (what.empty() || what == part.node->name.text) &&
        llvm::is_contained(kinds, llvm::StringRef(part.node->kind.text)))
      names.push_back(part.name);
  if (!names.empty())
    return names;
  unknown(array.node->name.text + (what.empty() ? "" : "." + what.str()), at, nullptr, kinds);
  return std::nullopt;
}

/// What is next to a copy: `side` is one of the four, `what` a part of the template there.
std::optional<std::vector<std::string>> MicroarchitectureParts::beside(llvm::StringRef side, llvm::StringRef what,
                                                                       SourceRange at, const NamedPart &from,
                                                                       llvm::ArrayRef<llvm::StringRef> kinds) const {
  const PartArray &array = *from.copy->array;
  const int64_t row = from.copy->row + (side == "south") - (side == "north");
  const int64_t column = from.copy->column + (side == "east") - (side == "west");
  auto inside = [](const PartArray &of, int64_t r, int64_t c) {
    return r >= 0 && c >= 0 && r < of.rows && c < of.columns;
  };
  auto existing = [&](const std::string &name) {
    if (find(name))
      return checked(name, at, kinds);
    unknown(name, at, &from, kinds);
    return std::optional<std::vector<std::string>>();
  };
  if (inside(array, row, column))
    return existing(array.prefix(row, column) + what.str());
  auto joined = array.sides.find(side.str());
  if (joined == array.sides.end())
    return std::vector<std::string>(); // the edge dangles
  const Constant *to = &joined->second;
  if (auto *map = to->as<MapValue>()) {
    auto pair = llvm::find_if(map->pairs, [&](const auto &one) { return one.first.text == what; });
    if (pair == map->pairs.end())
      return std::vector<std::string>();
    to = pair->second.get();
  }
  auto *word = to->as<Word>();
  if (!word)
    return std::nullopt; // said where the array is read
  auto [name, member] = llvm::StringRef(word->text).split('.');
  auto other = arrays.find(name.str());
  if (other == arrays.end()) {
    if (find(word->text))
      return checked(word->text, to->range, kinds);
    unknown(word->text, to->range, nullptr, kinds);
    return std::nullopt;
  }
  const PartArray &next = other->second;
  if (next.failed)
    return std::nullopt;
  const bool across = side == "west" || side == "east";
  const int64_t nextRow = across ? row : side == "north" ? next.rows - 1 : 0;
  const int64_t nextColumn = across ? (side == "west" ? next.columns - 1 : 0) : column;
  if (!inside(next, nextRow, nextColumn)) {
    diags.error(Code::WrongPart, to->range,
                fmt::format("'{}' has {} x {} copies, and nothing beside row {}, column {} of '{}'", name.str(),
                            next.rows, next.columns, from.copy->row, from.copy->column, array.node->name.text));
    return std::nullopt;
  }
  return existing(next.prefix(nextRow, nextColumn) + (member.empty() ? what : member).str());
}

std::optional<std::vector<std::string>> MicroarchitectureParts::named(const Constant &name, const NamedPart &at,
                                                                      llvm::ArrayRef<llvm::StringRef> kinds) const {
  auto *word = name.as<Word>();
  if (!word) {
    if (!name.failed())
      diags.error(Code::WrongType, name.range,
                  fmt::format("this is the name of {}, not {}", wordsOf(kinds), name.describe()));
    return std::nullopt;
  }
  auto [first, rest] = llvm::StringRef(word->text).split('.');
  if (at.copy && !rest.empty() && llvm::is_contained(kSides, first.str()))
    return beside(first, rest, name.range, at, kinds);
  if (at.copy && find(at.copy->prefix + word->text))
    return checked(at.copy->prefix + word->text, name.range, kinds);
  if (find(word->text) && !llvm::StringRef(word->text).starts_with("opcode."))
    return checked(word->text, name.range, kinds);
  if (auto array = arrays.find(first.str()); array != arrays.end())
    return ofArray(array->second, rest, name.range, kinds);
  unknown(word->text, name.range, &at, kinds);
  return std::nullopt;
}

} // namespace accord
