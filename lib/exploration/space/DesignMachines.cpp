// The machine of a design, or of the ends of a box, from blocks that are read once each.

#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/machine/cost/CheckMemories.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "mlir/IR/Verifier.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

constexpr int64_t kMaxInteger = int64_t(1) << 62;

bool isInteger(const accel::KeySchema &schema) {
  return schema.kind == accel::ValueKind::Integer || schema.kind == accel::ValueKind::Shape;
}

} // namespace

bool DesignMachines::findBlocks() {
  working = design.module->clone();
  accelerator = *working->getOps<accel::AcceleratorOp>().begin();
  auto found = memoryOrder(accelerator);
  if (failed(found))
    return false;
  order = *found;
  head.ops = {accelerator};
  for (mlir::Operation &op : accelerator.getBody().front())
    if (isa<accel::PowerOp, accel::AreaOp>(op))
      head.ops.push_back(&op);
  for (accel::MemoryOp memory : order.memories) {
    memories.push_back({{memory}, {}, {}, {}});
    readMemories.push_back(std::make_unique<BlockCache<Memory>>());
    macros.push_back(std::make_unique<BlockCache<MacroSpan>>());
  }
  for (auto core : accelerator.getBody().getOps<accel::CoreOp>()) {
    DesignBlock &block = cores.emplace_back();
    block.ops = {core};
    if (auto detailed = microarchitectureOf(core))
      for (const auto &[op, path, schema] : blocksOf(detailed, core.getSymName().str()))
        block.ops.push_back(op);
    readCores.push_back(std::make_unique<BlockCache<Core>>());
    checked.push_back(std::make_unique<BlockCache<bool>>());
  }
  return true;
}

std::vector<DesignBlock *> DesignMachines::blocks() {
  std::vector<DesignBlock *> all{&head};
  for (auto *some : {&memories, &cores})
    for (DesignBlock &block : *some)
      all.push_back(&block);
  return all;
}

/// Why a value that follows from parameters cannot be one of its key.
std::optional<Error> DesignMachines::siteError(const DesignPlace &place, int term) const {
  const DesignTerms::Term &found = design.terms[term];
  bool fits = found.word || (!found.truth && (isInteger(*place.schema)
                                                  ? found.dimension.dimensionless()
                                                  : llvm::is_contained(place.schema->dimensions, found.dimension)));
  if (!fits)
    return Error{Code::WrongDimension,
                 fmt::format("'{}' is {}, but this is {}", place.path, accel::expected(*place.schema),
                             found.truth ? "a condition" : describe(found.dimension)),
                 design.locationOf(place)};
  if (!design.terms.exact(term, wholeOf(design.parameters)))
    return Error{Code::OutOfRange,
                 fmt::format("'{}' has no value for every design: it may divide by 0, or "
                             "be too large to compute",
                             place.path),
                 design.locationOf(place)};
  return std::nullopt;
}

/// How many of a core there are, and not how many of a part of it.
static bool isCoreCount(const DesignSite &site) {
  return site.place.key == "count" && isa<accel::CoreOp>(site.place.op);
}

/// Whether nothing of a core but its count depends on the parameter `count`.
bool DesignMachines::countsAlone(const DesignBlock &core, size_t count) const {
  auto depends = [&](int term) { return term >= 0 && llvm::is_contained(design.terms[term].parameters, count); };
  return !cast<accel::CoreOp>(core.ops[0]).getEntries().contains("peak") && !depends(clock) && !depends(node) &&
         llvm::none_of(core.sites, [&](const DesignSite &site) {
           return !isCoreCount(site) && (depends(site.term) || (site.place.schema->kind == accel::ValueKind::Cycles &&
                                                                llvm::is_contained(site.follows, count)));
         });
}

