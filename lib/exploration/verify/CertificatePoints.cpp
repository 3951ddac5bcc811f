#include "lib/exploration/verify/CertificatePoints.h"
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
  const std::string &text = parameter.labels[choice];
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  bool whole = error == std::errc() && end == text.data() + text.size() && count > 0;
  return whole ? static_cast<double>(count) : NAN;
}

auto degrees(const Problem::ParallelConfig &config) {
  return std::tuple(config.tensor, config.sequence, config.data, config.microbatch, config.expert, config.tables);
}

constexpr uint64_t kAll = ~uint64_t(0);

bool slower(const std::vector<AlphaBetaModel> &now, const std::vector<AlphaBetaModel> &before) {
  for (double bytes : {1e3, 1e6, 1e9})
    if (minTime(now, bytes) > minTime(before, bytes) * (1 + 1e-9) + 2)
      return true;
  return false;
}

/// Whether an exchange takes longer in a network than in another one, in which it takes no less by what both are.
bool slower(const Problem &now, const Problem &before) {
  for (size_t i = 0; i < std::min(now.links.size(), before.links.size()); ++i)
    if (slower({now.links[i].intraNode}, {before.links[i].intraNode}) ||
        slower({now.links[i].interNode}, {before.links[i].interNode}))
      return true;
  for (size_t f = 0; f < std::min(now.parallelConfigs.size(), before.parallelConfigs.size()); ++f) {
    const Problem::ParallelConfig &a = now.parallelConfigs[f], &b = before.parallelConfigs[f];
    if (degrees(a) != degrees(b) || a.order != b.order)
      break;
    for (size_t s = 0; s < std::min(a.gradientSyncs.size(), b.gradientSyncs.size()); ++s)
      if (a.gradientSyncs[s].replicasPerNode == b.gradientSyncs[s].replicasPerNode &&
          slower(a.gradientSyncs[s].alternatives, b.gradientSyncs[s].alternatives))
        return true;
  }
  return false;
}

/// The same of what the devices of a stage exchange in a step.
bool slower(const CertificateCluster &now, const CertificateCluster &before) {
  if (slower(now.problem, before.problem))
    return true;
  for (size_t s = 0; s < std::min(now.steps.size(), before.steps.size()); ++s) {
    const auto &a = now.steps[s].graph.operations, &b = before.steps[s].graph.operations;
    for (size_t id = 0; a.size() == b.size() && id < a.size(); ++id)
      if (a[id].givenSeconds && b[id].givenSeconds && *a[id].givenSeconds > *b[id].givenSeconds * (1 + 1e-9) + 2e-12)
        return true;
  }
  return false;
}

} // namespace

CertificatePoints::CertificatePoints(const MiningCertificate &certificate) : certificate_(certificate) {
  for (size_t i = certificate.parameters.size() - certificate.clusterParameters; i < certificate.parameters.size(); ++i)
    sizes_.push_back(certificate.parameters[i].labels.size());
  follows_.resize(certificate.jobs.size());
  for (size_t job = 0; job < certificate.jobs.size(); ++job)
    if (!certificate.jobs[job].points.empty() && certificate.listedClusters.empty())
      look(job);
}

size_t pointOf(const MiningCertificate &certificate, const Design &design) {
  size_t point = 0;
  if (!certificate.listedClusters.empty()) {
    Design own(design.end() - static_cast<ptrdiff_t>(certificate.clusterParameters), design.end());
    return std::find(certificate.listedClusters.begin(), certificate.listedClusters.end(), own) -
           certificate.listedClusters.begin();
  }
  for (size_t i = design.size() - certificate.clusterParameters; i < design.size(); ++i)
    point = point * certificate.parameters[i].labels.size() + design[i];
  return point;
}

std::optional<size_t> clusterAt(const MiningCertificate &certificate, size_t job, const Design &design) {
  const CertificateJob &one = certificate.jobs[job];
  if (one.clusters.empty())
    return std::nullopt;
  size_t point = pointOf(certificate, design);
  return one.points.empty() ? 0 : point < one.points.size() ? one.points[point] : std::nullopt;
}

std::optional<bool> CertificatePoints::missing(const std::vector<size_t> &jobs, const Design &design) const {
  std::optional<bool> missing;
  for (size_t job : jobs)
    if (certificate_.jobs[job].placed() && !clusterAt(certificate_, job, design))
      missing = missing.value_or(false) || (!follows_[job].empty() && follows_[job][pointOf(certificate_, design)]);
  return missing;
}

