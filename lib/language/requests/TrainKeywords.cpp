// What settings name, checked: precisions, optimizers, words of a list.
#include "lib/language/requests/BlockReader.h"
#include "lib/language/requests/TrainSettings.h"
#include "llvm/ADT/StringSwitch.h"
#include <fmt/format.h>

namespace accord {
namespace {

mlir::Type elementOf(llvm::StringRef word, mlir::MLIRContext &context) {
  return llvm::StringSwitch<mlir::Type>(word)
      .Case("fp32", mlir::Float32Type::get(&context))
      .Case("tf32", mlir::FloatTF32Type::get(&context))
      .Case("bf16", mlir::BFloat16Type::get(&context))
      .Case("fp16", mlir::Float16Type::get(&context))
      .Default({});
}
} // namespace

dnn::PrecisionAttr precisionOf(const Constant &value, mlir::MLIRContext &context, Diagnostics &diags) {
  const std::vector<std::string> known{"fp32", "tf32", "bf16", "fp16", "mixed"};
  if (value.failed())
    return {};
  if (auto *word = value.as<Word>())
    if (mlir::Type element = elementOf(word->text, context))
      return dnn::PrecisionAttr::get(&context, false, element);
  auto *call = value.as<CallValue>();
  if (call && call->name == "mixed") {
    mlir::Type element, gradients, products;
    bool ok = !call->arguments.empty();
    for (size_t i = 0; i < call->arguments.size(); ++i) {
      auto &[name, argument] = call->arguments[i];
      auto *word = argument->as<Word>();
      mlir::Type type = word ? elementOf(word->text, context) : mlir::Type();
      if (i == 0 && name.empty() && type && type.getIntOrFloatBitWidth() == 16)
        element = products = type;
      else if (i == 0 && name.empty() && word && word->text == "fp8") // values stay in bf16
        element = mlir::BFloat16Type::get(&context), products = mlir::Float8E4M3FNType::get(&context);
      else if (name == "gradients" && type && (type == element || type.isF32()))
        gradients = type;
      else
        ok = false;
    }
    if (ok && element)
      return dnn::PrecisionAttr::get(&context, true, element, gradients ? gradients : element, products);
  }
  auto *word = value.as<Word>();
  std::string text = diags.sources().text(value.range).str();
  diags.error(Code::UnknownPrecision, value.range, fmt::format("'{}' is no precision", text))
      .suggest(nearest(word   ? word->text
                       : call ? call->name
                              : "",
                       known))
      .help("fp32, tf32, bf16, fp16, mixed(bf16), mixed(fp16), mixed(fp8), or mixed(bf16, gradients = fp32)");
  return {};
}

dnn::OptimizerKindAttr optimizerOf(const Constant &value, mlir::MLIRContext &context, Diagnostics &diags) {
  if (value.failed())
    return {};
  auto *word = value.as<Word>();
  if (word)
    if (auto kind = dnn::symbolizeOptimizerKind(word->text);
        kind && *kind != dnn::OptimizerKind::RowwiseAdagrad && *kind != dnn::OptimizerKind::None) // of a training
      return dnn::OptimizerKindAttr::get(&context, *kind);
  diags.error(Code::UnknownOptimizer, value.range, fmt::format("{} is no optimizer", value.describe()))
      .suggest(nearest(word ? word->text : "", std::vector<std::string>{"sgd", "momentum", "adam", "adamw"}))
      .help("optimizers are sgd, momentum, adam and adamw");
  return {};
}

std::vector<std::string> wordsOf(const Constant &value, Diagnostics &diags, llvm::StringRef key,
                                 const std::vector<std::string> &known) {
  std::vector<std::string> found;
  for (const Constant &member : membersOf(value)) {
    if (member.failed())
      return {};
    auto *word = member.as<Word>();
    auto *truth = member.as<bool>();
    std::string text = word ? word->text : !truth ? "" : *truth ? "true" : "false";
    if (!llvm::is_contained(known, text)) {
      diags
          .error(Code::UnknownChoice, member.range,
                 fmt::format("'{}' is one of {}, not {}", key.str(), fmt::join(known, ", "), member.describe()))
          .suggest(nearest(text, known));
      return {};
    }
    if (!llvm::is_contained(found, text))
      found.push_back(text);
  }
  return found;
}

void readRecomputes(const Constant &value, TrainingJob &job, Diagnostics &diags) {
  std::vector<std::string> recomputes = wordsOf(value, diags, "recompute", {"none", "selective", "full"});
  if (recomputes.empty())
    return;
  job.recomputes = std::move(recomputes);
  job.recomputeStated = true;
}

} // namespace accord
