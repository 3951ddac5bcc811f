#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningClusterJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

using json::Path;

constexpr auto describeFinite = [](JsonVisitor &v, double &value) { v.numberOrNull(value); };

void describeAlternative(JsonFields &f, CertificateAlternative &alternative) {
  f.field("alternative", alternative.label).field("graph", alternative.graph, describeGraph);
}

/// `points`: of all that clusters leave open.
void describeJob(JsonFields &f, CertificateJob &job, size_t points) {
  f.field("name", job.name)
      .field("batch", job.batch, IntegerRange{.min = 1})
      .field("weight", job.weight)
      .field("best", job.best, describeFinite)
      .field("alternatives", job.alternatives, describeAlternative);
  describeClusters(f, job, points);
  f.check("clusters", job.points.empty() || job.points.size() == points, "not one for each choice")
      .check("alternatives", job.alternatives.empty() == job.placed(),
             "a job needs work, on one device or on a cluster");
}

/// Of all that clusters leave open; 0: more than are mined.
size_t pointsOf(const MiningCertificate &certificate) {
  size_t points = 1;
  for (size_t i = certificate.parameters.size() - certificate.clusterParameters; i < certificate.parameters.size(); ++i)
    if (points *= certificate.parameters[i].labels.size(); points > 100'000)
      return 0;
  return points;
}

void describeAnswer(JsonFields &f, CertificateAnswer &answer, const MiningCertificate &certificate) {
  auto describeDesign = [&](JsonVisitor &v, Design &design) {
    visitValue(v, design, IntegerRange{0, 1 << 30});
    v.check(
        [&](Path at) { return isValidDesign(design, certificate.parameters) || (at.report("no such design"), false); });
  };
  auto describePlan = [&](JsonFields &g, CertificatePlan &plan) {
    auto exists = [&] {
      const auto &jobs = certificate.jobs;
      return plan.job < jobs.size() &&
             (jobs[plan.job].placed() ? plan.alternative == 0 : plan.alternative < jobs[plan.job].alternatives.size());
    };
    g.field("job", plan.job)
        .field("alternative", plan.alternative)
        .field("plan", plan.number, IntegerRange{0, 1'000'000})
        .check("job", exists(), "no such work");
  };
  f.field("name", answer.name)
      .field("jobs", answer.jobs, IntegerRange{0, static_cast<int64_t>(certificate.jobs.size()) - 1})
      .check("jobs", !answer.jobs.empty(), "an answer of no job")
      .maybe("winner", answer.winner, describeDesign)
      .field("value", answer.value, describeFinite)
      .field("bound", answer.bound, describeFinite)
      .field("unproven_designs", answer.survivors,
             [&](JsonFields &g, CertificateSurvivor &survivor) {
               g.field("design", survivor.design, describeDesign)
                   .field("value", survivor.value, describeFinite)
                   .maybe("plans", survivor.plans, describePlan);
             })
      .maybe("stopped", answer.stopped);
}

void describeCertificate(JsonFields &f, MiningCertificate &certificate) {
  int64_t schema = 2;
  f.field("schema", schema, IntegerRange{2, 2})
      .field("version", certificate.version)
      .field("metric", certificate.metric)
      .check("metric", !certificate.metric.empty(), "no metric")
      .field("aggregation", certificate.aggregation)
      .check("aggregation", is_contained({"", "sum", "minimax_regret"}, StringRef(certificate.aggregation)),
             "unknown aggregation")
      .field("parameters", certificate.parameters)
      .maybe("num_cluster_parameters", certificate.clusterParameters,
             IntegerRange{0, static_cast<int64_t>(certificate.parameters.size())})
      .field("jobs", certificate.jobs,
             [&](JsonVisitor &v, std::vector<CertificateJob> &jobs) {
               size_t points = pointsOf(certificate);
               v.check([&](Path at) { return points > 0 || (at.report("clusters leave too much open"), false); });
               visitValue(v, jobs, [&](JsonFields &g, CertificateJob &job) { describeJob(g, job, points); });
             })
      .field("results", certificate.answers,
             [&](JsonFields &g, CertificateAnswer &answer) { describeAnswer(g, answer, certificate); })
      .check("results", !certificate.answers.empty(), "no answer");
}

/// Holds mine.json against a certificate, up to the first difference.
class Comparison {
public:
  explicit Comparison(StringRef path) : path(path) {}
  void refuse(const std::string &why) {
    if (first.empty())
      first = fmt::format("{}: {}", path.str(), why);
  }
  void same(const std::string &what, const std::string &here, const std::string &there) {
    if (here != there)
      refuse(fmt::format("{} is {}, in {} it is {}", what, here, kMiningCertificate, there));
  }
  void sameWord(const std::string &what, const std::string &here, const std::string &there) {
    same(what, "'" + here + "'", "'" + there + "'");
  }
  void sameDocument(const std::string &what, const json::Array *here, const json::Value &there) {
    same(what, here ? jsonLine(json::Array(*here)) : "none", jsonLine(there));
  }
  /// One search of mine.json against one answer.
  void sameAnswer(const MiningCertificate &certificate, const CertificateAnswer &answer, const json::Object &mined) {
    const json::Object *search = mined.getObject("search");
    for (auto [key, value] : {std::pair("value", answer.value), std::pair("bound", answer.bound)})
      same(fmt::format("the {} of '{}'", key, answer.name), numberOf(search ? search->get(key) : nullptr),
           std::isfinite(value) ? fmt::format("{}", value) : "none");
    const json::Object *design = mined.getObject("design"), *chosen = design ? design->getObject("chosen") : nullptr;
    same(fmt::format("the design of '{}'", answer.name), chosen ? "there" : "not there",
         answer.winner ? "there" : "not there");
    for (size_t i = 0; chosen && answer.winner && i < certificate.parameters.size(); ++i)
      sameWord(fmt::format("'{}' of '{}'", certificate.parameters[i].name, answer.name),
               chosen->getString(certificate.parameters[i].name).value_or("").str(),
               certificate.parameters[i].labels[(*answer.winner)[i]]);
  }

  std::string first; ///< difference; empty: none

private:
  static std::string numberOf(const json::Value *value) {
    auto number = value ? value->getAsNumber() : std::nullopt;
    return number ? fmt::format("{}", *number) : !value || value->getAsNull() ? "none" : "no number";
  }

  StringRef path;
};

} // namespace

