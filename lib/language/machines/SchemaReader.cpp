#include "lib/language/machines/SchemaReader.h"
#include "dialects/accel/KeyLocations.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {
bool symbolic(const Constant &value) {
  return value.as<CallValue>() != nullptr ||
         (value.as<Word>() && value.as<Word>()->text.find('.') != std::string::npos);
}
} // namespace

Location SchemaReader::at(SourceRange range) {
  Position p = diags.sources().position(range);
  return FileLineColLoc::get(&context, diags.sources().path(range.file), p.line, p.column);
}

Location SchemaReader::location(SourceRange block) {
  std::vector<std::pair<llvm::StringRef, Location>> keys;
  for (auto &[name, entry] : entries)
    keys.push_back({name, at(entry.second)});
  return accel::withKeyLocations(at(block), keys);
}

DictionaryAttr SchemaReader::dictionary() {
  llvm::SmallVector<NamedAttribute> all;
  for (auto &[name, entry] : entries)
    if (entry.first)
      all.push_back(builder.getNamedAttr(name, entry.first));
  return builder.getDictionaryAttr(all);
}

bool SchemaReader::set(llvm::StringRef key, Attribute value, SourceRange range) {
  auto [slot, isNew] = entries.try_emplace(key.str(), value, range);
  if (!isNew)
    diags.error(Code::DuplicateKey, range, fmt::format("'{}' is given twice", key.str()))
        .note(slot->second.second, "the first time");
  return isNew;
}

void SchemaReader::finish(SourceRange block) {
  for (const accel::KeySchema &key : schema.keys)
    if (key.required && !entries.count(key.name.str()) && !misspelt.count(key.name.str()))
      diags
          .error(key.capacity ? Code::NoCapacity : Code::MissingKey, block,
                 fmt::format("{} needs '{}'", accel::describe(schema), key.name.str()))
          .help(fmt::format("'{}': {}", key.name.str(), key.documentation.str()));
}

void SchemaReader::wrong(Code code, const accel::KeySchema &key, const Constant &value, std::string reason) {
  diags.error(code, value.range, fmt::format("'{}' of {} {}", key.name.str(), accel::describe(schema), reason))
      .help(fmt::format("'{}': {}", key.name.str(), key.documentation.str()));
}

/// Any value as it stands in an expression that is kept.
Attribute SchemaReader::attributeOf(const Constant &value, llvm::StringRef text, llvm::StringRef source) {
  if (auto *q = value.as<Quantity>())
    return accel::QuantityAttr::get(&context, *q, text, source);
  if (auto *b = value.as<bool>())
    return builder.getBoolAttr(*b);
  if (auto *t = value.as<ast::Text>())
    return builder.getStringAttr(t->value);
  if (auto *w = value.as<Word>())
    return accel::ReferenceAttr::get(&context, w->text);
  if (auto *call = value.as<CallValue>()) {
    llvm::SmallVector<Attribute> operands;
    for (auto &[name, argument] : call->arguments)
      operands.push_back(attributeOf(*argument, diags.sources().text(argument->range)));
    return accel::ApplyAttr::get(&context, call->name, builder.getArrayAttr(operands));
  }
  return builder.getStringAttr(text);
}

/// Whether an expression that is kept for later holds only functions that exist and, as operands,
/// members of parts of the machine.
bool SchemaReader::understood(const Constant &value) {
  auto *call = value.as<CallValue>();
  if (!call)
    return true;
  if (reportUnknownFunction(*call, value.range, diags))
    return false;
  bool ok = true;
  for (auto &[name, argument] : call->arguments) {
    if (auto *word = argument->as<Word>(); word && word->text.find('.') == std::string::npos) {
      diags.error(Code::UnknownName, argument->range, fmt::format("unknown name '{}'", word->text));
      ok = false;
    }
    ok &= understood(*argument);
  }
  return ok;
}

/// Whether an expression of cycles holds only functions that exist, `bytes`, immediates and members of parts of the
/// machine.
bool SchemaReader::cyclesUnderstood(const Constant &value) {
  if (auto *word = value.as<Word>();
      word && word->text != "bytes" && !accel::isImmediate(word->text) && word->text.find('.') == std::string::npos) {
    diags.error(Code::UnknownName, value.range, fmt::format("unknown name '{}'", word->text))
        .suggest(nearest(word->text, std::vector<std::string>{"bytes", "imm0"}))
        .help("cycles depend on 'bytes', which an instruction moves, and on its immediates 'imm0', 'imm1', …");
    return false;
  }
  auto *call = value.as<CallValue>();
  if (!call)
    return true;
  return !reportUnknownFunction(*call, value.range, diags) &&
         llvm::all_of(call->arguments, [&](const auto &argument) { return cyclesUnderstood(*argument.second); });
}

