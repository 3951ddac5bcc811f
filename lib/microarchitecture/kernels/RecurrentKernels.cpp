#include "lib/microarchitecture/kernels/OperationKernels.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

using Kind = RowStatement::Kind;
using Use = Composition::Use;
using Statements = std::vector<RowStatement>;

std::string sigmoid(const std::string &x) { return "1 " + x + " neg exp 1 + /"; }

/// Letters: n samples, t time, s time but for one step, i inputs, g gates, u and v units. Gates of an LSTM: i, f, g, o,
/// with the cell kept behind them (Hochreiter, Schmidhuber, Long Short-Term Memory, 1997, with the forget gates of
/// Gers et al., 2000); of a GRU: r, z, n, with the state's part of n kept behind them (Cho et al., 2014).
class RecurrentWriter {
public:
  RecurrentWriter(const Operation &operation, const Microarchitecture &machine)
      : operation(operation), made(operation.name, machine) {}

  MaybeKernel run() {
    const std::string &kind = operation.kind;
    isLstm = kind == "lstm" || kind == "lstm_grad";
    if (!isLstm && kind != "gru" && kind != "gru_grad")
      return std::nullopt;
    const bool isGradient = kind.size() > 4;
    const auto reads = tensorsOf(operation, false), writes = tensorsOf(operation, true);
    const bool isKnown = isGradient ? hasRanks(operation, {2, 2, 2, 2, 2, 2}) : hasRanks(operation, {2, 2, 2});
    if (!isKnown || reads.size() < (isGradient ? 6 : 3) || writes.size() < (isGradient ? 3 : 2))
      return refused(operation, "its tensors are not known");
    declare(*reads[isGradient], *reads[isGradient + 1], *reads[isGradient + 2],
            isGradient ? writes.size() > 3 : reads.size() > 3);
    for (int64_t d = 0; d < directions; ++d)
      isGradient ? backward(d) : forward(d);
    return made.finish();
  }

private:
  void declare(const LoopTensor &x, const LoopTensor &wIh, const LoopTensor &wHh, bool biased) {
    hasBias = biased;
    const int32_t bytes = bytesOf(x);
    hidden = wHh.sizes.back(), inputs = x.sizes.back(), steps = x.sizes[x.sizes.size() - 2];
    samples = elementsOf(x) / std::max<int64_t>(inputs * steps, 1);
    directions = wHh.sizes.size() > 2 ? wHh.sizes[0] : 1;
    gates = isLstm ? 4 : 3, kept = gates + 1;
    made.extent('n', samples), made.extent('t', steps), made.extent('i', inputs), made.extent('g', gates * hidden);
    made.extent('u', hidden), made.extent('v', hidden), made.extent('s', steps - 1);
    const int64_t all = gates * hidden;
    for (const char *name : {"x", "dx"})
      made.tensor(name, {samples, steps, inputs}, bytes);
    for (const char *name : {"y", "dy"})
      made.tensor(name, {samples, steps, directions * hidden}, bytes);
    made.tensor("saved", {samples, steps, directions * kept * hidden}, bytes);
    for (const char *name : {"w_ih", "dw_ih"})
      made.tensor(name, {directions, all, inputs}, bytes);
    for (const char *name : {"w_hh", "dw_hh"})
      made.tensor(name, {directions, all, hidden}, bytes);
    for (const char *name : {"bias", "dbias"})
      made.tensor(name, {directions, 2, all}, bytes);
    made.tensor("biases", {all}, bytes), made.tensor("gates", {samples, all}, bytes);
    for (const char *name : {"gates_x", "dgates", "dgates_h"})
      made.tensor(name, {samples, steps, all}, bytes);
    for (const char *name : {"h", "c", "dh", "dc"})
      made.tensor(name, {samples, hidden}, bytes);
  }

