#include "lib/service/engines/local/NodeQueue.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/TaskShares.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace accord::service {
namespace {

constexpr int64_t kMaxDevices = 4096;

Error wrongNode(llvm::StringRef text) {
  return Error{Code::EngineFailed, fmt::format("'{}' is no node; a node is NAME=TYPE:DEVICES, as in a1=a100:4", text)};
}

bool isName(llvm::StringRef text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
    return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.';
  });
}

} // namespace

Result<std::vector<LocalNode>> localNodesFrom(const std::string &text) {
  std::vector<LocalNode> nodes;
  llvm::StringRef rest = llvm::StringRef(text).trim();
  while (!rest.empty()) {
    auto [one, others] = rest.split(',');
    rest = others.ltrim();
    one = one.trim();
    auto [name, what] = one.split('=');
    auto [type, numbers] = what.split(':');
    auto [count, first] = numbers.split('@');
    LocalNode node{name.trim().str(), type.trim().str(), 0, 0, {}};
    bool isRight = isName(node.name) && (node.deviceType.empty() || isName(node.deviceType)) &&
                   !count.trim().getAsInteger(10, node.devices) &&
                   (first.empty() || !first.trim().getAsInteger(10, node.firstDevice));
    if (!isRight || node.devices < 0 || node.devices > kMaxDevices || node.firstDevice < 0 ||
        node.firstDevice > kMaxDevices)
      return wrongNode(one);
    if (std::any_of(nodes.begin(), nodes.end(), [&](const LocalNode &other) { return other.name == node.name; }))
      return Error{Code::EngineFailed, fmt::format("node '{}' stands twice", node.name)};
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<LocalNode> nodesOfThisMachine(double timeLimit) {
  char name[256] = {};
  const bool isKnown = gethostname(name, sizeof name - 1) == 0 && isName(name);
  Command command{.words = {"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"}, .timeLimit = timeLimit};
  LocalNode node{isKnown ? name : "localhost", {}, 0, 0, {}};
  auto said = runCommand(command);
  if (!said && llvm::StringRef(said.error().message).contains("no program of this name"))
    return {};
  if (!said || said->exitCode != 0) {
    node.reason = said ? commandFailed(command, *said).message : said.error().message;
    return {node};
  }
  llvm::StringRef rest(said->output);
  while (!rest.empty()) {
    auto [line, others] = rest.split('\n');
    rest = others;
    if (line.trim().empty())
      continue;
    node.deviceType = node.devices == 0 ? labelOf(line.trim().str(), "gpu-", 60) : node.deviceType;
    ++node.devices;
  }
  if (node.devices == 0)
    node.reason = "nvidia-smi sees no devices";
  return {node};
}

NodeQueue::NodeQueue(const std::vector<LocalNode> &nodes, int64_t sharesPerDevice) : sharesPerDevice_(sharesPerDevice) {
  for (const LocalNode &node : nodes)
    nodes_[node.name] = {node.firstDevice, std::vector<int64_t>(size_t(node.devices)), false, !node.reason.empty()};
}

void NodeQueue::use(const std::string &node, const std::vector<int64_t> &devices, int64_t shares, int64_t of) {
  auto at = nodes_.find(node);
  if (at == nodes_.end())
    return;
  const bool isPart = shares > 0 && shares <= of && of <= kMaxShares;
  const int64_t covers = isPart ? (shares * sharesPerDevice_ + of - 1) / of : sharesPerDevice_;
  for (int64_t device : devices) {
    const int64_t index = device - at->second.firstDevice;
    if (index >= 0 && index < int64_t(at->second.taken.size()))
      at->second.taken[size_t(index)] += covers;
  }
}

/// Numbers on the machine; fewer than are wanted where there are no more.
std::vector<int64_t> NodeQueue::freeDevices(const State &state, int64_t devices, int64_t shares) const {
  std::vector<int64_t> found;
  std::optional<size_t> best;
  for (size_t i = 0; i < state.taken.size(); ++i) {
    if (shares > 0 && state.taken[i] + shares <= sharesPerDevice_ && (!best || state.taken[i] > state.taken[*best]))
      best = i;
    if (shares == 0 && state.taken[i] == 0 && int64_t(found.size()) < devices)
      found.push_back(state.firstDevice + int64_t(i));
  }
  if (best)
    found.push_back(state.firstDevice + int64_t(*best));
  return found;
}

std::optional<std::vector<std::vector<int64_t>>> NodeQueue::next(const std::vector<std::string> &nodes, int64_t devices,
                                                                 std::string &why, int64_t shares) {
  // Who cannot start whatever ends holds up nobody.
  for (const std::string &node : nodes) {
    auto at = nodes_.find(node);
    if (at == nodes_.end() || at->second.isDown || int64_t(at->second.taken.size()) < devices ||
        shares > sharesPerDevice_)
      why = at == nodes_.end()  ? fmt::format("node '{}' is not there", node)
            : at->second.isDown ? fmt::format("node '{}' is down", node)
            : shares > sharesPerDevice_
                ? fmt::format("devices of node '{}' have {} shares, and it wants {}", node, sharesPerDevice_, shares)
                : fmt::format("node '{}' has too few devices", node);
    else if (std::find(drained_.begin(), drained_.end(), node) != drained_.end())
      why = fmt::format("node '{}' is drained", node);
    else
      continue;
    return {};
  }
  std::vector<std::vector<int64_t>> given;
  for (const std::string &node : nodes) {
    const State &state = nodes_[node];
    const std::vector<int64_t> &mine = given.emplace_back(freeDevices(state, devices, shares));
    if (state.isPromised || int64_t(mine.size()) < devices) {
      why = fmt::format("devices of node '{}' are in use", node);
      for (const std::string &one : nodes)
        nodes_[one].isPromised = true;
      return {};
    }
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    use(nodes[i], given[i], shares, sharesPerDevice_);
  return given;
}

} // namespace accord::service
