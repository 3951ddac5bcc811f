// Breaks a program in the ways people and tools do, and in some that only an attacker would.
#pragma once
#include "test/fuzz/Corpus.h"
#include "test/support/Random.h"

namespace accord::fuzz {

/// 1 to 6 changes of `text`: tokens swapped, deleted, doubled, replaced; numbers and units made
/// absurd; deep nests; pieces of other programs; raw bytes; cut ends. The result has at most 256
/// KiB or twice the length of `text`.
std::string mutate(Random &random, const Corpus &corpus, const std::string &text);

} // namespace accord::fuzz
