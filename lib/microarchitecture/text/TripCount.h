// How often loops of assembly run, and whether what registers hold in them is what integers are.
#pragma once
#include "lib/microarchitecture/text/ImportAssembly.h"
#include "lib/microarchitecture/text/Operands.h"

namespace accord::microarchitecture {

/// Whether a branch is taken, whose left side minus right side this is.
bool holds(IntegerMeaning branch, int64_t difference);

/// The first iteration k >= 0 in which a branch that compares base + move * k is taken (`isTaken`), or is not; -1 where
/// there is none.
int64_t iterationsUntil(IntegerMeaning branch, bool isTaken, int64_t base, int64_t move);

/// The values that a line makes, or that it compares, over all iterations of the loops around it. An integer of a
/// register of b bits is itself from -2^(b-1) to 2^b - 1 (one of these, by how it is read): what a branch compares must
/// be within one of the two readings.
class ValueRange {
public:
  ValueRange(size_t line, int32_t bits, const LinearForm &value) : line(line), bits(bits), left(value) {}
  ValueRange(size_t line, int32_t bits, const LinearForm &left, const LinearForm &right, bool isSigned)
      : line(line), bits(bits), left(left), right(right), isSigned(isSigned), isCompared(true) {}

  /// Over all iterations of the loop at this depth.
  void close(int64_t depth, int64_t iterations) { left.close(depth, iterations), right.close(depth, iterations); }
  /// What is wrong when all loops are closed; empty if nothing is.
  std::string wrong() const;

  size_t line;

private:
  struct Extent {
    __int128 low = 0, high = 0;
    std::map<int64_t, int64_t> terms;
    Extent() = default;
    Extent(const LinearForm &form) : low(form.base), high(form.base), terms(form.terms) {}
    void close(int64_t depth, int64_t iterations);
  };

  int32_t bits;
  Extent left, right;
  bool isSigned = false, isCompared = false;
};

} // namespace accord::microarchitecture
