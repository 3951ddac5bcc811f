#include "lib/language/requests/TrainSettings.h"
#include "lib/language/requests/LayerConstraints.h"
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

class Reader {
public:
  Reader(mlir::MLIRContext &context, Diagnostics &diags, const Lookup &lookup)
      : context(context), diags(diags), lookup(lookup) {}
  TrainSettings out;

  void read(const ast::Declaration &train) {
    std::map<std::string, SourceRange> seen;
    std::string meant; // by a key that is misspelt
    const std::vector<std::string> keys{"batch", "precision", "optimizer", "samples", "tokens", "data", "search"};
    for (const ast::Entry &entry : train.entries) {
      if (auto *rule = entry.as<ast::Rule>()) {
        readRule(*rule, entry);
        continue;
      }
      auto *pair = entry.as<ast::KeyValue>();
      auto *node = entry.as<ast::Node>();
      const ast::Name *key = pair ? &pair->key : node ? &node->kind : nullptr;
      if (!key) {
        diags.error(Code::UnknownEntryKind, entry.range, "a training has no paths");
        continue;
      }
      auto [it, isNew] = seen.try_emplace(key->text, key->range);
      if (!isNew)
        diags.error(Code::DuplicateKey, key->range, fmt::format("'{}' is given twice", key->text))
            .note(it->second, "the first time");
      else if (pair && key->text == "batch")
        batch(evaluate(*pair->value, diags, lookup));
      else if (pair && key->text == "precision")
        out.precision = precisionOf(evaluate(*pair->value, diags, lookup), context, diags);
      else if (pair && key->text == "optimizer")
        out.optimizer = optimizerOf(evaluate(*pair->value, diags, lookup), diags);
      else if (pair && (key->text == "samples" || key->text == "tokens"))
        amount(*key, evaluate(*pair->value, diags, lookup));
      else if (node && key->text == "search")
        search(*node);
      else if (node && key->text == "data")
        data(*node);
      else if (llvm::is_contained(keys, key->text))
        diags.error(Code::WrongType, key->range,
                    node ? fmt::format("'{}' is given with '='", key->text)
                         : fmt::format("'{}' is a block: {} {{ … }}", key->text, key->text));
      else
        diags.error(Code::UnknownKey, key->range, fmt::format("a training has no '{}'", key->text))
            .suggest(meant = nearest(key->text, keys))
            .help(fmt::format("keys of a training: {}", fmt::join(keys, ", ")));
      if (entry.clauses().per)
        diags.error(Code::UnexpectedClause, entry.clauses().per->range,
                    fmt::format("'{}' of a training takes no 'per'", key->text));
    }
    if (!seen.count("batch") && meant != "batch")
      diags
          .error(Code::MissingKey, train.name.range,
                 fmt::format("training '{}' does not say its batch", train.name.text))
          .help("add 'batch = 32', the samples per step");
  }

private:
  void batch(const Constant &value) {
    if (value.as<Choice>()) {
      diags.error(Code::ChoiceNotAllowed, value.range, "the batch is one number: another batch is another training");
      return;
    }
    if (auto list = integersOf(value, diags, "batch"))
      out.batch = list->front();
  }

  /// What to train on, all steps together: a number beyond 2^63 is none that anybody means.
  void amount(const ast::Name &key, const Constant &value) {
    if (value.failed())
      return;
    if (out.amountAt.valid()) {
      diags.error(Code::DuplicateKey, key.range, "how long to train is stated twice: in samples or in tokens")
          .note(out.amountAt, "the first time");
      return;
    }
    out.amountAt = key.range;
    auto *number = value.as<Quantity>();
    double count = number && number->dimensionless() ? number->toDouble() : 0;
    if (!number || !number->dimensionless())
      diags.error(Code::WrongType, value.range, fmt::format("'{}' is a number, not {}", key.text, value.describe()))
          .help(fmt::format("for example: {} = 300e9", key.text));
    else if (!(count >= 1 && count <= 0x1p63))
      diags.error(Code::OutOfRange, value.range,
                  fmt::format("'{}' is 1 to 2^63, but this is {}", key.text, number->print()));
    else
      (key.text == "tokens" ? out.tokens : out.samples) = count;
  }

