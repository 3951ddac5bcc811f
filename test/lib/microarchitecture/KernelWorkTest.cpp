// Programs of kernels leave out nothing that their operation needs: counted from what they execute, against what the
// graph says of the operation.
#include "lib/machine/cost/InstructionBound.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "test/support/CatalogMicroarchitectures.h"
#include "test/support/TrainingGraphFixture.h"
#include <fmt/format.h>
#include <set>

namespace accord::microarchitecture {
namespace {

/// What a program executes.
class Executed {
public:
  double products = 0;           ///< multiply-accumulates
  double arithmetic = 0;         ///< of elements; a multiply-accumulate is two
  int64_t read = 0, written = 0; ///< different bytes of tensors; read: before they are written
  std::string beyond;            ///< a tensor of which more is reached than there is

  Executed(const MappedKernel &kernel, const Microarchitecture &machine) : kernel(kernel), machine(machine) {
    for (const MappedKernel::Place &place : kernel.tensors)
      seen.emplace_back(place.elements * place.bytes, 0);
    walk(kernel.program.body);
    for (size_t t = 0; t < seen.size(); ++t) {
      if (isInAnother(t))
        continue;
      const std::string &name = kernel.tensors[t].name;
      if (kernel.tensors[t].isBuffer || name == "constants" || name == "positions")
        continue;
      int64_t r = 0, w = 0;
      for (char of : seen[t])
        r += of & 1, w += (of & 2) != 0;
      read += r, written += w;
    }
  }

private:
  /// Tensors that parts of a kernel name again.
  bool isInAnother(size_t t) const {
    const MappedKernel::Place &place = kernel.tensors[t];
    for (size_t o = 0; o < kernel.tensors.size(); ++o) {
      const MappedKernel::Place &other = kernel.tensors[o];
      const bool contains =
          other.begin <= place.begin && place.begin + int64_t(seen[t].size()) <= other.begin + int64_t(seen[o].size());
      if (o != t && other.storage == place.storage && contains && (seen[o].size() > seen[t].size() || o < t))
        return true;
    }
    return false;
  }
  void walk(const Body &body) {
    for (const Item &item : body) {
      if (item.isFence())
        continue;
      if (item.loop == kNone) {
        execute(kernel.program.instructions[item.instruction]);
        continue;
      }
      around.push_back(0);
      for (int64_t i = 0; i < kernel.program.loops[item.loop].count; ++i)
        around.back() = i, walk(kernel.program.loops[item.loop].body);
      around.pop_back();
    }
  }
  void execute(const Instruction &is) {
    const Opcode &opcode = machine.opcodes[is.opcode];
    const OpcodeRole &role = opcode.role;
    if (role.does == Role::MultiplyAdd) {
      const double points = role.isTile() ? double(role.m) * role.n * role.k : role.lanes;
      products += points, arithmetic += 2 * points;
    } else if (role.does >= Role::Add && role.does <= Role::ReduceMax) {
      arithmetic += role.lanes;
    }
    for (int32_t o = 0; o < int32_t(is.memory.size()); ++o) {
      int64_t address = is.memory[o].address.base;
      for (size_t l = 0; l < is.memory[o].address.strides.size(); ++l)
        address += is.memory[o].address.strides[l] * around[l];
      mark(is.memory[o].storage, address, is.memory[o].bytes, o >= opcode.loads);
    }
  }
  void mark(Index storage, int64_t address, int64_t bytes, bool isStore) {
    for (size_t t = 0; t < seen.size(); ++t) {
      const MappedKernel::Place &place = kernel.tensors[t];
      if (place.storage != storage || address < place.begin || address >= place.begin + int64_t(seen[t].size()))
        continue;
      for (int64_t b = address - place.begin; b < address - place.begin + bytes; ++b)
        if (size_t(b) >= seen[t].size()) {
          if (!isInAnother(t))
            beyond = place.name;
        } else if (isStore)
          seen[t].at(b) |= 2;
        else if (!(seen[t].at(b) & 2))
          seen[t].at(b) |= 1;
    }
  }

