// Systolic arrays stepped cycle by cycle, PE by PE: registers move values, every multiplication is
// done. Nothing here knows a formula for a number of cycles; `SkewArray` below computes times of
// whole columns instead, for arrays too large to step.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

namespace accord::simulator {

/// What flows through an array whose PEs keep an operand. Values outside of the operands are 0.
struct StationaryFolds {
  int rows = 1, cols = 1;
  int kept = 1;    ///< values that a PE keeps in a fold
  int outputs = 1; ///< results of a column in a fold; `kept` multiply-accumulates each
  int folds = 1;
  bool fill = false, drain = false;
  std::function<int64_t(int fold, int row, int col, int index)> stays;
  /// At the step of the stream; only asked for column 0 when the operand moves from column to
  /// column.
  std::function<int64_t(int fold, int row, int col, int step)> moves;
  bool fromTheLeft = true;
  std::function<void(int fold, int col, int output, int64_t value)> leaves;
};

/// PEs with the operand that stays in them.
class StationaryArray {
public:
  explicit StationaryArray(const StationaryFolds &folds) : is(folds), steps(folds.kept * folds.outputs) {
    pes.resize(static_cast<size_t>(is.rows) * is.cols);
    for (Pe &pe : pes)
      for (auto &bank : pe.bank)
        bank.resize(static_cast<size_t>(is.kept));
    columns.resize(static_cast<size_t>(is.cols));
    edge.resize(static_cast<size_t>(is.rows));
  }

  /// Cycles until the last result has left. Throws when a PE would use what is not there.
  int64_t run() {
    while (left < int64_t{is.folds} * is.cols * is.outputs) {
      if (now > 2'000'000)
        throw std::runtime_error("the array does not finish");
      step();
      ++now;
    }
    return now;
  }

private:
  struct Kept {
    int fold = -1, row = -1;
    int64_t value = 0;
  };
  struct Token {
    int fold = -1, step = 0;
    int64_t value = 0;
  };
  struct Sum {
    int fold = -1, output = 0;
    int64_t value = 0;
  };
  struct Pe {
    std::vector<Kept> bank[2];
    Token token;
    int64_t accumulator = 0;
    Sum below;     ///< what it hands down
    int done = -1; ///< the last fold it finished
  };
  struct Column {
    int loading = 0, loaded = 0; ///< the next fold to load; values of it that came
  };

  Pe &at(int r, int c) { return pes[static_cast<size_t>(r) * is.cols + c]; }

  void step() {
    bool empty = left == int64_t{begun} * is.cols * is.outputs; // of every fold that began
    // The edge: row 0 goes first, each row one cycle after the one above.
    for (int r = is.rows - 1; r > 0; --r)
      edge[static_cast<size_t>(r)] = edge[static_cast<size_t>(r - 1)];
    Token &first = edge[0];
    if (first.fold >= 0 && first.step + 1 < steps)
      ++first.step;
    else if (begun < is.folds && (is.drain || empty) && columns[0].loading > begun)
      first = {begun++, 0, 0};
    else
      first = {};
    empty &= first.fold < 0;
    // A column may start to load in this cycle by what was true before it.
    std::vector<bool> loads(columns.size());
    for (int c = 0; c < is.cols; ++c) {
      Column &column = columns[static_cast<size_t>(c)];
      int before = column.loading - (is.fill ? 2 : 1); // the fold that its registers hold
      bool free = before < 0 || (is.fill || is.drain ? at(0, c).done >= before : empty && begun > before);
      loads[static_cast<size_t>(c)] = column.loading < is.folds && (column.loaded > 0 || free);
    }
    std::vector<Sum> above(static_cast<size_t>(is.cols)); // of the cycle before
    for (int r = 0; r < is.rows; ++r) {
      Token incoming = edge[static_cast<size_t>(r)];
      for (int c = 0; c < is.cols; ++c) {
        Pe &pe = at(r, c);
        if (incoming.fold >= 0 && (c == 0 || !is.fromTheLeft))
          incoming.value = is.moves(incoming.fold, r, c, incoming.step);
        std::swap(incoming, pe.token); // what was here goes on to the right
        Sum handed = pe.below;
        multiply(pe, r, c, above[static_cast<size_t>(c)]);
        above[static_cast<size_t>(c)] = handed;
      }
    }
    for (int c = 0; c < is.cols; ++c)
      if (loads[static_cast<size_t>(c)])
        load(c);
  }

