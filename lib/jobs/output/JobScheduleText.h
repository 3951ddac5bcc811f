// A schedule of jobs with its problem and all proofs, as certificate/jobs.json.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/Fields.h"

namespace accord::jobs {

/// Of all sets of prices of a document together, numbers that are 0 included: more are refused, so that a short
/// document cannot ask for much memory.
constexpr size_t kMaxWrittenPrices = size_t(1) << 27;

void describe(JsonFields &f, JobScheduleProblem &problem);
/// Prices are {"rows": how many, "at": [row, price, row, price, …]} with rows ascending, without prices of 0.
void describe(JsonFields &f, JobSchedule &schedule);
void describe(JsonFields &f, JobAnswer &answer);

/// All of an answer. Text that is not UTF-8 is made so.
std::string jobsCertificate(const JobAnswer &answer);
/// Reads what `jobsCertificate` writes. Its problem is well formed, and jobs, configurations, slots, device types and
/// servers that it names exist; whether its schedule holds is `verifyJobSchedule`'s to say. Else what is wrong, and
/// where: "jobs.json:3:12: unknown key at jobs.problem.color" (A1106).
Result<JobAnswer> jobsFromCertificate(llvm::StringRef text, const std::string &file);

/// The certificate within the folder of an answer.
constexpr const char *kJobsCertificate = "certificate/jobs.json";
/// jobs.json (what people read, for programs), jobs.csv, trace.json, report.html, and the certificate, from which all
/// of them follow.
AnswerFiles filesOf(const JobAnswer &answer);

} // namespace accord::jobs
