#include "lib/machine/translate/FromCluster.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

Error uneven(mlir::Operation *at, std::string message) {
  return {Code::UnevenCluster, std::move(message), sourceOf(accel::blockLocation(at))};
}

/// The only block of its kind in a scope; null after an issue.
template <typename Op> Op only(mlir::Operation *scope, llvm::StringRef what, std::optional<Error> &error) {
  Op first;
  for (Op one : scope->getRegion(0).getOps<Op>()) {
    if (first) {
      error = uneven(one, fmt::format("not supported yet: several kinds of {} in one cluster", what.str()));
      error->notes.push_back({sourceOf(accel::blockLocation(first)), "the first one is here"});
      return nullptr;
    }
    first = one;
  }
  return first;
}

/// Where a cluster's devices are: in its servers, or in itself.
struct Parts {
  accel::ServerOp server; ///< null: devices of the cluster itself
  accel::DeviceOp device;
};

Result<Parts> partsOf(accel::ClusterOp cluster) {
  std::optional<Error> error;
  Parts parts;
  parts.server = only<accel::ServerOp>(cluster, "servers", error);
  if (error)
    return *error;
  parts.device = only<accel::DeviceOp>(cluster, "devices", error);
  if (error)
    return *error;
  if (parts.server && parts.device)
    return uneven(parts.device, "not supported yet: devices beside servers in one cluster");
  if (parts.server)
    parts.device = only<accel::DeviceOp>(parts.server, "devices", error);
  if (error)
    return *error;
  if (!parts.device) // the verifier knows
    return uneven(cluster, "the cluster has no device");
  return parts;
}

/// Reads keys that are stated as numbers; the first one that is left open is remembered.
class Keys {
public:
  Keys(mlir::Operation *block, DictionaryAttr entries, std::map<std::string, Origin> *origins)
      : block(block), entries(entries), origins(origins) {}
  std::optional<Error> error;

  template <typename Kind> Kind closed(llvm::StringRef key, Attribute value) {
    if (!value || isa<Kind>(value))
      return dyn_cast_or_null<Kind>(value);
    if (!error)
      error = {Code::UnevenCluster,
               fmt::format("'{}' {}", key.str(),
                           isa<accel::ChoiceAttr>(value) ? "is left open: choose a value, or mine the cluster"
                                                         : "has no value yet: it depends on other keys"),
               sourceOf(accel::locationOf(block, key))};
    return {};
  }
  std::optional<double> number(llvm::StringRef key) {
    auto value = closed<accel::QuantityAttr>(key, entries.get(key));
    if (!value)
      return std::nullopt;
    if (origins)
      (*origins)[key.str()] = {value.spelled(), value.getSource().str(), sourceOf(accel::locationOf(block, key))};
    return value.quantity().value.toDouble();
  }
  std::optional<int64_t> integer(llvm::StringRef key) {
    auto value = closed<IntegerAttr>(key, entries.get(key));
    return value ? std::optional(value.getInt()) : std::nullopt;
  }
  std::string word(llvm::StringRef key) {
    auto value = closed<StringAttr>(key, entries.get(key));
    return value ? value.str() : "";
  }

private:
  mlir::Operation *block;
  DictionaryAttr entries;
  std::map<std::string, Origin> *origins;
};

