#include "lib/language/requests/EnsembleAnswer.h"
#include "lib/language/requests/BlockReader.h"
#include "lib/language/requests/JobValues.h"
#include "lib/language/requests/PatternFiles.h"
#include "lib/language/requests/RequestKeys.h"
#include "lib/language/syntax/Parser.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

constexpr int64_t kMaxWeight = 1 << 20, kMaxQuorum = 63 * kMaxWeight, kMaxMembersPerDevice = 4;
constexpr size_t kMaxLevels = 16;
const JobUnit kMemory{"a number of bytes", Dimension::of(Base::Byte), "20 MiB", int64_t(1) << 50, "1 PiB"},
    kInputEnergy{"an energy", Dimension::of(Base::Joule), "80 mJ", 1'000'000'000, "1 GJ"};

class AnswerReader {
public:
  AnswerReader(EnsembleRequest &request, std::vector<std::pair<std::string, SourceRange>> &machines, Diagnostics &diags,
               const Lookup &lookup)
      : out(request.answer.emplace()), machines(machines), diags(diags), block(diags, lookup, "'answer'"),
        values(diags, lookup, "'answer'") {
    for (const EnsembleRequest::Kind &kind : request.kinds)
      members.push_back(kind.name);
  }

  void read(const ast::Node &node) {
    out.location = out.quorumAt = block.place(node.kind.range);
    const std::vector<std::string> &keys = requestKeyNames("answer");
    for (const ast::Entry &inner : node.entries) {
      auto *pair = inner.as<ast::KeyValue>();
      auto *other = inner.as<ast::Node>();
      if (other && other->kind.text == "bit_errors")
        bitErrors(*other, inner);
      else if (pair && llvm::is_contained(keys, pair->key.text) && pair->key.text != "bit_errors")
        block.read(*pair, inner, readers());
      else if (pair || other)
        block.unknown(pair ? pair->key : other->kind, keys, pair != nullptr);
      else
        diags.error(Code::UnknownEntryKind, inner.range, "'answer' holds settings");
    }
    if (out.timeout == 0 && (!out.latency.empty() || !out.network.empty()))
      diags.error(Code::MissingKey, node.kind.range, "votes take time, and 'answer' has no 'timeout'")
          .help("for example: timeout = 50 ms");
  }

private:
  BlockReader::KeyReaders readers() {
    return {{"undelivered", [&](const Constant &value) { shares(value, "undelivered", out.undelivered); }},
            {"corrupted", [&](const Constant &value) { shares(value, "corrupted", out.corrupted); }},
            {"weights", [&](const Constant &value) { weights(value); }},
            {"quorum",
             [&](const Constant &value) {
               out.quorumAt = block.place(value.range);
               out.hasQuorum = true;
               out.quorum = block.integer(value, "quorum", 1, kMaxQuorum).value_or(1);
             }},
            {"timeout",
             [&](const Constant &value) {
               auto time = block.time(value, "timeout");
               if (time && time->isZero())
                 diags.error(Code::OutOfRange, value.range, "'timeout' is above 0");
               else if (time)
                 out.timeout = picoseconds(*time);
             }},
            {"latency",
             [&](const Constant &value) {
               stated<TimeQuantiles>(value, "latency", "{p50: 8 ms, p99: 20 ms}", out.latency,
                                     [&](const Constant &one) { return quantiles(one, "latency"); });
             }},
            {"network", [&](const Constant &value) { network(value); }},
            {"energy",
             [&](const Constant &value) {
               stated<double>(value, "energy", "80 mJ", out.energy, [&](const Constant &one) {
                 return values.quantity(one, "energy", kInputEnergy, JobBound::Zero);
               });
             }},
            {"memory",
             [&](const Constant &value) {
               stated<double>(value, "memory", "20 MiB", out.memory, [&](const Constant &one) {
                 return values.quantity(one, "memory", kMemory, JobBound::Zero);
               });
             }},
            {"members_per_device",
             [&](const Constant &value) {
               out.membersPerDevice = block.integer(value, "members_per_device", 1, kMaxMembersPerDevice).value_or(1);
             }},
            {"voltage", [&](const Constant &value) { voltage(value); }}};
  }

  const MapValue *mapOf(const Constant &value, llvm::StringRef key, const char *what, const std::string &form) {
    auto *map = value.as<MapValue>();
    if (!map || map->pairs.empty()) {
      diags.error(Code::WrongType, value.range, fmt::format("'{}' says {}, not {}", key.str(), what, value.describe()))
          .help(form);
      return nullptr;
    }
    return map;
  }

  void shares(const Constant &value, llvm::StringRef key, std::map<std::string, Rational> &into) {
    if (auto *map = mapOf(value, key, "a share of each machine", "for example: undelivered = {a100_80g: 0.01}"))
      for (const auto &[name, share] : map->pairs) {
        machines.push_back({name.text, name.range});
        if (auto number = block.number(*share, key, 0, 1))
          into[name.text] = *number;
      }
  }

  void unknownMember(const ast::Name &name) {
    diags.error(Code::UnknownName, name.range, fmt::format("no member '{}'", name.text))
        .suggest(nearest(name.text, members));
  }

  void weights(const Constant &value) {
    if (auto *word = value.as<Word>(); word && word->text == "log_odds") {
      out.isLogOdds = true;
      return;
    }
    if (auto *map = mapOf(value, "weights", "what a vote of each member counts",
                          "for example: weights = {wide: 2, thin: 1}, or weights = log_odds"))
      for (const auto &[name, weight] : map->pairs) {
        if (!llvm::is_contained(members, name.text))
          unknownMember(name);
        if (auto number = block.integer(*weight, "weights", 1, kMaxWeight))
          out.weights[name.text] = *number;
      }
  }

  /// Something of members and machines: {thin: X, pi: X, wide: {pi: X}}.
  template <typename T, typename Read>
  void stated(const Constant &value, llvm::StringRef key, const char *example,
              std::vector<EnsembleRequest::Answer::Stated<T>> &into, Read read) {
    const std::string form = fmt::format("for example: {} = {{thin: {}}}, or {{thin: {{raspberry_pi_5_8g: {}}}}}",
                                         key.str(), example, example);
    auto *map = mapOf(value, key, "what members or machines take", form);
    for (size_t i = 0; map && i < map->pairs.size(); ++i) {
      const auto &[name, of] = map->pairs[i];
      const bool isMember = llvm::is_contained(members, name.text);
      auto *inner = of->template as<MapValue>();
      // Quantiles are a map themselves.
      constexpr bool isMap = std::is_same_v<T, TimeQuantiles>;
      const bool isByMachine =
          inner && !inner->pairs.empty() && (!isMap || inner->pairs[0].second->template as<MapValue>() != nullptr);
      if (isMember && isByMachine) {
        for (const auto &[machine, one] : inner->pairs) {
          machines.push_back({machine.text, machine.range});
          if (auto found = read(*one))
            into.push_back({name.text, machine.text, *found});
        }
        continue;
      }
      if (!isMember)
        machines.push_back({name.text, name.range});
      if (auto found = read(*of))
        into.push_back({isMember ? name.text : "", isMember ? "" : name.text, *found});
    }
  }

  std::optional<TimeQuantiles> quantiles(const Constant &value, llvm::StringRef key) {
    auto *map = mapOf(value, key, "quantiles of a time", "for example: {p50: 8 ms, p99: 20 ms}");
    if (!map)
      return std::nullopt;
    TimeQuantiles made;
    for (const auto &[name, time] : map->pairs) {
      auto share = quantileShare(name.text);
      if (!share) {
        diags.error(Code::UnknownName, name.range, fmt::format("'{}' is no quantile of '{}'", name.text, key.str()))
            .help("quantiles are p50, p90, p99, p999 (99.9 %) and so on, and p100 (never above)");
        return std::nullopt;
      }
      auto seconds = block.time(*time, key);
      if (!seconds)
        return std::nullopt;
      TimeQuantile one{*share, picoseconds(*seconds)};
      if (!made.empty() && (one.share <= made.back().share || one.time <= made.back().time)) {
        diags
            .error(Code::OutOfRange, name.range,
                   fmt::format("quantiles of '{}' ascend in share and time, and {} does not", key.str(), name.text))
            .help("for example: {p50: 8 ms, p99: 20 ms}");
        return std::nullopt;
      }
      made.push_back(std::move(one));
    }
    return made;
  }

  void network(const Constant &value) {
    auto *map = mapOf(value, "network", "how long votes of each machine are on their way",
                      "for example: network = {raspberry_pi_5_8g: {p50: 1 ms, p99: 4 ms}}");
    for (size_t i = 0; map && i < map->pairs.size(); ++i) {
      const auto &[name, of] = map->pairs[i];
      machines.push_back({name.text, name.range});
      if (auto found = quantiles(*of, "network"))
        out.network[name.text] = *found;
    }
  }

  void voltage(const Constant &value) {
    const char *form = "for example: voltage = {cortex_m55: {0.9: {energy: 1, bit_errors: 0}, 0.65: {energy: 0.45, "
                       "bit_errors: 1e-4}}}";
    auto *map = mapOf(value, "voltage", "at which voltages each machine may run", form);
    for (size_t i = 0; map && i < map->pairs.size(); ++i) {
      const auto &[name, of] = map->pairs[i];
      machines.push_back({name.text, name.range});
      auto *levels = mapOf(*of, "voltage", "what each voltage in V does", form);
      if (levels && levels->pairs.size() > kMaxLevels)
        diags.error(Code::OutOfRange, of->range, fmt::format("at most {} voltages are tried", kMaxLevels));
      for (size_t l = 0; levels && l < levels->pairs.size(); ++l)
        if (auto level = levelOf(levels->pairs[l].first, *levels->pairs[l].second, form))
          out.voltage[name.text].push_back(*level);
    }
  }
  std::optional<EnsembleRequest::Answer::Level> levelOf(const ast::Name &name, const Constant &value,
                                                        const char *form) {
    auto volts = parseQuantity(name.text);
    if (!volts || !volts->dimensionless() || volts->value.sign() <= 0) {
      diags
          .error(Code::WrongType, name.range,
                 fmt::format("'{}' is no voltage: a number of volts, without a unit", name.text))
          .help(form);
      return std::nullopt;
    }
    auto *map = mapOf(value, "voltage", "energy and bit errors at a voltage", form);
    if (!map)
      return std::nullopt;
    EnsembleRequest::Answer::Level level;
    level.name = name.text + " V";
    const std::vector<std::string> known = {"energy", "bit_errors"};
    for (const auto &[key, of] : map->pairs) {
      if (key.text == "energy") {
        if (auto factor = block.number(*of, "energy", 0, 100))
          level.energy = factor->toDouble();
      } else if (key.text == "bit_errors") {
        if (auto rate = block.number(*of, "bit_errors", 0, 1))
          level.bitErrors = *rate;
      } else {
        diags.error(Code::UnknownKey, key.range, fmt::format("a voltage has no '{}'", key.text))
            .suggest(nearest(key.text, known))
            .help(form);
      }
    }
    return level;
  }

  void bitErrors(const ast::Node &node, const ast::Entry &entry) {
    block.clauses(entry, kFrom);
    if (!entry.clauses().from || entry.clauses().from->value.empty() || node.value || node.hasBlock || node.label ||
        !node.name.empty()) {
      diags.error(Code::MissingArgument, node.kind.range, "'bit_errors' are read from a file")
          .help("for example: bit_errors from \"bit_errors.csv\"");
      return;
    }
    if (!block.once(node.kind))
      return;
    out.bitErrorsFile = block.beside(entry.clauses().from->value, entry.clauses().fromRange);
    out.bitErrorsAt = block.place(entry.clauses().fromRange);
  }

  EnsembleRequest::Answer &out;
  std::vector<std::pair<std::string, SourceRange>> &machines;
  Diagnostics &diags;
  BlockReader block;
  JobValues values;
  std::vector<std::string> members;
};

} // namespace

