#include "lib/jobs/schedule/ScheduleBuilder.h"
#include "lib/jobs/problem/JobBatches.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::jobs {
namespace {

constexpr double kSpeedUnits = 1 << 14; ///< of the slowest configuration: the precision of speeds
constexpr double kDefaultRestart = 120; ///< seconds
constexpr int64_t kDefaultSlots = 96;   ///< at most so many where no length of a slot is stated
constexpr double kShareScale = 1000;    ///< of weights that are no whole numbers
constexpr double kMicro = 1e6;
constexpr double kNiceSlots[] = {60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800};

constexpr double kMaxNumber = static_cast<double>(kMaxAllocationNumber);
int64_t roundUp(double value) { return static_cast<int64_t>(std::ceil(std::clamp(value, 0.0, kMaxNumber))); }
int64_t roundDown(double value) { return static_cast<int64_t>(std::floor(std::clamp(value, 0.0, kMaxNumber))); }

/// The smallest amount that steps have between two times.
double minOf(const Steps &steps, double from, double until) {
  double min = -1;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double begin = steps[i].first, end = i + 1 < steps.size() ? steps[i + 1].first : until + 1;
    if (begin < until && end > from && (min < 0 || steps[i].second < min))
      min = steps[i].second;
  }
  return std::max(min, 0.0);
}
/// The mean amount between two times.
double meanOf(const Steps &steps, double from, double until) {
  double sum = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double begin = std::max(steps[i].first, from),
                 end = std::min(i + 1 < steps.size() ? steps[i + 1].first : until, until);
    if (end > begin)
      sum += steps[i].second * (end - begin);
  }
  return sum / (until - from);
}

class Builder {
public:
  Builder(const JobsRequest &request, const Cluster &cluster, const std::vector<JobTable> &tables)
      : request(request), cluster(cluster), tables(tables) {}

  Result<BuiltSchedule, Errors> run() {
    checkNames();
    checkTables();
    if (errors.empty())
      setTime();
    if (!errors.empty())
      return std::move(errors);
    setWeights();
    addResources();
    for (size_t job = 0; job < request.jobs.size(); ++job)
      addJob(job);
    addDependences();
    addObjectives();
    if (!errors.empty())
      return std::move(errors);
    if (auto checked = checkJobScheduleProblem(out.problem); !checked)
      return Errors{{checked.error().code, checked.error().message, request.location}};
    return std::move(out);
  }

private:
  void fail(const SourceLocation &at, std::string message) {
    errors.push_back({Code::WrongJobsBlock, std::move(message), at});
  }

  std::optional<unsigned> typeOf(const std::string &name) const {
    for (unsigned t = 0; t < cluster.types.size(); ++t)
      if (cluster.types[t] == name)
        return t;
    return std::nullopt;
  }
  void checkType(const std::string &name, const SourceLocation &at) {
    if (!typeOf(name))
      fail(at, fmt::format("cluster '{}' has no devices '{}', it has {}", request.cluster, name, typeNames()));
  }
  void checkMaintenance(const JobsRequest::Maintenance &one) {
    checkType(one.deviceType, one.location);
    for (unsigned server : one.servers)
      if (server >= cluster.servers.size())
        fail(one.location, fmt::format("cluster '{}' has no server {}, its {} servers are numbered from 0",
                                       request.cluster, server, cluster.servers.size()));
      else if (const std::string &has = cluster.types[cluster.servers[server].type]; has != one.deviceType)
        fail(one.location, fmt::format("server {} of cluster '{}' has devices '{}', not '{}'", server, request.cluster,
                                       has, one.deviceType));
  }
  std::string typeNames() const {
    std::string all;
    for (const std::string &name : cluster.types)
      all += (all.empty() ? "'" : ", '") + name + "'";
    return all;
  }

