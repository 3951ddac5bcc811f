#include "lib/scheduling/prove/LearntProof.h"
#include "llvm/ADT/STLExtras.h"

namespace accord::prove {
namespace {

using solve::LearntClauses;

/// Of the clause solver's steps: about a minute.
constexpr uint64_t kMaxSteps = 4'000'000'000;

class ProofWriter {
public:
  ProofWriter(const LearntClauses &learnt, const CnfFormula &formula) : learnt(learnt) {
    for (const LearntClauses::Fact &fact : learnt.facts)
      meaning.push_back(literalOf(fact, formula));
  }

  std::string write() {
    size_t count = learnt.lastUse.size();
    std::vector<std::vector<uint32_t>> over(count + 1); // by lemma: what is needed no more after it
    std::vector<std::vector<int32_t>> written;
    llvm::ArrayRef<int32_t> rest = learnt.literals;
    for (uint32_t number = 0; number < count; ++number) {
      llvm::ArrayRef<int32_t> lemma = rest.take_until([](int32_t literal) { return literal == 0; });
      rest = rest.drop_front(lemma.size() + 1);
      written.push_back(translate(lemma));
      if (!isTrue) {
        const LearntClauses::Overload &overload = learnt.overloads[number];
        if (overload.resource == SchedulingProblem::kNoTask)
          line('a', written.back());
        else
          line('e', written.back(), {overload.resource, uint64_t(overload.from), uint64_t(overload.to)});
        if (written.back().empty())
          return out;
        over[std::min<size_t>(learnt.lastUse[number], count)].push_back(number);
      }
      for (uint32_t old : over[number])
        line('d', written[old]);
      for (uint32_t old : over[number])
        written[old] = {};
    }
    line('a', {});
    return out;
  }

private:
  static int32_t literalOf(const LearntClauses::Fact &fact, const CnfFormula &formula) {
    if (fact.other == SchedulingProblem::kNoTask)
      return formula.by(fact.task, fact.time);
    bool isSwapped = fact.task > fact.other;
    auto order = formula.orders.find(std::minmax(fact.task, fact.other));
    if (order == formula.orders.end())
      return kFalse; // a pair that the formula does not know: the lemma is shorter, and has to follow all the same
    return isSwapped ? -order->second : order->second;
  }

  std::vector<int32_t> translate(llvm::ArrayRef<int32_t> lemma) {
    std::vector<int32_t> literals;
    isTrue = false;
    for (int32_t number : lemma) {
      int32_t literal = number > 0 ? meaning[number - 1] : -meaning[-number - 1];
      isTrue |= literal == kTrue;
      if (literal != kFalse)
        literals.push_back(literal);
    }
    return literals;
  }

  void line(char kind, llvm::ArrayRef<int32_t> literals, llvm::ArrayRef<uint64_t> overload = {}) {
    out += kind;
    for (uint64_t number : overload)
      write(number);
    for (int32_t literal : literals)
      write(literal > 0 ? 2 * uint64_t(literal) : 2 * uint64_t(-int64_t(literal)) + 1);
    out += '\0';
  }

  void write(uint64_t number) {
    for (; number >= 128; number >>= 7)
      out += static_cast<char>(128 | (number & 127));
    out += static_cast<char>(number);
  }

  const LearntClauses &learnt;
  std::vector<int32_t> meaning; ///< by fact
  bool isTrue = false;
  std::string out;
};

} // namespace

std::optional<LearntClauses> refute(const SchedulingProblem &problem, const SchedulingBound &bound,
                                    const StartWindows &windows, const std::atomic<bool> *stop) {
  if (bound.unit != 1)
    return std::nullopt;
  solve::Instance instance(problem);
  solve::Propagator narrowed(instance, bound.value - 1);
  narrowed.earliest = windows.earliest, narrowed.latest = windows.latest, narrowed.ordered = windows.ordered;
  if (!instance.single || !solve::ClauseOracle::supports(instance, narrowed))
    return std::nullopt;
  for (auto [energetic, steps] : {std::pair(false, kMaxSteps / 4), std::pair(true, kMaxSteps)}) {
    solve::ClauseOracle oracle(instance, narrowed, energetic);
    SchedulingSolution found;
    if (oracle.ask(bound.value - 1, steps, found, stop) == solve::ClauseOracle::Answer::No)
      return oracle.refutation();
  }
  return std::nullopt;
}

std::string proofOf(const LearntClauses &learnt, const CnfFormula &formula) {
  return ProofWriter(learnt, formula).write();
}

} // namespace accord::prove
