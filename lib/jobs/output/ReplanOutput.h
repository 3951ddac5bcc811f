// What a plan that goes on from a moment changes: in the certificate, in jobs.json and for people.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/SummaryLines.h"

namespace accord::jobs {

/// All of it, as the certificate has it.
void describe(JsonFields &f, Replan &replan);

/// A change, as jobs.json has it: times are seconds on the clock of the block.
struct ChangeView {
  std::string job, kind, from, to, why;
  int64_t before = -1, after = -1; ///< completions; -1: none
  double restartHours = 0;
};
struct KeptView {
  std::string name, text;
  int64_t value = 0;
};
struct ReplanView {
  int64_t at = 0;
  std::vector<ChangeView> changes;
  std::vector<KeptView> kept; ///< the objectives if the plan before were kept
  std::string whyNotKept;
  double restartHours = 0; ///< of all jobs
};
std::optional<ReplanView> replanView(const JobAnswer &answer);
void describe(JsonFields &f, ReplanView &view);

/// A row for each job that does not go on as planned, and the objectives against those with the plan kept.
void addReplan(const JobAnswer &answer, const TextStyle &style, SummaryLines &lines);

} // namespace accord::jobs
