#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/CalibratedCosts.h"
#include "lib/machine/cost/CommunicationCosts.h"
#include "lib/machine/cost/MappingCache.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/model/RingExchange.h"
#include "lib/support/ThreadPool.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

/// Why an operation has no cost.
struct Failure {
  std::string cause; ///< the same for all operations that the same change would help
  Error error;
  double excess = 0; ///< of several for one cause, the one with the most is shown
  OperationId operation = kNone;
};

/// Where a schedule cannot hold the time of an operation; `bound`: "bound by …" and where.
std::optional<Failure> tooLong(const Operation &op, Seconds time, std::string cause, const std::string &bound) {
  if (std::isfinite(time.value) && Picoseconds::fits(time))
    return std::nullopt;
  return Failure{std::move(cause),
                 {Code::TimeOutOfRange,
                  fmt::format("'{}' takes {:.6g} s{}, and a schedule holds at most 9e6 s", op.name, time.value, bound),
                  op.location},
                 time.value};
}

/// A plugin's model may look at anything of a machine.
bool isBuiltin(const std::string &model) {
  return model == "array" || model == "vector" || model == "peak" || timesInstructions(model);
}

/// The model that was asked for, unless it is one for arrays (lanes, instructions) and the core has none.
std::string modelFor(const Core &core, const std::string &asked) {
  static const std::string array = "array", vector = "vector", peak = "peak";
  bool fits = !(asked == array && core.rows <= 0) && !(asked == vector && core.lanes <= 0) &&
              !(timesInstructions(asked) && !core.microarchitecture);
  if (!asked.empty() && fits)
    return asked;
  if (core.microarchitecture)
    return kInstructionModel;
  return core.rows > 0 && core.cols > 0 ? array : core.lanes > 0 ? vector : peak;
}

/// `ofKind`: the machine has cores of the kind, but none for the type.
Error noCore(const Operation &op, const Machine &machine, bool ofKind) {
  if (op.core == CoreKind::Network)
    return {Code::UnsupportedType,
            fmt::format("'{}' ({}) exchanges data with other devices, '{}' is one device: a cluster would suffice",
                        op.name, op.kind, machine.name),
            op.location,
            {describedHere(machine)}};
  std::string has;
  for (const Core &core : machine.cores) {
    std::vector<std::string> types;
    for (const auto &[type, peak] : core.peak)
      types.push_back(type);
    has +=
        fmt::format("{}{} core '{}' ({})", has.empty() ? "" : ", ", name(core.kind), core.name, fmt::join(types, ", "));
  }
  return {Code::UnsupportedType,
          fmt::format("'{}' ({}) needs a {} core{}, '{}' has {}", op.name, op.kind, name(op.core),
                      ofKind ? " for " + op.type : "", machine.name, has.empty() ? "no core" : has),
          op.location,
          {describedHere(machine)}};
}

/// One issue per cause, in the order in which they came up.
Errors errorsOf(std::vector<Failure> failures, const WorkGraph &graph) {
  constexpr size_t kMax = 20, kNamed = 3;
  std::map<std::string, size_t> places;
  std::vector<std::vector<Failure *>> causes;
  for (Failure &failure : failures) {
    auto [place, isNew] = places.try_emplace(failure.cause, causes.size());
    if (isNew)
      causes.emplace_back();
    causes[place->second].push_back(&failure);
  }
  Errors errors;
  for (std::vector<Failure *> &same : causes) {
    if (errors.size() == kMax)
      break;
    auto shown = llvm::max_element(same, [](const Failure *a, const Failure *b) { return a->excess < b->excess; });
    Error &error = errors.emplace_back(std::move((*shown)->error));
    same.erase(shown);
    if (same.empty())
      continue;
    std::vector<std::string> names;
    for (const Failure *other : llvm::ArrayRef(same).take_front(kNamed))
      names.push_back(fmt::format("'{}'", graph.operations[other->operation].name));
    std::string more = same.size() > kNamed ? fmt::format(" and {} more", same.size() - kNamed) : "";
    error.notes.insert(error.notes.begin(), {graph.operations[same.front()->operation].location,
                                             fmt::format("the same holds for {} more operation{}: {}{}", same.size(),
                                                         same.size() == 1 ? "" : "s", fmt::join(names, ", "), more)});
  }
  return errors;
}

class Estimator {
public:
  Estimator(const Machine &machine, std::string name) : machine_(machine), name_(std::move(name)) {}

