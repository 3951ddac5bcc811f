// One description of a JSON document, from which its writer, its reader and its schema come.
//
//   void describe(JsonFields &f, Link &link) {
//     f.field("name", link.name).about("seconds").maybe("latency_s", link.latency);
//   }
//   json::Value document = toDocument(link);
//   bool ok = readDocument(document, link, path);
//   json::Value schema = schemaOf<Link>();
//
// `describe(JsonFields &, T &)` lists the fields of an object; `describe(JsonVisitor &, T &)` says how anything else is
// written. Both have external linkage, so that no two files can describe one type differently. A writer never changes
// what it visits.
#pragma once
#include "lib/support/Result.h"
#include "lib/support/Units.h"
#include "llvm/ADT/STLForwardCompat.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/TypeName.h"
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <optional>

namespace accord {

class JsonFields;

/// What a document does about keys that nobody describes and about numbers without a range.
enum class JsonRule : uint8_t {
  Closed, ///< unknown keys are refused; numbers are finite and not negative, integers at most 2^61
  Open,   ///< unknown keys are passed over; numbers are any that the type holds, whatever range a field has; words are
          ///< held to
};

/// Both ends belong to it.
struct IntegerRange {
  int64_t min = 0, max = int64_t(1) << 61;
};

/// Both ends belong to it, but for `min` where it is `open`. Infinite ends are none.
struct NumberRange {
  double min = 0, max = std::numeric_limits<double>::infinity();
  bool open = false;
};
constexpr IntegerRange kFromOne{1},
    kAnyInteger{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
constexpr NumberRange kShare{0, 1}, kAnyNumber{-std::numeric_limits<double>::infinity()};

/// What a text may be; another one is answered with `expected`.
struct Words {
  std::vector<llvm::StringRef> words;
  llvm::StringLiteral expected = "an unknown word";
};

/// What a schema says besides the type: {"pattern", "^A"}. Null takes a keyword away.
struct SchemaKeyword {
  llvm::StringLiteral name;
  llvm::json::Value value;
};

/// One value of a document: it is written, read or described.
class JsonVisitor {
public:
  using Path = llvm::json::Path;
  enum class Mode : uint8_t { Write, Read, Describe };
  virtual ~JsonVisitor() = default;
  virtual Mode mode() const = 0;
  bool reads() const { return mode() == Mode::Read; }

  /// `pattern` is for the schema alone.
  virtual void text(std::string &value, llvm::StringLiteral pattern = "") = 0;
  virtual void flag(bool &value) = 0;
  virtual void number(double &value, std::optional<NumberRange> range = {}) = 0;
  /// Without `range` the rule of the document decides; `ofType` is what the member can hold.
  virtual void integer(int64_t &value, std::optional<IntegerRange> range, IntegerRange ofType) = 0;
  /// All of 64 bits.
  virtual void natural(uint64_t &value) = 0;
  /// One of `words`, by its index; another one is answered with `expected`.
  virtual void word(size_t &index, llvm::ArrayRef<llvm::StringRef> words, llvm::StringLiteral expected) = 0;
  /// Writes null if `isNull`; returns whether the value is null.
  virtual bool null(bool isNull) = 0;
  virtual void object(llvm::function_ref<void(JsonFields &)> fields) = 0;
  /// `resize` says whether a list may have this size; another one is answered with `expected`.
  virtual void array(size_t size, llvm::StringLiteral expected, llvm::function_ref<bool(size_t)> resize,
                     llvm::function_ref<void(size_t, JsonVisitor &)> element) = 0;
  /// An array of `size` values; one of another size is answered with `expected`.
  virtual void fixedArray(size_t size, llvm::StringLiteral expected,
                          llvm::function_ref<void(size_t, JsonVisitor &)> element) = 0;
  /// An object whose keys are data: `keys` when it is written.
  virtual void map(llvm::ArrayRef<llvm::StringRef> keys,
                   llvm::function_ref<void(llvm::StringRef, JsonVisitor &)> entry) = 0;
  /// A value that has its own reader, which reports at the path what it refuses. Its schema says no more than `type`.
  virtual void custom(llvm::function_ref<llvm::json::Value()> write,
                      llvm::function_ref<bool(const llvm::json::Value &, Path)> read,
                      llvm::StringLiteral type = "") = 0;
  /// A value of a type that a schema describes once, wherever it occurs.
  virtual void named(llvm::StringRef type, llvm::function_ref<void(JsonVisitor &)> value) { value(*this); }
  /// The schema says that a number is not zero, a flag not false, a list not empty.
  virtual void notEmpty() {}
  /// A condition on what was read; it reports at the path what it refuses.
  virtual void check(llvm::function_ref<bool(Path)> holds) {}

  template <typename... T> void tuple(llvm::StringLiteral expected, T &&...items);
  /// Infinite is null.
  void numberOrNull(double &value, std::optional<NumberRange> range = {}) {
    if (!null(std::isinf(value)))
      number(value, range);
    else if (reads())
      value = std::numeric_limits<double>::infinity();
  }
  /// `none` is null.
  void integerOrNull(int64_t &value, int64_t none, IntegerRange range) {
    if (!null(value == none))
      integer(value, range, range);
    else if (reads())
      value = none;
  }
  /// One of several texts. A writer does not look at them.
  void oneOf(std::string &value, const Words &all) {
    if (mode() == Mode::Write)
      return text(value);
    size_t index = 0;
    word(index, all.words, all.expected);
    if (reads())
      value = all.words[index].str();
  }
  /// One of the enumerators from 0 on, by `words`.
  template <typename E>
  void oneOf(E &value, std::initializer_list<llvm::StringRef> words, llvm::StringLiteral expected) {
    size_t index = llvm::to_underlying(value);
    word(index, words, expected);
    if (reads())
      value = static_cast<E>(index);
  }
  /// An enumerator by its printed name.
  template <typename E> void oneOf(E &value, std::initializer_list<E> all, llvm::StringLiteral expected) {
    llvm::SmallVector<llvm::StringRef, 8> words;
    for (E one : all)
      words.push_back(name(one));
    size_t index = std::find(all.begin(), all.end(), value) - all.begin();
    word(index, words, expected);
    if (reads() && index < all.size())
      value = all.begin()[index];
  }
};

/// The fields of an object.
class JsonFields {
public:
  using Mode = JsonVisitor::Mode;
  virtual ~JsonFields() = default;
  virtual Mode mode() const = 0;
  bool reads() const { return mode() == Mode::Read; }
  bool writes() const { return mode() == Mode::Write; }
  /// Whether what is read may lack what follows from other fields.
  virtual bool isOpen() const { return false; }
  /// `shown`: whether a writer writes it.
  /// `key` outlives the document.
  virtual void visit(llvm::StringRef key, bool required, bool shown, llvm::function_ref<void(JsonVisitor &)> value) = 0;
  /// Whether what is read has this key: of objects that come in several forms. A schema has a form with each such key,
  /// and one with none.
  virtual bool has(llvm::StringRef key) const { return false; }
  /// A condition on what was read so far, reported at a field.
  virtual JsonFields &check(llvm::StringRef key, bool holds, llvm::StringLiteral message) { return *this; }
  /// Describes the next field in the schema.
  virtual JsonFields &about(llvm::StringLiteral text, std::initializer_list<SchemaKeyword> more = {}) { return *this; }
  /// Where a field is `word`, these are there too: said for each word that it may be.
  virtual JsonFields &when(llvm::StringLiteral key, llvm::StringLiteral word,
                           std::initializer_list<llvm::StringLiteral> required) {
    return *this;
  }

  /// A field that is always there. `how` is a range of numbers, the words of a text, or describes the value (of a list:
  /// each element).
  template <typename T, typename... How> JsonFields &field(llvm::StringLiteral key, T &member, How &&...how);
  /// A field that is left out where it is zero, false or empty.
  template <typename T, typename... How> JsonFields &maybe(llvm::StringLiteral key, T &member, How &&...how);
  /// A field that is written if `shown`.
  template <typename T, typename... How>
  JsonFields &maybeIf(bool shown, llvm::StringLiteral key, T &member, How &&...how);
  /// A field that is written for people and follows from others: a reader passes over it. `how` as above.
  template <typename Get, typename... How> JsonFields &computed(llvm::StringLiteral key, Get get, How &&...how) {
    return computedField(true, !isOpen(), key, get, how...);
  }
  template <typename Get, typename... How>
  JsonFields &computedIf(bool shown, llvm::StringLiteral key, Get get, How &&...how) {
    return computedField(shown, false, key, get, how...);
  }
  /// A field that says which document this is; another text is answered with `wrong`.
  JsonFields &constant(llvm::StringLiteral key, llvm::StringLiteral value, llvm::StringLiteral wrong);
  JsonFields &constant(llvm::StringLiteral key, int64_t value, llvm::StringLiteral wrong);
  /// "command", "version" and "status" (one of `words`), with which the answer of a command begins; a schema without a
  /// command is one for all. A reader passes over them.
  JsonFields &head(llvm::StringRef command, llvm::StringRef status = "done",
                   llvm::ArrayRef<llvm::StringRef> words = {"done"});

private:
  template <typename Get, typename... How>
  JsonFields &computedField(bool shown, bool required, llvm::StringLiteral key, Get &get, How &&...how);
};

template <typename T> struct IsUnit : std::false_type {};
template <int T, int B, int F, int C, int E> struct IsUnit<Unit<T, B, F, C, E>> : std::true_type {};
template <typename T> struct IsVector : std::false_type {};
template <typename T> struct IsVector<std::vector<T>> : std::true_type {};
template <typename T> struct IsArray : std::false_type {};
template <typename T, size_t n> struct IsArray<std::array<T, n>> : std::true_type {};
template <typename T> struct IsOptional : std::false_type {};
template <typename T> struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T> struct IsMap : std::false_type {};
template <typename T> struct IsMap<std::map<std::string, T>> : std::true_type {};

/// Visits one value of any type that a document knows.
template <typename T, typename... How> void visitValue(JsonVisitor &v, T &value, How &&...how) {
  if constexpr ((std::invocable<How, JsonVisitor &, T &> || ...)) {
    (how(v, value), ...);
  } else if constexpr ((std::invocable<How, JsonFields &, T &> || ...)) {
    v.object([&](JsonFields &f) { (how(f, value), ...); });
  } else if constexpr (IsVector<T>::value) {
    v.array(
        value.size(), "expected array", [&](size_t size) { return value.assign(size, {}), true; },
        [&](size_t i, JsonVisitor &element) { visitValue(element, value[i], how...); });
  } else if constexpr (IsArray<T>::value) {
    v.fixedArray(value.size(), "expected an array of another size",
                 [&](size_t i, JsonVisitor &element) { visitValue(element, value[i], how...); });
  } else if constexpr (IsMap<T>::value) {
    llvm::SmallVector<llvm::StringRef> keys;
    for (const auto &[key, entry] : value)
      keys.push_back(key);
    v.map(keys, [&](llvm::StringRef key, JsonVisitor &entry) { visitValue(entry, value[key.str()], how...); });
  } else if constexpr (IsOptional<T>::value) {
    if (v.null(!value)) {
      if (v.reads())
        value.reset();
    } else
      visitValue(v, value ? *value : value.emplace(), how...);
  } else if constexpr (IsUnit<T>::value) {
    visitValue(v, value.value, how...);
  } else if constexpr (std::same_as<T, std::string>) {
    if constexpr (sizeof...(how) == 0)
      v.text(value);
    else
      (v.oneOf(value, how), ...);
  } else if constexpr (std::same_as<T, bool>) {
    v.flag(value);
  } else if constexpr (std::same_as<T, double>) {
    std::optional<NumberRange> range;
    ((range = how), ...);
    v.number(value, range);
  } else if constexpr (std::integral<T>) {
    int64_t wide = value;
    std::optional<IntegerRange> range;
    ((range = how), ...);
    using Limits = std::numeric_limits<T>;
    constexpr int64_t max = std::min<uint64_t>(Limits::max(), std::numeric_limits<int64_t>::max());
    v.integer(wide, range, {Limits::min(), max});
    if (v.reads())
      value = wide;
  } else {
    v.named(llvm::getTypeName<T>(), [&](JsonVisitor &one) {
      if constexpr (requires(JsonFields &f) { describe(f, value); })
        one.object([&](JsonFields &f) { describe(f, value); });
      else
        describe(one, value);
    });
  }
}

template <typename... T> void JsonVisitor::tuple(llvm::StringLiteral expected, T &&...items) {
  fixedArray(sizeof...(T), expected, [&](size_t i, JsonVisitor &v) {
    size_t at = 0;
    auto one = [&](auto &item) {
      if (at++ != i)
        return;
      if constexpr (std::invocable<decltype(item), JsonVisitor &>)
        item(v);
      else
        visitValue(v, item);
    };
    (one(items), ...);
  });
}

template <typename T, typename... How> JsonFields &JsonFields::field(llvm::StringLiteral key, T &member, How &&...how) {
  visit(key, true, true, [&](JsonVisitor &v) { visitValue(v, member, how...); });
  return *this;
}
template <typename T, typename... How> JsonFields &JsonFields::maybe(llvm::StringLiteral key, T &member, How &&...how) {
  if constexpr (requires { member.empty(); })
    visit(key, false, !member.empty(), [&](JsonVisitor &v) { visitValue(v, member, how...), v.notEmpty(); });
  else if constexpr (IsOptional<T>::value)
    visit(key, false, member.has_value(),
          [&](JsonVisitor &v) { visitValue(v, member ? *member : member.emplace(), how...); });
  else
    visit(key, false, member != T{}, [&](JsonVisitor &v) { visitValue(v, member, how...), v.notEmpty(); });
  return *this;
}
template <typename T, typename... How>
JsonFields &JsonFields::maybeIf(bool shown, llvm::StringLiteral key, T &member, How &&...how) {
  visit(key, false, shown, [&](JsonVisitor &v) { visitValue(v, member, how...); });
  return *this;
}
template <typename Get, typename... How>
JsonFields &JsonFields::computedField(bool shown, bool required, llvm::StringLiteral key, Get &get, How &&...how) {
  visit(key, required, shown, [&](JsonVisitor &v) {
    using T = std::decay_t<decltype(get())>;
    if (reads())
      return;
    if constexpr (std::same_as<T, llvm::json::Value>) {
      v.custom(get, [](const llvm::json::Value &, llvm::json::Path) { return true; });
    } else {
      T value = writes() ? get() : T{};
      visitValue(v, value, how...);
    }
  });
  return *this;
}

/// Exact while it fits 64 bits.
void describeCount(JsonVisitor &v, Count &count);
/// "file", "line" and "column" of an object, where the file is known.
void describeLocation(JsonFields &f, SourceLocation &location);

llvm::json::Value writeJson(llvm::function_ref<void(JsonVisitor &)> document);
/// False where something was refused, which is reported at its path.
bool readJson(const llvm::json::Value &value, llvm::json::Path path, llvm::function_ref<void(JsonVisitor &)> document,
              JsonRule rule = JsonRule::Closed);
/// JSON Schema, draft 2020-12.
llvm::json::Value describeJson(llvm::function_ref<void(JsonVisitor &)> document, JsonRule rule = JsonRule::Closed);

/// `how` describes the document, where its type alone does not.
template <typename T, typename... How> llvm::json::Value toDocument(const T &value, How &&...how) {
  return writeJson([&](JsonVisitor &v) { visitValue(v, const_cast<T &>(value), how...); }); // a writer only looks
}
template <typename T, typename... How>
bool readDocument(const llvm::json::Value &value, T &out, llvm::json::Path path, How &&...how) {
  return readJson(value, path, [&](JsonVisitor &v) { visitValue(v, out, how...); });
}
template <typename T, typename... How> llvm::json::Value schemaOf(How &&...how) {
  return describeJson([&](JsonVisitor &v) {
    T value{};
    visitValue(v, value, how...);
  });
}

} // namespace accord