  void checkNames() {
    for (const JobsRequest::Tenant &tenant : request.tenants)
      for (const auto &[type, quota] : tenant.quota)
        if (!type.empty())
          checkType(type, tenant.location);
    for (const JobsRequest::Capacity &capacity : request.capacities)
      if (capacity.resource != "power" && capacity.resource != "carbon")
        checkType(capacity.resource, capacity.location);
    for (const JobsRequest::Maintenance &one : request.maintenances)
      checkMaintenance(one);
    for (const JobsRequest::Job &job : request.jobs)
      for (const std::string &type : job.deviceTypes)
        checkType(type, job.location);
  }

  void checkTables() {
    for (size_t j = 0; j < request.jobs.size(); ++j) {
      const JobsRequest::Job &job = request.jobs[j];
      if (!(tables[j].samples >= 0) || std::isinf(tables[j].samples))
        fail(job.location, fmt::format("the work of job '{}' is {} samples", job.name, tables[j].samples));
      else if (tables[j].samples > 0 && usableRows(j).empty())
        fail(job.location, fmt::format("job '{}' has no configuration: {}", job.name,
                                       tables[j].reason.empty() ? "none is within its devices, types and quality"
                                                                : tables[j].reason));
    }
  }

  /// Samples at the training's own batch that a row replaces in a second.
  static double rateAt(const TableRow &row, double noise) {
    return noise > 0 && row.batch != row.ownBatch ? row.rate * sampleEfficiency(noise, row.ownBatch, row.batch)
                                                  : row.rate;
  }

  /// Rows that a job may use, without those that are dominated at its gradient noise, by type, then devices.
  std::vector<unsigned> usableRows(size_t j, double noise = 0) const {
    const JobsRequest::Job &job = request.jobs[j];
    const std::vector<TableRow> &rows = tables[j].rows;
    std::vector<unsigned> usable;
    for (unsigned i = 0; i < rows.size(); ++i) {
      const TableRow &row = rows[i];
      const bool isAllowed = job.deviceTypes.empty() || std::find(job.deviceTypes.begin(), job.deviceTypes.end(),
                                                                  cluster.types[row.type]) != job.deviceTypes.end();
      if (isAllowed && row.rate > 0 && row.devices >= job.minDevices &&
          (job.maxDevices == 0 || row.devices <= job.maxDevices) && row.quality >= job.minQuality)
        usable.push_back(i);
    }
    std::erase_if(usable, [&](unsigned i) {
      return std::any_of(usable.begin(), usable.end(), [&](unsigned k) {
        const bool isChange = job.elasticity == Elasticity::Malleable;
        return k != i && (!isChange || rows[k].family == rows[i].family) && dominates(rows[k], rows[i], noise, k < i);
      });
    });
    std::sort(usable.begin(), usable.end(), [&](unsigned a, unsigned b) {
      return std::pair(rows[a].type, rows[a].devices) < std::pair(rows[b].type, rows[b].devices) ||
             (std::pair(rows[a].type, rows[a].devices) == std::pair(rows[b].type, rows[b].devices) && a < b);
    });
    return usable;
  }
  static bool dominates(const TableRow &a, const TableRow &b, double noise, bool isFirst) {
    const double rateA = rateAt(a, noise), rateB = rateAt(b, noise);
    if (a.type != b.type || rateA < rateB || a.devices > b.devices || a.watts > b.watts || a.price > b.price)
      return false;
    const bool isEqual = rateA == rateB && a.devices == b.devices && a.watts == b.watts && a.price == b.price;
    return !isEqual || isFirst;
  }

  static double shareOf(const std::vector<JobPhase> &phases, size_t phase) {
    return (phase + 1 < phases.size() ? phases[phase + 1].from : 1) - phases[phase].from;
  }
  double restartOf(const JobsRequest::Job &job) const { return job.restart >= 0 ? job.restart : kDefaultRestart; }

