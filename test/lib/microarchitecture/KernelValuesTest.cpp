// Kernels of operations of training graphs compute what the interpreter of graphs computes, which knows nothing of
// loops and of instructions. Ids are in order, as kernels take them to be.
#include "lib/machine/translate/FromDnn.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/support/SplitMix.h"
#include "lib/training/interpret/Kernels.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include "test/lib/microarchitecture/ProgramInterpreter.h"
#include "test/support/TrainingGraphFixture.h"
#include <set>

namespace accord::microarchitecture {
namespace {

using interpret::Array;
using Names = std::vector<std::string>;

/// Tensors of kernels that are made of parts: operands of the graph, then results. Others have theirs in this order.
const std::map<std::string, Names> kNames = {
    {"lstm", {"x", "w_ih", "w_hh", "bias", "y", "saved"}},
    {"gru", {"x", "w_ih", "w_hh", "bias", "y", "saved"}},
    {"lstm_grad", {"dy", "x", "w_ih", "w_hh", "y", "saved", "dx", "dw_ih", "dw_hh", "dbias"}},
    {"gru_grad", {"dy", "x", "w_ih", "w_hh", "y", "saved", "dx", "dw_ih", "dw_hh", "dbias"}},
    {"flash_attention", {"q", "k", "v", "y", "saved"}},
    {"flash_attention_grad", {"dy", "q", "k", "v", "y", "saved", "dq", "dk", "dv"}},
    {"interaction", {"x", "pairs"}},
    {"interaction_grad", {"pairs", "x", "dx"}},
    {"moe_experts", {"slots", "w1", "w2", "y", "saved"}},
    {"moe_experts gated", {"slots", "w1", "w2", "w3", "y", "saved"}},
    {"moe_experts_grad", {"dy", "slots", "w1", "w2", "saved", "dslots", "dw1", "dw2"}},
    {"moe_experts_grad gated", {"dy", "slots", "w1", "w2", "saved", "w3", "dslots", "dw1", "dw2", "dw3"}},
    {"moe_combine", {"out", "ids", "weights", "table"}},
    {"moe_combine_grad", {"table", "other", "ids", "weights", "out", "dweights"}},
    {"embedding", {"ids", "table", "out"}},
    {"embedding_bag", {"ids", "table", "out"}},
    {"gather", {"table", "ids", "out"}},
    {"embedding_grad", {"out", "ids", "table"}},
    {"embedding_bag_grad", {"out", "ids", "table"}},
    {"gather_grad", {"out", "ids", "table"}},
    {"segment_sum", {"out", "ids", "table"}},
    {"scatter", {"x", "ids", "updates", "all"}},
    {"spmm", {"", "ids", "values", "dense", "y"}},
    {"spmm_values_grad", {"y", "", "ids", "dense", "values"}},
    {"spmm_dense_grad", {"y", "", "ids", "values", "dense"}},
    {"segment_softmax", {"x", "ids", "y"}},
    {"segment_softmax_grad", {"dy", "y", "ids", "dx"}},
    {"rotary", {"x", "y"}},
    {"upsample", {"x", "y"}},
    {"upsample_grad", {"y", "x"}},
    {"topk", {"x", "values", "ids"}},
    {"topk_grad", {"values", "ids", "dx"}},
    {"cross_entropy", {"x", "labels", "loss"}},
    {"slice", {"whole", "piece0"}},
    {"pad_slice", {"piece0", "whole"}},
};
/// With numbers that the graph does not tell a kernel, or random ones; contractions have a test of their own, where
/// padding is.
const std::set<std::string> kLeftOut = {"scale",
                                        "dropout",
                                        "dropout_grad",
                                        "moe_dispatch",
                                        "moe_dispatch_grad",
                                        "mse_grad",
                                        "mean_grad",
                                        "constant",
                                        "binary_cross_entropy_grad",
                                        "max_pool_grad",
                                        "embedding_rows_grad"};

/// Stored in the order of their dimensions on every machine.
const std::set<std::string> kInOrder = {"transpose",         "concat",           "slice",         "pad_slice",
                                        "embedding",         "embedding_grad",   "gather",        "gather_grad",
                                        "moe_combine",       "moe_combine_grad", "spmm",          "spmm_dense_grad",
                                        "segment_sum",       "upsample",         "upsample_grad", "embedding_bag",
                                        "embedding_bag_grad"};

struct Case {
  mlir::Operation *source = nullptr;
  const accord::Operation *operation = nullptr;
  int64_t batch = 1;
};

Names namesOf(const Case &one, const MappedKernel &mapped) {
  std::string kind = one.operation->kind;
  const size_t count = one.source->getNumOperands() + one.source->getNumResults();
  if (kind.rfind("moe_experts", 0) == 0 && count > (kind == "moe_experts" ? 5u : 8u))
    kind += " gated";
  Names names;
  if (auto at = kNames.find(kind); at != kNames.end()) {
    names = at->second;
    if (names.size() > count)
      llvm::erase_if(names, [](const std::string &name) { return name == "bias" || name == "dbias"; });
    return names;
  }
  if (kind == "concat") {
    for (size_t i = 0; i + 1 < count; ++i)
      names.push_back(fmt::format("piece{}", i));
    names.push_back("whole");
  } else if (kind == "split") {
    names.push_back("whole");
    for (size_t i = 0; i + 1 < count; ++i)
      names.push_back(fmt::format("piece{}", i));
  } else if (one.operation->contraction) {
    names = {"first", "second"};
    if (count > 3)
      names.push_back("bias");
    names.push_back("result");
  } else {
    for (const MappedKernel::Place &place : mapped.tensors)
      if (!place.isBuffer && place.name != "constants" && place.name != "positions" && place.name != "table")
        names.push_back(place.name);
    if (names.size() < count) // a seed of the gradient, which is 1
      names.insert(names.begin(), count - names.size(), "");
  }
  return names;
}

class ValueCheck {
public:
  ValueCheck(const Case &one, const MappedKernel &mapped, const Microarchitecture &machine, uint64_t seed)
      : one(one), mapped(mapped), run(mapped, machine), random(seed), names(namesOf(one, mapped)) {}

