#include "lib/driver/service/ClusterDescription.h"
#include "lib/driver/JobTarget.h"
#include "lib/jobs/schedule/ScheduleBuilder.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace accord {
namespace {

bool hasJobs(llvm::StringRef file) { return file.ends_with(".dnn"); }

/// The devices of the cluster of a workspace.
void takeDevices(const JobTarget &target, ClusterDescription &made) {
  for (const Cluster &group : target.groups().groups) {
    made.types.push_back(group.machine.name);
    made.pricePerHour.push_back(group.pricePerHour);
    if (group.machine.tdp.value > 0)
      made.watts[group.machine.name] = group.machine.tdp.value;
    for (int64_t server = 0; server < group.servers; ++server)
      made.servers.emplace_back(group.machine.name, group.devicesPerNode);
  }
}

/// What the block says that its cluster cannot be: it would spoil every plan.
Errors wrongFor(const ClusterDescription &described) {
  jobs::JobsRequest request = described.operation;
  request.slot = request.horizon = 0; // plans have their own
  jobs::Cluster cluster;
  for (const auto &[type, devices] : described.servers) {
    const auto at = std::ranges::find(cluster.types, type);
    const auto number = static_cast<unsigned>(at - cluster.types.begin());
    if (at == cluster.types.end())
      cluster.types.push_back(type);
    cluster.servers.push_back({number, static_cast<unsigned>(devices)});
  }
  auto built = jobs::buildJobSchedule(request, cluster, {});
  return built ? Errors() : std::move(built.error());
}

} // namespace

std::optional<ClusterDescription> readClusterDescription(const Options &given) {
  Options options = given;
  options.elaborate.clusters = options.elaborate.placement = true;
  const llvm::StringRef asked = given.file;
  ClusterDescription made;
  if (!hasJobs(asked)) {
    const auto [file, name] = asked.contains(".accel:") ? asked.rsplit(':') : std::pair(asked, llvm::StringRef());
    options.file = file.str();
    options.elaborate.target = asked.str();
    made.target = asked.str();
  }
  Workspace workspace(options);
  JobTarget target(workspace);
  auto fail = [&] {
    workspace.finish(kWrongInput, "serve");
    return std::nullopt;
  };
  if (!workspace.read() || workspace.diagnostics().hasErrors())
    return fail();
  if (hasJobs(asked)) {
    auto request = workspace.program().jobs();
    if (!request || workspace.diagnostics().hasErrors())
      return fail();
    made.operation = std::move(*request);
    made.operation.jobs.clear();
    made.name = made.operation.name;
    if (made.operation.cluster.empty()) {
      workspace.report({Code::WrongJobsBlock, "nothing says which cluster the jobs share", made.operation.location},
                       "jobs NAME on CLUSTER { … }");
      return fail();
    }
    made.target = given.file + ":" + made.operation.cluster;
  }
  const std::string cluster = hasJobs(asked) ? made.operation.cluster : made.target;
  if (!target.prepareCluster(cluster, rangeOf(workspace.diagnostics(), made.operation.clusterAt)) ||
      workspace.diagnostics().hasErrors())
    return fail();
  if (!hasJobs(asked))
    made.name = target.name();
  takeDevices(target, made);
  if (hasJobs(asked)) {
    const Errors errors = wrongFor(made);
    for (const Error &error : errors)
      workspace.report(error);
    if (!errors.empty())
      return fail();
  }
  return made;
}

} // namespace accord
