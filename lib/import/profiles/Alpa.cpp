#include "lib/import/profiles/LayerGraphImport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr llvm::StringLiteral kMagic("\x93NUMPY");
/// Bytes of the header that messages show.
constexpr size_t kShown = 128;
/// Layers, meshes, shardings: of a file that is no mistake.
constexpr uint64_t kMaxLayers = 1000, kMaxMeshes = 13, kMaxShardings = 1000;

/// Numbers of a .npy file (NumPy's format 1 to 3) of five dimensions, in the order of C.
class CostReader {
public:
  CostReader(Diagnostics &diags, const std::string &path, llvm::StringRef bytes)
      : diags(diags), path(path), text(bytes) {
    // What people can read of it, so that a place in the header is one in the file.
    std::string shown = bytes.take_front(kShown).str();
    for (char &c : shown)
      c = llvm::isPrint(c) ? c : '.';
    file = diags.sources().add(path, shown);
    shownSize = shown.size();
  }

  std::optional<LayerGraphImport> run(const AlpaMachine &machine) {
    if (!readHeader() || !readShape())
      return std::nullopt;
    LayerGraphImport made;
    LayerGraph &g = made.graph;
    g.name = llvm::sys::path::stem(path).str();
    g.location = {path, 1, 1};
    g.devices = machine.devices;
    g.microbatches = machine.microbatches;
    g.memory = g.bandwidth = 1; // memory is in what may follow a stage, transfers in its time
    for (uint64_t v = 0; v < layers; ++v) {
      g.layers.push_back({fmt::format("layer{}", v), {}, g.location});
      if (v > 0)
        g.edges.push_back({static_cast<LayerGraph::Id>(v - 1), static_cast<LayerGraph::Id>(v), 0});
    }
    for (uint64_t first = 0; first < layers; ++first)
      for (uint64_t last = first; last < layers; ++last)
        for (uint64_t mesh = 0; mesh < meshes; ++mesh)
          for (uint64_t sharding = 0; sharding < shardings; ++sharding)
            if (!profile(first, last, mesh, sharding, g))
              return std::nullopt;
    if (g.profiles.empty()) {
      fail(0, "no stage has a time and fits into its devices");
      return std::nullopt;
    }
    for (const Error &error : check(g)) {
      fail(0, error.message);
      return std::nullopt;
    }
    made.notes.push_back(
        fmt::format("shapes of meshes are not in the file: its {} are taken as 1, 2, 4, ... devices", meshes));
    return made;
  }

private:
  bool fail(size_t offset, const std::string &message) {
    auto at = static_cast<uint32_t>(std::min(offset, shownSize));
    diags.error(Code::ImportSetting, {file, at, at}, message);
    return false;
  }

  bool readHeader() {
    if (!text.starts_with(kMagic) || text.size() < 12)
      return fail(0, "expected an array of NumPy (.npy), which begins with \\x93NUMPY");
    unsigned version = static_cast<unsigned char>(text[6]);
    if (version < 1 || version > 3)
      return fail(6, fmt::format("expected a .npy file of version 1, 2 or 3, found {}", version));
    size_t begin = version == 1 ? 10 : 12;
    size_t length = version == 1 ? llvm::support::endian::read16le(text.data() + 8)
                                 : llvm::support::endian::read32le(text.data() + 8);
    if (length > text.size() - begin)
      return fail(8, fmt::format("a header of {} bytes in a file of {}", length, text.size()));
    header = text.substr(begin, length);
    headerAt = begin;
    data = text.substr(begin + length);
    return true;
  }

  /// What stands behind a key of the header, from its first character that is no blank; "" if the key is missing.
  llvm::StringRef behind(llvm::StringRef key) const {
    size_t at = header.find(key);
    return at == llvm::StringRef::npos ? "" : header.substr(at + key.size()).ltrim(": ");
  }

