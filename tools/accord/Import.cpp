// accord import: other people's descriptions as `.dnn` to read and edit.
#include "lib/import/HuggingFace.h"
#include "lib/syntax/Parser.h"
#include "tools/accord/Commands.h"
#include "tools/accord/Session.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

struct ImportOptions {
  std::string file, output, name;
};

/// `meta-llama/Llama-2-7b-hf/config.json` is called after its folder.
std::string nameOf(const std::string &path) {
  llvm::StringRef stem = llvm::sys::path::stem(path);
  llvm::StringRef folder = llvm::sys::path::filename(llvm::sys::path::parent_path(path));
  return (stem == "config" && !folder.empty() && folder != "." ? folder : stem).str();
}

int importConfig(const ImportOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<HuggingFaceImport> result;
  if (auto file = readFile(diags, options.file))
    result =
        importHuggingFace(diags, *file, options.name.empty() ? nameOf(options.file) : options.name);
  if (result && !result->unread.empty())
    fmt::print(stderr, "accord: not understood and left out: {}\n",
               fmt::join(result->unread, ", "));
  if (result && options.output.empty())
    llvm::outs() << result->text;
  else if (result)
    writeFile(diags, options.output, result->text);
  diags.render(llvm::errs(), llvm::errs().has_colors());
  return diags.hasErrors() ? kWrongInput : kDone;
}

} // namespace

void addImport(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("import", "Turn other people's descriptions into .dnn");
  command->require_subcommand(1);
  auto options = std::make_shared<ImportOptions>();
  CLI::App *huggingFace = command->add_subcommand(
      "huggingface", fmt::format("A config.json of Hugging Face transformers ({})",
                                 fmt::join(huggingFaceFamilies(), ", ")));
  huggingFace->add_option("config", options->file, "The config.json")->required();
  huggingFace->add_option("-o,--output", options->output, "The .dnn to write (default: print it)");
  huggingFace->add_option("--name", options->name,
                          "Name of the model (default: of the file or its folder)");
  huggingFace->footer("Example: accord import huggingface Llama-2-7b-hf/config.json -o llama.dnn");
  for (auto [name, what] : {std::pair("onnx", "An ONNX model"),
                            {"tosa", "A TOSA module"},
                            {"scalesim", "A layer list of SCALE-Sim"},
                            {"pipedream", "A profiled graph of PipeDream"}}) {
    CLI::App *later = command->add_subcommand(name, fmt::format("{} (not supported yet)", what));
    later->allow_extras();
    std::string format = name;
    later->callback([format, &status] {
      status =
          refuse(Code::NotSupported, "not supported yet: accord import " + format, false, "import");
    });
  }
  huggingFace->callback([options, &status] { status = importConfig(*options); });
}

} // namespace accord
