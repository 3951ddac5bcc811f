// A schedule of jobs for people: for the terminal, as CSV, as a timeline for Perfetto and as a readable document.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord::jobs {

/// A row for each job (start, completion, or how much is done if it continues, slack to its deadline, cost, energy, how
/// long it waits), why the longest waits are, each objective with its bound and gap, each requirement, the conflict and
/// its repairs, assumptions. `folder`: where the page is; empty: nowhere.
std::string jobScheduleText(const JobAnswer &answer, const std::string &folder, const TextStyle &style);

/// job,tenant,run,begin_s,end_s,configuration,devices,type,plan,servers,cost_usd,energy_J: a row for each run; servers
/// as "3:8 4:8" (server:devices).
std::string jobScheduleCsv(const JobAnswer &answer);

/// Trace events for https://ui.perfetto.dev: a track for each job with its runs and waits, for each device of each
/// server what runs on it, and counters of devices in use by type, watts, dollars an hour and carbon. Devices of
/// servers are numbered as runs begin, smallest free numbers first. Where slices would be more than `maxSlices`, a
/// server is one track.
llvm::json::Value jobScheduleTrace(const JobAnswer &answer, size_t maxSlices = 200'000);

/// The document from which the page is drawn. Times are seconds from the start of the schedule.
llvm::json::Value jobScheduleJson(const JobAnswer &answer);
llvm::json::Value jobScheduleSchema();

/// "optimal", "feasible", "infeasible", "unknown".
std::string_view statusWord(const JobAnswer &answer);

} // namespace accord::jobs
