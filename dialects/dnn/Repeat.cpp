// The repeat: syntax and shape.
#include "dialects/dnn/Verify.h"
#include "dialects/interfaces/Note.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

/// The type of a value inside the body that is one slice of `type`.
static Type sliceOf(Type type) { return cast<StashType>(type).getElement(); }

void RepeatOp::build(OpBuilder &builder, OperationState &state, int64_t count, StringRef label, ValueRange inits,
                     ValueRange unstashed, TypeRange stashed, bool reverse) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.count = builder.getI64IntegerAttr(count);
  properties.label = builder.getStringAttr(label);
  if (reverse)
    properties.reverse = builder.getUnitAttr();
  properties.operandSegmentSizes = {static_cast<int32_t>(inits.size()), static_cast<int32_t>(unstashed.size())};
  properties.resultSegmentSizes = {static_cast<int32_t>(inits.size()), static_cast<int32_t>(stashed.size())};
  state.addOperands(inits);
  state.addOperands(unstashed);
  state.addTypes(inits.getTypes());
  state.addTypes(stashed);
  Block &block = state.addRegion()->emplaceBlock();
  for (Value init : inits)
    block.addArgument(init.getType(), state.location);
  for (Value stash : unstashed)
    block.addArgument(sliceOf(stash.getType()), state.location);
}

/// `keyword(%argument = %operand : type, ...)`; the argument's type is the operand's, or its slice.
static ParseResult parseBindings(OpAsmParser &parser, StringRef keyword, bool slices,
                                 SmallVectorImpl<OpAsmParser::Argument> &arguments, SmallVectorImpl<Value> &operands) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
    OpAsmParser::Argument argument;
    OpAsmParser::UnresolvedOperand operand;
    Type type;
    SMLoc location;
    if (parser.parseArgument(argument) || parser.parseEqual() || parser.parseOperand(operand) || parser.parseColon() ||
        parser.getCurrentLocation(&location) || parser.parseType(type) ||
        parser.resolveOperand(operand, type, operands))
      return failure();
    if (slices && !isa<StashType>(type))
      return parser.emitError(location) << "expected a stash, found " << type;
    argument.type = slices ? sliceOf(type) : type;
    arguments.push_back(argument);
    return success();
  });
}

ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Properties &properties = result.getOrAddProperties<Properties>();
  int64_t count = 0;
  std::string label;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> stashed;
  if (parser.parseInteger(count) || parser.parseKeyword("as") || parser.parseString(&label))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("reverse")))
    properties.reverse = builder.getUnitAttr();
  if (parseBindings(parser, "iter", false, arguments, result.operands))
    return failure();
  auto inits = static_cast<int32_t>(result.operands.size());
  for (Value init : result.operands)
    result.addTypes(init.getType());
  if (parseBindings(parser, "unstash", true, arguments, result.operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("stash")) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     [&] { return parser.parseType(stashed.emplace_back()); }))
    return failure();
  result.addTypes(stashed);
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments) || parser.parseOptionalAttrDict(result.attributes))
    return failure();
  ensureTerminator(*body, builder, result.location);
  properties.count = builder.getI64IntegerAttr(count);
  properties.label = builder.getStringAttr(label);
  properties.operandSegmentSizes = {inits, static_cast<int32_t>(result.operands.size()) - inits};
  properties.resultSegmentSizes = {inits, static_cast<int32_t>(stashed.size())};
  return success();
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << " " << getCount() << " as ";
  printer.printString(getLabel());
  if (getReverse())
    printer << " reverse";
  auto bindings = [&](StringRef keyword, auto arguments, OperandRange operands) {
    if (operands.empty())
      return;
    printer << " " << keyword << "(";
    llvm::interleaveComma(llvm::zip(arguments, operands), printer, [&](auto pair) {
      printer << std::get<0>(pair) << " = " << std::get<1>(pair) << " : " << std::get<1>(pair).getType();
    });
    printer << ")";
  };
  bindings("iter", getCarriedArguments(), getInits());
  bindings("unstash", getUnstashedArguments(), getUnstashed());
  if (!getStashed().empty()) {
    printer << " stash(";
    llvm::interleaveComma(getStashed().getTypes(), printer);
    printer << ")";
  }
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"count", "label", "reverse", "operandSegmentSizes", "resultSegmentSizes"});
}

