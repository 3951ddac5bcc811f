#include "lib/latency/forms/MlirBody.h"
#include "lib/latency/forms/ExpressionPrinter.h"
#include "lib/latency/forms/Print.h"
#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace accord {

MlirBody::MlirBody(const LatencyModel &model, unsigned lanes, std::string &out, std::string indent)
    : model(model), lanes(lanes), out(out), indent(std::move(indent)), names(model.nodes.size()) {}

/// A 64-bit float attribute, exactly: the shortest decimal, which MLIR wants with a point.
std::string MlirBody::number(double value) {
  if (std::isnan(value))
    return "0x7FF8000000000000";
  char buffer[40];
  auto end = std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  size_t e = text.find('e');
  return text.find('.') == std::string::npos ? text.insert(e, ".0") : text;
}

std::string MlirBody::type(const char *element) const {
  return lanes == 1 ? element : fmt::format("vector<{}x{}>", lanes, element);
}

/// One operation with a result; the result's name. All are free of effects, so equal ones are one.
std::string MlirBody::value(const std::string &text) {
  auto [found, fresh] = known.try_emplace(text);
  if (fresh) {
    found->second = fmt::format("%v{}", next++);
    out += indent + found->second + " = " + text + "\n";
  }
  return found->second;
}

std::string MlirBody::realConstant(double v) {
  return value(lanes == 1 ? fmt::format("arith.constant {} : f64", number(v))
                          : fmt::format("arith.constant dense<{}> : {}", number(v), real()));
}
std::string MlirBody::integerConstant(int64_t v, const char *element) {
  return value(lanes == 1 ? fmt::format("arith.constant {} : {}", v, element)
                          : fmt::format("arith.constant dense<{}> : {}", v, type(element)));
}
std::string MlirBody::binary(const char *op, const std::string &a, const std::string &b, bool isReal) {
  return value(fmt::format("arith.{} {}, {} : {}", op, a, b, isReal ? real() : integer()));
}
std::string MlirBody::select(const std::string &condition, const std::string &a, const std::string &b,
                             const std::string &of) {
  return value(lanes == 1 ? fmt::format("arith.select {}, {}, {} : {}", condition, a, b, of)
                          : fmt::format("arith.select {}, {}, {} : {}, {}", condition, a, b, type("i1"), of));
}

std::string MlirBody::wholeReal(const std::string &name) {
  return value(fmt::format("arith.sitofp {} : {} to {}", name, integer(), real()));
}

/// Adding 2^52 puts a whole number into the low bits of a double, where vectors of any width reach it.
std::string MlirBody::wholeInteger(const std::string &name) {
  if (lanes == 1)
    return value(fmt::format("arith.fptosi {} : f64 to i64", name));
  std::string shifted = binary("addf", name, realConstant(0x1p52), true);
  std::string bits = value(fmt::format("arith.bitcast {} : {} to {}", shifted, real(), integer()));
  return binary("subi", bits, integerConstant(std::bit_cast<int64_t>(0x1p52)), false);
}

std::string MlirBody::inside(const LatencyArgument &a, const std::string &name) {
  std::string bit = a.integer ? integer() : real();
  auto compare = [&](const char *op, const std::string &x, const std::string &y) {
    return value(fmt::format("arith.{} {}, {}, {} : {}", a.integer ? "cmpi" : "cmpf",
                             std::string(a.integer ? "s" : "o") + op, x, y, bit));
  };
  auto constant = [&](double v) { return a.integer ? integerConstant(static_cast<int64_t>(v)) : realConstant(v); };
  auto both = [&](const std::string &x, const std::string &y) {
    return value(fmt::format("arith.andi {}, {} : {}", x, y, type("i1")));
  };
  if (!a.allowed.empty()) {
    std::string any;
    for (int64_t v : a.allowed) {
      std::string one = value(fmt::format("arith.cmpi eq, {}, {} : {}", name, integerConstant(v), integer()));
      any = any.empty() ? one : value(fmt::format("arith.ori {}, {} : {}", any, one, type("i1")));
    }
    return any;
  }
  std::string ok = both(compare("ge", name, constant(a.min)), compare("le", name, constant(a.max)));
  if (a.multiple > 1) {
    std::string left;
    if (std::has_single_bit(static_cast<uint64_t>(a.multiple)))
      left = binary("andi", name, integerConstant(a.multiple - 1), false);
    else
      left = binary("remsi", name, integerConstant(a.multiple), false);
    ok = both(ok, value(fmt::format("arith.cmpi eq, {}, {} : {}", left, integerConstant(0), integer())));
  }
  return ok;
}

