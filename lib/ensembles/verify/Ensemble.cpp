#include "lib/ensembles/verify/Ensemble.h"
#include "lib/ensembles/verify/BinomialTail.h"
#include "lib/ensembles/verify/Members.h"
#include "lib/ensembles/verify/StatedStatistics.h"
#include "lib/ensembles/verify/Vote.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {
namespace {

class EnsembleChecker {
public:
  explicit EnsembleChecker(const EnsemblePlan &plan) : plan(plan) {}

  Verification run() {
    MembersProof members = verify(plan.problem, plan.result);
    out = members;
    if (out.holds()) {
      guarantees(members);
      reported();
    }
    return std::move(out);
  }

private:
  template <typename... T> void find(fmt::format_string<T...> text, T &&...args) {
    out.findings.push_back({Code::BoundNotProved, fmt::format(text, std::forward<T>(args)...), {}, {}});
  }

  void guarantees(const MembersProof &members) {
    Rational tests = minSimultaneousTests(plan.statistics, plan.problem.sizes, plan.problem.deviceFailures > 0);
    if (tests > Rational(plan.tests))
      find("{} limits have to hold together, and the confidence is shared by {}", tests.print(), plan.tests);
    for (const EnsembleCertificate &certificate : plan.certificates)
      prove(certificate);
    if (!out.holds())
      return;
    out.checked.push_back(fmt::format("guaranteed errors of {} ensembles, by fractions", proven.size()));
    for (const MembersOfSize &of : plan.result.sizes)
      if (const MemberChoice *shown = of.shown())
        guaranteed(*shown);
    verifyRejections(members.assumedRejections);
    classes();
    failures();
    answer();
  }

  /// A claim is one of what is stated of these members, and follows from it. Nothing: it is not.
  std::optional<VoteProof> follows(const std::string &who, const std::vector<unsigned> &counts,
                                   const VoteCertificate &certificate) {
    if (auto other = statisticsViolation(certificate.statistics, plan.statistics, counts)) {
      find("the guarantee of {} is not from the rates that are stated: {}", who, *other);
      return std::nullopt;
    }
    if (certificate.confidence != plan.confidence || certificate.tests < plan.tests) {
      find("the guarantee of {} is of another confidence", who);
      return std::nullopt;
    }
    VoteProof proof = verify(certificate);
    for (Error &error : proof.findings)
      out.findings.push_back({error.code, who + ": " + error.message, error.location, error.notes});
    for (const std::string &text : proof.trusted)
      if (!llvm::is_contained(out.trusted, text))
        out.trusted.push_back(text);
    return proof;
  }

  void prove(const EnsembleCertificate &of) {
    const VoteCertificate &certificate = of.certificate;
    std::string who = membersText(plan.problem, of.counts);
    if (certificate.delivery)
      return find("the guarantee of {} is of votes that may not arrive", who);
    auto proof = follows(who, of.counts, certificate);
    if (!proof)
      return;
    if (certificate.proof == VoteCertificate::Proof::Contradiction)
      none.insert(of.counts);
    else
      proven[of.counts] = certificate.value;
    // Limits of samples could be larger than they need to be.
    if ((proof->tight && certificate.limits.empty()) || tableIsTight(certificate))
      tight.insert(of.counts);
  }

  /// Whether the table does not show what is required.
  bool tableIsTight(VoteCertificate certificate) const {
    if (certificate.proof != VoteCertificate::Proof::Table || !plan.problem.max)
      return false;
    certificate.value = *plan.problem.max;
    for (VoteLimit &limit : certificate.limits)
      limit.limit = certificate.value;
    return !verify(certificate).holds();
  }

  void guaranteed(const MemberChoice &choice) {
    auto known = proven.find(choice.counts);
    if (known == proven.end())
      find("nothing proves the error of {}", membersText(plan.problem, choice.counts));
    else if (known->second > choice.error)
      find("an error of {} is proven of {}, {} is stated", known->second.print(),
           membersText(plan.problem, choice.counts), choice.error.print());
  }

  /// What was refused though it could be better: a distribution of errors, or the votes that were seen, show that no
  /// better guarantee follows from what is stated.
  void verifyRejections(const std::vector<size_t> &assumedRejections) {
    size_t shown = llvm::count_if(assumedRejections, [&](size_t i) {
      const std::vector<unsigned> &counts = plan.result.rejected[i].counts;
      auto known = proven.find(counts);
      return none.contains(counts) ||
             (known != proven.end() && tight.contains(counts) && known->second > *plan.problem.max);
    });
    if (shown)
      out.checked.push_back(
          fmt::format("that no better guarantee follows for {} cheaper ensembles: errors that have the "
                      "stated rates, votes that were seen, or that no errors have these rates",
                      shown));
    if (shown < assumedRejections.size())
      out.trusted.push_back(fmt::format("the search, that no better guarantee follows for {} cheaper ensembles",
                                        assumedRejections.size() - shown));
  }

  void failures() {
    const MemberChoice *chosen = plan.chosen();
    if (!chosen || !plan.problem.deviceFailures)
      return;
    uint64_t number = 0;
    llvm::append_range(out.findings, verifyDeviceFailures(plan.problem, *chosen, proven, number));
    out.checked.push_back(fmt::format("a quorum after each of {} losses of devices", number));
  }

