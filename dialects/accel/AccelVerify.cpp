// What every block must satisfy. Messages point at the key where its place is known, with a note at the other side of
// a conflict.
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/KeyLocations.h"
#include "dialects/accel/Schema.h"
#include "dialects/interfaces/Note.h"
#include "lib/support/EmitError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace accord::accel;
using accord::Code;
using accord::note;

static InFlightDiagnostic errorAt(Operation *operation, Code code, StringRef key = "") {
  return accord::emitError(key.empty() ? blockLocation(operation) : locationOf(operation, key), code);
}

static std::string suggestion(StringRef near) { return near.empty() ? "" : ", did you mean '" + near.str() + "'?"; }

/// Every key known and right, every required one there.
static LogicalResult verifyEntries(Operation *operation, DictionaryAttr entries, StringRef kind,
                                   StringRef subtype = "") {
  const BlockSchema *block = findSchema(kind, subtype);
  if (!block) {
    std::vector<StringRef> all = subtypesOf(kind);
    StringRef near = nearestName(subtype, all);
    return errorAt(operation, Code::UnknownName)
           << "'" << subtype << "' is not a kind of " << kind
           << (near.empty() ? ", which is one of '" + llvm::join(all, "', '") + "'" : suggestion(near));
  }
  for (NamedAttribute entry : entries) {
    const KeySchema *key = block->findKey(entry.getName());
    if (!key)
      return errorAt(operation, Code::UnknownKey, entry.getName()) << unknownKey(*block, entry.getName());
    if (std::string error = valueError(*key, entry.getValue()); !error.empty())
      return errorAt(operation, key->capacity ? Code::NoCapacity : Code::OutOfRange, key->name)
             << "'" << key->name << "' " << error;
  }
  for (const KeySchema &key : block->keys)
    if (key.required && !entries.contains(key.name))
      return errorAt(operation, key.capacity ? Code::NoCapacity : Code::MissingKey)
             << describe(*block) << " needs '" << key.name << "'";
  return success();
}

static LogicalResult verifyCount(Operation *operation, Attribute count) {
  if (!count)
    return success();
  if (std::string error = valueError(countKey(), count); !error.empty())
    return errorAt(operation, Code::OutOfRange) << "the count in brackets " << error;
  return success();
}

LogicalResult MemoryOp::verify() {
  if (failed(verifyEntries(*this, getEntries(), "memory", getKind())))
    return failure();
  auto capacity = getEntries().getAs<QuantityAttr>("capacity");
  auto banks = getEntries().getAs<IntegerAttr>("banks");
  if (capacity && banks && capacity.quantity().value < Rational(banks.getInt()))
    return errorAt(*this, Code::MemoryTooSmall, "capacity")
           << "'capacity' of " << capacity.spelled() << " leaves less than 1 B for each of its " << banks.getInt()
           << " banks";
  return success();
}

LogicalResult CoreOp::verify() {
  if (failed(verifyEntries(*this, getEntries(), "core", getKind())) || failed(verifyCount(*this, getCountAttr())))
    return failure();
  if (auto sparse = getEntries().getAs<DictionaryAttr>("sparse")) {
    auto n = sparse.getAs<IntegerAttr>("n"), m = sparse.getAs<IntegerAttr>("m");
    if (n && m && n.getInt() > m.getInt())
      return errorAt(*this, Code::OutOfRange, "sparse")
             << "sparse nm(" << n.getInt() << ", " << m.getInt() << ") keeps more than it has";
    auto rate = sparse.getAs<QuantityAttr>("rate");
    if (n && m && rate && rate.quantity().value * accord::Rational(n.getInt()) != accord::Rational(m.getInt()))
      return errorAt(*this, Code::OutOfRange, "sparse")
             << "'rate' of sparse nm(" << n.getInt() << ", " << m.getInt() << ") is " << rate.spelled()
             << ", and skipping gives " << (accord::Rational(m.getInt()) / accord::Rational(n.getInt())).print()
             << ": what limits it is stated by 'words_per_cycle' or 'setup_cycles'";
    auto gated = sparse.getAs<QuantityAttr>("gated_energy");
    if (gated && gated.quantity().value > accord::Rational(1))
      return errorAt(*this, Code::OutOfRange, "sparse")
             << "'gated_energy' is a share of the energy, and " << gated.spelled() << " is above 1";
  }
  StringRef geometry = getKind() == "tensor" ? "array" : "lanes";
  if (!getEntries().contains("peak") && !getEntries().contains(geometry) && !(*this)->hasAttr("microarchitecture"))
    return errorAt(*this, Code::NoCompute) << "core '" << getSymName() << "' states neither 'peak' nor '" << geometry
                                           << "' nor a microarchitecture, so its speed is unknown";
  return success();
}

