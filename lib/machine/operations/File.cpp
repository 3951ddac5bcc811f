#include "lib/machine/operations/File.h"
#include "lib/machine/operations/SparseProducts.h"
#include "lib/support/Number.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace accord::operations {
namespace {

std::string line(const std::string &owner, const Parameters &values, size_t i) {
  return fmt::format("{} {} = {}{}{}\n", owner, info(i).name, values[i], *info(i).unit ? " " : "", info(i).unit);
}

constexpr double kMaxNumber = 1e30, kMaxSpeedup = 1000;
constexpr std::array kProducts{Kind::Gemm, Kind::BatchedGemm};
std::string tilesName(Kind kind) { return std::string(nameOf(kind)) + "_tiles"; }

class Reader {
public:
  Reader(std::string_view text, const std::string &path) : text(text), path(path) {}

  Result<Fit, Errors> run() {
    while (!text.empty() && errors.size() < 20) {
      size_t end = text.find('\n');
      rest = start = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++lineNumber;
      skip();
      if (!rest.empty() && !rest.starts_with("//"))
        statement();
    }
    rest = start = {};
    lineNumber = 1;
    if (errors.empty() && !version)
      complain(fmt::format("an empty file, expected 'operations {}'", kFileVersion));
    for (auto &[owner, names] : seen)
      complete(owner.empty() ? "shared" : owner, names.size(), kParameters, "parameters");
    for (auto &[name, numbers] : inSheet)
      complete(name, numbers.size(), kSheet.size(), "numbers of the sheet");
    if (errors.empty() && !seen.count("") && (sparse.empty() || !seen.empty() || !inSheet.empty() || !tiled.empty()))
      complain("the shared parameters are missing");
    for (auto &[key, table] : sparse)
      finishSparse(key, table);
    if (!errors.empty())
      return std::move(errors);
    return std::move(fit);
  }

private:
  void complain(std::string message) {
    unsigned column = static_cast<unsigned>(start.size() - rest.size()) + 1;
    errors.push_back({Code::BadCalibration, std::move(message), {path, lineNumber, column}});
  }
  void complete(const std::string &owner, size_t found, size_t all, const char *what) {
    if (errors.empty() && found < all)
      complain(fmt::format("{} of {} {} are missing of '{}'", all - found, all, what, owner));
  }
  void skip() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\r'))
      rest.remove_prefix(1);
  }
  std::string word() {
    skip();
    size_t end = std::min(rest.find_first_of(" \t\r"), rest.size());
    std::string out(rest.substr(0, end));
    rest.remove_prefix(end);
    skip();
    return out;
  }
  bool expect(std::string_view token) {
    skip();
    if (!rest.starts_with(token)) {
      complain(fmt::format("expected '{}'", token));
      return false;
    }
    rest.remove_prefix(token.size());
    skip();
    return true;
  }

  void statement() {
    if (!version) {
      version = true;
      if (expect("operations") && rest != fmt::format("{}", kFileVersion))
        complain(fmt::format("this version reads 'operations {}'", kFileVersion));
      return;
    }
    std::string owner;
    if (rest.starts_with("sparse ") || rest.starts_with("masks "))
      return sparseLine();
    bool shared = rest.starts_with("shared "), sheet = rest.starts_with("sheet ");
    if (shared || sheet)
      word();
    else if (!expect("device"))
      return;
    if (!shared && !quoted(owner))
      return;
    std::string_view before = rest;
    std::string name = word();
    for (Kind kind : kProducts)
      if (name == tilesName(kind) && !shared && !sheet) {
        if (tiled.emplace(owner, kind).second)
          return tiles(fit.tiles[{owner, kind}]);
        rest = before;
        return complain(fmt::format("'{}' a second time", name));
      }
    size_t index = 0, count = sheet ? kSheet.size() : kParameters;
    while (index < count && name != (sheet ? kSheet[index].name : info(index).name))
      ++index;
    if (index == count || !(sheet ? inSheet : seen)[owner].insert(name).second) {
      rest = before;
      return complain(index == count ? fmt::format("unknown name '{}'", name)
                                     : fmt::format("'{}' a second time", name));
    }
    if (!expect("="))
      return;
    if (sheet) {
      fit.sheets[owner].name = owner;
      fit.sheets[owner].*kSheet[index].member = number(kSheet[index].unit, name, kMaxNumber);
    } else {
      (shared ? fit.shared : fit.device[owner])[index] = number(info(index).unit, name, info(index).upper);
    }
  }

  /// `sparse "DEVICE" TYPE ROWS DEPTH COLUMNS = SPEEDUP` or `masks "DEVICE" TYPE transposable ELEMENTS = SECONDS s`.
  void sparseLine() {
    const bool isProduct = word() == "sparse";
    std::string owner;
    if (!quoted(owner))
      return;
    const std::string type = word();
    SparseKernelTable &table = sparse[{owner, type}];
    if (isProduct) {
      SparseKernelPoint point;
      for (double *size : {&point.rows, &point.depth, &point.columns})
        *size = wholeNumber();
      if (!expect("="))
        return;
      point.speedup = number("", "speed-up", kMaxSpeedup);
      table.points.push_back(point);
      return;
    }
    std::string_view before = rest;
    const std::string kind = word();
    if (kind != "plain" && kind != "transposable") {
      rest = before;
      return complain("expected 'plain' or 'transposable'");
    }
    MaskKernelPoint mask{kind == "transposable", wholeNumber(), 0};
    if (!expect("="))
      return;
    mask.seconds = number("s", "seconds", kMaxNumber);
    table.masks.push_back(mask);
  }

