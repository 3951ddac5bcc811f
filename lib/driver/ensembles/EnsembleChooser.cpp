// The choice of an ensemble, its guarantees, and what is refused.
#include "lib/driver/ensembles/EnsembleChooser.h"
#include "lib/driver/Workspace.h"
#include "lib/driver/ensembles/StatedErrors.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/solve/AnswerBound.h"
#include "lib/ensembles/solve/ChooseMembers.h"
#include "lib/ensembles/solve/MoreData.h"
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/ensembles/verify/Members.h"
#include "lib/support/ClopperPearson.h"
#include <algorithm>
#include <bit>
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
    plan.tests = simultaneousTests(plan.statistics, plan.problem.sizes);
    StatedErrors stated{request, plan.statistics, plan.confidence, plan.tests};
    if (!stated.check(plan.problem.sizes.back(), diags))
      return false;
    auto ask = [this](const std::vector<unsigned> &counts) {
      return guaranteed(statisticsOf(plan.statistics, counts), optionsOf(counts));
    };
    plan.result = chooseMembers(plan.problem, ask);
    for (const MembersOfSize &of : plan.result.sizes)
      plan.guarantees.push_back(of.shown() ? guaranteeOf(of.shown()->counts) : std::nullopt);
    moreDataLines();
    if (!certified())
      return false;
    if (const MemberChoice *chosen = plan.chosen())
      failureLines(*chosen, ask);
    certificates();
    if (plan.chosen() && request.answer && !answer(*request.answer))
      return false;
    if (plan.chosen())
      classErrors();
    if (plan.problem.deviceFailures > 0 && !plan.problem.max)
      plan.assumptions.push_back("what a loss of devices leaves is shown, and decides nothing: no "
                                 "error is required");
    plan.assumptions.push_back("members train independently, each step of a device one member after the other; "
                               "what collects the votes is not counted");
    return true;
  }

