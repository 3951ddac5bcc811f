#include "lib/training/architecture/Blocks.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accord {

using Activation = ModelArchitecture::Activation;

std::string textOf(Operation *op) {
  StringRef name = dnn::nameOf(op), kind = op->getName().stripDialect();
  return name.empty() ? fmt::format("'{}'", kind.str()) : fmt::format("'{}' ('{}')", name.str(), kind.str());
}

bool isNorm(Operation *op) { return isa_and_nonnull<dnn::LayerNormOp, dnn::RmsNormOp>(op); }

bool BlockFinder::fail(Operation *at, const std::string &why) {
  reason = fmt::format("{}: {}", textOf(at), why);
  return false;
}

bool BlockFinder::run() {
  WalkResult all = model->walk([&](Operation *op) {
    bool good = true;
    if (auto one = dyn_cast<dnn::SoftmaxOp>(op))
      good = softmax(one);
    else if (auto one = dyn_cast<dnn::FlashAttentionOp>(op))
      good = flash(one);
    else if (auto one = dyn_cast<dnn::MoeDispatchOp>(op))
      good = experts(one);
    else if (isa<dnn::ReluOp, dnn::GeluOp, dnn::SiluOp>(op))
      good = activation(op);
    return good ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !all.wasInterrupted();
}

/// From what enters the softmax back to the product of queries and keys, past what is added for positions.
bool BlockFinder::scores(Value value, AttentionPart &part, PassedOperations &passed, dnn::MatmulOp &product) {
  for (;;) {
    value = walk.source(value, ModelWalk::Scale, &passed);
    Operation *op = value.getDefiningOp();
    if (auto alibi = dyn_cast_or_null<dnn::AlibiOp>(op)) {
      walk.understand(op);
      part.alibi = true;
      value = alibi.getX();
    } else if (auto sum = dyn_cast_or_null<dnn::AddOp>(op)) {
      auto biasOf = [&](Value side) { return walk.source(side).getDefiningOp<dnn::RelativeBiasOp>(); };
      auto bias = biasOf(sum.getB());
      value = bias ? sum.getA() : sum.getB();
      bias = bias ? bias : biasOf(sum.getA());
      if (!bias)
        return fail(op, "something other than relative positions is added to scores");
      walk.understand(op), walk.understand(bias);
      part.relativeBuckets = cast<RankedTensorType>(bias.getTable().getType()).getDimSize(0);
      part.relativeDistance = bias.getMaxDistance();
    } else if ((product = dyn_cast_or_null<dnn::MatmulOp>(op))) {
      walk.understand(op);
      return true;
    } else {
      return fail(op ? op : part.at, "does not make scores of queries and keys");
    }
  }
}

bool BlockFinder::softmax(dnn::SoftmaxOp op) {
  AttentionPart part;
  part.at = op, part.causal = op.getCausal();
  PassedOperations passed, behind;
  dnn::MatmulOp product;
  if (!scores(op.getX(), part, passed, product))
    return false;
  if (product.getTransposeA())
    return fail(product, "is not the product of queries with keys");
  part.headSize = widthOf(product.getA());
  part.keys = widthOf(op.getX());
  auto uses = walk.uses(op.getY(), ModelWalk::Dropout, &behind);
  auto context = uses.size() == 1 ? dyn_cast<dnn::MatmulOp>(uses[0]->getOwner()) : dnn::MatmulOp();
  if (!context || uses[0]->getOperandNumber() != 0 || context.getTransposeA() || context.getTransposeB())
    return fail(op, "does not weigh values");
  walk.understand(op), walk.understand(context);
  part.dropout = behind.dropout;
  return projections(part, product.getA(), product.getB(), context.getB(), context.getY(), passed);
}

bool BlockFinder::flash(dnn::FlashAttentionOp op) {
  AttentionPart part;
  part.at = op, part.causal = op.getCausal(), part.fused = true;
  part.headSize = widthOf(op.getQ());
  if (op.getWindow() > 0)
    return fail(op, "sees a window of keys");
  walk.understand(op);
  PassedOperations passed;
  passed.scale = op.getScale().convertToDouble();
  auto keys = cast<RankedTensorType>(op.getK().getType());
  part.keys = keys.getDimSize(dnn::batchRank(keys));
  return projections(part, op.getQ(), op.getK(), op.getV(), op.getY(), passed);
}

bool BlockFinder::projections(AttentionPart &part, Value q, Value k, Value v, Value context, PassedOperations passed) {
  constexpr unsigned kMoved = ModelWalk::Cuts | ModelWalk::Scale | ModelWalk::Rotary;
  PassedOperations key, value;
  TrainedProduct query = walk.productBy(walk.source(q, kMoved, &passed).getDefiningOp());
  TrainedProduct keys = walk.productBy(walk.source(k, kMoved, &key).getDefiningOp());
  TrainedProduct values = walk.productBy(walk.source(v, kMoved, &value).getDefiningOp());
  if (!query.op || !keys.op || !values.op)
    return fail(part.at, "queries, keys and values are not products of the stream with trained weights");
  if (passed.rotaryBase != key.rotaryBase || value.rotaryBase > 0)
    return fail(part.at, "rotary positions are not those of queries and keys");
  Value stream = walk.source(query.x), other = walk.source(keys.x);
  if (other != walk.source(values.x))
    return fail(part.at, "keys and values are of different tensors");
  part.cross = stream != other, part.memory = keys.x;
  part.queries = elementsOf(query.x) / query.in;
  int64_t length = elementsOf(keys.x) / keys.in;
  part.hidden = query.in, part.rotaryBase = passed.rotaryBase;
  part.heads = elementsOf(q) / std::max<int64_t>(1, part.queries * part.headSize);
  part.keyValueHeads = elementsOf(k) / std::max<int64_t>(1, length * part.headSize);
  if (length != part.keys || elementsOf(v) != elementsOf(k) || part.heads < 1 || part.keyValueHeads < 1)
    return fail(part.at, "the sizes of queries, keys and values are not those of heads");
  double scale = passed.scale * key.scale * std::sqrt(static_cast<double>(part.headSize));
  part.unscaled = std::abs(passed.scale * key.scale - 1) < 1e-9 && part.headSize > 1;
  if (!part.unscaled && std::abs(scale - 1) > 1e-3)
    return fail(part.at, "scores are divided by something other than the root of the head's size");
  auto uses = walk.uses(context);
  TrainedProduct out = uses.size() == 1 ? walk.productBy(uses[0]->getOwner()) : TrainedProduct();
  if (!out.op || out.in != part.heads * part.headSize || out.out != part.hidden)
    return fail(part.at, "no product of the heads' results leads back to the stream");
  if (query.bias != keys.bias || query.bias != values.bias)
    return fail(part.at, "some of queries, keys and values have a bias, others have none");
  part.inputBias = query.bias, part.bias = out.bias;
  part.executions = executionsOf(part.at);
  if (!residual(query.x, out.y, part.at, part.residual))
    return false;
  attentions.push_back(part);
  return true;
}

bool BlockFinder::residual(Value in, Value out, Operation *at, Residual &found) {
  PassedOperations passed;
  auto uses = walk.uses(out, ModelWalk::Dropout, &passed);
  auto sum = uses.size() == 1 ? dyn_cast<dnn::AddOp>(uses[0]->getOwner()) : dnn::AddOp();
  if (!sum)
    return fail(at, uses.size() == 1 && isNorm(uses[0]->getOwner())
                        ? "a norm stands between it and the sum with its input"
                        : "it is not added to its input");
  Value other = walk.source(uses[0]->getOperandNumber() == 0 ? sum.getB() : sum.getA());
  Value input = walk.source(in);
  Operation *before = input.getDefiningOp();
  walk.understand(sum);
  found.dropout = passed.dropout;
  if (isNorm(before) && walk.source(before->getOperand(0)) == other) {
    walk.understand(before);
    found.norm = before, found.from = other, found.to = sum.getY();
    return true;
  }
  if (other != input)
    return fail(at, "what it is added to is not its input: parts that stand side by side are not understood");
  auto after = walk.uses(sum.getY());
  if (after.size() != 1 || !isNorm(after[0]->getOwner()))
    return fail(at, "there is no norm before or behind it");
  found.norm = after[0]->getOwner();
  walk.understand(found.norm);
  found.normAfter = true, found.from = other, found.to = found.norm->getResult(0);
  return true;
}

/// Past a factor that another product makes; `out` is what the second product takes.
bool BlockFinder::gate(Operation *op, FeedForwardPart &part, const TrainedProduct &first, Value &out) {
  auto uses = walk.uses(op->getResult(0));
  auto product = uses.empty() ? dnn::MulOp() : dyn_cast<dnn::MulOp>(uses[0]->getOwner());
  out = op->getResult(0);
  if (!product) {
    part.activation = isa<dnn::ReluOp>(op)   ? Activation::Relu
                      : isa<dnn::GeluOp>(op) ? Activation::Gelu
                                             : Activation::Silu;
    return true;
  }
  walk.understand(product);
  out = product.getY();
  if (product.getA() == product.getB() && isa<dnn::ReluOp>(op)) {
    part.activation = Activation::SquaredRelu;
    return true;
  }
  Value side = uses[0]->getOperandNumber() == 0 ? product.getB() : product.getA();
  TrainedProduct up = walk.productBy(walk.source(side, ModelWalk::Cuts).getDefiningOp());
  if (uses.size() != 1 || !up.op || walk.source(up.x) != walk.source(first.x) || up.bias != first.bias)
    return fail(op, "what it is multiplied with is no product of the same input");
  if (isa<dnn::ReluOp>(op))
    return fail(op, "a network gated by relu is not understood");
  part.activation = isa<dnn::GeluOp>(op) ? Activation::GeGlu : Activation::SwiGlu;
  return true;
}

bool BlockFinder::activation(Operation *op) {
  TrainedProduct first = walk.productBy(walk.source(op->getOperand(0), ModelWalk::Cuts).getDefiningOp());
  if (!first.op)
    return fail(op, "is not that of a product with trained weights");
  auto direct = walk.uses(op->getResult(0));
  if (direct.size() == 1 && isNorm(direct[0]->getOwner()))
    return true; // before a head: not of a block
  FeedForwardPart part;
  part.at = op, part.executions = executionsOf(op);
  Value result;
  walk.understand(op);
  if (!gate(op, part, first, result))
    return false;
  PassedOperations passed;
  auto uses = walk.uses(result, ModelWalk::Dropout, &passed);
  TrainedProduct second = uses.size() == 1 ? walk.productBy(uses[0]->getOwner()) : TrainedProduct();
  if (!second.op || second.out != first.in)
    return fail(op, "no product leads from it back to the stream");
  if (second.bias != first.bias)
    return fail(op, "one product of the network has a bias, the other has none");
  part.inner = second.in, part.bias = first.bias, part.dropout = passed.dropout;
  if (!residual(first.x, second.y, op, part.residual))
    return false;
  networks.push_back(part);
  return true;
}

bool BlockFinder::experts(dnn::MoeDispatchOp op) {
  auto uses = walk.uses(op.getSlots());
  auto all = uses.size() == 1 ? dyn_cast<dnn::MoeExpertsOp>(uses[0]->getOwner()) : dnn::MoeExpertsOp();
  auto results = all ? walk.uses(all.getY()) : SmallVector<OpOperand *>();
  auto combine = results.size() == 1 ? dyn_cast<dnn::MoeCombineOp>(results[0]->getOwner()) : dnn::MoeCombineOp();
  if (!combine || walk.parameterOf(op.getGate()).empty())
    return fail(op, "its experts are not understood");
  walk.understand(op), walk.understand(all), walk.understand(combine);
  FeedForwardPart part;
  part.at = op, part.executions = executionsOf(op);
  auto weights = cast<RankedTensorType>(all.getW1().getType());
  part.experts = weights.getDimSize(0), part.inner = weights.getDimSize(1);
  part.activation = all.getW3() ? Activation::SwiGlu : Activation::Gelu;
  part.expertsPerToken = op.getTopK(), part.expertCapacity = op.getCapacityFactor().convertToDouble();
  part.expertsNormalized = op.getNormalize();
  for (Value weight : {all.getW1(), all.getW2(), all.getW3()})
    part.expertParameters += weight ? elementsOf(weight) : 0;
  if (!residual(op.getX(), combine.getZ(), op, part.residual))
    return false;
  networks.push_back(part);
  return true;
}

} // namespace accord