/// Cycles of an instruction that follow from parameters: they stay an expression, whose quotients round up.
std::optional<Error> DesignMachines::addCycles(const DesignPlace &place, DesignBlock &block,
                                               std::set<size_t> &depends) {
  std::set<size_t> follows;
  std::optional<Error> error;
  auto visit = [&](auto &self, Attribute value) -> void {
    if (auto apply = dyn_cast<accel::ApplyAttr>(value))
      for (Attribute operand : apply.getOperands())
        self(self, operand);
    auto reference = dyn_cast<accel::ReferenceAttr>(value);
    if (!reference || !reference.getPath().contains('.'))
      return;
    Result<int> term = design.termAt(reference.getPath().str(), false);
    if (!term)
      error = term.error();
    else if (!design.terms.exact(*term, wholeOf(design.parameters)))
      error = Error{Code::OutOfRange, fmt::format("'{}' has no value for every design", reference.getPath().str())};
    else
      follows.insert(design.terms[*term].parameters.begin(), design.terms[*term].parameters.end());
  };
  visit(visit, place.value);
  if (error)
    return error;
  depends.insert(follows.begin(), follows.end());
  block.sites.push_back({place, -1, {}, {follows.begin(), follows.end()}});
  return std::nullopt;
}

namespace {

/// Expressions of cycles with the values of a box in place of what follows from parameters.
class CyclesInBox {
public:
  using ValueOf = llvm::function_ref<std::pair<Quantity, Quantity>(StringRef path)>; ///< smallest and largest
  explicit CyclesInBox(ValueOf valueOf) : valueOf(valueOf) {}

  /// Not above (`max`: below) the cycles of any design of the box for any instruction; null where that is not known.
  Attribute run(Attribute value, bool max) {
    if (auto reference = dyn_cast<accel::ReferenceAttr>(value)) {
      if (!reference.getPath().contains('.'))
        return value;
      auto [low, high] = valueOf(reference.getPath());
      const Quantity &number = max ? high : low;
      return accel::QuantityAttr::get(value.getContext(), number, number.print(), "");
    }
    auto apply = dyn_cast<accel::ApplyAttr>(value);
    if (!apply)
      return value;
    StringRef function = apply.getFunction();
    const bool quotient = function == "/" || function == "ceil_div";
    if (!isFixed(value) && (function == "*" || quotient) &&
        !llvm::all_of(apply.getOperands(), [&](Attribute operand) { return isNotNegative(operand); }))
      return {};
    SmallVector<Attribute> operands;
    for (auto [i, operand] : llvm::enumerate(apply.getOperands())) {
      const bool falls = i > 0 && (function == "-" || quotient);
      operands.push_back(run(operand, max != falls));
      if (!operands.back())
        return {};
    }
    if (Attribute number = folded(function, operands))
      return number;
    return accel::ApplyAttr::get(value.getContext(), function, ArrayAttr::get(value.getContext(), operands));
  }

private:
  /// What is computed of numbers alone; quotients round up. Null: it is not, or has no value.
  static Attribute folded(StringRef function, ArrayRef<Attribute> operands) {
    std::optional<Quantity> value;
    for (Attribute operand : operands) {
      auto number = dyn_cast<accel::QuantityAttr>(operand);
      if (!number)
        return {};
      const Quantity next = number.quantity();
      if (!value) {
        value = next;
        continue;
      }
      const bool isLess = next.value < value->value;
      auto result = function == "+"     ? add(*value, next)
                    : function == "-"   ? subtract(*value, next)
                    : function == "*"   ? multiply(*value, next)
                    : function == "min" ? Result<Quantity>(isLess ? next : *value)
                    : function == "max" ? Result<Quantity>(isLess ? *value : next)
                                        : ceilDivide(*value, next);
      if (!result)
        return {};
      value = *result;
    }
    return value ? accel::QuantityAttr::get(operands[0].getContext(), *value, value->print(), "") : Attribute();
  }

