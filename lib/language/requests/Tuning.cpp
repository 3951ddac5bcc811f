#include "lib/language/requests/Tuning.h"
#include "lib/language/requests/BlockReader.h"
#include "lib/language/requests/RequestKeys.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace accord {
namespace {
using tuning::HyperParameter;

/// Enough that ranks without any agreement pass `kMinAgreement` in one of ten cases.
constexpr int64_t kProbes = 8, kTrials = 100;
constexpr int64_t kMaxUnits = 1'000'000, kMaxTrials = 100'000, kMaxDevices = 4096, kMaxPerDevice = 16;
constexpr int64_t kMaxParameters = 64, kMaxHours = 10'000, kMaxMembers = 10'000;

class TuningReader {
public:
  TuningReader(Diagnostics &diags, const Lookup &lookup) : reader(diags, lookup, "a tuning"), diags(diags) {}
  tuning::TuningProblem out;

  void read(const ast::Declaration &block) {
    out.name = block.name.text;
    out.probes = kProbes, out.trials = kTrials;
    for (const ast::Entry &entry : block.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      auto *node = entry.as<ast::Node>();
      if (auto *rule = entry.as<ast::Rule>())
        readRule(*rule, entry);
      else if (pair)
        readPair(*pair, entry);
      else if (node && node->kind.text == "search" && reader.once(node->kind))
        for (const ast::Entry &parameter : node->entries)
          readParameter(parameter);
      else if (node && node->kind.text == "scale")
        scaleNodes.push_back(node);
      else if (node && node->kind.text == "population" && reader.once(node->kind))
        readPopulation(*node);
      else if (node && node->kind.text != "search" && node->kind.text != "population")
        reader.unknown(node->kind, requestKeyNames("tuning"), /*pair=*/false);
      else if (!node)
        diags.error(Code::UnknownEntryKind, entry.range, "a tuning has no paths");
    }
    auto lacks = [&](const char *what, const char *example) {
      diags.error(Code::MissingKey, block.kindRange, fmt::format("tuning '{}' {}", out.name, what))
          .help(fmt::format("for example: {}", example));
    };
    if (!hasParameters)
      lacks("has nothing to choose", "search { learning_rate = log(1e-4..0.1), batch = {32, 64, 128} }");
    if (!reader.given("units"))
      lacks("does not say how long a trial is", "units = 1..27");
    if (!hasObjective)
      lacks("has no objective", "maximize accuracy");
    checkPrices();
    checkPopulation();
    addWidths();
    readScales();
    checkBranches();
  }

private:
  void readRule(const ast::Rule &rule, const ast::Entry &entry) {
    if (rule.kind == ast::RuleKind::Require) {
      diags.error(Code::NotSupported, entry.range, "a tuning has no requirements")
          .help("'target = 0.93' ends it where the objective is as good; limits of time, memory, energy and parameters "
                "are requirements of the blocks that 'training' and 'inference' name");
      return;
    }
    reader.rule(
        entry, rule, {}, [](const BlockReader::Limit &) {},
        [&](bool maximize) {
          hasObjective = true;
          out.maximizes = maximize;
          const Constant name = reader.value(*rule.expr);
          if (auto *word = name.as<Word>())
            out.objective = word->text;
          else if (!name.failed())
            diags
                .error(Code::WrongType, name.range,
                       fmt::format("the objective is what the program calls it, not {}", name.describe()))
                .help("for example: maximize accuracy");
        });
  }

