// Which servers hold the devices of each run of a schedule of jobs, from its start to its end.
#pragma once
#include "lib/jobs/problem/Cluster.h"

namespace accord::jobs {

struct JobAnswer;

/// Devices of one type that a job holds from slot `begin` up to slot `end`, which it does not use.
struct RunRequest {
  unsigned job = 0;
  int64_t begin = 0, end = 0;
  unsigned type = 0; ///< index into `Cluster::types`
  unsigned devices = 0;
  bool stays = false; ///< it goes on where the job is before slot 0, wherever that is possible for all
};

struct RunPlacements {
  std::vector<JobPlacement> runs; ///< of each request; empty where its devices are 0 or have no place
  std::vector<size_t> unplaced;   ///< requests of more than 0 devices without a place, ascending
  /// Runs that do not have all the servers of the run of the same job before it, or, of the smaller of both, all of
  /// its servers. Where this is 0, no job moves.
  int64_t moves = 0;
  /// Whether it is proved that not all requests have a place: they are too many by number, or the search was through.
  bool provenUnplaced = false;
};

/// Places each run on the same servers for as long as it lasts. A run that fits into a server is on one server; a
/// larger one has whole servers and, for what remains, a part of one more.
///
/// Slot by slot, `packServers` places what begins, near to where the job was. Where it would move a job within a run or
/// has no place for one, because what is free is scattered, servers are searched for all runs of the device type
/// together, with their ends in view, by a limited number of steps (`RunSearch`). If that finds none either, the runs
/// with the fewest devices times slots that it left out are in `unplaced`.
///
/// `current`: where each job runs before slot 0; may be shorter than the jobs, or empty. Runs that stay are there, and
/// the others around them; only where some run has no place then, they may move, too. `absences`: no run is on a server
/// in a slot in which it is not there.
RunPlacements placeRuns(const Cluster &cluster, const std::vector<RunRequest> &requests,
                        const std::vector<JobPlacement> &current = {}, const std::vector<ServerAbsence> &absences = {});

/// The runs of the schedule of an answer, job by job, with the devices of `JobAnswer::jobs`. Runs that go on without a
/// restart stay.
std::vector<RunRequest> runRequests(const JobAnswer &answer);

/// Places the runs of an answer around `JobAnswer::absences`: sets `JobAnswer::placements`, and says in its assumptions
/// which runs have no place.
RunPlacements placeJobs(JobAnswer &answer, const std::vector<JobPlacement> &current = {});

} // namespace accord::jobs
