// What a scheduler process knows of a job: what was submitted, where it stands, and its runs. Plain data.
//
// Times are seconds since 1970 (UTC); 0 means that it has not happened.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace accord::service {

/// How the command of a job is started.
enum class Start : uint8_t {
  Plain,    ///< as it is, once on each server
  Torchrun, ///< a Python program, by torchrun with the degrees of its plan
  Megatron  ///< a program of Megatron-LM, which gets the arguments of its plan
};

/// A configuration that the submitter measured.
struct MeasuredConfiguration {
  std::string deviceType;
  int64_t devices = 1;
  double rate = 0; ///< samples a second, above 0
};

/// What a user hands in.
struct Submission {
  std::string name;   ///< at most 60 of letters, digits, "_", "-", "."; need not be the only one of its name
  std::string tenant; ///< empty: that of the token
  std::vector<std::string> command; ///< words; at least one
  Start start = Start::Plain;
  std::string directory;                          ///< where it runs, absolute; empty: that of the scheduler's tasks
  std::map<std::string, std::string> environment; ///< names of letters, digits, "_"; not ACCORD_…
  /// Descriptions of its training by relative path, without "..": `main` and what it imports. Empty: its speed is
  /// stated in `measured`, or learned from its progress.
  std::map<std::string, std::string> files;
  std::string main;
  std::string train; ///< block of `main`; empty: it has one
  std::vector<MeasuredConfiguration> measured;
  double samples = 0; ///< its work; 0: what `train` says
  double done = 0;    ///< of them, those that a checkpoint has before its first run; less than `samples`
  /// Where its metrics for Prometheus are: "http://{node}:9400/metrics", with the first node of its run in place of
  /// "{node}"; and which of them are its samples: "samples_total". Empty: it says by itself how far it is.
  std::string progressFrom, progressMetric;
  double deadline = 0, due = 0;
  double latePrice = 0;                   ///< dollars a second after `due`
  double priority = 1;                    ///< weight in sums over jobs, above 0
  int64_t minDevices = 1, maxDevices = 0; ///< 0: not limited
  jobs::Elasticity elasticity =
      jobs::Elasticity::Moldable;       ///< malleable: it saves when it is told to, and goes on from there
  double restart = -1;                  ///< seconds until it makes progress after a start; -1: not stated
  double notice = 30;                   ///< seconds between the signal to save and the end of a run
  int64_t maxFailures = 3;              ///< after so many runs that failed by themselves it is given up
  std::vector<std::string> deviceTypes; ///< on which it may run; empty: all
  std::vector<int64_t> after;           ///< jobs that have to be complete before it starts
  std::string key;                      ///< a second submission with the same key of a tenant is the first; empty: none
};

enum class JobPhase : uint8_t {
  Modelling, ///< its configurations are being priced
  Queued,
  Running,  ///< it has a run that the engine has, or is about to get
  Stopping, ///< its run was told to save, and ends
  Complete,
  Failed, ///< for good
  Cancelled
};
constexpr bool isOver(JobPhase phase) { return phase >= JobPhase::Complete; }

/// So many samples were done at a time.
struct ProgressPoint {
  double time = 0, samples = 0;
};

/// How far a job is, by what it reported itself.
struct JobProgressState {
  double samples = 0;  ///< that it trained on
  double saved = 0;    ///< of them, those that a checkpoint has
  double reported = 0; ///< when it said so last
  double rate = 0, rateLow = 0,
         rateHigh = 0;                   ///< samples a second in its configuration, with a 90 % interval; 0: not known
  double batch = 0, noise = 0, loss = 0; ///< 0: not reported
  std::vector<ProgressPoint> history;    ///< of the runs that ended, by time: a few, thinned out
};

struct ServedJob {
  int64_t id = 0; ///< counts from 1, never used again
  Submission submission;
  JobPhase phase = JobPhase::Modelling;
  std::string reason; ///< why it failed, was cancelled, or cannot be planned; empty: nothing
  double submitted = 0, started = 0, ended = 0;
  double samples = 0; ///< its whole work, once it is known
  JobProgressState progress;
  int64_t runs = 0, failures = 0; ///< so far
  std::string user;               ///< name of the token by which it was submitted
};

/// One run of a job on some nodes.
struct JobRunRecord {
  enum class State : uint8_t {
    Intended,  ///< written down before the engine is asked; whether it knows of it is not known
    Submitted, ///< the engine has it
    Running,
    Stopping, ///< the engine was asked to end it
    Ended
  } state = State::Intended;
  enum class Outcome : uint8_t {
    None,
    Succeeded, ///< the job is complete
    Failed,    ///< by itself
    Stopped,   ///< as the scheduler asked
    Lost,      ///< its node failed, or the engine does not know it any more
    Refused    ///< a guard found other devices than planned
  } outcome = Outcome::None;
  int64_t job = 0, number = 0; ///< runs of a job count from 1
  std::string task;            ///< its name for the engine: the same name never starts twice
  std::string engineId;        ///< empty: not known
  std::string deviceType;
  int64_t devices = 0, devicesPerNode = 0;
  std::string configuration, plan;    ///< name and parallelism, in words
  std::vector<std::string> nodes;     ///< as the engine calls them, in the order of ranks
  double planned = 0, plannedEnd = 0; ///< by the plan that started it
  double intended = 0, started = 0, stopping = 0, ended = 0;
  double samplesAtStart = 0, samplesAtEnd = 0;
  int exitCode = -1; ///< -1: not known
  std::string reason;
};

/// A line of the audit log, and what watchers see. Numbers ascend without holes.
struct ServiceEvent {
  int64_t number = 0;
  double time = 0;
  std::string kind;   ///< "submitted", "planned", "started", "progress", "stopped", "complete", "failed", "cancelled",
                      ///< "drained", "node", "engine", "refused", "token"
  int64_t job = 0;    ///< 0: of none
  std::string tenant; ///< of the job; empty: everyone may see it
  std::string who;    ///< name of the token; empty: the scheduler itself
  std::string text;   ///< one sentence without line breaks
};

/// What a task says of itself.
struct ProgressReport {
  double samples = -1, saved = -1; ///< -1: not stated
  double time = 0;                 ///< when; 0: now
  double batch = 0, noise = 0, loss = 0;
};

enum class Role : uint8_t {
  Viewer,    ///< reads
  Submitter, ///< and submits and cancels jobs of its tenant
  Operator   ///< and does everything
};

/// Who asks.
struct Caller {
  std::string name;   ///< of the token
  std::string tenant; ///< empty: of all
  Role role = Role::Viewer;
};

} // namespace accord::service