  void multiply(Pe &pe, int r, int c, const Sum &above) {
    pe.below = {};
    const Token &token = pe.token;
    if (token.fold < 0)
      return;
    int index = token.step % is.kept, output = token.step / is.kept;
    const Kept &kept = pe.bank[is.fill ? token.fold % 2 : 0][static_cast<size_t>(index)];
    if (kept.fold != token.fold || kept.row != r)
      throw std::runtime_error("a PE uses an operand that is not there");
    if (index == 0)
      pe.accumulator = 0;
    pe.accumulator += kept.value * token.value;
    if (token.step + 1 == steps)
      pe.done = token.fold;
    if (index + 1 < is.kept)
      return;
    if (r > 0 && (above.fold != token.fold || above.output != output))
      throw std::runtime_error("a PE misses the result from above");
    Sum sum{token.fold, output, pe.accumulator + (r > 0 ? above.value : 0)};
    pe.below = sum;
    if (r + 1 == is.rows) {
      is.leaves(sum.fold, c, sum.output, sum.value);
      ++left;
    }
  }

  /// One value enters at the top; a register takes what is above it when that belongs to the fold
  /// that is being loaded.
  void load(int c) {
    Column &column = columns[static_cast<size_t>(c)];
    int fold = column.loading, bank = is.fill ? fold % 2 : 0, length = is.rows * is.kept;
    auto place = [&](int p) -> Kept & { return at(p / is.kept, c).bank[bank][static_cast<size_t>(p % is.kept)]; };
    for (int p = length - 1; p > 0; --p)
      if (place(p - 1).fold == fold)
        place(p) = place(p - 1);
    int target = length - 1 - column.loaded;
    place(0) = {fold, target / is.kept, is.stays(fold, target / is.kept, c, target % is.kept)};
    if (++column.loaded == length) {
      column.loaded = 0;
      ++column.loading;
    }
  }

