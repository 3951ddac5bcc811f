#include "lib/cost/Estimate.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <thread>

namespace accord {
namespace {

/// The model that was asked for, unless it is one for arrays (or lanes) and the core has none.
std::string modelFor(const Core &core, const std::string &asked) {
  static const std::string array = "array", vector = "vector", peak = "peak";
  bool fits = !(asked == array && core.rows <= 0) && !(asked == vector && core.lanes <= 0);
  if (!asked.empty() && fits)
    return asked;
  return core.rows > 0 && core.cols > 0 ? array : core.lanes > 0 ? vector : peak;
}

/// FLOP/s of all instances for a type; 0 if the core cannot do it.
double rateOf(const Machine &machine, const Core &core, const std::string &type) {
  // An array or lanes without types do whatever type is asked for.
  if (!core.peak.empty() && !core.peak.count(type))
    return 0;
  return peakOfOne(machine, core, type).value * static_cast<double>(core.count) * core.efficiency;
}

Issue noCore(const Operation &op, const Machine &machine) {
  std::string has;
  for (const Core &core : machine.cores) {
    std::vector<std::string> types;
    for (const auto &[type, peak] : core.peak)
      types.push_back(type);
    has += fmt::format("{}{} core '{}' ({})", has.empty() ? "" : ", ", name(core.kind), core.name,
                       fmt::join(types, ", "));
  }
  return {"A0409",
          fmt::format("'{}' ({}) needs a {} core for {}, '{}' has {}", op.name, op.kind,
                      name(op.core), op.type, machine.name, has.empty() ? "no core" : has),
          op.location,
          {{machine.location, fmt::format("'{}' is described here", machine.name)}}};
}

class Estimator {
public:
  Estimator(const Machine &machine, std::string name) : machine_(machine), name_(std::move(name)) {}

  /// The unknown name, if there is one.
  std::optional<Issue> prepare() {
    bool geometry = name_ == "array" || name_ == "vector";
    if (geometry && llvm::none_of(machine_.cores,
                                  [&](const Core &core) { return modelFor(core, name_) == name_; }))
      return Issue{"A0451",
                   fmt::format("cost model '{}' needs {}, which no core of '{}' states", name_,
                               name_ == "array" ? "'array'" : "'lanes'", machine_.name),
                   machine_.location,
                   {}};
    for (const Core &core : machine_.cores) {
      std::string model = modelFor(core, name_);
      if (models_.count(model))
        continue;
      auto made = makeCostModel(model);
      if (!made)
        return Issue{"A0450",
                     fmt::format("unknown cost model '{}', there are '{}'", model,
                                 fmt::join(costModelNames(), "', '")),
                     name_.empty() ? machine_.location : SourceLocation{}, // --cost-model
                     {}};
      models_[model] = std::move(made);
    }
    return std::nullopt;
  }

