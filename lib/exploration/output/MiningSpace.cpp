#include "lib/exploration/output/MiningSpace.h"
#include "dialects/accel/Schema.h"
#include "lib/exploration/output/MiningTerms.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/machine/translate/MachineProperties.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

/// An open value: of a key, or an element or a member of it.
struct Open {
  mlir::Operation *op = nullptr;
  std::string key, member, path;
  int element = -1;
  Attribute value;
  bool integer = false;
  bool cycles = false;   ///< of an instruction: an expression that stays one
  bool declared = false; ///< a parameter that others follow from, and stands nowhere
};

/// Operations that are read together, and what they have read by what is chosen.
template <class Read> struct Block {
  std::vector<mlir::Operation *> ops;
  std::vector<const Open *> open;
  std::vector<size_t> depends; ///< places of a design
  std::map<std::vector<uint32_t>, std::optional<Read>> known;

  std::vector<uint32_t> keyOf(const Design &design) const {
    std::vector<uint32_t> key;
    for (size_t place : depends)
      key.push_back(design[place]);
    return key;
  }
};

bool isOpen(Attribute value) { return isa<accel::ChoiceAttr, accel::ReferenceAttr, accel::ApplyAttr>(value); }

} // namespace

struct MiningSpace::Data {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  accel::AcceleratorOp accelerator;
  std::string name, said;
  MiningTerms terms;
  std::vector<Open> open;
  std::map<std::string, std::vector<std::string>> choices;
  std::vector<std::pair<std::string, Attribute>> conditions;
  bool maximizes = false;
  std::string metric;   ///< "step_time * area", "1 / (throughput / price)": what the last objective makes least
  Attribute expression; ///< of the objective; null: there is none
  bool powerKnown = false, powerStated = false;
  MemoryOrder order;
  Block<MachineProperties> head;
  std::vector<Block<Memory>> memories;
  std::vector<Block<Core>> cores;
  std::map<std::string, Machine> energies; ///< of arithmetic, by node and types
  Machine machine;

  void collect(mlir::Operation *op, const std::string &prefix, DictionaryAttr entries,
               const accel::BlockSchema *schema);
  void collect(accel::MicroarchitectureOp detailed, const std::string &prefix);
  bool findAll();
  template <class Read> void depend(Block<Read> &block);
  bool set(const std::vector<const Open *> &all);
  Attribute chosenCycles(Attribute value) const;
  Rational numberNow(const std::string &path) const;
  bool finish(Machine &made, const MachineProperties &properties);
  template <class Read, class Make> const std::optional<Read> &get(Block<Read> &block, const Design &design, Make make);
};

void MiningSpace::Data::collect(mlir::Operation *op, const std::string &prefix, DictionaryAttr entries,
                                const accel::BlockSchema *schema) {
  auto take = [&](Open one) {
    terms.values.try_emplace(one.path, one.value);
    if (isOpen(one.value))
      open.push_back(std::move(one));
  };
  for (NamedAttribute entry : entries) {
    std::string key = entry.getName().str();
    const accel::KeySchema *known = schema ? schema->findKey(key) : nullptr;
    bool integer = known && (known->kind == accel::ValueKind::Integer || known->kind == accel::ValueKind::Shape);
    const bool cycles = known && known->kind == accel::ValueKind::Cycles;
    if (auto members = dyn_cast<DictionaryAttr>(entry.getValue())) {
      for (NamedAttribute member : members)
        take({op, key, member.getName().str(), prefix + key + "." + member.getName().str(), -1, member.getValue(),
              false});
    } else if (auto elements = dyn_cast<ArrayAttr>(entry.getValue())) {
      const int rank = elements.size() == 2 || elements.size() == 3 ? int(elements.size()) : 0;
      for (int i = 0; integer && i < rank; ++i)
        take({op, key, "", prefix + key + (i == 2 ? ".depth" : i ? ".cols" : ".rows"), i, elements[i], true});
    } else {
      take({op, key, "", prefix + key, -1, entry.getValue(), integer, cycles});
    }
  }
}

/// Parameters, keys and parts of the microarchitecture of a core.
void MiningSpace::Data::collect(accel::MicroarchitectureOp detailed, const std::string &prefix) {
  if (auto all = detailed->getAttrOfType<DictionaryAttr>(kOpenParameters))
    for (NamedAttribute one : all) {
      Open parameter{detailed, "", "", prefix + one.getName().str(), -1, one.getValue(), false, false, true};
      terms.values.try_emplace(parameter.path, parameter.value);
      open.push_back(std::move(parameter));
    }
  collect(detailed, prefix + "microarchitecture.", detailed.getEntries(), accel::findSchema("microarchitecture"));
  for (auto part : detailed.getBody().getOps<accel::PartOp>()) {
    const std::string inner = prefix + part.getSymName().str() + ".";
    if (Attribute count = part.getCountAttr()) {
      terms.values.try_emplace(inner + "count", count);
      if (isOpen(count))
        open.push_back({part, "count", "", inner + "count", -1, count, true});
    }
    collect(part, inner, part.getEntries(), accel::findSchema("part", part.getKind()));
  }
}

