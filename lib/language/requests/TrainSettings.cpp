#include "lib/language/requests/TrainSettings.h"
#include "lib/language/requests/BlockReader.h"
#include "lib/language/requests/LayerConstraints.h"
#include "lib/language/requests/RequestKeys.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

class Reader {
public:
  Reader(TrainingJob &job, mlir::MLIRContext &context, Diagnostics &diags, const Lookup &lookup)
      : out(job), context(context), diags(diags), lookup(lookup) {}
  Conditions conditions;

  void read(const ast::Declaration &train) {
    bool infers = out.inference.has_value();
    std::string what = infers ? "an inference" : "a training";
    BlockReader block(diags, lookup, what);
    std::string meant; // by a key that is misspelt
    const std::vector<std::string> &keys = requestKeyNames(infers ? "infer" : "train");
    for (const ast::Entry &entry : train.entries) {
      if (auto *rule = entry.as<ast::Rule>()) {
        readRule(*rule, entry);
        continue;
      }
      auto *pair = entry.as<ast::KeyValue>();
      auto *node = entry.as<ast::Node>();
      const ast::Name *key = pair ? &pair->key : node ? &node->kind : nullptr;
      if (!key) {
        diags.error(Code::UnknownEntryKind, entry.range, fmt::format("{} has no paths", what));
        continue;
      }
      bool isBlock = key->text == "search" || key->text == "data" || key->text == "checkpoint";
      if (block.once(*key)) {
        if (!llvm::is_contained(keys, key->text))
          diags.error(Code::UnknownKey, key->range, fmt::format("{} has no '{}'", what, key->text))
              .suggest(meant = nearest(key->text, keys))
              .help(fmt::format("keys of {}: {}", what, fmt::join(keys, ", ")));
        else if (isBlock != (node != nullptr))
          diags.error(Code::WrongType, key->range,
                      node ? fmt::format("'{}' is given with '='", key->text)
                           : fmt::format("'{}' is a block: {} {{ … }}", key->text, key->text));
        else if (node)
          key->text == "search" ? search(*node) : key->text == "data" ? data(*node) : checkpoint(*node);
        else
          setting(*key, block.value(*pair->value));
      }
      if (entry.clauses().per)
        diags.error(Code::UnexpectedClause, entry.clauses().per->range,
                    fmt::format("'{}' of {} takes no 'per'", key->text, what));
    }
    if (!block.given("batch") && meant != "batch")
      diags
          .error(Code::MissingKey, train.name.range,
                 fmt::format("{} '{}' does not say its batch", infers ? "inference" : "training", train.name.text))
          .help(infers ? "add 'batch = 1', the samples that are answered together"
                       : "add 'batch = 32', the samples per step");
    if (infers)
      settlePhase(train);
    settleAmount();
  }

private:
  void setting(const ast::Name &key, const Constant &value) {
    if (key.text == "batch")
      batch(value);
    else if (key.text == "precision")
      out.inference ? servedPrecision(value) : void(out.precision = precisionOf(value, context, diags));
    else if (key.text == "optimizer")
      out.optimizer = optimizerOf(value, context, diags);
    else if (out.inference)
      inference(key, value);
    else if (key.text == "epochs")
      epochs = count(key, value), epochsAt = key.range;
    else
      amount(key, value);
  }

  // ---- Inference