void readEnsembleAnswer(const ast::Node &node, EnsembleRequest &out,
                        std::vector<std::pair<std::string, SourceRange>> &machines, Diagnostics &diags,
                        const Lookup &lookup) {
  AnswerReader(out, machines, diags, lookup).read(node);
}

std::optional<Rational> quantileShare(llvm::StringRef name) {
  constexpr size_t kMaxDigits = 9;
  if (!name.consume_front("p") || name.size() < 2 || name.size() > kMaxDigits || !llvm::all_of(name, llvm::isDigit))
    return std::nullopt;
  if (name == "100")
    return Rational(1);
  auto share = Rational::parse(("0." + name).str());
  return share && share->sign() > 0 ? share : std::nullopt;
}

int64_t picoseconds(const Rational &seconds) {
  return (seconds * Rational(1'000'000'000'000)).ceil().toInt64().value_or(INT64_MAX);
}

std::optional<std::vector<BitErrorCurve>> readBitErrors(const EnsembleRequest &request, Diagnostics &diags) {
  SourceRange from = rangeOf(request.answer->bitErrorsAt, diags);
  auto table = readTable(request.answer->bitErrorsFile, from, diags);
  if (!table)
    return std::nullopt;
  auto reject = [&](SourceRange at, const std::string &message) {
    return diags.error(Code::WrongQualityFile, at, message).note(from, "the file is named here");
  };
  const std::vector<std::string> wanted = {"member", "bit_error_rate", "error"};
  size_t index[3];
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto found = llvm::find(table->columns, wanted[i]);
    if (found == table->columns.end()) {
      reject(diags.sources().at(table->file, {1, 1}), fmt::format("there is no column '{}'", wanted[i]))
          .help("columns are member, bit_error_rate and error");
      return std::nullopt;
    }
    index[i] = found - table->columns.begin();
  }
  std::vector<std::string> names;
  for (const EnsembleRequest::Kind &kind : request.kinds)
    names.push_back(kind.name);
  std::vector<BitErrorCurve> curves(names.size());
  for (const calibrate::Record &row : table->rows) {
    const calibrate::Cell &member = row[index[0]];
    auto kind = llvm::find(names, member.text);
    if (kind == names.end()) {
      reject(table->at(diags, member), fmt::format("'{}' is no member", member.text))
          .suggest(nearest(member.text, names));
      return std::nullopt;
    }
    Rational numbers[2];
    for (size_t i : {size_t(1), size_t(2)}) {
      const calibrate::Cell &cell = row[index[i]];
      auto number = Rational::parse(cell.text);
      if (!number || number->sign() < 0 || *number > Rational(1) || number->bits() > 128) {
        reject(table->at(diags, cell), fmt::format("'{}' is no share from 0 to 1", cell.text));
        return std::nullopt;
      }
      numbers[i - 1] = *number;
    }
    BitErrorCurve &curve = curves[kind - names.begin()];
    if (curve.empty() ? !numbers[0].isZero() : numbers[0] <= curve.back().first) {
      reject(table->at(diags, row[index[1]]),
             curve.empty() ? fmt::format("the first rate of '{}' is 0, not {}", member.text, numbers[0].print())
                           : fmt::format("rates of '{}' ascend, and {} is not above {}", member.text,
                                         numbers[0].print(), curve.back().first.print()));
      return std::nullopt;
    }
    curve.push_back({numbers[0], numbers[1]});
  }
  return curves;
}

} // namespace accord
