// Cycles that no schedule undercuts which agrees with what is decided of it.
#pragma once
#include "lib/microarchitecture/search/ScheduleSpace.h"
#include "lib/microarchitecture/search/WorkBound.h"

namespace accord::microarchitecture {

struct PointBound {
  Cycles cycles = 0;
  double pressure = 0; ///< WorkBound::pressure: tells apart what has equal bounds
};

/// Counts what every completion of a point executes at least, and asks WorkBound. With n(l) instructions along loop l,
/// blocks of b(l), larger steps of s(l), and p(l) = ceil(n(l) / b(l)) blocks:
///
/// - products: the product of all n, whatever the blocks are.
/// - loads of an operand: each block of the loops that move it touches parts of it. Over all blocks these are the
/// product
///   of n over those loops where each moves a dimension of its own. Where two loops move one dimension by x and y
///   elements an instruction, parts fall together: blocks of i and k instructions touch i * k - max(0, i - a) * max(0,
///   k - b) parts, a = y / gcd(x, y), b = x / gcd(x, y), which is summed over all blocks. All that is loaded again for
///   each block of the loops that do not move it, except of those in the run: the innermost levels up to the first that
///   moves it; of a loop whose larger step is outside of the run, ceil(n / s) times.
/// - results: the same, stored as often, and loaded as often unless all of each sum is added in its register; then
///   set to zero in it. Else all of the result is set to zero in memory, unless it begins with
///   another tensor.
/// - the block of full size in the loops of full size is executed E times, the product over all loops of
///   floor(n / s) * (s / b) (floor(n / b) with one step): so many iterations the innermost loop has, with its counter
///   and branch, and with a step of the address of each tensor that the loop moves. If that is two or more of its own
///   loop, it is a loop in the blocks of smaller size of the others, too: they count with p. The levels that are
///   decided around it have their own iterations.
/// - in this block each of P parts of the result is in a register of its own, and each product is added there by an
///   instruction that waits for the one before: E * (products of a block) / P times the time of one, unless the file is
///   renamed. P is at most the registers that there are.
///
/// Where pieces of tensors are copied to buffers, only products, loads of operands and stores count: loops are others.
/// What is open counts with the choice that makes each of these the smallest.
class ScheduleBound {
public:
  ScheduleBound(const ScheduleSpace &space, const Microarchitecture &machine);

  /// `point.shape` is decided.
  PointBound of(const SchedulePoint &point) const;
  const WorkBound &work() const { return bound; }

private:
  struct Shape {
    Work multiply, clearStore;
    std::array<Work, 3> load; ///< of all lanes
    std::array<Work, 3> rest; ///< of the last ones along the loop of lanes, where these are fewer
    Work store, restStore;
    bool hasRest = false;
    std::array<bool, 3> pointer = {false, false, false};
    int64_t clears = 0;        ///< stores that set all of the result to zero
    Cycles chain = 0;          ///< of an addition to a register; 0: no chain
    bool addsInMemory = false; ///< a loop that reduces moves the result
  };
  struct Sizes { ///< of a loop, over all choices
    int64_t pieces = 1, coarse = 1, full = 1, covered = 1;
  };

  Shape shapeOf(const ScheduleShape &shape) const;
  Instruction prototype(OpcodeRole role, int64_t columns, int32_t bytes) const;
  Work workOf(OpcodeRole role, int64_t columns, int32_t bytes) const;
  std::vector<Sizes> sizesOf(const SchedulePoint &point) const;
  __int128 partsOf(int tensor, const SchedulePoint &point) const;
  /// How often the parts of a tensor are loaded, for what is certain.
  __int128 timesOf(int tensor, const SchedulePoint &point, const std::vector<Sizes> &sizes) const;
  void addTensor(int tensor, const SchedulePoint &point, const std::vector<Sizes> &sizes, WorkTotals &totals) const;
  void addResult(const SchedulePoint &point, const std::vector<Sizes> &sizes, WorkTotals &totals) const;
  void addLoops(const SchedulePoint &point, const std::vector<Sizes> &sizes, WorkTotals &totals) const;
  Cycles chainOf(const SchedulePoint &point, const std::vector<Sizes> &sizes) const;
  /// Whether all of each sum is added in a register; nothing: not known yet.
  std::optional<bool> staysInRegister(const SchedulePoint &point, const std::vector<Sizes> &sizes) const;
  bool isRun(int tensor, const SchedulePoint &point, Index level) const;
  bool isClosed(int tensor, const SchedulePoint &point) const;

  const ScheduleSpace &space;
  const Microarchitecture &machine;
  WorkBound bound;
  Work control, move, setCounter; ///< of an iteration: counter and branch; of an address that moves; of a loop
  bool hasControl = false;
  Index storage = kNone; ///< where tensors are for certain
  std::vector<Shape> shapes;
};

} // namespace accord::microarchitecture
