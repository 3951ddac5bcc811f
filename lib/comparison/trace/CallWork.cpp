// Source of the names: aten/src/ATen/native/native_functions.yaml of PyTorch; of kernels: cuBLAS, cuDNN, CUTLASS, NCCL.
#include "lib/comparison/trace/CallWork.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

namespace accord::comparison {
namespace {

using llvm::StringRef;
using Class = WorkClass;

constexpr int64_t kMax = int64_t(1) << 61;

/// Saturated, so that no shape of a file overflows.
int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kMax ? kMax : product;
}
int64_t elements(const Shape &shape) {
  int64_t all = 1;
  for (int64_t extent : shape)
    all = times(all, extent);
  return all;
}
int64_t largest(const CallInputs &inputs) {
  int64_t max = 0; // not recorded; of single numbers alone 1
  for (const Shape &shape : inputs.shapes)
    max = std::max(max, elements(shape));
  return max;
}

/// "aten::gelu_backward" -> "gelu": without the name space, "native_", and what says that it works in place or
/// backward.
StringRef wordOf(StringRef name) {
  name = name.rsplit("::").second.empty() ? name : name.rsplit("::").second;
  name.consume_front("_foreach_");
  while (name.consume_front("_"))
    ;
  name.consume_front("native_");
  name.consume_front("cudnn_") || name.consume_front("miopen_") || name.consume_front("mkldnn_") ||
      name.consume_front("thnn_") || name.consume_front("efficient_attention_");
  while (name.consume_back("_"))
    ;
  for (StringRef end : {"_backward_data", "_double_backward", "_dense_backward", "_backward", "_forward"})
    name.consume_back(end);
  return name;
}

Class classOf(StringRef word) {
  return llvm::StringSwitch<Class>(word)
      .Cases(
          {"linear", "mm", "addmm", "bmm", "baddbmm", "addbmm", "addmv", "mv", "dot", "scaled_mm", "addmm_activation"},
          Class::Product)
      .Cases({"conv1d", "conv2d", "conv3d", "convolution", "convolution_overrideable", "conv_transpose1d",
              "conv_transpose2d", "conv_transpose3d", "conv_depthwise2d", "slow_conv2d", "convolution_transpose",
              "conv_depthwise3d"},
             Class::Convolution)
      .Cases({"scaled_dot_product_attention", "scaled_dot_product_flash_attention",
              "scaled_dot_product_efficient_attention", "scaled_dot_product_cudnn_attention",
              "scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_fused_attention_overrideable",
              "flash_attention", "efficient_attention", "flash_attn", "flash_attn_varlen", "FlashAttnFunc",
              "FlashAttnVarlenFunc"},
             Class::Attention)
      .Cases({"layer_norm", "rms_norm", "fused_rms_norm", "batch_norm", "group_norm", "instance_norm",
              "batch_norm_impl_index", "batch_norm_with_update", "fused_layer_norm"},
             Class::Normalization)
      .Cases({"softmax", "masked_softmax"}, Class::Softmax)
      .Cases({"cross_entropy_loss", "log_softmax", "nll_loss", "nll_loss_nd", "nll_loss2d", "mse_loss",
              "smooth_l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "l1_loss", "huber_loss",
              "kl_div"},
             Class::Loss)
      .Cases({"embedding", "embedding_bag", "index_select", "gather", "index", "index_put", "index_put_impl", "scatter",
              "scatter_add", "index_add", "embedding_renorm"},
             Class::Embedding)
      .Cases({"max_pool1d", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "avg_pool1d", "avg_pool2d",
              "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "upsample_nearest2d",
              "upsample_bilinear2d"},
             Class::Pool)
      .Cases({"sum", "mean", "sum_to_size", "var", "std", "var_mean", "norm", "linalg_vector_norm", "max", "min",
              "amax", "amin", "argmax", "cumsum", "prod", "all", "any", "logsumexp"},
             Class::Reduction)
      .Cases({"clone",
              "copy",
              "contiguous",
              "to_copy",
              "cat",
              "stack",
              "repeat",
              "roll",
              "flip",
              "repeat_interleave",
              "pad",
              "constant_pad_nd",
              "slice_scatter",
              "select_backward",
              "slice",
              "select",
              "chunk_cat",
              "split_with_sizes_copy",
              "to",
              "tril",
              "triu",
              "convert"},
             Class::Copy)
      .Cases({"zero", "fill", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones",
              "new_full", "arange", "scalar_tensor"},
             Class::Fill)
      .Cases({"add",        "sub",       "rsub",     "mul",       "div",         "neg",      "pow",  "sqrt", "rsqrt",
              "exp",        "log",       "tanh",     "sigmoid",   "relu",        "relu6",    "gelu", "silu", "elu",
              "leaky_relu", "threshold", "hardtanh", "hardswish", "hardsigmoid", "softplus", "mish"},
             Class::ElementWise)
      .Cases({"dropout", "fused_dropout", "masked_fill", "where",       "addcmul",    "addcdiv",      "lerp",
              "clamp",   "clamp_min",     "clamp_max",   "abs",         "sign",       "sin",          "cos",
              "erf",     "reciprocal",    "square",      "maximum",     "minimum",    "masked_scale", "bernoulli",
              "glu",     "log_sigmoid",   "eq",          "ne",          "lt",         "gt",           "le",
              "ge",      "bitwise_and",   "bitwise_or",  "bitwise_not", "logical_and"},
             Class::ElementWise)
      .Cases({"logical_not", "logical_or", "isnan", "isinf", "floor", "ceil", "round", "remainder", "fused_adam",
              "fused_adamw", "fused_sgd", "nan_to_num", "floor_divide", "bernoulli_float", "rand", "randn", "normal",
              "uniform", "random"},
             Class::ElementWise)
      .Default(Class::Other);
}

bool isView(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"view",      "unsafe_view", "reshape_alias", "t",         "transpose", "permute", "expand",
              "expand_as", "as_strided",  "squeeze",       "unsqueeze", "detach",    "alias",   "slice",
              "select",    "narrow",      "split",         "chunk",     "unbind",    "unfold"},
             true)
      .Cases({"empty",
              "empty_like",
              "empty_strided",
              "new_empty",
              "new_empty_strided",
              "resize",
              "resolve_conj",
              "resolve_neg",
              "set",
              "result_type",
              "is_nonzero",
              "item",
              "local_scalar_dense",
              "lift_fresh",
              "view_as",
              "numpy_T",
              "size",
              "stride",
              "is_pinned",
              "pin_memory",
              "record_stream",
              "movedim",
              "swapaxes",
              "flatten",
              "broadcast_to"},
             true)
      .Cases({"conj", "real", "diagonal", "view_as_real", "view_as_complex", "can_cast", "promote_types", "data",
              "requires_grad", "has_compatible_shallow_copy_type", "nested_tensor_from_mask", "mT", "T",
              "split_with_sizes", "unsafe_split", "atleast_1d"},
             true)
      .Default(false);
}

