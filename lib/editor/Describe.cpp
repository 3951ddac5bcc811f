#include "lib/editor/Describe.h"
#include "lib/editor/OperationDocs.inc"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::editor {
namespace {

/// Operation -> its sentence and its description, from the pages that TableGen writes.
const llvm::StringMap<std::string> &operationDocs() {
  static const llvm::StringMap<std::string> docs = [] {
    llvm::StringMap<std::string> all;
    llvm::StringRef text(reinterpret_cast<const char *>(kOperationDocs), sizeof(kOperationDocs) - 1);
    llvm::SmallVector<llvm::StringRef> sections;
    text.split(sections, "\n### `");
    for (llvm::StringRef section : llvm::drop_begin(sections)) {
      auto [name, rest] = section.split('`');
      auto [about, detail] = rest.split("\n_").second.split("_\n");
      llvm::StringRef description = detail.split("```\n").second.split("```\n").second;
      description = description.take_front(std::min(description.find("\nTraits:"), description.find("\n#### ")));
      all[name] = fmt::format("{}\n\n{}", about.trim().str(), description.trim().str());
    }
    return all;
  }();
  return docs;
}

} // namespace

const std::vector<DeclarationWord> &declarationWords() {
  static const std::vector<DeclarationWord> words{
      {"let", "a constant", "let ${1:name} = $0"},
      {"accelerator", "one chip: memories, cores, and paths between them", "accelerator ${1:name} {\n  $0\n}"},
      {"cluster", "servers and the networks between them", "cluster ${1:name} {\n  $0\n}"},
      {"microarchitecture", "a core at the level of instructions", "microarchitecture ${1:name} {\n  $0\n}"},
      {"framework", "the software that runs a training", "framework ${1:name} {\n  $0\n}"},
      {"operation", "an operation stated by its elements",
       "operation ${1:name}(${2:x}[${3:i}]) -> ${4:y}[${3:i}] {\n  $0\n}", true},
      {"module", "a part of models", "module ${1:name}(${2:x}) -> ${3:y} {\n  $0\n}", true},
      {"model", "what is trained: inputs, layers, and a loss", "model ${1:name}(${2:seq = 1024}) {\n  $0\n}", true},
      {"train", "a training of a model on a machine or cluster",
       "train ${1:name} = ${2:model}() on ${3:a100_80g} {\n  batch     = ${4:32}\n  precision = mixed(bf16)\n  "
       "optimizer "
       "= adam\n  maximize throughput$0\n}",
       true},
      {"infer", "answers of a model on a machine or cluster",
       "infer ${1:name} = ${2:model}() on ${3:h100} {\n  batch     = ${4:1}\n  precision = bf16$0\n}", true},
      {"sparsity", "zeros that a training may have", "sparsity for ${1:training} {\n  $0\n}", true},
      {"ensemble", "models that vote", "ensemble ${1:name} of ${2:training} {\n  $0\n}", true},
      {"jobs", "trainings that share a cluster", "jobs ${1:name} on ${2:cluster} {\n  $0\n}", true},
      {"tuning", "hyper-parameters that are searched",
       "tuning ${1:name} {\n  search { ${2:learning_rate} = log(${3:1e-4..0.1}) }\n  units = ${4:1..27}\n  maximize "
       "${5:accuracy}$0\n}",
       true}};
  return words;
}

std::string keywordAbout(llvm::StringRef word) {
  for (const DeclarationWord &one : declarationWords())
    if (one.word == word)
      return one.about;
  return llvm::StringSwitch<std::string>(word)
      .Case("import", "uses what another file declares; `catalog/` are the files that Accord ships")
      .Case("require", "what every answer has to satisfy")
      .Case("prefer", "what an answer should satisfy")
      .Case("maximize", "the objective: more of it is better")
      .Case("minimize", "the objective: less of it is better")
      .Case("path", "the way of data between memories and cores")
      .Case("source", "where the number was published")
      .Case("from", "a file that states it")
      .Case("per", "of what this is the price or number")
      .Case("weight", "how much it counts among others")
      .Case("confidence", "with which probability it holds")
      .Case("samples", "from so many samples it was measured")
      .Case("step", "the distance between values of a range")
      .Case("pow2", "the powers of two in a range")
      .Case("input", "a tensor of the data set: its type and extents for one sample")
      .Case("var", "a value that later statements may change")
      .Case("repeat", "layers that are equal: one region with a count")
      .Case("scan", "a step for each slice along the first axis")
      .Case("reverse", "from the last slice to the first")
      .Case("loss", "what training minimizes")
      .Case("for", "statements for each value, unrolled when the model is built")
      .Case("if", "decided when the model is built")
      .Case("gradient", "the gradient of an operand, stated instead of derived")
      .Case("surrogate", "a gradient that is not the derivative")
      .Case("on", "the machine or cluster")
      .Case("of", "what it belongs to")
      .Case("transposable", "the pattern holds for the transposed weight, too")
      .Default("");
}

