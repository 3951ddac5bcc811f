#include "lib/exploration/space/DesignSpace.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/EmitError.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

/// The description in a context of its own: the caller's may be used, or end, meanwhile.
OwningOpRef<ModuleOp> copyInto(MLIRContext &context, accel::AcceleratorOp accelerator) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  accelerator->print(stream, OpPrintingFlags().enableDebugInfo().useLocalScope());
  return parseSourceString<ModuleOp>(text, ParserConfig(&context, /*verifyAfterParse=*/false));
}

accel::AcceleratorOp onlyOne(ModuleOp module) { return *module.getOps<accel::AcceleratorOp>().begin(); }

} // namespace

Error errorOf(mlir::Diagnostic &said) {
  std::string message = said.str();
  Error error{codeOf(said, Code::InternalError), message, sourceOf(said.getLocation()), {}};
  for (mlir::Diagnostic &note : said.getNotes())
    error.notes.push_back({sourceOf(note.getLocation()), note.str()});
  return error;
}

Error errorOf(const Error &problem, SourceLocation location) {
  std::string message = problem.message;
  if (!problem.suggestion.empty())
    message += fmt::format(", did you mean '{}'?", problem.suggestion);
  return {problem.code, std::move(message), std::move(location), {}};
}

DesignSpace::DesignSpace(std::unique_ptr<Data> data) : data_(std::move(data)) {}
DesignSpace::DesignSpace(DesignSpace &&) noexcept = default;
DesignSpace::~DesignSpace() = default;

Result<DesignSpace, Errors> DesignSpace::of(accel::AcceleratorOp accelerator,
                                            std::vector<DesignParameter> clusterParameters) {
  Errors errors;
  auto made = std::make_unique<Data>();
  Data &data = *made;
  data.context.disableMultithreading();
  data.context.loadDialect<accel::AccelDialect>();
  ScopedDiagnosticHandler handler(&data.context, [&](mlir::Diagnostic &said) {
    errors.push_back(errorOf(said));
    return success();
  });
  data.module = copyInto(data.context, accelerator);
  if (!data.module || data.module->getOps<accel::AcceleratorOp>().empty()) {
    errors.push_back(
        {Code::InternalError, "the design space cannot be read", sourceOf(accel::blockLocation(accelerator)), {}});
    return errors;
  }
  data.working = data.module->clone();
  data.written = onlyOne(*data.module), data.accelerator = onlyOne(*data.working);
  data.name = data.written.getSymName().str();

  data.findPlaces(errors);
  data.own = data.parameters.size();
  for (DesignParameter &parameter : clusterParameters)
    data.parameters.push_back(std::move(parameter));
  if (data.parameters.empty() && errors.empty())
    errors.push_back({Code::NotADesign,
                      fmt::format("'{}' leaves nothing to choose: a design space has a choice, "
                                  "as in 'core tc[pow2 1..64] : tensor'",
                                  data.name),
                      sourceOf(accel::blockLocation(accelerator)),
                      {}});
  auto order = memoryOrder(data.accelerator);
  if (!errors.empty() || failed(order))
    return errors;
  data.order = *order;
  data.head.ops = {data.accelerator};
  for (mlir::Operation &op : data.accelerator.getBody().front())
    if (isa<accel::PowerOp, accel::AreaOp>(op))
      data.head.ops.push_back(&op);
  for (accel::MemoryOp memory : data.order.memories)
    data.memories.push_back({{memory}, {}, {}, {}});
  for (auto core : data.accelerator.getBody().getOps<accel::CoreOp>())
    data.cores.push_back({{core}, {}, {}, {}});
  for (size_t i = 0; i < data.memories.size(); ++i)
    data.readMemories.push_back(std::make_unique<BlockCache<Memory>>());
  for (size_t i = 0; i < data.cores.size(); ++i) {
    data.readCores.push_back(std::make_unique<BlockCache<Core>>());
    data.checked.push_back(std::make_unique<BlockCache<bool>>());
  }
  data.findSites(errors);
  data.findRequirements(errors);
  for (const DesignPlace &place : data.places) // what a choice of memories names
    if (place.key == "reads")
      for (Attribute word : cast<accel::ChoiceAttr>(place.value).getValues())
        if (!isa_and_nonnull<accel::MemoryOp>(
                SymbolTable::lookupSymbolIn(data.accelerator.getOperation(), cast<FlatSymbolRefAttr>(word))))
          errors.push_back({Code::UnknownName,
                            fmt::format("'{}' has no memory '{}'", data.name, spellingOf(word)),
                            data.locationOf(place),
                            {}});
  if (!errors.empty())
    return errors;
  // What the first and the last design have in common is wrong with the description.
  DesignBox ends[2];
  for (const DesignParameter &parameter : data.parameters) {
    ends[0].low.push_back(0);
    ends[1].low.push_back(static_cast<uint32_t>(parameter.labels.size() - 1));
  }
  std::optional<Error> found[2];
  for (int i = 0; i < 2; ++i) {
    ends[i].high = ends[i].low;
    auto machine = data.machine(ends[i], BoxCorner::Design);
    if (!machine)
      found[i] = machine.error();
  }
  if (found[0] && found[1] && found[0]->message == found[1]->message)
    return Errors{*found[0]};
  bool area = false, tdp = false;
  for (auto [end, which] : {std::pair(ends[0], BoxCorner::Design),
                            {ends[1], BoxCorner::Design},
                            {DesignBox{ends[0].low, ends[1].low}, BoxCorner::Best}})
    if (auto machine = data.machine(end, which); auto *known = machine.get())
      area |= known->area.value > 0, tdp |= known->tdp.value > 0;
  if (area)
    data.costNames.push_back("area");
  if (tdp)
    data.costNames.push_back("tdp");
  return DesignSpace(std::move(made));
}

