#include "lib/microarchitecture/mapping/Pieces.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include <algorithm>
#include <tuple>

namespace accord::microarchitecture {
namespace {

int64_t spanOf(const std::vector<ContractionTensor::Term> &terms, const std::vector<int64_t> &sizes) {
  int64_t span = 1;
  for (const auto &term : terms)
    span += term.stride * std::max<int64_t>(sizes[term.loop] - 1, 0);
  return span;
}

/// Writes the loops around the copies of one piece, and these.
class CopyWriter {
public:
  CopyWriter(KernelBuilder &builder, const OpcodeRole &copy, bool isIn)
      : builder(builder), copy(copy), isIn(isIn), width(copy.isTile() ? copy.n : copy.lanes),
        height(copy.isTile() ? copy.m : 1) {}

  struct Extent {
    int64_t span = 1, stride = 1, inside = 1;
  };

  /// `extents`: outermost first.
  void run(std::vector<Extent> extents, KernelAccess outside, KernelAccess inside) {
    std::erase_if(extents, [](const Extent &extent) { return extent.span == 1; });
    int64_t stretch = 1;
    while (!extents.empty() && extents.back().stride == stretch && extents.back().inside == stretch)
      stretch *= extents.back().span, extents.pop_back();
    // A stretch of several widths is rows of one width, and a rest.
    if (height > 1 && extents.empty() && stretch > width) {
      const int64_t whole = stretch / width;
      rows({whole, width, width}, width, outside, inside);
      outside.offset += whole * width, inside.offset += whole * width;
      if (stretch % width > 0)
        rows({}, stretch % width, outside, inside);
      return;
    }
    Extent row;
    if (height > 1 && !extents.empty())
      row = extents.back(), extents.pop_back();
    along(extents, 0, row, stretch, outside, inside);
  }

private:
  static KernelAccess moved(KernelAccess access, int64_t by) {
    access.offset += by;
    return access;
  }
  template <class F>
  void loop(int64_t count, int64_t stride, int64_t insideStride, KernelAccess outside, KernelAccess inside, F of) {
    if (count == 1)
      return of(outside, inside);
    const Index loop = builder.begin("copy", count);
    outside.strides.push_back({loop, stride}), inside.strides.push_back({loop, insideStride});
    of(outside, inside);
    builder.end();
  }
  void along(const std::vector<Extent> &extents, size_t at, const Extent &row, int64_t stretch,
             const KernelAccess &outside, const KernelAccess &inside) {
    if (at == extents.size())
      return rows(row, stretch, outside, inside);
    const Extent &is = extents[at];
    loop(is.span, is.stride, is.inside, outside, inside,
         [&](const KernelAccess &from, const KernelAccess &to) { along(extents, at + 1, row, stretch, from, to); });
  }
  void rows(const Extent &row, int64_t stretch, KernelAccess outside, KernelAccess inside) {
    const int64_t whole = row.span / height, rest = row.span % height;
    outside.rowStride = row.stride, inside.rowStride = row.inside;
    if (whole > 0)
      loop(whole, height * row.stride, height * row.inside, outside, inside,
           [&](const KernelAccess &from, const KernelAccess &to) { columns(height, stretch, from, to); });
    if (rest > 0)
      columns(rest, stretch, moved(outside, whole * height * row.stride), moved(inside, whole * height * row.inside));
  }
  void columns(int64_t count, int64_t stretch, KernelAccess outside, KernelAccess inside) {
    outside.rows = inside.rows = count;
    const int64_t whole = stretch / width, rest = stretch % width;
    if (whole > 0)
      loop(whole, width, width, outside, inside,
           [&](const KernelAccess &from, const KernelAccess &to) { one(width, from, to); });
    if (rest > 0)
      one(rest, moved(outside, whole * width), moved(inside, whole * width));
  }
  void one(int64_t columns, KernelAccess outside, KernelAccess inside) {
    outside.columns = inside.columns = columns;
    builder.copy(copy, isIn ? outside : inside, isIn ? inside : outside);
  }

