// What a program holds between its questions; of Program.cpp and ProgramJob.cpp only.
#pragma once
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/language/program/Elaborate.h"
#include "lib/language/requests/TrainSettings.h"
#include "lib/language/syntax/Sources.h"
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
        diags.error(Code::RecursiveDefinition, at, fmt::format("'{}' is defined by itself", name.str()))
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
  /// A `require` as it is written, or its label.
  std::string textOf(const ast::Entry &requirement) const {
    auto *rule = requirement.as<ast::Rule>();
    return rule->label.empty() ? diags.sources().text(rule->expr->range).str() : rule->label.text;
  }
  const ast::Declaration *pick(const std::vector<const ast::Declaration *> &candidates, Code code, const char *several);
  const ast::Declaration *chosenTraining();
  const ast::Declaration *rejectTraining(const ast::Declaration &declaration);
  /// Reports what is wrong in a training that need not be the job that is asked for.
  void checkTrain(const ast::Declaration &train);
  void reportUnknownMachine(const std::string &name, SourceRange at);
  std::optional<TrainingJob> ofTrain(const ast::Declaration &train, const ast::Node *member = nullptr);
  std::optional<TrainingJob> jobOfMember();
  TrainingJob ofModel(const ast::Declaration &model);
  void settleDefaults(TrainingJob &job);
  bool overrides(TrainingJob &job);
  const ast::Declaration *machineOfFile(const std::string &path, llvm::StringRef wanted);
  accel::AcceleratorOp clusterDevice(const ast::Declaration &cluster, SourceRange place);
  accel::AcceleratorOp acceleratorOf(const ast::Declaration &declaration);
  std::optional<DeclaredMicroarchitecture> microarchitectureNamed(llvm::StringRef name, const ast::Declaration &from,
                                                                  SourceRange at);
  accel::ClusterOp clusterOf(const ast::Declaration &declaration);
  bool settleDegrees(TrainingJob &job);
  void checkConstant(const ast::Declaration &constant);
  bool modelCall(const ast::Expr *expr, const ast::Declaration &from, const ast::Name &by, TrainingJob &job);
  const ast::Declaration *named(ast::DeclarationKind kind, llvm::StringRef name) const;
  const ast::Declaration *run(llvm::StringRef name) const;
  const std::optional<SparsityRequest> &sparsityOf(const ast::Declaration &block);
  const std::optional<EnsembleRequest> &ensembleOf(const ast::Declaration &block);
  const std::optional<jobs::JobsRequest> &jobsOf(const ast::Declaration &block);
  const std::optional<tuning::TuningProblem> &tuningOf(const ast::Declaration &block);
  const ast::Declaration *chosenEnsemble();
  const ast::Declaration *chosenBlock(ast::DeclarationKind kind, const std::string &option, const std::string &wanted,
                                      const char *what, const char *example);
  std::optional<Constant> written(const std::string &text, const char *option);
  std::optional<ObjectiveExpression> metric();

  Diagnostics &diags;
  mlir::MLIRContext &context;
  ElaborateOptions options;
  EfficiencyOptions efficiency() const {
    EfficiencyOptions made{options.ideal || options.mines || options.prunes, options.catalog, options.framework,
                           options.calibration};
    made.engine = engine;
    if (engine && made.framework.empty())
      made.framework = kEngineFramework;
    return made;
  }
  bool engine = false; ///< the job is inference by a compiled engine
  Sources sources;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Sources::Unit *main = nullptr;
  std::set<const ast::Declaration *> evaluating;
  std::map<const ast::Declaration *, Constant> constants; ///< those evaluated so far
  std::map<const ast::Declaration *, accel::AcceleratorOp> machines;
  std::map<const ast::Declaration *, accel::ClusterOp> clusters;
  std::map<const ast::Declaration *, std::optional<SparsityRequest>> sparsities; ///< as above
  std::map<const ast::Declaration *, std::optional<EnsembleRequest>> ensembles;
  std::map<const ast::Declaration *, std::optional<jobs::JobsRequest>> jobBlocks;
  std::map<const ast::Declaration *, std::optional<tuning::TuningProblem>> tunings;
  const ast::Declaration *target = nullptr;         ///< the cluster that was found, if it is one
  std::vector<accel::AcceleratorOp> targetMachines; ///< of its kinds of devices
  Conditions requirements;                          ///< of the job, to be checked against its machine
};

} // namespace accord
