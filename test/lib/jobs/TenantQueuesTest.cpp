// Queues of tenants for Kueue and Slurm: the whole text of one example, and properties of shares and names.
#include "lib/jobs/output/TenantQueues.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace accord::jobs {
namespace {

JobsRequest request() {
  JobsRequest made;
  made.tenants = {{"Vision Lab", 3, {{"h100", 6}}, {}}, {"nlp", 1, {}, {}}};
  JobsRequest::Job high, low;
  high.name = "a";
  high.priority = 2.5;
  low.name = "b";
  made.jobs = {high, low, low};
  return made;
}

Cluster cluster() { return {{"h100", "A100-80GB"}, {{0, 8}, {1, 4}, {1, 4}}}; }

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

TEST(KueueText, WritesTheWholeExample) {
  const auto text = kueueText(request(), cluster());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, R"(# Queues of 2 tenants on 16 devices, for Kueue
# kubectl apply -f FILE
# Servers have the label of their devices: kubectl label node SERVER accord/device=TYPE
# Kueue's Configuration has fairSharing, and resources.excludeResourcePrefixes: ["cpu", "memory"],
# because a queue admits only what it has a quota of.
# A job has the labels kueue.x-k8s.io/queue-name: TENANT and kueue.x-k8s.io/priority-class: CLASS.
# 'A100-80GB' is called a100-80gb
# 'Vision Lab' is called vision-lab
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: "h100"
spec:
  nodeLabels:
    "accord/device": "h100"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: "a100-80gb"
spec:
  nodeLabels:
    "accord/device": "a100-80gb"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: "accord-priority-100"
value: 100
description: "priority = 1"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: "accord-priority-200"
value: 200
description: "priority = 2.5"
---
apiVersion: v1
kind: Namespace
metadata:
  name: "vision-lab"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: "vision-lab"
spec:
  cohortName: "accord"
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: "vision-lab"
  preemption:
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
  fairSharing:
    weight: "3"
  resourceGroups:
    - coveredResources: ["nvidia.com/gpu"]
      flavors:
        - name: "h100"
          resources:
            - name: "nvidia.com/gpu"
              nominalQuota: 6
              borrowingLimit: 0
        - name: "a100-80gb"
          resources:
            - name: "nvidia.com/gpu"
              nominalQuota: 6
              borrowingLimit: 2
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: "vision-lab"
  namespace: "vision-lab"
spec:
  clusterQueue: "vision-lab"
---
apiVersion: v1
kind: Namespace
metadata:
  name: "nlp"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: "nlp"
spec:
  cohortName: "accord"
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: "nlp"
  preemption:
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
  fairSharing:
    weight: "1"
  resourceGroups:
    - coveredResources: ["nvidia.com/gpu"]
      flavors:
        - name: "h100"
          resources:
            - name: "nvidia.com/gpu"
              nominalQuota: 2
              borrowingLimit: 6
        - name: "a100-80gb"
          resources:
            - name: "nvidia.com/gpu"
              nominalQuota: 2
              borrowingLimit: 6
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: "nlp"
  namespace: "nlp"
spec:
  clusterQueue: "nlp"
)");
}

