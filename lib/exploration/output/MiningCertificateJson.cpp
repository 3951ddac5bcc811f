#include "lib/exploration/output/MiningCertificateJson.h"
#include "lib/exploration/output/MiningClusterJson.h"
#include "lib/machine/model/Check.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/StrictFields.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

using json::Path;

json::Value finite(double value) { return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); }
json::Value write(const Design &design) { return ids(design); }

/// Null is infinite.
bool readValue(const json::Value &value, Path at, double &out) {
  if (value.getAsNull()) {
    out = INFINITY;
    return true;
  }
  return StrictFields::readNumber(value, at, out);
}

bool readText(const json::Value &value, Path at, std::string &out) {
  auto text = value.getAsString();
  if (!text)
    at.report("expected string");
  else
    out = text->str();
  return text.has_value();
}

bool readDesign(const json::Value &value, Path at, const MiningCertificate &certificate, Design &out) {
  if (!StrictFields::readList(value, at, out, [](const json::Value &one, Path p, uint32_t &place) {
        int64_t wide = 0;
        bool ok = StrictFields::readInteger(one, p, wide, 0, 1 << 30);
        place = static_cast<uint32_t>(wide);
        return ok;
      }))
    return false;
  bool fits = out.size() == certificate.parameters.size();
  for (size_t i = 0; fits && i < out.size(); ++i)
    fits = out[i] < certificate.parameters[i].labels.size();
  if (!fits)
    at.report("no such design");
  return fits;
}

bool readParameter(const json::Value &value, Path at, DesignParameter &out) {
  return StrictFields(value, at)
      .text("name", out.name)
      .list("values", out.labels, readText)
      .check("values", !out.labels.empty(), "nothing to choose from")
      .end();
}

bool readAlternative(const json::Value &value, Path at, CertificateAlternative &out) {
  return StrictFields(value, at)
      .text("alternative", out.label)
      .read("graph",
            [&](const json::Value &graph, Path p) {
              if (!readWorkGraph(graph, out.graph, p))
                return false;
              if (check(out.graph).empty())
                return true;
              p.report("its operations, values and regions do not fit together");
              return false;
            })
      .end();
}

bool readJob(const json::Value &value, Path at, CertificateJob &out, size_t points) {
  return StrictFields(value, at)
      .text("name", out.name)
      .integer("batch", out.batch, 1)
      .number("weight", out.weight)
      .read("best", [&](const json::Value &best, Path p) { return readValue(best, p, out.best); })
      .list("alternatives", out.alternatives, readAlternative)
      .read(
          "cluster",
          [&](const json::Value &one, Path p) {
            return points == 1 ? readCluster(one, p, out) : (p.report("numbers of clusters are chosen"), false);
          },
          /*needed=*/false)
      .read(
          "clusters", [&](const json::Value &one, Path p) { return readClusters(one, p, out); },
          /*needed=*/false)
      .check("clusters", out.points.empty() || out.points.size() == points, "not one for each choice")
      .check("alternatives", out.alternatives.empty() == out.placed(),
             "a job needs work, on one device or on a cluster")
      .end();
}

