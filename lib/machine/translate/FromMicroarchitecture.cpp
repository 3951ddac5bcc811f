#include "lib/machine/translate/FromMicroarchitecture.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/EmitError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/format.h>
#include <map>
#include <set>

using namespace mlir;

namespace accord {
namespace {
using namespace microarchitecture;
using accel::PartOp;

constexpr int64_t kMaxNumber = int64_t(1) << 30, kMaxBytes = int64_t(1) << 62;

/// The infix text of an expression of cycles that was not written as one number.
std::string spelled(Attribute value) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.spelled();
  if (auto name = dyn_cast<accel::ReferenceAttr>(value))
    return name.getPath().str();
  auto apply = cast<accel::ApplyAttr>(value);
  const bool function = llvm::isAlpha(apply.getFunction()[0]);
  std::string text;
  for (Attribute operand : apply.getOperands()) {
    auto nested = dyn_cast<accel::ApplyAttr>(operand);
    const bool inner = !function && nested && !llvm::isAlpha(nested.getFunction()[0]);
    text += text.empty() ? "" : function ? ", " : " " + apply.getFunction().str() + " ";
    text += inner ? "(" + spelled(operand) + ")" : spelled(operand);
  }
  return function ? apply.getFunction().str() + "(" + text + ")" : text;
}

/// Whether cycles follow from values of the machine that are not chosen yet.
bool isOpen(Attribute value) {
  if (auto reference = dyn_cast<accel::ReferenceAttr>(value))
    return reference.getPath().contains('.');
  auto apply = dyn_cast<accel::ApplyAttr>(value);
  return isa<accel::ChoiceAttr>(value) || (apply && llvm::any_of(apply.getOperands(), isOpen));
}

class MicroarchitectureReader {
public:
  explicit MicroarchitectureReader(accel::MicroarchitectureOp op) : op(op) {}

  FailureOr<Microarchitecture> run() {
    made.name = op.getSymName().str();
    made.location = sourceOf(accel::blockLocation(op));
    of = op;
    entries = op.getEntries();
    name = made.name;
    number("window", made.window);
    for (PartOp part : op.getBody().getOps<PartOp>())
      index(part);
    for (PartOp part : op.getBody().getOps<PartOp>())
      read(part);
    if (failed)
      return failure();
    for (const Error &error : check(made))
      report(placeOf(error), error.code, error.message);
    return failed ? FailureOr<Microarchitecture>(failure()) : FailureOr<Microarchitecture>(std::move(made));
  }

private:
  // ---- Errors

  void report(Location at, Code code, const std::string &message) {
    failed = true;
    SourceLocation place = sourceOf(at);
    if (place.line != 0 && !said.insert({place.file, place.line, place.column, code}).second)
      return;
    accord::emitError(at, code) << message;
  }
  void report(StringRef key, Code code, const std::string &message) {
    report(accel::locationOf(of, key), code, message);
  }
  /// At the key that an error is about, `'sets' of cache 'l1' is 3`, if the part has one; else at the part.
  Location placeOf(const Error &error) {
    StringRef key = StringRef(error.message).split('\'').second.split('\'').first;
    for (mlir::Operation &part : op.getBody().front()) {
      SourceLocation at = sourceOf(accel::blockLocation(&part));
      if (at.file == error.location.file && at.line == error.location.line && at.column == error.location.column)
        return accel::locationOf(&part, StringRef(error.message).starts_with("'") ? key : "");
    }
    return accel::locationOf(op, StringRef(error.message).starts_with("'") ? key : "");
  }

  // ---- Values of the part that is read

