#include "lib/microarchitecture/mapping/Formula.h"
#include "lib/microarchitecture/mapping/Pieces.h"
#include "lib/microarchitecture/mapping/RowOperation.h"
#include <fmt/format.h>
#include <set>

namespace accord::microarchitecture {
namespace {

constexpr double kLowest = -1e30;

class RowGenerator {
public:
  RowGenerator(const RowOperation &operation, const RowSchedule &schedule)
      : operation(operation), schedule(schedule), layout(rowLayout(operation, schedule)), builder(operation.name),
        lanes(schedule.vectorLoop == kNone ? 1 : std::max(schedule.lanes, 1)) {}

  Result<LoopKernel> run() {
    std::string wrong;
    if (rolesOf(operation, wrong); !wrong.empty())
      return Error{
          Code::NotMapped, fmt::format("'{}': a formula has the unknown word '{}'", operation.name, wrong), {}};
    for (size_t t = 0; t < operation.tensors.size(); ++t) {
      const ContractionTensor &tensor = operation.tensors[t];
      builder.tensor(tensor.name, layout.elements[t], tensor.bytes);
      bits = std::max<int64_t>(bits, int64_t(8) * tensor.bytes * lanes);
      numbers[tensor.name] = Index(t);
    }
    checkLanes();
    for (const ContractionLoop &loop : operation.loops)
      extents.push_back(loop.extent);
    base.assign(operation.loops.size(), 0);
    stages.resize(operation.tensors.size());
    for (Index t = 0; t < Index(stages.size()) && schedule.stripLoop != kNone; ++t)
      findStaging(t);
    if (failed)
      return std::move(*failed);
    for (const ContractionLoop &loop : operation.loops)
      if (loop.extent < 1)
        return builder.finish();
    clear();
    outer(0, false);
    if (failed)
      return std::move(*failed);
    return builder.finish();
  }

private:
  using Kind = RowStatement::Kind;

  void fail(std::string message) {
    if (!failed)
      failed = Error{Code::NotMapped, fmt::format("'{}': {}", operation.name, message), {}};
  }
  int64_t stride(Index tensor, Index loop) const { return layout.strides[tensor][loop]; }
  OpcodeRole role(Role does) const { return {does, lanes}; }
  bool isInner(Index loop) const { return loop >= operation.outer; }

  void checkLanes() {
    if (lanes == 1)
      return;
    const Index v = schedule.vectorLoop;
    for (size_t t = 0; t < operation.tensors.size(); ++t)
      if (int64_t s = stride(Index(t), v); s != 0 && s != 1)
        fail(fmt::format("the elements of '{}' do not lie side by side along '{}'", operation.tensors[t].name,
                         operation.loops[v].name));
    for (const RowPass &pass : operation.passes)
      for (const RowStatement &statement : pass.statements)
        if (auto at = numbers.find(statement.target); (statement.kind == Kind::Store || statement.kind == Kind::Add) &&
                                                      at != numbers.end() && stride(at->second, v) == 0 &&
                                                      operation.loops[v].extent > 1 && (pass.overRow || !isInner(v)))
          fail(
              fmt::format("lanes along '{}' all reach one element of '{}'", operation.loops[v].name, statement.target));
  }

  KernelAccess access(Index tensor, bool isWhole) const {
    const Stage &stage = stages[tensor];
    auto strideNow = [&](Index loop) { return stage.in < 0 ? stride(tensor, loop) : stage.piece->strides[loop]; };
    KernelAccess made;
    made.tensor = stage.in < 0 ? tensor : stage.buffers[stage.in];
    for (size_t a = stage.in < 0 ? 0 : stage.depth; a < around.size(); ++a)
      if (const int64_t s = strideNow(around[a].loop) * around[a].step)
        made.strides.push_back({around[a].kernelLoop, s});
    for (size_t l = 0; l < base.size(); ++l)
      made.offset += strideNow(Index(l)) * (base[l] - (stage.in < 0 ? 0 : stage.origin[l]));
    if (lanes > 1 && isWhole)
      made.columns = count;
    return made;
  }
  Index load(Index tensor, bool isWhole) {
    const bool moves = lanes > 1 && stride(tensor, schedule.vectorLoop) != 0 && isWhole;
    const Index value = builder.value(bits);
    builder.load(value, role(lanes > 1 && !moves ? Role::Broadcast : Role::Load), access(tensor, moves));
    return value;
  }

