// What is recognized of the models of the catalogue, held against their published sizes, and of models that no
// framework knows.
#include "lib/training/architecture/Architecture.h"
#include "dialects/Register.h"
#include "lib/language/program/Elaborate.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "test/support/SourcePath.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

using namespace accord;

namespace {

using Architecture = ModelArchitecture;
using Family = Architecture::Family;
using Norm = Architecture::Norm;
using Activation = Architecture::Activation;
using Positions = Architecture::Positions;

Architecture recognize(const std::string &text, const std::string &call) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SourceManager sources;
  Diagnostics diags(sources);
  sources.add("model.dnn", text + "\ntrain t = " + call + " on a100_80g {\n  batch = 8\n  optimizer = adam\n}\n");
  ElaborateOptions options;
  options.ideal = true;
  options.catalog = accord::sourcePath("lib/catalog");
  Program program(diags, context, "model.dnn", options);
  auto job = program.job();
  dnn::ModelOp model = job ? program.model(*job) : dnn::ModelOp();
  if (!model) {
    ADD_FAILURE() << diags.text();
    return {};
  }
  return architectureOf(model);
}

Architecture ofCatalogue(const std::string &file, const std::string &call) {
  return recognize("import \"catalog/" + file + ".dnn\"", call);
}

std::string textOf(const Architecture &a) {
  std::string text;
  auto add = [&](const char *name, double value) {
    if (value != 0)
      text += std::string(name) + " " + std::to_string(value) + "\n";
  };
  add("family", static_cast<int>(a.family)), add("norm", static_cast<int>(a.norm));
  add("activation", static_cast<int>(a.activation)), add("positions", static_cast<int>(a.positions));
  add("layers", a.layers), add("encoderLayers", a.encoderLayers), add("hidden", a.hidden), add("heads", a.heads);
  add("keyValueHeads", a.keyValueHeads), add("headSize", a.headSize), add("inner", a.inner);
  add("vocabulary", a.vocabulary), add("sequence", a.sequence), add("maxPositions", a.maxPositions);
  add("experts", a.experts), add("expertsPerToken", a.expertsPerToken), add("expertLayers", a.expertLayers);
  add("imageSize", a.imageSize), add("patchSize", a.patchSize), add("classes", a.classes);
  add("tied", a.tiedEmbeddings), add("linearBias", a.linearBias), add("attentionBias", a.attentionBias);
  add("normAfter", a.normAfter), add("finalNorm", a.finalNorm), add("causal", a.causal);
  add("irregular", a.irregular), add("dropout", a.dropout), add("parameters", a.parameters);
  add("expertParameters", a.expertParameters), add("attentionDropout", a.attentionDropout);
  add("innerDropout", a.innerDropout), add("normEpsilon", a.normEpsilon), add("rotaryBase", a.rotaryBase);
  add("normBias", a.normBias), add("embeddingNorm", a.embeddingNorm), add("unscaled", a.unscaledAttention);
  add("embeddingScale", a.embeddingScale), add("logitScale", a.logitScale), add("buckets", a.relativeBuckets);
  add("distance", a.relativeDistance), add("capacity", a.expertCapacity), add("normalized", a.expertsNormalized);
  add("encoderSequence", a.encoderSequence), add("segments", a.segments), add("classTokens", a.classTokens);
  add("predicted", a.predictedPositions), add("headBias", a.headBias), add("transform", a.headTransform);
  add("pairHead", a.pairHead), add("fused", a.fusedAttention);
  return text;
}

void expect(const Architecture &found, const Architecture &expected) {
  EXPECT_EQ(found.notUnderstood, "");
  EXPECT_EQ(textOf(found), textOf(expected));
  EXPECT_EQ(found, expected);
}

/// GPT-2's kind of blocks (Radford et al., 2019): norms before, gelu, biases, learned positions, the table as the head.
Architecture gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocabulary, int64_t sequence,
                 int64_t parameters) {
  Architecture a;
  a.family = Family::Decoder, a.norm = Norm::LayerNorm, a.activation = Activation::Gelu;
  a.positions = Positions::Learned, a.maxPositions = sequence;
  a.layers = layers, a.hidden = hidden, a.heads = a.keyValueHeads = heads, a.headSize = hidden / heads;
  a.inner = 4 * hidden, a.vocabulary = vocabulary, a.sequence = sequence, a.parameters = parameters;
  a.tiedEmbeddings = a.linearBias = a.attentionBias = a.finalNorm = a.causal = a.normBias = true;
  a.dropout = a.attentionDropout = 0.1, a.normEpsilon = 1e-5;
  return a;
}

