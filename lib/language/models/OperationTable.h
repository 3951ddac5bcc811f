// What `.dnn` calls look like: operands, attributes and trained tensors of every operation. One
// table for the elaborator's checks, for suggestions and for the documentation.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

enum class AttributeKind : uint8_t {
  Integer, ///< 4
  Extents, ///< 3, or [3, 1]: one for each spatial dimension
  List,    ///< [0, 1, 1]: one for each dimension
  Number,  ///< 0.1
  Boolean, ///< true
  Word,    ///< one of `words`
  Tensor,  ///< a value: the tied weight
  Time,    ///< 1.2 ms
  Size     ///< 12 MiB
};

/// Which numbers make sense. All have to be finite as doubles.
enum class AttributeRange : uint8_t {
  Any,
  AboveZero, ///< an epsilon
  Skew,      ///< 0 <= x <= 16: an exponent of Zipf's law
  AboveOne,  ///< the base of falling frequencies
  Fraction   ///< 0 <= x < 1: a rate
};

struct AttributeSpec {
  llvm::StringRef name;
  AttributeKind kind;
  bool required = false;
  std::vector<llvm::StringRef> words = {};
  int64_t min = INT64_MIN;                    ///< smallest allowed integer
  AttributeRange range = AttributeRange::Any; ///< of a `Number`; the dialect's verifier checks it as well
  /// Where the number would have to lie ("above 0"); empty if it does.
  llvm::StringRef outside(double number) const;
};

/// A trained tensor that the operation brings along, e.g. the weight of `linear`.
struct OperationSpec {
  llvm::StringRef name;                  ///< in the language
  llvm::StringRef dialect;               ///< the dnn operation
  std::vector<llvm::StringRef> operands; ///< by place; with `variadic` at least one
  std::vector<AttributeSpec> attributes;
  bool variadic = false;
  const AttributeSpec *findAttribute(llvm::StringRef name) const;
};

llvm::ArrayRef<OperationSpec> operationTable();
const OperationSpec *findOperation(llvm::StringRef name);
/// Functions over numbers, lists and shapes in bodies of models and modules: min, shape, …
llvm::ArrayRef<std::string> modelFunctions();

} // namespace accord
