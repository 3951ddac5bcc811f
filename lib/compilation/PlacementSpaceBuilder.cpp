#include "lib/compilation/PlacementSpaceBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

/// Divisors of n from 1 on, each at least twice the one before it.
std::vector<int64_t> spreadDivisors(int64_t n) {
  std::vector<int64_t> all, spread;
  for (int64_t d = 1; d <= n / d; ++d)
    if (n % d == 0)
      all.insert(all.end(), {d, n / d});
  llvm::sort(all);
  for (int64_t d : all)
    if (spread.empty() || d >= 2 * spread.back())
      spread.push_back(d);
  return spread;
}

/// The choices of a job, with defaults for what it does not state. Problems are reported.
class PlacementSpaceBuilder {
public:
  PlacementSpaceBuilder(const TrainingJob &job, const ClusterTarget &target, Diagnostics &diags)
      : diags_(diags), job_(job), cluster_(target.cluster), groups_(target.groups) {
    for (const DegreeChoice &choice : job_.parallel)
      of_[choice.key] = &choice;
    for (const Cluster &group : groups_) {
      devices_ += group.devicesPerNode * group.servers;
      devicesPerNode_ = devicesPerNode_ ? std::min(devicesPerNode_, group.devicesPerNode) : group.devicesPerNode;
    }
  }

  PlacementChoices out;