  void readPair(const ast::KeyValue &pair, const ast::Entry &entry) {
    const std::string &key = pair.key.text;
    static constexpr llvm::StringRef kNodes[] = {"search", "scale", "population"};
    if (!llvm::is_contained(requestKeyNames("tuning"), key) || llvm::is_contained(kNodes, key)) {
      reader.unknown(pair.key, requestKeyNames("tuning"), /*pair=*/true);
      return;
    }
    auto seconds = [&](double &to, bool open) {
      return [&reader = reader, &diags = diags, &to, open, key](const Constant &value) {
        auto time = reader.time(value, key, kMaxHours);
        if (time && open && time->sign() == 0)
          diags.error(Code::OutOfRange, value.range, fmt::format("'{}' is above 0", key));
        else if (time)
          to = time->toDouble();
      };
    };
    auto whole = [&](int64_t &to, int64_t min, int64_t max) {
      return [&reader = reader, &to, min, max, key](const Constant &value) {
        if (auto number = reader.integer(value, key, min, max))
          to = *number;
      };
    };
    reader.read(pair, entry,
                {{"units", [&](const Constant &value) { units(value); }},
                 {"reduction", whole(out.reduction, 2, 100)},
                 {"probes", whole(out.probes, 0, 1000)},
                 {"stops", [&](const Constant &value) { stops(value); }},
                 {"stop_below",
                  [&](const Constant &value) {
                    if (auto share = reader.number(value, key, 0, 1))
                      out.stopBelow = share->toDouble();
                  }},
                 {"from", [&](const Constant &value) { branchPoints(value); }},
                 {"branches", whole(out.branches, 2, 100)},
                 {"trials", whole(out.trials, 1, kMaxTrials)},
                 {"target",
                  [&](const Constant &value) {
                    if (auto number = reader.number(value, key, -1'000'000'000, 1'000'000'000))
                      out.target = number->toDouble();
                  }},
                 {"unit", seconds(out.unitSeconds, true)},
                 {"restart", seconds(out.restart, false)},
                 {"training", [&](const Constant &value) { isName(value, key); }},
                 {"inference", [&](const Constant &value) { isName(value, key); }},
                 {"devices", [&](const Constant &value) { devices(value); }},
                 {"speed", [&](const Constant &value) { speeds(value, key, kMaxDevices, 1e6, speedOf); }},
                 {"shared", [&](const Constant &value) { speeds(value, key, kMaxPerDevice, 1, sharedOf); }}});
  }

  // ---- Populations

  /// population { members = 8, every = 2, replaced = 25 %, redrawn = 25 %, factors = {0.8, 1.25}, fixed = {width} }
  void readPopulation(const ast::Node &node) {
    tuning::Population &population = out.population.emplace();
    BlockReader block(diags, reader.lookup, "a population");
    const std::vector<std::string> &keys = requestKeyNames("population");
    for (const ast::Entry &inner : node.entries) {
      auto *pair = inner.as<ast::KeyValue>();
      auto *other = inner.as<ast::Node>();
      if (pair && llvm::is_contained(keys, pair->key.text))
        block.read(*pair, inner, populationKeys(block, population));
      else if (pair || other)
        block.unknown(pair ? pair->key : other->kind, keys, pair != nullptr);
      else
        diags.error(Code::UnknownEntryKind, inner.range, "a population holds settings");
    }
    if (!block.given("members"))
      diags.error(Code::MissingKey, node.kind.range, "the population does not say how many members it has")
          .help("for example: members = 8");
    if (const SourceRange *at = block.given("every"))
      everyAt = *at;
  }

  BlockReader::KeyReaders populationKeys(BlockReader &block, tuning::Population &population) {
    auto whole = [&block](const char *key, int64_t min, int64_t max, int64_t &to) {
      return [&block, &to, key, min, max](const Constant &value) {
        to = block.integer(value, key, min, max).value_or(to);
      };
    };
    return {{"members", whole("members", 2, kMaxMembers, population.members)},
            {"every", whole("every", 1, kMaxUnits, population.every)},
            {"replaced",
             [&](const Constant &value) {
               auto share = block.number(value, "replaced", 0, Rational(1) / Rational(2));
               if (share && share->isZero())
                 diags.error(Code::OutOfRange, value.range, "'replaced' is above 0")
                     .help("'units' with one number and no population trains all to the end");
               else if (share)
                 population.replaced = share->toDouble();
             }},
            {"redrawn",
             [&](const Constant &value) {
               if (auto share = block.number(value, "redrawn", 0, 1))
                 population.redrawn = share->toDouble();
             }},
            {"factors",
             [&](const Constant &value) {
               population.factors.clear();
               if (membersOf(value).empty())
                 diags.error(Code::MissingKey, value.range, "'factors' has no member").help("{1} changes no number");
               for (const Constant &one : membersOf(value))
                 if (auto factor = block.number(one, "factors", 0, 1000)) {
                   if (factor->isZero())
                     diags.error(Code::OutOfRange, one.range, "'factors' are above 0");
                   population.factors.push_back(factor->toDouble());
                 }
             }},
            {"fixed", [&](const Constant &value) { fixed = membersOf(value); }}};
  }

