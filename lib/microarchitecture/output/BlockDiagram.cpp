#include "lib/microarchitecture/output/BlockDiagram.h"
#include "lib/microarchitecture/output/DiagramLayout.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord::microarchitecture {
namespace {

using PartKind = DiagramPart::Kind;
using Edge = DiagramEdge::Kind;

constexpr int kMargin = 20, kHeader = 64, kFooter = 48, kLevels = 10;

std::string escape(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '&':
      out += "&amp;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

struct Palette {
  const char *card, *inner, *ink, *quiet, *line, *stage, *registers, *memory, *critical;
  int cold[3], hot[3]; ///< colours of 0 and 100 %
};
constexpr Palette kLight = {"#ffffff", "#f3f6f9", "#17202b", "#5b6675",       "#c3cbd5",     "#2f6fb5",
                            "#8f55a8", "#1f8560", "#d4204a", {255, 255, 255}, {247, 163, 84}};
constexpr Palette kDark = {"#1a2028", "#212833", "#e6ebf2", "#a3afbf",    "#465162",    "#6aa6ea",
                           "#c493da", "#56bf94", "#ff5c80", {31, 38, 48}, {172, 94, 22}};

/// The rules of one background; `in` names the picture, so that they reach nothing else of a page.
std::string rules(const Palette &is) {
  const char *in = ".accord-diagram";
  std::string css =
      fmt::format("{0} .bg{{fill:{1}}}{0} text{{fill:{2}}}{0} text.q{{fill:{3}}}{0} .box{{fill:{1};stroke:{3}}}"
                  "{0} .inner{{fill:{4};stroke:{5}}}{0} .cell{{stroke:{3}}}{0} .none{{fill:{4}}}",
                  in, is.card, is.ink, is.quiet, is.inner, is.line);
  css += fmt::format(
      "{0} .st{{stroke:{1}}}{0} .rf{{stroke:{2}}}{0} .me{{stroke:{3}}}{0} .bn{{stroke:{4};stroke-width:2.5}}", in,
      is.stage, is.registers, is.memory, is.critical);
  css += fmt::format("{0} .fw path{{stroke:{1}}}{0} .rd path{{stroke:{2}}}{0} .ld path{{stroke:{3}}}"
                     "{0} .fw .hd{{fill:{1}}}{0} .rd .hd{{fill:{2}}}{0} .ld .hd{{fill:{3}}}",
                     in, is.stage, is.registers, is.memory);
  for (int level = 0; level <= kLevels; ++level) {
    auto mix = [&](int c) { return is.cold[c] + (is.hot[c] - is.cold[c]) * level / kLevels; };
    css += fmt::format("{} .h{}{{fill:#{:02x}{:02x}{:02x}}}", in, level, mix(0), mix(1), mix(2));
  }
  return css;
}

int levelOf(double use) { return int(std::lround(std::clamp(use, 0.0, 1.0) * kLevels)); }

class DiagramWriter {
public:
  DiagramWriter(const Microarchitecture &machine, const InstructionTiming *timing)
      : machine(machine), timing(timing), diagram(diagramOf(machine, timing)), layout(layoutOf(diagram)) {}

  std::string run() {
    const std::string name = printable(machine.name);
    const std::string heading = facts();
    const int width = std::max({layout.width + 2 * kMargin, 2 * kMargin + textWidth(heading, 11, false),
                                2 * kMargin + std::min(textWidth(name, 16, true), 600), timing ? 620 : 400});
    const int height = layout.height + kHeader + kFooter;
    out =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"accord-diagram\" role=\"img\" width=\"{0}\" "
                    "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<title>Block diagram of {2}</title>\n<desc>{3}</desc>\n",
                    width, height, escape(name), escape(description()));
    style();
    out += fmt::format("<rect class=\"bg\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n", width, height);
    out += fmt::format("<text class=\"h\" x=\"{}\" y=\"28\">{}</text>\n<text class=\"q\" x=\"{}\" y=\"46\">{}</text>\n",
                       kMargin, escape(name), kMargin, escape(heading));
    out += fmt::format("<g transform=\"translate({}.5 {}.5)\">\n", kMargin, kHeader);
    for (Index p = 0; p < Index(diagram.parts.size()); ++p)
      if (diagram.parts[p].isExecute)
        part(p);
    for (const DiagramNet &net : layout.nets)
      lines(net);
    for (Index p = 0; p < Index(diagram.parts.size()); ++p)
      if (!diagram.parts[p].isExecute)
        part(p);
    out += "</g>\n";
    legend(height - 18);
    return out + "</svg>\n";
  }

private:
  static std::string counted(size_t count, const char *one, const char *many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
  }

  std::string facts() const {
    std::string text =
        fmt::format("window of {}", counted(size_t(std::max(machine.window, 0)), "instruction", "instructions"));
    if (timing) {
      text += fmt::format("  ·  {} instructions in {}{} cycles", grouped(timing->instructions),
                          timing->bounds ? "about " : "", grouped(timing->cycles));
      if (timing->cycles > 0)
        text += fmt::format("  ·  {:.3g} a cycle", double(timing->instructions) / double(timing->cycles));
    }
    return text;
  }

  std::string description() const {
    std::string text = fmt::format("{}, {}, {}, {}.", counted(machine.stages.size(), "stage", "stages"),
                                   counted(machine.units.size(), "unit", "units"),
                                   counted(machine.registers.size(), "register file", "register files"),
                                   counted(machine.storages.size(), "memory or cache", "memories and caches"));
    for (const DiagramPart &part : diagram.parts)
      if (part.isBottleneck)
        text += (part.waited > 0 ? " The bottleneck is " : " The highest utilization is that of ") + part.name + ".";
    return text;
  }

  void style() {
    out += "<style>.accord-diagram text{font:10.5px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu "
           "Sans\",sans-serif;"
           "white-space:pre}.accord-diagram text.h{font-size:16px;font-weight:700}.accord-diagram "
           "text.t{font-size:12px;font-weight:600}.accord-diagram text.alarm{font-weight:600}.accord-diagram "
           "text.e{text-anchor:end}.accord-diagram .box,.accord-diagram .inner{stroke-width:1.2}.accord-diagram "
           ".cell{stroke-width:.5}.accord-diagram .more{fill:none}.accord-diagram .net "
           "path{fill:none;stroke-width:1.25}.accord-diagram .net "
           ".hd{stroke:none}.accord-diagram .net:hover path{stroke-width:3}.accord-diagram .net:hover "
           ".hd{stroke-width:0}";
    out += rules(kLight) + "@media (prefers-color-scheme:dark){" + rules(kDark) + "}</style>\n";
  }

  void part(Index p) {
    const DiagramPart &is = diagram.parts[p];
    const DiagramBox &box = layout.boxes[p];
    constexpr const char *kClasses[] = {"st", "st", "", "rf", "me"};
    std::string fill = is.isExecute ? "inner" : "box";
    if (is.use >= 0)
      fill += fmt::format(" h{}", levelOf(is.use));
    out += fmt::format(
        "<g><title>{}</title><rect class=\"{} {}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
        escape(is.detail), fill, kClasses[size_t(is.kind)], is.isBottleneck ? " bn" : "", box.x, box.y, box.width,
        box.height);
    int y = box.y + kFirstLine;
    for (const DiagramText &line : is.text) {
      constexpr const char *kLooks[] = {"t", "", "alarm"};
      const char *look = kLooks[size_t(line.look)];
      if (!line.left.empty())
        out += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", look, box.x + kBoxPadding, y,
                           escape(line.left));
      if (!line.right.empty())
        out += fmt::format("<text class=\"e {}\" x=\"{}\" y=\"{}\">{}</text>", look, box.x + box.width - kBoxPadding, y,
                           escape(line.right));
      y += kLineHeight;
    }
    if (const DiagramPart::Matrix cells = is.matrix(); cells.cell > 0)
      matrix(is.grid, cells, box.x + kBoxPadding, y - kLineHeight + 8);
    else if (is.grid.rows > 0) // the edges of those behind it
      for (int i : {3, 6})
        out += fmt::format("<path class=\"more {}\" d=\"M{} {}V{}H{}\"/>", kClasses[size_t(is.kind)], box.x - i,
                           box.y + i + 3, box.y + box.height + i, box.x + box.width - i - 3);
    out += "</g>\n";
  }

