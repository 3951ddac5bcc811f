// One program: which training job on which machine, and the dialects for it.
#include "dialects/accel/KeyLocations.h"
#include "lib/language/machines/ElaborateFramework.h"
#include "lib/language/machines/ElaborateMicroarchitecture.h"
#include "lib/language/models/ModelBuilder.h"
#include "lib/language/program/ProgramData.h"
#include "lib/language/requests/Requirements.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/machine/translate/PowerLevels.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/CommandHost.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace accord {

Program::Program(Diagnostics &diags, mlir::MLIRContext &context, const std::string &path,
                 const ElaborateOptions &options)
    : data(std::make_unique<Data>(diags, context, options)) {
  std::string file = path;
  if (!isReadable(file)) // `accord compile gpt3.dnn` means the catalogue's
    if (std::string shipped = options.catalog + "/" + llvm::sys::path::filename(path).str();
        (path == llvm::sys::path::filename(path) || path == "catalog/" + llvm::sys::path::filename(path).str()) &&
        llvm::sys::fs::exists(shipped))
      file = shipped;
  data->main = data->sources.load(file, {});
  if (data->main && data->main->file->declarations.empty() && !diags.hasErrors())
    diags.error(Code::EmptyFile, {data->main->file->id, 0, 0}, fmt::format("'{}' declares nothing", path));
}
Program::~Program() = default;

const ast::File *Program::main() const { return data->main ? data->main->file.get() : nullptr; }
mlir::ModuleOp Program::module() { return *data->module; }

/// --target two.accel, or two.accel:first where a file declares several machines.
const ast::Declaration *Program::Data::machineOfFile(const std::string &path, llvm::StringRef wanted) {
  Sources::Unit *unit = sources.load(sources.resolve(path, ""), {});
  if (!unit || diags.hasErrors())
    return nullptr;
  std::vector<const ast::Declaration *> meant;
  std::vector<std::string> known;
  auto collect = [&](ast::DeclarationKind kind) {
    for (const ast::Declaration &declaration : unit->file->declarations)
      if (declaration.kind == kind) {
        known.push_back(declaration.name.text);
        if (wanted.empty() || declaration.name.text == wanted)
          meant.push_back(&declaration);
      }
  };
  collect(ast::DeclarationKind::Accelerator);
  if (options.clusters && meant.empty())
    collect(ast::DeclarationKind::Cluster);
  if (meant.size() == 1)
    return meant[0];
  SourceRange start{unit->file->id, 0, 0};
  if (known.empty()) {
    diags.error(Code::NoTarget, start, fmt::format("'{}' declares no accelerator", path));
  } else if (meant.empty()) {
    diags.error(Code::UnknownName, start, fmt::format("'{}' declares no accelerator '{}'", path, wanted.str()))
        .suggest(nearest(wanted, known))
        .help(fmt::format("it declares {}", fmt::join(known, ", ")));
  } else {
    auto error = diags.error(Code::AmbiguousTarget, start,
                             fmt::format("'{}' declares {} accelerators, and one is needed", path, known.size()));
    error.help(fmt::format("choose one with --target {}:{}", path, known.front()));
    for (const ast::Declaration *one : meant)
      error.note(one->name.range, fmt::format("'{}'", one->name.text));
  }
  return nullptr;
}

void Program::Data::reportUnknownMachine(const std::string &name, SourceRange at) {
  using enum ast::DeclarationKind;
  std::vector<std::string> visible = sources.names(*main, {Accelerator, Cluster}),
                           shipped = sources.catalogMachines(options.clusters), known = visible;
  known.insert(known.end(), shipped.begin(), shipped.end());
  std::string has = missingCatalog(options.catalog);
  if (has.empty())
    has = fmt::format("the catalogue has {}", fmt::join(shipped, ", "));
  if (!visible.empty())
    has = fmt::format("the file and its imports declare {}; {}", fmt::join(visible, ", "), has);
  diags.error(Code::UnknownName, at, fmt::format("{}unknown machine '{}'", at.valid() ? "" : "--target: ", name))
      .suggest(nearest(name, known))
      .help(has);
}

