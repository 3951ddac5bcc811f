// Operations by all that their price follows from, and what such a shape takes of a core at least.
#pragma once
#include "lib/machine/array/Gemm.h"
#include "lib/machine/cost/CostModel.h"
#include "lib/sparsity/problem/ZeroShares.h"
#include <array>

namespace accord {

/// Arithmetic of one kind and extent: an operation, or a part of a fused one.
struct StepShape {
  Operation operation;      ///< one that has it
  uint32_t want = 0;        ///< index into `StepShapes::wants`
  std::optional<Gemm> gemm; ///< of a contraction
  double products = 0;      ///< of that size which it computes
  /// Bytes of an element of operands and result; of a contraction whose tensors are known.
  std::optional<std::array<double, 3>> widths;
  bool isPart = false; ///< of a fused operation
};

/// Operations that cost the same on every machine.
struct StepClass {
  enum class Kind : uint8_t { Free, Given, Communication, Whole, Fused } kind = Kind::Free;
  uint32_t shape = 0;          ///< of Whole
  uint32_t want = 0;           ///< of Whole and Fused: where it runs
  std::vector<uint32_t> parts; ///< of Fused, shapes
  double bytes = 0;            ///< compulsory
  double flops = 0;
  double seconds = 0;    ///< of Given, and of Exchange on the network
  bool mapped = false;   ///< gets tiles where there are memories to tile for
  bool lookup = false;   ///< of rows, which some memories move in whole sectors
  ZeroShares zeros = {}; ///< what zeros of its weights leave on any machine at least
  double savedBytes = 0; ///< of `bytes`, by its tensor with zeros
  bool hasZeros() const { return zeros != ZeroShares{}; }
};

struct StepShapes {
  /// Kind of core and arithmetic.
  struct Want {
    CoreKind core;
    std::string type;
    friend bool operator==(const Want &, const Want &) = default;
  };
  std::vector<Want> wants;
  std::vector<StepShape> shapes;
  std::vector<StepClass> classes;
  std::vector<uint32_t> classOf; ///< by OperationId
  std::string optimizer;         ///< of the step

  /// `communication`: by operation, seconds on the network; empty: such operations are Free.
  static StepShapes of(const WorkGraph &graph, const std::vector<double> &communication = {},
                       const StepZeroShares &zeros = {});
};

/// What a shape takes of a core: infinite where its model has no answer, 0 where it is not known.
struct ShapeTime {
  double spread = 0, single = 0; ///< seconds on all instances, and on one
  double feed = 0;               ///< bytes to and from the nearest memory, beyond tiles; 0: compulsory
};

/// By the model that `estimate` takes for the core of `machine`, in the given arithmetic. Not
/// `sameArray`: no more than on any core of fewer rows, columns, lanes or instances.
ShapeTime shapeTime(const StepShape &shape, const Machine &machine, int core, const std::string &type, bool sameArray);
/// The same of a core at the level of instructions, of multiply-accumulates alone: at what its units do in a cycle.
ShapeTime instructionTime(const StepShape &shape, const Machine &machine, int core);
/// "peak", "array", "vector", "instructions": what `estimate` takes for the core; empty for any other model.
std::string builtinModel(const Machine &machine, const Core &core);

} // namespace accord