  void setTime() {
    double last = 0, alone = 0;
    bool isAssumed = false;
    for (size_t j = 0; j < request.jobs.size(); ++j) {
      const JobsRequest::Job &job = request.jobs[j];
      isAssumed |= job.restart < 0;
      last = std::max(last, job.arrival);
      const std::vector<JobPhase> phases = phasesOf(job);
      for (size_t phase = 0; phase < phases.size(); ++phase) {
        double rate = 0;
        for (unsigned i : usableRows(j, phases[phase].noise))
          rate = std::max(rate, rateAt(tables[j].rows[i], phases[phase].noise) * phases[phase].factor);
        if (rate > 0)
          alone += shareOf(phases, phase) * tables[j].samples / rate + restartOf(job);
      }
    }
    if (isAssumed)
      out.assumptions.push_back(fmt::format("restart = {:.0f} s, where none is stated", kDefaultRestart));
    double horizon = request.horizon > 0 ? request.horizon : last + alone, slot = request.slot;
    if (slot <= 0) {
      slot = *std::find_if(std::begin(kNiceSlots), std::end(kNiceSlots) - 1,
                           [&](double one) { return horizon <= one * kDefaultSlots; });
      out.assumptions.push_back(fmt::format("period = {:.0f} min: none is stated", slot / 60));
    }
    if (request.horizon <= 0) {
      horizon += slot * static_cast<double>(request.jobs.size() + 1); // each may end within a slot
      out.assumptions.push_back(fmt::format("horizon = {:.1f} h, in which all jobs could run one after the other",
                                            std::ceil(horizon / slot) * slot / 3600));
    }
    out.problem.slot = std::max<int64_t>(1, roundDown(slot));
    const double slots = std::ceil(horizon / static_cast<double>(out.problem.slot));
    if (slots > kMaxSlots)
      return fail(request.location,
                  fmt::format("a horizon of {:.1f} h has {:.0f} periods of {:.1f} min, at most {} are planned",
                              horizon / 3600, slots, static_cast<double>(out.problem.slot) / 60, kMaxSlots));
    out.problem.slots = std::max<int64_t>(1, static_cast<int64_t>(slots));
  }

  void setWeights() {
    for (const JobsRequest::Job &job : request.jobs)
      if (job.priority != std::floor(job.priority))
        out.weightScale = kShareScale;
  }

