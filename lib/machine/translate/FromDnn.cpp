#include "lib/machine/translate/FromDnn.h"
#include "dialects/dnn/Dnn.h"
#include "dialects/dnn/ForwardOptions.h"
#include "dialects/dnn/Verify.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;

namespace accord {
namespace {

/// "bf16" for a tensor of bf16, in the words of the machine language.
std::string arithmetic(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "fp16";
  if (type.isTF32())
    return "tf32";
  if (type.isF64())
    return "fp64";
  if (dnn::isQuantized(type))
    return "fp8";
  if (isa<IntegerType>(type))
    return "int" + std::to_string(type.getIntOrFloatBitWidth());
  return "fp32";
}

/// In the words of the training language: "mixed(bf16)", "mixed(fp8)", "fp32".
std::string describe(dnn::PrecisionAttr precision) {
  std::string element = arithmetic(precision.getProducts());
  if (!precision.getMixed())
    return element;
  if (precision.getGradients() != precision.getElement())
    element += ", gradients = " + arithmetic(precision.getGradients());
  return "mixed(" + element + ")";
}

/// Arithmetic of an operation's inner loop: that of its first float operand.
std::string typeOf(mlir::Operation &op) {
  for (mlir::Value typed : op.getOperands())
    if (isa<RankedTensorType>(typed.getType()) && isa<FloatType>(getElementTypeOrSelf(typed.getType())))
      return arithmetic(typed.getType());
  return Operation().type;
}

class Extractor {
public:
  Extractor(dnn::TrainingGraphOp graph, int64_t microbatch, int64_t microbatches)
      : source(graph), forward(dnn::forwardOptionsOf(graph).value_or(dnn::ForwardOptions{})) {
    out.microbatch = microbatch;
    out.microbatches = microbatches;
  }

  std::optional<WorkGraph> run(std::string &error);
  std::vector<mlir::Operation *> origins; ///< by OperationId

private:
  ValueId define(mlir::Value value, RegionId region, Category category);
  ValueId idOf(mlir::Value value);
  void block(Block &block, RegionId region);
  void operation(mlir::Operation &op, RegionId region);
  void repeat(dnn::RepeatOp op, OperationId id, RegionId region);
  void work(WorkOpInterface op, Operation &into);
  std::vector<Loop> loops(WorkOpInterface op);
  std::vector<LoopTensor> tensors(WorkOpInterface op);
  void parts(dnn::FusedOp op, Operation &into);
  void parts(mlir::Operation *op, llvm::ArrayRef<dnn::AttentionPart> list, Operation &into);
  void gradientBuffers(mlir::Operation &op, Operation &into);
  void communication(mlir::Operation &op, Operation &into);
  void staticTensors();
  void forwardTensors();
  void expertsInUse(dnn::MoeExpertsOp op, Operation &into);
  void cache(dnn::CachedOp op, const std::string &name);
  std::optional<int64_t> elementBits(mlir::Value value, bool isProduct) const;
  std::optional<int64_t> storedBits(mlir::Value value, bool isProduct) const;
  std::optional<int64_t> savedBytes(mlir::Operation *op, bool isProduct, bool written) const;
  std::string typeIn(mlir::Operation &op, bool isProduct) const;
  std::string unique(mlir::Operation &op);
  /// What a batch is to an operation: once per step, the samples of all micro-batches.
  std::optional<int64_t> samplesOf(mlir::Operation *op) const {
    return isa<dnn::UpdateOp, dnn::GradientAllReduceOp>(op) ? checkedMultiply(out.microbatch, out.microbatches)
                                                            : out.microbatch;
  }
  void fail(mlir::Operation &op, const char *what) {
    if (problem.empty())
      problem = "'" + op.getName().getStringRef().str() + "' " + what + " passes 2^63";
  }