  /// Numbers of 8 bits have scales: of "fp8" the products alone, of "int8" all numbers.
  void servedPrecision(const Constant &value) {
    auto *word = value.as<Word>();
    if (word && word->text == "int8")
      out.inference->valueBits = 8;
    if (word && (word->text == "int8" || word->text == "fp8")) {
      mlir::Type element = word->text == "int8" ? mlir::Type(mlir::Float16Type::get(&context))
                                                : mlir::Type(mlir::BFloat16Type::get(&context));
      mlir::Type products = word->text == "int8" ? element : mlir::Type(mlir::Float8E4M3FNType::get(&context));
      out.precision = dnn::PrecisionAttr::get(&context, false, element, element, products);
    } else if (auto *call = value.as<CallValue>(); call && call->name == "mixed")
      diags
          .error(Code::UnknownPrecision, value.range,
                 "'mixed' is of trainings: it keeps weights in fp32 for the optimizer, and inference has none")
          .help("write the type of its argument alone, such as bf16");
    else if (const std::vector<std::string> known{"fp32", "tf32", "bf16", "fp16", "fp8", "int8"};
             !value.failed() && (!word || !llvm::is_contained(known, word->text)))
      diags.error(Code::UnknownPrecision, value.range, fmt::format("{} is no precision", value.describe()))
          .suggest(nearest(word ? word->text : "", known))
          .help(fmt::format("precisions of an inference: {}", fmt::join(known, ", ")));
    else
      out.precision = precisionOf(value, context, diags);
  }

  void inference(const ast::Name &key, const Constant &value) {
    InferenceRequest &into = *out.inference;
    if (key.text == "phase") {
      using P = InferenceRequest::Phase;
      into.phaseAt = value.range;
      auto words = wordsOf(value, diags, "phase", {"forward", "prefill", "decode"});
      if (words.size() == 1)
        into.phase = words[0] == "decode" ? P::Decode : words[0] == "prefill" ? P::Prefill : P::Forward;
      else if (!words.empty())
        diags.error(Code::ChoiceNotAllowed, value.range, "'phase' is one word: another phase is another inference");
    } else if (key.text == "engine") {
      auto words = wordsOf(value, diags, "engine", {"compiled", "eager"});
      if (words.size() > 1)
        diags.error(Code::ChoiceNotAllowed, value.range, "'engine' is one word: nothing searches for it");
      else if (words.size() == 1)
        into.compiled = words[0] == "compiled";
    } else if (key.text == "cache") {
      auto words = wordsOf(value, diags, "cache", {"fp8", "int8"});
      if (words.size() > 1)
        diags.error(Code::ChoiceNotAllowed, value.range, "'cache' is one word: nothing searches for it");
      into.cacheBits = words.size() == 1 ? 8 : 0;
    } else if (key.text == "weights") {
      auto words = wordsOf(value, diags, "weights", {"int8", "int4"});
      if (words.size() == 1)
        into.weightBits = words[0] == "int4" ? 4 : 8;
      else if (!words.empty())
        diags.error(Code::ChoiceNotAllowed, value.range, "'weights' is one word: nothing searches for it");
    } else if (auto list = value.as<Choice>() ? std::nullopt : integersOf(value, diags, key.text)) {
      if (key.text == "context")
        into.context = list->front(), into.contextAt = value.range;
      else
        into.groupSize = list->front(), groupAt = value.range;
    } else if (value.as<Choice>())
      diags.error(Code::ChoiceNotAllowed, value.range,
                  fmt::format("'{}' is one number: nothing searches for it", key.text));
  }

  void settlePhase(const ast::Declaration &block) {
    InferenceRequest &all = *out.inference;
    bool decodes = all.phase == InferenceRequest::Phase::Decode;
    if (decodes && !all.contextAt.valid())
      diags
          .error(Code::MissingKey, all.phaseAt.valid() ? all.phaseAt : block.name.range,
                 "'decode' does not say how many tokens attention sees")
          .help("add 'context = 2048', those of the prompt and those that were made");
    if (!decodes && all.contextAt.valid())
      diags
          .error(Code::UnexpectedClause, all.contextAt,
                 "'context' is of 'phase = decode': here the model says how long its input is")
          .help("state it as the model's argument, such as 'seq = 2048', or add 'phase = decode'");
    if (all.groupSize > 0 && all.weightBits == 0)
      diags
          .error(Code::MissingKey, groupAt,
                 "'group' is of weights that are stored in fewer bits, and 'weights' is not given")
          .help("add 'weights = int4'");
  }

