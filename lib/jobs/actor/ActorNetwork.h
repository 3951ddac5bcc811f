// A network that says a number for each job of a round: tensors and operators as plain data, and its evaluation.
//
// Every value is a matrix. The first two are its inputs: the features of the jobs (a row for each), and those of the
// cluster (one row). As a node sees rows only through products, means and the like, a network holds for any number of
// jobs; `ActorNetwork::make` proves that it does.
#pragma once
#include "lib/support/Result.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace accord::jobs {

/// Numbers of a matrix, row by row.
struct ActorTensor {
  size_t rows = 0, columns = 0;
  std::vector<double> numbers = {};
  bool operator==(const ActorTensor &) const = default;
};

/// Operators, with ONNX's meaning of those names (onnx.ai/onnx/operators). Of two operands, one row, one column or one
/// number stands for as many as the other has (broadcasting).
enum class ActorOperator : uint8_t {
  MatMul,
  Gemm, ///< alpha * A * B + beta * C, A and B transposed where the node says so
  Add,
  Sub,
  Mul,
  Div,
  Tanh,
  Relu,
  Sigmoid,
  Exp,
  Softmax, ///< over columns (axis 1), or rows (axis 0)
  ReduceMean,
  ReduceSum,
  ReduceMax,
  Concat,
  Transpose,
  Identity
};

/// The name that ONNX has for an operator.
const char *nameOf(ActorOperator op);
/// Of all operators, in their order.
std::vector<std::string> actorOperatorNames();

struct ActorNode {
  ActorOperator op = ActorOperator::Identity;
  std::vector<size_t> inputs; ///< numbers of values
  unsigned axis = 0;          ///< of Softmax, Reduce… and Concat: 0 rows, 1 columns
  double alpha = 1, beta = 1;
  bool transposesFirst = false, transposesSecond = false;
  bool operator==(const ActorNode &) const = default;
};

/// Values are numbered: 0 the jobs, 1 the cluster, then the tensors, then the result of each node.
struct ActorGraph {
  size_t jobFeatures = 0, clusterFeatures = 0; ///< columns of the inputs
  std::vector<ActorTensor> tensors;
  std::vector<ActorNode> nodes;
  size_t output = 0; ///< the value with a row of one number for each job
  bool operator==(const ActorGraph &) const = default;
};

class ActorNetwork {
public:
  /// Checks the graph: operands come before they are used and fit, for 2 and for 3 jobs, and no number is infinite or
  /// none. As the extents of a value are sums of constants and multiples of the number of jobs with no negative
  /// coefficient, what fits for 2 and for 3 fits for any number from 2 on; one job is tried as well. Error A1101 names
  /// the node, counted from 0, and the shapes that were found.
  static Result<ActorNetwork> make(ActorGraph graph);

  /// One number for each row of `jobs`. Error A1101 where a number is infinite or none, and where the evaluation needs
  /// more than 2^24 numbers a value or 2^32 products.
  Result<std::vector<double>> evaluate(const ActorTensor &jobs, const ActorTensor &cluster) const;

  const ActorGraph &graph() const { return data; }

private:
  explicit ActorNetwork(ActorGraph graph) : data(std::move(graph)) {}
  ActorGraph data;
};

/// The number of parameters of a deep set (Zaheer et al., NeurIPS 2017) with `hidden` units a layer.
size_t deepSetParameters(size_t jobFeatures, size_t clusterFeatures, size_t hidden);

/// A deep set of these parameters: h = tanh(jobs A + a); c = tanh([mean of h over jobs, cluster] B + b);
/// z = tanh(h C + c D + d); the answer is z w + e + (jobs v). It is permutation-equivariant: jobs in another order get
/// their answers in that order. Parameters are taken in the order A, a, B, b, C, D, d, w, e, v, and as float, so that a
/// file has the same numbers.
ActorGraph deepSet(size_t jobFeatures, size_t clusterFeatures, size_t hidden, const std::vector<double> &parameters);

} // namespace accord::jobs
