// What a block diagram of a core shows: blocks with their text, and edges between them.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"

namespace accord::microarchitecture {

/// A line of text in a block, on its left and on its right side.
struct DiagramText {
  enum class Look : uint8_t { Title, Plain, Bottleneck } look = Look::Plain;
  std::string left, right = {};
};

/// One part of a machine, or all copies of a part of an array, drawn as one block.
struct DiagramPart {
  enum class Kind : uint8_t { Fetch, Stage, Unit, Registers, Storage } kind = Kind::Stage;
  std::string name;                ///< as it is drawn; of copies in an array "mesh.mac"
  std::vector<Index> members = {}; ///< parts of the machine, of this kind
  Index stage = kNone;             ///< of a unit: the block of the stage that contains it
  std::vector<DiagramText> text = {};
  std::string detail = {}; ///< all of it, for a tooltip
  /// Busy cycles of all cycles of all members, or beats of those that its ports and banks could move; -1: not known.
  double use = -1;
  /// Of copies in an array: those that there are, in the order of rows; `kNoCell` where there is none. A cell of a
  /// large array stands for `step` x `step` copies, and has their mean.
  struct Grid {
    int32_t rows = 0, columns = 0, step = 1;
    std::vector<double> use;
  } grid = {};
  bool isExecute = false, isBottleneck = false;
  double waited = 0; ///< of the bottleneck: share of the cycles in which the oldest instruction is or waits here
  /// How the grid is drawn; one column lies down. Register files have no use, and so no cells.
  struct Matrix {
    int32_t rows = 0, columns = 0, cell = 0; ///< pixels of a cell
  };
  Matrix matrix() const;
};
inline constexpr double kNoCell = -2;

/// Valid UTF-8 without characters that control: what XML does not allow, and what turns the direction of text.
std::string printable(const std::string &text);
/// Digits in groups of three, with narrow spaces.
std::string grouped(__int128 count);
/// Text in pixels, in the widest of the usual fonts.
int32_t textWidth(const std::string &text, double size, bool isBold);
inline constexpr double kTextSize = 10.5, kTitleSize = 12;
/// Pixels within a block that its text may take.
inline constexpr int32_t kMaxText = 236;
/// Pixels between what is on the left and what is on the right of a line, at least.
inline constexpr int32_t kTextGap = 14;

/// An edge between blocks; for copies in arrays it stands for all edges between them.
struct DiagramEdge {
  enum class Kind : uint8_t { Forward, Reads, Writes, Loads, Stores, Behind } kind = Kind::Forward;
  Index from = kNone, to = kNone; ///< blocks: the unit first; of `Behind` the cache first
  int64_t count = 0;
  auto operator<=>(const DiagramEdge &) const = default;
};

struct Diagram {
  std::vector<DiagramPart> parts; ///< fetch, stages, units as their stages try them, register files, memories
  std::vector<DiagramEdge> edges; ///< by kind and blocks
};

/// The kind of part that an instruction waits for, or is in; nothing for the window.
std::optional<DiagramPart::Kind> blockKind(Wait wait);

/// Copies are told by their names, which the language makes of an array: NAME_row_column_part or NAME_column_part.
/// They are one block if they agree in all numbers; units also in their stage. With a timing the block in which the
/// oldest instruction spends the largest part of all cycles is the bottleneck, or without waits in it the block of the
/// highest utilization. Indices that name no part are left out.
Diagram diagramOf(const Microarchitecture &machine, const InstructionTiming *timing);

} // namespace accord::microarchitecture
