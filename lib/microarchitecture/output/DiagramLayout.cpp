#include "lib/microarchitecture/output/DiagramLayout.h"
#include "lib/support/StableSort.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::microarchitecture {
namespace {

using PartKind = DiagramPart::Kind;
using Edge = DiagramEdge::Kind;

// Boxes begin and end at multiples of kPitch. Lines leave a box on its right side at multiples of kPitch, and enter one
// on its left side half a pitch beside, or straight; so two of them never run upon each other.
constexpr int32_t kPitch = 12, kGap = 24, kInset = 12, kTrack = 10, kChannelMargin = 20;

int32_t up(int32_t value) { return (value + kPitch - 1) / kPitch * kPitch; }

/// A box in a column, or a place where a net passes it.
struct Node {
  Index part = kNone; ///< none: a net passes
  int32_t column = 0, y = 0, height = 0, desired = 0;
  int32_t order = 0;
  int32_t pinTop = 0, pinBottom = 0; ///< of lines, from its top
};

struct Pin {
  Index node = kNone;
  int32_t y = 0;
  bool in = false, out = false; ///< data or instructions that enter the box, or leave it
  std::string title = {};
};

/// A net between a column and the next one.
struct Piece {
  Index net = kNone;
  int32_t channel = 0; ///< between columns `channel` and `channel` + 1
  std::vector<Pin> left = {}, right = {};
  int32_t track = kNone;
  bool isStraight() const { return left.size() == 1 && right.size() == 1 && left[0].y == right[0].y; }
  std::pair<int32_t, int32_t> span() const {
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (const auto *pins : {&left, &right})
      for (const Pin &pin : *pins)
        low = std::min(low, pin.y), high = std::max(high, pin.y);
    return {low, high};
  }
};

/// Crossings of two nets where the track of `a` is left of that of `b`.
int64_t crossings(const Piece &a, const Piece &b) {
  const auto [aLow, aHigh] = a.span();
  const auto [bLow, bHigh] = b.span();
  int64_t count = 0;
  for (const Pin &pin : b.left)
    count += aLow < pin.y && pin.y < aHigh;
  for (const Pin &pin : a.right)
    count += bLow < pin.y && pin.y < bHigh;
  return count;
}

class Layouter {
public:
  explicit Layouter(const Diagram &diagram) : diagram(diagram) {}

  DiagramLayout run() {
    made.boxes.resize(diagram.parts.size());
    nodeOf.assign(diagram.parts.size(), kNone);
    columns();
    connect();
    sizes();
    place();
    pins();
    tracks();
    coordinates();
    draw();
    return std::move(made);
  }

private:
  const DiagramPart &part(Index p) const { return diagram.parts[p]; }

  // -- Columns

  void columns() {
    column.assign(diagram.parts.size(), 0);
    // Longest ways; more rounds than stages are only in a circle.
    auto raise = [&](Edge kind, size_t rounds) {
      for (bool changed = true; changed && rounds > 0; --rounds) {
        changed = false;
        for (const DiagramEdge &edge : diagram.edges)
          if (edge.kind == kind && column[edge.to] <= column[edge.from] && edge.to != edge.from)
            column[edge.to] = column[edge.from] + 1, changed = true;
      }
    };
    size_t stages = 0, storages = 0;
    for (const DiagramPart &part : diagram.parts)
      stages += part.kind == PartKind::Stage, storages += part.kind == PartKind::Storage;
    raise(Edge::Forward, stages);
    execute = 1;
    for (Index p = 0; p < Index(diagram.parts.size()); ++p)
      if (part(p).kind == PartKind::Stage)
        execute = std::max(execute, column[p]);
    for (Index p = 0; p < Index(diagram.parts.size()); ++p)
      switch (part(p).kind) {
      case PartKind::Fetch:
        break;
      case PartKind::Stage:
        column[p] = part(p).isExecute ? execute : column[p];
        break;
      case PartKind::Unit:
        column[p] = execute;
        break;
      case PartKind::Registers:
        column[p] = execute - 1;
        break;
      case PartKind::Storage:
        column[p] = execute + 1;
        break;
      }
    raise(Edge::Behind, storages);
    columnCount = *std::ranges::max_element(column) + 1;
    for (Index p = 0; p < Index(diagram.parts.size()); ++p) {
      nodeOf[p] = Index(nodes.size());
      nodes.push_back({.part = p, .column = column[p]});
    }
  }