  /// What is known once all of the block is read: names that are kept, and keys that say how trials are stopped.
  void checkPopulation() {
    const SourceRange *population = reader.given("population");
    if (!population || !out.population)
      return;
    for (const Constant &one : fixed) {
      auto *word = one.as<Word>();
      auto found = std::ranges::find(out.space, word ? word->text : "", &HyperParameter::name);
      if (found != out.space.end())
        out.population->fixed.push_back(word->text);
      else if (!one.failed()) {
        std::vector<std::string> known;
        for (const HyperParameter &parameter : out.space)
          known.push_back(parameter.name);
        diags
            .error(Code::UnknownName, one.range,
                   word ? fmt::format("the tuning has no hyper-parameter '{}'", word->text)
                        : fmt::format("'fixed' are names of hyper-parameters, not {}", one.describe()))
            .suggest(word ? nearest(word->text, known) : "");
      }
    }
    for (const char *key : {"reduction", "probes", "stops", "stop_below", "trials"})
      if (const SourceRange *at = reader.given(key))
        diags
            .error(Code::DuplicateKey, *at,
                   fmt::format("'{}' is stated, but all members of a population run to the end", key))
            .note(*population, "the population is here")
            .help("leave it out");
    if (const SourceRange *at = reader.given("units"); at && out.minUnits != out.maxUnits)
      diags.error(Code::WrongType, *at, "'units' is one number where a population is trained: none is stopped before")
          .note(*population, "the population is here");
    if (reader.given("units") && out.population->every >= out.maxUnits)
      diags.error(
          Code::OutOfRange, everyAt.value_or(*population),
          fmt::format("a generation is shorter than the training, but of {} and {} units nobody would be replaced",
                      out.population->every, out.maxUnits));
    for (const HyperParameter &parameter : out.space)
      if (parameter.name == "origin" || parameter.name == "origin_unit")
        diags.error(Code::DuplicateName, *population,
                    fmt::format("a hyper-parameter of a population is not called '{}', as a column of trials.csv is",
                                parameter.name));
    out.probes = 0;
    const int64_t generations = (out.maxUnits + out.population->every - 1) / out.population->every;
    out.trials = out.population->members * generations; // more can not begin
  }

  /// A block of the file, which `pricedBlocks` reads.
  void isName(const Constant &value, const std::string &key) {
    auto *word = value.as<Word>();
    if (!value.failed() && (!word || word->text.find('.') != std::string::npos))
      diags.error(Code::WrongType, value.range, fmt::format("'{}' is a name, not {}", key, value.describe()))
          .help(key == "training" ? "the name of a `train` block of the file" : "the name of an `infer` block");
  }

  /// On how many a trial may run, one among them. The driver replaces the speeds by those of the cost model.
  void devices(const Constant &value) {
    auto counts = integersOf(value, diags, "devices", 1, 64);
    for (int64_t count : counts ? *counts : std::vector<int64_t>())
      if (count > kMaxDevices)
        diags.error(Code::OutOfRange, value.range, fmt::format("'devices' are at most {}", kMaxDevices));
      else if (count > 1)
        pricedSpeeds[count] = static_cast<double>(count);
  }

  /// What the cost model says is not stated too, and needs a network.
  void checkPrices() {
    const SourceRange *training = reader.given("training");
    for (const char *key : {"inference", "devices"})
      if (const SourceRange *at = reader.given(key); at && !training)
        diags.error(Code::MissingKey, *at, fmt::format("'{}' is about a network, and 'training' names none", key))
            .help("training = NAME, a `train` block of the file");
    for (const char *key : {"unit", "speed"})
      if (const SourceRange *at = reader.given(key); at && training)
        diags
            .error(Code::DuplicateKey, *at,
                   fmt::format("'{}' is stated, but follows from the cost model where 'training' names a network", key))
            .note(*training, "named here")
            .help(llvm::StringRef(key) == "speed" ? "devices = {1, 2, 4} says on how many a trial may run"
                                                  : "leave it out");
    if (training)
      speedOf = pricedSpeeds;
  }

  void stops(const Constant &value) {
    const std::string word = reader.word(value, "stops", {"halving", "curves", "both"});
    out.stops = word == "curves" ? tuning::Stops::Curves
                : word == "both" ? tuning::Stops::Both
                                 : tuning::Stops::Halving;
  }

  /// `1..27`, or 27: none is stopped before.
  void units(const Constant &value) {
    auto *range = value.as<Choice>();
    if (!range || range->kind != Choice::Kind::Range) {
      if (auto number = reader.integer(value, "units", 1, kMaxUnits))
        out.minUnits = out.maxUnits = *number;
      return;
    }
    Constant low{value.range, range->low}, high{value.range, range->high};
    auto min = reader.integer(low, "units", 1, kMaxUnits);
    auto max = min ? reader.integer(high, "units", *min, kMaxUnits) : std::nullopt;
    if (max)
      out.minUnits = *min, out.maxUnits = *max;
  }

