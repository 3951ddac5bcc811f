// Expressions of extents, as sympy's srepr writes them: Add(Integer(1), Mul(Integer(3), Symbol('s0', integer=True))).
#include "lib/import/torch/TorchFile.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

namespace accord::import {
namespace {

constexpr int64_t kMax = int64_t(1) << 58;
constexpr int kMaxDepth = 64;

class Reader {
public:
  Reader(llvm::StringRef text, const std::map<std::string, int64_t> *symbols, std::set<std::string> *found)
      : rest(text), symbols(symbols), found(found) {}

  std::optional<int64_t> whole() {
    auto value = expression(0);
    rest = rest.ltrim();
    return rest.empty() ? value : std::nullopt;
  }

private:
  bool take(char c) {
    rest = rest.ltrim();
    return rest.consume_front(llvm::StringRef(&c, 1));
  }

  /// The text between quotes.
  std::optional<std::string> quoted() {
    rest = rest.ltrim();
    if (!rest.starts_with("'") && !rest.starts_with("\""))
      return std::nullopt;
    char quote = rest.front();
    size_t end = rest.find(quote, 1);
    if (end == llvm::StringRef::npos)
      return std::nullopt;
    std::string text = rest.slice(1, end).str();
    rest = rest.substr(end + 1);
    return text;
  }

  std::optional<int64_t> symbol() {
    auto name = quoted();
    size_t end = rest.find(')');
    if (!name || end == llvm::StringRef::npos)
      return std::nullopt;
    rest = rest.substr(end + 1); // assumptions: positive=True
    if (found)
      found->insert(*name);
    if (!symbols)
      return 1;
    auto value = symbols->find(*name);
    return value == symbols->end() ? std::nullopt : std::optional(value->second);
  }

  std::optional<int64_t> expression(int depth) {
    rest = rest.ltrim();
    llvm::StringRef word = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-'; });
    rest = rest.substr(word.size());
    int64_t number = 0;
    if (!word.empty() && !word.getAsInteger(10, number))
      return std::abs(number) <= kMax ? std::optional(number) : std::nullopt;
    if (depth > kMaxDepth || !take('('))
      return std::nullopt;
    word = word.rsplit('.').second.empty() ? word : word.rsplit('.').second;
    if (word == "Symbol")
      return symbol();
    std::vector<int64_t> operands;
    while (!take(')')) {
      auto value = expression(depth + 1);
      if (!value)
        return std::nullopt;
      operands.push_back(*value);
      take(',');
    }
    return apply(word, operands);
  }

  static std::optional<int64_t> limited(__int128 value) {
    return value <= kMax && value >= -kMax ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
  }

  static std::optional<int64_t> apply(llvm::StringRef name, const std::vector<int64_t> &in) {
    if (in.empty())
      return std::nullopt;
    std::optional<int64_t> all = in[0];
    if (name == "Integer")
      return all;
    if (name == "Max" || name == "Min")
      return name == "Max" ? *std::max_element(in.begin(), in.end()) : *std::min_element(in.begin(), in.end());
    if (name == "Add" || name == "Mul") {
      for (size_t i = 1; i < in.size() && all; ++i)
        all = limited(name == "Add" ? __int128(*all) + in[i] : __int128(*all) * in[i]);
      return all;
    }
    if (in.size() != 2)
      return std::nullopt;
    int64_t a = in[0], b = in[1];
    if (name == "Pow" || name == "PowByNatural") {
      if (b < 0 || b > 62)
        return std::nullopt;
      all = 1;
      for (int64_t i = 0; i < b && all; ++i)
        all = limited(__int128(*all) * a);
      return all;
    }
    if (b == 0)
      return std::nullopt;
    int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    if (name == "FloorDiv" || name == "CleanDiv")
      return floor;
    if (name == "CeilDiv" || name == "CeilToInt")
      return floor + (a % b != 0 ? 1 : 0);
    if (name == "Mod" || name == "PythonMod")
      return a - floor * b;
    return std::nullopt;
  }

  llvm::StringRef rest;
  const std::map<std::string, int64_t> *symbols;
  std::set<std::string> *found;
};

} // namespace

std::optional<int64_t> torchValue(const std::string &expression, const std::map<std::string, int64_t> &symbols) {
  return Reader(expression, &symbols, nullptr).whole();
}

std::set<std::string> torchSymbols(const std::string &expression) {
  std::set<std::string> found;
  Reader(expression, nullptr, &found).whole();
  return found;
}

} // namespace accord::import
