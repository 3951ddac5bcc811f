#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningClusterJson.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/JsonParse.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

using json::Path;

constexpr auto describeFinite = [](JsonVisitor &v, double &value) { v.numberOrNull(value); };

void describeParameter(JsonFields &f, DesignParameter &parameter) {
  f.field("name", parameter.name)
      .field("values", parameter.labels)
      .check("values", !parameter.labels.empty(), "nothing to choose from");
}

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
    v.check([&](Path at) {
      bool fits = design.size() == certificate.parameters.size();
      for (size_t i = 0; fits && i < design.size(); ++i)
        fits = design[i] < certificate.parameters[i].labels.size();
      return fits || (at.report("no such design"), false);
    });
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
      .field("unproven_designs", answer.survivors, [&](JsonFields &g, CertificateSurvivor &survivor) {
        g.field("design", survivor.design, describeDesign)
            .field("value", survivor.value, describeFinite)
            .maybe("plans", survivor.plans, describePlan);
      });
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
      .field("parameters", certificate.parameters, describeParameter)
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

llvm::Error differs(StringRef path, const std::string &what, const std::string &here, const std::string &there) {
  return createStringError("%s: %s is %s, in %s it is %s", path.str().c_str(), what.c_str(), here.c_str(),
                           kMiningCertificate, there.c_str());
}

std::string numberOr(const json::Value *value) {
  if (!value || value->getAsNull())
    return "none";
  auto number = value->getAsNumber();
  return number ? fmt::format("{}", *number) : "no number";
}
std::string numberOr(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "none"; }

/// One search of mine.json against one answer.
llvm::Error agrees(const MiningCertificate &certificate, const CertificateAnswer &answer, const json::Object &mined,
                   StringRef path) {
  const json::Object *search = mined.getObject("search");
  for (auto [key, value] : {std::pair("value", answer.value), std::pair("bound", answer.bound)}) {
    std::string here = numberOr(search ? search->get(key) : nullptr), there = numberOr(value);
    if (here != there)
      return differs(path, fmt::format("the {} of '{}'", key, answer.name), here, there);
  }
  const json::Object *design = mined.getObject("design"), *chosen = design ? design->getObject("chosen") : nullptr;
  if ((chosen != nullptr) != answer.winner.has_value())
    return differs(path, fmt::format("the design of '{}'", answer.name), chosen ? "there" : "not there",
                   chosen ? "not there" : "there");
  for (size_t i = 0; chosen && i < certificate.parameters.size(); ++i) {
    const DesignParameter &parameter = certificate.parameters[i];
    std::string here = chosen->getString(parameter.name).value_or("").str(),
                there = parameter.labels[(*answer.winner)[i]];
    if (here != there)
      return differs(path, fmt::format("'{}' of '{}'", parameter.name, answer.name), "'" + here + "'",
                     "'" + there + "'");
  }
  return llvm::Error::success();
}

} // namespace

std::string miningPlanFile(unsigned number) { return fmt::format("certificate/design-{}.json", number); }

json::Value toJson(const MiningCertificate &certificate) { return toDocument(certificate, describeCertificate); }

Expected<MiningCertificate> miningCertificateFromJson(StringRef text, StringRef path) {
  Expected<json::Value> value = parseJson(text, path);
  if (!value)
    return value.takeError();
  Path::Root root("certificate");
  MiningCertificate certificate;
  if (readDocument(*value, certificate, root, describeCertificate))
    return certificate;
  return createStringError("%s: %s", path.str().c_str(), toString(root.getError()).c_str());
}

llvm::Error agrees(const MiningCertificate &certificate, const std::string &space,
                   const std::vector<std::string> &requirements, StringRef mined, StringRef path) {
  Expected<json::Value> value = parseJson(mined, path);
  if (!value)
    return value.takeError();
  const json::Object *o = value->getAsObject(), *where = o ? o->getObject("space") : nullptr;
  if (!where)
    return createStringError("%s: not what 'accord mine' writes: it has no 'space'", path.str().c_str());
  std::string named = where->getString("name").value_or("").str();
  if (named != space)
    return differs(path, "the space", "'" + named + "'", "'" + space + "'");
  auto textOf = [](const json::Array *all) {
    return all ? jsonLine(json::Value(json::Array(*all))) : std::string("none");
  };
  std::string here = textOf(where->getArray("requirements")), there = jsonLine(json::Value(strings(requirements)));
  if (here != there)
    return differs(path, "what is required", here, there);
  json::Array parameters = list(certificate.parameters, [](const DesignParameter &parameter) {
    return json::Value(json::Object{{"name", jsonString(parameter.name)}, {"values", strings(parameter.labels)}});
  });
  here = textOf(where->getArray("parameters")), there = jsonLine(json::Value(std::move(parameters)));
  if (here != there)
    return differs(path, "what is chosen among", here, there);
  const json::Object *objective = o->getObject("objective");
  here = objective ? objective->getString("name").value_or("").str() : "";
  there = certificate.aggregation == "minimax_regret" ? "minimax_regret of " + certificate.metric : certificate.metric;
  if (here != there)
    return differs(path, "the objective", "'" + here + "'", "'" + there + "'");
  const json::Array *own = o->getArray("individual");
  size_t alone = own ? own->size() : 0;
  if (alone + 1 != certificate.answers.size())
    return differs(path, "the number of searches", fmt::format("{}", alone + 1),
                   fmt::format("{}", certificate.answers.size()));
  for (size_t i = 0; i < certificate.answers.size(); ++i) {
    const json::Object *one = i < alone ? (*own)[i].getAsObject() : o;
    if (!one)
      return createStringError("%s: expected object", path.str().c_str());
    if (llvm::Error error = agrees(certificate, certificate.answers[i], *one, path))
      return error;
  }
  return llvm::Error::success();
}

} // namespace accord