accel::AcceleratorOp Program::machine(const std::string &name, SourceRange from) {
  Data &d = *data;
  SourceRange at = from; // no place: the name comes from the command line
  const ast::Declaration *found = d.sources.find(*d.main, name, at);
  auto [path, wanted] = llvm::StringRef(name).rsplit(':');
  if (!found && path.ends_with(".accel")) {
    found = d.machineOfFile(path.str(), wanted);
    if (!found)
      return nullptr;
  }
  if (!found)
    if (auto file = d.sources.catalogFileOf(name))
      if (Sources::Unit *unit = d.sources.load(*file, from))
        found = d.sources.find(*unit, name, from);
  if (!found) {
    d.reportUnknownMachine(name, at);
    return nullptr;
  }
  // A name from the command line has no place of its own: what it means has one.
  SourceRange place = at.valid() ? at : found->name.range;
  std::string by = at.valid() ? "" : "--target: ";
  if (found->kind == ast::DeclarationKind::Cluster && d.options.clusters)
    return d.clusterDevice(*found, place);
  if (found->kind == ast::DeclarationKind::Cluster) {
    auto error = d.diags.error(Code::NotSupported, place,
                               fmt::format("{}not supported yet: planning on a cluster ('{}')", by, name));
    error.note(found->name.range, "the cluster is declared here").help("plan for one of its devices with --target");
    return nullptr;
  }
  if (found->kind != ast::DeclarationKind::Accelerator) {
    d.diags
        .error(Code::WrongNameKind, place,
               fmt::format("{}'{}' is {}, not a machine", by, name, ast::withArticle(found->kind)))
        .note(found->name.range, "declared here");
    return nullptr;
  }
  accel::AcceleratorOp op = d.acceleratorOf(*found);
  return op && prepareMachine(op, d.efficiency(), d.diags) ? op : nullptr;
}

accel::AcceleratorOp Program::machineOf(TrainingJob &job) {
  Data &d = *data;
  std::string name = job.target;
  if (name.empty()) {
    std::vector<const ast::Declaration *> own;
    for (const ast::Declaration &declaration : d.main->file->declarations)
      if (declaration.kind == ast::DeclarationKind::Accelerator)
        own.push_back(&declaration);
    if (own.size() != 1) {
      SourceRange at = job.declaration ? job.declaration->name.range : SourceRange{d.main->file->id, 0, 0};
      d.diags
          .error(own.empty() ? Code::NoTarget : Code::AmbiguousTarget, at,
                 own.empty() ? fmt::format("nothing says on which machine '{}' is trained", job.name)
                             : "the file has several machines")
          .help("add 'on a100_80g' to the training, or --target a100_80g");
      return nullptr;
    }
    name = own[0]->name.text;
  }
  d.engine = job.inference && job.inference->compiled;
  accel::AcceleratorOp op = machine(name, job.targetAt);
  if (!op || !d.settleDegrees(job))
    return nullptr;
  if (d.options.placement && d.target) {
    mlir::ScopedDiagnosticHandler quiet(&d.context, [](mlir::Diagnostic &) { return mlir::success(); });
    if (auto plain = machineFrom(op); mlir::succeeded(plain))
      job.limits = limitsOn(job, *plain);
    return op;
  }
  size_t before = d.diags.errors();
  for (const LayerConstraint &constraint : job.placementConstraints)
    d.diags
        .error(Code::PlacementAlone, constraint.at,
               "where layers are is chosen on a cluster alone, by 'accord compile'")
        .help("leave it out, or train on a cluster");
  if (job.objective == Objective::OfCluster &&
      !(job.placementObjective == PlacementObjective::TdpTime && d.options.mines))
    d.diags
        .error(Code::PlacementAlone, job.objectiveAt,
               "this is an objective on a cluster alone: of one device, less time is all of it")
        .help("minimize step_time");
  if (d.diags.errors() > before)
    return nullptr;
  if (d.requirements.empty())
    return op;
  mlir::ScopedDiagnosticHandler quiet(&d.context, [](mlir::Diagnostic &) { return mlir::success(); });
  if (auto plain = machineFrom(op); mlir::succeeded(plain))
    for (auto &[condition, entry] : d.requirements)
      checkRequirement(condition, *plain, job.inference.has_value(), d.diags);
  return op;
}

