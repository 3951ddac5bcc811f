#include "lib/machine/operations/File.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::operations {
namespace {

std::string line(const std::string &owner, const Parameters &values, size_t i) {
  return fmt::format("{} {} = {}{}{}\n", owner, info(i).name, values[i], *info(i).unit ? " " : "", info(i).unit);
}

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
      ++number;
      skip();
      if (!rest.empty() && !rest.starts_with("//"))
        statement();
    }
    rest = start = {};
    number = 1;
    if (errors.empty() && !version)
      complain(fmt::format("an empty file, expected 'operations {}'", kFileVersion));
    for (auto &[owner, names] : seen)
      if (errors.empty() && names.size() < kParameters)
        complain(fmt::format("{} of {} parameters are missing of '{}'", kParameters - names.size(), kParameters,
                             owner.empty() ? "shared" : owner));
    if (errors.empty() && !seen.count(""))
      complain("the shared parameters are missing");
    if (!errors.empty())
      return std::move(errors);
    return std::move(fit);
  }

private:
  void complain(std::string message) {
    unsigned column = static_cast<unsigned>(start.size() - rest.size()) + 1;
    errors.push_back({Code::BadCalibration, std::move(message), {path, number, column}});
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
    if (rest.starts_with("shared ")) {
      word();
    } else {
      if (!expect("device \""))
        return;
      size_t end = rest.find('"');
      if (end == std::string_view::npos)
        return complain("expected '\"'");
      owner = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      skip();
    }
    std::string_view before = rest;
    std::string name = word();
    for (Kind kind : kProducts)
      if (name == tilesName(kind) && !owner.empty()) {
        if (tiled.emplace(owner, kind).second)
          return tiles(fit.tiles[{owner, kind}]);
        rest = before;
        return complain(fmt::format("'{}' a second time", name));
      }
    size_t index = 0;
    while (index < kParameters && name != info(index).name)
      ++index;
    if (index == kParameters || !seen[owner].insert(name).second) {
      rest = before;
      return complain(index == kParameters ? fmt::format("unknown name '{}'", name)
                                           : fmt::format("'{}' a second time", name));
    }
    if (expect("="))
      value(owner.empty() ? fit.shared : fit.device[owner], index);
  }

  void value(Parameters &values, size_t index) {
    double number = 0;
    auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || !std::isfinite(number) || number <= 0)
      return complain("expected a number above 0");
    if (number > info(index).upper)
      return complain(fmt::format("'{}' is at most {}", info(index).name, info(index).upper));
    rest.remove_prefix(stop - rest.data());
    skip();
    values[index] = number;
    if (word() != info(index).unit || !rest.empty())
      complain(fmt::format("expected the unit '{}' and nothing more", info(index).unit));
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
  unsigned number = 0;
  bool version = false;
  std::map<std::string, std::set<std::string>> seen; // "" is shared
  std::set<std::pair<std::string, Kind>> tiled;
  Fit fit;
  Errors errors;
};

} // namespace

std::string write(const Fit &fit) {
  std::string out = fmt::format("// Fitted by accord calibrate --operations: times of single operations.\n"
                                "operations {}\n",
                                kFileVersion);
  for (size_t i = 0; i < kParameters; ++i)
    out += line("shared", fit.shared, i);
  for (auto &[name, values] : fit.device)
    for (size_t i = 0; i < kParameters; ++i)
      out += line(fmt::format("device \"{}\"", name), values, i);
  for (auto &[owner, tiles] : fit.tiles) {
    out += fmt::format("device \"{}\" {} =", owner.first, tilesName(owner.second));
    for (size_t i = 0; i < kTiles.size(); ++i)
      if (tiles >> i & 1)
        out += fmt::format(" {}x{}", kTiles[i].m, kTiles[i].n);
    out += "\n";
  }
  return out;
}

Result<Fit, Errors> readFile(std::string_view text, const std::string &path) { return Reader(text, path).run(); }

} // namespace accord::operations
