#include "dialects/dnn/Names.h"

using namespace mlir;

namespace accord {

void Names::setName(Operation *op, StringRef base, dnn::Phase phase) {
  std::string name = base.str();
  // StringMap entries stay where they are, so the counter of `base` survives insertions.
  unsigned &count = taken.try_emplace(base, 0).first->second;
  while (count++ > 0) {
    name = (base + "." + Twine(count)).str();
    if (taken.try_emplace(name, 1).second)
      break;
  }
  op->setAttr(dnn::DnnDialect::kNameAttr, StringAttr::get(op->getContext(), name));
  op->setAttr(dnn::DnnDialect::kPhaseAttr, dnn::PhaseAttr::get(op->getContext(), phase));
}

void Names::nameForward(Block &block, StringRef prefix) {
  for (Operation &op : block) {
    std::string name = dnn::nameOf(&op).str();
    if (name.empty()) {
      if (auto read = dyn_cast<dnn::ReadOp>(op))
        name = (read.getParameter() + ".read").str();
      else if (auto repeat = dyn_cast<dnn::RepeatOp>(op))
        name = repeat.getLabel().str();
      else
        name = (prefix.empty() ? Twine() : prefix + Twine(".")).str() + op.getName().stripDialect().str();
    }
    setName(&op, name, dnn::Phase::Forward);
    if (auto repeat = dyn_cast<dnn::RepeatOp>(op))
      nameForward(repeat.getBlock(), repeat.getLabel());
  }
}

} // namespace accord
