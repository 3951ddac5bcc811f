// A training that runs while the parameters of its server are tuned.
//
// It finds in its environment ACCORD_SETTINGS (a JSON file with the setting: `interval`, its number, and each parameter
// by name, in watts, bytes, seconds; it is replaced as a whole whenever the setting changes) and ACCORD_PROGRESS (a
// file to which it adds lines {"samples": 51200, "seconds": 12.5, "joules": 3100}: all since it was started, by its own
// clock; joules are needed for samples per joule alone). Lines may have more. It works in the folder of the tuning, and
// goes on from its own checkpoint where it is started again.
#pragma once
#include "lib/service/engines/Engine.h"
#include "lib/tuning/solve/SafeTuner.h"

namespace accord {

struct LiveTrainingRequest {
  std::string folder;  ///< absolute; made where it is not there
  std::string program; ///< words for `sh -c`
  const tuning::ServerProblem *problem = nullptr;
  service::EngineNode node;
  const std::atomic<bool> *stop = nullptr;
  size_t interval = 0; ///< intervals that were run before
};

class LiveTraining final : public tuning::ServerRunner {
public:
  LiveTraining(std::unique_ptr<service::Engine> engine, LiveTrainingRequest request);
  /// Ends the program if it runs.
  ~LiveTraining() override;

  /// Starts the program where it does not run. It fails where it ends with another status than 0, where it is silent
  /// for `silenceSeconds`, and where it reports what is no number or goes backwards, or no
  /// energy that grows where samples per joule are asked; then it is ended, and started
  /// again at the next interval. Errors are those of files (A0803) and of the engine.
  Result<Measured> run(const tuning::Setting &setting, const Watch &watch) override;
  /// Leaves it this setting, and waits until it ends or `stop` is set. Why it failed; empty: it did not.
  Result<std::string> hold(const tuning::Setting &setting);
  bool isComplete() const { return isComplete_; } ///< it ended with the status 0

private:
  struct Reported {
    double samples = 0, seconds = 0, joules = 0;
  };
  Result<void> writeSetting(const tuning::Setting &setting);
  Result<void> start();
  /// The setting of the next interval, with the program started where it does not run.
  Result<void> apply(const tuning::Setting &setting);
  void end();
  /// The next whole line that was added; nothing where there is none. `wrong` says what is wrong with it.
  std::optional<Reported> nextReport(std::string &wrong);
  /// How the task stands; nothing while it runs.
  Result<std::optional<std::string>> endOfTask();
  bool needsJoules() const { return request_.problem->objective == tuning::ServerObjective::SamplesPerJoule; }
  bool isStopping() const { return request_.stop && request_.stop->load(); }

  std::unique_ptr<service::Engine> engine_;
  const LiveTrainingRequest request_;
  const std::string prefix_; ///< of names of tasks
  std::string task_;         ///< that runs; empty: none
  size_t started_ = 0, interval_ = 0;
  std::string progressFile_;
  size_t read_ = 0;     ///< bytes of it
  std::string pending_; ///< read, but not yet a whole line
  Reported last_;
  bool isComplete_ = false;
};

} // namespace accord
