#include "lib/support/documents/Fields.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>

using namespace llvm;
namespace accord {
namespace {

class Writer final : public JsonVisitor {
public:
  explicit Writer(json::Value &out) : out(out) {}
  Mode mode() const override { return Mode::Write; }
  void text(std::string &value, StringLiteral) override { out = jsonString(value); }
  void flag(bool &value) override { out = value; }
  void number(double &value, std::optional<NumberRange>) override { out = value; }
  void integer(int64_t &value, std::optional<IntegerRange>, IntegerRange) override { out = value; }
  void natural(uint64_t &value) override { out = value; }
  void word(size_t &index, ArrayRef<StringRef> words, StringLiteral) override { out = words[index]; }
  bool null(bool isNull) override {
    if (isNull)
      out = nullptr;
    return isNull;
  }
  void object(function_ref<void(JsonFields &)> fields) override;
  void array(size_t size, StringLiteral, function_ref<bool(size_t)>,
             function_ref<void(size_t, JsonVisitor &)> element) override {
    json::Array all;
    all.reserve(size);
    for (size_t i = 0; i < size; ++i) {
      all.emplace_back(nullptr);
      Writer one(all.back());
      element(i, one);
    }
    out = std::move(all);
  }
  void fixedArray(size_t size, StringLiteral, function_ref<void(size_t, JsonVisitor &)> element) override {
    array(size, "", [](size_t) { return true; }, element);
  }
  void map(ArrayRef<StringRef> keys, function_ref<void(StringRef, JsonVisitor &)> entry) override {
    json::Object all;
    for (StringRef key : keys) {
      Writer one(all[json::ObjectKey(json::fixUTF8(key))]);
      entry(key, one);
    }
    out = std::move(all);
  }
  void custom(function_ref<json::Value()> write, function_ref<bool(const json::Value &, Path)>,
              StringLiteral) override {
    out = write();
  }

private:
  json::Value &out;
};

class FieldWriter final : public JsonFields {
public:
  Mode mode() const override { return Mode::Write; }
  void visit(StringRef key, bool, bool shown, function_ref<void(JsonVisitor &)> value) override {
    if (!shown)
      return;
    Writer one(object[key]);
    value(one);
  }
  json::Object object;
};

void Writer::object(function_ref<void(JsonFields &)> fields) {
  FieldWriter writer;
  fields(writer);
  out = std::move(writer.object);
}

IntegerRange rangeOf(JsonRule rule, std::optional<IntegerRange> range, IntegerRange ofType) {
  // The largest number of 32 bits stands for "none" wherever there are indices.
  constexpr int64_t kNoId = std::numeric_limits<uint32_t>::max();
  if (range)
    return {std::max(range->min, ofType.min), std::min(range->max, ofType.max)};
  if (rule == JsonRule::Open)
    return ofType;
  return {0, ofType.max == kNoId ? kNoId - 1 : std::min(ofType.max, IntegerRange().max)};
}

/// What is common to all values of one document.
struct ReadState {
  JsonRule rule;
  bool ok = true; ///< false once something was refused; nothing more is reported then
};

class Reader final : public JsonVisitor {
public:
  Reader(const json::Value &value, Path path, ReadState &state) : value(value), path(path), state(state) {}
  Mode mode() const override { return Mode::Read; }

