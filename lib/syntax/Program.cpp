// One program: which training job on which machine, and the dialects for it.
#include "lib/cost/FromAccel.h"
#include "lib/syntax/Elaborate.h"
#include "lib/syntax/ElaborateAccel.h"
#include "lib/syntax/ModelBuilder.h"
#include "lib/syntax/Parser.h"
#include "lib/syntax/Requirements.h"
#include "lib/syntax/Sources.h"
#include "lib/syntax/TrainSettings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {

struct Program::Data {
  Data(Diagnostics &diags, mlir::MLIRContext &context, const ElaborateOptions &options)
      : diags(diags), context(context), options(options), sources(diags, options.catalog),
        module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))) {}

  /// Constants of the file that the expression stands in.
  Lookup lookupIn(const ast::Declaration &from) {
    return [this, &from](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
      const ast::Declaration *found = sources.find(name, from, at);
      if (!found || found->kind != ast::DeclarationKind::Constant)
        return std::nullopt;
      if (evaluating.count(found)) {
        diags
            .error(Code::RecursiveDefinition, at,
                   fmt::format("'{}' is defined by itself", name.str()))
            .note(found->name.range, "declared here");
        return Constant{at, {}};
      }
      if (auto known = constants.find(found); known != constants.end())
        return known->second;
      evaluating.insert(found);
      Constant value = evaluate(*found->value, diags, lookupIn(*found));
      evaluating.erase(found);
      return constants[found] = value;
    };
  }
  const ast::Declaration *pick(std::vector<const ast::Declaration *> candidates);
  std::optional<TrainingJob> ofTrain(const ast::Declaration &train);
  TrainingJob ofModel(const ast::Declaration &model);
  bool overrides(TrainingJob &job);
  void checkConstant(const ast::Declaration &constant);
  bool modelCall(const ast::Declaration &train, TrainingJob &job);
  std::optional<Constant> written(const std::string &text, const char *option);

  Diagnostics &diags;
  mlir::MLIRContext &context;
  ElaborateOptions options;
  Sources sources;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Sources::Unit *main = nullptr;
  std::set<const ast::Declaration *> evaluating;
  std::map<const ast::Declaration *, Constant> constants; ///< those evaluated so far
  std::map<const ast::Declaration *, accel::AcceleratorOp> machines;
  std::vector<std::pair<Constant, const ast::Entry *>>
      requirements; ///< of the job, to be checked against its machine
};

Program::Program(Diagnostics &diags, mlir::MLIRContext &context, const std::string &path,
                 const ElaborateOptions &options)
    : data(std::make_unique<Data>(diags, context, options)) {
  std::string file = path;
  if (!llvm::sys::fs::exists(file)) // `accord compile gpt3.dnn` means the catalogue's
    if (std::string shipped = options.catalog + "/" + llvm::sys::path::filename(path).str();
        (path == llvm::sys::path::filename(path) ||
         path == "catalog/" + llvm::sys::path::filename(path).str()) &&
        llvm::sys::fs::exists(shipped))
      file = shipped;
  data->main = data->sources.load(file, {});
  if (data->main && data->main->file->declarations.empty() && !diags.hasErrors())
    diags.error(Code::EmptyFile, {data->main->file->id, 0, 0},
                fmt::format("'{}' declares nothing", path));
}
Program::~Program() = default;

const ast::File *Program::main() const { return data->main ? data->main->file.get() : nullptr; }
mlir::ModuleOp Program::module() { return *data->module; }

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