  /// Tensors that are added to begin at 0.
  void clear() {
    std::set<Index> added;
    for (const RowPass &pass : operation.passes)
      for (const RowStatement &statement : pass.statements)
        if (statement.kind == Kind::Add)
          added.insert(numbers.at(statement.target));
    for (Index tensor : added) {
      if (!stages[tensor].piece) {
        clear(tensor, layout.elements[tensor]);
        continue;
      }
      // By copies of a buffer.
      const int64_t all = layout.elements[tensor], size = stages[tensor].piece->elements, whole = all / size;
      clear(stages[tensor].buffers[0], size);
      KernelAccess outside, inside;
      outside.tensor = tensor, inside.tensor = stages[tensor].buffers[0];
      if (whole > 0) {
        outside.strides = {{builder.begin("clear", whole), size}};
        copyStretch(builder, schedule.copy, size, outside, inside);
        builder.end();
      }
      outside.strides.clear(), outside.offset = whole * size;
      if (all % size > 0)
        copyStretch(builder, schedule.copy, all % size, outside, inside);
    }
  }
  void clear(Index tensor, int64_t all) {
    const int64_t whole = all / lanes;
    const Index zero = builder.constant(0, lanes, bits);
    KernelAccess at;
    at.tensor = tensor, at.columns = lanes;
    if (whole > 0) {
      at.strides = {{builder.begin("clear", whole), lanes}};
      builder.store(zero, role(Role::Store), at);
      builder.end();
    }
    if (whole * lanes < all)
      at.strides.clear(), at.offset = whole * lanes, at.columns = all - whole * lanes,
                          builder.store(zero, role(Role::Store), at);
  }

  /// `of` for whole steps of a loop, in a loop of the kernel where there are several, and for the rest.
  template <class F> void along(Index loop, int64_t step, F of) {
    const int64_t extent = extents[loop], whole = extent / step, rest = extent % step;
    if (whole > 1) {
      around.push_back({builder.begin(operation.loops[loop].name, whole), loop, step});
      of(step);
      around.pop_back();
      builder.end();
    } else if (whole == 1) {
      of(step);
    }
    if (rest > 0) {
      base[loop] += whole * step;
      of(rest);
      base[loop] -= whole * step;
    }
  }

  // ---- pieces in buffers

  /// A tensor whose pieces are copied.
  struct Stage {
    std::optional<Piece> piece;
    std::array<Index, 2> buffers = {kNone, kNone};
    bool isRead = false, isWritten = false, isAdded = false;
    bool isRow = false; ///< its piece is there for all passes of a row, or of a strip of rows
    bool isDouble = false;
    bool isKept = false;                      ///< a piece that is written keeps what was there
    bool copiesIn = false, copiesOut = false; ///< now
    bool isDense = true;                      ///< what is written to a piece is all of it
    int in = -1;                              ///< buffer in which its piece is now
    size_t depth = 0;                         ///< loops around that do not move it there
    std::vector<int64_t> origin = {};         ///< `base` there
  };

  std::vector<int64_t> sizesOf(int64_t points) const {
    std::vector<int64_t> sizes = extents;
    for (Index l = 0; l <= schedule.stripLoop; ++l)
      sizes[l] = l == schedule.stripLoop ? points : l == schedule.vectorLoop && lanes > 1 ? count : 1;
    return sizes;
  }
  bool uses(const RowPass &pass, Index tensor, bool isWritten) const {
    const std::string &name = operation.tensors[tensor].name;
    for (const RowStatement &statement : pass.statements) {
      if (isWritten && (statement.kind == Kind::Store || statement.kind == Kind::Add) && statement.target == name)
        return true;
      for (const FormulaWord &word : wordsOf(statement.formula))
        if (!isWritten && word.kind == FormulaWord::Kind::Name && word.name == name)
          return true;
    }
    return false;
  }

  /// What passes do with a tensor, and how many there are.
  int findUses(Index t) {
    Stage &stage = stages[t];
    int passes = 0;
    for (const RowPass &pass : operation.passes) {
      const bool isRead = uses(pass, t, false), isWritten = uses(pass, t, true);
      stage.isRead |= isRead, stage.isWritten |= isWritten;
      passes += isRead || isWritten;
      for (const RowStatement &statement : pass.statements)
        stage.isAdded |= statement.kind == Kind::Add && statement.target == operation.tensors[t].name;
    }
    return passes;
  }

