// Members of a vote, devices and what is required, as a file says it.
#pragma once
#include "lib/ensembles/problem/Ensemble.h"
#include "lib/ensembles/problem/VoteLatency.h"
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// `ensemble NAME of TRAINING { … }` as it was read.
struct EnsembleRequest {
  std::string name, train;
  SourceLocation location;
  /// `member wide = gpt(hidden = 6144) error = 0.08 samples 10000`: a kind of which there may be several, trained
  /// differently.
  struct Kind {
    std::string name, call; ///< as written
    std::optional<ErrorRate> error;
    SourceLocation location;
  };
  std::vector<Kind> kinds;
  /// `joint_error { wide wide = 0.03, wide thin thin = 0.01 }`: kinds ascending, with repetition; two or more.
  struct JointError {
    std::vector<unsigned> kinds;
    ErrorRate rate;
    SourceLocation location;
  };
  std::vector<JointError> joint;
  std::string votesFile; ///< `votes from "file.csv"`: a column for each member, named by its kind ("wide", "wide.2")
  SourceLocation votesAt;
  bool independent = false;
  /// `voting = soft`: probabilities are averaged, and the table says what the vote of all members was.
  bool isSoft = false;
  int64_t min = 1, max = 0; ///< `size = 1..7`; most 0: not stated
  SourceLocation sizeAt;
  int64_t deviceFailures = 0; ///< devices that may fail while the vote still holds
  /// `devices = {a100: 2, h100: 1}`: machines by name, and how many; empty: one of the training's machine.
  struct Device {
    std::string machine;
    int64_t count = 1;
    SourceLocation location;
  };
  std::vector<Device> devices;
  struct Requirement {
    Rational max;          ///< error
    double confidence = 0; ///< 0: not stated, 0.95
    SourceLocation location;
  };
  std::optional<Requirement> error;
  /// `answer { … }`: what becomes of votes on their way to whoever counts them.
  struct Answer {
    std::map<std::string, Rational> undelivered, corrupted; ///< by machine: shares of answers; 0 where none is stated
    std::map<std::string, int64_t> weights;                 ///< by kind of member; 1 where none is stated
    bool isLogOdds = false;            ///< `weights = log_odds`: they follow from the errors (`logOddsWeights`)
    int64_t quorum = 1;                ///< weight of votes without which there is no answer
    SourceLocation location, quorumAt; ///< without a quorum the location
    bool hasQuorum = false;
    int64_t timeout = 0; ///< ps; 0: none
    /// What is stated of members on machines; an empty name means all of them. Of several, one of a member on a machine
    /// counts, then one of a member, then one of a machine.
    template <typename T> struct Stated {
      std::string member, machine;
      T value = {};
    };
    std::vector<Stated<TimeQuantiles>> latency;
    std::vector<Stated<double>> energy;           ///< J, for one input
    std::vector<Stated<double>> memory;           ///< bytes
    std::map<std::string, TimeQuantiles> network; ///< by machine
    int64_t membersPerDevice = 1;
    /// `voltage = {machine: {0.65: {energy: 0.4, bit_errors: 1e-5}}}`
    struct Level {
      std::string name;   ///< "0.65 V"
      double energy = 1;  ///< over what is stated
      Rational bitErrors; ///< per bit
    };
    std::map<std::string, std::vector<Level>> voltage; ///< by machine
    std::string bitErrorsFile;                         ///< `bit_errors from "curve.csv"`
    SourceLocation bitErrorsAt;
  };
  std::optional<Answer> answer;
  /// What is required of answers, and not of votes that all arrive: then members, devices and the quorum are chosen for
  /// these, by what `answer` says of members that answer.
  struct AnswerRequirements {
    std::optional<Requirement> wrong, none; ///< answer_error, no_answer
    struct Late {
      std::string name; ///< "answer_latency.p99"
      Rational share;
      int64_t time = 0; ///< ps
      SourceLocation location;
    };
    std::vector<Late> late;
    bool isObjective = false; ///< `objective` is one of answers
    bool any() const { return wrong || none || !late.empty() || isObjective; }
  } answers;
  /// "energy", "memory", "price"; of answers "answer_energy", "answer_latency", "answer_error"
  std::string objective = "step_time";
};

/// How often a member is wrong where bits of its memory are, as a file has it: rates ascend, from 0 on.
using BitErrorCurve = std::vector<std::pair<Rational, Rational>>;

/// Votes that were seen, as a file has them.
struct VoteTable {
  std::vector<unsigned> kinds;       ///< of each member (bit), ascending: index into `EnsembleRequest::kinds`
  std::map<uint64_t, int64_t> votes; ///< bit i set: member i was wrong; how often
  std::map<std::string, std::map<uint64_t, int64_t>> classes; ///< the same by true class, where the file has one
  int64_t samples = 0;                                        ///< sum of `votes`
  /// Of a soft vote of all members of the table, how many samples it got wrong; nothing: votes are counted.
  std::optional<int64_t> softWrong;
};

} // namespace accord