void MlirBody::picosecondsFunction(const std::string &name, std::string &out) {
  out += fmt::format(R"(  // Whole picoseconds, rounded up but for a rounding error.
  func.func private @{}(%seconds: f64, %most: i64) -> i64 {{
    %e12 = arith.constant 1.0e12 : f64
    %half = arith.constant 5.0e-1 : f64
    %tolerance = arith.constant 8.8817841970012523e-16 : f64
    %one = arith.constant 1 : i64
    %limit = arith.sitofp %most : i64 to f64
    %product = arith.mulf %seconds, %e12 : f64
    %in = arith.cmpf olt, %product, %limit : f64
    %ps = arith.select %in, %product, %limit : f64
    %more = arith.addf %ps, %half : f64
    %above = arith.fptosi %more : f64 to i64
    %above_real = arith.sitofp %above : i64 to f64
    %rest = arith.subf %above_real, %ps : f64
    %halfway = arith.cmpf oeq, %rest, %half : f64
    %odd = arith.andi %above, %one : i64
    %even = arith.subi %above, %odd : i64
    %near = arith.select %halfway, %even, %above : i64
    %whole = arith.sitofp %near : i64 to f64
    %over = arith.subf %ps, %whole : f64
    %under = arith.subf %whole, %ps : f64
    %is_over = arith.cmpf ogt, %ps, %whole : f64
    %off = arith.select %is_over, %over, %under : f64
    %allowed = arith.mulf %ps, %tolerance : f64
    %exact = arith.cmpf ole, %off, %allowed : f64
    %down = arith.fptosi %ps : f64 to i64
    %back = arith.sitofp %down : i64 to f64
    %less = arith.cmpf olt, %back, %ps : f64
    %next = arith.addi %down, %one : i64
    %up = arith.select %less, %next, %down : i64
    %result = arith.select %exact, %near, %up : i64
    return %result : i64
  }}
)",
                     name);
}

namespace {
/// Bits of a whole root from the highest one on, as operations on scalars or vectors.
constexpr int64_t kHighestBit = (kMaxRoot + 1) / 2;
} // namespace

void MlirBody::rootFunction(const std::string &name, std::string &out) {
  out += fmt::format("  // The largest whole m in 1..{} with m * m * a <= b.\n"
                     "  func.func private @{}(%a: f64, %b: f64) -> i64 {{\n"
                     "    %zero = arith.constant 0.0 : f64\n    %one = arith.constant 1 : i64\n",
                     kMaxRoot, name);
  std::string root = "%zero";
  for (int64_t bit = kHighestBit; bit > 0; bit /= 2) {
    out += fmt::format("    %bit{0} = arith.constant {1} : f64\n"
                       "    %tried{0} = arith.addf {2}, %bit{0} : f64\n"
                       "    %square{0} = arith.mulf %tried{0}, %tried{0} : f64\n"
                       "    %product{0} = arith.mulf %square{0}, %a : f64\n"
                       "    %holds{0} = arith.cmpf ole, %product{0}, %b : f64\n"
                       "    %root{0} = arith.select %holds{0}, %tried{0}, {2} : f64\n",
                       bit, number(bit), root);
    root = fmt::format("%root{}", bit);
  }
  out += fmt::format("    %whole = arith.fptosi {} : f64 to i64\n"
                     "    %result = arith.maxsi %whole, %one : i64\n"
                     "    return %result : i64\n  }}\n",
                     root);
}

