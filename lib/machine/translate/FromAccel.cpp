#include "lib/machine/translate/FromAccel.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/KeyLocations.h"
#include "dialects/accel/Schema.h"
#include "lib/machine/cost/CheckMemories.h"
#include "lib/machine/energy/AreaModel.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/machine/translate/MachineProperties.h"
#include "lib/machine/translate/PowerLevels.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/machine/translate/TableAttributes.h"
#include "lib/support/EmitError.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

/// Reads the keys of one block; the first problem is reported and remembered.
class AccelReader {
public:
  AccelReader(mlir::Operation *block, DictionaryAttr entries, std::string name, std::map<std::string, Origin> &origins)
      : block(block), entries(entries), name(std::move(name)), origins(origins) {}

  bool failed = false;

  /// The value of `key` if it is stated, as `Kind` and nothing left open.
  template <typename Kind> Kind get(StringRef key) { return closed<Kind>(key, entries.get(key)); }

  template <typename Kind> Kind closed(StringRef key, Attribute value) {
    if (!value)
      return {};
    if (auto found = dyn_cast<Kind>(value))
      return found;
    bool open = isa<accel::ChoiceAttr>(value);
    complain(key, open ? Code::NotADesign : Code::NotSupported)
        << (open ? " is left open: choose a value, or mine the design space first"
                 : " has no value yet: it depends on other keys");
    return {};
  }

  InFlightDiagnostic complain(StringRef key, Code code) {
    failed = true;
    return emitError(accel::locationOf(block, key), code) << "'" << key << "' of '" << name << "'";
  }

  void remember(StringRef key, const std::string &text, StringRef source = "") {
    origins[key.str()] = {text, source.str(), sourceOf(accel::locationOf(block, key.split('.').first))};
  }

  /// In base units, per second where it was stated per cycle (and in seconds where in cycles);
  /// `divisor` of it.
  double number(StringRef key, accel::QuantityAttr value, const Rational &clock, int64_t divisor = 1) {
    if (!value)
      return 0;
    Quantity quantity = value.quantity();
    auto cycles = quantity.dimension.exponents[static_cast<unsigned>(Base::Cycle)];
    bool rate = key == "clock";
    if (cycles != 0 && !rate) {
      if (clock.isZero()) {
        complain(key, Code::NoClock) << " is counted in cycles, but the accelerator states no 'clock'";
        return 0;
      }
      quantity.value = cycles < 0 ? quantity.value * clock : quantity.value / clock;
    }
    remember(key, value.spelled(), value.getSource());
    return (quantity.value / Rational(divisor)).toDouble();
  }
  double number(StringRef key, const Rational &clock = 0) { return number(key, get<accel::QuantityAttr>(key), clock); }
  /// The value of a key as it is, where it is stated.
  void read(StringRef key, Attribute value, bool &into) {
    if (auto flag = closed<BoolAttr>(key, value))
      into = flag.getValue();
  }
  void read(StringRef key, Attribute value, int64_t &into) {
    if (auto integer = closed<IntegerAttr>(key, value))
      into = integer.getInt();
  }
  void read(StringRef key, Attribute value, double &into, int64_t factor = 1) {
    if (auto quantity = closed<accel::QuantityAttr>(key, value))
      into = (quantity.quantity().value * Rational(factor)).toDouble();
  }
  template <typename Value> void read(StringRef key, Value &into) { read(key, entries.get(key), into); }

private:
  mlir::Operation *block;
  DictionaryAttr entries;
  std::string name;
  std::map<std::string, Origin> &origins;
};

/// The types an array or the lanes compute in, as far as they are stated.
std::vector<std::string> statedTypes(AccelReader &keys) {
  std::vector<std::string> types;
  if (auto set = keys.get<ArrayAttr>("types"))
    for (Attribute type : set)
      if (auto word = dyn_cast<StringAttr>(type))
        types.push_back(word.str());
  if (auto multiply = keys.get<StringAttr>("multiply"); multiply && types.empty())
    types.push_back(multiply.str());
  return types;
}

/// rows * cols * 2 or lanes, per cycle, with what it is called.
struct PerCycle {
  Rational flops;
  std::string text;
};

