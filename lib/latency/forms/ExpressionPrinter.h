// Nodes of a latency model as statements and expressions of a language with infix operators.
#pragma once
#include "lib/latency/model/LatencyModel.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

enum class FormLanguage : uint8_t { C, Python, JavaScript };

/// What languages say differently.
struct Syntax {
  std::string prefix; ///< of the helper functions
  std::string divide; ///< of whole numbers without a remainder
  FormLanguage language = FormLanguage::C;
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

/// A form of a model as lines of text.
class FormWriter {
protected:
  FormWriter(const LatencyModel &model, Syntax syntax) : m(model), text(model, std::move(syntax)) {}

  template <typename... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
    out += '\n';
  }
  std::string literal(const LatencyArgument &a, double value) const {
    return a.integer ? text.integer(static_cast<int64_t>(value)) : ExpressionPrinter::real(value);
  }
  /// The arguments of a stored sample, as literals.
  std::string literals(const LatencyModel::Sample &sample) const {
    std::string at;
    for (size_t i = 0; i < sample.arguments.size(); ++i)
      at += (i ? ", " : "") + literal(m.arguments()[i], sample.arguments[i]);
    return at;
  }
  /// All statements; `guard(i)` stands before what is only computed where it holds.
  template <typename Guard, typename Statement> void body(Guard guard, Statement statement) {
    size_t next = 0;
    auto guards = [&](NodeId upTo) {
      for (; next < m.guards.size() && std::max(m.guards[next].min, m.guards[next].max) < upTo; ++next)
        guard(next);
    };
    for (NodeId id : text.statements()) {
      guards(id);
      statement(id, text.comment(id));
    }
    guards(kNoNode);
  }

  const LatencyModel &m;
  std::string out;
  ExpressionPrinter text;
};

/// Without what ends a comment, a line, a string or the script of a page.
std::string commentText(const std::string &text);

} // namespace accord
