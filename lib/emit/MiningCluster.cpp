#include "lib/emit/MiningCluster.h"
#include "lib/emit/JsonLists.h"
#include "lib/emit/PlacementJson.h"
#include "lib/emit/PlanJson.h"
#include "lib/emit/StrictFields.h"
#include "lib/model/Check.h"

using namespace llvm;
namespace accord {
namespace {

using json::Path;

json::Value write(const ClaimedStep &step) {
  json::Object o{{"tensor", step.tensor},
                 {"sequence", step.sequence},
                 {"microbatch", step.microbatch},
                 {"recompute", jsonString(step.recompute)}};
  if (step.data > 1)
    o["data"] = step.data;
  if (step.experts > 1)
    o["experts"] = step.experts;
  if (step.tables != PlacementProblem::Tables::Whole)
    o["tables"] = name(step.tables);
  o["graph"] = toJson(step.graph);
  return json::Value(std::move(o));
}

bool readGraph(const json::Value &value, Path at, WorkGraph &graph) {
  if (!readWorkGraph(value, graph, at))
    return false;
  if (check(graph).empty())
    return true;
  at.report("its operations, values and regions do not fit together");
  return false;
}

bool readTables(const json::Value &value, Path at, PlacementProblem::Tables &out) {
  for (auto one : {PlacementProblem::Tables::Whole, PlacementProblem::Tables::Rows,
                   PlacementProblem::Tables::Columns})
    if (value.getAsString() == StringRef(name(one)))
      return out = one, true;
  at.report("expected whole, rows or columns");
  return false;
}

bool readStep(const json::Value &value, Path at, ClaimedStep &out) {
  return StrictFields(value, at)
      .integer("tensor", out.tensor, 1)
      .flag("sequence", out.sequence)
      .integer("microbatch", out.microbatch, 1)
      .text("recompute", out.recompute)
      .integer("data", out.data, 1, int64_t(1) << 61, false)
      .integer("experts", out.experts, 1, int64_t(1) << 61, false)
      .read(
          "tables", [&](const json::Value &one, Path p) { return readTables(one, p, out.tables); },
          false)
      .read("graph", [&](const json::Value &one, Path p) { return readGraph(one, p, out.graph); })
      .end();
}

bool readRoom(const json::Value &value, Path at, ClaimedCluster::Room &out) {
  return StrictFields(value, at).number("capacity", out.capacity).integer("bytes", out.bytes).end();
}

bool readLayers(const json::Value &value, Path at, std::map<std::string, uint32_t> &out,
                size_t classes) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return at.report("expected object"), false;
  for (const auto &[name, cls] : *object) {
    int64_t wide = 0;
    if (!StrictFields::readInteger(cls, at.field(name), wide, 0, static_cast<int64_t>(classes) - 1))
      return false;
    out[name.str()] = static_cast<uint32_t>(wide);
  }
  return true;
}

} // namespace

json::Value toJson(const ClaimedCluster &cluster) {
  json::Object layers;
  for (const auto &[name, cls] : cluster.classOf)
    layers[json::fixUTF8(name)] = static_cast<int64_t>(cls);
  json::Object o{{"problem", toJson(cluster.problem)},
                 {"layers", std::move(layers)},
                 {"structure", toJson(cluster.structure)},
                 {"steps", list(cluster.steps, [](const auto &step) { return write(step); })},
                 {"offloads", cluster.offloads}};
  if (!cluster.rooms.empty())
    o["rooms"] = list(cluster.rooms, [](const ClaimedCluster::Room &room) {
      return json::Value(json::Object{{"capacity", room.capacity}, {"bytes", room.bytes}});
    });
  return json::Value(std::move(o));
}

bool readCluster(const json::Value &value, Path at, ClaimedCluster &out) {
  return StrictFields(value, at)
      .read("problem",
            [&](const json::Value &one, Path p) {
              if (!readPlacementProblem(one, out.problem, p))
                return false;
              if (check(out.problem).empty())
                return true;
              p.report("not a placement problem");
              return false;
            })
      .read("layers",
            [&](const json::Value &one, Path p) {
              return readLayers(one, p, out.classOf, out.problem.classes.size());
            })
      .read("structure",
            [&](const json::Value &one, Path p) { return readGraph(one, p, out.structure); })
      .list("steps", out.steps, readStep)
      .flag("offloads", out.offloads)
      .list("rooms", out.rooms, readRoom, false)
      .end();
}

} // namespace accord
