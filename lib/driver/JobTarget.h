// What the training of a workspace runs on: a machine, devices of a cluster, or a space of machines.
#pragma once
#include "lib/compilation/Target.h"
#include "lib/driver/Workspace.h"
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/machine/energy/PowerLevel.h"
#include "lib/machine/model/Machine.h"
#include "lib/placement/problem/Objective.h"

namespace accord {
class DesignSpace;

class JobTarget {
public:
  explicit JobTarget(Workspace &workspace) : workspace(workspace), diags(workspace.diagnostics()) {}

  /// Reads the machine, or the cluster and its groups of devices, or what of a cluster is mined. False after errors.
  bool prepare();
  /// The groups of a cluster that is named at a place, without a training. False after errors.
  bool prepareCluster(const std::string &name, SourceRange at);

  /// The accelerator or cluster of the module.
  std::string name() const;
  const Machine &machine() const { return theMachine; }
  /// What the target is made of, if it is a cluster; `machine()` is then one of its devices.
  const std::optional<Cluster> &cluster() const { return theCluster; }
  /// The cluster for a placement: equal devices, a group each.
  const ClusterTarget &groups() const { return theGroups; }
  /// The level with a cap that devices are used at, with the lowest clock that it needs; nothing where there is none.
  std::optional<PowerLevel> cappedLevel();
  /// The machine or the groups with another clock of such a level. False after errors.
  bool useClock(double clock);
  /// What of a step that the cluster's devices share is assumed, in words; each once.
  void assume(const std::string &text);

  /// Whether devices of a cluster are mined.
  bool minesCluster() const;
  /// Of the accelerator that is mined.
  std::string spaceName() const;
  /// The machines among which one is mined; nothing after errors.
  std::optional<DesignSpace> designSpace();
  /// What the mined cluster leaves open; null: there is none.
  const ClusterSpace *clusters() const { return theClusters.get(); }
  /// The cluster has these choices from now on (the first of each at the beginning).
  void chooseCluster(const Design &choices) { theClusters->choose(choices); }
  /// The cluster as a description, with these choices; empty: no cluster is mined.
  std::string clusterText(const Design &choices) const;
  /// The devices of the mined cluster are this machine from now on, with the limits that follow from it, and the job
  /// has this objective. False after errors.
  bool useDevice(const Machine &machine, PlacementObjective objective);
  /// Bytes of a device that a placement may use where devices are this machine; 0: all.
  double maxMemoryOn(const Machine &machine) const;

private:
  mlir::ScopedDiagnosticHandler errorsOf(accel::AcceleratorOp accelerator);
  std::optional<Machine> machineOf(accel::AcceleratorOp accelerator);
  std::vector<accel::AcceleratorOp> accelerators();
  bool usePowerLevel(double clock);
  bool read();
  bool prepareSpace();
  bool prepareCluster();
  bool prepareGroups();
  bool takeGroups(std::vector<Machine> machines);

  Workspace &workspace;
  Diagnostics &diags;
  Machine theMachine;
  std::unique_ptr<ClusterSpace> theClusters;
  std::optional<Cluster> theCluster;
  ClusterTarget theGroups;
};

} // namespace accord
