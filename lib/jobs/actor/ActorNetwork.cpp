#include "lib/jobs/actor/ActorNetwork.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr size_t kMaxNumbers = size_t(1) << 24, kMaxProducts = size_t(1) << 32;

constexpr const char *kNames[] = {"MatMul",    "Gemm",      "Add",     "Sub",       "Mul",     "Div",
                                  "Tanh",      "Relu",      "Sigmoid", "Exp",       "Softmax", "ReduceMean",
                                  "ReduceSum", "ReduceMax", "Concat",  "Transpose", "Identity"};

std::string shapeOf(const ActorTensor &tensor) { return fmt::format("[{}, {}]", tensor.rows, tensor.columns); }

Error wrong(const std::string &message) { return {Code::WrongJobsFile, message}; }

/// One evaluation: all values, and the work so far.
class Evaluation {
public:
  Evaluation(const ActorGraph &graph, const ActorTensor &jobs, const ActorTensor &cluster) : graph(graph) {
    values.reserve(2 + graph.tensors.size() + graph.nodes.size());
    values.push_back(&jobs), values.push_back(&cluster);
    for (const ActorTensor &tensor : graph.tensors)
      values.push_back(&tensor);
    results.reserve(graph.nodes.size()); // so that pointers to results stay
  }

  Result<std::vector<double>> run() {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      ActorTensor result;
      if (auto computed = compute(graph.nodes[i], result); !computed)
        return wrong(fmt::format("node {} ({}): {}", i, nameOf(graph.nodes[i].op), computed.error().message));
      results.push_back(std::move(result));
      values.push_back(&results.back());
    }
    const ActorTensor &output = *values[graph.output];
    if (output.rows != values[0]->rows || output.columns != 1)
      return wrong(fmt::format("its answer has the shape {}, but [{}, 1] is expected: one number for each job",
                               shapeOf(output), values[0]->rows));
    for (double number : output.numbers)
      if (!std::isfinite(number))
        return wrong("its answer has a number that is infinite or none");
    return output.numbers;
  }

