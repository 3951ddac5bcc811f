#include "lib/language/requests/Ensembles.h"
#include "lib/language/requests/BlockReader.h"
#include "lib/language/requests/EnsembleAnswer.h"
#include "lib/language/requests/PatternFiles.h"
#include "lib/language/requests/RequestKeys.h"
#include "lib/language/syntax/Parser.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

constexpr int64_t kMaxMembers = 63, kMaxDevices = 1 << 20;

class EnsembleReader {
public:
  EnsembleReader(Diagnostics &diags, const Lookup &lookup) : reader(diags, lookup, "an ensemble"), diags(diags) {}
  EnsembleRequest out;

  void read(const ast::Declaration &block) {
    const std::vector<std::string> &keys = requestKeyNames("ensemble");
    out.name = block.name.text;
    out.train = block.target.text;
    out.location = reader.place(block.name.range);
    // Members first: whatever else names them may stand before.
    for (const ast::Entry &entry : block.entries)
      if (auto *node = entry.as<ast::Node>(); node && node->kind.text == "member")
        member(*node, entry);
    for (const ast::Entry &entry : block.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      auto *node = entry.as<ast::Node>();
      if (auto *rule = entry.as<ast::Rule>())
        readRule(*rule, entry);
      else if (pair && llvm::is_contained(keys, pair->key.text) && pair->key.text != "member" &&
               pair->key.text != "joint_error" && pair->key.text != "votes" && pair->key.text != "answer")
        readPair(*pair, entry);
      else if (node && node->kind.text == "joint_error" && node->hasBlock)
        joint(*node, entry);
      else if (node && node->kind.text == "votes")
        votes(*node, entry);
      else if (node && node->kind.text == "answer" && node->hasBlock)
        answer(*node, entry);
      else if (node && node->kind.text == "member")
        continue;
      else if (node || pair)
        reader.unknown(node ? node->kind : pair->key, keys, pair != nullptr);
      else
        diags.error(Code::UnknownEntryKind, entry.range, "an ensemble has no paths");
    }
    checkMachines();
    checkRequirements(block);
    checkSoft();
    if (out.kinds.empty() && !wrongMember)
      diags.error(Code::MissingKey, block.name.range, fmt::format("ensemble '{}' has no member", out.name))
          .help("for example: member wide = gpt(hidden = 6144) error = 0.08 samples 10000");
  }

private:
  void member(const ast::Node &node, const ast::Entry &entry) {
    reader.clauses(entry, kError | kSamples);
    const char *form = "for example: member wide = gpt(hidden = 6144) error = 0.08 samples 10000";
    if (node.name.empty() || node.label || !node.value || node.hasBlock || node.hasArguments || node.count ||
        !node.type.empty() || !node.pattern.empty()) {
      wrongMember = true;
      diags.error(Code::SyntaxError, node.kind.range, "a member has a name and a model: member NAME = MODEL(…)")
          .help(form);
      return;
    }
    for (size_t i = 0; i < out.kinds.size(); ++i)
      if (out.kinds[i].name == node.name.text) {
        diags.error(Code::DuplicateName, node.name.range, fmt::format("'{}' is already a member", node.name.text))
            .note(nameRanges[i], "the earlier one")
            .help("several members of one kind are a larger 'size'");
        return;
      }
    EnsembleRequest::Kind kind;
    kind.name = node.name.text;
    kind.call = diags.sources().text(node.value->range).str();
    kind.location = reader.place(node.name.range);
    const ast::Clauses &given = entry.clauses();
    if (given.error) {
      kind.error.emplace();
      if (auto rate = reader.number(reader.value(*given.error), "error", 0, 1))
        kind.error->rate = *rate;
      kind.error->samples = reader.samples(entry);
      checkSeen(*kind.error, given.error->range);
    } else if (given.samples) {
      diags.error(Code::UnexpectedClause, given.samples->range,
                  "'samples' says what 'error' is a share of, and there is none");
    }
    nameRanges.push_back(node.name.range);
    out.kinds.push_back(std::move(kind));
  }

  /// A share of samples is a whole number of them.
  void checkSeen(const ErrorRate &rate, SourceRange at) {
    if (rate.samples == 0 || (rate.rate * Rational(rate.samples)).isInteger())
      return;
    diags
        .error(Code::OutOfRange, at,
               fmt::format("{} of {} samples is no whole number of them", rate.rate.print(), rate.samples))
        .help("state the share with all its digits, or as a fraction such as 83 / 1024");
  }

