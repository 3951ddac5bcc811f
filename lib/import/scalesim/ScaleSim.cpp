// Source: scalesim/topology_utils.py of SCALE-Sim v3: output extents are ceil((H - F) / S) + 1, and
// a layer with "DP" in its name is one layer for each channel.
#include "lib/import/scalesim/ScaleSim.h"
#include "lib/import/text/Network.h"
#include "lib/support/Number.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <map>

namespace accord {
namespace import {
namespace {

struct Row {
  llvm::SmallVector<llvm::StringRef> fields; ///< trimmed; without the empty one after the last comma
  SourceRange range;
};

class Reader {
public:
  Reader(Diagnostics &diags, FileId file) : diags(diags), file(file) {}

  DnnTextBuilder textBuilder;
  std::vector<std::string> notes;

  void run() {
    std::vector<Row> rows = split();
    if (rows.empty()) {
      diags.error(Code::SyntaxError, {file, 0, 0}, "this is no layer list: it has no header row");
      return;
    }
    size_t width = rows[0].fields.size();
    if (width != 4 && width != 8) {
      diags
          .error(Code::SyntaxError, rows[0].range,
                 fmt::format("this is no layer list: its header row has {} columns", width))
          .help("a layer list has the 8 columns name, input height and width, filter height and "
                "width, channels, filters, stride, or the 4 columns name, M, N, K");
      return;
    }
    if (rows.size() == 1)
      diags.error(Code::ImportSetting, rows[0].range, "the list has no layer below its header");
    for (const Row &row : llvm::ArrayRef(rows).drop_front())
      layer(row, width);
  }

private:
  std::map<std::string, SourceRange> layers; ///< by name

  std::vector<Row> split() const {
    std::vector<Row> rows;
    llvm::StringRef text = diags.sources().text(file), rest = text;
    while (!rest.empty()) {
      llvm::StringRef line = rest.take_until([](char c) { return c == '\n'; });
      auto begin = static_cast<uint32_t>(line.data() - text.data());
      rest = rest.drop_front(std::min(rest.size(), line.size() + 1));
      if (line.trim().empty())
        continue;
      Row row;
      row.range = {file, begin, begin + static_cast<uint32_t>(line.rtrim().size())};
      line.trim().split(row.fields, ',');
      for (llvm::StringRef &field : row.fields)
        field = field.trim();
      if (row.fields.size() > 1 && row.fields.back().empty())
        row.fields.pop_back();
      rows.push_back(std::move(row));
    }
    return rows;
  }

  /// The numbers after the name; nothing after errors at them.
  std::optional<Shape> numbers(const Row &row, size_t width) {
    static const char *kLong[] = {"",         "input height", "input width", "filter height", "filter width",
                                  "channels", "filters",      "stride"};
    static const char *kShort[] = {"", "M", "N", "K"};
    if (row.fields.size() != width) {
      diags.error(Code::ImportSetting, row.range,
                  fmt::format("this row has {} columns, the header has {}", row.fields.size(), width));
      return std::nullopt;
    }
    Shape values;
    bool ok = true;
    for (size_t i = 1; i < width; ++i) {
      llvm::StringRef field = row.fields[i];
      auto value = parseWhole(field, {1, 1 << 30});
      if (!value) {
        auto begin = static_cast<uint32_t>(field.data() - diags.sources().text(file).data());
        diags.error(Code::ImportSetting,
                    {file, begin, begin + static_cast<uint32_t>(std::max<size_t>(1, field.size()))},
                    fmt::format("'{}' must be a whole number from 1 to 2^30, found '{}'",
                                width == 4 ? kShort[i] : kLong[i], shown(field.str())));
        ok = false;
      }
      values.push_back(value ? *value : 1);
    }
    return ok ? std::optional(values) : std::nullopt;
  }

  void layer(const Row &row, size_t width) {
    std::optional<Shape> given = numbers(row, width);
    if (!given)
      return;
    std::string name = row.fields[0].str();
    if (auto [first, isNew] = layers.try_emplace(name, row.range); !isNew) {
      diags.error(Code::ImportSetting, row.range, fmt::format("there are two layers named '{}'", shown(name)))
          .note(first->second, "the first one");
      return;
    }
    if (nameFrom(name, "layer").empty() || llvm::isDigit(name.empty() ? '0' : name[0]))
      name = "layer_" + name;
    const Shape &v = *given;
    textBuilder.from(fmt::format("row '{}'", row.fields[0].str()));
    Shape in, out;
    std::vector<std::string> attributes;
    if (width == 4) { // M x K times K x N
      in = {v[0], v[2]};
      out = {v[0], v[1]};
      attributes = {fmt::format("out = {}", v[1]), "bias = false"};
    } else {
      auto [h, w, fh, fw, channels, filters, stride] = std::tuple(v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
      if (fh > h || fw > w) {
        diags.error(Code::ImportSetting, row.range,
                    fmt::format("the filter {} x {} is larger than the input {} x {}", fh, fw, h, w));
        return;
      }
      int64_t rows = (h - fh + stride - 1) / stride + 1, columns = (w - fw + stride - 1) / stride + 1;
      // Rounded up: the last window reaches beyond the input, which is padded that far here.
      in = {channels, (rows - 1) * stride + fh, (columns - 1) * stride + fw};
      if (in[1] > h || in[2] > w)
        notes.push_back(fmt::format("'{}' reads {} x {} of an input of {} x {}, as SCALE-Sim "
                                    "rounds its output up",
                                    shown(row.fields[0].str()), in[1], in[2], h, w));
      in[1] = std::max(in[1], h);
      in[2] = std::max(in[2], w);
      bool each = row.fields[0].contains("DP"); // one layer for each channel
      out = {each ? channels * filters : filters, rows, columns};
      attributes =
          convolutionAttributes(out[0], {{fh, fw}, {stride, stride}}, each && channels > 1 ? channels : 0, false);
    }
    if (!elementsOf(in) || !elementsOf(out)) {
      diags.error(Code::ImportSetting, row.range, "the layer is too large");
      return;
    }
    DnnTextBuilder::Id x = textBuilder.input(name + "_in", "float", in);
    DnnTextBuilder::Id y = textBuilder.add(name, width == 4 ? "linear" : "conv2d", {x}, attributes, out);
    textBuilder.loss(
        textBuilder.add(name + "_cost", "mse", {y, textBuilder.input(name + "_target", "float", out)}, {}, {}));
  }

  Diagnostics &diags;
  FileId file;
};

} // namespace
} // namespace import

using namespace import;

std::optional<ImportedModel> importScaleSim(Diagnostics &diags, FileId file, const std::string &wanted) {
  size_t before = diags.errors();
  Reader reader(diags, file);
  reader.run();
  if (diags.errors() != before)
    return std::nullopt;
  std::string name = nameFrom(wanted, "layers");
  std::vector<std::string> lines{
      fmt::format("{}: imported from the SCALE-Sim layer list {}", name,
                  shown(llvm::sys::path::filename(diags.sources().path(file)).str())),
      "The list does not say how its layers are connected: each has an input and a loss of its "
      "own.",
      "A gradient of those inputs is not computed; join the layers by hand for that."};
  return finished(diags, file, reader.textBuilder, name, std::move(lines), reader.notes);
}

} // namespace accord