  dnn::TrainingGraphOp source;
  dnn::ForwardOptions forward;
  WorkGraph out;
  DenseMap<mlir::Value, ValueId> ids;
  llvm::StringMap<unsigned> names;
  std::string problem;
};

ValueId Extractor::define(mlir::Value value, RegionId region, Category category) {
  Value v;
  v.region = region;
  v.category = category;
  if (auto bytes = bytesOf(value.getType(), out.microbatch))
    v.bytes = storedBits(value, false) ? (*storedBits(value, false) + 7) / 8 : *bytes;
  else if (value.getDefiningOp())
    fail(*value.getDefiningOp(), "has a result whose size");
  // Of what comes round a ring, the piece that is attended to and the next one are there.
  if (auto gather = value.getDefiningOp<dnn::AllGatherOp>(); gather && gather->hasAttr(dnn::DnnDialect::kRingAttr))
    v.bytes = v.bytes / gather.getDevices() * 2;
  if (auto stash = dyn_cast<dnn::StashType>(value.getType())) {
    v.slices = stash.getCount();
    mlir::Type element = getElementTypeOrSelf(stash.getElement());
    if (int64_t own = 8 * elementBytes(element); forward.valueBits > 0 && isa<FloatType>(element))
      v.bytes = v.bytes / own * std::min(forward.valueBits, own);
  }
  ValueId id = out.values.size();
  out.values.push_back(std::move(v));
  ids[value] = id;
  return id;
}

ValueId Extractor::idOf(mlir::Value value) { return ids.lookup(value); }

// ---- Numbers that inference stores in fewer bits than the graph has

/// Whether a value is read from a parameter, or a view of such a read.
static dnn::ReadOp weightOf(mlir::Value value) {
  while (auto view = value.getDefiningOp<dnn::ReshapeOp>())
    value = view.getX();
  return value.getDefiningOp<dnn::ReadOp>();
}

/// Bits of an element of an operand or result; nothing if they are those of its type.
std::optional<int64_t> Extractor::elementBits(mlir::Value value, bool isProduct) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  int64_t bits = forward.valueBits;
  if (forward.cacheBits > 0 && value.getDefiningOp<dnn::CachedOp>())
    bits = forward.cacheBits;
  else if (forward.weightBits > 0 && isProduct && type.getRank() >= 2 && weightOf(value))
    bits = forward.weightBits;
  return bits > 0 && bits < 8 * elementBytes(type.getElementType()) ? std::optional(bits) : std::nullopt;
}

/// Of all its elements, those of weights with the scales of their groups.
std::optional<int64_t> Extractor::storedBits(mlir::Value value, bool isProduct) const {
  auto bits = elementBits(value, isProduct);
  if (!bits)
    return std::nullopt;
  constexpr int64_t kScale = 16;
  auto type = cast<RankedTensorType>(value.getType());
  auto elements = volume(type.getShape(), out.microbatch);
  auto all = checkedMultiply(elements, bits);
  int64_t group = forward.groupSize > 0 ? forward.groupSize : type.getShape().back();
  if (forward.weightBits > 0 && isProduct && type.getRank() >= 2 && weightOf(value) && all && group > 0)
    all = checkedAdd(all, (*elements + group - 1) / group * kScale);
  return all;
}

/// What an operation moves less than the types of its operands, or of its results, say.
std::optional<int64_t> Extractor::savedBytes(mlir::Operation *op, bool isProduct, bool written) const {
  std::optional<int64_t> saved = 0;
  auto add = [&](mlir::Value value) {
    if (auto bits = storedBits(value, isProduct))
      if (auto bytes = bytesOf(value.getType(), out.microbatch))
        saved = checkedAdd(saved, *bytes - (*bits + 7) / 8);
  };
  if (written)
    llvm::for_each(op->getResults(), add);
  else
    llvm::for_each(op->getOperands(), add);
  return saved;
}

/// The arithmetic of products is that of integers where all numbers are integers of 8 bits.
std::string Extractor::typeIn(mlir::Operation &op, bool isProduct) const {
  return isProduct && forward.valueBits == 8 ? "int8" : typeOf(op);
}

/// Names come from the model's source; what passes add without a name gets its kind and a number.
std::string Extractor::unique(mlir::Operation &op) {
  std::string name;
  if (auto given = op.getAttrOfType<StringAttr>(dnn::DnnDialect::kNameAttr))
    name = given.str();
  else if (auto repeat = dyn_cast<dnn::RepeatOp>(op))
    name = repeat.getLabel().str();
  else
    name = op.getName().stripDialect().str();
  unsigned &count = names[name];
  return ++count == 1 ? name : name + "#" + std::to_string(count);
}

void Extractor::work(WorkOpInterface op, Operation &into) {
  auto samples = samplesOf(op);
  if (!samples)
    return fail(*op.getOperation(), "has work that");
  auto flops = op.getFlops(*samples);
  auto read = op.getBytesRead(*samples), written = op.getBytesWritten(*samples);
  if (!flops || !read || !written)
    return fail(*op.getOperation(), "has work that");
  static_assert(unsigned(CoreKind::None) == unsigned(WorkCore::None) &&
                unsigned(CoreKind::Tensor) == unsigned(WorkCore::Tensor) &&
                unsigned(CoreKind::Vector) == unsigned(WorkCore::Vector) &&
                unsigned(CoreKind::Network) == unsigned(WorkCore::Network));
  into.core = static_cast<CoreKind>(op.getCoreKind());
  if (into.core == CoreKind::None)
    return;
  into.flops = *flops;
  into.bytesRead = std::max<int64_t>(0, *read - savedBytes(op, op.isContraction(), false).value_or(0));
  into.bytesWritten = std::max<int64_t>(0, *written - savedBytes(op, op.isContraction(), true).value_or(0));
  if (auto experts = dyn_cast<dnn::MoeExpertsOp>(op.getOperation()); experts && source.isInference())
    expertsInUse(experts, into);
  into.givenSeconds = op.getGivenSeconds(out.microbatch);
  into.contraction = op.isContraction();
  into.domain = loops(op);
  if (into.core != CoreKind::Network)
    into.tensors = tensors(op);
}

/// Few tokens need few experts: T tokens, each of which k of E experts compute, need E (1 - (1 - k/E)^T) of them in the
/// mean if they choose without preference, and k rows each.
void Extractor::expertsInUse(dnn::MoeExpertsOp op, Operation &into) {
  mlir::Operation *before = op.getSlots().getDefiningOp(); // parts of slots may have come from other devices
  while (before && !isa<dnn::MoeDispatchOp>(before) && before->getNumOperands() == 1)
    before = before->getOperand(0).getDefiningOp();
  auto dispatch = dyn_cast_or_null<dnn::MoeDispatchOp>(before);
  auto slots = volume(op.getSlots().getType().getShape().drop_back(), out.microbatch);
  auto tokens = dispatch ? volume(dispatch.getX().getType().getShape().drop_back(), out.microbatch) : std::nullopt;
  auto rows = dispatch ? checkedMultiply(tokens, dispatch.getTopK()) : std::nullopt;
  auto weights = bytesOf(op.getW1().getType(), 1);
  // Of divided experts each device has its share of the rows.
  if (slots && dispatch)
    slots = checkedMultiply(slots, dispatch.getGate().getType().getDimSize(0) / op.getW1().getType().getDimSize(0));
  if (!slots || !rows || !weights || *rows >= *slots)
    return;
  double experts = static_cast<double>(dispatch.getGate().getType().getDimSize(0));
  double used = 1 - std::pow(1 - static_cast<double>(dispatch.getTopK()) / experts, static_cast<double>(*tokens));
  double all = (op.getW3() ? 3.0 : 2.0) * static_cast<double>(*weights);
  if (auto bits = storedBits(op.getW1(), true))
    all *= static_cast<double>(*bits) / (8 * static_cast<double>(*weights));
  double rowShare = static_cast<double>(*rows) / static_cast<double>(*slots);
  double values = static_cast<double>(into.bytesRead) - all;
  into.flops = static_cast<int64_t>(static_cast<double>(into.flops) * rowShare);
  into.bytesRead = static_cast<int64_t>(std::max(values, 0.0) * rowShare + all * used);
  into.bytesWritten = static_cast<int64_t>(static_cast<double>(into.bytesWritten) * rowShare);
}

/// One affine position: strides of the iterators in it. A fixed position, or one that depends on
/// data, has none.
static std::vector<LoopTensor::Term> termsOf(AffineExpr position, unsigned loops) {
  SimpleAffineExprFlattener flattener(loops, 0);
  std::vector<LoopTensor::Term> terms;
  // Divisions and remainders (strided gradients) add local terms: what loops are in them counts
  // with stride 1.
  if (failed(flattener.walkPostOrder(position)))
    return terms;
  ArrayRef<int64_t> flat = flattener.operandExprStack.back();
  bool local = llvm::any_of(flat.drop_front(loops).drop_back(), [](int64_t c) { return c != 0; });
  for (unsigned loop = 0; loop < loops; ++loop)
    if (flat[loop] != 0)
      terms.push_back({loop, std::abs(flat[loop])});
    else if (local && position.isFunctionOfDim(loop))
      terms.push_back({loop, 1});
  return terms;
}

std::vector<LoopTensor> Extractor::tensors(WorkOpInterface op) {
  std::vector<LoopTensor> list;
  Work w = op.getWork();
  size_t operands = op->getNumOperands();
  for (auto [index, map] : llvm::enumerate(w.maps)) {
    LoopTensor tensor;
    tensor.written = index >= operands;
    mlir::Value value =
        tensor.written ? mlir::Value(op->getResult(index - operands)) : mlir::Value(op->getOperand(index));
    tensor.elementBits = 8 * elementBytes(getElementTypeOrSelf(value.getType()));
    if (auto bits = elementBits(value, op.isContraction()))
      tensor.elementBits = *bits;
    for (AffineExpr position : map.getResults())
      tensor.dimensions.push_back(termsOf(position, w.domain.size()));
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.getRank() == map.getNumResults())
      for (int64_t extent : type.getShape())
        tensor.sizes.push_back(ShapedType::isDynamic(extent) ? out.microbatch : extent);
    list.push_back(std::move(tensor));
  }
  return list;
}