LogicalResult PathOp::verify() {
  if (getStops().size() < 2)
    return errorAt(*this, Code::MissingKey) << "a path needs at least two stops";
  for (Attribute stop : getStops()) {
    auto names = dyn_cast<ArrayAttr>(stop);
    if (!names || names.empty() || !llvm::all_of(names, llvm::IsaPred<FlatSymbolRefAttr>))
      return errorAt(*this, Code::WrongType) << "every stop of a path is a list of names";
  }
  return success();
}

LogicalResult PowerOp::verify() {
  if (failed(verifyEntries(*this, getEntries(), "power")))
    return failure();
  auto idle = getEntries().getAs<QuantityAttr>("idle"), tdp = getEntries().getAs<QuantityAttr>("tdp");
  if (idle && tdp && tdp.below(idle))
    return errorAt(*this, Code::OutOfRange, "tdp")
           << "'tdp' of " << tdp.spelled() << " is below 'idle' of " << idle.spelled()
           << note(locationOf(*this, "idle"), "'idle' is here");
  return success();
}

LogicalResult AreaOp::verify() { return verifyEntries(*this, getEntries(), "area"); }
LogicalResult HostOp::verify() { return verifyEntries(*this, getEntries(), "host"); }
LogicalResult PriceOp::verify() { return verifyEntries(*this, getEntries(), "price"); }
LogicalResult AcceleratorOp::verify() { return verifyEntries(*this, getEntries(), "accelerator"); }
LogicalResult ClusterOp::verify() { return verifyEntries(*this, getEntries(), "cluster"); }

LogicalResult ServerOp::verify() {
  return failure(failed(verifyEntries(*this, getEntries(), "server")) || failed(verifyCount(*this, getCountAttr())));
}

LogicalResult DeviceOp::verify() {
  return failure(failed(verifyEntries(*this, getEntries(), "device")) || failed(verifyCount(*this, getCountAttr())));
}

LogicalResult NetworkOp::verify() {
  auto topology = getEntries().getAs<StringAttr>("topology");
  StringRef name = topology && findSchema("network", topology.getValue()) ? topology.getValue() : "";
  return verifyEntries(*this, getEntries(), "network", name);
}

LogicalResult MicroarchitectureOp::verify() { return verifyEntries(*this, getEntries(), "microarchitecture"); }

LogicalResult PartOp::verify() {
  if (failed(verifyEntries(*this, getEntries(), "part", getKind())) || failed(verifyCount(*this, getCountAttr())))
    return failure();
  if (getCountAttr() && getKind() != "unit" && getKind() != "registers")
    return errorAt(*this, Code::UnexpectedClause)
           << "there is one '" << getSymName() << "': " << getKind() << " has no count";
  return success();
}

LogicalResult RequireOp::verify() { return success(); }

LogicalResult PreferOp::verify() {
  if (!getWeight().getDimension().dimensionless() || getWeight().getNumerator() <= 0)
    return errorAt(*this, Code::OutOfRange) << "a weight is a positive plain number, found " << getWeight().spelled();
  return success();
}

LogicalResult ObjectiveOp::verify() {
  if (getDirection() != "maximize" && getDirection() != "minimize")
    return errorAt(*this, Code::UnknownChoice)
           << "an objective is to 'maximize' or to 'minimize', found '" << getDirection() << "'";
  return success();
}