Result<Network> networkFrom(accel::NetworkOp op, int64_t endpoints, std::vector<std::string> &assumptions) {
  Network network;
  network.name = op.getSymName().str();
  network.location = sourceOf(accel::blockLocation(op));
  network.endpoints = endpoints;
  Keys keys(op, op.getEntries(), &network.origins);
  network.topology = topologyOf(keys.word("topology")).value_or(Topology::Switch);
  network.bandwidth = BytesPerSecond(keys.number("bandwidth").value_or(0));
  auto latency = keys.number("latency"), efficiency = keys.number("efficiency");
  network.latency = Seconds(latency.value_or(0));
  network.efficiency = efficiency.value_or(1);
  network.energy = JoulesPerByte(keys.number("energy").value_or(0));
  network.oversubscription = keys.number("oversubscription").value_or(1);
  network.leaf = keys.integer("leaf").value_or(1);
  network.inSwitchReduction = keys.word("reduction") == "in_switch";
  network.algorithm = algorithmOf(keys.word("algorithm"));
  if (auto shape = keys.closed<ArrayAttr>("shape", op.getEntries().get("shape")))
    for (Attribute extent : shape)
      if (auto integer = keys.closed<IntegerAttr>("shape", extent))
        network.shape.push_back(integer.getInt());
  if (auto table = op.getEntries().getAs<DictionaryAttr>("bandwidth_by_peers"))
    for (NamedAttribute entry : table)
      if (auto value = keys.closed<accel::QuantityAttr>("bandwidth_by_peers", entry.getValue())) {
        int64_t peers = 0;
        if (!entry.getName().getValue().getAsInteger(10, peers)) // else the verifier has refused it
          network.bandwidthByPeers.push_back({peers, BytesPerSecond(value.quantity().value.toDouble())});
      }
  if (keys.error)
    return *keys.error;
  std::sort(network.bandwidthByPeers.begin(), network.bandwidthByPeers.end());
  if (!latency)
    assumptions.push_back(fmt::format("messages over network '{}' take no latency: it states none", network.name));
  if (!efficiency && network.bandwidthByPeers.empty())
    assumptions.push_back(
        fmt::format("network '{}' reaches its whole bandwidth: it states no efficiency", network.name));
  return network;
}

/// The widest network of a scope that connects all `names`.
Result<Network> widest(mlir::Operation *scope, llvm::ArrayRef<llvm::StringRef> names, int64_t endpoints,
                       std::vector<std::string> &assumptions) {
  std::optional<Network> best;
  std::vector<std::string> ofBest;
  bool several = false;
  for (auto op : scope->getRegion(0).getOps<accel::NetworkOp>()) {
    auto connects = op.getEntries().getAs<ArrayAttr>("connects");
    auto ends = [&](llvm::StringRef name) {
      return llvm::any_of(connects.getAsRange<FlatSymbolRefAttr>(), [&](auto one) { return one.getValue() == name; });
    };
    if (!connects || !llvm::all_of(names, ends))
      continue;
    std::vector<std::string> assumed;
    ACCORD_TRY(network, networkFrom(op, endpoints, assumed));
    several |= best.has_value();
    if (!best || endpointBandwidth(network, endpoints) > endpointBandwidth(*best, endpoints)) {
      best = std::move(network);
      ofBest = std::move(assumed);
    }
  }
  if (!best) // of one name the verifier knows
    return uneven(scope, fmt::format("no network connects '{}'", llvm::join(names, "' and '")));
  assumptions.insert(assumptions.end(), ofBest.begin(), ofBest.end());
  if (several)
    assumptions.push_back(
        fmt::format("devices exchange data over network '{}', which has the most bandwidth", best->name));
  return std::move(*best);
}

/// Whether a scope has networks that are dimensions.
bool isByLevel(mlir::Operation *scope) {
  return llvm::any_of(scope->getRegion(0).getOps<accel::NetworkOp>(),
                      [](accel::NetworkOp one) { return one.getEntries().get("endpoints") != nullptr; });
}

