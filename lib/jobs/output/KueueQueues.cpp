// Queues of Kueue: one YAML document for each object.
#include "lib/jobs/output/TenantQueues.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr size_t kMaxName = 63, kMaxFlavors = 64;

/// A YAML string in double quotes.
std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += static_cast<unsigned char>(c) < 32 || c == 127 ? '_' : c;
  return out + "\"";
}

/// A weight as a quantity of Kubernetes, in thousandths where it is not whole; at least one thousandth.
std::string quantity(double weight) {
  if (weight == std::floor(weight) && weight < 1e9)
    return fmt::format("{:.0f}", weight);
  return fmt::format("{:.0f}m", std::clamp(std::round(weight * 1000), 1.0, 1e15));
}

std::string flavorText(const std::string &name, const TenantQueueOptions &options) {
  return fmt::format("---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata:\n  name: {0}\n"
                     "spec:\n  nodeLabels:\n    {1}: {0}\n",
                     quoted(name), quoted(options.nodeLabel));
}

/// Classes by rank, in steps of 100: any numbers are in their order then.
std::string priorityTexts(const JobsRequest &request) {
  std::string text;
  const std::vector<double> priorities = prioritiesOf(request);
  for (size_t rank = 0; rank < priorities.size(); ++rank)
    text += fmt::format("---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata:\n"
                        "  name: \"{}\"\nvalue: {}\ndescription: \"priority = {}\"\n",
                        priorityClass(rank), 100 * (rank + 1), priorities[rank]);
  return text;
}

std::string queueText(const std::string &name, const JobsRequest::Tenant &tenant,
                      const std::vector<TenantShare> &shares, const std::vector<std::string> &flavors,
                      const TenantQueueOptions &options) {
  std::string listed;
  for (size_t type = 0; type < flavors.size(); ++type)
    listed += fmt::format("        - name: {}\n          resources:\n            - name: {}\n"
                          "              nominalQuota: {}\n              borrowingLimit: {}\n",
                          quoted(flavors[type]), quoted(options.resource), shares[type].nominal,
                          shares[type].max - shares[type].nominal);
  return fmt::format("---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n"
                     "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata:\n  name: {name}\nspec:\n"
                     "  cohortName: {cohort}\n  namespaceSelector:\n    matchLabels:\n"
                     "      kubernetes.io/metadata.name: {name}\n"
                     "  preemption:\n    reclaimWithinCohort: Any\n    withinClusterQueue: LowerPriority\n"
                     "  fairSharing:\n    weight: {weight}\n"
                     "  resourceGroups:\n    - coveredResources: [{resource}]\n      flavors:\n{flavors}"
                     "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  name: {name}\n"
                     "  namespace: {name}\nspec:\n  clusterQueue: {name}\n",
                     fmt::arg("name", quoted(name)), fmt::arg("cohort", quoted(options.cohort)),
                     fmt::arg("weight", quoted(quantity(tenant.weight))),
                     fmt::arg("resource", quoted(options.resource)), fmt::arg("flavors", listed));
}

} // namespace

SystemNames kueueNames(const std::vector<std::string> &types) {
  SystemNames names{
      QueueNames("d-", kMaxName, {}),
      QueueNames("t-", kMaxName, {"default", "kube-system", "kube-public", "kube-node-lease", "kueue-system"})};
  for (const std::string &type : types)
    names.types.of(type);
  return names;
}

Result<std::string> kueueText(const JobsRequest &request, const Cluster &cluster, const TenantQueueOptions &options) {
  ACCORD_TRY(shares, tenantShares(request, cluster));
  if (cluster.types.size() > kMaxFlavors)
    return Error{Code::WrongJobsBlock,
                 fmt::format("a queue of Kueue has at most {} device types, but the cluster has {}", kMaxFlavors,
                             cluster.types.size()),
                 request.location};
  auto [typeNames, tenantNames] = kueueNames(cluster.types);
  std::vector<std::string> flavors;
  std::string body;
  for (const std::string &type : cluster.types) {
    flavors.push_back(typeNames.of(type));
    body += flavorText(flavors.back(), options);
  }
  body += priorityTexts(request);
  bool splits = false;
  for (size_t i = 0; i < request.tenants.size(); ++i) {
    body += queueText(tenantNames.of(request.tenants[i].name), request.tenants[i], shares[i], flavors, options);
    splits |= cluster.types.size() > 1 && request.tenants[i].quota.count("") > 0;
  }
  std::string head = fmt::format(
      "# Queues of {} tenants on {} devices, for Kueue\n# kubectl apply -f FILE\n"
      "# Servers have the label of their devices: kubectl label node SERVER {}=TYPE\n"
      "# Kueue's Configuration has fairSharing, and resources.excludeResourcePrefixes: [\"cpu\", \"memory\"],\n"
      "# because a queue admits only what it has a quota of.\n"
      "# A job has the labels kueue.x-k8s.io/queue-name: TENANT and kueue.x-k8s.io/priority-class: CLASS.\n",
      request.tenants.size(), cluster.devices(), options.nodeLabel);
  if (splits)
    head += "# A quota of all device types is split over them by their devices: Kueue has no sum over flavors.\n";
  return head + typeNames.comments() + tenantNames.comments() + body;
}

} // namespace accord::jobs
