#include "lib/compilation/Vocabulary.h"
#include "dialects/dnn/Dnn.h"
#include <map>
#include <set>

using namespace mlir;

namespace accord {
namespace {

/// The type with the extents of vocabularies replaced.
Type paddedType(Type type, const std::map<int64_t, int64_t> &padded) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (int64_t &extent : shape)
    if (auto found = padded.find(extent); found != padded.end())
      extent = found->second;
  return RankedTensorType::get(shape, tensor.getElementType(), tensor.getEncoding());
}

/// The vocabulary, and what it is padded to: the longest table with as many rows as a head has classes. A shorter one,
/// of kinds of tokens beside a head of two classes, is none.
std::map<int64_t, int64_t> vocabulariesOf(dnn::ModelOp model, int64_t multiple) {
  std::set<int64_t> classes, others;
  int64_t vocabulary = 0;
  model->walk([&](dnn::CrossEntropyOp loss) {
    classes.insert(cast<RankedTensorType>(loss.getLogits().getType()).getShape().back());
  });
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  model->walk([&](dnn::EmbeddingOp lookup) {
    others.insert(shapeOf(lookup.getTable()).back());
    for (int64_t extent : shapeOf(lookup.getIds()))
      others.insert(extent);
  });
  model->walk([&](dnn::EmbeddingOp lookup) {
    int64_t rows = shapeOf(lookup.getTable()).front();
    if (classes.count(rows))
      vocabulary = std::max(vocabulary, rows);
  });
  if (vocabulary % multiple == 0 || others.count(vocabulary))
    return {};
  return {{vocabulary, (vocabulary / multiple + 1) * multiple}};
}

} // namespace

void padVocabulary(dnn::ModelOp model, int64_t multiple) {
  std::map<int64_t, int64_t> padded = vocabulariesOf(model, multiple);
  if (padded.empty())
    return;
  model->walk([&](Operation *op) {
    if (auto parameter = dyn_cast<dnn::ParameterOp>(op))
      parameter.setTypeAttr(TypeAttr::get(paddedType(parameter.getTensorType(), padded)));
    for (Value result : op->getResults())
      result.setType(paddedType(result.getType(), padded));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          argument.setType(paddedType(argument.getType(), padded));
  });
}

} // namespace accord
