#include "lib/microarchitecture/kernels/OperationKernels.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

using Kind = RowStatement::Kind;
using Use = Composition::Use;

constexpr const char *kInOrder = "rows are looked up in order: what ids say is not known, and no access waits for one";

/// A tensor before, along and behind the dimension in which it differs from another one.
struct Cut {
  int64_t before = 1, along = 1, behind = 1;
};
std::pair<Cut, Cut> cutOf(const LoopTensor &a, const LoopTensor &b) {
  Cut x, y;
  size_t d = 0;
  const size_t rank = std::min(a.sizes.size(), b.sizes.size());
  for (; d < rank && a.sizes[d] == b.sizes[d]; ++d)
    x.before *= a.sizes[d];
  if (d == rank && d > 0) // the same shape
    --d, x.before /= std::max<int64_t>(a.sizes[d], 1);
  y.before = x.before;
  for (size_t behind = d + 1; behind < rank; ++behind)
    x.behind *= a.sizes[behind];
  y.behind = x.behind;
  x.along = d < a.sizes.size() ? a.sizes[d] : 1, y.along = d < b.sizes.size() ? b.sizes[d] : 1;
  return {x, y};
}

/// Pieces along one dimension from or to a whole, where the pieces of each row lie side by side. `fromWhole`: split and
/// slice; else join and pad.
Result<LoopKernel> pieces(const Operation &operation, const Microarchitecture &machine, const LoopTensor &whole,
                          const std::vector<const LoopTensor *> &parts, bool fromWhole, bool zeroFirst = false) {
  Composition made(operation.name, machine);
  int64_t offset = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [of, piece] = cutOf(whole, *parts[i]);
    const int64_t width = of.along * of.behind, length = piece.along * piece.behind;
    if (zeroFirst && i == 0) {
      made.extent('a', of.before * width);
      made.tensor("whole", {of.before * width}, bytesOf(whole));
      made.fill({"whole", "a"}, "0", {}, true);
    }
    made.tensor("whole", {of.before, width}, bytesOf(whole));
    const std::string name = fmt::format("piece{}", i);
    made.tensor(name, {of.before, length}, bytesOf(*parts[i]));
    made.extent('o', of.before), made.extent('e', length);
    const Use all{"whole", "oe", std::clamp<int64_t>(offset, 0, std::max<int64_t>(width - length, 0))},
        part{name, "oe"};
    if (fromWhole)
      made.fill(part, "whole", {all}, true);
    else
      made.fill(all, name, {part}, true);
    offset += length;
  }
  return made.finish();
}

/// y = x at positions that a map says.
Result<LoopKernel> permuted(const Operation &operation, const Microarchitecture &machine) {
  const Collapsed domain = collapse(operation.domain, operation.tensors);
  RowOperation copy;
  copy.name = operation.name, copy.loops = domain.loops, copy.inOrder = true;
  const char *names[] = {"x", "y"};
  for (size_t t = 0; t < 2; ++t)
    copy.tensors.push_back(laidOut(names[t], domain.strides[t], copy.loops, bytesOf(operation.tensors[t])));
  copy.passes = {{true, {{Kind::Store, "y", "x"}}}};
  return rowKernel(copy, plainRowSchedule(copy, machine));
}

/// Look-ups of rows or of sums of rows, and their gradients.
class LookUpWriter {
public:
  LookUpWriter(const std::string &name, const LookUp &look, const Microarchitecture &machine)
      : look(look), made(name, machine) {}

