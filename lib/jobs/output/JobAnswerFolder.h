// The files of a schedule of jobs, as its answer folder holds them.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord::jobs {

/// The certificate within the folder.
constexpr const char *kJobsCertificate = "certificate/jobs.json";

/// jobs.json (what people read, for programs), jobs.csv, trace.json, report.html, and the certificate, from which all
/// of them follow.
AnswerFiles filesOf(const JobAnswer &answer);

} // namespace accord::jobs
