#include "lib/microarchitecture/mapping/Formula.h"
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
    if (failed)
      return std::move(*failed);
    for (const ContractionLoop &loop : operation.loops)
      if (loop.extent < 1)
        return builder.finish();
    clear();
    outer(0);
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

  KernelAccess access(Index tensor, int64_t extra, bool isWhole) const {
    KernelAccess made;
    made.tensor = tensor, made.offset = extra;
    for (const auto &[kernelLoop, loop, step] : around)
      if (const int64_t s = stride(tensor, loop) * step)
        made.strides.push_back({kernelLoop, s});
    for (size_t l = 0; l < base.size(); ++l)
      made.offset += stride(tensor, Index(l)) * base[l];
    if (lanes > 1 && isWhole)
      made.columns = count;
    return made;
  }
  Index load(Index tensor, bool isWhole) {
    const bool moves = lanes > 1 && stride(tensor, schedule.vectorLoop) != 0 && isWhole;
    const Index value = builder.value(bits);
    builder.load(value, role(lanes > 1 && !moves ? Role::Broadcast : Role::Load), access(tensor, 0, moves));
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
      const int64_t all = layout.elements[tensor], whole = all / lanes;
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
  }

  /// `of` for whole steps of a loop, in a loop of the kernel where there are several, and for the rest.
  template <class F> void along(Index loop, int64_t step, F of) {
    if (base.empty())
      base.assign(operation.loops.size(), 0);
    const int64_t extent = operation.loops[loop].extent, whole = extent / step, rest = extent % step;
    if (whole > 1) {
      around.push_back({builder.begin(operation.loops[loop].name, whole), loop, step});
      of(step);
      around.pop_back();
      builder.end();
    } else if (whole == 1) {
      of(step);
    }
    if (rest > 0) {
      base[loop] = whole * step;
      of(rest);
      base[loop] = 0;
    }
  }

  void outer(Index l) {
    if (l == operation.outer) {
      rowNames.clear();
      for (const RowPass &pass : operation.passes)
        row(pass);
      return;
    }
    const bool isVector = l == schedule.vectorLoop && lanes > 1;
    along(l, isVector ? lanes : 1, [&](int64_t points) {
      if (isVector)
        count = points;
      outer(l + 1);
    });
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
    inner(operation.outer, pass);
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
    KernelAccess at = access(numbers.at(statement.target), 0, isSpread);
    builder.store(value, role(Role::Store), at);
  }

  void inner(Index l, const RowPass &pass) {
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
        inner(l + 1, pass);
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
        builder.store(value, role(Role::Store), access(numbers.at(statement.target), 0, true));
        break;
      case Kind::Add: {
        const Index tensor = numbers.at(statement.target), old = load(tensor, true);
        builder.compute(old, role(Role::Add), {old, value});
        builder.store(old, role(Role::Store), access(tensor, 0, true));
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
  std::vector<int64_t> base; ///< by loop: iterations that the loops of the kernel do not count
  std::optional<Error> failed;
};

} // namespace

Result<LoopKernel> rowKernel(const RowOperation &operation, const RowSchedule &schedule) {
  return RowGenerator(operation, schedule).run();
}

} // namespace accord::microarchitecture
