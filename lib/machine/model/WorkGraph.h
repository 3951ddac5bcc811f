// A training step as plain data: regions of operations with their exact work, bytes and dependences.
#pragma once
#include "lib/support/Result.h"
#include "lib/support/Units.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// `Recompute`: a forward operation executed again in the backward pass, because its results were not kept.
enum class Phase : uint8_t { Forward, DataGradient, WeightGradient, Update, Communication, Recompute };
const char *name(Phase); ///< "forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"

/// Which kind of core an operation wants. `None`: a view (reshape, split of a contiguous buffer) that costs nothing.
/// `Network`: no core, but links to other devices.
enum class CoreKind : uint8_t { None, Tensor, Vector, Network };
const char *name(CoreKind);

/// `Buffers`: what collectives deliver and only the pass that asked for it reads (what is kept for the backward pass is
/// an activation).
enum class Category : uint8_t { Weights, Gradients, OptimizerStates, Activations, Temporaries, Buffers, Inputs };
constexpr unsigned kCategories = 7;
const char *name(Category);

using ValueId = uint32_t;
using OperationId = uint32_t;
using RegionId = uint32_t;
constexpr uint32_t kNone = ~0u;

/// A tensor that lives in device memory while some schedule slot needs it. Value ids are global to the graph.
struct Value {
  std::string name;
  int64_t bytes = 0; ///< of one instance; a stash value of a repeat counts all iterations
  Category category = Category::Activations;
  RegionId region = kNone; ///< where it is defined
  /// A stacked value (a repeat's stash): `bytes` is the whole; `slices` its number of iterations, else 1.
  /// It grows by one slice per iteration of the repeat that produces it and shrinks likewise in the one that consumes
  /// it: the newest slice first if one of the two is `reverse`, the oldest first if none or both are.
  int64_t slices = 1;
  /// A view shares the storage of another value (reshape, a region's argument bound from outside); kNone otherwise.
  ValueId alias = kNone;
};

enum class IteratorKind : uint8_t { Parallel, Reduction };
struct Loop {
  int64_t extent = 1;
  IteratorKind kind = IteratorKind::Parallel;
};

/// How one tensor of a loop nest is indexed: position d is the sum over `dimensions[d]` of stride * iterator (+ a
/// constant).
struct LoopTensor {
  struct Term {
    unsigned loop = 0; ///< index into the domain
    int64_t stride = 1;
  };
  std::vector<std::vector<Term>> dimensions; ///< an empty one is a fixed position
  /// Elements that each dimension has; the loops of a padded window reach more. Empty: as many as the loops reach.
  std::vector<int64_t> sizes;
  int64_t elementBits = 32; ///< as stored
  bool written = false;     ///< a result
};

/// What a collective moves. `payload` is the whole tensor: what is reduced, or what all parts together are, in bytes.
struct Communication {
  std::string kind; ///< "all_reduce", "all_gather", "reduce_scatter", "all_to_all"
  std::string axis; ///< "tensor", "data", …
  int64_t devices = 1;
  int64_t payload = 0;
  bool ring = false; ///< goes on in pieces, beside the attention that takes or makes them (see RingExchange.h)
};

/// How an operation reaches one of its tensors; for people, nothing computes with it.
struct TensorAccess {
  std::string tensor; ///< a parameter or the operation that made it; empty for a result
  std::string shape;  ///< "4x1024x1600xbf16"
  std::string map;    ///< from the iterators of the domain: "(d0, d1, d2) -> (d0, d2)"
  bool written = false;
};

/// What a fused operation is made of: an operation that runs inside of it.
struct FusedPart {
  std::string name, kind;
  CoreKind core = CoreKind::Vector;
  std::string type = "fp32"; ///< arithmetic of its inner loop
  int64_t flops = 0;
  bool contraction = false;
  std::vector<Loop> domain;
  std::vector<LoopTensor> tensors; ///< as in Operation
};