/// At most one of a kind of block.
template <typename Block> static LogicalResult verifySingle(Operation *scope, StringRef what) {
  Operation *first = nullptr;
  for (Block block : scope->getRegion(0).getOps<Block>()) {
    if (first)
      return errorAt(block, Code::DuplicateKey)
             << "a second '" << what << "' block" << note(blockLocation(first), "the first one is here");
    first = block;
  }
  return success();
}

/// The names declared in a block, for suggestions.
static std::vector<StringRef> namesIn(Operation *scope) {
  std::vector<StringRef> names;
  for (Operation &operation : scope->getRegion(0).front())
    if (auto symbol = dyn_cast<SymbolOpInterface>(operation))
      names.push_back(symbol.getName());
  return names;
}

static std::string suggestion(StringRef name, Operation *scope) {
  return suggestion(nearestName(name, namesIn(scope)));
}

static LogicalResult verifyPath(AcceleratorOp accelerator, PathOp path) {
  llvm::StringMap<unsigned> seen;
  MemoryOp onChip; // nearer than any dram may be
  for (auto [index, stop] : llvm::enumerate(path.getStops())) {
    for (auto reference : cast<ArrayAttr>(stop).getAsRange<FlatSymbolRefAttr>()) {
      StringRef name = reference.getValue();
      Operation *target = mlir::SymbolTable::lookupSymbolIn(accelerator, reference);
      if (!isa_and_nonnull<MemoryOp, CoreOp>(target))
        return errorAt(path, target ? Code::WrongNameKind : Code::UnknownName)
               << "the path names '" << name << "', which is no memory or core of '" << accelerator.getSymName() << "'"
               << suggestion(name, accelerator);
      if (!seen.try_emplace(name, index).second)
        return errorAt(path, Code::PathOrder) << "'" << name << "' occurs twice in one path";
      bool last = index + 1 == path.getStops().size();
      if (isa<CoreOp>(target) && (index == 0 || !last))
        return errorAt(path, Code::PathOrder) << "core '" << name << "' must stand at the end of the path"
                                              << note(blockLocation(target), "'", name, "' is declared here");
      auto memory = dyn_cast<MemoryOp>(target);
      if (memory && memory.getKind() == "dram" && onChip)
        return errorAt(path, Code::PathOrder)
               << "a path goes from the farthest memory to the nearest, but dram '" << name << "' comes after "
               << onChip.getKind() << " '" << onChip.getSymName() << "'"
               << note(blockLocation(memory), "'", name, "' is declared here");
      if (memory && memory.getKind() != "dram")
        onChip = memory;
    }
  }
  return success();
}

LogicalResult AcceleratorOp::verifyRegions() {
  if (failed(verifySingle<PowerOp>(*this, "power")) || failed(verifySingle<AreaOp>(*this, "area")))
    return failure();
  if (getBody().getOps<CoreOp>().empty())
    return errorAt(*this, Code::EmptyMachine) << "accelerator '" << getSymName() << "' has no core";
  if (getBody().getOps<MemoryOp>().empty())
    return errorAt(*this, Code::EmptyMachine) << "accelerator '" << getSymName() << "' has no memory";
  for (CoreOp core : getBody().getOps<CoreOp>()) {
    auto reads = core.getEntries().getAs<FlatSymbolRefAttr>("reads");
    if (!reads)
      continue;
    Operation *target = mlir::SymbolTable::lookupSymbolIn(*this, reads);
    if (!target)
      return errorAt(core, Code::UnknownName, "reads")
             << "core '" << core.getSymName() << "' reads '" << reads.getValue() << "', which is no memory of '"
             << getSymName() << "'" << suggestion(reads.getValue(), *this);
    if (!isa<MemoryOp>(target))
      return errorAt(core, Code::WrongNameKind, "reads")
             << "core '" << core.getSymName() << "' reads '" << reads.getValue() << "', which is no memory"
             << note(blockLocation(target), "'", reads.getValue(), "' is declared here");
  }
  for (PathOp path : getBody().getOps<PathOp>())
    if (failed(verifyPath(*this, path)))
      return failure();
  return success();
}

