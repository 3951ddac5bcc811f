#include "lib/training/architecture/Architecture.h"
#include "lib/training/architecture/Blocks.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

using Family = ModelArchitecture::Family;
using Norm = ModelArchitecture::Norm;
using Positions = ModelArchitecture::Positions;

class Recognizer {
public:
  explicit Recognizer(dnn::ModelOp model) : model(model), blocks(model, walk) {}

  ModelArchitecture run() {
    if (!understands()) {
      found = {};
      found.notUnderstood = reason.empty() ? blocks.reason : reason;
    }
    count();
    return found;
  }

private:
  bool fail(Operation *at, const std::string &why) {
    reason = fmt::format("{}: {}", textOf(at), why);
    return false;
  }
  bool understands() {
    auto isAttention = [](Operation *op) { return isa<dnn::SoftmaxOp, dnn::FlashAttentionOp>(op); };
    if (!model->walk([&](Operation *op) { return isAttention(op) ? WalkResult::interrupt() : WalkResult::advance(); })
             .wasInterrupted())
      return reason = "the model has no attention", false;
    if (!blocks.run())
      return false;
    for (const AttentionPart &part : blocks.attentions)
      keep(part.residual);
    for (const FeedForwardPart &part : blocks.networks)
      keep(part.residual);
    return family() && attention() && networks() && inputs() && heads() && norms() && nothingElse() && sizes();
  }
  void keep(const Residual &residual) {
    blockNorms.insert(residual.norm);
    streams.insert(walk.source(residual.to));
  }

  bool family();
  bool attention();
  bool positions(const AttentionPart &part);
  bool networks();
  bool inputs();
  bool embedding(dnn::EmbeddingOp lookup);
  bool isTrained(Value part);
  bool patches(dnn::Conv2dOp conv);
  bool toStream(Value value);
  bool added(dnn::AddOp sum, Value value);
  bool heads();
  bool tokenHead(const TrainedProduct &product);
  bool pairHead(const TrainedProduct &product);
  bool headNorm(const TrainedProduct &product, Value value);
  bool norms();
  bool nothingElse();
  bool sizes();
  void count();
  bool has(Positions positions, Operation *at) {
    if (found.positions != Positions::None && found.positions != positions)
      return fail(at, "the model has positions of two kinds");
    found.positions = positions;
    return true;
  }
  /// Sizes that differ among blocks are 0.
  template <class T> void same(T &value, T next, bool isFirst) {
    if (isFirst)
      value = next;
    else if (value != next)
      value = T(), found.irregular = true;
  }

  dnn::ModelOp model;
  ModelWalk walk;
  BlockFinder blocks;
  ModelArchitecture found;
  std::string reason;
  llvm::DenseSet<Operation *> blockNorms;
  llvm::DenseSet<Value> streams; ///< behind parts of blocks
  StringRef table;               ///< of tokens
};

bool Recognizer::family() {
  int64_t causal = 0, open = 0, cross = 0;
  for (const AttentionPart &part : blocks.attentions) {
    int64_t &of = part.cross ? cross : part.causal ? causal : open;
    if (__builtin_add_overflow(of, part.executions, &of))
      return fail(part.at, "the model has more blocks than can be counted");
  }
  bool image = !model.getBlock().getOps<dnn::Conv2dOp>().empty();
  if (cross > 0 && (cross != causal || open == 0))
    return reason = "attention to another sequence does not stand beside each attention of a decoder", false;
  if (cross == 0 && causal > 0 && open > 0)
    return reason = "some attention looks back alone, some in both directions", false;
  found.family = cross > 0    ? Family::EncoderDecoder
                 : causal > 0 ? Family::Decoder
                 : image      ? Family::Vision
                              : Family::Encoder;
  found.layers = causal > 0 ? causal : open;
  found.encoderLayers = cross > 0 ? open : 0;
  found.causal = causal > 0;
  return true;
}

bool Recognizer::positions(const AttentionPart &part) {
  if (part.rotaryBase > 0 && !has(Positions::Rope, part.at))
    return false;
  if (part.alibi && !has(Positions::Alibi, part.at))
    return false;
  return part.relativeBuckets == 0 || has(Positions::Relative, part.at);
}