  bool isFixed(Attribute value) {
    if (auto apply = dyn_cast<accel::ApplyAttr>(value))
      return llvm::all_of(apply.getOperands(), [&](Attribute operand) { return isFixed(operand); });
    auto reference = dyn_cast<accel::ReferenceAttr>(value);
    if (!reference || !reference.getPath().contains('.'))
      return true;
    auto [low, high] = valueOf(reference.getPath());
    return low == high;
  }
  bool isNotNegative(Attribute value) {
    if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
      return quantity.quantity().value.sign() >= 0;
    if (auto reference = dyn_cast<accel::ReferenceAttr>(value))
      return reference.getPath() == "bytes" ||
             (reference.getPath().contains('.') && valueOf(reference.getPath()).first.value.sign() >= 0);
    auto apply = dyn_cast<accel::ApplyAttr>(value);
    return apply && apply.getFunction() != "-" &&
           llvm::all_of(apply.getOperands(), [&](Attribute operand) { return isNotNegative(operand); });
  }

  ValueOf valueOf;
};

} // namespace

Attribute DesignMachines::cyclesAt(Attribute value, const DesignBox &box, BoxCorner end) const {
  auto valueOf = [&](StringRef path) -> std::pair<Quantity, Quantity> {
    const int term = *design.termAt(path.str(), false);
    const Dimension dimension = design.terms[term].dimension;
    return {{exactAt(term, box, false), dimension}, {exactAt(term, box, true), dimension}};
  };
  if (Attribute found = CyclesInBox(valueOf).run(value, end == BoxCorner::Max))
    return found;
  Quantity none(Rational(0), Dimension::of(Base::Cycle)); // fewer than of any design
  return accel::QuantityAttr::get(value.getContext(), none, none.print(), "");
}

/// The term of a key; -1: it is not stated, or has no term.
static int termOrNone(DesignDescription &design, const char *path) {
  Result<int> term = design.paths.count(path) ? design.termAt(path, false) : Result<int>(-1);
  return term ? *term : -1;
}

void DesignMachines::findSites(Errors &errors) {
  std::map<mlir::Operation *, DesignBlock *> blockOf;
  for (DesignBlock *block : blocks())
    for (mlir::Operation *op : block->ops)
      blockOf[op] = block;
  std::map<mlir::Operation *, mlir::Operation *> copyOf; // `written` and `accelerator` are equal
  copyOf[design.written] = accelerator;
  for (auto [a, b] : llvm::zip(design.written.getBody().front(), accelerator.getBody().front()))
    copyOf[&a] = &b;
  size_t index = 0;
  for (auto core : design.written.getBody().getOps<accel::CoreOp>()) {
    if (auto detailed = microarchitectureOf(core))
      for (const auto &[number, part] : llvm::enumerate(blocksOf(detailed, core.getSymName().str())))
        copyOf[std::get<0>(part)] = cores[index].ops[1 + number];
    ++index;
  }
  std::map<DesignBlock *, std::set<size_t>> depends;
  for (const auto &[path, place] : design.paths) {
    if (!isa<accel::ChoiceAttr, accel::ReferenceAttr, accel::ApplyAttr>(place.value) || isa<accel::PriceOp>(place.op) ||
        place.declared)
      continue;
    if (place.schema->kind == accel::ValueKind::Cycles && !isa<accel::ChoiceAttr>(place.value)) {
      DesignPlace copy = place;
      copy.op = copyOf.at(place.op);
      DesignBlock *block = blockOf.at(copy.op);
      if (auto error = addCycles(copy, *block, depends[block]))
        errors.push_back(errorOf(*error, design.locationOf(place)));
      continue;
    }
    Result<int> term = design.termAt(path, false);
    if (!term) {
      if (term.error().code != Code::NotConstant)
        errors.push_back(errorOf(term.error(), design.locationOf(place)));
      continue;
    }
    if (auto error = siteError(place, *term)) {
      errors.push_back(*error);
      continue;
    }
    const DesignTerms::Term &found = design.terms[*term];
    DesignSite site{place, *term, {}};
    if (isa<accel::ChoiceAttr>(place.value))
      site.parameter = found.parameter;
    site.place.op = copyOf.at(place.op);
    DesignBlock *block = blockOf.at(site.place.op);
    depends[block].insert(found.parameters.begin(), found.parameters.end());
    block->sites.push_back(std::move(site));
  }
  for (auto [shared, kept] : {std::pair("clock", &clock), std::pair("technology", &node)})
    if (design.paths.count(shared) && errors.empty())
      if (Result<int> term = design.termAt(shared, false)) {
        *kept = *term;
        for (auto [op, block] : blockOf)
          depends[block].insert(design.terms[*term].parameters.begin(), design.terms[*term].parameters.end());
      }
  voltage = termOrNone(design, "voltage");
  for (DesignBlock &core : cores) { // a core is read once for all numbers of it
    std::optional<size_t> count;
    for (const DesignSite &site : core.sites)
      if (isCoreCount(site))
        count = site.parameter;
    if (count && countsAlone(core, *count))
      depends[&core].erase(*count), core.count = count;
  }
  for (auto &[block, which] : depends)
    block->parameters.assign(which.begin(), which.end());
}

