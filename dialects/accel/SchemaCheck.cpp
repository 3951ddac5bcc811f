// Values against the table, and the sentences that say what is wrong.
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/Schema.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace accord::accel {

StringRef nearestName(StringRef word, ArrayRef<StringRef> candidates) {
  std::vector<std::string> names(candidates.begin(), candidates.end());
  std::string near = nearest(word, names);
  auto found = llvm::find(candidates, near);
  return found == candidates.end() ? StringRef() : *found;
}

bool isCount(StringRef text) {
  return !text.empty() && text.size() <= 9 && text[0] != '0' && llvm::all_of(text, llvm::isDigit);
}

bool isImmediate(StringRef name) { return name.consume_front("imm") && (name == "0" || isCount(name)); }

static std::string list(ArrayRef<StringRef> names) {
  return names.empty() ? "" : "'" + llvm::join(names, "', '") + "'";
}

std::string describe(const BlockSchema &block) {
  std::string name = block.subtype.empty()          ? block.kind.str()
                     : block.subtype == "registers" ? "register file"
                     : block.kind == "part"         ? block.subtype.str()
                                                    : block.subtype.str() + " " + block.kind.str();
  bool vowel = StringRef("aeiou").contains(name[0]) && !StringRef(name).starts_with("unit");
  return (vowel ? "an " : "a ") + name;
}

std::string unknownKey(const BlockSchema &block, StringRef name) {
  std::string out = "'" + name.str() + "' is not a key of " + describe(block);
  std::vector<StringRef> keys = block.keyNames();
  if (StringRef near = nearestName(name, keys); !near.empty())
    return out + ", did you mean '" + near.str() + "'?";
  return keys.empty() ? out + ", which has none" : out + ", which has " + list(keys);
}

static std::string dimensions(const KeySchema &key) {
  return llvm::join(llvm::map_range(key.dimensions, [](const Dimension &d) { return describe(d); }), " or ");
}

std::string expected(const KeySchema &key) {
  switch (key.kind) {
  case ValueKind::Quantity:
    return dimensions(key);
  case ValueKind::Integer:
    return "an integer";
  case ValueKind::Boolean:
    return "true or false";
  case ValueKind::Word:
    return "one of " + list(key.words);
  case ValueKind::WordSet:
    return "a set of " + list(key.words);
  case ValueKind::String:
    return "a string";
  case ValueKind::Shape:
    if (key.minRank == key.maxRank)
      return std::to_string(key.minRank) + " extents";
    return std::to_string(key.minRank) + " to " + std::to_string(key.maxRank) + " extents";
  case ValueKind::QuantityMap:
    return dimensions(key) + (key.words.empty() ? " for each of some counts" : " for each of " + list(key.words));
  case ValueKind::Reference:
    return "a name";
  case ValueKind::References:
    return "one or more names";
  case ValueKind::Block:
    return "a block";
  case ValueKind::Cycles:
    return "cycles, which may depend on 'bytes' and immediates ('imm0')";
  }
  return "";
}

static std::string checkRange(Range range, const Rational &value, const std::string &found) {
  switch (range) {
  case Range::Any:
    return "";
  case Range::Positive:
    return value.sign() > 0 ? "" : "must be positive, found " + found;
  case Range::NonNegative:
    return value.sign() >= 0 ? "" : "must not be negative, found " + found;
  case Range::AtLeastOne:
    return value >= Rational(1) ? "" : "must be at least 1, found " + found;
  case Range::Fraction:
    return value.sign() > 0 && value <= Rational(1) ? "" : "must be above 0 and at most 1, found " + found;
  }
  return "";
}

static std::string checkQuantity(const KeySchema &key, QuantityAttr value) {
  if (!llvm::is_contained(key.dimensions, value.getDimension()))
    return "must be " + expected(key) + ", found " + value.spelled() + ", " + describe(value.getDimension());
  const Rational &number = value.quantity().value;
  if (std::string error = checkRange(key.range, number, value.spelled()); !error.empty())
    return error;
  // Beyond these nothing is physical, in base units; and no product of a few such numbers leaves a double.
  static const Rational kLargest = Rational(10).power(50), kSmallest = Rational(10).power(-50);
  Rational size = number.sign() < 0 ? -number : number;
  if (size > kLargest || (!number.isZero() && size < kSmallest))
    return std::string("is too ") + (size > kLargest ? "large" : "small") + ": " + value.spelled();
  bool counts = key.range == Range::Positive && value.getDimension() == Dimension::of(Base::Byte);
  if (counts && !number.isInteger() && number < Rational(1024))
    return "must be whole bytes, found " + value.spelled();
  return "";
}

static std::string checkWord(const KeySchema &key, StringRef word) {
  if (llvm::is_contained(key.words, word))
    return "";
  StringRef full = canonicalWord(word);
  StringRef near = llvm::is_contained(key.words, full) ? full : nearestName(word, key.words);
  return "must be one of " + list(key.words) + ", found '" + word.str() + "'" +
         (near.empty() ? "" : ", did you mean '" + near.str() + "'?");
}

template <typename Range, typename Check> static std::string each(const Range &values, Check check) {
  for (auto value : values)
    if (std::string error = check(value); !error.empty())
      return error;
  return "";
}

static std::string checkBlock(const KeySchema &key, DictionaryAttr entries) {
  auto pattern = entries.getAs<StringAttr>("pattern");
  const BlockSchema *block = findSchema(key.name, pattern ? pattern.getValue() : "");
  if (!block)
    return "must have a 'pattern' of " + list(subtypesOf(key.name));
  return each(entries, [&](NamedAttribute entry) -> std::string {
    if (entry.getName() == "pattern")
      return "";
    const KeySchema *inner = block->findKey(entry.getName());
    if (!inner)
      return "has an unknown key: " + unknownKey(*block, entry.getName());
    std::string error = valueError(*inner, entry.getValue());
    return error.empty() ? "" : "has a wrong value: '" + inner->name.str() + "' " + error;
  });
}

static std::string checkMap(const KeySchema &key, DictionaryAttr map, const std::string &wrong) {
  return each(map, [&](NamedAttribute entry) -> std::string {
    if (key.words.empty() && !isCount(entry.getName()))
      return "has a wrong name: '" + entry.getName().str() + "' is no positive integer";
    if (std::string error = key.words.empty() ? "" : checkWord(key, entry.getName()); !error.empty())
      return "has a wrong name: it " + error;
    if (isa<ChoiceAttr, ReferenceAttr, ApplyAttr>(entry.getValue()))
      return "";
    auto quantity = dyn_cast<QuantityAttr>(entry.getValue());
    std::string error = quantity ? checkQuantity(key, quantity) : wrong;
    return error.empty() ? "" : "of '" + entry.getName().str() + "' " + error;
  });
}

static std::string checkArray(const KeySchema &key, ArrayAttr array, const std::string &wrong) {
  if (key.kind == ValueKind::Shape && (array.size() < key.minRank || array.size() > key.maxRank))
    return wrong + ", found " + std::to_string(array.size());
  KeySchema single = key;
  single.kind = key.kind == ValueKind::Shape ? ValueKind::Integer : ValueKind::Word;
  return each(array, [&](Attribute member) -> std::string {
    if (key.kind == ValueKind::References)
      return isa<FlatSymbolRefAttr>(member) ? "" : wrong;
    return valueError(single, member);
  });
}

/// What `check` says of a value of its type; of another one that it is wrong.
template <typename Attr, typename Check>
static std::string checked(Attribute value, const std::string &wrong, Check check) {
  auto typed = dyn_cast<Attr>(value);
  return typed ? check(typed) : wrong;
}

/// Numbers of cycles, `bytes`, immediates and values of the machine (`c.latency`), and what is computed of them.
static std::string checkCycles(Attribute value, const std::string &wrong) {
  static const Dimension kCycle = Dimension::of(Base::Cycle);
  if (auto quantity = dyn_cast<QuantityAttr>(value)) {
    Dimension is = quantity.getDimension();
    if (!is.dimensionless() && is != kCycle)
      return wrong + ", found " + quantity.spelled();
    return quantity.quantity().value.isInteger() ? "" : "is made of whole numbers, found " + quantity.spelled();
  }
  if (auto name = dyn_cast<ReferenceAttr>(value))
    return name.getPath() == "bytes" || isImmediate(name.getPath()) || name.getPath().contains('.')
               ? ""
               : wrong + ", found '" + name.getPath().str() + "'";
  auto apply = dyn_cast<ApplyAttr>(value);
  if (!apply)
    return wrong;
  static const StringRef kBinary[] = {"+", "-", "*", "/", "ceil_div"}, kFolds[] = {"min", "max"};
  StringRef function = apply.getFunction();
  size_t operands = apply.getOperands().size();
  if (!(llvm::is_contained(kBinary, function) && operands == 2) &&
      !(llvm::is_contained(kFolds, function) && operands > 0))
    return "is computed with + - * / min max ceil_div, not '" + function.str() + "' of " + std::to_string(operands);
  return each(apply.getOperands(), [&](Attribute operand) { return checkCycles(operand, wrong); });
}

/// Of an instruction that any of them stands for: numbers alone are whole and not negative.
static std::string checkCyclesRange(Attribute value, const std::string &wrong) {
  if (std::string error = checkCycles(value, wrong); !error.empty())
    return error;
  auto quantity = dyn_cast<QuantityAttr>(value);
  if (!quantity)
    return "";
  static const Rational kLargest = Rational(1 << 30);
  Rational number = quantity.quantity().value;
  bool inRange = number.sign() >= 0 && number <= kLargest;
  return inRange ? "" : "must be from 0 to 2^30 cycles, found " + quantity.spelled();
}

std::string valueError(const KeySchema &key, Attribute value) {
  std::string wrong = "must be " + expected(key);
  if (isa<ReferenceAttr, ApplyAttr>(value) && key.kind != ValueKind::Cycles)
    return "";
  if (auto choice = dyn_cast<ChoiceAttr>(value)) {
    ArrayAttr members = choice.getValues();
    bool stepped = choice.getKind() == "range" && members.size() == 3; // the step need not be in range
    return each(members.getValue().drop_back(stepped ? 1 : 0),
                [&](Attribute member) { return valueError(key, member); });
  }
  switch (key.kind) {
  case ValueKind::Quantity:
    return checked<QuantityAttr>(value, wrong, [&](QuantityAttr quantity) { return checkQuantity(key, quantity); });
  case ValueKind::Integer:
    return checked<IntegerAttr>(value, wrong, [&](IntegerAttr integer) {
      if (!integer.getType().isInteger(64))
        return wrong;
      return checkRange(key.range, Rational(integer.getInt()), std::to_string(integer.getInt()));
    });
  case ValueKind::Boolean:
    return isa<BoolAttr>(value) ? "" : wrong;
  case ValueKind::String:
    return isa<StringAttr>(value) ? "" : wrong;
  case ValueKind::Reference:
    return isa<FlatSymbolRefAttr>(value) ? "" : wrong;
  case ValueKind::Word:
    return checked<StringAttr>(value, wrong, [&](StringAttr word) { return checkWord(key, word); });
  case ValueKind::Block:
    return checked<DictionaryAttr>(value, wrong, [&](DictionaryAttr entries) { return checkBlock(key, entries); });
  case ValueKind::QuantityMap:
    return checked<DictionaryAttr>(value, wrong,
                                   [&](DictionaryAttr map) { return map.empty() ? wrong : checkMap(key, map, wrong); });
  case ValueKind::Cycles:
    return checkCyclesRange(value, wrong);
  case ValueKind::WordSet:
  case ValueKind::References:
  case ValueKind::Shape:
    return checked<ArrayAttr>(value, wrong,
                              [&](ArrayAttr array) { return array.empty() ? wrong : checkArray(key, array, wrong); });
  }
  return "";
}

} // namespace accord::accel
