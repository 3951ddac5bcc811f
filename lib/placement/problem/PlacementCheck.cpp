// Whether a placement problem may be computed on.
#include "lib/placement/problem/Placement.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

constexpr double kMost = 0x1p61;
/// Of what is no integer: watts, prices, joules, picoseconds per byte.
constexpr double kLargest = 1e30;

class PlacementChecker {
public:
  explicit PlacementChecker(const PlacementProblem &problem) : p(problem) {}

  std::vector<Issue> run() {
    head();
    for (const auto &kind : p.kinds)
      kindOf(kind);
    for (size_t f = 0; f < p.forms.size(); ++f)
      form(f);
    for (const auto &one : p.classes)
      layerClass(one);
    for (const auto &layer : p.layers) {
      if (layer.of >= p.classes.size())
        report(layer.location, fmt::format("layer '{}' is of class {}, there are {}", layer.name,
                                           layer.of, p.classes.size()));
      for (size_t i = 0; i < layer.pins.size(); ++i)
        if (layer.pins[i] >= p.pins.size() || (i > 0 && layer.pins[i] <= layer.pins[i - 1]))
          report(layer.location, fmt::format("layer '{}' lists pin {} of {}", layer.name,
                                             layer.pins[i], p.pins.size()));
    }
    for (const auto &pin : p.pins) {
      for (size_t i = 0; i < pin.kinds.size(); ++i)
        if (pin.kinds[i] >= p.kinds.size() || (i > 0 && pin.kinds[i] <= pin.kinds[i - 1]))
          report(pin.location,
                 fmt::format("'{}' lists kind {} of {}", pin.text, pin.kinds[i], p.kinds.size()));
      if (pin.stage)
        natural(pin.location, "the stage of a pin", *pin.stage);
    }
    for (const auto &edge : p.edges) {
      if (edge.from >= edge.to || edge.to >= p.layers.size())
        report(p.location, fmt::format("an edge from layer {} to {} of {}", edge.from, edge.to,
                                       p.layers.size()));
      natural(p.location, "an edge's bytes", edge.bytes);
    }
    if (issues.empty())
      totals();
    return std::move(issues);
  }

private:
  void report(const SourceLocation &at, std::string text) {
    if (issues.size() < 20)
      issues.push_back({"A0940", std::move(text), at, {}});
  }
  void natural(const SourceLocation &at, const char *what, int64_t value, int64_t least = 0) {
    if (value < least || static_cast<double>(value) > kMost)
      report(at, fmt::format("{} {} {}, which has to be {} to 2^61", what,
                             std::string_view(what).ends_with('s') ? "are" : "is", value, least));
  }
  void natural(const std::string &what, int64_t value, int64_t least = 0) {
    natural(p.location, what.c_str(), value, least);
  }
  void number(const SourceLocation &at, const std::string &what, double value,
              double most = kLargest) {
    if (!(value >= 0 && value <= most))
      report(at, fmt::format("{} is {}, which has to be 0 to {}", what, value, most));
  }
  void ways(const std::string &what, const std::vector<LinearTime> &list) {
    for (const LinearTime &way : list) {
      number(p.location, what + ": latency", way.latency);
      number(p.location, what + ": time per byte", way.perByte);
    }
  }

  void head() {
    for (auto [what, count] : {std::pair<const char *, size_t>{"layers", p.layers.size()},
                               {"kinds of devices", p.kinds.size()},
                               {"forms", p.forms.size()},
                               {"schedules", p.schedules.size()}})
      if (count == 0)
        report(p.location, fmt::format("there are no {}", what));
    if (static_cast<unsigned>(p.objective) > static_cast<unsigned>(PlacementObjective::Memory))
      report(p.location, fmt::format("objective {} is none", static_cast<unsigned>(p.objective)));
    for (PipelineSchedule schedule : p.schedules) {
      if (static_cast<unsigned>(schedule) > static_cast<unsigned>(PipelineSchedule::ZeroBubble))
        report(p.location, fmt::format("schedule {} is none", static_cast<unsigned>(schedule)));
      if (schedule == PipelineSchedule::Interleaved && p.chunks.empty())
        report(p.location, "schedule interleaved is offered without a number of chunks");
    }
    if (p.evenly && std::none_of(p.layers.begin(), p.layers.end(),
                                 [&](const auto &layer) { return layer.of == *p.evenly; }))
      report(p.location, fmt::format("stages share evenly the layers of class {}, of which there "
                                     "are none",
                                     *p.evenly));
    for (int64_t v : p.chunks)
      natural("a number of chunks", v, 1);
    natural("the batch", p.batch, 1);
    for (size_t i = 0; i < p.groups.size(); ++i) {
      natural("the fewest groups of a range", p.groups[i].fewest, 1);
      if (p.groups[i].most < p.groups[i].fewest ||
          (i > 0 && p.groups[i].fewest <= p.groups[i - 1].most))
        report(p.location, fmt::format("ranges of groups do not ascend: {} to {}",
                                       p.groups[i].fewest, p.groups[i].most));
    }
    natural("what the host takes for a micro-batch", p.perMicrobatch);
    natural("what the host takes for a step", p.perStep);
    natural("the least time of a step", p.leastStep);
    for (const auto &tie : p.ties)
      if (tie.a >= tie.b || tie.b >= p.layers.size())
        report(p.location, fmt::format("layers {} and {} of {} have a parameter in common", tie.a,
                                       tie.b, p.layers.size()));
    number(p.location, "the hidden share of a backward pass", p.hidden, 1);
    number(p.location, "the share of an exchange that hides", p.hides, 1);
    natural("the limit of a step", p.limits.step);
    natural("the limit of devices", p.limits.devices);
    number(p.location, "the limit of watts", p.limits.watts);
    number(p.location, "the limit of joules", p.limits.joules);
    number(p.location, "the limit of price", p.limits.price);
    if (p.links.size() != p.kinds.size() * p.kinds.size())
      report(p.location, fmt::format("{} links between {} kinds", p.links.size(), p.kinds.size()));
    for (const auto &link : p.links)
      ways("a link", {link.inside, link.across});
  }