  /// Device types, power, then quotas of tenants.
  void addResources() {
    JobScheduleProblem &problem = out.problem;
    const std::vector<int64_t> all = cluster.capacity();
    for (unsigned t = 0; t < cluster.types.size(); ++t)
      problem.resources.push_back({cluster.types[t], std::vector<int64_t>(problem.slots, all[t])});
    for (const JobsRequest::Capacity &capacity : request.capacities)
      if (capacity.resource == "carbon")
        setCarbon(capacity.steps);
      else
        limitCapacity(capacity, all);
    closeServers();
    for (const JobsRequest::Maintenance &one : request.maintenances)
      if (one.servers.empty())
        maintain(one);
    for (const JobsRequest::Tenant &tenant : request.tenants)
      for (const auto &[type, quota] : tenant.quota) {
        quotas.push_back({tenant.name, type, problem.resources.size()});
        problem.resources.push_back({fmt::format("{} of tenant '{}'", type.empty() ? "devices" : type, tenant.name),
                                     std::vector<int64_t>(problem.slots, quota)});
      }
    const bool areWhole = std::all_of(request.tenants.begin(), request.tenants.end(),
                                      [](const auto &tenant) { return tenant.weight == std::floor(tenant.weight); });
    for (const JobsRequest::Tenant &tenant : request.tenants)
      problem.groups.push_back(
          {tenant.name, std::max<int64_t>(1, roundUp(tenant.weight * (areWhole ? 1 : kShareScale)))});
  }
  void limitCapacity(const JobsRequest::Capacity &capacity, const std::vector<int64_t> &all) {
    JobScheduleProblem &problem = out.problem;
    const auto type = typeOf(capacity.resource);
    if (!type) {
      power = problem.resources.size();
      problem.resources.push_back({"power", std::vector<int64_t>(problem.slots, 0)});
    }
    SlotResource &resource = problem.resources[type ? *type : *power];
    for (int64_t slot = 0; slot < problem.slots; ++slot)
      resource.capacity[slot] = roundDown(minOf(capacity.steps, begin(slot), begin(slot + 1)));
    if (type && *std::max_element(resource.capacity.begin(), resource.capacity.end()) > all[*type])
      fail(capacity.location, fmt::format("capacity of '{}' is up to {}, cluster '{}' has {}", capacity.resource,
                                          *std::max_element(resource.capacity.begin(), resource.capacity.end()),
                                          request.cluster, all[*type]));
  }
  /// A server is away in each slot that one of its maintenances has a part of, however many do.
  void closeServers() {
    JobScheduleProblem &problem = out.problem;
    std::vector<int64_t> away(cluster.types.size() * problem.slots, 0);
    std::set<unsigned> named;
    for (const JobsRequest::Maintenance &one : request.maintenances)
      named.insert(one.servers.begin(), one.servers.end());
    for (unsigned server : named)
      for (int64_t slot = 0; slot < problem.slots; ++slot) {
        if (std::none_of(request.maintenances.begin(), request.maintenances.end(), [&](const auto &one) {
              return begin(slot + 1) > one.from && begin(slot) < one.until &&
                     std::find(one.servers.begin(), one.servers.end(), server) != one.servers.end();
            }))
          continue;
        away[cluster.servers[server].type * problem.slots + slot] += cluster.servers[server].devices;
        if (!out.absences.empty() && out.absences.back().server == server && out.absences.back().end == slot)
          ++out.absences.back().end;
        else
          out.absences.push_back({server, slot, slot + 1});
      }
    const std::vector<int64_t> all = cluster.capacity();
    for (unsigned type = 0; type < cluster.types.size(); ++type)
      for (int64_t slot = 0; slot < problem.slots; ++slot) {
        int64_t &capacity = problem.resources[type].capacity[slot];
        capacity = std::min(capacity, all[type] - away[type * problem.slots + slot]);
      }
  }
  void maintain(const JobsRequest::Maintenance &one) {
    SlotResource &resource = out.problem.resources[*typeOf(one.deviceType)];
    for (int64_t slot = 0; slot < out.problem.slots; ++slot)
      if (begin(slot + 1) > one.from && begin(slot) < one.until)
        resource.capacity[slot] = std::max<int64_t>(0, resource.capacity[slot] - one.devices);
  }
  void setCarbon(const Steps &steps) {
    for (int64_t slot = 0; slot < out.problem.slots; ++slot)
      out.problem.carbon.push_back(roundUp(kMicro * meanOf(steps, begin(slot), begin(slot + 1))));
  }
  double begin(int64_t slot) const { return static_cast<double>(slot * out.problem.slot); }

  void addJob(size_t j) {
    const JobsRequest::Job &job = request.jobs[j];
    const std::vector<JobPhase> phases = phasesOf(job);
    firstPart.push_back(out.problem.jobs.size());
    for (unsigned phase = 0; phase < phases.size(); ++phase)
      addPart(j, phase, phases.size(), shareOf(phases, phase) * tables[j].samples, phases[phase]);
  }

  void addPart(size_t j, unsigned phase, unsigned phases, double samples, const JobPhase &in) {
    const JobsRequest::Job &job = request.jobs[j];
    const bool isLast = phase + 1 == phases;
    ScheduledJob made;
    made.name = phases == 1 ? job.name : fmt::format("{} (phase {} of {})", job.name, phase + 1, phases);
    made.arrival = roundUp(job.arrival);
    if (isLast) {
      made.deadline = job.deadline < 0 ? -1 : roundDown(job.deadline);
      made.due = job.due < 0 ? -1 : roundDown(job.due);
      made.latePrice = roundUp(job.latePrice * kMicro);
    }
    made.weight = isLast ? std::max<int64_t>(1, roundUp(job.priority * out.weightScale)) : 0;
    made.elasticity = job.elasticity;
    made.restart = roundUp(restartOf(job));
    made.mayBeRejected = job.optional;
    made.mayContinue = job.continues;
    made.maxRestarts = job.maxRestarts;
    for (unsigned g = 0; g < request.tenants.size(); ++g)
      if (request.tenants[g].name == job.tenant)
        made.groups.push_back(g);
    if (phase > 0)
      made.after.push_back(static_cast<unsigned>(out.problem.jobs.size() - 1));
    ScheduledPart part{j, phase, phases, {}, samples, in.noise};
    if (samples > 0)
      part.rows = usableRows(j, in.noise);
    setWork(made, part, j, in.factor);
    out.problem.jobs.push_back(std::move(made));
    out.parts.push_back(std::move(part));
  }