  /// Whether another piece reaches the same elements, or not all of its own are written.
  bool isReachedAgain(Index t, int passes) {
    Stage &stage = stages[t];
    bool isReached = stage.isAdded || (!stage.isRow && passes > 1);
    for (const auto &dimension : operation.tensors[t].dimensions)
      for (const auto &term : dimension.terms) {
        const bool isAlone = std::all_of(dimension.terms.begin(), dimension.terms.end(), [&](const auto &other) {
          return other.loop == term.loop || operation.loops[other.loop].extent == 1;
        });
        stage.isDense &= (isAlone && term.stride == 1) || operation.loops[term.loop].extent == 1;
        isReached |= !isAlone;
      }
    for (Index l = 0; l <= schedule.stripLoop; ++l)
      isReached |= stride(t, l) == 0 && operation.loops[l].extent > 1 && !(isInner(l) && stage.isRow);
    return isReached;
  }

  void findStaging(Index t) {
    const ContractionTensor &tensor = operation.tensors[t];
    const Index strip = schedule.stripLoop;
    Stage &stage = stages[t];
    const bool isByRows = strip < operation.outer;
    if (strip < 0 || strip >= Index(operation.loops.size()) || schedule.strip < 1 ||
        (strip == schedule.vectorLoop && schedule.strip % lanes != 0))
      return fail("a strip is of no loop, or of a part of a vector");
    count = lanes;
    stage.piece = pieceOf(tensor, layout.strides[t], sizesOf(std::min(schedule.strip, extents[strip])));
    count = 1;
    if (!stage.piece)
      return fail(fmt::format("what some iterations reach of '{}' is no box", tensor.name));
    stage.isRow = isByRows || !isMoved(t);
    const int passes = findUses(t);
    const bool isReached = isReachedAgain(t, passes);
    stage.isDouble = schedule.isDouble && !(isReached && stage.isWritten) && (isByRows || !stage.isRow) &&
                     extents[strip] > schedule.strip;
    const Index storage = schedule.buffers[stage.isWritten];
    for (int b = 0; b < (stage.isDouble ? 2 : 1); ++b)
      stage.buffers[b] =
          builder.tensor(fmt::format("{}_{}", tensor.name, b), stage.piece->elements, tensor.bytes, storage);
    stage.isKept = stage.isAdded || (stage.isWritten && (isReached || !stage.isDense));
    stage.copiesIn = stage.isRead || stage.isKept, stage.copiesOut = stage.isWritten;
  }

  void copy(Index t, int buffer, int64_t points, bool isIn) {
    KernelAccess inside;
    inside.tensor = stages[t].buffers[buffer];
    copyPiece(builder, schedule.copy, *stages[t].piece, sizesOf(points), access(t, false), inside, isIn);
  }
  /// `of` with the pieces of these tensors in buffers.
  template <class F>
  void withPieces(const std::vector<Index> &tensors, int64_t points, int buffer, bool isFetched, F of) {
    for (Index t : tensors) {
      Stage &stage = stages[t];
      const int b = stage.isDouble ? buffer : 0;
      if (stage.copiesIn && !(isFetched && stage.isDouble))
        copy(t, b, points, true);
      stage.in = b, stage.depth = around.size(), stage.origin = base;
    }
    of();
    for (Index t : tensors) {
      Stage &stage = stages[t];
      const int b = stage.in;
      stage.in = -1;
      if (stage.copiesOut)
        copy(t, b, points, false);
    }
  }
  /// `of` for each strip, with its pieces in buffers. Where some have two, the copy of the next piece stands before the
  /// present one.
  template <class F> void strips(const std::vector<Index> &tensors, F of) {
    const Index loop = schedule.stripLoop;
    const int64_t step = schedule.strip, extent = extents[loop];
    const int64_t whole = extent / step, rest = extent % step, all = whole + (rest > 0);
    auto strip = [&](int64_t points, int buffer, bool isFetched) {
      withPieces(tensors, points, buffer, isFetched, [&] {
        extents[loop] = points;
        of();
        extents[loop] = extent;
      });
    };
    const bool isDouble = std::any_of(tensors.begin(), tensors.end(), [&](Index t) { return stages[t].isDouble; });
    if (!isDouble)
      return along(loop, step, [&](int64_t points) { strip(points, 0, false); });
    auto at = [&](int64_t piece, auto then) {
      base[loop] += piece * step;
      then(piece < whole ? step : rest);
      base[loop] -= piece * step;
    };
    auto open = [&](int64_t pairs) {
      around.push_back({builder.begin(operation.loops[loop].name, pairs), loop, 2 * step});
    };
    auto close = [&] { around.pop_back(), builder.end(); };
    auto fetch = [&](int64_t piece) {
      for (Index t : tensors)
        if (stages[t].isDouble && stages[t].copiesIn)
          at(piece, [&](int64_t points) { copy(t, int(piece % 2), points, true); });
    };
    auto use = [&](int64_t piece) { at(piece, [&](int64_t points) { strip(points, int(piece % 2), true); }); };
    alternatePieces(whole, all, open, close, fetch, use);
  }
  std::vector<Index> staged(bool rows, const RowPass *pass = nullptr) const {
    std::vector<Index> made;
    for (Index t = 0; t < Index(stages.size()); ++t)
      if (stages[t].piece && stages[t].isRow == rows && (!pass || uses(*pass, t, false) || uses(*pass, t, true)))
        made.push_back(t);
    return made;
  }