  template <typename Kind> Kind closed(StringRef key) {
    Attribute value = entries.get(key);
    if (value && !isa<Kind>(value))
      report(key, Code::NotADesign,
             fmt::format("'{}' of '{}' is left open: choose a value, or mine the design space first", key.str(), name));
    return dyn_cast_or_null<Kind>(value);
  }
  void number(StringRef key, int32_t &into) {
    auto value = closed<IntegerAttr>(key);
    if (value && value.getInt() > kMaxNumber)
      report(key, Code::NumberTooLarge, fmt::format("'{}' of '{}' is above 2^30", key.str(), name));
    else if (value)
      into = int32_t(value.getInt());
  }
  /// A quantity times `scale`.
  void whole(StringRef key, int64_t &into, int64_t max = kMaxNumber, int64_t scale = 1) {
    auto value = closed<accel::QuantityAttr>(key);
    if (!value)
      return;
    Rational exact = value.quantity().value * Rational(scale);
    if (!exact.isInteger())
      report(key, Code::NotAnInteger, fmt::format("'{}' of '{}' is no whole number", key.str(), name));
    else if (exact > Rational(max))
      report(key, Code::NumberTooLarge, fmt::format("'{}' of '{}' is above 2^{}", key.str(), name, llvm::Log2_64(max)));
    else
      into = Quantity(exact).toInt64().value_or(0);
  }
  void whole(StringRef key, int32_t &into, int64_t scale = 1) {
    int64_t value = into;
    whole(key, value, kMaxNumber, scale);
    into = int32_t(value);
  }
  void truth(StringRef key, bool &into) {
    if (auto value = closed<BoolAttr>(key))
      into = value.getValue();
  }
  StringRef word(StringRef key) {
    auto value = closed<StringAttr>(key);
    return value ? value.getValue() : "";
  }
  void one(StringRef key, Index &into) {
    if (auto value = closed<FlatSymbolRefAttr>(key))
      into = indices.at(value.getValue().str());
  }
  void all(StringRef key, std::vector<Index> &into) {
    if (auto value = closed<ArrayAttr>(key))
      for (auto each : value.getAsRange<FlatSymbolRefAttr>())
        into.push_back(indices.at(each.getValue().str()));
  }
  void count(PartOp part, int32_t &into) {
    auto many = part.instances();
    if (!many || *many > kMaxNumber)
      report("", many ? Code::NumberTooLarge : Code::NotADesign,
             fmt::format("the count of '{}' is {}", name,
                         many ? "above 2^30" : "left open: choose a value, or mine the design space first"));
    else
      into = int32_t(*many);
  }

  // ---- Cycles

  void terms(Attribute value, CycleExpression &into, StringRef key, size_t waiting, int64_t immediates) {
    using Kind = CycleExpression::Kind;
    if (waiting >= CycleExpression::kMaxDepth)
      report(key, Code::NestedTooDeep,
             fmt::format("'{}' of '{}' has more than {} numbers that wait for each other", key.str(), name,
                         CycleExpression::kMaxDepth));
    else if (auto quantity = dyn_cast<accel::QuantityAttr>(value)) {
      auto whole = Quantity(quantity.quantity().value).toInt64();
      if (!whole || *whole > kMaxBytes || *whole < -kMaxBytes)
        report(key, Code::NumberTooLarge, fmt::format("a number in '{}' of '{}' is beyond 2^62", key.str(), name));
      into.terms.push_back({Kind::Constant, whole.value_or(0)});
    } else if (auto reference = dyn_cast<accel::ReferenceAttr>(value)) {
      int64_t which = -1;
      if (reference.getPath() != "bytes" &&
          (reference.getPath().drop_front(3).getAsInteger(10, which) || which >= immediates))
        report(key, Code::WrongPart,
               fmt::format("'{}' of '{}' depends on {}, and {} has no such immediate", key.str(), name,
                           reference.getPath().str(), kind == "operation" ? "its opcode" : "some opcode"));
      into.terms.push_back(which < 0 ? CycleExpression::Term{Kind::Bytes}
                                     : CycleExpression::Term{Kind::Immediate, which});
    } else if (auto apply = dyn_cast<accel::ApplyAttr>(value)) {
      static const std::map<StringRef, Kind> kKinds = {
          {"+", Kind::Add},   {"-", Kind::Subtract},        {"*", Kind::Multiply}, {"/", Kind::DivideUp},
          {"min", Kind::Min}, {"ceil_div", Kind::DivideUp}, {"max", Kind::Max}};
      for (auto [i, operand] : llvm::enumerate(apply.getOperands())) {
        terms(operand, into, key, waiting + (i > 0), immediates);
        if (i > 0)
          into.terms.push_back({kKinds.at(apply.getFunction())});
      }
    }
  }
  void cycles(StringRef key, CycleExpression &into, int64_t otherwise, int64_t immediates) {
    Attribute value = entries.get(key);
    if (value && isOpen(value)) {
      closed<accel::QuantityAttr>(key);
      return;
    }
    into.terms = {{CycleExpression::Kind::Constant, otherwise}};
    into.text = std::to_string(otherwise);
    if (!value)
      return;
    into.terms.clear();
    terms(value, into, key, 0, immediates);
    into.text = spelled(value);
  }

