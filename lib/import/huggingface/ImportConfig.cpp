#include "lib/import/huggingface/ImportConfig.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace llvm;

namespace accord::import {

Config::Config(Diagnostics &diags, FileId file) : diags(diags), file(file) {
  StringRef text = diags.sources().text(file);
  auto parsed = readJsonText(text);
  SourceRange start{file, 0, text.empty() ? 0u : 1u};
  if (!parsed) {
    const JsonError &error = parsed.error();
    auto placeAt = [&](size_t at) { // a key in its quotes, else one character
      auto begin = static_cast<uint32_t>(at), last = static_cast<uint32_t>(text.size());
      size_t end = error.first ? text.find('"', at + 1) + 1 : at + 1;
      return SourceRange{file, begin, std::min(static_cast<uint32_t>(end), last)};
    };
    auto reported =
        diags.error(error.first ? Code::ImportSetting : Code::SyntaxError, placeAt(error.at), error.message);
    if (error.first)
      reported.note(placeAt(*error.first), "the first one");
    return;
  }
  document = std::move(*parsed);
  settings = document->getAsObject();
  if (!settings)
    diags.error(Code::ImportSetting, start, "expected a JSON object of settings");
}

Config::Config(Config &outer, StringRef key)
    : diags(outer.diags), file(outer.file), errorsBefore(outer.errorsBefore), begin(outer.placeOf(key).begin) {
  settings = outer.object(key);
  if (!settings && !outer.has(key))
    diags.error(Code::ImportSetting, {file, 0, 1}, fmt::format("the configuration says no '{}'", key.str()));
}

SourceRange Config::placeOf(StringRef key) const {
  StringRef text = diags.sources().text(file);
  size_t at = text.find(("\"" + key + "\"").str(), begin);
  if (at == StringRef::npos)
    return {file, 0, text.empty() ? 0u : 1u};
  return {file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + key.size() + 2)};
}

const json::Value *Config::find(StringRef key) {
  readKeys.insert(key.str());
  const json::Value *value = settings->get(key);
  if (value && value->kind() != json::Value::Null)
    return value;
  auto assumed = defaults.find(key.str());
  return assumed == defaults.end() ? nullptr : &assumed->second;
}

/// The beginning of a value as JSON.
static std::string written(const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  return text.substr(0, 60);
}

void Config::reportInvalid(StringRef key, const std::string &expected) {
  const json::Value *value = find(key);
  std::string found = value ? fmt::format(", found {}", written(*value)) : "";
  diags.error(Code::ImportSetting, placeOf(key), fmt::format("'{}' must be {}{}", key.str(), expected, found));
}

int64_t Config::integer(ArrayRef<StringRef> keys, std::optional<int64_t> missing, int64_t min) {
  constexpr int64_t kMax = int64_t(1) << 31; // keeps products of two within 64 bits
  const json::Value *value = nullptr;
  StringRef key = keys.front();
  for (StringRef one : keys)
    if (const json::Value *here = find(one); here && !value) {
      value = here;
      key = one;
    }
  if (!value) {
    if (!missing)
      diags.error(Code::ImportSetting, {file, 0, 1},
                  fmt::format("the configuration says no '{}'", fmt::join(keys, "' nor '")));
    return missing.value_or(min);
  }
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= min && *number <= kMax)
    return *number;
  reportInvalid(key, fmt::format("a whole number from {} to 2^31", min));
  return min;
}

std::string Config::number(StringRef key, double missing) {
  const json::Value *value = find(key);
  std::optional<double> number = value ? value->getAsNumber() : missing;
  if (!number || !std::isfinite(*number) || *number < 0) {
    reportInvalid(key, "a number of at least 0");
    number = missing;
  }
  return fmt::format("{}", *number);
}

std::string Config::rate(StringRef key, double missing) {
  std::string found = number(key, missing);
  double value = 0;
  if (!StringRef(found).getAsDouble(value) && value < 1)
    return found;
  reportInvalid(key, "a number of at least 0 and below 1");
  return "0";
}

bool Config::flag(StringRef key, bool missing) {
  const json::Value *value = find(key);
  if (!value)
    return missing;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  reportInvalid(key, "true or false");
  return missing;
}

std::string Config::text(StringRef key, StringRef missing) {
  const json::Value *value = find(key);
  if (!value)
    return missing.str();
  if (std::optional<StringRef> text = value->getAsString())
    return text->str();
  reportInvalid(key, "a text");
  return missing.str();
}

const json::Array *Config::list(StringRef key) {
  const json::Value *value = find(key);
  if (!value || !value->getAsArray())
    reportInvalid(key, "a list");
  return value ? value->getAsArray() : nullptr;
}

const json::Object *Config::object(StringRef key) {
  const json::Value *value = find(key);
  if (value && !value->getAsObject())
    reportInvalid(key, "an object of settings");
  return value ? value->getAsObject() : nullptr;
}

std::string Config::numberIn(const json::Object *of, StringRef key, double missing) {
  const json::Value *value = of ? of->get(key) : nullptr;
  std::optional<double> number = value && value->kind() != json::Value::Null ? value->getAsNumber() : missing;
  if (!number || !std::isfinite(*number) || *number < 0) {
    diags.error(Code::ImportSetting, placeOf(key),
                fmt::format("'{}' must be a number of at least 0, found {}", key.str(), written(*value)));
    number = missing;
  }
  return fmt::format("{}", *number);
}

bool Config::has(StringRef key) { return find(key) != nullptr; }

bool Config::says(StringRef key, StringRef word) {
  const json::Value *value = find(key);
  return value && value->getAsString() == std::optional<StringRef>(word);
}

void Config::ignore(ArrayRef<StringRef> keys) {
  for (StringRef key : keys)
    readKeys.insert(key.str());
}

void Config::unsupported(StringRef key, const std::string &reason) {
  diags.error(Code::ImportUnsupported, placeOf(key), reason);
}

void Config::expect(bool holds, StringRef key, const std::string &expected) {
  if (!holds && diags.errors() == errorsBefore)
    reportInvalid(key, expected);
}

std::vector<std::string> Config::unread() const {
  std::vector<std::string> keys;
  for (const auto &[key, value] : *settings)
    if (!readKeys.count(key.str()))
      keys.push_back(key.str());
  std::sort(keys.begin(), keys.end());
  return keys;
}

} // namespace accord::import