/// One operation of one region, executed once per iteration of that region.
struct Operation {
  std::string name; ///< unique in the graph: "block.fc1", "block.fc1.weight_gradient"
  std::string kind; ///< "linear", "layer_norm", "contract", "repeat"
  Phase phase = Phase::Forward;
  CoreKind core = CoreKind::None;
  std::string type = "fp32"; ///< arithmetic of its inner loop: "bf16", "fp8", "fp32", "tf32", "fp16", "int32"
  int64_t flops = 0;         ///< floating-point operations, a multiply-accumulate is 2; view: 0
  int64_t bytesRead = 0;     ///< compulsory: each operand once
  int64_t bytesWritten = 0;  ///< compulsory: each result once
  /// Seconds of one execution on any machine, if they were measured elsewhere; else it has a cost.
  std::optional<double> givenSeconds;
  bool contraction = false; ///< multiply-accumulates (counts towards model FLOPs)
  bool causal = false;      ///< attention in one kernel, which leaves out the tiles that a causal mask hides
  std::vector<Loop> domain; ///< iteration domain from WorkOpInterface
  /// Operands, then results, by the loops of `domain`; empty for views and exchanges.
  std::vector<LoopTensor> tensors;
  std::optional<Communication> communication; ///< of a collective
  /// Of a fused operation, in order; else empty. `flops` is their sum, and `core`, `type`, `contraction` and `domain`
  /// are those of the main one: the contraction, if there is one.
  std::vector<FusedPart> parts;
  std::vector<TensorAccess> accesses; ///< operands, then results; empty unless `describeAccesses` was called
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  RegionId region = 0;   ///< the region it is in
  RegionId body = kNone; ///< of a repeat
  SourceLocation location;
};

/// FLOPs of multiply-accumulates: those that count towards model FLOPs.
inline int64_t contractionFlops(const Operation &op) {
  if (op.parts.empty())
    return op.contraction ? op.flops : 0;
  int64_t sum = 0;
  for (const FusedPart &part : op.parts)
    sum += part.contraction ? part.flops : 0;
  return sum;
}

/// A block of operations in dependence order. Region 0 is the whole step.
/// A repeat's body runs `count` times; `carried` values make iteration i+1 depend on iteration i.
struct Region {
  std::string name; ///< "step", "block", …
  int64_t count = 1;
  RegionId parent = kNone;
  OperationId owner = kNone;           ///< the repeat operation in the parent
  std::vector<OperationId> operations; ///< in dependence order
  struct Carried {
    ValueId argument; ///< value inside the body at the start of an iteration
    ValueId yielded;  ///< value inside the body that becomes the next iteration's argument
    ValueId initial;  ///< value in the parent that starts it
    ValueId result;   ///< value in the parent after the last iteration
  };
  std::vector<Carried> carried;
  /// Stashes written per iteration: `inside` (body value) becomes a slice of `stacked` (parent value).
  struct Slice {
    ValueId inside;
    ValueId stacked;
  };
  std::vector<Slice> stashed;   ///< body -> parent, grows
  std::vector<Slice> unstashed; ///< parent -> body argument, shrinks
  bool reverse = false;         ///< iterations run from the last to the first, and so they leave and take slices
};

/// Memory that is there during the whole step: weights, gradient buffers, optimizer states.
struct StaticTensor {
  std::string name; ///< of the parameter
  Category category = Category::Weights;
  int64_t bytes = 0; ///< of all copies together
  /// Of weights: what every device makes of its weights for products of 8 bits. No replica gathers it.
  bool quantized = false;
};

/// Region 0 runs `microbatches` times before its operations of phase Update run once: those are in region `update`.
struct WorkGraph {
  std::string model;     ///< "gpt2_xl"
  std::string precision; ///< "mixed(bf16)", "mixed(fp8)"
  std::string optimizer; ///< "adam"; "none": inference, no more than a forward pass
  bool isInference() const { return optimizer == "none"; }
  std::string recompute = "none"; ///< the policy: "none", "selective", "full"
  int64_t microbatch = 1;
  int64_t microbatches = 1; ///< gradient accumulation steps on this device
  int64_t parameters = 0;   ///< trained scalars
  std::vector<Value> values;
  std::vector<Operation> operations; ///< of all regions, indexed by OperationId
  std::vector<Region> regions;       ///< [0] one micro-batch, [1] the update, then repeat bodies
  std::vector<StaticTensor> staticTensors;

  /// How often an operation runs in one step: counts of the enclosing regions, times microbatches outside the update.
  Count executions(OperationId) const;
};
constexpr RegionId kMicrobatchRegion = 0;
constexpr RegionId kUpdateRegion = 1;

} // namespace accord