private:
  const ActorTensor &operand(const ActorNode &node, size_t i) const { return *values[node.inputs[i]]; }

  Result<void> sized(ActorTensor &result, size_t rows, size_t columns) const {
    if (columns != 0 && rows > kMaxNumbers / columns)
      return wrong(fmt::format("[{}, {}] are more than 2^24 numbers", rows, columns));
    result.rows = rows, result.columns = columns;
    result.numbers.assign(rows * columns, 0);
    return {};
  }

  Result<void> compute(const ActorNode &node, ActorTensor &result) {
    switch (node.op) {
    case ActorOperator::MatMul:
    case ActorOperator::Gemm:
      return multiply(node, result);
    case ActorOperator::Add:
      return combine(node, result, [](double a, double b) { return a + b; });
    case ActorOperator::Sub:
      return combine(node, result, [](double a, double b) { return a - b; });
    case ActorOperator::Mul:
      return combine(node, result, [](double a, double b) { return a * b; });
    case ActorOperator::Div:
      return combine(node, result, [](double a, double b) { return a / b; });
    case ActorOperator::Tanh:
      return map(node, result, [](double a) { return std::tanh(a); });
    case ActorOperator::Relu: // keeps what is no number
      return map(node, result, [](double a) { return a < 0 ? 0 : a; });
    case ActorOperator::Sigmoid:
      return map(node, result, [](double a) { return 1 / (1 + std::exp(-a)); });
    case ActorOperator::Exp:
      return map(node, result, [](double a) { return std::exp(a); });
    case ActorOperator::Identity:
      return map(node, result, [](double a) { return a; });
    case ActorOperator::Softmax:
      return softmax(node, result);
    case ActorOperator::ReduceMean:
    case ActorOperator::ReduceSum:
    case ActorOperator::ReduceMax:
      return reduce(node, result);
    case ActorOperator::Concat:
      return concat(node, result);
    case ActorOperator::Transpose:
      return transpose(operand(node, 0), result);
    }
    return {};
  }

  Result<void> transpose(const ActorTensor &from, ActorTensor &result) const {
    if (auto made = sized(result, from.columns, from.rows); !made)
      return made;
    for (size_t row = 0; row < from.rows; ++row)
      for (size_t column = 0; column < from.columns; ++column)
        result.numbers[column * from.rows + row] = from.numbers[row * from.columns + column];
    return {};
  }

  Result<void> multiply(const ActorNode &node, ActorTensor &result) {
    ActorTensor turned[2];
    const ActorTensor *factors[2] = {&operand(node, 0), &operand(node, 1)};
    const bool turns[2] = {node.transposesFirst, node.transposesSecond};
    for (int i = 0; i < 2; ++i)
      if (turns[i]) {
        if (auto made = transpose(*factors[i], turned[i]); !made)
          return made;
        factors[i] = &turned[i];
      }
    const ActorTensor &a = *factors[0], &b = *factors[1];
    if (a.columns != b.rows)
      return wrong(fmt::format("{} times {} is no product", shapeOf(a), shapeOf(b)));
    if (auto made = sized(result, a.rows, b.columns); !made)
      return made;
    products += a.rows * a.columns * b.columns; // each below 2^48
    if (products > kMaxProducts)
      return wrong("the network needs more than 2^32 products");
    for (size_t row = 0; row < a.rows; ++row) {
      double *to = result.numbers.data() + row * b.columns;
      for (size_t k = 0; k < a.columns; ++k) {
        const double factor = node.alpha * a.numbers[row * a.columns + k];
        for (size_t column = 0; column < b.columns; ++column)
          to[column] += factor * b.numbers[k * b.columns + column];
      }
    }
    if (node.inputs.size() < 3)
      return {};
    const ActorTensor &c = operand(node, 2);
    if ((c.rows != 1 && c.rows != result.rows) || (c.columns != 1 && c.columns != result.columns))
      return wrong(fmt::format("{} cannot be added to {}", shapeOf(c), shapeOf(result)));
    for (size_t row = 0; row < result.rows; ++row)
      for (size_t column = 0; column < result.columns; ++column)
        result.numbers[row * result.columns + column] +=
            node.beta * c.numbers[(c.rows == 1 ? 0 : row) * c.columns + (c.columns == 1 ? 0 : column)];
    return {};
  }

  template <typename Function> Result<void> map(const ActorNode &node, ActorTensor &result, Function function) {
    const ActorTensor &from = operand(node, 0);
    if (auto made = sized(result, from.rows, from.columns); !made)
      return made;
    std::ranges::transform(from.numbers, result.numbers.begin(), function);
    return {};
  }

  template <typename Function> Result<void> combine(const ActorNode &node, ActorTensor &result, Function function) {
    const ActorTensor &a = operand(node, 0), &b = operand(node, 1);
    auto fits = [](size_t one, size_t other) { return one == other || one == 1 || other == 1; };
    if (!fits(a.rows, b.rows) || !fits(a.columns, b.columns))
      return wrong(fmt::format("{} and {} do not fit", shapeOf(a), shapeOf(b)));
    // An extent of 1 stands for none, too.
    const size_t rows = a.rows == 1 ? b.rows : a.rows, columns = a.columns == 1 ? b.columns : a.columns;
    if (auto made = sized(result, rows, columns); !made)
      return made;
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column)
        result.numbers[row * columns + column] =
            function(a.numbers[(a.rows == 1 ? 0 : row) * a.columns + (a.columns == 1 ? 0 : column)],
                     b.numbers[(b.rows == 1 ? 0 : row) * b.columns + (b.columns == 1 ? 0 : column)]);
    return {};
  }

  /// Calls `line` with the indices of each line of numbers along an axis, and where its result stands.
  template <typename Line> static void lines(const ActorTensor &from, unsigned axis, Line line) {
    const size_t count = axis == 0 ? from.columns : from.rows, length = axis == 0 ? from.rows : from.columns;
    for (size_t i = 0; i < count; ++i)
      line(i, length, [&, i](size_t k) { return axis == 0 ? k * from.columns + i : i * from.columns + k; });
  }

  Result<void> softmax(const ActorNode &node, ActorTensor &result) {
    const ActorTensor &from = operand(node, 0);
    if (auto made = sized(result, from.rows, from.columns); !made)
      return made;
    lines(from, node.axis, [&](size_t, size_t length, auto at) {
      double largest = -INFINITY, sum = 0;
      for (size_t k = 0; k < length; ++k)
        largest = std::max(largest, from.numbers[at(k)]);
      for (size_t k = 0; k < length; ++k)
        sum += result.numbers[at(k)] = std::exp(from.numbers[at(k)] - largest);
      for (size_t k = 0; k < length; ++k)
        result.numbers[at(k)] /= sum;
    });
    return {};
  }

  Result<void> reduce(const ActorNode &node, ActorTensor &result) {
    const ActorTensor &from = operand(node, 0);
    if (auto made = sized(result, node.axis == 0 ? 1 : from.rows, node.axis == 0 ? from.columns : 1); !made)
      return made;
    lines(from, node.axis, [&](size_t i, size_t length, auto at) {
      double sum = 0, largest = -INFINITY;
      for (size_t k = 0; k < length; ++k)
        sum += from.numbers[at(k)], largest = std::max(largest, from.numbers[at(k)]);
      result.numbers[i] = node.op == ActorOperator::ReduceSum    ? sum
                          : node.op == ActorOperator::ReduceMean ? sum / static_cast<double>(length)
                                                                 : largest;
    });
    return {};
  }

  Result<void> concat(const ActorNode &node, ActorTensor &result) {
    size_t along = 0;
    const ActorTensor &first = operand(node, 0);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ActorTensor &one = operand(node, i);
      if (node.axis == 0 ? one.columns != first.columns : one.rows != first.rows)
        return wrong(fmt::format("{} and {} do not fit along axis {}", shapeOf(first), shapeOf(one), node.axis));
      along += node.axis == 0 ? one.rows : one.columns;
    }
    if (auto made = sized(result, node.axis == 0 ? along : first.rows, node.axis == 0 ? first.columns : along); !made)
      return made;
    size_t before = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ActorTensor &one = operand(node, i);
      for (size_t row = 0; row < one.rows; ++row)
        for (size_t column = 0; column < one.columns; ++column)
          result.numbers[node.axis == 0 ? (before + row) * result.columns + column
                                        : row * result.columns + before + column] =
              one.numbers[row * one.columns + column];
      before += node.axis == 0 ? one.rows : one.columns;
    }
    return {};
  }

  const ActorGraph &graph;
  std::vector<const ActorTensor *> values;
  std::vector<ActorTensor> results; ///< of the nodes
  size_t products = 0;
};

