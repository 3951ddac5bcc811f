// The choice of an ensemble, its guarantees, and what is refused.
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/verify/Members.h"
#include "lib/ensembles/solve/Bounds.h"
#include "lib/ensembles/solve/Choose.h"
#include "lib/ensembles/solve/MoreData.h"
#include "tools/accord/Vote.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

class EnsembleChooser {
public:
  EnsembleChooser(EnsemblePlan &plan, Diagnostics &diags) : plan(plan), diags(diags) {}

  bool run() {
    const EnsembleRequest &request = plan.request;
    if (std::string wrong = check(plan.problem); !wrong.empty())
      return refuse(Code::NumberTooLarge, request.location, wrong);
    if (tooManySets())
      return false;
    plan.tests = testsOf(plan.facts, plan.problem.sizes);
    if (contradicts())
      return false;
    auto ask = [this](const std::vector<unsigned> &counts) {
      return guaranteed(factsOf(plan.facts, counts), optionsOf(counts));
    };
    plan.result = chooseMembers(plan.problem, ask);
    for (const MembersOfSize &of : plan.result.sizes)
      plan.guarantees.push_back(of.shown() ? guaranteeOf(of.shown()->counts) : std::nullopt);
    moreDataLines();
    if (!certified())
      return false;
    if (const MemberChoice *chosen = plan.chosen())
      lossLines(*chosen, ask);
    claims();
    if (plan.problem.lost > 0 && !plan.problem.most)
      plan.assumptions.push_back("what a loss of devices leaves is shown, and decides nothing: no "
                                 "error is required");
    plan.assumptions.push_back(
        "members train independently, each step of a device one member after the other; "
        "what collects the votes is not counted");
    return true;
  }

private:
  bool refuse(Code code, const SourceLocation &at, const std::string &message) {
    diags.error(code, rangeOf(diags, at), message);
    return false;
  }

  /// Whether a joint error is one of more sets of members than are gone through.
  bool tooManySets() {
    constexpr double kMostSets = 100'000;
    unsigned size = plan.problem.sizes.back();
    for (const EnsembleRequest::Joint &joint : plan.request.joint) {
      // By number of members: the most sets among them, kind by kind.
      std::vector<double> most(size + 1, 1);
      for (size_t i = 0; i < joint.kinds.size();) {
        auto times = static_cast<size_t>(std::ranges::count(joint.kinds, joint.kinds[i]));
        std::vector<double> sets(size + 1, 0), next(size + 1, 0);
        for (size_t n = times; n <= size; ++n)
          sets[n] = n == times
                        ? 1
                        : sets[n - 1] * static_cast<double>(n) / static_cast<double>(n - times);
        for (size_t n = 0; n <= size; ++n)
          for (size_t of = 0; of <= n; ++of)
            next[n] = std::max(next[n], most[n - of] * sets[of]);
        most = std::move(next);
        i += times;
      }
      if (most[size] > kMostSets)
        return !refuse(Code::NumberTooLarge, joint.location,
                       fmt::format("a joint error of {} members is one of {:.0f} sets among {}: at "
                                   "most {:.0f} are looked at",
                                   joint.kinds.size(), most[size], size, kMostSets));
    }
    return false;
  }

  VoteOptions optionsOf(const std::vector<unsigned> &counts) const {
    VoteOptions options;
    options.confidence = plan.confidence;
    options.tests = plan.tests;
    options.kinds = kindsOf(counts);
    return options;
  }

  /// Members by kind alone: what is known of kinds holds for each of them.
  std::vector<std::string> namesOf(const std::vector<unsigned> &counts) const {
    std::vector<std::string> names;
    for (unsigned kind : kindsOf(counts))
      names.push_back(plan.problem.kinds[kind].name);
    return names;
  }

  /// With a table that has these members, too.
  int64_t testsWithTable(const std::vector<unsigned> &counts) const {
    KindFacts facts = plan.facts;
    for (unsigned k = 0; k < counts.size(); ++k) {
      auto has = static_cast<unsigned>(std::ranges::count(plan.facts.table.kinds, k));
      facts.table.kinds.insert(facts.table.kinds.end(), std::max(counts[k], has) - has, k);
    }
    return facts.table.kinds.size() > kMostVoters ? 0 : testsOf(facts, plan.problem.sizes);
  }