/// m x k times k x n, `batch` times: its FLOPs and the length of its sums.
Signature product(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return {Class::Product, "", times(2, times(times(batch, m), times(n, k))), k};
}

Signature productOf(StringRef word, const std::vector<Shape> &shapes) {
  Signature unknown{Class::Product, "", 0, 0};
  auto two = [&](size_t a, size_t b, size_t rank) {
    return shapes.size() > b && shapes[a].size() == rank && shapes[b].size() == rank;
  };
  if (word == "linear" && shapes.size() >= 2 && !shapes[0].empty() && !shapes[1].empty()) {
    int64_t k = shapes[0].back(), out = shapes[1].size() == 1 ? 1 : shapes[1].front();
    return k > 0 ? product(1, elements(shapes[0]) / k, out, k) : unknown;
  }
  if ((word == "mm" || word == "scaled_mm") && two(0, 1, 2))
    return product(1, shapes[0][0], shapes[1][1], shapes[0][1]);
  if (word.starts_with("addmm") && two(1, 2, 2))
    return product(1, shapes[1][0], shapes[2][1], shapes[1][1]);
  if (word == "bmm" && two(0, 1, 3))
    return product(shapes[0][0], shapes[0][1], shapes[1][2], shapes[0][2]);
  if (word == "baddbmm" && two(1, 2, 3))
    return product(shapes[1][0], shapes[1][1], shapes[2][2], shapes[1][2]);
  return unknown;
}

