#include "dialects/plan/ProblemText.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

/// A list of entries, each an array of what `one` parses.
static ParseResult parseEntries(OpAsmParser &parser, ArrayAttr &entries,
                                function_ref<ParseResult(SmallVectorImpl<Attribute> &)> one) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        SmallVector<Attribute> entry;
        if (one(entry))
          return failure();
        list.push_back(parser.getBuilder().getArrayAttr(entry));
        return success();
      }))
    return failure();
  entries = parser.getBuilder().getArrayAttr(list);
  return success();
}
static ParseResult parseName(OpAsmParser &parser, SmallVectorImpl<Attribute> &entry) {
  StringAttr name;
  if (parser.parseAttribute(name))
    return failure();
  entry.push_back(name);
  return success();
}

static ParseResult parseAmounts(OpAsmParser &parser, NamedAttrList &mode, StringRef what) {
  ArrayAttr amounts;
  if (parseEntries(parser, amounts, [&](SmallVectorImpl<Attribute> &entry) -> ParseResult {
        int64_t amount = 0;
        if (parseName(parser, entry) || parser.parseInteger(amount))
          return failure();
        entry.push_back(parser.getBuilder().getI64IntegerAttr(amount));
        return success();
      }))
    return failure();
  mode.set(what, amounts);
  return success();
}

ParseResult parseModes(OpAsmParser &parser, ArrayAttr &modes) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> list;
  do {
    NamedAttrList mode;
    StringAttr name;
    if (parser.parseOptionalAttribute(name).has_value())
      mode.set("name", name);
    if (succeeded(parser.parseOptionalKeyword("absent"))) {
      mode.set("absent", builder.getUnitAttr());
    } else {
      int64_t duration = 0;
      if (parser.parseKeyword("duration") || parser.parseInteger(duration))
        return failure();
      mode.set("duration", builder.getI64IntegerAttr(duration));
      for (StringRef what : {"uses", "consumes"})
        if (succeeded(parser.parseOptionalKeyword(what)) && parseAmounts(parser, mode, what))
          return failure();
    }
    list.push_back(mode.getDictionary(builder.getContext()));
  } while (succeeded(parser.parseOptionalKeyword("or")));
  modes = builder.getArrayAttr(list);
  return success();
}

void printModes(OpAsmPrinter &printer, Operation *, ArrayAttr modes) {
  llvm::interleave(
      modes.getAsRange<DictionaryAttr>(), printer,
      [&](DictionaryAttr mode) {
        if (auto name = mode.getAs<StringAttr>("name")) {
          printer.printAttributeWithoutType(name);
          printer << ' ';
        }
        if (mode.contains("absent")) {
          printer << "absent";
          return;
        }
        printer << "duration " << mode.getAs<IntegerAttr>("duration").getInt();
        for (StringRef what : {"uses", "consumes"})
          if (auto amounts = mode.getAs<ArrayAttr>(what)) {
            printer << ' ' << what << ' ';
            llvm::interleaveComma(amounts.getAsRange<ArrayAttr>(), printer, [&](ArrayAttr use) {
              printer.printAttributeWithoutType(use[0]);
              printer << ' ' << cast<IntegerAttr>(use[1]).getInt();
            });
          }
      },
      " or ");
}

ParseResult parseReaders(OpAsmParser &parser, ArrayAttr &readers) {
  return parseEntries(parser, readers, [&](SmallVectorImpl<Attribute> &entry) -> ParseResult {
    if (parseName(parser, entry))
      return failure();
    return succeeded(parser.parseOptionalKeyword("unless")) ? parseName(parser, entry) : success();
  });
}

void printReaders(OpAsmPrinter &printer, Operation *, ArrayAttr readers) {
  llvm::interleaveComma(readers.getAsRange<ArrayAttr>(), printer, [&](ArrayAttr reader) {
    printer.printAttributeWithoutType(reader[0]);
    if (reader.size() > 1) {
      printer << " unless ";
      printer.printAttributeWithoutType(reader[1]);
    }
  });
}

ParseResult parsePairs(OpAsmParser &parser, DenseI64ArrayAttr &pairs) {
  SmallVector<int64_t> list;
  auto one = [&]() -> ParseResult {
    int64_t a = 0, b = 0;
    // Two numbers with a minus between them: the second is read as negative.
    if (parser.parseInteger(a))
      return failure();
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseInteger(b))
      return failure();
    if (b > 0)
      return parser.emitError(at, "expected '-' and the mode of the other task");
    list.append({a, -b});
    return success();
  };
  if (failed(parser.parseOptionalKeyword("nothing")) && parser.parseCommaSeparatedList(one))
    return failure();
  pairs = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

void printPairs(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr pairs) {
  if (pairs.empty())
    printer << "nothing";
  for (int64_t i = 0; i + 1 < pairs.size(); i += 2)
    printer << (i ? ", " : "") << pairs[i] << "-" << pairs[i + 1];
}
