#include "lib/machine/calibration/Profile.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace accord::calibrate {

void productExtents(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors, ProfileItem &into) {
  into.batch = into.m = into.n = into.k = 1;
  // The first two operands and the first result: further ones are biases or masks.
  const LoopTensor *a = nullptr, *b = nullptr, *c = nullptr;
  for (const LoopTensor &tensor : tensors) {
    const LoopTensor *&slot = tensor.written ? c : !a ? a : b;
    if (!slot)
      slot = &tensor;
  }
  // A loop that the result only reaches together with another one, as in the gradient of a
  // convolution's input (position = output position * stride + kernel position), is summed over in
  // a sense; but the longer of the two is what the kernels spread over the device.
  auto spread = [&](size_t loop) {
    if (!c)
      return false;
    for (auto &dimension : c->dimensions) {
      bool here = false;
      int64_t longest = 0;
      for (const LoopTensor::Term &term : dimension) {
        here |= term.loop == loop;
        longest = std::max(longest, domain[term.loop].extent);
      }
      if (here && dimension.size() > 1 && domain[loop].extent == longest)
        return true;
    }
    return false;
  };
  for (const LoopTensor &tensor : tensors)
    for (auto &dimension : tensor.dimensions)
      into.window |= dimension.size() > 1;
  auto reads = [](const LoopTensor *tensor, size_t loop) {
    if (!tensor)
      return false;
    for (auto &dimension : tensor->dimensions)
      for (const LoopTensor::Term &term : dimension)
        if (term.loop == loop)
          return true;
    return false;
  };
  for (size_t loop = 0; loop < domain.size(); ++loop) {
    double extent = domain[loop].extent;
    bool inA = reads(a, loop), inB = reads(b, loop);
    if (domain[loop].kind == IteratorKind::Reduction && !spread(loop))
      into.k *= extent;
    else if (inA && inB)
      into.batch *= extent;
    else if (inB)
      into.n *= extent;
    else
      into.m *= extent;
  }
}

namespace {

/// What a kernel computes of attention whose mask is causal: tiles above the diagonal are left out (Dao et al.,
/// FlashAttention, 2022, section 3.1), so half of all in long sequences, as Megatron-LM counts it.
constexpr double kCausalShare = 0.5;

/// Share of the FLOPs counted. With a window of w of n keys, of w n that are counted the first w queries see half.
double computedShare(const Operation &op) {
  if (!op.causal)
    return 1;
  if (op.parts.empty() || op.parts.back().domain.empty() || op.domain.size() < op.parts.back().domain.size())
    return kCausalShare;
  const std::vector<Loop> &scores = op.parts.back().domain; // those of the softmax: keys are its last loop
  double seen = static_cast<double>(scores.back().extent),
         keys = static_cast<double>(op.domain[scores.size() - 1].extent);
  return 1 - (1 - kCausalShare) * std::min(seen / std::max(keys, 1.0), 1.0);
}

/// The host's own cost of a micro-batch and a step where its loop runs ahead of the device.
constexpr double kAheadShare = 0.1;

bool isLookup(const std::string &kind) {
  return kind.find("embedding") != std::string::npos || kind.find("gather") != std::string::npos ||
         kind.find("scatter") != std::string::npos || kind.find("lookup") != std::string::npos || kind == "update_rows";
}

bool isExperts(const std::string &kind) { return kind.starts_with("moe_experts"); }

/// One expert's product of its rows with what is inside of its first weights, of both at once if one gates the other:
/// libraries run a kernel for each expert (Transformer Engine's GroupedLinear). The other products have as much work
/// and no other shape but for what they sum. Of loops the rows and the weights have the experts and the width in
/// common, and neither has the loop over weights.
void expertExtents(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors, ProfileItem &into) {
  auto reads = [](const LoopTensor &tensor, size_t loop) {
    return std::ranges::any_of(tensor.dimensions, [&](const auto &dimension) {
      return std::ranges::find(dimension, loop, &LoopTensor::Term::loop) != dimension.end();
    });
  };
  const LoopTensor &rows = tensors.front();
  auto weights = std::ranges::find_if(tensors, [&](const LoopTensor &tensor) {
    for (size_t loop = 0; loop < domain.size(); ++loop)
      if (!tensor.written && reads(tensor, loop) && !reads(rows, loop))
        return true;
    return false;
  });
  if (weights == tensors.end())
    return productExtents(domain, tensors, into);
  into.batch = into.m = into.n = into.k = 1;
  for (size_t loop = 0; loop < domain.size(); ++loop) {
    double extent = domain[loop].extent;
    bool ofRows = reads(rows, loop), ofWeights = reads(*weights, loop);
    if (ofRows && ofWeights)
      into.k *= domain[loop].kind == IteratorKind::Reduction ? extent : 1;
    else if (ofRows)
      into.m *= extent;
    else
      into.n *= ofWeights ? extent : extent - 1; // all weights but the last one, which leads back
  }
}

/// Of a fused operation the contraction with the most work stands for all of them.
void describe(const Operation &op, ProfileItem &item) {
  if (isExperts(op.kind) && op.parts.empty() && !op.tensors.empty())
    return expertExtents(op.domain, op.tensors, item);
  if (op.parts.empty())
    return productExtents(op.domain, op.tensors, item);
  const FusedPart *max = nullptr;
  for (const FusedPart &part : op.parts)
    if (part.contraction && (!max || part.flops > max->flops))
      max = &part;
  if (max)
    productExtents(max->domain, max->tensors, item);
}

} // namespace