  /// The unknown name, if there is one, or why devices cannot exchange data.
  std::optional<Error> prepare(const WorkGraph &graph, const EstimateOptions &options) {
    if (options.fabric) {
      ACCORD_TRY(communicationCosts, CommunicationCosts::make(graph, machine_, options));
      communicationCosts_ = std::move(communicationCosts);
    }
    bool geometry = name_ == "array" || name_ == "vector" || timesInstructions(name_);
    if (geometry && llvm::none_of(machine_.cores, [&](const Core &core) { return modelFor(core, name_) == name_; }))
      return Error{Code::MissingRate,
                   fmt::format("cost model '{}' needs {}, which no core of '{}' states", name_,
                               name_ == "array"    ? "'array'"
                               : name_ == "vector" ? "'lanes'"
                                                   : "'microarchitecture'",
                               machine_.name),
                   machine_.location};
    for (const Core &core : machine_.cores) {
      std::string model = modelFor(core, name_);
      if (models_.count(model))
        continue;
      auto made = makeCostModel(model);
      if (!made)
        return Error{Code::UnknownCostModel,
                     fmt::format("unknown cost model '{}', there are '{}'", model, fmt::join(costModelNames(), "', '")),
                     name_.empty() ? machine_.location : SourceLocation{}}; // of --cost-model: no place
      models_[model] = std::move(made);
    }
    prices_ = options.prices;
    optimizer_ = graph.optimizer;
    for (int i = -1, n = machine_.cores.size(); prices_ && i < n; ++i) // of fused operations, then by core
      known_.push_back(prices_->numberOf(PriceCache::keyOf(machine_, i, name_)));
    for (const Operation &op : graph.operations) {
      want(op.core, op.type);
      for (const FusedPart &part : op.parts)
        want(part.core, part.type);
    }
    return std::nullopt;
  }

  Result<OperationCost, Failure> price(const Operation &op, Assumptions &assumptions) const {
    OperationCost cost;
    if (op.body != kNone || op.core == CoreKind::None) {
      cost.bytes.resize(machine_.memories.size());
      cost.transfer.resize(machine_.memories.size());
      cost.bound = op.body != kNone ? "critical path" : "view";
      cost.formula = op.body != kNone ? "count * length of the body's schedule" : "a view moves nothing";
      return cost;
    }
    if (op.givenSeconds)
      return given(op, assumptions);
    if (op.core == CoreKind::Network && communicationCosts_)
      return exchanged(op, assumptions);
    ACCORD_TRY(chosen, choose(op, assumptions));
    return fastest<OperationCost>(
        chosen, assumptions, [&](const CoreChoice &choice, Assumptions &words) { return priceOn(op, choice, words); },
        [](const OperationCost &cost) { return cost.time; });
  }

  /// Where this machine leaves the mapping open: the cost on one instance, of an operation
  /// that is one piece of arithmetic on such a core. What was given was measured on a whole device.
  std::optional<OperationCost> priceAlone(const Operation &op, Assumptions &assumptions) const {
    if (op.body != kNone || op.core == CoreKind::None || op.core == CoreKind::Network || op.givenSeconds ||
        !op.parts.empty())
      return std::nullopt;
    Assumptions words;
    auto priced = price(op, words);
    auto *cost = priced.get();
    if (!cost || cost->core < 0 || !machine_.cores[cost->core].anyMapping)
      return std::nullopt;
    assumptions.merge(words);
    return std::move(*cost);
  }

private:
  /// What was measured elsewhere takes that time here, on the core that products run on.
  Result<OperationCost, Failure> given(const Operation &op, Assumptions &assumptions) const {
    OperationCost cost;
    auto tensor = llvm::find_if(machine_.cores, [](const Core &core) { return core.kind == CoreKind::Tensor; });
    if (machine_.cores.empty())
      return Failure{"core", noCore(op, machine_, false)};
    cost.core = tensor == machine_.cores.end() ? 0 : tensor - machine_.cores.begin();
    cost.instances = instancesPerOperation(machine_.cores[cost.core]);
    cost.bytes.resize(machine_.memories.size());
    cost.transfer.resize(machine_.memories.size());
    cost.time = Seconds(*op.givenSeconds);
    cost.cycles = machine_.clock * cost.time;
    cost.model = cost.bound = "given";
    cost.type = op.type;
    cost.formula = fmt::format("time = {:.6g} s (given in the description, on every machine)", cost.time.value);
    assumptions.insert("operations with a given time move no counted bytes and use no energy");
    if (auto failure = tooLong(op, cost.time, "time given", ""))
      return std::move(*failure);
    return cost;
  }

