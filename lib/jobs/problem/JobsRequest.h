// A `jobs` block of a file: tenants, capacities over time, jobs and what is asked, with names and units resolved.
//
// Times are seconds from the start of the schedule, prices dollars, powers watts. What a job's configurations are worth
// is known later, from plans of its training on the devices of the cluster.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include <map>

namespace accord::jobs {

/// A number that changes at stated times: from each time on, its amount.
using Steps = std::vector<std::pair<double, double>>; ///< times ascending, the first is 0

struct JobsRequest {
  struct Tenant {
    std::string name;
    double weight = 1;
    /// At most so many devices of a type ("" : of all types) for all of its jobs at once.
    std::map<std::string, int64_t> quota;
    SourceLocation location;
  };
  /// Of a device type, or "power" (watts of all devices together), or "carbon" (grams for each joule).
  struct Capacity {
    std::string resource;
    Steps steps;
    SourceLocation location;
  };
  /// Devices that are not there for a while: so many, or all of some servers.
  struct Maintenance {
    std::string deviceType;
    int64_t devices = 0;
    double from = 0, until = 0;
    SourceLocation location;
    std::vector<unsigned> servers = {}; ///< indices into `Cluster::servers`; empty: `devices` of any
  };
  /// `configuration h100[8] { rate = 120, power = 5 kW, price = 20 USD/h }`: as it was profiled.
  struct Profiled {
    std::string deviceType;
    int64_t devices = 1;
    double rate = 0;     ///< samples a second
    double power = 0;    ///< watts of all devices; 0: not stated
    double price = 0;    ///< dollars a second; 0: that of the devices
    double quality = -1; ///< of what it trains, 0 to 1; -1: not stated
    SourceLocation location;
  };
  /// `choice small { quality = 0.752, samples = 2e6 }`: a training that may be run instead of the job's own.
  struct Choice {
    std::string train;   ///< a `train` block; that of the job states what is known of its own
    double samples = 0;  ///< its work, at its own batch; 0: that of the job, else of the training
    double quality = -1; ///< of what it trains, 0 to 1; -1: not stated
    SourceLocation location;
  };
  /// Batches that may be run: those in a set, or a range of powers of two times the batch of the training.
  struct Batches {
    std::vector<int64_t> of;     ///< ascending; empty: the range, or nothing but the batch of the training
    int64_t min = 0, max = 0;    ///< the range; 0: there is none
    Steps noise;                 ///< gradient noise scale in samples, by share of the work that is done
    std::string learningRate;    ///< "linear", "sqrt", "adascale", "legw"; empty: by optimizer
    SourceLocation location, at; ///< of `batches`; of `learning_rate`
    bool areStated() const { return !of.empty() || max > 0; }
  };
  struct Job {
    std::string name;  ///< of a member of an array "sweep[3]"
    std::string train; ///< the `train` block that it runs; empty: it is profiled
    std::vector<Profiled> profiled;
    std::string tenant; ///< empty: none
    double samples = 0; ///< its work; 0: what `tokens`, else the train block states
    double tokens = 0;  ///< its work as tokens, samples once the length of a sequence is known; 0: not stated
    double arrival = 0, deadline = -1, due = -1;
    double latePrice = 0;                   ///< dollars a second after `due`
    double priority = 1;                    ///< weight in sums over jobs, above 0
    int64_t minDevices = 1, maxDevices = 0; ///< 0: not limited
    Elasticity elasticity = Elasticity::Malleable;
    bool rigid = false;                   ///< `elastic = rigid`: moldable, with `minDevices` == `maxDevices`
    double restart = -1;                  ///< seconds; -1: not stated
    double minQuality = -1;               ///< -1: not stated
    std::vector<std::string> deviceTypes; ///< on which it may run; empty: all
    std::vector<std::string> after;       ///< names of jobs
    bool optional = false;
    bool continues = false;   ///< work may be left at the end of the horizon
    int64_t maxRestarts = -1; ///< starts of its runs, of each phase; -1: not stated
    /// Shares of its work at which its speed changes, and the factors: `phases = {0: 1, 0.5: 1.4}`; empty: none. (An
    /// evolving job: each phase becomes a job after the one before.)
    Steps phases;
    Batches batches;
    std::vector<Choice> choices; ///< none: its own training alone
    SourceLocation location, trainAt, deadlineAt;
  };
  struct Objective {
    JobMeasure measure = JobMeasure::Completion;
    SourceLocation location;
  };
  /// `require cost <= 500 USD`: in base units (seconds, dollars, joules, grams), of a fairness a plain number. Of
  /// `require goodput >= 0.9` the share of work that may be left.
  struct Limit {
    JobMeasure measure = JobMeasure::Price;
    double max = 0;
    std::string text; ///< as written, or its label
    SourceLocation location;
  };

  std::string name;
  std::string cluster;     ///< of `on`, or of the command line; empty if nothing says one
  double slot = 0;         ///< 0: not stated
  double horizon = 0;      ///< 0: not stated
  double tailShare = 0.01; ///< of jobs that `tail_completion` leaves out
  std::vector<Tenant> tenants;
  std::vector<Capacity> capacities;
  std::vector<Maintenance> maintenances;
  std::vector<Job> jobs;
  std::vector<Objective> objectives; ///< in their order; empty: mean completion
  std::vector<Limit> limits;
  SourceLocation location, clusterAt; ///< of its name; of `on`
};

} // namespace accord::jobs