std::string functionAbout(llvm::StringRef name) {
  return llvm::StringSwitch<std::string>(name)
      .Case("min", "min(a, b, …): the least of numbers of one dimension")
      .Case("max", "max(a, b, …): the greatest of numbers of one dimension")
      .Case("ceil_div", "ceil_div(a, b): a / b, rounded up")
      .Case("floor_div", "floor_div(a, b): a / b, rounded down")
      .Case("pow2", "pow2(n): 2^n")
      .Case("log2", "log2(n): the logarithm to base 2")
      .Case("sum", "sum(list), or of an operation sum(x, over = i): added up")
      .Case("len", "len(list): how many elements it has")
      .Case("shape", "shape(x): extents of a tensor, without the batch")
      .Case("sqrt", "sqrt(x): of a number or of each element")
      .Case("mixed", "mixed(bf16): products in this type, weights and their updates in fp32")
      .Default("");
}

std::string signatureOf(const OperationSpec &operation) {
  std::vector<std::string> words;
  for (llvm::StringRef operand : operation.operands)
    words.push_back(operand.str() + (operation.variadic ? ", ..." : ""));
  for (const AttributeSpec &attribute : operation.attributes)
    words.push_back(attribute.name.str() + (attribute.required ? "" : "?"));
  return fmt::format("{}({})", operation.name.str(), fmt::join(words, ", "));
}

std::string describeAttribute(const AttributeSpec &attribute) {
  std::string text;
  switch (attribute.kind) {
  case AttributeKind::Integer:
    text = attribute.min == INT64_MIN ? "a whole number" : fmt::format("a whole number, {} or more", attribute.min);
    break;
  case AttributeKind::Extents:
    text = "a whole number, or one for each spatial dimension: [height, width]";
    break;
  case AttributeKind::List:
    text = "a whole number for each dimension: [0, 1, 1]";
    break;
  case AttributeKind::Number:
    text = "a number";
    break;
  case AttributeKind::Boolean:
    text = "true or false";
    break;
  case AttributeKind::Word: {
    std::vector<std::string> words;
    for (llvm::StringRef word : attribute.words)
      words.push_back(word.str());
    text = fmt::format("one of {}", fmt::join(words, ", "));
    break;
  }
  case AttributeKind::Tensor:
    text = "a tensor";
    break;
  case AttributeKind::Time:
    text = "a time";
    break;
  case AttributeKind::Size:
    text = "a memory size";
    break;
  }
  if (attribute.range == AttributeRange::AboveZero)
    text += ", above 0";
  else if (attribute.range == AttributeRange::AboveOne)
    text += ", above 1";
  else if (attribute.range == AttributeRange::Fraction)
    text += ", 0 to below 1";
  else if (attribute.range == AttributeRange::Skew)
    text += ", 0 to 16";
  return text + (attribute.required ? "; required" : "");
}

std::string operationAbout(const OperationSpec &operation) {
  auto found = operationDocs().find(operation.dialect);
  if (found != operationDocs().end())
    return found->second;
  return llvm::StringSwitch<std::string>(operation.name)
      .Case("parameter", "a trained tensor with these extents")
      .Case("zeros", "a tensor of zeros with these extents")
      .Case("positions", "a trained tensor [seq, hidden] of learned positions")
      .Default("");
}

const std::vector<ShippedModel> &shippedModels(const std::string &catalog) {
  static std::mutex guard;
  static std::map<std::string, std::vector<ShippedModel>> known;
  std::lock_guard<std::mutex> alone(guard);
  auto [slot, isNew] = known.try_emplace(catalog);
  if (!isNew)
    return slot->second;
  std::error_code error;
  std::vector<std::string> files;
  for (llvm::sys::fs::directory_iterator file(catalog, error), end; !error && file != end; file.increment(error))
    if (llvm::sys::path::extension(file->path()) == ".dnn")
      files.push_back(file->path());
  llvm::sort(files);
  SourceManager sources;
  Diagnostics unheard(sources);
  for (const std::string &path : files) {
    auto id = readFile(unheard, path);
    auto tree = id ? parse(unheard, *id) : nullptr;
    if (!tree)
      continue;
    for (const ast::Declaration &one : tree->declarations)
      if (one.kind == ast::DeclarationKind::Model)
        slot->second.push_back({one.name.text, "catalog/" + llvm::sys::path::filename(path).str(),
                                llvm::StringRef(one.doc).trim().split('\n').first.trim().str()});
  }
  return slot->second;
}

} // namespace accord::editor
