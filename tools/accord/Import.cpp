// accord import: other people's descriptions as `.dnn` to read and edit.
#include "lib/driver/ExitStatus.h"
#include "lib/import/huggingface/HuggingFace.h"
#include "lib/import/onnx/Onnx.h"
#include "lib/import/profiles/Profiles.h"
#include "lib/import/scalesim/ScaleSim.h"
#include "lib/import/text/Mlir.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/documents/WriteFile.h"
#include "tools/accord/CommandLine.h"
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
  bool unrolled = false;                  ///< copies of one body are written each
};

/// `meta-llama/Llama-2-7b-hf/config.json` is called after its folder.
std::string nameOf(const std::string &path) {
  llvm::StringRef stem = llvm::sys::path::stem(path);
  llvm::StringRef folder = llvm::sys::path::filename(llvm::sys::path::parent_path(path));
  return (stem == "config" && !folder.empty() && folder != "." ? folder : stem).str();
}

/// Prints or writes what an importer gave; `notes` go to standard error.
int deliver(const ImportOptions &options, Diagnostics &diags, const std::optional<std::string> &text,
            const std::vector<std::string> &notes = {}) {
  for (const std::string &note : notes)
    fmt::print(stderr, "accord: {}\n", note);
  if (text && options.output.empty())
    llvm::outs() << *text;
  else if (text)
    writeFile(diags, options.output, *text);
  diags.render(llvm::errs(), llvm::errs().has_colors());
  return diags.hasErrors() ? kWrongInput : kDone;
}

int importConfig(const ImportOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<HuggingFaceImport> result;
  if (auto file = readFile(diags, options.file))
    result = importHuggingFace(diags, *file, options.name.empty() ? nameOf(options.file) : options.name);
  std::vector<std::string> notes;
  if (result && !result->unread.empty())
    notes.push_back(fmt::format("not understood and left out: {}", fmt::join(result->unread, ", ")));
  return deliver(options, diags, result ? std::optional(result->text) : std::nullopt, notes);
}

/// [OUTPUT=]KIND, each; false after an error.
bool readLosses(const ImportOptions &options, std::map<std::string, std::string> &losses) {
  for (const std::string &text : options.losses) {
    auto [output, kind] = llvm::StringRef(text).rsplit('=');
    if (kind.empty())
      std::swap(output, kind);
    if (!llvm::is_contained(onnxLosses(), kind)) {
      refuse(Code::BadCommandLine,
             fmt::format("--loss: expected one of {}, found '{}'", fmt::join(onnxLosses(), ", "), text), false,
             "import");
      return false;
    }
    losses[output.str()] = kind.str();
  }
  return true;
}

int importOnnxFile(const ImportOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  OnnxOptions onnx;
  onnx.name = options.name.empty() ? nameOf(options.file) : options.name;
  for (const std::string &text : options.sizes) {
    auto [symbol, number] = llvm::StringRef(text).rsplit('=');
    int64_t size = 0;
    if (symbol.empty() || number.getAsInteger(10, size) || size < 1 || size > int64_t(1) << 40)
      return refuse(Code::BadCommandLine,
                    "--size: expected NAME=N with a whole number from 1 to 2^40, found '" + text + "'", false,
                    "import");
    onnx.sizes[symbol.str()] = size;
  }
  onnx.unrolled = options.unrolled;
  if (!readLosses(options, onnx.losses))
    return kWrongInput;
  std::optional<OnnxImport> result = importOnnx(diags, options.file, onnx);
  return deliver(options, diags, result ? std::optional(result->text) : std::nullopt,
                 result ? result->notes : std::vector<std::string>{});
}

int importMlirFile(const ImportOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  MlirOptions mlir;
  mlir.name = options.name.empty() ? nameOf(options.file) : options.name;
  mlir.inputs = options.inputs;
  mlir.unrolled = options.unrolled;
  if (!readLosses(options, mlir.losses))
    return kWrongInput;
  auto file = readFile(diags, options.file);
  auto result = file ? importMlir(diags, *file, mlir) : std::nullopt;
  return deliver(options, diags, result ? std::optional(result->text) : std::nullopt,
                 result ? result->notes : std::vector<std::string>{});
}