  /// `{2: 1.85, 4: 2.6}`: a number of devices or trials, and a speed above 0.
  void speeds(const Constant &value, const std::string &key, int64_t maxCount, int64_t maxSpeed,
              std::map<int64_t, double> &to) {
    auto *map = value.as<MapValue>();
    if (!map) {
      diags.error(Code::WrongType, value.range, fmt::format("'{}' is a map, not {}", key, value.describe()))
          .help(key == "speed" ? "for example {2: 1.85, 4: 3.4}: on 4 devices 3.4 times as fast as on one"
                               : "for example {2: 0.7}: two on a device, each 0.7 times as fast as alone");
      return;
    }
    for (const auto &[name, speed] : map->pairs) {
      int64_t count = 0;
      if (llvm::StringRef(name.text).getAsInteger(10, count) || count < 2 || count > maxCount) {
        diags.error(Code::OutOfRange, name.range,
                    fmt::format("'{}' is by a whole number from 2 to {}, not '{}'", key, maxCount, name.text));
        continue;
      }
      if (auto number = reader.number(*speed, key, 0, maxSpeed))
        if (number->sign() > 0 || (diags.error(Code::OutOfRange, speed->range, "a speed is above 0"), false))
          to[count] = number->toDouble();
    }
  }

  void readParameter(const ast::Entry &entry) {
    hasParameters = true; // what is wrong with it is said
    auto *pair = entry.as<ast::KeyValue>();
    if (!pair) {
      diags.error(Code::UnknownEntryKind, entry.range, "a hyper-parameter is NAME = what it may be")
          .help("for example: learning_rate = log(1e-4..0.1)");
      return;
    }
    reader.clauses(entry, kNoClause);
    for (const HyperParameter &earlier : out.space)
      if (earlier.name == pair->key.text) {
        diags.error(Code::DuplicateName, pair->key.range, fmt::format("'{}' stands here twice", earlier.name));
        return;
      }
    if (pair->key.text == "seconds") {
      diags.error(Code::DuplicateName, pair->key.range,
                  "a hyper-parameter is not called 'seconds', as the time of a unit is in tables");
      return;
    }
    if (out.space.size() >= size_t(kMaxParameters)) {
      diags.error(Code::OutOfRange, pair->key.range, fmt::format("more than {} hyper-parameters", kMaxParameters));
      return;
    }
    parameterAt.try_emplace(pair->key.text, pair->key.range);
    const Constant value = reader.value(*pair->value);
    if (auto parameter = parameterOf(pair->key.text, value))
      out.space.push_back(std::move(*parameter));
  }

  std::optional<HyperParameter> parameterOf(const std::string &name, const Constant &value) {
    if (value.failed())
      return std::nullopt;
    if (auto *call = value.as<CallValue>(); call && (call->name == "log" || call->name == "real")) {
      CallArguments arguments(reader, *call, value.range, {"range"}, {"real"});
      const Constant *range = arguments.good() ? arguments.get("range") : nullptr;
      auto *choice = range ? range->as<Choice>() : nullptr;
      if (range && !range->failed() && (!choice || choice->kind != Choice::Kind::Range))
        return wrong(name, *range);
      if (!choice)
        return std::nullopt;
      return numbers(name, *range, *choice, call->name == "log", call->name == "real" || arguments.flag("real"));
    }
    auto *choice = value.as<Choice>();
    if (choice && choice->kind == Choice::Kind::Range)
      return numbers(name, value, *choice, false, false);
    HyperParameter out{.name = name, .kind = HyperParameter::Kind::Choice};
    Constants members = choice ? membersOf(value) : Constants{};
    for (const Constant &member : members) {
      if (auto *word = member.as<Word>())
        out.choices.push_back(word->text);
      else if (auto *text = member.as<ast::Text>())
        out.choices.push_back(text->value);
      else if (auto *flag = member.as<bool>())
        out.choices.push_back(*flag ? "true" : "false");
      else if (auto *number = member.as<Quantity>(); number && number->dimensionless())
        out.choices.push_back(number->print());
      else if (!member.failed())
        return wrong(name, member);
    }
    if (out.choices.empty())
      return wrong(name, value);
    return out;
  }