BlockKey DesignMachines::keyOf(const std::vector<size_t> &depends, const DesignBox &box, BoxCorner end) const {
  BlockKey key{static_cast<uint32_t>(end)};
  for (size_t parameter : depends) {
    key.push_back(box.low[parameter]);
    key.push_back(box.high[parameter]);
  }
  return key;
}

Rational DesignMachines::exactAt(int term, const DesignBox &box, bool max) const {
  if (term < 0)
    return 0;
  auto span = design.terms.exact(term, box); // defined over the whole space
  return span ? max ? span->high : span->low : Rational(0);
}

Result<Attribute> DesignMachines::valueAt(const DesignSite &site, const DesignBox &box, bool max) const {
  if (site.parameter)
    return design.choices[*site.parameter][(max ? box.high : box.low)[*site.parameter]];
  const accel::KeySchema &schema = *site.place.schema;
  Rational value = exactAt(site.term, box, max);
  MLIRContext *of = site.place.op->getContext();
  bool integer = isInteger(schema);
  if (!box.one()) { // an end that no design may have: as near as values go
    Rational min = integer ? Rational(1) : Rational(0);
    if (schema.range != accel::Range::Any && value < min)
      value = min;
    if (schema.range == accel::Range::Fraction && value > Rational(1))
      value = Rational(1);
    if (integer)
      value = std::min(max ? value.floor() : value.ceil(), Rational(kMaxInteger));
  }
  if (!integer) {
    Quantity quantity(value, design.terms[site.term].dimension);
    return Attribute(accel::QuantityAttr::get(of, quantity, quantity.print()));
  }
  auto whole = value.toInt64();
  if (!whole)
    return Error{Code::NotAnInteger, fmt::format("'{}' is an integer, and of this design it is {}", site.place.path,
                                                 Quantity(value).print())};
  return Attribute(IntegerAttr::get(IntegerType::get(of, 64), *whole));
}

/// Sets the best of several words, or none.
void DesignMachines::setBestWord(const DesignSite &site, const DesignBox &box, NamedAttrList &list) {
  MLIRContext *of = &design.context;
  const std::string &key = site.place.key;
  const std::vector<Attribute> &all = design.choices[*site.parameter];
  auto words =
      llvm::ArrayRef(all).slice(box.low[*site.parameter], box.high[*site.parameter] - box.low[*site.parameter] + 1);
  auto placeOf = [&](Attribute word) {
    return order.indexOf.lookup(SymbolTable::lookupSymbolIn(accelerator, cast<FlatSymbolRefAttr>(word)));
  };
  list.erase(key);
  switch (*site.place.schema->bestWord) {
  case accel::BestWord::Unstated:
    break;
  case accel::BestWord::Any:
    list.set(key, StringAttr::get(of, "any"));
    break;
  case accel::BestWord::True:
    list.set(key, BoolAttr::get(of, true));
    break;
  case accel::BestWord::AllTypes:
    if (!list.get("types"))
      list.set("types", ArrayAttr::get(of, words));
    break;
  case accel::BestWord::FarthestMemory:
    list.set(key, *std::ranges::min_element(words, {}, placeOf));
    break;
  }
}

