// Losses that the module computes itself.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

using Id = DnnTextBuilder::Id;

void checkReduction(TorchContext &c, int64_t otherwise) {
  if (c.integer("reduction", otherwise) == 0)
    c.reportUnsupported("gives a loss for each element; only its mean is supported");
}

/// Labels beside logits: classes come last.
void crossEntropy(TorchContext &c, const TorchNode &node) {
  checkReduction(c, 1);
  TorchValue x = c.dense(c.tensor("self")), labels = c.made(c.get("target"));
  if (labels.type == TorchType::Float && labels.full == x.full)
    c.reportUnsupported("compares with probabilities of classes, which is not supported");
  if (x.full.size() > 2) { // [batch, classes, ..]
    Shape order{0};
    for (int64_t i = 2; i < std::ssize(x.full); ++i)
      order.push_back(i);
    order.push_back(1);
    x = c.permuted(x, order);
  }
  if (x.full.size() != 2 && x.batchAt != 0)
    c.reportUnsupported("has its batch not first");
  Shape shape = c.shape(x.id), classes(shape.begin(), shape.end() - 1);
  if (classes.empty()) {
    classes = {1};
    x.id = c.textBuilder.reshape(x.id, {1, shape.back()});
  }
  if (elementsOf(classes) != elementsOf(c.shape(labels.id)))
    c.reportInvalid(fmt::format("has labels {} for {}", listOf(labels.full), listOf(x.full)));
  (void)node;
  c.setResult(c.scalar(c.add("cross_entropy", {x.id, c.textBuilder.reshape(labels.id, classes)}, {}, {})));
}

/// The mean difference of two tensors.
void difference(TorchContext &c, const TorchNode &node) {
  checkReduction(c, 1);
  TorchValue a = c.dense(c.tensor("self")), b = c.made(c.get("target"));
  if (a.full != b.full || c.shape(a.id) != c.shape(b.id))
    c.reportUnsupported(fmt::format("compares {} with {}", listOf(a.full), listOf(b.full)));
  std::string op = node.op.substr(5);
  if (op == "l1_loss")
    c.noteOnce("an L1 loss is a smooth one here: the same work");
  const char *call = op == "mse_loss"                           ? "mse"
                     : op == "binary_cross_entropy_with_logits" ? "binary_cross_entropy"
                                                                : "smooth_l1";
  c.setResult(c.scalar(c.add(call, {a.id, b.id}, {}, {})));
}

} // namespace

std::vector<TorchOperators> torchLosses() {
  return {{crossEntropy, {"aten.cross_entropy_loss", "accord.cross_entropy"}},
          {difference,
           {"aten.binary_cross_entropy_with_logits", "aten.huber_loss", "aten.l1_loss", "aten.mse_loss",
            "aten.smooth_l1_loss"}}};
}

} // namespace accord::import
