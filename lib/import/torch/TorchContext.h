// The values of a program of torch.export, seen from the node that is imported. Internal to lib/import.
#pragma once
#include "lib/import/text/Network.h"
#include "lib/import/torch/TorchFile.h"

namespace accord::import {

/// A tensor of the program. The batch is one dimension of it or a factor of one: full[batchAt] is outer * batch *
/// inner. The sample lacks that dimension if outer and inner are 1, else it has outer * inner there. Where a sample has
/// an extent 1 and `full` a larger one, the tensor is repeated along it.
struct TorchValue {
  enum class Kind : uint8_t {
    Missing,
    Computed, ///< by the model, or an input
    Weight,   ///< a parameter that nothing has read yet
    Constant, ///< the same in every step, and not trained
    Fixed,    ///< computed from integer inputs alone: no gradient passes
    Noise     ///< drawn anew in each step
  };
  Kind kind = Kind::Missing;
  TorchType type = TorchType::Float;
  DnnTextBuilder::Id id = -1; ///< of a computed one
  Shape full;
  int64_t batchAt = -1, outer = 1;
  std::string weight;      ///< name of the parameter
  bool transposed = false; ///< a weight of two dimensions
  /// Of a constant, where they are few: those of one sample if it has a batch.
  std::shared_ptr<const std::vector<double>> numbers;
  double rate = 0; ///< of noise: the share that is zero
};
using Kind = TorchValue::Kind;

class TorchContext : public Network {
public:
  static constexpr int64_t kMaxNumbers = 1 << 22;
  using Id = DnnTextBuilder::Id;

  TorchContext(Diagnostics &diags, FileId file, const NetworkOptions &options, const TorchModel &model)
      : Network(diags, file, options), model(model) {}

  void start(const TorchNode &next);
  [[noreturn]] void reportUnsupported(const std::string &reason);
  [[noreturn]] void reportInvalid(const std::string &reason);

  // ---- Arguments of the node

  bool has(const std::string &key) const { return node->find(key) != nullptr; }
  TorchValue get(const std::string &key);
  std::vector<TorchValue> list(const std::string &key);
  TorchValue valueOf(const std::string &name);
  /// A value that the model computes: weights become parameters, constants zeros, fixed ones inputs.
  TorchValue tensor(const std::string &key) { return made(get(key)); }
  TorchValue made(const TorchValue &value);
  int64_t integer(const std::string &key, int64_t otherwise);
  std::optional<Shape> integers(const std::string &key);
  std::optional<double> number(const std::string &key);
  bool flag(const std::string &key, bool otherwise) const;
  std::string text(const std::string &key) const;
  bool isNumber(const std::string &key) const;

  // ---- Shapes

  std::optional<int64_t> evaluated(const TorchExtent &extent) const;
  /// As the file states it.
  Shape shapeInFile(const std::string &value) const;
  TorchType typeInFile(const std::string &value) const;
  bool hasBatch(int64_t extent) const { return batchIsOpen && extent % batch == 0; }
  /// The shape of a sample, with `full[batchAt]` as `TorchValue` has it.
  Shape sampleOf(const TorchValue &value) const;
  bool isPure(const TorchValue &value) const {
    return value.batchAt >= 0 && value.full[value.batchAt] == batch && value.full.size() > 1;
  }
  /// `dim` counted from the front, below `rank`.
  int64_t dimOf(int64_t dim, int64_t rank);
  /// The dimension of a sample that `dim` of the tensor is; refused for the batch.
  int64_t sampleDim(const TorchValue &value, int64_t dim);
  /// Its sample has every extent that it is repeated to.
  TorchValue dense(const TorchValue &value);
  /// A computed value with the batch first and a sample of exactly `rank` dimensions.
  TorchValue sized(const std::string &key, size_t rank);

  // ---- Moves