  /// joint_error { wide wide = 0.03, wide thin thin = 0.01 samples 5000 }
  void joint(const ast::Node &node, const ast::Entry &entry) {
    reader.clauses(entry, kNoClause);
    if (!reader.once(node.kind))
      return;
    std::map<std::vector<unsigned>, SourceRange> seen;
    std::vector<std::string> known;
    for (const EnsembleRequest::Kind &kind : out.kinds)
      known.push_back(kind.name);
    const char *form = "for example: joint_error { wide wide = 0.03, wide thin = 0.027 }";
    for (const ast::Entry &inner : node.entries) {
      auto *one = inner.as<ast::Node>();
      auto *pair = inner.as<ast::KeyValue>();
      std::vector<ast::Name> names;
      if (pair)
        names = {pair->key};
      else if (one && !one->label) {
        names = {one->kind};
        if (!one->name.empty())
          names.push_back(one->name);
        names.insert(names.end(), one->more.begin(), one->more.end());
      }
      if (names.size() < 2 || !one->value || one->hasBlock || one->hasArguments || one->count || !one->type.empty() ||
          !one->pattern.empty()) {
        diags
            .error(Code::SyntaxError, names.empty() ? inner.range : names[0].range,
                   "a joint error is of two members or more that are wrong at once")
            .help(form);
        continue;
      }
      reader.clauses(inner, kSamples);
      EnsembleRequest::JointError made;
      for (const ast::Name &name : names) {
        auto found = llvm::find(known, name.text);
        if (found == known.end())
          diags.error(Code::UnknownName, name.range, fmt::format("no member '{}'", name.text))
              .suggest(nearest(name.text, known));
        else
          made.kinds.push_back(found - known.begin());
      }
      llvm::sort(made.kinds);
      SourceRange at = names.front().range.to(names.back().range);
      made.location = reader.place(at);
      if (auto rate = reader.number(reader.value(*one->value), "joint_error", 0, 1))
        made.rate.rate = *rate;
      made.rate.samples = reader.samples(inner);
      checkSeen(made.rate, one->value->range);
      if (made.kinds.size() < names.size())
        continue;
      if (made.kinds.size() > static_cast<size_t>(kMaxMembers)) {
        diags.error(Code::OutOfRange, at, fmt::format("at most {} members vote", kMaxMembers));
        continue;
      }
      auto [earlier, isNew] = seen.try_emplace(made.kinds, at);
      if (!isNew)
        diags.error(Code::DuplicateKey, at, "the joint error of these members is given twice")
            .note(earlier->second, "the first time");
      else
        out.joint.push_back(std::move(made));
    }
  }

  void votes(const ast::Node &node, const ast::Entry &entry) {
    reader.clauses(entry, kFrom);
    if (!entry.clauses().from || entry.clauses().from->value.empty() || node.value || node.hasBlock ||
        node.hasArguments || node.label || !node.name.empty()) {
      diags.error(Code::MissingArgument, node.kind.range, "'votes' are read from a file")
          .help("for example: votes from \"votes.csv\"");
      return;
    }
    if (!reader.once(node.kind))
      return;
    out.votesFile = reader.beside(entry.clauses().from->value, entry.clauses().fromRange);
    out.votesAt = reader.place(entry.clauses().fromRange);
  }

  /// answer { undelivered = {a100_80g: 0.01}, weights = {wide: 2}, timeout = 50 ms, … }
  void answer(const ast::Node &node, const ast::Entry &entry) {
    reader.clauses(entry, kNoClause);
    if (reader.once(node.kind))
      readEnsembleAnswer(node, out, machines, diags, reader.lookup);
  }

