// What a submission may say, and how one that anybody may have written is read.
#include "lib/service/problem/ServiceJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <set>

using namespace llvm;
namespace accord::service {
namespace {

/// At most so much of what was found stands in a message, without control characters.
std::string shown(StringRef text) {
  std::string out;
  for (unsigned char c : text.take_front(60))
    out += c < 32 || c == 127 ? '?' : char(c);
  return json::fixUTF8(out) + (text.size() > 60 ? "…" : "");
}

bool isName(StringRef text) {
  return !text.empty() && text.size() <= kMaxNameLength &&
         all_of(text, [](char c) { return isAlnum(c) || c == '_' || c == '-' || c == '.'; });
}

/// Text that databases, environments and command lines can hold.
bool isText(StringRef text) { return !text.contains('\0') && json::isUTF8(text); }

class Check {
public:
  explicit Check(const Submission &submission) : all(submission) {}
  Errors run() {
    names();
    command();
    files();
    measured();
    work();
    devices();
    return std::move(errors);
  }

private:
  void add(std::string message) { errors.push_back({Code::WrongServiceRequest, std::move(message)}); }
  void wrong(StringRef key, std::string found, StringRef allowed) {
    add(fmt::format("'{}' is {}, allowed {}", key.str(), found, allowed.str()));
  }
  void text(StringRef key, StringRef value, size_t max) {
    if (!isText(value))
      wrong(key, fmt::format("'{}'", shown(value)), "is UTF-8 without NUL");
    else if (value.size() > max)
      wrong(key, fmt::format("of {} bytes", value.size()), fmt::format("are {}", max));
  }
  void number(StringRef key, double value, double min, double max) {
    if (!(value >= min && value <= max))
      wrong(key, fmt::format("{}", value), fmt::format("is {} to {}", min, max));
  }
  void positive(StringRef key, double value, double max) {
    if (!(value > 0 && value <= max))
      wrong(key, fmt::format("{}", value), fmt::format("is above 0 to {}", max));
  }
  void integer(StringRef key, int64_t value, int64_t min, int64_t max) {
    if (value < min || value > max)
      wrong(key, fmt::format("{}", value), fmt::format("is {} to {}", min, max));
  }
  void count(StringRef key, size_t found, size_t max) {
    if (found > max)
      wrong(key, fmt::format("a list of {}", found), fmt::format("are {}", max));
  }

  void names();
  void command();
  void files();
  void file(StringRef path, StringRef content);
  void measured();
  void work();
  void devices();