  /// Why the case says nothing, or what is wrong; empty if all is right.
  std::string compare() {
    std::vector<Array> in, out;
    for (mlir::Value operand : one.source->getOperands())
      in.push_back(drawn(operand));
    setSparse(in);
    for (mlir::Value result : one.source->getResults())
      out.emplace_back(interpret::shapeOf(result.getType(), one.batch));
    if (names.size() != in.size() + out.size())
      return fmt::format("has {} tensors for {} operands and {} results", names.size(), in.size(), out.size());
    llvm::SmallVector<const Array *> pointers;
    for (const Array &array : in)
      pointers.push_back(&array);
    const auto *kernel = interpret::Kernels::all().find(one.source->getName().getStringRef());
    if (!kernel)
      return "is not interpreted";
    (*kernel)(one.source, pointers, out, {});
    for (size_t t = 0; t < run.tensors.size(); ++t)
      if (mapped.tensors[t].name == "positions")
        for (size_t i = 0; i < run.tensors[t].size(); ++i)
          run.tensors[t][i] = double(i);
    tables();
    for (size_t i = 0; i < in.size(); ++i)
      if (std::string why = give(names[i], in[i]); !why.empty())
        return why;
    for (size_t i = 0; i < out.size(); ++i) // what is not written shows
      if (auto *result = named(names[in.size() + i]))
        result->assign(result->size(), NAN);
    run.runByTime();
    if (!run.wrong.empty())
      return run.wrong;
    for (size_t i = 0; i < out.size(); ++i)
      if (std::string why = expect(names[in.size() + i], out[i]); !why.empty())
        return why;
    return "";
  }

private:
  std::vector<double> *named(const std::string &name) {
    for (size_t t = 0; t < mapped.tensors.size(); ++t)
      if (mapped.tensors[t].name == name)
        return &run.tensors[t];
    return nullptr;
  }
  Array drawn(mlir::Value value) {
    Array made(interpret::shapeOf(value.getType(), one.batch));
    const bool isId =
        llvm::isa<mlir::IntegerType>(llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType());
    const std::string &kind = one.operation->kind;
    for (int64_t i = 0; i < made.size(); ++i)
      made.data[i] = isId                             ? double(i % limit())
                     : kind == "flash_attention_grad" ? random.unit()
                                                      : 2 * random.unit() - 1;
    if (made.size() == 1 && !isId && one.operation->kind.find("cross_entropy_grad") != std::string::npos)
      made.data[0] = 1;
    return made;
  }
  /// Rows with as many entries, whose columns are in order; segments of 16 entries.
  void setSparse(std::vector<Array> &in) {
    const std::string &kind = one.operation->kind;
    if (kind.rfind("segment_softmax", 0) == 0)
      for (double &id : in[kind == "segment_softmax" ? 1 : 2].data)
        id = double((&id - in[kind == "segment_softmax" ? 1 : 2].data.data()) / 16);
    if (kind.rfind("spmm", 0) != 0)
      return;
    Array &offsets = in[kind == "spmm" ? 0 : 1], &columns = in[kind == "spmm" ? 1 : 2];
    const auto &tensors = one.operation->tensors;
    const int64_t rows = offsets.size() - 1, each = columns.size() / rows;
    const std::vector<int64_t> &dense = tensors[kind == "spmm_dense_grad" ? 4 : 3].sizes;
    const int64_t height = dense[dense.size() - 2];
    for (int64_t r = 0; r <= rows; ++r)
      offsets.data[r] = double(r * each);
    for (int64_t e = 0; e < columns.size(); ++e)
      columns.data[e] = double(e % (height / each * each));
  }
  /// Of ids.
  int64_t limit() const {
    const auto &tensors = one.operation->tensors;
    const std::string &kind = one.operation->kind;
    auto size = [&](size_t t, size_t d) { return tensors[t].sizes[d]; };
    auto last = [&](size_t t) { return tensors[t].sizes.back(); };
    if (kind == "embedding" || kind == "embedding_bag")
      return size(1, 0);
    if (kind == "embedding_grad" || kind == "embedding_bag_grad")
      return size(2, 0);
    if (kind == "gather" || kind == "scatter")
      return elementsExceptLast(0);
    if (kind == "gather_grad" || kind == "segment_sum")
      return elementsExceptLast(2);
    if (kind == "moe_combine")
      return elementsExceptLast(3);
    if (kind == "moe_combine_grad")
      return elementsExceptLast(0);
    if (kind == "topk_grad")
      return last(2);
    return kind == "cross_entropy" ? last(0) : last(1);
  }
  int64_t elementsExceptLast(size_t t) const {
    int64_t all = 1;
    for (size_t d = 0; d + 1 < one.operation->tensors[t].sizes.size(); ++d)
      all *= one.operation->tensors[t].sizes[d];
    return all;
  }
  void tables() {
    auto *cosines = named("cos"), *sines = named("sin");
    auto rotary = llvm::dyn_cast<dnn::RotaryOp>(one.source);
    if (!cosines || !sines || !rotary)
      return;
    const int64_t half = one.operation->tensors[0].sizes.back() / 2;
    for (int64_t i = 0; i < int64_t(cosines->size()); ++i) {
      const double base = rotary.getBase().convertToDouble();
      const double angle = double(i / half) / std::pow(base, double(i % half) / double(half));
      (*cosines)[i] = std::cos(angle), (*sines)[i] = rotary.getInverse() ? -std::sin(angle) : std::sin(angle);
    }
  }
  std::string give(const std::string &name, const Array &array) {
    if (name.empty())
      return "";
    auto *into = named(name);
    if (!into) // of a table, only the rows that are reached
      return fmt::format("there is no '{}'", name);
    std::copy_n(array.data.begin(), std::min(into->size(), array.data.size()), into->begin());
    return "";
  }
  std::string expect(const std::string &name, const Array &array) {
    auto *found = named(name);
    if (!found || found->size() < size_t(array.size()))
      return fmt::format("'{}' has {} elements for {}", name, found ? found->size() : 0, array.size());
    for (int64_t i = 0; i < array.size(); ++i)
      if (!(std::abs((*found)[i] - array.data[i]) <= 1e-4 * (1 + std::abs(array.data[i]))))
        return fmt::format("'{}' [{}] is {}, not {}", name, i, (*found)[i], array.data[i]);
    return "";
  }