  std::optional<HyperParameter> numbers(const std::string &name, const Constant &value, const Choice &range, bool isLog,
                                        bool isReal) {
    const Rational &low = range.low.value, &high = range.high.value;
    if (!range.low.dimensionless() || !range.high.dimensionless()) {
      diags.error(Code::UnexpectedUnit, value.range, fmt::format("'{}' is of plain numbers", name));
      return std::nullopt;
    }
    if (range.step.value != Rational(1)) { // what a range has that states none
      diags.error(Code::BadStep, value.range, fmt::format("'{}' has a step", name))
          .help("name its values in a set, for example {64, 128, 192}");
      return std::nullopt;
    }
    if (isLog && low.sign() <= 0) {
      diags.error(Code::OutOfRange, value.range, fmt::format("the logarithm of '{}' is of numbers above 0", name));
      return std::nullopt;
    }
    HyperParameter out{.name = name, .isLog = isLog};
    out.min = low.toDouble(), out.max = high.toDouble();
    constexpr double kLargest = 1e15; // whole numbers are exact
    if (!(std::abs(out.min) <= kLargest && std::abs(out.max) <= kLargest)) {
      diags.error(Code::OutOfRange, value.range, fmt::format("'{}' is of numbers up to {:g}", name, kLargest));
      return std::nullopt;
    }
    out.kind =
        low.isInteger() && high.isInteger() && !isReal ? HyperParameter::Kind::Integer : HyperParameter::Kind::Real;
    return out;
  }

  std::nullopt_t wrong(const std::string &name, const Constant &value) {
    diags
        .error(Code::WrongType, value.range,
               fmt::format("'{}' is a range or a set of words and numbers, not {}", name, value.describe()))
        .help("for example log(1e-4..0.1), 1..5, real(0..1) or {32, 64, 128}");
    return std::nullopt;
  }

  // ---- Branches

  /// `{decay: 9}`: it acts behind unit 9. Names are looked up once all hyper-parameters are known.
  void branchPoints(const Constant &value) {
    auto *map = value.as<MapValue>();
    if (!map) {
      diags.error(Code::WrongType, value.range, fmt::format("'from' is a map, not {}", value.describe()))
          .help("for example {decay: 9}: 'decay' acts behind unit 9, and trials share the units before");
      return;
    }
    for (const auto &[name, unit] : map->pairs)
      if (auto number = reader.integer(*unit, "from", 1, kMaxUnits))
        fromOf.push_back({name, *number, unit->range});
  }

  void checkBranches() {
    const SourceRange *from = reader.given("from"), *branches = reader.given("branches");
    if (branches && !from)
      diags.error(Code::MissingKey, *branches, "'branches' go on behind a unit, and 'from' names none")
          .help("for example: from = {decay: 9}");
    if (!from)
      return;
    if (!branches)
      out.branches = out.reduction;
    if (const SourceRange *population = reader.given("population"))
      diags
          .error(Code::DuplicateKey, *from,
                 "'from' is stated, but the members of a population change on the way anyhow")
          .note(*population, "the population is here")
          .help("leave one of them out");
    std::vector<int64_t> units = out.population ? std::vector<int64_t>() : tuning::rungs(out);
    if (!units.empty())
      units.pop_back();
    for (const BranchPoint &one : fromOf)
      if (parameterNamed(one.name))
        checkBranch(one, units);
    for (const auto &[rule, at] : scaleAt)
      if (const HyperParameter &by = hyperParameter(rule.by); by.from > hyperParameter(rule.target).from)
        diags
            .error(Code::OutOfRange, at,
                   fmt::format("'{}' acts behind unit {}, so that nothing is scaled by it before", rule.by, by.from))
            .note(*from, "it is stated here");
    if (!out.space.empty() && std::ranges::all_of(out.space, &HyperParameter::from))
      diags
          .error(Code::OutOfRange, *from,
                 "each hyper-parameter acts later, so that all trials would be the same before")
          .help("leave out those that act from the start");
  }
  HyperParameter &hyperParameter(const std::string &name) {
    return *std::ranges::find(out.space, name, &HyperParameter::name);
  }

  struct BranchPoint {
    ast::Name name;
    int64_t unit;
    SourceRange range; ///< of the unit
  };
  /// Trials are looked at behind `units`, so there their states are known.
  void checkBranch(const BranchPoint &one, const std::vector<int64_t> &units) {
    if (!llvm::is_contained(units, one.unit) && !out.population && reader.given("units")) {
      auto error =
          diags.error(Code::OutOfRange, one.range,
                      fmt::format("trials do not stop to be compared behind unit {}{}", one.unit,
                                  units.empty() ? "" : fmt::format(", but behind {}", fmt::join(units, ", "))));
      error.note(*reader.given("units"), "the units are here");
      if (units.empty())
        error.help(fmt::format("units = {}..{} compares them there", one.unit, std::max(one.unit + 1, out.maxUnits)));
    }
    hyperParameter(one.name.text).from = one.unit;
  }

  // ---- Rules of scaling

