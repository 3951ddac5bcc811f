// The gradients of every operation against finite differences, in at least three shapes each.
#include "lib/training/interpret/Interpreter.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/train/Passes.h"
#include "test/support/DnnFixture.h"
#include <cmath>
#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace accord;

namespace {

/// An operand: its extents (-1: the batch), and what it is.
struct Operand {
  SmallVector<int64_t> shape;
  enum Kind { Trained, Positive, Wide, Ids, Data } kind = Trained;
};
struct Case {
  std::string op;
  std::vector<Operand> operands;
  std::string attributes = {};
};

Operand ids(SmallVector<int64_t> shape) { return {std::move(shape), Operand::Ids}; }
Operand positive(SmallVector<int64_t> shape) { return {std::move(shape), Operand::Positive}; }
/// Reaches beyond -6 and 6.
Operand wide(SmallVector<int64_t> shape) { return {std::move(shape), Operand::Wide}; }
Operand data(SmallVector<int64_t> shape) { return {std::move(shape), Operand::Data}; }

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"linear", {{{-1, 4}}, {{3, 4}}, {{3}}}},
      {"linear", {{{-1, 2, 5}}, {{3, 5}}}},
      {"linear", {{{-1, 2, 2, 1}}, {{4, 1}}, {{4}}}},
      {"matmul", {{{-1, 3, 4}}, {{-1, 4, 2}}}},
      {"matmul", {{{-1, 2, 3, 4}}, {{4, 5}}}},
      {"matmul", {{{-1, 2, 3, 4}}, {{-1, 2, 5, 4}}}, "{transpose_b = true}"},
      {"matmul", {{{-1, 1, 4, 3}}, {{-1, 2, 4, 2}}}, "{transpose_a = true}"},
      {"matmul", {{{-1, 4, 3}}, {{2, 4}}}, "{transpose_a = true, transpose_b = true}"},
      {"conv2d", {{{-1, 2, 4, 4}}, {{3, 2, 3, 3}}, {{3}}}},
      {"conv2d", {{{-1, 2, 5, 4}}, {{2, 2, 3, 2}}}, "{stride = 2, padding = 1}"},
      {"conv2d", {{{-1, 4, 5, 5}}, {{6, 2, 2, 2}}, {{6}}}, "{groups = 2, dilation = 2, padding = 1}"},
      {"conv2d", {{{-1, 2, 6, 5}}, {{2, 2, 1, 3}}}, "{stride = array<i64: 2, 1>, padding = array<i64: 0, 1>}"},
      {"conv2d", {{{-1, 1, 5, 5}}, {{1, 1, 2, 2}}}, "{stride = 3}"},                       // last rows reach no output
      {"conv2d", {{{-1, 2, 4, 5}}, {{2, 2, 2, 3}}}, "{padding = array<i64: 0, 1, 2, 0>}"}, // before, then behind
      {"conv1d", {{{-1, 2, 6}}, {{3, 2, 3}}, {{3}}}},
      {"conv1d", {{{-1, 4, 7}}, {{6, 2, 2}}, {{6}}}, "{groups = 2, stride = 2, dilation = 2, padding = 1}"},
      {"conv1d", {{{-1, 3, 5}}, {{3, 1, 4}}}, "{groups = 3, padding = array<i64: 3, 0>}"}, // causal
      {"conv3d", {{{-1, 2, 3, 3, 3}}, {{2, 2, 2, 2, 2}}, {{2}}}},
      {"conv3d",
       {{{-1, 1, 4, 3, 4}}, {{2, 1, 3, 1, 2}}},
       "{stride = array<i64: 2, 1, 2>, padding = array<i64: 1, 0, 1>}"},
      {"conv3d",
       {{{-1, 2, 3, 2, 3}}, {{4, 1, 2, 2, 2}}, {{4}}},
       "{groups = 2, padding = 1, dilation = array<i64: 2, 1, 1>}"},
      {"conv_transpose1d", {{{-1, 2, 3}}, {{2, 3, 2}}, {{3}}}},
      {"conv_transpose1d", {{{-1, 2, 4}}, {{2, 2, 3}}}, "{stride = 2, padding = 1, output_padding = 1}"},
      {"conv_transpose1d", {{{-1, 4, 3}}, {{4, 1, 2}}, {{2}}}, "{groups = 2, padding = array<i64: 1, 0>}"},
      {"conv_transpose3d", {{{-1, 1, 2, 2, 2}}, {{1, 2, 2, 2, 2}}, {{2}}}},
      {"conv_transpose3d", {{{-1, 2, 2, 1, 2}}, {{2, 1, 1, 2, 3}}}, "{stride = 2, padding = array<i64: 0, 0, 1>}"},
      {"conv_transpose3d", {{{-1, 2, 1, 2, 1}}, {{2, 1, 2, 1, 2}}, {{2}}}, "{groups = 2, dilation = 2}"},
      {"depthwise_conv2d", {{{-1, 3, 4, 4}}, {{3, 1, 3, 3}}, {{3}}}, "{padding = 1}"},
      {"depthwise_conv2d", {{{-1, 2, 5, 5}}, {{2, 1, 3, 3}}}, "{stride = 2}"},
      {"depthwise_conv2d", {{{-1, 2, 5, 5}}, {{2, 1, 2, 2}}}, "{dilation = 2, padding = 1}"},
      {"conv_transpose2d", {{{-1, 2, 3, 3}}, {{2, 3, 2, 2}}, {{3}}}},
      {"conv_transpose2d", {{{-1, 2, 3, 2}}, {{2, 2, 3, 3}}}, "{stride = 2, padding = 1, output_padding = 1}"},
      {"conv_transpose2d", {{{-1, 4, 2, 2}}, {{4, 1, 2, 2}}, {{2}}}, "{groups = 2, dilation = 2}"},
      {"interaction", {{{-1, 3, 2}}}},
      {"interaction", {{{-1, 2, 4}}}},
      {"interaction", {{{-1, 5, 1}}}},
      {"dropout", {{{-1, 8}}}, "{rate = 0.5 : f64}"},
      {"dropout", {{{-1, 2, 3}}}, "{rate = 0.1 : f64}"},
      {"dropout", {{{4}}}, "{rate = 0.0 : f64}"},
      {"rotary", {{{-1, 3, 4}}}},
      {"rotary", {{{-1, 2, 3, 2}}}, "{base = 100.0 : f64}"},
      {"rotary", {{{-1, 2, 6}}}, "{inverse}"},
      {"rotary", {{{-1, 3, 2, 4}}}, "{axis = 0}"},
      {"flash_attention", {{{-1, 3, 2, 2, 4}}, {{-1, 5, 2, 4}}, {{-1, 5, 2, 4}}}},
      {"flash_attention", {{{-1, 4, 1, 3, 2}}, {{-1, 4, 1, 2}}, {{-1, 4, 1, 2}}}, "{causal = true, scale = 0.7 : f64}"},
      {"flash_attention", {{{2, 1, 1, 1}}, {{3, 1, 1}}, {{3, 1, 1}}}},
      {"flash_attention", {{{-1, 5, 1, 2, 2}}, {{-1, 5, 1, 2}}, {{-1, 5, 1, 2}}}, "{causal = true, window = 2}"},
      {"flash_attention", {{{-1, 3, 2, 2, 4}}, {{-1, 5, 2, 4}}, {{-1, 5, 2, 3}}}},
      {"layer_norm", {{{-1, 5}}, {{5}}, {{5}}}},
      {"layer_norm", {{{-1, 3, 4}}, {{4}}}},
      {"layer_norm", {{{-1, 2, 2, 3}}, {{3}}, {{3}}}, "{epsilon = 0.5 : f64}"},
      {"rms_norm", {{{-1, 5}}, {{5}}}},
      {"rms_norm", {{{-1, 3, 4}}, {{4}}}},
      {"rms_norm", {{{-1, 2, 3}}, {{3}}}, "{epsilon = 0.5 : f64}"},
      {"batch_norm", {{{-1, 3}}, {{3}}, {{3}}}},
      {"batch_norm", {{{-1, 2, 3, 2}}, {{2}}, {{2}}}},
      {"batch_norm", {{{-1, 2, 2, 2}}, {{2}}}, "{epsilon = 0.5 : f64}"},
      {"group_norm", {{{-1, 4, 2, 2}}, {{4}}, {{4}}}, "{groups = 2}"},
      {"group_norm", {{{-1, 3, 3}}, {{3}}}, "{groups = 1}"},
      {"group_norm", {{{-1, 2, 4}}, {{2}}, {{2}}}, "{groups = 2, epsilon = 0.5 : f64}"},
      {"softmax", {{{-1, 5}}}},
      {"softmax", {{{-1, 3, 4}}}, "{axis = 0}"},
      {"softmax", {{{-1, 2, 4, 4}}}, "{causal = true}"},
      {"cross_entropy", {{{-1, 5}}, ids({-1})}},
      {"cross_entropy", {{{-1, 3, 4}}, ids({-1, 3})}},
      {"cross_entropy", {{{-1, 2, 2, 2}}, ids({-1, 2, 2})}},
      {"mean", {{{-1}}}},
      {"mean", {{{-1, 2, 3}}}},
      {"mean", {{{4}}}},
      {"mse", {{{-1, 5}}, data({-1, 5})}},
      {"mse", {{{-1, 2, 3}}, {{-1, 2, 3}}}},
      {"mse", {{{4}}, {{4}}}},
      {"smooth_l1", {wide({-1, 5}), data({-1, 5})}},
      {"smooth_l1", {{{-1, 2, 3}}, {{-1, 2, 3}}}},
      {"smooth_l1", {{{4}}, {{4}}}},
      {"binary_cross_entropy", {{{-1, 5}}, data({-1, 5})}},
      {"binary_cross_entropy", {{{-1, 2, 3}}, data({-1, 2, 3})}},
      {"binary_cross_entropy", {{{-1}}, data({-1})}},
      {"reshape", {{{-1, 6}}}, "{dims = array<i64: 2, 3>}"},
      {"reshape", {{{-1, 2, 3, 2}}}, "{dims = array<i64: 12>}"},
      {"reshape", {{{4, 3}}}, "{dims = array<i64: 2, 6>}"},
      {"transpose", {{{-1, 2, 3}}}, "{permutation = array<i64: 1, 0>}"},
      {"transpose", {{{-1, 2, 3, 4}}}, "{permutation = array<i64: 2, 0, 1>}"},
      {"transpose", {{{2, 3, 4}}}, "{permutation = array<i64: 1, 2, 0>}"},
      {"concat", {{{-1, 2, 3}}, {{-1, 4, 3}}}, "{axis = 0}"},
      {"concat", {{{-1, 3}}, {{-1, 1}}, {{-1, 2}}}, "{axis = -1}"},
      {"concat", {{{2, 3}}, {{2, 3}}}, "{axis = 1}"},
      {"concat", {{{1, 3}}, {{-1, 2, 3}}}, "{axis = 0}"}, // joined to every sample
      {"concat", {{{-1, 2, 3}}, {{2, 1}}, {{2, 2}}}, "{axis = -1}"},
      {"split", {{{-1, 4}}}, "{parts = 2, axis = 0}"},
      {"split", {{{-1, 2, 6}}}, "{parts = 3, axis = -1}"},
      {"split", {{{4, 2}}}, "{parts = 4, axis = 0}"},
      {"unstack", {{{-1, 3, 2}}}, "{axis = 0}"},
      {"unstack", {{{-1, 2, 3, 2}}}, "{axis = -1}"},
      {"unstack", {{{4, 2}}}, "{axis = 1}"},
      {"unstack", {{{-1, 3}}}, "{axis = 0}"},
      {"stack", {{{-1, 3, 2}}}, "{axis = 1}"},
      {"stack", {{{-1, 2, 3, 2}}}, "{axis = -1}"},
      {"stack", {{{4, 2}}}, "{axis = 0}"},
      {"slice", {{{-1, 5}}}, "{axis = 0, start = 1, size = 3}"},
      {"slice", {{{-1, 2, 4}}}, "{axis = -1, start = 2, size = 2}"},
      {"slice", {{{4, 2}}}, "{axis = 0, size = 1}"},
      {"pad", {{{-1, 3}}}, "{before = array<i64: 2>}"},
      {"pad", {{{-1, 2, 3}}}, "{before = array<i64: 0, 1>, after = array<i64: 1, 2>, value = -1.5 : f64}"},
      {"pad", {{{-1, 4, 3}}}, "{before = array<i64: -1, 2>, after = array<i64: -2, -1>}"},
      {"pad", {{{3, 2}}}, "{before = array<i64: 1, 0>, after = array<i64: 0, 0>}"},
      {"reduce_max", {{{-1, 4}}}, "{axis = 0}"},
      {"reduce_max", {{{-1, 2, 3}}}, "{axis = -1}"},
      {"reduce_max", {{{3, 2}}}, "{axis = 0}"},
      {"reduce_min", {{{-1, 4}}}, "{axis = 0}"},
      {"reduce_min", {{{-1, 2, 3}}}, "{axis = 0}"},
      {"reduce_min", {{{3, 2}}}, "{axis = 1}"},
      {"reduce_sum", {{{-1, 4}}}, "{axis = 0}"},
      {"reduce_sum", {{{-1, 2, 3}}}, "{axis = -1}"},
      {"reduce_sum", {{{3, 2}}}, "{axis = 0}"},
      {"reduce_mean", {{{-1, 4}}}, "{axis = 0}"},
      {"reduce_mean", {{{-1, 2, 3}}}, "{axis = 0}"},
      {"reduce_mean", {{{3, 2}}}, "{axis = 1}"},
      {"max_pool", {{{-1, 2, 4, 4}}}, "{kernel = 2}"},
      {"max_pool", {{{-1, 1, 5, 5}}}, "{kernel = 3, stride = 2, padding = 1}"},
      {"max_pool", {{{-1, 2, 4, 5}}}, "{kernel = array<i64: 2, 3>, stride = 1}"},
      {"avg_pool", {{{-1, 2, 4, 4}}}, "{kernel = 2}"},
      {"avg_pool", {{{-1, 1, 5, 5}}}, "{kernel = 3, stride = 2, padding = 1}"},
      {"avg_pool", {{{-1, 2, 4, 5}}}, "{kernel = array<i64: 2, 3>, stride = 1}"},
      {"max_pool", {{{-1, 2, 7}}}, "{kernel = 3, stride = 2, padding = array<i64: 0, 1>}"},
      {"max_pool", {{{-1, 1, 3, 4, 3}}}, "{kernel = array<i64: 2, 2, 1>, padding = array<i64: 1, 0, 0>}"},
      {"avg_pool", {{{-1, 2, 7}}}, "{kernel = 2, padding = 1}"},
      {"avg_pool",
       {{{-1, 1, 4, 3, 4}}},
       "{kernel = 2, stride = array<i64: 2, 1, 1>, padding = array<i64: 0, 0, 0, 1, 0, 1>}"},
      {"global_avg_pool", {{{-1, 2, 5}}}},
      {"global_avg_pool", {{{-1, 2, 2, 3, 2}}}},
      {"global_avg_pool", {{{-1, 2, 3, 3}}}},
      {"global_avg_pool", {{{-1, 1, 1, 4}}}},
      {"global_avg_pool", {{{-1, 3, 2, 1}}}},
      {"upsample", {{{-1, 2, 2, 3}}}, "{scale = 2}"},
      {"upsample", {{{-1, 2, 4}}}, "{scale = 2, mode = \"linear\"}"},
      {"upsample", {{{-1, 1, 2, 3}}}, "{scale = array<i64: 3, 2>, mode = \"linear\"}"},
      {"upsample", {{{-1, 1, 2, 1, 3}}}, "{scale = 2, mode = \"linear\"}"},
      {"upsample", {{{-1, 2, 2, 1, 2}}}, "{scale = array<i64: 1, 2, 3>}"},
      {"upsample", {{{-1, 1, 3, 2}}}, "{scale = array<i64: 1, 3>}"},
      {"upsample", {{{-1, 2, 1, 1}}}, "{scale = 3}"},
      {"embedding", {ids({-1, 3}), {{5, 2}}}},
      {"embedding", {ids({-1}), {{4, 3}}}},
      {"embedding", {ids({-1, 2, 2}), {{3, 1}}}},
      {"embedding_bag", {ids({-1, 3}), {{5, 2}}}},
      {"embedding_bag", {ids({-1, 4}), {{3, 3}}}, "{mode = \"mean\"}"},
      {"embedding_bag", {ids({-1, 2, 3}), {{4, 1}}}},
      {"gather", {{{-1, 5, 2}}, ids({-1, 3})}},
      {"gather", {{{-1, 2, 5}}, ids({-1, 3})}, "{axis = 1}"},
      {"gather", {{{5, 2}}, ids({-1, 3})}},
      {"gather", {{{-1, 4}}, ids({2, 3})}, "{axis = -1}"},
      {"scatter", {{{-1, 5, 2}}, ids({-1, 3}), {{-1, 3, 2}}}},
      {"scatter", {{{-1, 2, 4}}, ids({-1, 3}), {{-1, 2, 3}}}, "{axis = 1}"},
      {"scatter", {{{-1, 3}}, ids({-1, 6}), {{-1, 6}}}},
      {"segment_sum", {{{-1, 6, 2}}, ids({-1, 6})}, "{segments = 3}"},
      {"segment_sum", {{{-1, 4}}, ids({-1, 4})}, "{segments = 5}"},
      {"segment_sum", {{{-1, 3, 2, 2}}, ids({-1, 3})}, "{segments = 1}"},
      {"segment_softmax", {{{-1, 6, 2}}, ids({-1, 6})}, "{segments = 3}"},
      {"segment_softmax", {{{-1, 5}}, ids({5})}, "{segments = 2}"},
      {"segment_softmax", {{{-1, 4, 2, 2}}, ids({-1, 4})}, "{segments = 1}"},
      {"relative_bias", {{{8, 2}}}, "{queries = 5, keys = 7, max_distance = 6}"},
      {"relative_bias", {{{4, 3}}}, "{queries = 6, keys = 6, max_distance = 4, bidirectional = false}"},
      {"relative_bias", {{{32, 1}}}, "{queries = 3, keys = 20}"},
      {"prelu", {{{-1, 3}}, {{3}}}},
      {"prelu", {{{-1, 2, 3, 2}}, {{2}}}},
      {"prelu", {{{-1, 3, 2}}, {{1}}}},
      {"prelu", {{{4}}, {{4}}}},
      {"lrn", {{{-1, 5}}}, "{size = 3, alpha = 0.7 : f64}"},
      {"lrn", {{{-1, 4, 2, 3}}}, "{size = 2, alpha = 0.9 : f64, beta = 0.5 : f64, bias = 2.0 : f64}"},
      {"lrn", {{{-1, 3, 2}}}, "{size = 5, alpha = 1.1 : f64}"},
      {"selective_scan", {{{-1, 4, 3}}, {{-1, 4, 3}}, {{3, 2}}, {{-1, 4, 2}}, {{-1, 4, 2}}}},
      {"selective_scan", {{{3, 2}}, {{3, 2}}, {{2, 1}}, {{3, 1}}, {{3, 1}}}},
      {"selective_scan", {{{-1, 1, 2}}, {{-1, 1, 2}}, {{2, 4}}, {{-1, 1, 4}}, {{-1, 1, 4}}}},
      {"leaky_relu", {{{-1, 5}}}, "{slope = 0.2 : f64}"},
      {"leaky_relu", {{{-1, 2, 3}}}},
      {"leaky_relu", {{{4}}}, "{slope = 0.0 : f64}"},
      {"elu", {{{-1, 5}}}},
      {"elu", {{{-1, 2, 3}}}, "{alpha = 0.5 : f64}"},
      {"elu", {{{4}}}, "{alpha = 2.0 : f64}"},
      {"sinusoids", {{{-1, 3, 4}}}},
      {"sinusoids", {{{-1, 2, 3, 5}}}},
      {"sinusoids", {{{2, 2}}}},
      {"alibi", {{{-1, 4, 2, 3}}}},
      {"alibi", {{{-1, 6, 3, 3}}}},
      {"alibi", {{{1, 2, 2}}}},
      {"spmm", {ids({-1, 4}), ids({-1, 5}), {{-1, 5}}, {{-1, 3, 2}}}},
      {"spmm", {ids({-1, 3}), ids({-1, 2}), {{-1, 2}}, {{-1, 4, 1}}}},
      {"spmm", {ids({-1, 2}), ids({-1, 6}), {{-1, 6}}, {{-1, 2, 3}}}},
      {"topk", {{{-1, 5}}}, "{k = 2}"},
      {"topk", {{{-1, 2, 4}}}, "{k = 1}"},
      {"topk", {{{-1, 3}}}, "{k = 3}"},
  };
  // lstm and gru: x, w_ih, w_hh, bias of input and state.
  for (auto [op, gates] : {std::pair("lstm", 4), {"gru", 3}}) {
    all.push_back({op, {{{-1, 3, 2}}, {{gates * 2, 2}}, {{gates * 2, 2}}, {{2, gates * 2}}}});
    all.push_back({op, {{{-1, 1, 3}}, {{gates, 3}}, {{gates, 1}}}});
    all.push_back(
        {op, {{{-1, 4, 2}}, {{2, gates * 3, 2}}, {{2, gates * 3, 3}}, {{2, 2, gates * 3}}}, "{bidirectional = true}"});
  }
  all.push_back({"moe_dispatch", {{{-1, 4, 3}}, {{2, 3}}}});
  all.push_back({"moe_dispatch", {{{-1, 3, 2}}, {{3, 2}}}, "{top_k = 2}"});
  all.push_back({"moe_dispatch", // too few slots: some tokens are dropped
                 {{{-1, 6, 2}}, {{2, 2}}},
                 "{capacity_factor = 0.5 : f64}"});
  all.push_back({"moe_dispatch", // weights that add up to 1
                 {{{-1, 2, 3, 2}}, {{3, 2}}},
                 "{top_k = 2, normalize = true, capacity_factor = 0.75 : f64}"});
  all.push_back({"moe_dispatch", {{{4, 2}}, {{3, 2}}}, "{top_k = 3, normalize = true}"});
  all.push_back({"moe_experts", {{{-1, 2, 3, 3}}, {{2, 5, 3}}, {{2, 3, 5}}}});
  all.push_back({"moe_experts", {{{-1, 3, 2, 2}}, {{3, 2, 2}}, {{3, 2, 2}}, {{3, 2, 2}}}}); // gated
  all.push_back({"moe_experts",                                                             // slots of two devices
                 {{{-1, 2, 3, 1, 2}}, {{3, 4, 2}}, {{3, 2, 4}}, {{3, 4, 2}}}});
  all.push_back({"moe_experts", {{{2, 3, 1}}, {{2, 4, 1}}, {{2, 1, 4}}}});
  all.push_back({"moe_combine", {{{-1, 2, 3, 2}}, ids({-1, 2, 3}), {{-1, 2, 3}}}, "{dims = array<i64: 4>}"});
  all.push_back({"moe_combine", {{{-1, 3, 1, 3}}, ids({-1, 3, 1}), {{-1, 3, 1}}}, "{dims = array<i64: 2, 2>}"});
  all.push_back({"moe_combine", {{{2, 2, 3}}, ids({2, 2}), {{2, 2}}}, "{dims = array<i64>}"});
  for (std::string op : {"relu", "gelu", "silu", "sigmoid", "softplus", "tanh", "exp", "neg"})
    for (SmallVector<int64_t> shape : {SmallVector<int64_t>{-1, 5}, {-1, 2, 3}, {4}})
      all.push_back({op, {{shape}}});
  for (std::string op : {"relu6", "hard_sigmoid", "hard_swish"})
    for (SmallVector<int64_t> shape : {SmallVector<int64_t>{-1, 5}, {-1, 2, 3}, {8}})
      all.push_back({op, {wide(shape)}});
  for (SmallVector<int64_t> shape : {SmallVector<int64_t>{-1, 5}, {-1, 2, 3}, {4}}) {
    all.push_back({"sqrt", {positive(shape)}});
    all.push_back({"scale", {{shape}}, "{factor = -0.75 : f64}"});
    all.push_back({"cast", {{shape}}});
  }
  for (std::string op : {"add", "sub", "mul", "div"}) {
    auto second = [&](SmallVector<int64_t> shape) { return op == "div" ? positive(shape) : Operand{shape}; };
    all.push_back({op, {{{-1, 4}}, second({-1, 4})}});
    all.push_back({op, {{{-1, 3, 2}}, second({3, 2})}});
    all.push_back({op, {{{-1, 1, 2}}, second({-1, 3, 1})}});
    all.push_back({op, {{{1}}, second({-1, 3})}});
    all.push_back({op, {{{}}, second({})}});
  }
  return all;
}