/// Where there are several servers or devices, each of them stands on some network of the scope.
static LogicalResult verifyConnected(Operation *scope) {
  llvm::StringSet<> connected;
  for (auto network : scope->getRegion(0).getOps<NetworkOp>()) {
    auto connects = network.getEntries().getAs<ArrayAttr>("connects");
    if (!connects)
      return success(); // said by the verifier of the keys
    for (auto reference : connects.getAsRange<FlatSymbolRefAttr>())
      connected.insert(reference.getValue());
  }
  llvm::SmallVector<Operation *> all;
  bool several = false;
  for (Operation &op : scope->getRegion(0).front())
    if (isa<ServerOp, DeviceOp>(op)) {
      auto server = dyn_cast<ServerOp>(op);
      std::optional<int64_t> count = server ? server.instances() : cast<DeviceOp>(op).instances();
      several |= !all.empty() || !count || *count > 1;
      all.push_back(&op);
    }
  for (Operation *one : all) {
    StringRef name = cast<SymbolOpInterface>(one).getName();
    if (several && !connected.contains(name))
      return errorAt(one, Code::NotConnected)
             << "no network connects " << (isa<ServerOp>(one) ? "server" : "device") << " '" << name << "'";
  }
  return success();
}

LogicalResult MicroarchitectureOp::verifyRegions() {
  PartOp fetch;
  for (Operation &operation : getBody().front()) {
    auto part = dyn_cast<PartOp>(operation);
    if (!part)
      return errorAt(&operation, Code::WrongPart) << "a microarchitecture has parts alone";
    if (part.getKind() != "fetch")
      continue;
    if (fetch)
      return errorAt(part, Code::WrongPart)
             << "a second 'fetch'" << note(blockLocation(fetch), "the first one is here");
    fetch = part;
  }
  if (!fetch)
    return errorAt(*this, Code::WrongPart) << "microarchitecture '" << getSymName() << "' has no 'fetch'";
  return success();
}

LogicalResult PartOp::verifySymbolUses(SymbolTableCollection &tables) {
  const BlockSchema *block = findSchema("part", getKind());
  Operation *scope = (*this)->getParentOp();
  auto check = [&](const KeySchema &key, FlatSymbolRefAttr name) -> LogicalResult {
    auto target = dyn_cast_or_null<PartOp>(tables.lookupSymbolIn(scope, name));
    if (!target)
      return errorAt(*this, Code::UnknownName, key.name)
             << "there is no '" << name.getValue() << "' here" << suggestion(name.getValue(), scope);
    if (!llvm::is_contained(key.words, target.getKind()))
      return errorAt(*this, Code::WrongNameKind, key.name)
             << "'" << key.name << "' of '" << getSymName() << "' names a part of kind '"
             << llvm::join(key.words, "' or '") << "', but '" << name.getValue() << "' is of kind '" << target.getKind()
             << "'" << note(blockLocation(target), "'", name.getValue(), "' is declared here");
    return success();
  };
  for (NamedAttribute entry : getEntries()) {
    const KeySchema *key = block ? block->findKey(entry.getName()) : nullptr;
    if (!key)
      return success(); // said by the verifier of the keys
    if (auto name = dyn_cast<FlatSymbolRefAttr>(entry.getValue()); name && failed(check(*key, name)))
      return failure();
    if (auto names = dyn_cast<ArrayAttr>(entry.getValue()); names && key->kind == ValueKind::References)
      for (Attribute name : names)
        if (failed(check(*key, cast<FlatSymbolRefAttr>(name))))
          return failure();
  }
  return success();
}

LogicalResult ClusterOp::verifyRegions() {
  if (getBody().getOps<ServerOp>().empty() && getBody().getOps<DeviceOp>().empty())
    return errorAt(*this, Code::EmptyMachine) << "cluster '" << getSymName() << "' has no server and no device";
  return verifyConnected(*this);
}