std::vector<Loop> Extractor::loops(WorkOpInterface op) {
  std::vector<Loop> domain;
  Work w = op.getWork();
  for (auto [extent, kind] : llvm::zip(w.domain, w.kinds))
    domain.push_back({ShapedType::isDynamic(extent) ? samplesOf(op).value_or(1) : extent,
                      kind == utils::IteratorType::reduction ? IteratorKind::Reduction : IteratorKind::Parallel});
  return domain;
}

/// "linear"; of an operation that the file states, "custom scores".
static std::string kindOf(mlir::Operation *op) {
  std::string kind = op->getName().stripDialect().str();
  if (auto custom = dyn_cast<dnn::CustomOp>(op))
    kind += " " + custom.getFunction().str();
  if (auto update = dyn_cast<dnn::UpdateOp>(op); update && update.getRowsAttr())
    kind += "_rows";
  if (isa<dnn::EmbeddingGradOp, dnn::EmbeddingBagGradOp>(op) && dnn::rowsOf(op->getResult(0).getType()))
    kind.replace(kind.size() - 5, 5, "_rows_grad");
  return kind;
}

void Extractor::parts(dnn::FusedOp op, Operation &into) {
  for (WorkOpInterface body : op.getBodies()) {
    FusedPart part;
    part.name = dnn::nameOf(body).str();
    part.kind = kindOf(body);
    part.core = body.getCoreKind() == WorkCore::Tensor ? CoreKind::Tensor : CoreKind::Vector;
    part.type = typeIn(*body.getOperation(), body.isContraction());
    part.flops = body.getFlops(out.microbatch).value_or(0); // their sum was checked
    part.contraction = body.isContraction();
    part.domain = loops(body);
    part.tensors = tensors(body);
    into.parts.push_back(std::move(part));
  }
  into.type = typeIn(*op.getMain().getOperation(), op.getMain().isContraction());
}