bool Program::Data::modelCall(const ast::Declaration &train, TrainingJob &job) {
  const ast::Expr *expr = train.value.get();
  auto *call = expr ? expr->as<ast::Call>() : nullptr;
  auto *reference = call   ? call->callee->as<ast::Reference>()
                    : expr ? expr->as<ast::Reference>()
                           : nullptr;
  if (!reference) {
    diags
        .error(Code::WrongType, expr ? expr->range : train.name.range,
               fmt::format("training '{}' does not say which model it trains", train.name.text))
        .help("for example: train t = gpt2(layers = 12) on a100_80g { … }");
    return false;
  }
  SourceRange at = call ? call->callee->range : expr->range;
  job.model = sources.find(reference->name, train, at);
  if (!job.model || job.model->kind != ast::DeclarationKind::Model) {
    std::vector<std::string> models;
    for (const std::string &name : sources.names(train))
      if (auto *d = sources.find(name, train, {}); d && d->kind == ast::DeclarationKind::Model)
        models.push_back(name);
    if (job.model)
      diags
          .error(Code::WrongNameKind, at,
                 fmt::format("'{}' is a {}, not a model", reference->name,
                             ast::spelling(job.model->kind).str()))
          .note(job.model->name.range, "declared here");
    else
      diags.error(Code::UnknownName, at, fmt::format("unknown model '{}'", reference->name))
          .suggest(nearest(reference->name, models));
    return false;
  }
  job.arguments = call ? &call->arguments : nullptr;
  return true;
}

std::optional<TrainingJob> Program::Data::ofTrain(const ast::Declaration &train) {
  TrainingJob job;
  job.name = train.name.text;
  job.declaration = &train;
  job.target = train.target.text;
  job.targetAt = train.target.range;
  size_t before = diags.errors();
  modelCall(train, job);
  TrainSettings settings = trainSettings(train, context, diags, lookupIn(train));
  job.batch = settings.batch.value_or(1);
  job.precision = settings.precision;
  job.microbatches = std::move(settings.microbatches);
  job.microbatchAt = settings.microbatchAt;
  job.objective = settings.objective.value_or(Objective::Throughput);
  job.assumptions = std::move(settings.assumptions);
  if (settings.optimizer)
    job.optimizer = dnn::OptimizerKindAttr::get(&context, *settings.optimizer);
  for (auto &[condition, entry] : settings.requirements) {
    auto *rule = entry->as<ast::Rule>();
    Position p = diags.sources().position(entry->range);
    std::string text =
        rule->label.empty() ? diags.sources().text(rule->expr->range).str() : rule->label.text;
    job.requirements.push_back(requirement(
        condition, text, {diags.sources().path(entry->range.file).str(), p.line, p.column}));
  }
  requirements = std::move(settings.requirements);
  for (const ast::Declaration &other : main->file->declarations)
    if (other.kind == ast::DeclarationKind::Sparsity && other.target.text == job.name)
      diags
          .error(Code::SparsityNotSupported, other.kindRange,
                 fmt::format("not supported yet: sparsity for '{}'", job.name))
          .note(train.name.range, "the training is declared here");
  return diags.errors() == before ? std::optional(std::move(job)) : std::nullopt;
}

TrainingJob Program::Data::ofModel(const ast::Declaration &model) {
  TrainingJob job;
  job.name = model.name.text;
  job.model = &model;
  if (options.batch.empty())
    job.assumptions.push_back("batch = 1: the file has no training; --batch changes it");
  if (options.precision.empty())
    job.assumptions.push_back(
        "precision = mixed(bf16): the file has no training; --precision changes it");
  if (options.optimizer.empty())
    job.assumptions.push_back("optimizer = adam: the file has no training; --optimizer changes it");
  return job;
}

/// An expression given on the command line.
std::optional<Constant> Program::Data::written(const std::string &text, const char *option) {
  FileId id =
      diags.sources().add(fmt::format("<{}>.dnn", option), fmt::format("let value = {}", text));
  auto tree = parse(diags, id);
  if (!tree || !tree->complete || tree->declarations.size() != 1 || !tree->declarations[0].value)
    return std::nullopt;
  return evaluate(*tree->declarations[0].value, diags,
                  [](llvm::StringRef, SourceRange) { return std::nullopt; });
}

