#include "lib/machine/calibration/Workload.h"
#include <cctype>
#include <cmath>
#include <fmt/format.h>

namespace accord::calibrate {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// The row's precision in the words of the training language.
std::string precisionOf(const Row &row) {
  const std::string &p = row.precision;
  if (p.starts_with("fp16"))
    return "mixed(fp16)";
  if (p.starts_with("bf16"))
    return "mixed(bf16)";
  if (p.starts_with("fp8"))
    return "mixed(fp8)";
  if (p.starts_with("tf32"))
    return "tf32";
  return "fp32";
}

/// Optimizers with as much state and as much work count as one another.
std::string optimizerOf(const Row &row) {
  if (row.optimizer.starts_with("sgd-m") || row.optimizer.starts_with("adagrad"))
    return "momentum";
  // Recommenders are trained with plain steps unless a row says otherwise: states for every row of
  // a table would not fit.
  if (row.optimizer.starts_with("sgd") || (row.optimizer.empty() && row.family == "recsys"))
    return "sgd";
  return "adam";
}

class Builder {
public:
  explicit Builder(const Row &row) : row(row) {}

  Result<Workload> run() {
    settings();
    if (!row.call.empty())
      return inference();
    if (row.family == "llm-dense" || row.family == "llm-dense-fsdp")
      return decoder();
    return network();
  }

private:
  Error error(std::string message) const { return {Code::NoWorkload, std::move(message), row.location}; }

  void settings() {
    out.tensor = static_cast<int64_t>(row.tp.value_or(1));
    out.sequence = row.seq_parallel == "yes" && out.tensor > 1;
    out.context = static_cast<int64_t>(row.cp.value_or(1));
    out.exchange = "ring";
    if (out.context > 1)
      out.assumptions.push_back("keys and values go round a ring of the devices of a context: rows do not say how");
    if (row.recompute == "full" || row.recompute == "selective")
      out.recompute = row.recompute;
    else if (row.recompute == "any" || row.recompute == "not stated")
      out.assumptions.push_back("activations are saved: the row does not say what is recomputed");
    // XLA and its like join element-wise work; frameworks that run operation after operation do
    // not.
    out.fused = contains(row.framework, "XLA") || contains(row.framework, "Neuron");
  }

  std::string train(const std::string &model) const {
    return fmt::format("train row = {} on any {{\n  batch = 1\n  precision = {}\n  optimizer = {}\n}}\n", model,
                       precisionOf(row), optimizerOf(row));
  }

  /// A row of inference says in the language itself what runs.
  Result<Workload> inference() {
    if (row.file.empty())
      return error(fmt::format("'{}' has a 'call' and no 'file' that declares its model", row.id));
    out.fused = !contains(row.serving, "eager");
    std::string precision = row.precision.empty() ? "fp16" : row.precision;
    out.text = fmt::format("import \"{}\"\ninfer row = {} on any {{\n  batch = 1\n  precision = {}\n  {}\n}}\n",
                           row.file, row.call, precision, row.serving);
    return out;
  }

