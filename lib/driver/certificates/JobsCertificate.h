// The schedule of jobs that a folder has, proved again before it is used.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"

namespace accord {

/// Reads the certificate of an answer's folder and proves it as `accord verify` does, with what people read of it and
/// the manifest, where there is one. Errors: what is wrong, each with the folder.
Result<jobs::JobAnswer, Errors> provedJobs(const std::string &folder);

} // namespace accord
