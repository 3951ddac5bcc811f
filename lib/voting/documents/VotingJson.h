// The documents of ensembles that run.
#pragma once
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/TextStyle.h"
#include "lib/voting/problem/AskReport.h"
#include "lib/voting/problem/VotingConfig.h"
#include "lib/voting/problem/VotingStatistics.h"

namespace accord::voting {

constexpr const char *kEnsembleFile = "ensemble.json";

void describe(JsonFields &f, VotingMember &member);
void describe(JsonFields &f, PlannedAnswer &planned);
void describe(JsonFields &f, VotingConfig &config);
void describe(JsonFields &f, LatencyQuantiles &latency);
void describe(JsonFields &f, MemberTally &tally);
void describe(JsonFields &f, VotingStatistics &statistics);
void describe(JsonFields &f, MeasuredShare &share);
void describe(JsonFields &f, AskReport &report);

/// ensemble.json. Error A0901 at "path:line:column", with what was found.
Result<VotingConfig> readVotingConfig(llvm::StringRef text, const std::string &path);

/// What was measured, for people.
std::string askSummary(const AskReport &report, const TextStyle &style);

} // namespace accord::voting