/// What a collective moves: the whole tensor.
void Extractor::communication(mlir::Operation &op, Operation &into) {
  if (into.core != CoreKind::Network)
    return;
  std::optional<int64_t> payload;
  auto fill = [&](auto one, StringRef kind) {
    int64_t devices = one.getDevices();
    bool ring = one->hasAttr(dnn::DnnDialect::kRingAttr);
    into.communication = Communication{kind.str(), one.getAxis().str(), devices, payload.value_or(0), ring};
  };
  llvm::TypeSwitch<mlir::Operation *>(&op)
      .Case<dnn::AllReduceOp, dnn::ReduceScatterOp, dnn::AllToAllOp>([&](auto one) {
        payload = bytesOf(one.getX().getType(), out.microbatch);
        fill(one, op.getName().stripDialect());
      })
      .Case([&](dnn::AllGatherOp one) {
        payload = bytesOf(one.getY().getType(), out.microbatch);
        fill(one, op.getName().stripDialect());
      })
      .Case([&](dnn::GradientAllReduceOp one) {
        auto samples = samplesOf(one);
        payload = samples ? one.getBytesWritten(*samples) : std::nullopt;
        fill(one, one.getRowsAttr() ? "all_gather" : "all_reduce");
      });
  if (into.communication && !payload)
    fail(op, "exchanges data that");
}

