// Actors as ONNX files: networks that weigh the jobs of a round (lib/jobs/actor).
#pragma once
#include "lib/jobs/actor/ActorNetwork.h"
#include "lib/support/Diagnostics.h"
#include <map>
#include <optional>
#include <string>

namespace accord::import {

/// An actor, and what its file says of how it was trained.
struct ActorFile {
  jobs::ActorNetwork network;
  std::map<std::string, std::string> metadata;
};

/// Reads a file with the inputs `jobs` [any, features] and `cluster` [1, features] and one output [jobs, 1]: a number
/// for each job, whose exp is its weight. Operators are those of `ActorOperator`, and Constant; all values have two
/// extents, and a bias may have one. Errors: those of `readOnnx`; A0812 an operator or an attribute that is not known;
/// A1101 shapes that do not fit, numbers that are infinite or none, names that stand for nothing or twice.
std::optional<ActorFile> readActor(Diagnostics &diags, const std::string &path);

/// The bytes of a file that `readActor` reads as the same. The graph has no ReduceSum, and its output is that of a
/// node.
std::string actorBytes(const jobs::ActorGraph &graph, const std::map<std::string, std::string> &metadata);

} // namespace accord::import
