#include "lib/language/requests/Jobs.h"
#include "lib/language/requests/JobDependences.h"
#include "lib/language/requests/JobEntries.h"
#include "lib/language/requests/RequestKeys.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

namespace accord {
namespace {

using jobs::JobMeasure, jobs::JobsRequest;

/// What a limit of each measure is stated in.
const JobUnit &unitOf(JobMeasure measure) {
  static const JobUnit kNumber{"a plain number", {}, "2", 1'000'000'000'000, "1e12"};
  switch (measure) {
  case JobMeasure::Completion:
  case JobMeasure::Makespan:
  case JobMeasure::Tail:
  case JobMeasure::Group:
    return job_units::kTime;
  case JobMeasure::Lateness:
  case JobMeasure::Price:
    return job_units::kMoney;
  case JobMeasure::Energy:
    return job_units::kEnergy;
  case JobMeasure::Carbon:
    return job_units::kMass;
  case JobMeasure::Rejected:
  case JobMeasure::Nash:
  case JobMeasure::Slowdown:
  case JobMeasure::Unfinished:
  case JobMeasure::Restarts:
    break;
  }
  return kNumber;
}

std::vector<std::string> measureNames() {
  std::vector<std::string> names;
  for (unsigned i = 0; i < jobs::kJobMeasures; ++i)
    names.emplace_back(nameOf(static_cast<JobMeasure>(i)));
  return names;
}

class JobsReader {
public:
  JobsReader(const ast::File &file, Diagnostics &diags, const Lookup &outer)
      : file(file), diags(diags), outer(outer),
        lookup([this](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
          return jobs::jobMeasure(std::string_view(name)) ? std::nullopt : this->outer(name, at);
        }),
        values(diags, lookup, "a jobs block") {}
  JobsRequest out;

  void read(const ast::Declaration &block) {
    out.name = block.name.text;
    out.cluster = block.target.text;
    out.location = values.reader.place(block.name.range);
    if (!block.target.empty())
      out.clusterAt = values.reader.place(block.target.range);
    for (const ast::Entry &entry : block.entries)
      readEntry(entry);
    if (out.slot > 0 && out.horizon > 0)
      checkSlots();
    nameTenants();
    writeOut(block.name.range);
  }

private:
  void readEntry(const ast::Entry &entry) {
    const std::vector<std::string> &keys = requestKeyNames("jobs");
    auto *pair = entry.as<ast::KeyValue>();
    auto *node = entry.as<ast::Node>();
    if (auto *rule = entry.as<ast::Rule>())
      readRule(*rule, entry);
    else if (node && node->kind.text == "job")
      readJobEntry(*node, entry);
    else if (node && node->kind.text == "tenant")
      tenant(*node, entry);
    else if (node && node->kind.text == "capacity")
      capacity(*node, entry);
    else if (node && node->kind.text == "maintenance")
      maintenance(*node, entry);
    else if (pair && keyReaders().count(pair->key.text))
      values.reader.read(*pair, entry, keyReaders());
    else if (node || pair)
      values.reader.unknown(node ? node->kind : pair->key, keys, pair != nullptr);
    else
      diags.error(Code::UnknownEntryKind, entry.range, "a jobs block has no paths");
  }

  const BlockReader::KeyReaders &keyReaders() {
    if (readers.empty())
      readers = {{"period", [this](const Constant &value) { period(value); }},
                 {"horizon",
                  [this](const Constant &value) {
                    horizonAt = value.range;
                    out.horizon = values.quantity(value, "horizon", job_units::kTime, JobBound::AboveZero).value_or(0);
                  }},
                 {"tail",
                  [this](const Constant &value) {
                    if (auto share = values.reader.number(value, "tail", 0, 1))
                      out.tailShare = share->toDouble();
                  }},
                 {"carbon_intensity", [this](const Constant &value) {
                    if (auto steps = values.steps(value, "carbon_intensity", job_units::kCarbon, false))
                      out.capacities.push_back({"carbon", *steps, values.reader.place(value.range)});
                  }}};
    return readers;
  }

  void period(const Constant &value) {
    auto seconds = values.quantity(value, "period", job_units::kTime, JobBound::AboveZero);
    if (!seconds)
      return;
    if (!value.as<Quantity>()->value.isInteger())
      diags.error(Code::OutOfRange, value.range,
                  fmt::format("'period' is a whole number of seconds, but this is {}", value.describe()));
    else
      out.slot = *seconds;
  }

