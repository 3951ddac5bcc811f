// Members of a vote on devices as plain data: the problem, a choice, and what is claimed of it.
#pragma once
#include "lib/support/Rational.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// What one training step of one member takes. Times are picoseconds, sizes bytes of one device,
/// none negative.
struct MemberCost {
  int64_t devices = 1;     ///< that train it together; if more than one, they train nothing else
  int64_t time = 0;        ///< of its step
  int64_t state = 0;       ///< kept from step to step: parameters, optimizer state
  int64_t activations = 0; ///< besides, while its step runs
  double joules = 0;       ///< of its step, of all these devices
  std::string text = {};   ///< "micro-batch 32 x 8"
};

/// What is made least; by the slowest device, of all members, of the fullest device, or for the
/// devices that are used, which are rented until the slowest is done.
enum class MemberObjective : uint8_t { StepTime, Energy, Memory, Price };
const char *name(MemberObjective); ///< "step_time", "energy", "memory", "price"

/// Members are trained independently: members on one device take turns, keep their states side by
/// side and share the room of activations. Their vote is by majority, a tie is an error.
struct MemberProblem {
  /// Of which there may be several, each trained differently.
  struct Kind {
    std::string name;
    /// By device kind: in which ways it can be trained there; none: it cannot.
    std::vector<std::vector<MemberCost>> alternatives;
  };
  struct Device {
    std::string name;
    int64_t count = 1;       ///< equal ones
    int64_t memory = 0;      ///< of one; 0: enough
    double pricePerHour = 0; ///< of one
  };
  std::vector<Kind> kinds;
  std::vector<Device> devices;
  std::vector<unsigned> sizes; ///< that are asked for: odd, ascending
  unsigned deviceFailures = 0; ///< devices that may fail while the guarantee still holds
  /// Of the vote's error; nothing: the error itself is made least, then the objective.
  std::optional<Rational> max;
  MemberObjective objective = MemberObjective::StepTime;
};

struct PlacedMember {
  unsigned kind = 0;
  unsigned device = 0;      ///< kind of device
  unsigned alternative = 0; ///< of its ways there
  int64_t first = 0;        ///< the first of the devices of this kind that train it
  bool operator==(const PlacedMember &) const = default;
};

/// An ensemble on devices.
struct MemberChoice {
  std::vector<unsigned> counts;      ///< by kind
  std::vector<PlacedMember> members; ///< by kind, then device
  Rational error = 1;                ///< of the vote of all, guaranteed at most
  Rational errorAfterFailures = 1;   ///< after the worst loss of devices; `error` if none may be lost
  int64_t time = 0;                  ///< of a step, of the slowest device
  int64_t memory = 0;                ///< of the fullest device
  double joules = 0, price = 0;      ///< of a step; dollars
};
double valueOf(const MemberChoice &choice, MemberObjective objective); ///< ps, bytes, J or $

/// The best of one size.
struct MembersOfSize {
  unsigned size = 0;
  /// Keeps the requirement and is least in the objective; nothing: none does that fits.
  std::optional<MemberChoice> best;
  /// Without one: of those that fit the one with the least guaranteed error.
  std::optional<MemberChoice> minErrorChoice;
  double bound = 0;       ///< no ensemble that keeps the requirement is below; infinite: there is none
  uint64_t ensembles = 0; ///< multisets of kinds of this size
  bool proven = true;     ///< `bound` rests on complete searches
  const MemberChoice *shown() const { return best ? &*best : minErrorChoice ? &*minErrorChoice : nullptr; }
};

/// An ensemble that was not taken because its error is not guaranteed to be small enough, though
/// it might be least.
struct RejectedMembers {
  std::vector<unsigned> counts;
  Rational error; ///< guaranteed at most; of a conflict 1
};

struct MembersResult {
  std::vector<MembersOfSize> sizes; ///< as asked
  std::optional<size_t> best;       ///< of `sizes`; of equal ones the smallest
  double bound = 0;                 ///< of all sizes; infinite: nothing keeps the requirement
  /// By ascending counts: what was asked for its error on the way, and refused. Empty where lost
  /// devices count.
  std::vector<RejectedMembers> rejected;
  double gap(MemberObjective objective) const; ///< (value - bound) / value
};

/// "3 wide, 2 thin".
std::string membersText(const MemberProblem &problem, const std::vector<unsigned> &counts);

/// Time, energy, memory and price of members on their devices. They must be of the problem.
MemberChoice evaluateMembers(const MemberProblem &problem, std::vector<PlacedMember> members);

/// What is wrong with a problem: no kinds or devices, negative or not finite numbers, even or
/// unordered sizes, ways for other devices or more than 1,024 of them, more than 63 members, more
/// than 100,000 ensembles of a size or losses of devices, numbers too large to add. Empty: nothing.
std::string check(const MemberProblem &problem);

} // namespace accord
