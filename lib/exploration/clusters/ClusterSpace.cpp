#include "lib/exploration/clusters/ClusterSpace.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/exploration/space/DesignTerms.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/Diagnostics.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace mlir;

namespace accord {
namespace {

/// More combinations of what is enumerated are not looked through.
constexpr uint64_t kMaxLookedThrough = uint64_t(1) << 20;

struct Open {
  mlir::Operation *op = nullptr;
  std::string key; ///< empty: how many there are
  std::vector<Attribute> values;
};

/// A whole number of a cluster: stated, or a parameter.
struct Extent {
  std::optional<size_t> parameter;
  int64_t stated = 1;
};

/// Networks that are the dimensions of all that they connect.
struct Dimensions {
  std::string of;
  Extent count;
  std::vector<Extent> endpoints;
  mlir::Operation *first = nullptr;
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
  std::vector<Dimensions> dimensions;
  std::optional<ClusterPoints> points;
  DesignTerms terms;
  std::vector<int> conditions;
  std::vector<std::string> requirements;
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

  Extent countOf(mlir::Operation *op, const std::string &key) const {
    for (size_t i = 0; i < open.size(); ++i)
      if (open[i].op == op && open[i].key == key)
        return {i, 1};
    if (key.empty())
      return {std::nullopt, isa<accel::ServerOp>(op) ? cast<accel::ServerOp>(op).instances().value_or(1)
                                                     : cast<accel::DeviceOp>(op).instances().value_or(1)};
    auto stated = op->getAttrOfType<DictionaryAttr>("entries").getAs<IntegerAttr>(key);
    return {std::nullopt, stated ? stated.getInt() : 1};
  }

  /// The servers or devices of a scope whose networks state endpoints.
  void findDimensions(mlir::Operation *scope) {
    for (mlir::Operation &one : scope->getRegion(0).front()) {
      if (!isa<accel::ServerOp, accel::DeviceOp>(one))
        continue;
      Dimensions all;
      all.of = nameOf(&one);
      all.count = countOf(&one, "");
      for (auto network : scope->getRegion(0).getOps<accel::NetworkOp>()) {
        auto connects = network.getEntries().getAs<ArrayAttr>("connects");
        if (!network.getEntries().get("endpoints") || !connects ||
            !llvm::is_contained(connects.getAsRange<FlatSymbolRefAttr>(),
                                FlatSymbolRefAttr::get(scope->getContext(), all.of)))
          continue;
        all.endpoints.push_back(countOf(network, "endpoints"));
        all.first = all.first ? all.first : network;
      }
      if (all.first)
        dimensions.push_back(std::move(all));
      if (isa<accel::ServerOp>(one))
        findDimensions(&one);
    }
  }

  int64_t valueOf(const Extent &count, const Design &choices) const {
    return count.parameter ? static_cast<int64_t>(parameters[*count.parameter].numbers[choices[*count.parameter]])
                           : count.stated;
  }
  bool multipliesOut(const Design &choices) const {
    return llvm::all_of(dimensions, [&](const Dimensions &one) {
      int64_t product = 1;
      for (const Extent &extent : one.endpoints)
        if (__builtin_mul_overflow(product, valueOf(extent, choices), &product))
          return false;
      return product == valueOf(one.count, choices);
    });
  }

  /// Whether a bound may take the best of the values of a parameter for each exchange by itself.
  bool mayBeRelaxed(size_t parameter) const {
    auto network = dyn_cast<accel::NetworkOp>(open[parameter].op);
    if (!network || names.count(nameOf(network)) != 1)
      return false;
    const std::string &key = open[parameter].key;
    bool isNumber = key == "bandwidth" || key == "latency";
    if (!isNumber && (dimensions.empty() || (key != "topology" && key != "algorithm")))
      return false;
    if (network.getEntries().get("endpoints"))
      return true;
    // Of several networks the widest is used, which its bandwidth decides.
    auto all = network->getParentRegion()->getOps<accel::NetworkOp>();
    return std::distance(all.begin(), all.end()) == 1;
  }
  std::multiset<std::string> names; ///< of networks

