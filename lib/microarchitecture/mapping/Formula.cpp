#include "lib/microarchitecture/mapping/Formula.h"
#include "llvm/ADT/StringRef.h"
#include <map>

namespace accord::microarchitecture {

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