/// The numbers of "[2, 2]".
std::vector<int64_t> numbersOf(StringRef text) {
  std::vector<int64_t> numbers;
  llvm::SmallVector<StringRef> parts;
  text.trim("[]() ").split(parts, ',', -1, false);
  for (StringRef part : parts) {
    int64_t number = 0;
    if (part.trim().getAsInteger(10, number) || number < 0 || number > (int64_t(1) << 31))
      return {};
    numbers.push_back(number);
  }
  return numbers;
}

/// A convolution by its operands x[n, c, …], w[out, c / groups, …], its strides, padding and dilation (arguments 3, 4
/// and 5 of all that PyTorch has). Of a transposed one every element of x meets the whole kernel.
Signature convolutionOf(StringRef word, bool backward, const CallInputs &inputs) {
  Signature unknown{Class::Convolution, "", 0, 0};
  const size_t first = backward ? 1 : 0; // behind the gradient of the result
  if (inputs.shapes.size() < first + 2)
    return unknown;
  const Shape &x = inputs.shapes[first], &w = inputs.shapes[first + 1];
  if (x.size() < 3 || x.size() != w.size() || elements(w) <= 0)
    return unknown;
  // The depth: the weights of an output.
  const int64_t depth = elements(w) / std::max<int64_t>(1, w[0]);
  if (backward && inputs.shapes[0].size() == x.size()) {
    int64_t outputs = elements(inputs.shapes[0]);
    return {Class::Convolution, "", times(2, times(outputs, depth)), depth};
  }
  if (word.contains("transpose"))
    return {Class::Convolution, "", times(2, times(elements(x), elements(w) / w[0])), elements(w) / w[0]};
  if (inputs.values.size() < 6)
    return unknown;
  std::vector<int64_t> strides = numbersOf(inputs.values[3]), padding = numbersOf(inputs.values[4]),
                       dilation = numbersOf(inputs.values[5]);
  const size_t spatial = x.size() - 2;
  for (std::vector<int64_t> *list : {&strides, &padding, &dilation}) {
    if (list->size() == 1)
      list->assign(spatial, list->front());
    if (list->size() != spatial)
      return unknown;
  }
  int64_t outputs = times(x[0], w[0]);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t reach = times(dilation[i], w[i + 2] - 1) + 1, room = x[i + 2] + 2 * padding[i] - reach;
    if (strides[i] < 1 || room < 0)
      return unknown;
    outputs = times(outputs, room / strides[i] + 1);
  }
  return {Class::Convolution, "", times(2, times(outputs, depth)), depth};
}

bool isCollective(StringRef name) {
  return name.starts_with("c10d::") || name.starts_with("nccl:") || name.starts_with("record_param_comms") ||
         name.starts_with("_c10d_functional::");
}

/// Whether a call only calls others.
bool isWrapper(StringRef name, StringRef bare) {
  return name.starts_with("autograd::") || name.starts_with("torch::autograd::") ||
         llvm::StringSwitch<bool>(bare)
             .Cases({"matmul", "reshape", "einsum", "flatten", "type_as", "to", "contiguous", "pad"}, true)
             .Cases({"tensordot", "reshape_as", "item", "is_nonzero", "_local_scalar_dense"}, true)
             .Default(false);
}

} // namespace