dnn::ModelOp Program::model(const TrainingJob &job, const std::map<std::string, int64_t> &overrides) {
  ModelRequest request;
  request.symbol = job.name;
  request.model = job.model;
  request.arguments = job.arguments;
  request.caller = job.declaration;
  request.overrides = overrides;
  request.precision = job.precision;
  request.optimizer = job.optimizer;
  const std::optional<InferenceRequest> &inference = job.inference;
  if (inference && inference->phase == InferenceRequest::Phase::Decode) {
    if (!parameter(job, "seq")) {
      data->diags
          .error(Code::NotSupported, inference->phaseAt,
                 fmt::format("model '{}' has no parameter 'seq' that is a number, which 'decode' sets to 1",
                             job.model->name.text))
          .note(job.model->name.range, "the model is declared here")
          .help("let its number of tokens be a parameter: model NAME(seq = 1024) { … }");
      return nullptr;
    }
    request.overrides["seq"] = 1;
  }
  dnn::ModelOp built = ModelBuilder(data->diags, data->sources, *data->module).build(request);
  if (built && inference)
    built->setAttr(dnn::kForwardOptions, inference->options().attribute(data->context));
  if (!built || !built.getBlock().getOps<dnn::ParameterOp>().empty())
    return built;
  auto error =
      data->diags.error(Code::NoParameter, job.declaration ? job.declaration->value->range : job.model->name.range,
                        fmt::format("there is nothing to train: model '{}' has no parameter", job.model->name.text));
  error.help("operations such as linear, conv2d, embedding and layer_norm bring parameters along; "
             "parameter([8, 8]) declares one");
  if (job.declaration)
    error.note(job.model->name.range, "the model is declared here");
  built->erase();
  return nullptr;
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
  const std::vector<ast::Declaration> &all = d.main->file->declarations;
  bool several = llvm::count_if(all, [](const auto &one) { return ast::runsModel(one.kind); }) > 1;
  for (const ast::Declaration &declaration : all) {
    if (d.options.isChecked && d.options.isChecked(declaration))
      continue;
    if (declaration.kind == ast::DeclarationKind::Constant) {
      d.checkConstant(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Accelerator) {
      d.acceleratorOf(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Cluster) {
      d.clusterOf(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Microarchitecture) {
      elaborateMicroarchitecture(declaration, *d.module, d.diags, d.lookupIn(declaration));
    } else if (declaration.kind == ast::DeclarationKind::Framework) {
      elaborateFramework(declaration, d.context, d.diags, d.lookupIn(declaration));
    } else if (declaration.kind == ast::DeclarationKind::Sparsity) {
      d.sparsityOf(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Ensemble) {
      d.ensembleOf(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Jobs) {
      d.jobsOf(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Tuning) {
      d.tuningOf(declaration);
    } else if (ast::runsModel(declaration.kind)) {
      // The only one is the job, which is checked as such.
      if (several || (!d.options.train.empty() && d.options.train != declaration.name.text))
        d.checkTrain(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Model &&
               llvm::all_of(declaration.parameters,
                            [](const ast::Parameter &p) { return p.defaultValue != nullptr; })) {
      ModelRequest request;
      request.symbol = "check." + declaration.name.text;
      request.model = &declaration;
      request.precision = dnn::PrecisionAttr::get(&d.context, true, mlir::BFloat16Type::get(&d.context));
      if (dnn::ModelOp built = ModelBuilder(d.diags, d.sources, *d.module).build(request))
        built->erase();
    }
  }
}

std::optional<DeclaredMicroarchitecture>
Program::Data::microarchitectureNamed(llvm::StringRef name, const ast::Declaration &from, SourceRange at) {
  const ast::Declaration *found = sources.find(name, from, at);
  if (found && found->kind == ast::DeclarationKind::Microarchitecture)
    return DeclaredMicroarchitecture{found, lookupIn(*found)};
  const std::vector<std::string> known =
      sources.names(*sources.unitOf(from), {ast::DeclarationKind::Microarchitecture});
  auto error = diags.error(Code::UnknownName, at,
                           found ? fmt::format("'{}' is no microarchitecture", name.str())
                                 : fmt::format("there is no microarchitecture '{}'", name.str()));
  if (found)
    error.note(found->name.range, "declared here");
  error.suggest(nearest(name, known))
      .help(known.empty() ? "declare one, import one, or write a block: microarchitecture { … }"
                          : fmt::format("the microarchitectures here: {}", fmt::join(known, ", ")));
  return std::nullopt;
}

accel::AcceleratorOp Program::Data::acceleratorOf(const ast::Declaration &declaration) {
  auto [slot, isNew] = machines.try_emplace(&declaration, nullptr);
  if (isNew)
    slot->second = elaborateAccelerator(
        declaration, *module, diags, lookupIn(declaration),
        [&](llvm::StringRef name, SourceRange at) { return microarchitectureNamed(name, declaration, at); });
  return slot->second;
}

// ---- Clusters as targets: which one is meant, and how a step is shared among its devices

accel::ClusterOp Program::Data::clusterOf(const ast::Declaration &declaration) {
  auto [slot, isNew] = clusters.try_emplace(&declaration, nullptr);
  if (isNew)
    slot->second = elaborateCluster(declaration, *module, diags, lookupIn(declaration), [&](llvm::StringRef name) {
      const ast::Declaration *found = sources.find(name, declaration, {});
      if (!found || found->kind != ast::DeclarationKind::Accelerator)
        return false;
      acceleratorOf(*found); // an imported one has to stand in the module as well
      return true;
    });
  return slot->second;
}

/// The accelerator of a cluster that may be the target; `place` is where it was asked for.
accel::AcceleratorOp Program::Data::clusterDevice(const ast::Declaration &cluster, SourceRange place) {
  accel::ClusterOp op = clusterOf(cluster);
  if (!op)
    return nullptr;
  Result<std::vector<accel::AcceleratorOp>> device = std::vector<accel::AcceleratorOp>{};
  if (options.placement)
    device = acceleratorsOf(op);
  else if (auto one = accord::acceleratorOf(op))
    device->push_back(*one);
  else
    device = one.takeError();
  if (!device) {
    auto error =
        diags.error(device.error().code, rangeOf(device.error().location, diags, place), device.error().message);
    for (auto &[at, message] : device.error().notes)
      if (SourceRange other = rangeOf(at, diags); other.valid())
        error.note(other, message);
    return nullptr;
  }
  targetMachines = *device;
  addLevelsOfDevices(op, targetMachines);
  EfficiencyOptions how = efficiency();
  if (options.placement && options.prunes) // steps with zeros are placed at the times of any other step
    how.ideal = options.ideal || options.mines;
  if (auto framework = op.getEntriesAttr().getAs<mlir::FlatSymbolRefAttr>("framework");
      framework && how.framework.empty())
    how.framework = framework.getValue().str();
  if (auto from = op->getAttrOfType<mlir::StringAttr>(kCalibrationAttribute))
    how.cluster = from.getValue().str(),
    how.clusterAt = rangeOf(sourceOf(accel::locationOf(op, "efficiency")), diags, place);
  how.clusterOfOne = targetMachines.size() == 1;
  for (accel::AcceleratorOp accelerator : targetMachines)
    if (!prepareMachine(accelerator, how, diags))
      return nullptr;
  target = &cluster;
  return targetMachines.front();
}

accel::ClusterOp Program::cluster() { return data->target ? data->clusters[data->target] : accel::ClusterOp(); }

std::vector<PlacementLimit> Program::limitsOn(const TrainingJob &job, const Machine &machine) {
  std::vector<PlacementLimit> limits;
  for (auto &[condition, entry] : data->requirements)
    if (auto limit = placementLimit(condition, machine, job.batch, data->diags)) {
      limit->text = data->textOf(*entry);
      limits.push_back(std::move(*limit));
    }
  return limits;
}

/// Where the values of a cluster's choices are written.
static void findChosen(const std::vector<ast::Entry> &entries, const std::string &owner,
                       const std::map<std::string, std::string> &chosen,
                       std::vector<std::pair<SourceRange, std::string>> &found) {
  auto add = [&](const std::string &name, const ast::ExprPtr &value) {
    if (auto one = chosen.find(name); one != chosen.end() && value)
      found.push_back({value->range, one->second});
  };
  for (const ast::Entry &entry : entries) {
    if (auto *pair = entry.as<ast::KeyValue>())
      add(pair->key.text == "price" ? "price" : owner + "." + pair->key.text, pair->value);
    if (auto *node = entry.as<ast::Node>()) {
      std::string name = node->name.empty() ? node->kind.text : node->name.text;
      add(name + ".count", node->count);
      findChosen(node->entries, name, chosen, found);
    }
  }
}

std::string Program::clusterText(const std::map<std::string, std::string> &chosen) {
  Data &d = *data;
  std::vector<const ast::Declaration *> written;
  if (d.target)
    written.push_back(d.target);
  std::string all;
  auto inWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t i = 0; i < written.size(); ++i) {
    llvm::StringRef text = d.diags.sources().text(written[i]->range);
    std::string closed = text.str();
    std::vector<std::pair<SourceRange, std::string>> values;
    if (i == 0)
      findChosen(written[i]->entries, "", chosen, values);
    std::sort(values.rbegin(), values.rend());
    for (const auto &[range, value] : values)
      closed.replace(range.begin - written[i]->range.begin, range.end - range.begin, value);
    all.insert(0, all.empty() ? closed + "\n" : closed + "\n\n");
    for (llvm::StringRef rest = text.drop_until(inWord); !rest.empty();
         rest = rest.drop_while(inWord).drop_until(inWord))
      if (const ast::Declaration *named = d.sources.find(rest.take_while(inWord), *written[i], SourceRange{});
          named && named->kind == ast::DeclarationKind::Constant && !llvm::is_contained(written, named))
        written.push_back(named);
  }
  return all;
}

std::vector<accel::AcceleratorOp> Program::machines() { return data->targetMachines; }

/// Settings that one device cannot vary must allow the value that it has; on a cluster each is one
/// value so far, and pipelines are still to come.
bool Program::Data::settleDegrees(TrainingJob &job) {
  size_t before = diags.errors();
  if (options.placement && target)
    return true; // all of them may be chosen
  if (!job.schedules.empty())
    job.assumptions.push_back(target ? "schedule has no effect: there is no pipeline"
                                     : "schedule has no effect on one device");
  for (const PlacementWords &choices : placementWords())
    if (!(job.*choices.into).empty() && !(target && choices.key == "context_exchange"))
      job.assumptions.push_back(fmt::format("{} has no effect: accord compile chooses it on a cluster", choices.key));
  if (!job.zero.empty() && job.zero.front() > 0)
    diags.error(Code::NotSupported, job.zeroAt, "not supported yet: zero above 0")
        .help(target ? "accord compile chooses it; let the choice start at 0"
                     : "one device has nothing to divide; let the choice start at 0");
  else if (job.zero.size() > 1)
    job.assumptions.push_back("zero = 0: there are no replicas to divide among");
  std::map<std::string, const DegreeChoice *> of;
  for (const DegreeChoice &choice : job.parallel) {
    if (choice.key == "max_stages") // of placements alone: here there is one stage
      continue;
    of[choice.key] = &choice;
    int64_t first = choice.values.front();
    if (!target) {
      if (first != 1)
        diags.error(Code::NotSupported, choice.at, fmt::format("not supported yet: {} above 1", choice.key))
            .help("one device has 1 of it; let the choice start at 1");
      else if (choice.values.size() > 1)
        job.assumptions.push_back(choice.key + " = 1: the plan is for one device");
    } else if (choice.key == "pipeline_parallel" && first != 1) {
      diags.error(Code::NotSupported, choice.at, "not supported yet: pipeline_parallel above 1")
          .help("share the step with tensor_parallel and data_parallel");
    } else if (choice.values.size() > 1) {
      diags.error(Code::NotSupported, choice.at, fmt::format("not supported yet: a choice of {}", choice.key))
          .help(fmt::format("state one value: {} = {}", choice.key, first));
    }
  }
  if (!target || diags.errors() != before)
    return diags.errors() == before;
  auto value = [&](const char *key) { return of.count(key) ? of[key]->values.front() : 1; };
  job.degrees.tensor = value("tensor_parallel");
  job.degrees.data = value("data_parallel");
  job.degrees.context = value("context_parallel");
  if (job.degrees.context > 1)
    job.degrees.exchange = job.contextExchanges.empty() ? "ring" : job.contextExchanges.front();
  // What divides the same devices once more has their number, or is not done.
  auto follows = [&](const char *key, const char *leader, int64_t devices, bool &on) {
    int64_t own = value(key);
    on = own > 1;
    if (own > 1 && own != devices) {
      auto error = diags.error(Code::DegreesDoNotFit, of[key]->at,
                               fmt::format("{} is {}, but {} is {}", key, own, leader, devices));
      error.help(fmt::format("{} is 1 or as much as {}", key, leader));
      if (of.count(leader))
        error.note(of[leader]->at, fmt::format("{} is stated here", leader));
    }
  };
  follows("sequence_parallel", "tensor_parallel", job.degrees.tensor, job.degrees.sequence);
  follows("expert_parallel", "data_parallel", job.degrees.data, job.degrees.expert);
  if (job.batch % job.degrees.data != 0)
    diags
        .error(Code::BatchNotDivisible, of["data_parallel"]->at,
               fmt::format("the batch of {} cannot be divided among {} devices", job.batch, job.degrees.data))
        .help("data_parallel divides the batch");
  return diags.errors() == before;
}

} // namespace accord
