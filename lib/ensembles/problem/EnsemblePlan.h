// An ensemble that was chosen, with what it rests on: what an answer prints.
#pragma once
#include "lib/ensembles/problem/MemberStatistics.h"
#include "lib/ensembles/problem/Members.h"
#include "lib/ensembles/problem/VoteCertificate.h"

namespace accord {

/// A guarantee in words.
struct GuaranteeText {
  std::string bound, formula, basis;
  Rational value;
  Rational single = 1; ///< error of the best single member, at most
  std::vector<std::string> inputs, assumptions;
  std::vector<std::pair<std::string, Rational>> bounds; ///< all that apply
};

/// A claim about so many members of each kind.
struct EnsembleCertificate {
  std::vector<unsigned> counts;
  VoteCertificate certificate;
};

/// What is guaranteed of answers of the chosen ensemble, where votes are lost, late or wrong on their way.
struct DeliveredAnswer {
  std::vector<Rational> undelivered, corrupted; ///< by kind of device
  std::vector<int64_t> weights;                 ///< by kind of member
  int64_t quorum = 1;
  Rational wrong = 1; ///< there is an answer and it is wrong: with at most this probability
  Rational none;      ///< there is no answer: with exactly this one
  /// Of `wrong`. Nothing: too many patterns of errors are told apart, and `wrong` is 1 - `none`.
  std::optional<VoteCertificate> certificate;
};

/// What an answer shows of the chosen ensemble, in s, J, bytes or $.
struct ReportedObjective {
  std::string name;
  double value = 0, bound = 0, gap = 0;
};

struct EnsemblePlan {
  std::string name, train, version;
  EnsembleRequest request;
  MemberStatistics statistics;
  Rational confidence;
  int64_t tests = 1; ///< limits of samples that hold together
  MemberProblem problem;
  MembersResult result;
  /// By kind of member and device: why it does not run there, empty if it does.
  std::vector<std::vector<std::string>> reasons;
  std::vector<std::optional<GuaranteeText>> guarantees; ///< by size
  /// Of the chosen one, where devices may be lost: which, and the votes that are left.
  struct FailureCase {
    std::vector<std::string> devices;
    std::vector<unsigned> quorum; ///< by kind
    Rational error;
  };
  std::vector<FailureCase> failures;
  /// Of inputs of one true class, where the table of votes says it: how often the chosen vote is wrong, at most. All
  /// hold together at the confidence.
  struct ClassError {
    std::string name;
    int64_t samples = 0, wrong = 0; ///< seen
    Rational limit = 1;
  };
  std::vector<ClassError> classes;
  std::vector<std::string> moreData;             ///< what would certify the requirement, or more
  std::vector<EnsembleCertificate> certificates; ///< what guarantees, and refusals, rest on
  std::string conflict;                          ///< why nothing is chosen; empty: something is
  std::vector<std::string> assumptions;
  std::optional<DeliveredAnswer> answer;     ///< where it is asked for, of the chosen ensemble
  std::optional<ReportedObjective> reported; ///< of an answer that was read

  const MemberChoice *chosen() const { return result.best ? result.sizes[*result.best].shown() : nullptr; }
  /// How votes of the chosen ensemble, which there is, reach whoever counts them for `answer`, which there is: members
  /// vote where they are placed, by kind.
  VoteDelivery delivery() const {
    std::map<std::pair<unsigned, int64_t>, unsigned> devices;
    VoteDelivery made;
    for (const PlacedMember &member : chosen()->members) {
      auto [device, isNew] = devices.try_emplace({member.device, member.first}, devices.size());
      if (isNew)
        made.undelivered.push_back(answer->undelivered[member.device]);
      made.device.push_back(device->second);
      made.corrupted.push_back(answer->corrupted[member.device]);
      made.weights.push_back(answer->weights[member.kind]);
    }
    made.quorum = answer->quorum;
    return made;
  }
  /// Of the chosen ensemble, which there is.
  ReportedObjective objective() const {
    const double scale = problem.objective == MemberObjective::StepTime ? 1e-12 : 1;
    return {accord::name(problem.objective), valueOf(*chosen(), problem.objective) * scale, result.bound * scale,
            result.gap(problem.objective)};
  }
};

} // namespace accord
