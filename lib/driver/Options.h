// What a program says of one training besides its file.
#pragma once
#include "lib/language/program/Elaborate.h"
#include "lib/search/SearchLimits.h"
#include <memory>

namespace accord {

struct Options {
  std::string file;
  ElaborateOptions elaborate;
  std::string costModel;
  std::vector<std::string> plugins;
  std::string modelPasses; ///< pipeline run on the model, before the training graph is built
  std::string passes;      ///< pipeline run on the training graph
  bool fuse = false;       ///< run the pass `fuse` after them
  std::string output = "out";
  std::string until; ///< phase of the pipeline after which the module is printed; empty: the whole command
  unsigned threads = 1;
  unsigned effort = kQuickEffort;
  bool json = false;
  /// Folders outside of which nothing but the catalogue is read, and those of which descriptions are read; empty: all.
  std::vector<std::string> readable, described;
  std::shared_ptr<Errors> errors; ///< gets what is wrong, instead of standard error
  std::string powerLevel;         ///< of devices that have one of this name; empty: the full one
  double powerClock = 0;          ///< of a level with a cap; 0: at which any step keeps the cap (see clockUnderCap)
};

/// How long a search may go on, as written.
struct PlanSearchLimits {
  std::string gap = "0";          ///< a share: "2%", "0.02"
  std::string timeLimit = "none"; ///< or a time: "30 s"
};

} // namespace accord
