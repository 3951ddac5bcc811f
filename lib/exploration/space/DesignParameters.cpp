// Which values of a description are left open, which follow from them, and what is required.
#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/Diagnostics.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

const Dimension kArea = Dimension::of(Base::Metre, 2),
                kPower = Dimension::of(Base::Joule) / Dimension::of(Base::Second);

constexpr int kMaxDepth = 500; ///< values that one follows from, one through the other

bool isOpen(Attribute value) { return isa<accel::ChoiceAttr, accel::ReferenceAttr, accel::ApplyAttr>(value); }

/// Words whose choice says what the best of a box is.
bool mayBeChosen(const std::string &key) {
  return llvm::is_contained({"dataflow", "mapping", "reads", "multiply", "accumulate", "standard", "double_buffered"},
                            key);
}

struct Collector {
  std::map<std::string, DesignPlace> &paths;
  std::vector<DesignPlace> all; ///< in the order of the text

  void add(DesignPlace place) {
    paths.try_emplace(place.path, place);
    all.push_back(std::move(place));
  }
  void block(mlir::Operation *op, const std::string &prefix, DictionaryAttr entries, const accel::BlockSchema *schema) {
    for (NamedAttribute entry : entries) {
      std::string key = entry.getName().str();
      const accel::KeySchema *known = schema ? schema->findKey(key) : nullptr;
      if (!known)
        continue;
      DesignPlace place{op, key, -1, "", entry.getValue(), known, prefix + key};
      if (auto map = dyn_cast<DictionaryAttr>(entry.getValue())) {
        const accel::BlockSchema *inner =
            known->kind == accel::ValueKind::Block ? accel::findSchema(key, "nm") : nullptr;
        for (NamedAttribute member : map) {
          DesignPlace part = place;
          part.member = member.getName().str(), part.value = member.getValue();
          part.path += "." + part.member;
          part.schema = inner ? inner->findKey(part.member) : known;
          if (part.schema)
            add(part);
        }
      } else if (auto array = dyn_cast<ArrayAttr>(entry.getValue())) {
        for (auto [index, element] : llvm::enumerate(array))
          if (known->kind == accel::ValueKind::Shape && array.size() == 2) {
            DesignPlace part = place;
            part.element = index, part.value = element;
            part.path += index == 0 ? ".rows" : ".cols";
            add(part);
          }
      } else {
        add(place);
      }
    }
  }
};

} // namespace

SourceLocation DesignSpace::Data::locationOf(const DesignPlace &place) const {
  return sourceOf(accel::locationOf(place.op, place.key));
}

void DesignSpace::Data::findPlaces(Errors &errors) {
  Collector collector{paths, {}};
  collector.block(written, "", written.getEntries(), accel::findSchema("accelerator"));
  for (mlir::Operation &op : written.getBody().front()) {
    if (auto memory = dyn_cast<accel::MemoryOp>(op))
      collector.block(&op, memory.getSymName().str() + ".", memory.getEntries(),
                      accel::findSchema("memory", memory.getKind()));
    if (auto core = dyn_cast<accel::CoreOp>(op)) {
      std::string prefix = core.getSymName().str() + ".";
      Attribute count = core.getCountAttr();
      if (!count)
        count = IntegerAttr::get(IntegerType::get(&context, 64), 1);
      collector.add({&op, "count", -1, "", count, &accel::countKey(), prefix + "count"});
      collector.block(&op, prefix, core.getEntries(), accel::findSchema("core", core.getKind()));
    }
    if (auto power = dyn_cast<accel::PowerOp>(op))
      collector.block(&op, "power.", power.getEntries(), accel::findSchema("power"));
    if (auto area = dyn_cast<accel::AreaOp>(op))
      collector.block(&op, "area.", area.getEntries(), accel::findSchema("area"));
    if (auto price = dyn_cast<accel::PriceOp>(op))
      if (Attribute amount = price.getEntries().get("amount"))
        paths.try_emplace("price", DesignPlace{&op, "amount", -1, "", amount,
                                               accel::findSchema("price")->findKey("amount"), "price"});
  }
  // Keys of a block are kept by name: the places of the keys say which comes first.
  std::vector<std::pair<std::tuple<unsigned, unsigned, size_t>, const DesignPlace *>> open;
  for (auto [index, place] : llvm::enumerate(collector.all))
    if (isa<accel::ChoiceAttr>(place.value)) {
      SourceLocation at = locationOf(place);
      open.push_back({{static_cast<unsigned>(at.line), static_cast<unsigned>(at.column), index}, &place});
    }
  std::sort(open.begin(), open.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto [position, place] : open) {
    auto choice = cast<accel::ChoiceAttr>(place->value);
    bool word = place->schema->kind == accel::ValueKind::Word || place->schema->kind == accel::ValueKind::Boolean ||
                place->schema->kind == accel::ValueKind::Reference;
    bool number = accel::holdsNumbers(place->schema->kind);
    Result<std::vector<Attribute>> values = valuesOf(choice, *place->schema);
    if (number ? place->schema->better == accel::Better::Neither : !(word && mayBeChosen(place->key)))
      values = Error{Code::ChoiceNotAllowed, "cannot be a choice"};
    if (!values) {
      Error problem = values.error();
      problem.message = fmt::format("'{}' {}", place->path, problem.message);
      errors.push_back(errorOf(problem, locationOf(*place)));
      continue;
    }
    DesignParameter parameter;
    parameter.name = place->path, parameter.location = locationOf(*place);
    std::vector<Rational> numbers;
    Dimension dimension;
    for (Attribute value : *values) {
      parameter.labels.push_back(spellingOf(value));
      if (auto quantity = dyn_cast<accel::QuantityAttr>(value)) {
        numbers.push_back(quantity.quantity().value);
        dimension = quantity.getDimension();
      } else if (auto integer = dyn_cast<IntegerAttr>(value); integer && number) {
        numbers.push_back(Rational(integer.getInt()));
      }
    }
    for (const Rational &one : numbers)
      parameter.numbers.push_back(one.toDouble());
    size_t index = parameters.size();
    termOf[place->path] =
        number ? terms.parameter(index, dimension, std::move(numbers)) : terms.words(index, parameter.labels);
    parameters.push_back(std::move(parameter));
    choices.push_back(std::move(*values));
    places.push_back(*place);
    if (place->key == "multiply")
      openTypes = true;
  }
}

