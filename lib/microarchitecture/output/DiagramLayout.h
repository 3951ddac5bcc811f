// Where the blocks and lines of a block diagram are drawn.
#pragma once
#include "lib/microarchitecture/output/DiagramParts.h"

namespace accord::microarchitecture {

struct DiagramPoint {
  int32_t x = 0, y = 0;
  bool operator==(const DiagramPoint &) const = default;
};
struct DiagramBox {
  int32_t x = 0, y = 0, width = 0, height = 0;
};

/// Lines between blocks that carry the same: an edge of instructions, or all that is read from and written to one
/// register file or memory.
struct DiagramNet {
  DiagramEdge::Kind kind = DiagramEdge::Kind::Forward; ///< Reads also of what writes, Loads also of what stores
  struct Line {
    std::vector<DiagramPoint> points; ///< corners; each piece is horizontal or vertical
    std::string title = {};           ///< "mau loads from dmem"; empty for what several edges share
  };
  std::vector<Line> lines = {};
  struct Head {
    DiagramPoint tip;
    bool pointsLeft = false;
  };
  std::vector<Head> heads = {};
  std::vector<DiagramPoint> joins = {};
};

struct DiagramLayout {
  int32_t width = 0, height = 0;
  std::vector<DiagramBox> boxes; ///< by block of the diagram
  std::vector<DiagramNet> nets;
};

/// Columns from left to right: fetch and stages by their longest way from fetch, with register files below the last of
/// them; execute stages with their units in them; memories, each one behind its caches. Lines run in the channels
/// between columns, at right angles, and pass a column between its boxes. In a column the order is that of the mean of
/// the neighbours (K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
/// structures", 1981), the places are the nearest to it that do not overlap. Each net has a vertical track of its own,
/// in an order of few crossings; tracks are shared where nets do not meet (the left-edge algorithm, A. Hashimoto, J.
/// Stevens, "Wire routing by optimizing channel assignment within large apertures", 1971).
DiagramLayout layoutOf(const Diagram &diagram);

/// Pixels of a line of text, and from the top of a box to the first baseline.
inline constexpr int32_t kLineHeight = 14, kFirstLine = 17, kBoxPadding = 10;
/// Pixels of the head of an arrow.
inline constexpr int32_t kHead = 6;

} // namespace accord::microarchitecture
