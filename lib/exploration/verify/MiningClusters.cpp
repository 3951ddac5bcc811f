#include "lib/exploration/verify/MiningClusters.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

using Problem = PlacementProblem;

/// A number of servers or devices; nothing: it is something else.
std::optional<double> countOf(const DesignParameter &parameter, size_t choice) {
  if (!parameter.name.ends_with(".count"))
    return std::nullopt;
  const std::string &text = parameter.spelled[choice];
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  bool whole = error == std::errc() && end == text.data() + text.size() && count > 0;
  return whole ? static_cast<double>(count) : NAN;
}

auto degrees(const Problem::Form &form) {
  return std::tuple(form.tensor, form.sequence, form.data, form.microbatch, form.expert,
                    form.tables);
}

constexpr uint64_t kAll = ~uint64_t(0);

bool slower(const std::vector<LinearTime> &now, const std::vector<LinearTime> &before) {
  for (double bytes : {1e3, 1e6, 1e9})
    if (static_cast<double>(timeOf(now, bytes)) >
        static_cast<double>(timeOf(before, bytes)) * (1 + 1e-9) + 2)
      return true;
  return false;
}

/// Whether an exchange takes longer in a network than in another one, in which it takes no less by
/// what both are.
bool slower(const Problem &now, const Problem &before) {
  for (size_t i = 0; i < std::min(now.links.size(), before.links.size()); ++i)
    if (slower({now.links[i].inside}, {before.links[i].inside}) ||
        slower({now.links[i].across}, {before.links[i].across}))
      return true;
  for (size_t f = 0; f < std::min(now.forms.size(), before.forms.size()); ++f) {
    const Problem::Form &a = now.forms[f], &b = before.forms[f];
    if (degrees(a) != degrees(b) || a.order != b.order)
      break;
    for (size_t s = 0; s < std::min(a.syncs.size(), b.syncs.size()); ++s)
      if (a.syncs[s].together == b.syncs[s].together && slower(a.syncs[s].ways, b.syncs[s].ways))
        return true;
  }
  return false;
}

/// The same of what the devices of a stage exchange in a step.
bool slower(const ClaimedCluster &now, const ClaimedCluster &before) {
  if (slower(now.problem, before.problem))
    return true;
  for (size_t s = 0; s < std::min(now.steps.size(), before.steps.size()); ++s) {
    const auto &a = now.steps[s].graph.operations, &b = before.steps[s].graph.operations;
    for (size_t id = 0; a.size() == b.size() && id < a.size(); ++id)
      if (a[id].givenSeconds && b[id].givenSeconds &&
          *a[id].givenSeconds > *b[id].givenSeconds * (1 + 1e-9) + 2e-12)
        return true;
  }
  return false;
}

} // namespace

ClaimedPoints::ClaimedPoints(const MiningClaim &claim) : claim_(claim) {
  for (size_t i = claim.parameters.size() - claim.beside; i < claim.parameters.size(); ++i)
    sizes_.push_back(claim.parameters[i].spelled.size());
  follows_.resize(claim.jobs.size());
  for (size_t job = 0; job < claim.jobs.size(); ++job)
    if (!claim.jobs[job].points.empty())
      look(job);
}

size_t pointOf(const MiningClaim &claim, const Design &design) {
  size_t point = 0;
  for (size_t i = design.size() - claim.beside; i < design.size(); ++i)
    point = point * claim.parameters[i].spelled.size() + design[i];
  return point;
}

std::optional<size_t> clusterAt(const MiningClaim &claim, size_t job, const Design &design) {
  const ClaimedJob &one = claim.jobs[job];
  if (one.clusters.empty())
    return std::nullopt;
  return one.points.empty() ? 0 : one.points[pointOf(claim, design)];
}

std::optional<bool> ClaimedPoints::missing(const std::vector<size_t> &jobs,
                                           const Design &design) const {
  std::optional<bool> missing;
  for (size_t job : jobs)
    if (claim_.jobs[job].placed() && !clusterAt(claim_, job, design))
      missing = missing.value_or(false) || follows_[job][pointOf(claim_, design)];
  return missing;
}

std::string ClaimedPoints::at(size_t job, size_t point) const {
  std::string text;
  for (size_t i = sizes_.size(); i-- > 0; point /= sizes_[i]) {
    const DesignParameter &parameter =
        claim_.parameters[claim_.parameters.size() - sizes_.size() + i];
    text = fmt::format("{} {}{}{}", parameter.name, parameter.spelled[point % sizes_[i]],
                       text.empty() ? "" : ", ", text);
  }
  return fmt::format("'{}' with {}", claim_.jobs[job].name, text);
}

