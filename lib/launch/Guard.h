// The guard: what has to be on a node before a plan starts there. A scheduler gives what it was configured to give; the
// guard looks at the devices themselves, and nothing is started where they are others.
#pragma once
#include "lib/launch/Launch.h"
#include "lib/support/documents/Fields.h"
#include <map>

namespace accord {

/// What each server of a launch has to have.
struct GuardExpectation {
  std::string deviceType;            ///< of the plan
  std::string deviceName;            ///< as the scheduler calls it; empty: as the plan does
  std::vector<std::string> products; ///< one of them is in the name that a tool on the node says, as whole words
  int64_t memory = 0;                ///< bytes that the tool reports of a device, at least; 0: not compared
  int64_t devicesPerServer = 1;      ///< at least; with more, the first ones are used
  int64_t servers = 1;               ///< of the whole launch
  int64_t worldSize = 1;             ///< devices of the whole launch
  double devicesPerUnit = 1;         ///< devices of the plan in one device of the tool
  bool isVirtual = false;            ///< there are no devices, as in tests: names of the scheduler alone are compared
  bool operator==(const GuardExpectation &) const = default;
};

/// Of the servers of a pool of a layout.
GuardExpectation guardOf(const LaunchLayout &shape, size_t pool = 0);
/// Of a plan on one device type; errors are those of `launchLayout`.
Result<GuardExpectation> guardOf(const PlacementPlan &plan, const LaunchOptions &options = {});

/// How a pool without other names is recognized, by the name of its device type: the products of the catalogue with
/// what their tools report, less a hundredth; else the name itself, and of the memory that the plan knows what ECC (a
/// sixteenth) and the driver leave, 92 %. With `product` the device has to be called so.
void describeDevices(LaunchLayout::Pool &pool, const std::string &product);

/// The exit status of a refusal: EX_CONFIG of sysexits.h. Other programs end with it, too.
constexpr int kGuardRefused = 78;
/// The variable with the path of a file to which a refusal because of a node's devices adds its mark, a line:
/// kGuardMark, the node and the sentence, with tabs between. Other refusals (numbers of servers or ranks, settings of
/// the guard) are no fault of a node, and leave none.
constexpr const char *kGuardMarkVariable = "ACCORD_GUARD_MARK";
constexpr const char *kGuardMark = "accord-guard-refused";
/// The sentences of the marks in a text, by node; other lines are passed over. Control characters become blanks.
std::map<std::string, std::string> guardRefusals(llvm::StringRef text);

/// A function of the POSIX shell, `accord_guard`, without a single quote and without `$$`, so that it may stand within
/// single quotes. It returns 0, or says on standard error in one sentence why not and returns `kGuardRefused`. It needs
/// a tool of the vendor (nvidia-smi, rocm-smi, amd-smi, hl-smi, neuron-ls), /proc/driver/nvidia or a TPU's environment,
/// uname, tr, sleep and mktemp. `root` stands before paths of /proc and /sys.
///
/// Variables of its caller: ACCORD_GUARD=off starts unchecked and says so, ACCORD_GUARD=virtual is `isVirtual`,
/// ACCORD_GUARD=auto is that where there is no tool;
/// ACCORD_GUARD_PRODUCT is another product; ACCORD_GUARD_SECONDS (30) is how long a tool may take. The node is
/// SLURMD_NODENAME, ACCORD_NODE or what uname says. It compares what
/// CUDA_VISIBLE_DEVICES and its like leave of the devices, SLURM_GPUS_ON_NODE, the number of servers of Slurm and of
/// PET_NNODES, this server's number, and WORLD_SIZE, which counts devices or, where one process is started on each
/// server, servers.
std::string guardText(const GuardExpectation &expected, const std::string &root = "");

/// The document of an expectation, which `accord guard` reads again. Its key "guard" is 1.
void describe(JsonFields &f, GuardExpectation &expected);
/// Whether a text is such a document; nothing but its key is looked at.
bool isGuard(llvm::StringRef text);
/// Error A0901 where the document is malformed; `path` names it.
Result<GuardExpectation> guardFrom(llvm::StringRef text, const std::string &path);

} // namespace accord