  void text(std::string &out, StringLiteral) override {
    if (auto text = value.getAsString())
      out = text->str();
    else
      refuse("expected string");
  }
  void flag(bool &out) override {
    if (auto flag = value.getAsBoolean())
      out = *flag;
    else
      refuse("expected boolean");
  }
  void number(double &out, std::optional<NumberRange> range) override {
    auto number = value.getAsNumber();
    if (!number)
      refuse("expected number");
    else if (state.rule == JsonRule::Closed && range &&
             (!std::isfinite(*number) || *number < range->min || *number > range->max ||
              (range->open && *number == range->min)))
      refuse("number out of range");
    else if (!range && state.rule == JsonRule::Closed &&
             (!(*number >= 0) || *number > std::numeric_limits<double>::max()))
      refuse("expected a finite number that is not negative");
    else
      out = *number;
  }
  void integer(int64_t &out, std::optional<IntegerRange> range, IntegerRange ofType) override {
    IntegerRange allowed = rangeOf(state.rule, state.rule == JsonRule::Open ? std::nullopt : range, ofType);
    auto number = value.getAsInteger();
    if (!number)
      refuse("expected integer");
    else if (*number < allowed.min || *number > allowed.max)
      refuse("integer out of range");
    else
      out = *number;
  }
  void natural(uint64_t &out) override {
    if (auto number = value.getAsUINT64())
      out = *number;
    else
      refuse("expected integer that is not negative");
  }
  void word(size_t &index, ArrayRef<StringRef> words, StringLiteral expected) override {
    auto text = value.getAsString();
    const StringRef *found = text ? find(words, *text) : words.end();
    if (found == words.end())
      refuse(expected);
    else
      index = found - words.begin();
  }
  bool null(bool) override { return value.getAsNull().has_value(); }
  void object(function_ref<void(JsonFields &)> fields) override;
  void array(size_t, StringLiteral expected, function_ref<bool(size_t)> resize,
             function_ref<void(size_t, JsonVisitor &)> element) override {
    const json::Array *array = value.getAsArray();
    if (!array || !resize(array->size()))
      return refuse(expected);
    for (size_t i = 0; state.ok && i < array->size(); ++i) {
      Reader one((*array)[i], path.index(i), state);
      element(i, one);
    }
  }
  void fixedArray(size_t size, StringLiteral expected, function_ref<void(size_t, JsonVisitor &)> element) override {
    array(size, expected, [&](size_t found) { return found == size; }, element);
  }
  void map(ArrayRef<StringRef>, function_ref<void(StringRef, JsonVisitor &)> entry) override {
    const json::Object *object = value.getAsObject();
    if (!object)
      return refuse("expected object");
    for (const auto &member : *object)
      if (state.ok) {
        Reader one(member.second, path.field(member.first), state);
        entry(member.first, one);
      }
  }
  void custom(function_ref<json::Value()>, function_ref<bool(const json::Value &, Path)> read, StringLiteral) override {
    state.ok = state.ok && read(value, path);
  }
  void check(function_ref<bool(Path)> holds) override { state.ok = state.ok && holds(path); }

private:
  void refuse(StringLiteral message) {
    if (state.ok)
      path.report(message);
    state.ok = false;
  }

  const json::Value &value;
  Path path;
  ReadState &state;
};

class FieldReader final : public JsonFields {
public:
  FieldReader(const json::Object &object, JsonVisitor::Path path, ReadState &state)
      : object(object), path(path), state(state) {}
  Mode mode() const override { return Mode::Read; }
  void visit(StringRef key, bool required, bool, function_ref<void(JsonVisitor &)> read) override {
    keys.push_back(key);
    if (!state.ok)
      return;
    if (const json::Value *value = object.get(key)) {
      Reader one(*value, path.field(key), state);
      read(one);
    } else if (required) {
      missing = key;
      state.ok = false;
    }
  }
  bool isOpen() const override { return state.rule == JsonRule::Open; }
  bool has(StringRef key) const override { return object.get(key); }
  JsonFields &check(StringRef key, bool holds, StringLiteral message) override {
    if (state.ok && !holds) {
      path.field(key).report(message);
      state.ok = false;
    }
    return *this;
  }
  /// Behind the last field: reports a value that is missing, unless a key that nobody knows is like it; else unknown
  /// keys.
  void end() {
    bool isClosed = state.rule == JsonRule::Closed && state.ok;
    if (!isClosed && missing.empty())
      return;
    std::vector<std::string> absent;
    for (StringRef key : keys)
      if (!object.get(key))
        absent.push_back(key.str());
    for (const auto &member : object) {
      StringRef key = member.first;
      if (is_contained(keys, key))
        continue;
      std::string meant = nearest(key, absent);
      if (missing.empty() || meant == missing) {
        path.field(key).report(unknownKey(meant));
        state.ok = false;
        return;
      }
    }
    if (!missing.empty())
      path.field(missing).report("missing value");
  }

private:
  /// A path keeps no copy of its message. There are no more of these than keys in the descriptions of documents.
  static StringLiteral unknownKey(const std::string &meant) {
    static std::mutex mutex;
    static std::map<std::string, std::string> messages;
    std::scoped_lock lock(mutex);
    std::string &message = messages[meant];
    if (message.empty())
      message = meant.empty() ? "unknown key" : "unknown key (did you mean '" + meant + "'?)";
    StringLiteral literal("");
    static_cast<StringRef &>(literal) = message;
    return literal;
  }

