#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/output/VoteCertificateJson.h"
#include "lib/support/documents/StrictFields.h"
#include <numeric>

using llvm::json::Path;

namespace json = llvm::json;
namespace accord {
namespace {

bool readShare(const json::Value &value, Path path, Rational &out) {
  if (auto text = value.getAsString()) {
    auto [above, below] = text->split('/');
    auto n = Rational::parse(above), d = below.empty() ? Rational(1) : Rational::parse(below);
    if (n && d && d->sign() > 0 && n->sign() >= 0 && *n <= *d) {
      out = *n / *d;
      return true;
    }
  }
  path.report("expected a fraction of 0 to 1");
  return false;
}

bool readCounts(const json::Value &value, Path path, std::vector<unsigned> &out) {
  return StrictFields::readList(value, path, out, [](const json::Value &v, Path p, unsigned &count) {
    int64_t read = 0;
    bool ok = StrictFields::readInteger(v, p, read, 0, 1 << 20);
    count = read;
    return ok;
  });
}

/// A number; null is infinite.
bool readFinite(const json::Value &value, Path path, double &out) {
  if (value.getAsNull()) {
    out = std::numeric_limits<double>::infinity();
    return true;
  }
  return StrictFields::readNumber(value, path, out);
}

/// Keys of words, which nothing is proved from.
bool ignored(const json::Value &, Path) { return true; }

/// A rate that may be missing: then it is not known.
StrictFields &readRate(StrictFields &fields, ErrorRate &rate) {
  rate = {1, -1};
  fields.read(
      "rate",
      [&](const json::Value &v, Path p) {
        rate.samples = 0;
        return readShare(v, p, rate.rate);
      },
      false);
  return fields.integer("samples", rate.samples, 0, int64_t(1) << 40, false);
}

bool readDevice(const json::Value &value, Path path, MemberProblem::Device &device) {
  return StrictFields(value, path)
      .text("name", device.name)
      .integer("count", device.count, 1)
      .integer("memory_bytes", device.memory)
      .number("price_per_hour", device.pricePerHour)
      .end();
}

bool readAlternative(const json::Value &value, Path path, MemberCost &alternative) {
  return StrictFields(value, path)
      .read("alternative", ignored)
      .integer("devices", alternative.devices, 1)
      .integer("step_time_ps", alternative.time)
      .integer("state_bytes", alternative.state)
      .integer("activation_bytes", alternative.activations)
      .number("energy_J", alternative.joules)
      .end();
}

struct ReadKind {
  MemberProblem::Kind kind;
  ErrorRate rate;
};

bool readKind(const json::Value &value, Path path, ReadKind &kind) {
  StrictFields fields(value, path);
  fields.text("name", kind.kind.name).read("call", ignored, false);
  return readRate(fields, kind.rate)
      .list("on", kind.kind.alternatives,
            [](const json::Value &v, Path p, std::vector<MemberCost> &alternatives) {
              return StrictFields(v, p)
                  .read("device", ignored)
                  .read("reason", ignored, false)
                  .list("alternatives", alternatives, readAlternative)
                  .end();
            })
      .end();
}

bool readStatistics(const json::Value &value, Path path, MemberStatistics &statistics) {
  struct JointError {
    std::vector<unsigned> kinds;
    ErrorRate rate;
  };
  std::vector<JointError> joint;
  bool ok =
      StrictFields(value, path)
          .flag("independent", statistics.independent)
          .list("joint", joint,
                [](const json::Value &v, Path p, JointError &one) {
                  StrictFields fields(v, p);
                  fields.read("members",
                              [&](const json::Value &list, Path at) { return readCounts(list, at, one.kinds); });
                  return readRate(fields, one.rate).end();
                })
          .read(
              "votes",
              [&](const json::Value &v, Path p) {
                std::vector<std::vector<int64_t>> patterns;
                auto row = [](const json::Value &list, Path at, std::vector<int64_t> &out) {
                  return StrictFields::readList(list, at, out, [](const json::Value &n, Path to, int64_t &number) {
                    return StrictFields::readInteger(n, to, number, 0, INT64_MAX);
                  });
                };
                bool read = StrictFields(v, p)
                                .read("members", [&](const json::Value &list,
                                                     Path at) { return readCounts(list, at, statistics.table.kinds); })
                                .integer("samples", statistics.table.samples)
                                .list("patterns", patterns, row)
                                .end();
                int64_t left = statistics.table.samples;
                size_t members = statistics.table.kinds.size();
                for (const std::vector<int64_t> &one : patterns) {
                  if (one.size() != 2 || members > kMaxEnsembleMembers || one[0] >> members || one[1] > left) {
                    p.report("expected patterns of at most 63 members and numbers of votes "
                             "that add up to the samples");
                    return false;
                  }
                  statistics.table.votes[one[0]] += one[1];
                  left -= one[1];
                }
                return read;
              },
              false)
          .end();
  for (JointError &one : joint)
    statistics.jointErrors[one.kinds] = one.rate;
  return ok;
}

bool readSize(const json::Value &value, Path path, MembersOfSize &size) {
  bool keeps = false, shown = false;
  MemberChoice choice;
  bool ok = StrictFields(value, path)
                .integer("size", size.size, 1, 63)
                .flag("feasible", keeps)
                .integer("ensembles", size.ensembles)
                .flag("proven", size.proven)
                .read("bound", [&](const json::Value &v, Path p) { return readFinite(v, p, size.bound); })
                .read(
                    "members",
                    [&](const json::Value &v, Path p) {
                      shown = true;
                      return readCounts(v, p, choice.counts);
                    },
                    false)
                .read(
                    "error", [&](const json::Value &v, Path p) { return readShare(v, p, choice.error); }, false)
                .read(
                    "error_after_failures",
                    [&](const json::Value &v, Path p) { return readShare(v, p, choice.errorAfterFailures); }, false)
                .integer("step_time_ps", choice.time, 0, INT64_MAX, false)
                .number("energy_J", choice.joules, false)
                .integer("memory_bytes", choice.memory, 0, INT64_MAX, false)
                .number("price", choice.price, false)
                .list(
                    "placement", choice.members,
                    [](const json::Value &v, Path p, PlacedMember &member) {
                      return StrictFields(v, p)
                          .integer("member", member.kind, 0, 1 << 20)
                          .integer("device", member.device, 0, 1 << 20)
                          .integer("alternative", member.alternative, 0, 1 << 20)
                          .integer("number", member.first)
                          .end();
                    },
                    false)
                .read("text", ignored, false)
                .read("guarantee", ignored, false)
                .end();
  if (ok && shown)
    (keeps ? size.best : size.minErrorChoice) = std::move(choice);
  return ok;
}

bool readCertificate(const json::Value &value, Path path, EnsembleCertificate &certificate) {
  return StrictFields(value, path)
      .read("members", [&](const json::Value &v, Path p) { return readCounts(v, p, certificate.counts); })
      .read("certificate",
            [&](const json::Value &v, Path p) { return readVoteCertificate(v, certificate.certificate, p); })
      .end();
}

std::optional<MemberObjective> objectiveOf(llvm::StringRef word) {
  for (MemberObjective objective :
       {MemberObjective::StepTime, MemberObjective::Energy, MemberObjective::Memory, MemberObjective::Price})
    if (word == name(objective))
      return objective;
  return std::nullopt;
}

} // namespace

bool readEnsemble(const json::Value &value, EnsemblePlan &plan, Path path) {
  std::vector<ReadKind> kinds;
  std::string metric;
  int64_t best = -1;
  StrictFields fields(value, path);
  for (llvm::StringLiteral word :
       {llvm::StringLiteral("command"), llvm::StringLiteral("status"), llvm::StringLiteral("objective"),
        llvm::StringLiteral("bound"), llvm::StringLiteral("gap"), llvm::StringLiteral("more_data"),
        llvm::StringLiteral("assumptions"), llvm::StringLiteral("failures"), llvm::StringLiteral("conflict")})
    fields.read(word, ignored, false);
  bool ok =
      fields.text("version", plan.version)
          .text("ensemble", plan.name)
          .text("training", plan.train)
          .read("confidence", [&](const json::Value &v, Path p) { return readShare(v, p, plan.confidence); })
          .integer("tests", plan.tests, 1)
          .integer("device_failures", plan.problem.deviceFailures, 0, 1 << 20)
          .text("metric", metric)
          .list("members", kinds, readKind)
          .list("devices", plan.problem.devices, readDevice)
          .read("error_statistics", [&](const json::Value &v, Path p) { return readStatistics(v, p, plan.statistics); })
          .list("sizes", plan.result.sizes, readSize)
          .read("lower_bound", [&](const json::Value &v, Path p) { return readFinite(v, p, plan.result.bound); })
          .list("rejected", plan.result.rejected,
                [](const json::Value &v, Path p, RejectedMembers &one) {
                  return StrictFields(v, p)
                      .read("members",
                            [&](const json::Value &list, Path at) { return readCounts(list, at, one.counts); })
                      .read("error", [&](const json::Value &e, Path at) { return readShare(e, at, one.error); })
                      .end();
                })
          .list("certificates", plan.certificates, readCertificate)
          .read(
              "requirement", [&](const json::Value &v, Path p) { return readShare(v, p, plan.problem.max.emplace()); },
              false)
          .integer("best", best, 0, 1 << 20, false)
          .check("metric", objectiveOf(metric).has_value(), "no objective of ensembles")
          .end();
  if (!ok)
    return false;
  plan.problem.objective = *objectiveOf(metric);
  if (best >= 0)
    plan.result.best = static_cast<size_t>(best);
  for (ReadKind &kind : kinds) {
    plan.problem.kinds.push_back(std::move(kind.kind));
    plan.statistics.memberErrors.push_back(kind.rate);
  }
  for (const MembersOfSize &size : plan.result.sizes)
    plan.problem.sizes.push_back(size.size);
  plan.statistics.anyOfKind = plan.problem.deviceFailures > 0;
  auto unknown = [&](const std::vector<unsigned> &of) {
    return llvm::any_of(of, [&](unsigned kind) { return kind >= kinds.size(); });
  };
  bool wrong = unknown(plan.statistics.table.kinds);
  for (const auto &[set, rate] : plan.statistics.jointErrors)
    wrong |= unknown(set);
  for (const EnsembleCertificate &certificate : plan.certificates)
    wrong |= certificate.counts.size() != kinds.size() ||
             std::accumulate(certificate.counts.begin(), certificate.counts.end(), uint64_t{0}) > kMaxEnsembleMembers ||
             certificate.certificate.statistics.memberErrors.size() > kMaxEnsembleMembers;
  if (wrong)
    path.report("a member of no kind");
  return !wrong;
}

} // namespace accord