std::string CertificatePoints::at(size_t job, size_t point) const {
  std::string text;
  for (size_t i = sizes_.size(); i-- > 0; point /= sizes_[i]) {
    const DesignParameter &parameter = certificate_.parameters[certificate_.parameters.size() - sizes_.size() + i];
    text =
        fmt::format("{} {}{}{}", parameter.name, parameter.labels[point % sizes_[i]], text.empty() ? "" : ", ", text);
  }
  return fmt::format("'{}' with {}", certificate_.jobs[job].name, text);
}

/// The product of all counts `among` these parameters.
double CertificatePoints::counted(size_t point, uint64_t among) const {
  double product = 1;
  for (size_t i = sizes_.size(); i-- > 0; point /= sizes_[i])
    if (among >> i & 1)
      product *= countOf(certificate_.parameters[certificate_.parameters.size() - sizes_.size() + i], point % sizes_[i])
                     .value_or(1);
  return product;
}

/// A server has as many devices as some of the counts, the same ones in each cluster, say.
bool CertificatePoints::perServerFits(size_t job) const {
  const CertificateJob &one = certificate_.jobs[job];
  std::vector<std::pair<size_t, double>> devices;
  for (size_t point = 0; point < one.points.size(); ++point)
    if (one.points[point] && !one.clusters[*one.points[point]].problem.deviceTypes.empty()) {
      const Problem &problem = one.clusters[*one.points[point]].problem;
      devices.push_back({point, static_cast<double>(problem.deviceTypes.front().devicesPerNode)});
    }
  // One of two values at least is open in each: there are few.
  size_t open = std::min<size_t>(sizes_.size(), 20);
  for (uint64_t among = 0; among < uint64_t(1) << open; ++among) {
    auto each = [&](const auto &at) { return at.second / counted(at.first, among); };
    if (std::all_of(devices.begin(), devices.end(),
                    [&](const auto &at) { return std::abs(each(at) - each(devices.front())) <= 1e-9 * each(at); }))
      return true;
  }
  return false;
}

void CertificatePoints::look(size_t job) {
  const CertificateJob &one = certificate_.jobs[job];
  auto placedAt = [&](size_t point) { return one.points[point] ? &one.clusters[*one.points[point]] : nullptr; };
  auto devices = [](const CertificateCluster &cluster) {
    double all = 0;
    for (const Problem::DeviceType &deviceType : cluster.problem.deviceTypes)
      all += deviceType.devices;
    return all;
  };
  if (!perServerFits(job))
    wrong_.push_back(fmt::format("'{}': devices of a server are as many as no count says", one.name));
  // Devices for each of what is counted, and what forms there are on how many.
  double each = 0;
  std::set<std::tuple<double, decltype(degrees(Problem::ParallelConfig{}))>> configs;
  std::vector<std::set<decltype(degrees(Problem::ParallelConfig{}))>> has(one.clusters.size());
  for (size_t point = 0; point < one.points.size(); ++point) {
    const CertificateCluster *cluster = placedAt(point);
    if (!cluster)
      continue;
    double now = devices(*cluster) / counted(point, kAll);
    each = each > 0 ? each : now;
    if (!(std::abs(now - each) <= 1e-9 * each))
      wrong_.push_back(fmt::format("{}: {} devices, others have {:.9g} for each that is counted", at(job, point),
                                   devices(*cluster), each));
    auto &mine = has[*one.points[point]];
    if (mine.empty())
      for (const Problem::ParallelConfig &config : cluster->problem.parallelConfigs) {
        mine.insert(degrees(config));
        configs.insert({static_cast<double>(config.devices()), degrees(config)});
      }
  }
  for (size_t point = 0; point < one.points.size(); ++point) {
    const CertificateCluster *cluster = placedAt(point);
    double here = each * counted(point, kAll);
    bool follows = true;
    for (const auto &[needs, config] : configs) {
      if (!(needs <= here)) // all others need more
        break;
      follows = false;
      if (!cluster || has[*one.points[point]].contains(config))
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
      const std::string &name = certificate_.parameters[certificate_.parameters.size() - sizes_.size() + i].name;
      if (!name.ends_with(".bandwidth") || point / step % sizes_[i] == 0)
        continue;
      const CertificateCluster *less = placedAt(point - step);
      if (less && less != cluster && slower(*cluster, *less))
        wrong_.push_back(fmt::format("{}: its network is slower than with less of '{}'", at(job, point), name));
    }
  }
}

} // namespace accord