  /// Machines of an answer are among the devices.
  void checkMachines() {
    std::vector<std::string> known;
    for (const EnsembleRequest::Device &device : out.devices)
      known.push_back(device.machine);
    for (const auto &[name, range] : machines)
      if (!llvm::is_contained(known, name)) {
        auto error = diags.error(Code::UnknownName, range, fmt::format("'{}' is none of the devices", name));
        error.suggest(nearest(name, known));
        error.help(known.empty() ? fmt::format("say which devices there are: devices = {{{}: 1}}", name)
                                 : fmt::format("devices are {}", fmt::join(known, ", ")));
      }
  }
  /// Averages of probabilities are known of whole ensembles alone.
  void checkSoft() {
    if (!out.isSoft)
      return;
    if (out.answers.any() || out.answer)
      diags.error(Code::NotSupported, votingAt, "not supported yet: soft votes of members that may not answer")
          .help(
              "what a soft vote of fewer members says is in no table of votes: use 'majority', or leave 'answer' out");
    else if (out.independent || !out.joint.empty() ||
             llvm::any_of(out.kinds, [](const EnsembleRequest::Kind &kind) { return kind.error.has_value(); }))
      diags.error(Code::NotSupported, votingAt, "errors of members say nothing of a soft vote")
          .help("leave 'error', 'joint_error' and 'independent' out: the table of votes alone counts");
    else if (out.votesFile.empty())
      diags.error(Code::MissingKey, votingAt, "of a soft vote nothing is known without a table of votes")
          .help("votes from \"votes.csv\", with a column 'vote': whether the soft vote of all members was right");
  }
  /// What is required is either of votes that all arrive, or of answers.
  void checkRequirements(const ast::Declaration &block) {
    if (!out.answers.any()) {
      const auto &answer = out.answer;
      if (answer && (answer->timeout > 0 || !answer->latency.empty() || !answer->energy.empty() ||
                     !answer->memory.empty() || !answer->voltage.empty()))
        diags
            .error(
                Code::MissingKey, rangeOf(answer->location, diags),
                fmt::format("'answer' says what members take that answer, and nothing is required of answers of '{}'",
                            out.name))
            .help("for example: require answer_error <= 0.05, or minimize answer_energy");
      return;
    }
    if (out.error)
      diags
          .error(Code::NotAConstraint, rangeOf(out.error->location, diags),
                 "'error' is of votes that all arrive, and answers are required, too")
          .help("require answer_error, no_answer and answer_latency.p99, or error alone");
    if (!out.answers.isObjective && objectiveGiven)
      diags
          .error(Code::UnknownChoice, block.name.range,
                 fmt::format("answers are required of '{}', and '{}' is of its training", out.name, out.objective))
          .help("minimize answer_energy, answer_latency or answer_error");
    if (out.devices.empty())
      diags.error(Code::MissingKey, block.name.range, fmt::format("no device of '{}' answers", out.name))
          .help("for example: devices = {raspberry_pi_5_8g: 7}");
  }

  void readPair(const ast::KeyValue &pair, const ast::Entry &entry) {
    reader.read(pair, entry,
                {{"independent",
                  [&](const Constant &value) {
                    if (auto *truth = value.as<bool>())
                      out.independent = *truth;
                    else
                      diags.error(Code::WrongType, value.range,
                                  fmt::format("'independent' is true or false, not {}", value.describe()));
                  }},
                 {"size", [&](const Constant &value) { size(value); }},
                 {"voting",
                  [&](const Constant &value) {
                    out.isSoft = reader.word(value, "voting", {"majority", "soft"}) == "soft";
                    votingAt = value.range;
                  }},
                 {"device_failures",
                  [&](const Constant &value) {
                    out.deviceFailures =
                        reader.integer(value, "device_failures", 0, kMaxMembers - 1).value_or(out.deviceFailures);
                  }},
                 {"devices", [&](const Constant &value) { devices(value); }}});
  }

  void size(const Constant &value) {
    out.sizeAt = reader.place(value.range);
    auto *choice = value.as<Choice>();
    if (choice && choice->kind != Choice::Kind::Range) {
      diags.error(Code::ChoiceNotAllowed, value.range, "'size' is one number or a range")
          .help("for example: size = 1..7");
      return;
    }
    if (!choice) {
      if (auto number = reader.integer(value, "size", 1, kMaxMembers))
        out.min = out.max = *number;
      return;
    }
    auto min = reader.integer({value.range, choice->low}, "size", 1, kMaxMembers),
         max = reader.integer({value.range, choice->high}, "size", 1, kMaxMembers);
    if (!min || !max)
      return;
    if (!(choice->step == Quantity::number(1))) {
      diags.error(Code::ChoiceNotAllowed, value.range, "'size' is a range without a step")
          .help("an even number of members is never better than one member fewer");
      return;
    }
    out.min = *min, out.max = *max;
  }

  void devices(const Constant &value) {
    auto *map = value.as<MapValue>();
    if (!map || map->pairs.empty()) {
      diags
          .error(Code::WrongType, value.range,
                 fmt::format("'devices' says how many there are of each machine, not {}", value.describe()))
          .help("for example: devices = {a100_80g: 2, h100: 1}");
      return;
    }
    for (const auto &[name, count] : map->pairs)
      if (auto number = reader.integer(*count, "devices", 1, kMaxDevices))
        out.devices.push_back({name.text, *number, reader.place(name.range)});
  }

