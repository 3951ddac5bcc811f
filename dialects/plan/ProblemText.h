// The parts of a problem that have a syntax of their own. An attribute here is valid as its parser
// makes it; the verifiers check what came another way.
#pragma once
#include "dialects/plan/PlanDialect.h"

/// An array of modes: dictionaries of `name`, `duration`, `uses` and `consumes` (arrays of a name and
/// an amount), and `absent`.
mlir::ParseResult parseModes(mlir::OpAsmParser &parser, mlir::ArrayAttr &modes);
void printModes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::ArrayAttr modes);

/// An array of readers: arrays of a task, and perhaps one in whose place it reads another copy.
mlir::ParseResult parseReaders(mlir::OpAsmParser &parser, mlir::ArrayAttr &readers);
void printReaders(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::ArrayAttr readers);

/// `0-1, 2-0`
mlir::ParseResult parsePairs(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &pairs);
void printPairs(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::DenseI64ArrayAttr pairs);