/// Llama's (Touvron et al., 2023).
Architecture llama(int64_t layers, int64_t hidden, int64_t heads, int64_t groups, int64_t inner, int64_t vocabulary,
                   int64_t sequence, int64_t parameters) {
  Architecture a;
  a.family = Family::Decoder, a.norm = Norm::RmsNorm, a.activation = Activation::SwiGlu;
  a.positions = Positions::Rope, a.rotaryBase = 10000;
  a.layers = layers, a.hidden = hidden, a.heads = heads, a.keyValueHeads = groups, a.headSize = hidden / heads;
  a.inner = inner, a.vocabulary = vocabulary, a.sequence = sequence, a.parameters = parameters;
  a.finalNorm = a.causal = true, a.normEpsilon = 1e-5;
  return a;
}

} // namespace

TEST(Architecture, RecognizesGpt) {
  expect(ofCatalogue("gpt2", "gpt2_small()"), gpt(12, 768, 12, 50257, 1024, 124439808));
  expect(ofCatalogue("gpt2", "gpt2_medium()"), gpt(24, 1024, 16, 50257, 1024, 354823168));
  expect(ofCatalogue("gpt2", "gpt2_large()"), gpt(36, 1280, 20, 50257, 1024, 774030080));
  expect(ofCatalogue("gpt2", "gpt2_xl()"), gpt(48, 1600, 25, 50257, 1024, 1557611200));
  expect(ofCatalogue("gpt3", "gpt3()"), gpt(96, 12288, 96, 50257, 2048, 174604259328));
  expect(ofCatalogue("megatron", "megatron_1t()"), gpt(128, 25600, 160, 51200, 2048, 1008038758400));
  Architecture quiet = gpt(12, 768, 12, 50257, 1024, 124439808);
  quiet.dropout = quiet.attentionDropout = 0;
  expect(ofCatalogue("gpt2", "gpt2_small(drop = 0)"), quiet);
}

TEST(Architecture, RecognizesLlama) {
  for (bool isFused : {false, true}) {
    std::string with = isFused ? "flash = true" : "flash = false", also = isFused ? ", flash = true" : "";
    auto ofLlama = [&](const std::string &call, Architecture expected) {
      expected.fusedAttention = isFused;
      expect(ofCatalogue(call.substr(0, call.find('_')).substr(0, 6), call), expected);
    };
    ofLlama("llama2(" + with + ")", llama(32, 4096, 32, 32, 11008, 32000, 4096, 6738415616));
    ofLlama("llama2_70b(" + with + ")", llama(80, 8192, 64, 8, 28672, 32000, 4096, 68976648192));
    ofLlama("llama2(kv_heads = 1" + also + ")",
            llama(32, 4096, 32, 1, 11008, 32000, 4096, 6738415616 - int64_t(32) * 2 * 4096 * (4096 - 128)));
    Architecture third = llama(32, 4096, 32, 8, 14336, 128256, 8192, 8030261248);
    third.rotaryBase = 500000;
    ofLlama("llama3_8b(" + with + ")", third);
    // Jiang et al., 2024: two of eight experts; all but the router and what Llama has are theirs.
    Architecture mixtral = llama(32, 4096, 32, 8, 14336, 32000, 4096, 46702792704);
    mixtral.rotaryBase = 1000000, mixtral.fusedAttention = isFused;
    mixtral.experts = 8, mixtral.expertsPerToken = 2, mixtral.expertLayers = 32, mixtral.expertCapacity = 1;
    mixtral.expertsNormalized = true, mixtral.expertParameters = int64_t(32) * 8 * 3 * 4096 * 14336;
    expect(ofCatalogue("mixtral", "mixtral_8x7b(" + with + ")"), mixtral);
  }
}

TEST(Architecture, RecognizesOtherDecoders) {
  // Zhang et al., 2022, and the configuration of facebook/opt-1.3b: 2050 rows of positions.
  Architecture opt = gpt(24, 2048, 32, 50272, 2048, 1315758080);
  opt.activation = Activation::Relu, opt.maxPositions = 2050, opt.attentionDropout = 0;
  expect(ofCatalogue("opt", "opt_1_3b()"), opt);
  // BigScience Workshop, 2022, table 3.
  Architecture bloom = gpt(70, 14336, 112, 250880, 2048, 176247271424);
  bloom.positions = Positions::Alibi, bloom.maxPositions = 0, bloom.dropout = bloom.attentionDropout = 0;
  bloom.embeddingNorm = true;
  expect(ofCatalogue("bloom", "bloom_176b()"), bloom);
}