  void readRule(const ast::Rule &rule, const ast::Entry &entry) {
    if (rule.kind == ast::RuleKind::Require && isLayerConstraint(*rule.expr)) {
      if (auto constraint = layerConstraintOf(*rule.expr, diags, lookup)) {
        constraint->text = rule.label.empty() ? diags.sources().text(rule.expr->range).str() : rule.label.text;
        constraint->at = entry.range;
        out.placementConstraints.push_back(std::move(*constraint));
      }
      return;
    }
    Constant value = evaluate(*rule.expr, diags, lookup);
    if (value.failed())
      return;
    switch (rule.kind) {
    case ast::RuleKind::Require:
      out.requirements.push_back({std::move(value), &entry});
      return;
    case ast::RuleKind::Prefer:
      diags.error(Code::NotSupported, entry.range, "not supported yet: 'prefer' in a training")
          .help("use 'require' or an objective");
      return;
    case ast::RuleKind::Maximize:
    case ast::RuleKind::Minimize:
      break;
    }
    if (objectiveAt.valid()) {
      diags.error(Code::SeveralObjectives, entry.range, "a training has one objective")
          .note(objectiveAt, "the first is here");
      return;
    }
    objectiveAt = out.objectiveAt = entry.range;
    bool maximize = rule.kind == ast::RuleKind::Maximize;
    auto *word = value.as<Word>();
    llvm::StringRef name = word ? llvm::StringRef(word->text) : "";
    if (maximize && name == "throughput")
      out.objective = Objective::Throughput;
    else if (const ObjectiveFormula *formula = maximize ? nullptr : findMinimized(name))
      out.objective = onOneDevice(formula->objective), out.placementObjective = formula->objective;
    else if (maximize && perTdp(value))
      out.objective = Objective::OfCluster, out.placementObjective = PlacementObjective::TdpTime;
    else
      out.expression = ObjectiveExpression{maximize, diags.sources().text(rule.expr->range).str(),
                                           std::make_shared<Constant>(std::move(value)), rule.expr->range};
  }
  /// What an objective of placements is on one device.
  static Objective onOneDevice(PlacementObjective objective) {
    switch (objective) {
    case PlacementObjective::StepTime:
      return Objective::StepTime;
    case PlacementObjective::Energy:
      return Objective::Energy;
    case PlacementObjective::Memory:
      return Objective::Memory;
    default:
      return Objective::OfCluster;
    }
  }
  /// throughput / power.tdp
  static bool perTdp(const Constant &value) {
    auto *call = value.as<CallValue>();
    if (!call || call->name != "/" || call->arguments.size() != 2)
      return false;
    auto *over = call->arguments[0].second->as<Word>(), *under = call->arguments[1].second->as<Word>();
    return over && under && over->text == "throughput" && under->text == "power.tdp";
  }

  /// How the step is shared: whether the machine can do that is asked when it is known.
  void degree(const ast::Name &key, const Constant &value) {
    if (auto values = integersOf(value, diags, key.text))
      out.parallel.push_back({key.text, *values, value.range});
  }

  void zero(const Constant &value) {
    auto stages = integersOf(value, diags, "zero", /*least=*/0);
    if (!stages)
      return;
    out.zeroAt = value.range;
    if (stages->back() > 3)
      diags.error(Code::OutOfRange, value.range, fmt::format("'zero' is at most 3, but this is {}", stages->back()))
          .help("ZeRO 1 divides states of the optimizer among replicas, 2 gradients, too, 3 "
                "weights, too");
    else
      out.zero = std::move(*stages);
  }

  /// Orders of passes of a pipeline; `interleaved` says how many chunks a device may have.
  void schedule(const Constant &value) {
    std::vector<std::string> names;
    for (const ScheduleModel *one : scheduleModels())
      names.push_back(one->name);
    std::vector<Constant> members{value};
    if (auto *choice = value.as<Choice>(); choice && choice->kind == Choice::Kind::Set)
      members = *choice->members;
    out.scheduleAt = value.range;
    for (const Constant &member : members) {
      if (member.failed())
        continue;
      auto *word = member.as<Word>();
      auto *call = member.as<CallValue>();
      std::string text = word ? word->text : call ? call->name : "";
      const ScheduleModel *found = findSchedule(text);
      if (!found) {
        diags
            .error(Code::UnknownChoice, member.range,
                   fmt::format("'schedule' is one of {}, not {}", fmt::join(names, ", "), member.describe()))
            .suggest(nearest(text, names));
        continue;
      }
      bool listed = found->virtualStages == ScheduleModel::VirtualStages::Listed;
      if (!llvm::is_contained(out.schedules, found->schedule))
        out.schedules.push_back(found->schedule);
      if (!call)
        continue;
      if (!listed || call->arguments.size() != 1) {
        diags
            .error(Code::WrongType, member.range,
                   listed ? fmt::format("'{}' takes the number of virtual stages of a device", text)
                          : fmt::format("schedule '{}' takes no numbers", text))
            .help("for example: schedule = {one_f_one_b, interleaved(2..8)}");
        continue;
      }
      if (auto virtualStages = integersOf(*call->arguments[0].second, diags, text, /*least=*/2,
                                          /*most=*/64))
        out.virtualStages.insert(out.virtualStages.end(), virtualStages->begin(), virtualStages->end());
    }
    llvm::sort(out.virtualStages);
    out.virtualStages.erase(std::unique(out.virtualStages.begin(), out.virtualStages.end()), out.virtualStages.end());
  }