  void checkSlots() {
    double slots = out.horizon / out.slot;
    std::string horizon = diags.sources().text(horizonAt).str();
    if (slots < 1)
      diags.error(Code::WrongJobsBlock, horizonAt, fmt::format("the horizon of {} is shorter than one period", horizon))
          .note(*values.reader.given("period"), "the period");
    else if (slots > static_cast<double>(jobs::kMaxSlots))
      diags
          .error(Code::WrongJobsBlock, horizonAt,
                 fmt::format("the horizon of {} has more than {} periods", horizon, jobs::kMaxSlots))
          .note(*values.reader.given("period"), "the period")
          .help("a longer period, or a shorter horizon");
  }

  /// False after reporting that something of that name is there already.
  bool isNew(std::map<std::string, SourceRange> &seen, const ast::Name &name, const char *what) {
    auto [earlier, fresh] = seen.try_emplace(name.text, name.range);
    if (!fresh)
      diags.error(Code::DuplicateName, name.range, fmt::format("there is {} '{}' already", what, name.text))
          .note(earlier->second, "the earlier one");
    return fresh;
  }

  /// tenant vision { weight = 2, quota = {h100: 8, a100_80g: 16} }
  void tenant(const ast::Node &node, const ast::Entry &entry) {
    JobValues inner(diags, lookup, "a tenant");
    const char *form = "tenant vision { weight = 2, quota = 16 }";
    if (!inner.hasForm(node, entry, {.block = true, .blockNeeded = true, .example = form}) ||
        !isNew(tenants, node.name, "a tenant"))
      return;
    JobsRequest::Tenant made;
    made.name = node.name.text;
    made.location = inner.reader.place(node.name.range);
    settings(node, inner, form,
             {{"weight",
               [&](const Constant &value) {
                 if (auto weight = inner.reader.number(value, "weight", 0, 1'000'000, /*open=*/true))
                   made.weight = weight->toDouble();
               }},
              {"quota", [&](const Constant &value) {
                 auto devices = [&](const Constant &one, const std::string &type) {
                   if (auto count = inner.reader.integer(one, "quota", 0, kMaxJobDevices))
                     made.quota[type] = *count;
                 };
                 auto *map = value.as<MapValue>();
                 if (!map)
                   return devices(value, "");
                 for (const auto &[type, count] : map->pairs)
                   if (llvm::isDigit(type.text[0]))
                     diags
                         .error(Code::WrongType, type.range,
                                fmt::format("a device type stands before each ':', not {}", type.text))
                         .help("for example: quota = {h100: 8, a100_80g: 16}");
                   else
                     devices(*count, type.text);
               }}});
    out.tenants.push_back(std::move(made));
  }

  /// capacity h100 = {0 h: 16, 8 h: 8}; capacity power = 30 kW
  void capacity(const ast::Node &node, const ast::Entry &entry) {
    const char *form = "capacity h100 = {0 h: 16, 8 h: 8}";
    if (!values.hasForm(node, entry, {.value = true, .valueNeeded = true, .example = form}))
      return;
    const std::string &resource = node.name.text;
    if (resource == "carbon") {
      diags.error(Code::WrongJobsBlock, node.name.range, "carbon has no capacity")
          .help("carbon_intensity = {0 h: 400 g/kWh, 6 h: 120 g/kWh}, and require carbon <= 50 kg");
      return;
    }
    if (!isNew(capacities, node.name, "a capacity of"))
      return;
    Constant value = values.reader.value(*node.value);
    bool power = resource == "power";
    if (value.failed())
      return;
    if (auto steps = values.steps(value, "capacity " + resource, job_units::kPower, !power))
      out.capacities.push_back({resource, *steps, values.reader.place(node.name.range)});
  }