  KernelBuilder &builder;
  const OpcodeRole copy;
  const bool isIn;
  const int64_t width, height;
};

bool reaches(const Microarchitecture &machine, Index opcode, Index storage, bool isLoad) {
  for (const Unit &unit : machine.units) {
    const std::vector<Index> &all = isLoad ? unit.loadsFrom : unit.storesTo;
    if (std::any_of(unit.operations.begin(), unit.operations.end(),
                    [&](const UnitOperation &o) { return o.opcode == opcode; }) &&
        std::find(all.begin(), all.end(), storage) != all.end())
      return true;
  }
  return false;
}

} // namespace

std::optional<Piece> pieceOf(const ContractionTensor &tensor, const std::vector<int64_t> &strides,
                             const std::vector<int64_t> &sizes) {
  Piece made;
  made.strides.assign(strides.size(), 0);
  std::vector<int64_t> found(strides.size(), 0);
  for (const ContractionTensor::Dimension &dimension : tensor.dimensions) {
    if (dimension.terms.empty())
      continue;
    const auto &any = dimension.terms.back();
    if (any.stride <= 0)
      return std::nullopt;
    made.dimensions.push_back({dimension.terms, strides[any.loop] / any.stride, 1});
    for (const auto &term : dimension.terms) {
      if (term.stride <= 0 || found[term.loop] != 0)
        return std::nullopt;
      found[term.loop] = term.stride * made.dimensions.back().stride;
    }
  }
  if (found != strides)
    return std::nullopt;
  std::sort(made.dimensions.begin(), made.dimensions.end(), [&](const Piece::Dimension &a, const Piece::Dimension &b) {
    return std::tuple(-a.stride, -spanOf(a.terms, sizes), a.terms.back().loop) <
           std::tuple(-b.stride, -spanOf(b.terms, sizes), b.terms.back().loop);
  });
  __int128 elements = 1;
  for (auto dimension = made.dimensions.rbegin(); dimension != made.dimensions.rend(); ++dimension) {
    dimension->inside = int64_t(elements);
    for (const auto &term : dimension->terms)
      made.strides[term.loop] = term.stride * dimension->inside;
    elements = std::min<__int128>(elements * spanOf(dimension->terms, sizes), int64_t(1) << 46);
  }
  made.elements = int64_t(elements);
  return made;
}

void copyPiece(KernelBuilder &builder, const OpcodeRole &copy, const Piece &piece, const std::vector<int64_t> &sizes,
               const KernelAccess &outside, const KernelAccess &inside, bool isIn) {
  std::vector<CopyWriter::Extent> extents;
  for (const Piece::Dimension &dimension : piece.dimensions)
    extents.push_back({spanOf(dimension.terms, sizes), dimension.stride, dimension.inside});
  CopyWriter(builder, copy, isIn).run(std::move(extents), outside, inside);
}

void copyStretch(KernelBuilder &builder, const OpcodeRole &copy, int64_t count, const KernelAccess &outside,
                 const KernelAccess &inside) {
  CopyWriter(builder, copy, false).run({{count, 1, 1}}, outside, inside);
}

bool hasTokensFor(const Microarchitecture &machine, size_t buffers) {
  int32_t tokens = 0;
  for (const RegisterFile &file : machine.registers)
    tokens = std::max(tokens, file.counts ? file.count : 0);
  return tokens == 0 || size_t(tokens) >= 2 * buffers + 2;
}

std::optional<StagePlaces> stagingPlaces(const Microarchitecture &machine, const std::vector<OpcodeRole> &loads,
                                         const std::vector<OpcodeRole> &stores) {
  auto sizeOf = [&](Index s) {
    const Storage *last = &machine.storages[s];
    while (last->cache)
      last = &machine.storages[last->cache->behind];
    return last->end - last->begin;
  };
  StagePlaces made;
  const Index count = Index(machine.storages.size());
  for (Index s = 0; s < count; ++s)
    if (!machine.storages[s].cache && (made.home == kNone || sizeOf(s) >= sizeOf(made.home)))
      made.home = s;
  // Storages that all reach: operands by loads; results by stores and loads.
  auto isReached = [&](Index s, bool result) {
    auto all = [&](const std::vector<OpcodeRole> &of) {
      return std::all_of(of.begin(), of.end(), [&](const OpcodeRole &role) {
        const Index opcode = opcodeOf(machine, role);
        return opcode != kNone && reaches(machine, opcode, s, role.does != Role::Store);
      });
    };
    return result ? all(stores) : all(loads);
  };
  bool direct = false;
  for (Index s = 0; s < count; ++s)
    direct |= sizeOf(s) == sizeOf(made.home) && isReached(s, false) && isReached(s, true);
  if (direct)
    return std::nullopt;
  int64_t widest = 0;
  for (Index o = 0; o < Index(machine.opcodes.size()); ++o) {
    const OpcodeRole &role = machine.opcodes[o].role;
    const int64_t moved = role.isTile() ? int64_t(role.m) * role.n : role.lanes;
    if (role.does != Role::Copy || moved <= widest)
      continue;
    std::array<Index, 2> buffers = {kNone, kNone};
    for (int result = 0; result < 2; ++result)
      for (Index s = 0; s < count; ++s)
        if (s != made.home && isReached(s, result) && reaches(machine, o, made.home, true) &&
            reaches(machine, o, s, false) &&
            (!result || (reaches(machine, o, s, true) && reaches(machine, o, made.home, false))) &&
            (buffers[result] == kNone || sizeOf(s) > sizeOf(buffers[result])))
          buffers[result] = s;
    if (buffers[0] != kNone && buffers[1] != kNone)
      widest = moved, made.copy = role, made.buffers = buffers;
  }
  return widest > 0 ? std::optional(made) : std::nullopt;
}

} // namespace accord::microarchitecture