  std::optional<Error> findPoints(accel::ClusterOp cluster, uint64_t max) {
    cluster->walk([&](accel::NetworkOp network) { names.insert(nameOf(network)); });
    findDimensions(cluster);
    uint64_t all = std::min(designsOf(parameters).value_or(kMax + 1), kMax + 1);
    if (all <= max && dimensions.empty()) {
      points.emplace(parameters);
      return std::nullopt;
    }
    std::vector<bool> relaxed;
    std::vector<DesignParameter> enumerated;
    std::vector<size_t> place; // among all, by position among the enumerated ones
    for (size_t i = 0; i < parameters.size(); ++i) {
      relaxed.push_back(all > max && mayBeRelaxed(i));
      if (!relaxed[i])
        enumerated.push_back(parameters[i]), place.push_back(i);
    }
    std::optional<uint64_t> combinations = designsOf(enumerated);
    std::vector<Design> found;
    bool isMany = !combinations || *combinations > kMaxLookedThrough;
    for (uint64_t one = 0; !isMany && one < *combinations; ++one) {
      Design some = designAt(enumerated, one), choices(parameters.size());
      for (size_t i = 0; i < some.size(); ++i)
        choices[place[i]] = some[i];
      if (multipliesOut(choices))
        found.push_back(std::move(choices));
      isMany |= found.size() > kMax;
    }
    if (isMany) {
      std::string list;
      for (const DesignParameter &parameter : enumerated)
        list += fmt::format("{}{} values of '{}'", list.empty() ? "" : ", ", parameter.labels.size(), parameter.name);
      return errorOf({Code::TooManyValues,
                      fmt::format("'{}' leaves more than {} clusters open: {}", cluster.getSymName().str(), kMax, list),
                      {}},
                     enumerated.front().location);
    }
    if (found.empty())
      return noCluster();
    points.emplace(parameters, std::move(relaxed), std::move(found));
    return std::nullopt;
  }

  Error noCluster() const {
    const Dimensions &one = dimensions.front();
    auto textOf = [&](const Extent &count) {
      return count.parameter ? fmt::format("{{{}}}", fmt::join(parameters[*count.parameter].labels, ", "))
                             : std::to_string(count.stated);
    };
    std::string product;
    for (const Extent &extent : one.endpoints)
      product += (product.empty() ? "" : " x ") + textOf(extent);
    return {Code::UnevenCluster,
            fmt::format("the networks of '{}' connect {} endpoints, which is never the number of '{}', {}", one.of,
                        product, one.of, textOf(one.count)),
            sourceOf(accel::locationOf(one.first, "endpoints"))};
  }

  /// The term of a number of the cluster by its name.
  Result<int> termAt(accel::ClusterOp cluster, const std::string &path) {
    std::vector<std::string> known;
    for (size_t i = 0; i < parameters.size(); ++i) {
      known.push_back(parameters[i].name);
      if (parameters[i].name != path)
        continue;
      std::vector<Rational> numbers;
      Dimension dimension;
      for (Attribute value : open[i].values)
        if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
          numbers.push_back(quantity.quantity().value), dimension = quantity.getDimension();
        else if (auto integer = dyn_cast<IntegerAttr>(value); integer && !isa<BoolAttr>(value))
          numbers.push_back(Rational(integer.getInt()));
      return numbers.empty() ? terms.words(i, parameters[i].labels) : terms.parameter(i, dimension, std::move(numbers));
    }
    std::optional<Quantity> stated;
    cluster->walk([&](mlir::Operation *op) {
      auto entries = op->getAttrOfType<DictionaryAttr>("entries");
      auto count = op->getAttrOfType<IntegerAttr>("count");
      if (count && nameOf(op) + ".count" == path)
        stated = Quantity::number(count.getInt());
      for (NamedAttribute entry : entries ? entries.getValue() : ArrayRef<NamedAttribute>()) {
        std::string name = nameOf(op) + "." + entry.getName().str();
        auto quantity = dyn_cast<accel::QuantityAttr>(entry.getValue());
        auto integer = dyn_cast<IntegerAttr>(entry.getValue());
        if (quantity || integer)
          known.push_back(name);
        if (name == path && (quantity || integer))
          stated = quantity ? quantity.quantity() : Quantity::number(integer.getInt());
      }
    });
    if (stated)
      return terms.number(*stated);
    return Error{Code::UnknownName,
                 fmt::format("cluster '{}' has no '{}'", cluster.getSymName().str(), path),
                 {},
                 {},
                 nearest(path, known)};
  }