  /// What `price` gives on the core on which it is least, the first among equals; a failure only
  /// where every core fails. Peaks alone do not tell: an array of twice the size may idle.
  template <typename Priced, typename Price, typename Time>
  static Result<Priced, Failure> fastest(const std::vector<CoreChoice> &cores, Assumptions &assumptions, Price price,
                                         Time time) {
    std::optional<Result<Priced, Failure>> best;
    Assumptions ofBest;
    for (const CoreChoice &choice : cores) {
      Assumptions words;
      Result<Priced, Failure> priced = price(choice, words);
      auto *now = priced.get();
      auto *before = best ? best->get() : nullptr;
      if (best && (!now || (before && !(time(*now) < time(*before)))))
        continue;
      best = std::move(priced);
      ofBest = std::move(words);
    }
    assumptions.merge(ofBest);
    return std::move(*best);
  }

  /// As known, or as it is priced now.
  Result<OperationCost, Failure> priceOn(const Operation &op, const CoreChoice &choice,
                                         Assumptions &assumptions) const {
    std::string model = modelFor(machine_.cores[choice.core], name_);
    if (!prices_ || !isBuiltin(model))
      return priceNow(op, choice, model, assumptions);
    bool numbers = prices_->detail() == PriceCache::Detail::Numbers;
    PriceCache::PriceKey priceKey{.operation = prices_->numberOf(op),
                                  .machine = known_[op.parts.empty() ? choice.core + 1 : 0],
                                  .type = prices_->numberOf(choice.type),
                                  .core = uint32_t(choice.core)};
    auto known = prices_->find(priceKey);
    if (!known) {
      auto priced = std::make_shared<PriceCache::Priced>();
      auto cost = priceNow(op, choice, model, priced->words);
      if (!cost) {
        assumptions.merge(priced->words);
        return cost;
      }
      priced->cost = std::move(*cost);
      if (numbers) {
        priced->words.clear();
        priced->cost.formula = {};
        priced->cost.tiles = {};
      }
      known = std::move(priced);
      prices_->insert(priceKey, known);
    }
    if (!known->words.empty())
      assumptions.insert(known->words.begin(), known->words.end());
    return known->cost;
  }

  Result<OperationCost, Failure> priceNow(const Operation &op, const CoreChoice &choice, const std::string &model,
                                          Assumptions &assumptions) const {
    const Core &core = machine_.cores[choice.core];
    CostQuery query{op, machine_, choice.core, choice.type};
    query.optimizer = optimizer_;
    query.mappings = prices_ && isBuiltin(model) ? &prices_->mappings() : &mappings_;
    std::vector<PartCost> parts;
    ComputeTime ofParts;
    if (!op.parts.empty() && !timesInstructions(model)) { // which maps all parts to one program
      ACCORD_TRY(computed, computeParts(op, parts, assumptions));
      ofParts = std::move(computed);
      query.parts = &ofParts;
    }
    auto result = models_.at(model)->cost(query, assumptions);
    if (!result) // what the core or its memories do not state
      return Failure{fmt::format("{} {}", numberOf(result.error().code), choice.core), result.takeError()};
    OperationCost &priced = *result;
    priced.model = model;
    priced.instances = op.parts.empty() ? instancesPerOperation(core) : core.count;
    priced.parts = std::move(parts);
    std::string cause = priced.bound == "compute" ? fmt::format("time {}", choice.core) : "time " + priced.bound;
    if (auto failure =
            tooLong(op, priced.time, std::move(cause),
                    fmt::format(" on core '{}' of '{}', bound by {}", core.name, machine_.name, priced.bound))) {
      failure->error.notes.push_back(describedHere(machine_));
      return std::move(*failure);
    }
    return std::move(priced);
  }

  Result<OperationCost, Failure> exchanged(const Operation &op, Assumptions &assumptions) const {
    auto priced = communicationCosts_->price(op, assumptions);
    if (!priced)
      return Failure{"exchange", priced.takeError()};
    OperationCost &cost = *priced;
    if (auto failure = tooLong(op, cost.time, "time " + cost.bound, ", bound by " + cost.bound))
      return std::move(*failure);
    return std::move(cost);
  }

