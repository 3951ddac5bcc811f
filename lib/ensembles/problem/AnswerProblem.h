// Members that answer on devices, as plain data: what is asked, and a placement of votes. Members are trained before,
// and elsewhere.
#pragma once
#include "lib/ensembles/problem/VoteDelivery.h"
#include "lib/ensembles/problem/VoteLatency.h"
#include <optional>
#include <string>

namespace accord {

/// What is made least: the energy of all members for one input, the time until 99 % of inputs are answered, or the
/// probability of a wrong answer; of what is equal the energy.
enum class AnswerObjective : uint8_t { Energy, Latency, Error };
const char *name(AnswerObjective objective); ///< "answer_energy", "answer_latency", "answer_error"

/// One member on one device, at one level of it: stated, or computed from a model of the device.
struct MemberRun {
  bool isPossible = false;
  TimeQuantiles latency;
  double joules = 0;  ///< for one input
  int64_t memory = 0; ///< bytes
  Rational corrupted; ///< probability that bit errors make its vote wrong, whatever the member found
};

/// `share` of inputs are answered, or known to have no answer, within `time` (ps).
struct LatencyLimit {
  Rational share;
  int64_t time = 0;
};

struct AnswerProblem {
  struct Kind {
    std::string name;
    int64_t weight = 1; ///< of its vote
  };
  struct Device {
    std::string name;
    int64_t count = 1;
    int64_t memory = 0; ///< of one, in bytes; 0: enough
    Rational lost,
        corrupted;         ///< probabilities that a device answers nothing at all, and that a vote is wrong on its way
    TimeQuantiles network; ///< until its votes are where they are counted
    std::vector<std::string> levels = {""}; ///< at which it may run, such as voltages
  };
  std::vector<Kind> kinds;
  std::vector<Device> devices;
  std::vector<std::vector<std::vector<MemberRun>>> runs; ///< by kind, device and level
  int64_t minSize = 1, maxSize = 63;                     ///< members that vote
  int64_t membersPerDevice = 1;              ///< at most; they take turns, and their votes are sent together
  int64_t timeout = 0;                       ///< ps from the question on; 0: no vote takes any time
  std::optional<int64_t> quorum;             ///< nothing: any
  int64_t deviceFailures = 0;                ///< devices that may fail while all that is required still holds
  std::optional<Rational> maxWrong, maxNone; ///< of answers that are wrong, of questions without an answer
  std::vector<LatencyLimit> limits;
  AnswerObjective objective = AnswerObjective::Energy;
};

/// A device that answers.
struct AnsweringDevice {
  unsigned device = 0;         ///< kind of device
  int64_t number = 0;          ///< of these
  unsigned level = 0;          ///< of its levels
  std::vector<unsigned> kinds; ///< of the members on it, ascending
  bool operator==(const AnsweringDevice &) const = default;
};

/// Members that vote: by kind, of a kind in the order of their devices.
struct PlacedVote {
  unsigned kind = 0;
  size_t on = 0; ///< index of the device that answers
};
std::vector<PlacedVote> placedVotes(const std::vector<AnsweringDevice> &devices);
std::vector<unsigned> kindCounts(const AnswerProblem &problem, const std::vector<AnsweringDevice> &devices);

/// What is wrong with a problem. Empty: nothing.
std::string check(const AnswerProblem &problem);

} // namespace accord
