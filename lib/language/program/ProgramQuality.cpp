// Blocks beside trainings: sparsity, ensembles and their members.
#include "lib/language/program/ProgramData.h"
#include "lib/language/requests/Ensembles.h"
#include "lib/language/requests/Sparsity.h"

namespace accord {

/// Of the main file; null if there is none.
const ast::Declaration *Program::Data::named(ast::DeclarationKind kind, llvm::StringRef name) const {
  for (const ast::Declaration &declaration : main->file->declarations)
    if (declaration.kind == kind && declaration.name.text == name)
      return &declaration;
  return nullptr;
}

static std::vector<std::string> trainingsOf(const ast::File &file) {
  std::vector<std::string> names;
  for (const ast::Declaration &declaration : file.declarations)
    if (declaration.kind == ast::DeclarationKind::Train)
      names.push_back(declaration.name.text);
  return names;
}

const std::optional<SparsityRequest> &Program::Data::sparsityOf(const ast::Declaration &block) {
  auto [slot, isNew] = sparsities.try_emplace(&block);
  if (!isNew)
    return slot->second;
  const std::string &target = block.target.text;
  bool known = named(ast::DeclarationKind::Train, target);
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
  if (!block.target.empty() && !named(ast::DeclarationKind::Train, target)) {
    auto *other = sources.find(target, block, block.target.range);
    diags
        .error(other ? Code::WrongNameKind : Code::UnknownName, block.target.range,
               other ? fmt::format("'{}' is {}, not a training", target, ast::withArticle(other->kind))
                     : fmt::format("no training '{}' for this ensemble", target))
        .suggest(nearest(target, trainingsOf(*main->file)))
        .help("members are trained as a training says: ensemble NAME of TRAINING { … }");
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

/// The one that --ensemble names, or the only one of the main file.
const ast::Declaration *Program::Data::chosenEnsemble() {
  if (!main)
    return nullptr;
  std::vector<const ast::Declaration *> all;
  std::vector<std::string> names;
  for (const ast::Declaration &declaration : main->file->declarations)
    if (declaration.kind == ast::DeclarationKind::Ensemble) {
      all.push_back(&declaration);
      names.push_back(declaration.name.text);
    }
  SourceRange start{main->file->id, 0, 0};
  if (!options.ensemble.empty()) {
    auto *found = named(ast::DeclarationKind::Ensemble, options.ensemble);
    if (!found)
      diags.error(Code::UnknownName, start, fmt::format("--ensemble: no ensemble '{}' in this file", options.ensemble))
          .suggest(nearest(options.ensemble, names));
    return found;
  }
  if (all.size() == 1)
    return all[0];
  if (all.empty()) {
    if (main->file->complete && !diags.hasErrors())
      diags.error(Code::NoTraining, start, "the file has no ensemble")
          .help("declare one: ensemble NAME of TRAINING { member wide = gpt(hidden = 6144) … }");
    return nullptr;
  }
  auto error = diags.error(Code::AmbiguousTraining, all[0]->name.range, "the file has several ensembles")
                   .help("choose one with --ensemble");
  for (const ast::Declaration *one : all)
    error.note(one->name.range, fmt::format("--ensemble {}", one->name.text));
  return nullptr;
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
    if (auto file = data->diags.sources().find(device.location.file))
      machine(device.machine, data->diags.sources().at(*file, {device.location.line, device.location.column}));
  return data->diags.errors() == before ? request : std::nullopt;
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
  return ofTrain(*named(ast::DeclarationKind::Train, request->train), memberOf(*block, options.member));
}

} // namespace accord
