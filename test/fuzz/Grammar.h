// Reads the ANTLR grammars themselves and writes random sentences of them, so that the fuzzer
// follows every change of the syntax.
#pragma once
#include "test/support/Random.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace accord::fuzz {

/// One part of a rule's right-hand side.
struct Element {
  enum Kind { Literal, Rule, Characters, Sequence, Alternatives } kind = Sequence;
  std::string text;              ///< Literal: its characters; Rule: its name; Characters: the allowed bytes
  std::vector<Element> children; ///< Sequence, Alternatives
  char repeat = 0;               ///< 0, '?', '*' or '+'
};

class Grammar {
public:
  /// Adds the rules of one .g4 text; a rule that is there already stays (ANTLR's meaning of
  /// `import`).
  void read(std::string_view text);
  bool empty() const { return rules.empty(); }
  bool has(const std::string &rule) const { return rules.count(rule); }
  /// The first parser rule of the text read first.
  const std::string &start() const { return first; }

  /// A random sentence: at most about `budget` tokens. Names, numbers and texts mostly come from
  /// `words`.
  std::string sentence(Random &random, const std::vector<std::string> &words, size_t budget) const;

private:
  friend class GrammarReader;
  struct Writer;
  unsigned cost(const Element &element) const;
  void computeCosts();
  std::map<std::string, Element> rules;
  std::map<std::string, unsigned> costs; ///< fewest rule expansions until only characters are left
  std::string first;
};

} // namespace accord::fuzz
