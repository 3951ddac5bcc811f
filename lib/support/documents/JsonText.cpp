#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

using namespace llvm;
namespace accord {
namespace {

/// Keys in the order people look for them; all others follow alphabetically.
constexpr StringLiteral kOrder =
    "id schema command version status job name kind phase core instance operation start_ps duration_ps "
    "count objective value unit bound proof gap step_time_s throughput batch tensor_parallel "
    "pipeline_parallel data_parallel microbatch microbatches cycles time_s energy_J flops bytes stages "
    "memory conflict constraint file line column assumptions operations totals";
/// The same of the keywords of a schema.
constexpr StringLiteral kSchemaOrder =
    "$schema $id title $ref type const enum description minimum maximum pattern properties required "
    "additionalProperties anyOf items";

/// What an object is part of.
enum class Part : uint8_t {
  Document, ///< its keys are those of a document
  Schema,   ///< its keys are keywords
  Names,    ///< its keys are those of the document that a schema describes
};
/// What is below this key.
Part below(Part part, StringRef key) {
  if (part == Part::Document)
    return part;
  return part == Part::Schema && (key == "properties" || key == "$defs") ? Part::Names : Part::Schema;
}

unsigned rank(StringRef key, Part part) {
  auto numbered = [](StringRef keys) {
    StringMap<unsigned> map;
    for (StringRef one : split(keys, ' '))
      map.try_emplace(one, map.size());
    return map;
  };
  static const StringMap<unsigned> ofDocuments = numbered(kOrder), ofSchemas = numbered(kSchemaOrder);
  const StringMap<unsigned> &ranks = part == Part::Schema ? ofSchemas : ofDocuments;
  auto found = ranks.find(key);
  return found == ranks.end() ? ranks.size() : found->second;
}

using Member = json::Object::value_type;

SmallVector<const Member *, 16> ordered(const json::Object &object, Part part) {
  SmallVector<std::pair<unsigned, const Member *>, 16> ranked;
  for (const auto &member : object)
    ranked.push_back({rank(member.first, part), &member});
  llvm::sort(ranked, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first < b.first : StringRef(a.second->first) < StringRef(b.second->first);
  });
  return llvm::map_to_vector<16>(ranked, [](const auto &member) { return member.second; });
}

void appendString(std::string &out, StringRef text) {
  out += '"';
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20) {
      constexpr char hex[] = "0123456789abcdef";
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void appendNumber(std::string &out, const json::Value &value) {
  char buffer[32];
  std::to_chars_result end{};
  if (isTwoTo63(value))
    end = std::to_chars(buffer, std::end(buffer), uint64_t(1) << 63);
  else if (auto integer = value.getAsInteger())
    end = std::to_chars(buffer, std::end(buffer), *integer);
  else if (auto natural = value.getAsUINT64())
    end = std::to_chars(buffer, std::end(buffer), *natural);
  else if (double number = *value.getAsNumber(); std::isfinite(number))
    end = std::to_chars(buffer, std::end(buffer), number);
  else {
    out += "null";
    return;
  }
  out.append(buffer, end.ptr);
}

void appendScalar(std::string &out, const json::Value &value) {
  if (auto text = value.getAsString())
    appendString(out, *text);
  else if (auto flag = value.getAsBoolean())
    out += *flag ? "true" : "false";
  else if (value.kind() == json::Value::Number)
    appendNumber(out, value);
  else
    out += "null";
}

/// One line; false as soon as it is longer than `limit`.
bool appendFlat(std::string &out, const json::Value &value, size_t limit, StringRef comma, StringRef colon, Part part) {
  bool first = true;
  auto separate = [&] {
    if (!first)
      out += comma;
    first = false;
    return out.size() <= limit;
  };
  if (const json::Array *array = value.getAsArray()) {
    out += '[';
    for (const json::Value &element : *array)
      if (!separate() || !appendFlat(out, element, limit, comma, colon, part))
        return false;
    out += ']';
  } else if (const json::Object *object = value.getAsObject()) {
    out += '{';
    for (const auto *member : ordered(*object, part)) {
      if (!separate())
        return false;
      appendString(out, member->first);
      out += colon;
      if (!appendFlat(out, member->second, limit, comma, colon, below(part, member->first)))
        return false;
    }
    out += '}';
  } else {
    appendScalar(out, value);
  }
  return out.size() <= limit;
}

constexpr size_t kWidth = 100;

void append(std::string &out, const json::Value &value, unsigned indent, size_t column, Part part) {
  std::string flat;
  size_t room = column + 2 < kWidth ? kWidth - column - 2 : 0;
  if (appendFlat(flat, value, room, ", ", ": ", part)) {
    out += flat;
    return;
  }
  const json::Array *array = value.getAsArray();
  const json::Object *object = value.getAsObject();
  if (!array && !object) {
    appendScalar(out, value);
    return;
  }
  std::string newline = "\n" + std::string(indent + 2, ' ');
  bool first = true;
  out += array ? '[' : '{';
  auto separate = [&] {
    out += first ? "" : ",";
    out += newline;
    first = false;
  };
  if (array) {
    for (const json::Value &element : *array) {
      separate();
      append(out, element, indent + 2, indent + 2, part);
    }
  } else {
    for (const auto *member : ordered(*object, part)) {
      separate();
      appendString(out, member->first);
      out += ": ";
      append(out, member->second, indent + 2, indent + 6 + member->first.str().size(), below(part, member->first));
    }
  }
  out += "\n" + std::string(indent, ' ');
  out += array ? ']' : '}';
}

} // namespace

std::string jsonText(const json::Value &value) {
  std::string out;
  append(out, value, 0, 0, Part::Document);
  return out;
}

std::string schemaText(const json::Value &schema) {
  std::string out;
  append(out, schema, 0, 0, Part::Schema);
  return out;
}

std::string jsonLine(const json::Value &value) {
  std::string out;
  appendFlat(out, value, std::numeric_limits<size_t>::max(), ",", ":", Part::Document);
  return out;
}

json::Value jsonCount(Count count) {
  if (int64_t whole = count; whole == count)
    return whole;
  if (uint64_t whole = count; whole == count)
    return whole;
  double nearest = count;
  return nearest;
}

json::Value jsonString(StringRef text) {
  return json::isUTF8(text) ? json::Value(text.str()) : json::Value(json::fixUTF8(text));
}

} // namespace accord