  const MappedKernel &kernel;
  const Microarchitecture &machine;
  std::vector<std::vector<char>> seen;
  std::vector<int64_t> around;
};

/// Elements along a dimension that some iteration reaches; all of them where no loop goes along it.
int64_t reached(const std::vector<LoopTensor::Term> &terms, int64_t size, const std::vector<Loop> &domain) {
  std::set<int64_t> at = {0};
  for (const LoopTensor::Term &term : terms) {
    std::set<int64_t> next;
    for (int64_t from : at)
      for (int64_t i = 0; i < domain[term.loop].extent; ++i)
        next.insert(from + i * term.stride);
    at = std::move(next);
  }
  return terms.empty() ? size : std::min<int64_t>(size, at.size());
}
/// Bytes of the operands, or of the results; of operands only what is reached, if `onlyReached`.
int64_t bytesOfAll(const Operation &operation, bool written, bool onlyReached = false) {
  int64_t all = 0;
  for (const LoopTensor &tensor : operation.tensors)
    if (tensor.written == written) {
      int64_t bytes = std::max<int64_t>(tensor.elementBits / 8, 1);
      for (size_t d = 0; d < tensor.sizes.size(); ++d)
        bytes *= onlyReached ? reached(tensor.dimensions[d], tensor.sizes[d], operation.domain) : tensor.sizes[d];
      all += bytes;
    }
  return all;
}

/// Rows that ids name: not all of the table is read.
bool isLookUp(const std::string &kind) { return kind == "embedding" || kind == "gather" || kind == "slice"; }
/// Bytes that are read without being needed: the gradient of the loss, which is 1; the states after the last step; of
/// bags, rows that are taken to be the same ones again.
int64_t notNeeded(const Operation &operation) {
  const std::string &kind = operation.kind;
  const auto &t = operation.tensors;
  if (kind == "binary_cross_entropy_grad")
    return t[0].elementBits / 8;
  if (kind == "lstm_grad") // one direction's last, or the other one's first
    return t[4].sizes[0] * t[4].sizes[2] * t[4].elementBits / 8;
  return kind == "embedding_bag" ? operation.bytesRead : 0;
}
/// Kinds whose parts find one tensor in different orders where lanes go along another loop than the last one, because
/// that is shorter than they are: their addresses overlap, however many there are.
bool overlapsWithLanes(const std::string &kind) {
  static const std::set<std::string> kinds = {"rotary", "interaction", "moe_experts_grad", "flash_attention",
                                              "flash_attention_grad"};
  return kinds.count(kind) > 0;
}

std::string shapeOf(const Operation &operation) {
  std::string shape = operation.kind;
  for (const Loop &loop : operation.domain)
    shape += fmt::format(" {}{}", loop.extent, loop.kind == IteratorKind::Reduction ? "r" : "");
  for (const LoopTensor &tensor : operation.tensors)
    for (int64_t size : tensor.sizes)
      shape += fmt::format(" {}", size);
  return shape;
}

/// What `instances` programs for a part of the operation each leave out; empty: nothing.
std::string missing(const Operation &operation, const Microarchitecture &machine, int64_t instances) {
  auto kernel = kernelOf(partOf(operation, instances), "adam", machine);
  auto mapped = kernel ? emitKernel(*kernel, machine) : Result<MappedKernel>(kernel.takeError());
  if (!mapped)
    return " " + mapped.error().message;
  if (executedInstructions(mapped->program) > 2'000'000)
    return " too many instructions to count them";
  const Executed executed(*mapped, machine);
  double points = 1;
  for (const Loop &loop : operation.domain)
    points *= double(loop.extent);
  std::string what = executed.beyond.empty() ? "" : " beyond " + executed.beyond;
  if (operation.contraction && executed.products * instances < points && !operation.causal)
    what += fmt::format(" products {} of {}", executed.products, points);
  if (executed.arithmetic * instances < double(operation.flops) && !operation.causal)
    what += fmt::format(" arithmetic {} of {}", executed.arithmetic, operation.flops);
  if (overlapsWithLanes(operation.kind) && lanesOf(machine, Role::Load) > 1)
    return what;
  const bool isProduct = operation.contraction && operation.parts.empty() && operation.tensors.size() < 5;
  const int64_t all = bytesOfAll(operation, false);
  int64_t read = isLookUp(operation.kind) ? std::min(operation.bytesRead, all) : bytesOfAll(operation, false, true);
  if (isProduct) // a gradient that is added to what is there
    read += operation.bytesRead - all;
  const int64_t written = isProduct ? operation.bytesWritten : bytesOfAll(operation, true);
  if (executed.read * instances < read - notNeeded(operation))
    what += fmt::format(" reads {} of {}", executed.read, read);
  if (executed.written * instances < written)
    what += fmt::format(" writes {} of {}", executed.written, written);
  return what;
}

/// Kinds that were counted.
std::set<std::string> countModel(const std::string &text, int64_t microbatches,
                                 const std::vector<Microarchitecture> &machines) {
  TrainingGraph training(text.c_str(), {"adam", "fp32"});
  std::string error;
  std::set<std::string> kinds, seen;
  auto graph = training.graph ? workGraphFrom(training.graph, training.batch, microbatches, error) : std::nullopt;
  EXPECT_TRUE(graph) << error;
  if (!graph)
    return kinds;
  for (const Operation &operation : graph->operations) {
    const std::string shape = shapeOf(operation);
    if (operation.core == CoreKind::None || !seen.insert(shape).second)
      continue;
    for (const Microarchitecture &machine : machines)
      for (int64_t instances : {1, 2, 3, 5, 16}) {
        const bool isForAll = lanesOf(machine, Role::Add) > 0;
        if (isForAll || (operation.contraction && contractionOf(operation) && operation.tensors.size() < 5 &&
                         operation.kind != "interaction_grad"))
          EXPECT_EQ(missing(operation, machine, instances), "")
              << (isForAll ? lanesOf(machine, Role::Load) : 0) << " lanes, " << instances << " instances: " << shape;
      }
    kinds.insert(operation.kind);
  }
  return kinds;
}

TEST(KernelWork, NothingIsLeftOut) {
  std::vector<Microarchitecture> machines;
  std::set<std::string> kinds;
  for (const char *name : {"oma", "riscv_vector_dtim", "gemmini"})
    machines.push_back(microarchitectureOf(catalogMachine(name), catalogMachine(name).small));
  for (const char *text : {
           R"(
import "catalog/resnet.dnn"
import "catalog/convolution.dnn"
model residual() {
  input image : float[3, 9, 9]
  input label : int32[1]
  let stem = max_pool(relu(conv_bn(image, out = 5, kernel = 3, padding = 1)), kernel = 3, stride = 2, padding = 1)
  let first = basic_block(stem, out = 5)
  let second = basic_block(first, out = 7, stride = 2)
  loss cross_entropy(classifier(second, 10), label)
}
train t = residual() on a100_80g { batch = 2 }
)",
           R"(
import "catalog/bert_base.dnn"
train t = bert_base(layers = 1, hidden = 24, heads = 2, vocab = 31, seq = 11, max_position = 13, masked = 3) on a100_80g { batch = 2 }
)",
           R"(
import "catalog/gpt2.dnn"
train t = gpt2(layers = 1, hidden = 12, heads = 2, vocab = 37, seq = 9) on a100_80g { batch = 2 }
)",
           R"(
import "catalog/gnmt.dnn"
train t = gnmt(hidden = 5, vocab = 17, length = 4, target = 3) on a100_80g { batch = 2 }
)",
           R"(
import "catalog/mixtral.dnn"
train t = mixtral_8x7b(layers = 1, hidden = 16, heads = 4, kv_heads = 2, inner = 20, experts = 4, vocab = 33, seq = 16) on a100_80g { batch = 1 }
)",
           R"(
