#include "tools/accord/PlacementPins.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/language/requests/Pins.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <set>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

class Pinning {
public:
  Pinning(PlacementProblem &problem, Diagnostics &diags) : problem(problem), diags(diags) {}

  void add(const LayerPin &pin) {
    PlacementProblem::Pin one;
    one.text = pin.text;
    Position at = diags.sources().position(pin.at);
    one.location = {diags.sources().path(pin.at.file).str(), at.line, at.column};
    std::set<Id> layers;
    bool known = true;
    for (const LayerPattern &pattern : pin.layers)
      known &= find(pattern, layers);
    if (pin.of == LayerPin::Of::On || pin.of == LayerPin::Of::NotOn)
      known &= kinds(pin, one.kinds);
    if (pin.of == LayerPin::Of::Stage)
      one.stage = pin.stage;
    one.together = pin.of == LayerPin::Of::Together;
    if (!known)
      return;
    for (Id layer : layers)
      problem.layers[layer].pins.push_back(static_cast<Id>(problem.pins.size()));
    problem.pins.push_back(std::move(one));
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
          .help(fmt::format("there {} {}", named.size() == 1 ? "is" : "are",
                            fmt::join(layerRuns(problem, named), ", ")));
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
    return ranged && llvm::none_of(named, [&](Id layer) {
             return matches(pattern, problem.layers[layer].name);
           });
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
        .help(fmt::format("layers are {}{}", fmt::join(runs, ", "),
                          more ? fmt::format(" and {} more", more) : ""));
  }

  bool kinds(const LayerPin &pin, std::vector<Id> &kinds) {
    std::vector<std::string> names;
    bool found = false;
    for (Id kind = 0; kind < problem.kinds.size(); ++kind) {
      bool is = problem.kinds[kind].name == pin.device;
      found |= is;
      if (is == (pin.of == LayerPin::Of::On))
        kinds.push_back(kind);
      if (!llvm::is_contained(names, problem.kinds[kind].name))
        names.push_back(problem.kinds[kind].name);
    }
    if (!found)
      diags
          .error(Code::PinNotUnderstood, pin.otherAt,
                 fmt::format("the cluster has no '{}'", pin.device))
          .suggest(nearest(pin.device, names))
          .help(fmt::format("its devices are {}", fmt::join(names, ", ")));
    else if (kinds.empty())
      diags
          .error(Code::PinNotUnderstood, pin.otherAt,
                 fmt::format("the cluster has no other devices than '{}'", pin.device))
          .help("leave the requirement out, or choose another cluster");
    return found && !kinds.empty();
  }

  PlacementProblem &problem;
  Diagnostics &diags;
};

} // namespace

bool pinLayers(PlacementProblem &problem, const TrainingJob &job, Diagnostics &diags) {
  size_t before = diags.errors();
  Pinning pinning(problem, diags);
  for (const LayerPin &pin : job.pins)
    pinning.add(pin);
  return diags.errors() == before;
}

} // namespace accord
