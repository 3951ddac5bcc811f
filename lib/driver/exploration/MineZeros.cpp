#include "lib/driver/exploration/MineZeros.h"
#include "lib/driver/Session.h"
#include "lib/driver/tasks/Prune.h"
#include "lib/exploration/steps/StepZeros.h"
#include "lib/exploration/verify/ZeroProof.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr const char *kHelp = "weights of … = nm(2, 4); `accord prune` on one machine prices all other zeros";

class ZeroChooser {
public:
  ZeroChooser(Session &session, const DesignSpace &space) : session_(session), space_(space) {}

  std::optional<MineZeroChoices> run() {
    const TrainingJob &job = session_.job();
    auto asked = session_.program().sparsity(job);
    if (!asked) // no block, or a wrong one
      return session_.diagnostics().hasErrors() ? std::nullopt : std::optional(MineZeroChoices{});
    if (!suits(*asked))
      return std::nullopt;
    at_ = asked->location;
    auto machine = space_.best(wholeOf(space_.parameters()));
    if (!machine) // no design may be: the search says so
      return MineZeroChoices{};
    if (!findCore(*machine))
      return std::nullopt;
    if (!core_) {
      found_.assumptions.push_back(fmt::format(
          "nothing is zero: no core of '{}' uses zeros, as 'sparsity for {}' asks for", space_.name(), job.name));
      return std::move(found_);
    }
    auto request = zerosToMine(session_, *machine);
    if (!request)
      return std::nullopt;
    request_ = std::move(*request);
    auto graph = session_.graphs().workAt(std::max<int64_t>(1, session_.smallestMicrobatch()), 1);
    if (!graph)
      return std::nullopt;
    graph_ = std::move(*graph);
    if (!enumerate())
      return std::nullopt;
    found_.assumptions.push_back("zeros are skipped at the rate that cores state, whatever kernels of libraries reach");
    if (llvm::none_of(request_.budgets, [](const SparsityBudget &budget) { return budget.what.starts_with("loss"); }))
      found_.assumptions.push_back("no accuracy is required: nothing is claimed of what zeros do to it");
    return std::move(found_);
  }

private:
  bool refuse(const SourceLocation &location, const std::string &what, const std::string &help = kHelp) {
    session_.report({Code::NotSupported, "not supported yet: " + what, location, {}}, help);
    return false;
  }

  /// Whether all zeros of the block are static N:M of weights.
  bool suits(const SparsityRequest &request) {
    if (request.forwardOnly)
      return refuse(request.location, "'phases = forward' where designs are mined for training");
    for (const SparsityRequest::Rule &rule : request.rules) {
      if (rule.choices.empty()) // dense
        continue;
      if (rule.of != GemmOperand::Weights)
        return refuse(rule.location, fmt::format("designs are mined with zeros of weights, and not of {}",
                                                 rule.of == GemmOperand::Activations ? "activations" : "gradients"));
      for (const auto &[pattern, text] : llvm::zip_equal(rule.choices, rule.texts)) {
        const bool isStructured =
            pattern.kind == SparsityPattern::Kind::Structured && pattern.along == SparsityPattern::Along::Reduction;
        if (!isStructured || pattern.dynamic || rule.given)
          return refuse(rule.location, fmt::format("designs are mined with static nm(n, m) along the reduction, and "
                                                   "not with {}{}",
                                                   text, pattern.dynamic ? " whose masks move" : ""));
      }
    }
    if (!request.formats.empty() &&
        llvm::none_of(request.formats, [](const SparseFormat &f) { return f.kind == SparseFormat::Kind::Structured; }))
      return refuse(request.location, "designs are mined with weights that are stored as nm(n, m), which 'formats' "
                                      "leaves out");
    return true;
  }

  /// What tensor cores make of zeros, which has to be the same in all designs.
  bool findCore(const Machine &machine) {
    auto core = zeroCoreOf(machine);
    if (!core)
      return refuse(at_, fmt::format("zeros are mined where all tensor cores skip the same nm(n, m) of weights, and {} "
                                     "of '{}'",
                                     core.error().message, space_.name()));
    core_ = *core;
    const std::vector<DesignParameter> &parameters = space_.parameters();
    std::optional<uint64_t> points = designsOf(parameters);
    for (uint64_t start : {uint64_t{0}, points.value_or(1) / 2, points.value_or(1) - 1})
      for (size_t p = 0; p < parameters.size() && points && *points > 0; ++p) {
        Design design = designAt(parameters, start);
        for (design[p] = 0; design[p] < parameters[p].labels.size(); ++design[p]) {
          auto one = space_.machine(design);
          auto other = one ? zeroCoreOf(*one) : core;
          if (!other || !isSameUse(*other, core_))
            return refuse(parameters[p].location,
                          fmt::format("'{}' changes what cores make of zeros", parameters[p].name),
                          "state what 'sparse' leaves open");
        }
      }
    return true;
  }

  /// Shares of a product with one of its options: what no design takes less of.
  std::vector<double> sharesOf(uint32_t product, const LinearSparsity &option) {
    if (option.weights.pattern.kind == SparsityPattern::Kind::Dense)
      return {1, 1, 1, 1, 1, 1};
    const MinedZeros zeros = minedZeros(product, option);
    ZeroShares forward, data;
    const StepZeroShares all = minZeroShares(graph_, {{zeros}, core_});
    for (OperationId id = 0; id < all.size(); ++id)
      if (all[id] != ZeroShares{} && graph_.operations[id].phase == Phase::Forward)
        forward = all[id];
      else if (all[id] != ZeroShares{} && graph_.operations[id].phase == Phase::DataGradient)
        data = all[id];
    return {forward.compute, forward.active, data.compute,
            data.active,     forward.stored, static_cast<double>(zeros.kept) / static_cast<double>(zeros.of)};
  }