PerCycle readGeometry(AccelReader &keys, Core &core) {
  if (auto array = keys.get<ArrayAttr>("array"); array && array.size() == 2) {
    auto rows = keys.closed<IntegerAttr>("array", array[0]), cols = keys.closed<IntegerAttr>("array", array[1]);
    if (!rows || !cols)
      return {};
    core.rows = rows.getInt();
    core.cols = cols.getInt();
    std::string shape = std::to_string(core.rows) + " x " + std::to_string(core.cols);
    keys.remember("array", shape);
    return {Rational(2) * Rational(core.rows) * Rational(core.cols), "2 * " + shape + " FLOP/cycle * clock"};
  }
  if (auto lanes = keys.get<IntegerAttr>("lanes")) {
    core.lanes = lanes.getInt();
    keys.remember("lanes", std::to_string(core.lanes));
    return {Rational(core.lanes), std::to_string(core.lanes) + " lanes * 1 FLOP/cycle * clock"};
  }
  return {};
}

/// The peaks of one core as they are stated. Where array or lanes and clock give the same type's peak as well, both
/// agree within 1 %.
void readPeaks(AccelReader &keys, DictionaryAttr peaks, const Rational &clock, const PerCycle &geometry,
               bool ratesAgree, Core &core) {
  std::string all; // the whole key too, as it was written
  for (NamedAttribute peak : peaks) {
    std::string type = peak.getName().str();
    auto value = keys.closed<accel::QuantityAttr>("peak", peak.getValue());
    core.peak[type] = FlopsPerSecond(keys.number("peak." + type, value, clock, core.count));
    if (value)
      all += (all.empty() ? "" : ", ") + type + ": " + value.spelled();
  }
  std::vector<std::string> types = statedTypes(keys);
  if (types.empty() && core.peak.size() == 1)
    types.push_back(core.peak.begin()->first);
  double follows = (geometry.flops * clock).toDouble();
  for (const std::string &type : types)
    if (auto stated = core.peak.find(type); ratesAgree && stated != core.peak.end() && follows > 0 &&
                                            std::abs(stated->second.value / follows - 1) > 0.01 && !keys.failed)
      keys.complain("peak", Code::ConflictingRates)
          .append(" is ", fmt::format("{:.6g}", stated->second.value / 1e12), " TFLOP/s of ", type,
                  " for one core by its peak, but ", fmt::format("{:.6g}", follows / 1e12), " by its ",
                  core.rows ? "array" : "lanes", " and the clock");
  auto first = dyn_cast<accel::QuantityAttr>(peaks.begin()->getValue());
  keys.remember("peak", all, first ? first.getSource() : "");
}

/// The peaks that follow from array or lanes and the clock.
void derivePeaks(AccelReader &keys, const Rational &clock, const PerCycle &geometry, Core &core) {
  StringRef key = core.rows ? "array" : "lanes";
  if (clock.isZero())
    keys.complain(key, Code::NoClock) << " gives work per cycle, but the accelerator states no 'clock'";
  for (const std::string &type : statedTypes(keys)) {
    core.peak[type] = FlopsPerSecond((geometry.flops * clock).toDouble());
    core.origins["peak." + type] = {geometry.text, "", core.origins[key.str()].location};
  }
}

/// How operations are divided over the instances of a core, and what of a fold overlaps.
void readMapping(AccelReader &keys, Core &core) {
  if (auto mapping = keys.get<StringAttr>("mapping")) {
    core.perInstanceMapping = mapping.getValue() == "per_instance";
    core.anyMapping = mapping.getValue() == "any" && core.count > 1;
  }
  if (auto overlap = keys.get<ArrayAttr>("overlap"))
    for (Attribute what : overlap)
      if (auto word = dyn_cast<StringAttr>(what))
        (word.getValue() == "fill" ? core.overlapFill : core.overlapDrain) = true;
}