  /// maintenance h100 { devices = 8, from = 2 h, until = 4 h }
  void maintenance(const ast::Node &node, const ast::Entry &entry) {
    JobValues inner(diags, lookup, "a maintenance");
    const char *form = "maintenance h100 { devices = 8, from = 2 h, until = 4 h }";
    if (!inner.hasForm(node, entry, {.block = true, .blockNeeded = true, .example = form}))
      return;
    JobsRequest::Maintenance made;
    made.deviceType = node.name.text;
    made.location = inner.reader.place(node.name.range);
    SourceRange fromAt, untilAt;
    size_t before = diags.errors();
    settings(node, inner, form,
             {{"devices",
               [&](const Constant &value) {
                 made.devices = inner.reader.integer(value, "devices", 1, kMaxJobDevices).value_or(0);
               }},
              {"servers",
               [&](const Constant &value) {
                 for (const Constant &one : membersOf(value))
                   if (auto server = inner.reader.integer(one, "servers", 0, kMaxJobDevices))
                     made.servers.push_back(static_cast<unsigned>(*server));
               }},
              {"from",
               [&](const Constant &value) {
                 fromAt = value.range;
                 made.from = inner.quantity(value, "from", job_units::kTime).value_or(0);
               }},
              {"until", [&](const Constant &value) {
                 untilAt = value.range;
                 made.until = inner.quantity(value, "until", job_units::kTime).value_or(0);
               }}});
    if (inner.reader.given("devices") && inner.reader.given("servers") && diags.errors() == before)
      diags.error(Code::DuplicateKey, *inner.reader.given("servers"), "a maintenance is of 'devices' or of 'servers'")
          .note(*inner.reader.given("devices"), "the devices");
    for (const char *key : {inner.reader.given("servers") ? "servers" : "devices", "from", "until"})
      if (!inner.reader.given(key) && diags.errors() == before) {
        diags
            .error(Code::MissingKey, node.name.range,
                   fmt::format("maintenance of '{}' does not say '{}'", made.deviceType, key))
            .help(std::string("for example: ") + form);
        return;
      }
    if (diags.errors() == before && made.until <= made.from)
      diags
          .error(Code::WrongJobsBlock, untilAt,
                 fmt::format("maintenance of '{}' ends at {}, and begins at {}", made.deviceType,
                             diags.sources().text(untilAt).str(), diags.sources().text(fromAt).str()))
          .note(fromAt, "it begins here");
    out.maintenances.push_back(std::move(made));
  }

  /// The keys of a block within this one.
  void settings(const ast::Node &node, JobValues &inner, const char *form, const BlockReader::KeyReaders &readers) {
    std::vector<std::string> keys;
    for (const auto &[key, read] : readers)
      keys.push_back(key);
    inner.entries(node, keys, readers, form);
  }

  // ---- Objectives and requirements

  void readRule(const ast::Rule &rule, const ast::Entry &entry) {
    if (rule.kind != ast::RuleKind::Prefer)
      values.reader.clauses(entry, kNoClause);
    if (rule.kind == ast::RuleKind::Prefer)
      diags.error(Code::NotSupported, entry.range, "not supported yet: 'prefer' in a jobs block")
          .help("use 'require' or an objective");
    else if (rule.kind == ast::RuleKind::Require)
      require(rule);
    else
      objective(rule, entry);
  }

  /// Reports a name that is no measure.
  std::optional<JobMeasure> measure(const std::string &name, SourceRange at) {
    auto found = jobs::jobMeasure(name);
    if (!found)
      diags.error(Code::UnknownChoice, at, fmt::format("'{}' is no measure of a schedule", name))
          .suggest(nearestShown(diags, name, measureNames()))
          .help(fmt::format("measures are {}", fmt::join(measureNames(), ", ")));
    return found;
  }

  void objective(const ast::Rule &rule, const ast::Entry &entry) {
    auto *name = rule.expr->as<ast::Reference>();
    bool maximize = rule.kind == ast::RuleKind::Maximize;
    if (!name) {
      diags.error(Code::WrongType, rule.expr->range, "an objective of a jobs block is the name of a measure")
          .help("for example: minimize mean_completion");
      return;
    }
    auto found = measure(name->name, rule.expr->range);
    if (!found)
      return;
    if (maximize && *found != JobMeasure::Nash && *found != JobMeasure::Unfinished) {
      diags.error(Code::UnknownChoice, entry.range, fmt::format("'{}' is minimized, not maximized", name->name))
          .help(fmt::format("minimize {}; nash_welfare and goodput alone are maximized", name->name));
      return;
    }
    if (!maximize && *found == JobMeasure::Unfinished) {
      diags.error(Code::UnknownChoice, entry.range, "'goodput' is maximized, not minimized").help("maximize goodput");
      return;
    }
    auto [earlier, isNew] = objectives.try_emplace(*found, entry.range);
    if (isNew)
      out.objectives.push_back({*found, values.reader.place(entry.range)});
    else
      diags.error(Code::DuplicateKey, entry.range, fmt::format("'{}' is an objective already", name->name))
          .note(earlier->second, "the first time");
  }

  std::string written(const ast::Expr &expr) const {
    llvm::StringRef text = diags.sources().text(expr.range);
    return text.size() <= 60 ? fmt::format("'{}'", text.str()) : "another expression";
  }

