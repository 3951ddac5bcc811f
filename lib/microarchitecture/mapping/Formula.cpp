#include "lib/microarchitecture/mapping/Formula.h"
#include "lib/microarchitecture/mapping/RowOperations.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <map>

namespace accord::microarchitecture {
namespace {

/// Formulas as dialects/dnn states them; 0.70710678118654752 is 1 / sqrt 2, 0.3989422804014327 is 1 / sqrt(2 pi).
const std::vector<PointFormula> &formulas() {
  static const std::vector<PointFormula> all = {
      {"add", {"a", "b"}, {{"y", "a b +"}}},
      {"sub", {"a", "b"}, {{"y", "a b -"}}},
      {"mul", {"a", "b"}, {{"y", "a b *"}}},
      {"div", {"a", "b"}, {{"y", "a b /"}}},
      {"relu", {"x"}, {{"y", "x 0 max"}}},
      {"relu_grad", {"dy", "y"}, {{"dx", "y 0 > dy *"}}},
      {"relu6", {"x"}, {{"y", "x 0 max 6 min"}}},
      {"relu6_grad", {"dy", "y"}, {{"dx", "y 0 > dy * 6 y > *"}}},
      {"hard_sigmoid", {"x"}, {{"y", "x 3 + 0 max 6 min 6 /"}}},
      {"hard_sigmoid_grad", {"dy", "y"}, {{"dx", "y 0 > 1 y > * dy * 6 /"}}},
      {"hard_swish", {"x"}, {{"y", "x 3 + 0 max 6 min x * 6 /"}}},
      {"hard_swish_grad", {"dy", "x"}, {{"dx", "x 2 * 3 + 6 / x -3 > * 3 x > * x 3 > + x 3 = + dy *"}}},
      {"gelu", {"x"}, {{"y", "x 0.70710678118654752 * erf 1 + x * 0.5 *"}}},
      {"gelu_grad",
       {"dy", "x"},
       {{"dx", "x 0.70710678118654752 * erf 1 + 0.5 * x sq -0.5 * exp 0.3989422804014327 * x * + dy *"}}},
      {"silu", {"x"}, {{"y", "x x neg exp 1 + /"}}},
      {"silu_grad", {"dy", "x"}, {{"s", "1 x neg exp 1 + /"}, {"dx", "1 s - x * 1 + s * dy *"}}},
      {"sigmoid", {"x"}, {{"y", "1 x neg exp 1 + /"}}},
      {"sigmoid_grad", {"dy", "y"}, {{"dx", "1 y - y * dy *"}}},
      {"softplus", {"x"}, {{"y", "x exp 1 + log"}}},
      {"softplus_grad", {"dy", "x"}, {{"dx", "dy x neg exp 1 + /"}}},
      {"tanh", {"x"}, {{"y", "x tanh"}}},
      {"tanh_grad", {"dy", "y"}, {{"dx", "1 y sq - dy *"}}},
      {"sqrt", {"x"}, {{"y", "x sqrt"}}},
      {"sqrt_grad", {"dy", "y"}, {{"dx", "dy y 2 * /"}}},
      {"exp", {"x"}, {{"y", "x exp"}}},
      {"neg", {"x"}, {{"y", "x neg"}}},
      {"scale", {"x"}, {{"y", "x 0.125 *"}}},
      {"cast", {"x"}, {{"y", "x 1 *"}}},
      {"constant", {}, {{"y", "1"}}},
      {"broadcast", {"x"}, {{"y", "x"}}},
      {"sinusoids", {"x", "table"}, {{"y", "x table +"}}},
      {"alibi", {"x", "slopes", "keys", "queries"}, {{"y", "slopes keys queries - x fma"}}},
      {"dropout", {"x", "drawn"}, {{"mask", "drawn 0.1 >"}, {"y", "mask x * 1.1111111111111112 *"}}},
      {"dropout_grad", {"dy", "mask"}, {{"dx", "dy mask * 1.1111111111111112 *"}}},
      {"leaky_relu", {"x"}, {{"y", "x 0.01 * x max"}}},
      {"leaky_relu_grad", {"dy", "y"}, {{"dx", "y 0 > 0.99 * 0.01 + dy *"}}},
      {"elu", {"x"}, {{"y", "x 0 max x 0 min exp 1 - +"}}},
      {"elu_grad", {"dy", "y"}, {{"dx", "y 0 min 1 + dy *"}}},
      {"mean_grad", {}, {{"dx", "0.001"}}},
      {"mse_grad", {"a", "b"}, {{"dx", "a b - 0.002 *"}}},
      {"smooth_l1_grad", {"a", "b"}, {{"dx", "a b - 1 min -1 max 0.001 *"}}},
      {"binary_cross_entropy_grad", {"x", "labels"}, {{"dx", "1 x neg exp 1 + / labels - 0.001 *"}}},
      {"update_sgd", {"g", "w"}, {{"w_new", "g -0.1 w fma"}}},
      {"update_momentum", {"g", "w", "m"}, {{"m_new", "m 0.9 g fma"}, {"w_new", "m_new -0.1 w fma"}}},
      {"update_adam",
       {"g", "w", "m", "v"},
       {{"m_new", "m 0.9 * g 0.1 * +"},
        {"v_new", "v 0.999 * g sq 0.001 * +"},
        {"w_new", "w m_new 10 * v_new 1000 * sqrt 1e-8 + / 0.001 * -"}}},
      {"update_adamw",
       {"g", "w", "m", "v"},
       {{"m_new", "m 0.9 * g 0.1 * +"},
        {"v_new", "v 0.999 * g sq 0.001 * +"},
        {"w_new", "w 0.00001 w * - m_new 10 * v_new 1000 * sqrt 1e-8 + / 0.001 * -"}}},
  };
  return all;
}

/// Results that are only named, not stored.
bool isTemporary(const std::string &name) { return name == "s"; }

} // namespace

const PointFormula *pointFormula(const std::string &kind) {
  for (const PointFormula &formula : formulas())
    if (formula.kind == kind)
      return &formula;
  return nullptr;
}

std::vector<std::string> pointKinds() {
  std::vector<std::string> kinds;
  for (const PointFormula &formula : formulas())
    kinds.push_back(formula.kind);
  return kinds;
}

RowOperation pointOperation(const PointFormula &formula, const std::vector<int64_t> &extents) {
  RowOperation made;
  made.name = formula.kind;
  ContractionTensor shape;
  for (size_t l = 0; l < extents.size(); ++l) {
    made.loops.push_back({std::string("i") + std::to_string(l), extents[l], false});
    shape.dimensions.push_back({{{Index(l), 1}}, extents[l]});
  }
  auto tensor = [&](const std::string &name) {
    shape.name = name;
    made.tensors.push_back(shape);
  };
  for (const std::string &operand : formula.operands)
    tensor(operand);
  RowPass pass;
  for (const auto &[name, text] : formula.results) {
    pass.statements.push_back({RowStatement::Kind::Let, name, text});
    if (isTemporary(name))
      continue;
    // What an update makes of a state is stored where the state was.
    const size_t cut = name.size() > 4 ? name.size() - 4 : 0;
    std::string target = cut && name.substr(cut) == "_new" ? name.substr(0, cut) : name + "_out";
    if (target == name + "_out")
      tensor(target);
    pass.statements.push_back({RowStatement::Kind::Store, target, name});
  }
  made.passes.push_back(std::move(pass));
  return made;
}

std::vector<FormulaWord> wordsOf(const std::string &formula) {
  static const std::map<std::string, Role> operations = {
      {"+", Role::Add},           {"-", Role::Subtract},     {"*", Role::Multiply}, {"/", Role::Divide},
      {"max", Role::Max},         {"min", Role::Min},        {">", Role::Greater},  {"=", Role::Equal},
      {"exp", Role::Exp},         {"log", Role::Log},        {"tanh", Role::Tanh},  {"erf", Role::Erf},
      {"sqrt", Role::SquareRoot}, {"fma", Role::MultiplyAdd}};
  std::vector<FormulaWord> words;
  for (llvm::StringRef rest = formula; !(rest = rest.ltrim()).empty();) {
    const auto [first, behind] = rest.split(' ');
    FormulaWord word;
    word.name = first.str();
    if (auto found = operations.find(word.name); found != operations.end())
      word.kind = FormulaWord::Kind::Operation, word.role = found->second;
    else if (word.name == "sq")
      word.kind = FormulaWord::Kind::Square, word.role = Role::Multiply;
    else if (word.name == "neg")
      word.kind = FormulaWord::Kind::Negate, word.role = Role::Subtract;
    else if (double number; !first.getAsDouble(number))
      word.kind = FormulaWord::Kind::Number, word.number = number;
    words.push_back(std::move(word));
    rest = behind;
  }
  return words;
}

} // namespace accord::microarchitecture
