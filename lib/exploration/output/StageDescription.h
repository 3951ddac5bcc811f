// A pipeline whose stages are on designs of their own: in words and numbers, and with its cluster as a description.
#pragma once
#include "lib/exploration/clusters/StagedDesigns.h"

namespace accord {

/// `cluster`: the description of the cluster whose devices are mined. Where it is not one kind of servers with one of
/// devices there is no description of the designs, and `left` says so.
MinedStages describeStages(const DesignSpace &space, const std::string &job, int64_t batch, const StagedDesigns &found,
                           const std::string &cluster);

} // namespace accord
