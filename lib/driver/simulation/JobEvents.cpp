#include "lib/driver/simulation/JobEvents.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {
using namespace jobs;

Error wrong(llvm::StringRef option, const std::string &expected, llvm::StringRef found) {
  return {Code::BadCommandLine, fmt::format("--{}: expected {}, found '{}'", option.str(), expected, found.str())};
}

/// A number of at least 0 in the base unit of a dimension; a plain number counts as in that.
std::optional<double> readNumber(llvm::StringRef text, const Dimension &dimension) {
  text = text.trim();
  std::string full = text.str();
  if (text.size() > 1 && text.ends_with("d") && llvm::isDigit(text[text.size() - 2])) // 30d
    full = text.drop_back().str() + " day";
  const auto quantity = parseQuantity(full);
  if (!quantity || (!quantity->dimensionless() && quantity->dimension != dimension))
    return std::nullopt;
  const double value = quantity->toDouble();
  constexpr double kMax = 1e15;
  return value >= 0 && value <= kMax ? std::optional(value) : std::nullopt;
}

const Dimension kTime = Dimension::of(Base::Second), kPower = Dimension::of(Base::Joule) / kTime;

/// Sets a time, if the option is there.
Result<void> setTime(llvm::StringRef option, const std::string &text, double min, double &target) {
  if (text.empty())
    return {};
  const auto seconds = readNumber(text, kTime);
  if (!seconds || *seconds < min)
    return wrong(option, fmt::format("a time of at least {} s, as in 90 s, 2 h or 30d", min), text);
  target = *seconds;
  return {};
}

Result<void> setNoise(const std::string &text, SpeedNoise &noise) {
  if (text.empty())
    return {};
  llvm::StringRef number = llvm::StringRef(text).trim();
  const bool isPercent = number.consume_back("%");
  double value = 0;
  if (number.trim().getAsDouble(value) || !(value >= 0 && value <= (isPercent ? 100 : 1)))
    return wrong("noise", "a share from 0 to 100 %, as in 5%", text);
  noise.ofJob = noise.ofRound = isPercent ? value / 100 : value;
  return {};
}

/// "20 kW, 10 kW@8h": watts from a time on.
Result<void> setPower(const std::string &text, std::vector<PowerStep> &steps) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    const auto [watts, at] =
        part.contains('@') ? part.split('@') : std::pair<llvm::StringRef, llvm::StringRef>(part, "0");
    const auto power = readNumber(watts, kPower), time = readNumber(at, kTime);
    if (!power || !time)
      return wrong("power", "POWER@TIME, as in 20kW,10kW@8h", part.trim());
    steps.push_back({*time, *power});
  }
  return {};
}

/// "300 W", or "v100=300 W,k80=150 W".
Result<void> setDevicePower(const std::string &text, const Cluster &cluster, std::vector<double> &watts) {
  watts.assign(cluster.types.size(), 0);
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    const auto [name, amount] =
        part.contains('=') ? part.split('=') : std::pair<llvm::StringRef, llvm::StringRef>("", part);
    const auto power = readNumber(amount, kPower);
    const auto type = llvm::find(cluster.types, name.trim().str());
    if (!power || (!name.empty() && type == cluster.types.end()))
      return wrong("device-power", "a power of one device, as in 300W or v100=300W", part.trim());
    if (name.empty())
      watts.assign(cluster.types.size(), *power);
    else
      watts[static_cast<size_t>(type - cluster.types.begin())] = *power;
  }
  return {};
}

/// "3@1h..2h": a server, and when it is not there.
Result<void> addOutages(llvm::StringRef option, const std::vector<std::string> &texts, const Cluster &cluster,
                        bool isFailure, std::vector<ServerOutage> &outages) {
  for (const std::string &text : texts) {
    const auto [number, times] = llvm::StringRef(text).split('@');
    const auto [begin, end] = times.split("..");
    unsigned server = 0;
    const auto from = readNumber(begin, kTime), until = readNumber(end, kTime);
    if (number.trim().getAsInteger(10, server) || server >= cluster.servers.size() || !from || !until || *until < *from)
      return wrong(
          option,
          fmt::format("SERVER@FROM..UNTIL with a server from 0 to {}, as in 3@1h..2h", cluster.servers.size() - 1),
          text);
    outages.push_back({server, *from, *until, isFailure});
  }
  return {};
}

} // namespace

std::optional<double> readSeconds(const std::string &text) { return readNumber(text, kTime); }

Result<void> readJobEvents(const JobsOptions &options, const Cluster &cluster, SimulationOptions &simulation) {
  SimulationEvents &events = simulation.events;
  for (auto [option, text, min, target] : {std::tuple("mtbf", &options.mtbf, 60, &events.meanTimeBetweenFailures),
                                           std::tuple("repair", &options.repair, 1, &events.repairSeconds),
                                           std::tuple("checkpoint", &options.checkpoint, 1, &simulation.checkpoint)})
    if (auto set = setTime(option, *text, min, *target); !set)
      return set;
  if (auto set = setNoise(options.noise, simulation.noise); !set)
    return set;
  if (auto set = setPower(options.power, events.power); !set)
    return set;
  if (auto set = setDevicePower(options.devicePower, cluster, events.deviceWatts); !set)
    return set;
  if (!options.power.empty() && llvm::all_of(events.deviceWatts, [](double watts) { return watts == 0; }))
    return Error{Code::BadCommandLine, "--power: how much a device draws is not said; --device-power 300W does"};
  if (auto set = addOutages("outage", options.outages, cluster, true, events.outages); !set)
    return set;
  if (auto set = addOutages("drain", options.drains, cluster, false, events.outages); !set)
    return set;
  simulation.maxRestartsPerHour = options.maxRestarts;
  return {};
}

Result<std::vector<FairTenant>> readTenants(const std::string &text) {
  std::vector<FairTenant> tenants;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    const auto [name, weight] =
        part.contains('=') ? part.split('=') : std::pair<llvm::StringRef, llvm::StringRef>(part, "1");
    unsigned number = 0;
    constexpr unsigned kMax = 1000;
    if (name.trim().empty() || weight.trim().getAsInteger(10, number) || number == 0 || number > kMax)
      return wrong("tenants", "names with weights from 1 to 1000, as in vision=2,speech=1", part.trim());
    FairTenant tenant;
    tenant.name = name.trim().str();
    tenant.weight = number;
    tenant.objective = FairObjective::PowerMean;
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

} // namespace accord
