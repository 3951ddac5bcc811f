#include "lib/microarchitecture/kernels/OperationKernels.h"
#include "lib/microarchitecture/mapping/RowOperations.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

using Kind = RowStatement::Kind;
using Use = Composition::Use;

std::string resultOf(const char *kind) { return pointFormula(kind)->results.back().second; }

// ---- mixtures of experts (Shazeer et al., Outrageously Large Neural Networks, 2017)

/// Letters: t tokens of all samples, e experts, d the width, j choices.
class DispatchWriter {
public:
  DispatchWriter(const Operation &operation, const Microarchitecture &machine) : made(operation.name, machine) {}

  /// Gate, its softmax, the largest of each token, a slot for each choice, and the rows into their slots.
  Result<LoopKernel> forward(const LoopTensor &x, const LoopTensor &gate, const LoopTensor &slots,
                             const LoopTensor &ids) {
    declare(x, gate, slots, ids);
    probabilities();
    const int64_t choices = std::clamp<int64_t>((look.lookups + tokens - 1) / std::max<int64_t>(tokens, 1), 1, experts);
    made.assume(fmt::format("every token has {} experts", choices));
    made.extent('j', tokens * choices);
    made.tensor("positions", {experts}), made.tensor("values", {tokens, choices}),
        made.tensor("chosen", {tokens, choices});
    for (int64_t i = 0; i < std::min<int64_t>(choices, 1024); ++i) {
      std::vector<Use> uses = {{"p", "te"}, {"positions", "e"}};
      std::string of = "p";
      if (i > 0)
        uses.push_back({"values", "t.", i - 1, "last"}), of = "last p > p *";
      uses.push_back({"values", "t.", i, "value"}), uses.push_back({"chosen", "t.", i, "id"});
      made.rows("t", "e", uses,
                {{true, {{Kind::Max, "top", of}}},
                 {true, {{Kind::Sum, "at", "p top = positions *"}}},
                 {false, {{Kind::Store, "value", "top"}, {Kind::Store, "id", "at"}}}});
    }
    // The number of those before it with the same expert is the slot of a choice.
    made.tensor("chosen", {tokens * choices}), made.tensor("count", {1}), made.tensor("slot", {tokens * choices});
    made.fill({"count", "."}, "0");
    made.rows("j", "", {{"chosen", "j"}, {"count", "."}, {"slot", "j"}},
              {{false,
                {{Kind::Let, "id", "chosen"},
                 {Kind::Let, "next", "count 1 +"},
                 {Kind::Store, "count", "next"},
                 {Kind::Store, "slot", "next"}}}});
    alongRows(made, look, [&](const RowUses &of) {
      Use id = of.single("ids"), weight = of.single("weights"), x = of.table("table"), slots = of.row("out");
      made.rows(of.outer, "w", {id, weight, x, slots},
                {{false, {{Kind::Store, "ids", "1"}, {Kind::Store, "weights", "1"}}},
                 {true, {{Kind::Store, "out", "table"}}}},
                true);
    });
    return made.finish();
  }

  /// What slots and weights pass back to the tokens, and through the softmax to the gate.
  Result<LoopKernel> backward(const LoopTensor &dslots, const LoopTensor &x, const LoopTensor &gate,
                              const LoopTensor &ids) {
    declare(x, gate, dslots, ids);
    probabilities();
    made.tensor("dlogits", {tokens, experts}, look.otherBytes);
    made.fill({"dlogits", "te"}, "0");
    LookUp single = look;
    single.width = 1, single.rows = tokens * experts;
    alongRows(made, single, [&](const RowUses &of) {
      made.tensor("dp", {single.rows, 1}, look.otherBytes);
      made.rows(of.outer, "w", {of.single("ids"), of.single("dweights"), {"dp", "rw"}},
                {{false, {{Kind::Let, "id", "ids"}}}, {true, {{Kind::Store, "dp", "dweights"}}}}, true);
    });
    made.tensor("dp", {tokens, experts}, look.otherBytes);
    made.rows("t", "e", {{"dp", "te"}, {"p", "te"}, {"dlogits", "te"}},
              {{true, {{Kind::Sum, "dot", "dp p *"}}}, {true, {{Kind::Store, "dlogits", "dp dot - p *"}}}});
    clearTable(made, look, "table");
    alongRows(made, look, [&](const RowUses &of) {
      made.rows(of.outer, "w", {of.single("ids"), of.row("out"), of.table("table")},
                {{false, {{Kind::Let, "id", "ids"}}}, {true, {{Kind::Store, "table", "table out +"}}}}, true);
    });
    made.product({"table", "td"}, {"dlogits", "te"}, {"gate", "ed"}, true);
    made.tensor("dgate", {experts, look.width}, look.otherBytes);
    made.product({"dgate", "ed"}, {"dlogits", "te"}, {"x", "td"});
    return made.finish();
  }

private:
  void declare(const LoopTensor &x, const LoopTensor &gate, const LoopTensor &slots, const LoopTensor &ids) {
    experts = gate.sizes[0];
    look = lookUpOf(x, ids, slots);
    look.width = std::max<int64_t>(x.sizes.back(), 1), look.rows = tokens = elementsOf(x) / look.width;
    look.lookups = elementsOf(slots) / look.width;
    made.extent('t', tokens), made.extent('e', experts), made.extent('d', look.width);
    made.tensor("x", {tokens, look.width}, look.tableBytes),
        made.tensor("gate", {experts, look.width}, look.otherBytes);
    made.tensor("p", {tokens, experts}, look.otherBytes);
  }
  void probabilities() {
    made.product({"p", "te"}, {"x", "td"}, {"gate", "ed"});
    made.rows("t", "e", {{"p", "te"}},
              {{true, {{Kind::Max, "top", "p"}}},
               {true, {{Kind::Let, "x", "p top - exp"}, {Kind::Sum, "sum", "x"}, {Kind::Store, "p", "x"}}},
               {true, {{Kind::Store, "p", "p sum /"}}}});
  }