/// Fewest and most operands of an operator.
std::pair<size_t, size_t> operandsOf(ActorOperator op) {
  switch (op) {
  case ActorOperator::Gemm:
    return {2, 3};
  case ActorOperator::MatMul:
  case ActorOperator::Add:
  case ActorOperator::Sub:
  case ActorOperator::Mul:
  case ActorOperator::Div:
    return {2, 2};
  case ActorOperator::Concat:
    return {1, 1000};
  default:
    return {1, 1};
  }
}

} // namespace

const char *nameOf(ActorOperator op) { return kNames[static_cast<size_t>(op)]; }

std::vector<std::string> actorOperatorNames() { return {std::begin(kNames), std::end(kNames)}; }

Result<ActorNetwork> ActorNetwork::make(ActorGraph graph) {
  for (const ActorTensor &tensor : graph.tensors) {
    if (tensor.columns != 0 && tensor.rows > kMaxNumbers / tensor.columns)
      return wrong(fmt::format("a tensor {} has more than 2^24 numbers", shapeOf(tensor)));
    if (tensor.numbers.size() != tensor.rows * tensor.columns)
      return wrong(fmt::format("a tensor {} has {} numbers", shapeOf(tensor), tensor.numbers.size()));
    for (double number : tensor.numbers)
      if (!std::isfinite(number))
        return wrong("a tensor has a number that is infinite or none");
  }
  size_t known = 2 + graph.tensors.size();
  for (const ActorNode &node : graph.nodes) {
    const auto [min, max] = operandsOf(node.op);
    if (node.inputs.size() < min || node.inputs.size() > max)
      return wrong(fmt::format("node {} ({}) has {} operands", known - 2 - graph.tensors.size(), nameOf(node.op),
                               node.inputs.size()));
    for (size_t input : node.inputs)
      if (input >= known)
        return wrong(fmt::format("node {} ({}) uses a value that does not exist yet", known - 2 - graph.tensors.size(),
                                 nameOf(node.op)));
    ++known;
  }
  if (graph.output >= known)
    return wrong("the answer is a value that does not exist");
  ActorNetwork network(std::move(graph));
  for (size_t jobs : {2, 3, 1}) {
    const ActorGraph &made = network.data;
    const ActorTensor cluster{1, made.clusterFeatures, std::vector<double>(made.clusterFeatures, 0.5)};
    const ActorTensor rows{jobs, made.jobFeatures, std::vector<double>(jobs * made.jobFeatures, 0.5)};
    if (auto tried = network.evaluate(rows, cluster); !tried)
      return wrong(fmt::format("for {} job{}, {}", jobs, jobs == 1 ? "" : "s", tried.error().message));
  }
  return network;
}

