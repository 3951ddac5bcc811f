#include "lib/driver/Accord.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>

using namespace llvm;
namespace accord::inline embedding {
namespace {

/// Whether a command goes on for as long as its process.
bool isEndless(const std::vector<std::string> &arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  auto has = [&](const char *option) { return llvm::is_contained(arguments, option); };
  return !has("--help") && (name == "serve" || name == "watch" || (name == "top" && !has("--once") && !has("--json")) ||
                            (name == "run" && has("--wait")));
}

int runWithin(const std::vector<std::string> &arguments) {
  if (isEndless(arguments))
    return refuse(Code::BadCommandLine,
                  fmt::format("'{}' goes on until its process is ended: start it as a program of its own",
                              arguments.front() + (arguments.front() == "run" ? " --wait" : "")),
                  llvm::is_contained(arguments, "--json"), arguments.front());
  return runCommandLine(arguments);
}

/// The last step of a path, and what it is a step from.
[[noreturn]] void refuseStep(const json::Value &value, StringRef whole, StringRef step) {
  std::string there = "a value";
  if (const json::Object *object = value.getAsObject()) {
    std::vector<std::string> keys;
    for (const auto &member : *object)
      keys.push_back(member.first.str());
    llvm::sort(keys);
    std::string near = nearest(step, keys);
    there =
        near.empty() ? fmt::format("there are {}", llvm::join(keys, ", ")) : fmt::format("did you mean '{}'?", near);
  } else if (const json::Array *array = value.getAsArray()) {
    there = fmt::format("it is a list of {}", array->size());
  }
  throw NoSuchValue(fmt::format("there is no '{}' at '{}': {}", step.str(), whole.str(), there));
}

/// The value at a path; null, or a throw, where there is none.
const json::Value *find(const json::Value &root, StringRef path, bool throws) {
  const json::Value *value = &root;
  for (StringRef rest = path; !rest.empty();) {
    bool isIndex = rest.consume_front("[");
    if (!isIndex && rest.size() < path.size())
      rest.consume_front(".");
    StringRef step = isIndex ? rest.take_until([](char c) { return c == ']'; })
                             : rest.take_until([](char c) { return c == '.' || c == '['; });
    rest = rest.drop_front(step.size());
    size_t index = 0;
    bool isWhole = !isIndex || (rest.consume_front("]") && !step.getAsInteger(10, index));
    const json::Value *next = nullptr;
    if (const json::Array *array = value->getAsArray(); array && isIndex && isWhole && index < array->size())
      next = &(*array)[index];
    else if (const json::Object *object = value->getAsObject(); object && !isIndex)
      next = object->get(step);
    if (!next && throws)
      refuseStep(*value, path, step);
    if (!next)
      return nullptr;
    value = next;
  }
  return value;
}

template <typename T> T kindOf(std::optional<T> value, const char *kind, std::string_view path) {
  if (!value)
    throw NoSuchValue(fmt::format("the value at '{}' is no {}", path, kind));
  return *value;
}

} // namespace

Document Document::parse(const std::string &json) {
  auto value = parseJson(json, "document");
  if (!value)
    throw std::invalid_argument(llvm::toString(value.takeError()));
  return Document(std::make_shared<const json::Value>(std::move(*value)));
}

bool Document::has(std::string_view path) const { return find(*value_, path, false); }

double Document::number(std::string_view path) const {
  return kindOf(find(*value_, path, true)->getAsNumber(), "number", path);
}

int64_t Document::integer(std::string_view path) const {
  return kindOf(find(*value_, path, true)->getAsInteger(), "whole number", path);
}

bool Document::flag(std::string_view path) const {
  return kindOf(find(*value_, path, true)->getAsBoolean(), "truth value", path);
}

std::string Document::text(std::string_view path) const {
  return kindOf(find(*value_, path, true)->getAsString(), "text", path).str();
}

size_t Document::size(std::string_view path) const {
  const json::Value *value = find(*value_, path, true);
  if (const json::Array *array = value->getAsArray())
    return array->size();
  const json::Object *object = value->getAsObject();
  return kindOf(object ? std::optional(object->size()) : std::nullopt, "list or object", path);
}

std::vector<std::string> Document::keys(std::string_view path) const {
  const json::Object *object = find(*value_, path, true)->getAsObject();
  kindOf(object ? std::optional(true) : std::nullopt, "object", path);
  std::vector<std::string> all;
  for (const auto &member : *object)
    all.push_back(member.first.str());
  llvm::sort(all);
  return all;
}

bool Document::isNull(std::string_view path) const { return find(*value_, path, true)->kind() == json::Value::Null; }

Document Document::at(std::string_view path) const { return part(find(*value_, path, true)); }

Document Document::member(const std::string &key) const {
  const json::Object *object = value_->getAsObject();
  const json::Value *found = object ? object->get(key) : nullptr;
  if (!found)
    refuseStep(*value_, key, key);
  return part(found);
}

Document Document::element(size_t index) const {
  const json::Array *array = value_->getAsArray();
  if (!array || index >= array->size())
    refuseStep(*value_, "", std::to_string(index));
  return part(&(*array)[index]);
}

std::string Document::json() const { return jsonText(*value_); }

namespace {

/// What a host asks, until it throws: that ends the search, and is thrown again where the command was called.
class StopOfHost {
public:
  explicit StopOfHost(std::function<bool()> asked) : asked_(std::move(asked)) {}
  bool operator()() {
    std::lock_guard lock(mutex_);
    if (thrown_)
      return true;
    try {
      return asked_();
    } catch (...) {
      thrown_ = std::current_exception();
      return true;
    }
  }
  void rethrow() const {
    if (thrown_)
      std::rethrow_exception(thrown_);
  }

private:
  std::function<bool()> asked_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

/// Notes for the lines of descriptions that a diagnostic speaks of: where the host made them.
void noteOrigins(ReportedDiagnostic &told, const std::map<std::string, Description> &descriptions) {
  std::vector<ReportedPlace> places = {told.place};
  for (const ReportedNote &note : told.notes)
    places.push_back(note.place);
  for (const ReportedPlace &place : places)
    for (const auto &[path, description] : descriptions) {
      const bool isSame =
          std::filesystem::path(path).lexically_normal() == std::filesystem::path(place.file).lexically_normal();
      const std::optional<HostLine> made = isSame && place.line > 0 ? description.place(place.line) : std::nullopt;
      if (made)
        told.notes.push_back({"made here", {made->file_name(), made->line(), made->column(), 0, 0}});
    }
}

} // namespace

Answer run(const std::vector<std::string> &arguments, RunOptions options) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> alone(mutex);
  Answer answer;
  const bool isAsked = static_cast<bool>(options.stop);
  llvm::raw_string_ostream output(answer.output), messages(answer.messages);
  StopOfHost stop(std::move(options.stop));
  for (const auto &[path, description] : options.descriptions)
    options.files.insert_or_assign(path, description.text());
  CommandHost host{&output, &messages, std::move(options.files),
                   isAsked ? std::function<bool()>([&] { return stop(); }) : std::function<bool()>(),
                   [&](ReportedDiagnostic one) {
                     noteOrigins(one, options.descriptions);
                     answer.diagnostics.push_back(std::move(one));
                   }};
  HostScope scope(host);
  answer.status = runWithin(arguments);
  answer.stopped = wasStopped();
  stop.rethrow();
  return answer;
}

std::string version() { return kVersion; }

} // namespace accord::inline embedding
