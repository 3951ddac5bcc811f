#include "lib/language/program/ServerTuning.h"
#include "lib/language/requests/BlockReader.h"
#include "lib/language/requests/RequestKeys.h"
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {
using tuning::ServerParameter;

constexpr int64_t kMaxHours = 24, kMaxParameters = 16;
constexpr size_t kMaxValues = 4096;
constexpr double kSettleShare = 0.1;

/// Parameters that a name alone describes: their unit, and what `auto` stands for.
struct KnownParameter {
  const char *name, *unit;
  double min, max; ///< 0: there is no `auto`
  bool isLog;
};
constexpr KnownParameter kKnown[] = {{"power_cap", "W", 0, 0, false},
                                     {"loader_workers", "", 1, 16, false},
                                     {"prefetch", "", 1, 8, false},
                                     {"bucket", "B", 1 << 20, 256 << 20, true}};

class ServerReader {
public:
  ServerReader(Diagnostics &diags, const Lookup &lookup)
      : reader(diags, lookup, "a tuning of a server"), diags(diags) {}
  tuning::ServerProblem out;

  void read(const ast::Declaration &block) {
    out.name = block.name.text;
    const ast::Node *baseline = nullptr;
    for (const ast::Entry &entry : block.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      auto *node = entry.as<ast::Node>();
      if (auto *rule = entry.as<ast::Rule>())
        readRule(*rule, entry);
      else if (pair)
        readPair(*pair, entry);
      else if (!node)
        diags.error(Code::UnknownEntryKind, entry.range, "a tuning has no paths");
      else if (node->kind.text != "server" && node->kind.text != "baseline")
        reader.unknown(node->kind, requestKeyNames("server_tuning"), /*pair=*/false);
      else if (!reader.once(node->kind))
        continue;
      else if (node->kind.text == "baseline")
        baseline = node;
      else
        for (const ast::Entry &parameter : node->entries)
          readParameter(parameter);
    }
    auto lacks = [&](const std::string &what, const char *example) {
      diags.error(Code::MissingKey, block.kindRange, fmt::format("tuning '{}' {}", out.name, what))
          .help(fmt::format("for example: {}", example));
    };
    if (!hasParameters)
      lacks("has no parameters", "server { loader_workers = 1..16, power_cap = 200 W..400 W step 25 W }");
    if (!hasObjective)
      lacks("has no objective", "maximize samples_per_second");
    if (!baseline)
      lacks("does not say which setting runs before and is known to be safe",
            "baseline { loader_workers = 4, power_cap = 400 W }");
    else
      readBaseline(*baseline);
    if (!reader.given("settle"))
      out.settleSeconds = kSettleShare * out.intervalSeconds;
    else if (out.settleSeconds >= out.intervalSeconds)
      diags.error(Code::OutOfRange, *reader.given("settle"), "'settle' is shorter than the interval");
    if (!reader.given("silence"))
      out.silenceSeconds = std::max(out.silenceSeconds, 2 * out.intervalSeconds);
    if (tuning::numSettings(out.parameters) > tuning::kMaxSettings)
      diags
          .error(Code::OutOfRange, *reader.given("server"),
                 fmt::format("the parameters have more than {} settings", tuning::kMaxSettings))
          .help("larger steps, or sets of fewer values");
  }

private:
  void readRule(const ast::Rule &rule, const ast::Entry &entry) {
    if (rule.kind == ast::RuleKind::Require) {
      diags.error(Code::NotSupported, entry.range, "a tuning has no requirements")
          .help("'floor = 0.95' keeps progress at that share of the baseline's");
      return;
    }
    reader.rule(
        entry, rule, {}, [](const BlockReader::Limit &) {},
        [&](bool maximize) {
          hasObjective = true;
          const Constant name = reader.value(*rule.expr);
          auto *word = name.as<Word>();
          if (name.failed())
            return;
          if (!maximize || !word || (word->text != "samples_per_second" && word->text != "samples_per_joule"))
            diags.error(Code::NotSupported, entry.range,
                        "a server is tuned for samples_per_second or samples_per_joule, which are maximized");
          else if (word->text == "samples_per_joule")
            out.objective = tuning::ServerObjective::SamplesPerJoule;
        });
  }

  void readPair(const ast::KeyValue &pair, const ast::Entry &entry) {
    const std::string &key = pair.key.text;
    if (!llvm::is_contained(requestKeyNames("server_tuning"), key) || key == "server" || key == "baseline") {
      reader.unknown(pair.key, requestKeyNames("server_tuning"), /*pair=*/true);
      return;
    }
    auto seconds = [&](double &to, bool open) {
      return [this, &to, open, key](const Constant &value) {
        auto time = reader.time(value, key, kMaxHours);
        if (time && open && time->sign() == 0)
          diags.error(Code::OutOfRange, value.range, fmt::format("'{}' is above 0", key));
        else if (time)
          to = time->toDouble();
      };
    };
    auto share = [&](double &to) {
      return [this, &to, key](const Constant &value) {
        if (auto number = reader.number(value, key, 0, 1, /*open=*/true))
          to = number->toDouble();
      };
    };
    reader.read(pair, entry,
                {{"floor", share(out.floor)},
                 {"confidence", share(out.confidence)},
                 {"interval", seconds(out.intervalSeconds, true)},
                 {"settle", seconds(out.settleSeconds, false)},
                 {"silence", seconds(out.silenceSeconds, true)},
                 {"intervals", [&](const Constant &value) {
                    if (auto number = reader.integer(value, key, tuning::kMinIntervals, tuning::kMaxIntervals))
                      out.intervals = *number;
                  }}});
  }

  // ---- Parameters

  void readParameter(const ast::Entry &entry) {
    hasParameters = true; // what is wrong with it is said
    auto *pair = entry.as<ast::KeyValue>();
    if (!pair) {
      diags.error(Code::UnknownEntryKind, entry.range, "a parameter of a server is NAME = what it may be")
          .help("for example: loader_workers = 1..16");
      return;
    }
    reader.clauses(entry, kNoClause);
    for (const ServerParameter &earlier : out.parameters)
      if (earlier.name == pair->key.text) {
        diags.error(Code::DuplicateName, pair->key.range, fmt::format("'{}' stands here twice", earlier.name));
        return;
      }
    static constexpr llvm::StringRef kTaken[] = {"interval", "samples_per_second", "watts", "deviation"};
    if (llvm::is_contained(kTaken, pair->key.text)) {
      diags.error(
          Code::DuplicateName, pair->key.range,
          fmt::format("a parameter is not called '{}', which settings and tables have already", pair->key.text));
      return;
    }
    if (out.parameters.size() >= size_t(kMaxParameters)) {
      diags.error(Code::OutOfRange, pair->key.range, fmt::format("more than {} parameters", kMaxParameters));
      return;
    }
    const Constant value = reader.value(*pair->value);
    const size_t before = diags.errors();
    auto parameter = parameterOf(pair->key.text, value);
    if (parameter)
      out.parameters.push_back(std::move(*parameter));
    else if (!value.failed() && diags.errors() == before)
      diags
          .error(Code::WrongType, value.range,
                 fmt::format("'{}' is a range or a set of values, not {}", pair->key.text, value.describe()))
          .help("for example 1..16, 200 W..400 W step 25 W, log(1 MB..256 MB) or {adaptive, fixed}");
    else
      isBroken = true;
  }

  static const KnownParameter *knownOf(llvm::StringRef name) {
    for (const KnownParameter &known : kKnown)
      if (name == known.name)
        return &known;
    return nullptr;
  }

  /// Remembers the dimension; of parameters with a meaning it is fixed.
  bool hasDimension(ServerParameter &parameter, const Quantity &quantity, SourceRange at) {
    const KnownParameter *known = knownOf(parameter.name);
    if (known) {
      auto unit = parseQuantity(fmt::format("1 {}", known->unit));
      const bool isRight = *known->unit ? unit && unit->dimension == quantity.dimension : quantity.dimensionless();
      if (!isRight) {
        diags.error(Code::UnexpectedUnit, at,
                    *known->unit ? fmt::format("'{}' is in {}", parameter.name, known->unit)
                                 : fmt::format("'{}' is a plain number", parameter.name));
        return false;
      }
      parameter.unit = known->unit;
    } else if (!quantity.dimensionless()) {
      parameter.unit = unitOf(quantity);
    }
    dimensions[parameter.name] = quantity.dimension;
    return true;
  }
  /// The base unit, as it is printed.
  static std::string unitOf(const Quantity &quantity) {
    for (const char *unit : {"W", "B", "s", "Hz", "J", "B/s"})
      if (auto one = parseQuantity(std::string("1 ") + unit); one && one->dimension == quantity.dimension)
        return unit;
    const std::string one = Quantity{Rational(1), quantity.dimension}.print();
    return one.substr(std::min(one.size(), one.find(' ') + 1));
  }

  std::optional<ServerParameter> parameterOf(const std::string &name, const Constant &value) {
    ServerParameter made{.name = name, .unit = {}, .values = {}, .words = {}};
    bool isLog = false;
    if (auto *word = value.as<Word>(); word && word->text == "auto") {
      const KnownParameter *known = knownOf(name);
      if (!known || known->max == 0) {
        diags.error(Code::MissingKey, value.range, fmt::format("nobody knows which values '{}' may have", name))
            .help("name them, for example 200 W..400 W step 25 W");
        return std::nullopt;
      }
      made.unit = known->unit;
      if (*known->unit)
        dimensions[name] = parseQuantity(fmt::format("1 {}", known->unit))->dimension;
      for (double one = known->min; one <= known->max; one = known->isLog ? 2 * one : one + 1)
        made.values.push_back(one);
      return made;
    }
    const Constant *range = &value;
    if (auto *call = value.as<CallValue>(); call && call->name == "log") {
      CallArguments arguments(reader, *call, value.range, {"range"}, {});
      range = arguments.good() ? arguments.get("range") : nullptr;
      if (!range)
        return std::nullopt;
      isLog = true;
    }
    auto *choice = range->as<Choice>();
    if (!choice || (isLog && choice->kind != Choice::Kind::Range))
      return std::nullopt;
    if (choice->kind == Choice::Kind::Set)
      return setOf(std::move(made), *range);
    return rangeOf(std::move(made), *choice, range->range, isLog);
  }

  std::optional<ServerParameter> rangeOf(ServerParameter made, const Choice &choice, SourceRange at, bool isLog) {
    if (!hasDimension(made, choice.low, at))
      return std::nullopt;
    const bool isPower = isLog || choice.kind == Choice::Kind::PowersOfTwo;
    if (isPower && choice.low.value.sign() <= 0) {
      diags.error(Code::OutOfRange, at, fmt::format("the logarithm of '{}' is of numbers above 0", made.name));
      return std::nullopt;
    }
    Rational value = choice.low.value;
    for (; value <= choice.high.value; value = isPower ? value * Rational(2) : value + choice.step.value) {
      if (made.values.size() >= kMaxValues) {
        diags.error(Code::OutOfRange, at, fmt::format("'{}' has more than {} values", made.name, kMaxValues))
            .help("state a larger step");
        return std::nullopt;
      }
      made.values.push_back(value.toDouble());
    }
    return isFinite(std::move(made), at);
  }

  std::optional<ServerParameter> setOf(ServerParameter made, const Constant &set) {
    std::set<double> numbers;
    std::optional<Dimension> dimension;
    for (const Constant &member : membersOf(set)) {
      if (member.failed())
        return std::nullopt;
      if (auto *quantity = member.as<Quantity>()) {
        if (dimension && *dimension != quantity->dimension) {
          diags.error(Code::UnexpectedUnit, member.range,
                      fmt::format("values of '{}' have different units", made.name));
          return std::nullopt;
        }
        dimension = quantity->dimension;
        if (!hasDimension(made, *quantity, member.range))
          return std::nullopt;
        numbers.insert(quantity->toDouble());
        continue;
      }
      auto *word = member.as<Word>();
      auto *text = member.as<ast::Text>();
      auto *flag = member.as<bool>();
      if (!word && !text && !flag)
        return std::nullopt;
      std::string name = word ? word->text : text ? text->value : *flag ? "true" : "false";
      if (llvm::is_contained(made.words, name)) {
        diags.error(Code::DuplicateName, member.range, fmt::format("'{}' stands here twice", name));
        return std::nullopt;
      }
      made.words.push_back(std::move(name));
    }
    if (numbers.empty() == made.words.empty())
      return std::nullopt; // nothing, or both
    if (!made.words.empty() && knownOf(made.name)) {
      diags.error(Code::WrongType, set.range, fmt::format("'{}' is a number, not a word", made.name));
      return std::nullopt;
    }
    made.values.assign(numbers.begin(), numbers.end());
    return isFinite(std::move(made), set.range);
  }

  std::optional<ServerParameter> isFinite(ServerParameter made, SourceRange at) {
    for (double value : made.values)
      if (!(std::abs(value) <= 1e15)) {
        diags.error(Code::OutOfRange, at, fmt::format("'{}' is of numbers up to 1e15", made.name));
        return std::nullopt;
      }
    return made;
  }

  // ---- The baseline

  void readBaseline(const ast::Node &node) {
    std::map<std::string, int64_t> given;
    for (const ast::Entry &entry : node.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      if (!pair) {
        diags.error(Code::UnknownEntryKind, entry.range, "a baseline is NAME = VALUE for each parameter");
        continue;
      }
      reader.clauses(entry, kNoClause);
      const Constant value = reader.value(*pair->value);
      auto found =
          llvm::find_if(out.parameters, [&](const ServerParameter &one) { return one.name == pair->key.text; });
      if (found == out.parameters.end()) {
        if (!isBroken)
          diags.error(Code::UnknownKey, pair->key.range,
                      fmt::format("the server has no parameter '{}'", pair->key.text));
        continue;
      }
      if (given.contains(found->name))
        diags.error(Code::DuplicateName, pair->key.range, fmt::format("'{}' stands here twice", found->name));
      else if (auto index = indexOf(*found, value))
        given[found->name] = *index;
      else
        given[found->name] = 0; // reported
    }
    for (const ServerParameter &parameter : out.parameters) {
      auto found = given.find(parameter.name);
      if (found == given.end())
        diags.error(Code::MissingKey, node.kind.range,
                    fmt::format("the baseline says nothing of '{}'", parameter.name));
      else
        out.baseline.push_back(found->second);
    }
  }

  std::optional<int64_t> indexOf(const ServerParameter &parameter, const Constant &value) {
    if (value.failed())
      return std::nullopt;
    if (!parameter.words.empty()) {
      auto *word = value.as<Word>();
      auto *text = value.as<ast::Text>();
      auto *flag = value.as<bool>();
      const std::string name = word ? word->text : text ? text->value : flag ? (*flag ? "true" : "false") : "";
      auto found = llvm::find(parameter.words, name);
      if (found != parameter.words.end())
        return found - parameter.words.begin();
    } else if (auto *quantity = value.as<Quantity>()) {
      auto dimension = dimensions.find(parameter.name);
      const bool isSame =
          dimension == dimensions.end() ? quantity->dimensionless() : dimension->second == quantity->dimension;
      const double number = quantity->toDouble();
      for (size_t i = 0; isSame && i < parameter.values.size(); ++i)
        if (std::abs(parameter.values[i] - number) <= 1e-12 * std::abs(number))
          return static_cast<int64_t>(i);
    }
    diags.error(Code::OutOfRange, value.range, fmt::format("{} is no value of '{}'", value.describe(), parameter.name))
        .help(fmt::format("its values go from {} to {}", tuning::valueText(parameter, 0),
                          tuning::valueText(parameter, static_cast<int64_t>(parameter.size()) - 1)));
    return std::nullopt;
  }

  BlockReader reader;
  Diagnostics &diags;
  bool hasObjective = false, hasParameters = false, isBroken = false;
  std::map<std::string, Dimension> dimensions;
};

} // namespace

bool tunesServer(const ast::Declaration &block) {
  return llvm::any_of(block.entries, [](const ast::Entry &entry) {
    auto *node = entry.as<ast::Node>();
    return node && node->kind.text == "server";
  });
}

std::optional<tuning::ServerProblem> serverTuningRequest(const ast::Declaration &block, const ast::File &file,
                                                         Diagnostics &diags) {
  const size_t before = diags.errors();
  std::set<std::string> open; // constants that are being evaluated: a circle is reported where they are checked
  Lookup lookup = [&](llvm::StringRef name, SourceRange) -> std::optional<Constant> {
    for (const ast::Declaration &declaration : file.declarations)
      if (declaration.kind == ast::DeclarationKind::Constant && declaration.name.text == name && declaration.value &&
          open.insert(name.str()).second) {
        Constant value = evaluate(*declaration.value, diags, lookup);
        open.erase(name.str());
        return value;
      }
    return std::nullopt;
  };
  ServerReader reader(diags, lookup);
  reader.read(block);
  if (diags.errors() != before)
    return std::nullopt;
  return std::move(reader.out);
}

} // namespace accord
