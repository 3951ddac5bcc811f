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
  int32_t portTop = 0, portBottom = 0; ///< of lines, from its top
};

struct Port {
  Index node = kNone;
  int32_t y = 0;
  bool in = false, out = false; ///< data or instructions that enter the box, or leave it
  std::string title = {};
};

/// A net between a column and the next one.
struct Piece {
  Index net = kNone;
  int32_t channel = 0; ///< between columns `channel` and `channel` + 1
  std::vector<Port> left = {}, right = {};
  int32_t track = kNone;
  bool isStraight() const { return left.size() == 1 && right.size() == 1 && left[0].y == right[0].y; }
  std::pair<int32_t, int32_t> span() const {
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (const auto *ports : {&left, &right})
      for (const Port &port : *ports)
        low = std::min(low, port.y), high = std::max(high, port.y);
    return {low, high};
  }
};

/// Crossings of two nets where the track of `a` is left of that of `b`.
int64_t crossings(const Piece &a, const Piece &b) {
  const auto [aLow, aHigh] = a.span();
  const auto [bLow, bHigh] = b.span();
  int64_t count = 0;
  for (const Port &port : b.left)
    count += aLow < port.y && port.y < aHigh;
  for (const Port &port : a.right)
    count += bLow < port.y && port.y < bHigh;
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
    ports();
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
  void through(Index net, Piece first, Port last, int32_t until) {
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
    std::map<Index, std::map<Index, Port>> files, storages;        // by target and unit
    std::map<std::pair<Index, int32_t>, std::vector<Port>> caches; // by what is behind and column
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
        Port &port = (isFile ? files : storages)[edge.to][edge.from];
        port.node = nodeOf[edge.from];
        (edge.kind == Edge::Reads || edge.kind == Edge::Loads ? port.in : port.out) = true;
        port.title += (port.title.empty() ? "" : "\n") + title(edge);
      }
    }
    auto atTarget = [&](Index target, const std::map<Index, Port> &units) {
      Port port{nodeOf[target]};
      for (const auto &[unit, of] : units)
        port.in |= of.out, port.out |= of.in;
      return port;
    };
    for (const auto &[file, units] : files) {
      Piece piece{net(Edge::Reads), execute - 1, {atTarget(file, units)}, {}};
      for (const auto &[unit, port] : units)
        piece.right.push_back(port);
      pieces.push_back(std::move(piece));
    }
    for (const auto &[storage, units] : storages) {
      const Index made = net(Edge::Loads);
      Piece piece{made, execute, {}, {}};
      for (const auto &[unit, port] : units)
        piece.left.push_back(port);
      through(made, std::move(piece), atTarget(storage, units), column[storage]);
    }
    for (auto &[of, ports] : caches) {
      const Index made = net(Edge::Behind);
      through(made, {made, of.second, std::move(ports), {}}, {nodeOf[of.first], 0, true, true}, column[of.first]);
    }
  }

  // -- Sizes

  void sizes() {
    std::vector<std::pair<int32_t, int32_t>> count(nodes.size()); // lines on the left and on the right side
    for (const Piece &piece : pieces) {
      for (const Port &port : piece.left)
        ++count[port.node].second;
      for (const Port &port : piece.right)
        ++count[port.node].first;
    }
    width.assign(columnCount, 0);
    for (Node &node : nodes) {
      const auto [left, right] = count[&node - nodes.data()];
      const int32_t lines = (std::max(left, right) + 1) * kPitch;
      if (node.part == kNone) {
        node.height = 2 * kPitch, node.portBottom = node.height;
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
      int32_t high = kFirstLine + int32_t(is.text.size() - 1) * kLineHeight + 8;
      if (const auto [rows, columns, cell] = is.matrix(); cell > 0)
        wide = std::max(wide, cell * columns), high += cell * rows + 6;
      node.height = node.portBottom = up(std::max(high, lines));
      wide += 2 * kBoxPadding + (is.stage != kNone || is.isExecute ? 2 * kInset : 0);
      width[node.column] = std::max(width[node.column], up(wide));
    }
  }

  // -- Places

  /// The places nearest to what is desired, in order and without overlap, from `top` on (regression under an order, by
  /// pooling of neighbours).
  void settle(const std::vector<Index> &order, int32_t top) {
    struct Block {
      int64_t sum = 0, weight = 0;
      int32_t count = 0;
      int64_t mean() const { return sum >= 0 ? sum / weight : -((-sum + weight - 1) / weight); }
    };
    std::vector<Block> blocks;
    int32_t before = 0;
    for (Index n : order) {
      const int64_t weight = nodes[n].part == kNone ? 4 : 1; // what passes should pass straight
      blocks.push_back({weight * (int64_t(nodes[n].desired) - nodes[n].height / 2 - before), weight, 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
        Block &into = blocks[blocks.size() - 2];
        into.sum += blocks.back().sum, into.weight += blocks.back().weight, into.count += blocks.back().count;
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
      node.y = y, node.portBottom = head;
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
        if (std::ranges::any_of(own, [&](const Port &port) { return port.node == n; }))
          for (const Port &port : others)
            sum += center(port.node), ++count;
      }
      nodes[n].desired = count > 0 ? int32_t(sum / count) : 0;
    }
    stableSort(order, [&](Index a, Index b) { return nodes[a].desired < nodes[b].desired; });
    settle(order, top);
  }

  // -- Ports

  using Ports = std::vector<std::pair<Piece *, Port *>>;

  /// Channel after channel: a net that passes a column leaves it where it came in.
  void ports() {
    std::vector<Ports> leaving(nodes.size()), entering(nodes.size());
    for (Piece &piece : pieces) {
      for (Port &port : piece.left)
        leaving[port.node].push_back({&piece, &port});
      for (Port &port : piece.right)
        entering[port.node].push_back({&piece, &port});
    }
    for (int32_t c = 0; c < columnCount; ++c) {
      std::map<int32_t, Index> taken; // by y: the net on the left side of the channel
      for (Index n = 0; n < Index(nodes.size()); ++n)
        if (nodes[n].column == c)
          leave(nodes[n], leaving[n], entering[n], taken);
      for (Index n = 0; n < Index(nodes.size()); ++n)
        if (nodes[n].column == c + 1)
          enter(nodes[n], entering[n], taken);
    }
  }

  void leave(const Node &node, Ports &own, const Ports &entering, std::map<int32_t, Index> &taken) {
    auto meanOf = [&](const std::vector<Port> &ports) {
      int64_t sum = 0;
      for (const Port &port : ports)
        sum += center(port.node);
      return sum / std::max<int64_t>(int64_t(ports.size()), 1);
    };
    stableSort(own, [&](const auto &a, const auto &b) { return meanOf(a.first->right) < meanOf(b.first->right); });
    const bool fromTop = node.part != kNone && part(node.part).kind <= PartKind::Stage;
    const int32_t slots = (node.portBottom - node.portTop) / kPitch - 1, wanted = int32_t(own.size());
    const int32_t first = fromTop ? 0 : std::max(0, (slots - wanted) / 2);
    for (int32_t i = 0; i < wanted; ++i) {
      Port &port = *own[i].second;
      port.y = node.part == kNone ? entering[0].second->y : node.y + node.portTop + (first + i + 1) * kPitch;
      taken[port.y] = own[i].first->net;
    }
  }

  /// Lines enter a box as near as can be to where they come from, but not where a line of another net leaves the left
  /// side of the channel. At least every other half pitch is free of those.
  void enter(const Node &node, Ports &own, const std::map<int32_t, Index> &taken) {
    auto wanted = [](const Piece &piece) {
      int64_t sum = 0;
      for (const Port &port : piece.left)
        sum += port.y;
      return int32_t(sum / std::max<int64_t>(int64_t(piece.left.size()), 1));
    };
    stableSort(own, [&](const auto &a, const auto &b) { return wanted(*a.first) < wanted(*b.first); });
    const int32_t low = node.y + node.portTop + kPitch / 2, high = node.y + node.portBottom - kPitch / 2;
    std::set<int32_t> used;
    for (const auto &[piece, port] : own) {
      const int32_t near = wanted(*piece);
      auto isFree = [&, net = piece->net](int32_t y, int32_t distance) {
        if (const auto at = taken.find(y); at != taken.end() && at->second != net)
          return false;
        const auto beside = used.lower_bound(y - distance + 1);
        return beside == used.end() || *beside >= y + distance;
      };
      std::optional<int32_t> best;
      for (int32_t distance : {kPitch, kPitch / 2})
        for (int32_t y = low; y <= high && (distance == kPitch || !best || used.empty()); y += kPitch / 2)
          if (isFree(y, distance) && (!best || std::abs(y - near) < std::abs(*best - near)))
            best = y;
      port->y = best.value_or(low);
      used.insert(port->y);
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
  DiagramPoint end(const Port &port, bool rightSide) const {
    const Node &node = nodes[port.node];
    const DiagramBox box =
        node.part == kNone ? DiagramBox{left[node.column], 0, width[node.column], 0} : made.boxes[node.part];
    return {rightSide ? box.x + box.width : box.x, port.y};
  }

  void draw() {
    for (const Piece &piece : pieces) {
      DiagramNet &net = made.nets[piece.net];
      const int32_t x = left[piece.channel] + width[piece.channel] + kChannelMargin + std::max(piece.track, 0) * kTrack;
      const auto [low, high] = piece.span();
      auto add = [&](const Port &port, bool rightSide) {
        const DiagramPoint at = end(port, rightSide);
        net.lines.push_back({{at, {x, port.y}}, port.title});
        if (port.in)
          net.heads.push_back({at, rightSide});
        if (port.out)
          net.heads.push_back({{at.x + (rightSide ? 1 : -1) * (kHead + (port.in ? kHead + 3 : 2)), at.y}, !rightSide});
        if (low < port.y && port.y < high)
          net.joins.push_back({x, port.y});
      };
      for (const Port &port : piece.left)
        add(port, true);
      for (const Port &port : piece.right)
        add(port, false);
      if (low < high)
        net.lines.push_back({{{x, low}, {x, high}}});
    }
    for (const Piece &piece : pieces)
      for (const Port &port : piece.left)
        if (nodes[port.node].part == kNone) {
          const int32_t from = left[nodes[port.node].column], until = from + width[nodes[port.node].column];
          made.nets[piece.net].lines.push_back({{{from, port.y}, {until, port.y}}});
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