  void kindOf(const PlacementProblem::Kind &kind) {
    auto count = [&](const char *what, int64_t value, int64_t least) {
      natural(kind.location, fmt::format("'{}': {}", kind.name, what).c_str(), value, least);
    };
    count("devices", kind.devices, 0);
    count("devices in servers", kind.perServer, 1);
    count("memory", kind.memory, 0);
    count("memory of its host", kind.hostMemory, 0);
    number(kind.location, fmt::format("'{}': idle power", kind.name), kind.idleWatts);
    number(kind.location, fmt::format("'{}': thermal design power", kind.name), kind.tdpWatts);
    number(kind.location, fmt::format("'{}': price", kind.name), kind.pricePerHour);
  }

  void form(size_t f) {
    const auto &form = p.forms[f];
    std::string what = fmt::format("form {}: ", f);
    if (form.kind >= p.kinds.size())
      report(p.location,
             fmt::format("{}on kind {}, there are {}", what, form.kind, p.kinds.size()));
    natural(what + "tensor parallel devices", form.tensor, 1);
    natural(what + "replicas", form.data, 1);
    natural(what + "a micro-batch", form.microbatch, 1);
    if (static_cast<double>(form.data) * static_cast<double>(form.tensor) > kMost ||
        static_cast<double>(form.data) * static_cast<double>(form.microbatch) > kMost)
      report(p.location, what + "devices or samples pass 2^61");
    if (form.zero < 0 || form.zero > 3)
      report(p.location, fmt::format("{}stage {} of ZeRO", what, form.zero));
    if (form.expert < 1 || form.data % form.expert != 0)
      report(p.location,
             fmt::format("{}{} of {} replicas divide the experts", what, form.expert, form.data));
    for (const auto &syncs : {form.syncs, form.expertSyncs}) {
      int64_t before = 0;
      for (const auto &sync : syncs) {
        if (sync.together <= before)
          report(p.location, fmt::format("{}exchange of {} together after one of {}", what,
                                         sync.together, before));
        before = sync.together;
        ways(what + "exchange", sync.ways);
      }
    }
    ways(what + "gather", form.gather);
  }

  void layerClass(const PlacementProblem::LayerClass &one) {
    if (one.costs.size() != p.forms.size())
      return report(p.location, fmt::format("layers '{}' have costs of {} forms of {}", one.name,
                                            one.costs.size(), p.forms.size()));
    for (size_t f = 0; f < one.costs.size(); ++f)
      if (one.costs[f])
        cost(fmt::format("layers '{}' in form {}: ", one.name, f), *one.costs[f]);
  }

  void cost(const std::string &what, const PlacementProblem::Cost &cost) {
    for (auto [name, value] : {std::pair<const char *, int64_t>{"forward", cost.forward},
                               {"backward", cost.backward},
                               {"weight", cost.weight},
                               {"update", cost.update},
                               {"resident", cost.resident},
                               {"resident weights", cost.residentWeights},
                               {"resident gradients", cost.residentGradients},
                               {"gradients", cost.gradients},
                               {"gradients of experts", cost.expertGradients},
                               {"gradients in common", cost.tied},
                               {"resident on the host", cost.hostResident},
                               {"weights", cost.weights}})
      natural(what + name, value);
    number(p.location, what + "energy", cost.joules);
    number(p.location, what + "energy of computing again", cost.joulesAgain);
    if (static_cast<double>(cost.residentWeights) + static_cast<double>(cost.residentGradients) >
        static_cast<double>(cost.resident))
      report(p.location, what + "resident weights and gradients are more than what is resident");
    if (cost.keeps.empty())
      report(p.location, what + "it keeps nothing for its backward pass, not even nothing");
    for (const auto &keep : cost.keeps) {
      natural(what + "computing again", keep.again);
      natural(what + "kept", keep.kept);
      natural(what + "kept on the host", keep.hostKept);
      natural(what + "working", keep.working);
    }
  }