/// Results that feed a gradient buffer are written there: no memory of their own, and a read when
/// they accumulate.
void Extractor::gradientBuffers(mlir::Operation &op, Operation &into) {
  Type format = source.getPrecision().getGradients();
  for (OpResult result : op.getResults()) {
    bool stored = llvm::any_of(result.getUsers(), [](mlir::Operation *user) { return isa<dnn::GradientOp>(user); });
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!stored || !type || into.core == CoreKind::None)
      continue;
    auto own = bytesOf(type, out.microbatch);
    auto buffer = bytesOf(RankedTensorType::get(type.getShape(), format, type.getEncoding()), out.microbatch);
    if (!own || !buffer)
      return fail(op, "has a gradient whose size");
    into.bytesWritten += *buffer - *own;
    if (out.microbatches > 1 && !dnn::rowsOf(type)) // rows are put behind those that are there
      into.bytesRead += *buffer;
    if (result.hasOneUse())
      out.values[idOf(result)].bytes = 0;
  }
}

void Extractor::repeat(dnn::RepeatOp op, OperationId id, RegionId parent) {
  RegionId body = out.regions.size();
  out.regions.emplace_back();
  out.regions[body].name = op.getLabel().str();
  out.regions[body].count = op.getCount();
  out.regions[body].parent = parent;
  out.regions[body].owner = id;
  out.regions[body].reverse = op.getReverse();
  out.operations[id].body = body;

  llvm::SetVector<mlir::Value> captured;
  getUsedValuesDefinedAbove(op.getBody(), captured);
  for (mlir::Value value : captured)
    if (ids.count(value))
      out.operations[id].operands.push_back(idOf(value));

  Category category = out.operations[id].phase == Phase::Forward ? Category::Activations : Category::Temporaries;
  for (mlir::Value argument : op.getCarriedArguments())
    define(argument, body, category);
  for (auto [argument, stack] : llvm::zip(op.getUnstashedArguments(), op.getUnstashed())) {
    ValueId inside = define(argument, body, Category::Activations);
    out.values[inside].alias = idOf(stack);
    out.regions[body].unstashed.push_back({inside, idOf(stack)});
  }
  block(op.getBlock(), body);

  dnn::YieldOp yield = op.getYield();
  for (auto [argument, yielded, initial, result] :
       llvm::zip(op.getCarriedArguments(), yield.getCarried(), op.getInits(), op.getCarried()))
    out.regions[body].carried.push_back({idOf(argument), idOf(yielded), idOf(initial), idOf(result)});
  for (auto [inside, stack] : llvm::zip(yield.getStashed(), op.getStashed()))
    out.regions[body].stashed.push_back({idOf(inside), idOf(stack)});
}

/// Two kinds of cores at work: each has its part of the FLOPs.
void Extractor::parts(mlir::Operation *op, llvm::ArrayRef<dnn::AttentionPart> list, Operation &into) {
  for (const dnn::AttentionPart &one : list) {
    FusedPart part;
    part.name = (dnn::nameOf(op) + "." + one.name).str();
    part.kind = one.name.str();
    part.core = one.core == WorkCore::Tensor ? CoreKind::Tensor : CoreKind::Vector;
    part.type = typeIn(*op, one.contraction);
    part.flops = checkedMultiply(volume(one.domain, out.microbatch), one.flopsPerPoint).value_or(0);
    part.contraction = one.contraction;
    for (int64_t extent : one.domain)
      part.domain.push_back({ShapedType::isDynamic(extent) ? out.microbatch : extent, IteratorKind::Parallel});
    for (size_t d = 4 + dnn::batchRank(cast<RankedTensorType>(op->getOperand(0).getType())) - 1; d < part.domain.size();
         ++d)
      part.domain[d].kind = IteratorKind::Reduction; // keys, and the width of the products
    into.parts.push_back(std::move(part));
  }
}

/// Whether another pass than `phase`, or another iteration, reads the value or a view of it.
static bool isKept(mlir::Value value, dnn::Phase phase) {
  return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) {
    if (auto view = dyn_cast<dnn::ReshapeOp>(user); view && dnn::phaseOf(view) == phase)
      return isKept(view.getY(), phase);
    return isa<dnn::YieldOp>(user) || dnn::phaseOf(user) != phase;
  });
}

static Category categoryOf(mlir::Value result) {
  mlir::Operation *op = result.getDefiningOp();
  dnn::Phase phase = dnn::phaseOf(op);
  auto work = dyn_cast<WorkOpInterface>(op);
  if (work && work.getCoreKind() == WorkCore::Network && !isKept(result, phase))
    return Category::Buffers;
  return phase == dnn::Phase::Forward ? Category::Activations : Category::Temporaries;
}

