// What commands of Slurm print (22.05 to 24.11), as data. Whatever is printed, there is an answer or an error: lines
// may be cut short, names of other people's jobs may have any characters, messages may stand among the lines.
#pragma once
#include "lib/service/engines/Engine.h"
#include "lib/support/Result.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace accord::service {

struct SlurmJob {
  std::string id, name, state;   ///< state: Slurm's word, "RUNNING"
  std::string reason;            ///< empty: "None"
  std::string nodes;             ///< as Slurm abbreviates them: "a[1-2]"
  double started = 0, ended = 0; ///< seconds since 1970; of a job that runs, `ended` is its limit; 0: it has none
  int exitCode = -1;             ///< 128 and the number of a signal that ended it
  bool isHeld() const;
};

/// The fields of `squeue --Format` that `slurmJobs` reads.
extern const char *const kSlurmJobFields;

/// Jobs of `squeue --noheader --Format=kSlurmJobFields`, with SLURM_TIME_FORMAT=%s. A1203 if a line
/// of a job is cut, or a message stands where they should be.
Result<std::vector<SlurmJob>> slurmJobs(const std::string &text);

/// A node whose device type has the name that an operator gave it, else that of its gres.
struct SlurmNode : EngineNode {
  std::string gresType; ///< "a100" of "gpu:a100:4"; empty: the gres has no types
};

/// Nodes of `scontrol show node --oneliner` that have devices of a gres ("gpu"), by name. Devices are shared where a
/// node has those of one type alone, and several shards for each (gres "shard", since Slurm 22.05), evenly divided. Of
/// several types on a node the one with the most devices counts. `types` says how a device type is recognized: by a
/// feature of its nodes, else by the type of their gres, or by the name of the gres where that has no types. A1203 if a
/// line of a node is cut.
Result<std::vector<SlurmNode>> slurmNodes(const std::string &text, const std::string &gres,
                                          const std::map<std::string, std::string> &types = {});

/// Where a job stands by its state. A state that is not known is taken for Running: nobody concludes that it has ended.
EngineTask::State slurmTaskState(const std::string &state);

/// "a[1-2,05],b" is a1, a2, a05, b. At most 65,536 names; nothing where the brackets do not match.
std::optional<std::vector<std::string>> slurmHosts(const std::string &list);

/// The number of `sbatch --parsable`: "17" or "17;cluster", on a line of its own. Empty: there is none.
std::string slurmJobId(const std::string &text);

/// An exit code as `squeue` has it: a wait status ("768" is 3, "9" is 137) or code and signal ("3:0"). -1: neither.
int slurmExitCode(const std::string &text);

} // namespace accord::service
