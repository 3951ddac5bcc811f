#include "lib/driver/tasks/OfferSources.h"
#include "lib/driver/JobTarget.h"
#include "lib/import/prices/OfferedAccelerators.h"
#include "lib/import/prices/PriceList.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace accord {
namespace {
using namespace offers;

/// "L40S" and "tpu-v5e" as names of the language: l40s, tpu_v5e.
std::string normalized(llvm::StringRef name) {
  std::string text = name.lower();
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// A cluster of an inventory: a group of equal servers.
struct OwnGroup {
  DevicePool pool;
  std::string cluster, device;
  int64_t devices = 1, servers = 1;
  double price = 0; ///< dollars an hour of one server
  double intensity = 0;
  SourceLocation location;
};

class OfferReader {
public:
  OfferReader(const ChooseOptions &options, Diagnostics &diags) : options(options), diags(diags) {}

  std::optional<OfferSources> read() {
    if (!readIntensities() || !readCatalogue())
      return std::nullopt;
    for (const std::string &path : options.inventories)
      if (!readInventory(path))
        return std::nullopt;
    for (const std::string &path : options.prices)
      readPrices(path);
    if (diags.hasErrors())
      return std::nullopt;
    for (const OwnGroup &group : own)
      addOwn(group);
    warnOfUnknown();
    if (sources.pooled.empty()) {
      std::string reasons;
      for (const LeftOutReport &left : sources.leftOut)
        reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : "; ", left.accelerator, left.reason);
      diags.error(Code::UnknownAccelerator, {}, fmt::format("no offer is left: {}", reasons));
      return std::nullopt;
    }
    return std::move(sources);
  }

private:
  // ------------------------------------------------------------- what is known

  /// Grams for each joule, by region; "" stands for all others.
  bool readIntensities() {
    for (const std::string &text : options.intensities) {
      auto [region, amount] = llvm::StringRef(text).rsplit('=');
      if (amount.empty())
        std::swap(region, amount);
      auto given = parseQuantity(amount.trim()), unit = parseQuantity("1 g/kWh");
      if (!given || !unit || !compare(*given, *unit) || !(given->toDouble() >= 0)) {
        diags.error(
            Code::BadCommandLine, {},
            fmt::format("--intensity: expected an amount, as in '400 g/kWh' or 'eu-north1=30 g/kWh', found '{}'",
                        text));
        return false;
      }
      intensities[region.trim().str()] = given->toDouble();
    }
    return true;
  }
  double intensityOf(const std::string &region) const {
    auto found = intensities.find(region);
    if (found == intensities.end())
      found = intensities.find("");
    return found == intensities.end() ? 0 : found->second;
  }

  bool readCatalogue() {
    const std::string path = catalogFolder() + "/offered-accelerators.csv";
    auto file = readFile(diags, path);
    if (!file)
      return false;
    auto table = readOfferedAccelerators(diags.sources().text(*file), path);
    if (!table)
      return addErrors(table.error()), false;
    known = std::move(*table);
    return true;
  }

  void addErrors(const Errors &errors) {
    for (const Error &error : errors)
      diags.error(error.code, rangeOf(diags, error.location), error.message);
  }

  // ------------------------------------------------------------- inventories

  bool readInventory(const std::string &path) {
    auto file = readFile(diags, path);
    auto tree = file ? parse(diags, *file) : nullptr;
    if (!tree || diags.hasErrors())
      return false;
    bool isEmpty = true;
    for (const ast::Declaration &one : tree->declarations)
      if (one.kind == ast::DeclarationKind::Cluster) {
        isEmpty = false;
        if (!readCluster(path, one.name.text))
          return false;
      }
    if (isEmpty) {
      diags.error(Code::UnknownAccelerator, {*file, 0, 0}, fmt::format("inventory '{}' declares no cluster", path))
          .help("cluster mine { server node[4] { device gpu[8] : h100 … } … }");
      return false;
    }
    return true;
  }

  /// Reads one cluster as if a training of the first file ran on it.
  bool readCluster(const std::string &path, const std::string &name) {
    Options on = options.training;
    on.file = options.files.front();
    if (!options.trains.empty())
      on.elaborate.train = options.trains.front();
    else if (std::string first = firstTraining(on.file); !first.empty())
      on.elaborate.train = first;
    on.elaborate.target = path + ":" + name;
    on.elaborate.clusters = on.elaborate.placement = true;
    Workspace workspace(on);
    JobTarget target(workspace);
    if (!workspace.open() || !target.prepare()) {
      // Errors of the file are shown by whoever reads it; here they are of the cluster.
      for (const Diagnostic &one : workspace.diagnostics().sorted())
        if (one.severity == Severity::Error) {
          diags.error(one.code, {}, fmt::format("cluster '{}' of '{}': {}", name, path, one.message)).help(one.help);
          return false;
        }
      diags.error(Code::UnknownAccelerator, {}, fmt::format("cluster '{}' of '{}' cannot be used", name, path));
      return false;
    }
    const std::vector<Cluster> &groups = target.groups().groups;
    for (const Cluster &group : groups) {
      OwnGroup &one = own.emplace_back();
      one.pool.cluster = path + ":" + name;
      if (groups.size() > 1)
        one.pool.deviceType = group.machine.name;
      one.cluster = name, one.device = group.machine.name;
      one.devices = group.devicesPerNode, one.servers = group.servers;
      one.price = group.pricePerHour * static_cast<double>(group.devicesPerNode);
      if (auto found = group.keys.find("grid_intensity"); found != group.keys.end())
        one.intensity = found->second;
      one.location = group.location;
    }
    return true;
  }
  std::string firstTraining(const std::string &path) {
    auto file = readFile(diags, path);
    auto tree = file ? parse(diags, *file) : nullptr;
    if (tree)
      for (const ast::Declaration &one : tree->declarations)
        if (one.kind == ast::DeclarationKind::Train)
          return one.name.text;
    return "";
  }

  void addOwn(const OwnGroup &group) {
    if (describes.contains(group.cluster))
      return;
    InstanceOffer offer;
    offer.provider = kOwnProvider, offer.instance = group.cluster, offer.accelerator = group.device;
    offer.devices = static_cast<double>(group.devices), offer.available = group.servers, offer.price = group.price;
    offer.location = group.location;
    sources.offers.push_back(std::move(offer));
    const double intensity = group.intensity > 0 ? group.intensity : intensityOf("");
    if (group.price <= 0)
      assume(fmt::format("servers of '{}' cost nothing: the inventory states no rent", group.cluster));
    addPooled(poolOf(group.pool, group.devices, 0), intensity);
  }

  // ------------------------------------------------------------- price lists

  void readPrices(const std::string &path) {
    auto file = readFile(diags, path);
    if (!file)
      return;
    auto list = readPriceList(diags.sources().text(*file), path);
    if (!list)
      return addErrors(list.error());
    if (list->withoutDevices > 0)
      assume(fmt::format("{} rows of '{}' are instances without accelerators", list->withoutDevices, path));
    if (list->withoutPrice > 0)
      assume(fmt::format("{} rows of '{}' have no price, or no instance is available", list->withoutPrice, path));
    if (list->withoutHost > 0)
      assume(fmt::format("{} rows of '{}' name no instance type: their price is that of the accelerators alone",
                         list->withoutHost, path));
    for (const InstanceOffer &offer : list->offers)
      addListed(offer);
  }

  void addListed(const InstanceOffer &offer) {
    const double intensity = intensityOf(offer.region);
    sources.offers.push_back(offer);
    for (const OwnGroup &group : own)
      if (normalized(offer.accelerator) == group.cluster) {
        describes.insert(group.cluster);
        DevicePool pool = group.pool;
        return addDescribed(offer, pool, offer.devices, 0, intensity);
      }
    auto match = matchAccelerator(known, offer);
    if (!match)
      return leaveOut(offer, kUnknown);
    DevicePool pool;
    pool.cluster = match->cluster;
    addDescribed(offer, pool, match->devices, match->isSlice ? 1 : 0, intensity);
  }
  void addDescribed(const InstanceOffer &offer, DevicePool pool, double devices, int64_t maxInstances,
                    double intensity) {
    if (!(devices >= 1) || devices != std::floor(devices) || devices > 1e6)
      return leaveOut(offer, "instances have parts of a device");
    pool.devicesPerServer = static_cast<int64_t>(devices);
    pool.servers = maxInstances > 0 ? maxInstances : options.maxInstances;
    addPooled(poolOf(pool, pool.devicesPerServer, maxInstances), intensity);
  }

  /// The last offer is one of this pool.
  void addPooled(unsigned pool, double intensity) {
    const InstanceOffer &offer = sources.offers.back();
    if (options.minimize == "carbon" && intensity <= 0)
      return leaveOut(offer, "no carbon intensity of its region is stated: --intensity REGION='400 g/kWh'");
    sources.pooled.push_back({static_cast<unsigned>(sources.offers.size() - 1), pool, intensity});
  }
  unsigned poolOf(const DevicePool &pool, int64_t devices, int64_t maxInstances) {
    const auto [found, isNew] = pools.try_emplace(std::tuple(pool.cluster, pool.deviceType, devices, maxInstances),
                                                  static_cast<unsigned>(sources.pools.size()));
    if (isNew) {
      sources.pools.push_back(pool);
      sources.maxInstances.push_back(maxInstances);
    }
    return found->second;
  }

  // ------------------------------------------------------------- what is left out

  void leaveOut(const InstanceOffer &offer, const std::string &reason) {
    auto [found, isNew] = leftOut.try_emplace({offer.accelerator, reason}, sources.leftOut.size());
    if (isNew)
      sources.leftOut.push_back({"", offer.accelerator, reason, 0, offer.location});
    ++sources.leftOut[found->second].rows;
  }
  void warnOfUnknown() {
    for (const LeftOutReport &left : sources.leftOut)
      if (left.reason == kUnknown)
        diags
            .warning(Code::UnknownAccelerator, rangeOf(diags, left.first),
                     fmt::format("{} with '{}' {} left out: {}",
                                 left.rows == 1 ? "one offer" : fmt::format("{} offers", left.rows), left.accelerator,
                                 left.rows == 1 ? "is" : "are", kUnknown))
            .help(fmt::format("describe it as cluster '{}' in a file: accord choose --inventory FILE.accel",
                              normalized(left.accelerator)));
  }
  void assume(const std::string &text) {
    if (!llvm::is_contained(sources.assumptions, text))
      sources.assumptions.push_back(text);
  }

  static constexpr const char *kUnknown = "neither the catalogue nor an inventory describes it";

  const ChooseOptions &options;
  Diagnostics &diags;
  std::vector<OfferedAccelerator> known;
  std::map<std::string, double> intensities;
  std::vector<OwnGroup> own;
  std::set<std::string> describes; ///< clusters that describe an accelerator of a list
  std::map<std::tuple<std::string, std::string, int64_t, int64_t>, unsigned> pools;
  std::map<std::pair<std::string, std::string>, size_t> leftOut;
  OfferSources sources;
};

} // namespace

std::optional<OfferSources> readOfferSources(const ChooseOptions &options, Diagnostics &diags) {
  return OfferReader(options, diags).read();
}

} // namespace accord