  const json::Object &object;
  JsonVisitor::Path path;
  ReadState &state;
  SmallVector<StringRef, 24> keys;
  StringRef missing; ///< the first key that is required and not there
};

void Reader::object(function_ref<void(JsonFields &)> fields) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return refuse("expected object");
  FieldReader reader(*object, path, state);
  fields(reader);
  reader.end();
}

/// What is common to all values of one schema. It is described twice: first the occurrences of each type are counted,
/// then those of several become definitions.
struct DescribeState {
  struct Type {
    unsigned uses = 0;
    bool isLarge = false; ///< too long to be repeated
    std::string definition = {};
  };
  JsonRule rule;
  bool counts = true;
  StringMap<Type> types = {};
  json::Object definitions = {};

  /// Names the types that become definitions.
  void endCount();
};

class Describer final : public JsonVisitor {
public:
  explicit Describer(DescribeState &state) : state(state) {}
  Mode mode() const override { return Mode::Describe; }
  void text(std::string &, StringLiteral pattern) override {
    type("string");
    if (!pattern.empty())
      schema["pattern"] = pattern;
  }
  void flag(bool &) override { type("boolean"); }
  void number(double &, std::optional<NumberRange> range) override {
    type("number");
    NumberRange all = range.value_or(state.rule == JsonRule::Open ? kAnyNumber : NumberRange());
    if (std::isfinite(all.min))
      schema[all.open ? "exclusiveMinimum" : "minimum"] = all.min;
    if (std::isfinite(all.max))
      schema["maximum"] = all.max;
  }
  void integer(int64_t &, std::optional<IntegerRange> range, IntegerRange ofType) override {
    if (range && range->min == range->max) {
      schema = json::Object{{"const", range->min}};
      return;
    }
    type("integer");
    if (!range && state.rule == JsonRule::Open)
      return;
    IntegerRange all = rangeOf(state.rule, range, ofType);
    if (all.min > kAnyInteger.min)
      schema["minimum"] = all.min;
    if (all.max < kAnyInteger.max)
      schema["maximum"] = all.max;
  }
  void natural(uint64_t &) override {
    type("integer");
    schema["minimum"] = 0;
  }
  void word(size_t &, ArrayRef<StringRef> words, StringLiteral) override {
    if (words.size() == 1)
      schema["const"] = words[0];
    else
      schema["enum"] = json::Array(words);
  }
  bool null(bool) override {
    nullable = true;
    return false;
  }
  void object(function_ref<void(JsonFields &)> fields) override;
  void array(size_t, StringLiteral, function_ref<bool(size_t)> resize,
             function_ref<void(size_t, JsonVisitor &)> element) override {
    type("array");
    (void)resize(2);
    Describer one(state);
    element(0, one);
    if (!one.schema.empty())
      schema["items"] = one.take();
  }
  void fixedArray(size_t size, StringLiteral, function_ref<void(size_t, JsonVisitor &)> element) override {
    type("array");
    schema["minItems"] = size;
    schema["maxItems"] = size;
    json::Array items;
    for (size_t i = 0; i < size; ++i) {
      Describer one(state);
      element(i, one);
      items.push_back(one.take());
    }
    if (!items.empty() && all_equal(items))
      schema["items"] = std::move(items.front());
    else
      schema["prefixItems"] = std::move(items);
  }
  void map(ArrayRef<StringRef>, function_ref<void(StringRef, JsonVisitor &)> entry) override {
    type("object");
    Describer one(state);
    entry("", one);
    schema["additionalProperties"] = one.take();
  }
  void custom(function_ref<json::Value()>, function_ref<bool(const json::Value &, Path)>, StringLiteral name) override {
    if (!name.empty())
      type(name);
  }
  void named(StringRef name, function_ref<void(JsonVisitor &)> value) override;
  void notEmpty() override {
    StringRef kind = schema.getString("type").value_or("");
    auto min = schema.getNumber("minimum");
    if (kind == "boolean")
      schema = json::Object{{"const", true}};
    else if (kind == "array" && !schema.get("minItems"))
      schema["minItems"] = 1;
    else if (kind == "integer" && min == 0.0)
      schema["minimum"] = 1;
    else if (kind == "number" && min == 0.0 && schema.erase("minimum"))
      schema["exclusiveMinimum"] = 0;
  }

