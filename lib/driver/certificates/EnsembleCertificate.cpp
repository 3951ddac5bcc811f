// The choice of an ensemble: its guarantees, placement and votes.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/verify/Members.h"
#include "lib/ensembles/verify/Vote.h"
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {
namespace {

class VoteProver {
public:
  explicit VoteProver(const EnsemblePlan &plan) : plan(plan) {}

  Verification run() {
    MembersProof members = verify(plan.problem, plan.result);
    take(members);
    if (!out_.holds())
      return std::move(out_);
    Rational tests = minSimultaneousTests(plan.statistics, plan.problem.sizes, plan.problem.deviceFailures > 0);
    if (tests > Rational(plan.tests))
      find("{} limits have to hold together, and the confidence is shared by {}", tests.print(), plan.tests);
    for (const EnsembleCertificate &certificate : plan.certificates)
      prove(certificate);
    if (!out_.holds())
      return std::move(out_);
    out_.checked.push_back(fmt::format("guaranteed errors of {} ensembles, by fractions", proven_.size()));
    for (const MembersOfSize &of : plan.result.sizes)
      if (const MemberChoice *shown = of.shown())
        guaranteed(*shown);
    verifyRejections(members.assumedRejections);
    failures();
    return std::move(out_);
  }

private:
  template <typename T> void take(const T &proof) {
    out_.checked.insert(out_.checked.end(), proof.checked.begin(), proof.checked.end());
    for (const std::string &text : proof.trusted)
      if (!llvm::is_contained(out_.trusted, text))
        out_.trusted.push_back(text);
    out_.findings.insert(out_.findings.end(), proof.findings.begin(), proof.findings.end());
  }
  template <typename... T> void find(fmt::format_string<T...> text, T &&...args) {
    out_.findings.push_back({Code::BoundNotProved, fmt::format(text, std::forward<T>(args)...), {}, {}});
  }

  /// A claim is one of what is stated of these members, and follows from it.
  void prove(const EnsembleCertificate &certificate) {
    std::string who = membersText(plan.problem, certificate.counts);
    ErrorStatistics statistics = statisticsOf(plan.statistics, certificate.counts);
    bool same = certificate.certificate.statistics.memberErrors == statistics.memberErrors &&
                certificate.certificate.statistics.jointErrors == statistics.jointErrors &&
                certificate.certificate.statistics.independent == statistics.independent &&
                certificate.certificate.statistics.votes == statistics.votes;
    if (!same)
      return find("the guarantee of {} is not from the rates that are stated", who);
    if (certificate.certificate.confidence != plan.confidence || certificate.certificate.tests < plan.tests)
      return find("the guarantee of {} is of another confidence", who);
    VoteProof proof = verify(certificate.certificate);
    for (Error error : proof.findings) {
      error.message = who + ": " + error.message;
      out_.findings.push_back(std::move(error));
    }
    for (const std::string &text : proof.trusted)
      if (!llvm::is_contained(out_.trusted, text))
        out_.trusted.push_back(text);
    if (certificate.certificate.proof == VoteCertificate::Proof::Contradiction)
      none_.insert(certificate.counts);
    else
      proven_[certificate.counts] = certificate.certificate.value;
    // Limits of samples could be larger than they need to be.
    if ((proof.tight && certificate.certificate.limits.empty()) || tableIsTight(certificate.certificate))
      tight_.insert(certificate.counts);
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
    auto known = proven_.find(choice.counts);
    if (known == proven_.end())
      find("nothing proves the error of {}", membersText(plan.problem, choice.counts));
    else if (known->second > choice.error)
      find("an error of {} is proven of {}, {} is stated", known->second.print(),
           membersText(plan.problem, choice.counts), choice.error.print());
  }

  /// What was refused though it could be better: a distribution of errors, or the votes that were
  /// seen, show that no better guarantee follows from what is stated.
  void verifyRejections(const std::vector<size_t> &assumedRejections) {
    size_t shown = 0;
    for (size_t i : assumedRejections) {
      const RejectedMembers &one = plan.result.rejected[i];
      auto known = proven_.find(one.counts);
      shown += none_.contains(one.counts) ||
               (known != proven_.end() && tight_.contains(one.counts) && known->second > *plan.problem.max);
    }
    if (shown)
      out_.checked.push_back(
          fmt::format("that no better guarantee follows for {} cheaper ensembles: errors that have the "
                      "stated rates, votes that were seen, or that no errors have these rates",
                      shown));
    if (shown < assumedRejections.size())
      out_.trusted.push_back(fmt::format("the search, that no better guarantee follows for {} cheaper ensembles",
                                         assumedRejections.size() - shown));
  }

  void failures() {
    const MemberChoice *chosen = plan.chosen();
    if (!chosen || !plan.problem.deviceFailures)
      return;
    uint64_t number = 0;
    for (Error &error : verifyDeviceFailures(plan.problem, *chosen, proven_, number))
      out_.findings.push_back(std::move(error));
    out_.checked.push_back(fmt::format("a quorum after each of {} losses of devices", number));
  }

  const EnsemblePlan &plan;
  Verification out_;
  std::map<std::vector<unsigned>, Rational> proven_;
  std::set<std::vector<unsigned>> tight_, none_;
};

/// What people read at the top of the file and of each size, where it is not what was proved.
Errors misread(const llvm::json::Value &value, const EnsemblePlan &plan) {
  Errors findings;
  const llvm::json::Object &document = *value.getAsObject(); // it was read
  auto same = [&](const std::string &what, std::optional<double> shown, double proved) {
    if (shown && !(std::abs(*shown - proved) <= 1e-12 * std::max(1e-300, std::abs(proved))))
      findings.push_back(
          {Code::BoundNotProved, fmt::format("{} is shown as {}, and is {}", what, *shown, proved), {}, {}});
  };
  auto numberIn = [](const llvm::json::Object *of, llvm::StringRef key) {
    return of ? of->getNumber(key) : std::nullopt;
  };
  if (const MemberChoice *chosen = plan.chosen()) {
    const MemberObjective objective = plan.problem.objective;
    const double scale = objective == MemberObjective::StepTime ? 1e-12 : 1;
    const llvm::json::Object *shown = document.getObject("objective");
    same("the objective", numberIn(shown, "value"), valueOf(*chosen, objective) * scale);
    if (shown && shown->getString("name") != llvm::StringRef(name(objective)))
      findings.push_back({Code::BoundNotProved, "another objective is shown than was proved", {}, {}});
    same("the bound", numberIn(document.getObject("bound"), "value"), plan.result.bound * scale);
    same("the gap", document.getNumber("gap"), plan.result.gap(objective));
  }
  const llvm::json::Array *sizes = document.getArray("sizes");
  for (size_t i = 0; sizes && i < plan.result.sizes.size(); ++i) {
    const MemberChoice *choice = plan.result.sizes[i].shown();
    if (!choice)
      continue;
    const std::string who = membersText(plan.problem, choice->counts);
    const llvm::json::Object *size = (*sizes)[i].getAsObject();
    const llvm::json::Object *guarantee = size->getObject("guarantee");
    auto stated = guarantee ? guarantee->getString("value") : std::nullopt;
    if (stated && Rational::parse(stated->str()) != choice->error)
      findings.push_back(
          {Code::BoundNotProved,
           fmt::format("the guarantee of {} is shown as {}, and is {}", who, stated->str(), choice->error.print()),
           {},
           {}});
    if (!plan.problem.deviceFailures && choice->errorAfterFailures != choice->error)
      findings.push_back(
          {Code::BoundNotProved, fmt::format("{}: no device is lost, and another error is shown", who), {}, {}});
  }
  return findings;
}

std::optional<Verification> verifyVote(const std::string &path, bool json) {
  auto answer = readResultFile(path, kVoteFile, json, "verify");
  if (!answer)
    return std::nullopt;
  EnsemblePlan plan;
  llvm::json::Path::Root root("vote");
  if (!readEnsemble(answer->document, plan, root)) {
    refuse(Code::BadPlan, fmt::format("{}: {}", answer->file, llvm::toString(root.getError())), json, "verify");
    return std::nullopt;
  }
  Verification verification = VoteProver(plan).run();
  for (Error &error : misread(answer->document, plan))
    verification.findings.push_back(std::move(error));
  return verification;
}

class EnsembleCertificateKind : public CertificateKind {
  const char *subject() const override { return "ensemble"; }
  bool matches(const std::string &path) const override { return hasResultFile(path, kVoteFile); }
  std::optional<VerifiedCertificate> verify(const CertificateRequest &request) const override {
    auto proof = verifyVote(request.path, request.json);
    return proof ? std::optional(VerifiedCertificate{std::move(*proof)}) : std::nullopt;
  }
};

} // namespace

std::unique_ptr<CertificateKind> ensembleCertificate() { return std::make_unique<EnsembleCertificateKind>(); }

} // namespace accord
