// One function of upstream dialects -> a Sketch. Layouts are kept beside the values: a transpose
// of the file moves nothing until an operation needs another order. Internal to lib/import.
#pragma once
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/import/text/Mlir.h"
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
  llvm::DenseMap<mlir::Operation *, int> axis; ///< of a softmax among them
  llvm::DenseSet<mlir::Operation *> inside;    ///< what they consist of
};
Forms findForms(mlir::func::FuncOp function);

class MlirImporter {
public:
  MlirImporter(Diagnostics &diags, FileId file, mlir::func::FuncOp function, const MlirOptions &options)
      : diags(diags), file(file), function(function), options(options) {}
  /// False after errors.
  bool run();

  DnnTextBuilder textBuilder;
  std::vector<std::string> notes;
  std::string batchText() const;

private:
  using Kind = MlirValue::Kind;
  using Handler = void (MlirImporter::*)(mlir::Operation *);
  static const std::map<std::string, Handler> &handlers();
  struct Failed {}; ///< thrown by `refuse`, caught where an operation is imported

  // Importer.cpp
  bool readArguments();
  bool checkArgument(mlir::BlockArgument argument, bool input);
  void addInput(mlir::BlockArgument argument, const std::string &name);
  Diagnostics::Builder argumentError(mlir::BlockArgument argument, Code code, const std::string &reason);
  void operation(mlir::Operation *op);
  void results(mlir::Operation *op);
  [[noreturn]] void reportUnsupported(const std::string &reason);
  void noteOnce(const std::string &note);
  SourceRange placeOf(mlir::Location location) const;

  // Values.cpp
  MlirValue get(mlir::Value value);
  /// As `get`, without padding that waits for a convolution.
  MlirValue plain(mlir::Value value);
  void setResult(mlir::Operation *op, MlirValue value);
  MlirValue weightOf(mlir::Value value, Shape full) const;
  Shape fullOf(mlir::Value value, const MlirValue &like) const;
  int64_t extent(const MlirValue &value, int dim) const;
  /// The dimensions of a sample in the file's order.
  std::vector<int> natural(const MlirValue &value) const;
  /// `value` with the file's dimensions in this order; a weight becomes a parameter.
  DnnTextBuilder::Id arranged(const MlirValue &value, const std::vector<int> &order);
  std::optional<MlirValue> reshapedInPlace(const MlirValue &value, const Shape &full);
  MlirValue reshaped(const MlirValue &value, const Shape &full);
  MlirValue permuted(const MlirValue &value, llvm::ArrayRef<int64_t> permutation);
  std::string nameOf(mlir::Operation *op) const;

  // Elementwise.cpp
  MlirValue unary(const char *call, const MlirValue &x);
  MlirValue binary(char sign, const MlirValue &a, const MlirValue &b);
  MlirValue withNumber(char sign, const MlirValue &x, double number, bool numberLast);
  void checkBatch(const MlirValue &a, const MlirValue &b, int batchDim);
  std::vector<int> orderFor(const MlirValue &lead, const MlirValue &y) const;
  MlirValue scaled(const MlirValue &x, double factor);
  MlirValue clamped(const MlirValue &x, double low, double high);
  /// One operation of one or two operands that have the same rank.
  MlirValue element(mlir::Operation *op, llvm::ArrayRef<MlirValue> operands);
  void elementwise(mlir::Operation *op);
  void generic(mlir::Operation *op);
  MlirValue readThrough(const MlirValue &x, mlir::AffineMap map, size_t rank);

  // Layers.cpp
  void convolution(mlir::Operation *op);
  void transposeConvolution(mlir::Operation *op);
  void pool(mlir::Operation *op);
  void matmul(mlir::Operation *op);
  /// The addition of a bias that only reads what `op` gives, as part of `op`.
  bool takesBias(mlir::Operation *op, int64_t channels, int dim);
  bool addsBias(mlir::Operation *user, unsigned side, int64_t channels, int64_t dim) const;
  bool hasOwnBias(mlir::Operation *op, int64_t out);
  void checkPoolPadding(const MlirValue &x, bool greatest, size_t channel);
  void turnByMaps(mlir::Operation *op, MlirValue &a, MlirValue &b);
  void linear(mlir::Operation *op, const MlirValue &a, const MlirValue &b);
  void product(mlir::Operation *op, const MlirValue &a, const MlirValue &b);
  struct Window {
    std::vector<std::string> attributes;
    Shape extents;
  };
  Window window(const MlirValue &x, int rows, int columns, const Shape &kernel, const Shape &strides,
                const Shape &dilations, const Shape &pads, bool pools);

  // Movement.cpp
  void constant(mlir::Operation *op);
  void same(mlir::Operation *op);
  void reshape(mlir::Operation *op);
  void transpose(mlir::Operation *op);
  void concat(mlir::Operation *op);
  void slice(mlir::Operation *op);
  void pad(mlir::Operation *op);
  void reduce(mlir::Operation *op);
  void softmax(mlir::Operation *op);
  MlirValue softmaxOf(const MlirValue &x, int axis);
  void broadcast(mlir::Operation *op);
  void fill(mlir::Operation *op);

  Diagnostics &diags;
  FileId file;
  mlir::func::FuncOp function;
  const MlirOptions &options;
  llvm::DenseMap<mlir::Value, MlirValue> values;
  Forms forms;
  llvm::DenseMap<mlir::Operation *, mlir::Value> absorbed;                    ///< a bias: gives what it reads
  std::map<DnnTextBuilder::Id, std::pair<DnnTextBuilder::Id, int64_t>> means; ///< sums: the mean, how many
  std::map<DnnTextBuilder::Id, int> softmaxAxis;                              ///< the file's dimension
  mlir::Operation *current = nullptr;
  /// The file's own number, or a prime that no shape contains by chance.
  int64_t batch = 1'000'003;
  bool batchIsOpen = true;
};

/// The operation without its dialect, by one name for all of them: "add", "exp".
std::string kindOf(mlir::Operation *op);
/// The numbers of a constant attribute or value that are few and known.
std::optional<std::vector<int64_t>> integersOf(mlir::Attribute attribute);
std::optional<std::vector<int64_t>> integersOf(mlir::Value value);
/// The number that all elements are, of a constant attribute.
std::optional<double> splatOf(mlir::Attribute attribute);
std::optional<double> splatOf(mlir::Value value);

} // namespace accord::import