  json::Value take() {
    if (!nullable)
      return std::move(schema);
    if (json::Value *type = schema.get("type"))
      *type = json::Array{std::move(*type), "null"};
    else if (json::Array *words = schema.getArray("enum"))
      words->push_back(nullptr);
    else if (!schema.empty())
      return json::Object{{"anyOf", json::Array{std::move(schema), json::Object{{"type", "null"}}}}};
    return std::move(schema);
  }

private:
  void type(StringLiteral name) { schema["type"] = name; }

  DescribeState &state;
  json::Object schema;
  bool nullable = false;
};

class FieldDescriber final : public JsonFields {
public:
  FieldDescriber(DescribeState &state, size_t form) : state(state), form(form) {}
  Mode mode() const override { return Mode::Describe; }
  void visit(StringRef key, bool needed, bool, function_ref<void(JsonVisitor &)> value) override {
    Describer one(state);
    value(one);
    json::Value described = one.take();
    for (auto &[name, keyword] : std::exchange(next, {})) {
      (*described.getAsObject())[name] = keyword;
      if (keyword.kind() == json::Value::Null)
        described.getAsObject()->erase(name);
    }
    properties[key] = std::move(described);
    if (needed)
      required.push_back(key);
  }
  bool has(StringRef) const override { return asked++ == form; }
  JsonFields &about(StringLiteral text, std::initializer_list<SchemaKeyword> more) override {
    next = more;
    if (!text.empty())
      next.push_back({"description", text});
    return *this;
  }
  JsonFields &when(StringLiteral key, StringLiteral word, std::initializer_list<StringLiteral> required) override {
    conditions.push_back(json::Object{{"properties", json::Object{{key, json::Object{{"const", word}}}}},
                                      {"required", json::Array(ArrayRef(required))}});
    return *this;
  }
  /// Whether there may be a form after this one.
  bool hasAsked() const { return asked > form; }
  json::Object take() {
    json::Object schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty())
      schema["required"] = std::move(required);
    if (!conditions.empty())
      schema["anyOf"] = std::move(conditions);
    schema["additionalProperties"] = false; // a reader may pass over keys of a newer program, a writer has none
    return schema;
  }

private:
  DescribeState &state;
  size_t form;              ///< the question of `has` that is answered with yes
  mutable size_t asked = 0; ///< how many were put
  json::Object properties;
  json::Array required, conditions;
  std::vector<SchemaKeyword> next;
};

void Describer::object(function_ref<void(JsonFields &)> fields) {
  json::Array forms;
  for (bool more = true; more;) {
    FieldDescriber all(state, forms.size());
    fields(all);
    more = all.hasAsked();
    forms.push_back(all.take());
  }
  schema = forms.size() == 1 ? std::move(*forms.front().getAsObject()) : json::Object{{"anyOf", std::move(forms)}};
}

