// Nodes of one machine, and which waiting task starts next on which devices. Plain data.
#pragma once
#include "lib/service/engines/local/TaskFolder.h"
#include <map>

namespace accord::service {

/// A node that is the machine, or a part of it.
struct LocalNode {
  std::string name;
  std::string deviceType; ///< empty: not known
  int64_t devices = 0;
  int64_t firstDevice = 0; ///< number of its first device on the machine
  std::string reason;      ///< why it is down; empty: it is up
};

/// "a1=a100:4, a2=a100:4@4": name, type, number of devices, and number of the first one on the machine (0 if it is not
/// stated). A1203 for what is none, for a name that stands twice, and for more than 4,096 devices of a node.
Result<std::vector<LocalNode>> localNodesFrom(const std::string &text);

/// The machine itself with the GPUs that nvidia-smi counts. One that answers nothing within the limit, or an error, is
/// a node that is down; without nvidia-smi there is no node.
std::vector<LocalNode> nodesOfThisMachine(double timeLimit);

/// Which devices of which node are free, and of which shares are. Tasks start in the order in which they came, but one
/// that waits only holds up those that want a node of it: a node is given to nobody else until the first task that
/// wants it has it.
class NodeQueue {
public:
  explicit NodeQueue(const std::vector<LocalNode> &nodes, int64_t sharesPerDevice = 1);
  /// Devices that are in use, whether or not they are there; of each so many of `of` shares, 0: all of it. Where
  /// devices are divided into other shares now, as many as cover that part.
  void use(const std::string &node, const std::vector<int64_t> &devices, int64_t shares = 0, int64_t of = 1);
  void setDrained(const std::string &node) { drained_.push_back(node); }
  /// In the order in which tasks came: the devices of each of its nodes, lowest numbers first; or nothing, and why.
  /// Shares are those of the fullest device that has room, so that whole devices stay free.
  std::optional<std::vector<std::vector<int64_t>>> next(const std::vector<std::string> &nodes, int64_t devices,
                                                        std::string &why, int64_t shares = 0);

private:
  struct State {
    int64_t firstDevice = 0;
    std::vector<int64_t> taken; ///< shares, by device
    bool isPromised = false, isDown = false;
  };
  std::vector<int64_t> freeDevices(const State &state, int64_t devices, int64_t shares) const;

  int64_t sharesPerDevice_;
  std::map<std::string, State> nodes_;
  std::vector<std::string> drained_;
};

} // namespace accord::service
