// Which training job a program means, with what the command line adds to it, and the blocks beside trainings.
#include "lib/language/machines/ElaborateFramework.h"
#include "lib/language/program/ProgramData.h"
#include "lib/language/program/ServerTuning.h"
#include "lib/language/requests/Ensembles.h"
#include "lib/language/requests/Jobs.h"
#include "lib/language/requests/Requirements.h"
#include "lib/language/requests/Sparsity.h"
#include "lib/language/requests/Tuning.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

namespace accord {

/// Of several trainings or models the one that is named like the file is meant; else they are reported.
const ast::Declaration *Program::Data::pick(const std::vector<const ast::Declaration *> &candidates, Code code,
                                            const char *several) {
  if (candidates.size() == 1)
    return candidates[0];
  llvm::StringRef stem = llvm::sys::path::stem(diags.sources().path(main->file->id));
  for (const ast::Declaration *candidate : candidates)
    if (candidate->name.text == stem)
      return candidate;
  auto error = diags.error(code, candidates[0]->name.range, several).help("choose one with --train");
  for (const ast::Declaration *one : candidates)
    error.note(one->name.range, fmt::format("--train {}", one->name.text));
  return nullptr;
}

/// `expr` stands in `from`; a training or a member `by` asks.
bool Program::Data::modelCall(const ast::Expr *expr, const ast::Declaration &from, const ast::Name &by,
                              TrainingJob &job) {
  auto *call = expr ? expr->as<ast::Call>() : nullptr;
  auto *reference = call ? call->callee->as<ast::Reference>() : expr ? expr->as<ast::Reference>() : nullptr;
  if (!reference) {
    bool train = ast::runsModel(from.kind);
    std::string owner = from.kind == ast::DeclarationKind::Infer ? "inference" : "training";
    diags
        .error(Code::WrongType, expr ? expr->range : by.range,
               fmt::format("{} '{}' does not say which model it {}", train ? owner : "member", by.text,
                           from.kind == ast::DeclarationKind::Infer ? "runs" : "trains"))
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
  if (train.kind == ast::DeclarationKind::Infer)
    job.inference.emplace();
  size_t before = diags.errors();
  modelCall(member ? member->value.get() : train.value.get(), train, name, job);
  requirements = readTrainSettings(train, job, context, diags, lookupIn(train));
  if (job.expression && !options.mines)
    rejectObjective(*job.expression, diags);
  for (auto &[condition, entry] : requirements) {
    job.conditions.push_back(std::make_shared<Constant>(condition));
    job.requirements.push_back(requirement(condition, textOf(*entry), diags.sources().location(entry->range)));
  }
  for (const ast::Declaration &other : main->file->declarations)
    if (other.kind == ast::DeclarationKind::Sparsity && other.target.text == train.name.text && !options.prunes)
      job.assumptions.push_back(fmt::format("nothing is zero: `accord prune` looks at 'sparsity for {}'", job.name));
  return diags.errors() == before ? std::optional(std::move(job)) : std::nullopt;
}

void Program::Data::checkTrain(const ast::Declaration &train) {
  TrainingJob ignored;
  ignored.name = train.name.text;
  if (train.kind == ast::DeclarationKind::Infer)
    ignored.inference.emplace();
  if (train.value)
    modelCall(train.value.get(), train, train.name, ignored);
  readTrainSettings(train, ignored, context, diags, lookupIn(train));
  const std::string &target = train.target.text;
  if (options.target.empty() && !target.empty() && !sources.find(*main, target, train.target.range) &&
      !sources.catalogFileOf(target))
    reportUnknownMachine(target, train.target.range);
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

/// The optimizer where neither the file nor the command line says it; inference has none.
void Program::Data::settleDefaults(TrainingJob &job) {
  if (job.inference) {
    if (!options.optimizer.empty())
      diags.error(Code::BadCommandLine, {}, "--optimizer: inference has no optimizer");
    job.optimizer = dnn::OptimizerKindAttr::get(&context, dnn::OptimizerKind::None);
  }
  if (!job.optimizer) {
    if (job.declaration)
      job.assumptions.push_back("optimizer = adam: the training does not say one");
    job.optimizer = dnn::OptimizerKindAttr::get(&context, dnn::OptimizerKind::Adam);
  }
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
      readRecomputes(*value, job, diags);
  if (!options.precision.empty())
    if (auto value = written(options.precision, "--precision"))
      job.precision = precisionOf(*value, context, diags);
  if (!options.optimizer.empty())
    if (auto value = written(options.optimizer, "--optimizer"))
      if (auto kind = optimizerOf(*value, context, diags))
        job.optimizer = kind;
  if (!job.precision) {
    if (job.declaration)
      job.assumptions.push_back(job.inference ? "precision = bf16: the inference does not say one"
                                              : "precision = mixed(bf16): the training does not say one");
    job.precision = dnn::PrecisionAttr::get(&context, !job.inference, mlir::BFloat16Type::get(&context));
  }
  settleDefaults(job);
  job.microbatchStated = !job.microbatches.empty();
  if (job.microbatches.empty() && job.inference) {
    job.microbatches.push_back(job.batch); // nothing is accumulated
  } else if (job.microbatches.empty()) {
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

/// The training or model that `--train` names, or that the file means; null after an error, or if there is none in a
/// file that was not understood.
const ast::Declaration *Program::Data::chosenTraining() {
  std::vector<const ast::Declaration *> trains, models;
  std::vector<std::string> names;
  for (const ast::Declaration &declaration : main->file->declarations) {
    if (ast::runsModel(declaration.kind))
      trains.push_back(&declaration);
    else if (declaration.kind == ast::DeclarationKind::Model)
      models.push_back(&declaration);
    else if (declaration.name.text == options.train && !options.train.empty())
      return rejectTraining(declaration);
  }
  const ast::Declaration *chosen = nullptr;
  for (auto *list : {&trains, &models})
    for (const ast::Declaration *one : *list) {
      names.push_back(one->name.text);
      if (one->name.text == options.train)
        chosen = one;
    }
  if (chosen)
    return chosen;
  SourceRange start{main->file->id, 0, 0};
  if (!options.train.empty()) {
    diags.error(Code::UnknownName, start, fmt::format("--train: no training or model '{}' in this file", options.train))
        .suggest(nearest(options.train, names));
    return nullptr;
  }
  if (!trains.empty())
    return pick(trains, Code::AmbiguousTraining, "the file has several trainings");
  if (!models.empty())
    return pick(models, Code::AmbiguousModel, "the file has several models and no training");
  if (main->file->complete && !diags.hasErrors())
    diags.error(Code::NoTraining, start, "the file has nothing to train")
        .help("declare a model, and a 'train' block that says on what and how");
  return nullptr;
}

/// Reports what `--train` names and cannot be trained.
const ast::Declaration *Program::Data::rejectTraining(const ast::Declaration &declaration) {
  auto error =
      diags.error(Code::WrongNameKind, declaration.name.range,
                  fmt::format("'{}' is {}, nothing to train", options.train,
                              declaration.kind == ast::DeclarationKind::Jobs ? "a jobs block"
                                                                             : ast::withArticle(declaration.kind)));
  if (declaration.kind == ast::DeclarationKind::Ensemble)
    error.help("`accord vote` chooses its members");
  if (declaration.kind == ast::DeclarationKind::Jobs)
    error.help("`accord jobs` schedules them; name one of their trainings");
  return nullptr;
}

std::optional<TrainingJob> Program::job() {
  Data &d = *data;
  if (!d.main)
    return std::nullopt;
  std::optional<TrainingJob> job;
  if (!d.options.member.empty())
    job = d.jobOfMember();
  else if (const ast::Declaration *chosen = d.chosenTraining())
    job = ast::runsModel(chosen->kind) ? d.ofTrain(*chosen) : d.ofModel(*chosen);
  if (!job || !d.overrides(*job))
    return std::nullopt;
  if (!d.options.target.empty()) {
    job->target = d.options.target;
    job->targetAt = {};
  }
  return job;
}

// ---- Blocks beside trainings: sparsity, ensembles and their members

/// Of the main file; null if there is none.
const ast::Declaration *Program::Data::named(ast::DeclarationKind kind, llvm::StringRef name) const {
  for (const ast::Declaration &declaration : main->file->declarations)
    if (declaration.kind == kind && declaration.name.text == name)
      return &declaration;
  return nullptr;
}

/// The training or inference of the main file that has this name; null if there is none.
const ast::Declaration *Program::Data::run(llvm::StringRef name) const {
  const ast::Declaration *train = named(ast::DeclarationKind::Train, name);
  return train ? train : named(ast::DeclarationKind::Infer, name);
}

static std::vector<std::string> trainingsOf(const ast::File &file) {
  std::vector<std::string> names;
  for (const ast::Declaration &declaration : file.declarations)
    if (ast::runsModel(declaration.kind))
      names.push_back(declaration.name.text);
  return names;
}

const std::optional<SparsityRequest> &Program::Data::sparsityOf(const ast::Declaration &block) {
  auto [slot, isNew] = sparsities.try_emplace(&block);
  if (!isNew)
    return slot->second;
  const std::string &target = block.target.text;
  bool known = run(target);
  if (!known && !block.target.empty())
    diags.error(Code::UnknownName, block.target.range, fmt::format("no training '{}' for this sparsity", target))
        .suggest(nearest(target, trainingsOf(*main->file)));
  for (const ast::Declaration &other : main->file->declarations) {
    if (&other == &block)
      break;
    if (known && other.kind == ast::DeclarationKind::Sparsity && other.target.text == target) {
      diags.error(Code::DuplicateName, block.target.range, fmt::format("there is a sparsity for '{}' already", target))
          .note(other.target.range, "the earlier one");
      known = false;
    }
  }
  auto request = sparsityRequest(block, diags, lookupIn(block));
  return slot->second = known ? std::move(request) : std::nullopt;
}

std::optional<SparsityRequest> Program::sparsity(const TrainingJob &job) {
  if (!job.declaration)
    return std::nullopt;
  for (const ast::Declaration &block : data->main->file->declarations)
    if (block.kind == ast::DeclarationKind::Sparsity && block.target.text == job.declaration->name.text)
      return data->sparsityOf(block);
  return std::nullopt;
}

static const ast::Node *memberOf(const ast::Declaration &block, llvm::StringRef name) {
  for (const ast::Entry &entry : block.entries)
    if (auto *node = entry.as<ast::Node>(); node && node->kind.text == "member" && node->name.text == name)
      return node;
  return nullptr;
}

const std::optional<EnsembleRequest> &Program::Data::ensembleOf(const ast::Declaration &block) {
  auto [slot, isNew] = ensembles.try_emplace(&block);
  if (!isNew)
    return slot->second;
  const std::string &target = block.target.text;
  size_t before = diags.errors();
  if (!block.target.empty() && !run(target)) {
    auto *other = sources.find(target, block, block.target.range);
    diags
        .error(other ? Code::WrongNameKind : Code::UnknownName, block.target.range,
               other ? fmt::format("'{}' is {}, not a training", target, ast::withArticle(other->kind))
                     : fmt::format("no training '{}' for this ensemble", target))
        .suggest(nearest(target, trainingsOf(*main->file)))
        .help("members are trained, or answer, as a training or an inference says: ensemble NAME of TRAINING { … }");
  }
  auto request = ensembleRequest(block, diags, lookupIn(block));
  if (request)
    for (const EnsembleRequest::Kind &kind : request->kinds) {
      const ast::Node *node = memberOf(block, kind.name);
      TrainingJob ignored;
      modelCall(node->value.get(), block, node->name, ignored);
    }
  return slot->second = diags.errors() == before ? std::move(request) : std::nullopt;
}

/// The one of a kind that an option names, or the only one of the main file; else they are reported.
const ast::Declaration *Program::Data::chosenBlock(ast::DeclarationKind kind, const std::string &option,
                                                   const std::string &wanted, const char *what, const char *example) {
  if (!main)
    return nullptr;
  std::vector<const ast::Declaration *> all;
  std::vector<std::string> names;
  for (const ast::Declaration &declaration : main->file->declarations)
    if (declaration.kind == kind) {
      all.push_back(&declaration);
      names.push_back(declaration.name.text);
    }
  SourceRange start{main->file->id, 0, 0};
  if (!wanted.empty()) {
    auto *found = named(kind, wanted);
    if (!found)
      diags.error(Code::UnknownName, start, fmt::format("{}: no {} '{}' in this file", option, what, wanted))
          .suggest(nearest(wanted, names));
    return found;
  }
  if (all.size() == 1)
    return all[0];
  if (all.empty()) {
    if (main->file->complete && !diags.hasErrors())
      diags.error(Code::NoTraining, start, fmt::format("the file has no {}", what))
          .help(std::string("declare one: ") + example);
    return nullptr;
  }
  auto error = diags.error(Code::AmbiguousTraining, all[0]->name.range, fmt::format("the file has several {}s", what))
                   .help("choose one with " + option);
  for (const ast::Declaration *one : all)
    error.note(one->name.range, fmt::format("{} {}", option, one->name.text));
  return nullptr;
}

const ast::Declaration *Program::Data::chosenEnsemble() {
  return chosenBlock(ast::DeclarationKind::Ensemble, "--ensemble", options.ensemble, "ensemble",
                     "ensemble NAME of TRAINING { member wide = gpt(hidden = 6144) … }");
}

std::optional<EnsembleRequest> Program::ensemble() {
  const ast::Declaration *block = data->chosenEnsemble();
  if (!block)
    return std::nullopt;
  auto request = data->ensembleOf(*block);
  if (!request)
    return std::nullopt;
  size_t before = data->diags.errors();
  for (const EnsembleRequest::Device &device : request->devices)
    machine(device.machine, rangeOf(device.location, data->diags));
  return data->diags.errors() == before ? request : std::nullopt;
}

const std::optional<jobs::JobsRequest> &Program::Data::jobsOf(const ast::Declaration &block) {
  auto [slot, isNew] = jobBlocks.try_emplace(&block);
  if (!isNew)
    return slot->second;
  size_t before = diags.errors();
  const std::string &cluster = block.target.text;
  if (options.target.empty() && !cluster.empty()) {
    auto *found = sources.find(cluster, block, block.target.range);
    if (found && found->kind != ast::DeclarationKind::Cluster && found->kind != ast::DeclarationKind::Accelerator)
      diags
          .error(Code::WrongNameKind, block.target.range,
                 fmt::format("'{}' is {}, not a cluster", cluster, ast::withArticle(found->kind)))
          .note(found->name.range, "declared here");
    else if (!found && !sources.catalogFileOf(cluster))
      reportUnknownMachine(cluster, block.target.range);
  }
  auto request = jobsRequest(block, *main->file, diags, lookupIn(block));
  if (request && !options.target.empty())
    request->cluster = options.target, request->clusterAt = {};
  return slot->second = diags.errors() == before ? std::move(request) : std::nullopt;
}

std::optional<jobs::JobsRequest> Program::jobs() {
  const ast::Declaration *block = data->chosenBlock(ast::DeclarationKind::Jobs, "--jobs", data->options.jobs,
                                                    "jobs block", "jobs night on CLUSTER { job a = TRAINING { … } }");
  return block ? data->jobsOf(*block) : std::nullopt;
}

const std::optional<tuning::TuningProblem> &Program::Data::tuningOf(const ast::Declaration &block) {
  auto [slot, isNew] = tunings.try_emplace(&block);
  if (!isNew)
    return slot->second;
  if (tunesServer(block)) {
    (void)serverTuningRequest(block, *main->file, diags); // `accord tune` asks for it again, which reports nothing more
    return slot->second;
  }
  const size_t before = diags.errors();
  auto request = tuningRequest(block, diags, lookupIn(block));
  checkPricedBlocks(block, *main->file, diags);
  return slot->second = diags.errors() == before ? std::move(request) : std::nullopt;
}

std::optional<tuning::TuningProblem> Program::tuning() {
  const ast::Declaration *block =
      data->chosenBlock(ast::DeclarationKind::Tuning, "--tuning", data->options.tuning, "tuning",
                        "tuning NAME { search { learning_rate = log(1e-4..0.1) } units = 1..27 maximize accuracy }");
  return block ? data->tuningOf(*block) : std::nullopt;
}

/// The training of the ensemble with the model of the member that the options name.
std::optional<TrainingJob> Program::Data::jobOfMember() {
  const ast::Declaration *block = chosenEnsemble();
  if (!block)
    return std::nullopt;
  const auto &request = ensembleOf(*block);
  if (!request)
    return std::nullopt;
  std::vector<std::string> names;
  for (const EnsembleRequest::Kind &kind : request->kinds)
    names.push_back(kind.name);
  if (!llvm::is_contained(names, options.member)) {
    diags
        .error(Code::UnknownName, block->name.range,
               fmt::format("ensemble '{}' has no member '{}'", block->name.text, options.member))
        .suggest(nearest(options.member, names));
    return std::nullopt;
  }
  return ofTrain(*run(request->train), memberOf(*block, options.member));
}

// ---- The framework that trains on the cluster

static constexpr llvm::StringLiteral kFrameworkFile = "catalog/frameworks.accel";

/// `framework = NAME` of a machine or cluster; null without one.
static const ast::KeyValue *frameworkOf(const ast::Declaration &declaration) {
  for (const ast::Entry &entry : declaration.entries)
    if (auto *pair = entry.as<ast::KeyValue>(); pair && pair->key.text == "framework")
      return pair;
  return nullptr;
}

std::optional<Framework> Program::framework(std::string &assumed) {
  Data &d = *data;
  const ast::Declaration *from = nullptr; // in whose file the name stands
  const ast::KeyValue *stated = nullptr;
  bool ofDevice = false;
  std::string name = d.options.framework;
  if (name.empty() && d.target)
    stated = frameworkOf(*(from = d.target));
  for (accel::AcceleratorOp device : d.targetMachines)
    for (auto &[declaration, machine] : d.machines)
      if (name.empty() && !stated && machine == device)
        stated = frameworkOf(*(from = declaration)), ofDevice = stated != nullptr;
  if (stated) {
    Constant value = evaluate(*stated->value, d.diags, d.lookupIn(*from));
    auto *word = value.as<Word>();
    if (!word)
      return std::nullopt; // reported where the machine was read
    name = word->text;
  }
  if (name.empty())
    return std::nullopt;
  SourceRange at = stated ? stated->value->range : SourceRange{};
  const ast::Declaration *found = stated ? d.sources.find(name, *from, {}) : d.sources.find(*d.main, name, {});
  Sources::Unit *shipped = d.sources.load(d.sources.resolve(kFrameworkFile, ""), at);
  if (!found && shipped)
    found = d.sources.find(*shipped, name, {});
  if (!found || found->kind != ast::DeclarationKind::Framework) {
    using enum ast::DeclarationKind;
    std::vector<std::string> known = d.sources.names(*d.main, {ast::DeclarationKind::Framework});
    if (shipped)
      llvm::append_range(known, d.sources.names(*shipped, {ast::DeclarationKind::Framework}));
    const char *by = stated ? "" : "--framework: ";
    if (found)
      d.diags
          .error(Code::WrongNameKind, at.valid() ? at : found->name.range,
                 fmt::format("{}'{}' is {}, not a framework", by, name, ast::withArticle(found->kind)))
          .note(found->name.range, "declared here");
    else
      d.diags.error(Code::UnknownName, at, fmt::format("{}unknown framework '{}'", by, name))
          .suggest(nearest(name, known))
          .help(fmt::format("there are {}; framework NAME {{ … }} in .accel declares another one",
                            fmt::join(known, ", ")));
    return std::nullopt;
  }
  if (stated)
    assumed = fmt::format("framework = {}: as '{}' states it; --framework names another one", name, from->name.text);
  auto made = elaborateFramework(*found, d.context, d.diags, d.lookupIn(*found));
  if (made && ofDevice) // what devices come with restricts no search
    made->divides.clear(), made->minZero = 0, made->maxZero = 3;
  return made;
}

} // namespace accord
