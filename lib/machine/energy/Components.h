// Tables of what chips are made of: lib/catalog/process.csv, components.csv, interfaces.csv and area.csv.
#pragma once
#include "lib/machine/energy/Table.h"
#include "lib/support/Units.h"
#include <map>

namespace accord {

/// What a process node gives, in base units; supply and threshold in volts, leakage in watts per square metre.
struct ProcessNode {
  double metres = 0, cell = 0, supply = 0, threshold = 0, clock = 0, leakage = 0, error = 0;
};

class ProcessTable {
public:
  /// `text` in the form of process.csv. Issues as for `Table`; A0302 for nodes that do not get smaller, a number that
  /// is not positive, or a threshold that is not below the supply; A0103 for a table without a node.
  static Result<ProcessTable> read(std::string_view text, const std::string &file);
  static const ProcessTable &shipped();

  std::pair<double, double> range() const; ///< the smallest and the largest node
  /// Between two nodes all numbers follow straight lines over their logarithms; nodes beyond the table are its ends.
  ProcessNode at(double metres) const;
  /// The highest clock in hertz of synthesized logic at `voltage` times the nominal supply, by the alpha-power law of
  /// Sakurai and Newton (JSSC 1990) with alpha = 1.3: in proportion to (V - Vt)^1.3 / V; 0 at and below the threshold.
  double clockLimit(double metres, double voltage) const;

private:
  std::vector<ProcessNode> nodes; ///< from the largest to the smallest
};

/// One kind of interface of a die, in base units; `standby` in watts.
struct Interface {
  double area = 0, edge = 0, bytesPerSecond = 0, joulesPerByte = 0, standby = 0, error = 0;
  std::string source;
};

class InterfaceTable {
public:
  /// `text` in the form of interfaces.csv. Issues as for `Table`; A0302 for an area, edge or bandwidth that is 0.
  static Result<InterfaceTable> read(std::string_view text, const std::string &file);
  static const InterfaceTable &shipped();
  const Interface *find(const std::string &type) const;
  std::vector<std::string> types() const;

private:
  std::map<std::string, Interface> interfaces;
};

/// components.csv and area.csv as numbers at their nodes.
struct ComponentNumbers {
  struct AtNode {
    double value = 0, node = 0; ///< base units; metres, 0: never scaled
  };
  AtNode registerArea, registerEnergy; ///< square metres a bit; joules a bit and cycle
  AtNode wire;                         ///< joules for a byte and metre at 0.9 V
  AtNode routerArea, routerEnergy;     ///< square metres of a bit of a port; joules for a byte that passes one
  double track = 0;                    ///< pitch of a wire over the node
  double periphery = 0;                ///< rows, and columns, of cells
  double port = 0;                     ///< share of a cell that a further port adds
  double logic = 1, memory = 1, interface = 1, energy = 1;
  double array = 1;                            ///< area of an array over that of its elements, of which their pitch is
  double clock = 0;                            ///< share of the power above idle that runs while nothing computes
  std::map<std::string, AtNode> multiply, add; ///< areas, by type

  /// `components` in the form of components.csv, `areas` of area.csv. Issues as for `Table`; A0305 for an unknown part,
  /// A0103 for one that is missing, A0302 for a number that is not positive.
  static Result<ComponentNumbers> read(std::string_view components, std::string_view areas, const std::string &file,
                                       const std::string &areasFile);
  static const ComponentNumbers &shipped();
};

} // namespace accord