class InterpretTest : public test::DnnFixture {
protected:
  Location here() { return builder.getUnknownLoc(); }
  RankedTensorType typeOf(ArrayRef<int64_t> shape, Type element = {}) {
    SmallVector<int64_t> extents;
    for (int64_t extent : shape)
      extents.push_back(extent < 0 ? ShapedType::kDynamic : extent);
    return RankedTensorType::get(extents, element ? element : builder.getF32Type());
  }
  Operation *make(StringRef name, ValueRange operands, StringRef attributes = "") {
    if (name == "cast") // nothing but its result says to what
      return dnn::CastOp::create(
          builder, here(), typeOf(cast<RankedTensorType>(operands[0].getType()).getShape(), builder.getBF16Type()),
          operands[0]);
    SmallVector<NamedAttribute> list;
    if (!attributes.empty())
      list = llvm::to_vector(cast<DictionaryAttr>(parseAttribute(attributes, &context)).getValue());
    FailureOr<Operation *> op = dnn::createInferred(builder, here(), ("dnn." + name).str(), operands, list);
    EXPECT_TRUE(succeeded(op)) << name.str();
    return *op;
  }

  /// A trained tensor; with a batch it is a trained sample added to a batch of data.
  Value trained(const Operand &operand, const std::string &name) {
    bool batched = !operand.shape.empty() && operand.shape[0] < 0;
    ArrayRef<int64_t> shape = ArrayRef(operand.shape).drop_front(batched);
    auto parameter = dnn::ParameterOp::create(builder, here(), name, typeOf(shape), 1);
    Value value = dnn::ReadOp::create(builder, here(), parameter);
    if (batched)
      value = make("add", {input(typeOf(operand.shape)), value})->getResult(0);
    if (operand.kind == Operand::Positive)
      value = make("exp", value)->getResult(0);
    if (operand.kind == Operand::Wide)
      value = make("scale", value, "{factor = 8.0 : f64}")->getResult(0);
    return value;
  }
  Value input(RankedTensorType type) {
    Block *block = builder.getInsertionBlock();
    return block->addArgument(type, here());
  }

