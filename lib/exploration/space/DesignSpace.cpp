#include "lib/exploration/space/DesignSpace.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/EmitError.h"
#include "lib/support/UnitTable.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

/// An accelerator after the microarchitectures of its cores.
std::string printed(accel::AcceleratorOp accelerator, const OpPrintingFlags &flags) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  std::set<std::string> names;
  for (auto core : accelerator.getBody().getOps<accel::CoreOp>())
    if (auto detailed = microarchitectureOf(core); detailed && names.insert(detailed.getSymName().str()).second) {
      detailed->print(stream, flags);
      stream << "\n";
    }
  accelerator->print(stream, flags);
  return text + "\n";
}

/// The description in a context of its own: the caller's may be used, or end, meanwhile.
OwningOpRef<ModuleOp> copyInto(MLIRContext &context, accel::AcceleratorOp accelerator) {
  const std::string text = printed(accelerator, OpPrintingFlags().enableDebugInfo().useLocalScope());
  return parseSourceString<ModuleOp>(text, ParserConfig(&context, /*verifyAfterParse=*/false));
}

} // namespace

struct DesignSpace::Data {
  DesignDescription description;
  DesignMachines machines{description};
  std::optional<DesignMetric> metric;
  std::vector<std::string> costNames;
};

DesignSpace::DesignSpace(std::unique_ptr<Data> data) : data_(std::move(data)) {}
DesignSpace::DesignSpace(DesignSpace &&) noexcept = default;
DesignSpace::~DesignSpace() = default;

Result<DesignSpace, Errors> DesignSpace::of(accel::AcceleratorOp accelerator,
                                            std::vector<DesignParameter> clusterParameters) {
  return made(accelerator, std::move(clusterParameters), {});
}

Result<DesignSpace, Errors> DesignSpace::made(accel::AcceleratorOp accelerator,
                                              std::vector<DesignParameter> clusterParameters,
                                              const std::vector<std::string> &order) {
  Errors errors;
  auto made = std::make_unique<Data>();
  DesignDescription &data = made->description;
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
  data.written = *data.module->getOps<accel::AcceleratorOp>().begin();
  data.name = data.written.getSymName().str();

  for (size_t i = 0; i < order.size(); ++i)
    data.order.try_emplace(order[i], unsigned(i + 1));
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
  bool ordered = made->machines.findBlocks();
  if (!errors.empty() || !ordered)
    return errors;
  made->machines.findSites(errors);
  data.findRequirements(errors);
  for (const DesignPlace &place : data.places) // what a choice of memories names
    if (place.schema->kind == accel::ValueKind::Reference)
      for (Attribute word : cast<accel::ChoiceAttr>(place.value).getValues())
        if (!isa_and_nonnull<accel::MemoryOp>(
                SymbolTable::lookupSymbolIn(data.written.getOperation(), cast<FlatSymbolRefAttr>(word))))
          errors.push_back({Code::UnknownName,
                            fmt::format("'{}' has no memory '{}'", data.name, spellingOf(word)),
                            data.locationOf(place),
                            {}});
  if (!errors.empty())
    return errors;
  // What the first and the last design have in common is wrong with the description.
  const DesignBox whole = wholeOf(data.parameters), first{whole.low, whole.low}, last{whole.high, whole.high};
  auto low = made->machines.machine(first, BoxCorner::Design), high = made->machines.machine(last, BoxCorner::Design);
  if (!low && !high && low.error().message == high.error().message)
    return Errors{low.error()};
  auto best = made->machines.machine(whole, BoxCorner::Best);
  bool area = false, tdp = false;
  for (const Result<Machine> *end : {&low, &high, &best})
    if (const Machine *known = end->get())
      area |= known->area.value > 0, tdp |= known->tdp.value > 0;
  if (area)
    made->costNames.push_back("area");
  if (tdp)
    made->costNames.push_back("tdp");
  return DesignSpace(std::move(made));
}

Result<DesignSpace, Errors> DesignSpace::fromSource(const std::string &text,
                                                    std::vector<DesignParameter> clusterParameters,
                                                    const std::vector<std::string> &order) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<accel::AccelDialect>();
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &one) {
    if (said.empty())
      said = one.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module || module->getOps<accel::AcceleratorOp>().empty())
    return Errors{{Code::BadPlan, said.empty() ? "no accelerator is in it" : said, {}, {}}};
  auto accelerator = *module->getOps<accel::AcceleratorOp>().begin();
  auto space = made(accelerator, std::move(clusterParameters), order);
  if (space)
    for (auto objective : accelerator.getBody().getOps<accel::ObjectiveOp>())
      if (objective.getExpressionAttr())
        space->measure(objective.getDirection() == "maximize", objective.getText().str(),
                       objective.getExpressionAttr());
  return space;
}

const std::string &DesignSpace::name() const { return data_->description.name; }
const std::vector<DesignParameter> &DesignSpace::parameters() const { return data_->description.parameters; }
std::vector<DesignParameter> DesignSpace::clusterParameters() const {
  return {data_->description.parameters.begin() + static_cast<ptrdiff_t>(data_->description.own),
          data_->description.parameters.end()};
}
const std::vector<DesignRequirement> &DesignSpace::requirements() const { return data_->description.requirements; }

std::string DesignSpace::size() const {
  llvm::DynamicAPInt all(1);
  for (const DesignParameter &parameter : data_->description.parameters)
    all *= llvm::DynamicAPInt(static_cast<int64_t>(parameter.labels.size()));
  return digitsOf(all);
}

std::optional<uint64_t> DesignSpace::points() const {
  std::optional<uint64_t> all = designsOf(parameters());
  return all && *all >> 63 ? std::nullopt : all;
}

