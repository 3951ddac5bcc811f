#include "lib/jobs/output/TenantQueues.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace accord::jobs {
namespace {

Error wrong(SourceLocation location, std::string message) {
  return {Code::WrongJobsBlock, std::move(message), std::move(location)};
}

/// Divides `total` by weights into whole numbers that add up to it, by largest remainders; ties by the order. One of
/// the weights is above 0.
std::vector<int64_t> apportion(int64_t total, const std::vector<double> &weights) {
  const double largest = *std::ranges::max_element(weights); // so that no sum is infinite
  double sum = 0;
  for (double weight : weights)
    sum += weight / largest;
  std::vector<int64_t> parts;
  std::vector<std::pair<double, size_t>> remainders;
  int64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double exact = static_cast<double>(total) * (weights[i] / largest / sum);
    parts.push_back(std::min(left, static_cast<int64_t>(std::floor(exact))));
    left -= parts.back();
    remainders.push_back({static_cast<double>(parts.back()) - exact, i});
  }
  std::ranges::sort(remainders); // the most negative first
  for (size_t i = 0; left > 0; i = (i + 1) % remainders.size()) {
    if (weights[remainders[i].second] <= 0)
      continue;
    ++parts[remainders[i].second];
    --left;
  }
  return parts;
}

/// Nominal shares of one type: of `devices`, by weights, at most `max` each.
std::vector<int64_t> divide(int64_t devices, const std::vector<double> &weights, const std::vector<int64_t> &max) {
  std::vector<int64_t> nominal(weights.size(), 0);
  std::vector<bool> full(weights.size(), false);
  for (;;) { // each round but the last fills a tenant to its maximum
    std::vector<double> open = weights;
    for (size_t i = 0; i < open.size(); ++i)
      if (full[i])
        open[i] = 0;
    int64_t left = devices;
    for (size_t i = 0; i < open.size(); ++i)
      left -= full[i] ? max[i] : 0;
    if (left <= 0 || std::ranges::all_of(full, [](bool one) { return one; }))
      break;
    const std::vector<int64_t> parts = apportion(left, open);
    bool filled = false;
    for (size_t i = 0; i < open.size(); ++i)
      if (!full[i] && parts[i] >= max[i])
        full[i] = filled = true;
    if (filled)
      continue;
    for (size_t i = 0; i < open.size(); ++i)
      if (!full[i])
        nominal[i] = parts[i];
    break;
  }
  for (size_t i = 0; i < full.size(); ++i)
    if (full[i])
      nominal[i] = max[i];
  return nominal;
}

/// What a tenant may hold of each type.
Result<std::vector<int64_t>> maxOf(const JobsRequest::Tenant &tenant, const Cluster &cluster,
                                   const std::vector<int64_t> &capacity) {
  std::vector<int64_t> max = capacity;
  for (const auto &[type, devices] : tenant.quota) {
    if (devices < 0)
      return wrong(tenant.location, fmt::format("tenant '{}' has a quota of {} devices, but 0 or more is expected",
                                                tenant.name, devices));
    if (type.empty())
      continue;
    const auto found = std::ranges::find(cluster.types, type);
    if (found == cluster.types.end())
      return wrong(tenant.location, fmt::format("tenant '{}' has a quota of '{}', but the cluster has '{}'",
                                                tenant.name, type, fmt::join(cluster.types, "', '")));
    int64_t &one = max[static_cast<size_t>(found - cluster.types.begin())];
    one = std::min(one, devices);
  }
  if (const auto all = tenant.quota.find(""); all != tenant.quota.end()) {
    const std::vector<double> weights(max.begin(), max.end());
    const int64_t sum = std::accumulate(max.begin(), max.end(), int64_t(0));
    if (sum > all->second)
      max = apportion(all->second, weights);
  }
  return max;
}

} // namespace