bool Recognizer::attention() {
  bool isFirst = true, isFirstSelf = true;
  for (const AttentionPart &part : blocks.attentions) {
    if (!positions(part))
      return false;
    same(found.hidden, part.hidden, isFirst);
    same(found.heads, part.heads, isFirst);
    same(found.keyValueHeads, part.keyValueHeads, isFirst);
    same(found.headSize, part.headSize, isFirst);
    if (!isFirst && (part.inputBias != found.attentionBias || part.bias != found.linearBias))
      return fail(part.at, "some blocks have a bias where others have none");
    if (!isFirst && (part.residual.normAfter != found.normAfter || part.unscaled != found.unscaledAttention ||
                     part.fused != found.fusedAttention))
      return fail(part.at, "blocks are of two kinds");
    if (!isFirst && (part.residual.dropout != found.dropout || part.dropout != found.attentionDropout))
      return fail(part.at, "some blocks drop another share than others");
    found.attentionBias = part.inputBias, found.linearBias = part.bias;
    found.normAfter = part.residual.normAfter, found.unscaledAttention = part.unscaled;
    found.fusedAttention = part.fused;
    found.dropout = part.residual.dropout, found.attentionDropout = part.dropout;
    isFirst = false;
    if (part.cross)
      continue;
    bool encoder = found.family == Family::EncoderDecoder && !part.causal;
    int64_t &sequence = encoder ? found.encoderSequence : found.sequence;
    same(sequence, part.queries, sequence == 0);
    bool isPositioned = part.rotaryBase > 0 || part.alibi || part.relativeBuckets > 0;
    if (!isFirstSelf &&
        isPositioned != (found.rotaryBase > 0 || found.relativeBuckets > 0 || found.positions == Positions::Alibi))
      return fail(part.at, "some blocks have positions in their attention, others have none");
    same(found.rotaryBase, part.rotaryBase, isFirstSelf);
    same(found.relativeBuckets, part.relativeBuckets, isFirstSelf);
    same(found.relativeDistance, part.relativeDistance, isFirstSelf);
    isFirstSelf = false;
  }
  return true;
}

bool Recognizer::networks() {
  int64_t all = 0;
  bool isFirst = true;
  llvm::DenseSet<Value> behindAttention;
  for (const AttentionPart &part : blocks.attentions)
    behindAttention.insert(walk.source(part.residual.to));
  for (const AttentionPart &part : blocks.attentions)
    if (part.cross && !behindAttention.contains(walk.source(part.residual.from)))
      return fail(part.at, "does not stand behind the attention of its decoder");
  for (const FeedForwardPart &part : blocks.networks) {
    if (!behindAttention.contains(walk.source(part.residual.from)))
      return fail(part.at, "does not stand behind attention");
    if (__builtin_add_overflow(all, part.executions, &all))
      return fail(part.at, "the model has more blocks than can be counted");
    if (part.experts > 0)
      found.expertLayers += part.executions;
    if (!isFirst && (part.activation != found.activation || part.residual.normAfter != found.normAfter))
      return fail(part.at, "blocks are of two kinds");
    if (part.experts == 0 && part.bias != found.linearBias)
      return fail(part.at, "some products behind attention have a bias, others have none");
    if (part.residual.dropout != found.dropout)
      return fail(part.at, "another share is dropped behind it than behind attention");
    same(found.inner, part.inner, isFirst);
    if (part.experts > 0) {
      bool isFirstExpert = found.experts == 0;
      same(found.experts, part.experts, isFirstExpert);
      same(found.expertsPerToken, part.expertsPerToken, isFirstExpert);
      same(found.expertCapacity, part.expertCapacity, isFirstExpert);
      found.expertsNormalized = part.expertsNormalized;
    }
    found.activation = part.activation;
    found.innerDropout = std::max(found.innerDropout, part.dropout);
    isFirst = false;
  }
  if (all != found.layers + found.encoderLayers)
    return reason = fmt::format("{} feed-forward networks stand in {} blocks", all, found.layers + found.encoderLayers),
           false;
  return true;
}

