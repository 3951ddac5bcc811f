#include "lib/machine/calibration/CaseBuilder.h"
#include "lib/machine/calibration/Lint.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::calibrate {
namespace {

/// What a job's devices are connected by, where their description or the row says it.
struct Links {
  double server = 8;              ///< devices that the inner network connects
  double link = 0;                ///< bytes per second of a device in it, one way
  double network = 0;             ///< bytes per second of a device between servers, one way
  const Network *inner = nullptr; ///< where it is described
};

/// Devices without a described network: 8 a server, a link of an eighth of the memory's bandwidth (as that of an A100:
/// 300 of 2039 GB/s), and 200 Gbit/s between servers.
constexpr double kServer = 8, kLinkOfMemory = 0.125, kNetwork = 25e9;
/// A network with more endpoints than servers have devices connects several servers; there a row's `devices_per_node`
/// counts what one host has.
constexpr double kLargestServer = 16;

Links linksOf(const Row &row, const Cluster &hardware) {
  Links links;
  bool alone = hardware.devicesPerNode <= 1; // an accelerator without its server
  links.server = alone ? kServer : hardware.devicesPerNode;
  if (row.devices_per_node && links.server <= kLargestServer)
    links.server = *row.devices_per_node;
  links.network = kNetwork;
  if (alone) {
    if (!hardware.machine.memories.empty())
      links.link = kLinkOfMemory * hardware.machine.memories.front().bandwidth.value;
    return links;
  }
  links.inner = &hardware.fabric.levels.front();
  links.link = links.inner->bandwidth.value;
  if (hardware.servers > 1) {
    const Network &outer = hardware.fabric.levels.back();
    links.network = endpointBandwidth(outer, 2).value / outer.oversubscription / hardware.devicesPerNode;
  }
  return links;
}

/// The part of a device's links that lead to the n - 1 others of a ring. Of the 6 of a V100 in the
/// cube mesh of a DGX-1 (NVIDIA DGX-1 with Tesla V100 System Architecture, 2017, figure 4) one
/// leads to the first neighbour, and 4 stay in its half; a fully connected device has one to each other; behind
/// switches all lead to any.
double linkShare(const Row &row, const Network *inner, double n) {
  if (inner && inner->topology == Topology::FullyConnected && inner->endpoints > 1)
    return std::min(1.0, (n - 1) / (inner->endpoints - 1));
  if (!row.accelerator.starts_with("v100") || row.devices_per_node.value_or(8) > 8)
    return 1;
  return n <= 2 ? 1.0 / 6 : n <= 4 ? 4.0 / 6 : 1;
}

/// Processes that decode images for one device, in PyTorch's own loader: 16 on a DGX A100, 8 on
/// DGX-1 and DGX-2 (NVIDIA DeepLearningExamples, PyTorch/Classification/ConvNets/configs.yml).
double decodersOf(const Row &row) {
  if (row.source.find("PyTorch/Classification/ConvNets") == std::string::npos)
    return 0;
  return row.accelerator.starts_with("v100") ? 8 : 16;
}

bool isGated(const Row &row) { return row.quality.empty() || row.quality == "A" || row.quality == "B"; }

bool isStep(const Row &row) {
  return !row.metric.starts_with("mem") && !row.metric.starts_with("activation") && !row.metric.starts_with("layer");
}

int zeroOf(const Row &row) {
  if (row.zero_stage == "fsdp" || row.zero_stage == "3")
    return 3;
  return row.zero_stage == "1" ? 1 : row.zero_stage == "2" ? 2 : 0;
}

/// "all-reduce 16 MiB" -> bytes.
std::optional<double> messageBytes(const std::string &model) {
  size_t digit = model.find_first_of("0123456789");
  if (digit == std::string::npos)
    return std::nullopt;
  double number = 0, unit = 1;
  size_t end = digit;
  for (; end < model.size() && std::isdigit(static_cast<unsigned char>(model[end])) && number < 1e15; ++end)
    number = 10 * number + (model[end] - '0');
  std::string rest = model.substr(end);
  for (auto [name, factor] : {std::pair("KiB", 1024.0), {"MiB", 1048576.0}, {"GiB", 1073741824.0}})
    if (rest.find(name) != std::string::npos)
      unit = factor;
  return number > 0 ? std::optional(number * unit) : std::nullopt;
}

Error leftOut(const Row &row, const std::string &reason) {
  return {Code::RowLeftOut, fmt::format("'{}' is left out: {}", row.id, reason), row.location};
}

/// "framework, accelerator, one server": rows that share hardware and software. Rows with one are scored together.
std::string stratumOf(const Row &row, double server) {
  std::string framework = row.framework.substr(0, row.framework.find_first_of(",;"));
  return fmt::format("{}, {}, {}", framework.empty() ? "any framework" : framework, row.accelerator,
                     isCollective(row)                    ? "collectives"
                     : row.n_devices.value_or(1) > server ? "several servers"
                                                          : "one server");
}

Layout layoutOf(const Row &row, const Links &links, int64_t microbatch, double batch) {
  Layout l;
  double devices = row.n_devices.value_or(1);
  l.tensor = row.tp.value_or(1);
  l.pipeline = row.pp.value_or(1);
  l.virtualStages = row.vpp.value_or(1);
  l.zero = zeroOf(row);
  l.context = row.cp.value_or(1);
  l.data = row.dp ? *row.dp * l.context : std::max(devices / (l.tensor * l.pipeline), 1.0);
  if (l.zero >= 2) // every device that holds no part of the model holds a part of the state
    l.data = std::max(l.data, devices / (l.tensor * l.pipeline));
  l.parts = std::max(1.0, l.tensor * l.pipeline * l.data / devices);
  l.devicesPerNode = links.server * l.parts;
  double stated = row.inter_node_GBps_per_dev.value_or(0) * 1e9;
  l.network = (stated > 0 ? stated : links.network) / l.parts;
  l.link = links.link / l.parts;
  // Of 7 neighbours in the cube mesh of a DGX-1, 4 are linked; NCCL relays nothing for the others.
  if (row.accelerator.starts_with("v100") && l.devicesPerNode == 8 && devices > 4)
    l.unlinked = 3.0 / 7;
  l.sequence = row.seq_parallel == "yes";
  l.microbatches = batch * l.context / (l.data * microbatch);
  return l;
}

} // namespace