  Composition made;
  LookUp look;
  int64_t tokens = 1, experts = 1;
};

/// Letters: n what stands before the experts, e experts, c slots, d the width, i what is inside.
class ExpertsWriter {
public:
  ExpertsWriter(const Operation &operation, const Microarchitecture &machine) : made(operation.name, machine) {}

  Result<LoopKernel> forward(const LoopTensor &slots, const LoopTensor &w1, bool gated) {
    declare(slots, w1, gated);
    made.product(h1, {"slots", "necd"}, {"w1", "eid"});
    if (gated)
      made.product(h3, {"slots", "necd"}, {"w3", "eid"});
    std::vector<Use> uses = {h1};
    if (gated)
      uses.push_back(h3);
    made.fill({"act", "neci"}, gated ? "h1 h1 neg exp 1 + / h3 *" : gelu("gelu"), uses);
    made.product({"y", "necd"}, {"act", "neci"}, {"w2", "edi"});
    return made.finish();
  }

  Result<LoopKernel> backward(const LoopTensor &slots, const LoopTensor &w1, bool gated) {
    declare(slots, w1, gated);
    made.product({"dact", "neci"}, {"dy", "necd"}, {"w2", "edi"});
    const Use dact{"dact", "neci", 0, "dy"}, act{"act", "neci"}, dh1{"dh1", "neci"}, dh3{"dh3", "neci"};
    if (gated)
      made.rows("", "neci", {h1, h3, dact, act, dh1, dh3},
                {{true,
                  {{Kind::Let, "s", "1 h1 neg exp 1 + /"},
                   {Kind::Let, "silu", "h1 s *"},
                   {Kind::Store, "act", "silu h3 *"},
                   {Kind::Store, "dh3", "dy silu *"},
                   {Kind::Store, "dh1", "1 s - h1 * 1 + s * h3 * dy *"}}}});
    else
      made.rows("", "neci", {h1, dact, act, dh1},
                {{true, {{Kind::Store, "act", gelu("gelu")}, {Kind::Store, "dh1", gelu("gelu_grad")}}}});
    made.product({"dw2", "edi"}, {"dy", "necd"}, act);
    made.product({"dslots", "necd"}, dh1, {"w1", "eid"});
    made.product({"dw1", "eid"}, dh1, {"slots", "necd"});
    if (gated) {
      made.product({"dslots", "necd"}, dh3, {"w3", "eid"}, true);
      made.product({"dw3", "eid"}, dh3, {"slots", "necd"});
    }
    return made.finish();
  }

private:
  /// A formula of x, in h1.
  static std::string gelu(const char *kind) {
    std::string formula = " " + resultOf(kind) + " ";
    for (size_t at = 0; (at = formula.find(" x ", at)) != std::string::npos;)
      formula.replace(at, 3, " h1 ");
    return formula;
  }
  void declare(const LoopTensor &slots, const LoopTensor &w1, bool gated) {
    const size_t rank = slots.sizes.size();
    const int64_t experts = w1.sizes[0], inner = w1.sizes[1], width = w1.sizes[2], rows = slots.sizes[rank - 2];
    const int64_t before = elementsOf(slots) / std::max<int64_t>(experts * rows * width, 1);
    const int32_t bytes = bytesOf(slots);
    made.extent('n', before), made.extent('e', experts), made.extent('c', rows), made.extent('d', width);
    made.extent('i', inner);
    for (const char *name : {"slots", "y", "dslots", "dy"})
      made.tensor(name, {before, experts, rows, width}, bytes);
    for (const char *name : {"w1", "w3", "dw1", "dw3"})
      made.tensor(name, {experts, inner, width}, bytes);
    for (const char *name : {"w2", "dw2"})
      made.tensor(name, {experts, width, inner}, bytes);
    for (const char *name : {"act", "dact", "dh1", "dh3"})
      made.tensor(name, {before, experts, rows, inner}, bytes);
    made.tensor("saved", {before, experts, rows, (gated ? 2 : 1) * inner}, bytes);
    h3.offset = inner;
  }

  Composition made;
  Use h1{"saved", "neci", 0, "h1"}, h3{"saved", "neci", 0, "h3"};
};