std::string MlirBody::root(const std::string &a, const std::string &b) {
  if (lanes == 1)
    return value(fmt::format("func.call @{}_root({}, {}) : (f64, f64) -> i64", model.name, a, b));
  std::string root = realConstant(0);
  for (int64_t bit = kHighestBit; bit > 0; bit /= 2) {
    std::string tried = binary("addf", root, realConstant(bit), true);
    std::string product = binary("mulf", binary("mulf", tried, tried, true), a, true);
    root = select(value(fmt::format("arith.cmpf ole, {}, {} : {}", product, b, real())), tried, root, real());
  }
  return binary("maxsi", wholeInteger(root), integerConstant(1), false);
}

/// From the last case to the first: each takes the place of those after it where the key allows.
std::string MlirBody::chosen(const Node &node) {
  std::string best = names[node.operands.back()];
  for (size_t i = node.operands.size() - 2; i > 0; --i) {
    std::string holds = value(fmt::format("arith.cmpi sle, {}, {} : {}", names[node.operands[0]],
                                          integerConstant(node.coefficients[i - 1]), integer()));
    best = select(holds, names[node.operands[i]], best, node.integer ? integer() : real());
  }
  return best;
}

std::string MlirBody::picoseconds(const std::string &seconds, int64_t max) {
  if (lanes == 1)
    return value(
        fmt::format("func.call @{}_ps({}, {}) : (f64, i64) -> i64", model.name, seconds, integerConstant(max)));
  auto math = [&](const char *op, const std::string &x) {
    return value(fmt::format("math.{} {} : {}", op, x, real()));
  };
  auto compare = [&](const char *op, const std::string &x, const std::string &y) {
    return value(fmt::format("arith.cmpf {}, {}, {} : {}", op, x, y, real()));
  };
  std::string product = binary("mulf", seconds, realConstant(1e12), true);
  std::string limit = realConstant(max);
  std::string ps = select(compare("olt", product, limit), product, limit, real());
  std::string near = math("roundeven", ps);
  std::string off = math("absf", binary("subf", ps, near, true));
  std::string exact = compare("ole", off, binary("mulf", ps, realConstant(0x1p-50), true));
  return wholeInteger(select(exact, near, math("ceil", ps), real()));
}

std::string MlirBody::ceilDivide(const Node &node) {
  const std::string &a = names[node.operands[0]], &b = names[node.operands[1]];
  const Node &divisor = model.nodes[node.operands[1]];
  bool constant = divisor.kind == NodeKind::Integer;
  if (lanes > 1 && constant && std::has_single_bit(static_cast<uint64_t>(divisor.value)))
    return binary("shrsi", binary("addi", a, integerConstant(divisor.value - 1), false),
                  integerConstant(std::countr_zero(static_cast<uint64_t>(divisor.value))), false);
  // Below 2^52 the quotient of doubles rounds to a whole number only where it is one.
  if (lanes > 1 && model.nodes[node.operands[0]].range.max < 0x1p52 && divisor.range.max < 0x1p52) {
    std::string quotient = binary("divf", wholeReal(a), wholeReal(b), true);
    return wholeInteger(value(fmt::format("math.ceil {} : {}", quotient, real())));
  }
  std::string down = binary("divsi", a, b, false), rest = binary("remsi", a, b, false);
  std::string more = value(fmt::format("arith.cmpi sgt, {}, {} : {}", rest, integerConstant(0), integer()));
  return binary("addi", down, value(fmt::format("arith.extui {} : {} to {}", more, type("i1"), integer())), false);
}

