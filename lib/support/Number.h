// How a number in a file, a table, a document or on the command line is read: the one place that says which are none.
#pragma once
#include "lib/support/Rational.h"
#include "lib/support/Result.h"
#include <limits>

namespace accord {

/// The limits that a whole number has to keep; both belong to them.
struct WholeRange {
  int64_t min = 0, max = std::numeric_limits<int64_t>::max();
};

/// The exact value of "12", "1_000", "-1.5", "2e-3". Errors, without a place: A0301 it is no number; A0205 it has more
/// digits than are computed with, it lies beyond the largest double (1.8e308), or it is not 0 but no double is nearer
/// to it than 0 (below 2.5e-324).
Result<Rational> parseNumber(llvm::StringRef text);
/// The nearest double, of what `parseNumber` takes.
Result<double> parseReal(llvm::StringRef text);
/// A whole number in decimal digits, with '-' where the range has negative ones. Errors: A0301 it is no number; A0308
/// it is a fraction; A0302 it is out of range, whose ends are named.
Result<int64_t> parseWhole(llvm::StringRef text, WholeRange range = {});
/// What of `text` is the number that it begins with: "1.5e3" of "1.5e3 s". Its exponent has digits: in "2 e" the e is a
/// unit.
llvm::StringRef leadingNumber(llvm::StringRef text);
/// The same of a hexadecimal number: "0x1000" of "0x1000 B"; empty where none begins. Its first digit stands directly
/// behind "0x", and '_' may stand between digits.
llvm::StringRef leadingHexadecimal(llvm::StringRef text);
/// Error A0205 of an exact value that is not 0, but infinite or 0 as a double; `shown` is how it is named.
Result<void> expectDouble(const Rational &value, llvm::StringRef shown);

} // namespace accord
