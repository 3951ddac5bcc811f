#include "lib/service/control/MomentPlanner.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/solve/ServerPacking.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::service {
namespace {
using namespace jobs;

/// Values of an allocation are whole numbers from 0 to this.
constexpr double kValueScale = 1e9;
constexpr double kGap = 1e-3;
constexpr double kDefaultRestart = 120; ///< seconds

double amountAt(const Steps &steps, double time) {
  double amount = 0;
  for (const auto &[from, value] : steps)
    if (from <= time)
      amount = value;
  return amount;
}

class MomentPlanner {
public:
  MomentPlanner(const PlannerInput &input, const PlannerOptions &options)
      : input(input), options(options), cluster(input.cluster), picked(jobsByTurn(input, options.maxMoment)) {}

  ClusterPlan run() {
    plan.at = input.at;
    std::erase_if(picked, [](const PlannerJob *job) { return !job->after.empty(); });
    resources();
    for (const PlannerJob *job : picked)
      addJob(*job);
    keepWhatRuns();
    scale();
    SearchLimits limits = options.limits;
    limits.gap = kGap;
    solution = solveAllocation(problem, limits);
    fill();
    place();
    explain();
    return std::move(plan);
  }

private:
  void resources() {
    for (const ServerAway &away : input.outages)
      if (away.from <= input.at && away.until > input.at)
        cluster.servers[away.server].devices = 0;
    const auto at = static_cast<double>(input.at);
    for (const JobsRequest::Maintenance &one : input.operation.maintenances)
      if (one.from <= at && at < one.until && areThere(one))
        for (unsigned server : one.servers)
          cluster.servers[server].devices = 0;
    problem.capacity = cluster.capacity();
    for (const JobsRequest::Maintenance &one : input.operation.maintenances)
      if (one.from <= at && at < one.until)
        for (size_t type = 0; type < cluster.types.size() && one.servers.empty(); ++type)
          if (cluster.types[type] == one.deviceType)
            problem.capacity[type] = std::max<int64_t>(0, problem.capacity[type] - one.devices);
    for (const JobsRequest::Capacity &capacity : input.operation.capacities) {
      const auto amount = static_cast<int64_t>(amountAt(capacity.steps, at));
      for (size_t type = 0; type < cluster.types.size(); ++type)
        if (cluster.types[type] == capacity.resource)
          problem.capacity[type] = std::min(problem.capacity[type], amount);
      if (capacity.resource == kPowerResource) {
        power = problem.capacity.size();
        problem.capacity.push_back(amount);
      }
    }
    for (const JobsRequest::Tenant &tenant : input.operation.tenants)
      for (const auto &[type, quota] : tenant.quota) {
        quotas.push_back({tenant.name, type, problem.capacity.size()});
        problem.capacity.push_back(quota);
      }
  }

  /// Whether the servers of a maintenance are those that the description speaks of.
  bool areThere(const JobsRequest::Maintenance &one) const {
    return std::ranges::all_of(one.servers, [&](unsigned server) {
      return server < cluster.servers.size() && cluster.types[cluster.servers[server].type] == one.deviceType;
    });
  }

  std::vector<ResourceUse> usesOf(const PlannerJob &job, const TableRow &row) const {
    std::vector<ResourceUse> uses{{row.type, row.devices}};
    if (power && row.watts > 0)
      uses.push_back({static_cast<unsigned>(*power), static_cast<int64_t>(std::ceil(row.watts))});
    for (const auto &[tenant, type, resource] : quotas)
      if (tenant == job.model->request.tenant && (type.empty() || type == cluster.types[row.type]))
        uses.push_back({static_cast<unsigned>(resource), row.devices});
    return uses;
  }

  bool isWhere(const PlannerJob &job, const TableRow &row) const {
    return job.state.running && row.devices == job.state.devices && cluster.types[row.type] == job.state.deviceType;
  }

  void addJob(const PlannerJob &job) {
    const bool stays = job.staysAsItIs();
    AllocationJob &made = problem.jobs.emplace_back();
    std::vector<unsigned> &of = rows.emplace_back();
    std::vector<double> &own = values.emplace_back();
    if (stays) // what it holds is taken, whatever its table says now
      made.mayWait = false;
    for (unsigned i = 0; i < job.model->table.rows.size(); ++i) {
      const TableRow &row = job.model->table.rows[i];
      const double rate = row.rate * job.state.pace;
      if (rate <= 0 || (stays && !isWhere(job, row)) || job.notBefore > static_cast<double>(input.at))
        continue;
      const double restart = isWhere(job, row)                 ? 0
                             : job.model->request.restart >= 0 ? job.model->request.restart
                                                               : kDefaultRestart;
      const double left = std::max(0.0, job.work - job.state.done) / rate + restart;
      own.push_back(job.model->request.priority / std::max(1.0, left));
      of.push_back(i);
      made.configurations.push_back({0, usesOf(job, row)});
    }
    if (made.configurations.empty())
      made.mayWait = true;
  }

  /// What runs and cannot move goes on, whatever was limited meanwhile.
  void keepWhatRuns() {
    std::vector<int64_t> held(problem.capacity.size(), 0);
    for (const AllocationJob &job : problem.jobs)
      if (!job.mayWait) {
        std::vector<int64_t> max(held.size(), 0);
        for (const Configuration &one : job.configurations)
          for (const ResourceUse &use : one.uses)
            max[use.resource] = std::max(max[use.resource], use.amount);
        for (size_t resource = 0; resource < held.size(); ++resource)
          held[resource] += max[resource];
      }
    for (size_t resource = 0; resource < held.size(); ++resource)
      problem.capacity[resource] = std::max(problem.capacity[resource], held[resource]);
  }

