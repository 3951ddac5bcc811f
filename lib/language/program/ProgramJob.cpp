// Which training job a program means, with what the command line adds to it.
#include "lib/language/program/ProgramData.h"
#include "lib/language/requests/Requirements.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

namespace accord {

/// Of a file's models the one that is named like the file is meant; else there must be only one.
const ast::Declaration *Program::Data::pick(std::vector<const ast::Declaration *> candidates) {
  if (candidates.size() == 1)
    return candidates[0];
  llvm::StringRef stem = llvm::sys::path::stem(diags.sources().path(main->file->id));
  for (const ast::Declaration *candidate : candidates)
    if (candidate->name.text == stem)
      return candidate;
  return nullptr;
}

/// `expr` stands in `from`; a training or a member `by` asks.
bool Program::Data::modelCall(const ast::Expr *expr, const ast::Declaration &from, const ast::Name &by,
                              TrainingJob &job) {
  auto *call = expr ? expr->as<ast::Call>() : nullptr;
  auto *reference = call ? call->callee->as<ast::Reference>() : expr ? expr->as<ast::Reference>() : nullptr;
  if (!reference) {
    bool train = from.kind == ast::DeclarationKind::Train;
    diags
        .error(Code::WrongType, expr ? expr->range : by.range,
               fmt::format("{} '{}' does not say which model it trains", train ? "training" : "member", by.text))
        .help(train ? "for example: train t = gpt2(layers = 12) on a100_80g { … }"
                    : "for example: member wide = gpt2(hidden = 1024)");
    return false;
  }
  SourceRange at = call ? call->callee->range : expr->range;
  job.model = sources.find(reference->name, from, at);
  if (!job.model || job.model->kind != ast::DeclarationKind::Model) {
    std::vector<std::string> models = sources.names(*main, ast::DeclarationKind::Model);
    if (job.model)
      diags
          .error(Code::WrongNameKind, at,
                 fmt::format("'{}' is {}, not a model", reference->name, ast::withArticle(job.model->kind)))
          .note(job.model->name.range, "declared here");
    else
      diags.error(Code::UnknownName, at, fmt::format("unknown model '{}'", reference->name))
          .suggest(nearest(reference->name, models));
    return false;
  }
  job.arguments = call ? &call->arguments : nullptr;
  return true;
}

std::optional<TrainingJob> Program::Data::ofTrain(const ast::Declaration &train, const ast::Node *member) {
  TrainingJob job;
  const ast::Name &name = member ? member->name : train.name;
  job.name = name.text;
  job.declaration = &train;
  job.target = train.target.text;
  job.targetAt = train.target.range;
  size_t before = diags.errors();
  modelCall(member ? member->value.get() : train.value.get(), train, name, job);
  TrainSettings settings = trainSettings(train, context, diags, lookupIn(train));
  job.batch = settings.batch.value_or(1);
  job.precision = settings.precision;
  job.microbatches = std::move(settings.microbatches);
  job.microbatchAt = settings.microbatchAt;
  job.dataLoader = settings.dataLoader;
  job.dataLoaderAt = settings.dataLoaderAt;
  job.parallel = std::move(settings.parallel);
  job.zero = std::move(settings.zero);
  job.zeroAt = settings.zeroAt;
  job.schedules = std::move(settings.schedules);
  job.virtualStages = std::move(settings.virtualStages);
  job.scheduleAt = settings.scheduleAt;
  job.offloads = std::move(settings.offloads);
  job.offloadAt = settings.offloadAt;
  job.tensorOverlaps = std::move(settings.tensorOverlaps);
  job.orders = std::move(settings.orders);
  job.transfers = std::move(settings.transfers);
  job.tables = std::move(settings.tables);
  job.recomputeGranularity = std::move(settings.recomputeGranularity);
  job.regatherSequence = std::move(settings.regatherSequence);
  job.stages = std::move(settings.stages);
  job.recomputeStated = !settings.recomputes.empty();
  if (job.recomputeStated)
    job.recomputes = std::move(settings.recomputes);
  job.objective = settings.objective.value_or(Objective::Throughput);
  job.placementObjective = settings.placementObjective;
  job.objectiveAt = settings.objectiveAt;
  if (settings.expression && !options.mines)
    rejectObjective(*settings.expression, diags);
  job.expression = std::move(settings.expression);
  job.placementConstraints = std::move(settings.placementConstraints);
  job.samples = settings.samples, job.tokens = settings.tokens;
  job.amountAt = settings.amountAt;
  job.assumptions = std::move(settings.assumptions);
  if (settings.optimizer)
    job.optimizer = dnn::OptimizerKindAttr::get(&context, *settings.optimizer);
  for (auto &[condition, entry] : settings.requirements) {
    auto *rule = entry->as<ast::Rule>();
    std::string text = rule->label.empty() ? diags.sources().text(rule->expr->range).str() : rule->label.text;
    job.conditions.push_back(std::make_shared<Constant>(condition));
    job.requirements.push_back(requirement(condition, text, diags.sources().location(entry->range)));
  }
  requirements = std::move(settings.requirements);
  for (const ast::Declaration &other : main->file->declarations)
    if (other.kind == ast::DeclarationKind::Sparsity && other.target.text == train.name.text && !options.prunes)
      job.assumptions.push_back(fmt::format("nothing is zero: `accord prune` looks at 'sparsity for {}'", job.name));
  return diags.errors() == before ? std::optional(std::move(job)) : std::nullopt;
}

TrainingJob Program::Data::ofModel(const ast::Declaration &model) {
  TrainingJob job;
  job.name = model.name.text;
  job.model = &model;
  if (options.batch.empty())
    job.assumptions.push_back("batch = 1: the file has no training; --batch changes it");
  if (options.precision.empty())
    job.assumptions.push_back("precision = mixed(bf16): the file has no training; --precision changes it");
  if (options.optimizer.empty())
    job.assumptions.push_back("optimizer = adam: the file has no training; --optimizer changes it");
  return job;
}

/// An expression given on the command line; on a line of its own, which is what an error shows.
std::optional<Constant> Program::Data::written(const std::string &text, const char *option) {
  FileId id = diags.sources().add(fmt::format("<{}>.dnn", option), fmt::format("let value =\n{}", text));
  auto tree = parse(diags, id);
  if (!tree || !tree->complete || tree->declarations.size() != 1 || !tree->declarations[0].value)
    return std::nullopt;
  return evaluate(*tree->declarations[0].value, diags, [](llvm::StringRef, SourceRange) { return std::nullopt; });
}

/// `--metric "maximize EXPR"`, or what is minimized.
std::optional<ObjectiveExpression> Program::Data::metric() {
  llvm::StringRef text = llvm::StringRef(options.metric).trim();
  bool maximize = text.consume_front("maximize ");
  if (!maximize)
    text.consume_front("minimize ");
  size_t before = diags.errors();
  auto value = written(text.str(), "--metric");
  if (!value && diags.errors() == before)
    diags.error(Code::BadCommandLine, {}, fmt::format("--metric: '{}' is no expression", options.metric));
  if (!value || value->failed())
    return std::nullopt;
  SourceRange at = value->range;
  return ObjectiveExpression{maximize, text.trim().str(), std::make_shared<Constant>(std::move(*value)), at};
}

bool Program::Data::overrides(TrainingJob &job) {
  size_t before = diags.errors();
  if (!options.metric.empty())
    job.expression = metric();
  if (!options.batch.empty())
    if (auto value = written(options.batch, "--batch"))
      if (auto list = integersOf(*value, diags, "--batch"))
        job.batch = list->front();
  if (!options.microbatch.empty())
    if (auto value = written(options.microbatch, "--microbatch"))
      if (auto list = integersOf(*value, diags, "--microbatch"))
        job.microbatches = *list;
  if (!options.recompute.empty())
    if (auto value = written(options.recompute, "--recompute"))
      if (auto policies = recomputesOf(*value, diags); !policies.empty())
        job.recomputes = std::move(policies), job.recomputeStated = true;
  if (!options.precision.empty())
    if (auto value = written(options.precision, "--precision"))
      job.precision = precisionOf(*value, context, diags);
  if (!options.optimizer.empty())
    if (auto value = written(options.optimizer, "--optimizer"))
      if (auto kind = optimizerOf(*value, diags))
        job.optimizer = dnn::OptimizerKindAttr::get(&context, *kind);
  if (!job.precision) {
    if (job.declaration)
      job.assumptions.push_back("precision = mixed(bf16): the training does not say one");
    job.precision = dnn::PrecisionAttr::get(&context, true, mlir::BFloat16Type::get(&context));
  }
  if (!job.optimizer) {
    if (job.declaration)
      job.assumptions.push_back("optimizer = adam: the training does not say one");
    job.optimizer = dnn::OptimizerKindAttr::get(&context, dnn::OptimizerKind::Adam);
  }
  job.microbatchStated = !job.microbatches.empty();
  if (job.microbatches.empty()) {
    for (int64_t size = 1; job.batch > 0 && job.batch % size == 0; size *= 2) {
      job.microbatches.push_back(size);
      if (size > job.batch / 2)
        break; // doubled it would be above the batch, or pass 2^63
    }
    if (!job.microbatches.empty() && job.microbatches.back() != job.batch)
      job.microbatches.push_back(job.batch);
    job.assumptions.push_back("microbatch: powers of two that divide the batch, as nothing says which");
  } else if (llvm::none_of(job.microbatches, [&](int64_t size) { return job.batch % size == 0; })) {
    bool one = job.microbatches.size() == 1;
    diags.error(Code::BatchNotDivisible, options.microbatch.empty() ? job.microbatchAt : SourceRange{},
                fmt::format("{} {} {} the batch of {}", one ? "the micro-batch of" : "none of the micro-batches",
                            fmt::join(job.microbatches, ", "), one ? "does not divide" : "divides", job.batch));
  }
  return diags.errors() == before;
}

std::optional<TrainingJob> Program::job() {
  Data &d = *data;
  if (!d.main)
    return std::nullopt;
  if (!d.options.member.empty()) {
    auto job = d.jobOfMember();
    if (!job || !d.overrides(*job))
      return std::nullopt;
    if (!d.options.target.empty()) {
      job->target = d.options.target;
      job->targetAt = {};
    }
    return job;
  }
  std::vector<const ast::Declaration *> trains, models;
  std::vector<std::string> names;
  const ast::Declaration *chosen = nullptr;
  for (const ast::Declaration &declaration : d.main->file->declarations) {
    if (declaration.kind == ast::DeclarationKind::Train)
      trains.push_back(&declaration);
    else if (declaration.kind == ast::DeclarationKind::Model)
      models.push_back(&declaration);
    else if (declaration.name.text == d.options.train && !d.options.train.empty()) {
      bool later = declaration.kind == ast::DeclarationKind::Jobs;
      auto error = d.diags.error(
          later ? Code::JobsNotSupported : Code::WrongNameKind, declaration.name.range,
          later ? fmt::format("not supported yet: jobs '{}'", d.options.train)
                : fmt::format("'{}' is {}, nothing to train", d.options.train, ast::withArticle(declaration.kind)));
      if (declaration.kind == ast::DeclarationKind::Ensemble)
        error.help("`accord vote` chooses its members");
      return std::nullopt;
    }
  }
  for (auto *list : {&trains, &models})
    for (const ast::Declaration *one : *list) {
      names.push_back(one->name.text);
      if (one->name.text == d.options.train)
        chosen = one;
    }
  SourceRange start{d.main->file->id, 0, 0};
  if (!d.options.train.empty() && !chosen) {
    d.diags
        .error(Code::UnknownName, start,
               fmt::format("--train: no training or model '{}' in this file", d.options.train))
        .suggest(nearest(d.options.train, names));
    return std::nullopt;
  }
  if (!chosen && !trains.empty()) {
    chosen = d.pick(trains);
    if (!chosen) {
      auto error = d.diags.error(Code::AmbiguousTraining, trains[0]->name.range, "the file has several trainings")
                       .help("choose one with --train");
      for (const ast::Declaration *one : trains)
        error.note(one->name.range, fmt::format("--train {}", one->name.text));
      return std::nullopt;
    }
  } else if (!chosen && !models.empty()) {
    chosen = d.pick(models);
    if (!chosen) {
      auto error =
          d.diags.error(Code::AmbiguousModel, models[0]->name.range, "the file has several models and no training")
              .help("choose one with --train");
      for (const ast::Declaration *one : models)
        error.note(one->name.range, fmt::format("--train {}", one->name.text));
      return std::nullopt;
    }
  } else if (!chosen) {
    if (d.main->file->complete && !d.diags.hasErrors())
      d.diags.error(Code::NoTraining, start, "the file has nothing to train")
          .help("declare a model, and a 'train' block that says on what and how");
    return std::nullopt;
  }
  std::optional<TrainingJob> job =
      chosen->kind == ast::DeclarationKind::Train ? d.ofTrain(*chosen) : std::optional(d.ofModel(*chosen));
  if (!job || !d.overrides(*job))
    return std::nullopt;
  if (!d.options.target.empty()) {
    job->target = d.options.target;
    job->targetAt = {};
  }
  return job;
}

} // namespace accord