/// Sets the values of a block in `accelerator`.
std::optional<Error> DesignMachines::substitute(const DesignBlock &block, const DesignBox &box, BoxCorner end) {
  MLIRContext *of = &design.context;
  std::map<mlir::Operation *, NamedAttrList> entries;
  for (const DesignSite &site : block.sites) {
    const DesignPlace &place = site.place;
    if (place.key == "count") {
      Result<Attribute> count = valueAt(site, box, end == BoxCorner::Best || end == BoxCorner::Max);
      if (!count)
        return errorOf(count.error(), design.locationOf(place));
      if (auto part = dyn_cast<accel::PartOp>(place.op))
        part.setCountAttr(*count);
      else
        cast<accel::CoreOp>(place.op).setCountAttr(*count);
      continue;
    }
    auto all = entries.try_emplace(place.op);
    NamedAttrList &list = all.first->second;
    if (all.second)
      list = NamedAttrList(place.op->getAttrOfType<DictionaryAttr>("entries"));
    if (site.term < 0) {
      list.set(place.key, cyclesAt(place.value, box, end));
      continue;
    }
    bool open = site.parameter && design.terms[site.term].word && box.low[*site.parameter] != box.high[*site.parameter];
    if (open) {
      setBestWord(site, box, list);
      continue;
    }
    if (place.schema->bestWord == accel::BestWord::AllTypes && site.parameter) // a box before may have left its own
      if (!design.written.lookupSymbol(SymbolTable::getSymbolName(place.op))
               ->getAttrOfType<DictionaryAttr>("entries")
               .contains("types"))
        list.erase("types");
    bool max = end == BoxCorner::Max || (end == BoxCorner::Best && place.schema->better == accel::Better::More);
    Result<Attribute> value = valueAt(site, box, max);
    if (!value)
      return errorOf(value.error(), design.locationOf(place));
    if (place.element >= 0) {
      SmallVector<Attribute> elements(cast<ArrayAttr>(list.get(place.key)).getValue());
      elements[place.element] = *value;
      list.set(place.key, ArrayAttr::get(of, elements));
    } else if (!place.member.empty()) {
      NamedAttrList members(cast<DictionaryAttr>(list.get(place.key)));
      members.set(place.member, *value);
      list.set(place.key, members.getDictionary(of));
    } else {
      list.set(place.key, *value);
    }
  }
  for (auto &[op, list] : entries)
    op->setAttr("entries", list.getDictionary(of));
  return std::nullopt;
}

/// What `read` makes, or what is said first while it fails.
template <class T> Result<T> DesignMachines::listen(llvm::function_ref<FailureOr<T>()> read) {
  std::optional<Error> error;
  ScopedDiagnosticHandler handler(&design.context, [&](mlir::Diagnostic &said) {
    if (!error)
      error = errorOf(said);
    return success();
  });
  FailureOr<T> made = read();
  if (succeeded(made))
    return std::move(*made);
  return error ? *error : Error{Code::InternalError, "the machine cannot be read", {}, {}};
}

const Result<MachineProperties> &DesignMachines::headAt(const DesignBox &box, BoxCorner end) {
  return heads.get(keyOf(head.parameters, box, end), [&]() -> Result<MachineProperties> {
    std::scoped_lock lock(reading);
    if (auto error = substitute(head, box, end))
      return *error;
    return listen<MachineProperties>([&]() -> FailureOr<MachineProperties> {
      if (end == BoxCorner::Design)
        for (mlir::Operation *op : head.ops)
          if (failed(verify(op, /*verifyRecursively=*/false)))
            return failure();
      MachineProperties read;
      if (!readMachineProperties(accelerator, read) ||
          (end == BoxCorner::Design && failed(checkVoltage(accelerator, read))))
        return failure();
      return read;
    });
  });
}

