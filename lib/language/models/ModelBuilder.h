// A `.dnn` model with given arguments -> one `dnn.model`. Evaluates the body: numbers are computed,
// tensors become operations, `repeat` and `scan` stay one region.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/language/models/OperationTable.h"
#include "lib/language/syntax/Ast.h"
#include "lib/language/syntax/DeclarationScope.h"
#include "lib/support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <functional>
#include <map>
#include <memory>
#include <set>

namespace accord {

/// What a name in a model body stands for.
struct ModelValue;
using ModelList = std::vector<ModelValue>;
struct ModelValue {
  /// monostate: an error that has been reported. string: a text or a bare word (`sum`, `mean`).
  std::variant<std::monostate, Quantity, bool, std::string, mlir::Value, std::shared_ptr<ModelList>> content;
  bool failed() const { return std::holds_alternative<std::monostate>(content); }
  const Quantity *number() const { return std::get_if<Quantity>(&content); }
  const bool *truth() const { return std::get_if<bool>(&content); }
  const mlir::Value *tensor() const { return std::get_if<mlir::Value>(&content); }
  const ModelList *list() const {
    auto *l = std::get_if<std::shared_ptr<ModelList>>(&content);
    return l ? l->get() : nullptr;
  }
  /// "a number", "a tensor of 1024 x 1600": for messages.
  std::string describe() const;
};

struct ModelRequest {
  std::string symbol; ///< of the dnn.model
  const ast::Declaration *model = nullptr;
  const std::vector<ast::Argument> *arguments = nullptr; ///< of `gpt2(layers = 48)`; null: all defaults
  const ast::Declaration *caller = nullptr;              ///< whose file the arguments are written in
  std::map<std::string, int64_t> overrides;              ///< beat arguments and defaults (sweeps over `seq`)
  dnn::PrecisionAttr precision;
  dnn::OptimizerKindAttr optimizer;
};

class ModelBuilder {
public:
  /// More operations than this is an error: the text asks for an unrolled network that no analysis
  /// would finish.
  static constexpr size_t kMaxOperations = 100'000;
  /// Statements, expressions and list elements evaluated for one model. Modules that call modules
  /// and loops within loops multiply, and need make no operation at all.
  static constexpr size_t kMaxSteps = 10'000'000;
  /// Expressions evaluated within each other, through modules and constants.
  static constexpr size_t kMaxDepth = 1000;
  /// Elements of one list, iterations of one loop.
  static constexpr size_t kMaxList = 100'000;
  /// Scalars of one tensor (of a sample), so that no size computed from it passes 2^63.
  static constexpr int64_t kMaxScalars = int64_t(1) << 58;

  ModelBuilder(Diagnostics &diags, DeclarationScope &declarations, mlir::ModuleOp module);
  ~ModelBuilder();
  /// Adds the model to the module; null after errors (the module is then left without it).
  dnn::ModelOp build(const ModelRequest &request);

private:
  friend class OperationBuilder;
  friend class CustomOperation;
  struct Variable {
    ModelValue value;
    SourceRange declared;
    bool assignable = false, input = false;
    bool unassigned = false; ///< the result of a scan, before its step has given it a value
  };
  struct Scope {
    Scope *parent = nullptr;
    std::map<std::string, Variable> variables;
    const ast::Declaration *declaration = nullptr; ///< whose body this is
  };

  // Statements.
  void run(const std::vector<ast::Statement> &body);
  void run(const ast::Input &input, SourceRange range);
  void run(const ast::Bind &bind, SourceRange range);
  void run(const ast::For &loop, SourceRange range);
  void run(const ast::When &when, SourceRange range);
  void run(const ast::Loss &loss, SourceRange range);
  void run(const ast::Repeat &repeat, SourceRange range);
  void run(const ast::Scan &scan, SourceRange range);
  /// Runs `body` in a scope of its own within the present one.
  void within(llvm::function_ref<void()> body);
  void declare(const ast::Name &name, ModelValue value, bool assignable);
  Variable *lookup(llvm::StringRef name);
  /// False when the model is given up: too large, or wrong in too many places.
  bool proceed(SourceRange range, size_t steps = 1);

  // Repeats and scans.
  struct CarriedNames {
    std::vector<Variable *> variables;
    std::vector<ast::Name> places; ///< where each is assigned first
    llvm::SmallVector<mlir::Value> inits;
  };
  void assigned(const std::vector<ast::Statement> &body, std::set<std::string> &local, std::vector<ast::Name> &out);
  CarriedNames carriedBy(const std::vector<ast::Statement> &body, std::set<std::string> local);
  llvm::SmallVector<mlir::Value> iterate(dnn::RepeatOp op, CarriedNames &carried,
                                         const std::vector<ast::Statement> &body, llvm::function_ref<void()> bind,
                                         llvm::function_ref<void()> end);
  llvm::SmallVector<mlir::Value> slicesOf(const ast::Scan &scan);
  mlir::Value collect(const ast::Name &name);
  void reportUnassigned(const ast::Name &name);

