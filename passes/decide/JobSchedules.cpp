// When each job of a problem runs, and on which servers.
#include "lib/jobs/problem/JobWords.h"
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/translate/JobsConversion.h"
#include "lib/support/EmitError.h"
#include "passes/decide/Passes.h"

using namespace mlir;

namespace accord {

#define GEN_PASS_DEF_PLACEJOBS
#define GEN_PASS_DEF_SCHEDULEJOBS
#include "passes/decide/Passes.h.inc"

namespace {

struct ScheduleJobs : impl::ScheduleJobsBase<ScheduleJobs> {
  using ScheduleJobsBase::ScheduleJobsBase;

  void runOnOperation() override {
    auto before = llvm::to_vector(getOperation().getOps<jobs::ScheduleOp>());
    for (jobs::ProblemOp op : llvm::to_vector(getOperation().getOps<jobs::ProblemOp>())) {
      const jobs::JobScheduleProblem problem = jobs::problemFrom(op);
      if (auto holds = jobs::checkJobScheduleProblem(problem); !holds) {
        emitError(op, holds.error().code) << holds.error().message;
        return signalPassFailure();
      }
      for (jobs::ScheduleOp &old : before)
        if (old && old.getProblem() == op.getSymName())
          old.erase(), old = {};
      SearchLimits limits;
      limits.effort = effort;
      OpBuilder builder(op);
      builder.setInsertionPointAfter(op);
      jobs::writeSchedule(builder, op.getLoc(), op.getSymName(), problem, jobs::solveJobSchedule(problem, limits));
    }
  }
};

struct PlaceJobs : impl::PlaceJobsBase<PlaceJobs> {
  using PlaceJobsBase::PlaceJobsBase;

  void place(jobs::ScheduleOp schedule, jobs::ProblemOp problem) {
    jobs::JobAnswer answer = jobs::answerFrom(problem, jobs::scheduleFrom(schedule, problem));
    jobs::placeJobs(answer);
    llvm::StringMap<size_t> numbers;
    for (const jobs::ScheduledJob &job : answer.problem.jobs)
      numbers.try_emplace(job.name, numbers.size());
    std::vector<size_t> next(numbers.size(), 0);
    OpBuilder builder(&getContext());
    for (auto run : schedule.getBody().getOps<jobs::RunOp>()) {
      const size_t job = numbers.lookup(run.getJob()), number = next[job]++;
      run.setServersAttr(jobs::serversAttr(builder, answer.placements[job][number]));
      const unsigned configuration = answer.schedule.jobs[job].runs[number].configuration;
      if (!run.getServers() && answer.jobs[job].configurations[configuration].devices > 0)
        run.emitWarning() << "'" << run.getJob()
                          << "' has no servers: " << jobs::configurationText(answer, job, configuration)
                          << " are free by number, but not without a move of another job";
    }
  }

  void runOnOperation() override {
    for (auto schedule : getOperation().getOps<jobs::ScheduleOp>())
      if (auto problem = SymbolTable::lookupNearestSymbolFrom<jobs::ProblemOp>(schedule, schedule.getProblemAttr()))
        place(schedule, problem);
  }
};

} // namespace

} // namespace accord
