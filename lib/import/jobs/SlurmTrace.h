// Accounting and queues of Slurm as traces of jobs (Slurm 22.05 and later).
#pragma once
#include "lib/jobs/problem/TraceJob.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>

namespace accord::jobs {

/// Text of `sacct -P` (`--parsable2`) or `sacct -p`: a header, and a line for each job and step, in columns between
/// "|". Needed are JobID or JobIDRaw, Submit, and AllocTRES or ReqTRES; used if they are there are JobName, User,
/// Account, Start, End, Elapsed or ElapsedRaw (seconds), Timelimit or TimelimitRaw (minutes), and State. The order of
/// columns does not matter, and other columns are passed over. A job name may hold "|".
///
/// The devices of a job are those of AllocTRES, or if that names none those of ReqTRES (gres/gpu, gres/gpu:TYPE). Steps
/// (123.batch) are left out. The pending tasks of an array, 123_[1-10%2], become a job each. The tenant is the
/// account, else the user. The duration of a job that has ended is what it has elapsed, without suspension; that of one
/// that waits or runs is unknown. Times are local times of the cluster. Error A1101 at the line and column of what is
/// wrong.
Result<Trace> readSlurmText(std::string_view text, const std::string &path);

/// The answer of `sacct --json` or `squeue --json`: an object with the list "jobs". Numbers are plain (22.05) or
/// objects {"set", "infinite", "number"} (23.02 and later), and a state is a word or a list of words. The rest is as in
/// `readSlurmText`. Error A1101 at the line and column of what is wrong.
Result<Trace> readSlurmJson(std::string_view text, const std::string &path);

} // namespace accord::jobs
