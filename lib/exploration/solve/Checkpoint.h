// Values of a search in a file, for one that goes on where it broke off.
#pragma once
#include "lib/exploration/solve/MiningRun.h"

namespace accord {

/// What tells one problem from another: SHA-256 of its parameters, its `digest`, and its bounds of
/// the whole space and of 64 designs.
std::string digestOf(MiningProblem &problem);

/// `text` is there whole, or what was there before is; what went wrong, or nothing.
std::optional<std::string> writeWhole(const std::string &path, const std::string &text);

/// A JSON document: version, digest, the best design with its value, and what is known: of each
/// design its value and, where that is another number, its bound.
std::string checkpointText(const std::string &digest, const std::optional<Design> &best, double value,
                           const KnownDesigns &known);

/// Into `known`, the best design first into `best`; or why not: no such file, malformed, of another version or problem.
std::optional<std::string> readCheckpoint(const std::string &path, MiningProblem &problem, KnownDesigns &known,
                                          std::optional<Design> &best);

} // namespace accord