/// What connects `count` equal things of a scope, innermost first: its widest network, or all that state their
/// endpoints.
Result<std::vector<Network>> levelsOf(mlir::Operation *scope, llvm::StringRef name, int64_t count,
                                      std::vector<std::string> &assumptions) {
  std::vector<accel::NetworkOp> dimensions;
  accel::NetworkOp whole;
  for (auto op : scope->getRegion(0).getOps<accel::NetworkOp>()) {
    auto connects = op.getEntries().getAs<ArrayAttr>("connects");
    if (!connects || !llvm::is_contained(connects.getAsRange<FlatSymbolRefAttr>(),
                                         FlatSymbolRefAttr::get(scope->getContext(), name)))
      continue;
    if (op.getEntries().get("endpoints"))
      dimensions.push_back(op);
    else
      whole = op;
  }
  if (dimensions.empty()) {
    if (count == 1)
      return std::vector<Network>();
    ACCORD_TRY(network, widest(scope, {name}, count, assumptions));
    return std::vector<Network>{std::move(network)};
  }
  if (whole) {
    Error error = uneven(whole, fmt::format("network '{}' states no 'endpoints', but another network of '{}' does",
                                            whole.getSymName().str(), name.str()));
    error.notes.push_back({sourceOf(accel::blockLocation(dimensions.front())), "this one does"});
    return error;
  }
  std::vector<Network> levels;
  std::string product;
  int64_t endpoints = 1;
  for (accel::NetworkOp op : dimensions) {
    Keys keys(op, op.getEntries(), nullptr);
    auto own = keys.integer("endpoints");
    if (!own)
      return keys.error ? *keys.error : uneven(op, "'endpoints' has no value");
    if (op.getEntries().get("bandwidth_by_peers"))
      return uneven(op, fmt::format("not supported yet: bandwidth_by_peers of network '{}', which is one of several "
                                    "dimensions",
                                    op.getSymName().str()));
    product += fmt::format("{}{} of '{}'", product.empty() ? "" : " x ", *own, op.getSymName().str());
    ACCORD_TRY(network, networkFrom(op, *own, assumptions));
    network.planes = endpoints;
    if (__builtin_mul_overflow(endpoints, *own, &endpoints) || endpoints > kMaxDevices)
      endpoints = kMaxDevices + 1;
    if (*own > 1)
      levels.push_back(std::move(network));
  }
  if (endpoints != count)
    return uneven(dimensions.front(),
                  fmt::format("the networks of '{}' connect {} endpoints, but there are {}: {}", name.str(),
                              endpoints > kMaxDevices ? "too many" : std::to_string(endpoints), count, product));
  return levels;
}

/// Dollars per hour of one device: what the first price that is a rent says of the device, of its
/// server or of the whole cluster.
double rentOf(accel::ClusterOp cluster, accel::ServerOp server, accel::DeviceOp device, int64_t devicesPerNode,
              int64_t servers, std::vector<std::string> &assumptions) {
  for (mlir::Operation *scope : {cluster.getOperation(), server.getOperation()}) {
    if (!scope)
      continue;
    for (auto price : scope->getRegion(0).getOps<accel::PriceOp>()) {
      auto amount = price.getEntries().getAs<accel::QuantityAttr>("amount");
      auto per = price.getEntries().getAs<FlatSymbolRefAttr>("per");
      if (!amount)
        continue;
      if (amount.quantity().dimension != Dimension::of(Base::Dollar) / Dimension::of(Base::Second)) {
        assumptions.push_back("a price to buy is not counted: state a rent, such as 4 USD/h per device");
        continue;
      }
      double hour = amount.quantity().value.toDouble() * 3600;
      if (per && per.getValue() == device.getSymName())
        return hour;
      if (scope != cluster || (per && server && per.getValue() == server.getSymName()))
        return hour / devicesPerNode;
      return hour / devicesPerNode / servers;
    }
  }
  return 0;
}

Result<accel::AcceleratorOp> acceleratorOf(accel::ClusterOp cluster, accel::DeviceOp device) {
  auto accelerator = dyn_cast_or_null<accel::AcceleratorOp>(
      SymbolTable::lookupSymbolIn(cluster->getParentOp(), device.getAcceleratorAttr()));
  if (!accelerator) // the verifier knows
    return uneven(device, fmt::format("'{}' is no accelerator", device.getAccelerator().str()));
  return accelerator;
}