/// What is added to what leaves an embedding: learned positions, or a table of kinds of tokens.
bool Recognizer::added(dnn::AddOp sum, Value value) {
  Value other = walk.source(walk.source(sum.getA()) == walk.source(value) ? sum.getB() : sum.getA(), ModelWalk::Cuts);
  walk.understand(sum);
  if (auto lookup = other.getDefiningOp<dnn::EmbeddingOp>()) {
    int64_t rows = cast<RankedTensorType>(lookup.getTable().getType()).getDimSize(0);
    walk.understand(lookup);
    if (rows < found.sequence) {
      found.segments = rows;
      return true;
    }
    found.maxPositions = rows;
    return has(Positions::Learned, sum);
  }
  if (walk.parameterOf(other).empty())
    return fail(sum, "what is added to the embedding is not understood");
  auto type = cast<RankedTensorType>(other.getType());
  found.maxPositions = type.getRank() == 2 ? type.getDimSize(0) : elementsOf(other) / widthOf(other);
  return has(Positions::Learned, sum);
}

/// From an embedding to the first block.
bool Recognizer::toStream(Value value) {
  for (;;) {
    PassedOperations passed;
    auto uses = walk.uses(value, ModelWalk::Dropout | ModelWalk::Scale, &passed);
    found.embeddingScale *= passed.scale;
    auto isNext = [&](OpOperand *use) {
      Operation *user = use->getOwner();
      bool isPart = blockNorms.contains(user) || (isa<dnn::AddOp>(user) && walk.isUnderstood(user));
      return !isPart && (isa<dnn::AddOp, dnn::SinusoidsOp>(user) || isNorm(user));
    };
    auto use = llvm::find_if(uses, isNext);
    if (use == uses.end())
      return true;
    Operation *next = (*use)->getOwner();
    if (uses.size() != 1 && !isa<dnn::AddOp>(next))
      return fail(next, "stands beside the blocks");
    if (auto sum = dyn_cast<dnn::AddOp>(next)) {
      if (!added(sum, (*use)->get()))
        return false;
    } else if (isNorm(next)) {
      walk.understand(next);
      found.embeddingNorm = true;
    } else {
      walk.understand(next);
      if (!has(Positions::Sinusoidal, next))
        return false;
    }
    value = next->getResult(0);
  }
}

bool Recognizer::embedding(dnn::EmbeddingOp lookup) {
  walk.understand(lookup);
  return toStream(lookup.getY());
}

/// A parameter, perhaps added to zeros that give it a batch.
bool Recognizer::isTrained(Value part) {
  if (!walk.parameterOf(part).empty())
    return true;
  auto sum = walk.source(part).getDefiningOp<dnn::AddOp>();
  if (!sum)
    return false;
  bool isFirst = !walk.parameterOf(sum.getA()).empty();
  PassedOperations passed;
  walk.source(isFirst ? sum.getB() : sum.getA(), ModelWalk::Scale | ModelWalk::Cuts, &passed);
  if (passed.scale != 0 || (!isFirst && walk.parameterOf(sum.getB()).empty()))
    return false;
  walk.understand(sum);
  return true;
}

bool Recognizer::patches(dnn::Conv2dOp conv) {
  auto image = cast<RankedTensorType>(conv.getX().getType());
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  auto stride = dnn::asExtents(conv.getStrideAttr(), 2);
  if (weight.getDimSize(2) != weight.getDimSize(3) || stride[0] != weight.getDimSize(2) || stride[1] != stride[0] ||
      image.getDimSize(2) != image.getDimSize(3))
    return fail(conv, "does not cut a square image into square patches");
  walk.understand(conv);
  found.patchSize = stride[0], found.imageSize = image.getDimSize(2);
  auto uses = walk.uses(conv.getY());
  Value value = conv.getY();
  auto isJoin = [](OpOperand *use) { return isa<dnn::ConcatOp>(use->getOwner()); };
  if (auto join = llvm::find_if(uses, isJoin); join != uses.end()) {
    auto joined = cast<dnn::ConcatOp>((*join)->getOwner());
    walk.understand(joined);
    for (Value part : joined.getXs())
      found.classTokens += isTrained(part) ? elementsOf(part) / widthOf(part) : 0;
    value = joined.getY();
  }
  return toStream(value);
}

