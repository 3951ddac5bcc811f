// Traces of GPU clusters of Alibaba (github.com/alibaba/clusterdata).
#pragma once
#include "lib/jobs/problem/TraceJob.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>

namespace accord::jobs {

/// cluster-trace-gpu-v2020 (Weng et al., NSDI 2022), pai_task_table: columns job_name, task_name, inst_num, status,
/// start_time, end_time, plan_cpu, plan_mem, plan_gpu (percent of a device for each instance) and gpu_type, with or
/// without a header. The tasks of a job run together, from the first start to the last end. The percents of all
/// instances of a job are added and rounded up to whole devices. A job whose tasks have several device types is taken
/// to run on any type.
///
/// `jobText` is pai_job_table, columns job_name, inst_id, user, status, start_time (of submission) and end_time: it
/// says the tenant of each job and when it arrived. If it is empty, there is no tenant, and a job arrives when it
/// starts. Error A1101 with its place.
Result<Trace> readAlibaba2020(std::string_view taskText, const std::string &taskPath, std::string_view jobText = {},
                              const std::string &jobPath = {});

/// pai_job_table alone says no devices: Error A1101, with the table that does.
Error alibabaJobTableAlone(const std::string &path);

/// cluster-trace-gpu-v2023 (Weng et al., USENIX ATC 2023), openb_pod_list: columns name, num_gpu, gpu_milli
/// (thousandths of a device, where num_gpu is 1), gpu_spec ("V100M16|V100M32"), pod_phase, creation_time, deletion_time
/// and scheduled_time, in seconds; others are passed over. A pod that was scheduled holds its devices until its
/// deletion, whatever its phase. Error A1101 with its place.
Result<Trace> readAlibaba2023(std::string_view text, const std::string &path);

} // namespace accord::jobs