  const Submission &all;
  Errors errors;
};

void Check::names() {
  constexpr StringLiteral kName = "are 1 to 60 letters, digits, '_', '-' and '.'";
  if (!isName(all.name))
    wrong("name", fmt::format("'{}'", shown(all.name)), kName);
  if (!all.tenant.empty() && !isName(all.tenant))
    wrong("tenant", fmt::format("'{}'", shown(all.tenant)), kName);
  text("train", all.train, kMaxKeyLength);
  text("key", all.key, kMaxKeyLength);
}

void Check::command() {
  if (all.command.empty() || all.command.front().empty())
    add("'command' is empty, allowed is a program and its arguments");
  count("command", all.command.size(), kMaxCommandWords);
  for (const std::string &word : all.command)
    text("command", word, kMaxSubmittedBytes);
  if (!all.directory.empty() && (all.directory[0] != '/' || StringRef(all.directory).contains('\n')))
    wrong("directory", fmt::format("'{}'", shown(all.directory)), "is an absolute path");
  text("directory", all.directory, 4'096);
  count("environment", all.environment.size(), kMaxListed);
  for (const auto &[name, value] : all.environment) {
    bool isVariable = !name.empty() && name.size() <= kMaxKeyLength && !isDigit(name[0]) &&
                      all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
    if (!isVariable)
      wrong("environment", fmt::format("'{}'", shown(name)), "are names of letters, digits and '_'");
    else if (StringRef(name).starts_with("ACCORD_"))
      wrong("environment", fmt::format("'{}'", name), "are names that do not begin with 'ACCORD_'");
    text("environment." + name, value, kMaxSubmittedBytes);
  }
}

void Check::file(StringRef path, StringRef content) {
  SmallVector<StringRef> parts;
  path.split(parts, '/');
  bool isPlain = all_of(parts, [](StringRef part) { return !part.empty() && part != "." && part != ".."; });
  if (!isText(path) || !isPlain || path.size() > 1'024 || path.contains('\\') ||
      any_of(path, [](char c) { return static_cast<unsigned char>(c) < 32; }))
    wrong("files", fmt::format("'{}'", shown(path)), "are relative paths without '..'");
  text(("files." + path).str(), content, kMaxSubmittedBytes);
}

void Check::files() {
  count("files", all.files.size(), kMaxSubmittedFiles);
  size_t bytes = 0;
  for (const auto &[path, content] : all.files) {
    file(path, content);
    bytes += path.size() + content.size();
  }
  for (const std::string &word : all.command)
    bytes += word.size();
  for (const auto &[name, value] : all.environment)
    bytes += name.size() + value.size();
  if (bytes > kMaxSubmittedBytes)
    wrong("files", fmt::format("of {} bytes with the command and its environment", bytes),
          fmt::format("are {}", kMaxSubmittedBytes));
  if (all.main.empty() && !all.files.empty())
    add("'main' is empty, allowed is one of 'files'");
  if (!all.main.empty() && !all.files.contains(all.main))
    wrong("main", fmt::format("'{}'", shown(all.main)), "is one of 'files'");
  if (all.main.empty() && !all.train.empty())
    wrong("train", fmt::format("'{}'", shown(all.train)), "only with 'main'");
}

void Check::measured() {
  count("measured", all.measured.size(), kMaxListed);
  std::set<std::pair<std::string, int64_t>> seen;
  for (const MeasuredConfiguration &one : all.measured) {
    if (!isName(one.deviceType))
      wrong("measured.device_type", fmt::format("'{}'", shown(one.deviceType)), "is the name of a device type");
    integer("measured.devices", one.devices, 1, kMaxServedDevices);
    positive("measured.samples_per_s", one.rate, kMaxSamples);
    if (!seen.emplace(one.deviceType, one.devices).second)
      wrong("measured", fmt::format("twice of {} '{}'", one.devices, shown(one.deviceType)), "is each once");
  }
}

void Check::work() {
  if (all.main.empty() && all.samples == 0)
    add("'samples' is 0, and no 'main' describes the training: one of them says how long it trains");
  else if (all.main.empty())
    positive("samples", all.samples, kMaxSamples);
  else
    number("samples", all.samples, 0, kMaxSamples);
  number("done", all.done, 0, kMaxSamples);
  if (all.done > 0 && all.done >= all.samples)
    wrong("done", fmt::format("{}", all.done), fmt::format("is less than 'samples', {}", all.samples));
  text("progress_from", all.progressFrom, 1'000);
  text("progress_metric", all.progressMetric, 1'000);
  if (all.progressFrom.empty() != all.progressMetric.empty())
    add("'progress_from' and 'progress_metric' stand together: where its metrics are, and which is its samples");
  number("deadline_s", all.deadline, 0, kMaxTime);
  number("due_s", all.due, 0, kMaxTime);
  number("late_price_per_s", all.latePrice, 0, kMaxSpan);
  if (all.latePrice > 0 && all.due == 0)
    wrong("late_price_per_s", fmt::format("{}", all.latePrice), "only with 'due_s'");
  positive("priority", all.priority, kMaxSpan);
  if (all.restart != -1)
    number("restart_s", all.restart, 0, kMaxSpan);
  number("notice_s", all.notice, 0, kMaxSpan);
  integer("max_failures", all.maxFailures, 1, 1'000'000);
  count("after", all.after.size(), kMaxListed);
  std::set<int64_t> seen;
  for (int64_t job : all.after) {
    integer("after", job, 1, IntegerRange().max);
    if (!seen.insert(job).second)
      wrong("after", fmt::format("twice {}", job), "is each job once");
  }
}

void Check::devices() {
  integer("min_devices", all.minDevices, 1, kMaxServedDevices);
  integer("max_devices", all.maxDevices, 0, kMaxServedDevices);
  if (all.maxDevices > 0 && all.maxDevices < all.minDevices)
    wrong("max_devices", fmt::format("{}", all.maxDevices),
          fmt::format("is 'min_devices', {}, or more", all.minDevices));
  count("device_types", all.deviceTypes.size(), kMaxListed);
  std::set<std::string> seen;
  for (const std::string &type : all.deviceTypes) {
    if (!isName(type))
      wrong("device_types", fmt::format("'{}'", shown(type)), "are names of device types");
    if (!seen.insert(type).second)
      wrong("device_types", fmt::format("twice '{}'", shown(type)), "is each once");
  }
}

/// Reads by one rule; the error of JSON where that is impossible.
std::optional<std::string> readBy(JsonRule rule, const json::Value &value, Submission &out) {
  json::Path::Root root("submission");
  if (readJson(value, root, [&](JsonVisitor &v) { visitValue(v, out); }, rule))
    return std::nullopt;
  return toString(root.getError());
}

} // namespace

Errors checkSubmission(const Submission &submission) { return Check(submission).run(); }

Result<Submission, Errors> readSubmission(StringRef text) {
  auto value = readJsonText(text);
  if (!value)
    return Error{Code::WrongServiceRequest, fmt::format("{} at byte {}", value.error().message, value.error().at)};
  Submission submission;
  std::optional<std::string> refused = readBy(JsonRule::Closed, *value, submission);
  if (!refused) {
    Errors errors = checkSubmission(submission);
    if (errors.empty())
      return submission;
    return errors;
  }
  // A number out of range is named with its range by the check, which needs the whole submission.
  Submission open;
  if (StringRef(*refused).contains("out of range") && !readBy(JsonRule::Open, *value, open))
    if (Errors errors = checkSubmission(open); !errors.empty())
      return errors;
  return Error{Code::WrongServiceRequest, *refused};
}

} // namespace accord::service