  /// scale learning_rate { batch = sqrt(64), width = mup(256) }: behind all hyper-parameters, wherever it stands.
  void readScales() {
    const size_t before = diags.errors();
    for (const ast::Node *node : scaleNodes) {
      if (node->name.empty() || !node->hasBlock || !node->more.empty() || node->label || node->hasArguments ||
          node->count || node->value || node->entries.empty()) {
        diags.error(Code::WrongType, node->kind.range, "a scale is of one hyper-parameter, by others")
            .help("for example: scale learning_rate { batch = sqrt(64), width = mup(256) }");
        continue;
      }
      const HyperParameter *target = scaledParameter(node->name);
      for (const ast::Entry &entry : node->entries)
        readScale(entry, node->name, target);
    }
    for (const auto &[rule, at] : scaleAt)
      checkChain(rule, at);
    if (diags.errors() != before)
      return;
    for (const auto &[rule, at] : scaleAt)
      out.scales.push_back(rule);
    if (auto name = tuning::unboundedTarget(out.space, out.scales))
      diags
          .error(Code::OutOfRange, rangeOf(*name),
                 fmt::format("'{}' may be scaled beyond all numbers, or to 0 though it is above", *name))
          .note(parameterAt[*name], "its values are here")
          .help("programs may get values beyond the range, but none that is infinite or 0");
  }

  SourceRange rangeOf(const std::string &target) const {
    for (const auto &[rule, at] : scaleAt)
      if (rule.target == target)
        return at;
    return {};
  }

  /// Null after errors, and where what is wrong with it is said.
  const HyperParameter *parameterNamed(const ast::Name &name) {
    auto found = llvm::find_if(out.space, [&](const HyperParameter &one) { return one.name == name.text; });
    if (found != out.space.end())
      return &*found;
    std::vector<std::string> known;
    for (const auto &[one, at] : parameterAt)
      known.push_back(one);
    if (!llvm::is_contained(known, name.text))
      diags.error(Code::UnknownName, name.range, fmt::format("'search' has no hyper-parameter '{}'", name.text))
          .suggest(nearest(name.text, known));
    return nullptr;
  }

  /// One with numbers alone, each above 0 where `isAbove`.
  const HyperParameter *numericParameter(const ast::Name &name, bool isAbove) {
    const HyperParameter *found = parameterNamed(name);
    if (!found)
      return nullptr;
    bool isRight = !isAbove || found->min > 0 || found->kind == HyperParameter::Kind::Choice;
    for (size_t i = 0; i < found->size(); ++i) {
      auto number = tuning::numberOf(*found, static_cast<double>(i));
      if (!number) {
        diags
            .error(Code::WrongType, name.range,
                   fmt::format("'{}' may be '{}', which is no number", name.text, found->choices[i]))
            .note(parameterAt[name.text], "its values are here");
        return nullptr;
      }
      isRight &= !isAbove || *number > 0;
    }
    if (isRight)
      return found;
    diags.error(Code::OutOfRange, name.range, fmt::format("'{}' scales, but is not always above 0", name.text))
        .note(parameterAt[name.text], "its values are here");
    return nullptr;
  }
  const HyperParameter *scaledParameter(const ast::Name &name) { return numericParameter(name, /*isAbove=*/false); }

  void readScale(const ast::Entry &entry, const ast::Name &name, const HyperParameter *target) {
    auto *pair = entry.as<ast::KeyValue>();
    if (!pair) {
      diags.error(Code::UnknownEntryKind, entry.range, "a rule of scaling is NAME = how")
          .help("for example: batch = sqrt(64)");
      return;
    }
    reader.clauses(entry, kNoClause);
    const HyperParameter *by = numericParameter(pair->key, /*isAbove=*/true);
    auto rule = ruleOf(reader.value(*pair->value));
    if (!rule || !target || !by)
      return;
    rule->target = target->name, rule->by = by->name;
    if (target == by) {
      diags.error(Code::WrongNameKind, pair->key.range, fmt::format("'{}' does not scale itself", by->name));
      return;
    }
    if (rule->isMup() && llvm::is_contained(llvm::make_first_range(parameterAt), ratioName(*rule)))
      diags
          .error(Code::DuplicateName, parameterAt[ratioName(*rule)],
                 fmt::format("'{}' is what programs get of the rule mup", ratioName(*rule)))
          .note(pair->key.range, "the rule is here");
    const bool isEma = rule->kind == tuning::ScaleRule::Kind::Ema;
    for (const auto &[earlier, at] : scaleAt) {
      if (earlier.target == rule->target && earlier.by == rule->by) {
        diags.error(Code::DuplicateKey, pair->key.range, fmt::format("'{}' scales '{}' twice", by->name, name.text))
            .note(at, "the first is here");
        return;
      }
      if (earlier.by == rule->by && earlier.isMup() && rule->isMup() && earlier.base != rule->base)
        diags
            .error(Code::OutOfRange, pair->value->range,
                   fmt::format("'{}' has one base of its rules mup, whose ratio programs get", by->name))
            .note(at, "another one is here");
      if (earlier.target == rule->target && isEma != (earlier.kind == tuning::ScaleRule::Kind::Ema))
        diags
            .error(Code::NotSupported, pair->value->range,
                   fmt::format("'{}' is raised to a power by 'ema', and not multiplied too", name.text))
            .note(at, "the other rule is here");
    }
    if (isEma && !isShare(*target))
      diags
          .error(Code::OutOfRange, pair->value->range,
                 fmt::format("'ema' is of a coefficient from 0 to 1, which '{}' is not", name.text))
          .note(parameterAt[name.text], "its values are here");
    scaleAt.emplace_back(*rule, pair->key.range);
  }