import "catalog/mixtral.dnn"
train t = mixtral_8x7b(layers = 1, hidden = 16, heads = 4, kv_heads = 2, inner = 20, experts = 4, vocab = 33, seq = 48, flash = true) on a100_80g { batch = 1 }
)",
           R"(
import "catalog/transformer.dnn"
model windowed() {
  input x : float[24, 12]
  input labels : int32[24]
  let y = fused_attention(x, heads = 2, causal = true, window = 8)
  let z = latent_attention(x, 2, query_rank = 3, key_rank = 4, nope_dim = 4, rope_dim = 2, value_dim = 5)
  loss cross_entropy(y + z, labels)
}
train t = windowed() on a100_80g { batch = 1 }
)",
           R"(
import "catalog/gcn.dnn"
train t = gcn(nodes = 20, edges = 33, features = 11, hidden = 5, classes = 3, labelled = 7) on a100_80g { batch = 1 }
)",
           R"(
import "catalog/gat.dnn"
train t = gat(nodes = 20, edges = 33, features = 11, hidden = 3, heads = 2, classes = 3, labelled = 7) on a100_80g { batch = 1 }
)",
           R"(
model m() {
  input x : float[5, 4]
  input ids : int32[2, 3]
  input label : float[1]
  let pairs = interaction(concat(x, embedding_bag(ids, rows = 13, dim = 4), axis = 0))
  loss binary_cross_entropy(linear(pairs, out = 1), label)
}
train t = m() on a100_80g { batch = 3 }
)",
           R"(
model m() {
  input image : float[3, 9, 10]
  input label : int32[1]
  let a = relu6(group_norm(conv2d(image, out = 4, kernel = 2), groups = 1))
  let b = max_pool(a, kernel = 2, stride = 2)
  let c = avg_pool(upsample(b, scale = 2), kernel = 2, stride = 1)
  let d = reshape(global_avg_pool(c), [1, 4])
  loss cross_entropy(linear(hard_swish(d), out = 5), label)
}
train t = m() on a100_80g { batch = 2 }
)"}) {
    for (int64_t microbatches : {1, 2})
      kinds.merge(countModel(text, microbatches, machines));
  }
  EXPECT_GT(kinds.size(), 55u);
}

} // namespace
} // namespace accord::microarchitecture
