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

/// Which keys a cluster may leave open: what its placements follow from.
bool mayBeChosen(mlir::Operation *op, const std::string &key) {
  if (isa<accel::NetworkOp>(op))
    return llvm::is_contained({"bandwidth", "latency", "efficiency", "energy", "topology", "oversubscription", "leaf",
                               "reduction", "algorithm"},
                              key);
  if (isa<accel::HostOp>(op))
    return llvm::is_contained({"memory", "memory_bandwidth", "storage", "cpu_cores", "power"}, key);
  return false;
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
        add(op, key, choice, schema && mayBeChosen(op, key) ? schema->findKey(key) : nullptr, nameOf(op) + "." + key);
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

size_t ClusterSpace::points() const {
  size_t points = 1;
  for (const DesignParameter &parameter : data_->parameters)
    points *= parameter.labels.size();
  return points;
}

Design ClusterSpace::at(size_t point) const {
  Design choices(data_->parameters.size());
  for (size_t i = choices.size(); i-- > 0;) {
    size_t size = data_->parameters[i].labels.size();
    choices[i] = static_cast<uint32_t>(point % size);
    point /= size;
  }
  return choices;
}

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