  /// `isInside`: of a strip.
  void outer(Index l, bool isInside) {
    if (l == schedule.stripLoop && l < operation.outer && !isInside)
      return strips(staged(true), [&] { outer(l, true); });
    if (l == operation.outer) {
      rowNames.clear();
      if (schedule.stripLoop < operation.outer)
        return passes();
      return withPieces(staged(true), 1, 0, false, [&] { passes(); });
    }
    const bool isVector = l == schedule.vectorLoop && lanes > 1;
    along(l, isVector ? lanes : 1, [&](int64_t points) {
      if (isVector)
        count = points;
      outer(l + 1, isInside);
    });
  }
  void passes() {
    for (const RowPass &pass : operation.passes)
      row(pass);
  }

  void row(const RowPass &pass) {
    if (!pass.overRow) {
      for (const RowStatement &statement : pass.statements)
        once(statement);
      return;
    }
    for (const RowStatement &statement : pass.statements)
      if (statement.kind == Kind::Sum || statement.kind == Kind::Max) {
        const Index sum = rowNames[statement.target] = builder.value(bits);
        builder.setConstant(sum, role(Role::Constant), statement.kind == Kind::Sum ? 0 : kLowest);
      }
    hoist(pass);
    inner(operation.outer, pass, false);
    if (lanes > 1 && isInner(schedule.vectorLoop)) {
      count = lanes;
      for (const RowStatement &statement : pass.statements)
        if (statement.kind == Kind::Sum || statement.kind == Kind::Max) {
          const Index sum = rowNames.at(statement.target);
          builder.compute(sum, role(statement.kind == Kind::Sum ? Role::ReduceAdd : Role::ReduceMax), {sum});
        }
    }
  }
  /// Operands that no loop of the row moves are loaded once a row.
  void hoist(const RowPass &pass) {
    for (const RowStatement &statement : pass.statements)
      for (const FormulaWord &word : wordsOf(statement.formula)) {
        auto at = word.kind == FormulaWord::Kind::Name ? numbers.find(word.name) : numbers.end();
        if (at == numbers.end() || rowNames.count(word.name) || isMoved(at->second))
          continue;
        rowNames[word.name] = load(at->second, true);
      }
  }
  bool isMoved(Index tensor) const {
    for (Index l = Index(operation.outer); l < Index(operation.loops.size()); ++l)
      if (stride(tensor, l) != 0)
        return true;
    return false;
  }

  /// Once a row, where lanes along the row all hold the same.
  void once(const RowStatement &statement) {
    const bool isSpread = lanes > 1 && !isInner(schedule.vectorLoop);
    names = &rowNames;
    const Index value = evaluate(statement.formula);
    if (statement.kind != Kind::Store) {
      rowNames[statement.target] = value;
      return;
    }
    KernelAccess at = access(numbers.at(statement.target), isSpread);
    builder.store(value, role(Role::Store), at);
  }

  void inner(Index l, const RowPass &pass, bool isInside) {
    if (l == schedule.stripLoop && !isInside) {
      const std::vector<Index> tensors = staged(false, &pass);
      for (Index t : tensors) {
        stages[t].copiesOut = uses(pass, t, true);
        stages[t].copiesIn = uses(pass, t, false) || (stages[t].copiesOut && stages[t].isKept);
      }
      return strips(tensors, [&] { inner(l, pass, true); });
    }
    const Index loops = Index(operation.loops.size());
    if (l == loops)
      return point(pass);
    const bool isVector = l == schedule.vectorLoop && lanes > 1;
    const int64_t size = isVector ? lanes : 1;
    const int64_t unroll = l + 1 == loops ? std::clamp<int64_t>(schedule.unroll, 1, 1 << 12) : 1;
    along(l, size * unroll, [&](int64_t points) {
      const int64_t begin = base[l];
      for (int64_t p = 0; p < points; p += size) {
        base[l] = begin + p;
        if (isVector)
          count = std::min<int64_t>(size, points - p);
        inner(l + 1, pass, isInside);
      }
      base[l] = begin;
    });
  }

