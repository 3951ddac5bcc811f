#include "lib/compilation/TrainingRequest.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/requests/Requirements.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace accord {
namespace {

// Words of enumerations, in the order of their values.
constexpr llvm::StringRef kObjectives[] = {"throughput", "step_time", "memory", "energy", "of_cluster"};
constexpr llvm::StringRef kLimits[] = {"memory", "step_time", "power", "devices", "energy", "price"};
constexpr llvm::StringRef kConstraints[] = {"on_device", "not_on_device", "stage", "same_stage"};
llvm::ArrayRef<llvm::StringRef> wordsOf(Objective) { return kObjectives; }
llvm::ArrayRef<llvm::StringRef> wordsOf(PlacementObjective) {
  static const auto words =
      llvm::map_to_vector<8>(objectiveFormulas(), [](auto &one) { return llvm::StringRef(one.name); });
  return words;
}
llvm::ArrayRef<llvm::StringRef> wordsOf(PipelineSchedule) {
  static const auto words =
      llvm::map_to_vector<8>(scheduleModels(), [](auto *one) { return llvm::StringRef(one->name); });
  return words;
}
llvm::ArrayRef<llvm::StringRef> wordsOf(PlacementLimit::Of) { return kLimits; }
llvm::ArrayRef<llvm::StringRef> wordsOf(LayerConstraint::Of) { return kConstraints; }

// The fields of each part, for reading and writing alike: `see(key, field)`.
template <class See> void fields(See &see, DegreeChoice &choice) {
  see("key", choice.key), see("values", choice.values), see("at", choice.at);
}
template <class See> void fields(See &see, PlacementLimit &limit) {
  see("of", limit.of), see("max", limit.max), see("text", limit.text), see("at", limit.at);
}
template <class See> void fields(See &see, LayerPattern::Part &part) {
  see("name", part.name);
  std::vector<int64_t> range;
  if (part.range)
    range = {part.range->first, part.range->second};
  see("range", range);
  if (range.size() == 2)
    part.range = {range[0], range[1]};
}
template <class See> void fields(See &see, LayerPattern &pattern) {
  see("parts", pattern.parts), see("at", pattern.at);
}
template <class See> void fields(See &see, LayerConstraint &constraint) {
  see("of", constraint.of), see("layers", constraint.layers), see("device", constraint.device);
  see("stage", constraint.stage), see("other_at", constraint.otherAt);
  see("text", constraint.text), see("at", constraint.at);
}
template <class See> void fields(See &see, std::pair<std::string, int64_t> &size) {
  see("name", size.first), see("value", size.second);
}
struct WrittenRequirement {
  Attribute condition;
  std::string text;
  SourceLocation location;
};
template <class See> void fields(See &see, WrittenRequirement &requirement) {
  see("condition", requirement.condition), see("text", requirement.text), see("location", requirement.location);
}
struct WrittenLoader {
  double rate = 0;
  int64_t prefetch = 2, workers = 1, maxWorkers = 1;
  double variation = 0, memory = 0;
  SourceRange at;
};
template <class See> void fields(See &see, WrittenLoader &loader) {
  see("rate", loader.rate), see("prefetch", loader.prefetch), see("at", loader.at);
  see("workers", loader.workers), see("max_workers", loader.maxWorkers);
  see("variation", loader.variation), see("memory", loader.memory);
}

template <class See> void fields(See &see, CheckpointRequest &checkpoint) {
  see("every", checkpoint.every), see("every_steps", checkpoint.everySteps), see("bytes", checkpoint.bytes);
  see("asynchronous", checkpoint.asynchronous), see("asynchronous_stated", checkpoint.asynchronousStated);
}

template <class See> void fields(See &see, Framework &framework) {
  see("name", framework.name), see("master_weights_alone", framework.masterWeightsAlone);
  see("fp32_gradients", framework.fp32Gradients), see("gradients_in_both", framework.gradientsInBoth);
  see("fp32_reductions", framework.fp32Reductions);
  see("zero", framework.zero), see("min_zero", framework.minZero), see("max_zero", framework.maxZero);
  see("divides", framework.divides);
  std::optional<int64_t> hides; // a truth that is not stated is another thing than a false one
  if (framework.hidesGradients)
    hides = *framework.hidesGradients ? 1 : 0;
  see("hides_gradients", hides);
  if (hides)
    framework.hidesGradients = *hides != 0;
  see("vocabulary_multiple", framework.vocabularyMultiple);
  see("vocabulary_per_tensor", framework.vocabularyPerTensor);
  see("fuse_elementwise", framework.fusesElementwise);
  see("loss_bytes", framework.lossBytes), see("gradient_buckets", framework.gradientBuckets);
  see("reserved_ratio", framework.reservedRatio), see("context", framework.context);
  see("communication", framework.communication), see("margin", framework.margin);
  see("confidence", framework.confidence), see("host_per_microbatch", framework.hostPerMicrobatch);
  see("host_per_step", framework.hostPerStep);
}

template <class See>
void fields(See &see, TrainingRequest &request, std::vector<WrittenRequirement> &requirements,
            std::vector<WrittenLoader> &loaders, std::vector<Framework> &frameworks) {
  TrainingJob &job = request.job;
  see("batch", job.batch), see("microbatches", job.microbatches), see("microbatches_at", job.microbatchAt);
  see("microbatch_stated", job.microbatchStated), see("recompute_stated", job.recomputeStated);
  see("recompute", job.recomputes), see("objective", job.objective), see("placement_objective", job.placementObjective),
      see("objective_at", job.objectiveAt);
  see("requirements", requirements), see("limits", job.limits), see("constraints", job.placementConstraints);
  see("data_loader", loaders);
  see("parallel", job.parallel), see("zero", job.zero), see("zero_at", job.zeroAt);
  see("schedules", job.schedules), see("virtual_stages", job.virtualStages), see("schedules_at", job.scheduleAt);
  see("offload", job.offloads), see("offload_at", job.offloadAt), see("tensor_overlap", job.tensorOverlaps);
  see("context_exchange", job.contextExchanges);
  see("rank_order", job.orders), see("transfers", job.transfers), see("table_parallel", job.tables);
  see("recompute_granularity", job.recomputeGranularity), see("regather_sequence", job.regatherSequence);
  see("stages", job.stages), see("samples", job.samples), see("tokens", job.tokens), see("amount_at", job.amountAt);
  std::vector<CheckpointRequest> checkpoints;
  if (const CheckpointRequest &one = job.checkpoint;
      one.every > 0 || one.everySteps > 0 || one.bytes > 0 || one.asynchronousStated)
    checkpoints.push_back(one);
  see("checkpoint", checkpoints);
  if (!checkpoints.empty())
    job.checkpoint = checkpoints.front();
  see("assumptions", job.assumptions);
  see("at", request.at), see("model", request.model), see("sizes", request.sizes), see("sequence", request.sequence);
  see("cost_model", request.costModel), see("effort", request.effort);
  see("framework", frameworks);
  see("fuse", request.training.fuse), see("model_passes", request.training.modelPasses);
  see("passes", request.training.passes);
}

/// Fields as attributes; what is empty or false is left out.
class Writer {
public:
  Writer(MLIRContext *context, const SourceManager &sources) : builder(context), sources(sources) {}
  NamedAttrList list;

