#include "lib/import/text/Network.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord {

std::vector<std::string> lossKinds() { return {"cross_entropy", "mse", "smooth_l1", "binary_cross_entropy", "none"}; }

namespace import {

void Network::noteOnce(const std::string &note) {
  if (!llvm::is_contained(notes, note))
    notes.push_back(note);
}

std::string Network::batchText() const {
  if (isOneSample)
    return "the inputs of the file are one sample, for no extent is the batch of all";
  return batchIsOpen ? "the batch is open in the file" : fmt::format("the file fixes the batch at {}", batch);
}

std::string Network::lossOf(const std::string &output) const {
  for (const std::string &key : {output, std::string()})
    if (auto chosen = options.losses.find(key); chosen != options.losses.end())
      return chosen->second;
  return "";
}

void Network::checkLosses(const std::vector<std::string> &outputs, const char *owner, SourceRange place) const {
  for (const auto &[name, kind] : options.losses)
    if (!name.empty() && !llvm::is_contained(outputs, name))
      diags.error(Code::ImportSetting, place, fmt::format("the {} has no output '{}'", owner, shown(name)))
          .suggest(nearest(name, outputs));
}

void Network::addLoss(DnnTextBuilder::Id x, const std::string &output, size_t of, const std::string &before) {
  if (DnnTextBuilder::Id behind = textBuilder.behindViews(x); textBuilder.callOf(behind) == "input")
    return notes.push_back(fmt::format("the output '{}' is an input", shown(output)));
  Shape shape = textBuilder.shape(x);
  std::string kind = lossOf(output), prefix = of > 1 ? output + "_" : "";
  if (kind.empty() && before == "Sigmoid")
    kind = "binary_cross_entropy";
  else if (kind.empty() && shape.back() > 1 && (shape.size() <= 2 || (!before.empty() && before != "Sigmoid")))
    kind = "cross_entropy";
  else if (kind.empty())
    kind = "mse";
  if (!before.empty())
    notes.push_back(fmt::format("the last {} of the output '{}' is part of its loss", before, shown(output)));
  Shape target = shape;
  bool classes = kind == "cross_entropy";
  if (classes) {
    if (shape.size() == 1)
      x = textBuilder.reshape(x, {1, shape[0]});
    else if (shape.size() == 3 && (before.empty() || before == "Softmax over channels"))
      x = textBuilder.transpose(x, {1, 2, 0}); // [classes, rows, columns]
    target = textBuilder.shape(x);
    target.pop_back();
  }
  const char *name = classes || kind == "binary_cross_entropy" ? "labels" : "target";
  DnnTextBuilder::Id truth = textBuilder.input(prefix + name, classes ? "int32" : "float", target);
  textBuilder.loss(textBuilder.add(prefix + "cost", kind, {x, truth}, {}, {}));
  notes.push_back(
      fmt::format("the output '{}' of {} is trained with {}; {}", shown(output), listOf(shape), kind, lossFrom));
}

void Network::checkTrained(const char *inputs, SourceRange place) const {
  if (!textBuilder.hasLoss() && !diags.hasErrors())
    diags.error(Code::ImportUnsupported, place,
                fmt::format("no output depends on {}, so that there is nothing to train", inputs));
}

std::optional<ImportedModel> finished(Diagnostics &diags, FileId file, const DnnTextBuilder &textBuilder,
                                      const std::string &name, std::vector<std::string> lines,
                                      const std::vector<std::string> &notes, bool repeats, const std::string &behind) {
  for (const std::string &note : notes)
    lines.push_back("Note: " + note + ".");
  auto text = formatted(diags, file, textBuilder.text(name, lines, repeats) + behind);
  return text ? std::optional(ImportedModel{std::move(*text), notes}) : std::nullopt;
}

} // namespace import
} // namespace accord