Attribute SchemaReader::quantity(const accel::KeySchema &key, const Constant &value, llvm::StringRef text,
                                 llvm::StringRef source) {
  auto *number = value.as<Quantity>();
  if (!number) {
    // A word without a meaning of its own is a name that nothing declares.
    bool word = value.as<Word>() != nullptr;
    wrong(
        word ? Code::UnknownName : Code::WrongType, key, value,
        fmt::format("is {}, not {}{}", accel::expected(key), value.describe(), word ? ", which nothing declares" : ""));
    return {};
  }
  if (llvm::is_contained(key.dimensions, number->dimension))
    return accel::QuantityAttr::get(&context, *number, text, source);
  bool plain = llvm::is_contained(key.dimensions, Dimension{});
  if (number->dimensionless())
    wrong(Code::MissingUnit, key, value, fmt::format("is {} and needs a unit", accel::expected(key)));
  else
    wrong(plain ? Code::UnexpectedUnit : Code::WrongDimension, key, value,
          fmt::format("is {}, but this is {}", accel::expected(key), describe(number->dimension)));
  return {};
}

Attribute SchemaReader::integer(const accel::KeySchema &key, const Constant &value) {
  auto *number = value.as<Quantity>();
  if (auto integer = number && number->dimensionless() ? number->toInt64() : std::nullopt)
    return builder.getI64IntegerAttr(*integer);
  Code code = !number                     ? Code::WrongType
              : !number->dimensionless()  ? Code::UnexpectedUnit
              : number->value.isInteger() ? Code::NumberTooLarge
                                          : Code::NotAnInteger;
  wrong(code, key, value,
        fmt::format("is {}, not {}", code == Code::NumberTooLarge ? "from -2^63 to 2^63 - 1" : "an integer",
                    value.describe()));
  return {};
}

Attribute SchemaReader::word(const accel::KeySchema &key, const Constant &value) {
  auto *word = value.as<Word>();
  auto *call = value.as<CallValue>();
  llvm::StringRef given = word ? accel::canonicalWord(word->text) : llvm::StringRef();
  if (llvm::is_contained(key.words, given))
    return builder.getStringAttr(given);
  std::vector<std::string> known(key.words.begin(), key.words.end());
  auto error = diags.error(Code::UnknownChoice, value.range,
                           fmt::format("'{}' is {}, not {}", key.name.str(), accel::expected(key), value.describe()));
  if (call && llvm::is_contained(key.words, llvm::StringRef(call->name)))
    error.help(fmt::format("a choice is among words: numbers of '{}' cannot be stated in it", call->name));
  else
    error.suggest(word ? nearest(word->text, known) : call ? nearest(call->name, known) : "");
  return {};
}

Attribute SchemaReader::scalar(const accel::KeySchema &key, const Constant &value, llvm::StringRef text,
                               llvm::StringRef source) {
  using accel::ValueKind;
  if (symbolic(value) &&
      llvm::is_contained({ValueKind::Quantity, ValueKind::Integer, ValueKind::Shape, ValueKind::QuantityMap}, key.kind))
    return understood(value) ? attributeOf(value, text, source) : Attribute();
  switch (key.kind) {
  case ValueKind::Quantity:
  case ValueKind::QuantityMap:
    return quantity(key, value, text, source);
  case ValueKind::Integer:
  case ValueKind::Shape:
    return integer(key, value);
  case ValueKind::Word:
  case ValueKind::WordSet:
    return word(key, value);
  case ValueKind::Boolean:
    if (auto *truth = value.as<bool>())
      return builder.getBoolAttr(*truth);
    break;
  case ValueKind::String:
    if (auto *string = value.as<ast::Text>())
      return builder.getStringAttr(string->value);
    break;
  case ValueKind::Reference:
  case ValueKind::References:
    if (auto *name = value.as<Word>())
      return FlatSymbolRefAttr::get(&context, name->text);
    break;
  case ValueKind::Block:
    break;
  case ValueKind::Cycles:
    if (value.as<Quantity>() || value.as<Word>() || value.as<CallValue>())
      return cyclesUnderstood(value) ? attributeOf(value, text, source) : Attribute();
    break;
  }
  wrong(Code::WrongType, key, value, fmt::format("is {}, not {}", accel::expected(key), value.describe()));
  return {};
}

ArrayAttr SchemaReader::list(const accel::KeySchema &key, const Constants &members, llvm::StringRef source) {
  llvm::SmallVector<Attribute> all;
  for (const Constant &member : members) {
    llvm::StringRef text = diags.sources().text(member.range);
    all.push_back(key.kind == accel::ValueKind::Shape ? convert(key, member, text, source)
                                                      : scalar(key, member, text, source));
    if (!all.back())
      return {};
  }
  return builder.getArrayAttr(all);
}

