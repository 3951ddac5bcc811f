// Where a plan is at a moment, and what events make of that: for whoever plans a running cluster again.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"

namespace accord::jobs {

/// The job of a block of which a job of a problem is a phase: "lm" of "lm (phase 2 of 3)".
std::string blockJobOf(const std::string &name);

/// The state of a plan's jobs at `at` seconds on the clock of the block, where all went as planned. A plan that goes on
/// from a moment itself hands on what it knew. A job runs whose run has begun before `at` and does not end before; what
/// a period costs counts up to `at`. Errors (A1107): the plan has no schedule, does not say how much work its jobs
/// have, or `at` is before it begins or not before it ends.
Result<RunningState> stateAt(const JobAnswer &plan, int64_t at);

/// Changes a state by an event. Of a job that is complete by plan, progress means that it still runs where it ran last.
/// A job that stops without a stated share loses what it did since its last checkpoint: one each `checkpoint` seconds
/// of progress. Errors (A1107): a job that the state does not have (with the nearest name), a server that the cluster
/// does not have or that is in service already, numbers out of range, a job that stops though it does not run, without
/// a share.
Result<void> applyEvent(RunningState &state, const JobEvent &event, const Cluster &cluster);

/// "runs at 0.8 times the planned speed", "server 3 is out of service".
std::string wordsOf(const JobEvent &event);
/// Whether an event is of a job: by its name, or of a server on which it ran before the events.
bool concerns(const JobEvent &event, const JobState &before);

} // namespace accord::jobs