/// The term of what a path names; `requirement`: also of figures of a whole machine.
Result<int> DesignSpace::Data::termAt(const std::string &path, bool requirement) {
  auto found = paths.find(path);
  if (requirement && found == paths.end()) {
    if (path == "area" &&
        llvm::any_of(written.getBody().front(), [](mlir::Operation &op) { return isa<accel::AreaOp>(op); })) {
      needsArea = true;
      return terms.figure(DesignTerms::Kind::Area, kArea);
    }
    if (path == "area")
      return Error{Code::MissingKey, fmt::format("'{}' states no area: state 'area', or what parts take in an "
                                                 "'area' block",
                                                 name)};
    if (path == "power.tdp" && powerKnown) {
      needsPower = true;
      return terms.figure(DesignTerms::Kind::Power, kPower);
    }
    if (path == "power.tdp")
      return Error{Code::MissingKey, fmt::format("'{}' states no 'tdp' in 'power', and not the energies that it "
                                                 "follows from: state 'technology', or 'mac' in 'power' and "
                                                 "'energy' of every memory",
                                                 name)};
  }
  if (found == paths.end()) {
    std::vector<std::string> known{"area", "power.tdp"};
    for (const auto &[one, place] : paths)
      known.push_back(one);
    return Error{Code::UnknownName, fmt::format("'{}' has no '{}'", name, path), {}, {}, nearest(path, known)};
  }
  auto [term, isNew] = termOf.try_emplace(path, -1);
  if (!isNew && term->second < 0)
    return Error{Code::RecursiveDefinition, fmt::format("'{}' follows from itself", path)};
  if (!isNew)
    return term->second;
  if (isa<accel::ChoiceAttr>(found->second.value)) // one that could not be read
    return Error{Code::NotConstant, fmt::format("'{}' has no values", path)};
  if (!isOpen(found->second.value) && !isa<accel::QuantityAttr, IntegerAttr>(found->second.value))
    return Error{Code::WrongType, fmt::format("'{}' is no number", path)};
  if (++depth > kMaxDepth) {
    --depth;
    termOf.erase(path);
    return Error{Code::NestedTooDeep, fmt::format("more than {} values follow from each other", kMaxDepth)};
  }
  Result<int> made = terms.add(found->second.value, [this](const std::string &inner) { return termAt(inner, false); });
  --depth;
  if (made)
    termOf[path] = *made;
  else
    termOf.erase(path);
  return made;
}