  void findRequirements(accel::ClusterOp cluster) {
    for (auto require : cluster.getBody().getOps<accel::RequireOp>()) {
      if (!ClusterSpace::limits(require))
        continue;
      Result<int> term =
          terms.add(require.getConditionAttr(), [&](const std::string &path) { return termAt(cluster, path); });
      if (term && !terms[*term].truth)
        term = Error{Code::NotAConstraint, fmt::format("'{}' is no condition", require.getText().str())};
      if (!term) {
        errors.push_back(errorOf(term.error(), sourceOf(accel::blockLocation(require))));
        continue;
      }
      requirements.push_back(require.getText().str());
      conditions.push_back(*term);
    }
  }

  bool isSurelyViolated(const DesignBox &box) const {
    return llvm::any_of(conditions, [&](int condition) { return terms.nearly(condition, box, {}).high < 1; });
  }
};

ClusterSpace::ClusterSpace(std::unique_ptr<Data> data) : data_(std::move(data)) {}
ClusterSpace::ClusterSpace(ClusterSpace &&) noexcept = default;
ClusterSpace::~ClusterSpace() = default;

bool ClusterSpace::limits(accel::RequireOp require) {
  bool namesPart = false;
  if (Attribute condition = require.getConditionAttr())
    condition.walk([&](accel::ReferenceAttr one) { namesPart |= one.getPath().contains('.'); });
  return namesPart;
}

Result<ClusterSpace, Errors> ClusterSpace::of(accel::ClusterOp cluster, uint64_t max) {
  auto data = std::make_unique<Data>();
  cluster->walk<WalkOrder::PreOrder>([&](mlir::Operation *op) { data->look(op); });
  if (data->errors.empty())
    if (auto problem = data->findPoints(cluster, max))
      data->errors.push_back(std::move(*problem));
  if (data->errors.empty() && !data->parameters.empty())
    data->findRequirements(cluster);
  if (data->errors.empty() && data->isSurelyViolated(wholeOf(data->parameters)))
    data->errors.push_back({Code::UnevenCluster,
                            fmt::format("no cluster of '{}' is as it requires: {}", cluster.getSymName().str(),
                                        fmt::join(data->requirements, ", ")),
                            sourceOf(accel::blockLocation(cluster))});
  if (!data->errors.empty())
    return std::move(data->errors);
  return ClusterSpace(std::move(data));
}

const std::vector<DesignParameter> &ClusterSpace::parameters() const { return data_->parameters; }
const ClusterPoints &ClusterSpace::points() const { return *data_->points; }
const std::vector<std::string> &ClusterSpace::requirements() const { return data_->requirements; }

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

std::optional<DesignBox> ClusterSpace::within(DesignBox box) const {
  if (data_->conditions.empty())
    return box;
  if (data_->isSurelyViolated(box))
    return std::nullopt;
  for (size_t i = 0; i < box.low.size(); ++i)
    for (bool high : {true, false}) {
      DesignBox end = box;
      uint32_t &at = high ? box.high[i] : box.low[i];
      while (box.low[i] < box.high[i]) {
        end.low[i] = end.high[i] = at;
        if (!data_->isSurelyViolated(end))
          break;
        at += high ? -1 : 1;
      }
    }
  if (box.one() && data_->isSurelyViolated(box))
    return std::nullopt;
  return box;
}

Fabric ClusterSpace::fabric(Fabric of, const DesignBox &box) const {
  for (Network &level : of.levels) {
    level.variants.clear();
    std::vector<Topology> topologies{level.topology};
    std::vector<std::optional<Algorithm>> algorithms{level.algorithm};
    for (size_t i = 0; i < data_->parameters.size(); ++i) {
      const Open &one = data_->open[i];
      if (!data_->points->relaxes(i) || nameOf(one.op) != level.name)
        continue;
      const DesignParameter &parameter = data_->parameters[i];
      auto words = [&](auto &into, auto wordOf) {
        into.clear();
        for (uint32_t v = box.low[i]; v <= box.high[i]; ++v)
          into.push_back(*wordOf(cast<StringAttr>(one.values[v]).str()));
      };
      if (one.key == "bandwidth")
        level.bandwidth = BytesPerSecond(parameter.numbers[box.high[i]]);
      else if (one.key == "latency")
        level.latency = Seconds(parameter.numbers[box.low[i]]);
      else if (one.key == "topology")
        words(topologies, topologyOf);
      else if (one.key == "algorithm")
        words(algorithms, algorithmOf);
    }
    level.topology = topologies.front(), level.algorithm = algorithms.front();
    if (topologies.size() * algorithms.size() > 1)
      for (Topology topology : topologies)
        for (std::optional<Algorithm> algorithm : algorithms)
          level.variants.push_back({topology, algorithm});
  }
  return of;
}

} // namespace accord