  Result<LoopKernel> gather() {
    if (look.bag > 1)
      bags([&](const Use &table, const Use &ids, const Use &out) {
        made.rows(
            "hw", "b", {ids, table, out},
            {{true, {{Kind::Let, "id", "ids"}, {Kind::Sum, "sum", "table"}}}, {false, {{Kind::Store, "out", "sum"}}}},
            true);
      });
    else
      alongRows(made, look, [&](const RowUses &of) {
        made.rows(of.outer, "w", {of.single("ids"), of.table("table"), of.row("out")},
                  {{false, {{Kind::Let, "id", "ids"}}}, {true, {{Kind::Store, "out", "table"}}}}, true);
      });
    return made.finish();
  }
  /// `fresh`: the table begins at zero.
  Result<LoopKernel> scatter(bool fresh) {
    if (fresh)
      clearTable(made, look, "table");
    const std::vector<RowPass> passes = {{false, {{Kind::Let, "id", "ids"}}},
                                         {true, {{Kind::Store, "table", "table out +"}}}};
    if (look.bag > 1)
      bags([&](const Use &table, const Use &ids, const Use &out) {
        made.rows("hb", "w", {ids, out, table}, passes, true);
      });
    else
      alongRows(made, look, [&](const RowUses &of) {
        made.rows(of.outer, "w", {of.single("ids"), of.row("out"), of.table("table")}, passes, true);
      });
    return made.finish();
  }

private:
  /// Bags look up as many rows as there are, where the table has them, else the same ones again.
  template <class F> void bags(F of) {
    made.assume(kInOrder);
    const int64_t heads = look.lookups / look.bag;
    made.extent('h', heads), made.extent('b', look.bag), made.extent('w', look.width);
    const bool isWhole = look.rows >= look.lookups;
    made.tensor("table", {isWhole ? heads : 1, std::min(look.bag, look.rows), look.width}, look.tableBytes);
    made.tensor("ids", {heads, look.bag}, look.idBytes), made.tensor("out", {heads, look.width}, look.otherBytes);
    const char *letters = isWhole ? "hbw" : look.rows >= look.bag ? ".bw" : "..w";
    of(Use{"table", letters}, Use{"ids", "hb"}, Use{"out", "hw"});
  }

  const LookUp look;
  Composition made;
};

/// Pairs x0, x1 of the last dimension turn to x0 cos - x1 sin, x1 cos + x0 sin (Su et al., RoFormer, 2021). With lanes,
/// the first ones of all pairs are stored before the second ones.
Result<LoopKernel> rotary(const Operation &operation, const Microarchitecture &machine) {
  const LoopTensor &x = operation.tensors[0];
  const int64_t width = x.sizes.back(), half = width / 2;
  size_t along = x.sizes.size() - 2; // dimension of positions
  for (size_t d = 1; d + 1 < x.sizes.size(); ++d)
    if (x.sizes[d] > x.sizes[along])
      along = d;
  int64_t before = 1, behind = 1;
  for (size_t d = 0; d + 1 < x.sizes.size(); ++d)
    (d < along ? before : behind) *= d == along ? 1 : x.sizes[d];
  Composition made(operation.name, machine);
  made.assume("positions of rotary go along the longest dimension between batch and width");
  made.extent('o', before), made.extent('p', x.sizes[along]), made.extent('i', behind), made.extent('e', half);
  const bool isHalved = lanesOf(machine, Role::Load) > 1;
  const std::string letters = isHalved ? "opi.e" : "opie.";
  const int64_t second = isHalved ? half : 1;
  for (const char *name : {"x", "y"})
    made.tensor(name, {before, x.sizes[along], behind, isHalved ? 2 : half, isHalved ? half : 2}, bytesOf(x));
  for (const char *name : {"cos", "sin"})
    made.tensor(name, {x.sizes[along], half}, bytesOf(x));
  if (width % 2 != 0)
    return refused(operation, "its width is odd, so that one element is in no pair");
  made.rows("", "opie",
            {{"x", letters, 0, "x0"},
             {"x", letters, second, "x1"},
             {"cos", "pe"},
             {"sin", "pe"},
             {"y", letters, 0, "y0"},
             {"y", letters, second, "y1"}},
            {{true, {{Kind::Store, "y0", "x0 cos * x1 sin * -"}, {Kind::Store, "y1", "x1 cos * x0 sin * +"}}}});
  return made.finish();
}

