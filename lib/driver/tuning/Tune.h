// A tuning of hyper-parameters: on a table of trials, or of programs on a cluster.
#pragma once
#include "lib/driver/Options.h"

namespace accord {

struct TuneOptions {
  std::string file, tuning;               ///< a .dnn file, and which `tuning` of it; empty: the only one
  std::string table;                      ///< .csv of trials that were run before; empty: programs run
  std::string program;                    ///< shell words that train; with an engine
  std::string engine;                     ///< "local", "slurm"
  std::vector<std::string> engineOptions; ///< KEY=VALUE
  int64_t devices = 0;                    ///< with a table; 0: one
  int64_t devicesPerNode = 0;             ///< 0: all on one node
  std::optional<int64_t> trials;
  std::optional<double> target;
  std::string maxTime;              ///< "2h"; empty: no limit
  std::string proposals;            ///< empty: "density"
  std::string sharing = "joint";    ///< "fixed:0.5", "fixed:2": devices of each trial
  std::vector<std::string> compare; ///< other ways to tune: "random/fixed:1"
  int64_t seed = 1, seeds = 1;
  std::vector<std::string> history; ///< folders of earlier tunings
  std::string output;               ///< folder; empty: nothing is written, but for programs
  bool json = false;
};

/// Exit status: 0, 1 the input is wrong, 3 an error of ours, 4 no trial has a value.
int tune(const TuneOptions &options);

} // namespace accord