  Result<Workload> decoder() {
    for (auto [name, value] :
         {std::pair("layers", row.layers), {"hidden", row.hidden}, {"heads", row.heads}, {"seq_len", row.seq_len}})
      if (!value)
        return error(fmt::format("'{}' is a decoder without a number of '{}'", row.id, name));
    int64_t heads = static_cast<int64_t>(*row.heads), hidden = static_cast<int64_t>(*row.hidden);
    int64_t kv = static_cast<int64_t>(row.kv_heads.value_or(*row.heads));
    int64_t ffn = static_cast<int64_t>(row.ffn.value_or(4 * *row.hidden));
    if (heads > hidden || hidden % heads || kv > heads || heads % kv || heads % out.tensor)
      return error(fmt::format("'{}': {} heads ({} of keys and values) do not divide {} channels on {} devices", row.id,
                               heads, kv, hidden, out.tensor));
    // Megatron-LM pads the table so that every device has the same whole number of 128 rows.
    double step = 128.0 * out.tensor;
    if (!row.vocab)
      out.assumptions.push_back("the vocabulary has 50257 words");
    int64_t vocab = static_cast<int64_t>(std::ceil(row.vocab.value_or(50257) / step) * step);
    bool flash = contains(row.attn_kernel, "flash"), gated = row.mlp_kind.starts_with("swiglu");
    auto notes = row.text.find("arch_notes");
    bool alibi = notes != row.text.end() && contains(notes->second, "ALiBi") && !flash;
    std::string attention = flash ? fmt::format("fused_attention(N, heads = {}, kv_heads = {}, causal = true{})", heads,
                                                kv, gated ? ", bias = false, rotary = true" : "")
                                  : fmt::format("attention(N, heads = {}, kv_heads = {}, causal = true{})", heads, kv,
                                                gated   ? ", bias = false, rotary = true"
                                                : alibi ? ", alibi = true"
                                                        : ", drop = 0.1");
    bool drops = !flash && !gated && !alibi;
    std::string norm = gated ? "rms_norm(x)" : "layer_norm(x)";
    attention.replace(attention.find('N'), 1, norm);
    std::string fed = fmt::format("{}({}, {}, {})", gated ? "swiglu_mlp" : "gelu_mlp", norm, hidden, ffn);
    auto kept = [&](const std::string &x) { return drops ? "dropout(" + x + ", rate = 0.1)" : x; };
    out.text =
        fmt::format("import \"catalog/transformer.dnn\"\n"
                    "model decoder() {{\n"
                    "  input tokens : int32[{seq}]\n"
                    "  input labels : int32[{seq}]\n"
                    "  let table = parameter([{vocab}, {hidden}])\n"
                    "  var x = embedding(tokens, rows = {vocab}, dim = {hidden}, table = table){positions}\n"
                    "  repeat {layers} as block {{\n"
                    "    x = x + {attention}\n"
                    "    x = x + {fed}\n"
                    "  }}\n"
                    "  loss cross_entropy(linear({norm}, out = {vocab}, bias = false{tied}), labels)\n"
                    "}}\n",
                    fmt::arg("seq", static_cast<int64_t>(*row.seq_len)), fmt::arg("vocab", vocab),
                    fmt::arg("hidden", hidden), fmt::arg("layers", static_cast<int64_t>(*row.layers)),
                    fmt::arg("positions", gated || alibi ? std::string()
                                                         : fmt::format(" + positions({}, {})",
                                                                       static_cast<int64_t>(*row.seq_len), hidden)),
                    fmt::arg("attention", kept(attention)), fmt::arg("fed", kept(fed)), fmt::arg("norm", norm),
                    fmt::arg("tied", gated ? "" : ", weight = table"));
    out.text += train("decoder()");
    return out;
  }

  Result<Workload> network() {
    int64_t seq = static_cast<int64_t>(row.seq_len.value_or(0));
    const std::string &m = row.model;
    auto from = [&](const char *file, const std::string &call) {
      out.text = fmt::format("import \"catalog/{}.dnn\"\n", file) + train(call);
      return out;
    };
    // The masked words of the two phases of BERT's pre-training (Devlin et al., 2018: 15 % of them,
    // 20 of 128, 80 of 512).
    if (m.starts_with("BERT-Large") && seq > 0)
      return from("bert", fmt::format("bert_large(seq = {}, masked = {})", seq,
                                      contains(m, "SQuAD") ? 2 : std::lround(0.16 * seq)));
    if (m.starts_with("ResNet-50"))
      return from("resnet", "resnet50()");
    if (m.starts_with("ResNeXt-101 32x4d")) {
      out.text = "import \"catalog/convolution.dnn\"\nimport \"catalog/resnet.dnn\"\n"
                 "model resnext101_32x4d() {\n"
                 "  input image : float[3, 224, 224]\n"
                 "  input label : int32[1]\n"
                 "  loss cross_entropy(classifier(resnet_features(image, [3, 4, 23, 3], groups = 32, group_width = 4), "
                 "1000), label)\n"
                 "}\n" +
                 train("resnext101_32x4d()");
      return out;
    }
    if (m.starts_with("SSD300 ResNet-50"))
      return ssd();
    if (m.starts_with("EfficientNet-B0"))
      return from("efficientnet", "efficientnet_b0()");
    if (m.starts_with("DLRM Criteo"))
      return dlrm();
    if (m.starts_with("NCF"))
      return from("ncf", "ncf()");
    if (m.starts_with("Wide&Deep"))
      return from("wide_deep", "wide_deep()");
    if (m.starts_with("GNMT")) {
      out.wordsPerSample = 50; // both languages
      out.assumptions.push_back("25 words a sentence, half of the longest that are kept");
      return from("gnmt", "gnmt(length = 25, target = 25)");
    }
    if (m.starts_with("Transformer-big")) {
      out.wordsPerSample = 27;
      out.batchInWords = true;
      out.assumptions.push_back("27 words a sentence on either side");
      return from("transformer_big", "transformer_big(length = 27, target = 27)");
    }
    return error(fmt::format("'{}': no network of the catalogue for '{}'", row.id, m));
  }