  SourceLocation placeOf(const VoteConflict &conflict, const std::vector<unsigned> &kinds) const {
    if (!conflict.sets.empty()) {
      std::vector<unsigned> last;
      for (unsigned member : conflict.sets.back())
        last.push_back(kinds[member]);
      for (const EnsembleRequest::Joint &joint : plan.request.joint)
        if (joint.kinds == last)
          return joint.location;
    }
    return plan.request.location;
  }

  /// Whether what is stated contradicts itself, with as few members as the statements name; and
  /// each statement with what is stated of its members, for all may be too many to tell apart.
  bool contradicts() {
    std::vector<unsigned> all(plan.problem.kinds.size(), 1);
    for (const auto &[kinds, rate] : plan.facts.together) {
      std::vector<unsigned> counts(all.size(), 0);
      for (unsigned kind : kinds)
        all[kind] = std::max(all[kind], ++counts[kind]);
      if (contradicts(counts))
        return true;
    }
    return contradicts(all);
  }
  bool contradicts(const std::vector<unsigned> &counts) {
    ErrorFacts facts = factsOf(plan.facts, counts);
    facts.votes.clear();
    auto conflict = conflictOf(facts, optionsOf(counts));
    if (!conflict)
      return false;
    std::vector<unsigned> kinds = kindsOf(counts);
    refuse(Code::NoJointDistribution, placeOf(*conflict, kinds), text(*conflict, namesOf(counts)));
    return true;
  }

  std::optional<GuaranteeText> guaranteeOf(const std::vector<unsigned> &counts) const {
    VoteGuarantee found =
        strongest(factsOf(plan.facts, counts), optionsOf(counts), namesOf(counts));
    if (found.conflict || found.bounds.empty())
      return std::nullopt;
    VoteBoundText words = describe(found.strongest().kind);
    GuaranteeText text{words.name,
                       words.formula,
                       describe(found.evidence),
                       found.value(),
                       found.best,
                       {},
                       found.assumptions,
                       {}};
    for (const std::string &input : found.inputs)
      if (!llvm::is_contained(text.inputs, input))
        text.inputs.push_back(input);
    for (const VoteBound &bound : found.bounds)
      text.bounds.emplace_back(describe(bound.kind).name, bound.claim.value);
    return text;
  }

  /// For each size that does not keep the requirement: what would.
  void moreDataLines() {
    if (!plan.problem.most)
      return;
    for (const MembersOfSize &of : plan.result.sizes) {
      if (of.best || !of.surest)
        continue;
      const std::vector<unsigned> &counts = of.surest->counts;
      MoreData more = moreData(factsOf(plan.facts, counts), *plan.problem.most, optionsOf(counts),
                               testsWithTable(counts));
      std::string ways;
      auto add = [&](const std::string &way) { ways += (ways.empty() ? "" : ", or ") + way; };
      if (more.pairs)
        add(fmt::format("pairs wrong together at most {}", percentText(*more.pairs)));
      if (more.triples)
        add(fmt::format("three wrong together at most {}", percentText(*more.triples)));
      if (more.samples)
        add(fmt::format("the same rates from {} samples each", *more.samples));
      if (more.table)
        add(fmt::format("a table of {} votes with {} of them wrong", *more.table,
                        percentText(more.tableRate)));
      if (more.tableNoneWrong)
        add(fmt::format("a table of {} votes, none wrong", *more.tableNoneWrong));
      std::string who = membersText(plan.problem, counts);
      plan.moreData.push_back(ways.empty()
                                  ? fmt::format("no more data of these kinds certifies {} for {}",
                                                percentText(*plan.problem.most), who)
                                  : fmt::format("{} is certified for {} by {}",
                                                percentText(*plan.problem.most), who, ways));
    }
  }

