// Exact arithmetic over named arguments as a graph of shared nodes: what a latency model is made of. One description;
// C, Python and MLIR are printed from it and Accord's own compiler runs it.
#pragma once
#include "lib/latency/model/Polynomial.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace accord {

/// Something a latency model may be asked at.
struct LatencyArgument {
  std::string name; ///< a C identifier: "microbatch", "hbm_bandwidth"
  std::string unit; ///< "samples", "tokens", "B/s", "FLOP/s", "1"
  std::string text; ///< for people
  bool integer = false;
  double initial = 1;                ///< the plan's own value
  double min = 1, max = 1;           ///< inclusive; whole numbers below 2^52 for an integer
  int64_t multiple = 1;              ///< an integer is a multiple of it
  std::string fixedReason;           ///< why no other value than `initial` is allowed; else empty
  bool network = false;              ///< of what connects devices
  std::vector<int64_t> allowed = {}; ///< of an integer: these alone, ascending; empty: the whole range
};

using NodeId = uint32_t;
constexpr NodeId kNoNode = ~0u;

enum class NodeKind : uint8_t {
  Integer,     ///< a constant
  Real,        ///< a constant
  Argument,    ///< `index` into the arguments
  Polynomial,  ///< `index` into `polynomials`, of two integers
  Sum,         ///< of integers: `value` + sum of coefficient * operand
  Product,     ///< of two integers
  CeilDivide,  ///< of a non-negative by a positive integer, rounded up
  Maximum,     ///< of integers or of reals
  Minimum,     ///< of integers or of reals
  ToReal,      ///< of an integer, rounded to nearest
  Add,         ///< of two reals
  Multiply,    ///< of two reals
  Divide,      ///< of two reals
  Picoseconds, ///< real seconds -> whole picoseconds as Picoseconds::ceil, at most `value`
  Select,      ///< by an integer: the first case whose key is not below it, else the last one;
               ///< operands: that integer, then the cases; `coefficients`: their ascending keys
  SquareRoot,  ///< of two reals a, b: the largest whole m in 1..kMaxRoot with m * m * a <= b, else
               ///< 1
};

constexpr int64_t kMaxRoot = 4095;

/// Bounds that hold wherever every argument is in its range. Of integers they are exact below 2^53 and rounded outwards
/// above.
struct Interval {
  double min = 0, max = 0;
};

struct Node {
  NodeKind kind = NodeKind::Integer;
  bool integer = true;
  int64_t value = 0;
  double real = 0;
  uint32_t index = 0;
  std::vector<NodeId> operands = {};
  std::vector<int64_t> coefficients = {}; ///< of a Sum, by operand
  Interval range = {};
};

/// All that an `Expressions` holds, as it is written and read back.
struct ExpressionGraph {
  std::vector<LatencyArgument> arguments;
  std::vector<Node> nodes;
  std::vector<Polynomial> polynomials;
};

/// Makes nodes; equal ones once, constants folded, operands before users. Real arithmetic is never reordered, so that
/// every form of the model rounds alike. Integer arithmetic is brought into normal form: sums with multiplicities,
/// maxima without operands that another dominates.
class Expressions {
public:
  explicit Expressions(std::vector<LatencyArgument> arguments = {});
  /// Nothing where a node has other operands than its kind takes: another number or type of them, one that is not
  /// before it, an argument or a polynomial that there is not.
  static std::optional<Expressions> of(ExpressionGraph graph);
  ExpressionGraph graph() const { return {arguments_, nodes, polynomials}; }

  NodeId integer(int64_t value);
  NodeId real(double value);
  NodeId argument(size_t index);
  /// By name; kNoNode if there is none.
  NodeId argument(const std::string &name);
  /// `p` at integers b and s; it has to be whole there.
  NodeId polynomial(const Polynomial &p, NodeId b, NodeId s);
  /// Of two integers or of two reals.
  NodeId add(NodeId a, NodeId b);
  NodeId multiply(NodeId a, NodeId b);
  NodeId divide(NodeId a, NodeId b); ///< reals
  NodeId ceilDivide(NodeId a, NodeId b);
  NodeId maximum(const std::vector<NodeId> &of);
  NodeId minimum(const std::vector<NodeId> &of);
  NodeId toReal(NodeId a);
  NodeId picoseconds(NodeId seconds, int64_t max);
  /// Cases by ascending keys, all integers or all reals. Neighbours that are equal become one.
  NodeId select(NodeId key, const std::vector<std::pair<int64_t, NodeId>> &cases);
  NodeId squareRoot(NodeId a, NodeId b);

  const Node &operator[](NodeId id) const { return nodes[id]; }
  size_t size() const { return nodes.size(); }
  const std::vector<LatencyArgument> &arguments() const { return arguments_; }
  std::vector<LatencyArgument> &arguments() { return arguments_; }
  const Polynomial &polynomialOf(const Node &node) const { return polynomials[node.index]; }
  /// The largest magnitude among what an integer node computes on its way, as the interval has it.
  double magnitude(NodeId id) const;
  /// Nodes that `roots` need, in ascending order.
  std::vector<NodeId> needed(const std::vector<NodeId> &roots) const;

private:
  /// An integer as value + sum of coefficient * node.
  struct Linear {
    std::map<NodeId, int64_t> terms;
    int64_t value = 0;
    int64_t coefficientOf(NodeId id) const {
      auto found = terms.find(id);
      return found == terms.end() ? 0 : found->second;
    }
  };
  bool takes(const Node &node) const;
  NodeId make(Node node);
  bool isReal(NodeId id, double value) const { return nodes[id].kind == NodeKind::Real && nodes[id].real == value; }
  bool areReal(NodeId a, NodeId b) const { return nodes[a].kind == NodeKind::Real && nodes[b].kind == NodeKind::Real; }
  Linear linear(NodeId id) const;
  NodeId fromLinear(const Linear &form);
  bool dominated(const Linear &a, const Linear &b, unsigned depth) const;
  NodeId integerMaximum(const std::vector<NodeId> &of);

  std::vector<LatencyArgument> arguments_;
  std::vector<Node> nodes;
  std::vector<Polynomial> polynomials;
  std::map<std::string, NodeId> known; ///< by the bytes of the node
};

/// Values of nodes at one choice of arguments, computed as asked for.
class Evaluation {
public:
  /// `arguments` in the order of `of.arguments()`; integers as whole numbers.
  Evaluation(const Expressions &of, std::vector<double> arguments);
  int64_t integer(NodeId id);
  double real(NodeId id);

private:
  union Value {
    int64_t integer;
    double real;
  };
  Value compute(const Node &node) const;
  const Value &at(NodeId id);

  const Expressions &of;
  std::vector<double> arguments;
  std::vector<Value> values;
  std::vector<bool> done;
};

/// Whole picoseconds of a time, rounded up but for a rounding error, at most `most` (also for what is no number).
int64_t clampedPicoseconds(double seconds, int64_t max);
/// What a SquareRoot node is: bit by bit, so that every form has the same without a library.
int64_t wholeRoot(double a, double b);

} // namespace accord