  // ---- Parts

  void index(PartOp part) {
    // Stages and execute stages are one list, and so are memories and caches.
    static const std::map<StringRef, StringRef> kLists = {{"execute", "stage"}, {"cache", "memory"}};
    auto list = kLists.find(part.getKind());
    int32_t &next = sizes[(list == kLists.end() ? part.getKind() : list->second).str()];
    indices[part.getSymName().str()] = next++;
    if (part.getKind() == "opcode") {
      auto immediates = part.getEntries().getAs<IntegerAttr>("immediates");
      opcodeImmediates.push_back(immediates ? immediates.getInt() : 0);
    }
    made.units.resize(sizes["unit"]);
  }

  void read(PartOp part) {
    of = part;
    entries = part.getEntries();
    name = part.getSymName().str();
    place = sourceOf(accel::blockLocation(part));
    kind = part.getKind();
    if (kind == "opcode")
      opcode();
    else if (kind == "fetch")
      fetch();
    else if (kind == "stage" || kind == "execute")
      stage();
    else if (kind == "unit")
      unit(part);
    else if (kind == "operation")
      operation();
    else if (kind == "registers")
      registers(part);
    else
      storage(kind == "cache");
  }

  void opcode() {
    Opcode opcode;
    opcode.name = StringRef(name).split('.').second.str();
    opcode.location = place;
    number("reads", opcode.reads), number("writes", opcode.writes), number("immediates", opcode.immediates);
    number("loads", opcode.loads), number("stores", opcode.stores);
    truth("redirects", opcode.redirects);
    role(opcode);
    made.opcodes.push_back(std::move(opcode));
  }

  void role(Opcode &opcode) {
    if (StringRef does = word("does"); !does.empty())
      opcode.role.does = roleNamed(std::string_view(does.data(), does.size())).value_or(Role::None);
    number("lanes", opcode.role.lanes);
    if (opcode.reads < argumentsOf(opcode.role.does))
      report("does", Code::WrongPart,
             fmt::format("'{}' does '{}' of {} registers, and reads {}", opcode.name, word("does").str(),
                         argumentsOf(opcode.role.does), opcode.reads));
    auto tile = closed<ArrayAttr>("tile");
    if (!tile)
      return;
    int32_t *const extents[] = {&opcode.role.m, &opcode.role.n, &opcode.role.k};
    const bool product = opcode.role.does == Role::MultiplyAdd;
    if (tile.size() != (product ? 3 : 2))
      report("tile", Code::WrongPart,
             fmt::format("the tile of '{}' is {}", opcode.name, product ? "m x n x k" : "m x n"));
    for (auto [i, extent] : llvm::enumerate(tile)) {
      auto number = dyn_cast<IntegerAttr>(extent);
      if (!number || number.getInt() > kMaxNumber)
        report("tile", number ? Code::NumberTooLarge : Code::NotADesign,
               fmt::format("the tile of '{}' is {}", opcode.name,
                           number ? "above 2^30" : "left open: choose a value, or mine the design space first"));
      else
        *extents[i] = int32_t(number.getInt());
    }
  }

  void fetch() {
    made.fetch.name = name;
    made.fetch.location = place;
    number("width", made.fetch.width), number("buffer", made.fetch.buffer);
    whole("latency", made.fetch.latency);
    one("to", made.fetch.to);
  }