TEST(SlurmAccountsText, WritesTheWholeExample) {
  const auto text = slurmAccountsText(request(), cluster());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, R"(#!/usr/bin/env bash
# Accounts of 2 tenants on 16 devices: ./accounts.sh CLUSTER (ClusterName of slurm.conf)
# slurm.conf needs these lines, with a running slurmdbd:
#   GresTypes=gpu
#   AccountingStorageType=accounting_storage/slurmdbd
#   AccountingStorageTRES=gres/gpu,gres/gpu:h100,gres/gpu:a100-80gb
#   AccountingStorageEnforce=associations,limits,qos
#   PriorityType=priority/multifactor
#   PriorityWeightFairshare=100000
#   PriorityWeightQOS=10000
# A limit of one type counts jobs that ask for it: --gpus=TYPE:N. A job submit plugin refuses the others.
# Users: sacctmgr add user NAME account=TENANT. Jobs: sbatch --account=TENANT --qos=CLASS.
# 'A100-80GB' is called a100-80gb
# 'Vision Lab' is called vision-lab
set -euo pipefail
CLUSTER="${1:?name of the cluster}"
known() { # account|qos NAME
  if [ "$1" = qos ]; then sacctmgr -nP list qos "name=$2" format=name
  else sacctmgr -nP list associations "cluster=$CLUSTER" "account=$2" format=account; fi | grep -qx "$2"
}
add() { # account|qos NAME [OPTION...]: unless it is there
  known "$1" "$2" || sacctmgr -i add "$@"
}
# priority = 1
add qos accord-priority-100
sacctmgr -i modify qos where name=accord-priority-100 set priority=100
# priority = 2.5
add qos accord-priority-200
sacctmgr -i modify qos where name=accord-priority-200 set priority=200
add account accord "cluster=$CLUSTER"
add account vision-lab "cluster=$CLUSTER" parent=accord
sacctmgr -i modify account where name=vision-lab "cluster=$CLUSTER" set fairshare=3 GrpTRES=gres/gpu=-1,gres/gpu:h100=6,gres/gpu:a100-80gb=-1
sacctmgr -i modify account where name=vision-lab "cluster=$CLUSTER" set qos=accord-priority-100,accord-priority-200
add account nlp "cluster=$CLUSTER" parent=accord
sacctmgr -i modify account where name=nlp "cluster=$CLUSTER" set fairshare=1 GrpTRES=gres/gpu=-1,gres/gpu:h100=-1,gres/gpu:a100-80gb=-1
sacctmgr -i modify account where name=nlp "cluster=$CLUSTER" set qos=accord-priority-100,accord-priority-200
)");
}

TEST(TenantShares, KeepsCapacitiesAndQuotasInAnyCase) {
  SplitMix random(7);
  for (int i = 0; i < 3000; ++i) {
    Cluster made;
    const size_t types = 1 + random.below(4);
    for (size_t type = 0; type < types; ++type)
      made.types.push_back("type" + std::to_string(type));
    for (uint64_t servers = 1 + random.below(8); servers > 0; --servers)
      made.servers.push_back({static_cast<unsigned>(random.below(types)), static_cast<unsigned>(random.below(9))});
    made.servers.push_back({0, 1});
    JobsRequest asked;
    for (uint64_t tenants = 1 + random.below(9); tenants > 0; --tenants) {
      JobsRequest::Tenant tenant{"tenant" + std::to_string(tenants), 0, {}, {}};
      tenant.weight = random.below(4) ? 0.1 + 10 * random.unit() : std::pow(10, 600 * random.unit() - 300);
      for (size_t type = 0; type < types; ++type)
        if (random.below(3) == 0)
          tenant.quota[made.types[type]] = static_cast<int64_t>(random.below(20));
      if (random.below(4) == 0)
        tenant.quota[""] = static_cast<int64_t>(random.below(30));
      asked.tenants.push_back(tenant);
    }
    const auto shares = tenantShares(asked, made);
    ASSERT_TRUE(shares) << shares.error().message;
    const std::vector<int64_t> capacity = made.capacity();
    for (size_t type = 0; type < types; ++type) {
      int64_t nominal = 0, max = 0;
      for (size_t tenant = 0; tenant < asked.tenants.size(); ++tenant) {
        const TenantShare share = (*shares)[tenant][type];
        ASSERT_GE(share.nominal, 0);
        ASSERT_LE(share.nominal, share.max);
        ASSERT_LE(share.max, capacity[type]);
        const auto &quota = asked.tenants[tenant].quota;
        if (const auto found = quota.find(made.types[type]); found != quota.end()) {
          ASSERT_LE(share.max, found->second);
        }
        nominal += share.nominal;
        max += share.max;
      }
      ASSERT_EQ(nominal, std::min(capacity[type], max)); // all of a type is somebody's, as far as quotas let it
    }
    for (size_t tenant = 0; tenant < asked.tenants.size(); ++tenant)
      if (const auto all = asked.tenants[tenant].quota.find(""); all != asked.tenants[tenant].quota.end()) {
        int64_t sum = 0;
        for (const TenantShare &share : (*shares)[tenant])
          sum += share.max;
        ASSERT_LE(sum, all->second);
      }
    const auto kueue = kueueText(asked, made);
    const auto slurm = slurmAccountsText(asked, made);
    ASSERT_TRUE(kueue && slurm);
    ASSERT_EQ(count(*kueue, "kind: ClusterQueue"), asked.tenants.size());
    ASSERT_EQ(count(*kueue, "kind: ResourceFlavor"), types);
    for (const JobsRequest::Tenant &tenant : asked.tenants) {
      ASSERT_EQ(count(*kueue, "clusterQueue: \"" + tenant.name + "\"\n"), 1u);
      ASSERT_EQ(count(*slurm, "\nadd account " + tenant.name + " "), 1u);
    }
  }
}

