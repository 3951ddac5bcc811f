// The pass: recurrent layers as a repeat over time.
#include "passes/train/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_EXPANDRECURRENT
#include "passes/train/Passes.h.inc"

namespace {

/// One direction of a layer: its weights, and whether time runs backwards.
struct Direction {
  Value wIh, wHh, bias; ///< [gates*hidden, in], [gates*hidden, hidden], [2, gates*hidden] or null
  bool reverse;
  std::string name;
};

/// Writes a layer out before the operation that it is in the model.
template <typename OpTy> class Expansion {
  static constexpr bool kLstm = std::is_same_v<OpTy, dnn::LstmOp>;
  static constexpr int64_t kGates = kLstm ? 4 : 3;

public:
  explicit Expansion(OpTy op) : op(op), builder(op), location(op.getLoc()) {
    base = dnn::nameOf(op).str();
    if (base.empty())
      base = op->getName().stripDialect().str();
  }

  void run() {
    SmallVector<Value> outputs;
    for (const Direction &direction : directions())
      outputs.push_back(overTime(direction));
    Value y = outputs[0];
    if (outputs.size() > 1)
      y = make(base, "concat", outputs, {{"axis", -1}})[0];
    op.getY().replaceAllUsesWith(y);
    op.erase();
  }

private:
  /// Gives an operation its name and the layer's mark.
  Operation *mark(const Twine &name, Operation *made) {
    made->setAttr(dnn::DnnDialect::kNameAttr, builder.getStringAttr(name));
    if (Attribute recompute = op->getAttr(dnn::DnnDialect::kRecomputeAttr))
      made->setAttr(dnn::DnnDialect::kRecomputeAttr, recompute);
    return made;
  }
  /// Creates an operation with inferred types; an operand that is null is left out.
  ResultRange make(const Twine &name, StringRef kind, ArrayRef<Value> operands,
                   ArrayRef<std::pair<StringRef, int64_t>> attributes = {}) {
    NamedAttrList list;
    for (auto [key, value] : attributes)
      list.set(key, builder.getI64IntegerAttr(value));
    SmallVector<Value> given(llvm::make_filter_range(operands, [](Value operand) { return operand; }));
    return mark(name, *dnn::createInferred(builder, location, ("dnn." + kind).str(), given, list))->getResults();
  }
  SmallVector<Value> split(const Twine &name, Value x, int64_t parts, int64_t axis) {
    return make(name, "split", x, {{"parts", parts}, {"axis", axis}});
  }
  Value reshape(const Twine &name, Value x, ArrayRef<int64_t> dims) {
    auto type = RankedTensorType::get(dims, cast<RankedTensorType>(x.getType()).getElementType());
    return mark(name, dnn::ReshapeOp::create(builder, location, type, x, builder.getDenseI64ArrayAttr(dims)))
        ->getResult(0);
  }
  static ArrayRef<int64_t> shape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

  SmallVector<Direction> directions() {
    if (!op.getBidirectional())
      return {{op.getWIh(), op.getWHh(), op.getBias(), false, base}};
    SmallVector<Direction> both{{{}, {}, {}, false, base + ".ahead"}, {{}, {}, {}, true, base + ".reverse"}};
    auto cut = [&](Value weight, StringRef role, Value Direction::*into) {
      if (!weight)
        return;
      for (auto [direction, part] : llvm::zip(both, split(base + "." + role, weight, 2, 0)))
        direction.*into = reshape(direction.name + "." + role, part, shape(part).drop_front());
    };
    cut(op.getWIh(), "weight_ih", &Direction::wIh);
    cut(op.getWHh(), "weight_hh", &Direction::wHh);
    cut(op.getBias(), "bias", &Direction::bias);
    return both;
  }

  Value overTime(const Direction &d) {
    RankedTensorType x = op.getX().getType();
    int64_t batch = dnn::batchRank(x), hidden = shape(d.wHh).back();
    Value inputBias, stateBias;
    if (d.bias && kLstm) { // both are added to the same sum
      inputBias = make(d.name + ".bias_sum", "reduce_sum", d.bias, {{"axis", 0}})[0];
    } else if (d.bias) {
      SmallVector<Value> biases = split(d.name + ".biases", d.bias, 2, 0);
      inputBias = reshape(d.name + ".input_bias", biases[0], shape(d.bias).drop_front());
      stateBias = reshape(d.name + ".state_bias", biases[1], shape(d.bias).drop_front());
    }
    Value input = make(d.name + ".input", "linear", {op.getX(), d.wIh, inputBias})[0];
    Value slices = make(d.name + ".inputs", "unstack", input, {{"axis", 0}})[0];
    SmallVector<int64_t> extents(x.getShape().take_front(batch));
    extents.push_back(hidden);
    auto state = RankedTensorType::get(extents, x.getElementType());
    Value zero = mark(d.name + ".zero", dnn::ConstantOp::create(builder, location, state, builder.getF64FloatAttr(0)))
                     ->getResult(0);
    SmallVector<Value> inits(kLstm ? 2 : 1, zero); // the state, and the LSTM's cell
    int64_t steps = x.getDimSize(batch);
    auto repeat = dnn::RepeatOp::create(builder, location, steps, d.name + ".time", inits, slices,
                                        dnn::StashType::get(builder.getContext(), steps, state), d.reverse);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&repeat.getBlock());
      SmallVector<Value> next = step(d, repeat.getCarriedArguments(), repeat.getUnstashedArguments()[0], stateBias);
      dnn::YieldOp::create(builder, location, next, next[0]);
    }
    return make(d.name + (d.name == base ? "" : ".outputs"), "stack", repeat.getStashed()[0], {{"axis", 0}})[0];
  }

  /// The next state (and cell). PyTorch's equations: gates i, f, g, o of an LSTM; r, z, n of a GRU.
  SmallVector<Value> step(const Direction &d, ArrayRef<BlockArgument> carried, Value input, Value stateBias) {
    auto call = [&](StringRef kind, StringRef name, auto... operands) -> Value {
      return make(d.name + "." + name, kind, {operands...})[0];
    };
    Value h = carried[0];
    Value sums = call("linear", "state", h, d.wHh, stateBias);
    if constexpr (kLstm) {
      SmallVector<Value> gates = split(d.name + ".gates", call("add", "sums", sums, input), kGates, -1);
      Value in = call("sigmoid", "input_gate", gates[0]), forget = call("sigmoid", "forget_gate", gates[1]);
      Value candidate = call("tanh", "candidate", gates[2]), out = call("sigmoid", "output_gate", gates[3]);
      Value cell =
          call("add", "cell", call("mul", "remembered", forget, carried[1]), call("mul", "learned", in, candidate));
      return {call("mul", "hidden", out, call("tanh", "cell_tanh", cell)), cell};
    } else {
      SmallVector<Value> ofX = split(d.name + ".input_gates", input, kGates, -1);
      SmallVector<Value> ofH = split(d.name + ".state_gates", sums, kGates, -1);
      Value reset = call("sigmoid", "reset_gate", call("add", "reset_sum", ofX[0], ofH[0]));
      Value update = call("sigmoid", "update_gate", call("add", "update_sum", ofX[1], ofH[1]));
      Value candidate =
          call("tanh", "candidate", call("add", "candidate_sum", ofX[2], call("mul", "reset", reset, ofH[2])));
      // (1 - z) n + z h
      return {call("add", "hidden", candidate, call("mul", "kept", update, call("sub", "change", h, candidate)))};
    }
  }

  OpTy op;
  OpBuilder builder;
  Location location;
  std::string base;
};

struct ExpandRecurrent : impl::ExpandRecurrentBase<ExpandRecurrent> {
  void runOnOperation() override {
    for (auto model : getOperation().getOps<dnn::ModelOp>()) {
      model.walk([](dnn::LstmOp op) { Expansion(op).run(); });
      model.walk([](dnn::GruOp op) { Expansion(op).run(); });
    }
  }
};

} // namespace
} // namespace accord
