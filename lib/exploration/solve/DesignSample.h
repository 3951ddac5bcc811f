// Which of the designs that a search evaluates are kept for people to look at: of any number so many that a page shows
// them, the same ones whenever the search is the same.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"
#include <set>

namespace accord {

/// Keeps
/// - designs that no other one of them is as good as in value and all costs, at most `kMaxFront` at a time;
/// - the best with each choice of each parameter;
/// - as many others, drawn evenly: those whose hashes are smallest (bottom-k sampling: Cohen and Kaplan, PODC 2007).
/// Of designs of equal value and costs, the first one in the order of parameters stays.
class DesignSample {
public:
  static constexpr size_t kMaxFront = 4096;
  /// Of each kind, as many are in the result.
  static constexpr size_t kMaxKept = 128;

  DesignSample(const std::vector<DesignParameter> &parameters, std::vector<std::string> costs);
  /// A design that may be, each once. `costs`: by name, as the problem has them.
  void add(const Design &design, const DesignEvaluation &evaluation, std::vector<double> costs);
  /// What is kept of all that were added.
  EvaluatedDesigns finish() const;

private:
  void addToFront(const EvaluatedDesign &design);

  EvaluatedDesigns result_;
  std::vector<EvaluatedDesign> front_;
  std::vector<std::vector<std::optional<EvaluatedDesign>>> bestWith_; ///< by parameter and choice
  struct ByHash {
    bool operator()(const std::pair<uint64_t, EvaluatedDesign> &a,
                    const std::pair<uint64_t, EvaluatedDesign> &b) const {
      return std::tie(a.first, a.second.design) < std::tie(b.first, b.second.design);
    }
  };
  std::set<std::pair<uint64_t, EvaluatedDesign>, ByHash> drawn_;
};

} // namespace accord