void describe(JsonFields &f, DesignParameter &parameter) {
  f.field("name", parameter.name)
      .field("values", parameter.labels)
      .check("values", !parameter.labels.empty(), "nothing to choose from");
}

std::string miningPlanFile(unsigned number) { return fmt::format("certificate/design-{}.json", number); }

json::Value toJson(const MiningCertificate &certificate) { return toDocument(certificate, describeCertificate); }

Expected<MiningCertificate> miningCertificateFromJson(StringRef text, StringRef path) {
  return readJsonDocument<MiningCertificate>(
      text, path, "certificate", [](const json::Value &value, MiningCertificate &certificate, json::Path at) {
        return readDocument(value, certificate, at, describeCertificate);
      });
}

llvm::Error agrees(const MiningCertificate &certificate, const std::string &space,
                   const std::vector<std::string> &requirements, StringRef mined, StringRef path) {
  Expected<json::Value> value = parseJson(mined, path);
  if (!value)
    return value.takeError();
  Comparison comparison(path);
  const json::Object *o = value->getAsObject(), *where = o ? o->getObject("space") : nullptr;
  if (!where)
    return createStringError("%s: not what 'accord mine' writes: it has no 'space'", path.str().c_str());
  comparison.sameWord("the space", where->getString("name").value_or("").str(), space);
  comparison.sameDocument("what is required", where->getArray("requirements"), toDocument(requirements));
  comparison.sameDocument("what is chosen among", where->getArray("parameters"), toDocument(certificate.parameters));
  const json::Object *objective = o->getObject("objective");
  comparison.sameWord("the objective", objective ? objective->getString("name").value_or("").str() : "",
                      (certificate.aggregation == "minimax_regret" ? "minimax_regret of " : "") + certificate.metric);
  const json::Array none, *own = o->getArray("individual") ? o->getArray("individual") : &none;
  comparison.same("the number of searches", std::to_string(own->size() + 1),
                  std::to_string(certificate.answers.size()));
  for (size_t i = 0; comparison.first.empty() && i < certificate.answers.size(); ++i) {
    if (const json::Object *one = i < own->size() ? (*own)[i].getAsObject() : o)
      comparison.sameAnswer(certificate, certificate.answers[i], *one);
    else
      comparison.refuse("expected object");
  }
  return comparison.first.empty() ? llvm::Error::success() : createStringError("%s", comparison.first.c_str());
}

} // namespace accord