  /// Tables of the click logs of 24 days, without the categories that occur less than 15 or 3 times
  /// (NVIDIA DeepLearningExamples, feature specifications of DLRM); else those of MLPerf.
  Workload dlrm() {
    const char *rows = nullptr;
    if (contains(row.model, "FL15"))
      rows = "7912889, 33823, 17139, 7339, 20046, 4, 7105, 1382, 63, 5554114, 582469, 245828, 11, 2209, 10667, 104, 4, "
             "968, 15, 8165896, 2675940, 7156453, 302516, 12022, 97, 35";
    else if (contains(row.model, "FL3"))
      rows = "45833188, 36747, 17246, 7414, 20244, 4, 7115, 1442, 63, 29275261, 1572176, 345139, 11, 2209, 11268, 128, "
             "4, 975, 15, 48937457, 11316796, 40094537, 452104, 12607, 105, "
             "36";
    if (!rows) {
      out.text = "import \"catalog/dlrm.dnn\"\n" + train("dlrm()");
      return out;
    }
    out.text = fmt::format("import \"catalog/dlrm.dnn\"\n"
                           "model dlrm_of_clicks() {{\n"
                           "  input numbers    : float[13]\n"
                           "  input categories : int32[26]\n"
                           "  input clicked    : fp32[1]\n"
                           "  let logit = dlrm_logit(numbers, categories, [{}], 128, bottom = [512, 256, 128], top = "
                           "[1024, 1024, 512, 256])\n"
                           "  loss binary_cross_entropy(logit, clicked)\n"
                           "}}\n",
                           rows) +
               train("dlrm_of_clicks()");
    return out;
  }

  /// SSD with a ResNet-50 up to its third stage, which keeps its resolution (NVIDIA
  /// DeepLearningExamples, PyTorch/Detection/SSD).
  Workload ssd() {
    out.text =
        "import \"catalog/resnet.dnn\"\nimport \"catalog/ssd.dnn\"\n"
        "model ssd_resnet50() {\n"
        "  input image   : float[3, 300, 300]\n"
        "  input label   : int32[8732]\n"
        "  input target  : float[8732, 4]\n"
        "  input matched : float[8732, 1]\n"
        "  let map1 = resnet_features(image, [3, 4, 6], strides = [1, 2, 1])\n"
        "  let map2 = ssd_shrink(map1, inner = 256, out = 512, stride = 2, padding = 1)\n"
        "  let map3 = ssd_shrink(map2, inner = 256, out = 512, stride = 2, padding = 1)\n"
        "  let map4 = ssd_shrink(map3, inner = 128, out = 256, stride = 2, padding = 1)\n"
        "  let map5 = ssd_shrink(map4, inner = 128, out = 256)\n"
        "  let map6 = ssd_shrink(map5, inner = 128, out = 256)\n"
        "  let maps = [map1, map2, map3, map4, map5, map6]\n"
        "  let offsets = ssd_heads(maps, values = 4)\n"
        "  loss cross_entropy(ssd_heads(maps, values = 81), label) + smooth_l1(offsets * matched, target * matched)\n"
        "}\n" +
        train("ssd_resnet50()");
    return out;
  }

  const Row &row;
  Workload out;
};

} // namespace

Result<Workload> workloadOf(const Row &row) { return Builder(row).run(); }

bool isCollective(const Row &row) { return row.metric == "allreduce_time"; }

} // namespace accord::calibrate
