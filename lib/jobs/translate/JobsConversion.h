// Problems and schedules of jobs: from operations of the jobs dialect to plain data, and back.
#pragma once
#include "dialects/jobs/JobsDialect.h"
#include "lib/jobs/problem/JobAnswer.h"
#include "mlir/IR/Builders.h"

namespace accord::jobs {

/// The problem of a verified operation: resources, groups, jobs and configurations in the order of the text. Whether it
/// is well formed is `checkJobScheduleProblem`'s to say.
JobScheduleProblem problemFrom(ProblemOp op);
/// Servers in their order; types in the order of their first servers.
Cluster clusterFrom(ProblemOp op);
/// The runs, completions and values of a verified schedule. Bounds have no proofs in text but their numbers.
JobSchedule scheduleFrom(ScheduleOp op, ProblemOp problem);
/// Problem, servers and schedule, with what is known of configurations: a use of a resource that is named as a device
/// type is its devices, of one type at most.
JobAnswer answerFrom(ProblemOp op, JobSchedule schedule);

/// Writes a problem with its servers at the builder.
ProblemOp writeProblem(mlir::OpBuilder &builder, mlir::Location at, llvm::StringRef name,
                       const JobScheduleProblem &problem, const Cluster &cluster);
/// Writes a schedule at the builder; `placements` as `JobAnswer::placements`, or empty.
ScheduleOp writeSchedule(mlir::OpBuilder &builder, mlir::Location at, llvm::StringRef name,
                         const JobScheduleProblem &problem, const JobSchedule &schedule,
                         const std::vector<std::vector<JobPlacement>> &placements = {});

/// `1:8, 2:4` of a run.
mlir::DenseI64ArrayAttr serversAttr(mlir::OpBuilder &builder, const JobPlacement &placement);

} // namespace accord::jobs