  const StationaryFolds &is;
  const int steps;
  std::vector<Pe> pes;
  std::vector<Column> columns;
  std::vector<Token> edge;
  int begun = 0;
  int64_t now = 0, left = 0;
};

/// What flows through an array whose PEs keep their sums.
struct OutputFolds {
  int rows = 1, cols = 1, depth = 1, folds = 1;
  std::function<int64_t(int fold, int row, int step)> left;
  std::function<int64_t(int fold, int col, int step)> top;
  std::function<void(int fold, int row, int col, int64_t value)> leaves;
};

/// PEs that keep their sums. The next fold enters `interval` cycles after this one, or, for 0, when
/// the array is empty. Cycles until the last result has left; nothing (-1) when two results want
/// one bus or two folds one edge.
inline int64_t runOutputStationary(const OutputFolds &is, int interval) {
  struct Token {
    int fold = -1, step = 0;
    int64_t value = 0;
  };
  auto index = [&](int r, int c) { return static_cast<size_t>(r) * is.cols + c; };
  std::vector<Token> across(index(is.rows, 0)), down(across), edge(static_cast<size_t>(is.rows + is.cols));
  std::vector<int64_t> sums(across.size());
  int64_t left = 0, now = 0, began = 0;
  int begun = 0;
  Token leader; // what enters PE (0, 0)
  for (; left < int64_t{is.folds} * is.rows * is.cols; ++now) {
    // Edges: position i is i cycles behind the first.
    for (size_t i = edge.size() - 1; i > 0; --i)
      edge[i] = edge[i - 1];
    bool due = begun < is.folds &&
               (begun == 0 || (interval ? now - began == interval : left == int64_t{begun} * is.rows * is.cols));
    if (due && leader.fold >= 0 && leader.step + 1 < is.depth)
      return -1;
    if (due) {
      leader = {begun++, 0, 0};
      began = now;
    } else if (leader.fold >= 0 && leader.step + 1 < is.depth) {
      ++leader.step;
    } else {
      leader = {};
    }
    edge[0] = leader;
    for (int r = is.rows - 1; r >= 0; --r)
      for (int c = is.cols - 1; c >= 0; --c) {
        Token &a = across[index(r, c)], &b = down[index(r, c)];
        a = c ? across[index(r, c - 1)] : edge[static_cast<size_t>(r)];
        b = r ? down[index(r - 1, c)] : edge[static_cast<size_t>(c)];
        if (!c && a.fold >= 0)
          a.value = is.left(a.fold, r, a.step);
        if (!r && b.fold >= 0)
          b.value = is.top(b.fold, c, b.step);
      }
    std::vector<bool> bus(static_cast<size_t>(is.cols));
    for (int r = 0; r < is.rows; ++r)
      for (int c = 0; c < is.cols; ++c) {
        const Token &a = across[index(r, c)], &b = down[index(r, c)];
        if (a.fold != b.fold || (a.fold >= 0 && a.step != b.step))
          throw std::runtime_error("operands do not meet");
        if (a.fold < 0)
          continue;
        int64_t &sum = sums[index(r, c)];
        sum = (a.step ? sum : 0) + a.value * b.value;
        if (a.step + 1 < is.depth)
          continue;
        if (bus[static_cast<size_t>(c)])
          return -1;
        bus[static_cast<size_t>(c)] = true;
        is.leaves(a.fold, r, c, sum);
        ++left;
      }
  }
  return now;
}

/// Times of whole columns: when each is loaded, entered and free again.
class SkewArray {
public:
  SkewArray(int64_t rows, int64_t cols, bool fill, bool drain) : rows(rows), cols(cols), fill(fill), drain(drain) {}

  int64_t stationary(int64_t folds, int64_t kept, int64_t outputs) const {
    int64_t length = kept * outputs, edgeFree = 0, empty = 0;
    std::vector<int64_t> port(static_cast<size_t>(cols)), bank[2] = {port, port};
    for (int64_t f = 0; f < folds; ++f) {
      auto &registers = bank[fill ? f % 2 : 0];
      int64_t start = drain ? edgeFree : std::max(edgeFree, empty);
      for (size_t c = 0; c < port.size(); ++c) {
        int64_t begin = std::max(port[c], fill || drain ? registers[c] : empty);
        port[c] = begin + rows * kept;
        start = std::max(start, port[c] - static_cast<int64_t>(c));
      }
      for (size_t c = 0; c < port.size(); ++c)
        registers[c] = start + length + static_cast<int64_t>(c);
      edgeFree = start + length;
      empty = start + length + rows + cols - 2;
    }
    return empty;
  }

  int64_t outputs(int64_t folds, int64_t depth) const {
    int64_t edgeFree = 0, empty = 0;
    std::vector<int64_t> bus(static_cast<size_t>(cols));
    for (int64_t f = 0; f < folds; ++f) {
      int64_t start = drain ? edgeFree : empty;
      for (size_t c = 0; c < bus.size(); ++c)
        start = std::max(start, bus[c] - (depth - 1) - static_cast<int64_t>(c));
      for (size_t c = 0; c < bus.size(); ++c)
        bus[c] = start + depth - 1 + static_cast<int64_t>(c) + rows;
      edgeFree = start + depth;
      empty = start + depth + rows + cols - 2;
    }
    return empty;
  }

private:
  int64_t rows, cols;
  bool fill, drain;
};

} // namespace accord::simulator
