// `job NAME = TRAINING { … }` and `job NAME { configuration h100[4] { … } … }`: one entry of a `jobs` block.
#pragma once
#include "lib/language/requests/JobValues.h"

namespace accord {

/// A job or an array of jobs as it is written. Names of tenants and jobs are resolved when all entries are read.
struct JobEntry {
  jobs::JobsRequest::Job job; ///< its name is that of the array; without `tenant` and `after`
  int64_t members = 0;        ///< of an array; 0: it is none
  SourceRange at;             ///< of its name
  std::optional<JobName> tenant;
  std::vector<JobName> after;
};

/// What can be read of it; errors are in the diagnostics. Trainings are those of `file`.
JobEntry readJob(const ast::Node &node, const ast::Entry &entry, const ast::File &file, Diagnostics &diags,
                 const Lookup &lookup);

} // namespace accord
