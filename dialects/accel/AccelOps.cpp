// The dialect, and how its operations print. What must hold is in AccelVerify.cpp.
#include "dialects/accel/AccelDialect.h"
#include "dialects/interfaces/Word.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace accord::accel;

#include "dialects/accel/AccelDialect.cpp.inc"

void AccelDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/accel/AccelOps.cpp.inc"
      >();
}

std::optional<int64_t> accord::accel::instancesOf(Attribute count) {
  if (!count)
    return 1;
  auto integer = dyn_cast<IntegerAttr>(count);
  return integer ? std::optional(integer.getInt()) : std::nullopt;
}

/// `[2]`, `[#accel.choice<…>]`; nothing for one.
static ParseResult parseCount(OpAsmParser &parser, Attribute &count) {
  if (failed(parser.parseOptionalLSquare()))
    return success();
  return failure(parser.parseAttribute(count) || parser.parseRSquare());
}
static void printCount(OpAsmPrinter &printer, Operation *, Attribute count) {
  if (!count)
    return;
  printer << " [";
  if (auto integer = dyn_cast<IntegerAttr>(count))
    printer << integer.getInt();
  else
    printer << count;
  printer << "]";
}

/// `{key = value, …}`; nothing when there is none.
static ParseResult parseEntries(OpAsmParser &parser, DictionaryAttr &entries) {
  NamedAttrList list;
  if (parser.parseOptionalAttrDict(list))
    return failure();
  entries = list.getDictionary(parser.getContext());
  return success();
}
static void printEntries(OpAsmPrinter &printer, Operation *, DictionaryAttr entries) {
  if (!entries.empty())
    printer << " " << entries;
}

static ParseResult parseWithEntries(OpAsmParser &parser, DictionaryAttr &entries) {
  if (succeeded(parser.parseOptionalKeyword("with")))
    return parseEntries(parser, entries);
  entries = DictionaryAttr::get(parser.getContext());
  return success();
}
static void printWithEntries(OpAsmPrinter &printer, Operation *, DictionaryAttr entries) {
  if (!entries.empty())
    printer << " with " << entries;
}

/// `[@hbm] -> [@vmem] -> [@mxu, @vpu]`
static ParseResult parseStops(OpAsmParser &parser, ArrayAttr &stops) {
  SmallVector<Attribute> all;
  do {
    ArrayAttr stop;
    if (parser.parseAttribute(stop))
      return failure();
    all.push_back(stop);
  } while (succeeded(parser.parseOptionalArrow()));
  stops = parser.getBuilder().getArrayAttr(all);
  return success();
}
static void printStops(OpAsmPrinter &printer, Operation *, ArrayAttr stops) {
  llvm::interleave(stops, printer, " -> ");
}

#define GET_OP_CLASSES
#include "dialects/accel/AccelOps.cpp.inc"
