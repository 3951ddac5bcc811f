// The published traces and throughputs of Gavel, where they are beside the checkout or in $ACCORD_DATA.
#pragma once
#include "lib/import/jobs/GavelThroughputs.h"
#include "lib/import/jobs/GavelTrace.h"
#include "test/support/SharedData.h"
#include <fstream>
#include <sstream>

namespace accord::testing {

/// The text of a file of Gavel; empty if it is not there.
inline std::string gavelFile(const std::string &name) {
  std::ifstream file(sharedData("gavel") / name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Servers with one device each: so many V100, P100 and K80.
inline jobs::Cluster gavelCluster(const std::vector<unsigned> &counts) {
  jobs::Cluster cluster;
  const char *names[] = {"v100", "p100", "k80"};
  for (unsigned type = 0; type < counts.size(); ++type) {
    cluster.types.push_back(names[type]);
    for (unsigned i = 0; i < counts[type]; ++i)
      cluster.servers.push_back({type, 1});
  }
  return cluster;
}

/// The jobs of a published trace; empty if its files are not there.
inline std::vector<jobs::SteadyJob> gavelJobs(const jobs::Cluster &cluster, const std::string &name) {
  const auto table = jobs::readGavelThroughputs(gavelFile("physical_cluster_throughputs.json"), "rates.json");
  const auto trace = jobs::readGavelTrace(gavelFile("traces/" + name + ".trace"), name);
  std::vector<jobs::SteadyJob> made;
  if (!table || !trace)
    return made;
  for (const jobs::GavelJob &job : *trace)
    made.push_back({std::to_string(job.line), job.application, job.arrival, job.steps, job.gang, job.weight, 0,
                    table->ratesOn(cluster.types, job.application, job.gang)});
  return made;
}

constexpr const char *kNoGavel = "no traces of Gavel beside the checkout or in ACCORD_DATA";

} // namespace accord::testing
