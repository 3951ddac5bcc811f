// Seconds of one operation, one transfer and one exchange from a machine's parameters: what
// `stepTime` adds up, and what the layers of a placement cost.
#pragma once
#include "lib/machine/calibration/Parameters.h"
#include "lib/machine/calibration/Profile.h"
#include <algorithm>
#include <optional>

namespace accord::calibrate {

/// How a job is spread over devices. All numbers are at least 1 (`microbatches` may be any positive
/// number).
struct Layout {
  double tensor = 1, pipeline = 1, virtualStages = 1,
         data = 1;         ///< chunks: model parts per device (interleaving)
  double context = 1;      ///< of the replicas, neighbours that share each sample along its sequence; divides `data`
  double microbatches = 1; ///< of one replica and step
  double devicesPerNode = 8;
  double network = 25e9; ///< bytes per second between servers, one way, of one device
  double link = 300e9;   ///< bytes per second inside of a server, one way, of one device
  double unlinked = 0;   ///< share of the other devices of a server that no link reaches
  int zero = 0;          ///< stage of ZeRO; 3: weights are gathered for every micro-batch
  bool sequence = false; ///< sequence parallel
  double parts = 1;      ///< a device of the layout is this part of a machine (2 cores of one chip)
  bool replayed = false; ///< the host launches nothing
  double hostShare = 1;  ///< of the host's own cost of a micro-batch and a step: below 1 where its loop runs ahead
};

/// All-reduces of fewer bytes (parameters' gradients of norms under sequence parallelism) are joined into one per step.
/// Where kernels are replayed each has its latency: inference has no gradients.
constexpr double kJoinedBytes = 1e5;
/// Reductions longer than this are split among compute units (weight gradients of convolutions: a small result, a long
/// sum).
constexpr double kSplitDepth = 8192;

/// An operation on one machine, with all that does not depend on parameters worked out.
struct Work {
  ProfileItem item;
  double peak = 0; ///< FLOP/s of the type on this machine
  double rate = 1; ///< root of it over the 16-bit peak: slower arithmetic is filled sooner
  Parameter efficiency = Parameter::ProductEfficiency; ///< the share of it
};
/// `parts` as in Layout. Nothing if the machine has no peak for a product's type. Products of fp8 have an efficiency of
/// their own where the machine has a peak for fp8, and run as those of the next wider type where it has none.
std::optional<Work> workOf(const ProfileItem &item, const Machine &machine, double parts);

/// Seconds of all executions of an item on the device, by what they go to, and on the host.
struct WorkTime {
  double product = 0, attention = 0, streaming = 0, collective = 0, host = 0;
  double device() const { return product + attention + streaming + collective; }
  WorkTime &operator+=(const WorkTime &other);
};
/// How many kernels the executions of an item are. In a recurrent layer's step, element-wise work is part of the
/// products' kernels (Appleyard et al., Optimizing Performance of Recurrent Neural Networks on GPUs, 2016, section 3).
/// All tables of equal rows are looked up by one kernel.
double kernelsOf(const ProfileItem &item);
/// - a product takes flops (1 + w / (b m n (1 + k / 8192))) (k + k0) / k / (efficiency peak) or its
/// bytes, whichever is longer, plus the floor;
/// - everything else takes its bytes over the memory's bandwidth and efficiency, plus the floor;
/// - ring collectives take 2 (n - 1) / n S / B for an all-reduce, half of it for a gather or a
/// scatter (Patarasuk and Yuan, 2009), plus a latency; those of a context that go on beside attention
/// (`ProfileItem::ring`) the whole of it, and n - 1 latencies.
/// Nothing for an item of the update, whose time is `updateTime`. `memoryBandwidth`: bytes per
/// second of one device of the layout.
WorkTime workTime(const Work &work, const Layout &layout, double memoryBandwidth, const Parameters &parameters);
/// Of an optimizer that reads and writes `bytes`.
double updateTime(double bytes, double memoryBandwidth, const Parameters &parameters);
/// Of one that reads and writes the rows of tables that were looked up.
double updatedRowsTime(double bytes, double memoryBandwidth, const Parameters &parameters);
/// Of bytes that each device of the layout sends to its other replicas, to each as many. Those for other servers take
/// the network, and those for the same one its links at the same time; where no link reaches, the host's bus.
double rowsTime(double bytes, const Layout &layout, const Parameters &parameters);

/// Seconds = latency + bytes * perByte.
struct Line {
  double latency = 0, perByte = 0;
};
/// Of what one device hands to one of the next stage, inside of a server or across.
Line transferLine(const Layout &layout, const Parameters &parameters, bool interNode);
/// Bytes per second at which each device of a group of replicas sends its part of a ring: those of
/// one server, `together`, have all its links to others together.
double gradientSyncBandwidth(const Layout &layout, double replicasPerNode, const Parameters &parameters);

/// What computation hides of an exchange of gradients: exchange - min(hides * exchange, hidden *
/// backward) is exposed, where `backward` is the last micro-batch's backward pass.
struct GradientOverlap {
  double maxOverlap = 0, overlapFraction = 0;
};
GradientOverlap gradientOverlapOf(const Parameters &parameters);

} // namespace accord::calibrate
