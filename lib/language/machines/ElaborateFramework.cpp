#include "lib/language/machines/ElaborateFramework.h"
#include "lib/language/machines/SchemaReader.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// What the keys of a framework say, in base units.
class FrameworkKeys {
public:
  FrameworkKeys(mlir::DictionaryAttr entries, SourceRange at, Diagnostics &diags)
      : entries(entries), at(at), diags(diags) {}

  void read(llvm::StringRef key, double &into) const {
    if (auto value = closed<accel::QuantityAttr>(key))
      into = value.quantity().toDouble();
  }
  /// Whole bytes, rounded up.
  void read(llvm::StringRef key, int64_t &into) const {
    double bytes = static_cast<double>(into);
    read(key, bytes);
    into = static_cast<int64_t>(std::min(0x1p61, std::ceil(bytes)));
  }
  bool count(llvm::StringRef key, int64_t &into) const {
    auto value = closed<mlir::IntegerAttr>(key);
    if (value)
      into = value.getInt();
    return static_cast<bool>(value);
  }
  void truth(llvm::StringRef key, bool &into) const {
    if (auto value = closed<mlir::BoolAttr>(key))
      into = value.getValue();
  }
  /// Whether the key has this word.
  void is(llvm::StringRef key, llvm::StringRef word, bool &into) const {
    if (auto value = closed<mlir::StringAttr>(key))
      into = value.getValue() == word;
  }
  /// False where nothing is stated.
  bool words(llvm::StringRef key, std::vector<std::string> &into) const {
    auto value = closed<mlir::ArrayAttr>(key);
    for (mlir::Attribute one : value ? value.getValue() : llvm::ArrayRef<mlir::Attribute>())
      into.push_back(llvm::cast<mlir::StringAttr>(one).str());
    return static_cast<bool>(value);
  }

private:
  template <typename Kind> Kind closed(llvm::StringRef key) const {
    mlir::Attribute value = entries.get(key);
    if (value && !llvm::isa<Kind>(value))
      diags.error(Code::ChoiceNotAllowed, at, fmt::format("'{}' of a framework is one value", key.str()));
    return llvm::dyn_cast_or_null<Kind>(value);
  }

  mlir::DictionaryAttr entries;
  SourceRange at;
  Diagnostics &diags;
};

} // namespace

std::optional<Framework> elaborateFramework(const ast::Declaration &declaration, mlir::MLIRContext &context,
                                            Diagnostics &diags, const Lookup &lookup) {
  size_t before = diags.errors();
  SchemaReader reader(context, diags, lookup, *accel::findSchema("framework"));
  for (const ast::Entry &entry : declaration.entries)
    if (auto *pair = entry.as<ast::KeyValue>())
      reader.read(*pair, entry);
    else
      diags.error(Code::UnknownEntryKind, entry.range, "a framework has keys alone")
          .help("for example: gradients = fp32");
  reader.finish(declaration.name.range);
  if (diags.errors() > before)
    return std::nullopt;
  FrameworkKeys keys(reader.dictionary(), declaration.name.range, diags);
  Framework made;
  made.name = declaration.name.text;
  keys.is("weights", "master", made.masterWeightsAlone);
  keys.is("gradients", "both", made.gradientsInBoth);
  keys.is("gradients", made.gradientsInBoth ? "both" : "fp32", made.fp32Gradients);
  keys.is("reductions", "fp32", made.fp32Reductions);
  keys.count("zero_min", made.minZero), keys.count("zero_max", made.maxZero);
  made.zero = made.minZero;
  keys.count("zero", made.zero);
  keys.words("divides", made.divides);
  if (std::vector<std::string> overlaps; keys.words("overlaps", overlaps))
    made.hidesGradients = llvm::is_contained(overlaps, "gradient_reduction");
  keys.count("vocabulary_multiple", made.vocabularyMultiple);
  keys.truth("vocabulary_multiple_per_tensor", made.vocabularyPerTensor);
  keys.truth("fuse_elementwise", made.fusesElementwise);
  keys.read("loss_bytes", made.lossBytes), keys.read("gradient_buckets", made.gradientBuckets);
  keys.read("reserved_ratio", made.reservedRatio);
  keys.read("context", made.context), keys.read("communication", made.communication);
  keys.read("margin", made.margin), keys.read("confidence", made.confidence);
  keys.read("host_overhead_per_microbatch", made.hostPerMicrobatch);
  keys.read("host_overhead_per_step", made.hostPerStep);
  constexpr int64_t kMaxMultiple = 1 << 20;
  if (made.minZero > made.zero || made.zero > made.maxZero || made.maxZero > 3)
    diags
        .error(Code::OutOfRange, declaration.name.range,
               fmt::format("stages of ZeRO are 0 to 3 with zero_min <= zero <= zero_max, not {} <= {} <= {}",
                           made.minZero, made.zero, made.maxZero))
        .help("ZeRO 1 divides states of the optimizer among replicas, 2 gradients, too, 3 weights, too");
  if (made.vocabularyMultiple > kMaxMultiple)
    diags.error(Code::OutOfRange, declaration.name.range,
                fmt::format("'vocabulary_multiple' is at most {}, not {}", kMaxMultiple, made.vocabularyMultiple));
  return diags.errors() == before ? std::optional(std::move(made)) : std::nullopt;
}

} // namespace accord