  bool resolve() {
    size_t before = diags_.errors();
    std::vector<int64_t> tensor = degrees("tensor_parallel");
    if (tensor.empty()) {
      for (int64_t power = 1; power <= devicesPerNode_; power *= 2)
        tensor.push_back(power);
      assume("tensor_parallel: powers of two up to the {} devices of a server", devicesPerNode_);
    }
    space.data = degrees("data_parallel");
    if (!of_.count("data_parallel"))
      assume("data_parallel: every number that divides the batch and that the devices allow");
    else if (llvm::none_of(space.data, [&](int64_t d) { return job_.batch % d == 0; }))
      error(Code::BatchNotDivisible, "data_parallel",
            fmt::format("no data_parallel in the search space divides the batch of {}", job_.batch));
    pipeline();
    sequence(tensor);
    context();
    if (std::vector<int64_t> expert = degrees("expert_parallel"); !expert.empty())
      space.experts = expert;
    product(tensor);
    rest();
    others();
    return diags_.errors() == before;
  }

private:
  const DegreeChoice *find(const std::string &key) const {
    auto found = of_.find(key);
    return found == of_.end() ? nullptr : found->second;
  }
  template <typename... Arguments> void assume(fmt::format_string<Arguments...> text, Arguments &&...arguments) {
    out.assumptions.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  Diagnostics::Builder error(Code code, const std::string &key, const std::string &message) {
    return diags_.error(code, find(key) ? find(key)->at : SourceRange{}, message);
  }
  void noteCluster(Diagnostics::Builder &error) {
    const SourceLocation &at = cluster_.location;
    if (auto file = diags_.sources().find(at.file))
      error.note(diags_.sources().at(*file, {at.line, at.column}), "the cluster is declared here");
  }

  /// What is in the search space and not above the devices.
  std::vector<int64_t> degrees(const std::string &key) {
    const DegreeChoice *choice = find(key);
    if (!choice)
      return {};
    std::vector<int64_t> fit;
    llvm::copy_if(choice->values, std::back_inserter(fit), [&](int64_t degree) { return degree <= devices_; });
    if (fit.empty()) {
      auto wrong = error(Code::TooFewDevices, key,
                         fmt::format("{} {} needs more than the {} devices of '{}'", key, choice->values.front(),
                                     devices_, cluster_.name));
      noteCluster(wrong);
    } else if (fit.size() < choice->values.size()) {
      assume("{} above {} is left out: '{}' has {} devices", key, fit.back(), cluster_.name, devices_);
    }
    return fit;
  }

  void pipeline() {
    std::vector<int64_t> stages = degrees("pipeline_parallel");
    if (!find("pipeline_parallel"))
      assume("pipeline_parallel: from 1 to {}", find("max_stages") ? "max_stages" : "the number of layers");
    for (int64_t p : stages)
      if (!space.groups.empty() && space.groups.back().max == p - 1)
        space.groups.back().max = p;
      else
        space.groups.push_back({p, p});
    if (const DegreeChoice *limit = find("max_stages"))
      limitStages(limit->values.front());
  }

  void limitStages(int64_t max) {
    if (!find("pipeline_parallel")) {
      space.groups = {{1, max}};
      return;
    }
    auto above = [&](const PlacementProblem::GroupRange &range) { return range.min > max; };
    if (!space.groups.empty() && above(space.groups.front()))
      error(Code::DegreesDoNotFit, "max_stages",
            fmt::format("pipeline_parallel is {} or more, but max_stages is {}", space.groups.front().min, max));
    std::erase_if(space.groups, above);
    if (!space.groups.empty())
      space.groups.back().max = std::min(space.groups.back().max, max);
  }

  void sequence(const std::vector<int64_t> &tensor) {
    const DegreeChoice *choice = find("sequence_parallel");
    if (!choice)
      assume("sequence_parallel: 1 or as much as tensor_parallel");
    else
      for (int64_t degree : choice->values)
        if (degree > 1 && !llvm::is_contained(tensor, degree)) {
          auto wrong = error(
              Code::DegreesDoNotFit, "sequence_parallel",
              fmt::format("sequence_parallel is {}, but tensor_parallel is {}", degree, fmt::join(tensor, " or ")));
          wrong.help("sequence_parallel is 1 or as much as tensor_parallel");
          return;
        }
    space.tensorShardings.clear();
    auto allows = [&](int64_t degree) { return !choice || llvm::is_contained(choice->values, degree); };
    for (int64_t degree : tensor) {
      bool on = degree > 1 && allows(degree), off = degree == 1 || allows(1);
      if (off || !on)
        space.tensorShardings.push_back({degree, false});
      if (on)
        space.tensorShardings.push_back({degree, true});
    }
  }

  /// With each way to share operations among tensor parallel devices: the sequence among others.
  void context() {
    std::vector<int64_t> among = degrees("context_parallel");
    if (among.empty())
      return;
    std::vector<ContextExchange> exchanges;
    for (ContextExchange exchange : {ContextExchange::Ring, ContextExchange::AllGather, ContextExchange::AllToAll})
      if (llvm::is_contained(job_.contextExchanges, name(exchange)))
        exchanges.push_back(exchange);
    if (exchanges.empty())
      exchanges = {ContextExchange::Ring};
    std::vector<PlacementSpace::TensorSharding> all;
    for (const PlacementSpace::TensorSharding &sharding : space.tensorShardings)
      for (int64_t devices : among)
        for (ContextExchange exchange : exchanges)
          if (devices > 1 || exchange == exchanges.front()) {
            all.push_back(sharding);
            all.back().context = devices;
            all.back().contextExchange = devices > 1 ? exchange : ContextExchange::Ring;
          }
    space.tensorShardings = std::move(all);
  }

  void product(const std::vector<int64_t> &tensor) {
    if (tensor.empty() || (of_.count("pipeline_parallel") && space.groups.empty()) ||
        (of_.count("data_parallel") && space.data.empty()))
      return;
    int64_t groups = space.groups.empty() ? 1 : space.groups.front().min;
    int64_t context = space.tensorShardings.empty() ? 1 : space.tensorShardings.front().context;
    __int128 min =
        static_cast<__int128>(tensor.front()) * groups * (space.data.empty() ? 1 : space.data.front()) * context;
    if (min <= devices_)
      return;
    const char *key = find("data_parallel")     ? "data_parallel"
                      : find("tensor_parallel") ? "tensor_parallel"
                                                : "pipeline_parallel";
    auto wrong =
        error(Code::TooFewDevices, key,
              fmt::format("tensor_parallel {} x pipeline_parallel {} x data_parallel {}{} devices are "
                          "needed, cluster '{}' has {}",
                          tensor.front(), groups, space.data.empty() ? 1 : space.data.front(),
                          context > 1 ? fmt::format(" x context_parallel {}", context) : "", cluster_.name, devices_));
    noteCluster(wrong);
  }

  void rest() {
    space.microbatches.clear();
    if (job_.microbatchStated) {
      space.microbatches = job_.microbatches;
    } else {
      space.microbatches = spreadDivisors(job_.batch);
      assume("microbatch: {}, as nothing says which", fmt::join(space.microbatches, ", "));
    }
    space.recomputePolicies = job_.recomputes;
    llvm::sort(space.recomputePolicies, [](const std::string &a, const std::string &b) {
      auto time = [](const std::string &policy) { // what takes the least first
        return policy == "none" ? 0 : policy == "selective" ? 1 : 2;
      };
      return time(a) < time(b);
    });
    if (!job_.recomputeStated) {
      space.recomputePolicies = {"none", "selective", "full"};
      assume("recompute: none, selective or full for each layer");
    }
    space.uniformStages = llvm::is_contained(job_.stages, "uniform");
    space.uniformRecompute = llvm::is_contained(job_.recomputeGranularity, "model");
    if (llvm::is_contained(job_.regatherSequence, "false")) {
      std::vector<std::string> kept;
      for (const std::string &policy : space.recomputePolicies)
        if (policy != "full") // nothing gathered is left to keep
          kept.push_back(policy + kGathered);
      if (llvm::is_contained(job_.regatherSequence, "true"))
        kept.insert(kept.end(), space.recomputePolicies.begin(), space.recomputePolicies.end());
      else if (llvm::is_contained(space.recomputePolicies, "full"))
        kept.push_back("full");
      space.recomputePolicies = std::move(kept);
    }
    if (job_.zero.empty()) {
      space.zero = {0, 1};
      assume("zero: 0 or 1");
    } else {
      space.zero.assign(job_.zero.begin(), job_.zero.end());
    }
    space.schedules = job_.schedules;
    space.virtualStages = job_.virtualStages;
    if (space.schedules.empty()) {
      space.schedules = {PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved};
      assume("schedule: one_f_one_b or interleaved(2..8)");
    }
    if (space.virtualStages.empty())
      space.virtualStages = {2, 3, 4, 5, 6, 7, 8};
  }

  /// What is 1 or none unless stated.
  void others() {
    auto has = [](const std::vector<std::string> &words, const char *word) { return llvm::is_contained(words, word); };
    if (!job_.offloads.empty()) {
      bool optimizer = has(job_.offloads, "optimizer"), weights = has(job_.offloads, "weights");
      space.offloads = {{}};
      if (!has(job_.offloads, "none") && !has(job_.offloads, "activations"))
        space.offloads.clear();
      if (optimizer)
        space.offloads.push_back({true, false});
      if (weights)
        space.offloads.push_back({false, true});
      if (optimizer && weights)
        space.offloads.push_back({true, true});
      space.offloadActivations = has(job_.offloads, "activations");
      if (space.offloads.size() > 1 || space.offloads.front().states || space.offloads.front().weights ||
          space.offloadActivations)
        host();
    }
    if (!job_.tensorOverlaps.empty()) {
      space.ringOverlaps.clear();
      for (const std::string &word : {"ring", "none"}) // the one that is never longer first
        if (has(job_.tensorOverlaps, word.c_str()))
          space.ringOverlaps.push_back(word == "ring");
    }
    if (!job_.orders.empty()) {
      space.orders.clear();
      using Order = RankOrder;
      for (Order order : {Order::TensorDataPipeline, Order::TensorPipelineData})
        if (has(job_.orders, name(order)))
          space.orders.push_back(order);
    }
    if (!job_.tables.empty()) {
      space.tables.clear();
      using Tables = Tables;
      for (auto [word, tables] :
           {std::pair{"none", Tables::Whole}, {"rows", Tables::Rows}, {"columns", Tables::Columns}})
        if (has(job_.tables, word))
          space.tables.push_back(tables);
    }
    space.blockingTransfers = !has(job_.transfers, "overlapped");
  }

  /// What is offloaded has to be somewhere, and to get there.
  void host() {
    for (const Cluster &group : groups_) {
      bool memory = group.host.memory.value > 0;
      if (memory && group.machine.hostBandwidth.value > 0)
        continue;
      diags_
          .error(Code::NoHostToOffloadTo, job_.offloadAt,
                 memory ? fmt::format("'{}' states no host_bandwidth: nothing says how fast its "
                                      "host's memory is reached",
                                      group.machine.name)
                        : fmt::format("servers of '{}' state no memory of their host", group.machine.name))
          .help(memory ? "add 'host_bandwidth = 32 GB/s' to the accelerator"
                       : "add 'host { memory = 2 TB }' to the server");
      return;
    }
  }

  PlacementSpace &space = out.space;
  Diagnostics &diags_;
  const TrainingJob &job_;
  const Cluster &cluster_;
  const std::vector<Cluster> &groups_;
  std::map<std::string, const DegreeChoice *> of_;
  int64_t devices_ = 0, devicesPerNode_ = 0;
};

} // namespace

std::optional<PlacementChoices> placementChoices(const TrainingJob &job, const ClusterTarget &target,
                                                 Diagnostics &diags) {
  PlacementSpaceBuilder builder(job, target, diags);
  if (!builder.resolve())
    return std::nullopt;
  return std::move(builder.out);
}

} // namespace accord