  void stage() {
    Stage stage;
    stage.name = name;
    stage.location = place;
    number("capacity", stage.capacity), number("width", stage.width);
    // Any opcode may come by.
    auto minImmediates = llvm::min_element(opcodeImmediates);
    cycles("latency", stage.latency, 1, minImmediates == opcodeImmediates.end() ? 0 : *minImmediates);
    all("to", stage.to), all("units", stage.units);
    made.stages.push_back(std::move(stage));
  }

  void unit(PartOp part) {
    microarchitecture::Unit &unit = made.units[indices.at(name)];
    unit.name = name;
    unit.location = place;
    count(part, unit.count);
    number("entries", unit.entries);
    all("reads", unit.reads), all("writes", unit.writes), all("loads", unit.loadsFrom), all("stores", unit.storesTo);
  }

  void operation() {
    UnitOperation operation;
    operation.location = place;
    Index unit = 0;
    one("opcode", operation.opcode), one("unit", unit);
    const int64_t immediates = opcodeImmediates.at(operation.opcode);
    cycles("latency", operation.latency, 1, immediates), cycles("interval", operation.interval, 1, immediates);
    made.units[unit].operations.push_back(std::move(operation));
  }

  void registers(PartOp part) {
    RegisterFile file;
    file.name = name;
    file.location = place;
    count(part, file.count);
    whole("width", file.bits, 8);
    number("read_ports", file.readPorts), number("write_ports", file.writePorts);
    truth("renamed", file.renamed), truth("counts", file.counts);
    made.registers.push_back(std::move(file));
  }

  void storage(bool cached) {
    Storage storage;
    storage.name = name;
    storage.location = place;
    whole("port_width", storage.portBytes);
    number("ports", storage.ports), number("banks", storage.banks), number("requests", storage.requests);
    whole("read_latency", storage.readLatency), whole("write_latency", storage.writeLatency);
    if (cached) {
      storage.cache = Storage::Cache();
      cache(*storage.cache);
    } else {
      int64_t size = 0;
      whole("begin", storage.begin, kMaxBytes / 2), whole("size", size, kMaxBytes / 2);
      storage.end = storage.begin + size;
      whole("row", storage.rows.bytes), whole("row_miss", storage.rows.miss);
      if (entries.contains("row") != entries.contains("row_miss"))
        report(entries.contains("row") ? "row" : "row_miss", Code::MissingKey,
               fmt::format("'row' and 'row_miss' of '{}' belong together", name));
    }
    made.storages.push_back(std::move(storage));
  }

  void cache(Storage::Cache &cache) {
    number("sets", cache.sets), number("ways", cache.ways);
    whole("line", cache.lineBytes);
    StringRef replaced = word("replacement");
    cache.replacement = replaced == "fifo"        ? Replacement::Fifo
                        : replaced == "tree_plru" ? Replacement::TreePlru
                                                  : Replacement::Lru;
    cache.writeBack = word("write") != "through";
    truth("allocate", cache.allocatesOnWrite), truth("critical_word_first", cache.criticalWordFirst);
    one("behind", cache.behind);
  }

  accel::MicroarchitectureOp op;
  Microarchitecture made;
  bool failed = false;
  std::set<std::tuple<std::string, unsigned, unsigned, Code>> said;
  std::map<std::string, Index> indices; ///< of each part in the list of its kind
  std::map<std::string, int32_t> sizes;
  std::vector<int64_t> opcodeImmediates;

  // The part that is read.
  mlir::Operation *of = nullptr;
  DictionaryAttr entries;
  std::string name;
  StringRef kind;
  SourceLocation place;
};

} // namespace

FailureOr<microarchitecture::Microarchitecture> microarchitectureFrom(accel::MicroarchitectureOp op) {
  return MicroarchitectureReader(op).run();
}

accel::MicroarchitectureOp microarchitectureOf(accel::CoreOp core) {
  auto name = core->getAttrOfType<FlatSymbolRefAttr>(kMicroarchitectureAttribute);
  auto module = core->getParentOfType<ModuleOp>();
  return name && module ? SymbolTable::lookupNearestSymbolFrom<accel::MicroarchitectureOp>(module, name)
                        : accel::MicroarchitectureOp();
}

} // namespace accord