  static bool isShare(const HyperParameter &parameter) {
    if (parameter.kind != HyperParameter::Kind::Choice)
      return parameter.min >= 0 && parameter.max <= 1;
    for (size_t i = 0; i < parameter.size(); ++i)
      if (const auto number = tuning::numberOf(parameter, static_cast<double>(i)); !(number >= 0 && number <= 1))
        return false;
    return true;
  }

  /// `sqrt(64)`, `mup(256, sgd)`, `adascale(64, 2000, adam)`; nothing after errors.
  std::optional<tuning::ScaleRule> ruleOf(const Constant &value) {
    using Kind = tuning::ScaleRule::Kind;
    if (value.failed())
      return std::nullopt;
    static const std::vector<std::pair<std::string, Kind>> kRules = {
        {"linear", Kind::Linear}, {"sqrt", Kind::SquareRoot},   {"inverse", Kind::Inverse},
        {"mup", Kind::Mup},       {"adascale", Kind::AdaScale}, {"ema", Kind::Ema}};
    auto *call = value.as<CallValue>();
    auto known = llvm::find_if(kRules, [&](const auto &one) { return call && one.first == call->name; });
    if (known == kRules.end()) {
      const auto names = llvm::to_vector(llvm::make_first_range(kRules));
      diags
          .error(call ? Code::UnknownName : Code::WrongType, value.range,
                 call ? fmt::format("no rule of scaling is called '{}'", call->name)
                      : fmt::format("a rule of scaling is a word with its base, not {}", value.describe()))
          .suggest(nearest(call ? call->name : "", {names.begin(), names.end()}))
          .help("linear(BASE), sqrt(BASE), inverse(BASE), mup(BASE), mup(BASE, sgd), adascale(BASE, NOISE), "
                "adascale(BASE, NOISE, adam) or ema(BASE)");
      return std::nullopt;
    }
    tuning::ScaleRule rule;
    rule.kind = known->second;
    const bool isNoisy = rule.kind == Kind::AdaScale, isMup = rule.kind == Kind::Mup;
    std::vector<std::string> names{"base"}, flags;
    if (isNoisy)
      names.emplace_back("noise"), flags.emplace_back("adam");
    else if (isMup)
      flags.emplace_back("sgd");
    CallArguments arguments(reader, *call, value.range, names, flags);
    for (const std::string &name : names) {
      const Constant *given = arguments.good() ? arguments.get(name) : nullptr;
      constexpr int64_t kLargest = 1'000'000'000'000'000;
      auto number = given ? reader.number(*given, name, 0, kLargest) : std::nullopt;
      if (number && number->sign() == 0)
        diags.error(Code::OutOfRange, given->range, fmt::format("the {} of a rule of scaling is above 0", name));
      if (!number || number->sign() == 0)
        return std::nullopt;
      (name == "base" ? rule.base : rule.noise) = number->toDouble();
    }
    if (isNoisy && arguments.flag("adam"))
      rule.kind = Kind::AdaScaleRoot;
    if (isMup && arguments.flag("sgd"))
      rule.kind = Kind::MupSgd;
    return rule;
  }

  /// What is scaled scales nothing itself, so that rules have no order and no cycle.
  void checkChain(const tuning::ScaleRule &rule, SourceRange at) {
    for (const auto &[other, otherAt] : scaleAt)
      if (other.target == rule.by) {
        diags
            .error(Code::WrongNameKind, at,
                   fmt::format("'{}' is scaled itself, so that nothing is scaled by it", rule.by))
            .note(otherAt, "it is scaled here");
        return;
      }
  }