/// `sparse nm(n, m) { … }`: the operand is stored compressed, and only what is kept is computed; `sparse { … }`: as it
/// says.
SparseCore sparseCoreOf(AccelReader &keys, DictionaryAttr sparsity) {
  SparseCore core;
  auto read = [&](StringRef key, auto &into, auto... factor) {
    keys.read("sparse", sparsity.get(key), into, factor...);
  };
  auto word = [&](StringRef key) {
    auto value = keys.closed<StringAttr>("sparse", sparsity.get(key));
    return value ? value.getValue() : StringRef();
  };
  if (sparsity.contains("pattern")) {
    SparseAcceleration &use = word("on") == "activations" ? core.streaming : core.stationary;
    use.mode = SparseAcceleration::Mode::Skip;
    use.compress = true;
    read("n", use.kept);
    read("m", use.of);
  }
  for (auto [key, use] : {std::pair("stationary", &core.stationary), {"streaming", &core.streaming}}) {
    StringRef mode = word(key);
    if (!mode.empty())
      use->mode = mode == "skip"   ? SparseAcceleration::Mode::Skip
                  : mode == "gate" ? SparseAcceleration::Mode::Gate
                                   : SparseAcceleration::Mode::None;
    read("granule", use->granule);
  }
  if (auto operands = keys.closed<ArrayAttr>("sparse", sparsity.get("compress")))
    for (Attribute operand : operands)
      if (auto name = dyn_cast<StringAttr>(operand))
        (name.getValue() == "stationary" ? core.stationary : core.streaming).compress = true;
  read("tile", core.tile);
  read("slots", core.slots);
  read("lanes", core.lanes);
  read("metadata", core.metadataBits, int64_t(8));
  read("setup_cycles", core.setupCycles);
  read("gated_energy", core.gatedEnergy);
  read("words_per_cycle", core.wordsPerCycle);
  return core;
}

/// `dataflow { … }`.
DataflowFabric fabricOf(AccelReader &keys, DictionaryAttr fabric) {
  DataflowFabric made;
  keys.read("dataflow", fabric.get("multipliers"), made.multipliers);
  if (auto bits = keys.closed<ArrayAttr>("dataflow", fabric.get("multiplier_bits")); bits && bits.size() == 2) {
    auto rows = keys.closed<IntegerAttr>("dataflow", bits[0]), columns = keys.closed<IntegerAttr>("dataflow", bits[1]);
    if (rows && columns)
      made.multiplierRows = rows.getInt(), made.multiplierColumns = columns.getInt();
  }
  return made;
}

/// The accelerator's cost model, else the only one its cores name.
bool readCostModel(accel::AcceleratorOp accelerator, Machine &machine) {
  if (auto stated = accelerator.getEntries().getAs<StringAttr>("cost_model")) {
    machine.costModel = stated.str();
    return true;
  }
  accel::CoreOp first;
  for (auto core : accelerator.getBody().getOps<accel::CoreOp>()) {
    auto stated = core.getEntries().getAs<StringAttr>("cost_model");
    if (!stated)
      continue;
    if (first && machine.costModel != stated.getValue()) {
      auto error = emitError(accel::locationOf(core, "cost_model"), Code::NotSupported)
                   << "core '" << core.getSymName() << "' names cost model '" << stated.getValue()
                   << "', but one accelerator has one cost model so far";
      error.attachNote(accel::locationOf(first, "cost_model"))
          << "core '" << first.getSymName() << "' names '" << machine.costModel << "'";
      return false;
    }
    first = core;
    machine.costModel = stated.str();
  }
  return true;
}

bool readPower(accel::PowerOp power, const Rational &clock, Machine &machine) {
  AccelReader keys(power, power.getEntries(), "power", machine.origins);
  machine.idle = Watts(keys.number("idle"));
  machine.tdp = Watts(keys.number("tdp"));
  keys.number("thermal_resistance"), keys.number("regulator_efficiency"); // Cooling::of reads the origins
  double ambient = keys.number("ambient"), limit = keys.number("junction_limit");
  for (auto [key, kelvins] : {std::pair("ambient", ambient), std::pair("junction_limit", limit)})
    if (kelvins > 0 && !keys.failed && (kelvins < 200 || kelvins > 500))
      keys.complain(key, Code::OutOfRange) << fmt::format(
          " is {:.4g} K, {:.4g} degrees Celsius, but chips are used from 200 K to 500 K", kelvins, kelvins - 273.15);
  const Cooling cooling = Cooling::of(machine);
  if (!keys.failed && ambient + limit > 0 && cooling.limit <= cooling.ambient)
    keys.complain(limit > 0 ? "junction_limit" : "ambient", Code::OutOfRange)
        << fmt::format(": what cools has {:.4g} K, and the die may have {:.4g} K", cooling.ambient, cooling.limit);
  machine.energyPerFlop = JoulesPerFlop(keys.number("mac", keys.get<accel::QuantityAttr>("mac"), clock, 2));
  if (auto types = keys.get<DictionaryAttr>("mac_by_type"))
    for (NamedAttribute type : types)
      if (auto energy = keys.closed<accel::QuantityAttr>("mac_by_type", type.getValue())) {
        machine.energyPerFlopOf[type.getName().str()] = JoulesPerFlop(energy.quantity().value.toDouble() / 2);
        machine.origins["mac." + type.getName().str()] = {energy.spelled(), energy.getSource().str(),
                                                          sourceOf(accel::locationOf(power, "mac_by_type"))};
      }
  return !keys.failed;
}