  /// A whole number above 0; 1 after an error.
  double wholeNumber() {
    std::string_view before = rest;
    auto value = parseReal(word());
    if (value && *value >= 1 && *value <= kMaxNumber && *value == std::floor(*value))
      return *value;
    rest = before;
    complain("expected a whole number above 0");
    return 1;
  }

  void finishSparse(const std::pair<std::string, std::string> &key, SparseKernelTable &table) {
    if (!errors.empty())
      return;
    table.device = key.first, table.type = key.second;
    auto shape = [](const SparseKernelPoint &point) { return std::tuple(point.rows, point.depth, point.columns); };
    std::ranges::sort(table.points, {}, shape);
    std::ranges::sort(table.masks, {},
                      [](const MaskKernelPoint &mask) { return std::pair(mask.transposable, mask.elements); });
    if (std::ranges::adjacent_find(table.points, {}, shape) != table.points.end())
      return complain(fmt::format("a product of '{}' a second time", key.first));
    if (!fitSparseKernels(table))
      return complain(fmt::format("{} products of '{}' in {}, and an interval of {:.0f} % needs {}",
                                  table.points.size(), key.first, key.second, 100 * kSparseCoverage, kMinSparsePoints));
    fit.sparse.push_back(std::move(table));
  }

  bool quoted(std::string &owner) {
    if (!expect("\""))
      return false;
    size_t end = rest.find('"');
    if (end == std::string_view::npos) {
      complain("expected '\"'");
      return false;
    }
    owner = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    skip();
    return true;
  }

  /// A number above 0, at most `upper`, and its unit; 0 after an error.
  double number(const char *unit, const std::string &name, double upper) {
    llvm::StringRef written = leadingNumber(rest);
    auto value = parseReal(written);
    if (!value && value.error().code == Code::NumberTooLarge)
      return complain(value.error().message), 0;
    if (!value || *value <= 0)
      return complain("expected a number above 0"), 0;
    if (*value > upper)
      return complain(fmt::format("'{}' is at most {}", name, upper)), 0;
    rest.remove_prefix(written.size());
    skip();
    if (word() != unit || !rest.empty())
      return complain(fmt::format("expected the unit '{}' and nothing more", unit)), 0;
    return *value;
  }

  void tiles(TileSet &set) {
    if (!expect("="))
      return;
    if (rest.empty())
      complain("expected a tile");
    while (!rest.empty()) {
      std::string_view before = rest;
      std::string name = word();
      size_t i = 0;
      while (i < kTiles.size() && name != fmt::format("{}x{}", kTiles[i].m, kTiles[i].n))
        ++i;
      if (i == kTiles.size()) {
        rest = before;
        return complain(fmt::format("unknown tile '{}'", name));
      }
      set |= 1u << i;
    }
  }

  std::string_view text, start, rest;
  const std::string &path;
  unsigned lineNumber = 0;
  bool version = false;
  std::map<std::string, std::set<std::string>> seen, inSheet; // "" is shared
  std::set<std::pair<std::string, Kind>> tiled;
  std::map<std::pair<std::string, std::string>, SparseKernelTable> sparse;
  Fit fit;
  Errors errors;
};

} // namespace

std::string write(const Fit &fit) {
  std::string out = fmt::format("// Fitted by accord calibrate --operations: times of single operations.\n"
                                "operations {}\n",
                                kFileVersion);
  const bool isSparseAlone = !fit.sparse.empty() && fit.device.empty();
  for (size_t i = 0; i < kParameters && !isSparseAlone; ++i)
    out += line("shared", fit.shared, i);
  for (auto &[name, values] : fit.device)
    for (size_t i = 0; i < kParameters; ++i)
      out += line(fmt::format("device \"{}\"", name), values, i);
  for (auto &[name, sheet] : fit.sheets)
    for (const SheetNumber &one : kSheet)
      out +=
          fmt::format("sheet \"{}\" {} = {}{}{}\n", name, one.name, sheet.*one.member, *one.unit ? " " : "", one.unit);
  for (auto &[owner, tiles] : fit.tiles) {
    out += fmt::format("device \"{}\" {} =", owner.first, tilesName(owner.second));
    for (size_t i = 0; i < kTiles.size(); ++i)
      if (tiles >> i & 1)
        out += fmt::format(" {}x{}", kTiles[i].m, kTiles[i].n);
    out += "\n";
  }
  for (const SparseKernelTable &table : fit.sparse) {
    for (const SparseKernelPoint &point : table.points)
      out += fmt::format("sparse \"{}\" {} {} {} {} = {}\n", table.device, table.type, point.rows, point.depth,
                         point.columns, point.speedup);
    for (const MaskKernelPoint &mask : table.masks)
      out += fmt::format("masks \"{}\" {} {} {} = {} s\n", table.device, table.type,
                         mask.transposable ? "transposable" : "plain", mask.elements, mask.seconds);
  }
  return out;
}

bool isFile(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (!line.empty() && !line.starts_with("//"))
      return line.starts_with("operations ");
  }
  return false;
}

Result<Fit, Errors> readFile(std::string_view text, const std::string &path) { return Reader(text, path).run(); }

} // namespace accord::operations
