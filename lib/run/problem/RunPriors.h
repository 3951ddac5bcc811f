// What a cluster does not state of its failures: medians with 90 % intervals, from published clusters.
#pragma once
#include "lib/run/problem/TrainingRun.h"

namespace accord {

/// Failures of one device in a day that stop a training: the geometric mean of nine published clusters, and the 90 %
/// interval of a tenth (Student's t of the logarithms). The rates stand in test/lib/run/PublishedGoodputTest.cpp, which
/// computes these numbers again, and in docs/goodput.md.
constexpr RunInput kFailuresPerDay{4.4e-4, 1.1e-4, 1.7e-3};

/// Seconds from a failure to its discovery, and from there to the next step, where software restarts the training. The
/// time limit of collectives in PyTorch is 30 min; restarts take 4 min to 68 min (Unicron, arXiv 2401.00134). A failure
/// that people have to clear takes hours (BLOOM: 6, 11 and 18; OPT-175B), so who has no automation states both times.
constexpr RunInput kDetectionTime{2 * 60, 12, 30 * 60};
constexpr RunInput kRestartTime{16 * 60, 4 * 60, 68 * 60};

/// Bytes per second at which one server writes a checkpoint: 50 to 200 GB/s of storage for tens to hundreds of servers.
constexpr RunInput kServerCheckpointBandwidth{1e9, 0.4e9, 2.5e9};
/// Seconds for which an asynchronous checkpoint stops the devices: PyTorch's on 512 GPUs takes less than 0.5 s.
constexpr RunInput kBlockingTime{0.5, 0.05, 5};

/// Share by which stragglers lengthen a step of several servers: a tenth of GPU hours at worst (Lin et al. OSDI 2025).
constexpr RunInput kSlowdown{0.02, 0, 0.1};

/// Share of failures after which a server has to be repaired (Unicron), and the seconds that this takes.
constexpr double kRepairShare = 0.37;
constexpr RunInput kRepairTime{86400, 86400 / 4, 4 * 86400};

} // namespace accord
