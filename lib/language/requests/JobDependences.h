// Which jobs of a block are after which: names resolved, no cycles.
#pragma once
#include "lib/language/requests/JobEntries.h"

namespace accord {

class JobDependences {
public:
  /// Entries of different names.
  JobDependences(const std::vector<JobEntry> &entries, Diagnostics &diags);
  /// False after reporting names of no job, members that an array does not have, jobs that are after themselves, or a
  /// block `name` with more jobs or parts of them than `kMaxJobs` and `kMaxJobParts`.
  bool resolve(const std::string &name, SourceRange at);
  /// What each job of an entry is after, arrays written out.
  std::vector<std::string> namesOf(size_t entry) const;

private:
  /// Members of an entry from `begin` to `end`, which is none of them; a job that is no array has one.
  struct Members {
    size_t entry = 0;
    int64_t begin = 0, end = 0;
    const JobName *written = nullptr;
  };
  std::optional<Members> membersOf(const JobName &name);
  bool fits(const std::string &name, SourceRange at);
  void findCycles();
  void report(const std::vector<const Members *> &cycle);

  const std::vector<JobEntry> &entries;
  Diagnostics &diags;
  std::map<std::string, size_t> index;
  std::vector<std::vector<Members>> after; ///< of each entry
};

} // namespace accord