  MinedZeros minedZeros(uint32_t product, const LinearSparsity &option) const {
    const SparsityPattern &pattern = option.weights.pattern;
    return {request_.products[product].name, pattern.kept, pattern.of, pattern.transposable};
  }

  /// Whether with option `a` of a decision no design takes more than with `b`.
  bool isNoMore(const PlacementSparsityRequest::Decision &decision, size_t a, size_t b) {
    if (a == b)
      return true;
    if (core_->setupCycles > 0 || core_->wordsPerCycle > 0) // either may take longer
      return false;
    for (size_t i = 0; i < decision.products.size(); ++i) {
      const uint32_t product = decision.products[i];
      const auto &options = request_.products[product].options;
      const auto with = sharesOf(product, options[decision.options[a][i]]),
                 without = sharesOf(product, options[decision.options[b][i]]);
      for (size_t s = 0; s < with.size(); ++s)
        if (with[s] > without[s])
          return false;
    }
    return true;
  }

  bool tooMany(const std::string &count) {
    return refuse(at_, fmt::format("{} choices of zeros, at most {} are mined", count, kMaxZeroChoices),
                  "let fewer layers have zeros, or rows of the measurements name layers together: block.*");
  }

  bool enumerate() {
    const size_t decisions = request_.decisions.size();
    // By decision: which option takes no more than which.
    std::vector<std::vector<std::vector<bool>>> less(decisions);
    std::vector<std::vector<size_t>> options(decisions);
    for (size_t d = 0; d < decisions; ++d) {
      const auto &decision = request_.decisions[d];
      const size_t count = decision.options.size();
      less[d].assign(count, std::vector<bool>(count));
      for (size_t a = 0; a < count; ++a)
        for (size_t b = 0; b < count; ++b)
          less[d][a][b] = isNoMore(decision, a, b);
      auto isDropped = [&](size_t o) {
        return llvm::any_of(llvm::seq(count), [&](size_t other) {
          if (other == o || !less[d][other][o] || (less[d][o][other] && other > o))
            return false;
          const auto &takes = decision.stated.options;
          for (size_t budget = 0; budget < request_.budgets.size(); ++budget)
            if (takes[other].takes[budget] > takes[o].takes[budget])
              return false;
          return true;
        });
      };
      for (size_t o = 0; o < count; ++o)
        if (!isDropped(o))
          options[d].push_back(o);
    }
    constexpr size_t kMaxPartial = 1 << 14;
    std::vector<std::vector<size_t>> partial{{}};
    for (size_t d = 0; d < decisions; ++d) {
      std::vector<std::vector<size_t>> longer;
      for (const std::vector<size_t> &one : partial)
        for (size_t option : options[d]) {
          longer.push_back(one);
          longer.back().push_back(option);
          if (!keepsBudgets(longer.back()))
            longer.pop_back();
        }
      if (longer.size() > kMaxPartial)
        return tooMany(fmt::format("more than {}", kMaxPartial));
      partial = std::move(longer);
    }
    auto dominates = [&](const std::vector<size_t> &a, const std::vector<size_t> &b) {
      for (size_t d = 0; d < decisions; ++d)
        if (!less[d][a[d]][b[d]])
          return false;
      return a != b;
    };
    for (const std::vector<size_t> &one : partial) {
      if (llvm::any_of(partial, [&](const auto &other) {
            return dominates(other, one) && !(dominates(one, other) && one < other);
          }))
        continue;
      StepZeros zeros{layersOf(one), core_};
      if (zeros.empty())
        continue;
      found_.choices.push_back(std::move(zeros));
    }
    return found_.choices.size() < kMaxZeroChoices || tooMany(std::to_string(found_.choices.size() + 1));
  }

  bool keepsBudgets(const std::vector<size_t> &choice) const {
    for (size_t budget = 0; budget < request_.budgets.size(); ++budget) {
      int64_t sum = 0;
      for (size_t d = 0; d < choice.size(); ++d)
        sum += request_.decisions[d].stated.options[choice[d]].takes[budget];
      if (sum > request_.budgets[budget].max)
        return false;
    }
    return true;
  }

  std::vector<MinedZeros> layersOf(const std::vector<size_t> &choice) const {
    std::vector<MinedZeros> layers;
    for (size_t d = 0; d < choice.size(); ++d)
      for (size_t i = 0; i < request_.decisions[d].products.size(); ++i) {
        const uint32_t product = request_.decisions[d].products[i];
        const LinearSparsity &option = request_.products[product].options[request_.decisions[d].options[choice[d]][i]];
        if (option.weights.pattern.kind != SparsityPattern::Kind::Dense)
          layers.push_back(minedZeros(product, option));
      }
    return layers;
  }

  Session &session_;
  const DesignSpace &space_;
  SourceLocation at_;
  std::optional<SparseCore> core_;
  PlacementSparsityRequest request_;
  WorkGraph graph_;
  MineZeroChoices found_;
};

} // namespace

std::optional<MineZeroChoices> zeroChoicesOf(Session &session, const DesignSpace &space) {
  return ZeroChooser(session, space).run();
}

} // namespace accord
