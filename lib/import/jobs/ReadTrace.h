// Traces of jobs of any format that is known, told by what they contain.
#pragma once
#include "lib/jobs/problem/TraceJob.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>

namespace accord::jobs {

/// Formats of traces that say which devices a job held and for how long. What says only work (traces of Gavel,
/// workloads of Pollux and Sia) has readers of its own.
enum class TraceFormat : uint8_t {
  SlurmText,        ///< `sacct -P`
  SlurmJson,        ///< `sacct --json`, `squeue --json`
  PhillyTable,      ///< of Sia's artefact
  PhillyLog,        ///< cluster_job_log
  Alibaba2020Tasks, ///< pai_task_table
  Alibaba2020Jobs,  ///< pai_job_table, which says no devices
  Alibaba2023       ///< openb_pod_list
};

/// The format of a text. Error A1101 if it is none of them, with what was found and which are known.
Result<TraceFormat> traceFormat(std::string_view text, const std::string &path);

/// Reads a trace of any of them; `path` is for messages. Error A1101 with its place.
Result<Trace> readTrace(std::string_view text, const std::string &path);

/// Reads a file. Beside "pai_task_table…", the file with "pai_job_table" in its place is read too if it is there, which
/// an assumption of the trace says. Error A1101 with its place.
Result<Trace> readTraceFile(const std::string &path);

} // namespace accord::jobs