  /// Trials that share a device, and trials on several: all in slots.
  void addWidths() {
    for (const auto &[count, speed] : sharedOf)
      out.slotsPerDevice = std::lcm(out.slotsPerDevice, count);
    out.widths.clear();
    for (auto one = sharedOf.rbegin(); one != sharedOf.rend(); ++one)
      out.widths.push_back({out.slotsPerDevice / one->first, one->second});
    out.widths.push_back({out.slotsPerDevice, 1});
    for (const auto &[count, speed] : speedOf)
      out.widths.push_back({out.slotsPerDevice * count, speed});
  }

  BlockReader reader;
  Diagnostics &diags;
  bool hasObjective = false, hasParameters = false;
  std::map<std::string, SourceRange> parameterAt;
  std::vector<const ast::Node *> scaleNodes;
  std::vector<std::pair<tuning::ScaleRule, SourceRange>> scaleAt; ///< rules with the places of what they scale by
  std::vector<BranchPoint> fromOf;
  Constants fixed;                    ///< names that `population` does not change
  std::optional<SourceRange> everyAt; ///< where `population` says how long a generation is
  std::map<int64_t, double> speedOf, sharedOf, pricedSpeeds;
};

} // namespace

std::optional<tuning::TuningProblem> tuningRequest(const ast::Declaration &block, Diagnostics &diags,
                                                   const Lookup &lookup) {
  const size_t before = diags.errors();
  TuningReader reader(diags, lookup);
  reader.read(block);
  if (diags.errors() != before)
    return std::nullopt;
  return std::move(reader.out);
}

std::optional<SourceRange> tuningEntryPlace(const ast::Declaration &block, llvm::StringRef key) {
  for (const ast::Entry &entry : block.entries) {
    if (auto *node = entry.as<ast::Node>(); node && node->kind.text == key)
      return node->kind.range;
    if (auto *pair = entry.as<ast::KeyValue>(); pair && pair->key.text == key)
      return pair->key.range;
  }
  return std::nullopt;
}

PricedBlocks pricedBlocks(const ast::Declaration &block) {
  PricedBlocks out;
  for (const ast::Entry &entry : block.entries)
    if (auto *pair = entry.as<ast::KeyValue>(); pair && pair->value)
      if (auto *name = pair->value->as<ast::Reference>()) {
        if (pair->key.text == "training")
          out.training = {name->name, pair->value->range};
        else if (pair->key.text == "inference")
          out.inference = {name->name, pair->value->range};
      }
  return out;
}

/// The model that a `train` or `infer` block calls.
static std::string modelOf(const ast::Declaration &block) {
  auto *call = block.value ? block.value->as<ast::Call>() : nullptr;
  const ast::Expr *callee = call ? call->callee.get() : block.value.get();
  auto *name = callee ? callee->as<ast::Reference>() : nullptr;
  return name ? name->name : "";
}

void checkPricedBlocks(const ast::Declaration &block, const ast::File &file, Diagnostics &diags) {
  const PricedBlocks names = pricedBlocks(block);
  auto find = [&](const ast::Name &name, ast::DeclarationKind kind) -> const ast::Declaration * {
    if (name.empty())
      return nullptr;
    std::vector<std::string> known;
    for (const ast::Declaration &one : file.declarations) {
      if (one.kind == kind && one.name.text == name.text)
        return &one;
      if (one.kind == kind)
        known.push_back(one.name.text);
    }
    auto error = diags.error(Code::UnknownName, name.range,
                             fmt::format("the file has no '{}' block '{}'", spelling(kind), name.text));
    if (const auto near = nearest(name.text, known); !near.empty())
      error.suggest(near);
    else
      error.help(known.empty() ? fmt::format("it has no '{}' block at all", spelling(kind))
                               : fmt::format("it has: {}", fmt::join(known, ", ")));
    return nullptr;
  };
  const ast::Declaration *training = find(names.training, ast::DeclarationKind::Train);
  const ast::Declaration *inference = find(names.inference, ast::DeclarationKind::Infer);
  if (training && inference && modelOf(*training) != modelOf(*inference))
    diags
        .error(Code::WrongNameKind, names.inference.range,
               fmt::format("'{}' runs model '{}', but '{}' trains '{}'", inference->name.text, modelOf(*inference),
                           training->name.text, modelOf(*training)))
        .note(inference->name.range, "declared here");
}

} // namespace accord