  void readRule(const ast::Rule &rule, const ast::Entry &entry) {
    auto require = [&](const BlockReader::Limit &limit) {
      EnsembleRequest::Requirement made{limit.value, limit.confidence, reader.place(entry.range)};
      if (limit.name == "error")
        out.error = made;
      else if (limit.name == "answer_error")
        out.answers.wrong = made;
      else if (limit.name == "no_answer")
        out.answers.none = made;
      else
        out.answers.late.push_back({limit.name,
                                    quantileShare(llvm::StringRef(limit.name).split('.').second).value_or(1),
                                    picoseconds(limit.value), made.location});
    };
    auto objective = [&](bool maximize) {
      const std::vector<std::string> known{"step_time",     "energy",         "memory",      "price",
                                           "answer_energy", "answer_latency", "answer_error"};
      if (maximize) {
        diags.error(Code::UnknownChoice, entry.range, "an ensemble minimizes")
            .help(fmt::format("objectives are {}", fmt::join(known, ", ")));
        return;
      }
      std::string word = reader.word(reader.value(*rule.expr), "minimize", known);
      if (!word.empty())
        out.objective = word, objectiveGiven = true;
      out.answers.isObjective |= llvm::StringRef(word).starts_with("answer_");
    };
    std::vector<RequirementSpec> specs = {
        {"error", false, "0.09 confidence 0.95"}, {"answer_error", false, "0.05"}, {"no_answer", false, "0.001"}};
    for (const char *quantile : {"p50", "p90", "p95", "p99", "p999"})
      specs.push_back({std::string("answer_latency.") + quantile, false, "50 ms", 0, /*isTime=*/true});
    reader.rule(entry, rule, specs, require, objective);
  }

  BlockReader reader;
  Diagnostics &diags;
  std::vector<SourceRange> nameRanges;                       ///< of `out.kinds`
  std::vector<std::pair<std::string, SourceRange>> machines; ///< that `answer` names
  SourceRange votingAt;
  bool wrongMember = false, objectiveGiven = false;
};
} // namespace

std::optional<EnsembleRequest> ensembleRequest(const ast::Declaration &block, Diagnostics &diags,
                                               const Lookup &lookup) {
  size_t before = diags.errors();
  EnsembleReader reader(diags, lookup);
  reader.read(block);
  return diags.errors() == before ? std::optional(std::move(reader.out)) : std::nullopt;
}

// ---- Tables of votes: which members were wrong on which sample
namespace {

constexpr int64_t kMaxSamples = int64_t(1) << 53;

/// "wide.2": the second of kind wide. "wide" is the first.
struct Column {
  unsigned kind = 0;
  int64_t copy = 1;
  size_t index = 0; ///< in the file
};

std::optional<Column> columnOf(llvm::StringRef text, const EnsembleRequest &request) {
  auto [name, number] = text.rsplit('.');
  Column column;
  if (!number.empty() && (number.getAsInteger(10, column.copy) || column.copy < 1))
    return std::nullopt;
  for (size_t i = 0; i < request.kinds.size(); ++i)
    if (request.kinds[i].name == name) {
      column.kind = i;
      return column;
    }
  return std::nullopt;
}

class VoteReader {
public:
  VoteReader(const EnsembleRequest &request, const QualityTable &table, SourceRange from, Diagnostics &diags)
      : request(request), table(table), from(from), diags(diags), head(diags.sources().at(table.file, {1, 1})) {}
  std::optional<VoteTable> read() {
    if (!readColumns())
      return std::nullopt;
    for (const Column &column : columns)
      votes.kinds.push_back(column.kind);
    if (!llvm::all_of(table.rows, [&](const calibrate::Record &row) { return add(row); }))
      return std::nullopt;
    if (votes.samples > 0)
      return std::move(votes);
    reject(head, "there is no vote in this file");
    return std::nullopt;
  }

private:
  Diagnostics::Builder reject(SourceRange at, const std::string &message) {
    return diags.error(Code::WrongQualityFile, at, message).note(from, "the file is named here");
  }