  // Expressions (ModelExpressions.cpp)
  ModelValue eval(const ast::Expr &expr);
  ModelValue evalNode(const ast::Range &bounds, SourceRange range);
  ModelValue evalNode(const ast::Reference &reference, SourceRange range);
  ModelValue evalNode(const ast::Chain &chain, SourceRange);
  ModelValue evalNode(const ast::List &list, SourceRange);
  ModelValue apply(ast::BinaryOp op, SourceRange opAt, const ModelValue &a, SourceRange aAt, const ModelValue &b,
                   SourceRange bAt);
  ModelValue applyToTensors(ast::BinaryOp op, SourceRange opAt, const ModelValue &a, SourceRange aAt,
                            const ModelValue &b, SourceRange bAt);
  ModelValue applyToNumbers(ast::BinaryOp op, SourceRange opAt, const Quantity &a, SourceRange aAt, const Quantity &b,
                            SourceRange bAt);
  ModelValue joined(const ModelList &a, const ModelList &b, SourceRange at);
  ModelValue valueOf(const Result<Quantity> &number, SourceRange at); ///< reports the error
  ModelValue evalNode(const ast::Unary &unary, SourceRange range);
  ModelValue evalNode(const ast::Index &index, SourceRange range);
  ModelValue evalNode(const ast::Conditional &conditional, SourceRange);
  std::optional<bool> condition(const ast::Expr &expr);
  std::optional<int64_t> integer(const ast::Expr &expr, const char *what, int64_t min = INT64_MIN);
  /// The number as operations hold it; an error where no double is near it.
  std::optional<double> real(const Quantity &number, SourceRange at, const std::string &what);
  std::optional<std::vector<int64_t>> integersOf(const ModelValue &value, SourceRange at, const char *what);

  // Calls.
  ModelValue evalNode(const ast::Call &call, SourceRange range);
  /// A function of values; nothing if `name` is none, or means an operation for these arguments.
  std::optional<ModelValue> function(llvm::StringRef name, const ast::Call &call, SourceRange range);
  ModelValue functionOfNumbers(llvm::StringRef name, llvm::ArrayRef<ModelValue> arguments, SourceRange range);
  ModelValue wrongUsage(llvm::StringRef name, const char *usage, SourceRange range);
  ModelValue recompute(const ast::Call &call, SourceRange range);
  ModelValue callModule(const ast::Declaration &module, const ast::Call &call, SourceRange range);
  bool bindParameters(Scope &into, const ast::Declaration &callee, const std::vector<ast::Argument> &arguments,
                      SourceRange range, Scope *argumentScope, const std::map<std::string, int64_t> &overrides);

  // Operations.
  ModelValue create(llvm::StringRef dialect, llvm::StringRef label, mlir::ValueRange operands,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes, SourceRange range);
  ModelValue zeros(const ModelValue &dims, SourceRange dimsAt, bool shared, llvm::StringRef label, SourceRange range);
  mlir::Value parameter(llvm::StringRef owner, llvm::StringRef role, llvm::ArrayRef<int64_t> shape, SourceRange range);

  /// An error if a tensor of this shape (the batch aside) is larger than `kMaxScalars`.
  bool checkSize(llvm::ArrayRef<int64_t> shape, SourceRange range);
  mlir::Location at(SourceRange range);
  /// Unique, and none that the body gives to another operation: "block.attention.linear_2".
  std::string path(llvm::StringRef label);
  mlir::RankedTensorType typeOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }

  Diagnostics &diags;
  DeclarationScope &declarations;
  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  dnn::ModelOp model;
  Scope *scope = nullptr;
  mlir::Type element;                                                 ///< of activations and weights
  std::string prefix;                                                 ///< "block.attention."
  std::string pendingName;                                            ///< the name a `let` gives the call that it binds
  std::map<std::string, unsigned> used;                               ///< of names
  llvm::StringSet<> taken;                                            ///< what `path` has returned
  std::map<const ast::Declaration *, llvm::StringSet<>> writtenNames; ///< that a body gives to operations
  std::vector<const ast::Declaration *> calls;
  std::vector<int64_t> repeats; ///< counts of the enclosing repeats
  mlir::Operation *lastParameter = nullptr;
  /// The outermost scan whose body is built: what is trained in it is read before it, once for all
  /// steps.
  mlir::Operation *outermostScan = nullptr;
  unsigned repeatsInScan = 0; ///< inside of that scan
  SourceRange lossAt;
  std::vector<std::string> inputNames;
  std::map<const ast::Declaration *, ModelValue> constants; ///< numbers, texts and truths outside
  size_t operations = 0, steps = 0, depth = 0, errorsBefore = 0;
  bool hasGivenUp = false;
};

/// One call of an operation of the language; `label` names it, unless it is empty.
ModelValue buildOperation(ModelBuilder &model, const OperationSpec &spec, const ast::Call &call, SourceRange range,
                          std::string label);

} // namespace accord