  template <class T> void operator()(llvm::StringRef key, T &value) {
    if (Attribute attribute = of(std::as_const(value)))
      list.set(key, attribute);
  }

private:
  Attribute of(Attribute value) { return value; }
  Attribute of(int64_t value) { return builder.getI64IntegerAttr(value); }
  Attribute of(double value) { return value != 0 ? builder.getF64FloatAttr(value) : FloatAttr(); }
  Attribute of(bool value) { return value ? builder.getUnitAttr() : UnitAttr(); }
  Attribute of(const std::string &value) { return value.empty() ? StringAttr() : builder.getStringAttr(value); }
  Attribute of(const std::optional<int64_t> &value) { return value ? of(*value) : Attribute(); }
  Attribute of(const std::vector<int64_t> &values) {
    return values.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(values);
  }
  Attribute of(const SourceLocation &at) {
    return at.file.empty() ? Attribute() : FileLineColLoc::get(builder.getContext(), at.file, at.line, at.column);
  }
  Attribute of(const SourceRange &at) {
    if (!at.valid())
      return {};
    Position begin = sources.position(at), end = sources.position(at.file, at.end);
    return FileLineColRange::get(builder.getStringAttr(sources.path(at.file)), begin.line, begin.column, end.line,
                                 end.column);
  }
  template <class E>
    requires std::is_enum_v<E>
  Attribute of(E value) {
    return builder.getStringAttr(wordsOf(value)[llvm::to_underlying(value)]);
  }
  template <class T> Attribute of(const std::vector<T> &values) {
    SmallVector<Attribute> all;
    for (const T &value : values)
      all.push_back(of(value));
    return all.empty() ? ArrayAttr() : builder.getArrayAttr(all);
  }
  template <class T>
    requires(!std::is_enum_v<T>)
  Attribute of(const T &value) {
    Writer inner(builder.getContext(), sources);
    fields(inner, const_cast<T &>(value)); // reading and writing share one list of fields
    return inner.list.getDictionary(builder.getContext());
  }