LogicalResult ServerOp::verifyRegions() {
  if (failed(verifySingle<HostOp>(*this, "host")))
    return failure();
  if (getBody().getOps<DeviceOp>().empty())
    return errorAt(*this, Code::EmptyMachine) << "server '" << getSymName() << "' has no device";
  return verifyConnected(*this);
}

LogicalResult DeviceOp::verifySymbolUses(SymbolTableCollection &) {
  StringRef name = getAccelerator();
  auto module = (*this)->getParentOfType<ModuleOp>();
  Operation *target = module ? mlir::SymbolTable::lookupSymbolIn(module, getAcceleratorAttr()) : nullptr;
  if (!target)
    return errorAt(*this, Code::UnknownName)
           << "'" << name << "' is not an accelerator that is described here or imported"
           << (module ? suggestion(name, module) : "");
  if (!isa<AcceleratorOp>(target))
    return errorAt(*this, Code::WrongNameKind)
           << "device '" << getSymName() << "' must be an accelerator, but '" << name << "' is none"
           << note(blockLocation(target), "'", name, "' is declared here");
  return success();
}

/// A mesh or torus has as many endpoints as its shape says.
static LogicalResult verifyShape(NetworkOp network, std::optional<int64_t> endpoints) {
  auto shape = network.getEntries().getAs<ArrayAttr>("shape");
  if (!shape || !endpoints || !llvm::all_of(shape, llvm::IsaPred<IntegerAttr>))
    return success();
  int64_t places = 1;
  for (auto extent : shape.getAsRange<IntegerAttr>())
    if (__builtin_mul_overflow(places, extent.getInt(), &places))
      return errorAt(network, Code::BadTopology, "shape")
             << "the shape of network '" << network.getSymName() << "' is too large to count";
  if (places != *endpoints)
    return errorAt(network, Code::BadTopology, "shape") << "the shape of network '" << network.getSymName() << "' has "
                                                        << places << " endpoints, but it connects " << *endpoints;
  return success();
}

LogicalResult NetworkOp::verifySymbolUses(SymbolTableCollection &) {
  auto connects = getEntries().getAs<ArrayAttr>("connects");
  if (!connects)
    return success(); // said by the verifier of the keys
  Operation *scope = (*this)->getParentOp();
  std::optional<int64_t> endpoints = 0;
  for (auto reference : connects.getAsRange<FlatSymbolRefAttr>()) {
    Operation *target = mlir::SymbolTable::lookupSymbolIn(scope, reference);
    if (!target)
      return errorAt(*this, Code::UnknownName, "connects")
             << "network '" << getSymName() << "' connects '" << reference.getValue() << "', which is not declared here"
             << suggestion(reference.getValue(), scope);
    if (!isa<DeviceOp, ServerOp>(target))
      return errorAt(*this, Code::WrongNameKind, "connects")
             << "network '" << getSymName() << "' connects '" << reference.getValue()
             << "', which is no device or server"
             << note(blockLocation(target), "'", reference.getValue(), "' is declared here");
    auto server = dyn_cast<ServerOp>(target);
    std::optional<int64_t> more = server ? server.instances() : cast<DeviceOp>(target).instances();
    if (!endpoints || !more || __builtin_add_overflow(*endpoints, *more, &*endpoints))
      endpoints.reset();
  }
  if (Attribute stated = getEntries().get("endpoints")) {
    auto number = dyn_cast<IntegerAttr>(stated);
    endpoints = number ? std::optional(number.getInt()) : std::nullopt;
  }
  return verifyShape(*this, endpoints);
}

LogicalResult PriceOp::verifySymbolUses(SymbolTableCollection &) {
  auto per = getEntries().getAs<FlatSymbolRefAttr>("per");
  if (!per)
    return success();
  std::vector<StringRef> names;
  (*this)->getParentOp()->walk([&](SymbolOpInterface symbol) { names.push_back(symbol.getName()); });
  if (llvm::is_contained(names, per.getValue()))
    return success();
  StringRef near = nearestName(per.getValue(), names);
  return errorAt(*this, Code::UnknownName, "per")
         << "the price is per '" << per.getValue() << "', which is not declared here" << suggestion(near);
}