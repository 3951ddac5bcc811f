// Members of a vote, devices and what is required, as a file says it.
#pragma once
#include "lib/ensembles/problem/Ensemble.h"
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
    int64_t quorum = 1;                                     ///< weight of votes without which there is no answer
    SourceLocation location, quorumAt;
  };
  std::optional<Answer> answer;
  std::string objective = "step_time"; ///< "energy", "memory", "price"
};

/// Votes that were seen, as a file has them.
struct VoteTable {
  std::vector<unsigned> kinds;       ///< of each member (bit), ascending: index into `EnsembleRequest::kinds`
  std::map<uint64_t, int64_t> votes; ///< bit i set: member i was wrong; how often
  int64_t samples = 0;               ///< sum of `votes`
};

} // namespace accord