/// Importers of texts: a file, a name, and what comes out.
template <auto import> int importText(const ImportOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::string name = options.name.empty() ? nameOf(options.file) : options.name;
  auto file = readFile(diags, options.file);
  auto result = file ? import(diags, *file, name) : std::nullopt;
  return deliver(options, diags, result ? std::optional(result->text) : std::nullopt,
                 result ? result->notes : std::vector<std::string>{});
}

constexpr const char *kUnrolled = "Write layers that repeat each, as the file does, not as one 'repeat'";

/// One importer: `accord import NAME ARGUMENT`, with the options that all of them have.
Command addImporter(Command &command, const std::shared_ptr<ImportOptions> &options, const char *name,
                    const std::string &summary, const char *argument, const char *help,
                    int (*run)(const ImportOptions &)) {
  Command one = command.command(name, summary);
  one.option(argument, options->file, help).required();
  one.option("-o,--output", options->output, "The .dnn to write (default: print it)");
  one.option("--name", options->name, "Name of the model (default: of the file or its folder)");
  one.action([options, run] { return run(*options); });
  return one;
}

const CommandEntry kEntry("import", "Convert a model of another format to .dnn", [](Command &command) {
  auto options = Command::values<ImportOptions>();
  auto importer = [&](const char *name, const std::string &summary, const char *argument, const char *help,
                      int (*run)(const ImportOptions &)) {
    return addImporter(command, options, name, summary, argument, help, run);
  };
  importer("huggingface",
           fmt::format("A config.json of Hugging Face transformers ({})", fmt::join(huggingFaceFamilies(), ", ")),
           "config", "The config.json", importConfig)
      .example("accord import huggingface Llama-2-7b-hf/config.json -o llama.dnn");
  Command onnx = importer("onnx", "An ONNX model as it infers; a loss is added", "model", "The .onnx", importOnnxFile);
  onnx.option("--size", options->sizes, "NAME=N: value of a symbolic dimension");
  onnx.option("--loss", options->losses,
              fmt::format("[OUTPUT=]KIND: the loss of an output or of all ({})", fmt::join(onnxLosses(), ", ")));
  onnx.flag("--unrolled", options->unrolled, kUnrolled);
  onnx.example("accord import onnx bert.onnx --size sequence=512 --loss cross_entropy -o bert.dnn");
  importer("scalesim", "A layer list of SCALE-Sim: convolutions, or M, N, K", "layers", "The topology .csv",
           importText<importScaleSim>)
      .example("accord import scalesim alexnet.csv -o alexnet.dnn");
  importer("pipedream", "A profiled graph of PipeDream: given times and sizes", "profile", "The graph.txt",
           importText<importPipedream>)
      .example("accord import pipedream resnet18.graph.txt -o resnet18.dnn");
  importer("dnn-partitioning", "A profiled graph of dnn-partitioning: given times and sizes", "graph", "The .json",
           importText<importDnnPartitioning>)
      .example("accord import dnn-partitioning gnmt.json -o gnmt.dnn");
  for (auto [name, summary] : {std::pair("tosa", "An MLIR module in TOSA as it infers"),
                               {"linalg", "An MLIR module in Linalg as it infers"}}) {
    Command mlir =
        importer(name, fmt::format("{}; a loss is added", summary), "module", "The .mlir or .mlirbc", importMlirFile);
    mlir.option("--inputs", options->inputs,
                "N: the first N arguments are inputs, the others weights (default: those with an open batch, or the "
                "first)")
        .range(1, int64_t(1) << 20);
    mlir.option(
        "--loss", options->losses,
        fmt::format("[OUTPUT=]KIND: the loss of an output (output0) or of all ({})", fmt::join(onnxLosses(), ", ")));
    mlir.flag("--unrolled", options->unrolled, kUnrolled);
    mlir.example(fmt::format("accord import {} resnet.mlir -o resnet.dnn", name));
  }
});

} // namespace
} // namespace accord
