#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningClusterJson.h"
#include "lib/support/documents/JsonParse.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

using json::Path;

constexpr auto describeFinite = [](JsonVisitor &v, double &value) { v.numberOrNull(value); };

/// A layer of an alternative with its pattern, and the shares that follow from it.
struct LayerWithZeros {
  MinedZeros zeros;
  StatedZeroShares shares;
};

void describeLayer(JsonFields &f, LayerWithZeros &layer) {
  f.field("layer", layer.zeros.layer)
      .field("n", layer.zeros.kept, IntegerRange{1, 4096})
      .field("m", layer.zeros.of, IntegerRange{1, 4096})
      .maybe("transposable", layer.zeros.transposable)
      .field("compute", layer.shares.compute)
      .field("weights", layer.shares.weights)
      .field("states", layer.shares.states);
}

void describeAlternative(JsonFields &f, CertificateAlternative &alternative) {
  bool hasZeros = alternative.dense.has_value();
  f.field("alternative", alternative.label).maybe("same_without_zeros", alternative.dense);
  if (f.reads())
    hasZeros = f.has("same_without_zeros");
  if (!hasZeros || (!f.reads() && !f.writes()))
    f.maybeIf(!hasZeros, "graph", alternative.graph, describeGraph)
        .check("graph", !f.reads() || f.has("graph"), "an alternative has its work, or is one with zeros");
  std::vector<LayerWithZeros> layers;
  for (size_t i = 0; i < alternative.zeros.layers.size() && i < alternative.shares.size(); ++i)
    layers.push_back({alternative.zeros.layers[i], alternative.shares[i]});
  f.maybe("sparsity", layers, describeLayer);
  if (!f.reads())
    return;
  for (const LayerWithZeros &layer : layers)
    alternative.zeros.layers.push_back(layer.zeros), alternative.shares.push_back(layer.shares);
}

/// `points`: of all that clusters leave open.
void describeJob(JsonFields &f, CertificateJob &job, size_t points) {
  f.field("name", job.name)
      .field("batch", job.batch, IntegerRange{.min = 1})
      .field("weight", job.weight)
      .field("best", job.best, describeFinite)
      .field("alternatives", job.alternatives, describeAlternative);
  describeClusters(f, job, points);
  f.maybe("descriptions", job.descriptions)
      .check("descriptions", job.descriptions.size() == (job.placed() ? points : 0), "not one for each choice")
      .check("clusters", job.points.empty() || job.points.size() == points, "not one for each choice")
      .check("alternatives", job.alternatives.empty() == job.placed(),
             "a job needs work, on one device or on a cluster");
}

/// Of all that clusters leave open; 0: more than are mined.
size_t pointsOf(const MiningCertificate &certificate) {
  size_t points = 1;
  if (!certificate.listedClusters.empty())
    return certificate.listedClusters.size();
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
        .maybe("ordered", plan.ordered)
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
      .maybe("listed_clusters", certificate.listedClusters,
             [&](JsonVisitor &v, std::vector<Design> &listed) {
               visitValue(v, listed, IntegerRange{0, 1 << 30});
               v.check([&](Path at) {
                 bool whole = std::all_of(listed.begin(), listed.end(), [&](const Design &one) {
                   return one.size() == certificate.clusterParameters;
                 });
                 return whole || (at.report("not a choice of each of the clusters' parameters"), false);
               });
             })
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

} // namespace accord