  /// The cores that an operation may run on, with what was assumed to find them.
  Result<std::vector<CoreChoice>, Failure> choose(const Operation &op, Assumptions &assumptions) const {
    for (const Want &want : wants_)
      if (want.core == op.core && want.type == op.type && !want.choices.empty()) {
        if (!want.words.empty())
          assumptions.insert(want.words.begin(), want.words.end());
        return want.choices;
      }
    std::vector<CoreChoice> choices = chooseCores(op, machine_);
    if (choices.empty()) {
      bool ofKind = llvm::any_of(machine_.cores, [&](const Core &c) { return c.kind == op.core; });
      return Failure{fmt::format("core {} {}", name(op.core), ofKind ? op.type : ""), noCore(op, machine_, ofKind)};
    }
    for (const CoreChoice &choice : choices) {
      const Core &core = machine_.cores[choice.core];
      if (choice.type != op.type)
        assumptions.insert(
            fmt::format("{} on core '{}' runs as {}, for which it states a peak", op.type, core.name, choice.type));
      if (core.kind != op.core)
        assumptions.insert(fmt::format("contractions in {} run on {} core '{}', no {} core does them", choice.type,
                                       name(core.kind), core.name, name(op.core)));
    }
    return choices;
  }

  struct PartTime {
    CoreChoice choice;
    ComputeTime time;
  };
  /// The parts of a fused operation, tile by tile: those of one core one after the other, those of
  /// different cores at the same time.
  Result<ComputeTime, Failure> computeParts(const Operation &op, std::vector<PartCost> &parts,
                                            Assumptions &assumptions) const {
    std::map<int, Seconds> ofCore;
    std::string each;
    for (const FusedPart &part : op.parts) {
      Operation alone;
      alone.name = part.name;
      alone.kind = part.kind;
      alone.core = part.core;
      alone.type = part.type;
      alone.flops = part.flops;
      alone.contraction = part.contraction;
      alone.domain = part.domain;
      alone.tensors = part.tensors;
      alone.location = op.location;
      ACCORD_TRY(chosen, choose(alone, assumptions));
      auto priced = fastest<PartTime>(
          chosen, assumptions,
          [&](const CoreChoice &choice, Assumptions &words) -> Result<PartTime, Failure> {
            auto computed = models_.at(modelFor(machine_.cores[choice.core], name_))
                                ->compute({alone, machine_, choice.core, choice.type}, words);
            if (!computed)
              return Failure{fmt::format("{} {}", numberOf(computed.error().code), choice.core), computed.takeError()};
            return PartTime{choice, std::move(*computed)};
          },
          [](const PartTime &part) { return part.time.time; });
      if (!priced)
        return priced.takeError();
      const auto &[choice, time] = *priced;
      parts.push_back({choice.core, choice.type, time.time});
      ofCore[choice.core] += time.time;
      each += fmt::format("{}{} on {}: {} = {:.6g} s", each.empty() ? "" : ", ", part.name,
                          machine_.cores[choice.core].name, time.formula, time.time.value);
    }
    ComputeTime joint;
    for (const auto &[core, time] : ofCore)
      if (time > joint.time)
        joint.time = time;
    joint.formula = fmt::format("{} [{}]", ofCore.size() > 1 ? "largest sum of a core" : "sum", each);
    if (ofCore.size() > 1)
      assumptions.insert("parts of a fused operation on different cores overlap tile by tile, and it holds all of "
                         "these cores while it runs");
    return joint;
  }

  /// Cores for operations of a kind and an arithmetic; none: such operations fail one by one.
  struct Want {
    CoreKind core;
    std::string type;
    std::vector<CoreChoice> choices;
    Assumptions words;
  };
  void want(CoreKind core, const std::string &type) {
    if (llvm::any_of(wants_, [&](const Want &other) { return other.core == core && other.type == type; }))
      return;
    Operation op;
    op.core = core, op.type = type;
    Want made{core, type, {}, {}};
    auto chosen = choose(op, made.words);
    if (auto *choices = chosen.get())
      made.choices = std::move(*choices);
    wants_.push_back(std::move(made));
  }

  const Machine &machine_;
  std::string name_;
  std::vector<Want> wants_;
  std::map<std::string, std::unique_ptr<CostModel>> models_;
  mutable MappingCache mappings_;
  std::string optimizer_; ///< of the step
  PriceCache *prices_ = nullptr;
  std::vector<uint32_t> known_; ///< numbers of this machine's keys: all cores, then each
  std::optional<CommunicationCosts> communicationCosts_;
};