const Cluster *CaseBuilder::hardware(const Row &row) {
  std::string name = target.empty() ? row.accelerator : target;
  auto [found, isNew] = known.try_emplace(name);
  if (isNew)
    found->second =
        name.empty() ? Result<Cluster>(Error{Code::RowLeftOut, "no accelerator is named"}) : graphs.hardware(name);
  return found->second.get();
}

/// An all-reduce of the devices of one server.
static Result<Case> collective(const Row &row, const Machine &machine, const Links &links) {
  auto bytes = messageBytes(row.model);
  if (!bytes || !row.n_devices || !row.step_time_s)
    return leftOut(row, "an all-reduce has a size, devices and a time");
  Case one;
  one.ring.devices = *row.n_devices;
  one.ring.bytes = *bytes;
  one.ring.link = links.link;
  one.ring.share = linkShare(row, links.inner, *row.n_devices);
  if (machine.memories.empty() || !(machine.memories.front().bandwidth.value > 0))
    return leftOut(row, "'" + machine.name + "' has no memory with a bandwidth");
  one.ring.memory = machine.memories.front().bandwidth.value;
  one.seconds = *row.step_time_s;
  return one;
}

Result<Case> CaseBuilder::build(const Row &row) {
  if (row.ep.value_or(1) > 1)
    return leftOut(row, "expert parallelism is not modelled (column 'ep')");
  const Cluster *hardware = this->hardware(row);
  if (!hardware)
    return leftOut(row, fmt::format("no machine is known for '{}'", row.accelerator));
  const Machine *machine = &hardware->machine;
  Links links = linksOf(row, *hardware);
  if (!links.inner && row.n_devices.value_or(1) > 1)
    out.assumptions.push_back(
        fmt::format("no network of '{}' is described: {:.0f} devices a server with {:.0f} GB/s each, {:.0f} "
                    "GB/s each between servers where rows do not say",
                    machine->name, kServer, links.link * 1e-9, kNetwork * 1e-9));
  Case one;
  if (isCollective(row)) {
    ACCORD_TRY(made, collective(row, *machine, links));
    one = std::move(made);
  } else {
    ACCORD_TRY(workload, workloadOf(row));
    if (!row.global_batch)
      return leftOut(row, "it has no 'global_batch'");
    double words = workload.batchInWords ? workload.wordsPerSample : 1;
    double batch = *row.global_batch / words;
    if (row.step_time_s)
      one.seconds = *row.step_time_s;
    else if (workload.wordsPerSample > 0 && row.value && *row.value > 0 && row.unit.starts_with("tokens/s"))
      one.seconds = batch * workload.wordsPerSample / *row.value;
    std::vector<int64_t> sizes{1, 2, 4, 8, 16};
    if (!row.call.empty()) // a batch is answered at once
      sizes = {static_cast<int64_t>(batch)};
    else if (row.micro_batch)
      sizes = {int64_t(std::max(1.0, *row.micro_batch / words))};
    else
      out.assumptions.push_back("micro-batches that rows do not state are the fastest of 1 to 16 that fit the memory");
    for (const std::string &assumption : workload.assumptions)
      out.assumptions.push_back(assumption);
    for (int64_t size : sizes) {
      Layout layout = layoutOf(row, links, size, batch);
      if (layout.microbatches < 1 && size > 1 && !row.micro_batch && row.call.empty())
        continue;
      ACCORD_TRY(profile, graphs.profile(workload, size, row.location));
      auto candidate = candidateOf(profile, layout, *machine);
      if (auto *reason = std::get_if<std::string>(&candidate))
        return leftOut(row, *reason);
      one.candidates.push_back(std::get<Candidate>(std::move(candidate)));
      if (double workers = decodersOf(row); workers > 0)
        one.candidates.back().images = batch / row.n_devices.value_or(1) / workers;
      one.microbatches.push_back(size);
    }
  }
  if (!(one.seconds > 0))
    return leftOut(row, "it has no time of a step");
  one.id = row.id;
  one.stratum = stratumOf(row, links.server);
  one.machine = machine->name;
  one.shape = fmt::format("{} {} {}", row.model, row.hidden.value_or(0), row.tp.value_or(1));
  one.prior = priorOf(*machine);
  one.place = row.location;
  one.columns = row.text;
  return one;
}

Prepared CaseBuilder::prepare(const std::vector<Row> &rows) {
  out = {};
  std::vector<Row> gated;
  for (const Row &row : rows)
    if (isGated(row) && isStep(row))
      gated.push_back(row);

  std::set<size_t> wrong;
  for (Finding &finding : lint(gated, [this](const Row &row) {
         const Cluster *cluster = hardware(row);
         return cluster ? &cluster->machine : nullptr;
       })) {
    wrong.insert(finding.rows.begin(), finding.rows.end());
    out.warnings.push_back(std::move(finding.error));
  }
  for (size_t i = 0; i < gated.size(); ++i) {
    const Row &row = gated[i];
    if (wrong.count(i))
      continue;
    auto made = build(row);
    if (!made)
      out.warnings.push_back(made.takeError());
    else
      out.cases.push_back(*std::move(made));
  }
  std::sort(out.assumptions.begin(), out.assumptions.end());
  out.assumptions.erase(std::unique(out.assumptions.begin(), out.assumptions.end()), out.assumptions.end());
  for (auto &[name, found] : known)
    if (auto *cluster = found.get())
      out.machines.emplace(cluster->machine.name, cluster->machine);
  return std::move(out);
}

} // namespace accord::calibrate