  static double longest(const std::vector<LinearTime> &list, double bytes) {
    double least = list.empty() || bytes <= 0 ? 0 : INFINITY;
    for (const LinearTime &way : list)
      least = std::min(least, way.latency + way.perByte * bytes + 1);
    return bytes > 0 ? least : 0;
  }

  /// As if everything ran one after the other, each layer in a stage of its own: times that are the
  /// least of lines are no longer in sum for all layers at once. Forms with as many samples per
  /// micro-batch go together.
  void totals() {
    std::map<int64_t, std::vector<Id>> together;
    for (Id f = 0; f < p.forms.size(); ++f)
      together[p.forms[f].data * p.forms[f].microbatch].push_back(f);
    double counts = 0, bytes = 0;
    for (const auto &kind : p.kinds)
      counts += static_cast<double>(kind.devices);
    for (const auto &edge : p.edges)
      bytes += static_cast<double>(edge.bytes);
    if (counts > kMost || bytes > kMost)
      return report(p.location, "the sum of all devices, or of all edges' bytes, passes 2^61");
    for (const auto &[samples, forms] : together)
      if (samples <= p.batch)
        total(static_cast<double>(samples), forms);
  }

  void total(double samples, const std::vector<Id> &forms) {
    double m = std::floor(static_cast<double>(p.batch) / samples);
    double pass = 0, once = 0, resident = 0, kept = 0, working = 0, tied = 0;
    for (const auto &layer : p.layers) {
      double passHere = 0, onceHere = 0, residentHere = 0, keptHere = 0;
      for (Id f : forms) {
        const auto &cost = p.classes[layer.of].costs[f];
        if (!cost)
          continue;
        double again = 0;
        for (const auto &keep : cost->keeps) {
          again = std::max(again, static_cast<double>(keep.again));
          keptHere = std::max(keptHere,
                              static_cast<double>(keep.kept) + static_cast<double>(keep.hostKept));
          working = std::max(working, static_cast<double>(keep.working));
        }
        double sync = 0, experts = 0;
        for (const auto &one : p.forms[f].syncs)
          sync = std::max(sync, longest(one.ways, static_cast<double>(cost->gradients)));
        for (const auto &one : p.forms[f].expertSyncs)
          experts =
              std::max(experts, longest(one.ways, static_cast<double>(cost->expertGradients)));
        sync += experts;
        passHere = std::max(
            passHere, static_cast<double>(cost->forward) + static_cast<double>(cost->backward) +
                          static_cast<double>(cost->weight) + again +
                          2 * longest(p.forms[f].gather, static_cast<double>(cost->weights)));
        onceHere = std::max(onceHere, static_cast<double>(cost->update) + sync);
        residentHere = std::max(residentHere, static_cast<double>(cost->resident) +
                                                  static_cast<double>(cost->hostResident));
        tied = std::max(tied, static_cast<double>(cost->tied));
      }
      pass += passHere + static_cast<double>(p.perMicrobatch);
      once += onceHere;
      resident += residentHere;
      kept += keptHere;
    }
    pass += 2 * transfers(samples, forms);
    for (const auto &link : p.links)
      for (const LinearTime &way : {link.inside, link.across})
        once = std::max(once, once + static_cast<double>(p.ties.size()) * longest({way}, tied));
    if (!(m * pass + once + static_cast<double>(p.perStep) <= kMost))
      report(p.location, fmt::format("with {} samples per micro-batch, a step passes 2^61 "
                                     "picoseconds",
                                     samples));
    if (!(resident + m * kept + working <= kMost))
      report(p.location,
             fmt::format("with {} samples per micro-batch, memory passes 2^61 bytes", samples));
  }

  /// Of one micro-batch in one direction. Where transfers run beside, a stage sends to each of its
  /// readers what the largest takes.
  double transfers(double samples, const std::vector<Id> &forms) const {
    double fewest = INFINITY, sum = 0;
    bool chain = true;
    for (Id f : forms)
      fewest = std::min(fewest, static_cast<double>(p.forms[f].devices()));
    for (const auto &edge : p.edges) {
      double most = 0;
      for (const auto &link : p.links)
        for (const LinearTime &way : {link.inside, link.across})
          most = std::max(most, longest({way}, static_cast<double>(edge.bytes) * samples / fewest));
      sum += most;
      chain &= edge.to == edge.from + 1;
    }
    return p.blockingTransfers || chain ? sum
                                        : sum * static_cast<double>(std::max<size_t>(
                                                    1, std::min(p.layers.size(), groups()) - 1));
  }
  size_t groups() const {
    double devices = 0, chunks = 1;
    for (const auto &kind : p.kinds)
      devices += static_cast<double>(kind.devices);
    if (!p.groups.empty())
      devices = std::min(devices, static_cast<double>(p.groups.back().most));
    for (int64_t v : p.chunks)
      chunks = std::max(chunks, static_cast<double>(v));
    return static_cast<size_t>(std::min(devices * chunks, 1e9));
  }

  const PlacementProblem &p;
  std::vector<Issue> issues;
};

} // namespace

std::vector<Issue> check(const PlacementProblem &problem) {
  return PlacementChecker(problem).run();
}

} // namespace accord
