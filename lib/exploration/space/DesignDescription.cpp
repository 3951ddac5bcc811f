// Which values of a description are left open, which follow from them, and what is required.
#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/exploration/space/IntervalArithmetic.h"
#include "lib/machine/energy/Cooling.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/EmitError.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

const Dimension kArea = Dimension::of(Base::Metre, 2),
                kPower = Dimension::of(Base::Joule) / Dimension::of(Base::Second);

constexpr int kMaxDepth = 500; ///< values that one follows from, one through the other

bool isOpen(Attribute value) { return isa<accel::ChoiceAttr, accel::ReferenceAttr, accel::ApplyAttr>(value); }

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
          if (known->kind == accel::ValueKind::Shape && (array.size() == 2 || array.size() == 3)) {
            DesignPlace part = place;
            part.element = index, part.value = element;
            part.path += index == 0 ? ".rows" : index == 1 ? ".cols" : ".depth";
            add(part);
          }
      } else {
        add(place);
      }
    }
  }
};

constexpr int64_t kMaxValues = 100000; ///< as many as a count in brackets may have

Error tooMany() { return {Code::TooManyValues, fmt::format("has more than {} values to choose from", kMaxValues), {}}; }

std::optional<Rational> numberOf(Attribute value) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.quantity().value;
  if (auto integer = dyn_cast<IntegerAttr>(value); integer && !isa<BoolAttr>(value) && integer.getType().isInteger(64))
    return Rational(integer.getInt());
  return std::nullopt;
}

/// The largest of …, 1/1000, 1, 1000, … that a number is a multiple of: the unit in which powers
/// of two are counted (2 GHz is one, and so is 2 MiB).
Rational unitOf(const Rational &number) {
  Rational best(1);
  for (int places = -15; places <= 15; places += 3) {
    Rational unit = places >= 0 ? *Rational::parse("1e" + std::to_string(places))
                                : Rational(1) / *Rational::parse("1e" + std::to_string(-places));
    if ((number / unit).isInteger())
      best = unit;
  }
  return best;
}

Result<std::vector<Rational>> numbersOf(accel::ChoiceAttr choice) {
  ArrayAttr ends = choice.getValues();
  Rational low = *numberOf(ends[0]), high = *numberOf(ends[1]);
  std::vector<Rational> all;
  if (choice.getKind() == "pow2") {
    if (low.sign() <= 0)
      return Error{Code::EmptyRange, "chooses among powers of two, which are positive"};
    bool plain = isa<IntegerAttr>(ends[0]) || cast<accel::QuantityAttr>(ends[0]).getDimension().dimensionless();
    Rational next = plain ? Rational(1) : unitOf(low);
    while (plain && next > low)
      next = next / Rational(2);
    while (next < low)
      next = next * Rational(2);
    for (; next <= high; next = next * Rational(2)) {
      if (all.size() >= 4096)
        return tooMany();
      all.push_back(next);
    }
    if (all.empty())
      return Error{Code::EmptyRange,
                   fmt::format("leaves no power of two between {} and {}", spellingOf(ends[0]), spellingOf(ends[1]))};
    return all;
  }
  Rational step = ends.size() == 3 ? *numberOf(ends[2]) : Rational(1);
  if (step.sign() <= 0)
    return Error{Code::BadStep, "needs a positive step"};
  if ((high - low) / step >= Rational(kMaxValues))
    return tooMany();
  for (Rational next = low; next <= high; next = next + step)
    all.push_back(next);
  return all;
}

} // namespace

std::vector<std::tuple<mlir::Operation *, std::string, const accel::BlockSchema *>>
blocksOf(accel::MicroarchitectureOp op, const std::string &core) {
  std::vector<std::tuple<mlir::Operation *, std::string, const accel::BlockSchema *>> all;
  all.emplace_back(op, core + ".microarchitecture.", accel::findSchema("microarchitecture"));
  for (auto part : op.getBody().getOps<accel::PartOp>())
    all.emplace_back(part, fmt::format("{}.{}.", core, part.getSymName().str()),
                     accel::findSchema("part", part.getKind()));
  return all;
}

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

std::string spellingOf(Attribute value) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
    return quantity.spelled();
  if (auto truth = dyn_cast<BoolAttr>(value))
    return truth.getValue() ? "true" : "false";
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return std::to_string(integer.getInt());
  if (auto word = dyn_cast<StringAttr>(value))
    return word.str();
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(value))
    return symbol.getValue().str();
  return "…";
}