/// {bf16: 312 TFLOP/s, tf32: 156 TFLOP/s}
DictionaryAttr SchemaReader::map(const accel::KeySchema &key, const MapValue &map, llvm::StringRef source) {
  llvm::SmallVector<NamedAttribute> all;
  std::vector<std::string> known(key.words.begin(), key.words.end());
  for (auto &[name, member] : map.pairs) {
    if (key.words.empty() && !accel::isCount(name.text)) {
      diags
          .error(Code::UnknownChoice, name.range,
                 fmt::format("'{}' is no count that '{}' can be stated for", name.text, key.name.str()))
          .help("for example: {2: 48 GB/s, 8: 310 GB/s}");
      return {};
    }
    if (!key.words.empty() && !llvm::is_contained(key.words, llvm::StringRef(name.text))) {
      diags
          .error(Code::UnknownChoice, name.range,
                 fmt::format("'{}' is no number format that '{}' can be stated for", name.text, key.name.str()))
          .suggest(nearest(name.text, known))
          .help(fmt::format("formats are {}", fmt::join(known, ", ")));
      return {};
    }
    Attribute one = scalar(key, *member, diags.sources().text(member->range), source);
    if (!one)
      return {};
    all.push_back(builder.getNamedAttr(name.text, one));
  }
  return builder.getDictionaryAttr(all);
}

Attribute SchemaReader::choice(const accel::KeySchema &key, const Constant &value, llvm::StringRef source) {
  using accel::ValueKind;
  const Choice &choice = *value.as<Choice>();
  bool set = choice.kind == Choice::Kind::Set;
  if (llvm::is_contained({ValueKind::String, ValueKind::Boolean, ValueKind::QuantityMap}, key.kind) ||
      (!set && key.kind == ValueKind::Word)) {
    wrong(Code::ChoiceNotAllowed, key, value, fmt::format("is {} and cannot be a choice", accel::expected(key)));
    return {};
  }
  if (set && choice.members->empty()) {
    wrong(Code::EmptyRange, key, value, "has no value to choose from");
    return {};
  }
  Constants members;
  if (set)
    members = *choice.members;
  else
    members = {Constant{value.range, choice.low}, Constant{value.range, choice.high}};
  if (choice.kind == Choice::Kind::Range && !(choice.step == Quantity(Rational(1), choice.step.dimension)))
    members.push_back(Constant{value.range, choice.step});
  llvm::SmallVector<Attribute> all;
  for (const Constant &member : members) {
    bool written = set || !member.as<Quantity>();
    all.push_back(scalar(key, member, written ? diags.sources().text(member.range) : llvm::StringRef(), source));
    if (!all.back())
      return {};
  }
  return accel::ChoiceAttr::get(&context,
                                set                                        ? "set"
                                : choice.kind == Choice::Kind::PowersOfTwo ? "pow2"
                                                                           : "range",
                                builder.getArrayAttr(all));
}

Attribute SchemaReader::convert(const accel::KeySchema &key, const Constant &value, llvm::StringRef text,
                                llvm::StringRef source) {
  using accel::ValueKind;
  bool severalWords = key.kind == ValueKind::References || key.kind == ValueKind::WordSet;
  if (auto *pairs = value.as<MapValue>(); pairs && key.kind == ValueKind::QuantityMap)
    return map(key, *pairs, source);
  if (auto *elements = value.as<ListValue>(); elements && (key.kind == ValueKind::Shape || severalWords))
    return list(key, *elements->elements, source);
  if (auto *given = value.as<Choice>()) {
    if (given->kind == Choice::Kind::Set && severalWords)
      return list(key, *given->members, source);
    return choice(key, value, source);
  }
  Attribute one = scalar(key, value, text, source);
  return one && severalWords ? builder.getArrayAttr(one) : one;
}

void SchemaReader::read(const ast::KeyValue &pair, const ast::Entry &entry) {
  const accel::KeySchema *key = schema.findKey(pair.key.text);
  if (!key) {
    std::vector<std::string> known;
    for (llvm::StringRef name : schema.keyNames())
      known.push_back(name.str());
    auto error = diags.error(Code::UnknownKey, pair.key.range,
                             fmt::format("{} has no '{}'", accel::describe(schema), pair.key.text));
    std::string meant = nearest(pair.key.text, known);
    misspelt.insert(meant);
    error.suggest(meant);
    if (!known.empty())
      error.help(fmt::format("{} has {}", accel::describe(schema), fmt::join(known, ", ")));
    return;
  }
  if (!set(pair.key.text, {}, pair.key.range))
    return;
  Constant value = evaluate(*pair.value, diags, lookup);
  std::string text = diags.sources().text(pair.value->range).str();
  if (entry.clauses().per && !value.failed()) { // 1.4 mm2 per 1 MiB
    Constant per = evaluate(*entry.clauses().per, diags, lookup);
    auto *a = value.as<Quantity>(), *b = per.as<Quantity>();
    if (a && b) {
      auto ratio = divide(*a, *b);
      if (!ratio) {
        diags.error(ratio.error().code, entry.clauses().per->range, ratio.error().message);
        return;
      }
      value.content = *ratio;
      text = diags.sources().text(pair.value->range.to(entry.clauses().per->range)).str();
    }
  }
  if (value.failed())
    return;
  Attribute attribute = convert(*key, value, text, entry.clauses().source ? entry.clauses().source->value : "");
  if (!attribute)
    return;
  if (std::string reason = accel::valueError(*key, attribute); !reason.empty()) {
    wrong(key->capacity ? Code::NoCapacity : Code::OutOfRange, *key, value, reason);
    return;
  }
  entries[pair.key.text].first = attribute;
}

} // namespace accord