/// Cycles with the design's numbers in place of what follows from its choices; null: one of them has no value.
Attribute MiningSpace::Data::chosenCycles(Attribute value) const {
  if (auto name = dyn_cast<accel::ReferenceAttr>(value)) {
    if (!name.getPath().contains('.'))
      return value; // of the instruction
    Result<Quantity> number = terms.exact(value);
    return number ? accel::QuantityAttr::get(value.getContext(), *number, number->print(), "") : Attribute();
  }
  auto apply = dyn_cast<accel::ApplyAttr>(value);
  if (!apply)
    return value;
  SmallVector<Attribute> operands;
  for (Attribute operand : apply.getOperands())
    operands.push_back(chosenCycles(operand));
  if (llvm::is_contained(operands, Attribute()))
    return {};
  accel::ApplyAttr made =
      accel::ApplyAttr::get(value.getContext(), apply.getFunction(), ArrayAttr::get(value.getContext(), operands));
  if (!llvm::all_of(operands, llvm::IsaPred<accel::QuantityAttr>))
    return made;
  // Of numbers alone; what does not come out even is rounded up.
  Result<Quantity> number = terms.exact(made);
  if (!number)
    return made;
  Quantity whole(number->value.ceil(), number->dimension);
  return accel::QuantityAttr::get(value.getContext(), whole, whole.print(), "");
}

bool MiningSpace::Data::findAll() {
  collect(accelerator, "", accelerator.getEntries(), accel::findSchema("accelerator"));
  bool technology = terms.values.count("technology") != 0;
  powerKnown = true;
  head.ops = {accelerator};
  for (mlir::Operation &op : accelerator.getBody().front()) {
    if (auto memory = dyn_cast<accel::MemoryOp>(op)) {
      collect(&op, memory.getSymName().str() + ".", memory.getEntries(), accel::findSchema("memory", memory.getKind()));
      powerKnown = powerKnown && (technology || memory.getEntries().contains("energy"));
    }
    if (auto core = dyn_cast<accel::CoreOp>(op)) {
      std::string prefix = core.getSymName().str() + ".";
      Attribute count = core.getCountAttr();
      if (!count)
        count = IntegerAttr::get(IntegerType::get(&context, 64), 1);
      terms.values.try_emplace(prefix + "count", count);
      if (isOpen(count))
        open.push_back({&op, "count", "", prefix + "count", -1, count, true});
      collect(&op, prefix, core.getEntries(), accel::findSchema("core", core.getKind()));
      if (auto detailed = microarchitectureOf(core))
        collect(detailed, prefix);
    }
    if (auto power = dyn_cast<accel::PowerOp>(op)) {
      collect(&op, "power.", power.getEntries(), accel::findSchema("power"));
      head.ops.push_back(&op);
    }
    if (auto area = dyn_cast<accel::AreaOp>(op)) {
      collect(&op, "area.", area.getEntries(), accel::findSchema("area"));
      head.ops.push_back(&op);
    }
    if (auto price = dyn_cast<accel::PriceOp>(op))
      if (Attribute amount = price.getEntries().get("amount"))
        terms.values.try_emplace("price", amount);
    if (auto made = dyn_cast<accel::ObjectiveOp>(op); made && made.getExpressionAttr()) {
      maximizes = made.getDirection() == "maximize", expression = made.getExpressionAttr();
      metric = maximizes ? "1 / (" + made.getText().str() + ")" : made.getText().str();
    }
    if (auto require = dyn_cast<accel::RequireOp>(op); require && require.getConditionAttr())
      conditions.push_back(
          {(require.getLabel() ? *require.getLabel() : require.getText()).str(), require.getConditionAttr()});
  }
  powerKnown = powerKnown && (technology || terms.values.count("power.mac"));
  powerStated = terms.values.count("power.tdp") != 0;
  for (const Open &one : open)
    if (auto choice = dyn_cast<accel::ChoiceAttr>(one.value)) {
      MiningTerms::Parameter &parameter = terms.parameters[one.path];
      parameter.choices = choicesOf(choice);
      for (Attribute value : parameter.choices)
        choices[one.path].push_back(spelled(value));
      if (parameter.choices.empty()) {
        said = fmt::format("'{}' has no known entry", one.path);
        return false;
      }
    }
  auto found = memoryOrder(accelerator);
  if (failed(found))
    return false;
  order = *found;
  for (accel::MemoryOp memory : order.memories)
    memories.emplace_back().ops = {memory};
  for (auto core : accelerator.getBody().getOps<accel::CoreOp>()) {
    auto &block = cores.emplace_back();
    block.ops = {core};
    if (auto detailed = microarchitectureOf(core)) {
      block.ops.push_back(detailed);
      for (mlir::Operation &part : detailed.getBody().front())
        block.ops.push_back(&part);
    }
  }
  return true;
}

