// The files with which an ensemble that `accord vote` chose is trained, measured and started.
#pragma once
#include "lib/ensembles/problem/AnswerPlan.h"
#include "lib/ensembles/problem/EnsemblePlan.h"
#include "lib/support/Result.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/voting/problem/VotingConfig.h"

namespace accord::voting {

struct EnsembleScriptOptions {
  int64_t classes = 0;            ///< labels, which a plan does not know
  double timeout = 100;           ///< milliseconds, where the plan has none
  std::vector<std::string> hosts; ///< of the devices that are used, in their order; empty: all on this machine
  int64_t port = 8501;            ///< of the first member of each host; others follow
};

/// A device that is used, and its members by their index in `config`.
struct ScriptDevice {
  std::string name;       ///< "a100_40g-1"
  std::string level = {}; ///< at which it has to run, as the plan calls it; empty: there is one
  std::vector<size_t> members;
};
struct RunningEnsemble {
  VotingConfig config;
  std::vector<ScriptDevice> devices;
};

/// Members in the order of the plan: "wide", "thin", "wide.2", so that their votes are columns of a table
/// that `accord vote` reads. The quorum is that of `answer`; without one it is all votes that the guarantee needs:
/// those left by the worst loss of devices that it covers, or all. Error A0956: the plan has chosen nothing; A0801:
/// another number of hosts than devices.
Result<RunningEnsemble> runningEnsemble(const EnsemblePlan &plan, const EnsembleScriptOptions &options);

/// Members that a plan chose to answer: its quorum, time-out and limits.
Result<RunningEnsemble> runningEnsemble(const AnswerPlan &plan, const EnsembleScriptOptions &options);

/// So many samples a table of the chosen members needs to certify what is required (without a requirement: the error
/// that is guaranteed), if as many votes are wrong as in the table there is, or else half of what is required; nothing:
/// no number does.
std::optional<int64_t> samplesOfTable(const EnsemblePlan &plan);
/// As many as the table of votes has from which the plan follows; nothing: there is none.
std::optional<int64_t> samplesOfTable(const AnswerPlan &plan);

/// ensemble.json; train.sh; start/DEVICE.sh for each device; answer.sh; engine.py; collect_votes.py.
Result<AnswerFiles> ensembleScripts(const EnsemblePlan &plan, const EnsembleScriptOptions &options);
/// The same without train.sh: members that answer are trained before, and elsewhere.
Result<AnswerFiles> ensembleScripts(const AnswerPlan &plan, const EnsembleScriptOptions &options);

/// Of the files beside this one.
std::string collectVotesScript(int64_t samples);
std::string engineScript();

} // namespace accord::voting