  void setWork(ScheduledJob &made, const ScheduledPart &part, size_t j, double factor) {
    made.work = 0;
    if (part.samples <= 0)
      return;
    double slowest = 0;
    for (unsigned i : part.rows)
      if (const double rate = rateAt(tables[j].rows[i], part.noise) * factor; slowest == 0 || rate < slowest)
        slowest = rate;
    const double unit = std::max(slowest / kSpeedUnits, part.samples / 0x1p39);
    made.work = std::max<int64_t>(1, roundUp(part.samples / unit));
    for (unsigned i : part.rows) {
      const TableRow &row = tables[j].rows[i];
      JobConfiguration one;
      one.name = nameOf(row);
      one.family = row.family;
      one.speed = std::max<int64_t>(1, roundDown(rateAt(row, part.noise) * factor / unit));
      one.watts = roundUp(row.watts);
      one.price = roundUp(row.price * kMicro);
      one.uses.push_back({row.type, row.devices});
      if (power && one.watts > 0)
        one.uses.push_back({static_cast<unsigned>(*power), one.watts});
      for (const Quota &quota : quotas)
        if (quota.tenant == request.jobs[j].tenant && (quota.type.empty() || quota.type == cluster.types[row.type]))
          one.uses.push_back({static_cast<unsigned>(quota.resource), row.devices});
      std::sort(one.uses.begin(), one.uses.end());
      made.configurations.push_back(std::move(one));
    }
    made.isolated = isolatedOf(made, part, j);
  }

  /// "8 h100 as small at batch 512": different for all rows of a job.
  std::string nameOf(const TableRow &row) const {
    return fmt::format("{} {}{}{}{}", row.devices, cluster.types[row.type], row.level.empty() ? "" : " at " + row.level,
                       row.choice.empty() ? "" : " as " + row.choice,
                       row.batch == row.ownBatch ? "" : fmt::format(" at batch {}", row.batch));
  }

  /// Seconds that a job would take alone on an equal part of the cluster.
  int64_t isolatedOf(const ScheduledJob &made, const ScheduledPart &part, size_t j) const {
    const std::vector<int64_t> all = cluster.capacity();
    int64_t best = 0, smallest = 0;
    for (size_t k = 0; k < part.rows.size(); ++k) {
      const TableRow &row = tables[j].rows[part.rows[k]];
      if (row.devices <= all[row.type] / static_cast<int64_t>(request.jobs.size()))
        best = std::max(best, made.configurations[k].speed);
      if (smallest == 0 || row.devices < tables[j].rows[part.rows[smallest - 1]].devices)
        smallest = static_cast<int64_t>(k) + 1;
    }
    if (best == 0)
      best = made.configurations[smallest - 1].speed;
    return std::min(kMaxSeconds, made.restart + (made.work + best - 1) / best);
  }

  /// The first phase of a job is after the last phases of those that it names.
  void addDependences() {
    for (size_t j = 0; j < request.jobs.size(); ++j)
      for (const std::string &name : request.jobs[j].after)
        for (size_t k = 0; k < request.jobs.size(); ++k)
          if (request.jobs[k].name == name)
            out.problem.jobs[firstPart[j]].after.push_back(
                static_cast<unsigned>((k + 1 < firstPart.size() ? firstPart[k + 1] : out.problem.jobs.size()) - 1));
    for (ScheduledJob &job : out.problem.jobs) {
      std::sort(job.after.begin(), job.after.end());
      job.after.erase(std::unique(job.after.begin(), job.after.end()), job.after.end());
    }
  }

