// Seconds of a training step from its profile and a machine's parameters.
#pragma once
#include "lib/machine/calibration/WorkTime.h"
#include <variant>

namespace accord::calibrate {

/// One profile on one machine, with all that does not depend on parameters worked out.
struct Candidate {
  std::vector<Work> work;
  Layout layout;
  double blocks = 1, boundaryBytes = 0;
  double blockParameters = 0, otherParameters = 0;
  double memoryBandwidth = 0; ///< bytes per second of a device of the layout
  double allToAllBytes = 0;   ///< bytes of looked-up rows that go to other devices, one micro-batch
  double images = 0;          ///< for each of the host's workers, one step; 0: nothing is decoded
  bool fits = true;           ///< states and kept activations are smaller than the memory
};

/// Where the time of a step goes, in seconds; the parts add up to `total`.
struct StepTime {
  double product = 0, attention = 0, streaming = 0; ///< steady state of the slowest stage
  double host = 0;           ///< what launching takes beyond the device's own time, and per micro-batch and step
  double tensorParallel = 0; ///< collectives of the tensor axis
  double transfers = 0;      ///< between stages
  double bubble = 0;         ///< filling and draining the pipeline
  double dataParallel = 0;   ///< gradients and gathered weights that nothing hides
  double optimizer = 0;
  double total = 0;
};

/// A profile on a machine, or why it cannot run there (no memory with a bandwidth, no peak for a
/// type).
std::variant<Candidate, std::string> candidateOf(const Profile &profile, const Layout &layout, const Machine &machine);

/// T = m (s + e + v c) + (p - 1) (s / v + c) + e' + transfers + exposed gradients + update + cost
/// of a step, with m micro-batches, p stages of time s each, v chunks per device (Narayanan et al.,
/// Megatron-LM, SC 2021, section 2.2), where
/// - a stage is blocks / p times a block; a part takes its time on the device times max(1, launches / device) of the
/// whole micro-batch (`hostFactor`: the host runs ahead of the device); e is the dearer of what the first
/// and the last stage have more, e' the other's, which runs once while the pipeline fills or
/// drains;
/// - each pass of a chunk costs the host c;
/// - operations take `workTime`, gradients of a replica group with g members per server have g
/// devices' links between servers;
/// - of what goes round a ring among the n devices of a context, (n - 1) / n of the attention's time is hidden (see
/// lib/machine/model/RingExchange.h);
/// - ZeRO 3 gathers weights twice per micro-batch and scatters gradients once, ZeRO 2 scatters them
/// in every micro-batch (Rajbhandari et al., ZeRO, 2020, section 7).
/// Finite and positive for any parameters that are positive and finite.
StepTime stepTime(const Candidate &candidate, const Parameters &parameters);

/// Of the fastest candidate that fits, of all if none does; `chosen` gets its index. At least one
/// candidate.
StepTime stepTime(const std::vector<Candidate> &candidates, const Parameters &parameters, size_t *chosen = nullptr);

/// An all-reduce of bytes among n devices of one server.
struct Ring {
  double devices = 1, bytes = 0;
  double link = 1;   ///< bytes per second of a device's links, one way
  double share = 1;  ///< part of a device's links that connect them
  double memory = 1; ///< bytes per second of a device's memory
};
/// The faster of two protocols,
///   latency + 2 (n - 1) h step + 2 (n - 1) / n bytes / (r share efficiency link) + copies / n bytes /
///   memory,
/// whole chunks (h = 1, r = 1) and lines of 128 bytes with flags (h = 0.56, r = 0.92: ratios of
/// NCCL's own model of its rings, src/graph/tuning.cc). The last term is what no link hides: the
/// first part is read and the last is written while nothing is sent.
double allReduceTime(const Ring &ring, const Parameters &parameters);

} // namespace accord::calibrate