TEST(TenantShares, FollowsWeights) {
  JobsRequest asked;
  asked.tenants = {{"a", 1, {}, {}}, {"b", 1, {}, {}}, {"c", 1, {}, {}}};
  const Cluster ten{{"g"}, {{0, 10}}};
  auto nominal = [&] {
    const auto shares = tenantShares(asked, ten);
    std::vector<int64_t> all;
    for (const auto &row : *shares)
      all.push_back(row[0].nominal);
    return all;
  };
  EXPECT_EQ(nominal(), (std::vector<int64_t>{4, 3, 3}));
  asked.tenants[1].weight = 8;
  EXPECT_EQ(nominal(), (std::vector<int64_t>{1, 8, 1}));
  asked.tenants[1].quota["g"] = 2; // what it cannot hold is divided among the others
  EXPECT_EQ(nominal(), (std::vector<int64_t>{4, 2, 4}));
}

TEST(TenantShares, RefusesWhatCannotBe) {
  JobsRequest asked = request();
  auto error = [&](const Cluster &on) {
    const auto shares = tenantShares(asked, on);
    EXPECT_FALSE(shares);
    return shares ? std::string() : shares.error().message;
  };
  EXPECT_NE(error({{"a100"}, {{0, 4}}}).find("quota of 'h100', but the cluster has 'a100'"), std::string::npos);
  EXPECT_NE(error({{"h100"}, {}}).find("no devices"), std::string::npos);
  asked.tenants[1].weight = 0;
  EXPECT_NE(error(cluster()).find("weight 0"), std::string::npos);
  asked.tenants[1].weight = 1;
  asked.tenants[1].quota["h100"] = -1;
  EXPECT_NE(error(cluster()).find("quota of -1"), std::string::npos);
  asked.tenants.clear();
  EXPECT_NE(error(cluster()).find("no tenants"), std::string::npos);
}

TEST(QueueNames, AreValidAndDifferent) {
  SplitMix random(3);
  QueueNames names("t-", 12, {"root", "default"});
  std::set<std::string> taken;
  std::set<std::string> texts{"root", "ROOT", "Root", "default", "", "-", "1", "a b", "a-b", "a--b", "a-b-2", "a b!"};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (uint64_t length = random.below(16); length > 0; --length)
      text += static_cast<char>(random.below(3) ? 'a' + random.below(2) : random.below(256));
    texts.insert(text);
  }
  for (const std::string &text : texts) {
    const std::string name = names.of(text);
    ASSERT_EQ(names.of(text), name);
    ASSERT_TRUE(taken.insert(name).second) << name;
    ASSERT_FALSE(name.empty());
    ASSERT_LE(name.size(), 12u);
    ASSERT_TRUE(name[0] >= 'a' && name[0] <= 'z') << name;
    ASSERT_NE(name.back(), '-');
    ASSERT_NE(name, "root");
    for (char c : name)
      ASSERT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') << name;
  }
  EXPECT_EQ(QueueNames("t-", 63, {}).of("nlp"), "nlp");
  EXPECT_NE(names.comments().find("# 'ROOT' is called "), std::string::npos);
}

} // namespace
} // namespace accord::jobs