Result<std::vector<double>> ActorNetwork::evaluate(const ActorTensor &jobs, const ActorTensor &cluster) const {
  if (jobs.columns != data.jobFeatures || cluster.columns != data.clusterFeatures || cluster.rows != 1)
    return wrong(fmt::format("jobs have {} features and clusters {}, but {} and {} are expected", jobs.columns,
                             cluster.columns, data.jobFeatures, data.clusterFeatures));
  if (jobs.rows == 0)
    return std::vector<double>();
  return Evaluation(data, jobs, cluster).run();
}

size_t deepSetParameters(size_t jobFeatures, size_t clusterFeatures, size_t hidden) {
  return jobFeatures * hidden + hidden + (hidden + clusterFeatures) * hidden + hidden + 2 * hidden * hidden + hidden +
         hidden + 1 + jobFeatures;
}

ActorGraph deepSet(size_t jobFeatures, size_t clusterFeatures, size_t hidden, const std::vector<double> &parameters) {
  ActorGraph graph;
  graph.jobFeatures = jobFeatures, graph.clusterFeatures = clusterFeatures;
  size_t taken = 0;
  auto tensor = [&](size_t rows, size_t columns) {
    ActorTensor &made = graph.tensors.emplace_back(ActorTensor{rows, columns});
    for (size_t i = 0; i < rows * columns; ++i)
      made.numbers.push_back(static_cast<float>(parameters[taken++]));
    return 1 + graph.tensors.size();
  };
  const size_t a = tensor(jobFeatures, hidden), aBias = tensor(1, hidden);
  const size_t b = tensor(hidden + clusterFeatures, hidden), bBias = tensor(1, hidden);
  const size_t c = tensor(hidden, hidden), d = tensor(hidden, hidden), dBias = tensor(1, hidden);
  const size_t w = tensor(hidden, 1), e = tensor(1, 1), v = tensor(jobFeatures, 1);
  const size_t first = 2 + graph.tensors.size();
  auto node = [&](ActorOperator op, std::vector<size_t> inputs, unsigned axis = 0) {
    ActorNode &made = graph.nodes.emplace_back();
    made.op = op, made.inputs = std::move(inputs), made.axis = axis;
    return first + graph.nodes.size() - 1;
  };
  const size_t h = node(ActorOperator::Tanh, {node(ActorOperator::Gemm, {0, a, aBias})});
  const size_t pooled = node(ActorOperator::ReduceMean, {h}, 0);
  const size_t joined = node(ActorOperator::Concat, {pooled, 1}, 1);
  const size_t context = node(ActorOperator::Tanh, {node(ActorOperator::Gemm, {joined, b, bBias})});
  const size_t shared = node(ActorOperator::Gemm, {context, d, dBias});
  const size_t z = node(ActorOperator::Tanh, {node(ActorOperator::Add, {node(ActorOperator::MatMul, {h, c}), shared})});
  const size_t deep = node(ActorOperator::Gemm, {z, w, e});
  graph.output = node(ActorOperator::Add, {deep, node(ActorOperator::MatMul, {0, v})});
  return graph;
}

} // namespace accord::jobs
