// Prices the configurations of a submitted job by plans of its training on the devices of a cluster.
#pragma once
#include "lib/driver/service/ClusterDescription.h"
#include "lib/service/control/JobModeller.h"
#include <memory>

namespace accord {

/// Files of a submission are written into a folder of its own below `folder`, and nothing but them, the catalogue and
/// what describes the cluster is read.
std::shared_ptr<service::JobModeller> trainingModeller(const Options &options, ClusterDescription cluster,
                                                       const std::string &folder);

} // namespace accord