/// The k largest of each row by k passes: what is not below the one before counts no more, so equal ones count once.
Result<LoopKernel> topk(const Operation &operation, const Microarchitecture &machine) {
  const LoopTensor &x = operation.tensors[0], &values = operation.tensors[1], &ids = operation.tensors[2];
  const int64_t length = x.sizes.back(), k = values.sizes.back(), rows = elementsOf(x) / std::max<int64_t>(length, 1);
  if (k > 1024)
    return refused(operation, "more than 1024 entries are chosen");
  Composition made(operation.name, machine);
  made.assume("entries of topk are different");
  made.extent('r', rows), made.extent('e', length);
  made.tensor("x", {rows, length}, bytesOf(x)), made.tensor("positions", {length});
  made.tensor("values", {rows, k}, bytesOf(values)), made.tensor("ids", {rows, k}, bytesOf(ids));
  for (int64_t i = 0; i < k; ++i) {
    std::vector<Use> uses = {{"x", "re"}, {"positions", "e"}};
    std::string of = "x";
    if (i > 0)
      uses.push_back({"values", "r.", i - 1, "last"}), of = "last x > x * 1 last x > - -1e30 * +";
    uses.push_back({"values", "r.", i, "value"}), uses.push_back({"ids", "r.", i, "id"});
    made.rows("r", "e", uses,
              {{true, {{Kind::Max, "top", of}}},
               {true, {{Kind::Sum, "at", "x top = positions *"}}},
               {false, {{Kind::Store, "value", "top"}, {Kind::Store, "id", "at"}}}});
  }
  return made.finish();
}

/// dx[i] = sum of the values whose id is i.
Result<LoopKernel> topkGradient(const Operation &operation, const Microarchitecture &machine) {
  const LoopTensor &values = operation.tensors[0], &ids = operation.tensors[1], &dx = operation.tensors[2];
  const int64_t length = dx.sizes.back(), k = values.sizes.back(), rows = elementsOf(dx) / std::max<int64_t>(length, 1);
  Composition made(operation.name, machine);
  made.extent('r', rows), made.extent('e', length), made.extent('k', k);
  made.tensor("dx", {rows, length}, bytesOf(dx)), made.tensor("positions", {length});
  made.tensor("values", {rows, k}, bytesOf(values)), made.tensor("ids", {rows, k}, bytesOf(ids));
  made.rows("re", "k", {{"values", "rk"}, {"ids", "rk"}, {"positions", "e"}, {"dx", "re"}},
            {{true, {{Kind::Sum, "sum", "ids positions = values *"}}}, {false, {{Kind::Store, "dx", "sum"}}}});
  return made.finish();
}

/// Nearest neighbours: blocks of one element, or the sums of blocks.
Result<LoopKernel> upsample(const Operation &operation, const Microarchitecture &machine, bool isGradient) {
  const LoopTensor &x = operation.tensors[isGradient ? 1 : 0], &y = operation.tensors[isGradient ? 0 : 1];
  const int64_t rows = x.sizes[2], columns = x.sizes[3], planes = x.sizes[0] * x.sizes[1];
  Composition made(operation.name, machine);
  // Of one of several instances, one of both has fewer elements than the other one says.
  const int64_t a = (y.sizes[2] + rows - 1) / std::max<int64_t>(rows, 1),
                b = (y.sizes[3] + columns - 1) / std::max<int64_t>(columns, 1);
  made.extent('p', planes * rows), made.extent('a', a), made.extent('c', columns), made.extent('b', b);
  made.tensor("x", {planes * rows, columns}, bytesOf(x)), made.tensor("y", {planes * rows, a, columns, b}, bytesOf(y));
  if (isGradient)
    made.rows("pc", "ab", {{"y", "pacb"}, {"x", "pc"}},
              {{true, {{Kind::Sum, "sum", "y"}}}, {false, {{Kind::Store, "x", "sum"}}}}, true);
  else
    made.fill({"y", "pacb"}, "x", {{"x", "pc"}}, true);
  return made.finish();
}