TEST(Architecture, RecognizesEncoders) {
  // Devlin et al., 2018, and the configuration of bert-large-uncased; 76 of 512 positions are masked.
  auto bert = [](int64_t layers, int64_t hidden, int64_t heads, int64_t parameters) {
    Architecture a = gpt(layers, hidden, heads, 30522, 512, parameters);
    a.family = Family::Encoder, a.causal = a.finalNorm = false, a.normAfter = a.embeddingNorm = true;
    a.normEpsilon = 1e-12, a.segments = 2, a.predictedPositions = 76;
    a.headBias = a.headTransform = a.pairHead = true;
    return a;
  };
  expect(ofCatalogue("bert", "bert_large()"), bert(24, 1024, 16, 336226108));
  expect(ofCatalogue("bert_base", "bert_base()"), bert(12, 768, 12, 110106428));
  // Dosovitskiy et al., 2020, and torchvision: 16 x 16 pixels, a class token, 197 positions.
  auto vit = [](int64_t layers, int64_t hidden, int64_t heads, int64_t parameters) {
    Architecture a = gpt(layers, hidden, heads, 0, 197, parameters);
    a.family = Family::Vision, a.causal = a.tiedEmbeddings = false, a.headBias = true;
    a.imageSize = 224, a.patchSize = 16, a.classes = 1000, a.classTokens = 1;
    a.dropout = a.attentionDropout = 0, a.normEpsilon = 1e-6;
    return a;
  };
  expect(ofCatalogue("vit", "vit_b_16()"), vit(12, 768, 12, 86567656));
  expect(ofCatalogue("vit", "vit_l_16()"), vit(24, 1024, 16, 304326632));
}

// A class token that gets its batch by zeros, as an importer writes it.
TEST(Architecture, RecognizesImportedVisionTransformers) {
  Architecture found = recognize(R"(
import "catalog/transformer.dnn"
model vit() {
  input image : float[3, 224, 224]
  input label : int32[1]
  let patches = transpose(reshape(conv2d(image, out = 768, kernel = 16, stride = 16), [768, 196]), [1, 0])
  let zeros = scale(slice(patches, axis = 0, start = 0, size = 1), factor = 0)
  var x = concat(zeros + parameter([1, 768]), patches, axis = 0) + parameter([197, 768])
  repeat 12 as layer {
    x = x + attention(layer_norm(x), heads = 12)
    x = x + gelu_mlp(layer_norm(x), 768, 3072)
  }
  let first = slice(layer_norm(x), axis = 0, start = 0, size = 1)
  loss cross_entropy(linear(first, out = 1000), label)
})",
                                 "vit()");
  EXPECT_EQ(found.notUnderstood, "");
  EXPECT_EQ(found.family, Family::Vision);
  EXPECT_EQ(found.classTokens, 1);
  EXPECT_EQ(found.parameters, 86567656); // as torchvision's vit_b_16
}

TEST(Architecture, RecognizesEncodersWithDecoders) {
  // Raffel et al., 2019, and the configuration of google-t5/t5-large.
  Architecture t5 = gpt(24, 1024, 16, 32128, 114, 737668096);
  t5.family = Family::EncoderDecoder, t5.encoderLayers = 24, t5.encoderSequence = 512, t5.norm = Norm::RmsNorm;
  t5.activation = Activation::Relu, t5.positions = Positions::Relative, t5.maxPositions = 0;
  t5.relativeBuckets = 32, t5.relativeDistance = 128, t5.normEpsilon = 1e-6, t5.innerDropout = 0.1;
  t5.linearBias = t5.attentionBias = t5.normBias = false, t5.unscaledAttention = true, t5.logitScale = 1.0 / 32;
  expect(ofCatalogue("t5", "t5_large()"), t5);
  // Vaswani et al., 2017, table 3.
  Architecture big = gpt(6, 1024, 16, 32768, 256, 209911808);
  big.family = Family::EncoderDecoder, big.encoderLayers = 6, big.encoderSequence = 256,
  big.activation = Activation::Relu;
  big.positions = Positions::Sinusoidal, big.maxPositions = 0, big.embeddingScale = 32, big.dropout = 0.3;
  big.attentionDropout = 0, big.normAfter = true, big.finalNorm = false;
  expect(ofCatalogue("transformer_big", "transformer_big()"), big);
}

