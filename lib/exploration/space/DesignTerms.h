// Numbers of a design space as they follow from its parameters: values of keys that refer to others, and requirements.
#pragma once
#include "lib/exploration/problem/Design.h"
#include "lib/support/Quantity.h"
#include "lib/support/Result.h"
#include "mlir/IR/Attributes.h"
#include <functional>
#include <map>
#include <optional>

namespace accord {

/// All values between two, both included. A truth is 0 or 1: `low` 1 says that it holds for sure,
/// `high` 0 that it cannot.
template <class Number> struct DesignInterval {
  Number low, high;
};

/// Numbers of a machine that follow from all of its parts, and of a training step on it: given from
/// outside, in base units.
struct DesignFigures {
  DesignInterval<double> area, power, step = {0, 0}, energy = {0, 0}, batch = {1, 1};
};

/// A directed graph of terms without circles: the leaves are numbers, parameters and figures. All
/// have a dimension, known before any parameter is.
class DesignTerms {
public:
  enum class Kind : uint8_t { Number, Parameter, Area, Power, Step, Energy, Batch, Apply };
  struct Term {
    Kind kind = Kind::Number;
    Dimension dimension = {};
    bool truth = false; ///< of a comparison, and, or, not
    bool word = false;  ///< a word, by its place among those that may be chosen
    Rational value = 0; ///< of a Number
    size_t parameter = 0;
    std::string function = {}; ///< of Apply: an operator or a function of the language
    std::vector<int> operands = {};
    std::vector<size_t> parameters = {}; ///< that it depends on, ascending
  };
  /// What a path stands for; a problem names the nearest one that there is.
  using Resolve = std::function<Result<int>(const std::string &path)>;

  int number(const Quantity &value);
  int truth(bool holds);
  int parameter(size_t index, Dimension dimension, std::vector<Rational> values);
  int words(size_t index, std::vector<std::string> words);
  int figure(Kind kind, Dimension dimension);
  Result<int> divided(int over, int under) { return apply("/", {over, under}); }
  Result<int> product(int a, int b) { return apply("*", {a, b}); }
  Result<int> sum(int a, int b) { return apply("+", {a, b}); }
  /// A value of the dialect: a quantity, integer, truth, reference or application. Problems: an
  /// unknown name or function, dimensions that do not fit.
  Result<int> add(mlir::Attribute value, const Resolve &resolve);

  const Term &operator[](int term) const { return terms[term]; }
  /// All values of a term over a box, exact where the box is one design. Nothing where one is undefined: a division by
  /// what may be 0, a number beyond `Rational::kMaxBits`. What is defined over a box is so over every part of it.
  std::optional<DesignInterval<Rational>> exact(int term, const DesignBox &box) const;
  /// The same in doubles, each operation rounded. Comparisons take numbers that differ by less
  /// than 1e-12 of the larger one for equal.
  DesignInterval<double> nearly(int term, const DesignBox &box, const DesignFigures &figures) const;

private:
  Result<int> apply(const std::string &name, std::vector<int> operands);
  Result<int> compareWord(const std::string &function, mlir::Attribute a, mlir::Attribute b, const Resolve &resolve);
  int push(Term term);
  template <class Number, class Leaf> std::optional<DesignInterval<Number>> evaluate(int term, Leaf leaf) const;

  std::vector<Term> terms;
  std::map<size_t, std::vector<Rational>> values;    ///< of parameters, ascending
  std::map<size_t, std::vector<double>> nearValues;  ///< the same
  std::map<size_t, std::vector<std::string>> chosen; ///< words of parameters
};

} // namespace accord