MaybeKernel lookUpKernel(const Operation &operation, const Microarchitecture &machine) {
  const llvm::StringRef kind = operation.kind;
  const auto &t = operation.tensors;
  const bool isBias = kind == "relative_bias" || kind == "relative_bias_grad";
  if (isBias ? !hasRanks(operation, {1, 1}) : !hasRanks(operation, {1, 1, 1}))
    return std::nullopt;
  auto writer = [&](const LookUp &look) { return LookUpWriter(operation.name, look, machine); };
  if (kind == "embedding")
    return writer(lookUpOf(t[1], t[0], t[2])).gather();
  if (kind == "gather")
    return writer(lookUpOf(t[0], t[1], t[2])).gather();
  if (kind == "embedding_grad" || kind == "gather_grad")
    return writer(lookUpOf(t[2], t[1], t[0])).scatter(true);
  if (kind == "segment_sum")
    return writer(lookUpOf(t[2], t[1], t[0])).scatter(true);
  if (isBias) { // of one head after the other
    const LoopTensor &table = kind == "relative_bias" ? t[0] : t[1], &bias = kind == "relative_bias" ? t[1] : t[0];
    LookUp look{elementsOf(table), elementsOf(bias), 1, 1, bytesOf(table), 4, bytesOf(bias)};
    return kind == "relative_bias" ? writer(look).gather() : writer(look).scatter(true);
  }
  if (kind.starts_with("embedding_bag")) {
    const bool isGradient = kind != "embedding_bag";
    const LoopTensor &ids = t[isGradient ? 1 : 0], &table = t[isGradient ? 2 : 1], &out = t[isGradient ? 0 : 2];
    LookUp look = lookUpOf(table, ids, out);
    look.width = out.sizes.back(), look.rows = elementsOf(table) / std::max<int64_t>(look.width, 1);
    look.lookups = elementsOf(ids), look.bag = std::max<int64_t>(ids.sizes.back(), 1);
    if (kind == "embedding_bag")
      return writer(look).gather();
    if (kind == "embedding_bag_rows_grad") // a row for each lookup
      look.rows = look.lookups;
    return writer(look).scatter(kind == "embedding_bag_grad");
  }
  if (kind == "embedding_rows_grad") { // the rows themselves, and their ids
    Composition made(operation.name, machine);
    const int64_t rows = elementsOf(t[1]), all = elementsOf(t[0]);
    made.extent('r', rows), made.extent('e', all);
    made.tensor("dy", {all}, bytesOf(t[0])), made.tensor("rows", {all}, bytesOf(t[0]));
    made.tensor("ids", {rows}, bytesOf(t[1])), made.tensor("row_ids", {rows}, bytesOf(t[1]));
    made.fill({"rows", "e"}, "dy", {{"dy", "e"}}, true);
    made.fill({"row_ids", "r"}, "ids", {{"ids", "r"}}, true);
    return made.finish();
  }
  if (kind == "scatter") {
    Composition made(operation.name, machine);
    const LookUp look = lookUpOf(t[0], t[1], t[2]);
    made.assume(kInOrder);
    const int64_t rows = std::min(look.rows, look.lookups);
    made.extent('a', look.rows * look.width), made.extent('r', rows), made.extent('w', look.width);
    made.tensor("x", {look.rows * look.width}, look.tableBytes),
        made.tensor("all", {look.rows * look.width}, look.tableBytes);
    made.fill({"all", "a", 0, "y"}, "x", {{"x", "a"}}, true);
    made.tensor("all", {look.rows, look.width}, look.tableBytes), made.tensor("ids", {look.lookups}, look.idBytes);
    made.tensor("updates", {look.lookups, look.width}, look.otherBytes);
    made.rows("r", "w", {{"ids", "r"}, {"updates", "rw"}, {"all", "rw", 0, "y"}},
              {{false, {{Kind::Let, "id", "ids"}}}, {true, {{Kind::Store, "y", "y updates +"}}}}, true);
    return made.finish();
  }
  return std::nullopt;
}

} // namespace