std::string MlirBody::polynomial(const Node &node) {
  const Polynomial &p = model.nodes.polynomialOf(node);
  const std::string &b = names[node.operands[0]], &s = names[node.operands[1]];
  std::string sum;
  // By monomials, which all polynomials share.
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j) {
      if (!p.c[i][j])
        continue;
      std::string monomial = i ? b : "";
      for (unsigned k = 0; k < j; ++k)
        monomial = monomial.empty() ? s : binary("muli", monomial, s, false);
      std::string term = integerConstant(p.c[i][j]);
      if (!monomial.empty())
        term = p.c[i][j] == 1 ? monomial : binary("muli", monomial, term, false);
      sum = sum.empty() ? term : binary("addi", sum, term, false);
    }
  if (sum.empty())
    return integerConstant(0);
  return p.denominator == 1 ? sum : binary("divsi", sum, integerConstant(p.denominator), false);
}

std::string MlirBody::compute(NodeId id) {
  const Node &node = model.nodes[id];
  auto operand = [&](size_t i) { return names[node.operands[i]]; };
  switch (node.kind) {
  case NodeKind::Integer:
    return integerConstant(node.value);
  case NodeKind::Real:
    return realConstant(node.real);
  case NodeKind::Argument:
    return names[id];
  case NodeKind::Polynomial:
    return polynomial(node);
  case NodeKind::Sum: {
    std::string sum = node.value ? integerConstant(node.value) : "";
    for (size_t i = 0; i < node.operands.size(); ++i) {
      std::string term = node.coefficients[i] == 1
                             ? operand(i)
                             : binary("muli", operand(i), integerConstant(node.coefficients[i]), false);
      sum = sum.empty() ? term : binary("addi", sum, term, false);
    }
    return sum;
  }
  case NodeKind::Product:
    return binary("muli", operand(0), operand(1), false);
  case NodeKind::CeilDivide:
    return ceilDivide(node);
  case NodeKind::Maximum:
  case NodeKind::Minimum: {
    bool larger = node.kind == NodeKind::Maximum;
    std::string best = operand(0);
    for (size_t i = 1; i < node.operands.size(); ++i) {
      if (node.integer) {
        best = binary(larger ? "maxsi" : "minsi", best, operand(i), false);
      } else {
        std::string takes =
            value(fmt::format("arith.cmpf {}, {}, {} : {}", larger ? "olt" : "ogt", best, operand(i), real()));
        best = select(takes, operand(i), best, real());
      }
    }
    return best;
  }
  case NodeKind::ToReal:
    return wholeReal(operand(0));
  case NodeKind::Add:
    return binary("addf", operand(0), operand(1), true);
  case NodeKind::Multiply:
    return binary("mulf", operand(0), operand(1), true);
  case NodeKind::Divide:
    return binary("divf", operand(0), operand(1), true);
  case NodeKind::Picoseconds:
    return picoseconds(operand(0), node.value);
  case NodeKind::Select:
    return chosen(node);
  case NodeKind::SquareRoot:
    return root(operand(0), operand(1));
  }
  return "";
}

