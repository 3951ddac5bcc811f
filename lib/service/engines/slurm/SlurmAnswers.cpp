#include "lib/service/engines/slurm/SlurmAnswers.h"
#include "lib/service/engines/Subprocess.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <sys/wait.h>

namespace accord::service {

using llvm::StringRef;

const char *const kSlurmJobFields = "JobID:|,State:|,exit_code:|,StartTime:|,EndTime:|,NodeList:|,Reason:|,Name:|";

bool SlurmJob::isHeld() const { return state == "PENDING" && StringRef(reason).starts_with("JobHeld"); }

namespace {

Error cutShort(const char *what, StringRef line) {
  return Error{Code::EngineFailed,
               fmt::format("a line of Slurm about a {} cannot be read: {}", what, firstLineOf(line.str()))};
}

bool isNumber(StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }

/// Seconds since 1970; 0 for "N/A", "Unknown" and whatever is none.
double timeOf(StringRef text) {
  int64_t seconds = 0;
  return isNumber(text) && !text.getAsInteger(10, seconds) ? double(seconds) : 0;
}

/// The value of the first " KEY=" of a line up to the next blank, or with the rest of the line. Values with blanks
/// stand behind those that are looked for here.
std::optional<StringRef> valueOf(StringRef line, StringRef key, bool isRest = false) {
  for (size_t at = line.find(key); at != StringRef::npos; at = line.find(key, at + 1)) {
    StringRef rest = line.drop_front(at + key.size());
    if ((at == 0 || line[at - 1] == ' ') && rest.consume_front("="))
      return isRest ? rest : rest.take_until([](char c) { return c == ' '; });
  }
  return std::nullopt;
}

/// Devices by "gpu:a100:4(S:0-1),gpu:k80:2,shard:a100:8,nvme:1".
void readDevices(StringRef text, StringRef gres, SlurmNode &node) {
  llvm::SmallVector<StringRef> parts;
  int64_t devices = 0, shards = 0; // of all types
  std::string flat;                // without what stands in brackets, which has commas of its own
  int depth = 0;
  for (char c : text) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0)
      flat += c;
    depth -= c == ')' && depth > 0 ? 1 : 0;
  }
  StringRef(flat).split(parts, ',');
  for (StringRef part : parts) {
    part.consume_front("gres/");
    llvm::SmallVector<StringRef, 3> words;
    part.split(words, ':');
    int64_t count = 1;
    if (words[0] != gres && words[0] != "shard")
      continue;
    if (words.size() > 1) {
      StringRef last = words.back();
      int64_t factor = last.consume_back("K") ? 1024 : 1;
      if (last.getAsInteger(10, count)) {
        count = 1; // "gpu:a100" is one
        words.push_back("");
      } else
        count = count > INT32_MAX ? 0 : count * factor;
    }
    if (words[0] == "shard" && gres != "shard") {
      shards += count;
      continue;
    }
    devices += count;
    if (count > node.devices) {
      node.devices = count;
      node.gresType = words.size() > 2 ? words[1].str() : "";
    }
  }
  if (gres == "gpu" && devices > 0 && devices == node.devices && shards % devices == 0)
    node.sharesPerDevice = std::max<int64_t>(shards / devices, 1);
}

/// What an operator calls the devices of a node.
std::string deviceTypeOf(const SlurmNode &node, StringRef features, const std::string &gres,
                         const std::map<std::string, std::string> &types) {
  llvm::SmallVector<StringRef> words;
  features.split(words, ',');
  for (const auto &[type, word] : types)
    if (llvm::is_contained(words, word))
      return type;
  for (const auto &[type, word] : types)
    if (word == (node.gresType.empty() ? gres : node.gresType))
      return type;
  return node.gresType;
}