  const Case &one;
  const MappedKernel &mapped;
  ProgramInterpreter run;
  SplitMix random;
  const Names names;
};

int64_t pointsOf(const accord::Operation &operation) {
  __int128 points = 1;
  for (const Loop &loop : operation.domain)
    points = std::min<__int128>(points * loop.extent, 1 << 30);
  return int64_t(points);
}

/// A causal mask, which kernels take to hide nothing; the begin of a piece, which they take to be 0.
bool isMasked(mlir::Operation *op) {
  auto causal = op->getAttrOfType<mlir::BoolAttr>("causal");
  auto start = op->getAttrOfType<mlir::IntegerAttr>("start");
  return (causal && causal.getValue()) || (start && start.getInt() != 0);
}

/// Compares each operation of a model whose kind and shape was not there before; kinds that were compared.
std::set<std::string> compareModel(const char *model, int64_t batch) {
  TrainingGraph training(model, {"adam", "fp32"});
  std::string error;
  std::vector<mlir::Operation *> origins;
  std::set<std::string> kinds, seen;
  if (!training.graph)
    return kinds;
  auto graph = workGraphFrom(training.graph, batch, 1, error, &origins);
  KernelMachineOptions options;
  options.registers = 64, options.scalars = 32, options.lanes = 4;
  // A load that does not wait for a store shows, however far apart they are.
  options.window = options.requests = 1 << 14, options.writeLatency = 20'000;
  const Microarchitecture scalar = KernelMachine(options).scalar(), lanes = KernelMachine(options).vector();
  options.lanes = 1, options.scratchpad = 4096, options.tokenCount = 128, options.scalars = 64;
  const Microarchitecture staged = KernelMachine(options).stagedVector();
  for (size_t id = 0; graph && id < graph->operations.size(); ++id) {
    const accord::Operation &operation = graph->operations[id];
    std::string shape = operation.kind;
    for (const LoopTensor &tensor : operation.tensors)
      for (int64_t size : tensor.sizes)
        shape += fmt::format(" {}", size);
    if (operation.core == CoreKind::None || kLeftOut.count(operation.kind) || pointsOf(operation) > 60'000 ||
        operation.kind.rfind("update", 0) == 0 || isMasked(origins[id]) || !seen.insert(shape).second)
      continue;
    std::string why;
    for (const Microarchitecture *machine : {&scalar, &lanes, &staged}) {
      if ((machine == &lanes && !kInOrder.count(operation.kind)) || (machine == &staged && pointsOf(operation) > 3000))
        continue;
      auto kernel = kernelOf(operation, "adam", *machine);
      auto mapped = kernel ? emitKernel(*kernel, *machine) : Result<MappedKernel>(kernel.takeError());
      why += mapped ? ValueCheck({origins[id], &operation, batch}, *mapped, *machine, id).compare()
                    : mapped.error().message;
    }
    EXPECT_EQ(why, "") << operation.name << " (" << shape << ")";
    if (why.empty())
      kinds.insert(operation.kind);
  }
  return kinds;
}

/// The kinds must be among those that were compared.
void expectKinds(const char *model, int64_t batch, const std::set<std::string> &wanted) {
  const std::set<std::string> found = compareModel(model, batch);
  for (const std::string &kind : wanted)
    EXPECT_TRUE(found.count(kind)) << kind << " was not compared";
}

TEST(KernelValues, Attention) {
  expectKinds(R"(
model m() {
  input x : float[32, 24]
  input label : int32[32]
  let q = rotary(reshape(linear(x, out = 24), [32, 2, 3, 4]), axis = 0)
  let k = reshape(linear(x, out = 8), [32, 2, 4])
  let v = reshape(linear(x, out = 8), [32, 2, 4])
  let y = reshape(flash_attention(q, k, v, scale = 0.5), [32, 24])
  loss cross_entropy(linear(y, out = 5), label)
}
train t = m() on a100_80g { batch = 2 }
)",
              2, {"flash_attention", "flash_attention_grad", "cross_entropy"});
}

TEST(KernelValues, AttentionToValuesOfAnotherWidth) {
  expectKinds(R"(
model m() {
  input x : float[8, 8]
  input label : int32[8]
  let q = reshape(linear(x, out = 8), [8, 1, 2, 4])
  let k = reshape(linear(x, out = 4), [8, 1, 4])
  let v = reshape(linear(x, out = 6), [8, 1, 6])
  let y = reshape(flash_attention(q, k, v, scale = 0.5), [8, 12])
  loss cross_entropy(linear(y, out = 5), label)
}
train t = m() on a100_80g { batch = 2 }
)",
              2, {"flash_attention", "flash_attention_grad"});
}

