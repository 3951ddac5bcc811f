// What starts the runs of a schedule of jobs, in launch/ of an answer: a batch script of Slurm and a manifest of
// Kubernetes for each run, and a script for each system that starts all of them in their order.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/launch/Guard.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord {

/// What launchers are told of the plan of a training; `coresPerDevice` of the processors of a server, 0 where they are
/// not known. Why nothing starts it, or Megatron-LM does not, stands in it.
jobs::LaunchPlan launchPlanOf(const PlacementPlan &plan, int64_t coresPerDevice);

/// Files of an answer whose jobs are known (`JobAnswer::launch`); none where nothing is, or no job runs. JOB is the
/// name of a job as a label, RUN counts the runs of a job from 0 as jobs.csv does:
/// - launch/JOB/RUN.sbatch: devices by type and number for each server, time limit, account and quality of service of
///   the tenant (as queues/slurm_accounts.sh makes them), the plan as variables and as arguments of Megatron-LM
/// - launch/JOB/RUN.yaml: a JobSet that Kueue admits by the queues of queues/kueue.yaml
/// - launch/submit.sh, launch/apply.sh: start all of them, each at its time and after those that it waits for
/// What no launcher can express has no files (`LaunchPlan::refusal`), and its run is named by submit.sh and apply.sh.
///
/// A run is begun at the start of its first period and ended at the end of its last one. Runs of malleable jobs get
/// SIGUSR1 five minutes before, or after half of their time, and SIGTERM on Kubernetes. A run begins when the one
/// before it has ended, in whatever way, and the jobs that its own comes after have ended well.
AnswerFiles launchFiles(const jobs::JobAnswer &answer);

/// What each server of a run has to have; `run` is JOB/RUN. A0955 where nothing starts the run, and where there is none
/// of this name, with those that there are.
Result<GuardExpectation> guardOfRun(const jobs::JobAnswer &answer, const std::string &run,
                                    const LaunchOptions &options);

} // namespace accord