bool isTimeLoop(const Region &region) { return region.name.find(".time") != std::string::npos; }

bool isRecurrent(const WorkGraph &graph, RegionId region) {
  for (RegionId at = region; at != kMicrobatchRegion && at != kUpdateRegion;
       at = graph.operations[graph.regions[at].owner].region)
    if (isTimeLoop(graph.regions[at]))
      return true;
  return false;
}

double hostShareOf(const WorkGraph &graph) {
  bool decodes = std::ranges::any_of(graph.operations, [&](const Operation &op) {
    if (op.region == kMicrobatchRegion || op.region == kUpdateRegion || isRecurrent(graph, op.region))
      return false;
    auto item = op.body == kNone ? itemOf(op) : std::nullopt;
    return item && item->work == WorkClass::Batched && graph.regions[op.region].count > 1 && !item->window;
  });
  return decodes ? 1 : kAheadShare;
}

TrafficShares trafficSharesOf(const Operation &op) {
  bool computes = op.core != CoreKind::Network && !op.contraction;
  // A gradient reads, adds to and writes the rows that were looked up, not the whole table.
  if (computes && isLookup(op.kind))
    return op.phase == Phase::WeightGradient && !op.kind.ends_with("_rows_grad") ? TrafficShares{1, 0, 2}
                                                                                 : TrafficShares();
  // Statistics of a channel need every sample before any can be normalized (and in the gradient, two sums before any
  // element): what is read is read twice.
  return computes && op.kind.starts_with("batch_norm") ? TrafficShares{2, 1, 0} : TrafficShares();
}

std::optional<ProfileItem> itemOf(const Operation &op) {
  if (op.core == CoreKind::None || op.kind == "slice") // a view of its operand
    return std::nullopt;
  ProfileItem item;
  item.phase = op.phase;
  item.kind = op.kind;
  item.type = op.type;
  item.flops = computedShare(op) * static_cast<double>(op.flops);
  TrafficShares shares = trafficSharesOf(op);
  item.bytes = shares.read * static_cast<double>(op.bytesRead) + shares.written * static_cast<double>(op.bytesWritten) +
               shares.smaller * static_cast<double>(std::min(op.bytesRead, op.bytesWritten));
  if (op.core == CoreKind::Network) {
    item.work = WorkClass::Collective;
    item.communication = op.communication ? op.communication->kind : op.kind;
    item.axis = op.communication ? op.communication->axis : "";
    item.ring = op.communication && op.communication->ring;
    // What is reduced, or what all parts together are: the larger of what goes in and comes out.
    item.payload = op.communication ? static_cast<double>(op.communication->payload)
                                    : static_cast<double>(std::max(op.bytesRead, op.bytesWritten));
  } else if (op.contraction) {
    describe(op, item);
    if (op.kind.find("attention") != std::string::npos) { // many tiles, none of which is the whole
      item.batch = item.m = item.n = item.k = 0;
      item.work = WorkClass::Batched;
    } else
      item.work = item.batch > 1 ? WorkClass::Batched : WorkClass::Product;
  } else if (isLookup(op.kind)) {
    item.work = WorkClass::Lookup;
  } else if (op.kind.starts_with("softmax")) {
    item.work = WorkClass::Softmax;
  } else if (op.kind.starts_with("cross_entropy")) {
    item.work = WorkClass::Loss;
  }
  return item;
}