const Result<Memory> &DesignMachines::memoryAt(size_t index, const DesignBox &box, BoxCorner end) {
  const DesignBlock &block = memories[index];
  return readMemories[index]->get(keyOf(block.parameters, box, end), [&]() -> Result<Memory> {
    auto op = cast<accel::MemoryOp>(block.ops[0]);
    Rational cycles = exactAt(clock, box, end == BoxCorner::Best || end == BoxCorner::Max);
    auto readAt = [&](const DesignBox &part) -> Result<Memory> {
      double made = exactAt(node, part, end == BoxCorner::Max).toDouble();
      std::scoped_lock lock(reading);
      if (auto error = substitute(block, part, end))
        return *error;
      return listen<Memory>([&]() -> FailureOr<Memory> {
        bool exact = end == BoxCorner::Design;
        if (exact && failed(verify(op)))
          return failure();
        FailureOr<Memory> memory = memoryOf(op, cycles, made);
        if (succeeded(memory) && exact && !checkPorts(op, *memory, Hertz(cycles.toDouble())))
          return failure();
        return memory;
      });
    };
    // Of several standards each has an energy of its own.
    DesignBox part = box;
    std::optional<size_t> standard;
    for (const DesignSite &site : block.sites)
      if (site.place.key == "standard")
        standard = site.parameter;
    if (standard)
      part.high[*standard] = part.low[*standard];
    Result<Memory> result = readAt(part);
    while (standard && part.low[*standard] < box.high[*standard]) {
      part.high[*standard] = ++part.low[*standard];
      if (auto next = readAt(part); next && result)
        result->energy =
            end == BoxCorner::Max ? std::max(result->energy, next->energy) : std::min(result->energy, next->energy);
    }
    // A larger memory takes more energy for a byte: the least is that of the smallest.
    if (result && end == BoxCorner::Best)
      if (const auto &min = memoryAt(index, box, BoxCorner::Min))
        result->energy = std::min(result->energy, min->energy);
    return result;
  });
}

const Result<Core> &DesignMachines::coreAt(size_t index, const DesignBox &box, BoxCorner end) {
  const DesignBlock &block = cores[index];
  return readCores[index]->get(keyOf(block.parameters, box, end), [&]() -> Result<Core> {
    auto op = cast<accel::CoreOp>(block.ops[0]);
    Rational cycles = exactAt(clock, box, end == BoxCorner::Best || end == BoxCorner::Max);
    std::scoped_lock lock(reading);
    if (auto error = substitute(block, box, end))
      return *error;
    if (block.count) // of any number above 1: `machine` sets it
      op.setCountAttr(IntegerAttr::get(IntegerType::get(&design.context, 64), 2));
    return listen<Core>([&]() -> FailureOr<Core> {
      bool exact = end == BoxCorner::Design;
      for (mlir::Operation *part : block.ops)
        if (exact && failed(verify(part, /*verifyRecursively=*/false)))
          return failure();
      FailureOr<Core> core = coreOf(op, cycles, order, exact);
      if (failed(core) || end != BoxCorner::Best || !op.getEntries().contains("peak"))
        return core;
      // A stated peak is of all instances: one reaches most where there are fewest.
      for (const DesignSite &site : block.sites)
        if (isCoreCount(site))
          if (Result<Attribute> min = valueAt(site, box, false))
            op.setCountAttr(*min);
      FailureOr<Core> few = coreOf(op, cycles, order, false);
      if (failed(few))
        return failure();
      core->peak = few->peak;
      return core;
    });
  });
}

/// Whether the memory that a core reads holds its smallest tile.
std::optional<Error> DesignMachines::checkAt(size_t index, const DesignBox &box, int reads) {
  if (reads < 0)
    return std::nullopt;
  const DesignBlock &core = cores[index], &memory = memories[reads];
  std::set<size_t> depends(core.parameters.begin(), core.parameters.end());
  depends.insert(memory.parameters.begin(), memory.parameters.end());
  auto &found =
      checked[index]->get(keyOf({depends.begin(), depends.end()}, box, BoxCorner::Design), [&]() -> Result<bool> {
        const Core &one = *coreAt(index, box, BoxCorner::Design);
        const Memory &holder = *memoryAt(reads, box, BoxCorner::Design);
        std::scoped_lock lock(reading);
        substitute(core, box, BoxCorner::Design);
        substitute(memory, box, BoxCorner::Design);
        return listen<bool>([&]() -> FailureOr<bool> {
          if (!checkTile(cast<accel::CoreOp>(core.ops[0]), cast<accel::MemoryOp>(memory.ops[0]), one, holder))
            return failure();
          return true;
        });
      });
  return found ? std::nullopt : std::optional(found.error());
}