  Use weight(const char *name, int64_t d, const char *letters, int64_t width) const {
    return {name, letters, d * gates * hidden * width};
  }
  Use bias(const char *name, int64_t d, int64_t which) const { return {name, "..g", (2 * d + which) * gates * hidden}; }
  /// Units of a gate.
  Use unit(const char *name, const char *letters, int64_t gate, const std::string &as) const {
    return {name, letters, gate * hidden, as};
  }

  void forward(int64_t d) {
    const Use x{"x", "nti"}, gatesX{"gates_x", "ntg"};
    std::optional<Use> ofInput, ofState;
    if (hasBias && isLstm) {
      Use first = bias("bias", d, 0), second = bias("bias", d, 1);
      first.as = "b0", second.as = "b1";
      made.fill({"biases", "g"}, "b0 b1 +", {first, second});
      ofInput = Use{"biases", "g"};
    } else if (hasBias) {
      ofInput = bias("bias", d, 0), ofState = bias("bias", d, 1);
    }
    if (isLstm)
      ofState = gatesX;
    made.product(gatesX, x, weight("w_ih", d, ".gi", inputs), false, ofInput);
    made.fill({"h", "nu"}, "0");
    if (isLstm)
      made.fill({"c", "nu"}, "0");
    made.begin('t', 0, steps, d == 1);
    made.product({"gates", "ng"}, {"h", "nv"}, weight("w_hh", d, ".gv", hidden), false, ofState);
    std::vector<Use> uses;
    for (int64_t gate = 0; gate < gates; ++gate) {
      uses.push_back(unit("gates", "nu", gate, fmt::format("a{}", gate)));
      if (!isLstm)
        uses.push_back(unit("gates_x", "ntu", gate, fmt::format("x{}", gate)));
    }
    for (int64_t k = 0; k < kept; ++k)
      uses.push_back(unit("saved", "ntu", d * kept + k, fmt::format("k{}", k)));
    uses.push_back({"h", "nu"}), uses.push_back({"y", "ntu", d * hidden});
    Statements steps = isLstm ? Statements{{Kind::Let, "v0", sigmoid("a0")},
                                           {Kind::Let, "v1", sigmoid("a1")},
                                           {Kind::Let, "v2", "a2 tanh"},
                                           {Kind::Let, "v3", sigmoid("a3")},
                                           {Kind::Let, "v4", "v1 c * v0 v2 * +"},
                                           {Kind::Let, "state", "v3 v4 tanh *"},
                                           {Kind::Store, "c", "v4"}}
                              : Statements{{Kind::Let, "v0", sigmoid("x0 a0 +")},
                                           {Kind::Let, "v1", sigmoid("x1 a1 +")},
                                           {Kind::Let, "v3", "a2"},
                                           {Kind::Let, "v2", "x2 v0 v3 * + tanh"},
                                           {Kind::Let, "state", "1 v1 - v2 * v1 h * +"}};
    if (isLstm)
      uses.push_back({"c", "nu"});
    for (const char *to : {"h", "y"})
      steps.push_back({Kind::Store, to, "state"});
    for (int64_t k = 0; k < kept; ++k)
      steps.push_back({Kind::Store, fmt::format("k{}", k), fmt::format("v{}", k)});
    made.rows("", "nu", uses, {{true, steps}});
    made.end();
  }