const std::string &DesignSpace::name() const { return data_->name; }
const std::vector<DesignParameter> &DesignSpace::parameters() const { return data_->parameters; }
std::vector<DesignParameter> DesignSpace::clusterParameters() const {
  return {data_->parameters.begin() + static_cast<ptrdiff_t>(data_->own), data_->parameters.end()};
}
const std::vector<DesignRequirement> &DesignSpace::requirements() const { return data_->requirements; }

std::string DesignSpace::size() const {
  llvm::DynamicAPInt all(1);
  for (const DesignParameter &parameter : data_->parameters)
    all *= llvm::DynamicAPInt(static_cast<int64_t>(parameter.labels.size()));
  return digitsOf(all);
}

std::optional<uint64_t> DesignSpace::points() const {
  int64_t all = 1;
  for (const DesignParameter &parameter : data_->parameters)
    if (__builtin_mul_overflow(all, static_cast<int64_t>(parameter.labels.size()), &all))
      return std::nullopt;
  return static_cast<uint64_t>(all);
}

Design DesignSpace::at(uint64_t point) const {
  Design design(data_->parameters.size());
  for (size_t i = design.size(); i-- > 0;) {
    uint64_t size = data_->parameters[i].labels.size();
    design[i] = static_cast<uint32_t>(point % size);
    point /= size;
  }
  return design;
}

bool DesignSpace::Data::holds(const DesignBox &box) const {
  bool good = box.low.size() == parameters.size() && box.high.size() == parameters.size();
  for (size_t i = 0; good && i < parameters.size(); ++i)
    good = box.low[i] <= box.high[i] && box.high[i] < parameters[i].labels.size();
  return good;
}

Result<Machine> DesignSpace::machine(const Design &design) const {
  if (!data_->holds({design, design}))
    return Error{Code::OutOfRange, fmt::format("'{}' has no such design", name()), {}, {}};
  return data_->machine({design, design}, BoxCorner::Design);
}

Result<Machine> DesignSpace::best(const DesignBox &box) const {
  if (!data_->holds(box))
    return Error{Code::OutOfRange, fmt::format("'{}' has no such designs", name()), {}, {}};
  return data_->machine(box, BoxCorner::Best);
}

std::optional<size_t> DesignSpace::violatedRequirement(const Design &design, const Machine &machine) const {
  DesignFigures figures{{machine.area.value, machine.area.value}, {machine.tdp.value, machine.tdp.value}};
  bool known = data_->holds({design, design});
  for (size_t i = 0; i < data_->conditions.size(); ++i)
    if (!known || data_->satisfied(i, {design, design}, figures).low < 1)
      return i;
  return std::nullopt;
}

const std::vector<std::string> &DesignSpace::costNames() const { return data_->costNames; }

std::vector<double> DesignSpace::costs(const DesignBox &box) const {
  std::vector<double> costs;
  auto made = data_->holds(box) && box.one() ? machine(box.low) : best(box);
  for (const std::string &name : data_->costNames) {
    auto *known = made.get();
    costs.push_back(!known ? 0 : name == "area" ? known->area.value : known->tdp.value);
  }
  return costs;
}

std::optional<size_t> DesignSpace::violatedRequirement(const DesignBox &box) const {
  if (!data_->holds(box)) // no design: none keeps anything
    return data_->conditions.empty() ? std::nullopt : std::optional<size_t>(0);
  DesignFigures figures = data_->figures(box);
  for (size_t i = 0; i < data_->conditions.size(); ++i)
    if (data_->satisfied(i, box, figures).high < 1)
      return i;
  return std::nullopt;
}

} // namespace accord
