// A model as the importers build it: calls of the language's operations with names, shapes and
// where they came from; printed as formatted `.dnn`. Internal to lib/import.
#pragma once
#include "lib/support/Diagnostics.h"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace accord::import {

/// Extents of one sample, without the batch.
using Shape = std::vector<int64_t>;

/// `[3, 224, 224]`
std::string listOf(const Shape &shape);
/// `3` of equal numbers, else `[3, 5]`.
std::string extentsOf(const Shape &extents);
/// A window that moves over one to three spatial dimensions; what is empty is the language's default.
struct Window {
  Shape kernel, strides = {}, padding = {}, dilations = {}, outputPadding = {};
  Shape behind = {};  ///< padding at the ends, where it differs from that before
  Shape extents = {}; ///< of the result
};
/// What is not the language's default: `kernel = 3` and more of a pool.
std::vector<std::string> poolAttributes(const Window &window);
/// The same of a convolution; `out` 0: as many channels as it reads, `groups` 0: not stated.
std::vector<std::string> convolutionAttributes(int64_t out, const Window &window, int64_t groups, bool bias);
/// The product, or nothing if an extent is below 1 or the product passes 2^58.
std::optional<int64_t> elementsOf(const Shape &shape);
/// The shape of two that broadcast from the right; nothing if they do not fit.
std::optional<Shape> broadcastOf(llvm::ArrayRef<int64_t> left, llvm::ArrayRef<int64_t> right);
/// A number that a file holds in single precision: 1e-05, not 9.999999747378752e-06.
std::string singleText(double value);
/// By how much an operator with a number on one side scales the other side; else nothing, and why.
std::optional<double> factorOf(char sign, double number, bool numberLast, std::string &error);
/// What bounds elements from below and above: relu, relu6, or null; and that it cannot be said.
const char *callOfBounds(double low, double high);
std::string boundsText(double low, double high);
/// A name of the language from any text: lower case, digits and `_`, no reserved word.
std::string nameFrom(const std::string &wanted, const std::string &otherwise);
/// A text that can stand in a comment or a diagnostic: one line, printable, not too long.
std::string shown(const std::string &text);
/// The text in the language's canonical layout; nothing (and an internal error at `file`) if it is
/// no text of the language.
std::optional<std::string> formatted(Diagnostics &diags, FileId file, const std::string &text);

class DnnTextBuilder {
public:
  using Id = int;

  /// `type`: float or int32.
  Id input(const std::string &name, const std::string &type, Shape shape);
  /// `call(operands, attributes)`; `call` may be one of + - * / between two operands.
  Id add(const std::string &name, const std::string &call, std::vector<Id> operands,
         std::vector<std::string> attributes, Shape shape);
  /// As `add`, with the last operand by name: a tied weight.
  Id addNamed(const std::string &name, const std::string &call, std::vector<Id> operands, const std::string &last,
              std::vector<std::string> attributes, Shape shape);
  /// A call with several results; `piece` gives them.
  Id addList(const std::string &name, const std::string &call, std::vector<Id> operands,
             std::vector<std::string> attributes);
  Id piece(Id list, size_t index, Shape shape);
  Id parameter(const std::string &name, const Shape &shape);
  /// An operation that the file states itself, `NAME` + `statement` such as `(x[a]) -> y[a] { y = abs(x[a]) }`; equal
  /// statements are one. Gives the name that `add` calls. Only those that are called are written.
  std::string stated(const std::string &name, const std::string &statement);
  /// A view: of a view of the same value, the value itself if it has this shape.
  Id reshape(Id value, const Shape &shape);
  Id transpose(Id value, const std::vector<int64_t> &permutation, const std::string &name = "");
  /// The entries from `start` on along an axis.
  Id slice(const std::string &name, Id value, int64_t axis, int64_t start, int64_t size);
  /// Over the last axis unless it is another.
  Id softmax(const std::string &name, Id value, int64_t axis);

  const Shape &shape(Id value) const { return values[value].shape; }
  /// What `x` is a view of, for a look behind reshapes.
  Id behindViews(Id value) const;
  /// Whether it holds integers: an input, or a view or piece of one.
  bool isInteger(Id value) const;
  const std::string &callOf(Id value) const { return values[value].call; }
  Id operandOf(Id value) const { return values[value].operands[0]; }

  /// What follows came from here; a comment where it changes.
  void from(const std::string &where) { origin = where; }
  void loss(Id value) { losses.push_back(value); }
  bool hasLoss() const { return !losses.empty(); }

  /// The whole file; `documentation` lines become `///`. What no loss needs is left out. With
  /// `repeats`, copies of one body that follow each other are written once, as a `repeat`.
  std::string text(const std::string &name, const std::vector<std::string> &documentation, bool repeats) const;

private:
  struct Value {
    std::string name, call;
    std::vector<Id> operands;
    std::vector<std::string> attributes;
    Shape shape;
    std::string origin;
    std::string element; ///< of an input
    std::string byName;  ///< of the last operand
  };
  Id push(std::string name, std::string call, std::vector<Id> operands, std::vector<std::string> attributes,
          Shape shape);
  std::string uniqueName(const std::string &wanted, const std::string &otherwise);

  friend class DnnTextWriter;
  std::vector<Value> values;
  std::set<std::string> names;
  std::map<std::string, int> counters;
  std::map<std::string, std::string> statements; ///< the names of stated operations, by their statements
  std::vector<Id> losses;
  std::string origin;
};

} // namespace accord::import
