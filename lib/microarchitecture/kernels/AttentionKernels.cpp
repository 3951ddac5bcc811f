#include "lib/microarchitecture/kernels/OperationKernels.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

using Kind = RowStatement::Kind;
using Use = Composition::Use;

constexpr int64_t kRows = 16;   ///< queries in a block
constexpr int64_t kStripes = 8; ///< of queries, under a causal mask

/// Letters: b samples, q blocks of queries, r queries of a block, h heads of keys, g queries' heads of one of those,
/// k keys, d the width of queries and keys, w that of values. The scores of a block are in memory and are used before
/// the next block is begun (Dao et al., FlashAttention, 2022; the gradient: algorithm 4 there).
class AttentionWriter {
public:
  AttentionWriter(const Operation &operation, const Microarchitecture &machine)
      : operation(operation), made(operation.name, machine) {}

  MaybeKernel run() {
    const bool isGradient = operation.kind == "flash_attention_grad";
    if (!isGradient && operation.kind != "flash_attention")
      return std::nullopt;
    const size_t first = isGradient ? 1 : 0; // of the queries
    if (operation.tensors.size() < (isGradient ? 9 : 5) || operation.tensors[first].sizes.size() < 4 ||
        operation.tensors[first + 1].sizes.size() < 3)
      return refused(operation, "its tensors are not known");
    declare(operation.tensors[first], operation.tensors[first + 1], operation.tensors[first + 2]);
    if (isGradient)
      for (const Use &whole : {dk, dv})
        made.fill(whole, "0");
    const int64_t stripes = operation.causal ? std::min(kStripes, blocks) : 1;
    for (int64_t s = 0; s < stripes; ++s) {
      const int64_t begin = blocks * s / stripes, end = blocks * (s + 1) / stripes;
      made.extent('k', std::max<int64_t>(int64_t(__int128(keys) * end / std::max<int64_t>(blocks, 1)), 1));
      made.begin('b'), made.begin('h'), made.begin('g');
      made.begin('q', begin, end - begin);
      isGradient ? gradientOfBlock() : block();
      for (int i = 0; i < 4; ++i)
        made.end();
    }
    made.assume(fmt::format("queries in blocks of {}, whose scores lie in memory", rows));
    if (stripes > 1)
      made.assume(
          fmt::format("under the causal mask, queries in {} stripes with all keys up to the last of each", stripes));
    if (const int64_t window = keysInWindow(); window < keys)
      made.assume(fmt::format("a window of {} keys hides none of {}", window, keys));
    return made.finish();
  }

private:
  /// Keys that a query sees at most, of all: the softmax is the last part, and keys are its last loop.
  int64_t keysInWindow() const {
    if (operation.parts.empty() || operation.parts.back().domain.empty())
      return keys;
    return std::min(operation.parts.back().domain.back().extent, keys);
  }

  void declare(const LoopTensor &q, const LoopTensor &k, const LoopTensor &v) {
    const size_t batch = q.sizes.size() - 4;
    int64_t samples = 1;
    for (size_t d = 0; d < batch; ++d)
      samples *= q.sizes[d];
    const int64_t queries = q.sizes[batch], heads = q.sizes[batch + 1], group = q.sizes[batch + 2];
    const int64_t width = q.sizes[batch + 3], values = v.sizes.back();
    keys = k.sizes[k.sizes.size() - 3];
    for (int64_t r = 1; r <= kRows; ++r)
      if (queries % r == 0)
        rows = r;
    blocks = queries / rows;
    scale = fmt::format("{:.17g}", 1 / std::sqrt(double(std::max<int64_t>(width, 1))));
    made.extent('b', samples), made.extent('q', blocks), made.extent('r', rows), made.extent('h', heads);
    made.extent('g', group), made.extent('k', keys), made.extent('d', width), made.extent('w', values);
    const int32_t bytes = bytesOf(q);
    for (auto [name, along] : {std::pair{"q", width}, {"y", values}, {"dq", width}, {"dy", values}})
      made.tensor(name, {samples, blocks, rows, heads, group, along}, bytes);
    for (auto [name, along] : {std::pair{"k", width}, {"v", values}, {"dk", width}, {"dv", values}})
      made.tensor(name, {samples, keys, heads, along}, bytes);
    made.tensor("saved", {samples, blocks, rows, heads, group}, 4);
    for (const char *name : {"scores", "dscores"})
      made.tensor(name, {rows, keys}, bytes);
    made.tensor("total", {rows}, 4), made.tensor("dot", {rows}, 4);
  }

  const Use q{"q", "bqrhgd"}, y{"y", "bqrhgw"}, dy{"dy", "bqrhgw"}, dq{"dq", "bqrhgd"}, saved{"saved", "bqrhg"};
  const Use k{"k", "bkhd"}, v{"v", "bkhw"}, dk{"dk", "bkhd"}, dv{"dv", "bkhw"};
  const Use scores{"scores", "rk"}, dscores{"dscores", "rk"};

  void block() {
    made.product(scores, q, k);
    made.rows("r", "k", {scores, {"total", "r"}, saved},
              {{true, {{Kind::Max, "top", "scores " + scale + " *"}}},
               {true,
                {{Kind::Let, "e", "scores " + scale + " * top - exp"},
                 {Kind::Sum, "sum", "e"},
                 {Kind::Store, "scores", "e"}}},
               {false, {{Kind::Store, "total", "sum"}, {Kind::Store, "saved", "sum log top +"}}}});
    made.product(y, scores, v);
    made.rows("r", "w", {{"total", "r"}, y},
              {{false, {{Kind::Let, "share", "1 total /"}}}, {true, {{Kind::Store, "y", "y share *"}}}});
  }

  void gradientOfBlock() {
    made.rows("r", "w", {dy, y, {"dot", "r"}},
              {{true, {{Kind::Sum, "sum", "dy y *"}}}, {false, {{Kind::Store, "dot", "sum"}}}});
    made.product(scores, q, k);
    made.rows("r", "k", {saved, scores}, {{true, {{Kind::Store, "scores", "scores " + scale + " * saved - exp"}}}});
    made.product(dv, scores, dy, true);
    made.product(dscores, dy, v);
    made.rows("r", "k", {scores, {"dot", "r"}, dscores},
              {{true, {{Kind::Store, "dscores", "dscores dot - scores * " + scale + " *"}}}});
    made.product(dq, dscores, k);
    made.product(dk, dscores, q, true);
  }

  const Operation &operation;
  Composition made;
  int64_t rows = 1, blocks = 1, keys = 1;
  std::string scale;
};

} // namespace

MaybeKernel attentionKernelOf(const Operation &operation, const Microarchitecture &machine) {
  return AttentionWriter(operation, machine).run();
}

} // namespace accord::microarchitecture
