#include "lib/driver/exploration/MineStages.h"
#include "lib/exploration/output/StageDescription.h"
#include "llvm/ADT/STLExtras.h"

namespace accord {
bool mayMineStages(const MineOptions &options, MineJobs &jobs) {
  if (options.stages == 0)
    return true;
  Session &session = jobs.first();
  auto refused = [&](SourceRange at, const std::string &what, const std::string &help) {
    session.diagnostics().error(Code::NotSupported, at, "not supported yet: " + what).help(help);
    return false;
  };
  if (jobs.size() > 1)
    return refused({}, "a design for each stage of several files", "mine one file with --stages");
  if (!jobs.placed(0))
    return refused(session.job().targetAt, "stages of a job on one device, which has no pipeline",
                   "train on a cluster, or leave out --stages");
  if (jobs.minesClusters())
    return refused(session.job().targetAt, "stages on a cluster that leaves numbers open",
                   "state the numbers of the cluster, or leave out --stages");
  if (jobs.metric() == MiningMetric::Expression)
    return refused(session.job().expression ? session.job().expression->at : SourceRange{},
                   "a design for each stage by an expression",
                   "--metric step_time, tdp_time or area_time, or leave out --stages");
  const PlacementSpace &placementSpace = jobs.placements(0).front()->job().request.space;
  auto pipes = [](PipelineSchedule one) { return one == PipelineSchedule::GPipe || one == PipelineSchedule::OneFOneB; };
  if (llvm::none_of(placementSpace.schedules, pipes))
    return refused(session.job().targetAt, "a design for each stage of schedules other than gpipe and one_f_one_b",
                   "add one of them: schedule = one_f_one_b");
  if (!placementSpace.groups.empty() && placementSpace.groups.back().max == 1)
    return refused(session.job().targetAt, "stages where the search space has no pipeline",
                   "add pipeline_parallel above 1, or leave out --stages");
  return true;
}

std::optional<MinedStages> minedStages(const MineOptions &options, MineJobs &jobs, const PlacedBest &placed,
                                       const Design &common, const std::atomic<bool> *stop) {
  StageOptions how{.each = options.stages, .threads = options.session.threads, .stop = stop};
  how.localSearch = options.strategy == "wham";
  auto found = mineStages(jobs.space(), *jobs.placements(0).front(), jobs.metric(), common, placed, how);
  if (!found)
    return std::nullopt;
  const MiningJob &job = jobs.jobs().front();
  return describeStages(jobs.space(), job.name, job.batch, *found, jobs.first().target().clusterText({}));
}

} // namespace accord