constexpr const char *kComponents = "catalog/components";

/// Whether area or power of the accelerator around a block follow from its components.
bool usesComponents(mlir::Operation *accelerator) {
  bool uses = false;
  for (mlir::Operation &op : accelerator->getRegion(0).front())
    if (isa<accel::PowerOp, accel::AreaOp>(op))
      if (auto model = op.getAttrOfType<DictionaryAttr>("entries").getAs<StringAttr>("model"))
        uses |= model.getValue() == kComponents;
  return uses;
}

/// `power { model }`, and what of power and energy is stated beside it.
bool readPowerModel(accel::PowerOp power, ComponentRule &rule) {
  DictionaryAttr entries = power.getEntries();
  auto name = entries.getAs<StringAttr>("model");
  if (!name)
    return true;
  if (name.getValue() != kComponents) {
    emitError(accel::locationOf(power, "model"), Code::UnknownAreaModel)
        << "no model of power '" << name.getValue() << "' is in the catalogue, which has 'catalog/components'";
    return false;
  }
  rule.power = true;
  rule.macStated = entries.contains("mac") || entries.contains("mac_by_type");
  rule.idleStated = entries.contains("idle");
  return true;
}

/// The area that is stated, else how it follows from the parts.
bool readArea(accel::AcceleratorOp accelerator, Machine &machine, AreaRule &rule, ComponentRule &components) {
  AccelReader keys(accelerator, accelerator.getEntries(), machine.name, machine.origins);
  if (auto stated = keys.get<accel::QuantityAttr>("area"))
    machine.area = {keys.number("area", stated, 0)};
  bool isStated = accelerator.getEntries().contains("area");
  for (auto area : accelerator.getBody().getOps<accel::AreaOp>()) {
    AccelReader parts(area, area.getEntries(), "area", machine.origins);
    auto name = parts.get<StringAttr>("model");
    if (auto interfaces = parts.get<DictionaryAttr>("interfaces"))
      for (NamedAttribute entry : interfaces)
        if (auto count = parts.closed<accel::QuantityAttr>("interfaces", entry.getValue()))
          components.interfaces[entry.getName().str()] = count.quantity().value.toDouble();
    if (isStated || keys.failed || parts.failed)
      break;
    // Beside the model nothing else says what parts take, and without it nothing says what interfaces do.
    bool model = name && name.getValue() == kComponents;
    for (const char *key : {"mac", "lane", "sram", "fixed", "interfaces"})
      if (area.getEntries().contains(key) && model == (StringRef(key) != "interfaces")) {
        emitError(accel::locationOf(area, key), Code::NotSupported)
            << "'" << key << "' of 'area' is not used " << (model ? "beside" : "without") << " model = \""
            << kComponents << "\"";
        return false;
      }
    if (model) {
      components.area = true;
      rule.origin.location = sourceOf(accel::locationOf(area, "model"));
      continue;
    }
    if (name) {
      rule.name = name.str();
      rule.model = AreaModel::shipped(name.getValue());
      if (!rule.model) {
        emitError(accel::locationOf(area, "model"), Code::UnknownAreaModel)
            << "no area model '" << name.getValue()
            << "' is in the catalogue, which has 'catalog/area_45nm' and 'catalog/components'";
        return false;
      }
      parts.remember("model", name.str());
      rule.origin.location = machine.origins["model"].location;
      continue;
    }
    std::map<std::string, Origin> own; // "mac" of power is another one
    AccelReader rates(area, area.getEntries(), "area", own);
    rule.rates = {rates.number("mac"), rates.number("lane"), rates.number("sram"), rates.number("fixed")};
    for (const auto &[key, origin] : own)
      rule.origin.text += fmt::format("{}{} {}", rule.origin.text.empty() ? "" : ", ", key, origin.text);
    rule.origin.source = own.empty() ? "" : own.begin()->second.source;
    rule.origin.location = sourceOf(accel::blockLocation(area));
    if (rates.failed)
      return false;
  }
  return !keys.failed;
}

} // namespace

