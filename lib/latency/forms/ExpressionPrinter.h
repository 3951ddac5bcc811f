// Nodes of a latency model as statements and expressions of a language with infix operators.
#pragma once
#include "lib/latency/model/LatencyModel.h"

namespace accord {

/// What C and Python say differently.
struct Syntax {
  std::string prefix; ///< of the helper functions
  std::string divide; ///< of whole numbers without a remainder
  bool python = false;
};

class ExpressionPrinter {
public:
  ExpressionPrinter(const LatencyModel &model, Syntax syntax);
  /// Nodes that get a name, in order.
  const std::vector<NodeId> &statements() const { return named; }
  /// What a statement computes.
  std::string definition(NodeId id) const { return compute(id); }
  /// Its name, or the expression of what has none.
  std::string use(NodeId id) const;
  /// "block.fc1 (linear, forward)" and how many others; empty if nothing is known of it.
  std::string comment(NodeId id) const;

  /// The shortest decimal that reads back, marked as floating point.
  static std::string real(double value);
  std::string integer(int64_t value) const;

private:
  std::string compute(NodeId id) const;
  std::string polynomial(const Node &node) const;
  std::string fold(const char *function, const Node &node) const;

  const LatencyModel &model;
  Syntax syntax;
  std::vector<NodeId> named;
  std::vector<bool> hasName;
  std::vector<std::string> comments;
};

/// Without what ends a comment or a line.
std::string commentText(const std::string &text);

} // namespace accord