void alongRows(Composition &made, const LookUp &look, const std::function<void(const RowUses &)> &of) {
  made.assume(kInOrder);
  made.extent('w', look.width);
  const int64_t rows = std::max<int64_t>(look.rows, 1), whole = look.lookups / rows;
  const int64_t rest = look.lookups - whole * rows;
  made.tensor("table", {rows, look.width}, look.tableBytes);
  for (const char *name : {"out", "other"})
    made.tensor(name, {std::max<int64_t>(whole, 1), rows, look.width}, look.otherBytes);
  for (const char *name : {"ids", "weights", "dweights"})
    made.tensor(name, {std::max<int64_t>(whole, 1), rows}, name[0] == 'i' ? look.idBytes : look.otherBytes);
  if (whole > 0) {
    made.extent('q', whole), made.extent('r', rows);
    of({"qr", "qr", 0, look.width});
  }
  if (rest > 0) {
    made.extent('r', rest);
    of({"r", ".r", whole * rows, look.width});
  }
}

void clearTable(Composition &made, const LookUp &look, const std::string &name) {
  made.extent('a', look.rows * look.width);
  made.tensor(name, {look.rows * look.width}, look.tableBytes);
  made.fill({name, "a"}, "0", {}, true);
}

/// What is looked up where, from the sizes of table, ids and rows.
LookUp lookUpOf(const LoopTensor &table, const LoopTensor &ids, const LoopTensor &out) {
  LookUp look;
  // A row for each id where they are a whole number of rows, also of a part of each row; else what both have behind the
  // rows.
  const int64_t count = std::max<int64_t>(elementsOf(ids), 1), width = elementsOf(out) / count;
  if (width > 0 && elementsOf(out) % count == 0 && width <= elementsOf(table))
    look.width = width;
  else if (!table.sizes.empty())
    look.width = std::max<int64_t>(table.sizes.back(), 1);
  look.rows = elementsOf(table) / look.width, look.lookups = elementsOf(out) / look.width;
  look.tableBytes = bytesOf(table), look.idBytes = bytesOf(ids), look.otherBytes = bytesOf(out);
  return look;
}

MaybeKernel movementKernelOf(const Operation &operation, const Microarchitecture &machine) {
  const llvm::StringRef kind = operation.kind;
  const auto reads = tensorsOf(operation, false), writes = tensorsOf(operation, true);
  const bool hasShapes = std::all_of(operation.tensors.begin(), operation.tensors.end(),
                                     [](const LoopTensor &t) { return t.sizes.size() == t.dimensions.size(); });
  if (reads.empty() || writes.empty() || !hasShapes)
    return std::nullopt;
  auto has = [&](size_t operands, size_t results, size_t rank) {
    return reads.size() == operands && writes.size() == results &&
           std::all_of(operation.tensors.begin(), operation.tensors.end(),
                       [&](const LoopTensor &t) { return t.sizes.size() >= rank; });
  };
  if (kind == "transpose" && has(1, 1, 0))
    return permuted(operation, machine);
  if (kind == "concat" && writes.size() == 1)
    return pieces(operation, machine, *writes[0], reads, false);
  if (kind == "split" && reads.size() == 1)
    return pieces(operation, machine, *reads[0], writes, true);
  if ((kind == "slice" || kind == "take_part") && has(1, 1, 0))
    return pieces(operation, machine, *reads[0], writes, true);
  if (kind == "pad_slice" && has(1, 1, 0))
    return pieces(operation, machine, *writes[0], reads, false, true);
  if (kind == "rotary" && has(1, 1, 2))
    return rotary(operation, machine);
  if (kind == "topk" && has(1, 2, 1))
    return topk(operation, machine);
  if (kind == "topk_grad" && has(2, 1, 1))
    return topkGradient(operation, machine);
  if ((kind == "upsample" || kind == "upsample_grad") && has(1, 1, 4))
    return upsample(operation, machine, kind == "upsample_grad");
  return lookUpKernel(operation, machine);
}

} // namespace accord::microarchitecture