EngineNode::State nodeState(StringRef text, std::string &reason) {
  static const std::set<std::string> down{"DOWN", "ERROR", "FUTURE"};
  static const std::set<std::string> drained{
      "DRAIN",       "DRAINED",          "DRAINING",      "FAIL",          "FAILING", "MAINT",
      "MAINTENANCE", "REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT",        "INVAL",   "INVALID_REG",
      "UNKNOWN",     "NOT_RESPONDING",   "NO_RESPOND",    "POWERING_DOWN", "PERFCTRS"};
  llvm::SmallVector<StringRef> flags;
  text.split(flags, '+');
  EngineNode::State state = EngineNode::State::Up;
  for (StringRef flag : flags) {
    const bool isSilent = flag.contains('*'); // short forms of flags, of which this one counts
    const std::string word = flag.rtrim("*~#!%$@^-").str();
    if (down.count(word)) {
      reason = word;
      return EngineNode::State::Down;
    }
    if (drained.count(word) || isSilent) {
      state = EngineNode::State::Drained;
      reason = isSilent ? "NOT_RESPONDING" : word;
    }
  }
  return state;
}

} // namespace

Result<std::vector<SlurmJob>> slurmJobs(const std::string &text) {
  std::vector<SlurmJob> jobs;
  StringRef rest(text);
  while (!rest.empty()) {
    const bool isCut = rest.find('\n') == StringRef::npos;
    auto [line, others] = rest.split('\n');
    rest = others;
    const StringRef id = line.take_until([](char c) { return c == '|'; });
    if (!isNumber(id)) { // the rest of a name with a line break in it, or a message
      const bool isMessage = jobs.empty() || line.starts_with("slurm_") || line.starts_with("squeue: ");
      if (isMessage && !line.trim().empty())
        return Error{Code::EngineFailed, fmt::format("Slurm does not list its jobs: {}", firstLineOf(line.str()))};
      continue;
    }
    llvm::SmallVector<StringRef> fields;
    line.split(fields, '|', 7);
    if (isCut || fields.size() < 8)
      return cutShort("job", line);
    SlurmJob job;
    job.id = id.str();
    job.state = fields[1].trim().str();
    job.exitCode = slurmExitCode(fields[2].trim().str());
    job.started = timeOf(fields[3].trim());
    job.ended = timeOf(fields[4].trim());
    job.nodes = fields[5].trim().str();
    job.reason = fields[6].trim() == "None" ? "" : fields[6].trim().str();
    StringRef name = fields[7];
    name.consume_back("|");
    job.name = name.str();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<std::vector<SlurmNode>> slurmNodes(const std::string &text, const std::string &gres,
                                          const std::map<std::string, std::string> &types) {
  std::vector<SlurmNode> nodes;
  StringRef rest(text);
  while (!rest.empty()) {
    auto [line, others] = rest.split('\n');
    rest = others;
    if (!line.starts_with("NodeName="))
      continue;
    SlurmNode node;
    node.name = valueOf(line, "NodeName")->str();
    std::optional<StringRef> state = valueOf(line, "State"), devices = valueOf(line, "Gres");
    if (node.name.empty() || !state || state->empty() || !devices || !valueOf(line, "CfgTRES")) // it stands behind them
      return cutShort("node", line);
    readDevices(*devices, gres, node);
    node.deviceType = deviceTypeOf(node, valueOf(line, "ActiveFeatures").value_or(""), gres, types);
    node.state = nodeState(*state, node.reason);
    if (std::optional<StringRef> reason = valueOf(line, "Reason", true);
        reason && node.state != EngineNode::State::Up) {
      StringRef own = reason->split(" Comment=").first.rtrim();
      if (size_t who = own.rfind(" ["); who != StringRef::npos && own.ends_with("]"))
        own = own.take_front(who);
      if (!own.empty())
        node.reason = own.str();
    }
    if (node.devices > 0)
      nodes.push_back(std::move(node));
  }
  if (nodes.empty() && StringRef(text).find("NodeName=") == StringRef::npos)
    return Error{Code::EngineFailed,
                 fmt::format("Slurm lists no nodes: {}", text.empty() ? "it said nothing" : firstLineOf(text))};
  std::sort(nodes.begin(), nodes.end(), [](const SlurmNode &a, const SlurmNode &b) { return a.name < b.name; });
  nodes.erase(
      std::unique(nodes.begin(), nodes.end(), [](const SlurmNode &a, const SlurmNode &b) { return a.name == b.name; }),
      nodes.end());
  return nodes;
}

EngineTask::State slurmTaskState(const std::string &state) {
  using State = EngineTask::State;
  static const std::map<std::string, State> states{
      {"PENDING", State::Waiting},      {"CONFIGURING", State::Waiting},  {"REQUEUED", State::Waiting},
      {"REQUEUE_HOLD", State::Waiting}, {"REQUEUE_FED", State::Waiting},  {"RESV_DEL_HOLD", State::Waiting},
      {"SPECIAL_EXIT", State::Waiting}, {"COMPLETING", State::Ending},    {"COMPLETED", State::Succeeded},
      {"FAILED", State::Failed},        {"TIMEOUT", State::Stopped},      {"DEADLINE", State::Stopped},
      {"OUT_OF_MEMORY", State::Failed}, {"LAUNCH_FAILED", State::Failed}, {"CANCELLED", State::Stopped},
      {"PREEMPTED", State::Lost},       {"REVOKED", State::Stopped},      {"NODE_FAIL", State::Lost},
      {"BOOT_FAIL", State::Lost}};
  auto found = states.find(StringRef(state).split(' ').first.split('+').first.str()); // "CANCELLED by 0", "CANCELLED+"
  return found == states.end() ? State::Running : found->second;
}

namespace {

/// Appends "05-07" to a prefix, for each number with as many digits.
bool addRange(StringRef range, const std::string &prefix, std::vector<std::string> &names) {
  auto [low, high] = range.split('-');
  if (high.empty() && !range.contains('-'))
    high = low;
  int64_t first = 0, last = 0;
  if (!isNumber(low) || !isNumber(high) || low.getAsInteger(10, first) || high.getAsInteger(10, last) || last < first ||
      last - first >= 65536)
    return false;
  for (int64_t number = first; number <= last; ++number)
    names.push_back(fmt::format("{}{:0{}}", prefix, number, low.size()));
  return true;
}

/// All names of one element: "a[1-2]x[1,3]".
std::optional<std::vector<std::string>> namesOf(StringRef element) {
  std::vector<std::string> names{""};
  while (!element.empty()) {
    size_t open = element.find('[');
    for (std::string &name : names)
      name += element.take_front(open).str();
    if (open == StringRef::npos)
      return names;
    size_t close = element.find(']', open);
    if (close == StringRef::npos)
      return std::nullopt;
    llvm::SmallVector<StringRef> ranges;
    element.slice(open + 1, close).split(ranges, ',');
    element = element.drop_front(close + 1);
    std::vector<std::string> longer;
    for (const std::string &name : names)
      for (StringRef range : ranges)
        if (range.size() > 24 || !addRange(range, name, longer) || longer.size() > 65536)
          return std::nullopt;
    names = std::move(longer);
  }
  return names;
}

} // namespace

std::optional<std::vector<std::string>> slurmHosts(const std::string &list) {
  std::vector<std::string> hosts;
  if (list.empty() || StringRef(list).starts_with("("))
    return hosts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && (list[at] != ',' || depth > 0)) {
      depth += list[at] == '[' ? 1 : list[at] == ']' ? -1 : 0;
      if (depth < 0 || depth > 1)
        return std::nullopt;
      continue;
    }
    std::optional<std::vector<std::string>> names = namesOf(StringRef(list).slice(begin, at));
    if (!names || depth != 0 || hosts.size() + names->size() > 65536)
      return std::nullopt;
    hosts.insert(hosts.end(), names->begin(), names->end());
    begin = at + 1;
  }
  return hosts;
}

std::string slurmJobId(const std::string &text) {
  StringRef rest(text);
  while (rest.contains('\n')) { // a line that is not ended may lack digits
    auto [line, others] = rest.split('\n');
    rest = others;
    StringRef id = line.split(';').first.trim();
    if (isNumber(id) && id.size() < 20)
      return id.str();
  }
  return {};
}

int slurmExitCode(const std::string &text) {
  auto [code, signal] = StringRef(text).split(':');
  uint32_t first = 0, second = 0;
  if (!isNumber(code) || code.getAsInteger(10, first))
    return -1;
  if (StringRef(text).contains(':')) {
    if (!isNumber(signal) || signal.getAsInteger(10, second))
      return -1;
    return second > 0 ? 128 + int(second & 127) : int(first & 255);
  }
  const int status = int(first & 0xffff);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace accord::service
