// The schedules of a contraction on a machine, as choices that are made one after the other.
#pragma once
#include "lib/microarchitecture/mapping/Contraction.h"

namespace accord::microarchitecture {

struct SpaceOptions {
  int64_t unrolled = 128; ///< products in a block
  /// Whether a loop may have a second, larger step; not said: where the machine has caches or rows. Without them a step
  /// moves the same data.
  std::optional<bool> steps;
};

/// What one instruction covers: lanes or tiles along some loops, and how many instructions go along each loop.
struct ScheduleShape {
  Schedule schedule;                          ///< without levels and blocks
  std::vector<int64_t> chunk, count;          ///< by loop: points of an instruction; instructions
  std::vector<int64_t> whole;                 ///< of these, those with all lanes
  std::array<std::vector<int64_t>, 3> stride; ///< by tensor and loop, in elements; 0: it does not move the tensor
  std::array<OpcodeRole, 4> roles;            ///< loads of first, second and result; the product
  int64_t sumBits = 0;
  int64_t sums = 0, values = 0; ///< registers that results, and that results and operands together, may be in
  /// Where there is one file, it also holds the address of each of these, and counters of loops.
  std::array<bool, 3> pointer = {false, false, false};
  bool counters = false;
  bool isStaged = false; ///< pieces of tensors are copied to buffers
};

/// A schedule, or the schedules that agree in what is decided. Blocks and steps are counted in instructions.
struct SchedulePoint {
  static constexpr Index kOpen = -2;
  Index shape = kOpen;
  Index inner = kOpen;              ///< innermost loop; kNone: all of it is one block
  std::vector<int64_t> block, step; ///< by loop; 0: open; a step of all of the loop: it has none
  std::vector<Index> order;         ///< levels from the inside: 2 * loop, 2 * loop + 1 for its larger step
  int64_t ahead = kOpen;            ///< Schedule::ahead
  bool operator==(const SchedulePoint &) const = default;
};

/// Rows of choices, in this order; a new field of Schedule is a new row:
///
/// - shape: tiles and loops that they go along, lanes and their loop, with and without preloads, or one product after
///   the other, as far as the machine has opcodes for it;
/// - innermost loop: what stays in registers depends on it;
/// - block of each loop: all divisors of what there is, and up to 16 also what does not divide it but needs fewer
/// blocks
///   than less; no more products than `unrolled`, and no more results and held operands than there are registers;
/// - larger steps: the blocks times 2, 4, 8, …, at most three loops having one;
/// - order of the other levels, from the inside. Loops of one iteration are no levels, and two steps of one loop do not
///   follow each other: they would be one;
/// - products that loads stand ahead: 0, and where the block loads an operand 1, 4, 16, … below its products, as far as
///   the registers suffice.
///
/// Where tensors must be copied to buffers, that is done with the largest pieces that fit (`stagePieces`).
/// So every schedule is reached in one way, and none stands for the same nest as another one.
class ScheduleSpace {
public:
  ScheduleSpace(const Contraction &contraction, const Microarchitecture &machine, const SpaceOptions &options);

  const Contraction &of() const { return contraction; }
  const std::vector<ScheduleShape> &shapes() const { return all; }
  /// Nothing is decided.
  SchedulePoint root() const { return {}; }
  /// The choices of the first row that is open; nothing: no row is, it is one schedule.
  std::optional<std::vector<SchedulePoint>> children(const SchedulePoint &point) const;
  Schedule scheduleOf(const SchedulePoint &point) const;
  /// A schedule of the space that is near another one, for local search: others differ in one choice or two.
  std::vector<SchedulePoint> neighbours(const SchedulePoint &point) const;
  /// The point that stands for a schedule; nothing if none does.
  std::optional<SchedulePoint> pointOf(const Schedule &schedule) const;

  const std::vector<int64_t> &blocksOf(Index shape, Index loop) const { return blocks[shape][loop]; }
  /// Larger steps of a loop with such a block; what stands for none is the last.
  std::vector<int64_t> stepsOf(const ScheduleShape &shape, Index loop, int64_t block) const;
  /// Parts of a tensor that the first block touches, each loaded once; loops that are open count as 1.
  int64_t partsIn(const ScheduleShape &shape, int tensor, const std::vector<int64_t> &block) const;
  /// Elements of a dimension's two terms that fall together: how many pairs of steps lead from one to the other.
  /// {0, 0}: none do.
  std::pair<int64_t, int64_t> overlap(const ScheduleShape &shape, const ContractionTensor::Dimension &dimension) const;
  const ContractionTensor &tensor(int t) const {
    return t == 0 ? contraction.first : t == 1 ? contraction.second : contraction.result;
  }

private:
  using Row = std::optional<std::vector<SchedulePoint>> (ScheduleSpace::*)(const SchedulePoint &) const;
  std::optional<std::vector<SchedulePoint>> shapeRow(const SchedulePoint &point) const;
  std::optional<std::vector<SchedulePoint>> innerRow(const SchedulePoint &point) const;
  std::optional<std::vector<SchedulePoint>> blockRow(const SchedulePoint &point) const;
  std::optional<std::vector<SchedulePoint>> stepRow(const SchedulePoint &point) const;
  std::optional<std::vector<SchedulePoint>> orderRow(const SchedulePoint &point) const;
  std::optional<std::vector<SchedulePoint>> aheadRow(const SchedulePoint &point) const;

  void addShapes(const Microarchitecture &machine);
  void addTiles(const Microarchitecture &machine, const OpcodeRole &role);
  void add(Schedule schedule, const Microarchitecture &machine);
  void countRegisters(ScheduleShape &shape, const Microarchitecture &machine, bool isFused) const;
  /// Whether two parts of the result in a block of whole instructions have elements in common, as far as blocks are
  /// decided: then there is no kernel. Parts have some in common if they have some positions of each dimension in
  /// common.
  bool overlapsInResult(const ScheduleShape &shape, const std::vector<int64_t> &block) const;
  /// No more products and registers than there are, and no results that overlap, as far as blocks are decided.
  bool fits(const SchedulePoint &point) const;
  /// Operands that are in registers at once, at most, in a block; all blocks are decided. While it is open, loads stand
  /// directly before their use.
  int64_t operandsAtOnce(const SchedulePoint &point) const;
  std::vector<int64_t> aheadOf(const SchedulePoint &point) const;
  /// Levels that a point with all blocks and steps has.
  std::vector<Index> levelsOf(const SchedulePoint &point) const;
  /// The largest block of a loop that is no larger.
  int64_t atMost(Index shape, Index loop, int64_t size) const;
  /// Orders what a changed block or step left; false if it is in no space.
  bool repair(SchedulePoint &point) const;

  const Contraction &contraction;
  const Microarchitecture &machine;
  SpaceOptions options;
  bool hasSteps = false;
  std::vector<ScheduleShape> all;
  std::vector<std::vector<std::vector<int64_t>>> blocks; ///< by shape and loop
};

} // namespace accord::microarchitecture