bool Program::Data::overrides(TrainingJob &job) {
  size_t before = diags.errors();
  if (!options.batch.empty())
    if (auto value = written(options.batch, "--batch"))
      if (auto list = integersOf(*value, diags, "--batch"))
        job.batch = list->front();
  if (!options.microbatch.empty())
    if (auto value = written(options.microbatch, "--microbatch"))
      if (auto list = integersOf(*value, diags, "--microbatch"))
        job.microbatches = *list;
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
  if (job.microbatches.empty()) {
    for (int64_t size = 1; job.batch > 0 && job.batch % size == 0; size *= 2) {
      job.microbatches.push_back(size);
      if (size > job.batch / 2)
        break; // doubled it would be above the batch, or pass 2^63
    }
    if (!job.microbatches.empty() && job.microbatches.back() != job.batch)
      job.microbatches.push_back(job.batch);
    job.assumptions.push_back(
        "microbatch: powers of two that divide the batch, as nothing says which");
  } else if (llvm::none_of(job.microbatches, [&](int64_t size) { return job.batch % size == 0; })) {
    bool one = job.microbatches.size() == 1;
    diags.error(Code::BatchNotDivisible,
                options.microbatch.empty() ? job.microbatchAt : SourceRange{},
                fmt::format("{} {} {} the batch of {}",
                            one ? "the micro-batch of" : "none of the micro-batches",
                            fmt::join(job.microbatches, ", "), one ? "does not divide" : "divides",
                            job.batch));
  }
  return diags.errors() == before;
}