namespace {

/// A decoder of 4 blocks, the body of which is given; `x` is the stream of 512, of 256 tokens. In what is written out,
/// '#' stands for the number of the block.
std::string decoder(const std::string &body, bool isRepeated = true) {
  std::string blocks;
  for (int block = 0; block < (isRepeated ? 1 : 4); ++block)
    for (char c : body)
      blocks += c == '#' ? std::to_string(block) : std::string(1, c);
  return R"(
import "catalog/transformer.dnn"
model small() {
  input tokens : int32[256]
  input labels : int32[256]
  var x = embedding(tokens, rows = 1000, dim = 512)
)" + (isRepeated ? "  repeat 4 as block {\n" + blocks + "  }\n" : blocks) +
         R"(  loss cross_entropy(linear(rms_norm(x), out = 1000, bias = false), labels)
})";
}

} // namespace

TEST(Architecture, RecognizesModelsItHasNotSeen) {
  // One key head for all queries; queries, keys and values have a bias, other products have none (as in Qwen), and are
  // made by one product. Written out, and as a repeat.
  const std::string fused = R"(
    let n# = rms_norm(x)
    let qkv# = linear(n#, out = 640)
    let query# = rotary(transpose(reshape(slice(qkv#, axis = 1, start = 0, size = 512), [256, 8, 64]), [1, 0, 2]))
    let key# = rotary(transpose(reshape(slice(qkv#, axis = 1, start = 512, size = 64), [256, 1, 64]), [1, 0, 2]))
    let value# = transpose(reshape(slice(qkv#, axis = 1, start = 576, size = 64), [256, 1, 64]), [1, 0, 2])
    let scores# = matmul(reshape(scale(query#, factor = 1 / 8), [1, 2048, 64]), key#, transpose_b = true)
    let mixed# = matmul(reshape(softmax(reshape(scores#, [8, 256, 256]), causal = true), [1, 2048, 256]), value#)
    x = x + linear(reshape(transpose(reshape(mixed#, [8, 256, 64]), [1, 0, 2]), [256, 512]), out = 512, bias = false)
    let r# = relu(linear(rms_norm(x), out = 2048, bias = false))
    x = x + linear(r# * r#, out = 512, bias = false)
)";
  Architecture a =
      llama(4, 512, 8, 1, 2048, 1000, 256, 2 * 512000 + 512 + 4 * (1024 + 640 * 513 + 512 * 512 + 2 * 512 * 2048));
  a.attentionBias = true, a.activation = Activation::SquaredRelu;
  expect(recognize(decoder(fused), "small()"), a);
  Architecture written = recognize(decoder(fused, false), "small()");
  expect(written, a);
}

// Products of matrices with vectors added to them, and keys that were transposed before.
TEST(Architecture, RecognizesProductsOfMatrices) {
  const std::string body = R"(
    let n = layer_norm(x)
    let query = transpose(reshape(matmul(n, parameter([512, 512])) + parameter([512]), [256, 8, 64]), [1, 0, 2])
    let key = transpose(reshape(matmul(n, parameter([512, 512])) + parameter([512]), [256, 8, 64]), [1, 2, 0])
    let value = transpose(reshape(matmul(n, parameter([512, 512])) + parameter([512]), [256, 8, 64]), [1, 0, 2])
    let mixed = matmul(softmax(scale(matmul(query, key), factor = 1 / 8), causal = true), value)
    x = x + (matmul(reshape(transpose(mixed, [1, 0, 2]), [256, 512]), parameter([512, 512])) + parameter([512]))
    let inner = gelu(matmul(layer_norm(x), parameter([512, 2048])) + parameter([2048]))
    x = x + (matmul(inner, parameter([512, 2048]), transpose_b = true) + parameter([512]))
)";
  std::string text = decoder(body);
  text.replace(text.find("linear(rms_norm"), 15, "linear(layer_norm");
  Architecture found = recognize(text, "small()");
  Architecture a =
      gpt(4, 512, 8, 1000, 256, 2 * 512000 + 1024 + 4 * (2048 + 4 * 512 * 513 + 2 * 512 * 2048 + 2048 + 512));
  a.positions = Positions::None, a.maxPositions = 0, a.tiedEmbeddings = false, a.dropout = a.attentionDropout = 0;
  expect(found, a);
}

TEST(Architecture, SaysWhatItDoesNotUnderstand) {
  const std::string attention = "fused_attention(rms_norm(x), heads = 8, causal = true, bias = false, rotary = true)";
  const std::string network = "swiglu_mlp(rms_norm(x), 512, 1024)";
  struct Case {
    std::string body, reason;
  };
  for (const Case &one : {
           Case{"    let attn = " + attention + "\n    x = x + attn + " + network + "\n", "side by side"},
           Case{"    x = x + (" + attention + " + " + network + ")\n", "side by side"},
           Case{"    x = x + rms_norm(" + attention + ")\n    x = x + " + network + "\n", "a norm stands between"},
           Case{"    x = x + " + attention + "\n    x = x + gelu_mlp(rms_norm(x), 512, 1024)\n", "have a bias"},
           Case{"    x = x + " + network + "\n    x = x + " + attention + "\n", "does not stand behind attention"},
           Case{"    x = x + maybe_dropout(" + attention + ", 0.1)\n    x = x + " + network + "\n",
                "another share is dropped"},
           Case{"    x = x + " + attention + "\n", "0 feed-forward networks stand in 4 blocks"},
           Case{"    x = x + " + attention + "\n    x = tanh(x + " + network + ")\n", ""},
       }) {
    Architecture found = recognize(decoder(one.body), "small()");
    EXPECT_EQ(found.family, Family::Other) << one.body;
    EXPECT_TRUE(found.notUnderstood.find(one.reason) != std::string::npos && !found.notUnderstood.empty())
        << found.notUnderstood;
  }
  for (auto [file, call] : {std::pair("resnet", "resnet50()"), std::pair("dlrm", "dlrm()"), std::pair("gnmt", "gnmt()"),
                            std::pair("gcn", "gcn()"), std::pair("gat", "gat()"), std::pair("unet", "unet()")}) {
    Architecture found = ofCatalogue(file, call);
    EXPECT_EQ(found.family, Family::Other) << file;
    EXPECT_NE(found.notUnderstood, "") << file;
    EXPECT_GT(found.parameters, 0) << file;
  }
}

// Understood or not, and why; nothing of the catalogue is left without an answer.
TEST(Architecture, AnswersForTheWholeCatalogue) {
  std::set<std::string> understood;
  for (const auto &entry : std::filesystem::directory_iterator(accord::sourcePath("lib/catalog"))) {
    if (entry.path().extension() != ".dnn")
      continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    std::string content = text.str();
    std::regex model("\nmodel ([a-z0-9_]+)\\(");
    for (std::sregex_iterator it(content.begin(), content.end(), model), end; it != end; ++it) {
      Architecture found = ofCatalogue(entry.path().stem().string(), (*it)[1].str() + "()");
      EXPECT_EQ(found.family == Family::Other, !found.notUnderstood.empty()) << (*it)[1];
      EXPECT_GT(found.parameters, 0) << (*it)[1];
      if (found.family != Family::Other)
        understood.insert(entry.path().stem().string());
    }
  }
  EXPECT_EQ(understood, (std::set<std::string>{"bert", "bert_base", "bloom", "gpt2", "gpt3", "llama2", "llama3",
                                               "megatron", "mixtral", "opt", "qwen", "t5", "transformer_big", "vit"}));
}

TEST(Architecture, SizesBeyondAllMeasureAreRefused) {
  Architecture found = ofCatalogue("llama2", "llama2(layers = 2000000000)");
  EXPECT_EQ(found.family, Family::Other);
  EXPECT_EQ(found.notUnderstood, "a size of 2000000000 is beyond what any framework builds");
}

TEST(Architecture, BlocksOfSeveralSizesAreIrregular) {
  const std::string wide =
      R"(    x = x + fused_attention(rms_norm(x), heads = 8, causal = true, bias = false, rotary = true)
    x = x + swiglu_mlp(rms_norm(x), 512, 1024)
  }
  repeat 2 as second {
    x = x + fused_attention(rms_norm(x), heads = 8, kv_heads = 2, causal = true, bias = false, rotary = true)
    x = x + swiglu_mlp(rms_norm(x), 512, 2048)
)";
  Architecture found = recognize(decoder(wide), "small()");
  EXPECT_EQ(found.notUnderstood, "");
  EXPECT_TRUE(found.irregular);
  EXPECT_EQ(found.layers, 6);
  EXPECT_EQ(found.heads, 8);
  EXPECT_EQ(found.keyValueHeads, 0);
  EXPECT_EQ(found.inner, 0);
}
