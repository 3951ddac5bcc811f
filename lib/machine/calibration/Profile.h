// What one device executes for one micro-batch and one step, added up: what a step-time model needs
// of a training graph, and nothing of how the graph was made.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include <optional>
#include <string>
#include <vector>

namespace accord::calibrate {

/// How an operation uses the machine. `Product`: one multiplication of matrices (a convolution is
/// one, too). `Batched`: many small ones (attention, grouped convolutions). `Streaming`: time goes
/// with bytes. `Softmax`, `Loss`: with bytes too, by kernels of their own (normalized exponentials;
/// cross entropy over a vocabulary, which frameworks run in several passes of fp32). `Lookup`: rows
/// gathered from or scattered to a table. `Collective`: a link.
enum class WorkClass : uint8_t { Product, Batched, Streaming, Softmax, Loss, Lookup, Collective };

/// Where in a pipeline it runs: in each repeated block, before the blocks (with their gradients:
/// the first stage), behind them (the last stage), or in the update, once per step.
enum class Place : uint8_t { Block, First, Last, Update };
constexpr unsigned kPlaces = 4;

/// Equal operations, counted. One execution multiplies `batch` times an m x k by a k x n matrix;
/// all four are 0 for attention that keeps no scores, whose tiles are its own.
struct ProfileItem {
  WorkClass work = WorkClass::Streaming;
  Phase phase = Phase::Forward;
  Place place = Place::Block;
  std::string kind; ///< of the first of them: "linear"
  std::string type; ///< arithmetic: "fp16"
  double count = 0; ///< executions per micro-batch (of one block, if in a block), per step in the update
  double flops = 0; ///< that one execution computes; of causal attention in one kernel half of all
  double bytes = 0; ///< read and written by one execution, each tensor once
  double batch = 1, m = 1, n = 1, k = 1;
  double payload = 0;        ///< of a collective: bytes of the whole tensor
  std::string communication; ///< "all_reduce", …; empty unless a collective
  std::string axis;          ///< of a collective: "tensor", "context", …
  bool ring = false;         ///< of a collective: as `Communication::ring`
  bool window = false;       ///< a convolution, or a gradient of one
  bool recurrent = false;    ///< one step of a recurrent layer, whose steps a library runs
};

struct Profile {
  std::vector<ProfileItem> items;
  double blocks = 1;          ///< how often the repeated block runs in one micro-batch
  double blockParameters = 0; ///< of all blocks, on this device
  double otherParameters = 0; ///< of the rest, on this device
  double tableParameters = 0; ///< besides, of tables with sparse gradients
  double boundaryBytes = 0;   ///< what one block hands to the next, one micro-batch
  double hostShare = 1;       ///< as `hostShareOf`
  bool replayed = false;      ///< an engine replays all kernels as one graph: the host launches none
  double activationBytes = 0; ///< activations of one block that wait for its backward pass
};

/// The profile of a work graph. The repeated block is the repeat of the micro-batch with the most
/// FLOPs, counted over forward and backward; without a repeat everything is `First`. Other repeats
/// (over time, of other stacks) are multiplied out.
Profile profileOf(const WorkGraph &graph);

/// What an operation moves, in terms of its operands and results: read * bytes read + written * bytes written + smaller
/// * the smaller of both.
struct TrafficShares {
  double read = 1, written = 1, smaller = 0;
};
TrafficShares trafficSharesOf(const Operation &op);

/// What one execution of an operation is, of a kind and place that the caller knows: `count` is 0,
/// `place` and `recurrent` are not set. Nothing for what takes no time (views of another value).
std::optional<ProfileItem> itemOf(const Operation &op);
/// The loop over time that a recurrent layer becomes (the pass expand-recurrent names it).
bool isTimeLoop(const Region &region);
/// Whether a region is one step of such a layer, or within one.
bool isRecurrent(const WorkGraph &graph, RegionId region);

/// The share of the host's own cost of a micro-batch and of a step that a training pays. Training loops of decoders
/// (Megatron-LM and its like) wait for norms, timers and flags of overflow in each step: 1; others run ahead of the
/// device: 0.1. Told by the graph: a repeated block that attends.
double hostShareOf(const WorkGraph &graph);

/// Extents of a contraction from its loops: what all tensors share is `batch`, what the first
/// operand and the result share is m, the second operand and the result n, and reductions are k.
void productExtents(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors, ProfileItem &into);

} // namespace accord::calibrate