void DesignSpace::Data::findSites(Errors &errors) {
  DesignBox all = wholeOf(parameters);
  std::map<mlir::Operation *, DesignBlock *> blockOf;
  for (DesignBlock *block : [&] {
         std::vector<DesignBlock *> list{&head};
         for (auto *blocks : {&memories, &cores})
           for (DesignBlock &block : *blocks)
             list.push_back(&block);
         return list;
       }())
    for (mlir::Operation *op : block->ops)
      blockOf[op] = block;
  std::map<mlir::Operation *, mlir::Operation *> copyOf; // `written` and `accelerator` are equal
  copyOf[written] = accelerator;
  for (auto [a, b] : llvm::zip(written.getBody().front(), accelerator.getBody().front()))
    copyOf[&a] = &b;
  std::map<DesignBlock *, std::set<size_t>> depends;
  for (const auto &[path, place] : paths) {
    if (!isOpen(place.value) || isa<accel::PriceOp>(place.op))
      continue;
    Result<int> term = termAt(path, false);
    if (!term) {
      if (term.error().code != Code::NotConstant)
        errors.push_back(errorOf(term.error(), locationOf(place)));
      continue;
    }
    const DesignTerms::Term &found = terms[*term];
    bool integer = place.schema->kind == accel::ValueKind::Integer || place.schema->kind == accel::ValueKind::Shape;
    bool fits =
        found.word || (!found.truth && (integer ? found.dimension.dimensionless()
                                                : llvm::is_contained(place.schema->dimensions, found.dimension)));
    if (!fits) {
      errors.push_back({Code::WrongDimension,
                        fmt::format("'{}' is {}, but this is {}", path, accel::expected(*place.schema),
                                    found.truth ? "a condition" : describe(found.dimension)),
                        locationOf(place),
                        {}});
      continue;
    }
    if (!terms.exact(*term, all)) {
      errors.push_back({Code::OutOfRange,
                        fmt::format("'{}' has no value for every design: it may divide by 0, or "
                                    "be too large to compute",
                                    path),
                        locationOf(place),
                        {}});
      continue;
    }
    DesignSite site{place, *term, {}};
    if (isa<accel::ChoiceAttr>(place.value))
      site.parameter = found.parameter;
    site.place.op = copyOf.at(place.op);
    DesignBlock *block = blockOf.at(site.place.op);
    depends[block].insert(found.parameters.begin(), found.parameters.end());
    block->sites.push_back(std::move(site));
  }
  for (const char *shared : {"clock", "technology"})
    if (paths.count(shared) && errors.empty())
      if (Result<int> term = termAt(shared, false)) {
        (shared[0] == 'c' ? clock : node) = *term;
        for (auto [op, block] : blockOf)
          depends[block].insert(terms[*term].parameters.begin(), terms[*term].parameters.end());
      }
  for (DesignBlock &core : cores) { // a core is read once for all numbers of it
    std::set<size_t> &which = depends[&core];
    std::optional<size_t> count;
    for (const DesignSite &site : core.sites)
      if (site.place.key == "count")
        count = site.parameter;
    bool alone = count && !cast<accel::CoreOp>(core.ops[0]).getEntries().contains("peak");
    for (const DesignSite &site : core.sites)
      alone = alone && (site.place.key == "count" || !llvm::is_contained(terms[site.term].parameters, *count));
    for (int shared : {clock, node})
      alone = alone && (shared < 0 || !llvm::is_contained(terms[shared].parameters, *count));
    if (alone)
      which.erase(*count), core.count = count;
  }
  for (auto &[block, which] : depends)
    block->parameters.assign(which.begin(), which.end());
}

void DesignSpace::Data::findRequirements(Errors &errors) {
  bool technology = paths.count("technology") != 0;
  powerKnown = technology || paths.count("power.mac") != 0;
  for (auto memory : written.getBody().getOps<accel::MemoryOp>())
    powerKnown = powerKnown && (technology || memory.getEntries().contains("energy"));
  for (auto require : written.getBody().getOps<accel::RequireOp>()) {
    SourceLocation at = sourceOf(accel::blockLocation(require));
    if (!require.getConditionAttr())
      continue;
    Result<int> term =
        terms.add(require.getConditionAttr(), [this](const std::string &path) { return termAt(path, true); });
    if (term && !terms[*term].truth)
      term = Error{Code::NotAConstraint, fmt::format("'{}' is no condition", require.getText().str())};
    if (!term) {
      errors.push_back(errorOf(term.error(), at));
      continue;
    }
    requirements.push_back({require.getLabel() ? require.getLabel()->str() : require.getText().str(), at});
    conditions.push_back(*term);
  }
}

} // namespace accord