  /// The mean square distance of all float results from data.
  void addLoss(Operation *op) {
    Value sum;
    // What is only kept for the gradient is nobody else's to read.
    size_t results = dnn::hasSavedResult(op) ? 1 : op->getNumResults();
    for (Value y : op->getResults().take_front(results)) {
      if (isa<dnn::StashType>(y.getType()))
        y = make("stack", y, "{axis = 0}")->getResult(0);
      auto type = cast<RankedTensorType>(y.getType());
      if (!isa<FloatType>(type.getElementType()))
        continue;
      Value loss = y;
      if (type.getRank() > 0 ||
          !isa<dnn::CrossEntropyOp, dnn::MeanOp, dnn::MseOp, dnn::SmoothL1Op, dnn::BinaryCrossEntropyOp>(op))
        loss = make("mse", {y, input(type)})->getResult(0);
      sum = sum ? make("add", {sum, loss})->getResult(0) : loss;
    }
    dnn::LossOp::create(builder, here(), sum);
  }

  /// The training graph of one operation; none if there is an error.
  dnn::TrainingGraphOp graphOf(const Case &one) {
    module->getBody()->clear();
    builder.setInsertionPointToEnd(module->getBody());
    auto model = dnn::ModelOp::create(builder, here(), "net");
    model.setPrecisionAttr(dnn::PrecisionAttr::get(&context, false, builder.getF32Type()));
    model.setOptimizerAttr(dnn::OptimizerKindAttr::get(&context, dnn::OptimizerKind::Sgd));
    builder.setInsertionPointToEnd(&model.getBlock());
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(one.operands))
      if (operand.kind == Operand::Ids)
        operands.push_back(input(typeOf(operand.shape, builder.getI32Type())));
      else if (operand.kind == Operand::Data)
        operands.push_back(input(typeOf(operand.shape)));
      else
        operands.push_back(trained(operand, "p" + std::to_string(i)));
    if (one.op == "stack")
      operands[0] = make("unstack", operands[0], "{axis = 0}")->getResult(0);
    addLoss(make(one.op, operands, one.attributes));
    PassManager passes(&context);
    passes.addPass(createBuildTrainingGraph());
    if (failed(passes.run(*module)))
      return {};
    return *module->getOps<dnn::TrainingGraphOp>().begin();
  }

  interpret::DerivativeCheck check(const Case &one, uint64_t seed) {
    dnn::TrainingGraphOp graph = graphOf(one);
    if (!graph)
      return {0, INFINITY, "no training graph"};
    auto inputs = cantFail(interpret::randomInputs(graph, 3, seed));
    return cantFail(interpret::checkDerivatives(graph, inputs, 1000));
  }

  /// The mean square distance of an operation's result from what is expected; its operand is trained.
  double distance(const Case &one, std::vector<double> operand, std::vector<double> expected) {
    dnn::TrainingGraphOp graph = graphOf(one);
    interpret::StepInputs inputs = cantFail(interpret::randomInputs(graph, 1, 1));
    interpret::Array &parameter = inputs.parameters["p0"].front();
    EXPECT_EQ(parameter.data.size(), operand.size());
    EXPECT_EQ(inputs.inputs.front().data.size(), expected.size());
    parameter.data = std::move(operand);
    inputs.inputs.front().data = std::move(expected);
    return cantFail(interpret::interpret(graph, inputs, /*backward=*/false)).loss;
  }
};

} // namespace