  std::variant<OperationCost, Issue> price(const Operation &op, Assumptions &assumptions) const {
    OperationCost cost;
    if (op.body != kNone || op.core == CoreKind::None) {
      cost.bytes.resize(machine_.memories.size());
      cost.transfer.resize(machine_.memories.size());
      cost.bound = op.body != kNone ? "critical path" : "view";
      cost.formula =
          op.body != kNone ? "count * length of the body's schedule" : "a view moves nothing";
      return cost;
    }
    auto choice = chooseCore(op, machine_);
    if (!choice)
      return noCore(op, machine_);
    const Core &core = machine_.cores[choice->core];
    if (choice->type != op.type)
      assumptions.insert(fmt::format("{} on core '{}' runs as {}, for which it states a peak",
                                     op.type, core.name, choice->type));
    if (core.kind != op.core)
      assumptions.insert(fmt::format("contractions in {} run on {} core '{}', no {} core does them",
                                     choice->type, name(core.kind), core.name, name(op.core)));
    std::string model = modelFor(core, name_);
    auto result = models_.at(model)->cost({op, machine_, choice->core, choice->type}, assumptions);
    if (auto *priced = std::get_if<OperationCost>(&result)) {
      priced->model = model;
      if (!std::isfinite(priced->time.value) || !Picoseconds::fits(priced->time))
        return Issue{"A0452",
                     fmt::format("'{}' takes {:.6g} s on '{}', a schedule holds at most 9e6 s",
                                 op.name, priced->time.value, machine_.name),
                     op.location,
                     {}};
    }
    return result;
  }

private:
  const Machine &machine_;
  std::string name_;
  std::map<std::string, std::unique_ptr<CostModel>> models_;
};

} // namespace

std::vector<std::string> fallbackTypes(const std::string &type) {
  static const std::map<std::string, std::vector<std::string>> wider = {
      {"fp4", {"fp8", "fp16", "bf16", "tf32", "fp32", "fp64"}},
      {"fp8", {"fp16", "bf16", "tf32", "fp32", "fp64"}},
      {"bf16", {"fp16", "tf32", "fp32", "fp64"}},
      {"fp16", {"bf16", "tf32", "fp32", "fp64"}},
      {"tf32", {"fp32", "fp64"}},
      {"fp32", {"fp64"}},
      {"int4", {"int8", "int16", "int32", "int64", "fp32"}},
      {"int8", {"int16", "int32", "int64", "fp32"}},
      {"int16", {"int32", "int64", "fp32"}},
      {"int32", {"int64", "fp32"}},
      {"int64", {"fp32"}},
  };
  std::vector<std::string> order{type};
  if (auto more = wider.find(type); more != wider.end())
    order.insert(order.end(), more->second.begin(), more->second.end());
  return order;
}

std::optional<CoreChoice> chooseCore(const Operation &operation, const Machine &machine) {
  std::vector<CoreKind> kinds{operation.core};
  if (operation.contraction && operation.core == CoreKind::Tensor)
    kinds.push_back(CoreKind::Vector);
  for (const std::string &type : fallbackTypes(operation.type))
    for (CoreKind kind : kinds) {
      int best = -1;
      double fastest = 0;
      for (size_t i = 0; i < machine.cores.size(); ++i) {
        double rate = machine.cores[i].kind == kind ? rateOf(machine, machine.cores[i], type) : 0;
        if (rate > fastest) {
          fastest = rate;
          best = static_cast<int>(i);
        }
      }
      if (best >= 0)
        return CoreChoice{best, type};
    }
  return std::nullopt;
}

std::variant<Costs, std::vector<Issue>> estimate(const WorkGraph &graph, const Machine &machine,
                                                 const EstimateOptions &options) {
  Estimator estimator(machine, options.costModel.empty() ? machine.costModel : options.costModel);
  if (auto issue = estimator.prepare())
    return std::vector<Issue>{*issue};

  size_t size = graph.operations.size();
  size_t threads = std::clamp<size_t>(options.threads, 1, std::max<size_t>(1, size / 256));
  Costs costs;
  costs.operations.resize(size);
  std::vector<std::vector<Issue>> issues(threads);
  std::vector<Assumptions> assumptions(threads);
  // Each thread prices a stretch of its own; stretches are joined in order.
  auto stretch = [&](size_t t) {
    for (size_t i = size * t / threads; i < size * (t + 1) / threads; ++i) {
      auto priced = estimator.price(graph.operations[i], assumptions[t]);
      if (auto *issue = std::get_if<Issue>(&priced))
        issues[t].push_back(std::move(*issue));
      else
        costs.operations[i] = std::move(std::get<OperationCost>(priced));
      if (issues[t].size() >= 20)
        return;
    }
  };
  std::vector<std::thread> workers;
  for (size_t t = 1; t < threads; ++t)
    workers.emplace_back(stretch, t);
  stretch(0);
  for (std::thread &worker : workers)
    worker.join();

  std::vector<Issue> all;
  Assumptions merged;
  for (size_t t = 0; t < threads; ++t) {
    for (Issue &issue : issues[t])
      if (all.size() < 20)
        all.push_back(std::move(issue));
    merged.merge(assumptions[t]);
  }
  if (!all.empty())
    return all;
  costs.assumptions.assign(merged.begin(), merged.end());
  return costs;
}

} // namespace accord