Result<std::vector<std::vector<TenantShare>>> tenantShares(const JobsRequest &request, const Cluster &cluster) {
  if (request.tenants.empty())
    return wrong(request.location, "there are no tenants, for whom queues could be made");
  const std::vector<int64_t> capacity = cluster.capacity();
  if (cluster.devices() <= 0)
    return wrong(request.location, "the cluster has no devices that tenants could hold");
  std::vector<double> weights;
  std::vector<std::vector<int64_t>> max;
  for (const JobsRequest::Tenant &tenant : request.tenants) {
    if (!(tenant.weight > 0) || std::isinf(tenant.weight))
      return wrong(tenant.location,
                   fmt::format("tenant '{}' has the weight {}, but a finite number above 0 is expected", tenant.name,
                               tenant.weight));
    weights.push_back(tenant.weight);
    ACCORD_TRY(row, maxOf(tenant, cluster, capacity));
    max.push_back(std::move(row));
  }
  std::vector<std::vector<TenantShare>> shares(request.tenants.size(), std::vector<TenantShare>(cluster.types.size()));
  for (size_t type = 0; type < cluster.types.size(); ++type) {
    std::vector<int64_t> column;
    for (const std::vector<int64_t> &row : max)
      column.push_back(row[type]);
    const std::vector<int64_t> nominal = divide(capacity[type], weights, column);
    for (size_t tenant = 0; tenant < shares.size(); ++tenant)
      shares[tenant][type] = {nominal[tenant], column[tenant]};
  }
  return shares;
}

const std::string &QueueNames::of(const std::string &text) {
  const auto known = names.find(text);
  if (known != names.end())
    return known->second;
  std::string name;
  for (char c : text)
    if (llvm::isAlnum(c))
      name += llvm::toLower(c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  auto cut = [](const std::string &whole, size_t size) {
    return llvm::StringRef(whole).take_front(size).rtrim('-').str();
  };
  name = cut(name, max);
  if (name.empty() || !llvm::isAlpha(name[0]) || std::ranges::count(reserved, name) > 0)
    name = cut(prefix + name, max);
  const std::string base = name;
  size_t &number = taken.try_emplace(base, 1).first->second;
  while (number > 1 || std::ranges::count(reserved, name) > 0) {
    const std::string end = fmt::format("-{}", number++);
    name = cut(base, max - std::min(max, end.size())) + end;
    if (!taken.count(name))
      break;
  }
  if (name == base)
    number = 2;
  else
    taken.try_emplace(name, 2);
  if (name != text)
    changed.push_back(text);
  return names.emplace(text, std::move(name)).first->second;
}

std::string QueueNames::comments() const {
  std::string lines;
  for (const std::string &text : changed) {
    std::string shown;
    for (char c : text)
      shown += static_cast<unsigned char>(c) < 32 || c == 127 ? '_' : c;
    lines += fmt::format("# '{}' is called {}\n", shown, names.at(text));
  }
  return lines;
}

std::vector<double> prioritiesOf(const JobsRequest &request) {
  std::vector<double> priorities;
  for (const JobsRequest::Job &job : request.jobs)
    priorities.push_back(job.priority);
  std::ranges::sort(priorities);
  const auto rest = std::ranges::unique(priorities);
  priorities.erase(rest.begin(), rest.end());
  return priorities;
}

std::string priorityClass(size_t rank) { return fmt::format("accord-priority-{}", 100 * (rank + 1)); }

std::vector<TenantNames> tenantNames(const JobsRequest &request, const TenantQueueOptions &options) {
  SystemNames slurm = slurmNames({}), kueue = kueueNames({});
  slurm.tenants.of(options.cohort);
  for (const JobsRequest::Tenant &tenant : request.tenants) {
    slurm.tenants.of(accountText(tenant.name, options));
    kueue.tenants.of(tenant.name);
  }
  const std::vector<double> priorities = prioritiesOf(request);
  std::vector<TenantNames> all;
  for (const JobsRequest::Job &job : request.jobs) {
    TenantNames &names = all.emplace_back();
    if (std::ranges::find(request.tenants, job.tenant, &JobsRequest::Tenant::name) == request.tenants.end())
      continue;
    names.account = slurm.tenants.of(accountText(job.tenant, options));
    names.queue = kueue.tenants.of(job.tenant);
    names.service = names.priorityClass =
        priorityClass(static_cast<size_t>(std::ranges::find(priorities, job.priority) - priorities.begin()));
  }
  return all;
}

} // namespace accord::jobs