  Builder builder;
  const SourceManager &sources;
};

class Reader {
public:
  Reader(DictionaryAttr attributes, SourceManager &sources) : attributes(attributes), sources(sources) {}
  std::string wrong; ///< the first key whose value cannot be read

  template <class T> void operator()(llvm::StringRef key, T &value) {
    Attribute attribute = attributes.get(key);
    if constexpr (std::is_same_v<T, bool>)
      value = attribute != nullptr;
    else if (attribute && !read(attribute, value) && wrong.empty())
      wrong = key.str();
  }

private:
  bool read(Attribute from, Attribute &value) { return static_cast<bool>(value = from); }
  bool read(Attribute from, int64_t &value) {
    auto integer = dyn_cast<IntegerAttr>(from);
    return integer && (value = integer.getInt(), true);
  }
  bool read(Attribute from, double &value) {
    auto number = dyn_cast<FloatAttr>(from);
    return number && (value = number.getValueAsDouble(), true);
  }
  bool read(Attribute from, std::string &value) {
    auto text = dyn_cast<StringAttr>(from);
    return text && (value = text.str(), true);
  }
  bool read(Attribute from, std::optional<int64_t> &value) { return read(from, value.emplace()); }
  bool read(Attribute from, std::vector<int64_t> &values) {
    auto array = dyn_cast<DenseI64ArrayAttr>(from);
    return array && (values.assign(array.asArrayRef().begin(), array.asArrayRef().end()), true);
  }
  bool read(Attribute from, SourceLocation &at) {
    auto location = dyn_cast<LocationAttr>(from);
    return location && (at = sourceOf(Location(location)), true);
  }
  bool read(Attribute from, SourceRange &at) {
    auto range = dyn_cast<FileLineColRange>(from);
    if (!range)
      return false;
    std::string path = range.getFilename().str();
    auto file = sources.find(path);
    if (!file) {
      auto buffer = llvm::MemoryBuffer::getFile(path);
      if (!buffer)
        return true; // then it has no place here
      file = sources.add(path, (*buffer)->getBuffer().str());
    }
    at = sources.at(*file, {range.getStartLine(), range.getStartColumn()});
    at.end = std::max(at.begin, sources.at(*file, {range.getEndLine(), range.getEndColumn()}).begin);
    return true;
  }
  template <class E>
    requires std::is_enum_v<E>
  bool read(Attribute from, E &value) {
    auto text = dyn_cast<StringAttr>(from);
    llvm::ArrayRef<llvm::StringRef> words = wordsOf(value);
    auto found = text ? llvm::find(words, text.getValue()) : words.end();
    return found != words.end() && (value = static_cast<E>(found - words.begin()), true);
  }
  template <class T> bool read(Attribute from, std::vector<T> &values) {
    auto array = dyn_cast<ArrayAttr>(from);
    if (!array)
      return false;
    values.clear();
    for (Attribute one : array)
      if (!read(one, values.emplace_back()))
        return false;
    return true;
  }
  template <class T>
    requires(!std::is_enum_v<T>)
  bool read(Attribute from, T &value) {
    auto dictionary = dyn_cast<DictionaryAttr>(from);
    if (!dictionary)
      return false;
    Reader inner(dictionary, sources);
    fields(inner, value);
    return inner.wrong.empty();
  }