private:
  bool refuse(Code code, const SourceLocation &at, const std::string &message) {
    diags.error(code, rangeOf(diags, at), message);
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
    MemberStatistics statistics = plan.statistics;
    for (unsigned k = 0; k < counts.size(); ++k) {
      const unsigned has = std::ranges::count(plan.statistics.table.kinds, k);
      statistics.table.kinds.insert(statistics.table.kinds.end(), std::max(counts[k], has) - has, k);
    }
    return statistics.table.kinds.size() > kMaxEnsembleMembers ? 0 : simultaneousTests(statistics, plan.problem.sizes);
  }

  std::optional<GuaranteeText> guaranteeOf(const std::vector<unsigned> &counts) const {
    VoteGuarantee found = strongest(statisticsOf(plan.statistics, counts), optionsOf(counts), namesOf(counts));
    if (found.conflict || found.bounds.empty())
      return std::nullopt;
    VoteBoundDescription words = describe(found.strongest().kind);
    GuaranteeText text{
        words.name, words.formula, describe(found.basis), found.value(), found.best, {}, found.assumptions, {}};
    if (plan.statistics.table.softWrong) {
      text.single = 1;
      for (unsigned kind = 0; kind < counts.size(); ++kind)
        if (counts[kind]) {
          std::vector<unsigned> one(counts.size(), 0);
          one[kind] = 1;
          text.single = std::min(text.single,
                                 guaranteed(statisticsOf(plan.statistics, one), optionsOf(one)).value_or(Rational(1)));
        }
      text.assumptions.push_back("the soft vote of these members is that of the table");
    }
    for (const std::string &input : found.inputs)
      if (!llvm::is_contained(text.inputs, input))
        text.inputs.push_back(input);
    for (const VoteBound &bound : found.bounds)
      text.bounds.emplace_back(describe(bound.kind).name, bound.certificate.value);
    return text;
  }

  /// For each size that does not keep the requirement: what would.
  void moreDataLines() {
    if (!plan.problem.max)
      return;
    for (const MembersOfSize &of : plan.result.sizes) {
      if (of.best || !of.minErrorChoice)
        continue;
      const std::vector<unsigned> &counts = of.minErrorChoice->counts;
      MoreData more =
          moreData(statisticsOf(plan.statistics, counts), *plan.problem.max, optionsOf(counts), testsWithTable(counts));
      std::string alternatives;
      auto add = [&](const std::string &alternative) {
        alternatives += (alternatives.empty() ? "" : ", or ") + alternative;
      };
      if (more.pairs)
        add(fmt::format("pairs wrong together at most {}", percentText(*more.pairs)));
      if (more.triples)
        add(fmt::format("three wrong together at most {}", percentText(*more.triples)));
      if (more.samples)
        add(fmt::format("the same rates from {} samples each", *more.samples));
      if (more.table)
        add(fmt::format("a table of {} votes with {} of them wrong", *more.table, percentText(more.tableRate)));
      if (more.tableNoneWrong)
        add(fmt::format("a table of {} votes, none wrong", *more.tableNoneWrong));
      std::string who = membersText(plan.problem, counts);
      plan.moreData.push_back(
          alternatives.empty()
              ? fmt::format("no more data of these kinds certifies {} for {}", percentText(*plan.problem.max), who)
              : fmt::format("{} is certified for {} by {}", percentText(*plan.problem.max), who, alternatives));
    }
  }

  /// What cannot be certified is an error; what the devices have no room for is infeasible.
  bool certified() {
    const MembersResult &result = plan.result;
    const EnsembleRequest &request = plan.request;
    bool fits = std::ranges::any_of(result.sizes, [](const MembersOfSize &of) { return of.shown() != nullptr; });
    if (!fits) {
      plan.conflict = noRoom();
      return true;
    }
    bool votes = false, improvesOnBestMember = false; // of three and more
    const MemberChoice *min = nullptr;
    for (size_t i = 0; i < result.sizes.size(); ++i) {
      const MemberChoice *shown = result.sizes[i].shown();
      if (!shown)
        continue;
      if (!min || shown->error < min->error)
        min = shown;
      votes |= result.sizes[i].size > 1;
      improvesOnBestMember |=
          result.sizes[i].size > 1 && plan.guarantees[i] && plan.guarantees[i]->value < plan.guarantees[i]->single;
    }
    bool single = plan.problem.sizes.front() == 1;
    if (result.best && (plan.problem.max || improvesOnBestMember || single))
      return true;
    SourceLocation at = request.error ? request.error->location : request.location;
    if (!result.best && min->error <= *plan.problem.max) {
      plan.conflict = fmt::format("no placement keeps an error of {} after {} devices are lost",
                                  percentText(*plan.problem.max), plan.problem.deviceFailures);
      return true;
    }
    std::string known = fmt::format("of {} an error of at most {} is guaranteed",
                                    membersText(plan.problem, min->counts), percentText(min->error));
    if (plan.problem.max)
      known += fmt::format(", {} is required", percentText(*plan.problem.max));
    auto error = improvesOnBestMember || !votes
                     ? diags.error(Code::RequirementNotShown, rangeOf(diags, at), known)
                     : diags.error(Code::GainNotCertified, rangeOf(diags, at),
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
          return fmt::format("no ensemble of these sizes fits the devices; {} on {}: {}", plan.problem.kinds[k].name,
                             plan.problem.devices[d].name, plan.reasons[k][d]);
    return "no ensemble of these sizes fits the memory of the devices";
  }

  void failureLines(const MemberChoice &chosen, const VoteError &ask) {
    for (const DeviceFailure &failure : deviceFailuresOf(plan.problem, chosen, plan.problem.deviceFailures, ask)) {
      EnsemblePlan::FailureCase line;
      for (auto [device, number] : failure.devices)
        line.devices.push_back(fmt::format("{} {}", plan.problem.devices[device].name, number + 1));
      line.quorum = failure.quorum.counts;
      line.error = failure.quorum.error;
      plan.failures.push_back(std::move(line));
    }
  }

  /// Claims of what is shown, of what is voted with after losses, and of those refusals on which
  /// the bound rests.
  void certificates() {
    std::set<std::vector<unsigned>> of;
    for (const MembersOfSize &size : plan.result.sizes)
      if (size.shown())
        of.insert(size.shown()->counts);
    for (const EnsemblePlan::FailureCase &failure : plan.failures)
      if (std::ranges::any_of(failure.quorum, [](unsigned count) { return count > 0; }))
        of.insert(failure.quorum);
    constexpr size_t kMaxRejections = 100; // more are trusted
    std::vector<size_t> assumedRejections = verify(plan.problem, plan.result).assumedRejections;
    for (size_t i = 0; i < assumedRejections.size() && i < kMaxRejections; ++i)
      of.insert(plan.result.rejected[assumedRejections[i]].counts);
    for (const std::vector<unsigned> &counts : of) {
      VoteGuarantee found = strongest(statisticsOf(plan.statistics, counts), optionsOf(counts));
      plan.certificates.push_back(
          {counts, found.conflict ? found.conflict->certificate : found.strongest().certificate});
    }
  }

  /// Wrong votes of the chosen members by true class. A choice by the table is a choice by its classes, too.
  void classErrors() {
    const std::vector<unsigned> &counts = plan.chosen()->counts;
    const int64_t classes = std::max<int64_t>(1, std::ssize(plan.statistics.table.classes));
    const Rational delta = (Rational(1) - plan.confidence) / (Rational(plan.tests) * Rational(classes));
    if (plan.statistics.table.softWrong) // is not known by class
      return;
    MemberStatistics of = plan.statistics;
    of.anyOfKind = false;
    of.table.classes.clear();
    for (const auto &[name, votes] : plan.statistics.table.classes) {
      of.table.votes = votes;
      EnsemblePlan::ClassError made{name};
      const ErrorStatistics known = statisticsOf(of, counts);
      for (const auto &[pattern, number] : known.votes) {
        made.samples += number;
        if (static_cast<size_t>(std::popcount(pattern)) * 2 >= known.memberErrors.size())
          made.wrong += number;
      }
      if (made.samples == 0)
        continue;
      made.limit = upperLimit(made.wrong, made.samples, delta);
      plan.classes.push_back(std::move(made));
    }
  }

  /// What is guaranteed where votes are lost or wrong on their way; false after an error.
  bool answer(const EnsembleRequest::Answer &request) {
    DeliveredAnswer &made = plan.answer.emplace();
    auto shareOf = [](const std::map<std::string, Rational> &shares, const std::string &name) {
      auto found = shares.find(name);
      return found == shares.end() ? Rational(0) : found->second;
    };
    for (const MemberProblem::Device &device : plan.problem.devices) {
      made.undelivered.push_back(shareOf(request.undelivered, device.name));
      made.corrupted.push_back(shareOf(request.corrupted, device.name));
    }
    for (const MemberProblem::Kind &kind : plan.problem.kinds) {
      auto found = request.weights.find(kind.name);
      made.weights.push_back(found == request.weights.end() ? 1 : found->second);
    }
    if (request.isLogOdds)
      made.weights = logOddsWeights(plan.statistics);
    made.quorum = request.quorum;
    const std::vector<unsigned> &counts = plan.chosen()->counts;
    VoteDelivery delivery = plan.delivery();
    if (std::string wrong = check(delivery, kindsOf(counts).size()); !wrong.empty())
      return refuse(Code::OutOfRange, request.quorumAt,
                    fmt::format("{} of {}", wrong, membersText(plan.problem, counts)));
    made.none = answerShares(delivery, std::vector<bool>(delivery.device.size())).none;
    if (auto found = answerGuarantee(statisticsOf(plan.statistics, counts), delivery, optionsOf(counts))) {
      made.wrong = found->certificate.value;
      made.certificate = std::move(found->certificate);
    } else {
      made.wrong = Rational(1) - made.none;
      plan.assumptions.push_back("of wrong answers nothing is guaranteed: too many members differ from each other");
    }
    plan.assumptions.push_back("members vote where they are trained; losses of devices and wrong votes on the way are "
                               "independent of each other and of errors");
    return true;
  }

  EnsemblePlan &plan;
  Diagnostics &diags;
};

} // namespace

bool chooseEnsemble(EnsemblePlan &plan, Diagnostics &diags) { return EnsembleChooser(plan, diags).run(); }

} // namespace accord