/// Of all that clusters leave open; 0: more than are mined.
size_t pointsOf(const MiningCertificate &certificate) {
  size_t points = 1;
  for (size_t i = certificate.parameters.size() - certificate.clusterParameters; i < certificate.parameters.size(); ++i)
    if (points *= certificate.parameters[i].labels.size(); points > 100'000)
      return 0;
  return points;
}

bool readAnswer(const json::Value &value, Path at, const MiningCertificate &certificate, CertificateAnswer &out) {
  return StrictFields(value, at)
      .text("name", out.name)
      .list("jobs", out.jobs,
            [&](const json::Value &one, Path p, size_t &job) {
              int64_t wide = 0;
              bool ok = StrictFields::readInteger(one, p, wide, 0, static_cast<int64_t>(certificate.jobs.size()) - 1);
              job = wide;
              return ok;
            })
      .check("jobs", !out.jobs.empty(), "an answer of no job")
      .read(
          "winner",
          [&](const json::Value &one, Path p) { return readDesign(one, p, certificate, out.winner.emplace()); },
          /*needed=*/false)
      .read("value", [&](const json::Value &one, Path p) { return readValue(one, p, out.value); })
      .read("bound", [&](const json::Value &one, Path p) { return readValue(one, p, out.bound); })
      .list("unproven_designs", out.survivors,
            [&](const json::Value &one, Path p, CertificateSurvivor &survivor) {
              return StrictFields(one, p)
                  .read("design", [&](const json::Value &design,
                                      Path q) { return readDesign(design, q, certificate, survivor.design); })
                  .read("value",
                        [&](const json::Value &element, Path q) { return readValue(element, q, survivor.value); })
                  .list(
                      "plans", survivor.plans,
                      [&](const json::Value &plan, Path q, CertificatePlan &to) {
                        return StrictFields(plan, q)
                            .integer("job", to.job)
                            .integer("alternative", to.alternative)
                            .integer("plan", to.number, 0, 1'000'000)
                            .check("job",
                                   to.job < certificate.jobs.size() &&
                                       (certificate.jobs[to.job].placed()
                                            ? to.alternative == 0
                                            : to.alternative < certificate.jobs[to.job].alternatives.size()),
                                   "no such work")
                            .end();
                      },
                      /*needed=*/false)
                  .end();
            })
      .end();
}

bool readClaim(const json::Value &value, Path at, MiningCertificate &out) {
  int64_t schema = 0;
  return StrictFields(value, at)
      .integer("schema", schema, 2, 2)
      .text("version", out.version)
      .text("metric", out.metric)
      .check("metric", !out.metric.empty(), "no metric")
      .text("aggregation", out.aggregation)
      .check("aggregation", is_contained({"", "sum", "minimax_regret"}, StringRef(out.aggregation)),
             "unknown aggregation")
      .list("parameters", out.parameters, readParameter)
      .integer("num_cluster_parameters", out.clusterParameters, 0, static_cast<int64_t>(out.parameters.size()), false)
      .read("jobs",
            [&](const json::Value &jobs, Path p) {
              size_t points = pointsOf(out);
              if (points == 0)
                return p.report("clusters leave too much open"), false;
              return StrictFields::readList(
                  jobs, p, out.jobs,
                  [&](const json::Value &one, Path q, CertificateJob &job) { return readJob(one, q, job, points); });
            })
      .list("results", out.answers,
            [&](const json::Value &one, Path p, CertificateAnswer &answer) { return readAnswer(one, p, out, answer); })
      .check("results", !out.answers.empty(), "no answer")
      .end();
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

json::Value toJson(const MiningCertificate &certificate) {
  json::Object o{
      {"schema", 2},
      {"version", jsonString(certificate.version)},
      {"metric", jsonString(certificate.metric)},
      {"aggregation", certificate.aggregation},
      {"parameters", list(certificate.parameters,
                          [](const DesignParameter &parameter) {
                            return json::Value(json::Object{{"name", jsonString(parameter.name)},
                                                            {"values", strings(parameter.labels)}});
                          })},
      {"jobs", list(certificate.jobs,
                    [](const CertificateJob &job) {
                      json::Object o{
                          {"name", jsonString(job.name)},
                          {"batch", job.batch},
                          {"weight", job.weight},
                          {"best", finite(job.best)},
                          {"alternatives", list(job.alternatives, [](const CertificateAlternative &alternative) {
                             return json::Value(json::Object{{"alternative", jsonString(alternative.label)},
                                                             {"graph", toJson(alternative.graph)}});
                           })}};
                      writeClusters(job, o);
                      return json::Value(std::move(o));
                    })},
      {"results", list(certificate.answers, [](const CertificateAnswer &answer) {
         json::Object o{{"name", jsonString(answer.name)},
                        {"jobs", list(answer.jobs, [](size_t job) { return json::Value(static_cast<int64_t>(job)); })},
                        {"value", finite(answer.value)},
                        {"bound", finite(answer.bound)},
                        {"unproven_designs", list(answer.survivors, [](const CertificateSurvivor &survivor) {
                           json::Object one{{"design", write(survivor.design)}, {"value", finite(survivor.value)}};
                           if (!survivor.plans.empty())
                             one["plans"] = list(survivor.plans, [](const CertificatePlan &plan) {
                               return json::Value(json::Object{{"job", static_cast<int64_t>(plan.job)},
                                                               {"alternative", static_cast<int64_t>(plan.alternative)},
                                                               {"plan", static_cast<int64_t>(plan.number)}});
                             });
                           return json::Value(std::move(one));
                         })}};
         if (answer.winner)
           o["winner"] = write(*answer.winner);
         return json::Value(std::move(o));
       })}};
  if (certificate.clusterParameters > 0)
    o["num_cluster_parameters"] = static_cast<int64_t>(certificate.clusterParameters);
  return json::Value(std::move(o));
}

Expected<MiningCertificate> miningCertificateFromJson(StringRef text, StringRef path) {
  Expected<json::Value> value = parseJson(text, path);
  if (!value)
    return value.takeError();
  Path::Root root("certificate");
  MiningCertificate certificate;
  if (readClaim(*value, root, certificate))
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