void Extractor::operation(mlir::Operation &op, RegionId region) {
  if (isa<dnn::GradientOp, dnn::YieldOp, dnn::OutputOp>(op))
    return;
  if (auto read = dyn_cast<dnn::ReadOp>(op)) {
    out.values[define(read.getResult(), region, Category::Weights)].bytes = 0; // resident
    return;
  }
  OperationId id = out.operations.size();
  out.operations.emplace_back();
  origins.push_back(&op);
  out.regions[region].operations.push_back(id);
  Operation described;
  described.name = unique(op);
  described.kind = kindOf(&op);
  described.region = region;
  described.location = sourceOf(op.getLoc());
  if (auto phase = op.getAttrOfType<dnn::PhaseAttr>(dnn::DnnDialect::kPhaseAttr))
    described.phase = static_cast<Phase>(phase.getValue());
  for (mlir::Value operand : op.getOperands())
    if (ids.count(operand))
      described.operands.push_back(idOf(operand));
  for (mlir::Value result : op.getResults())
    described.results.push_back(define(result, region, categoryOf(result)));
  auto product = dyn_cast<WorkOpInterface>(op);
  described.type = typeIn(op, product && product.isContraction());
  if (auto update = dyn_cast<dnn::UpdateOp>(op))
    described.type = update.getPrecision().getMixed() ? "fp32" : arithmetic(update.getTensorType());
  if (auto worker = dyn_cast<WorkOpInterface>(op)) {
    work(worker, described);
    communication(op, described);
    gradientBuffers(op, described);
    if (auto fused = dyn_cast<dnn::FusedOp>(op))
      parts(fused, described);
    else if (auto attention = dyn_cast<dnn::FlashAttentionOp>(op))
      parts(&op, attention.getParts(), described), described.causal = attention.getCausal();
    else if (auto gradient = dyn_cast<dnn::FlashAttentionGradOp>(op))
      parts(&op, gradient.getParts(), described), described.causal = gradient.getCausal();
  }
  // Views, several results of one, too: they stay in the storage of what they show.
  if (described.core == CoreKind::None && !described.operands.empty() && !isa<dnn::RepeatOp>(op))
    for (ValueId view : described.results)
      out.values[view].alias = described.operands[0];
  if (auto cached = dyn_cast<dnn::CachedOp>(op))
    cache(cached, described.name);
  out.operations[id] = std::move(described);
  if (auto loop = dyn_cast<dnn::RepeatOp>(op))
    repeat(loop, id, region);
}

void Extractor::block(Block &block, RegionId region) {
  for (mlir::Operation &op : block)
    operation(op, region);
}

/// The result is the cache of all samples and all iterations, which is there all the time.
void Extractor::cache(dnn::CachedOp op, const std::string &name) {
  auto bytes = storedBits(op.getY(), false);
  auto all = bytes ? (*bytes + 7) / 8 : bytesOf(op.getY().getType(), out.microbatch);
  all = checkedMultiply(checkedMultiply(all, out.microbatches), dnn::repetitions(op).value_or(INT64_MAX));
  if (!all)
    return fail(*op.getOperation(), "holds keys and values whose size");
  out.values[idOf(op.getY())].bytes = 0;
  out.staticTensors.push_back({name, Category::Activations, *all});
}

/// Of inference: weights, in as many bits as their products read.
void Extractor::forwardTensors() {
  llvm::StringMap<int64_t> bits; // of those that products read, with the scales
  source.walk([&](WorkOpInterface op) {
    for (mlir::Value operand : op->getOperands())
      if (dnn::ReadOp read = weightOf(operand)) {
        auto stored = storedBits(operand, op.isContraction());
        int64_t own = 8 * bytesOf(operand.getType(), out.microbatch).value_or(0);
        int64_t &known = bits[read.getParameter()];
        known = std::max(known, stored.value_or(own));
      }
  });
  for (dnn::ParameterOp parameter : source.getParameters()) {
    auto whole = bytesOf(parameter.getTensorType(), out.microbatch);
    auto read = bits.find(parameter.getSymName());
    auto one = read == bits.end() ? whole : std::optional((read->second + 7) / 8);
    auto all = checkedMultiply(one, parameter.getCopies());
    if (!all)
      return fail(*parameter.getOperation(), "needs memory that");
    out.staticTensors.push_back({parameter.getSymName().str(), Category::Weights, *all});
    out.parameters += parameter.getElements();
  }
}