template <class Read> void MiningSpace::Data::depend(Block<Read> &block) {
  std::set<std::string> paths;
  for (const Open &one : open) {
    bool mine = llvm::is_contained(block.ops, one.op);
    if (mine)
      block.open.push_back(&one);
    if (!mine && one.path != "clock" && one.path != "technology")
      continue;
    if (isa<accel::ChoiceAttr>(one.value))
      paths.insert(one.path);
    else
      terms.follow(one.value, paths);
  }
  for (const std::string &path : paths)
    block.depends.push_back(terms.parameters.at(path).place);
}

/// Writes what the design has into the description.
bool MiningSpace::Data::set(const std::vector<const Open *> &all) {
  for (const Open *one : all) {
    Attribute value;
    if (one->declared)
      continue;
    if (isa<accel::ChoiceAttr>(one->value)) {
      value = terms.chosen(one->path, one->value);
    } else if (one->cycles) {
      value = chosenCycles(one->value);
      if (!value)
        return false;
    } else {
      Result<Quantity> number = terms.exact(one->value);
      if (!number)
        return false;
      if (one->integer) {
        auto whole = number->toInt64();
        if (!whole)
          return false;
        value = IntegerAttr::get(IntegerType::get(&context, 64), *whole);
      } else {
        value = accel::QuantityAttr::get(&context, *number, number->print());
      }
    }
    if (one->key == "count" && isa<accel::CoreOp>(one->op)) {
      cast<accel::CoreOp>(one->op).setCountAttr(value);
      continue;
    }
    if (auto part = dyn_cast<accel::PartOp>(one->op); part && one->key == "count") {
      part.setCountAttr(value);
      continue;
    }
    NamedAttrList entries(one->op->getAttrOfType<DictionaryAttr>("entries"));
    if (one->element >= 0) {
      SmallVector<Attribute> elements(cast<ArrayAttr>(entries.get(one->key)).getValue());
      elements[one->element] = value;
      value = ArrayAttr::get(&context, elements);
    } else if (!one->member.empty()) {
      NamedAttrList members(cast<DictionaryAttr>(entries.get(one->key)));
      members.set(one->member, value);
      value = members.getDictionary(&context);
    }
    entries.set(one->key, value);
    one->op->setAttr("entries", entries.getDictionary(&context));
  }
  return true;
}

/// Of the design; 0: it is not stated.
Rational MiningSpace::Data::numberNow(const std::string &path) const {
  auto value = terms.values.find(path);
  auto now = value == terms.values.end() ? Result<Quantity>() : terms.exact(terms.chosen(path, value->second));
  return now ? now->value : Rational(0);
}

template <class Read, class Make>
const std::optional<Read> &MiningSpace::Data::get(Block<Read> &block, const Design &design, Make make) {
  auto [found, isNew] = block.known.try_emplace(block.keyOf(design));
  if (isNew) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    if (set(block.open))
      found->second = make();
  }
  return found->second;
}

/// What a machine has beyond its blocks, an area by rates or tables apart. False: it is no machine.
bool MiningSpace::Data::finish(Machine &made, const MachineProperties &properties) {
  const double node = properties.node;
  if (node > 0 && !made.origins.count("mac") && made.energyPerFlopOf.empty()) {
    std::string key = fmt::format("{:a}", node);
    for (const Core &core : made.cores) {
      key += "|";
      for (const auto &[type, peak] : core.peak)
        key += type + " ";
    }
    auto [found, isNew] = energies.try_emplace(key);
    if (isNew) {
      found->second.cores = made.cores;
      fillEnergies(found->second, node);
      found->second.cores.clear();
    }
    made.energyPerFlopOf = found->second.energyPerFlopOf;
  }
  if (applyComponents(properties.components, made))
    return false;
  if (!powerStated && powerKnown)
    made.tdp = powerAtPeak(made);
  return true;
}

MiningSpace::MiningSpace(std::unique_ptr<Data> data) : data_(std::move(data)) {}
MiningSpace::~MiningSpace() = default;

