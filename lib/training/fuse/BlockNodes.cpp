#include "lib/training/fuse/BlockNodes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accord {
namespace {

using Family = FusionNode::Family;

bool isView(Operation *op) { return isa_and_nonnull<dnn::ReshapeOp>(op); }

/// What a view of a view of … shows.
Value shown(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Whether it moves its operands and results whole.
bool movesAll(WorkOpInterface op) {
  return op.getBytesRead(2) == bytesOf(op->getOperandTypes(), 2) &&
         op.getBytesWritten(2) == bytesOf(op->getResultTypes(), 2);
}

Family familyOf(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  if (!work || op->getNumRegions() != 0 || !dnn::isMovable(op) || work.getCoreKind() == WorkCore::None ||
      work.getCoreKind() == WorkCore::Network || op->getNumResults() == 0 || !movesAll(work) ||
      dnn::phaseOf(op) == dnn::Phase::Communication)
    return Family::Barrier;
  // A contraction with a second result is a whole layer: recurrent, or a mixture of experts.
  if (work.isContraction())
    return op->getNumResults() == 1 ? Family::Contraction : Family::Barrier;
  Work inner = work.getWork();
  if (!inner.maps[op->getNumOperands()].isIdentity())
    return Family::Barrier;
  return llvm::is_contained(inner.kinds, utils::IteratorType::reduction) ? Family::Normalization : Family::Elementwise;
}

/// Whether the result has an element for each point that the operation runs over.
bool spansDomain(OpResult result) {
  auto work = dyn_cast<WorkOpInterface>(result.getOwner());
  return work && (work.isContraction() || result.getType() == result.getOwner()->getResult(0).getType());
}

} // namespace

BlockNodes::BlockNodes(Block &block) {
  DenseMap<Operation *, uint32_t> number;
  for (Operation &op : block) {
    if (isView(&op))
      continue;
    uint32_t n = nodes.size();
    number[&op] = n;
    operations.push_back(&op);
    FusionNode &node = nodes.emplace_back();
    node.family = familyOf(&op);
    node.zone = static_cast<uint32_t>(dnn::phaseOf(&op));
    llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
    for (Region &region : op.getRegions())
      getUsedValuesDefinedAbove(region, used);
    for (Value value : used)
      if (Operation *maker = shown(value).getDefiningOp(); maker && maker->getBlock() == &block)
        node.operands.push_back(number.lookup(maker));
    if (node.family != Family::Elementwise && node.family != Family::Normalization)
      continue;
    Work work = cast<WorkOpInterface>(op).getWork();
    for (auto [operand, map] : llvm::zip(op.getOperands(), work.maps))
      if (auto result = dyn_cast<OpResult>(shown(operand));
          result && map.isIdentity() && result.getOwner()->getBlock() == &block && spansDomain(result))
        node.along.push_back(number.lookup(result.getOwner()));
  }
}

namespace {

class Rebuilder {
public:
  explicit Rebuilder(Block &block) : block(block) {}

  void place(Operation *op) {
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, used);
    for (Value value : used)
      placeView(value.getDefiningOp());
    op->moveBefore(&block, block.end());
  }

  dnn::FusedOp fuse(ArrayRef<Operation *> members) {
    Region body;
    Block &inside = body.emplaceBlock();
    llvm::SetVector<Value> operands;
    DenseMap<Value, Value> known; // outside -> inside
    for (Operation *member : members) {
      member->moveBefore(&inside, inside.end());
      for (OpOperand &operand : member->getOpOperands())
        operand.set(bring(operand.get(), inside, operands, known, member));
    }
    // The members stand in the body now, behind the views that were brought; views that nobody outside needs are gone.
    for (bool gone = true; gone;) {
      size_t before = replaced.size();
      replaced.remove_if([](Operation *view) { return view->use_empty() && (view->erase(), true); });
      gone = replaced.size() < before;
    }
    replaced.clear();
    SmallVector<Value> given;
    for (Operation *member : members)
      for (Value result : member->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return user->getBlock() != &inside; }))
          given.push_back(result);
    SmallVector<Type> types(ValueRange(given).getTypes());
    OpBuilder builder(members.back()->getContext()); // the region has no operation to ask yet
    builder.setInsertionPointToEnd(&inside);
    dnn::YieldOp::create(builder, members.back()->getLoc(), given);
    builder.setInsertionPointToEnd(&block);
    for (Value operand : operands)
      placeView(operand.getDefiningOp());
    auto fused = dnn::FusedOp::create(builder, members.back()->getLoc(), types, operands.getArrayRef());
    fused.getBody().takeBody(body);
    for (auto [value, result] : llvm::zip(given, fused.getResults()))
      value.replaceUsesWithIf(result, [&](OpOperand &use) { return use.getOwner()->getBlock() != &inside; });
    Operation *main = fused.getMain();
    fused->setLoc(main->getLoc());
    for (StringRef attribute : {dnn::DnnDialect::kNameAttr, dnn::DnnDialect::kPhaseAttr})
      if (Attribute value = main->getAttr(attribute))
        fused->setAttr(attribute, value);
    return fused;
  }

private:
  /// Before whoever needs it; what it shows has its place already.
  void placeView(Operation *view) {
    if (!isView(view) || view->getBlock() != &block || !placed.insert(view).second)
      return;
    placeView(view->getOperand(0).getDefiningOp());
    view->moveBefore(&block, block.end());
  }
  /// The value as a member in the body sees it: of another member, of a view made again before it, or an argument.
  Value bring(Value value, Block &inside, llvm::SetVector<Value> &operands, DenseMap<Value, Value> &known,
              Operation *member) {
    Operation *maker = value.getDefiningOp();
    if (maker && maker->getBlock() == &inside)
      return value;
    if (Value there = known.lookup(value))
      return there;
    Operation *origin = shown(value).getDefiningOp();
    if (origin && origin->getBlock() == &inside) { // seen through views
      Value base = bring(maker->getOperand(0), inside, operands, known, member);
      Operation *again = maker->clone();
      inside.getOperations().insert(Block::iterator(member), again);
      again->setOperand(0, base);
      replaced.insert(maker);
      return known[value] = again->getResult(0);
    }
    operands.insert(value);
    return known[value] = inside.addArgument(value.getType(), value.getLoc());
  }

  Block &block;
  llvm::DenseSet<Operation *> placed;
  llvm::SetVector<Operation *> replaced; ///< views of members, made again in the body
};

} // namespace

unsigned rebuild(Block &block, const BlockNodes &of, const std::vector<std::vector<uint32_t>> &groups) {
  // Everything leaves the block's order; what is placed comes to its end, so the order is that of placing.
  Rebuilder rebuilder(block);
  unsigned made = 0;
  for (const std::vector<uint32_t> &group : groups) {
    SmallVector<Operation *> members;
    for (uint32_t n : group)
      members.push_back(of.operations[n]);
    if (members.size() == 1) {
      rebuilder.place(members[0]);
      continue;
    }
    rebuilder.fuse(members);
    ++made;
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isView(&op) && op.use_empty())
      op.erase();
  return made;
}

} // namespace accord