/// Devices of one kind in servers of one kind.
Result<Cluster> groupFrom(accel::ClusterOp op, const Parts &parts, Machine machine) {
  auto [server, device] = parts;
  Cluster cluster;
  cluster.name = op.getSymName().str();
  cluster.location = sourceOf(accel::blockLocation(op));
  cluster.machine = std::move(machine);
  auto devices = device.instances();
  auto servers = server ? server.instances() : std::optional<int64_t>(1);
  if (!devices || !servers)
    return uneven(devices ? server.getOperation() : device.getOperation(),
                  "the count is left open: choose a value, or mine the cluster");
  cluster.devicesPerNode = *devices;
  cluster.servers = *servers;
  mlir::Operation *inner = server ? server.getOperation() : op.getOperation();
  ACCORD_TRY(between, levelsOf(inner, device.getSymName(), *devices, cluster.assumptions));
  cluster.fabric.levels = std::move(between);
  if (server) {
    ACCORD_TRY(outside, levelsOf(op, server.getSymName(), *servers, cluster.assumptions));
    llvm::append_range(cluster.fabric.levels, outside);
  }
  cluster.fabric.byLevel = isByLevel(inner) || (server && isByLevel(op));
  Keys own(op, op.getEntries(), nullptr);
  for (NamedAttribute entry : op.getEntries())
    if (auto integer = dyn_cast<IntegerAttr>(entry.getValue()))
      cluster.keys[entry.getName().str()] = static_cast<double>(integer.getInt());
    else if (isa<FlatSymbolRefAttr>(entry.getValue())) // a name is no number
      continue;
    else if (auto value = own.number(entry.getName()))
      cluster.keys[entry.getName().str()] = *value;
  if (own.error)
    return *own.error;
  cluster.pricePerHour = rentOf(op, server, device, *devices, *servers, cluster.assumptions);
  for (auto host : inner->getRegion(0).getOps<accel::HostOp>()) {
    Keys keys(host, host.getEntries(), nullptr);
    cluster.host.memory = Bytes(keys.number("memory").value_or(0));
    cluster.host.memoryBandwidth = BytesPerSecond(keys.number("memory_bandwidth").value_or(0));
    cluster.host.storage = BytesPerSecond(keys.number("storage").value_or(0));
    cluster.host.cpuCores = keys.integer("cpu_cores").value_or(0);
    cluster.host.power = Watts(keys.number("power").value_or(0));
    if (keys.error)
      return *keys.error;
  }
  if (auto errors = check(cluster.fabric); !errors.empty())
    return errors.front();
  return cluster;
}

/// The kinds of devices of a cluster, each in its servers.
std::vector<Parts> kindsOf(accel::ClusterOp cluster) {
  std::vector<Parts> kinds;
  for (auto server : cluster->getRegion(0).getOps<accel::ServerOp>())
    for (auto device : server->getRegion(0).getOps<accel::DeviceOp>())
      kinds.push_back({server, device});
  for (auto device : cluster->getRegion(0).getOps<accel::DeviceOp>())
    kinds.push_back({nullptr, device});
  return kinds;
}

} // namespace

Result<accel::AcceleratorOp> acceleratorOf(accel::ClusterOp cluster) {
  ACCORD_TRY(parts, partsOf(cluster));
  return acceleratorOf(cluster, parts.device);
}

Result<Cluster> clusterFrom(accel::ClusterOp op, Machine machine) {
  ACCORD_TRY(parts, partsOf(op));
  return groupFrom(op, parts, std::move(machine));
}

Result<std::vector<accel::AcceleratorOp>> acceleratorsOf(accel::ClusterOp cluster) {
  std::vector<accel::AcceleratorOp> found;
  for (const Parts &kind : kindsOf(cluster)) {
    ACCORD_TRY(one, acceleratorOf(cluster, kind.device));
    found.push_back(one);
  }
  if (found.empty()) // the verifier knows
    return uneven(cluster, "the cluster has no device");
  return found;
}

Result<ClusterGroups> groupsFrom(accel::ClusterOp op, std::vector<Machine> machines) {
  ClusterGroups all;
  all.name = op.getSymName().str();
  all.location = sourceOf(accel::blockLocation(op));
  std::vector<Parts> kinds = kindsOf(op);
  if (kinds.size() != machines.size())
    return uneven(op, "not a machine for each kind of devices");
  int64_t endpoints = 0;
  bool oneServer = true;
  std::vector<llvm::StringRef> names;
  for (size_t i = 0; i < kinds.size(); ++i) {
    ACCORD_TRY(group, groupFrom(op, kinds[i], std::move(machines[i])));
    all.groups.push_back(std::move(group));
    oneServer &= kinds[i].server == kinds.front().server;
  }
  if (kinds.size() == 1)
    return all;
  mlir::Operation *scope = op;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (oneServer) { // in each server both kinds
      scope = kinds[i].server ? kinds[i].server.getOperation() : op.getOperation();
      names.push_back(kinds[i].device.getSymName());
      endpoints += all.groups[i].devicesPerNode;
    } else {
      llvm::StringRef name = kinds[i].server ? kinds[i].server.getSymName() : kinds[i].device.getSymName();
      if (!llvm::is_contained(names, name)) {
        names.push_back(name);
        endpoints += all.groups[i].servers;
      }
    }
  }
  ACCORD_TRY(between, widest(scope, names, endpoints, all.groups.front().assumptions));
  all.between = std::move(between);
  return all;
}

} // namespace accord
