// A call of an `operation` that a file declares -> one `dnn.custom`: its indices, what is computed
// at every point, how the points combine, and the gradients that it states. Internal to lib/language/models.
#pragma once
#include "dialects/dnn/Scalar.h"
#include "lib/language/models/ModelBuilder.h"

namespace accord {

/// One place where a tensor is read: `q[i + 1, d]`.
struct CustomAccess {
  unsigned tensor;                        ///< operand by place among the operands, then the result, then its gradient
  llvm::SmallVector<mlir::AffineExpr> at; ///< over the indices in the order of their declaration
  friend bool operator==(const CustomAccess &, const CustomAccess &) = default;
};

/// What is computed for one tensor: the result, or the gradient of an operand. Numbers of `body`
/// are places of `CustomShape::accesses` (operands) and of `CustomShape::indices` (positions).
struct CustomBody {
  dnn::ScalarAttr body;
  dnn::Combine combine = dnn::Combine::Sum;
  std::vector<unsigned> over; ///< indices that the points combine over
  unsigned of = 0;            ///< of which tensor it is the value or the gradient
  bool surrogate = false;     ///< need not be the derivative
  SourceRange at;
};

/// An operation for operands of known extents.
struct CustomShape {
  struct Index {
    std::string name;
    int64_t extent;
    SourceRange declared;
  };
  std::vector<Index> indices;
  std::vector<CustomAccess> accesses;
  std::vector<std::vector<unsigned>> tensors; ///< the indices of each operand, then of the result
  CustomBody forward;
  std::vector<CustomBody> gradients;
  unsigned result() const { return tensors.size() - 1; }
  unsigned gradient() const { return result() + 1; } ///< of the result
};

/// Domain, maps and body of one `dnn.custom`: the indices of `of`, then those combined over, after
/// the batch if one of the tensors has it. `reads` are the accesses in the order of the operands.
struct CustomWork {
  llvm::SmallVector<int64_t> domain;
  llvm::SmallVector<unsigned> reads;
  llvm::SmallVector<mlir::AffineMap> maps; ///< of `reads`, then of the tensor that is made
  dnn::ScalarAttr body;
};
/// `batched` by tensor: operands, result, gradient of the result.
CustomWork customWork(const CustomShape &shape, const CustomBody &body, llvm::ArrayRef<bool> batched);

/// Holds the gradients that `real` states against central differences of `small` at random elements; `nameOf` a tensor.
void checkGradients(const CustomShape &real, const std::optional<CustomShape> &small,
                    llvm::function_ref<std::string(unsigned)> nameOf, Diagnostics &diags);

class CustomOperation {
public:
  CustomOperation(ModelBuilder &model, const ast::Declaration &declaration, SourceRange call);
  /// The result; nothing after errors.
  ModelValue build(const ast::Call &call);

private:
  struct Scalar {
    dnn::ScalarAttr value;
    SourceRange declared;
  };

  bool takeOperands(const ast::Call &call);
  SourceRange argumentAt(const ast::Call &call, size_t parameter) const;
  ModelValue emit(const CustomShape &shape);
  mlir::Type elementOf() const;
  std::string tensorName(unsigned tensor) const;

  // The statements, for operands of these extents.
  std::optional<CustomShape> read(llvm::ArrayRef<llvm::SmallVector<int64_t>> extents, llvm::ArrayRef<SourceRange> at);
  void bindIndices(unsigned place, llvm::ArrayRef<int64_t> extents, SourceRange at);
  void result(const ast::Bind &bind, size_t errorsBefore);
  void gradient(const ast::Bind &bind);
  bool declare(const ast::Name &name);
  void let(const ast::Bind &bind);
  void define(const ast::Bind &bind, CustomBody &into);
  void reduction(const ast::Expr &value, CustomBody &into);
  bool checkIndices(const CustomBody &body);
  bool checkUses();

  // CustomExpressions.cpp
  dnn::ScalarAttr scalar(const ast::Expr &expr); ///< null after an error
  dnn::ScalarAttr reference(const ast::Reference &reference, SourceRange range);
  dnn::ScalarAttr element(const ast::Index &index, SourceRange range);
  dnn::ScalarAttr access(CustomAccess made);
  dnn::ScalarAttr call(const ast::Call &call, SourceRange range);
  dnn::ScalarAttr chain(const ast::Chain &chain);
  dnn::ScalarAttr conditional(const ast::Conditional &conditional);
  /// A whole number known here; nothing after an error.
  std::optional<int64_t> integer(const ast::Expr &expr, const char *what);
  /// A sum of multiples of indices, to say where a tensor is read; null after an error.
  mlir::AffineExpr position(const ast::Expr &expr);
  std::optional<unsigned> tensorNamed(llvm::StringRef name) const;
  std::optional<unsigned> indexNamed(llvm::StringRef name) const;
  bool inside(unsigned tensor, mlir::AffineExpr at, unsigned dimension, SourceRange range);
  std::vector<std::string> namesHere() const;

  std::optional<CustomShape> smallExample();

  ModelBuilder &model;
  Diagnostics &diags;
  const ast::Declaration &declaration;
  SourceRange callAt;
  mlir::MLIRContext *context;

  std::vector<const ast::Parameter *> operands;
  std::vector<mlir::Value> values; ///< by operand
  std::vector<llvm::SmallVector<int64_t>> extents;
  std::vector<SourceRange> places;
  std::map<std::string, dnn::ScalarAttr> numbers; ///< parameters that are numbers

  CustomShape shape;
  std::map<std::string, Scalar> scalars; ///< let t = …
  std::string resultName, gradientName;
  bool resultKnown = false; ///< its value may be read
};

} // namespace accord