TEST_F(InterpretTest, SlopesOfAlibiAreThoseOfItsAuthors) {
  std::vector<double> expected; // Press et al., get_slopes(6)
  for (double slope : {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125})
    for (int q = 0; q < 2; ++q)
      for (int k = 0; k < 3; ++k)
        expected.push_back(slope * (k - q));
  EXPECT_EQ(distance({"alibi", {{{6, 2, 3}}}}, std::vector<double>(36), expected), 0);
}

TEST_F(InterpretTest, SinusoidsTakeTurns) {
  std::vector<double> expected = {0, 1, 0, 1, std::sin(1), std::cos(1), std::sin(0.01), std::cos(0.01)};
  EXPECT_LT(distance({"sinusoids", {{{2, 4}}}}, std::vector<double>(8), expected), 1e-30);
}

TEST_F(InterpretTest, SlicesLieAlongTheAxis) {
  std::vector<double> x{1, 2, 3, 4, 5, 6}; // [3, 2]
  EXPECT_EQ(distance({"unstack", {{{3, 2}}}, "{axis = 0}"}, x, x), 0);
  EXPECT_EQ(distance({"unstack", {{{3, 2}}}, "{axis = 1}"}, x, {1, 3, 5, 2, 4, 6}), 0);
  EXPECT_EQ(distance({"stack", {{{3, 2}}}, "{axis = 0}"}, x, x), 0);
  EXPECT_EQ(distance({"stack", {{{3, 2}}}, "{axis = -1}"}, x, {1, 3, 5, 2, 4, 6}), 0);
}