std::optional<TrainingJob> Program::job() {
  Data &d = *data;
  if (!d.main)
    return std::nullopt;
  std::vector<const ast::Declaration *> trains, models;
  std::vector<std::string> names;
  const ast::Declaration *chosen = nullptr;
  for (const ast::Declaration &declaration : d.main->file->declarations) {
    if (declaration.kind == ast::DeclarationKind::Train)
      trains.push_back(&declaration);
    else if (declaration.kind == ast::DeclarationKind::Model)
      models.push_back(&declaration);
    else if (declaration.name.text == d.options.train && !d.options.train.empty()) {
      Code code = declaration.kind == ast::DeclarationKind::Ensemble ? Code::EnsembleNotSupported
                  : declaration.kind == ast::DeclarationKind::Jobs   ? Code::JobsNotSupported
                                                                     : Code::WrongNameKind;
      bool later = code != Code::WrongNameKind;
      d.diags.error(code, declaration.name.range,
                    later ? fmt::format("not supported yet: {} '{}'",
                                        ast::spelling(declaration.kind).str(), d.options.train)
                          : fmt::format("'{}' is a {}, nothing to train", d.options.train,
                                        ast::spelling(declaration.kind).str()));
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
      auto error = d.diags
                       .error(Code::AmbiguousTraining, trains[0]->name.range,
                              "the file has several trainings")
                       .help("choose one with --train");
      for (const ast::Declaration *one : trains)
        error.note(one->name.range, fmt::format("--train {}", one->name.text));
      return std::nullopt;
    }
  } else if (!chosen && !models.empty()) {
    chosen = d.pick(models);
    if (!chosen) {
      auto error = d.diags
                       .error(Code::AmbiguousModel, models[0]->name.range,
                              "the file has several models and no training")
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
  std::optional<TrainingJob> job = chosen->kind == ast::DeclarationKind::Train
                                       ? d.ofTrain(*chosen)
                                       : std::optional(d.ofModel(*chosen));
  if (!job || !d.overrides(*job))
    return std::nullopt;
  if (!d.options.target.empty()) {
    job->target = d.options.target;
    job->targetAt = {};
  }
  return job;
}

accel::AcceleratorOp Program::machine(const std::string &name, SourceRange from) {
  Data &d = *data;
  SourceRange at = from; // no place: the name comes from the command line
  const ast::Declaration *found = d.sources.find(*d.main, name, at);
  if (!found && llvm::StringRef(name).ends_with(".accel")) { // --target my_machine.accel
    Sources::Unit *unit = d.sources.load(name, from);
    if (!unit || d.diags.hasErrors())
      return nullptr;
    std::vector<const ast::Declaration *> all;
    for (const ast::Declaration &declaration : unit->file->declarations)
      if (declaration.kind == ast::DeclarationKind::Accelerator)
        all.push_back(&declaration);
    if (all.size() != 1) {
      SourceRange start{unit->file->id, 0, 0};
      auto error = d.diags.error(
          all.empty() ? Code::NoTarget : Code::AmbiguousTarget, start,
          all.empty() ? fmt::format("'{}' declares no accelerator", name)
                      : fmt::format("'{}' declares {} accelerators, and one is needed", name,
                                    all.size()));
      for (const ast::Declaration *one : all)
        error.note(one->name.range, fmt::format("'{}'", one->name.text));
      return nullptr;
    }
    found = all[0];
  }
  if (!found)
    if (auto file = d.sources.catalogFileOf(name))
      if (Sources::Unit *unit = d.sources.load(*file, from))
        found = d.sources.find(*unit, name, from);
  if (!found) {
    std::vector<std::string> known = d.sources.catalogAccelerators();
    for (const std::string &visible : d.sources.names(*d.main))
      known.push_back(visible);
    d.diags
        .error(Code::UnknownName, at,
               fmt::format("{}unknown machine '{}'", at.valid() ? "" : "--target: ", name))
        .suggest(nearest(name, known))
        .help(
            fmt::format("the catalogue has {}", fmt::join(d.sources.catalogAccelerators(), ", ")));
    return nullptr;
  }
  if (found->kind == ast::DeclarationKind::Cluster) {
    auto error =
        d.diags.error(Code::NotSupported, at,
                      fmt::format("not supported yet: planning on a cluster ('{}')", name));
    error.note(found->name.range, "the cluster is declared here")
        .help("plan for one of its devices with --target");
    return nullptr;
  }
  if (found->kind != ast::DeclarationKind::Accelerator) {
    d.diags
        .error(Code::WrongNameKind, at,
               fmt::format("'{}' is a {}, not a machine", name, ast::spelling(found->kind).str()))
        .note(found->name.range, "declared here");
    return nullptr;
  }
  auto [slot, isNew] = d.machines.try_emplace(found, nullptr);
  if (isNew)
    slot->second = elaborateAccelerator(*found, *d.module, d.diags, d.lookupIn(*found));
  if (slot->second && !refuseUnsupported(slot->second, d.diags))
    return nullptr;
  return slot->second;
}

accel::AcceleratorOp Program::machineOf(const TrainingJob &job) {
  Data &d = *data;
  std::string name = job.target;
  if (name.empty()) {
    std::vector<const ast::Declaration *> own;
    for (const ast::Declaration &declaration : d.main->file->declarations)
      if (declaration.kind == ast::DeclarationKind::Accelerator)
        own.push_back(&declaration);
    if (own.size() != 1) {
      SourceRange at =
          job.declaration ? job.declaration->name.range : SourceRange{d.main->file->id, 0, 0};
      d.diags
          .error(own.empty() ? Code::NoTarget : Code::AmbiguousTarget, at,
                 own.empty()
                     ? fmt::format("nothing says on which machine '{}' is trained", job.name)
                     : "the file has several machines")
          .help("add 'on a100_80g' to the training, or --target a100_80g");
      return nullptr;
    }
    name = own[0]->name.text;
  }
  accel::AcceleratorOp op = machine(name, job.targetAt);
  if (!op || d.requirements.empty())
    return op;
  mlir::ScopedDiagnosticHandler quiet(&d.context,
                                      [](mlir::Diagnostic &) { return mlir::success(); });
  if (auto plain = machineFrom(op); mlir::succeeded(plain))
    for (auto &[condition, entry] : d.requirements)
      checkRequirement(condition, *plain, d.diags);
  return op;
}

dnn::ModelOp Program::model(const TrainingJob &job,
                            const std::map<std::string, int64_t> &overrides) {
  ModelRequest request;
  request.symbol = job.name;
  request.model = job.model;
  request.arguments = job.arguments;
  request.caller = job.declaration;
  request.overrides = overrides;
  request.precision = job.precision;
  request.optimizer = job.optimizer;
  return ModelBuilder(data->diags, data->sources, *data->module).build(request);
}

std::optional<int64_t> Program::parameter(const TrainingJob &job, llvm::StringRef name) {
  const ast::Expr *expr = nullptr;
  const ast::Declaration *written = job.model;
  for (const ast::Parameter &p : job.model->parameters)
    if (p.name.text == name)
      expr = p.defaultValue.get();
  if (job.arguments)
    for (const ast::Argument &argument : *job.arguments)
      if (argument.name && argument.name->text == name) {
        expr = argument.value.get();
        written = job.declaration;
      }
  if (!expr)
    return std::nullopt;
  SourceManager none;
  Constant value = evaluate(*expr, data->diags, data->lookupIn(*written));
  auto *number = value.as<Quantity>();
  return number ? number->toInt64() : std::nullopt;
}

void Program::reportUnused() { data->sources.reportUnused(); }

/// The value of a `let`, even if nothing uses it: a function that does not exist, a name in an
/// arithmetic expression that nothing declares.
void Program::Data::checkConstant(const ast::Declaration &constant) {
  evaluating.insert(&constant);
  Constant value = evaluate(*constant.value, diags, lookupIn(constant));
  evaluating.erase(&constant);
  std::function<void(const Constant &, bool)> walk = [&](const Constant &v, bool inside) {
    if (auto *word = v.as<Word>(); word && inside && word->text.find('.') == std::string::npos) {
      if (diags.sources().text(v.range) == word->text && !constantFunction(word->text))
        diags.error(Code::UnknownName, v.range, fmt::format("unknown name '{}'", word->text))
            .suggest(nearest(word->text, sources.names(constant)));
    } else if (auto *call = v.as<CallValue>()) {
      bool known = constantFunction(call->name) || !llvm::isAlpha(call->name[0]);
      reportUnknownFunction(*call, v.range, diags);
      for (auto &[name, argument] : call->arguments)
        walk(*argument, known);
    }
  };
  walk(value, false);
}

void Program::checkAll() {
  Data &d = *data;
  if (!d.main)
    return;
  for (const ast::Declaration &declaration : d.main->file->declarations) {
    if (declaration.kind == ast::DeclarationKind::Constant) {
      d.checkConstant(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Accelerator) {
      auto [slot, isNew] = d.machines.try_emplace(&declaration, nullptr);
      if (isNew)
        slot->second =
            elaborateAccelerator(declaration, *d.module, d.diags, d.lookupIn(declaration));
    } else if (declaration.kind == ast::DeclarationKind::Cluster) {
      elaborateCluster(declaration, *d.module, d.diags, d.lookupIn(declaration),
                       [&](llvm::StringRef name) {
                         const ast::Declaration *found = d.sources.find(name, declaration, {});
                         return found && found->kind == ast::DeclarationKind::Accelerator;
                       });
    } else if (declaration.kind == ast::DeclarationKind::Sparsity) {
      std::vector<std::string> trainings;
      for (const ast::Declaration &other : d.main->file->declarations)
        if (other.kind == ast::DeclarationKind::Train)
          trainings.push_back(other.name.text);
      const std::string &target = declaration.target.text;
      if (!llvm::is_contained(trainings, target))
        d.diags
            .error(Code::UnknownName, declaration.target.range,
                   fmt::format("no training '{}' for this sparsity", target))
            .suggest(nearest(target, trainings));
    } else if (declaration.kind == ast::DeclarationKind::Model &&
               llvm::all_of(declaration.parameters,
                            [](const ast::Parameter &p) { return p.defaultValue != nullptr; })) {
      ModelRequest request;
      request.symbol = "check." + declaration.name.text;
      request.model = &declaration;
      request.precision =
          dnn::PrecisionAttr::get(&d.context, true, mlir::BFloat16Type::get(&d.context));
      if (dnn::ModelOp built = ModelBuilder(d.diags, d.sources, *d.module).build(request))
        built->erase();
    }
  }
}

} // namespace accord
