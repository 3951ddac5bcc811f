// What a session's target is: a machine, devices of a cluster, or a space of machines.
#include "lib/driver/Session.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include <fmt/format.h>

namespace accord {

bool Session::prepareMachine(mlir::Operation *op) {
  auto target = llvm::cast<accel::AcceleratorOp>(op);
  mlir::FailureOr<Machine> machine = mlir::failure();
  {
    mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &d) {
      SourceRange named = rangeOf(diags, sourceOf(target.getLoc()));
      reportMachineError(d, diags, named);
      return mlir::success();
    });
    machine = machineFrom(target);
  }
  if (mlir::failed(machine)) {
    if (!diags.hasErrors())
      diags.error(Code::InternalError, {}, "the machine cannot be used");
    return false;
  }
  theMachine = *machine;
  return true;
}

/// Of a cluster one kind of devices is mined.
bool Session::prepareSpace() {
  std::vector<accel::AcceleratorOp> kinds = theProgram->machines();
  accel::ClusterOp cluster = theProgram->cluster();
  if (!cluster)
    return true;
  if (kinds.size() == 1) {
    auto made = ClusterSpace::of(cluster);
    if (!made) {
      for (const Error &issue : made.error())
        report(issue);
      return false;
    }
    theClusters = std::make_unique<ClusterSpace>(std::move(*made));
    chooseCluster(theClusters->at(0));
    return true;
  }
  std::string names;
  for (accel::AcceleratorOp kind : kinds)
    names += (names.empty() ? "'" : ", '") + kind.getSymName().str() + "'";
  SourceRange at = theJob->targetAt.valid() ? theJob->targetAt : rangeOf(diags, sourceOf(cluster.getLoc()));
  auto error =
      diags.error(Code::NotSupported, at,
                  fmt::format("not supported yet: mining the devices of a cluster of several kinds ('{}' has {})",
                              cluster.getSymName().str(), names));
  error.note(rangeOf(diags, sourceOf(cluster.getLoc())), "the cluster is declared here")
      .help(fmt::format("train on a cluster of one of them alone, or mine one device: --space {}",
                        kinds.front().getSymName().str()));
  return false;
}

void Session::warnOfClusterLimits() {
  accel::ClusterOp cluster = theProgram->cluster();
  if (!cluster)
    return;
  cluster->walk([&](accel::RequireOp require) {
    diags
        .warning(Code::NotSupported, rangeOf(diags, sourceOf(require.getLoc())),
                 fmt::format("not supported yet: what '{}' requires is not looked at", cluster.getSymName().str()))
        .help("state it where it is trained on: train … { require power <= 1.2 MW }");
  });
}

bool Session::minesCluster() const { return theSpace && theProgram->cluster(); }

void Session::chooseCluster(const Design &choices) { theClusters->choose(choices); }

std::string Session::clusterText(const Design &choices) const {
  return theClusters ? theProgram->clusterText(theClusters->labels(choices)) : "";
}

std::string Session::spaceName() const { return llvm::cast<accel::AcceleratorOp>(theSpace).getSymName().str(); }

std::optional<DesignSpace> Session::designSpace() {
  auto target = llvm::cast<accel::AcceleratorOp>(theSpace);
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &d) {
    reportMachineError(d, diags, rangeOf(diags, sourceOf(target.getLoc())));
    return mlir::success();
  });
  auto space = DesignSpace::of(target, theClusters ? theClusters->parameters() : std::vector<DesignParameter>());
  if (!space) {
    for (const Error &issue : space.error())
      report(issue);
    return std::nullopt;
  }
  return std::move(*space);
}

/// The cluster as plain data, if the target is one, and whether it has as many devices as the job
/// needs.
bool Session::prepareCluster() {
  accel::ClusterOp op = theProgram->cluster();
  if (!op)
    return true;
  auto cluster = clusterFrom(op, theMachine);
  if (!cluster) {
    report(cluster.error());
    return false;
  }
  theCluster = std::move(*cluster);
  int64_t has = theCluster->fabric.devices(), needs;
  const Degrees &degrees = theJob->degrees;
  if (__builtin_mul_overflow(degrees.tensor, degrees.data, &needs) || needs > has) {
    SourceRange at;
    for (const DegreeChoice &choice : theJob->parallel)
      if (choice.key == "tensor_parallel" || choice.key == "data_parallel")
        at = choice.at;
    auto error = diags.error(Code::TooFewDevices, at,
                             fmt::format("tensor_parallel {} x data_parallel {} devices are needed, "
                                         "cluster '{}' has {}",
                                         degrees.tensor, degrees.data, theCluster->name, has));
    error.note(rangeOf(diags, theCluster->location), "the cluster is declared here");
    return false;
  }
  if (needs < has)
    theCluster->assumptions.push_back(
        fmt::format("the step takes {} of the {} devices of '{}'", needs, has, theCluster->name));
  return true;
}

} // namespace accord