  void require(const ast::Rule &rule) {
    const char *form = "for example: require makespan <= 12 h";
    Constant condition = values.reader.value(*rule.expr);
    if (condition.failed())
      return;
    auto *call = condition.as<CallValue>();
    bool compares = call && call->arguments.size() == 2 &&
                    (call->name == "<=" || call->name == "<" || call->name == ">=" || call->name == ">" ||
                     call->name == "==" || call->name == "!=");
    if (!compares) {
      diags
          .error(Code::NotAConstraint, condition.range,
                 fmt::format("a requirement compares a measure with a value, but this is {}", written(*rule.expr)))
          .help(form);
      return;
    }
    const Constant *left = call->arguments[0].second.get(), *right = call->arguments[1].second.get();
    std::string sign = call->name;
    if (!left->as<Word>() && right->as<Word>()) { // 12 h >= makespan
      std::swap(left, right);
      sign = sign == ">=" ? "<=" : sign == "<=" ? ">=" : sign == "<" ? ">" : sign == ">" ? "<" : sign;
    }
    auto *word = left->as<Word>();
    if (!word) {
      diags
          .error(Code::NotAConstraint, left->range,
                 fmt::format("a requirement is of one measure alone, but this is {}", written(*rule.expr)))
          .help(form);
      return;
    }
    auto found = measure(word->text, left->range);
    if (!found)
      return;
    const JobUnit &unit = unitOf(*found);
    const bool isGoodput = *found == JobMeasure::Unfinished;
    const char *needed = isGoodput ? ">=" : "<=";
    if (sign != needed) {
      diags
          .error(Code::NotAConstraint, condition.range,
                 fmt::format("'{}' is required to be at {} a value, with '{}'", word->text,
                             isGoodput ? "least" : "most", needed))
          .help(fmt::format("for example: require {} {} {}", word->text, needed, isGoodput ? "0.9" : unit.example));
      return;
    }
    if (auto [first, isNew] = required.try_emplace(*found, rule.expr->range); !isNew) {
      diags.error(Code::DuplicateKey, rule.expr->range, fmt::format("'{}' has a limit already", word->text))
          .note(first->second, "the first time");
      return;
    }
    std::optional<double> max;
    if (!isGoodput)
      max = values.quantity(*right, word->text, unit, *found == JobMeasure::Nash ? JobBound::Any : JobBound::Zero,
                            fmt::format("require {} <=", word->text));
    else if (auto share = values.reader.number(*right, word->text, 0, 1))
      max = 1 - share->toDouble(); // that may be left
    std::string text = rule.label.empty() ? diags.sources().text(rule.expr->range).str() : rule.label.text;
    if (max)
      out.limits.push_back({*found, *max, text, values.reader.place(rule.expr->range)});
  }

  // ---- Jobs

  void readJobEntry(const ast::Node &node, const ast::Entry &entry) {
    JobEntry made = readJob(node, entry, file, diags, lookup);
    if (!node.name.empty() && isNew(names, node.name, "a job"))
      entries.push_back(std::move(made));
  }

  void nameTenants() {
    std::vector<std::string> known;
    for (const auto &[name, at] : tenants)
      known.push_back(name);
    for (JobEntry &entry : entries) {
      if (!entry.tenant)
        continue;
      entry.job.tenant = entry.tenant->text;
      if (tenants.count(entry.job.tenant))
        continue;
      std::string meant = nearestShown(diags, entry.job.tenant, known);
      auto error = diags.error(Code::UnknownName, entry.tenant->range,
                               fmt::format("no tenant '{}' in this block", entry.job.tenant));
      error.suggest(meant);
      if (meant.empty())
        error.help(fmt::format("declare it: tenant {} {{ weight = 1 }}", entry.job.tenant));
      else
        error.note(tenants.at(meant), "declared here");
    }
  }

  /// The members of arrays, with what each job is after.
  void writeOut(SourceRange at) {
    JobDependences dependences(entries, diags);
    if (!dependences.resolve(out.name, at))
      return;
    for (size_t i = 0; i < entries.size(); ++i) {
      JobsRequest::Job job = entries[i].job;
      job.after = dependences.namesOf(i);
      if (entries[i].members == 0) {
        out.jobs.push_back(std::move(job));
        continue;
      }
      for (int64_t member = 0; member < entries[i].members; ++member) {
        job.name = fmt::format("{}[{}]", entries[i].job.name, member);
        out.jobs.push_back(job);
      }
    }
  }

  const ast::File &file;
  Diagnostics &diags;
  const Lookup &outer;
  Lookup lookup; ///< as `outer`, where names of measures are themselves
  JobValues values;
  BlockReader::KeyReaders readers;
  SourceRange horizonAt;
  std::map<std::string, SourceRange> tenants, capacities, names;
  std::map<JobMeasure, SourceRange> objectives, required;
  std::vector<JobEntry> entries;
};

} // namespace

std::optional<JobsRequest> jobsRequest(const ast::Declaration &block, const ast::File &file, Diagnostics &diags,
                                       const Lookup &lookup) {
  size_t before = diags.errors();
  JobsReader reader(file, diags, lookup);
  reader.read(block);
  return diags.errors() == before ? std::optional(std::move(reader.out)) : std::nullopt;
}

} // namespace accord