TEST_F(InterpretTest, BucketsOfDistancesAreThoseOfT5) {
  std::vector<double> table(32), both, before;
  std::iota(table.begin(), table.end(), 0);
  for (int q = 0; q < 40; ++q)
    for (int k = 0; k < 2; ++k) {
      int back = q - k;
      both.push_back(back < 0    ? 17
                     : back < 8  ? back
                     : back < 12 ? 8
                     : back < 16 ? 9
                     : back < 23 ? 10
                     : back < 32 ? 11
                                 : 12);
      before.push_back(std::max(back < 16 ? back
                                          : 16 + (back >= 19) + (back >= 21) + (back >= 24) + (back >= 27) +
                                                (back >= 31) + (back >= 35),
                                0));
    }
  EXPECT_EQ(distance({"relative_bias", {{{32, 1}}}, "{queries = 40, keys = 2}"}, table, both), 0);
  EXPECT_EQ(distance({"relative_bias", {{{32, 1}}}, "{queries = 40, keys = 2, bidirectional = false}"}, table, before),
            0);
}

TEST_F(InterpretTest, TokensTakeSlotsInOrder) {
  auto share = [](double score) { return 1 / (1 + std::exp(-score)); }; // of two experts
  // Tokens 0 and 2 prefer expert 0, 1 and 3 expert 1.
  const std::vector<double> x = {1, 0, 0, 1, 2, 0, 0, 3}, gate = {1, 0, 0, 1};
  struct {
    std::string attributes;
    std::vector<double> slots, weights;
  } cases[] = {
      {"{capacity_factor = 2.0 : f64}",
       {1, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0},
       {share(1), share(2), 0, 0, share(1), share(3), 0, 0}},
      {"{capacity_factor = 0.5 : f64}", {1, 0, 0, 1}, {share(1), share(1)}},
      {"{capacity_factor = 0.5 : f64, normalize = true}", {1, 0, 0, 1}, {1, 1}},
      {"{capacity_factor = 0.5 : f64, top_k = 2}",
       {1, 0, 0, 1, 1, 0, 0, 1},
       {share(1), share(-1), share(-1), share(1)}},
  };
  for (auto &[attributes, slots, weights] : cases) {
    dnn::TrainingGraphOp graph = graphOf({"moe_dispatch", {{{4, 2}}, {{2, 2}}}, attributes});
    ASSERT_TRUE(graph);
    interpret::StepInputs inputs = cantFail(interpret::randomInputs(graph, 1, 1));
    inputs.parameters["p0"].front().data = x;
    inputs.parameters["p1"].front().data = gate;
    ASSERT_EQ(inputs.inputs.size(), 2u);
    ASSERT_EQ(inputs.inputs[0].data.size(), slots.size()) << attributes;
    inputs.inputs[0].data = slots;
    inputs.inputs[1].data = weights;
    EXPECT_LT(cantFail(interpret::interpret(graph, inputs, /*backward=*/false)).loss, 1e-30) << attributes;
  }
}

TEST_F(InterpretTest, EveryGradientEqualsFiniteDifferences) {
  uint64_t seed = 0;
  for (const Case &one : cases()) {
    interpret::DerivativeCheck result = check(one, ++seed);
    EXPECT_GT(result.checked, 0) << one.op << one.attributes;
    EXPECT_LT(result.largestError, 1e-6) << one.op << one.attributes << ": " << result.where;
  }
}

TEST_F(InterpretTest, EveryDifferentiableOperationHasThreeCases) {
  std::map<std::string, int> count;
  for (const Case &one : cases())
    ++count["dnn." + one.op];
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("dnn"))
    if (name.hasInterface<DifferentiableOpInterface>() &&
        name.getStringRef() != "dnn.profiled" && // nobody knows what it computes
        name.getStringRef() != "dnn.custom")     // CustomTest.cpp
      EXPECT_GE(count[name.getStringRef().str()], 3) << name.getStringRef().str();
}
