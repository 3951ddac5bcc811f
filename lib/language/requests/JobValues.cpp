#include "lib/language/requests/JobValues.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

namespace accord {

namespace {
const Dimension kSecond = Dimension::of(Base::Second), kJoule = Dimension::of(Base::Joule),
                kDollar = Dimension::of(Base::Dollar), kGram = Dimension::of(Base::Gram);
} // namespace

namespace job_units {
const JobUnit kTime{"a time", kSecond, "8 h", jobs::kMaxSeconds, "4294967296 s"};
const JobUnit kPower{"a power", kJoule / kSecond, "30 kW", 1'000'000'000'000, "1000 GW"};
const JobUnit kPrice{"a price per time", kDollar / kSecond, "10 USD/h", Rational(1'000'000'000) / Rational(3600),
                     "1000 MUSD/h"};
const JobUnit kMoney{"an amount of money", kDollar, "500 USD", 1'000'000'000'000, "1000000 MUSD"};
const JobUnit kEnergy{"an energy", kJoule, "200 kWh", 1'000'000'000'000'000'000, "1e9 GJ"};
const JobUnit kMass{"a mass", kGram, "50 kg", 1'000'000'000'000'000, "1e12 kg"};
const JobUnit kCarbon{"a mass per energy", kGram / kJoule, "400 g/kWh", 1, "1 g/J"};
const JobUnit kFactor{"a plain number", {}, "1.4", 1'000'000'000, "1e9"};
} // namespace job_units

std::string nearestShown(const Diagnostics &diags, llvm::StringRef name, llvm::ArrayRef<std::string> candidates) {
  return diags.errors() > Diagnostics::kCap ? std::string() : nearest(name, candidates);
}

std::string JobValues::shown(const Constant &value) const {
  llvm::StringRef text = diags.sources().text(value.range);
  bool number = value.as<Quantity>() && !text.empty() && text.size() < 40 && (llvm::isDigit(text[0]) || text[0] == '-');
  return number ? text.str() : value.describe();
}

std::optional<int64_t> JobValues::count(const ast::Expr &expr, const std::string &has, const char *noun, int64_t max) {
  Constant value = reader.value(expr);
  if (value.failed())
    return std::nullopt;
  auto *number = value.as<Quantity>();
  auto whole = number ? number->toInt64() : std::nullopt;
  if (whole && *whole >= 1 && *whole <= max)
    return whole;
  Code code = value.as<Choice>()           ? Code::ChoiceNotAllowed
              : !number                    ? Code::WrongType
              : !number->dimensionless()   ? Code::UnexpectedUnit
              : !number->value.isInteger() ? Code::NotAnInteger
                                           : Code::WrongJobsBlock;
  diags.error(code, value.range, fmt::format("{} 1 to {} {}, but this is {}", has, max, noun, shown(value)));
  return std::nullopt;
}

std::optional<double> JobValues::quantity(const Constant &value, llvm::StringRef name, const JobUnit &unit,
                                          JobBound bound, const std::string &form) {
  if (value.failed())
    return std::nullopt;
  auto *number = value.as<Quantity>();
  if (!number || number->dimension != unit.dimension) {
    bool plain = number && number->dimensionless();
    Code code = value.as<Choice>()               ? Code::ChoiceNotAllowed
                : !number                        ? Code::WrongType
                : plain                          ? Code::MissingUnit
                : unit.dimension.dimensionless() ? Code::UnexpectedUnit
                                                 : Code::WrongDimension;
    diags
        .error(code, value.range,
               plain ? fmt::format("'{}' is {} and needs a unit", name.str(), unit.what)
                     : fmt::format("'{}' is {}, not {}", name.str(), unit.what, shown(value)))
        .help(fmt::format("for example: {} {}", form.empty() ? name.str() + " =" : form, unit.example));
    return std::nullopt;
  }
  bool low =
      bound != JobBound::Any && (number->value.sign() < 0 || (bound == JobBound::AboveZero && number->value.isZero()));
  Rational size = number->value.sign() < 0 ? -number->value : number->value;
  if (low || size > unit.max) {
    diags.error(Code::OutOfRange, value.range,
                low ? fmt::format("'{}' is {}, but this is {}", name.str(),
                                  bound == JobBound::Zero ? "0 or more" : "above 0", shown(value))
                    : fmt::format("'{}' is {}{}, but this is {}", name.str(),
                                  bound == JobBound::Any ? fmt::format("-{} to ", unit.maxText) : "at most ",
                                  unit.maxText, shown(value)));
    return std::nullopt;
  }
  return number->toDouble();
}

/// The number that a key of a map stands for: a quantity as it is written, or a name that the file binds to one.
std::optional<Quantity> JobValues::stepKey(const ast::Name &key, llvm::StringRef name, const JobUnit *time) {
  Constant value{key.range, {}};
  if (llvm::isDigit(key.text[0])) {
    auto number = parseQuantity(key.text);
    if (!number) {
      diags.error(number.error().code, key.range, number.error().message).suggest(number.error().suggestion);
      return std::nullopt;
    }
    value.content = *number;
  } else if (auto found = lookup(key.text, key.range)) {
    value.content = found->content;
  } else {
    value.content = Word{key.text};
  }
  std::string what = fmt::format("{} of '{}'", time ? "a time" : "a share", name.str());
  auto *number = value.as<Quantity>();
  if (value.failed())
    return std::nullopt;
  if (!number || number->dimension != (time ? time->dimension : Dimension{})) {
    bool plain = number && number->dimensionless();
    diags
        .error(!number ? Code::WrongType
               : plain ? Code::MissingUnit
               : time  ? Code::WrongDimension
                       : Code::UnexpectedUnit,
               key.range,
               plain  ? fmt::format("{} needs a unit, and this is {}", what, shown(value))
               : time ? fmt::format("{} stands before each ':', not {}", what, shown(value))
                      : fmt::format("{} stands before each ':', a plain number, not {}", what, shown(value)))
        .help(time ? "for example: {0 h: 16, 8 h: 8}" : "for example: {0: 1, 0.5: 1.4}");
    return std::nullopt;
  }
  if (number->value.sign() < 0 || (time ? number->value > time->max : number->value >= Rational(1))) {
    diags.error(Code::OutOfRange, key.range,
                fmt::format("{} is {}, but this is {}", what,
                            time ? "at most " + std::string(time->maxText) : "at least 0 and below 1", shown(value)));
    return std::nullopt;
  }
  return *number;
}

std::optional<jobs::Steps> JobValues::stepsOf(const MapValue &map, llvm::StringRef name, const JobUnit *time,
                                              llvm::function_ref<std::optional<double>(const Constant &)> amount) {
  jobs::Steps steps;
  const char *what = time ? "times" : "shares";
  for (size_t i = 0; i < map.pairs.size(); ++i) {
    const auto &[key, value] = map.pairs[i];
    auto at = stepKey(key, name, time);
    auto number = amount(*value);
    if (!at || !number)
      return std::nullopt;
    if (i == 0 && !at->value.isZero()) {
      diags
          .error(Code::WrongJobsBlock, key.range,
                 fmt::format("the {} of '{}' begin at {}, but the first is {}", what, name.str(), time ? "0 h" : "0",
                             key.text))
          .help(fmt::format("add what holds from {} on", time ? "0 h" : "0"));
      return std::nullopt;
    }
    if (i > 0 && at->toDouble() <= steps.back().first) {
      diags
          .error(Code::WrongJobsBlock, key.range,
                 fmt::format("the {} of '{}' ascend, but {} stands after {}", what, name.str(), key.text,
                             map.pairs[i - 1].first.text))
          .note(map.pairs[i - 1].first.range, "the one before");
      return std::nullopt;
    }
    steps.push_back({at->toDouble(), *number});
  }
  return steps;
}

std::optional<jobs::Steps> JobValues::steps(const Constant &value, llvm::StringRef name, const JobUnit &unit,
                                            bool integer) {
  auto amount = [&](const Constant &one) -> std::optional<double> {
    if (!integer)
      return quantity(one, name, unit);
    auto whole = reader.integer(one, name, 0, kMaxJobDevices);
    return whole ? std::optional<double>(*whole) : std::nullopt;
  };
  if (auto *map = value.as<MapValue>())
    return stepsOf(*map, name, &job_units::kTime, amount);
  if (value.as<Choice>()) {
    diags.error(Code::ChoiceNotAllowed, value.range, fmt::format("'{}' has no time before each value", name.str()))
        .help(fmt::format("for example: {{0 h: {0}, 8 h: {0}}}", integer ? "16" : unit.example));
    return std::nullopt;
  }
  auto one = amount(value);
  return one ? std::optional(jobs::Steps{{0, *one}}) : std::nullopt;
}

std::optional<jobs::Steps> JobValues::phases(const Constant &value, llvm::StringRef name) {
  if (auto *map = value.as<MapValue>())
    return stepsOf(*map, name, nullptr,
                   [&](const Constant &one) { return quantity(one, name, job_units::kFactor, JobBound::AboveZero); });
  diags
      .error(Code::WrongType, value.range,
             fmt::format("'{}' maps shares of the work to factors of the speed, and is not {}", name.str(),
                         value.describe()))
      .help("for example: phases = {0: 1, 0.5: 1.4}");
  return std::nullopt;
}

std::optional<jobs::Steps> JobValues::noise(const Constant &value, llvm::StringRef name) {
  static const JobUnit kNoise{"a number of samples", {}, "2400", 1'000'000'000'000, "1e12"};
  auto amount = [&](const Constant &one) { return quantity(one, name, kNoise, JobBound::AboveZero); };
  if (auto *map = value.as<MapValue>())
    return stepsOf(*map, name, nullptr, amount);
  auto one = amount(value);
  return one ? std::optional(jobs::Steps{{0, *one}}) : std::nullopt;
}

bool JobValues::batches(const Constant &value, llvm::StringRef name, jobs::JobsRequest::Batches &into) {
  auto *choice = value.as<Choice>();
  if (choice && choice->kind != Choice::Kind::Set) {
    if (choice->kind != Choice::Kind::Range || !(choice->step == Quantity::number(1))) {
      diags
          .error(Code::ChoiceNotAllowed, value.range,
                 fmt::format("'{}' is a set, or a range without a step", name.str()))
          .help("for example: batches = 128..4096, the powers of two times the training's batch in it");
      return false;
    }
    auto min = reader.integer({value.range, choice->low}, name, 1, kMaxJobBatch),
         max = reader.integer({value.range, choice->high}, name, 1, kMaxJobBatch);
    into.min = min.value_or(0), into.max = max.value_or(0);
    return min && max;
  }
  const Constants members = membersOf(value);
  if (members.size() > kMaxJobBatches) {
    diags.error(
        Code::OutOfRange, value.range,
        fmt::format("'{}' has at most {} batches, but here are {}", name.str(), kMaxJobBatches, members.size()));
    return false;
  }
  for (const Constant &member : members) {
    auto one = reader.integer(member, name, 1, kMaxJobBatch);
    if (!one)
      return false;
    into.of.push_back(*one);
  }
  llvm::sort(into.of);
  into.of.erase(std::unique(into.of.begin(), into.of.end()), into.of.end());
  return true;
}

std::optional<bool> JobValues::truth(const Constant &value, llvm::StringRef name) {
  if (auto *truth = value.as<bool>())
    return *truth;
  diags.error(Code::WrongType, value.range, fmt::format("'{}' is true or false, not {}", name.str(), value.describe()));
  return std::nullopt;
}

// ---- Names

/// Nothing, without a report, if it is none.
std::optional<JobName> JobValues::oneName(const ast::Expr &expr, bool indexed) {
  if (auto *reference = expr.as<ast::Reference>())
    return JobName{reference->name, std::nullopt, expr.range};
  auto *index = expr.as<ast::Index>();
  auto *array = index && indexed ? index->object->as<ast::Reference>() : nullptr;
  if (!array || index->indices.size() != 1)
    return std::nullopt;
  Constant at = reader.value(*index->indices[0]);
  auto *number = at.as<Quantity>();
  auto whole = number ? number->toInt64() : std::nullopt;
  return whole ? std::optional(JobName{array->name, whole, expr.range}) : std::nullopt;
}

std::optional<std::vector<JobName>> JobValues::names(const ast::Expr &expr, llvm::StringRef key, bool indexed,
                                                     const std::string &example) {
  auto *set = expr.as<ast::Set>();
  std::vector<const ast::Expr *> members;
  for (size_t i = 0; i < (set ? set->elements.size() : 1); ++i)
    members.push_back(set ? set->elements[i].get() : &expr);
  if (members.empty())
    diags.error(Code::WrongType, expr.range, fmt::format("'{}' has no name in it", key.str()))
        .help("for example: " + example);
  bool good = !members.empty();
  std::vector<JobName> names;
  std::map<std::string, SourceRange> seen;
  for (const ast::Expr *member : members) {
    size_t before = diags.errors();
    auto one = oneName(*member, indexed);
    good &= one.has_value();
    if (!one && diags.errors() == before)
      diags.error(Code::WrongType, member->range, fmt::format("'{}' is a name, or several in braces", key.str()))
          .help("for example: " + example);
    if (!one)
      continue;
    auto [earlier, isNew] = seen.try_emplace(one->print(), one->range);
    if (!isNew) {
      good = false;
      diags.error(Code::DuplicateChoice, one->range, fmt::format("'{}' is in this set already", one->print()))
          .note(earlier->second, "here");
    }
    names.push_back(std::move(*one));
  }
  return good ? std::optional(std::move(names)) : std::nullopt;
}

std::optional<JobName> JobValues::name(const ast::Expr &expr, llvm::StringRef key, const std::string &example) {
  auto one = oneName(expr, /*indexed=*/false);
  if (!one)
    diags.error(Code::WrongType, expr.range, fmt::format("'{}' is one name", key.str()))
        .help("for example: " + example);
  return one;
}

void JobValues::entries(const ast::Node &node, const std::vector<std::string> &keys,
                        const BlockReader::KeyReaders &readers, const char *form) {
  for (const ast::Entry &one : node.entries) {
    auto *pair = one.as<ast::KeyValue>();
    auto *block = one.as<ast::Node>();
    if (pair && readers.count(pair->key.text))
      reader.read(*pair, one, readers);
    else if (pair || block)
      reader.unknown(pair ? pair->key : block->kind, keys, pair != nullptr);
    else
      diags
          .error(Code::UnknownEntryKind, one.range,
                 fmt::format("no requirement, objective or path belongs in a {}", node.kind.text))
          .help(std::string("for example: ") + form);
  }
}

bool JobValues::hasForm(const ast::Node &node, const ast::Entry &entry, const Form &form) {
  size_t before = diags.errors();
  reader.clauses(entry, kNoClause);
  auto wrong = [&](SourceRange at, const std::string &message) {
    if (diags.errors() == before)
      diags.error(Code::WrongJobsBlock, at, message).help(std::string("for example: ") + form.example);
  };
  const std::string &kind = node.kind.text;
  if (node.label || node.name.empty())
    wrong(node.kind.range, fmt::format("'{}' is followed by a name", kind));
  if (node.hasArguments || !node.type.empty() || !node.pattern.empty())
    wrong(node.name.range, fmt::format("'{} {}' has no arguments, type or 'of'", kind, node.name.text));
  if (node.count && !form.count)
    wrong(node.count->range, fmt::format("'{} {}' has no number in brackets", kind, node.name.text));
  if (node.value && !form.value)
    wrong(node.value->range, fmt::format("'{} {}' has no '='", kind, node.name.text));
  if (node.hasBlock && !form.block)
    wrong(node.name.range, fmt::format("'{} {}' has no block", kind, node.name.text));
  if (!node.value && form.valueNeeded)
    wrong(node.name.range, fmt::format("'{} {}' says no value", kind, node.name.text));
  if (!node.hasBlock && form.blockNeeded)
    wrong(node.name.range, fmt::format("'{} {}' needs a block", kind, node.name.text));
  return diags.errors() == before;
}

} // namespace accord
