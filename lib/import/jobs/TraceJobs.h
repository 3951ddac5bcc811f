// Recorded jobs as steady ones, for the simulator: what an operator's own history would have been under another policy;
// complete jobs, from which the work of others is learned; and gradient noise of trainings, from which that of others
// is.
#pragma once
#include "lib/jobs/problem/MeasuredNoise.h"
#include "lib/jobs/problem/SteadyJob.h"
#include "lib/jobs/problem/TraceJob.h"
#include "lib/jobs/problem/WorkHistory.h"
#include "lib/support/Result.h"
#include <map>
#include <string_view>

namespace accord::jobs {

struct TraceReplay {
  std::vector<SteadyJob> jobs; ///< in the order of the trace
  size_t tooLarge = 0;         ///< jobs that ask for more devices of one type than there are; left out
  size_t unknownDuration = 0;  ///< jobs of which the trace does not say how long they held their devices; left out
  size_t otherTypes = 0;       ///< jobs on device types that the cluster does not have: they may run on any type
  /// The assumptions of the trace, and one for each of the counts that is not 0, with the first job that it is about.
  std::vector<std::string> notes;
};

/// Jobs (`simulatedJobs` takes them) that hold their devices for as long as they did, on any of their device types at
/// the same speed, and rigid: a step is a second on all devices of the job. Names of types are compared without upper
/// and lower case. Arrivals are counted from the first of the trace, before anything is left out. `restartSeconds` is
/// lost each time a job's devices change. Error A1102 if all jobs are too large, A1101 if none can be replayed for
/// another reason, or if the restart is no number of seconds from 0 on.
Result<TraceReplay> replayOf(const Trace &trace, const Cluster &cluster, double restartSeconds);

/// Reads a .csv of complete jobs: the columns application, work (in the unit of the application) and rate (work a
/// second where it was fastest); both are more than 0. Errors have the code A1101 and the place of the cell.
Result<std::vector<CompleteJob>> readWorkHistory(std::string_view text, const std::string &path);

/// The same columns.
std::string printWorkHistory(const std::vector<CompleteJob> &jobs);

/// Reads lib/catalog/gradient-noise.csv: the columns model, family, task, parameters (or empty), data and noise; others
/// are not looked at. Numbers are more than 0, and a model stands once. Errors have the code A1101 and the place of the
/// cell.
Result<std::vector<MeasuredNoise>> readNoiseTable(std::string_view text, const std::string &path);

/// Reads a .csv of assumed noise scales: the columns application and noise, in samples, 0 or more; each application
/// stands once. Errors as above.
Result<std::map<std::string, double>> readAssumedNoise(std::string_view text, const std::string &path);

} // namespace accord::jobs