  // -- Nets

  std::string title(const DiagramEdge &edge) const {
    constexpr const char *kWords[] = {"goes to", "reads", "writes", "loads from", "stores to", "is a cache of"};
    return fmt::format("{} {} {}{}", part(edge.from).name, kWords[size_t(edge.kind)], part(edge.to).name,
                       edge.count > 1 ? fmt::format(" ({} edges)", edge.count) : "");
  }

  /// A net's piece in a channel, and lanes in the columns up to that of the box at its right end.
  void through(Index net, Piece first, Pin last, int32_t until) {
    for (int32_t c = first.channel; c + 1 < until; ++c) {
      const Index lane = Index(nodes.size());
      nodes.push_back({.part = kNone, .column = c + 1});
      first.right.push_back({lane});
      pieces.push_back(std::move(first));
      first = {net, c + 1, {{lane}}, {}};
    }
    first.right.push_back(std::move(last));
    pieces.push_back(std::move(first));
  }

  Index net(Edge kind) {
    made.nets.push_back({kind});
    return Index(made.nets.size()) - 1;
  }

  void connect() {
    std::map<Index, std::map<Index, Pin>> files, storages;        // by target and unit
    std::map<std::pair<Index, int32_t>, std::vector<Pin>> caches; // by what is behind and column
    for (const DiagramEdge &edge : diagram.edges) {
      if (edge.kind == Edge::Forward) {
        if (column[edge.from] >= column[edge.to])
          continue; // a circle, which no checked machine has
        const Index made = net(Edge::Forward);
        through(made, {made, column[edge.from], {{nodeOf[edge.from], 0, false, false, title(edge)}}, {}},
                {nodeOf[edge.to], 0, true, false, title(edge)}, column[edge.to]);
      } else if (edge.kind == Edge::Behind) {
        if (column[edge.from] < column[edge.to])
          caches[{edge.to, column[edge.from]}].push_back({nodeOf[edge.from], 0, true, true, title(edge)});
      } else {
        const bool isFile = edge.kind == Edge::Reads || edge.kind == Edge::Writes;
        Pin &pin = (isFile ? files : storages)[edge.to][edge.from];
        pin.node = nodeOf[edge.from];
        (edge.kind == Edge::Reads || edge.kind == Edge::Loads ? pin.in : pin.out) = true;
        pin.title += (pin.title.empty() ? "" : "\n") + title(edge);
      }
    }
    auto atTarget = [&](Index target, const std::map<Index, Pin> &units) {
      Pin pin{nodeOf[target]};
      for (const auto &[unit, of] : units)
        pin.in |= of.out, pin.out |= of.in;
      return pin;
    };
    for (const auto &[file, units] : files) {
      Piece piece{net(Edge::Reads), execute - 1, {atTarget(file, units)}, {}};
      for (const auto &[unit, pin] : units)
        piece.right.push_back(pin);
      pieces.push_back(std::move(piece));
    }
    for (const auto &[storage, units] : storages) {
      const Index made = net(Edge::Loads);
      Piece piece{made, execute, {}, {}};
      for (const auto &[unit, pin] : units)
        piece.left.push_back(pin);
      through(made, std::move(piece), atTarget(storage, units), column[storage]);
    }
    for (auto &[of, pins] : caches) {
      const Index made = net(Edge::Behind);
      through(made, {made, of.second, std::move(pins), {}}, {nodeOf[of.first], 0, true, true}, column[of.first]);
    }
  }