  /// Choices by name; whether the key is one of them.
  bool words(const ast::KeyValue &pair, const Constant &value) {
    struct Choices {
      std::vector<std::string> &into;
      std::vector<std::string> known;
      bool one = false; ///< nothing searches for it
    };
    std::map<std::string, Choices> by{{"offload", {out.offloads, {"none", "optimizer", "activations", "weights"}}},
                                      {"tensor_overlap", {out.tensorOverlaps, {"none", "ring"}}},
                                      {"rank_order", {out.orders, {"tensor_data_pipeline", "tensor_pipeline_data"}}},
                                      {"transfers", {out.transfers, {"blocking", "overlapped"}, true}},
                                      {"table_parallel", {out.tables, {"none", "rows", "columns"}}},
                                      {"recompute_granularity", {out.recomputeGranularity, {"layer", "model"}, true}},
                                      {"regather_sequence", {out.regatherSequence, {"true", "false"}}},
                                      {"stages", {out.stages, {"any", "uniform"}, true}}};
    auto found = by.find(pair.key.text);
    if (found == by.end())
      return false;
    const std::string &key = found->first;
    Choices &choices = found->second;
    choices.into = wordsOf(value, diags, key, choices.known);
    if (key == "offload")
      out.offloadAt = value.range;
    if (choices.one && choices.into.size() > 1)
      diags.error(Code::ChoiceNotAllowed, value.range,
                  fmt::format("'{}' is one of {}: nothing searches for it", key, fmt::join(choices.known, " and ")));
    return true;
  }

  void search(const ast::Node &node) {
    std::map<std::string, SourceRange> seen;
    const std::vector<std::string> keys{"microbatch",
                                        "tensor_parallel",
                                        "pipeline_parallel",
                                        "data_parallel",
                                        "sequence_parallel",
                                        "expert_parallel",
                                        "zero",
                                        "recompute",
                                        "schedule",
                                        "offload",
                                        "tensor_overlap",
                                        "rank_order",
                                        "transfers",
                                        "table_parallel",
                                        "recompute_granularity",
                                        "regather_sequence",
                                        "stages",
                                        "max_stages"};
    for (const ast::Entry &entry : node.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      if (!pair) {
        diags.error(Code::UnknownEntryKind, entry.range, "'search' holds settings and their choices")
            .help("for example: search { microbatch = pow2 1..8 }");
        continue;
      }
      auto [it, isNew] = seen.try_emplace(pair->key.text, pair->key.range);
      if (!isNew) {
        diags.error(Code::DuplicateKey, pair->key.range, fmt::format("'{}' is given twice", pair->key.text))
            .note(it->second, "the first time");
        continue;
      }
      Constant value = evaluate(*pair->value, diags, lookup);
      if (value.failed())
        continue;
      if (auto *choice = value.as<Choice>(); choice && choice->kind == Choice::Kind::Set && choice->members->empty()) {
        diags.error(Code::EmptyRange, value.range, fmt::format("'{}' has no value to choose from", pair->key.text));
        continue;
      }
      if (pair->key.text == "max_stages" && value.as<Choice>()) {
        diags.error(Code::ChoiceNotAllowed, value.range, "'max_stages' is one number: nothing searches for it");
      } else if (pair->key.text == "microbatch") {
        if (auto sizes = integersOf(value, diags, "microbatch"))
          out.microbatches = *sizes;
        out.microbatchAt = value.range;
      } else if (pair->key.text == "recompute") {
        out.recomputes = recomputesOf(value, diags);
      } else if (pair->key.text == "schedule") {
        schedule(value);
      } else if (pair->key.text == "zero") {
        zero(value);
      } else if (words(*pair, value)) {
        continue;
      } else if (llvm::is_contained(keys, pair->key.text)) {
        degree(pair->key, value);
      } else {
        diags.error(Code::UnknownKey, pair->key.range, fmt::format("'search' has no '{}'", pair->key.text))
            .suggest(nearest(pair->key.text, keys))
            .help(fmt::format("'search' knows {}", fmt::join(keys, ", ")));
      }
    }
  }