Design DesignSpace::at(uint64_t point) const { return designAt(parameters(), point); }

Result<Machine> DesignSpace::machine(const Design &design) const {
  if (!data_->description.holds({design, design}))
    return Error{Code::OutOfRange, fmt::format("'{}' has no such design", name()), {}, {}};
  return data_->machines.machine({design, design}, BoxCorner::Design);
}

Result<Machine> DesignSpace::best(const DesignBox &box) const {
  if (!data_->description.holds(box))
    return Error{Code::OutOfRange, fmt::format("'{}' has no such designs", name()), {}, {}};
  return data_->machines.machine(box, BoxCorner::Best);
}

std::optional<size_t> DesignSpace::violatedRequirement(const Design &design, const Machine &machine) const {
  DesignFigures figures{{machine.area.value, machine.area.value}, {machine.tdp.value, machine.tdp.value}};
  bool known = data_->description.holds({design, design});
  for (size_t i = 0; i < data_->description.conditions.size(); ++i)
    if (!known || data_->description.satisfied(i, {design, design}, figures).low < 1)
      return i;
  return std::nullopt;
}

const std::vector<std::string> &DesignSpace::costNames() const { return data_->costNames; }

std::vector<double> DesignSpace::costs(const DesignBox &box) const {
  std::vector<double> costs;
  auto known = data_->description.holds(box) && box.one() ? machine(box.low) : best(box);
  for (const std::string &name : data_->costNames)
    costs.push_back(!known ? 0 : name == "area" ? known->area.value : known->tdp.value);
  return costs;
}

std::optional<size_t> DesignSpace::violatedRequirement(const DesignBox &box) const {
  if (!data_->description.holds(box)) // no design: none keeps anything
    return data_->description.conditions.empty() ? std::nullopt : std::optional<size_t>(0);
  DesignFigures figures = data_->machines.figures(box);
  for (size_t i = 0; i < data_->description.conditions.size(); ++i)
    if (data_->description.satisfied(i, box, figures).high < 1)
      return i;
  return std::nullopt;
}

std::optional<DesignLimit> DesignSpace::limit(size_t requirement, const Design &design, const Machine &machine) const {
  if (requirement >= requirements().size() || !data_->description.holds({design, design}))
    return std::nullopt;
  std::optional<size_t> side = data_->description.limitOf(requirement);
  if (!side)
    return std::nullopt;
  const DesignTerms::Term &term = data_->description.terms[data_->description.conditions[requirement]];
  DesignFigures figures{{machine.area.value, machine.area.value}, {machine.tdp.value, machine.tdp.value}};
  auto numberOf = [&](size_t operand) {
    return data_->description.terms.nearly(term.operands[operand], {design, design}, figures).low;
  };
  DesignLimit limit{term.function, numberOf(1 - *side), numberOf(*side),
                    data_->description.terms[term.operands[*side]].dimension};
  if (*side == 0) // 50 mm2 >= area
    limit.op[0] = limit.op[0] == '<' ? '>' : '<';
  return limit;
}

void DesignSpace::relax(size_t requirement, double factor) {
  if (requirement >= requirements().size() || !data_->description.limitOf(requirement))
    return;
  if (factor == 1)
    data_->description.relaxed.erase(requirement);
  else
    data_->description.relaxed[requirement] = factor;
}

std::optional<MetricError> DesignSpace::measure(bool maximize, const std::string &text, Attribute expression) {
  auto metric = metricOf(data_->description, data_->machines, maximize, text, expression);
  if (!metric)
    return metric.error();
  data_->metric = std::move(*metric);
  return std::nullopt;
}

std::string DesignSpace::metric() const {
  return data_->metric->maximize ? "1 / (" + data_->metric->text + ")" : data_->metric->text;
}
std::string DesignSpace::metricUnit() const {
  if (!data_->metric)
    return "";
  Dimension dimension = data_->description.terms[data_->metric->term].dimension;
  return baseUnitsOf(data_->metric->maximize ? Dimension{} / dimension : dimension);
}
std::string DesignSpace::metricPrinted() const {
  return (data_->metric->maximize ? "maximize " : "minimize ") + data_->metric->printed;
}
const MetricFigures &DesignSpace::figures() const { return *data_->metric; }

bool DesignSpace::measures(const Machine &machine) const {
  return (!figures().area || machine.area.value > 0) && (!figures().power || machine.tdp.value > 0);
}

double DesignSpace::metricValue(const DesignBox &box, const Machine &machine, const MeasuredStep &step) const {
  return evaluateMetric(*data_->metric, data_->description, data_->machines, box, machine, step);
}

std::string DesignSpace::text(const Design &design) const {
  return data_->description.holds({design, design}) ? data_->machines.text(design) : "";
}

std::string DesignSpace::source() const {
  accel::AcceleratorOp written = data_->description.written;
  OwningOpRef<ModuleOp> copy;
  if (const auto &measure = data_->metric) { // instead of what the description itself makes least
    copy = data_->description.module->clone();
    written = *copy->getOps<accel::AcceleratorOp>().begin();
    for (accel::ObjectiveOp one : llvm::make_early_inc_range(written.getBody().getOps<accel::ObjectiveOp>()))
      one.erase();
    OpBuilder builder = OpBuilder::atBlockEnd(&written.getBody().front());
    accel::ObjectiveOp::create(
        builder, written.getLoc(), builder.getStringAttr(measure->maximize ? "maximize" : "minimize"),
        builder.getStringAttr(measure->text), parseAttribute(measure->printed, &data_->description.context));
  }
  return printed(written, OpPrintingFlags().useLocalScope());
}

} // namespace accord