CallWork workOf(StringRef name, const CallInputs &inputs) {
  CallWork wrapper;
  const bool isAten = name.starts_with("aten::");
  const StringRef bare = name.rsplit("::").second.empty() ? name : name.rsplit("::").second;
  if (isCollective(name))
    return {name.starts_with("_c10d") || name.starts_with("nccl:") ? CallRole::Wrapper : CallRole::Work,
            {Class::Communication, "", largest(inputs), 0}};
  if (isWrapper(name, bare))
    return wrapper;
  const StringRef word = wordOf(name) == "threshold" ? "relu" : wordOf(name); // "threshold" is the gradient of relu
  const bool backward = bare.contains("_backward");
  if (isAten && !backward && isView(word))
    return {CallRole::NoWork, {}};
  const Class of = classOf(word);
  // A function of a library is work where it is one of the few whole operations; else what it calls is.
  if (!isAten && of != Class::Attention && of != Class::Normalization && (of == Class::Other || !name.contains("::")))
    return wrapper;
  if (of == Class::Product)
    return {CallRole::Work, productOf(word, inputs.shapes)};
  if (of == Class::Convolution)
    return {CallRole::Work, convolutionOf(word, backward, inputs)};
  const bool hasWord = of == Class::ElementWise || of == Class::Other;
  return {CallRole::Work, {of, hasWord ? word.str() : "", largest(inputs), 0}};
}

bool isCollectiveKernel(StringRef name) {
  return name.contains_insensitive("nccl") || name.contains_insensitive("rccl") || name.contains("oneShotAllReduce");
}

CommunicationKind communicationOf(StringRef call, StringRef kernel) {
  for (StringRef name : {call, kernel}) {
    std::string plain;
    for (char c : name)
      if (llvm::isAlpha(c))
        plain += llvm::toLower(c);
    auto has = [&](StringRef word) { return StringRef(plain).contains(word); };
    if (has("reducescatter"))
      return CommunicationKind::ReduceScatter;
    if (has("allreduce"))
      return CommunicationKind::AllReduce;
    if (has("allgather"))
      return CommunicationKind::AllGather;
    if (has("alltoall"))
      return CommunicationKind::AllToAll;
    if (has("broadcast"))
      return CommunicationKind::Broadcast;
    if (has("send") || has("recv"))
      return CommunicationKind::Message;
    if (has("reduce"))
      return CommunicationKind::Reduce;
  }
  return CommunicationKind::Other;
}

int64_t bytesOf(const CollectiveArguments &arguments) {
  const int64_t width = llvm::StringSwitch<int64_t>(arguments.type)
                            .Cases({"Double", "Long", "ComplexFloat", "UInt64"}, 8)
                            .Cases({"Float", "Int", "UInt32"}, 4)
                            .Cases({"BFloat16", "Half", "Short", "UInt16"}, 2)
                            .Cases({"Byte", "Char", "Bool", "Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz"}, 1)
                            .Default(0);
  return times(width, std::max<int64_t>({0, arguments.inputs, arguments.outputs}));
}

Signature workOfKernel(StringRef name) {
  auto has = [&](std::initializer_list<StringRef> words) {
    return llvm::any_of(words, [&](StringRef word) { return name.contains_insensitive(word); });
  };
  Class of = isCollectiveKernel(name)                                        ? Class::Communication
             : has({"flash_fwd", "flash_bwd", "fmha", "attention"})          ? Class::Attention
             : has({"conv", "dgrad", "wgrad", "implicit_gemm", "winograd"})  ? Class::Convolution
             : has({"gemm", "gemv", "cutlass", "matmul", "nvjet", "splitk"}) ? Class::Product
             : has({"layer_norm", "layernorm", "rmsnorm", "batch_norm", "bn_fw", "bn_bw", "batchnorm", "group_norm"})
                 ? Class::Normalization
             : has({"softmax"})                                       ? Class::Softmax
             : has({"nll_loss", "cross_entropy"})                     ? Class::Loss
             : has({"embedding", "indexselect", "index_elementwise"}) ? Class::Embedding
             : has({"pool", "upsample"})                              ? Class::Pool
             : has({"reduce", "cub::"})                               ? Class::Reduction
             : has({"copy", "catarray", "transpose"})                 ? Class::Copy
             : has({"fill"})                                          ? Class::Fill
             : has({"elementwise", "triton_poi"})                     ? Class::ElementWise
                                                                      : Class::Other;
  return {of, "", 0, 0};
}

} // namespace accord::comparison