  void scale() {
    double best = 0;
    for (const std::vector<double> &own : values)
      for (double value : own)
        best = std::max(best, value);
    for (size_t j = 0; j < problem.jobs.size() && best > 0; ++j)
      for (size_t k = 0; k < values[j].size(); ++k)
        problem.jobs[j].configurations[k].value = std::max<int64_t>(1, std::llround(values[j][k] / best * kValueScale));
  }

  /// An allocation within the gap may leave devices free that a job of little value could have.
  void fill() {
    solution.choice.resize(problem.jobs.size(), -1);
    std::vector<int64_t> left = problem.capacity;
    auto fits = [&](const Configuration &one) {
      return std::ranges::all_of(one.uses, [&](const ResourceUse &use) { return use.amount <= left[use.resource]; });
    };
    auto take = [&](const Configuration &one) {
      for (const ResourceUse &use : one.uses)
        left[use.resource] -= use.amount;
    };
    for (size_t j = 0; j < problem.jobs.size(); ++j)
      if (solution.choice[j] >= 0)
        take(problem.jobs[j].configurations[solution.choice[j]]);
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      if (solution.choice[j] >= 0)
        continue;
      const std::vector<Configuration> &of = problem.jobs[j].configurations;
      for (size_t k = 0; k < of.size(); ++k)
        if (fits(of[k]) && (solution.choice[j] < 0 || of[k].value > of[solution.choice[j]].value))
          solution.choice[j] = static_cast<int64_t>(k);
      if (solution.choice[j] >= 0)
        take(of[solution.choice[j]]);
    }
  }

  const TableRow *chosen(size_t j) const {
    if (j >= solution.choice.size() || solution.choice[j] < 0)
      return nullptr;
    return &picked[j]->model->table.rows[rows[j][solution.choice[j]]];
  }

  /// Jobs that cannot move keep their servers, the others share what those leave.
  void place() {
    Cluster left = cluster;
    for (const PlannerJob *job : picked)
      if (job->staysAsItIs())
        for (const ServerShare &share : job->state.servers)
          left.servers[share.server].devices -= std::min(left.servers[share.server].devices, share.devices);
    std::vector<PackingRequest> requests;
    for (size_t j = 0; j < picked.size(); ++j) {
      const TableRow *row = chosen(j);
      const bool stays = picked[j]->staysAsItIs();
      requests.push_back({row ? row->type : 0, row && !stays ? static_cast<unsigned>(row->devices) : 0,
                          stays ? JobPlacement() : picked[j]->state.servers});
    }
    const std::vector<JobPlacement> placements = packServers(left, requests);
    for (size_t j = 0; j < picked.size(); ++j) {
      const PlannerJob &job = *picked[j];
      plan.ids.push_back(job.id);
      const bool stays = job.staysAsItIs();
      const TableRow *row = chosen(j);
      if (!row || (!stays && placements[j].empty()))
        continue;
      PlannedRun run;
      run.job = job.id, run.begin = static_cast<double>(input.at);
      const double rate = row->rate * job.state.pace;
      run.end =
          run.begin + std::ceil((job.work - job.state.done) / rate + std::max(0.0, job.model->request.restart)) + 1;
      run.deviceType = cluster.types[row->type], run.devices = row->devices;
      run.servers = stays ? job.state.servers : placements[j];
      run.configuration = fmt::format("{} {}", row->devices, run.deviceType), run.plan = row->plan;
      run.rate = row->rate, run.row = static_cast<unsigned>(row - job.model->table.rows.data());
      run.isLast = true, run.goesOn = isWhere(job, *row);
      plan.ends[job.id] = run.end;
      plan.runs.push_back(std::move(run));
    }
    std::ranges::sort(plan.runs, {}, [](const PlannedRun &run) { return std::pair(run.begin, run.job); });
  }

  void explain() {
    std::set<int64_t> runs;
    for (const PlannedRun &run : plan.runs)
      runs.insert(run.job);
    size_t before = 0;
    for (const PlannerJob &job : input.jobs)
      if (!runs.contains(job.id))
        plan.waits[job.id] = job.model->table.rows.empty() ? "it has no configuration: " + job.model->table.reason
                             : !job.after.empty()
                                 ? fmt::format("it comes after job {}", job.after.front())
                                 : fmt::format("others gain more from the devices; {} jobs wait before it", before++);
  }

  const PlannerInput &input;
  const PlannerOptions &options;
  Cluster cluster;
  std::vector<const PlannerJob *> picked;
  AllocationProblem problem;
  std::optional<size_t> power;
  std::vector<std::tuple<std::string, std::string, size_t>> quotas; ///< tenant, type (empty: all), resource
  std::vector<std::vector<unsigned>> rows;                          ///< of each configuration, in the job's table
  std::vector<std::vector<double>> values;                          ///< values before they are scaled
  AllocationSolution solution;
  ClusterPlan plan;
};

} // namespace

Result<ClusterPlan, Errors> planMoment(const PlannerInput &input, const PlannerOptions &options) {
  return MomentPlanner(input, options).run();
}

} // namespace accord::service