std::variant<std::unique_ptr<MiningSpace>, std::string> MiningSpace::read(const std::string &text) {
  auto made = std::make_unique<Data>();
  Data &data = *made;
  data.context.disableMultithreading();
  data.context.loadDialect<accel::AccelDialect>();
  ScopedDiagnosticHandler handler(&data.context, [&](Diagnostic &said) {
    if (data.said.empty())
      data.said = said.str();
    return success();
  });
  data.module = parseSourceString<ModuleOp>(text, ParserConfig(&data.context));
  if (data.module)
    for (auto accelerator : data.module->getOps<accel::AcceleratorOp>()) {
      data.accelerator = accelerator;
      data.name = accelerator.getSymName().str();
      break;
    }
  if (!data.accelerator || !data.findAll())
    return data.said.empty() ? "no accelerator is in it" : data.said;
  return std::unique_ptr<MiningSpace>(new MiningSpace(std::move(made)));
}

const std::string &MiningSpace::name() const { return data_->name; }
const std::map<std::string, std::vector<std::string>> &MiningSpace::choices() const { return data_->choices; }
std::vector<std::string> MiningSpace::requirements() const {
  std::vector<std::string> all;
  for (const auto &[text, condition] : data_->conditions)
    all.push_back(text);
  return all;
}

bool MiningSpace::arrange(const std::vector<std::string> &paths) {
  auto &parameters = data_->terms.parameters;
  std::set<std::string> once(paths.begin(), paths.end());
  if (once.size() != paths.size() || paths.size() != parameters.size())
    return false;
  for (size_t place = 0; place < paths.size(); ++place) {
    auto found = parameters.find(paths[place]);
    if (found == parameters.end())
      return false;
    found->second.place = place;
  }
  data_->depend(data_->head);
  for (auto &block : data_->memories)
    data_->depend(block);
  for (auto &block : data_->cores)
    data_->depend(block);
  return true;
}

const Machine *MiningSpace::nearly(const Design &design) {
  Data &data = *data_;
  data.terms.design = &design;
  const auto &head = data.get(data.head, design, [&]() -> std::optional<MachineProperties> {
    MachineProperties read;
    return readMachineProperties(data.accelerator, read) && succeeded(checkVoltage(data.accelerator, read))
               ? std::optional(std::move(read))
               : std::nullopt;
  });
  if (!head)
    return nullptr;
  Machine &machine = data.machine;
  machine = head->machine;
  for (auto &block : data.memories) {
    const auto &memory = data.get(block, design, [&]() -> std::optional<Memory> {
      auto read = memoryOf(cast<accel::MemoryOp>(block.ops[0]), data.numberNow("clock"),
                           data.numberNow("technology").toDouble());
      if (failed(read))
        return std::nullopt;
      // Numbers alone, but for what the model of components asks.
      std::erase_if(read->origins, [](const auto &one) { return one.first != "energy" && one.first != "standard"; });
      return *read;
    });
    if (!memory)
      return nullptr;
    machine.memories.push_back(*memory);
  }
  for (auto &block : data.cores) {
    const auto &core = data.get(block, design, [&]() -> std::optional<Core> {
      auto read = coreOf(cast<accel::CoreOp>(block.ops[0]), data.numberNow("clock"), data.order);
      if (failed(read))
        return std::nullopt;
      read->origins.clear();
      return *read;
    });
    if (!core)
      return nullptr;
    machine.cores.push_back(*core);
  }
  if (applyArea(head->area, machine))
    return nullptr;
  if (!data.finish(machine, *head))
    return nullptr;
  return &machine;
}

std::variant<Machine, std::string> MiningSpace::exactly(const Design &design) {
  Data &data = *data_;
  data.terms.design = &design;
  std::string said;
  ScopedDiagnosticHandler handler(&data.context, [&](Diagnostic &what) {
    if (said.empty())
      said = what.str();
    return success();
  });
  std::vector<const Open *> all;
  for (const Open &one : data.open)
    if (!isa<accel::PriceOp>(one.op))
      all.push_back(&one);
  if (!data.set(all) || failed(verify(data.accelerator)))
    return said.empty() ? "a value that no machine has" : said;
  auto made = machineFrom(data.accelerator);
  if (failed(made))
    return said.empty() ? "no machine" : said;
  MachineProperties properties;
  properties.node = data.numberNow("technology").toDouble(); // the components are in it
  data.finish(*made, properties);
  return std::move(*made);
}

std::optional<std::string> MiningSpace::violatedRequirement(const Design &design, const Machine &machine) {
  data_->terms.design = &design;
  for (const auto &[text, condition] : data_->conditions)
    if (!data_->terms.holds(condition, machine))
      return text;
  return std::nullopt;
}

std::string MiningSpace::metric() const { return data_->metric; }

double MiningSpace::metricValue(const Machine &machine, const StepUse &step) {
  return data_->expression && data_->terms.design
             ? data_->terms.metricValue(data_->maximizes, data_->expression, machine, step)
             : NAN;
}

} // namespace accord