  /// What cannot be certified is an error; what the devices have no room for is infeasible.
  bool certified() {
    const MembersResult &result = plan.result;
    const EnsembleRequest &request = plan.request;
    bool fits = std::ranges::any_of(result.sizes,
                                    [](const MembersOfSize &of) { return of.shown() != nullptr; });
    if (!fits) {
      plan.conflict = noRoom();
      return true;
    }
    bool votes = false, gains = false; // of three and more
    const MemberChoice *least = nullptr;
    for (size_t i = 0; i < result.sizes.size(); ++i) {
      const MemberChoice *shown = result.sizes[i].shown();
      if (!shown)
        continue;
      if (!least || shown->error < least->error)
        least = shown;
      votes |= result.sizes[i].size > 1;
      gains |= result.sizes[i].size > 1 && plan.guarantees[i] &&
               plan.guarantees[i]->value < plan.guarantees[i]->single;
    }
    bool single = plan.problem.sizes.front() == 1;
    if (result.best && (plan.problem.most || gains || single))
      return true;
    SourceLocation at = request.error ? request.error->location : request.location;
    if (!result.best && least->error <= *plan.problem.most) {
      plan.conflict = fmt::format("no placement keeps an error of {} after {} devices are lost",
                                  percentText(*plan.problem.most), plan.problem.lost);
      return true;
    }
    std::string known =
        fmt::format("of {} an error of at most {} is guaranteed",
                    membersText(plan.problem, least->counts), percentText(least->error));
    if (plan.problem.most)
      known += fmt::format(", {} is required", percentText(*plan.problem.most));
    auto error =
        gains || !votes
            ? diags.error(Code::EvidenceTooWeak, rangeOf(diags, at), known)
            : diags.error(
                  Code::GainNotCertified, rangeOf(diags, at),
                  fmt::format("no vote is certified to be better than its best member: {}", known));
    for (const std::string &line : plan.moreData)
      error.note({}, line);
    if (plan.moreData.empty())
      error.help("state joint_error of pairs, votes from a file, or independent");
    return false;
  }

  std::string noRoom() const {
    for (size_t k = 0; k < plan.problem.kinds.size(); ++k)
      for (size_t d = 0; d < plan.problem.devices.size(); ++d)
        if (!plan.reasons[k][d].empty())
          return fmt::format("no ensemble of these sizes fits the devices; {} on {}: {}",
                             plan.problem.kinds[k].name, plan.problem.devices[d].name,
                             plan.reasons[k][d]);
    return "no ensemble of these sizes fits the memory of the devices";
  }

  void lossLines(const MemberChoice &chosen, const VoteError &ask) {
    for (const DeviceLoss &loss : lossesOf(plan.problem, chosen, plan.problem.lost, ask)) {
      EnsemblePlan::Loss line;
      for (auto [device, number] : loss.devices)
        line.devices.push_back(fmt::format("{} {}", plan.problem.devices[device].name, number + 1));
      line.quorum = loss.quorum.counts;
      line.error = loss.quorum.error;
      plan.losses.push_back(std::move(line));
    }
  }

  /// Claims of what is shown, of what is voted with after losses, and of those refusals on which
  /// the bound rests.
  void claims() {
    std::set<std::vector<unsigned>> of;
    for (const MembersOfSize &size : plan.result.sizes)
      if (size.shown())
        of.insert(size.shown()->counts);
    for (const EnsemblePlan::Loss &loss : plan.losses)
      if (std::ranges::any_of(loss.quorum, [](unsigned count) { return count > 0; }))
        of.insert(loss.quorum);
    constexpr size_t kMostRefusals = 100; // more are trusted
    std::vector<size_t> rests = verify(plan.problem, plan.result).rests;
    for (size_t i = 0; i < rests.size() && i < kMostRefusals; ++i)
      of.insert(plan.result.refused[rests[i]].counts);
    for (const std::vector<unsigned> &counts : of) {
      VoteGuarantee found = strongest(factsOf(plan.facts, counts), optionsOf(counts));
      plan.claims.push_back(
          {counts, found.conflict ? found.conflict->claim : found.strongest().claim});
    }
  }

  EnsemblePlan &plan;
  Diagnostics &diags;
};

} // namespace

bool chooseEnsemble(EnsemblePlan &plan, Diagnostics &diags) {
  return EnsembleChooser(plan, diags).run();
}

} // namespace accord
