// From a submission to a job that can be planned: its request and its table of configurations.
#pragma once
#include "lib/jobs/problem/JobsRequest.h"
#include "lib/jobs/schedule/ScheduleBuilder.h"
#include "lib/service/problem/ServedJob.h"
#include "lib/service/progress/LearnedTable.h"

namespace accord::service {

struct ModelledJob {
  jobs::JobsRequest::Job request; ///< set by the scheduler (`requestOf`)
  jobs::JobTable table;
  std::vector<std::string> assumptions;
};

class JobModeller {
public:
  virtual ~JobModeller() = default;
  /// Prices the configurations of a job whose files describe its training, on the devices of a cluster. May take
  /// seconds; called from one thread. Errors have places in the files.
  virtual Result<ModelledJob, Errors> model(const ServedJob &job, const jobs::Cluster &cluster) = 0;
};

/// The request of a submission: everything but its table. `epoch`: when the clock of the cluster began.
jobs::JobsRequest::Job requestOf(const ServedJob &job, double epoch);
/// Whether nobody said how fast a job is: neither a description of its training nor a measurement is there.
bool isLearned(const Submission &submission);
/// The table of a job that states what was measured, or of one whose speeds are learned: what `learnedSpeeds` says of
/// those that were seen, and before, its smallest number of devices of each type at a speed of 1 sample a second.
jobs::JobTable measuredTable(const ServedJob &job, const jobs::Cluster &cluster,
                             const std::map<std::string, double> &speeds, const std::vector<SeenSpeed> &seen);

} // namespace accord::service
