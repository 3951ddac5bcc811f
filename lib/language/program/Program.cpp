// One program: which training job on which machine, and the dialects for it.
#include "lib/language/models/ModelBuilder.h"
#include "lib/language/program/ProgramData.h"
#include "lib/language/requests/Requirements.h"
#include "lib/machine/translate/FromAccel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace accord {

Program::Program(Diagnostics &diags, mlir::MLIRContext &context, const std::string &path,
                 const ElaborateOptions &options)
    : data(std::make_unique<Data>(diags, context, options)) {
  std::string file = path;
  if (!llvm::sys::fs::exists(file)) // `accord compile gpt3.dnn` means the catalogue's
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
    using enum ast::DeclarationKind;
    std::vector<std::string> visible = d.sources.names(*d.main, {Accelerator, Cluster}),
                             shipped = d.sources.catalogMachines(d.options.clusters), known = visible;
    known.insert(known.end(), shipped.begin(), shipped.end());
    std::string has = fmt::format("the catalogue has {}", fmt::join(shipped, ", "));
    if (!visible.empty())
      has = fmt::format("the file and its imports declare {}; {}", fmt::join(visible, ", "), has);
    d.diags.error(Code::UnknownName, at, fmt::format("{}unknown machine '{}'", at.valid() ? "" : "--target: ", name))
        .suggest(nearest(name, known))
        .help(has);
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
  auto [slot, isNew] = d.machines.try_emplace(found, nullptr);
  if (isNew) {
    Sources::Unit *unit = d.sources.unitOf(*found);
    if (unit != d.main) // else checkAll() has
      d.rejectMicroarchitectures(*unit);
    slot->second = elaborateAccelerator(*found, *d.module, d.diags, d.lookupIn(*found));
  }
  if (slot->second && !rejectUnsupported(slot->second, d.diags))
    return nullptr;
  return slot->second;
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
  if (job.samples > 0 || job.tokens > 0)
    job.assumptions.push_back("samples and tokens to train on: looked at in plans for a cluster alone");
  if (d.diags.errors() > before)
    return nullptr;
  if (d.requirements.empty())
    return op;
  mlir::ScopedDiagnosticHandler quiet(&d.context, [](mlir::Diagnostic &) { return mlir::success(); });
  if (auto plain = machineFrom(op); mlir::succeeded(plain))
    for (auto &[condition, entry] : d.requirements)
      checkRequirement(condition, *plain, d.diags);
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
  dnn::ModelOp built = ModelBuilder(data->diags, data->sources, *data->module).build(request);
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

/// They stand beside machines, and no machine can ask for one yet.
void Program::Data::rejectMicroarchitectures(const Sources::Unit &unit) {
  for (const ast::Declaration &declaration : unit.file->declarations)
    if (declaration.kind == ast::DeclarationKind::Microarchitecture)
      rejectMicroarchitecture(declaration.kindRange, declaration.name.text, diags);
}

void Program::checkAll() {
  Data &d = *data;
  if (!d.main)
    return;
  d.rejectMicroarchitectures(*d.main);
  for (const ast::Declaration &declaration : d.main->file->declarations) {
    if (declaration.kind == ast::DeclarationKind::Constant) {
      d.checkConstant(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Accelerator) {
      auto [slot, isNew] = d.machines.try_emplace(&declaration, nullptr);
      if (isNew)
        slot->second = elaborateAccelerator(declaration, *d.module, d.diags, d.lookupIn(declaration));
    } else if (declaration.kind == ast::DeclarationKind::Cluster) {
      d.clusterOf(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Sparsity) {
      d.sparsityOf(declaration);
    } else if (declaration.kind == ast::DeclarationKind::Ensemble) {
      d.ensembleOf(declaration);
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

} // namespace accord
