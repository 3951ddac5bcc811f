// accord import: other people's descriptions as `.dnn` to read and edit.
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include "lib/import/chakra/Chakra.h"
#include "lib/import/huggingface/HuggingFace.h"
#include "lib/import/onnx/Onnx.h"
#include "lib/import/profiles/Profiles.h"
#include "lib/import/scalesim/ScaleSim.h"
#include "lib/import/torch/Torch.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Number.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

struct ImportOptions {
  std::string file, output, name;
  std::vector<std::string> sizes, losses; ///< NAME=N, [OUTPUT=]KIND
  int64_t inputs = 0;                     ///< the first arguments of an MLIR function
  std::string batch;                      ///< symbol of an ONNX file
  bool untie = false;                     ///< weights of an ONNX file by several names are several
  bool unrolled = false;                  ///< copies of one body are written each
};

/// The name that was given; else `meta-llama/Llama-2-7b-hf/config.json` is called after its folder.
std::string nameOf(const ImportOptions &options) {
  llvm::StringRef stem = llvm::sys::path::stem(options.file);
  llvm::StringRef folder = llvm::sys::path::filename(llvm::sys::path::parent_path(options.file));
  llvm::StringRef name = stem == "config" && !folder.empty() && folder != "." ? folder : stem;
  return options.name.empty() ? name.str() : options.name;
}

/// One file by one importer: prints or writes what that gives; its notes go to standard error.
int importFile(const ImportOptions &options,
               llvm::function_ref<std::optional<ImportedModel>(Diagnostics &, const std::string &)> import) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<ImportedModel> result = import(diags, nameOf(options));
  if (result) {
    for (const std::string &note : result->notes)
      standardError() << fmt::format("accord: {}\n", note);
    if (options.output.empty())
      standardOutput() << result->text;
    else
      writeFile(diags, options.output, result->text);
  }
  return finish(diags, kDone, false, "import");
}

/// Importers of texts: a file, a name, and what comes out.
template <auto import> int importText(const ImportOptions &options) {
  return importFile(options, [&](Diagnostics &diags, const std::string &name) {
    auto file = readFile(diags, options.file);
    return file ? import(diags, *file, name) : std::nullopt;
  });
}

/// `--size NAME=N`, each up to 2^power; kDone if all can be read.
int readSizes(const ImportOptions &options, int power, std::map<std::string, int64_t> &into) {
  for (const std::string &text : options.sizes) {
    auto [symbol, number] = llvm::StringRef(text).rsplit('=');
    auto size = parseWhole(number, {1, int64_t(1) << power});
    if (symbol.empty() || !size)
      return refuse(Code::BadCommandLine,
                    fmt::format("--size: expected NAME=N with a whole number from 1 to 2^{}, found '{}'", power, text),
                    false, "import");
    into[symbol.str()] = *size;
  }
  return kDone;
}

int importConfiguration(const ImportOptions &options) {
  HuggingFaceOptions model;
  if (int status = readSizes(options, 31, model.sizes); status != kDone)
    return status;
  return importFile(options, [&](Diagnostics &diags, const std::string &name) {
    model.name = name;
    auto file = readFile(diags, options.file);
    return file ? importHuggingFace(diags, *file, model) : std::nullopt;
  });
}

int importTrace(const ImportOptions &options) {
  return importFile(
      options, [&](Diagnostics &diags, const std::string &name) { return importChakra(diags, options.file, name); });
}

enum class Network : uint8_t { Onnx, Torch, Mlir };

/// Importers of networks.
template <Network format> int importNetwork(const ImportOptions &options) {
  NetworkOptions network;
  network.inputs = options.inputs;
  network.batch = options.batch;
  network.untie = options.untie;
  network.unrolled = options.unrolled;
  if (int status = readSizes(options, 40, network.sizes); status != kDone)
    return status;
  for (const std::string &text : options.losses) {
    auto [output, kind] = llvm::StringRef(text).rsplit('=');
    if (kind.empty())
      std::swap(output, kind);
    if (!llvm::is_contained(lossKinds(), kind))
      return refuse(Code::BadCommandLine,
                    fmt::format("--loss: expected one of {}, found '{}'", fmt::join(lossKinds(), ", "), text), false,
                    "import");
    network.losses[output.str()] = kind.str();
  }
  return importFile(options, [&](Diagnostics &diags, const std::string &name) -> std::optional<ImportedModel> {
    network.name = name;
    if constexpr (format == Network::Onnx)
      return importOnnx(diags, options.file, network);
    if constexpr (format == Network::Torch)
      return importTorch(diags, options.file, network);
    auto file = readFile(diags, options.file);
    return file ? importMlir(diags, *file, network) : std::nullopt;
  });
}