void Extractor::staticTensors() {
  if (source.isInference())
    return forwardTensors();
  llvm::StringMap<dnn::UpdateOp> updates;
  for (dnn::UpdateOp update : source.getOptimizerStep().getUpdates())
    updates[update.getParameter()] = update;
  for (dnn::ParameterOp parameter : source.getParameters()) {
    dnn::UpdateOp update = updates.lookup(parameter.getSymName());
    auto samples = samplesOf(update);
    auto bytes = samples ? dnn::staticBytes(update, *samples) : std::nullopt;
    if (!bytes)
      return fail(*parameter.getOperation(), "needs memory that");
    std::string name = parameter.getSymName().str();
    out.staticTensors.push_back({name, Category::Weights, bytes->weights});
    if (bytes->quantized)
      out.staticTensors.push_back({name, Category::Weights, bytes->quantized, /*quantized=*/true});
    out.staticTensors.push_back({name, Category::Gradients, bytes->gradients});
    if (bytes->optimizerStates)
      out.staticTensors.push_back({name, Category::OptimizerStates, bytes->optimizerStates});
    out.parameters += parameter.getElements();
  }
}

std::optional<WorkGraph> Extractor::run(std::string &error) {
  out.model = source.getSymName().str();
  out.optimizer = dnn::stringifyOptimizerKind(source.getOptimizer()).str();
  out.precision = describe(source.getPrecision());
  out.regions.resize(2);
  out.regions[kMicrobatchRegion].name = "microbatch";
  out.regions[kUpdateRegion].name = "update";
  Block &micro = source.getMicrobatch().getBlock();
  for (BlockArgument input : micro.getArguments())
    define(input, kMicrobatchRegion, Category::Inputs);
  block(micro, kMicrobatchRegion);
  block(source.getOptimizerStep().getBlock(), kUpdateRegion);
  staticTensors();
  for (Operation &op : out.operations)
    for (ValueId result : op.results)
      out.values[result].name = op.name;
  if (!problem.empty()) {
    error = problem;
    return std::nullopt;
  }
  return std::move(out);
}

} // namespace

std::optional<WorkGraph> workGraphFrom(dnn::TrainingGraphOp graph, int64_t microbatch, int64_t microbatches,
                                       std::string &error, std::vector<mlir::Operation *> *origins) {
  Extractor extractor(graph, microbatch, microbatches);
  auto work = extractor.run(error);
  if (origins)
    *origins = std::move(extractor.origins);
  return work;
}

void describeAccesses(WorkGraph &work, dnn::TrainingGraphOp graph) {
  std::string error;
  std::vector<mlir::Operation *> origins;
  if (!workGraphFrom(graph, work.microbatch, work.microbatches, error, &origins) ||
      origins.size() != work.operations.size())
    return;
  auto shapeOf = [&](Type type) {
    std::string text;
    auto tensor = cast<RankedTensorType>(type);
    for (int64_t extent : tensor.getShape())
      text += std::to_string(ShapedType::isDynamic(extent) ? work.microbatch : extent) + "x";
    return text + arithmetic(type);
  };
  auto makerOf = [&](mlir::Value value) -> std::string {
    if (auto read = value.getDefiningOp<dnn::ReadOp>())
      return read.getParameter().str();
    if (mlir::Operation *maker = value.getDefiningOp())
      return dnn::nameOf(maker).str();
    bool input = isa<dnn::MicrobatchOp>(value.getParentBlock()->getParentOp());
    return input ? "input" : "carried into the iteration";
  };
  for (OperationId id = 0; id < origins.size(); ++id) {
    auto op = dyn_cast<WorkOpInterface>(origins[id]);
    if (!op || op.getCoreKind() == WorkCore::None)
      continue;
    SmallVector<AffineMap> maps = op.getWork().maps;
    size_t next = 0;
    auto add = [&](mlir::Value value, bool written) {
      TensorAccess access{written ? "" : makerOf(value), shapeOf(value.getType()), "", written};
      if (next < maps.size()) {
        llvm::raw_string_ostream stream(access.map);
        maps[next++].print(stream);
      }
      work.operations[id].accesses.push_back(std::move(access));
    };
    for (mlir::Value operand : op->getOperands())
      add(operand, false);
    for (mlir::Value result : op->getResults())
      add(result, true);
  }
}

} // namespace accord