/// Leaves out what nobody reads (stashes, slices, carried values that only carry themselves on);
/// what every iteration hands on unchanged is the value from outside.
LogicalResult RepeatOp::canonicalize(RepeatOp op, PatternRewriter &rewriter) {
  YieldOp yield = op.getYield();
  SmallVector<Value> inits, unstashed, carried, stashed;
  SmallVector<Type> types;
  llvm::BitVector dropped(op.getBlock().getNumArguments());
  SmallVector<Value> results(op.getNumResults()); // null: the next of the new repeat
  unsigned size = op.getInits().size();
  for (unsigned i = 0; i < size; ++i) {
    BlockArgument argument = op.getBlock().getArgument(i);
    bool invariant = yield.getCarried()[i] == argument;
    bool unread = op.getCarried()[i].use_empty() && argument.use_empty();
    if (invariant || unread) {
      dropped.set(i);
      results[i] = op.getInits()[i];
      continue;
    }
    inits.push_back(op.getInits()[i]);
    carried.push_back(yield.getCarried()[i]);
  }
  for (auto [i, stack] : llvm::enumerate(op.getUnstashed()))
    if (op.getBlock().getArgument(size + i).use_empty())
      dropped.set(size + i);
    else
      unstashed.push_back(stack);
  bool less = dropped.any();
  for (auto [i, stack] : llvm::enumerate(op.getStashed()))
    if (stack.use_empty()) {
      less = true;
    } else {
      stashed.push_back(yield.getStashed()[i]);
      types.push_back(stack.getType());
    }
  if (!less)
    return failure();

  RepeatOp smaller = op.like(rewriter, inits, unstashed, types);
  Block &block = op.getBlock();
  rewriter.modifyOpInPlace(yield, [&] {
    yield.getCarriedMutable().assign(carried);
    yield.getStashedMutable().assign(stashed);
  });
  // Inits stand outside, so the body may use them.
  for (unsigned i = 0; i < size; ++i)
    if (dropped[i])
      rewriter.replaceAllUsesWith(block.getArgument(i), op.getInits()[i]);
  block.eraseArguments(dropped);
  smaller.getBody().getBlocks().clear();
  rewriter.inlineRegionBefore(op.getBody(), smaller.getBody(), smaller.getBody().end());
  unsigned next = 0;
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    bool gone = i < size ? results[i] != nullptr : op.getResult(i).use_empty();
    if (!gone)
      results[i] = smaller.getResult(next++);
  }
  for (auto [from, to] : llvm::zip(op.getResults(), results))
    if (to)
      rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(op);
  return success();
}

Value RepeatOp::stashOf(Value inside) {
  if (auto argument = dyn_cast<BlockArgument>(inside); argument && argument.getOwner() == &getBlock())
    if (unsigned i = argument.getArgNumber(); i >= getInits().size())
      return getUnstashed()[i - getInits().size()];
  for (auto [value, stash] : llvm::zip(getYield().getStashed(), getStashed()))
    if (value == inside)
      return stash;
  return {};
}
RepeatOp RepeatOp::like(OpBuilder &builder, ValueRange inits, ValueRange unstashed, TypeRange stashed) {
  auto made = create(builder, getLoc(), getCount(), getLabel(), inits, unstashed, stashed, getReverse());
  made->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return made;
}

YieldOp RepeatOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }

LogicalResult RepeatOp::verifyRegions() {
  if (getCount() < 1)
    return emitError() << "repeat '" << getLabel() << "' runs " << getCount() << " times";
  if (getBlock().getNumArguments() != getNumOperands())
    return emitError() << "repeat '" << getLabel() << "' has " << getNumOperands() << " operands but its body takes "
                       << getBlock().getNumArguments() << " arguments";
  if (getInits().getTypes() != getCarried().getTypes() ||
      getInits().getTypes() != ValueRange(getCarriedArguments()).getTypes())
    return emitError() << "repeat '" << getLabel() << "' must start, carry and return the same types";
  for (auto [argument, stash] : llvm::zip(getUnstashedArguments(), getUnstashed()))
    if (cast<StashType>(stash.getType()).getCount() != getCount() || argument.getType() != sliceOf(stash.getType()))
      return emitError() << "repeat '" << getLabel() << "' of " << getCount() << " iterations reads " << stash.getType()
                         << " as " << argument.getType();
  YieldOp yield = getYield();
  auto mismatch = [&](StringRef what) {
    return yield.emitError() << what << note(getLoc(), "of repeat '", getLabel(), "'");
  };
  if (yield.getCarried().getTypes() != getCarried().getTypes())
    return mismatch("the yielded values do not have the types of the carried values");
  if (yield.getStashed().size() != getStashed().size())
    return mismatch("the yield stashes another number of values than the repeat returns");
  for (auto [value, stash] : llvm::zip(yield.getStashed(), getStashed()))
    if (stash.getType() != StashType::get(getContext(), getCount(), value.getType()))
      return mismatch("a stashed value does not have the type of the stash's slices");
  return success();
}
