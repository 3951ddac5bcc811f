// One function of upstream dialects: its values and the operation that is imported. Layouts are kept beside the values:
// a transpose of the file moves nothing until an operation needs another order. Internal to lib/import.
#pragma once
#include "lib/import/text/Network.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace accord::import {

/// A tensor of the file.
struct MlirValue {
  enum class Kind : uint8_t { Missing, Number, Weight, Computed };
  Kind kind = Kind::Missing;
  double number = 0;          ///< every element of a Number
  mlir::Value weight;         ///< where a Weight comes from
  Shape full;                 ///< as in the file, with the batch
  DnnTextBuilder::Id id = -1; ///< of a Computed
  std::vector<int> dims;      ///< the file's dimension that each dimension of `id` is
  int batchDim = -1;          ///< the file's dimension that holds the batch, alone or as a factor
  Shape low, high;            ///< padding that a convolution or pool still has to take
  double padding = 0;         ///< its value
  bool computed() const { return kind == Kind::Computed; }
};

/// Operations that together are one of the language, such as a gelu.
struct Forms {
  /// By the last operation of a form: its name here, and what it reads.
  llvm::DenseMap<mlir::Operation *, std::pair<std::string, mlir::Value>> joined;
  llvm::DenseMap<mlir::Operation *, int> axis;                            ///< of a softmax among them
  llvm::DenseMap<mlir::Operation *, std::vector<std::string>> attributes; ///< of the call, where it has some
  llvm::DenseSet<mlir::Operation *> inside;                               ///< what they consist of
};
Forms findForms(mlir::func::FuncOp function);

using Kind = MlirValue::Kind;

class MlirContext : public Network {
public:
  using Network::Network;

  [[noreturn]] void reportUnsupported(const std::string &reason);
  SourceRange placeOf(mlir::Location location) const;

  MlirValue get(mlir::Value value);
  /// As `get`, without padding that waits for a convolution.
  MlirValue plain(mlir::Value value);
  void setResult(mlir::Operation *op, MlirValue value);
  MlirValue weightOf(mlir::Value value, Shape full) const;
  /// Reports that an operation starts from something else than zeros.
  void checkZero(mlir::Value start);
  void noteSharedWeight(mlir::Value weight);
  Shape fullOf(mlir::Value value, const MlirValue &like) const;
  int64_t extent(const MlirValue &value, int dim) const;
  /// The extents of these dimensions of the file.
  Shape extentsOf(const MlirValue &value, llvm::ArrayRef<int> dims) const;
  /// The dimensions of a sample in the file's order.
  std::vector<int> natural(const MlirValue &value) const;
  /// `value` with the file's dimensions in this order; a weight becomes a parameter.
  DnnTextBuilder::Id arranged(const MlirValue &value, const std::vector<int> &order);
  MlirValue reshaped(const MlirValue &value, const Shape &full);
  MlirValue permuted(const MlirValue &value, llvm::ArrayRef<int64_t> permutation);

  /// A call of the language, named after the operation that is imported.
  DnnTextBuilder::Id add(const std::string &call, std::vector<DnnTextBuilder::Id> operands,
                         std::vector<std::string> attributes, Shape shape);
  /// `x` after a function of each element.
  MlirValue unary(const std::string &call, const MlirValue &x, std::vector<std::string> attributes = {});
  MlirValue softmaxOf(const MlirValue &x, int axis);

  mlir::Operation *current = nullptr;
  bool isStableHlo = false;
  std::optional<llvm::DenseSet<unsigned>> inputArguments; ///< where a module says which arguments are inputs
  llvm::DenseMap<mlir::Value, MlirValue> values;
  Forms forms;
  llvm::DenseMap<mlir::Operation *, mlir::Value> absorbed;                    ///< a bias: gives what it reads
  std::map<DnnTextBuilder::Id, std::pair<DnnTextBuilder::Id, int64_t>> means; ///< sums: the mean, how many
  std::map<DnnTextBuilder::Id, int> softmaxAxis;                              ///< the file's dimension

private:
  std::optional<MlirValue> reshapedInPlace(const MlirValue &value, const Shape &full);
};

/// Imports one operation.
using MlirHandler = void (*)(MlirContext &, mlir::Operation *);
struct MlirOperations {
  MlirHandler import;
  std::vector<const char *> names;
};
std::vector<MlirOperations> mlirElementwise(), mlirLayers(), mlirMovement();
/// Imports an operation that does the same with each element.
void importElementwise(MlirContext &context, mlir::Operation *op);
/// Whether what reads the result of `op` adds a bias to its `channels` along dimension `dim` (-1: the last); the
/// addition becomes part of `op` then.
bool takesBias(MlirContext &context, mlir::Operation *op, int64_t channels, int dim);
/// Imports a function with one block; false after errors.
bool importFunction(MlirContext &context, mlir::func::FuncOp function);

/// What the place of the operation calls it, or "".
std::string nameOf(mlir::Operation *op);
/// The product of extents; it may pass 2^63.
int64_t productOf(llvm::ArrayRef<int64_t> shape);
/// The operation without its dialect, by one name for all of them: "add", "exp".
std::string kindOf(mlir::Operation *op);
/// The numbers of a constant attribute or value that are few and known.
std::optional<std::vector<int64_t>> integersOf(mlir::Attribute attribute);
std::optional<std::vector<int64_t>> integersOf(mlir::Value value);
/// The number that all elements are, of a constant attribute.
std::optional<double> splatOf(mlir::Attribute attribute);
std::optional<double> splatOf(mlir::Value value);

} // namespace accord::import