Result<std::vector<Attribute>> valuesOf(accel::ChoiceAttr choice, const accel::KeySchema &schema) {
  using accel::ValueKind;
  bool words =
      schema.kind == ValueKind::Word || schema.kind == ValueKind::Boolean || schema.kind == ValueKind::Reference;
  std::vector<Attribute> members(choice.getValues().begin(), choice.getValues().end());
  if (members.size() > static_cast<size_t>(kMaxValues))
    return tooMany();
  for (Attribute member : members)
    if (words ? !isa<StringAttr, BoolAttr, FlatSymbolRefAttr>(member) : !numberOf(member))
      return Error{Code::WrongType, words ? "is a word, and chooses among something else"
                                          : "chooses among what is no number: only numbers can be in a set"};
  std::vector<Attribute> all;
  if (choice.getKind() == "set") {
    if (!words)
      std::sort(members.begin(), members.end(), [](Attribute a, Attribute b) {
        auto order = *numberOf(a) <=> *numberOf(b);
        return order != 0 ? order < 0 : spellingOf(a) < spellingOf(b);
      });
    for (Attribute member : members)
      if (words ? !llvm::is_contained(all, member) : all.empty() || !(*numberOf(all.back()) == *numberOf(member)))
        all.push_back(member);
    return all;
  }
  if (words)
    return Error{Code::ChoiceNotAllowed, "is a word, of which there is no range"};
  Result<std::vector<Rational>> numbers = numbersOf(choice);
  if (!numbers)
    return numbers.error();
  MLIRContext *context = choice.getContext();
  auto first = dyn_cast<accel::QuantityAttr>(choice.getValues()[0]);
  for (const Rational &number : *numbers) {
    if (first) {
      Quantity value(number, first.getDimension());
      all.push_back(accel::QuantityAttr::get(context, value, value.print(), first.getSource()));
      continue;
    }
    auto whole = number.toInt64();
    if (!whole)
      return Error{Code::NotAnInteger, "chooses among what is no integer"};
    all.push_back(IntegerAttr::get(IntegerType::get(context, 64), *whole));
  }
  return all;
}

bool DesignDescription::holds(const DesignBox &box) const {
  bool good = box.low.size() == parameters.size() && box.high.size() == parameters.size();
  for (size_t i = 0; good && i < parameters.size(); ++i)
    good = box.low[i] <= box.high[i] && box.high[i] < parameters[i].labels.size();
  return good;
}

SourceLocation DesignDescription::locationOf(const DesignPlace &place) const {
  return sourceOf(accel::locationOf(place.op, place.key));
}

void DesignDescription::findPlaces(Errors &errors) {
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
      auto detailed = microarchitectureOf(core);
      if (!detailed)
        continue;
      if (auto open = detailed->getAttrOfType<DictionaryAttr>(kOpenParameters))
        for (NamedAttribute one : open) {
          DesignPlace place{detailed,
                            "parameter " + one.getName().str(),
                            -1,
                            "",
                            one.getValue(),
                            schemaOf(cast<accel::ChoiceAttr>(one.getValue())),
                            prefix + one.getName().str(),
                            true};
          if (paths.count(place.path))
            errors.push_back({Code::DuplicateName,
                              fmt::format("'{}' is a value of core '{}' itself: a parameter that is a choice has "
                                          "another name",
                                          place.path, core.getSymName().str()),
                              locationOf(place),
                              {}});
          collector.add(std::move(place));
        }
      for (const auto &[part, path, schema] : blocksOf(detailed, core.getSymName().str())) {
        if (auto several = dyn_cast<accel::PartOp>(part); several && several.getCountAttr())
          collector.add({part, "count", -1, "", several.getCountAttr(), &accel::countKey(), path + "count"});
        collector.block(part, path, part->getAttrOfType<DictionaryAttr>("entries"), schema);
      }
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
      auto known = order.find(place.path);
      open.push_back({{known == order.end() ? at.line : known->second, order.empty() ? at.column : 0, index}, &place});
    }
  std::sort(open.begin(), open.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto [position, place] : open)
    addParameter(*place, errors);
}

/// Integers or quantities of one dimension; which ends are better say the values that follow from it.
const accel::KeySchema *DesignDescription::schemaOf(accel::ChoiceAttr parameter) {
  auto quantity = dyn_cast<accel::QuantityAttr>(parameter.getValues()[0]);
  accel::KeySchema key = accel::countKey();
  key.name = "parameter", key.range = accel::Range::Any;
  if (quantity)
    key.kind = accel::ValueKind::Quantity, key.dimensions = {quantity.getDimension()};
  return &schemas.emplace_back(std::move(key));
}