  /// Steps and epochs as samples: an epoch has the samples or tokens that are stated.
  void settleAmount() {
    if (steps > 0)
      out.samples = steps * static_cast<double>(out.batch);
    if (epochs <= 0)
      return;
    if (out.samples <= 0 && out.tokens <= 0)
      diags.error(Code::MissingKey, epochsAt, "'epochs' does not say how long one is")
          .help("add 'samples = 1281167', those of one epoch");
    else if (steps > 0)
      diags.error(Code::DuplicateKey, epochsAt, "how long to train is stated twice: in steps and in epochs")
          .note(out.amountAt, "the first time");
    out.samples *= epochs, out.tokens *= epochs;
    if (std::max(out.samples, out.tokens) > 0x1p63)
      diags.error(Code::OutOfRange, epochsAt, "all epochs together are more than 2^63");
  }

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
      diags.error(Code::DuplicateKey, key.range, "how long to train is stated twice: in samples, tokens or steps")
          .note(out.amountAt, "the first time");
      return;
    }
    out.amountAt = key.range;
    (key.text == "tokens" ? out.tokens : key.text == "steps" ? steps : out.samples) = count(key, value);
  }

  /// 0 after an error.
  double count(const ast::Name &key, const Constant &value) {
    if (value.failed())
      return 0;
    auto *number = value.as<Quantity>();
    double count = number && number->dimensionless() ? number->toDouble() : 0;
    if (!number || !number->dimensionless())
      diags.error(Code::WrongType, value.range, fmt::format("'{}' is a number, not {}", key.text, value.describe()))
          .help(fmt::format("for example: {0} = 300 G or {0} = 300e9", key.text));
    else if (!(count >= 1 && count <= 0x1p63))
      diags.error(Code::OutOfRange, value.range,
                  fmt::format("'{}' is 1 to 2^63, but this is {}", key.text, number->print()));
    else
      return count;
    return 0;
  }

  void checkpoint(const ast::Node &node) {
    BlockReader block(diags, lookup, "'checkpoint'");
    const std::vector<std::string> &keys = requestKeyNames("checkpoint");
    for (const ast::Entry &entry : node.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      if (!pair || !llvm::is_contained(keys, pair->key.text)) {
        auto error =
            diags.error(Code::UnknownKey, pair ? pair->key.range : entry.range,
                        pair ? fmt::format("'checkpoint' has no '{}'", pair->key.text) : "'checkpoint' holds settings");
        if (pair)
          error.suggest(nearest(pair->key.text, keys));
        error.help(fmt::format("'checkpoint' knows {}", fmt::join(keys, ", ")));
        continue;
      }
      if (!block.once(pair->key))
        continue;
      Constant value = block.value(*pair->value);
      const std::string &key = pair->key.text;
      CheckpointRequest &into = out.checkpoint;
      if (key == "every")
        into.every = positive(pair->key, value, Dimension::of(Base::Second), "3 h");
      else if (key == "bytes")
        into.bytes = positive(pair->key, value, Dimension::of(Base::Byte), "2.3 TB");
      else if (key == "every_steps")
        into.everySteps = count(pair->key, value);
      else
        asynchronous(value);
    }
    if (out.checkpoint.every > 0 && out.checkpoint.everySteps > 0)
      diags.error(Code::DuplicateKey, node.kind.range,
                  "how often a checkpoint is written is stated twice: as a time and in steps");
  }

  void asynchronous(const Constant &value) {
    auto words = wordsOf(value, diags, "asynchronous", {"true", "false"});
    if (words.size() > 1)
      diags.error(Code::ChoiceNotAllowed, value.range, "'asynchronous' is true or false: nothing searches for it");
    if (words.size() != 1)
      return;
    out.checkpoint.asynchronousStated = true;
    out.checkpoint.asynchronous = words.front() == "true";
  }

  /// In the base unit of the dimension; 0 after an error.
  double positive(const ast::Name &key, const Constant &value, const Dimension &dimension, const char *example) {
    auto *number = value.as<Quantity>();
    if (value.failed())
      return 0;
    if (!number || number->dimension != dimension)
      diags
          .error(number && number->dimensionless() ? Code::MissingUnit : Code::WrongDimension, value.range,
                 fmt::format("'{}' is a {}, not {}", key.text, describe(dimension), value.describe()))
          .help(fmt::format("for example: {} = {}", key.text, example));
    else if (number->value.sign() <= 0)
      diags.error(Code::OutOfRange, value.range,
                  fmt::format("'{}' is positive, but this is {}", key.text, number->print()));
    else
      return number->toDouble();
    return 0;
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
      conditions.push_back({std::move(value), &entry});
      return;
    case ast::RuleKind::Prefer:
      diags
          .error(Code::NotSupported, entry.range,
                 fmt::format("not supported yet: 'prefer' in {}", out.inference ? "an inference" : "a training"))
          .help("use 'require' or an objective");
      return;
    case ast::RuleKind::Maximize:
    case ast::RuleKind::Minimize:
      break;
    }
    if (out.objectiveAt.valid()) {
      diags
          .error(Code::SeveralObjectives, entry.range,
                 fmt::format("{} has one objective", out.inference ? "an inference" : "a training"))
          .note(out.objectiveAt, "the first is here");
      return;
    }
    out.objectiveAt = entry.range;
    bool maximize = rule.kind == ast::RuleKind::Maximize;
    auto *word = value.as<Word>();
    llvm::StringRef name = word ? llvm::StringRef(word->text) : "";
    if (out.inference && name == "latency")
      name = "step_time";
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
    auto stages = integersOf(value, diags, "zero", /*min=*/0);
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
    out.scheduleAt = value.range;
    for (const Constant &member : membersOf(value)) {
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
      if (auto virtualStages = integersOf(*call->arguments[0].second, diags, text, /*min=*/2, /*max=*/64))
        out.virtualStages.insert(out.virtualStages.end(), virtualStages->begin(), virtualStages->end());
    }
    llvm::sort(out.virtualStages);
    out.virtualStages.erase(std::unique(out.virtualStages.begin(), out.virtualStages.end()), out.virtualStages.end());
  }

  void words(const PlacementWords &choices, const Constant &value) {
    out.*choices.into = wordsOf(value, diags, choices.key, choices.known);
    if (choices.key == "offload")
      out.offloadAt = value.range;
    if (choices.single && (out.*choices.into).size() > 1)
      diags.error(
          Code::ChoiceNotAllowed, value.range,
          fmt::format("'{}' is one of {}: nothing searches for it", choices.key, fmt::join(choices.known, " and ")));
  }

  void search(const ast::Node &node) {
    BlockReader block(diags, lookup, "'search'");
    const std::vector<std::string> &keys = requestKeyNames("search");
    for (const ast::Entry &entry : node.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      if (!pair) {
        diags.error(Code::UnknownEntryKind, entry.range, "'search' holds settings and their choices")
            .help("for example: search { microbatch = pow2 1..8 }");
        continue;
      }
      const std::string &key = pair->key.text;
      Constant value = block.once(pair->key) ? block.value(*pair->value) : Constant{};
      if (value.failed())
        continue;
      auto *choice = value.as<Choice>();
      auto *choices = llvm::find_if(placementWords(), [&](const PlacementWords &one) { return one.key == key; });
      if (choice && choice->kind == Choice::Kind::Set && choice->members->empty())
        diags.error(Code::EmptyRange, value.range, fmt::format("'{}' has no value to choose from", key));
      else if (key == "max_stages" && choice)
        diags.error(Code::ChoiceNotAllowed, value.range, "'max_stages' is one number: nothing searches for it");
      else if (key == "recompute")
        readRecomputes(value, out, diags);
      else if (key == "schedule")
        schedule(value);
      else if (key == "zero")
        zero(value);
      else if (choices != placementWords().end())
        words(*choices, value);
      else if (!llvm::is_contained(keys, key))
        diags.error(Code::UnknownKey, pair->key.range, fmt::format("'search' has no '{}'", key))
            .suggest(nearest(key, keys))
            .help(fmt::format("'search' knows {}", fmt::join(keys, ", ")));
      else if (key != "microbatch")
        degree(pair->key, value);
      else {
        out.microbatches = integersOf(value, diags, "microbatch").value_or(out.microbatches);
        out.microbatchAt = value.range;
      }
    }
  }

  void data(const ast::Node &node) {
    BlockReader block(diags, lookup, "'data'");
    const std::vector<std::string> &keys = requestKeyNames("data");
    DataLoader dataLoader;
    size_t before = diags.errors();
    const Dimension byte = Dimension::of(Base::Byte), rate = byte / Dimension::of(Base::Second);
    auto number = [&](const Constant &value, const std::string &key, int64_t low, int64_t high, int64_t &into) {
      if (value.as<Choice>())
        diags
            .error(Code::ChoiceNotAllowed, value.range, fmt::format("'{}' is one number: nothing searches for it", key))
            .help(key == "max_workers" ? "for example: max_workers = 16" : fmt::format("'{} = auto' chooses it", key));
      else if (auto read = block.integer(value, key, low, high))
        into = *read;
    };
    auto numberOrAuto = [&](const Constant &value, const std::string &key, int64_t low, int64_t &into) {
      if (auto *word = value.as<Word>(); word && word->text == "auto")
        into = DataLoader::kAuto;
      else if (word)
        diags.error(Code::UnknownChoice, value.range,
                    fmt::format("'{}' is a number or auto, not {}", key, value.describe()));
      else
        number(value, key, low, INT32_MAX, into);
    };
    for (const ast::Entry &entry : node.entries) {
      auto *pair = entry.as<ast::KeyValue>();
      if (!pair || !llvm::is_contained(keys, pair->key.text)) {
        auto error = diags.error(Code::UnknownKey, pair ? pair->key.range : entry.range,
                                 pair ? fmt::format("'data' has no '{}'", pair->key.text)
                                      : fmt::format("'data' holds {}", fmt::join(keys, ", ")));
        if (pair)
          error.suggest(nearest(pair->key.text, keys));
        continue;
      }
      if (!block.once(pair->key))
        continue;
      const std::string &key = pair->key.text;
      Constant value = block.value(*pair->value);
      if (key == "loader" || key == "worker")
        dataLoader.rate = BytesPerSecond(positive(value, key, rate, "2 GB/s"));
      else if (key == "memory")
        dataLoader.memory = Bytes(positive(value, key, byte, "16 GiB"));
      else if (key == "workers")
        numberOrAuto(value, key, 1, dataLoader.workers);
      else if (key == "max_workers")
        number(value, key, 1, 1 << 16, dataLoader.maxWorkers);
      else if (key == "prefetch")
        numberOrAuto(value, key, 0, dataLoader.prefetch);
      else if (auto variation = block.number(value, key, Rational(0), Rational(4)))
        dataLoader.variation = variation->toDouble();
    }
    if (diags.errors() == before)
      checkWorkers(block, node.kind.range, dataLoader);
    if (diags.errors() != before)
      return;
    if (dataLoader.workers != DataLoader::kAuto)
      dataLoader.maxWorkers = dataLoader.workers;
    if (!block.given("prefetch"))
      out.assumptions.push_back(
          fmt::format("data states no prefetch: {} batches are loaded ahead", dataLoader.prefetch));
    out.dataLoader = dataLoader;
    out.dataLoaderAt = *block.given(block.given("loader") ? "loader" : "worker");
  }

  /// That the rate is of all workers or of one, and that there is a number of these.
  void checkWorkers(const BlockReader &block, SourceRange at, const DataLoader &dataLoader) {
    const SourceRange *loader = block.given("loader"), *worker = block.given("worker");
    const SourceRange *workers = block.given("workers"), *max = block.given("max_workers");
    if (!loader && !worker)
      diags.error(Code::MissingKey, at, "'data' does not say how fast its loader is")
          .help("add 'loader = 2 GB/s', the bytes of input it delivers per second");
    else if (loader && (worker || workers || max))
      diags
          .error(Code::DuplicateKey, *loader,
                 "'loader' is what all workers deliver together, and stands without 'worker' and 'workers'")
          .note(*(worker    ? worker
                  : workers ? workers
                            : max),
                "stated here")
          .help("worker = 60 MB/s, workers = auto, max_workers = 16");
    else if (worker && !workers)
      diags.error(Code::MissingKey, *worker, "'worker' is what one of several delivers, and 'workers' is missing")
          .help("add 'workers = 8', or 'workers = auto, max_workers = 16'");
    else if (worker && dataLoader.workers == DataLoader::kAuto && !max)
      diags.error(Code::MissingKey, *workers, "'workers = auto' does not say how many there may be")
          .help("add 'max_workers = 16'");
    else if (max && dataLoader.workers != DataLoader::kAuto)
      diags.error(Code::DuplicateKey, *max, "'max_workers' limits what 'workers = auto' chooses, but they are stated")
          .note(*workers, "stated here");
  }

  /// A quantity above 0 in base units; 0 after an error.
  double positive(const Constant &value, const std::string &key, const Dimension &dimension, const char *example) {
    auto *found = value.as<Quantity>();
    if (value.failed())
      return 0;
    if (!found || found->dimension != dimension)
      diags
          .error(found && found->dimensionless() ? Code::MissingUnit : Code::WrongDimension, value.range,
                 fmt::format("'{}' is a {}, not {}", key, describe(dimension), value.describe()))
          .help(fmt::format("for example: {} = {}", key, example));
    else if (found->value.sign() <= 0)
      diags.error(Code::OutOfRange, value.range, fmt::format("'{}' is positive, but this is {}", key, found->print()));
    else
      return found->toDouble();
    return 0;
  }

  TrainingJob &out;
  mlir::MLIRContext &context;
  Diagnostics &diags;
  const Lookup &lookup;
  double steps = 0, epochs = 0; ///< 0: not stated
  SourceRange epochsAt, groupAt;
};

} // namespace

llvm::ArrayRef<PlacementWords> placementWords() {
  using J = TrainingJob;
  static const std::vector<PlacementWords> table{
      {"offload", &J::offloads, {"none", "optimizer", "activations", "weights"}},
      {"context_exchange", &J::contextExchanges, {"ring", "all_gather", "all_to_all"}},
      {"tensor_overlap", &J::tensorOverlaps, {"none", "ring"}},
      {"rank_order", &J::orders, {"tensor_data_pipeline", "tensor_pipeline_data"}},
      {"transfers", &J::transfers, {"blocking", "overlapped"}, true},
      {"table_parallel", &J::tables, {"none", "rows", "columns"}},
      {"recompute_granularity", &J::recomputeGranularity, {"layer", "model"}, true},
      {"regather_sequence", &J::regatherSequence, {"true", "false"}},
      {"stages", &J::stages, {"any", "uniform"}, true}};
  return table;
}

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

Conditions readTrainSettings(const ast::Declaration &train, TrainingJob &job, mlir::MLIRContext &context,
                             Diagnostics &diags, const Lookup &lookup) {
  Reader reader(job, context, diags, lookup);
  reader.read(train);
  return std::move(reader.conditions);
}

} // namespace accord