  bool readColumns() {
    size_t before = diags.errors();
    std::vector<std::string> names{"count", "class"};
    if (request.isSoft)
      names.push_back("vote");
    for (const EnsembleRequest::Kind &kind : request.kinds)
      names.push_back(kind.name);
    for (auto [i, name] : llvm::enumerate(table.columns)) {
      auto column = columnOf(name, request);
      if (column) {
        column->index = i;
        columns.push_back(*column);
      } else if (name == "count") {
        count = i;
      } else if (name == "class") {
        trueClass = i;
      } else if (name == "vote" && request.isSoft) {
        softVote = i;
      } else {
        reject(head, fmt::format("column '{}' is no member", name)).suggest(nearest(name, names));
      }
    }
    llvm::sort(columns,
               [](const Column &a, const Column &b) { return std::tie(a.kind, a.copy) < std::tie(b.kind, b.copy); });
    checkCopies();
    if (request.isSoft && !softVote)
      reject(head, "there is no column 'vote': whether the soft vote of all members was right");
    if (softVote)
      votes.softWrong = 0;
    if (columns.empty() && diags.errors() == before)
      reject(head, "there is no column of a member");
    if (columns.size() > kMaxMembers)
      reject(head, fmt::format("{} columns of members, and at most {} vote", columns.size(), kMaxMembers));
    if (table.rows.empty() && diags.errors() == before)
      reject(head, "there is no vote in this file");
    return diags.errors() == before;
  }

  /// The copies of a kind are numbered from 1 on without gaps.
  void checkCopies() {
    for (size_t i = 0; i < columns.size(); ++i) {
      bool first = i == 0 || columns[i - 1].kind != columns[i].kind;
      int64_t expected = first ? 1 : columns[i - 1].copy + 1;
      if (columns[i].copy == expected)
        continue;
      const std::string &kind = request.kinds[columns[i].kind].name;
      reject(head, columns[i].copy < expected ? fmt::format("column '{}.{}' is there already", kind, columns[i].copy)
                                              : fmt::format("there is a column '{}.{}', but none '{}.{}'", kind,
                                                            columns[i].copy, kind, expected));
    }
  }

  bool add(const calibrate::Record &row) {
    uint64_t wrong = 0;
    for (auto [i, column] : llvm::enumerate(columns)) {
      const calibrate::Cell &cell = row[column.index];
      if (cell.text == "0" || cell.text == "wrong") {
        wrong |= uint64_t(1) << i;
      } else if (cell.text != "1" && cell.text != "right") {
        reject(table.at(diags, cell), fmt::format("'{}' is no vote: 1 or right, 0 or wrong", cell.text));
        return false;
      }
    }
    int64_t often = 1;
    if (count && (llvm::StringRef(row[*count].text).getAsInteger(10, often) || often < 0 || often > kMaxSamples)) {
      reject(table.at(diags, row[*count]), fmt::format("'{}' is no number of samples", row[*count].text));
      return false;
    }
    SourceRange first = table.at(diags, row[columns[0].index]);
    bool isSoftWrong = false;
    if (softVote) {
      const calibrate::Cell &cell = row[*softVote];
      isSoftWrong = cell.text == "0" || cell.text == "wrong";
      if (!isSoftWrong && cell.text != "1" && cell.text != "right") {
        reject(table.at(diags, cell), fmt::format("'{}' is no vote: 1 or right, 0 or wrong", cell.text));
        return false;
      }
    }
    auto *seen = trueClass ? &votes.classes[row[*trueClass].text] : &votes.votes;
    if (count && !softVote && seen->count(wrong)) {
      reject(first, "these votes are counted already");
      return false;
    }
    if (often > 0)
      votes.votes[wrong] += often;
    if (trueClass)
      (*seen)[wrong] += often;
    constexpr size_t kMaxClasses = 10'000;
    if (votes.classes.size() > kMaxClasses) {
      reject(first, fmt::format("more than {} classes", kMaxClasses));
      return false;
    }
    votes.samples += often;
    if (isSoftWrong)
      *votes.softWrong += often;
    if (votes.samples > kMaxSamples)
      reject(first, fmt::format("more than {} samples", kMaxSamples));
    return votes.samples <= kMaxSamples;
  }

  const EnsembleRequest &request;
  const QualityTable &table;
  SourceRange from;
  Diagnostics &diags;
  SourceRange head;
  std::vector<Column> columns;
  std::optional<size_t> count, trueClass, softVote; ///< the columns count, class and vote
  VoteTable votes;
};
} // namespace

std::optional<VoteTable> readVotes(const EnsembleRequest &request, Diagnostics &diags) {
  SourceRange from = rangeOf(request.votesAt, diags);
  auto table = readTable(request.votesFile, from, diags);
  return table ? VoteReader(request, *table, from, diags).read() : std::nullopt;
}

} // namespace accord