TEST(KernelValues, Experts) {
  for (const char *gated : {"true", "false"})
    expectKinds(fmt::format(R"(
model m() {{
  input x : float[12, 8]
  input label : int32[12]
  let y = moe(x, experts = 2, inner = 6, top_k = 1, capacity_factor = 2, gated = {}, normalize = true)
  loss cross_entropy(y, label)
}}
train t = m() on a100_80g {{ batch = 1 }}
)",
                            gated)
                    .c_str(),
                1, {"moe_experts", "moe_experts_grad", "moe_combine", "moe_combine_grad"});
}

TEST(KernelValues, Decoder) {
  expectKinds(R"(
import "catalog/llama2.dnn"
train t = llama2(layers = 2, hidden = 16, heads = 4, kv_heads = 2, inner = 12, vocab = 9, seq = 8) on a100_80g {
  batch = 2
})",
              2, {"rotary", "rms_norm", "rms_norm_grad", "softmax_grad", "silu_grad", "transpose", "embedding_grad"});
}

TEST(KernelValues, Encoder) {
  expectKinds(R"(
import "catalog/bert_base.dnn"
train t = bert_base(layers = 1, hidden = 8, heads = 2, vocab = 11, seq = 6, max_position = 9, masked = 3) on a100_80g {
  batch = 1
})",
              1,
              {"gather", "gather_grad", "softmax", "layer_norm", "layer_norm_grad", "slice", "pad_slice", "gelu_grad"});
}