std::map<std::string, TableNumbers> tableNumbersOf(accel::AcceleratorOp accelerator) {
  std::map<std::string, TableNumbers> all;
  auto parts = accelerator->getAttrOfType<DictionaryAttr>(kTableNumbersAttribute);
  if (!parts)
    return all;
  for (NamedAttribute part : parts) {
    TableNumbers &numbers = all[part.getName().str()];
    auto values = dyn_cast<DictionaryAttr>(part.getValue());
    auto read = [&](llvm::StringRef key, std::optional<double> &into) {
      if (auto value = values ? values.getAs<FloatAttr>(key) : FloatAttr())
        into = value.getValueAsDouble();
    };
    read("area", numbers.area), read("energy", numbers.energy);
    read("leakage", numbers.leakage), read("cycle_leakage", numbers.cycleLeakage);
  }
  return all;
}

bool readMachineProperties(accel::AcceleratorOp accelerator, MachineProperties &head) {
  Machine &machine = head.machine;
  machine.name = accelerator.getSymName().str();
  machine.location = sourceOf(accel::blockLocation(accelerator));
  AccelReader keys(accelerator, accelerator.getEntries(), machine.name, machine.origins);
  if (auto stated = keys.get<accel::QuantityAttr>("clock")) {
    head.clock = stated.quantity().value;
    machine.clock = Hertz(keys.number("clock", stated, head.clock));
  }
  if (auto fitted = accelerator->getAttrOfType<DictionaryAttr>(kFittedAttribute))
    for (NamedAttribute value : fitted)
      if (auto number = dyn_cast<FloatAttr>(value.getValue()))
        machine.fitted.values.push_back({value.getName().str(), number.getValueAsDouble()});
  if (auto from = accelerator->getAttrOfType<StringAttr>(kFittedFromAttribute))
    machine.fitted.source = from.str();
  machine.host = {Seconds(keys.number("kernel_launch_overhead")), Seconds(keys.number("host_overhead_per_microbatch")),
                  Seconds(keys.number("host_overhead_per_step"))};
  machine.hostBandwidth = BytesPerSecond(keys.number("host_bandwidth"));
  if (auto fabric = keys.get<DictionaryAttr>("dataflow"))
    machine.fabric = fabricOf(keys, fabric);
  if (auto node = keys.get<accel::QuantityAttr>("technology"))
    head.node = node.quantity().value.toDouble();
  bool good = !keys.failed && readCostModel(accelerator, machine);
  for (auto power : accelerator.getBody().getOps<accel::PowerOp>())
    good &= readPower(power, head.clock, machine) && readPowerModel(power, head.components);
  if (auto voltage = keys.get<accel::QuantityAttr>("voltage"))
    head.components.voltage = keys.number("voltage", voltage, 0);
  good &= !keys.failed;
  head.components.node = head.node;
  head.components.tables = tableNumbersOf(accelerator);
  good &= readArea(accelerator, machine, head.area, head.components);
  if (auto network = keys.get<StringAttr>("interconnect")) {
    head.components.interconnect = network.str();
    if (!head.components.area && !head.components.power)
      keys.complain("interconnect", Code::NotSupported) << " is not used without model = \"" << kComponents << "\"";
  }
  return good && !keys.failed;
}

LogicalResult checkVoltage(accel::AcceleratorOp accelerator, const MachineProperties &head) {
  if (!accelerator.getEntries().contains("voltage"))
    return success();
  double share = head.components.voltage;
  if (share < 0.75 || share > 1.3)
    return emitError(accel::locationOf(accelerator, "voltage"), Code::OutOfRange)
           << "'voltage' of '" << head.machine.name << "' is " << fmt::format("{:.3g}", share)
           << " of the nominal supply, but scaling is known from 0.75 to 1.3";
  if (!(head.node > 0) || head.clock.isZero())
    return success();
  double limit = ProcessTable::shipped().clockLimit(head.node, share), clock = head.clock.toDouble();
  if (clock <= limit)
    return success();
  return emitError(accel::locationOf(accelerator, "clock"), Code::ClockAboveProcess)
         << "'clock' of '" << head.machine.name << "' is " << fmt::format("{:.4g}", clock / 1e9)
         << " GHz, but logic at " << fmt::format("{:.3g}", head.node * 1e9) << " nm and "
         << fmt::format("{:.3g}", share) << " of the nominal supply reaches " << fmt::format("{:.4g}", limit / 1e9)
         << " GHz (lib/catalog/process.csv)";
}