  /// Votes of the first members of each kind, by true class.
  void classes() {
    if (plan.classes.empty() || !plan.chosen())
      return;
    const VoteTable &table = plan.statistics.table;
    uint64_t columns = 0;
    std::vector<unsigned> left = plan.chosen()->counts;
    unsigned members = 0;
    for (size_t column = 0; column < table.kinds.size(); ++column)
      if (table.kinds[column] < left.size() && left[table.kinds[column]] > 0)
        --left[table.kinds[column]], columns |= uint64_t{1} << column, ++members;
    const Rational delta =
        (Rational(1) - plan.confidence) / (Rational(plan.tests) * Rational(static_cast<int64_t>(table.classes.size())));
    for (const EnsemblePlan::ClassError &one : plan.classes) {
      auto votes = table.classes.find(one.name);
      int64_t samples = 0, wrong = 0;
      if (votes != table.classes.end())
        for (auto [pattern, number] : votes->second) {
          samples += number;
          wrong += 2 * unsigned(std::popcount(pattern & columns)) >= members ? number : 0;
        }
      if (members != plan.chosen()->members.size() || samples != one.samples || wrong != one.wrong)
        return find("class '{}': {} of {} votes are wrong, {} of {} are stated", one.name, wrong, samples, one.wrong,
                    one.samples);
      auto holds = one.limit >= Rational(1) ? std::optional(true) : tailAtMost(wrong, samples, one.limit, delta);
      if (!holds)
        out.trusted.push_back(fmt::format("the limit of class '{}': too many terms", one.name));
      else if (!*holds)
        return find("class '{}': {} of {} votes are wrong, which does not show at most {}", one.name, wrong, samples,
                    one.limit.print());
    }
    out.checked.push_back(fmt::format("guaranteed errors of {} classes, together", plan.classes.size()));
  }

  /// What is said of answers is of votes as they are placed, and follows.
  void answer() {
    if (!plan.answer || !plan.chosen())
      return;
    const DeliveredAnswer &said = *plan.answer;
    const VoteDelivery delivery = plan.delivery();
    const std::string who = "an answer of " + membersText(plan.problem, plan.chosen()->counts);
    Rational none = shareWithoutAnswer(delivery), wrong = Rational(1) - none;
    if (none != said.none)
      find("the share without {} is shown as {}, and is {}", who, said.none.print(), none.print());
    if (said.certificate) {
      if (!said.certificate->delivery || *said.certificate->delivery != delivery ||
          said.certificate->proof == VoteCertificate::Proof::Contradiction)
        return find("the guarantee of {} is of other votes", who);
      if (!follows(who, plan.chosen()->counts, *said.certificate))
        return;
      wrong = said.certificate->value;
    }
    if (wrong != said.wrong)
      find("the share of wrong answers is shown as {}, at most {} is proven", said.wrong.print(), wrong.print());
    if (out.holds())
      out.checked.push_back(
          fmt::format("answers: wrong with at most {}, none with {}", wrong.toDouble(), none.toDouble()));
  }

  /// What people read at the top of the file and of each size is what was proved.
  void reported() {
    auto same = [&](const char *what, double shown, double proved) {
      if (!(std::abs(shown - proved) <= 1e-12 * std::max(1e-300, std::abs(proved))))
        find("{} is shown as {}, and is {}", what, shown, proved);
    };
    if (plan.reported && plan.chosen()) {
      const ReportedObjective &shown = *plan.reported;
      const MemberChoice &chosen = *plan.chosen();
      struct {
        const char *name;
        double value, bound;
      } is = {"step_time", static_cast<double>(chosen.time) * 1e-12, plan.result.bound * 1e-12};
      if (plan.problem.objective == MemberObjective::Energy)
        is = {"energy", chosen.joules, plan.result.bound};
      else if (plan.problem.objective == MemberObjective::Memory)
        is = {"memory", static_cast<double>(chosen.memory), plan.result.bound};
      else if (plan.problem.objective == MemberObjective::Price)
        is = {"price", chosen.price, plan.result.bound};
      same("the objective", shown.value, is.value);
      if (shown.name != is.name)
        find("another objective is shown than was proved");
      same("the bound", shown.bound, is.bound);
      // As in a quotient of the same digits, to the last but some.
      if (double gap = is.value > is.bound ? 1 - is.bound / is.value : 0; std::abs(shown.gap - gap) > 1e-12)
        find("the gap is shown as {}, and is {}", shown.gap, gap);
    }
    for (size_t i = 0; i < plan.result.sizes.size(); ++i) {
      const MemberChoice *choice = plan.result.sizes[i].shown();
      if (!choice)
        continue;
      const std::string who = membersText(plan.problem, choice->counts);
      if (i < plan.guarantees.size() && plan.guarantees[i] && plan.guarantees[i]->value != choice->error)
        find("the guarantee of {} is shown as {}, and is {}", who, plan.guarantees[i]->value.print(),
             choice->error.print());
      if (!plan.problem.deviceFailures && choice->errorAfterFailures != choice->error)
        find("{}: no device is lost, and another error is shown", who);
    }
  }

  const EnsemblePlan &plan;
  Verification out;
  std::map<std::vector<unsigned>, Rational> proven;
  std::set<std::vector<unsigned>> tight, none;
};

} // namespace

Verification verify(const EnsemblePlan &plan) { return EnsembleChecker(plan).run(); }

} // namespace accord
