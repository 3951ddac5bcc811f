// Numbers of a schedule of jobs in words: times, amounts of resources, values of measures.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"

namespace accord::jobs {

/// "45 s", "12.5 min", "3.25 h", "2.1 days": at most four significant digits.
std::string timeText(double seconds);
/// "0.31 $", "1234 $".
std::string dollarText(double dollars);
/// "8 h100", "3.5 kW", "6 of team_a".
std::string amountText(const JobAnswer &answer, size_t resource, int64_t amount);
/// "8 h100, data 8, ZeRO 1", "8 h100 as small, batch 512, data 8": a configuration; its name where its devices are not
/// known.
std::string configurationText(const JobAnswer &answer, size_t job, size_t configuration);
/// "batch 512 in 4 micro-batches, learning rate x 1.41, efficiency 0.81"; empty where the batch is that of the
/// training.
std::string batchText(const ConfigurationWords &words);
/// "mean completion", "cost".
std::string_view wordsOf(JobMeasure measure);
/// The value of a measure as people say it. Sums over completions are divided by the sum of the weights: "3.2 h" of
/// `Completion` is a weighted mean, "1.4 times" of `Nash` a geometric mean of (completion - arrival) / isolated,
/// "12 % left" of `Unfinished` the weighted mean of what is left.
std::string measureText(const JobScheduleProblem &problem, JobMeasure measure, int64_t value);
/// The same of a limit of an answer, with what the time before the schedule counts in it.
std::string wholeMeasureText(const JobAnswer &answer, size_t limit, int64_t value);
/// "cost <= 500 $".
std::string limitText(const JobScheduleProblem &problem, const JobLimit &limit);
/// (value - bound) / value of an objective with a bound; 0 where both are 0 or less.
double gapOf(int64_t value, int64_t bound);
/// The index of a resource of this name; -1: none.
int64_t resourceNamed(const JobScheduleProblem &problem, std::string_view name);
/// Amount in use of each resource in each slot. Runs outside of the slots and resources that do not exist count
/// nothing.
std::vector<std::vector<int64_t>> usedAmounts(const JobScheduleProblem &problem, const JobSchedule &schedule);

/// The work that runs of a job leave, 0 or more; runs outside of the slots do none.
int64_t shownWorkLeft(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs);
/// "62.5 %": the share of its work that a job has done at the end of the schedule, rounded down.
std::string shareDoneText(const JobScheduleProblem &problem, const ScheduledJob &job, const JobTrajectory &does);

/// What the runs of a job cost; prices are micro-dollars, energy joules, carbon micrograms. Slots count whole.
struct RunCosts {
  __int128 price = 0, energy = 0, carbon = 0;
  RunCosts &operator+=(const RunCosts &other);
};
RunCosts runCosts(const JobScheduleProblem &problem, const ScheduledJob &job, const std::vector<JobRun> &runs);

/// The value of a measure of a schedule, after the definitions of `JobMeasure`, at most 2^62; rejected jobs count
/// nothing but in `Rejected` and `Unfinished`. For pages: what is proved of a schedule has its own code.
int64_t shownValue(const JobScheduleProblem &problem, const JobSchedule &schedule, JobMeasure measure);

} // namespace accord::jobs
