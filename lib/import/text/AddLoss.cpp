#include "lib/import/text/AddLoss.h"
#include <fmt/format.h>

namespace accord::import {

void addLoss(DnnTextBuilder &textBuilder, DnnTextBuilder::Id x, const NetworkOutput &ending,
             std::vector<std::string> &notes) {
  if (DnnTextBuilder::Id behind = textBuilder.behindViews(x); textBuilder.callOf(behind) == "input")
    return notes.push_back(fmt::format("the output '{}' is an input", shown(ending.output)));
  Shape shape = textBuilder.shape(x);
  std::string kind = ending.wanted;
  const std::string &before = ending.before, &prefix = ending.prefix;
  if (kind.empty() && before == "Sigmoid")
    kind = "binary_cross_entropy";
  else if (kind.empty() && shape.back() > 1 && (shape.size() <= 2 || (!before.empty() && before != "Sigmoid")))
    kind = "cross_entropy";
  else if (kind.empty())
    kind = "mse";
  if (!before.empty())
    notes.push_back(fmt::format("the last {} of the output '{}' is part of its loss", before, shown(ending.output)));
  if (kind == "cross_entropy") {
    if (shape.size() == 1)
      x = textBuilder.reshape(x, {1, shape[0]});
    else if (shape.size() == 3 && (before.empty() || before == "Softmax over channels"))
      // [classes, rows, columns]
      x = textBuilder.transpose(x, {1, 2, 0});
    Shape labels = textBuilder.shape(x);
    labels.pop_back();
    textBuilder.loss(
        textBuilder.add(prefix + "cost", kind, {x, textBuilder.input(prefix + "labels", "int32", labels)}, {}, {}));
  } else {
    const char *name = kind == "binary_cross_entropy" ? "labels" : "target";
    textBuilder.loss(
        textBuilder.add(prefix + "cost", kind, {x, textBuilder.input(prefix + name, "float", shape)}, {}, {}));
  }
  notes.push_back(fmt::format("the output '{}' of {} is trained with {}; the file states no loss", shown(ending.output),
                              listOf(shape), kind));
}

} // namespace accord::import