  void point(const RowPass &pass) {
    std::map<std::string, Index> pointNames = rowNames;
    for (const RowStatement &statement : pass.statements) {
      names = &pointNames;
      Index value = evaluate(statement.formula);
      switch (statement.kind) {
      case Kind::Let:
        pointNames[statement.target] = value;
        break;
      case Kind::Store:
        builder.store(value, role(Role::Store), access(numbers.at(statement.target), true));
        break;
      case Kind::Add: {
        const Index tensor = numbers.at(statement.target), old = load(tensor, true);
        builder.compute(old, role(Role::Add), {old, value});
        builder.store(old, role(Role::Store), access(tensor, true));
        break;
      }
      case Kind::Sum:
      case Kind::Max:
        reduce(statement, value);
        break;
      }
    }
  }
  void reduce(const RowStatement &statement, Index value) {
    const bool isSum = statement.kind == Kind::Sum;
    if (lanes > 1 && isInner(schedule.vectorLoop) && count < lanes) {
      const Index there = mask(1, count), masked = builder.value(bits);
      if (isSum) {
        builder.compute(masked, role(Role::Multiply), {value, there});
      } else { // value * there + lowest * (1 - there)
        const Index low = builder.value(bits), lowest = builder.constant(kLowest, lanes, bits);
        builder.compute(low, role(Role::Multiply), {lowest, there});
        builder.compute(low, role(Role::Subtract), {lowest, low});
        builder.compute(masked, role(Role::Multiply), {value, there});
        builder.compute(masked, role(Role::Add), {masked, low});
      }
      value = masked;
    }
    const Index sum = rowNames.at(statement.target);
    builder.compute(sum, role(isSum ? Role::Add : Role::Max), {sum, value});
  }
  /// `number` in the first lanes, 0 in the others.
  Index mask(double number, int64_t first) {
    const Index value = builder.value(bits);
    builder.setConstant(value, role(Role::Constant), number, first);
    return value;
  }

  Index evaluate(const std::string &formula) {
    std::vector<Index> stack;
    for (const FormulaWord &word : wordsOf(formula)) {
      using Word = FormulaWord::Kind;
      if (word.kind == Word::Number) {
        stack.push_back(builder.constant(word.number, lanes, bits));
      } else if (word.kind == Word::Name) {
        auto [at, isNew] = names->try_emplace(word.name, kNone);
        if (isNew)
          at->second = load(numbers.at(word.name), true);
        stack.push_back(at->second);
      } else {
        if (word.kind == Word::Square && !stack.empty())
          stack.push_back(stack.back());
        if (word.kind == Word::Negate)
          stack.insert(stack.empty() ? stack.end() : stack.end() - 1, builder.constant(0, lanes, bits));
        const size_t arguments = size_t(argumentsOf(word.role));
        if (stack.size() < arguments) {
          fail(fmt::format("the formula '{}' has too few operands", formula));
          return builder.constant(0, lanes, bits);
        }
        std::vector<Index> of(stack.end() - int64_t(arguments), stack.end());
        stack.resize(stack.size() - arguments);
        stack.push_back(builder.value(bits));
        builder.compute(stack.back(), role(word.role), std::move(of));
      }
    }
    if (stack.size() != 1) {
      fail(fmt::format("the formula '{}' has {} results", formula, stack.size()));
      return builder.constant(0, lanes, bits);
    }
    return stack.back();
  }

  struct Around {
    Index kernelLoop, loop;
    int64_t step;
  };

  const RowOperation &operation;
  const RowSchedule &schedule;
  const RowLayout layout;
  KernelBuilder builder;
  const int32_t lanes;
  int64_t count = 1; ///< lanes that hold elements
  int64_t bits = 0;
  std::map<std::string, Index> numbers;          ///< of tensors
  std::map<std::string, Index> rowNames;         ///< values by name, as long as the row is the same
  std::map<std::string, Index> *names = nullptr; ///< those that a formula sees
  std::vector<Around> around;
  std::vector<int64_t> base;    ///< by loop: iterations that the loops of the kernel do not count
  std::vector<int64_t> extents; ///< by loop, in a strip those of it
  std::vector<Stage> stages;    ///< by tensor
  std::optional<Error> failed;
};

} // namespace

Result<LoopKernel> rowKernel(const RowOperation &operation, const RowSchedule &schedule) {
  return RowGenerator(operation, schedule).run();
}

} // namespace accord::microarchitecture