FailureOr<Memory> memoryOf(accel::MemoryOp op, const Rational &clock, double node) {
  Memory memory;
  memory.name = op.getSymName().str();
  memory.kind = op.getKind().str();
  AccelReader keys(op, op.getEntries(), memory.name, memory.origins);
  memory.capacity = Bytes(keys.number("capacity"));
  memory.bandwidth = BytesPerSecond(keys.number("bandwidth", clock));
  memory.latency = Seconds(keys.number("latency", clock));
  memory.energy = JoulesPerByte(keys.number("energy"));
  memory.sector = Bytes(keys.number("sector"));
  keys.read("double_buffered", memory.doubleBuffered);
  keys.read("ports", memory.ports);
  keys.read("banks", memory.banks);
  if (auto width = keys.get<accel::QuantityAttr>("port_width")) {
    memory.portBytesPerCycle = width.quantity().value.toDouble();
    keys.remember("port_width", width.spelled(), width.getSource());
  }
  if (auto efficiency = keys.get<accel::QuantityAttr>("efficiency"))
    memory.efficiency = keys.number("efficiency", efficiency, clock);
  if (auto refresh = keys.get<accel::QuantityAttr>("refresh_efficiency"))
    memory.efficiency *= keys.number("refresh_efficiency", refresh, clock);
  if (keys.failed)
    return failure();
  if (memory.kind == "dram" && usesComponents(op->getParentOp())) {
    auto standard = op.getEntries().getAs<StringAttr>("standard");
    memory.origins["standard"] = {standard ? standard.str() : "hbm2", "", sourceOf(accel::blockLocation(op))};
  }
  if (node > 0) {
    std::map<std::string, std::string> standards;
    if (auto standard = op.getEntries().getAs<StringAttr>("standard"))
      standards[memory.name] = standard.str();
    Machine alone;
    alone.location = sourceOf(accel::blockLocation(op->getParentOp()));
    alone.memories = {memory};
    fillEnergies(alone, node, standards);
    return alone.memories[0];
  }
  return memory;
}

FailureOr<Core> coreOf(accel::CoreOp op, const Rational &clock, const MemoryOrder &order, bool ratesAgree) {
  Core core;
  core.name = op.getSymName().str();
  core.kind = op.getKind() == "tensor" ? CoreKind::Tensor : CoreKind::Vector;
  AccelReader keys(op, op.getEntries(), core.name, core.origins);
  auto count = op.instances();
  if (!count) {
    keys.complain("count", Code::NotADesign) << " is left open: choose a value, or mine the design space first";
    return failure();
  }
  core.count = *count;
  PerCycle geometry = readGeometry(keys, core);
  if (auto peaks = keys.get<DictionaryAttr>("peak"))
    readPeaks(keys, peaks, clock, geometry, ratesAgree, core);
  else if (!geometry.text.empty())
    derivePeaks(keys, clock, geometry, core);
  if (auto dataflow = keys.get<StringAttr>("dataflow"))
    core.dataflow = accel::canonicalWord(dataflow.getValue()).str();
  if (auto efficiency = keys.get<accel::QuantityAttr>("efficiency"))
    core.efficiency = keys.number("efficiency", efficiency, clock);
  core.halfPerformanceWork = Flops(keys.number("half_performance_work"));
  readMapping(keys, core);
  if (auto cycles = keys.get<DictionaryAttr>("cycles"))
    for (NamedAttribute entry : cycles)
      if (auto count = keys.closed<accel::QuantityAttr>("cycles", entry.getValue()))
        core.cyclesOf[entry.getName().str()] = count.quantity().value.toDouble();
  if (auto sparsity = keys.get<DictionaryAttr>("sparse"))
    core.sparse = sparseCoreOf(keys, sparsity);
  if (auto reads = op.getEntries().getAs<FlatSymbolRefAttr>("reads")) {
    auto *memory = SymbolTable::lookupSymbolIn(op->getParentOp(), reads);
    core.reads = order.indexOf.contains(memory) ? order.indexOf.lookup(memory) : -1;
  } else if (auto last = order.lastBeforeCore.find(op); last != order.lastBeforeCore.end()) {
    core.reads = last->second;
  }
  if (keys.failed)
    return failure();
  if (auto detailed = op->getAttrOfType<FlatSymbolRefAttr>(kMicroarchitectureAttribute)) {
    auto described =
        SymbolTable::lookupNearestSymbolFrom<accel::MicroarchitectureOp>(op->getParentOfType<ModuleOp>(), detailed);
    auto read = described ? microarchitectureFrom(described) : FailureOr<microarchitecture::Microarchitecture>();
    if (failed(read))
      return failure();
    core.microarchitecture = std::make_shared<const microarchitecture::Microarchitecture>(std::move(*read));
    if (clock.isZero()) {
      keys.complain("microarchitecture", Code::NoClock) << " counts cycles, but the accelerator states no 'clock'";
      return failure();
    }
    for (const std::string &type : core.peak.empty() ? statedTypes(keys) : std::vector<std::string>()) {
      core.peak[type] = FlopsPerSecond(flopsPerCycle(core) * clock.toDouble());
      core.origins["peak." + type] = {"FLOP/cycle of its units * clock", "", {}};
    }
  }
  return core;
}