MlirBody::Results MlirBody::emit(const std::vector<std::string> &arguments) {
  std::vector<std::pair<std::string, size_t>> checks; // what holds, else this status
  std::vector<std::string> values;
  for (size_t i = 0; i < model.arguments().size(); ++i) {
    const LatencyArgument &a = model.arguments()[i];
    std::string initial = a.integer ? integerConstant(static_cast<int64_t>(a.initial)) : realConstant(a.initial);
    values.push_back(initial);
    if (arguments[i].empty())
      continue;
    std::string ok = inside(a, arguments[i]);
    checks.push_back({ok, i + 1});
    // The plan's own instead of what is refused, so that nothing below divides by zero.
    values.back() = select(ok, arguments[i], initial, a.integer ? integer() : real());
  }
  size_t label = 0;
  for (NodeId id : model.nodes.needed(model.roots())) {
    const Node &node = model.nodes[id];
    for (; label < model.labels.size() && model.labels[label].node <= id; ++label)
      if (lanes == 1 && model.labels[label].node == id)
        out += indent + "// " + commentText(model.labels[label].text) + "\n";
    names[id] = node.kind == NodeKind::Argument ? values[node.index] : "";
    names[id] = compute(id);
  }
  for (size_t i = 0; i < model.guards.size(); ++i) {
    const LatencyModel::Guard &guard = model.guards[i];
    bool whole = model.nodes[guard.min].integer;
    checks.push_back({value(fmt::format("arith.{}, {}, {} : {}", whole ? "cmpi sle" : "cmpf ole", names[guard.min],
                                        names[guard.max], whole ? integer() : real())),
                      model.arguments().size() + i + 1});
  }
  Results results;
  results.status = integerConstant(0, "i32");
  for (size_t i = checks.size(); i-- > 0;)
    results.status = select(checks[i].first, results.status, integerConstant(checks[i].second, "i32"), type("i32"));
  std::string holds =
      value(fmt::format("arith.cmpi eq, {}, {} : {}", results.status, integerConstant(0, "i32"), type("i32")));
  std::string nan = realConstant(std::numeric_limits<double>::quiet_NaN());
  for (const LatencyModel::Output &o : model.outputs)
    results.outputs.push_back(select(holds, names[o.node], nan, real()));
  return results;
}

std::string printMlir(const LatencyModel &model) {
  std::string out;
  auto line = [&](const std::string &text) { out += text + "\n"; };
  line(fmt::format("// Step time, memory and FLOPs of training '{}' on '{}', written by accord {}.",
                   commentText(model.model), commentText(model.machine), commentText(model.version)));
  line("// Arguments, and where the model holds; elsewhere the status is not 0 and results are NaN:");
  std::string parameters, names, types, constants;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < model.arguments().size(); ++i) {
    const LatencyArgument &a = model.arguments()[i];
    const char *type = a.integer ? "i64" : "f64";
    line(fmt::format("//   {} ({}): {} [{}], status {}", a.name, commentText(a.unit), commentText(a.text),
                     commentText(rangeText(a)), i + 1));
    arguments.push_back("%" + a.name);
    parameters += fmt::format("{}%{}: {}", i ? ", " : "", a.name, type);
    types += fmt::format("{}{}", i ? ", " : "", type);
    names += fmt::format("{}%{}", i ? ", " : "", a.name);
    if (i > kSequence)
      constants +=
          fmt::format("    %{} = arith.constant {} : {}\n", a.name,
                      a.integer ? std::to_string(static_cast<int64_t>(a.initial)) : MlirBody::number(a.initial), type);
  }
  for (size_t i = 0; i < model.guards.size(); ++i)
    line(fmt::format("// Status {}: {}.", model.arguments().size() + i + 1, commentText(model.guards[i].text)));
  for (const std::string &note : model.notes)
    line(fmt::format("// Note: {}.", commentText(note)));
  line("module {");
  MlirBody::picosecondsFunction(model.name + "_ps", out);
  if (model.uses(NodeKind::SquareRoot))
    MlirBody::rootFunction(model.name + "_root", out);
  std::string results = "(i32, f64, f64, f64)";
  line(fmt::format("  func.func @{}_evaluate({}) -> {} {{", model.name, parameters, results));
  MlirBody body(model, 1, out, "    ");
  MlirBody::Results found = body.emit(arguments);
  line(fmt::format("    return {}, {}, {}, {} : i32, f64, f64, f64\n  }}", found.status, found.outputs[kStepTime],
                   found.outputs[kMemory], found.outputs[kFlops]));
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    line(fmt::format("  // {}.", commentText(model.outputs[i].text)));
    line(fmt::format("  func.func @{}_{}(%batch: i64, %microbatch: i64, %sequence: i64) -> f64 {{", model.name,
                     model.outputs[i].name));
    out += constants;
    line(fmt::format("    %r:4 = func.call @{}_evaluate({}) : ({}) -> {}", model.name, names, types, results));
    line(fmt::format("    return %r#{} : f64\n  }}", i + 1));
  }
  line("}");
  return out;
}

} // namespace accord