/// The machine with its cores that leave it open as one of both forms.
Machine withEither(Machine machine, bool perInstanceMapping) {
  for (Core &core : machine.cores)
    if (core.anyMapping)
      core.perInstanceMapping = perInstanceMapping;
  return machine;
}

/// Exchanges of rings take what the attention beside them does not hide.
void exposeRings(const WorkGraph &graph, Costs &costs) {
  std::vector<double> times;
  for (const OperationCost &cost : costs.operations)
    times.push_back(cost.time.value);
  std::vector<double> exposed = exposedTimes(graph, times);
  for (OperationId id = 0; id < times.size(); ++id)
    if (exposed[id] != times[id]) {
      costs.operations[id].time = Seconds(exposed[id]);
      costs.operations[id].formula += fmt::format("; {:.6g} s are hidden behind attention", times[id] - exposed[id]);
    }
}

} // namespace

Result<Costs, Errors> estimate(const WorkGraph &graph, const Machine &machine, const EstimateOptions &options) {
  const std::string &model = options.costModel.empty() ? machine.costModel : options.costModel;
  bool open = llvm::any_of(machine.cores, [](const Core &core) { return core.anyMapping; });
  Machine spread = withEither(machine, false), single = withEither(machine, true);
  Estimator estimator(spread, model), alone(single, model);
  if (auto error = estimator.prepare(graph, options))
    return Errors{*error};
  if (auto error = open ? alone.prepare(graph, options) : std::nullopt)
    return Errors{*error};

  size_t size = graph.operations.size();
  size_t threads = std::clamp<size_t>(options.threads, 1, std::max<size_t>(1, size / 256));
  Costs costs;
  costs.operations.resize(size);
  std::vector<std::vector<Failure>> failures(threads);
  std::vector<Assumptions> assumptions(threads);
  std::vector<std::optional<OperationCost>> others(open ? size : 0);
  // Each thread prices a stretch of its own; stretches are joined in order.
  auto stretch = [&](size_t t) {
    for (size_t i = size * t / threads; i < size * (t + 1) / threads; ++i) {
      auto priced = estimator.price(graph.operations[i], assumptions[t]);
      if (!priced) {
        priced.error().operation = i;
        failures[t].push_back(priced.takeError());
      } else {
        costs.operations[i] = std::move(*priced);
        if (open)
          others[i] = alone.priceAlone(graph.operations[i], assumptions[t]);
      }
    }
  };
  ThreadPool(threads).each(threads, stretch);

  std::vector<Failure> all;
  Assumptions merged;
  for (size_t t = 0; t < threads; ++t) {
    std::move(failures[t].begin(), failures[t].end(), std::back_inserter(all));
    merged.merge(assumptions[t]);
  }
  if (!all.empty())
    return errorsOf(std::move(all), graph);
  for (size_t i = 0; i < others.size(); ++i)
    if (others[i]) {
      if (!(others[i]->time > costs.operations[i].time)) // the same on fewer instances is better
        std::swap(*others[i], costs.operations[i]);
      costs.alternatives[i].push_back(std::move(*others[i]));
    }
  for (std::string &assumption : energyAssumptions(machine))
    merged.insert(std::move(assumption));
  costs.assumptions.assign(merged.begin(), merged.end());
  if (auto parameters = model.empty() ? calibrate::calibratedParametersOf(machine) : std::nullopt)
    if (auto error = calibrateCosts(graph, machine, *parameters, costs))
      return Errors{*error};
  exposeRings(graph, costs);
  return costs;
}

namespace {

/// FLOP/s of one instance for a type; 0 if the core cannot do it.
double rateOf(const Machine &machine, const Core &core, const std::string &type) {
  // An array or lanes without types do whatever type is asked for.
  if (!core.peak.empty() && !core.peak.count(type))
    return 0;
  return peakOfOne(machine, core, type).value * core.efficiency;
}

} // namespace

std::vector<CoreChoice> chooseCores(const Operation &operation, const Machine &machine) {
  std::vector<CoreKind> kinds{operation.core};
  if (operation.core == CoreKind::Tensor)
    kinds.push_back(CoreKind::Vector);
  for (const std::string &type : fallbackTypes(operation.type))
    for (CoreKind kind : kinds) {
      std::vector<CoreChoice> able;
      for (size_t i = 0; i < machine.cores.size(); ++i)
        if (machine.cores[i].kind == kind && rateOf(machine, machine.cores[i], type) > 0)
          able.push_back({int(i), type});
      if (!able.empty())
        return able;
    }
  return {};
}

} // namespace accord
