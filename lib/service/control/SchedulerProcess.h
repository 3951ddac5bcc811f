// The scheduler of one cluster: takes jobs in, plans them, and has an engine run them.
//
// What it does survives its own death at any moment. An intent is on the disk before the engine is asked; the engine
// takes the same name as the same task; what the engine says is compared with what is written, in each cycle anew.
// Nothing is concluded from an engine that fails, or from a state that cannot be written: then it is tried again.
#pragma once
#include "lib/service/control/ClusterPlanner.h"
#include "lib/service/control/JobModeller.h"
#include "lib/service/control/Scheduler.h"
#include "lib/service/engines/Engine.h"
#include <atomic>
#include <functional>

namespace accord::service {

struct SchedulerOptions {
  std::string cluster = "cluster";      ///< its name, with which names of tasks begin
  jobs::JobsRequest operation;          ///< of the `jobs` block that describes it, without jobs
  std::vector<std::string> types;       ///< device types that are described; the engine's are matched by name or label
  std::map<std::string, double> speeds; ///< of one device of each type against each other, where they are known
  std::map<std::string, double> watts;  ///< of one device of each type, where known: what measured jobs draw
  std::string folder;                   ///< absolute; of tasks: one in it for each
  std::string pythonPath;               ///< what PYTHONPATH of tasks begins with: folders, with ":"; empty: nothing
  PlannerOptions planner;
  double interval = 1;           ///< seconds between two looks at the engine
  double replanAfter = 300;      ///< seconds after which a plan is made anew though nothing happened
  double maxDeviation = 0.1;     ///< of a job's speed from the plan, above which it is planned anew
  double retryDelay = 10;        ///< seconds before a job that failed runs again, doubled each time
  double planLimit = 5;          ///< seconds that a plan may take
  double keep = 90 * 86400.0;    ///< seconds for which jobs that are over are known, with the folders of their tasks
  bool isOpen = false;           ///< who has no token is an operator
  bool isInline = false;         ///< plans and models within `step`: for tests
  std::function<double()> clock; ///< seconds since 1970; empty: the system's
};

class SchedulerProcess : public Scheduler {
public:
  /// Reads what is written of an earlier life. `modeller` may be null: jobs state what was measured.
  static Result<std::unique_ptr<SchedulerProcess>> open(SchedulerOptions options, std::unique_ptr<ServiceStore> store,
                                                        std::unique_ptr<Engine> engine,
                                                        std::shared_ptr<JobModeller> modeller);
  /// With what the names of all tasks of a cluster begin.
  static std::string prefixOf(const std::string &cluster);
  /// Cycles until `stop`; models and plans in threads of their own.
  virtual void run(const std::atomic<bool> &stop) = 0;
  /// One cycle: looks at the engine, stores what it saw, plans if something changed, and does the next thing.
  virtual void step() = 0;
  /// The first token, of an operator, if there is none yet; else nothing.
  /// `keep` gets it before it is valid: who dies in between has a token that is none, and gets another one.
  virtual Result<std::optional<std::string>>
  firstToken(const std::function<Result<void>(const std::string &)> &keep) = 0;
  /// At which tasks reach this process; before `run`.
  virtual void setUrl(const std::string &url) = 0;
  /// What contradicts itself in memory and on the disk; empty: nothing.
  virtual Result<std::vector<std::string>> check() = 0;
};

} // namespace accord::service