  // -- Sizes

  void sizes() {
    std::vector<std::pair<int32_t, int32_t>> count(nodes.size()); // lines on the left and on the right side
    for (const Piece &piece : pieces) {
      for (const Pin &pin : piece.left)
        ++count[pin.node].second;
      for (const Pin &pin : piece.right)
        ++count[pin.node].first;
    }
    width.assign(columnCount, 0);
    for (Node &node : nodes) {
      const auto [left, right] = count[&node - nodes.data()];
      const int32_t lines = (std::max(left, right) + 1) * kPitch;
      if (node.part == kNone) {
        node.height = 2 * kPitch, node.pinBottom = node.height;
        continue;
      }
      const DiagramPart &is = part(node.part);
      int32_t wide = 96;
      for (const DiagramText &line : is.text) {
        const bool isBold = line.look != DiagramText::Look::Plain;
        const double size = line.look == DiagramText::Look::Title ? kTitleSize : kTextSize;
        const int32_t left = textWidth(line.left, size, isBold), right = textWidth(line.right, size, isBold);
        wide = std::max(wide, left + right + (left > 0 && right > 0 ? kTextGap : 0));
      }
      const int32_t cell = is.matrixCell();
      int32_t high = kFirstLine + int32_t(is.text.size() - 1) * kLineHeight + 8;
      if (cell > 0) {
        wide = std::max(wide, cell * ((is.grid.columns + is.grid.step - 1) / is.grid.step));
        high += cell * ((is.grid.rows + is.grid.step - 1) / is.grid.step) + 6;
      }
      node.height = node.pinBottom = up(std::max(high, lines));
      wide += 2 * kBoxPadding + (is.stage != kNone || is.isExecute ? 2 * kInset : 0);
      width[node.column] = std::max(width[node.column], up(wide));
    }
  }

  // -- Places