  /// A square for each copy; those of one shade are one path.
  void matrix(const DiagramPart::Grid &grid, const DiagramPart::Matrix &is, int left, int top) {
    const int side = is.cell - (is.cell > 4 ? 1 : 0);
    struct Path {
      std::string text;
      int x = 0, y = 0;
    };
    std::map<int, Path> paths;
    for (size_t i = 0; i < grid.use.size(); ++i) {
      if (grid.use[i] == kNoCell)
        continue;
      Path &path = paths[grid.use[i] < 0 ? -1 : levelOf(grid.use[i])];
      const int x = left + int(i) % is.columns * is.cell, y = top + int(i) / is.columns * is.cell;
      path.text += fmt::format("m{} {}h{}v{}h-{}z", x - path.x, y - path.y, side, side, side);
      path.x = x, path.y = y;
    }
    for (const auto &[level, path] : paths)
      out += fmt::format("<path class=\"cell {}\" d=\"{}\"/>", level < 0 ? "none" : "h" + std::to_string(level),
                         path.text);
  }

  void lines(const DiagramNet &net) {
    out += fmt::format("<g class=\"net {}\">", net.kind == Edge::Forward ? "fw"
                                               : net.kind == Edge::Reads ? "rd"
                                                                         : "ld");
    for (const DiagramNet::Line &line : net.lines) {
      std::string path;
      for (const DiagramPoint &point : line.points)
        path += fmt::format("{}{} {}", path.empty() ? "M" : "L", point.x, point.y);
      if (line.title.empty())
        out += fmt::format("<path d=\"{}\"/>", path);
      else
        out += fmt::format("<path d=\"{}\"><title>{}</title></path>", path, escape(line.title));
    }
    std::string heads;
    for (const auto &[tip, pointsLeft] : net.heads)
      heads += fmt::format("M{} {}l{} -3.5v7z", tip.x, tip.y, pointsLeft ? kHead : -kHead);
    if (!heads.empty())
      out += fmt::format("<path class=\"hd\" d=\"{}\"/>", heads);
    for (const DiagramPoint &join : net.joins)
      out += fmt::format("<circle class=\"hd\" cx=\"{}\" cy=\"{}\" r=\"2.2\"/>", join.x, join.y);
    out += "</g>\n";
  }