  void addObjectives() {
    std::vector<JobMeasure> &objectives = out.problem.objectives;
    for (const JobsRequest::Objective &one : request.objectives)
      objectives.push_back(one.measure);
    if (objectives.empty()) {
      objectives.push_back(JobMeasure::Completion);
      out.assumptions.push_back("minimize mean_completion: no objective is stated");
    }
    const bool someMayContinue =
        std::any_of(request.jobs.begin(), request.jobs.end(), [](const auto &job) { return job.continues; });
    if (someMayContinue &&
        std::find(objectives.begin(), objectives.end(), JobMeasure::Unfinished) == objectives.end()) {
      objectives.insert(objectives.begin(), JobMeasure::Unfinished);
      out.assumptions.push_back("as much work as possible is done (goodput), before all other objectives");
    }
    const bool someMayBeRejected =
        std::any_of(request.jobs.begin(), request.jobs.end(), [](const JobsRequest::Job &job) { return job.optional; });
    if (someMayBeRejected &&
        std::find(objectives.begin(), objectives.end(), JobMeasure::Rejected) == objectives.end()) {
      objectives.insert(objectives.begin(), JobMeasure::Rejected);
      out.assumptions.push_back("as few optional jobs as possible are left out, before all other objectives");
    }
    out.problem.tail = roundDown(request.tailShare * static_cast<double>(request.jobs.size()));
    for (const JobsRequest::Limit &limit : request.limits)
      out.problem.limits.push_back({limit.measure, limitOf(limit)});
  }

  int64_t limitOf(const JobsRequest::Limit &limit) const {
    double weights = 0;
    for (const ScheduledJob &job : out.problem.jobs)
      weights += static_cast<double>(job.weight);
    switch (limit.measure) {
    case JobMeasure::Completion:
      return roundDown(limit.max * weights);
    case JobMeasure::Rejected:
      return roundDown(limit.max * out.weightScale);
    case JobMeasure::Lateness:
    case JobMeasure::Price:
    case JobMeasure::Carbon:
      return roundDown(limit.max * kMicro);
    case JobMeasure::Slowdown:
      return roundDown(limit.max * kShareScale);
    case JobMeasure::Unfinished: // a share has as many digits as millionths
      return roundDown(std::round(limit.max * kMicro) * weights);
    default:
      return roundDown(limit.max);
    }
  }

  struct Quota {
    std::string tenant, type;
    size_t resource = 0;
  };

  const JobsRequest &request;
  const Cluster &cluster;
  const std::vector<JobTable> &tables;
  BuiltSchedule out;
  Errors errors;
  std::optional<size_t> power; ///< resource
  std::vector<Quota> quotas;
  std::vector<size_t> firstPart; ///< of each job of the request
};

} // namespace

std::vector<int64_t> deviceCounts(const Cluster &cluster, unsigned type, int64_t min, int64_t max) {
  const int64_t server = cluster.largestServer(type), all = cluster.capacity()[type];
  std::vector<int64_t> counts;
  auto add = [&](int64_t count) {
    if (count >= min && (max == 0 || count <= max) && count <= all)
      counts.push_back(count);
  };
  for (int64_t count = 1; count < server; count *= 2)
    add(count);
  for (int64_t servers = 1; server > 0 && servers <= all / server; servers = servers < 16 ? servers + 1 : servers * 2)
    add(servers * server);
  if (counts.empty() && min == max && min <= all)
    counts.push_back(min); // what is asked for
  return counts;
}

Result<BuiltSchedule, Errors> buildJobSchedule(const JobsRequest &request, const Cluster &cluster,
                                               const std::vector<JobTable> &tables) {
  return Builder(request, cluster, tables).run();
}

} // namespace accord::jobs
