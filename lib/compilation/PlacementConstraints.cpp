#include "lib/compilation/PlacementConstraints.h"
#include "lib/language/requests/LayerConstraints.h"
#include "lib/placement/output/PlacementFigures.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <set>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

class ConstraintBuilder {
public:
  ConstraintBuilder(PlacementProblem &problem, Diagnostics &diags) : problem(problem), diags(diags) {}

  void add(const LayerConstraint &constraint) {
    PlacementProblem::PlacementConstraint one;
    one.text = constraint.text;
    one.location = diags.sources().location(constraint.at);
    std::set<Id> layers;
    bool known = true;
    for (const LayerPattern &pattern : constraint.layers)
      known &= find(pattern, layers);
    if (constraint.of == LayerConstraint::Of::OnDevice || constraint.of == LayerConstraint::Of::NotOnDevice)
      known &= deviceTypes(constraint, one.deviceTypes);
    if (constraint.of == LayerConstraint::Of::Stage)
      one.stage = constraint.stage;
    one.sameStage = constraint.of == LayerConstraint::Of::SameStage;
    if (!known)
      return;
    for (Id layer : layers)
      problem.layers[layer].placementConstraints.push_back(problem.placementConstraints.size());
    problem.placementConstraints.push_back(std::move(one));
  }

private:
  bool find(const LayerPattern &pattern, std::set<Id> &layers) {
    LayerPattern any = pattern;
    for (LayerPattern::Part &part : any.parts)
      part.range.reset();
    std::vector<Id> named;
    std::set<std::string> written;
    bool found = false;
    for (Id layer = 0; layer < problem.layers.size(); ++layer) {
      const std::string &name = problem.layers[layer].name;
      if (matches(pattern, name))
        layers.insert(layer), written.insert(name), found = true;
      if (matches(any, name))
        named.push_back(layer);
    }
    if (named.empty())
      unknown(pattern);
    else if (!found || beyond(pattern, named))
      diags
          .error(Code::UnknownLayer, pattern.at,
                 fmt::format("{} '{}'", found ? "there are not all layers" : "there is no layer",
                             diags.sources().text(pattern.at).str()))
          .help(
              fmt::format("there {} {}", named.size() == 1 ? "is" : "are", fmt::join(layerRuns(problem, named), ", ")));
    else
      return true;
    return false;
  }

  /// Whether the last index that a range asks for is not there.
  bool beyond(LayerPattern pattern, const std::vector<Id> &named) const {
    bool ranged = false;
    for (LayerPattern::Part &part : pattern.parts)
      if (part.range)
        part.range->first = part.range->second, ranged = true;
    return ranged && llvm::none_of(named, [&](Id layer) { return matches(pattern, problem.layers[layer].name); });
  }

  void unknown(const LayerPattern &pattern) {
    std::vector<std::string> parts;
    for (const PlacementProblem::Layer &layer : problem.layers) {
      llvm::SmallVector<llvm::StringRef> split;
      llvm::StringRef(layer.name).split(split, '.');
      for (llvm::StringRef part : split)
        parts.push_back(part.split('[').first.str());
    }
    std::string near;
    for (const LayerPattern::Part &part : pattern.parts)
      if (!llvm::is_contained(parts, part.name))
        near = nearest(part.name, parts);
    std::vector<Id> all(problem.layers.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::string> runs = layerRuns(problem, all);
    size_t more = runs.size() > 12 ? runs.size() - 12 : 0;
    runs.resize(runs.size() - more);
    diags
        .error(Code::UnknownLayer, pattern.at,
               fmt::format("there is no layer '{}'", diags.sources().text(pattern.at).str()))
        .suggest(near)
        .help(fmt::format("layers are {}{}", fmt::join(runs, ", "), more ? fmt::format(" and {} more", more) : ""));
  }

  bool deviceTypes(const LayerConstraint &constraint, std::vector<Id> &deviceTypes) {
    std::vector<std::string> names;
    bool found = false;
    for (Id deviceType = 0; deviceType < problem.deviceTypes.size(); ++deviceType) {
      bool is = problem.deviceTypes[deviceType].name == constraint.device;
      found |= is;
      if (is == (constraint.of == LayerConstraint::Of::OnDevice))
        deviceTypes.push_back(deviceType);
      if (!llvm::is_contained(names, problem.deviceTypes[deviceType].name))
        names.push_back(problem.deviceTypes[deviceType].name);
    }
    if (!found)
      diags
          .error(Code::PlacementConstraintNotUnderstood, constraint.otherAt,
                 fmt::format("the cluster has no '{}'", constraint.device))
          .suggest(nearest(constraint.device, names))
          .help(fmt::format("its devices are {}", fmt::join(names, ", ")));
    else if (deviceTypes.empty())
      diags
          .error(Code::PlacementConstraintNotUnderstood, constraint.otherAt,
                 fmt::format("the cluster has no other devices than '{}'", constraint.device))
          .help("leave the requirement out, or choose another cluster");
    return found && !deviceTypes.empty();
  }

  PlacementProblem &problem;
  Diagnostics &diags;
};

} // namespace

bool addPlacementConstraints(PlacementProblem &problem, const TrainingJob &job, Diagnostics &diags) {
  size_t before = diags.errors();
  ConstraintBuilder constraintBuilder(problem, diags);
  for (const LayerConstraint &constraint : job.placementConstraints)
    constraintBuilder.add(constraint);
  return diags.errors() == before;
}

} // namespace accord
