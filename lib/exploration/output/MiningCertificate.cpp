#include "lib/exploration/output/MiningCertificate.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/exploration/output/MiningCluster.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/StrictFields.h"
#include "lib/support/Check.h"
#include "lib/support/documents/JsonParse.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

using json::Path;

json::Value finite(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}
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

bool readDesign(const json::Value &value, Path at, const MiningClaim &claim, Design &out) {
  if (!StrictFields::readList(value, at, out, [](const json::Value &one, Path p, uint32_t &place) {
        int64_t wide = 0;
        bool ok = StrictFields::readInteger(one, p, wide, 0, 1 << 30);
        place = static_cast<uint32_t>(wide);
        return ok;
      }))
    return false;
  bool fits = out.size() == claim.parameters.size();
  for (size_t i = 0; fits && i < out.size(); ++i)
    fits = out[i] < claim.parameters[i].spelled.size();
  if (!fits)
    at.report("no such design");
  return fits;
}

bool readParameter(const json::Value &value, Path at, DesignParameter &out) {
  return StrictFields(value, at)
      .text("name", out.name)
      .list("values", out.spelled, readText)
      .check("values", !out.spelled.empty(), "nothing to choose from")
      .end();
}

bool readWay(const json::Value &value, Path at, ClaimedWay &out) {
  return StrictFields(value, at)
      .text("way", out.label)
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

bool readJob(const json::Value &value, Path at, ClaimedJob &out, size_t points) {
  return StrictFields(value, at)
      .text("name", out.name)
      .integer("batch", out.batch, 1)
      .number("weight", out.weight)
      .read("best", [&](const json::Value &best, Path p) { return readValue(best, p, out.best); })
      .list("ways", out.ways, readWay)
      .read(
          "cluster",
          [&](const json::Value &one, Path p) {
            return points == 1 ? readCluster(one, p, out)
                               : (p.report("numbers of clusters are chosen"), false);
          },
          /*needed=*/false)
      .read(
          "clusters", [&](const json::Value &one, Path p) { return readClusters(one, p, out); },
          /*needed=*/false)
      .check("clusters", out.points.empty() || out.points.size() == points,
             "not one for each choice")
      .check("ways", out.ways.empty() == out.placed(),
             "a job needs work, on one device or on a cluster")
      .end();
}

/// Of all that clusters leave open; 0: more than are mined.
size_t pointsOf(const MiningClaim &claim) {
  size_t points = 1;
  for (size_t i = claim.parameters.size() - claim.beside; i < claim.parameters.size(); ++i)
    if (points *= claim.parameters[i].spelled.size(); points > 100'000)
      return 0;
  return points;
}

bool readAnswer(const json::Value &value, Path at, const MiningClaim &claim, ClaimedAnswer &out) {
  return StrictFields(value, at)
      .text("name", out.name)
      .list("jobs", out.jobs,
            [&](const json::Value &one, Path p, size_t &job) {
              int64_t wide = 0;
              bool ok = StrictFields::readInteger(one, p, wide, 0,
                                                  static_cast<int64_t>(claim.jobs.size()) - 1);
              job = static_cast<size_t>(wide);
              return ok;
            })
      .check("jobs", !out.jobs.empty(), "an answer of no job")
      .read(
          "winner",
          [&](const json::Value &one, Path p) {
            return readDesign(one, p, claim, out.winner.emplace());
          },
          /*needed=*/false)
      .read("value", [&](const json::Value &one, Path p) { return readValue(one, p, out.value); })
      .read("bound", [&](const json::Value &one, Path p) { return readValue(one, p, out.bound); })
      .list("survivors", out.survivors,
            [&](const json::Value &one, Path p, ClaimedSurvivor &survivor) {
              return StrictFields(one, p)
                  .read("design",
                        [&](const json::Value &design, Path q) {
                          return readDesign(design, q, claim, survivor.design);
                        })
                  .read("value", [&](const json::Value &worth,
                                     Path q) { return readValue(worth, q, survivor.value); })
                  .list(
                      "plans", survivor.plans,
                      [&](const json::Value &plan, Path q, ClaimedPlan &to) {
                        return StrictFields(plan, q)
                            .integer("job", to.job)
                            .integer("way", to.way)
                            .integer("plan", to.number, 0, 1'000'000)
                            .check("job",
                                   to.job < claim.jobs.size() &&
                                       (claim.jobs[to.job].placed()
                                            ? to.way == 0
                                            : to.way < claim.jobs[to.job].ways.size()),
                                   "no such work")
                            .end();
                      },
                      /*needed=*/false)
                  .end();
            })
      .end();
}

bool readClaim(const json::Value &value, Path at, MiningClaim &out) {
  int64_t schema = 0;
  return StrictFields(value, at)
      .integer("schema", schema, 1, 1)
      .text("version", out.version)
      .text("metric", out.metric)
      .check("metric", !out.metric.empty(), "no metric")
      .text("blend", out.blend)
      .check("blend", is_contained({"", "sum", "worst_ratio"}, StringRef(out.blend)),
             "unknown blend")
      .list("parameters", out.parameters, readParameter)
      .integer("beside", out.beside, 0, static_cast<int64_t>(out.parameters.size()), false)
      .read("jobs",
            [&](const json::Value &jobs, Path p) {
              size_t points = pointsOf(out);
              if (points == 0)
                return p.report("clusters leave too much open"), false;
              return StrictFields::readList(jobs, p, out.jobs,
                                            [&](const json::Value &one, Path q, ClaimedJob &job) {
                                              return readJob(one, q, job, points);
                                            });
            })
      .list("answers", out.answers,
            [&](const json::Value &one, Path p, ClaimedAnswer &answer) {
              return readAnswer(one, p, out, answer);
            })
      .check("answers", !out.answers.empty(), "no answer")
      .end();
}

Error differs(StringRef path, const std::string &what, const std::string &here,
              const std::string &there) {
  return createStringError("%s: %s is %s, in %s it is %s", path.str().c_str(), what.c_str(),
                           here.c_str(), kMiningCertificate, there.c_str());
}

std::string numberOr(const json::Value *value) {
  if (!value || value->getAsNull())
    return "none";
  auto number = value->getAsNumber();
  return number ? fmt::format("{}", *number) : "no number";
}
std::string numberOr(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "none";
}

/// One search of mine.json against one answer.
Error agrees(const MiningClaim &claim, const ClaimedAnswer &answer, const json::Object &mined,
             StringRef path) {
  const json::Object *search = mined.getObject("search");
  for (auto [key, value] : {std::pair("value", answer.value), std::pair("bound", answer.bound)}) {
    std::string here = numberOr(search ? search->get(key) : nullptr), there = numberOr(value);
    if (here != there)
      return differs(path, fmt::format("the {} of '{}'", key, answer.name), here, there);
  }
  const json::Object *design = mined.getObject("design"),
                     *chosen = design ? design->getObject("chosen") : nullptr;
  if ((chosen != nullptr) != answer.winner.has_value())
    return differs(path, fmt::format("the design of '{}'", answer.name),
                   chosen ? "there" : "not there", chosen ? "not there" : "there");
  for (size_t i = 0; chosen && i < claim.parameters.size(); ++i) {
    const DesignParameter &parameter = claim.parameters[i];
    std::string here = chosen->getString(parameter.name).value_or("").str(),
                there = parameter.spelled[(*answer.winner)[i]];
    if (here != there)
      return differs(path, fmt::format("'{}' of '{}'", parameter.name, answer.name),
                     "'" + here + "'", "'" + there + "'");
  }
  return Error::success();
}

} // namespace

std::string miningPlanFile(unsigned number) {
  return fmt::format("certificate/design-{}.json", number);
}

json::Value toJson(const MiningClaim &claim) {
  json::Object o{
      {"schema", 1},
      {"version", jsonString(claim.version)},
      {"metric", jsonString(claim.metric)},
      {"blend", claim.blend},
      {"parameters", list(claim.parameters,
                          [](const DesignParameter &parameter) {
                            return json::Value(
                                json::Object{{"name", jsonString(parameter.name)},
                                             {"values", strings(parameter.spelled)}});
                          })},
      {"jobs", list(claim.jobs,
                    [](const ClaimedJob &job) {
                      json::Object o{{"name", jsonString(job.name)},
                                     {"batch", job.batch},
                                     {"weight", job.weight},
                                     {"best", finite(job.best)},
                                     {"ways", list(job.ways, [](const ClaimedWay &way) {
                                        return json::Value(
                                            json::Object{{"way", jsonString(way.label)},
                                                         {"graph", toJson(way.graph)}});
                                      })}};
                      writeClusters(job, o);
                      return json::Value(std::move(o));
                    })},
      {"answers", list(claim.answers, [](const ClaimedAnswer &answer) {
         json::Object o{
             {"name", jsonString(answer.name)},
             {"jobs",
              list(answer.jobs, [](size_t job) { return json::Value(static_cast<int64_t>(job)); })},
             {"value", finite(answer.value)},
             {"bound", finite(answer.bound)},
             {"survivors", list(answer.survivors, [](const ClaimedSurvivor &survivor) {
                json::Object one{{"design", write(survivor.design)},
                                 {"value", finite(survivor.value)}};
                if (!survivor.plans.empty())
                  one["plans"] = list(survivor.plans, [](const ClaimedPlan &plan) {
                    return json::Value(json::Object{{"job", static_cast<int64_t>(plan.job)},
                                                    {"way", static_cast<int64_t>(plan.way)},
                                                    {"plan", static_cast<int64_t>(plan.number)}});
                  });
                return json::Value(std::move(one));
              })}};
         if (answer.winner)
           o["winner"] = write(*answer.winner);
         return json::Value(std::move(o));
       })}};
  if (claim.beside > 0)
    o["beside"] = static_cast<int64_t>(claim.beside);
  return json::Value(std::move(o));
}

Expected<MiningClaim> miningClaimFrom(StringRef text, StringRef path) {
  Expected<json::Value> value = parseJson(text, path);
  if (!value)
    return value.takeError();
  Path::Root root("certificate");
  MiningClaim claim;
  if (readClaim(*value, root, claim))
    return claim;
  return createStringError("%s: %s", path.str().c_str(), toString(root.getError()).c_str());
}

Error agrees(const MiningClaim &claim, const std::string &space,
             const std::vector<std::string> &requirements, StringRef mined, StringRef path) {
  Expected<json::Value> value = parseJson(mined, path);
  if (!value)
    return value.takeError();
  const json::Object *o = value->getAsObject(), *where = o ? o->getObject("space") : nullptr;
  if (!where)
    return createStringError("%s: not what 'accord mine' writes: it has no 'space'",
                             path.str().c_str());
  std::string named = where->getString("name").value_or("").str();
  if (named != space)
    return differs(path, "the space", "'" + named + "'", "'" + space + "'");
  auto textOf = [](const json::Array *all) {
    return all ? jsonLine(json::Value(json::Array(*all))) : std::string("none");
  };
  std::string here = textOf(where->getArray("requirements")),
              there = jsonLine(json::Value(strings(requirements)));
  if (here != there)
    return differs(path, "what is required", here, there);
  json::Array parameters = list(claim.parameters, [](const DesignParameter &parameter) {
    return json::Value(
        json::Object{{"name", jsonString(parameter.name)}, {"values", strings(parameter.spelled)}});
  });
  here = textOf(where->getArray("parameters")),
  there = jsonLine(json::Value(std::move(parameters)));
  if (here != there)
    return differs(path, "what is chosen among", here, there);
  const json::Object *objective = o->getObject("objective");
  here = objective ? objective->getString("name").value_or("").str() : "";
  there = claim.blend == "worst_ratio" ? "worst_ratio of " + claim.metric : claim.metric;
  if (here != there)
    return differs(path, "the objective", "'" + here + "'", "'" + there + "'");
  const json::Array *own = o->getArray("own");
  size_t alone = own ? own->size() : 0;
  if (alone + 1 != claim.answers.size())
    return differs(path, "the number of searches", fmt::format("{}", alone + 1),
                   fmt::format("{}", claim.answers.size()));
  for (size_t i = 0; i < claim.answers.size(); ++i) {
    const json::Object *one = i < alone ? (*own)[i].getAsObject() : o;
    if (!one)
      return createStringError("%s: expected object", path.str().c_str());
    if (Error error = agrees(claim, claim.answers[i], *one, path))
      return error;
  }
  return Error::success();
}

} // namespace accord