bool Recognizer::inputs() {
  if (found.family == Family::Vision) {
    auto convs = llvm::to_vector(model.getBlock().getOps<dnn::Conv2dOp>());
    return convs.size() == 1 ? patches(convs[0]) : fail(convs[1], "is a second convolution");
  }
  int64_t rows = 0;
  model->walk([&](dnn::EmbeddingOp lookup) {
    auto type = cast<RankedTensorType>(lookup.getTable().getType());
    if (type.getDimSize(0) > rows)
      rows = type.getDimSize(0), table = walk.parameterOf(lookup.getTable());
  });
  if (rows == 0)
    return reason = "the model has no table of tokens", false;
  found.vocabulary = rows;
  double scale = 0;
  WalkResult all = model->walk([&](dnn::EmbeddingOp lookup) {
    if (walk.parameterOf(lookup.getTable()) != table)
      return WalkResult::advance();
    found.embeddingScale = 1;
    if (!embedding(lookup) || (scale > 0 && scale != found.embeddingScale))
      return WalkResult::interrupt();
    scale = found.embeddingScale;
    return WalkResult::advance();
  });
  return !all.wasInterrupted();
}

/// The norm before a head, or the one of the last block.
bool Recognizer::headNorm(const TrainedProduct &product, Value value) {
  Operation *norm = value.getDefiningOp();
  if (isNorm(norm) && !blockNorms.contains(norm)) {
    walk.understand(norm);
    found.finalNorm = true;
    value = walk.source(norm->getOperand(0), ModelWalk::Dropout | ModelWalk::Cuts);
  }
  return streams.contains(walk.source(value)) ||
         fail(product.op, "what stands between the blocks and the head is not understood");
}

bool Recognizer::tokenHead(const TrainedProduct &product) {
  constexpr unsigned kMoved = ModelWalk::Dropout | ModelWalk::Scale | ModelWalk::Cuts;
  found.tiedEmbeddings = product.weight == table, found.headBias = product.bias;
  int64_t rows = elementsOf(product.x) / product.in;
  if (rows < found.sequence)
    found.predictedPositions = rows;
  PassedOperations passed;
  Value value = walk.source(product.x, kMoved, &passed);
  found.logitScale = passed.scale;
  Operation *norm = value.getDefiningOp();
  Operation *before = isNorm(norm) ? walk.source(norm->getOperand(0)).getDefiningOp() : nullptr;
  if (isa_and_nonnull<dnn::GeluOp, dnn::ReluOp, dnn::TanhOp>(before)) {
    TrainedProduct transform = walk.productOf(before->getOperand(0));
    if (!transform.op)
      return fail(before, "what stands before the head is not understood");
    walk.understand(norm), walk.understand(before);
    found.headTransform = true;
    value = walk.source(transform.x, kMoved);
  }
  return headNorm(product, value);
}

/// Two sentences follow each other or do not: of the first token, behind a product and a hyperbolic tangent.
bool Recognizer::pairHead(const TrainedProduct &product) {
  auto pooled = walk.source(product.x, ModelWalk::Dropout).getDefiningOp<dnn::TanhOp>();
  TrainedProduct pooler = pooled ? walk.productOf(pooled.getX()) : TrainedProduct();
  if (!pooler.op)
    return fail(product.op, "is a head that is not understood");
  walk.understand(pooled);
  found.pairHead = true;
  return headNorm(product, walk.source(pooler.x, ModelWalk::Dropout | ModelWalk::Cuts));
}

