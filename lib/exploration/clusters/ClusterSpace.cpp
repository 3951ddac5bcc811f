#include "lib/exploration/clusters/ClusterSpace.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

struct Open {
  mlir::Operation *op = nullptr;
  std::string key; ///< empty: how many there are
  std::vector<Attribute> values;
};

/// Whether a cluster may leave a key open: numbers and words of networks and hosts, of which its placements follow.
bool mayBeChosen(mlir::Operation *op, const accel::KeySchema *key) {
  return key && isa<accel::NetworkOp, accel::HostOp>(op) &&
         llvm::is_contained({accel::ValueKind::Quantity, accel::ValueKind::Integer, accel::ValueKind::Word}, key->kind);
}

std::string nameOf(mlir::Operation *op) {
  auto symbol = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  return symbol ? symbol.str() : op->getName().stripDialect().str(); // host, price
}

} // namespace

struct ClusterSpace::Data {
  std::vector<DesignParameter> parameters;
  std::vector<Open> open; ///< by parameter
  Errors errors;

  void add(mlir::Operation *op, const std::string &key, accel::ChoiceAttr choice, const accel::KeySchema *schema,
           const std::string &name) {
    SourceLocation at = key.empty() ? sourceOf(accel::blockLocation(op)) : sourceOf(accel::locationOf(op, key));
    Result<std::vector<Attribute>> values =
        schema ? valuesOf(choice, *schema) : Error{Code::ChoiceNotAllowed, "cannot be a choice"};
    bool shaped = key == "topology" && values && llvm::any_of(*values, [](Attribute value) {
                    auto word = dyn_cast<StringAttr>(value);
                    return word && (word.getValue() == "mesh" || word.getValue() == "torus");
                  });
    if (values && values->empty())
      values = Error{Code::EmptyRange, "has no value to choose from"};
    else if (shaped)
      values = Error{Code::ChoiceNotAllowed, "chooses a mesh or torus, whose shape a choice cannot state"};
    if (!values) {
      Error problem = values.error();
      problem.message = fmt::format("'{}' {}", name, problem.message);
      errors.push_back(errorOf(problem, at));
      return;
    }
    DesignParameter &parameter = parameters.emplace_back();
    parameter.name = name, parameter.location = at;
    for (Attribute value : *values) {
      parameter.labels.push_back(spellingOf(value));
      if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
        parameter.numbers.push_back(quantity.quantity().value.toDouble());
      else if (auto integer = dyn_cast<IntegerAttr>(value); integer && !isa<BoolAttr>(value))
        parameter.numbers.push_back(integer.getInt());
    }
    open.push_back({op, key, std::move(*values)});
  }

  void look(mlir::Operation *op) {
    if (auto choice = op->getAttrOfType<accel::ChoiceAttr>("count"))
      add(op, "", choice, &accel::countKey(), nameOf(op) + ".count");
    auto entries = op->getAttrOfType<DictionaryAttr>("entries");
    if (!entries)
      return;
    std::string kind = op->getName().stripDialect().str();
    auto topology = entries.getAs<StringAttr>("topology");
    const accel::BlockSchema *schema = topology ? accel::findSchema(kind, topology.getValue()) : nullptr;
    if (!schema)
      schema = accel::findSchema(kind);
    for (NamedAttribute entry : entries)
      if (auto choice = dyn_cast<accel::ChoiceAttr>(entry.getValue())) {
        std::string key = entry.getName().str();
        const accel::KeySchema *known = schema ? schema->findKey(key) : nullptr;
        add(op, key, choice, mayBeChosen(op, known) ? known : nullptr, nameOf(op) + "." + key);
      }
  }
};

ClusterSpace::ClusterSpace(std::unique_ptr<Data> data) : data_(std::move(data)) {}
ClusterSpace::ClusterSpace(ClusterSpace &&) noexcept = default;
ClusterSpace::~ClusterSpace() = default;

Result<ClusterSpace, Errors> ClusterSpace::of(accel::ClusterOp cluster) {
  auto data = std::make_unique<Data>();
  cluster->walk<WalkOrder::PreOrder>([&](mlir::Operation *op) { data->look(op); });
  if (!data->errors.empty())
    return std::move(data->errors);
  uint64_t points = 1;
  for (const DesignParameter &parameter : data->parameters)
    points = std::min(points * parameter.labels.size(), kMax + 1);
  if (points > kMax) {
    std::string names;
    for (const DesignParameter &parameter : data->parameters)
      names += fmt::format("{}{} values of '{}'", names.empty() ? "" : ", ", parameter.labels.size(), parameter.name);
    return Errors{
        errorOf({Code::TooManyValues,
                 fmt::format("'{}' leaves more than {} clusters open: {}", cluster.getSymName().str(), kMax, names),
                 {}},
                data->parameters.front().location)};
  }
  return ClusterSpace(std::move(data));
}

const std::vector<DesignParameter> &ClusterSpace::parameters() const { return data_->parameters; }

size_t ClusterSpace::points() const { return *designsOf(data_->parameters); }
Design ClusterSpace::at(size_t point) const { return designAt(data_->parameters, point); }

void ClusterSpace::choose(const Design &choices) const {
  for (size_t i = 0; i < data_->open.size(); ++i) {
    const Open &one = data_->open[i];
    Attribute value = one.values[choices[i]];
    if (one.key.empty()) {
      one.op->setAttr("count", value);
      continue;
    }
    NamedAttrList entries(one.op->getAttrOfType<DictionaryAttr>("entries"));
    entries.set(one.key, value);
    one.op->setAttr("entries", entries.getDictionary(one.op->getContext()));
  }
}

std::map<std::string, std::string> ClusterSpace::labels(const Design &choices) const {
  std::map<std::string, std::string> all;
  for (size_t i = 0; i < data_->parameters.size(); ++i)
    all[data_->parameters[i].name] = data_->parameters[i].labels[choices[i]];
  return all;
}

} // namespace accord