constexpr const char *kUnrolled = "Write layers that repeat each, as the file does, not as one 'repeat'";

const CommandEntry kEntry("import", "Convert a model of another format to .dnn", [](Command &command) {
  auto options = Command::values<ImportOptions>();
  // `accord import NAME ARGUMENT`, with the options that all importers have.
  auto importer = [&](const char *name, const std::string &summary, const char *argument, const char *help,
                      int (*run)(const ImportOptions &)) {
    Command one = command.command(name, summary);
    one.option(argument, options->file, help).required();
    one.option("-o,--output", options->output, "The .dnn to write (default: print it)");
    one.option("--name", options->name, "Name of the model (default: of the file or its folder)");
    one.action([options, run] { return run(*options); });
    return one;
  };
  Command huggingface =
      importer("huggingface",
               fmt::format("A config.json of Hugging Face transformers ({})", fmt::join(huggingFaceFamilies(), ", ")),
               "config", "The config.json", importConfiguration);
  huggingface.option("--size", options->sizes, "NAME=N: a length of the inputs (seq; default: positions, up to 8192)");
  huggingface.example("accord import huggingface Llama-3.1-8B/config.json --size seq=4096 -o llama.dnn");
  Command onnx = importer("onnx", "An ONNX model as it infers; a loss is added", "model", "The .onnx",
                          importNetwork<Network::Onnx>);
  onnx.option("--batch", options->batch,
              "NAME: the symbolic dimension that is the batch (default: one called batch, else the first)");
  onnx.flag("--untie", options->untie, "Weights that Identity nodes give another name are weights of their own");
  onnx.option("--size", options->sizes, "NAME=N: value of a symbolic dimension");
  onnx.option("--loss", options->losses,
              fmt::format("[OUTPUT=]KIND: the loss of an output or of all ({})", fmt::join(lossKinds(), ", ")));
  onnx.flag("--unrolled", options->unrolled, kUnrolled);
  onnx.example("accord import onnx bert.onnx --size sequence=512 --loss cross_entropy -o bert.dnn");
  Command torch = importer("torch", "A program of torch.export, for training or as it infers", "program", "The .pt2",
                           importNetwork<Network::Torch>);
  torch.option("--size", options->sizes, "NAME=N: value of a symbol other than the batch (default: of the example)");
  torch.option("--loss", options->losses,
               fmt::format("[OUTPUT=]KIND: the loss of an output or of all, if the program gives none ({})",
                           fmt::join(lossKinds(), ", ")));
  torch.flag("--unrolled", options->unrolled, kUnrolled);
  torch.example("accord import torch llama.pt2 -o llama.dnn");
  importer("scalesim", "A layer list of SCALE-Sim: convolutions, or M, N, K", "layers", "The topology .csv",
           importText<importScaleSim>)
      .example("accord import scalesim alexnet.csv -o alexnet.dnn");
  importer("pipedream", "A profiled graph of PipeDream: given times and sizes", "profile", "The graph.txt",
           importText<importPipedream>)
      .example("accord import pipedream resnet18.graph.txt -o resnet18.dnn");
  importer("dnn-partitioning", "A profiled graph of dnn-partitioning: given times and sizes", "graph", "The .json",
           importText<importDnnPartitioning>)
      .example("accord import dnn-partitioning gnmt.json -o gnmt.dnn");
  importer("chakra", "An execution trace of Chakra (one rank): times, sizes, dependences", "trace", "The .et",
           importTrace)
      .example("accord import chakra traces/trace.0.et -o step.dnn");
  for (auto [name, summary] :
       {std::pair("tosa", "An MLIR module in TOSA as it infers; a loss is added"),
        {"linalg", "An MLIR module in Linalg as it infers; a loss is added"},
        {"stablehlo",
         "A StableHLO module, as it infers or a whole training step, as JAX exports it in generic form"}}) {
    Command mlir = importer(name, summary, "module", "The .mlir or .mlirbc", importNetwork<Network::Mlir>);
    mlir.option("--inputs", options->inputs,
                "N: the first N arguments are inputs, the others weights (default: those with an open batch, or the "
                "first)")
        .range(1, int64_t(1) << 20);
    mlir.option(
        "--loss", options->losses,
        fmt::format("[OUTPUT=]KIND: the loss of an output (output0) or of all ({})", fmt::join(lossKinds(), ", ")));
    mlir.flag("--unrolled", options->unrolled, kUnrolled);
    mlir.example(fmt::format("accord import {} model.mlir -o model.dnn", name));
  }
});

} // namespace
} // namespace accord