TEST(KernelValues, RecurrentLayers) {
  expectKinds(R"(
import "catalog/gnmt.dnn"
train t = gnmt(hidden = 4, vocab = 7, length = 3, target = 5) on a100_80g {
  batch = 2
})",
              2, {"lstm", "lstm_grad", "concat", "add"});
  expectKinds(R"(
model m() {
  input x : float[4, 3]
  input label : int32[4]
  let y = gru(gru(x, hidden = 5, bidirectional = true), hidden = 3, bias = false)
  loss cross_entropy(y, label)
}
train t = m() on a100_80g { batch = 3 }
)",
              3, {"gru", "gru_grad"});
}

TEST(KernelValues, ImagesAndPairs) {
  expectKinds(R"(
model m() {
  input image : float[3, 9, 10]
  input label : int32[1]
  let a = relu6(batch_norm(conv2d(image, out = 4, kernel = 2)))
  let b = max_pool(a, kernel = 2, stride = 2)
  let c = avg_pool(upsample(b, scale = 2), kernel = 2, stride = 1)
  let d = reshape(global_avg_pool(conv2d(c, out = 4, kernel = 1, stride = 2)), [1, 4])
  loss cross_entropy(linear(hard_swish(d), out = 5), label)
}
train t = m() on a100_80g { batch = 2 }
)",
              2,
              {"conv2d", "batch_norm", "batch_norm_grad", "max_pool", "avg_pool", "avg_pool_grad", "upsample",
               "upsample_grad", "global_avg_pool", "broadcast"});
  expectKinds(R"(
model m() {
  input x : float[5, 4]
  input ids : int32[2, 3]
  input label : float[1]
  let pairs = interaction(concat(x, embedding_bag(ids, rows = 13, dim = 4), axis = 0))
  loss binary_cross_entropy(linear(pairs, out = 1), label)
}
train t = m() on a100_80g { batch = 2 }
)",
              2, {"interaction", "interaction_grad", "binary_cross_entropy"});
}

TEST(KernelValues, Graphs) {
  expectKinds(R"(
model m() {
  input x : float[6, 5]
  input row_offsets : int32[7]
  input columns : int32[12]
  input values : float[12]
  input ids : int32[12]
  input labels : int32[6]
  let weights = segment_softmax(linear(gather(x, columns, axis = 0), out = 3), ids, segments = 6)
  let mixed = segment_sum(weights, ids, segments = 6)
  loss cross_entropy(spmm(row_offsets, columns, values, linear(mixed, out = 4)), labels)
}
train t = m() on a100_80g { batch = 1 }
)",
              1, {"spmm", "spmm_dense_grad", "segment_softmax", "segment_softmax_grad", "segment_sum"});
}

} // namespace
} // namespace accord::microarchitecture