namespace {

double flopsBelow(const WorkGraph &graph, RegionId region) {
  double sum = 0;
  for (OperationId id : graph.regions[region].operations) {
    const Operation &op = graph.operations[id];
    sum += op.body == kNone ? static_cast<double>(op.flops) : flopsBelow(graph, op.body) * graph.regions[op.body].count;
  }
  return sum;
}

class Profiler {
public:
  explicit Profiler(const WorkGraph &graph) : graph(graph) {}

  Profile run() {
    chooseBlock();
    Place place = Place::First;
    for (OperationId id : graph.regions[kMicrobatchRegion].operations) {
      const Operation &op = graph.operations[id];
      bool isBlock = op.body != kNone && blockCount > 0 && graph.regions[op.body].count == blockCount;
      visit(id, isBlock ? Place::Block : place, 1, false);
      if (isBlock) // behind the forward stack is the end, behind the backward stack the start again
        place = place == Place::First && !ended ? (ended = true, Place::Last) : Place::First;
    }
    for (OperationId id : graph.regions[kUpdateRegion].operations)
      visit(id, Place::Update, 1, false);
    for (auto &[key, item] : found)
      out.items.push_back(std::move(item));
    out.blocks = blockCount > 0 ? static_cast<double>(blockCount) : 1;
    return std::move(out);
  }

private:
  void chooseBlock() {
    std::map<int64_t, double> work;
    for (OperationId id : graph.regions[kMicrobatchRegion].operations)
      if (RegionId body = graph.operations[id].body; body != kNone)
        work[graph.regions[body].count] += flopsBelow(graph, body) * graph.regions[body].count;
    double max = 0;
    for (auto [count, flops] : work)
      if (flops > max)
        max = flops, blockCount = count;
  }

  /// `times`: how often it runs in one run of a block, or of the micro-batch outside of blocks.
  void visit(OperationId id, Place place, double times, bool recurrent) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone) {
      double inside = place == Place::Block && op.region == kMicrobatchRegion
                          ? 1
                          : static_cast<double>(graph.regions[op.body].count);
      if (place == Place::Block && op.region == kMicrobatchRegion)
        boundary(graph.regions[op.body]);
      for (OperationId child : graph.regions[op.body].operations)
        visit(child, place, times * inside, recurrent || isTimeLoop(graph.regions[op.body]));
      return;
    }
    if (auto item = itemOf(op)) {
      item->place = place;
      item->recurrent = recurrent;
      add(std::move(*item), times);
    }
  }

  void add(ProfileItem item, double times) {
    auto key = std::tuple(item.place, item.phase, item.work, item.type, item.flops, item.bytes, item.batch, item.m,
                          item.n, item.k, item.payload, item.communication, item.axis, item.ring, item.recurrent);
    auto [slot, isNew] = found.emplace(std::move(key), std::move(item));
    slot->second.count += times;
  }

  void boundary(const Region &body) {
    for (const Region::Carried &carried : body.carried)
      out.boundaryBytes = std::max(out.boundaryBytes, static_cast<double>(graph.values[carried.argument].bytes));
    double kept = 0;
    for (const Region::Slice &slice : body.stashed)
      kept += graph.values[slice.inside].bytes;
    out.activationBytes = std::max(out.activationBytes, kept);
  }

  const WorkGraph &graph;
  Profile out;
  int64_t blockCount = 0;
  bool ended = false;
  std::map<std::tuple<Place, Phase, WorkClass, std::string, double, double, double, double, double, double, double,
                      std::string, std::string, bool, bool>,
           ProfileItem>
      found;
};

} // namespace

Profile profileOf(const WorkGraph &graph) {
  Profile profile = Profiler(graph).run();
  profile.hostShare = hostShareOf(graph);
  return profile;
}

} // namespace accord::calibrate
