// Trials that are programs on a cluster: each in a folder of its own, on the devices that the tuner gives it.
//
// A program finds in its environment ACCORD_CONFIGURATION (a JSON file with the hyper-parameters), ACCORD_UNITS (units
// to have done at its end), ACCORD_VALUES (a file to which it adds a line {"unit": 3, "value": 0.91} after each unit,
// once the state behind it is saved), ACCORD_TRIAL (its number) and ACCORD_TRIAL_FOLDER. It goes on from the state that
// it has saved there, and begins in the folder in which `accord tune` was called.
//
// A trial that begins with the state of another one begins with a copy of that one's folder, but for the files that are
// Accord's own. Of a state from which branches begin a copy is kept in a folder of its own (00007.at-9).
// Hyper-parameters that act from a unit on are in ACCORD_CONFIGURATION only once the trial runs from there. Programs
// need nothing for that: they load what they have saved, and read their hyper-parameters from ACCORD_CONFIGURATION.
// Units that are inherited count in ACCORD_UNITS.
//
// A trial on a part of a device is a task with shares (`Engine::submit`). The engine chooses the device, which may be
// another one of the node than that of the segment: a trial that ends before its time makes room where the plan has
// none yet. Parts on a device are never more than the whole.
//
// Values stay in the folders, so a tuning that was interrupted goes on with them: it comes to the same result as if it
// had not been, where a program says the same for the same configuration.
#pragma once
#include "lib/service/engines/Engine.h"
#include "lib/tuning/solve/Tuner.h"
#include <atomic>

namespace accord {

/// The command of a task that runs these words of `sh -c` in the folder of this process, so that `python3 train.py`
/// means the same there as here. Where a node has no such folder, they run in the task's.
std::vector<std::string> programWords(const std::string &program);

struct EngineTrialsRequest {
  std::string folder;  ///< of all trials; made where it is not there
  std::string program; ///< words for `sh -c`
  const tuning::TuningProblem *problem = nullptr;
  std::vector<service::EngineNode> nodes;  ///< with as many devices each as the problem says, divided for its slots
  const std::atomic<bool> *stop = nullptr; ///< ends waiting
};

class EngineTrials final : public tuning::TrialRunner {
public:
  EngineTrials(std::unique_ptr<service::Engine> engine, EngineTrialsRequest request);
  /// Ends the programs that still run.
  ~EngineTrials() override;
  /// With which names of tasks begin whose trials are in a folder, whoever starts them.
  static std::string prefixOf(const std::string &folder);

  std::optional<tuning::Configuration> accept(tuning::Configuration proposed) override { return proposed; }
  /// Copies the folder of a trial, so that branches begin with it; once for each unit. Errors as those of `inherit`.
  Result<void> keep(unsigned trial, int64_t unit) override;
  /// Copies the state of the other trial, unless it has been done: a mark says from where. Errors A0803 where it
  /// cannot be copied, A0801 where the folder is another trial's, or the other trial has gone on since.
  Result<void> inherit(unsigned trial, const tuning::Origin &origin) override;
  /// Error A0803 where the folder cannot be written, A0801 where it has trials of another tuning, and those of the
  /// engine.
  Result<void> start(const tuning::Segment &segment, const tuning::Configuration &configuration,
                     int64_t until) override;
  void pause(unsigned trial) override;
  Result<tuning::TrialValue> value(unsigned trial, const tuning::Configuration &configuration, int64_t unit) override;
  /// Programs that were started.
  size_t started() const { return started_; }

private:
  /// What is known of a trial beside its folder.
  struct Course {
    std::string task; ///< that was started last; empty: none
    std::vector<std::optional<double>> values;
    std::string failure; ///< why it has no more values
    size_t read = 0;     ///< bytes of its values
  };
  std::string folderOf(unsigned trial) const;
  std::string keptFolder(unsigned trial, int64_t unit) const;
  Result<void> copyStanding(const tuning::Origin &origin, const std::string &to, const std::string &what);
  /// What a trial does from a unit until another one, for engines that plan by themselves.
  service::TaskWork workOf(const Course &course, int64_t from, int64_t until) const;
  Result<void> endEarlierPrograms();
  void stopAll();
  void readValues(unsigned trial);
  Result<std::optional<service::EngineTask>> find(const std::string &task);
  bool isStopping() const { return request_.stop && request_.stop->load(); }
  void waitForEnd(const std::string &task, double notice);

  std::unique_ptr<service::Engine> engine_;
  const EngineTrialsRequest request_;
  const std::string prefix_; ///< of names of tasks
  std::map<unsigned, Course> courses_;
  size_t started_ = 0;
  bool isAlone_ = false; ///< no program of an earlier life runs
};

} // namespace accord