/// A weighted row of each slot for its token.
Result<LoopKernel> combine(const Operation &operation, const Microarchitecture &machine) {
  const LoopTensor &y = operation.tensors[0], &ids = operation.tensors[1], &z = operation.tensors[3];
  Composition made(operation.name, machine);
  const LookUp look = lookUpOf(z, ids, y);
  clearTable(made, look, "table");
  alongRows(made, look, [&](const RowUses &of) {
    made.rows(of.outer, "w", {of.single("ids"), of.single("weights"), of.row("out"), of.table("table")},
              {{false, {{Kind::Let, "id", "ids"}}}, {true, {{Kind::Store, "table", "out weights table fma"}}}}, true);
  });
  return made.finish();
}
Result<LoopKernel> combineGradient(const Operation &operation, const Microarchitecture &machine) {
  const LoopTensor &dz = operation.tensors[0], &y = operation.tensors[1], &ids = operation.tensors[2];
  Composition made(operation.name, machine);
  alongRows(made, lookUpOf(dz, ids, y), [&](const RowUses &of) {
    made.rows(of.outer, "w",
              {of.single("ids"), of.single("weights"), of.row("other"), of.table("table"), of.row("out"),
               of.single("dweights")},
              {{false, {{Kind::Let, "id", "ids"}}},
               {true, {{Kind::Store, "out", "table weights *"}, {Kind::Sum, "dot", "other table *"}}},
               {false, {{Kind::Store, "dweights", "dot"}}}},
              true);
  });
  return made.finish();
}

// ---- products of pairs (Naumov et al., Deep Learning Recommendation Model, 2019)

constexpr int64_t kMaxFeatures = 1024;

/// Letters: n samples, j features before feature i, d the width.
Result<LoopKernel> interaction(const Operation &operation, const Microarchitecture &machine, bool isGradient) {
  const LoopTensor &x = operation.tensors[isGradient ? 1 : 0];
  const LoopTensor &pairs = operation.tensors[isGradient ? 0 : 1];
  const int64_t width = x.sizes.back(), features = x.sizes[x.sizes.size() - 2];
  const int64_t samples = elementsOf(x) / std::max<int64_t>(width * features, 1);
  if (features > kMaxFeatures)
    return refused(operation, fmt::format("pairs of {} features are more than {}", features, kMaxFeatures));
  Composition made(operation.name, machine);
  made.extent('n', samples), made.extent('d', width), made.extent('f', features);
  for (const char *name : {"x", "dx"})
    made.tensor(name, {samples, features, width}, bytesOf(x));
  made.tensor("pairs", {samples, std::max<int64_t>(features * (features - 1) / 2, 1)}, bytesOf(pairs));
  if (isGradient)
    made.fill({"dx", "nfd"}, "0");
  for (int64_t i = 1; i < features; ++i) {
    made.extent('j', i);
    const Use row{"pairs", "nj", i * (i - 1) / 2}, one{"x", "n.d", i * width}, others{"x", "njd"};
    if (!isGradient) {
      made.product(row, others, one);
      continue;
    }
    made.product({"dx", "n.d", i * width}, row, others, true);
    made.product({"dx", "njd"}, row, one, true);
  }
  return made.finish();
}

} // namespace

MaybeKernel expertsKernelOf(const Operation &operation, const Microarchitecture &machine) {
  const std::string &kind = operation.kind;
  const auto &t = operation.tensors;
  const std::pair<const char *, std::vector<size_t>> kinds[] = {
      {"moe_dispatch", {1, 2, 1, 1, 1}}, {"moe_dispatch_grad", {1, 1, 1, 2, 1, 1, 1}},
      {"moe_experts", {3, 3, 3, 3, 3}},  {"moe_experts_grad", {3, 3, 3, 3, 3, 3, 3, 3}},
      {"moe_combine", {1, 1, 1, 1}},     {"moe_combine_grad", {1, 1, 1, 1, 1, 1}},
      {"interaction", {2, 1}},           {"interaction_grad", {1, 2, 2}}};
  for (const auto &[name, ranks] : kinds)
    if (kind == name && !hasRanks(operation, ranks))
      return refused(operation, "its tensors are not known");
  if (kind == "moe_dispatch")
    return DispatchWriter(operation, machine).forward(t[0], t[1], t[2], t[3]);
  if (kind == "moe_dispatch_grad")
    return DispatchWriter(operation, machine).backward(t[0], t[2], t[3], t[4]);
  if (kind == "moe_experts")
    return ExpertsWriter(operation, machine).forward(t[0], t[1], t.size() > 5);
  if (kind == "moe_experts_grad")
    return ExpertsWriter(operation, machine).backward(t[1], t[2], t.size() > 8);
  if (kind == "moe_combine")
    return combine(operation, machine);
  if (kind == "moe_combine_grad")
    return combineGradient(operation, machine);
  if (kind == "interaction" || kind == "interaction_grad")
    return interaction(operation, machine, kind != "interaction");
  return std::nullopt;
}

} // namespace accord::microarchitecture
