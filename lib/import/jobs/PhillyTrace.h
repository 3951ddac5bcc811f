// Traces of Microsoft's Philly clusters (Jeon et al., USENIX ATC 2019).
#pragma once
#include "lib/jobs/problem/TraceJob.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>

namespace accord::jobs {

/// The short form that Sia's artefact has (github.com/siasosp23/artifacts, sia-simulator/traces/philly.csv): columns
/// timestamp (a date), duration (seconds), num_gpus, cluster (the tenant); gpu_time is passed over. Jobs are named
/// after their lines. Error A1101 with its place.
Result<Trace> readPhillyTable(std::string_view text, const std::string &path);

/// The job log (github.com/msr-fiddle/philly-traces, cluster_job_log): a list of {status, vc, jobid, attempts,
/// submitted_time, user}, where an attempt is {start_time, end_time, detail: [{ip, gpus}]}. The tenant is the virtual
/// cluster. A job holds the devices of its largest attempt for the sum of its attempts; attempts without a start or an
/// end are not counted, and the duration is unknown if the last one has none. Error A1101 with its place.
Result<Trace> readPhillyLog(std::string_view text, const std::string &path);

} // namespace accord::jobs