  bool readShape() {
    llvm::StringRef type = behind("'descr'"), order = behind("'fortran_order'"), shape = behind("'shape'");
    if (type.starts_with("'|O'"))
      return fail(headerAt,
                  "the array holds pickled Python objects, which are not read; save numbers: "
                  "np.save(\"costs.npy\", np.asarray(np.load(\"compute-cost.npy\", allow_pickle=True).tolist(), "
                  "dtype=float))");
    if (type.starts_with("'<f8'"))
      width = 8;
    else if (type.starts_with("'<f4'"))
      width = 4;
    else
      return fail(headerAt, "expected numbers of type '<f8' or '<f4'");
    if (!order.starts_with("False"))
      return fail(headerAt, "expected an array in the order of C (fortran_order: False)");
    std::vector<uint64_t> sizes;
    llvm::SmallVector<llvm::StringRef, 8> words;
    shape.consume_front("(");
    shape.take_until([](char c) { return c == ')'; }).split(words, ',', -1, false);
    for (llvm::StringRef word : words)
      if (uint64_t size = 0; word.trim().empty() || !word.trim().getAsInteger(10, size))
        if (!word.trim().empty())
          sizes.push_back(size);
    if (sizes.size() != 5 || sizes[0] != 3 || sizes[1] != sizes[2])
      return fail(headerAt,
                  fmt::format("expected the shape (3, layers, layers, meshes, shardings) of Alpa's compute-cost "
                              "file, found ({})",
                              shape.take_until([](char c) { return c == ')'; }).take_front(60).str()));
    layers = sizes[1], meshes = sizes[3], shardings = sizes[4];
    if (layers < 1 || layers > kMaxLayers || meshes < 1 || meshes > kMaxMeshes || shardings < 1 ||
        shardings > kMaxShardings)
      return fail(headerAt, fmt::format("expected 1 to {} layers, {} meshes and {} shardings, found {}, {} and {}",
                                        kMaxLayers, kMaxMeshes, kMaxShardings, layers, meshes, shardings));
    if (data.size() != 3 * block() * width)
      return fail(headerAt, fmt::format("expected {} bytes of numbers, found {}", 3 * block() * width, data.size()));
    return true;
  }

  uint64_t block() const { return layers * layers * meshes * shardings; }

  /// Number of the array `part`: 0 the times, 1 the stages that may follow.
  double number(uint64_t part, uint64_t index) const {
    const char *at = data.data() + (part * block() + index) * width;
    return width == 8 ? llvm::bit_cast<double>(llvm::support::endian::read64le(at))
                      : double(llvm::bit_cast<float>(llvm::support::endian::read32le(at)));
  }

  bool profile(uint64_t first, uint64_t last, uint64_t mesh, uint64_t sharding, LayerGraph &g) {
    uint64_t index = ((first * layers + last) * meshes + mesh) * shardings + sharding;
    double time = number(0, index), later = number(1, index);
    if (std::isnan(time) || time < 0 || (std::isfinite(time) && time > 1e18) || std::isnan(later))
      return fail(headerAt,
                  fmt::format("the stage of layers {} to {}, mesh {}, sharding {}, has the time {} and {} later "
                              "stages",
                              first, last, mesh, sharding, time, later));
    if (std::isinf(time) || later < 0)
      return true; // it was not profiled, or does not fit
    LayerGraph::StageProfile one;
    one.first = static_cast<LayerGraph::Id>(first);
    one.last = static_cast<LayerGraph::Id>(last);
    one.tensor = int64_t(1) << mesh;
    one.name = fmt::format("mesh{}-sharding{}", mesh, sharding);
    one.time = time;
    one.maxLater = static_cast<int64_t>(std::min(std::floor(later), double(LayerGraph::kAnyLater)));
    g.profiles.push_back(std::move(one));
    return true;
  }

  Diagnostics &diags;
  const std::string &path;
  FileId file;
  llvm::StringRef text, header, data;
  size_t headerAt = 0, shownSize = 0;
  unsigned width = 8;
  uint64_t layers = 0, meshes = 0, shardings = 0;
};

} // namespace

std::optional<LayerGraphImport> importAlpaCosts(Diagnostics &diags, const std::string &path, llvm::StringRef bytes,
                                                const AlpaMachine &machine) {
  return CostReader(diags, path, bytes).run(machine);
}

} // namespace accord
