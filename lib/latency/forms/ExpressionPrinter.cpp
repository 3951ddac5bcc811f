#include "lib/latency/forms/ExpressionPrinter.h"
#include <charconv>
#include <fmt/format.h>

namespace accord {

std::string commentText(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '*' || c == '\\' || c == '"' || c == '<' || static_cast<unsigned char>(c) < 32 ||
                   static_cast<unsigned char>(c) > 126
               ? '_'
               : c;
  return out;
}

ExpressionPrinter::ExpressionPrinter(const LatencyModel &model, Syntax syntax)
    : model(model), syntax(std::move(syntax)), hasName(model.nodes.size()), comments(model.nodes.size()) {
  std::vector<unsigned> uses(model.nodes.size()), depth(model.nodes.size());
  for (NodeId id : model.roots())
    ++uses[id];
  std::vector<NodeId> needed = model.nodes.needed(model.roots());
  for (NodeId id : needed)
    for (NodeId operand : model.nodes[id].operands)
      ++uses[operand];
  for (size_t i = 0; i < model.labels.size();) {
    NodeId id = model.labels[i].node;
    size_t end = i;
    while (end < model.labels.size() && model.labels[end].node == id)
      ++end;
    comments[id] = commentText(model.labels[i].text);
    if (end - i > 1)
      comments[id] += fmt::format(" and {} more alike", end - i - 1);
    i = end;
  }
  for (NodeId id : needed) {
    const Node &node = model.nodes[id];
    if (node.kind == NodeKind::Integer || node.kind == NodeKind::Real || node.kind == NodeKind::Argument)
      continue;
    for (NodeId operand : node.operands)
      depth[id] = std::max(depth[id], hasName[operand] ? 0 : depth[operand] + 1);
    bool cheap = node.kind == NodeKind::ToReal && hasName[node.operands[0]];
    if ((uses[id] > 1 && !cheap) || !comments[id].empty() || depth[id] > 5) {
      hasName[id] = true;
      named.push_back(id);
    }
  }
}

std::string ExpressionPrinter::use(NodeId id) const { return hasName[id] ? fmt::format("t{}", id) : compute(id); }

std::string ExpressionPrinter::comment(NodeId id) const { return comments[id]; }

std::string ExpressionPrinter::real(double value) {
  char buffer[40];
  auto end = std::to_chars(buffer, std::end(buffer), value);
  std::string text(buffer, end.ptr);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string ExpressionPrinter::integer(int64_t value) const {
  if (syntax.language != FormLanguage::C || (value < (int64_t{1} << 31) && value > -(int64_t{1} << 31)))
    return std::to_string(value);
  return fmt::format("INT64_C({})", value);
}

/// Horner's scheme in the second variable.
std::string ExpressionPrinter::polynomial(const Node &node) const {
  const Polynomial &p = model.nodes.polynomialOf(node);
  std::string b = use(node.operands[0]), s = use(node.operands[1]), sum;
  for (unsigned i = 0; i < Polynomial::kB; ++i) {
    const auto &c = p.c[i];
    std::string inner;
    if (c[2])
      inner = c[1] ? fmt::format("{} * ({} + {} * {})", s, integer(c[1]), s, integer(c[2]))
                   : fmt::format("{} * {} * {}", s, s, integer(c[2]));
    else if (c[1])
      inner = fmt::format("{} * {}", s, integer(c[1]));
    bool sums = c[0] && !inner.empty();
    if (c[0])
      inner = inner.empty() ? integer(c[0]) : integer(c[0]) + " + " + inner;
    if (inner.empty())
      continue;
    std::string term = i ? b + " * " + (sums ? "(" + inner + ")" : inner) : inner;
    sum += sum.empty() ? term : " + " + term;
  }
  if (p.denominator == 1)
    return "(" + sum + ")";
  return fmt::format("(({}) {} {})", sum, syntax.divide, integer(p.denominator));
}

std::string ExpressionPrinter::fold(const char *function, const Node &node) const {
  if (syntax.language != FormLanguage::C) { // of equal ones the first, as everywhere
    std::string all;
    for (NodeId id : node.operands)
      all += (all.empty() ? "" : ", ") + use(id);
    return fmt::format("{}{}({})", syntax.language == FormLanguage::JavaScript ? "Math." : "", function, all);
  }
  std::string text = use(node.operands.front());
  for (size_t i = 1; i < node.operands.size(); ++i)
    text =
        fmt::format("{}{}_{}({}, {})", syntax.prefix, function, node.integer ? "i" : "f", text, use(node.operands[i]));
  return text;
}

std::string ExpressionPrinter::compute(NodeId id) const {
  const Node &node = model.nodes[id];
  const bool python = syntax.language == FormLanguage::Python;
  auto operand = [&](size_t i) { return use(node.operands[i]); };
  switch (node.kind) {
  case NodeKind::Integer:
    return node.value < 0 ? "(" + integer(node.value) + ")" : integer(node.value);
  case NodeKind::Real:
    return real(node.real);
  case NodeKind::Argument:
    return model.arguments()[node.index].name;
  case NodeKind::Polynomial:
    return polynomial(node);
  case NodeKind::Sum: {
    std::string sum = node.value ? integer(node.value) : "";
    for (size_t i = 0; i < node.operands.size(); ++i) {
      std::string term =
          node.coefficients[i] == 1 ? operand(i) : fmt::format("{} * {}", integer(node.coefficients[i]), operand(i));
      sum += sum.empty() ? term : " + " + term;
    }
    return "(" + sum + ")";
  }
  case NodeKind::Product:
  case NodeKind::Multiply:
    return fmt::format("({} * {})", operand(0), operand(1));
  case NodeKind::CeilDivide:
    return python ? fmt::format("(-(-{} // {}))", operand(0), operand(1))
                  : fmt::format("{}ceildiv({}, {})", syntax.prefix, operand(0), operand(1));
  case NodeKind::Maximum:
    return fold("max", node);
  case NodeKind::Minimum:
    return fold("min", node);
  case NodeKind::ToReal:
    return python                               ? "float(" + operand(0) + ")"
           : syntax.language == FormLanguage::C ? "(double)" + operand(0)
                                                : operand(0);
  case NodeKind::Add:
    return fmt::format("({} + {})", operand(0), operand(1));
  case NodeKind::Divide:
    return fmt::format("({} / {})", operand(0), operand(1));
  case NodeKind::Picoseconds:
    return fmt::format("{}ps({}, {})", syntax.prefix, operand(0), integer(node.value));
  case NodeKind::Select: {
    std::string text = operand(node.operands.size() - 1);
    for (size_t i = node.operands.size() - 2; i > 0; --i)
      text =
          python
              ? fmt::format("{} if {} <= {} else {}", operand(i), operand(0), integer(node.coefficients[i - 1]), text)
              : fmt::format("{} <= {} ? {} : {}", operand(0), integer(node.coefficients[i - 1]), operand(i), text);
    return "(" + text + ")";
  }
  case NodeKind::SquareRoot:
    return fmt::format("{}root({}, {})", syntax.prefix, operand(0), operand(1));
  }
  return "";
}

} // namespace accord
