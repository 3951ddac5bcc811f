#include "lib/scheduling/verify/InfeasibilityProof.h"
#include "lib/scheduling/verify/InfeasibilityFormula.h"
#include "lib/scheduling/verify/RupChecker.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

/// Reads a proof from its first byte to its last.
class ProofReader {
public:
  ProofReader(llvm::StringRef text, int32_t variables) : text(text), variables(variables) {}

  /// False at the end, or where `error` says what is wrong.
  bool next() {
    literals.clear();
    if (at == text.size())
      return false;
    kind = text[at++];
    if (kind != 'a' && kind != 'd' && kind != 'e')
      return fail("neither adds nor deletes a clause");
    if (kind == 'e')
      for (int64_t *part : {&resource, &from, &to}) {
        uint64_t part64 = 0;
        if (!readNumber(part64))
          return false;
        *part = static_cast<int64_t>(part64);
      }
    for (;;) {
      uint64_t number = 0;
      if (!readNumber(number))
        return false;
      if (number == 0)
        return true;
      if (number / 2 == 0 || number / 2 > uint64_t(variables))
        return fail(fmt::format("has a literal of none of the {} variables", variables));
      int32_t variable = int32_t(number / 2);
      literals.push_back(number % 2 ? -variable : variable);
    }
  }

  std::vector<int32_t> literals;
  char kind = 'a'; ///< adds, deletes, or adds what follows by the work in an interval
  int64_t resource = 0, from = 0, to = 0;
  std::string error;

private:
  /// At most 35 bits, of 7 a byte.
  bool readNumber(uint64_t &number) {
    unsigned shift = 0;
    uint8_t byte = 0;
    number = 0;
    do {
      if (at == text.size())
        return fail("is cut");
      byte = static_cast<uint8_t>(text[at++]);
      number |= uint64_t{byte & 127u} << shift;
      shift += 7;
    } while (byte >= 128 && shift < 35);
    if (byte >= 128)
      number = uint64_t{1} << 62; // neither a literal nor an interval that any problem has
    return true;
  }
  bool fail(std::string what) {
    error = std::move(what);
    return false;
  }
  llvm::StringRef text;
  int32_t variables;
  size_t at = 0;
};

/// Whether tasks need more of a resource in an interval than there is: each at least its shortest overlap with the
/// interval over the starts that are left of it.
bool isOverfull(const SchedulingProblem &problem, const InfeasibilityFormula &formula, int64_t resource, int64_t from,
                int64_t to, llvm::function_ref<int(int32_t)> valueOf) {
  if (resource >= int64_t(problem.resources.size()) || from >= to)
    return false;
  __int128 need = 0;
  for (size_t t = 0; t < formula.starts.size(); ++t) {
    const auto &starts = formula.starts[t];
    if (!starts.mode)
      continue;
    const auto &mode = problem.tasks[t].modes[*starts.mode];
    int64_t amount = mode.uses(SchedulingProblem::Id(resource)), first = starts.first, last = starts.last;
    if (amount == 0)
      continue;
    while (first < last && valueOf(int32_t(starts.variable + (first - starts.first))) < 0)
      ++first;
    while (last > first && valueOf(int32_t(starts.variable + (last - 1 - starts.first))) > 0)
      --last;
    int64_t overlap = std::min({mode.duration, to - from, first + mode.duration - from, to - last});
    need += __int128{amount} * std::max<int64_t>(0, overlap);
  }
  return need > __int128{problem.resources[resource].capacity} * (to - from);
}

} // namespace

Result<InfeasibilityReplay> replayInfeasibility(const SchedulingProblem &problem, const SchedulingBound &bound,
                                                llvm::StringRef proof) {
  if (Errors malformed = check(problem); !malformed.empty())
    return malformed[0];
  auto fail = [&](const std::string &message) {
    return Error{Code::BoundNotProved,
                 fmt::format("the proof that no schedule of at most {} exists {}", bound.value - 1, message),
                 {},
                 {}};
  };
  if (bound.kind != SchedulingBound::Kind::Solver)
    return fail("belongs to no bound of a solver");
  if (auto windows = solverWindows(problem, bound); !windows)
    return windows.error();
  if (proof.size() > kMaxProofBytes)
    return fail(fmt::format("has {} bytes; at most {} are read", proof.size(), kMaxProofBytes));
  auto formula = infeasibilityFormula(problem, bound);
  if (!formula)
    return fail("is of a problem that is too large to be written as clauses");
  auto [found, lemmas] = proof.split('\n');
  std::string head = fmt::format("accord-rup 1 {} {} {:016x} {}", formula->variables, formula->clauses, formula->hash(),
                                 lemmas.size());
  if (found != head)
    return fail(fmt::format("is of another problem, or cut: it should begin with '{}', but begins with '{}'", head,
                            found.take_front(head.size() + 20).str()));
  InfeasibilityReplay replay{size_t(formula->variables), formula->clauses, 0};
  RupChecker checker(formula->variables);
  for (llvm::ArrayRef<int32_t> rest = formula->literals; !rest.empty();) {
    llvm::ArrayRef<int32_t> clause = rest.take_until([](int32_t literal) { return literal == 0; });
    checker.add(clause);
    rest = rest.drop_front(clause.size() + 1);
  }
  ProofReader reader(lemmas, formula->variables);
  size_t number = 0;
  while (!checker.isRefuted() && reader.next()) {
    ++number;
    if (reader.kind == 'd') {
      checker.remove(reader.literals);
      continue;
    }
    ++replay.lemmas;
    bool follows = reader.kind == 'a'
                       ? checker.derive(reader.literals)
                       : bound.unit == 1 && checker.derive(reader.literals, [&](auto valueOf) {
                           return isOverfull(problem, *formula, reader.resource, reader.from, reader.to, valueOf);
                         });
    if (!follows)
      return fail(fmt::format("does not hold: line {} does not follow from those before it", number));
  }
  if (!reader.error.empty())
    return fail(fmt::format("is malformed: line {} {}", number + 1, reader.error));
  if (!checker.isRefuted())
    return fail(fmt::format("ends after {} lemmas without a contradiction", replay.lemmas));
  return replay;
}

} // namespace accord
