#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
namespace accord {
namespace {

class Writer final : public JsonVisitor {
public:
  explicit Writer(json::Value &out) : out(out) {}
  Mode mode() const override { return Mode::Write; }
  void text(std::string &value) override { out = jsonString(value); }
  void flag(bool &value) override { out = value; }
  void number(double &value) override { out = value; }
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
  void custom(function_ref<json::Value()> write, function_ref<bool(const json::Value &, Path)>) override {
    out = write();
  }

private:
  json::Value &out;
};

class FieldWriter final : public JsonFields {
public:
  Mode mode() const override { return Mode::Write; }
  void visit(StringLiteral key, bool, bool shown, function_ref<void(JsonVisitor &)> value) override {
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

/// What is common to all values of one document.
struct ReadState {
  JsonRule rule;
  bool ok = true; ///< false once something was refused; nothing more is reported then
};

class Reader final : public JsonVisitor {
public:
  Reader(const json::Value &value, Path path, ReadState &state) : value(value), path(path), state(state) {}
  Mode mode() const override { return Mode::Read; }

  void text(std::string &out) override {
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
  void number(double &out) override {
    auto number = value.getAsNumber();
    if (!number)
      refuse("expected number");
    else if (state.rule == JsonRule::Closed && (!(*number >= 0) || *number > std::numeric_limits<double>::max()))
      refuse("expected a finite number that is not negative");
    else
      out = *number;
  }
  void integer(int64_t &out, std::optional<IntegerRange> range, IntegerRange ofType) override {
    // The largest number of 32 bits stands for "none" wherever there are indices.
    constexpr int64_t kMaxId = std::numeric_limits<uint32_t>::max() - 1;
    if (!range)
      range = state.rule == JsonRule::Open                         ? ofType
              : ofType.max == std::numeric_limits<uint32_t>::max() ? IntegerRange{0, kMaxId}
                                                                   : IntegerRange{};
    auto number = value.getAsInteger();
    if (!number)
      refuse("expected integer");
    else if (*number < range->min || *number > range->max)
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
  void custom(function_ref<json::Value()>, function_ref<bool(const json::Value &, Path)> read) override {
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
  void visit(StringLiteral key, bool required, bool, function_ref<void(JsonVisitor &)> read) override {
    if (!state.ok)
      return;
    keys.push_back(key);
    if (const json::Value *value = object.get(key)) {
      Reader one(*value, path.field(key), state);
      read(one);
    } else {
      check(key, !required, "missing value");
    }
  }
  bool isOpen() const override { return state.rule == JsonRule::Open; }
  bool has(StringRef key) const override { return object.get(key); }
  JsonFields &check(StringLiteral key, bool holds, StringLiteral message) override {
    if (state.ok && !holds) {
      path.field(key).report(message);
      state.ok = false;
    }
    return *this;
  }
  void end() {
    if (state.rule == JsonRule::Open)
      return;
    for (const auto &member : object)
      if (state.ok && !is_contained(keys, StringRef(member.first))) {
        path.field(member.first).report("unknown key");
        state.ok = false;
      }
  }

private:
  const json::Object &object;
  JsonVisitor::Path path;
  ReadState &state;
  SmallVector<StringRef, 24> keys;
};

void Reader::object(function_ref<void(JsonFields &)> fields) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return refuse("expected object");
  FieldReader reader(*object, path, state);
  fields(reader);
  reader.end();
}

class Describer final : public JsonVisitor {
public:
  explicit Describer(JsonRule rule) : rule(rule) {}
  Mode mode() const override { return Mode::Describe; }
  void text(std::string &) override { type("string"); }
  void flag(bool &) override { type("boolean"); }
  void number(double &) override {
    type("number");
    if (rule == JsonRule::Closed)
      schema["minimum"] = 0;
  }
  void integer(int64_t &, std::optional<IntegerRange> range, IntegerRange ofType) override {
    type("integer");
    if (range && range->min == range->max) {
      schema = json::Object{{"const", range->min}};
      return;
    }
    if (range && range->max < IntegerRange().max)
      schema["maximum"] = range->max;
    if (int64_t min = range                      ? range->min
                      : rule == JsonRule::Closed ? 0
                                                 : ofType.min;
        min > std::numeric_limits<int32_t>::min())
      schema["minimum"] = min;
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
    Describer one(rule);
    element(0, one);
    if (!one.schema.empty())
      schema["items"] = one.take();
  }
  void fixedArray(size_t size, StringLiteral, function_ref<void(size_t, JsonVisitor &)>) override {
    type("array");
    schema["minItems"] = size;
    schema["maxItems"] = size;
  }
  void map(ArrayRef<StringRef>, function_ref<void(StringRef, JsonVisitor &)> entry) override {
    type("object");
    Describer one(rule);
    entry("", one);
    schema["additionalProperties"] = one.take();
  }
  void custom(function_ref<json::Value()>, function_ref<bool(const json::Value &, Path)>) override {}

  json::Value take() {
    if (json::Value *type = nullable ? schema.get("type") : nullptr)
      *type = json::Array{std::move(*type), "null"};
    return std::move(schema);
  }

private:
  void type(StringLiteral name) { schema["type"] = name; }

  JsonRule rule;
  json::Object schema;
  bool nullable = false;
};

class FieldDescriber final : public JsonFields {
public:
  explicit FieldDescriber(JsonRule rule) : rule(rule) {}
  Mode mode() const override { return Mode::Describe; }
  void visit(StringLiteral key, bool needed, bool, function_ref<void(JsonVisitor &)> value) override {
    Describer one(rule);
    value(one);
    json::Value described = one.take();
    if (!text.empty())
      (*described.getAsObject())["description"] = text;
    text = "";
    properties[key] = std::move(described);
    if (needed)
      required.push_back(key);
  }
  JsonFields &about(StringLiteral what) override {
    text = what;
    return *this;
  }

  json::Object properties;
  json::Array required;

private:
  JsonRule rule;
  StringRef text;
};

void Describer::object(function_ref<void(JsonFields &)> fields) {
  FieldDescriber all(rule);
  fields(all);
  type("object");
  schema["properties"] = std::move(all.properties);
  if (!all.required.empty())
    schema["required"] = std::move(all.required);
  if (rule == JsonRule::Closed)
    schema["additionalProperties"] = false;
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
  Describer describer(rule);
  document(describer);
  return describer.take();
}

} // namespace accord
