// Offers of clouds and of own inventories, and which of them trains something: the problem and an answer, as plain
// data.
//
// Times are seconds, prices dollars, energies joules, greenhouse gases grams.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord::offers {

/// A value with its 90 % interval.
struct Range {
  double value = 0, low = 0, high = 0;
};

/// One row of a price list, or one kind of server of an inventory.
struct InstanceOffer {
  std::string provider, instance, region;
  std::string accelerator;     ///< as the list names it
  double devices = 1;          ///< of an instance; lists have parts of devices, too
  double price = -1;           ///< dollars an hour, on demand; -1: not sold
  double spotPrice = -1;       ///< -1: not sold
  double cpus = 0, memory = 0; ///< of an instance: processors, bytes; 0: not stated
  double deviceMemory = 0;     ///< bytes of one device; 0: not stated
  double interruptions = -1;   ///< of a spot instance, in an hour; -1: not stated
  int64_t available = 0;       ///< instances that there are; 0: as many as one wants
  SourceLocation location;
};

/// The best plan of a training on a number of devices of one type, as its search found it.
struct OfferPlan {
  int64_t devices = 1, servers = 1;
  bool fits = false;
  std::string reason;    ///< why there is no plan
  Range step;            ///< seconds
  double gap = 0;        ///< of the search for the plan, a share
  double memory = 0;     ///< bytes of the fullest device
  double watts = 0;      ///< of all devices and hosts, on average
  double checkpoint = 0; ///< bytes
  std::string plan;      ///< its parallelism, in words
};

/// One way to run one training: on some instances of an offer.
struct OfferOption {
  unsigned offer = 0;
  int64_t instances = 1;
  int64_t devices = 1; ///< of all instances
  bool spot = false;
  double steps = 0, step = 0;    ///< their number, and the seconds of one without failures
  double rate = 0;               ///< dollars an hour of one instance
  double intensity = 0;          ///< grams for each joule; 0: not stated
  double stops = 0;              ///< mean number of failures and interruptions of the whole training
  double checkpointInterval = 0; ///< seconds of training between two checkpoints
  Range time;                    ///< of the whole training, with failures and interruptions
  Range price;                   ///< of all of it: hours x instances x rate
  double energy = 0, carbon = 0; ///< watts x time; energy x intensity
  double watts = 0;              ///< on average, while it runs
  std::string plan;              ///< its parallel plan, in words
  std::string catalogue;         ///< the accelerator that stands for the offer's
};

struct OfferTraining {
  std::string name;
  std::vector<OfferOption> options;                    ///< those that fit in memory
  std::vector<std::pair<unsigned, std::string>> unfit; ///< offers on which nothing fits, and why
};

enum class OfferObjective : uint8_t { Price, Time, Energy, Carbon };

struct OfferLimits {
  double deadline = 0; ///< seconds for each training; 0: none
  double budget = 0;   ///< dollars of all together; 0: none
  double watts = 0;    ///< of all that run together; 0: none
  bool sure = false;   ///< the upper end of the interval of time keeps the deadline, not the value alone
};

/// Trainings run beside each other, and share the instances of an offer that has a number of them. Of each, one option
/// is chosen: the sum of prices, energies or carbon is minimized, or the largest time, then the sum of prices.
struct OfferProblem {
  std::vector<InstanceOffer> offers;
  std::vector<OfferTraining> trainings;
  OfferObjective objective = OfferObjective::Price;
  OfferLimits limits;
};

/// A point where nothing else is both cheaper and faster.
struct OfferFrontPoint {
  double price = 0, time = 0;
  std::vector<unsigned> choice; ///< of each training: index into its options
};

/// Limits with which there is a choice, where there is none with those of the problem.
struct OfferRepair {
  OfferLimits limits;
  std::string text; ///< "a deadline of 52.1 h instead of 48 h"
};

/// Another option for one training of a choice, all others as they are.
struct RunnerUp {
  unsigned option = 0;
  double loss = 0; ///< what is added to the objective: dollars, joules, grams, or seconds of the largest time
};
/// So many are named.
constexpr size_t kRunnersUp = 5;

enum class OfferStatus : uint8_t { Optimal, Feasible, Infeasible, Unknown };

struct OfferChoice {
  OfferStatus status = OfferStatus::Unknown; ///< infeasible: proved
  std::vector<unsigned> choice;              ///< of each training
  double value = 0, bound = 0;               ///< of the objective; no choice has less than the bound
  std::vector<OfferFrontPoint> front;        ///< of price and time within the limits, by price ascending
  bool frontIsWhole = true;                  ///< false: the search for more points of it ended early
  std::string conflict;                      ///< why nothing is feasible
  std::vector<OfferRepair> repairs;          ///< and what would help, each by itself
};

} // namespace accord::offers