  void data(const ast::Node &node) {
    const std::vector<std::string> keys{"loader", "prefetch"};
    std::map<std::string, SourceRange> seen;
    DataLoader dataLoader;
    size_t before = diags.errors();
    for (const ast::Entry &entry : node.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      if (!pair || !llvm::is_contained(keys, pair->key.text)) {
        auto error = diags.error(Code::UnknownKey, pair ? pair->key.range : entry.range,
                                 pair ? fmt::format("'data' has no '{}'", pair->key.text)
                                      : "'data' holds 'loader' and 'prefetch'");
        if (pair)
          error.suggest(nearest(pair->key.text, keys));
        continue;
      }
      auto [it, isNew] = seen.try_emplace(pair->key.text, pair->key.range);
      if (!isNew) {
        diags.error(Code::DuplicateKey, pair->key.range, fmt::format("'{}' is given twice", pair->key.text))
            .note(it->second, "the first time");
        continue;
      }
      Constant value = evaluate(*pair->value, diags, lookup);
      if (pair->key.text == "loader")
        dataLoader.rate = loaderRate(value);
      else if (value.as<Choice>())
        diags.error(Code::ChoiceNotAllowed, value.range, "'prefetch' is one number: nothing searches for it");
      else if (auto depth = integersOf(value, diags, "prefetch", 0))
        dataLoader.prefetch = depth->front();
    }
    if (!seen.count("loader") && diags.errors() == before)
      diags.error(Code::MissingKey, node.kind.range, "'data' does not say how fast its loader is")
          .help("add 'loader = 2 GB/s', the bytes of input it delivers per second");
    if (diags.errors() != before)
      return;
    if (!seen.count("prefetch"))
      out.assumptions.push_back(
          fmt::format("data states no prefetch: {} batches are loaded ahead", dataLoader.prefetch));
    out.dataLoader = dataLoader;
    out.dataLoaderAt = seen["loader"];
  }

  BytesPerSecond loaderRate(const Constant &value) {
    auto *rate = value.as<Quantity>();
    Dimension bandwidth = Dimension::of(Base::Byte) / Dimension::of(Base::Second);
    if (value.failed())
      return {};
    if (!rate || rate->dimension != bandwidth)
      diags
          .error(rate && rate->dimensionless() ? Code::MissingUnit : Code::WrongDimension, value.range,
                 fmt::format("'loader' is a {}, not {}", describe(bandwidth), value.describe()))
          .help("for example: loader = 2 GB/s");
    else if (rate->value.sign() <= 0)
      diags.error(Code::OutOfRange, value.range, fmt::format("'loader' is positive, but this is {}", rate->print()));
    else
      return BytesPerSecond(rate->toDouble());
    return {};
  }

  mlir::MLIRContext &context;
  Diagnostics &diags;
  const Lookup &lookup;
  SourceRange objectiveAt;
};

} // namespace

void rejectObjective(const ObjectiveExpression &expression, Diagnostics &diags) {
  auto *word = expression.value->as<Word>();
  std::vector<std::string> minimized;
  for (const ObjectiveFormula &formula : objectiveFormulas())
    if (formula.minimize)
      minimized.push_back(formula.minimize);
  std::string last = minimized.back(),
              others = fmt::format("{}", fmt::join(minimized.begin(), minimized.end() - 1, ", "));
  minimized.insert(minimized.begin(), "throughput");
  diags
      .error(Code::UnknownChoice, expression.at,
             fmt::format("{} is no objective of a training", expression.value->describe()))
      .suggest(nearest(word ? llvm::StringRef(word->text) : "", minimized))
      .help(fmt::format("maximize throughput or throughput / power.tdp, or minimize {} or {}", others, last));
}

TrainSettings trainSettings(const ast::Declaration &train, mlir::MLIRContext &context, Diagnostics &diags,
                            const Lookup &lookup) {
  Reader reader(context, diags, lookup);
  reader.read(train);
  return std::move(reader.out);
}

} // namespace accord