void Describer::named(StringRef name, function_ref<void(JsonVisitor &)> value) {
  DescribeState::Type &type = state.types[name];
  if (state.counts) {
    if (++type.uses > 1)
      return;
    value(*this);
    type.isLarge = jsonLine(json::Object(schema)).size() > 80;
    return;
  }
  if (type.definition.empty())
    return value(*this);
  schema["$ref"] = "#/$defs/" + type.definition;
  if (state.definitions.get(type.definition))
    return;
  state.definitions[type.definition] = nullptr; // while it is described
  Describer one(state);
  value(one);
  state.definitions[type.definition] = one.take();
}

/// "accord::(anonymous namespace)::PlacementProblem::Link" is link, or with `long` placement_problem_link.
std::string definitionName(StringRef type, bool longer) {
  auto [outer, last] = type.rsplit("::");
  if (last.empty())
    std::swap(outer, last);
  std::string words = (longer ? outer.rsplit("::").second + last : last).str(), name;
  for (char c : words) {
    if (isUpper(c) && !name.empty())
      name += '_';
    if (isAlnum(c))
      name += toLower(c);
  }
  return name;
}

void DescribeState::endCount() {
  counts = false;
  StringMap<unsigned> taken;
  for (bool longer : {false, true})
    for (auto &[name, type] : types) {
      if (type.uses < 2 || !type.isLarge)
        continue;
      if (!longer)
        ++taken[definitionName(name, longer)];
      type.definition = definitionName(name, longer && taken[definitionName(name, false)] > 1);
    }
}

} // namespace

JsonFields &JsonFields::constant(StringLiteral key, StringLiteral value, StringLiteral wrong) {
  std::string text = value.str();
  visit(key, true, true, [&](JsonVisitor &v) {
    size_t index = 0;
    if (mode() == Mode::Describe)
      v.word(index, {value}, wrong);
    else
      v.text(text);
  });
  return check(key, text == value, wrong);
}

JsonFields &JsonFields::constant(StringLiteral key, int64_t value, StringLiteral wrong) {
  int64_t found = value;
  visit(key, true, true, [&](JsonVisitor &v) {
    if (reads())
      visitValue(v, found, kAnyInteger);
    else
      visitValue(v, found, IntegerRange{value, value});
  });
  return check(key, found == value, wrong);
}

JsonFields &JsonFields::head(StringRef command, StringRef status, ArrayRef<StringRef> words) {
  auto one = [&](StringLiteral key, function_ref<void(JsonVisitor &)> value) {
    visit(key, !reads(), true, [&](JsonVisitor &v) {
      if (!reads())
        value(v);
    });
  };
  one("command", [&](JsonVisitor &v) {
    size_t index = 0;
    std::string any;
    command.empty() ? v.text(any) : v.word(index, command, "");
  });
  about("version of accord that wrote this");
  one("version", [&](JsonVisitor &v) {
    std::string version = kVersion;
    v.text(version);
  });
  one("status", [&](JsonVisitor &v) {
    size_t index = find(words, status) - words.begin();
    v.word(index, words, "");
  });
  return *this;
}

void describeCount(JsonVisitor &v, Count &count) {
  double rounded = count;
  uint64_t exact = count;
  if (v.mode() == JsonVisitor::Mode::Write && exact == count)
    v.natural(exact);
  else
    v.number(rounded);
}

void describeLocation(JsonFields &f, SourceLocation &location) {
  bool known = !location.file.empty();
  f.maybe("file", location.file).maybeIf(known, "line", location.line).maybeIf(known, "column", location.column);
}

json::Value writeJson(function_ref<void(JsonVisitor &)> document) {
  json::Value value = nullptr;
  Writer writer(value);
  document(writer);
  return value;
}

bool readJson(const json::Value &value, json::Path path, function_ref<void(JsonVisitor &)> document, JsonRule rule) {
  ReadState state{rule};
  Reader reader(value, path, state);
  document(reader);
  return state.ok;
}

json::Value describeJson(function_ref<void(JsonVisitor &)> document, JsonRule rule) {
  DescribeState state{rule};
  Describer first(state);
  document(first);
  state.endCount();
  Describer second(state);
  document(second);
  json::Value schema = second.take();
  if (!state.definitions.empty())
    (*schema.getAsObject())["$defs"] = std::move(state.definitions);
  return schema;
}

} // namespace accord