  TorchValue viewed(const TorchValue &value, const Shape &full);
  TorchValue permuted(const TorchValue &value, const Shape &order);
  /// A transpose of a transpose is one of what is behind it.
  Id transpose(Id value, const Shape &order);
  const std::pair<Id, Shape> *transposeOf(Id value) const;
  TorchValue sliced(const TorchValue &value, int64_t dim, int64_t start, int64_t size);

  // ---- Results

  Id add(const std::string &call, std::vector<Id> operands, std::vector<std::string> attributes, Shape shape) {
    return textBuilder.add(name(), call, std::move(operands), std::move(attributes), std::move(shape));
  }
  TorchValue alike(const TorchValue &x, const std::string &call, std::vector<std::string> attributes = {});
  void setResult(TorchValue value, size_t output = 0);
  /// A computed value with the batch first.
  TorchValue image(Id id) const;
  TorchValue computed(Id id, Shape full, int64_t batchAt, int64_t outer = 1) const;
  TorchValue scalar(Id id) const { return computed(id, {}, -1); }

  /// Whether several operations read the parameter.
  bool isShared(const std::string &weight) const;
  Id parameterOf(const std::string &weight, const Shape &shape);
  /// A weight that an operation brings along; noted if another one shares it.
  void takeWeight(const TorchValue &weight);

  std::string name() const;
  std::string subject() const; ///< "aten.conv2d of 'layer1.0.conv1' (resnet.py:266)"

  const TorchModel &model;
  const TorchNode *node = nullptr;
  std::map<std::string, TorchValue> values;
  std::map<std::string, int64_t> symbols;
  std::map<std::string, int> uses;               ///< of parameters, by name
  std::map<std::string, std::string> endsIn;     ///< outputs: a softmax or sigmoid that is part of the loss
  std::map<Id, Id> causalScores;                 ///< masked scores, and what they were before
  std::map<Id, std::pair<Id, int64_t>> repeated; ///< heads: a value, and how often each of them follows itself

private:
  std::string withBatch(const std::string &reason) const;

  std::map<std::string, Id> parameters;
  std::map<Id, std::pair<Id, Shape>> transposes;
};

/// The product of two computed tensors over the last two dimensions.
TorchValue product(TorchContext &context, const TorchValue &a, const TorchValue &b);
/// `a + - * / b` of two computed tensors.
TorchValue joined(TorchContext &context, char sign, const TorchValue &a, const TorchValue &b);

/// Tensors one after the other along a dimension.
TorchValue concatenated(TorchContext &context, std::vector<TorchValue> all, int64_t dim);
/// The base of a view in which the part that the view is has another value: slices beside it are joined with it.
TorchValue replaced(TorchContext &context, const TorchNode &view, const TorchValue &base, TorchValue part);
/// Whether a view is a range of a dimension, or one entry of it.
bool isRange(const TorchNode &view);
/// Whether a known mask lets query i read keys up to i alone: true or 0 there, or the other way round.
bool isCausalMask(const TorchValue &mask, bool hides = false);
/// Aligned from the right, the dimensions of one operand that lie where the other has its batch are left out.
TorchValue withoutBatch(TorchContext &context, const TorchValue &one, const TorchValue &other);
/// An element-wise operation of up to three operands, which the file states: the formula reads them as {0}, {1}, {2},
/// and numbers by their names.
TorchValue stated(TorchContext &context, const std::string &name, std::string formula, std::vector<TorchValue> operands,
                  const std::vector<std::pair<std::string, double>> &numbers = {});

/// Imports the node that the context has started.
using TorchHandler = void (*)(TorchContext &, const TorchNode &);
struct TorchOperators {
  TorchHandler import;
  std::vector<const char *> names;
};
std::vector<TorchOperators> torchElementwise(), torchLayers(), torchLosses(), torchMovement(), torchProducts(),
    torchSelections(), torchStated(), torchWindows();
/// True if the result of the node needs no operation: it is known, the same in every step, or follows from integers.
bool foldTorch(TorchContext &context, const TorchNode &node);
/// Rewrites in place what modules take apart: gelu, silu, rms_norm, rotary positions.
void joinTorchPatterns(TorchModel &model);

} // namespace accord::import
