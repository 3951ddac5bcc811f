// Seconds of a training step from its profile and a machine's parameters.
#pragma once
#include "lib/calibrate/Parameters.h"
#include "lib/calibrate/Profile.h"
#include <variant>

namespace accord::calibrate {

/// How a job is spread over devices. All numbers are at least 1 (`microbatches` may be any positive
/// number).
struct Layout {
  double tensor = 1, pipeline = 1, chunks = 1,
         data = 1;         ///< chunks: model parts per device (interleaving)
  double microbatches = 1; ///< of one replica and step
  double devicesPerServer = 8;
  double network = 25e9; ///< bytes per second between servers, one way, of one device
  double unlinked = 0;   ///< share of the other devices of a server that no link reaches
  int zero = 0;          ///< stage of ZeRO; 3: weights are gathered for every micro-batch
  bool sequence = false; ///< sequence parallel
  double parts = 1;      ///< a device of the layout is this part of a machine (2 cores of one chip)
};

/// One profile on one machine, with all that does not depend on parameters worked out.
struct Candidate {
  struct Work {
    ProfileItem item;
    double peak = 0;        ///< FLOP/s of the type on this machine
    double rate = 1;        ///< root of it over the 16-bit peak: slower arithmetic is filled sooner
    uint8_t efficiency = 0; ///< index of the Parameter that is the share of it
  };
  std::vector<Work> work;
  Layout layout;
  double blocks = 1, boundaryBytes = 0;
  double blockParameters = 0, otherParameters = 0;
  double memoryBandwidth = 0; ///< bytes per second
  double exchanged = 0;       ///< bytes of looked-up rows that go to other devices, one micro-batch
  double images = 0;          ///< for each of the host's workers, one step; 0: nothing is decoded
  bool fits = true;           ///< states and kept activations are smaller than the memory
};

/// Where the time of a step goes, in seconds; the parts add up to `total`.
struct StepTime {
  double product = 0, attention = 0, streaming = 0; ///< steady state of the slowest stage
  double host =
      0; ///< what launching takes beyond the device's own time, and per micro-batch and step
  double tensorParallel = 0; ///< collectives of the tensor axis
  double transfers = 0;      ///< between stages
  double bubble = 0;         ///< filling and draining the pipeline
  double dataParallel = 0;   ///< gradients and gathered weights that nothing hides
  double optimizer = 0;
  double total = 0;
};

/// A profile on a machine, or why it cannot run there (no memory with a bandwidth, no peak for a
/// type). `fp8`: products run in fp8.
std::variant<Candidate, std::string> candidateOf(const Profile &profile, const Layout &layout,
                                                 const Machine &machine, bool fp8);

/// T = m (s + c) + (p - 1) s / v + transfers + exposed gradients + update + cost of a step
/// with m micro-batches, p stages of time s each, v chunks per device (Narayanan et al.,
/// Megatron-LM, SC 2021, section 2.2), where
/// - a stage is blocks / p times max(device, host) of a block, plus the dearer of what the first
/// and the last stage have more;
/// - a product takes flops (1 + w / (b m n (1 + k / 8192))) (k + k0) / k / (efficiency peak) or its
/// bytes, whichever is longer, plus the floor;
/// - everything else takes its bytes over the memory's bandwidth and efficiency, plus the floor;
/// - ring collectives take 2 (n - 1) / n S / B for an all-reduce, half of it for a gather or a
/// scatter (Patarasuk and Yuan, 2009),
///   plus a latency; gradients of a replica group with g members per server have g devices' links
///   between servers;
/// - ZeRO 3 gathers weights twice per micro-batch and scatters gradients once (Rajbhandari et al.,
/// ZeRO, 2020, section 7). Finite and positive for any parameters that are positive and finite.
StepTime stepTime(const Candidate &candidate, const Parameters &parameters);

/// Of the fastest candidate that fits, of all if none does; `chosen` gets its index. At least one
/// candidate.
StepTime stepTime(const std::vector<Candidate> &candidates, const Parameters &parameters,
                  size_t *chosen = nullptr);

/// An all-reduce of bytes among n devices of one server.
struct Ring {
  double devices = 1, bytes = 0;
  double share = 1;  ///< part of a device's links that connect them
  double memory = 1; ///< bytes per second of a device's memory
};
/// The faster of two protocols,
///   latency + 2 (n - 1) h step + 2 (n - 1) / n bytes / (r share bandwidth) + copies / n bytes /
///   memory,
/// whole chunks (h = 1, r = 1) and lines of 128 bytes with flags (h = 0.56, r = 0.92: ratios of
/// NCCL's own model of its rings, src/graph/tuning.cc). The last term is what no link hides: the
/// first part is read and the last is written while nothing is sent.
double allReduceTime(const Ring &ring, const Parameters &parameters);

} // namespace accord::calibrate
