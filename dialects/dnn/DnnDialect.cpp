// The dialect, its attributes and types, and the names of operations.
#include "dialects/dnn/Dnn.h"
#include "dialects/dnn/Names.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace accord::dnn;

#include "dialects/dnn/DnnDialect.cpp.inc"
#include "dialects/dnn/DnnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dnn/DnnAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/dnn/DnnTypes.cpp.inc"

void DnnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dnn/DnnAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/dnn/DnnTypes.cpp.inc"
      >();
  registerOperations();
}

Attribute PrecisionAttr::parse(AsmParser &parser, Type) {
  Type element, gradients, products;
  if (parser.parseLess())
    return {};
  bool mixed = succeeded(parser.parseOptionalKeyword("mixed"));
  if ((mixed && parser.parseComma()) || parser.parseType(element))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    bool ofProducts = succeeded(parser.parseOptionalKeyword("products"));
    if ((!ofProducts && parser.parseKeyword("gradients")) || parser.parseEqual() ||
        parser.parseType(ofProducts ? products : gradients))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), mixed, element, gradients ? gradients : element, products ? products : element);
}

void PrecisionAttr::print(AsmPrinter &printer) const {
  printer << (getMixed() ? "<mixed, " : "<") << getElement();
  if (getProducts() != getElement())
    printer << ", products = " << getProducts();
  if (getGradients() != getElement())
    printer << ", gradients = " << getGradients();
  printer << ">";
}

LogicalResult RowsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t lookups, Type index) {
  if (lookups < 1)
    return emitError() << "a sparse gradient has at least 1 row for each sample, found " << lookups;
  if (!isa<IntegerType>(index))
    return emitError() << "rows are named by integers, found " << index;
  return success();
}

LogicalResult StashType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t count, Type element) {
  if (count < 1)
    return emitError() << "a stash holds at least 1 slice, found " << count;
  if (!isa<RankedTensorType, StashType>(element))
    return emitError() << "a stash holds tensors or stashes, found " << element;
  return success();
}

namespace accord::dnn {

bool isExtents(Attribute attribute) {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute))
    return integer.getType().isInteger(64) && integer.getInt() >= 0;
  auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  return array && !array.empty() && array.size() <= 6 &&
         llvm::all_of(array.asArrayRef(), [](int64_t one) { return one >= 0; });
}

size_t countOf(Attribute extents) {
  auto array = dyn_cast<DenseI64ArrayAttr>(extents);
  return array ? array.size() : 0;
}

Extents asExtents(Attribute attribute, size_t dims) {
  auto array = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!array)
    return Extents(dims, cast<IntegerAttr>(attribute).getInt());
  Extents all(array.asArrayRef().take_front(dims));
  all.resize(dims, array.asArrayRef().back());
  return all;
}

Padding asPadding(Attribute attribute, size_t dims) {
  Extents before = asExtents(attribute, dims);
  if (countOf(attribute) != 2 * dims)
    return {before, before};
  return {before, Extents(cast<DenseI64ArrayAttr>(attribute).asArrayRef().drop_front(dims))};
}

bool hasSavedResult(Operation *op) { return isa<DropoutOp, LstmOp, GruOp, MoeExpertsOp, FlashAttentionOp>(op); }

bool isMovable(Operation *op) { return isa<DropoutOp>(op) || isMemoryEffectFree(op); }

llvm::StringRef nameOf(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(DnnDialect::kNameAttr);
  return name ? name.getValue() : llvm::StringRef();
}

Phase phaseOf(Operation *op) {
  auto phase = op->getAttrOfType<PhaseAttr>(DnnDialect::kPhaseAttr);
  return phase ? phase.getValue() : Phase::Forward;
}

} // namespace accord::dnn

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