Result<Machine> DesignMachines::machine(const DesignBox &box, BoxCorner end) {
  const auto &read = headAt(box, end);
  if (!read)
    return read.error();
  Machine machine = read->machine;
  machine.memories.reserve(memories.size());
  machine.cores.reserve(cores.size());
  for (size_t i = 0; i < memories.size(); ++i) {
    const auto &found = memoryAt(i, box, end);
    if (!found)
      return found.error();
    machine.memories.push_back(*found);
  }
  for (size_t i = 0; i < cores.size(); ++i) {
    const auto &found = coreAt(i, box, end);
    if (!found)
      return found.error();
    Core &core = machine.cores.emplace_back(*found);
    if (std::optional<size_t> count = cores[i].count) {
      bool max = end == BoxCorner::Max || end == BoxCorner::Best;
      core.count = cast<IntegerAttr>(design.choices[*count][(max ? box.high : box.low)[*count]]).getInt();
      core.anyMapping = core.anyMapping && core.count > 1;
    }
  }
  bool exact = end == BoxCorner::Design;
  for (size_t i = 0; i < cores.size() && exact; ++i)
    if (auto error = checkAt(i, box, machine.cores[i].reads))
      return *error;
  if (auto error = applyArea(read->area, machine)) {
    if (exact) {
      error->location = read->area.origin.location;
      return *error;
    }
    // No design of these sizes has an area, but others between them may.
    machine.area = {end == BoxCorner::Max ? INFINITY : 0};
  }
  if (read->node > 0 && !machine.origins.count("mac") && machine.energyPerFlopOf.empty())
    addEnergies(read->node, machine);
  if (auto error = addComponents(*read, box, end, machine))
    return *error;
  if (!design.paths.count("power.tdp") && design.powerKnown) {
    machine.tdp = powerAtPeak(machine, end == BoxCorner::Min && design.openTypes && !box.one());
    machine.origins["tdp"] = {fmt::format("{:.6g} W, everything at its peak", machine.tdp.value), "", machine.location};
  }
  if (end != BoxCorner::Best)
    return machine;
  // Area, power and energies are those of the least; they are no speeds.
  auto lowest = this->machine(box, BoxCorner::Min);
  Machine low = lowest ? std::move(*lowest) : Machine();
  machine.area = low.area, machine.tdp = low.tdp, machine.idle = low.idle;
  machine.energyPerFlop = low.energyPerFlop, machine.energyPerFlopOf = std::move(low.energyPerFlopOf);
  return machine;
}

/// Area and energy of a memory's macros rise or fall with each number that they depend on, so that both ends of a box
/// are at corners of it. Too many corners: no bound.
MacroSpan DesignMachines::macroSpan(size_t index, const DesignBox &box, const std::vector<size_t> &open) {
  constexpr size_t maxOpen = 8;
  const ComponentSpan empty{INFINITY, -INFINITY}, any{0, INFINITY};
  MacroSpan none{any, any, any}, span{empty, empty, empty};
  if (open.size() > maxOpen)
    return none;
  std::optional<size_t> standard;
  for (const DesignSite &site : memories[index].sites)
    if (site.place.key == "standard")
      standard = site.parameter;
  DesignBox corner = box;
  for (size_t parameter : open)
    corner.high[parameter] = corner.low[parameter];
  for (bool more = true; more;) {
    const auto &memory = memoryAt(index, corner, BoxCorner::Min);
    if (!memory)
      return none;
    double share = voltage < 0 ? 1 : exactAt(voltage, corner, false).toDouble();
    ComponentModel model(exactAt(node, corner, false).toDouble(), share, exactAt(clock, corner, false).toDouble());
    auto widen = [](ComponentSpan &all, double one) { all = {std::min(all.low, one), std::max(all.high, one)}; };
    widen(span.area, model.macroArea(*memory) + model.interfaceArea(*memory));
    widen(span.energy, model.macroEnergy(*memory));
    widen(span.standby, model.interfaceStandby(*memory));
    more = false;
    for (size_t parameter : open) { // the next corner, like an odometer
      auto &at = corner.low[parameter];
      more = at < box.high[parameter];
      at = !more ? box.low[parameter] : parameter == standard ? at + 1 : box.high[parameter];
      corner.high[parameter] = at;
      if (more)
        break;
    }
  }
  return span;
}

