// Adding an operation: its line here, its trained tensors in BuildOperation.cpp, the operation in dialects/dnn. Unary
// element-wise operations have no line: they are those of the dialect.
#include "lib/language/models/OperationTable.h"
#include "dialects/dnn/Dnn.h"
#include "llvm/ADT/StringMap.h"

namespace accord {
namespace {

using enum AttributeKind;

AttributeSpec positive(llvm::StringRef name, bool required = true) { return {name, Integer, required, {}, 1}; }
AttributeSpec number(llvm::StringRef name, AttributeRange range, bool required = false) {
  return {name, Number, required, {}, INT64_MIN, range};
}
AttributeSpec axis() { return {"axis", Integer, true, {}}; }

std::vector<AttributeSpec> window(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> all{
      {"kernel", Extents, true, {}, 1}, {"stride", Extents, false, {}, 1}, {"padding", Extents, false, {}, 0}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Adds the operations of the dialect that are unary and element-wise, each called by its mnemonic.
template <typename... Ops> void addUnary(std::vector<OperationSpec> &table) {
  auto add = [&]<typename OpTy>() {
    if constexpr (requires { OpTy::isUnary; })
      table.push_back({OpTy::getOperationName().split('.').second, OpTy::getOperationName(), {"x"}, {}});
  };
  (add.template operator()<Ops>(), ...);
}

std::vector<OperationSpec> makeTable() {
  AttributeSpec bias{"bias", Boolean}, dilation{"dilation", Extents, false, {}, 1};
  AttributeSpec epsilon = number("epsilon", AttributeRange::AboveZero);
  AttributeSpec groups = positive("groups", false), out = positive("out");
  AttributeSpec sparse{"sparse", Boolean},
      tableOptimizer{"optimizer", Word, false, {"sgd", "momentum", "adam", "adamw", "rowwise_adagrad"}};
  std::vector<AttributeSpec> convolution = window({out, dilation, groups, bias});
  std::vector<AttributeSpec> transposed =
      window({out, dilation, groups, bias, {"output_padding", Extents, false, {}, 0}});
  std::vector<OperationSpec> table = {
      {"linear", "dnn.linear", {"x"}, {out, bias, {"weight", Tensor}}},
      {"conv1d", "dnn.conv1d", {"x"}, convolution},
      {"conv2d", "dnn.conv2d", {"x"}, convolution},
      {"conv3d", "dnn.conv3d", {"x"}, convolution},
      {"conv_transpose1d", "dnn.conv_transpose1d", {"x"}, transposed},
      {"conv_transpose2d", "dnn.conv_transpose2d", {"x"}, transposed},
      {"conv_transpose3d", "dnn.conv_transpose3d", {"x"}, transposed},
      {"depthwise_conv2d", "dnn.depthwise_conv2d", {"x"}, window({dilation, bias})},
      {"matmul", "dnn.matmul", {"a", "b"}, {{"transpose_a", Boolean}, {"transpose_b", Boolean}}},
      {"embedding",
       "dnn.embedding",
       {"ids"},
       {positive("rows"), positive("dim"), {"table", Tensor}, sparse, tableOptimizer}},
      {"embedding_bag",
       "dnn.embedding_bag",
       {"ids"},
       {positive("rows"),
        positive("dim"),
        {"mode", Word, false, {"sum", "mean"}},
        number("skew", AttributeRange::Skew),
        {"table", Tensor},
        sparse,
        tableOptimizer}},
      {"positions", "", {"seq", "hidden"}, {}},
      {"parameter", "", {"dims"}, {}},
      {"zeros", "", {"dims"}, {{"shared", Boolean}}},
      {"layer_norm", "dnn.layer_norm", {"x"}, {epsilon, bias}},
      {"rms_norm", "dnn.rms_norm", {"x"}, {epsilon}},
      {"batch_norm", "dnn.batch_norm", {"x"}, {epsilon}},
      {"group_norm", "dnn.group_norm", {"x"}, {positive("groups"), epsilon}},
      {"lrn",
       "dnn.lrn",
       {"x"},
       {positive("size"), number("alpha", AttributeRange::Any), number("beta", AttributeRange::Any),
        number("bias", AttributeRange::AboveZero)}},
      {"softmax", "dnn.softmax", {"x"}, {{"axis", Integer}, {"causal", Boolean}}},
      {"dropout", "dnn.dropout", {"x"}, {number("rate", AttributeRange::Fraction, true)}},
      {"scale", "dnn.scale", {"x"}, {number("factor", AttributeRange::Any, true)}},
      {"concat", "dnn.concat", {"x"}, {axis()}, true},
      {"split", "dnn.split", {"x"}, {positive("parts"), axis()}},
      {"slice", "dnn.slice", {"x"}, {axis(), {"start", Integer, true, {}, 0}, positive("size")}},
      {"pad", "dnn.pad", {"x"}, {{"before", List, true}, {"after", List}, number("value", AttributeRange::Any)}},
      {"reshape", "dnn.reshape", {"x", "dims"}, {}},
      {"transpose", "dnn.transpose", {"x", "permutation"}, {}},
      {"max_pool", "dnn.max_pool", {"x"}, window({})},
      {"avg_pool", "dnn.avg_pool", {"x"}, window({})},
      {"global_avg_pool", "dnn.global_avg_pool", {"x"}, {}},
      {"upsample",
       "dnn.upsample",
       {"x"},
       {{"scale", Extents, true, {}, 1}, {"mode", Word, false, {"nearest", "linear"}}}},
      {"lstm", "dnn.lstm", {"x"}, {positive("hidden"), bias, {"bidirectional", Boolean}}},
      {"gru", "dnn.gru", {"x"}, {positive("hidden"), bias, {"bidirectional", Boolean}}},
      {"rotary", "dnn.rotary", {"x"}, {number("base", AttributeRange::AboveOne), {"axis", Integer}}},
      {"flash_attention",
       "dnn.flash_attention",
       {"q", "k", "v"},
       {number("scale", AttributeRange::AboveZero), {"causal", Boolean}, {"window", Integer, false, {}, 0}}},
      {"selective_scan", "dnn.selective_scan", {"x", "delta", "a", "b", "c"}, {}},
      {"leaky_relu", "dnn.leaky_relu", {"x"}, {number("slope", AttributeRange::Fraction)}},
      {"elu", "dnn.elu", {"x"}, {number("alpha", AttributeRange::AboveZero)}},
      {"prelu", "dnn.prelu", {"x"}, {{"shared", Boolean}}},
      {"sinusoids", "dnn.sinusoids", {"x"}, {}},
      {"alibi", "dnn.alibi", {"x"}, {}},
      {"relative_bias",
       "dnn.relative_bias",
       {"table"},
       {positive("queries"), positive("keys"), positive("max_distance", false), {"bidirectional", Boolean}}},
      {"gather", "dnn.gather", {"x", "ids"}, {axis()}},
      {"scatter", "dnn.scatter", {"x", "ids", "updates"}, {axis()}},
      {"segment_sum", "dnn.segment_sum", {"x", "ids"}, {positive("segments")}},
      {"segment_softmax", "dnn.segment_softmax", {"x", "ids"}, {positive("segments")}},
      {"spmm", "dnn.spmm", {"row_offsets", "columns", "values", "dense"}, {}},
      {"topk", "dnn.topk", {"x"}, {positive("k")}},
      {"moe",
       "dnn.moe_dispatch",
       {"x"},
       {positive("experts"),
        positive("inner"),
        positive("top_k"),
        number("capacity_factor", AttributeRange::AboveZero),
        {"gated", Boolean},
        {"normalize", Boolean}}},
      {"interaction", "dnn.interaction", {"x"}, {}},
      {"profiled",
       "dnn.profiled",
       {"x"},
       {{"forward", Time, true}, {"backward", Time}, {"output", Size}, {"parameters", Size}},
       true},
      {"reduce_mean", "dnn.reduce_mean", {"x"}, {axis()}},
      {"reduce_sum", "dnn.reduce_sum", {"x"}, {axis()}},
      {"reduce_max", "dnn.reduce_max", {"x"}, {axis()}},
      {"reduce_min", "dnn.reduce_min", {"x"}, {axis()}},
      {"cross_entropy", "dnn.cross_entropy", {"logits", "labels"}, {}},
      {"mean", "dnn.mean", {"x"}, {}},
      {"mse", "dnn.mse", {"a", "b"}, {}},
      {"smooth_l1", "dnn.smooth_l1", {"a", "b"}, {}},
      {"binary_cross_entropy", "dnn.binary_cross_entropy", {"logits", "labels"}, {}},
  };
  addUnary<
#define GET_OP_LIST
#include "dialects/dnn/DnnOps.cpp.inc"
      >(table);
  table.push_back({"swish", "dnn.silu", {"x"}, {}});
  for (auto [name, op] : {std::pair{"add", "dnn.add"}, {"sub", "dnn.sub"}, {"mul", "dnn.mul"}, {"div", "dnn.div"}})
    table.push_back({name, op, {"a", "b"}, {}});
  return table;
}

} // namespace

llvm::StringRef AttributeSpec::outside(double number) const {
  switch (range) {
  case AttributeRange::Any:
    return "";
  case AttributeRange::AboveZero:
    return number > 0 ? "" : "above 0";
  case AttributeRange::Skew:
    return number >= 0 && number <= 16 ? "" : "at least 0 and at most 16";
  case AttributeRange::AboveOne:
    return number > 1 ? "" : "above 1";
  case AttributeRange::Fraction:
    return number >= 0 && number < 1 ? "" : "at least 0 and less than 1";
  }
  return "";
}

const AttributeSpec *OperationSpec::findAttribute(llvm::StringRef wanted) const {
  for (const AttributeSpec &attribute : attributes)
    if (attribute.name == wanted)
      return &attribute;
  return nullptr;
}

llvm::ArrayRef<OperationSpec> operationTable() {
  static const std::vector<OperationSpec> table = makeTable();
  return table;
}

const OperationSpec *findOperation(llvm::StringRef name) {
  static const llvm::StringMap<const OperationSpec *> index = [] {
    llvm::StringMap<const OperationSpec *> map;
    for (const OperationSpec &spec : operationTable())
      map[spec.name] = &spec;
    return map;
  }();
  return index.lookup(name);
}

} // namespace accord