std::optional<Error> applyArea(const AreaRule &rule, Machine &machine) {
  if (rule.model) {
    auto sum = rule.model->area(machine);
    if (!sum) {
      sum.error().message = fmt::format("'{}' {}", rule.name, sum.error().message);
      return sum.takeError();
    }
    machine.area = *sum;
    machine.origins["area"] = {fmt::format("{:.6g} mm2 by {}", machine.area.squareMillimetres(), rule.name), "",
                               rule.origin.location};
  } else if (rule.rates) {
    machine.area = areaOfParts(machine, *rule.rates);
    machine.origins["area"] = rule.origin;
  }
  return std::nullopt;
}

FailureOr<Machine> machineFrom(accel::AcceleratorOp accelerator) {
  MachineProperties head;
  bool good = readMachineProperties(accelerator, head);
  FailureOr<MemoryOrder> order = memoryOrder(accelerator);
  if (failed(order))
    return failure();
  Machine machine = head.machine;
  for (accel::MemoryOp op : order->memories) {
    FailureOr<Memory> memory = memoryOf(op, head.clock, head.node);
    good &= succeeded(memory);
    machine.memories.push_back(succeeded(memory) ? *memory : Memory());
  }
  for (auto op : accelerator.getBody().getOps<accel::CoreOp>()) {
    FailureOr<Core> core = coreOf(op, head.clock, *order);
    good &= succeeded(core);
    machine.cores.push_back(succeeded(core) ? *core : Core());
  }
  if (!good || !checkMemories(accelerator, *order, machine))
    return failure();
  if (std::optional<Error> issue = applyArea(head.area, machine)) {
    auto area = *accelerator.getBody().getOps<accel::AreaOp>().begin();
    emitError(accel::locationOf(area, "model"), issue->code) << issue->message;
    return failure();
  }
  fillEnergies(machine, head.node); // of the arithmetic: memories have theirs
  if (failed(checkVoltage(accelerator, head)))
    return failure();
  if (std::optional<Error> issue = applyComponents(head.components, machine)) {
    emitError(accel::blockLocation(accelerator), issue->code) << issue->message;
    return failure();
  }
  if (head.components.power && !machine.origins.count("tdp")) {
    machine.tdp = powerAtPeak(machine);
    machine.origins["tdp"] = {fmt::format("{:.6g} W, everything at its peak", machine.tdp.value), "", machine.location};
  }
  return atUsedLevel(accelerator, std::move(machine));
}

SourceLocation sourceOf(mlir::Location location) {
  SourceLocation found;
  location->walk([&](mlir::Location inner) {
    auto file = llvm::dyn_cast<mlir::FileLineColLoc>(inner);
    if (!file)
      return mlir::WalkResult::advance();
    found = {file.getFilename().str(), file.getLine(), file.getColumn()};
    return mlir::WalkResult::interrupt();
  });
  return found;
}

} // namespace accord