const MacroSpan &DesignMachines::macrosAt(size_t index, const DesignBox &box) {
  std::set<size_t> depends(memories[index].parameters.begin(), memories[index].parameters.end());
  if (voltage >= 0)
    depends.insert(design.terms[voltage].parameters.begin(), design.terms[voltage].parameters.end());
  return *macros[index]->get(keyOf({depends.begin(), depends.end()}, box, BoxCorner::Design),
                             [&]() -> Result<MacroSpan> {
                               std::vector<size_t> open;
                               for (size_t parameter : depends)
                                 if (box.low[parameter] < box.high[parameter])
                                   open.push_back(parameter);
                               return macroSpan(index, box, open);
                             });
}

/// What follows from components: of a design itself, of a box from the macros of all its designs.
std::optional<Error> DesignMachines::addComponents(const MachineProperties &properties, const DesignBox &box,
                                                   BoxCorner end, Machine &machine) {
  const ComponentRule &rule = properties.components;
  if (!rule.area && !rule.power)
    return std::nullopt;
  if (end == BoxCorner::Design) {
    auto error = applyComponents(rule, machine);
    if (error)
      error->location = machine.location;
    return error;
  }
  MemoryMacros all;
  for (size_t i = 0; i < memories.size(); ++i) {
    const MacroSpan &span = macrosAt(i, box);
    all.areas.push_back(end == BoxCorner::Max ? span.area.high : span.area.low);
    all.joulesPerByte.push_back(end == BoxCorner::Max ? span.energy.high : span.energy.low);
    all.standby.push_back(end == BoxCorner::Max ? span.standby.high : span.standby.low);
  }
  using End = MemoryMacros::End;
  all.end = box.one() ? End::Design : end == BoxCorner::Max ? End::High : End::Low;
  if (applyComponents(rule, machine, &all, end == BoxCorner::Min && design.openTypes && !box.one()))
    machine.area = {end == BoxCorner::Max ? INFINITY : 0}; // no corner has an area, but designs may
  return std::nullopt;
}

/// The energies of arithmetic that follow from the process.
void DesignMachines::addEnergies(double process, Machine &machine) {
  std::string types = fmt::format("{:a}", process);
  for (const Core &core : machine.cores) {
    types += "|";
    for (const auto &[type, peak] : core.peak)
      types += type + " ";
  }
  std::scoped_lock lock(filling);
  auto [filled, isNew] = energies.try_emplace(types);
  if (isNew) {
    filled->second.location = machine.location;
    filled->second.cores = machine.cores;
    fillEnergies(filled->second, process);
    filled->second.cores.clear();
  }
  machine.energyPerFlopOf = filled->second.energyPerFlopOf;
  machine.origins.insert(filled->second.origins.begin(), filled->second.origins.end());
}

DesignFigures DesignMachines::figures(const DesignBox &box) {
  DesignFigures out{{0, INFINITY}, {0, INFINITY}};
  if (!design.needsArea && !design.needsPower)
    return out;
  if (auto low = machine(box, BoxCorner::Min))
    out.area.low = low->area.value, out.power.low = low->tdp.value;
  if (auto high = machine(box, BoxCorner::Max))
    out.area.high = high->area.value, out.power.high = high->tdp.value;
  return out;
}

} // namespace accord