  /// The places nearest to what is desired, in order and without overlap, from `top` on (regression under an order, by
  /// pooling of neighbours).
  void settle(const std::vector<Index> &order, int32_t top) {
    struct Block {
      int64_t sum = 0;
      int32_t count = 0;
      int64_t mean() const { return sum >= 0 ? sum / count : -((-sum + count - 1) / count); }
    };
    std::vector<Block> blocks;
    int32_t before = 0;
    for (Index n : order) {
      blocks.push_back({int64_t(nodes[n].desired) - nodes[n].height / 2 - before, 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
        blocks[blocks.size() - 2].sum += blocks.back().sum, blocks[blocks.size() - 2].count += blocks.back().count;
        blocks.pop_back();
      }
      before += nodes[n].height + kGap;
    }
    size_t at = 0;
    before = 0;
    int32_t end = top;
    for (const Block &block : blocks)
      for (int32_t i = 0; i < block.count; ++i, ++at) {
        Node &node = nodes[order[at]];
        const int32_t y = int32_t(std::max<int64_t>(block.mean() + before, 0)) / kPitch * kPitch;
        node.y = std::max(y, end);
        end = node.y + node.height + kGap;
        before += node.height + kGap;
      }
  }

  int32_t center(Index n) const { return nodes[n].y + nodes[n].height / 2; }

  /// Places the execute stages and their units, from the top.
  void placeUnits() {
    int32_t y = 0;
    auto unitsOf = [&](Index stage, int32_t at) {
      for (Index u = 0; u < Index(diagram.parts.size()); ++u)
        if (part(u).kind == PartKind::Unit && part(u).stage == stage) {
          nodes[nodeOf[u]].y = at;
          at += nodes[nodeOf[u]].height + kPitch;
        }
      return at;
    };
    for (Index p = 0; p < Index(diagram.parts.size()); ++p) {
      Node &node = nodes[nodeOf[p]];
      if (part(p).kind != PartKind::Stage || column[p] != execute)
        continue;
      const int32_t head = node.height;
      node.y = y, node.pinBottom = head;
      if (part(p).isExecute)
        node.height = unitsOf(p, y + head) - y;
      y += node.height + kGap;
    }
    unitsOf(kNone, y);
  }

  void place() {
    placeUnits();
    // Stages before them, from the right: by the mean of where they go, all from the top.
    std::vector<std::vector<Index>> front(columnCount), files(columnCount), behind(columnCount);
    for (Index n = 0; n < Index(nodes.size()); ++n) {
      const Node &node = nodes[n];
      const bool isUnit = node.part != kNone && part(node.part).kind == PartKind::Unit;
      if (node.part != kNone && part(node.part).kind == PartKind::Registers)
        files[node.column].push_back(n);
      else if (node.column < execute)
        front[node.column].push_back(n);
      else if (node.column > execute)
        behind[node.column].push_back(n);
      else if (!isUnit)
        nodes[n].order = n;
    }
    orderFront(front);
    for (int32_t c = 0; c < execute; ++c) {
      int32_t y = 0;
      for (Index n : front[c]) {
        nodes[n].y = y;
        y += nodes[n].height + kGap;
      }
      settleBy(files[c], y, true);
    }
    for (int32_t c = execute + 1; c < columnCount; ++c)
      settleBy(behind[c], 0, false);
  }

  /// Orders stages and lanes of each column by the mean of their neighbours, to and fro.
  void orderFront(std::vector<std::vector<Index>> &front) {
    auto number = [&](const std::vector<Index> &of) {
      for (size_t i = 0; i < of.size(); ++i)
        nodes[of[i]].order = int32_t(i);
    };
    for (const auto &of : front)
      number(of);
    auto sweep = [&](int32_t c, bool fromLeft) {
      std::map<Index, std::pair<double, int>> sum;
      for (const Piece &piece : pieces) {
        if (made.nets[piece.net].kind != Edge::Forward)
          continue;
        const Index here = fromLeft ? piece.right[0].node : piece.left[0].node;
        const Index there = fromLeft ? piece.left[0].node : piece.right[0].node;
        if (nodes[here].column == c)
          sum[here].first += nodes[there].order, ++sum[here].second;
      }
      stableSort(front[c], [&](Index a, Index b) {
        auto mean = [&](Index n) {
          const auto at = sum.find(n);
          return at == sum.end() ? double(nodes[n].order) : at->second.first / at->second.second;
        };
        return mean(a) < mean(b);
      });
      number(front[c]);
    };
    for (int round = 0; round < 3; ++round) {
      for (int32_t c = execute - 1; c >= 0; --c)
        sweep(c, false);
      for (int32_t c = 1; c < execute; ++c)
        sweep(c, true);
    }
  }

  /// Places boxes beside what they are joined to, on their right or on their left side.
  void settleBy(std::vector<Index> &order, int32_t top, bool rightSide) {
    for (Index n : order) {
      int64_t sum = 0, count = 0;
      for (const Piece &piece : pieces) {
        const auto &own = rightSide ? piece.left : piece.right, &others = rightSide ? piece.right : piece.left;
        if (std::ranges::any_of(own, [&](const Pin &pin) { return pin.node == n; }))
          for (const Pin &pin : others)
            sum += center(pin.node), ++count;
      }
      nodes[n].desired = count > 0 ? int32_t(sum / count) : 0;
    }
    stableSort(order, [&](Index a, Index b) { return nodes[a].desired < nodes[b].desired; });
    settle(order, top);
  }

  // -- Pins

  void pins() {
    std::vector<std::vector<std::pair<Piece *, Pin *>>> left(nodes.size()), right(nodes.size());
    for (Piece &piece : pieces) {
      for (Pin &pin : piece.left)
        left[pin.node].push_back({&piece, &pin});
      for (Pin &pin : piece.right)
        right[pin.node].push_back({&piece, &pin});
    }
    auto meanOf = [&](const std::vector<Pin> &pins) {
      int64_t sum = 0;
      for (const Pin &pin : pins)
        sum += center(pin.node);
      return sum / std::max<int64_t>(int64_t(pins.size()), 1);
    };
    for (Index n = 0; n < Index(nodes.size()); ++n) {
      auto &own = left[n];
      stableSort(own, [&](const auto &a, const auto &b) { return meanOf(a.first->right) < meanOf(b.first->right); });
      const Node &node = nodes[n];
      const bool isTop =
          node.part != kNone && (part(node.part).kind == PartKind::Stage || part(node.part).kind == PartKind::Fetch);
      const int32_t slots = (node.pinBottom - node.pinTop) / kPitch - 1, wanted = int32_t(own.size());
      const int32_t first = isTop ? 0 : std::max(0, (slots - wanted) / 2);
      for (int32_t i = 0; i < wanted; ++i)
        own[i].second->y = node.y + node.pinTop + (first + i + 1) * kPitch;
    }
    rightPins(right);
  }

  void rightPins(std::vector<std::vector<std::pair<Piece *, Pin *>>> &right) {
    std::map<std::pair<int32_t, int32_t>, Index> taken; // by channel and y: the net on the left side
    for (const Piece &piece : pieces)
      for (const Pin &pin : piece.left)
        taken[{piece.channel, pin.y}] = piece.net;
    auto wanted = [](const Piece &piece) {
      int64_t sum = 0;
      for (const Pin &pin : piece.left)
        sum += pin.y;
      return int32_t(sum / std::max<int64_t>(int64_t(piece.left.size()), 1));
    };
    for (Index n = 0; n < Index(nodes.size()); ++n) {
      const Node &node = nodes[n];
      stableSort(right[n], [&](const auto &a, const auto &b) { return wanted(*a.first) < wanted(*b.first); });
      const int32_t low = node.y + node.pinTop + kPitch / 2, high = node.y + node.pinBottom - kPitch / 2;
      std::set<int32_t> used;
      for (size_t i = 0; i < right[n].size(); ++i) {
        Piece &piece = *right[n][i].first;
        // Not where a line of another net leaves the left side of the channel.
        auto isFree = [&](int32_t y, int32_t distance) {
          if (y % kPitch == 0) {
            const auto at = taken.find({piece.channel, y});
            if (at != taken.end() && at->second != piece.net)
              return false;
          }
          const auto near = used.lower_bound(y - distance + 1);
          return near == used.end() || *near >= y + distance;
        };
        int32_t best = low;
        bool found = false;
        for (int32_t distance : {kPitch, kPitch / 2}) {
          for (int32_t y = low; y <= high; y += kPitch / 2)
            if (isFree(y, distance) && (!found || std::abs(y - wanted(piece)) < std::abs(best - wanted(piece))))
              best = y, found = true;
          if (found)
            break;
        }
        used.insert(best);
        right[n][i].second->y = best;
      }
    }
  }

  // -- Tracks

  void tracks() {
    trackCount.assign(columnCount, 0);
    for (int32_t c = 0; c + 1 < columnCount; ++c) {
      std::vector<Index> order;
      for (Index p = 0; p < Index(pieces.size()); ++p)
        if (pieces[p].channel == c && !pieces[p].isStraight())
          order.push_back(p);
      // By exchange of neighbours, as long as that saves crossings.
      for (size_t round = 0; round < std::min<size_t>(order.size(), 60); ++round) {
        bool changed = false;
        for (size_t i = 0; i + 1 < order.size(); ++i) {
          const Piece &a = pieces[order[i]], &b = pieces[order[i + 1]];
          if (crossings(b, a) < crossings(a, b))
            std::swap(order[i], order[i + 1]), changed = true;
        }
        if (!changed)
          break;
      }
      std::vector<std::vector<std::pair<int32_t, int32_t>>> spans;
      for (Index p : order) {
        const auto [low, high] = pieces[p].span();
        auto isFree = [&, low = low, high = high](const auto &of) {
          return std::ranges::none_of(
              of, [&](const auto &span) { return low - kPitch < span.second && span.first < high + kPitch; });
        };
        if (spans.empty() || !isFree(spans.back()))
          spans.emplace_back();
        spans.back().push_back({low, high});
        pieces[p].track = int32_t(spans.size()) - 1;
      }
      trackCount[c] = int32_t(spans.size());
    }
  }

  // -- Drawing

  void coordinates() {
    left.assign(columnCount, 0);
    for (int32_t c = 0, x = 0; c < columnCount; ++c) {
      left[c] = x;
      x += width[c] + 2 * kChannelMargin + std::max(trackCount[c] - 1, 0) * kTrack;
      made.width = left[c] + width[c];
    }
    for (const Node &node : nodes) {
      made.height = std::max(made.height, node.y + node.height);
      if (node.part == kNone)
        continue;
      const bool isInside = part(node.part).kind == PartKind::Unit;
      made.boxes[node.part] = {left[node.column] + (isInside ? kInset : 0), node.y,
                               width[node.column] - (isInside ? 2 * kInset : 0), node.height};
    }
  }

  /// Where a line meets a box or passes a column, on its right or left side.
  DiagramPoint end(const Pin &pin, bool rightSide) const {
    const Node &node = nodes[pin.node];
    const DiagramBox box =
        node.part == kNone ? DiagramBox{left[node.column], 0, width[node.column], 0} : made.boxes[node.part];
    return {rightSide ? box.x + box.width : box.x, pin.y};
  }

  void draw() {
    std::map<Index, int32_t> laneIn; // by lane: where its line comes in
    for (const Piece &piece : pieces) {
      DiagramNet &net = made.nets[piece.net];
      const int32_t x = left[piece.channel] + width[piece.channel] + kChannelMargin + std::max(piece.track, 0) * kTrack;
      const auto [low, high] = piece.span();
      auto add = [&](const Pin &pin, bool rightSide) {
        const DiagramPoint at = end(pin, rightSide);
        net.lines.push_back({{at, {x, pin.y}}, pin.title});
        if (pin.in)
          net.heads.push_back({at, rightSide});
        if (pin.out)
          net.heads.push_back({{at.x + (rightSide ? 2 : -2) * kHead, at.y}, !rightSide});
        if (low < pin.y && pin.y < high)
          net.joins.push_back({x, pin.y});
      };
      for (const Pin &pin : piece.left)
        add(pin, true);
      for (const Pin &pin : piece.right)
        add(pin, false);
      if (low < high)
        net.lines.push_back({{{x, low}, {x, high}}});
      if (nodes[piece.right[0].node].part == kNone)
        laneIn[piece.right[0].node] = piece.right[0].y;
    }
    for (const Piece &piece : pieces)
      for (const Pin &pin : piece.left)
        if (nodes[pin.node].part == kNone) {
          const int32_t from = left[nodes[pin.node].column], until = from + width[nodes[pin.node].column];
          const int32_t y = laneIn[pin.node];
          std::vector<DiagramPoint> points{{from, y}};
          if (y != pin.y)
            points.insert(points.end(), {{(from + until) / 2, y}, {(from + until) / 2, pin.y}});
          points.push_back({until, pin.y});
          made.nets[piece.net].lines.push_back({std::move(points)});
        }
  }

  const Diagram &diagram;
  DiagramLayout made;
  int32_t execute = 1, columnCount = 0;
  std::vector<int32_t> column; ///< by block
  std::vector<Index> nodeOf;   ///< by block
  std::vector<Node> nodes;
  std::vector<Piece> pieces;
  std::vector<int32_t> width, left, trackCount; ///< by column, and by the channel behind it
};

} // namespace

DiagramLayout layoutOf(const Diagram &diagram) { return Layouter(diagram).run(); }

} // namespace accord::microarchitecture
