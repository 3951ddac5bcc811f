// Replays what a SAT solver derived, clause by clause.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <vector>

namespace accord {

/// A set of clauses that grows by lemmas that follow by reverse unit propagation: where all literals of a lemma are
/// false, unit propagation ends in a contradiction (Goldberg, Novikov, DATE 2003; Heule, Hunt, Wetzler, FMCAD 2013).
/// Two literals of each clause are watched (Moskewicz et al., DAC 2001). Literals are as in DIMACS, of 1 to
/// `variables`.
class RupChecker {
public:
  explicit RupChecker(int32_t variables);

  /// Adds a clause that is given, and assigns all that follows by unit propagation.
  void add(llvm::ArrayRef<int32_t> clause);
  /// Adds a clause that follows; false where it does not follow by unit propagation, and is not added.
  bool derive(llvm::ArrayRef<int32_t> lemma);
  /// The same of a clause that follows where unit propagation leaves something that `contradicts` finds impossible, by
  /// values of literals (1 true, -1 false, 0 open).
  bool derive(llvm::ArrayRef<int32_t> lemma,
              llvm::function_ref<bool(llvm::function_ref<int(int32_t)> valueOf)> contradicts);
  /// Takes away a clause with these literals, in any order; nothing where there is none. A clause from which a literal
  /// follows by unit propagation alone stays, which keeps what follows from it.
  void remove(llvm::ArrayRef<int32_t> clause);
  /// The empty clause follows.
  bool isRefuted() const { return refuted; }

private:
  using Place = uint32_t; ///< of a clause in `store`: where its literals begin
  static constexpr Place kNone = 0;
  /// Numbers before the literals of a clause.
  static constexpr uint32_t kHead = 2;
  struct Watch {
    Place clause;
    int32_t other; ///< a literal of the clause: if it is true, the clause says nothing
  };

  static size_t index(int32_t literal) { return literal > 0 ? 2 * size_t(literal) : 2 * size_t(-literal) + 1; }
  int32_t size(Place clause) const { return store[clause - kHead]; }
  static uint32_t hashOf(llvm::ArrayRef<int32_t> clause);
  void assign(int32_t literal, Place reason);
  bool propagate();
  void grow();

  std::vector<int32_t> store;              ///< of each clause: its size (0: removed), the next one of the same hash
  std::vector<std::vector<Watch>> watches; ///< by literal that becomes false
  std::vector<int8_t> value;               ///< by literal: 1 true, -1 false
  std::vector<Place> reasons;              ///< by variable
  std::vector<int32_t> trail;
  std::vector<Place> buckets; ///< by hash: the last clause
  size_t propagated = 0, count = 0;
  bool refuted = false;
};

} // namespace accord
