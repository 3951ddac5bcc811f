// The words by which the text of a schedule names things. Internal to lib/emit.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include <map>
#include <optional>
#include <string>

namespace accord {

/// How each is referred to: its name where it is its alone, else "#number".
template <typename Thing> std::vector<std::string> namesOf(const std::vector<Thing> &things) {
  std::map<std::string, int> count;
  for (const Thing &thing : things)
    ++count[thing.name];
  std::vector<std::string> names;
  for (size_t i = 0; i < things.size(); ++i) {
    const std::string &name = things[i].name;
    names.push_back(name.empty() || name[0] == '#' || count[name] > 1 ? "#" + std::to_string(i) : name);
  }
  return names;
}

inline constexpr const char *kVerdictKeywords[] = {"feasible", "infeasible", "unknown"};
inline constexpr const char *kBoundKeywords[] = {"trivial", "path",    "set",     "windows",
                                                 "solver",  "budgets", "subsets", "cycle"};
inline constexpr const char *kRuleKeywords[] = {"chain", "pair", "compulsory", "energy", "set"};

inline const char *keywordOf(SchedulingResult::Status status) { return kVerdictKeywords[static_cast<int>(status)]; }
inline const char *keywordOf(SchedulingBound::Kind kind) { return kBoundKeywords[static_cast<int>(kind)]; }
inline const char *keywordOf(ProofStep::Rule rule) { return kRuleKeywords[static_cast<int>(rule)]; }

/// The value that has the word; the words are verified before.
template <typename Value, size_t size> Value valueOf(const char *const (&words)[size], std::string_view word) {
  for (size_t i = 0; i < size; ++i)
    if (word == words[i])
      return static_cast<Value>(i);
  return Value{};
}

} // namespace accord