  void legend(int y) {
    constexpr std::pair<const char *, const char *> kNets[] = {
        {"fw", "instructions"}, {"rd", "registers"}, {"ld", "data"}};
    int x = kMargin;
    for (const auto &[look, text] : kNets) {
      out +=
          fmt::format("<g class=\"net {0}\"><path d=\"M{1} {2}h20\"/><path class=\"hd\" d=\"M{3} {2}l-6 -3.5v7z\"/></g>"
                      "<text class=\"q\" x=\"{4}\" y=\"{5}\">{6}</text>",
                      look, x, y - 4, x + 24, x + 30, y, text);
      x += 30 + textWidth(text, kTextSize, false) + 18;
    }
    if (!timing)
      return;
    out += fmt::format("<text class=\"q\" x=\"{}\" y=\"{}\">utilization 0 %</text>", x, y);
    x += textWidth("utilization 0 %", kTextSize, false) + 6;
    for (int level = 0; level <= kLevels; ++level)
      out += fmt::format("<path class=\"cell h{}\" d=\"M{} {}h12v12h-12z\"/>", level, x + 12 * level, y - 10);
    out += fmt::format("<text class=\"q\" x=\"{}\" y=\"{}\">100 %</text>\n", x + 12 * (kLevels + 1) + 6, y);
  }

  const Microarchitecture &machine;
  const InstructionTiming *timing;
  const Diagram diagram;
  const DiagramLayout layout;
  std::string out;
};

} // namespace

std::string blockDiagram(const Microarchitecture &machine, const InstructionTiming *timing) {
  return DiagramWriter(machine, timing).run();
}

} // namespace accord::microarchitecture
