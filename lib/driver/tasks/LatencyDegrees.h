// The latency model of a session's job on a cluster, over its parallel degrees.
#pragma once
#include "lib/latency/model/LatencyModel.h"

namespace accord {

class Session;

/// Plans the job at every degree that divides it and that the cluster has devices for: powers of
/// two, those of the file, and divisors of the parameter `heads` where that is odd or twice odd.
/// Nothing after errors. What is left out, and why, is in the notes.
std::optional<LatencyModel> clusterLatencyModel(Session &session);

} // namespace accord