bool Recognizer::heads() {
  int64_t tokenHeads = 0;
  WalkResult all = model->walk([&](dnn::CrossEntropyOp loss) {
    TrainedProduct product = walk.productBy(walk.source(loss.getLogits()).getDefiningOp());
    bool good = product.op != nullptr;
    walk.understand(loss);
    if (!good) {
      fail(loss, "is not of a product with trained weights");
    } else if (found.family == Family::Vision) {
      found.classes = product.out, ++tokenHeads;
      constexpr unsigned kMoved = ModelWalk::Dropout | ModelWalk::Cuts;
      found.headBias = product.bias;
      good = headNorm(product, walk.source(product.x, kMoved));
    } else if (product.weight == table || product.out == found.vocabulary) {
      ++tokenHeads;
      good = tokenHead(product);
    } else {
      good = product.out == 2 ? pairHead(product) : fail(product.op, "is a head that is not understood");
    }
    return good ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (all.wasInterrupted())
    return false;
  if (tokenHeads != 1)
    return reason = fmt::format("the model has {} heads", tokenHeads), false;
  for (const AttentionPart &part : blocks.attentions) {
    if (!part.cross)
      continue;
    Value memory = walk.source(part.memory, ModelWalk::Dropout);
    Operation *norm = memory.getDefiningOp();
    bool isOwn = isNorm(norm) && !blockNorms.contains(norm);
    if (isOwn)
      walk.understand(norm);
    if (isOwn != found.finalNorm)
      return fail(part.at, "one of encoder and decoder ends with a norm, the other does not");
  }
  return true;
}

bool Recognizer::norms() {
  bool isFirst = true, good = true;
  model->walk([&](Operation *op) {
    auto layer = dyn_cast<dnn::LayerNormOp>(op);
    auto rms = dyn_cast<dnn::RmsNormOp>(op);
    if (!layer && !rms)
      return;
    Norm kind = layer ? Norm::LayerNorm : Norm::RmsNorm;
    bool bias = layer && layer.getOffset();
    double epsilon = (layer ? layer.getEpsilon() : rms.getEpsilon()).convertToDouble();
    if (!isFirst && (kind != found.norm || bias != found.normBias || epsilon != found.normEpsilon))
      good = good && fail(op, "the model has norms of two kinds");
    found.norm = kind, found.normBias = bias, found.normEpsilon = epsilon;
    isFirst = false;
  });
  return good;
}

bool Recognizer::nothingElse() {
  WalkResult all = model->walk([&](Operation *op) {
    bool isPlain = isa<dnn::ModelOp, dnn::ParameterOp, dnn::ReadOp, dnn::RepeatOp, dnn::YieldOp, dnn::LossOp,
                       dnn::ReshapeOp, dnn::TransposeOp, dnn::CastOp>(op);
    if (auto sum = dyn_cast<dnn::AddOp>(op)) // of losses
      isPlain = cast<RankedTensorType>(sum.getY().getType()).getRank() == 0;
    if (isPlain || walk.isUnderstood(op))
      return WalkResult::advance();
    fail(op, "has no place in a transformer");
    return WalkResult::interrupt();
  });
  return !all.wasInterrupted();
}

bool Recognizer::sizes() {
  for (int64_t size : {found.layers, found.encoderLayers, found.hidden, found.heads, found.headSize, found.inner,
                       found.vocabulary, found.sequence, found.encoderSequence, found.maxPositions, found.experts,
                       found.expertsPerToken, found.expertLayers, found.imageSize, found.classes, found.classTokens,
                       found.relativeBuckets, found.relativeDistance})
    if (size > kMaxArchitectureSize)
      return reason = fmt::format("a size of {} is beyond what any framework builds", size), false;
  return true;
}

void Recognizer::count() {
  auto add = [](int64_t &sum, int64_t value, int64_t times) {
    if (__builtin_mul_overflow(value, times, &value) || __builtin_add_overflow(sum, value, &sum))
      sum = INT64_MAX;
  };
  found.parameters = found.expertParameters = 0;
  for (dnn::ParameterOp parameter : model.getBlock().getOps<dnn::ParameterOp>())
    add(found.parameters, parameter.getTensorType().getNumElements(), parameter.getCopies());
  if (found.family != Family::Other)
    for (const FeedForwardPart &part : blocks.networks)
      add(found.expertParameters, part.expertParameters, part.executions);
}

} // namespace

ModelArchitecture architectureOf(dnn::ModelOp model) { return Recognizer(model).run(); }

} // namespace accord