  DictionaryAttr attributes;
  SourceManager &sources;
};

/// A condition as an expression of the accel dialect, and back.
Attribute attributeOf(const Constant &value, MLIRContext *context) {
  Builder builder(context);
  if (auto *quantity = value.as<Quantity>())
    return accel::QuantityAttr::get(context, *quantity);
  if (auto *word = value.as<Word>())
    return accel::ReferenceAttr::get(context, word->text);
  SmallVector<Attribute> operands;
  auto *call = value.as<CallValue>();
  if (!call)
    return builder.getUnitAttr();
  for (auto &[name, argument] : call->arguments)
    operands.push_back(attributeOf(*argument, context));
  return accel::ApplyAttr::get(context, call->name, builder.getArrayAttr(operands));
}
Constant constantOf(Attribute attribute) {
  if (auto quantity = dyn_cast<accel::QuantityAttr>(attribute))
    return {{}, quantity.quantity()};
  if (auto reference = dyn_cast<accel::ReferenceAttr>(attribute))
    return {{}, Word{reference.getPath().str()}};
  auto apply = dyn_cast<accel::ApplyAttr>(attribute);
  if (!apply)
    return {};
  CallValue call;
  call.name = apply.getFunction().str();
  for (Attribute operand : apply.getOperands()) {
    call.arguments.emplace_back("", std::make_shared<Constant>(constantOf(operand)));
    if (auto *inner = call.arguments.back().second->as<CallValue>())
      call.calls += inner->calls;
  }
  return {{}, std::move(call)};
}

} // namespace

plan::RequestOp writeRequest(ModuleOp module, dnn::ModelOp model, const TrainingRequest &given,
                             const SourceManager &sources) {
  MLIRContext *context = module.getContext();
  context->getOrLoadDialect<plan::PlanDialect>();
  TrainingRequest request = given;
  std::vector<WrittenRequirement> requirements;
  requirements.reserve(request.job.requirements.size());
  for (size_t i = 0; i < request.job.requirements.size(); ++i)
    requirements.push_back({attributeOf(*request.job.conditions[i], context), request.job.requirements[i].text,
                            request.job.requirements[i].location});
  std::vector<WrittenLoader> loaders;
  if (const auto &from = request.job.dataLoader)
    loaders.push_back({from->rate.value, from->prefetch, from->workers, from->maxWorkers, from->variation,
                       from->memory.value, request.job.dataLoaderAt});
  std::vector<Framework> frameworks;
  if (request.framework)
    frameworks.push_back(*request.framework);
  Writer writer(context, sources);
  fields(writer, request, requirements, loaders, frameworks);
  OperationState state(model.getLoc(), plan::RequestOp::getOperationName());
  writer.list.set("sym_name", StringAttr::get(context, request.job.name + ".request"));
  writer.list.set("target", StringAttr::get(context, request.job.target));
  state.addAttributes(writer.list.getAttrs());
  state.addRegion()->emplaceBlock();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto op = cast<plan::RequestOp>(builder.create(state));
  model->remove();
  op.getBody().front().push_back(model);
  return op;
}

std::optional<TrainingRequest> readRequest(plan::RequestOp op, SourceManager &sources) {
  TrainingRequest request;
  request.job.name = cast<dnn::ModelOp>(op.getModel()).getSymName().str();
  request.job.target = op.getTarget().str();
  std::vector<WrittenRequirement> requirements;
  std::vector<WrittenLoader> loaders;
  std::vector<Framework> frameworks;
  Reader reader(op->getAttrDictionary(), sources);
  fields(reader, request, requirements, loaders, frameworks);
  if (!reader.wrong.empty()) {
    op.emitOpError() << "has a '" << reader.wrong << "' that cannot be read";
    return std::nullopt;
  }
  for (WrittenRequirement &one : requirements) {
    Constant condition = constantOf(one.condition);
    request.job.requirements.push_back(requirement(condition, one.text, one.location));
    request.job.conditions.push_back(std::make_shared<Constant>(std::move(condition)));
  }
  if (!frameworks.empty())
    request.framework = frameworks.front();
  for (const WrittenLoader &loader : loaders) {
    request.job.dataLoader = DataLoader{BytesPerSecond(loader.rate), loader.prefetch,  loader.workers,
                                        loader.maxWorkers,           loader.variation, Bytes(loader.memory)};
    request.job.dataLoaderAt = loader.at;
  }
  return request;
}

} // namespace accord