  /// One step back; `before`: whether there is an earlier one, whose cell or state is read.
  void stepBack(int64_t d, bool hasBefore) {
    const int64_t earlier = d == 1 ? 1 : -1;
    std::vector<Use> uses = {{"dy", "ntu", d * hidden}};
    for (int64_t k = 0; k < kept; ++k)
      uses.push_back(unit("saved", "ntu", d * kept + k, fmt::format("k{}", k)));
    if (hasBefore && isLstm)
      uses.push_back({"saved", "ntu", (d * kept + kept - 1) * hidden + earlier * directions * kept * hidden, "before"});
    else if (hasBefore)
      uses.push_back({"y", "ntu", d * hidden + earlier * directions * hidden, "before"});
    uses.push_back({"dh", "nu"});
    for (int64_t gate = 0; gate < gates; ++gate) {
      uses.push_back(unit("dgates", "ntu", gate, fmt::format("d{}", gate)));
      if (!isLstm)
        uses.push_back(unit("dgates_h", "ntu", gate, fmt::format("e{}", gate)));
    }
    const std::string before = hasBefore ? "before" : "0";
    Statements steps = {{Kind::Let, "dstate", "dy dh +"}};
    if (isLstm) {
      uses.push_back({"dc", "nu"});
      steps.insert(steps.end(), {{Kind::Let, "tc", "k4 tanh"},
                                 {Kind::Let, "dcell", "dstate k3 * 1 tc sq - * dc +"},
                                 {Kind::Store, "d0", "dcell k2 * k0 * 1 k0 - *"},
                                 {Kind::Store, "d1", "dcell " + before + " * k1 * 1 k1 - *"},
                                 {Kind::Store, "d2", "dcell k0 * 1 k2 sq - *"},
                                 {Kind::Store, "d3", "dstate tc * k3 * 1 k3 - *"},
                                 {Kind::Store, "dc", "dcell k1 *"}});
    } else {
      steps.insert(steps.end(), {{Kind::Let, "a2", "dstate 1 k1 - * 1 k2 sq - *"},
                                 {Kind::Let, "a1", "dstate " + before + " k2 - * k1 * 1 k1 - *"},
                                 {Kind::Let, "a0", "a2 k3 * k0 * 1 k0 - *"},
                                 {Kind::Store, "d0", "a0"},
                                 {Kind::Store, "d1", "a1"},
                                 {Kind::Store, "d2", "a2"},
                                 {Kind::Store, "e0", "a0"},
                                 {Kind::Store, "e1", "a1"},
                                 {Kind::Store, "e2", "a2 k0 *"},
                                 {Kind::Store, "dh", "dstate k1 *"}});
    }
    made.rows("", "nu", uses, {{true, steps}});
    if (hasBefore)
      made.product({"dh", "nv"}, {ofState(), "ntg"}, weight("w_hh", d, ".gv", hidden), !isLstm);
  }
  const char *ofState() const { return isLstm ? "dgates" : "dgates_h"; }

  void backward(int64_t d) {
    made.fill({"dh", "nu"}, "0");
    if (isLstm)
      made.fill({"dc", "nu"}, "0");
    if (steps > 1) {
      made.begin('t', d == 1 ? 0 : 1, steps - 1, d == 0);
      stepBack(d, true);
      made.end();
    }
    made.begin('t', d == 1 ? steps - 1 : 0, 1);
    stepBack(d, false);
    made.end();
    made.product({"dx", "nti"}, {"dgates", "ntg"}, weight("w_ih", d, ".gi", inputs), d > 0);
    made.product(weight("dw_ih", d, ".gi", inputs), {"dgates", "ntg"}, {"x", "nti"});
    const Use dwHh = weight("dw_hh", d, ".gv", hidden);
    const int64_t gate = gates * hidden, state = directions * hidden;
    if (steps > 1)
      made.product(dwHh, {ofState(), "nsg", d == 1 ? 0 : gate}, {"y", "nsv", d * hidden + (d == 1 ? state : 0)});
    else
      made.fill(dwHh, "0");
    if (!hasBias)
      return;
    for (int64_t which : {0, 1}) {
      Use to = bias("dbias", d, which), from{which ? ofState() : "dgates", "ntg", 0, "from"};
      made.rows("g", "nt", {from, to},
                {{true, {{Kind::Sum, "sum", "from"}}}, {false, {{Kind::Store, "dbias", "sum"}}}});
    }
  }

  const Operation &operation;
  Composition made;
  bool isLstm = true, hasBias = false;
  int64_t hidden = 1, inputs = 1, steps = 1, samples = 1, directions = 1, gates = 4, kept = 5;
};

} // namespace

MaybeKernel recurrentKernelOf(const Operation &operation, const Microarchitecture &machine) {
  return RecurrentWriter(operation, machine).run();
}

} // namespace accord::microarchitecture