void DesignDescription::addParameter(const DesignPlace &place, Errors &errors) {
  bool number = accel::holdsNumbers(place.schema->kind);
  Result<std::vector<Attribute>> values = valuesOf(cast<accel::ChoiceAttr>(place.value), *place.schema);
  if (number ? place.schema->better == accel::Better::Neither : !place.schema->bestWord)
    values = Error{Code::ChoiceNotAllowed, "cannot be a choice"};
  if (!values) {
    Error problem = values.error();
    problem.message = fmt::format("'{}' {}", place.path, problem.message);
    errors.push_back(errorOf(problem, locationOf(place)));
    return;
  }
  DesignParameter parameter;
  parameter.name = place.path, parameter.location = locationOf(place);
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
  termOf[place.path] =
      number ? terms.parameter(index, dimension, std::move(numbers)) : terms.words(index, parameter.labels);
  parameters.push_back(std::move(parameter));
  choices.push_back(std::move(*values));
  places.push_back(place);
  openTypes |= place.schema->bestWord == accel::BestWord::AllTypes;
}

/// The temperature of the die, as `junctionOf` has it of one machine.
Result<int> DesignDescription::junctionTerm() {
  auto constant = [&](const std::string &text) { return terms.number(*parseQuantity(text)); };
  ACCORD_TRY(area, termAt("area", true));
  ACCORD_TRY(watts, termAt("power.tdp", true));
  int ambient = constant(fmt::format("{} K", Cooling().ambient)), resistance = 0;
  if (paths.count("power.ambient")) {
    ACCORD_TRY(stated, termAt("power.ambient", true));
    ambient = stated;
  }
  if (paths.count("power.thermal_resistance")) {
    ACCORD_TRY(stated, termAt("power.thermal_resistance", true));
    resistance = stated;
  } else {
    ACCORD_TRY(spread, terms.product(constant(fmt::format("{:.6g} mm2", kInterface * 1e6)), constant("1 K/W")));
    ACCORD_TRY(over, terms.divided(spread, area));
    ACCORD_TRY(all, terms.sum(constant(fmt::format("{} K/W", kSink)), over));
    resistance = all;
  }
  ACCORD_TRY(above, terms.product(resistance, watts));
  return terms.sum(ambient, above);
}

Result<int> DesignDescription::termAt(const std::string &path, bool requirement) {
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
  if (requirement && found == paths.end() && path == "power.junction")
    return junctionTerm();
  if (found == paths.end()) {
    std::vector<std::string> known{"area", "power.tdp", "power.junction"};
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

void DesignDescription::findRequirements(Errors &errors) {
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

std::optional<size_t> DesignDescription::limitOf(size_t requirement) const {
  const DesignTerms::Term &term = terms[conditions[requirement]];
  const std::string &op = term.function;
  if (term.kind != DesignTerms::Kind::Apply || (op != "<=" && op != "<" && op != ">=" && op != ">"))
    return std::nullopt;
  auto isFixed = [&](auto &&self, int at) -> bool {
    const DesignTerms::Term &one = terms[at];
    return one.kind == DesignTerms::Kind::Number ||
           (one.kind == DesignTerms::Kind::Apply &&
            std::all_of(one.operands.begin(), one.operands.end(), [&](int operand) { return self(self, operand); }));
  };
  std::optional<size_t> limit;
  for (size_t side : {0, 1})
    if (isFixed(isFixed, term.operands[side])) {
      if (limit) // both: nothing of it is a choice
        return std::nullopt;
      limit = side;
    }
  if (!limit)
    return std::nullopt;
  DesignBox none{Design(parameters.size(), 0), Design(parameters.size(), 0)};
  double number = terms.nearly(term.operands[*limit], none, {}).low;
  return number > 0 && std::isfinite(number) ? limit : std::nullopt;
}

DesignInterval<double> DesignDescription::satisfied(size_t requirement, const DesignBox &box,
                                                    const DesignFigures &figures) const {
  auto factor = relaxed.find(requirement);
  if (factor == relaxed.end())
    return terms.nearly(conditions[requirement], box, figures);
  const DesignTerms::Term &term = terms[conditions[requirement]];
  size_t side = limitOf(requirement).value();
  DesignInterval<double> sides[2];
  for (size_t i : {0, 1})
    sides[i] = terms.nearly(term.operands[i], box, figures);
  bool atMost = (term.function[0] == '<') == (side == 1);
  double times = atMost ? factor->second : 1 / factor->second;
  sides[side] = {sides[side].low * times, sides[side].high * times};
  return intervals::compared(term.function, sides[0], sides[1]);
}

} // namespace accord
