#include "lib/launch/Manifest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace llvm;
namespace accord {
namespace {

/// One order for all objects: no two of these keys stand in two objects the other way round.
constexpr StringLiteral kOrder =
    "apiVersion action name kind apiGroup namespace labels annotations ownerReferences metadata manager suspend "
    "runtimeRef trainer runtimePatches completionMode completions parallelism replicas clusterIP enableDNSHostnames "
    "hostname subdomain publishNotReadyAddresses selector ports port backoffLimit activeDeadlineSeconds "
    "ttlSecondsAfterFinished network failurePolicy successPolicy replicatedJobs maxRestarts rules onJobFailureReasons "
    "template spec nodeSelector affinity tolerations terminationGracePeriodSeconds restartPolicy containers image "
    "workingDir command args numNodes numProcPerNode env value valueFrom resourcesPerNode resources lifecycle "
    "volumeMounts volumes key operator values mountPath kueue.x-k8s.io/queue-name";
/// Keys whose texts are words of Kubernetes or labels of DNS.
constexpr StringLiteral kWordKeys =
    "apiVersion action name kind apiGroup app.kubernetes.io/instance clusterIP "
    "completionMode fieldPath hostname medium mountPath operator restartPolicy subdomain";
/// Objects whose keys are those of users.
constexpr StringLiteral kNamedByUsers = "nodeSelector limits requests";
/// Lists that stand on one line.
constexpr StringLiteral kOnOneLine = "command onJobFailureReasons values";

unsigned rank(StringRef key) {
  static const StringMap<unsigned> ranks = [] {
    StringMap<unsigned> map;
    for (StringRef one : split(kOrder, ' '))
      map.try_emplace(one, map.size());
    return map;
  }();
  auto found = ranks.find(key);
  return found == ranks.end() ? ranks.size() : found->second;
}

bool isOneOf(StringRef key, StringRef keys) { return is_contained(split(keys, ' '), key); }

std::string quoted(StringRef text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += static_cast<unsigned char>(c) < 32 || c == 127 ? '_' : c;
  return out + "\"";
}

/// Whether YAML reads it as this text without quotes, whatever its version: no number, no "yes", no sign of YAML.
bool isPlain(StringRef text) {
  static const StringSet<> words{"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || !(isAlpha(text[0]) || text[0] == '/') || words.contains(text.lower()))
    return false;
  return all_of(text, [](char c) { return isAlnum(c) || StringRef("-_./[]'").contains(c); });
}

class Printer {
public:
  explicit Printer(const Manifest &manifest) : manifest(manifest) {}
  /// The members of an object, the first of which stands where the text ends.
  void members(const json::Object &object, size_t indent, StringRef parent);
  std::string text;

private:
  void value(const json::Value &one, size_t indent, StringRef key);
  void list(const json::Array &all, size_t indent, StringRef key);
  std::string scalar(const json::Value &one, StringRef key, size_t indent) const;
  std::string besideOf(const json::Value &one, StringRef key) const;

  const Manifest &manifest;
};

/// Whether YAML takes lines of a text as they are, below a "|": they end with one line break, begin without a blank and
/// are of ASCII without control characters.
bool isOfLines(StringRef text) {
  return text.ends_with("\n") && !text.ends_with("\n\n") && !text.starts_with(" ") && !text.starts_with("\n") &&
         all_of(text, [](char c) { return c == '\n' || isPrint(c); });
}

std::string Printer::scalar(const json::Value &one, StringRef key, size_t indent) const {
  if (std::optional<StringRef> string = one.getAsString(); string && isOfLines(*string)) {
    std::string block = "|";
    for (StringRef line : split(string->drop_back(), '\n'))
      block += "\n" + (line.empty() ? "" : std::string(indent, ' ') + line.str());
    return block;
  }
  if (std::optional<StringRef> string = one.getAsString())
    return isOneOf(key, kWordKeys) && isPlain(*string) ? string->str() : quoted(*string);
  return fmt::format("{}", formatv("{0}", one).str());
}

std::string Printer::besideOf(const json::Value &one, StringRef key) const {
  const std::optional<StringRef> string = one.getAsString();
  const auto found = string ? manifest.beside.find({key.str(), string->str()}) : manifest.beside.end();
  return found == manifest.beside.end() ? "" : " # " + found->second;
}

void Printer::list(const json::Array &all, size_t indent, StringRef key) {
  const bool hasLines = any_of(all, [](const json::Value &one) { return isOfLines(one.getAsString().value_or("")); });
  if (all.empty() || (isOneOf(key, kOnOneLine) && !hasLines)) {
    std::vector<std::string> words;
    for (const json::Value &one : all)
      words.push_back(scalar(one, key, indent));
    text += fmt::format(" [{}]{}\n", fmt::join(words, ", "), all.empty() ? "" : besideOf(all.front(), key));
    return;
  }
  text += '\n';
  const std::string before(indent, ' ');
  for (const json::Value &one : all) {
    text += before + "- ";
    if (const json::Object *object = one.getAsObject(); object && !object->empty())
      members(*object, indent + 2, key);
    else
      text += scalar(one, key, indent + 2) + besideOf(one, key) + "\n";
  }
  if (auto found = manifest.behind.find(key.str()); found != manifest.behind.end())
    for (const std::string &line : found->second)
      text += before + "# " + line + "\n";
}

void Printer::value(const json::Value &one, size_t indent, StringRef key) {
  if (const json::Array *all = one.getAsArray())
    return list(*all, indent, key);
  if (const json::Object *object = one.getAsObject(); object && !object->empty()) {
    text += "\n" + std::string(indent, ' ');
    return members(*object, indent, key);
  }
  text += " " + scalar(one, key, indent) + besideOf(one, key) + "\n";
}

void Printer::members(const json::Object &object, size_t indent, StringRef parent) {
  std::vector<std::pair<unsigned, const json::Object::value_type *>> ordered;
  for (const auto &member : object)
    ordered.push_back({rank(member.first), &member});
  llvm::sort(ordered, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first < b.first : StringRef(a.second->first) < StringRef(b.second->first);
  });
  for (size_t i = 0; i < ordered.size(); ++i) {
    const auto &[key, child] = *ordered[i].second;
    if (i > 0)
      text += std::string(indent, ' ');
    text += (isOneOf(parent, kNamedByUsers) || !isPlain(key) ? quoted(key) : StringRef(key).str()) + ":";
    value(child, indent + 2, key);
  }
}

} // namespace

std::string yamlText(const Manifest &manifest) {
  Printer printer(manifest);
  for (const std::string &line : manifest.head)
    printer.text += "# " + line + "\n";
  if (const json::Object *object = manifest.object.getAsObject())
    printer.members(*object, 0, "");
  return printer.text;
}

} // namespace accord
