// Which servers hold the devices of each job, with as few moves as the sizes allow.
#pragma once
#include "lib/jobs/problem/Cluster.h"

namespace accord::jobs {

struct PackingRequest {
  unsigned type = 0;     ///< index into `Cluster::types`
  unsigned devices = 0;  ///< 0: the job waits
  JobPlacement previous; ///< where it runs now; empty: nowhere
};

/// The placement of each request, empty where its devices are 0 or do not fit. A job that has its type and number of
/// devices already stays where it is, unless a larger job needs its server: then the fewest devices are moved.
///
/// A job of up to one server's devices is on one server; a larger one takes whole servers and, for what remains, a
/// part of one more. Where all servers of a type have the same power of two of devices, and each job a power of two of
/// devices up to that or a multiple of it, whatever fits by number fits: larger jobs are placed first, sizes divide
/// each other, so what is free on a server without smaller jobs is a multiple of the size that is placed. Other sizes
/// may leave a job without a place although enough devices are free.
std::vector<JobPlacement> packServers(const Cluster &cluster, const std::vector<PackingRequest> &requests);

} // namespace accord::jobs
