// What readers of blocks of entries share: keys that are given twice, clauses that do not belong
// there, numbers in their ranges, words with the nearest one.
#pragma once
#include "lib/language/syntax/Evaluate.h"
#include "lib/machine/model/WorkGraph.h"
#include <map>

namespace accord {

/// A set as its members, anything else as itself.
Constants membersOf(const Constant &value);

/// Clauses that an entry may have.
enum ClauseSet : unsigned { kNoClause = 0, kFrom = 1, kSamples = 2, kConfidence = 4, kError = 8, kTransposable = 16 };

/// What a block may require of a name: a share, or a whole number up to `max`.
struct RequirementSpec {
  std::string name;
  bool atLeast = false;
  std::string example; ///< "0.74 confidence 0.95"
  int64_t max = 0;     ///< 0: a share
  bool isTime = false; ///< a time of up to an hour, in seconds
};

class BlockReader {
public:
  /// `what`: "a sparsity", for messages.
  BlockReader(Diagnostics &diags, const Lookup &lookup, std::string what)
      : diags(diags), lookup(lookup), what(std::move(what)) {}

  Constant value(const ast::Expr &expr) { return evaluate(expr, diags, lookup); }
  /// False after reporting that the key is there already.
  bool once(const ast::Name &key);
  /// Where a key was given first; null if it was not.
  const SourceRange *given(llvm::StringRef key) const {
    auto found = seen.find(key.str());
    return found == seen.end() ? nullptr : &found->second;
  }
  /// Reports a key that the block does not have, or that is given in another form ("with '='", "as
  /// a block").
  void unknown(const ast::Name &key, const std::vector<std::string> &known, bool pair);
  /// `key = value` without clauses, given once: shown to the reader of its key, unless the value is an error.
  using KeyReaders = std::map<std::string, std::function<void(const Constant &)>>;
  void read(const ast::KeyValue &pair, const ast::Entry &entry, const KeyReaders &readers);
  /// Reports clauses that are not in `allowed` (of `ClauseSet`).
  void clauses(const ast::Entry &entry, unsigned allowed);

  /// A plain number from `min` to `max`; without the ends where `open`. At most 128 bits: what a
  /// file states as a share is no longer.
  std::optional<Rational> number(const Constant &value, llvm::StringRef name, const Rational &min, const Rational &max,
                                 bool open = false);
  /// Seconds, from 0 to so many hours.
  std::optional<Rational> time(const Constant &value, llvm::StringRef name, int64_t hours = 1);
  std::optional<int64_t> integer(const Constant &value, llvm::StringRef name, int64_t min, int64_t max);
  /// One of `known`; empty after an error.
  std::string word(const Constant &value, llvm::StringRef name, const std::vector<std::string> &known);
  std::optional<std::string> text(const Constant &value, llvm::StringRef name);
  /// `samples 10000`: 0 where it is not stated or wrong.
  int64_t samples(const ast::Entry &entry);
  /// `confidence 0.95`: 0 where it is not stated or wrong.
  double confidence(const ast::Entry &entry);
  /// What a `require` asks for.
  struct Limit {
    std::string name;
    Rational value;
    double confidence = 0;
  };
  /// Shows a `require NAME >= 0.74` or `require NAME <= 0.09`, in either order, to `require`, and an objective to
  /// `objective`. Reports a preference, a second objective, and clauses that do not belong there.
  void rule(const ast::Entry &entry, const ast::Rule &rule, const std::vector<RequirementSpec> &specs,
            llvm::function_ref<void(const Limit &)> require, llvm::function_ref<void(bool maximize)> objective);
  /// A relative path is beside the file that names it.
  std::string beside(llvm::StringRef path, SourceRange at) const;
  SourceLocation place(SourceRange range) const;

  Diagnostics &diags;
  const Lookup &lookup;

private:
  std::optional<std::pair<std::string, Rational>> limit(const ast::Entry &entry, const ast::Rule &rule,
                                                        const std::vector<RequirementSpec> &specs);

  std::string what;
  std::map<std::string, SourceRange> seen, required;
  SourceRange objectiveAt;
};

/// Arguments of a call such as nm(2, 4, along = output), by place or by name, with flags: words
/// that stand alone, behind the others.
class CallArguments {
public:
  /// `names` in their order. Reports unknown, repeated and superfluous ones.
  CallArguments(BlockReader &reader, const CallValue &call, SourceRange at, std::vector<std::string> names,
                std::vector<std::string> flags);
  bool good() const { return isGood; }
  /// Null if it is not given; reported if it is required.
  const Constant *get(llvm::StringRef name, bool required = true);
  /// Null if it is not given.
  const Constant *flag(llvm::StringRef name) const;

private:
  BlockReader &reader;
  std::string function;
  SourceRange at;
  std::map<std::string, const Constant *> given, flagged;
  bool isGood = true;
};

} // namespace accord
