#include "lib/partitioning/problem/PartitioningProblem.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

using Id = PartitioningProblem::Id;

constexpr int64_t kMaxSum = int64_t(1) << 60;
constexpr size_t kMaxNodes = 100'000;
constexpr int64_t kMaxDevices = 10'000;

class Checker {
public:
  explicit Checker(const PartitioningProblem &problem) : p(problem) {}

  Errors run() {
    if (p.nodes.empty() || p.nodes.size() > kMaxNodes)
      report(p.location, fmt::format("expected 1 to {} nodes, found {}", kMaxNodes, p.nodes.size()));
    if (p.accelerators < 0 || p.processors < 0 || p.accelerators > kMaxDevices || p.processors > kMaxDevices ||
        p.accelerators + p.processors == 0)
      report(p.location, fmt::format("expected 1 to {} devices, found {} accelerators and {} "
                                     "processors",
                                     kMaxDevices, p.accelerators, p.processors));
    if (p.memory < 0 || p.memory > kMaxSum)
      report(p.location, fmt::format("a memory of {} B", p.memory));
    bool sum = p.rule == PartitioningProblem::Rule::Sum;
    if (!std::isfinite(p.timePerByte) || p.timePerByte < 0 || (sum && p.allowReplicas) || (!sum && p.processors > 0))
      report(p.location, "replicas and a time for each byte belong to overlap, processors to sums");
    if (!sum && !p.contiguous)
      report(p.location, "stages that overlap are contiguous");
    numbers();
    if (errors.empty())
      transfers();
    if (errors.empty() && !sum)
      for (const auto &node : p.nodes)
        if (!node.onAccelerator || node.backward)
          report(node.location, fmt::format("'{}' cannot be where stages overlap", node.name));
    if (errors.empty())
      circle();
    return std::move(errors);
  }

private:
  void report(const SourceLocation &at, std::string message) {
    if (errors.size() < 20)
      errors.push_back({Code::MalformedPartitioningProblem, std::move(message), at, {}});
  }

  void numbers() {
    __int128 times = 0, sizes = 0, gradients = 0;
    for (const auto &node : p.nodes) {
      if (node.time < 0 || node.processorTime < 0 || node.memory < 0 || node.gradients < 0)
        report(node.location, fmt::format("'{}' has a negative time or size", node.name));
      times += __int128{node.time} + node.processorTime;
      sizes += node.memory;
      gradients += node.gradients;
    }
    for (const auto &transfer : p.transfers)
      times += transfer.time;
    if (times > kMaxSum)
      report(p.location, "all times together are above 2^60 ps (13 days)");
    if (sizes > kMaxSum || gradients > kMaxSum)
      report(p.location, "all sizes together are above 2^60 B");
  }

  void transfers() {
    std::vector<bool> sends(p.nodes.size(), false);
    for (const auto &transfer : p.transfers) {
      bool known = transfer.from < p.nodes.size() && !transfer.to.empty() && transfer.time >= 0;
      for (Id to : transfer.to)
        known &= to < p.nodes.size() && to != transfer.from;
      if (!known || sends[transfer.from] ||
          std::set<Id>(transfer.to.begin(), transfer.to.end()).size() != transfer.to.size()) {
        report(p.location, "a transfer of no node, to none, to itself, or a second one");
        continue;
      }
      sends[transfer.from] = true;
      for (Id to : transfer.to)
        if (p.nodes[transfer.from].backward && !p.nodes[to].backward)
          report(p.nodes[to].location, fmt::format("the forward node '{}' reads the backward node "
                                                   "'{}'",
                                                   p.nodes[to].name, p.nodes[transfer.from].name));
    }
  }

  void circle() {
    std::vector<std::vector<Id>> after(p.nodes.size());
    std::vector<size_t> waiting(p.nodes.size(), 0);
    for (const auto &transfer : p.transfers)
      for (Id to : transfer.to) {
        after[transfer.from].push_back(to);
        ++waiting[to];
      }
    std::vector<Id> ready;
    for (Id v = 0; v < p.nodes.size(); ++v)
      if (waiting[v] == 0)
        ready.push_back(v);
    size_t done = 0;
    for (; !ready.empty(); ++done) {
      Id v = ready.back();
      ready.pop_back();
      for (Id to : after[v])
        if (--waiting[to] == 0)
          ready.push_back(to);
    }
    if (done == p.nodes.size())
      return;
    // Back from any that waits, along those that wait, until one comes again.
    std::vector<Id> from(p.nodes.size(), 0);
    for (Id v = 0; v < p.nodes.size(); ++v)
      if (waiting[v] > 0)
        for (Id to : after[v])
          from[to] = v;
    Id at = 0;
    while (waiting[at] == 0)
      ++at;
    for (size_t i = 0; i < p.nodes.size(); ++i)
      at = from[at];
    report(p.nodes[at].location, fmt::format("'{}' waits for itself: it reads '{}', which is after "
                                             "it",
                                             p.nodes[at].name, p.nodes[from[at]].name));
  }

  const PartitioningProblem &p;
  Errors errors;
};

} // namespace

std::vector<std::pair<Id, Id>> stageOrder(const PartitioningProblem &problem) {
  std::set<int64_t> forward;
  for (const auto &node : problem.nodes)
    if (!node.backward && node.colocationGroup >= 0)
      forward.insert(node.colocationGroup);
  auto alone = [&](const PartitioningProblem::Node &node) {
    return node.backward && !forward.count(node.colocationGroup);
  };
  std::vector<std::pair<Id, Id>> order;
  for (const auto &transfer : problem.transfers)
    for (Id to : transfer.to) {
      const auto &a = problem.nodes[transfer.from], &b = problem.nodes[to];
      if (!a.backward && !b.backward)
        order.emplace_back(transfer.from, to);
      else if (a.backward && b.backward && (alone(a) || alone(b)))
        order.emplace_back(to, transfer.from);
    }
  return order;
}

Errors check(const PartitioningProblem &problem) { return Checker(problem).run(); }

} // namespace accord