/// The product of all counts `among` these parameters.
double ClaimedPoints::counted(size_t point, uint64_t among) const {
  double product = 1;
  for (size_t i = sizes_.size(); i-- > 0; point /= sizes_[i])
    if (among >> i & 1)
      product *= countOf(claim_.parameters[claim_.parameters.size() - sizes_.size() + i],
                         point % sizes_[i])
                     .value_or(1);
  return product;
}

/// A server has as many devices as some of the counts, the same ones in each cluster, say.
bool ClaimedPoints::perServerFits(size_t job) const {
  const ClaimedJob &one = claim_.jobs[job];
  std::vector<std::pair<size_t, double>> devices;
  for (size_t point = 0; point < one.points.size(); ++point)
    if (one.points[point] && !one.clusters[*one.points[point]].problem.kinds.empty()) {
      const Problem &problem = one.clusters[*one.points[point]].problem;
      devices.push_back({point, static_cast<double>(problem.kinds.front().perServer)});
    }
  // One of two values at least is open in each: there are few.
  size_t open = std::min<size_t>(sizes_.size(), 20);
  for (uint64_t among = 0; among < uint64_t(1) << open; ++among) {
    auto each = [&](const auto &at) { return at.second / counted(at.first, among); };
    if (std::all_of(devices.begin(), devices.end(), [&](const auto &at) {
          return std::abs(each(at) - each(devices.front())) <= 1e-9 * each(at);
        }))
      return true;
  }
  return false;
}

void ClaimedPoints::look(size_t job) {
  const ClaimedJob &one = claim_.jobs[job];
  auto placedAt = [&](size_t point) {
    return one.points[point] ? &one.clusters[*one.points[point]] : nullptr;
  };
  auto devices = [](const ClaimedCluster &cluster) {
    double all = 0;
    for (const Problem::Kind &kind : cluster.problem.kinds)
      all += static_cast<double>(kind.devices);
    return all;
  };
  if (!perServerFits(job))
    wrong_.push_back(
        fmt::format("'{}': devices of a server are as many as no count says", one.name));
  // Devices for each of what is counted, and what forms there are on how many.
  double each = 0;
  std::set<std::tuple<double, decltype(degrees(Problem::Form{}))>> forms;
  std::vector<std::set<decltype(degrees(Problem::Form{}))>> has(one.clusters.size());
  for (size_t point = 0; point < one.points.size(); ++point) {
    const ClaimedCluster *cluster = placedAt(point);
    if (!cluster)
      continue;
    double now = devices(*cluster) / counted(point, kAll);
    each = each > 0 ? each : now;
    if (!(std::abs(now - each) <= 1e-9 * each))
      wrong_.push_back(fmt::format("{}: {} devices, others have {:.9g} for each that is counted",
                                   at(job, point), devices(*cluster), each));
    auto &mine = has[*one.points[point]];
    if (mine.empty())
      for (const Problem::Form &form : cluster->problem.forms) {
        mine.insert(degrees(form));
        forms.insert({static_cast<double>(form.devices()), degrees(form)});
      }
  }
  for (size_t point = 0; point < one.points.size(); ++point) {
    const ClaimedCluster *cluster = placedAt(point);
    double here = each * counted(point, kAll);
    bool follows = true;
    for (const auto &[needs, form] : forms) {
      if (!(needs <= here)) // all others need more
        break;
      follows = false;
      if (!cluster || has[*one.points[point]].contains(form))
        continue;
      wrong_.push_back(fmt::format("{}: stages of {} devices are left out, which another cluster "
                                   "has",
                                   at(job, point), needs));
      break;
    }
    follows_[job].push_back(!cluster && follows);
    // The same with one bandwidth less.
    size_t step = 1;
    for (size_t i = sizes_.size(); cluster && i-- > 0; step *= sizes_[i]) {
      const std::string &name =
          claim_.parameters[claim_.parameters.size() - sizes_.size() + i].name;
      if (!name.ends_with(".bandwidth") || point / step % sizes_[i] == 0)
        continue;
      const ClaimedCluster *less = placedAt(point - step);
      if (less && less != cluster && slower(*cluster, *less))
        wrong_.push_back(
            fmt::format("{}: its network is slower than with less of '{}'", at(job, point), name));
    }
  }
}

} // namespace accord
