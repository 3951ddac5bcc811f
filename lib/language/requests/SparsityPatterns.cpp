#include "lib/language/requests/SparsityPatterns.h"
#include "lib/language/requests/PatternFiles.h"
#include <fmt/format.h>

namespace accord {
namespace {

using Kind = SparsityPattern::Kind;
constexpr int64_t kMaxExtent = int64_t(1) << 40, kMaxGroupSize = 1024, kMaxWindow = 4096;
constexpr size_t kMaxPatterns = 1000;
const std::vector<std::string> kPatterns{"dense", "unstructured", "nm", "block", "banded", "histogram", "mask"};

class PatternReader {
public:
  PatternReader(SparsityRequest::Rule &rule, bool transposable, BlockReader &reader)
      : rule(rule), transposable(transposable), reader(reader), diags(reader.diags) {}

  void read(const Constant &value) {
    if (value.failed())
      return;
    auto *choice = value.as<Choice>();
    bool set = choice && choice->kind == Choice::Kind::Set;
    if (set && choice->members->empty())
      diags.error(Code::EmptyRange, value.range, "there is no pattern to choose from");
    bool file = false;
    for (const Constant &member : membersOf(value)) {
      one(member);
      auto *call = member.as<CallValue>();
      file |= call && (call->name == "histogram" || call->name == "mask");
    }
    rule.given = !set && rule.choices.size() == 1 && (file || rule.of != GemmOperand::Weights);
    if (transposable && !structured && !value.failed())
      diags.error(Code::UnexpectedClause, value.range,
                  "'transposable' says that n of m elements are kept along both dimensions, and "
                  "there is no nm(n, m) here");
  }

private:
  void one(const Constant &value) {
    if (value.failed())
      return;
    auto *word = value.as<Word>();
    auto *call = value.as<CallValue>();
    std::string name = word ? word->text : call ? call->name : "";
    if (name == "dense" && word)
      return; // it is one beside all others
    if (!call || !llvm::is_contained(kPatterns, name) || name == "dense") {
      bool bare = word && llvm::is_contained(kPatterns, name);
      auto error = diags.error(
          bare ? Code::MissingArgument : Code::UnknownChoice, value.range,
          bare ? fmt::format("'{}' needs arguments", name)
               : fmt::format("a pattern is one of {}, not {}", fmt::join(kPatterns, ", "), value.describe()));
      if (!bare)
        error.suggest(nearest(name, kPatterns));
      error.help("for example: nm(2, 4), unstructured(density = 0.2), block(4, 4, density = 0.2)");
      return;
    }
    SparsityPattern pattern;
    pattern.dynamic = rule.of != GemmOperand::Weights;
    pattern.independent = pattern.dynamic;
    if (name == "unstructured")
      unstructured(*call, value, pattern);
    else if (name == "nm")
      nm(*call, value, pattern);
    else if (name == "block")
      block(*call, value, pattern);
    else if (name == "banded")
      banded(*call, value, pattern);
    else
      fromFile(*call, value, pattern);
  }

  void add(SparsityPattern pattern, std::string text, SourceRange at) {
    if (rule.choices.size() >= kMaxPatterns) {
      if (rule.choices.size() == kMaxPatterns && !tooMany)
        diags.error(Code::TooManyValues, at, fmt::format("more than {} patterns to choose from", kMaxPatterns));
      tooMany = true;
      return;
    }
    if (llvm::is_contained(rule.texts, text)) {
      diags.error(Code::DuplicateChoice, at, fmt::format("{} is in this set already", text));
      return;
    }
    rule.choices.push_back(std::move(pattern));
    rule.texts.push_back(std::move(text));
  }

  /// `static` and `dynamic`.
  bool times(CallArguments &arguments, SparsityPattern &pattern) {
    const Constant *fixed = arguments.flag("static"), *changing = arguments.flag("dynamic");
    if (fixed && changing) {
      diags.error(Code::DuplicateArgument, changing->range, "zeros are static or dynamic, not both");
      return false;
    }
    if (fixed || changing)
      pattern.dynamic = changing != nullptr;
    return arguments.good();
  }

  bool distribution(CallArguments &arguments, SparsityPattern &pattern) {
    const Constant *stated = arguments.get("distribution", /*required=*/false);
    if (!stated)
      return true;
    std::string word = reader.word(*stated, "distribution", {"exact", "independent"});
    pattern.independent = word == "independent";
    return !word.empty();
  }

  /// A density, or several: sets and ranges with a step.
  std::vector<Quantity> densities(const Constant &value) {
    std::vector<Quantity> found;
    for (const Constant &member : membersOf(value)) {
      auto *range = member.as<Choice>();
      if (!range) {
        if (auto number = reader.number(member, "density", 0, 1))
          found.push_back(Quantity(*number));
        continue;
      }
      if (range->kind != Choice::Kind::Range) {
        diags.error(Code::ChoiceNotAllowed, member.range, "densities are a number, a set, or a range with a step");
        continue;
      }
      Constant low{member.range, range->low}, high{member.range, range->high};
      auto first = reader.number(low, "density", 0, 1), last = reader.number(high, "density", 0, 1);
      if (!first || !last)
        continue;
      const Rational &step = range->step.value; // positive, or evaluation has refused it
      if ((*last - *first) / step >= Rational(kMaxPatterns)) {
        diags.error(Code::TooManyValues, member.range, fmt::format("'density' has more than {} values", kMaxPatterns));
        continue;
      }
      if (*first + step > *last && *first != *last) {
        diags.error(Code::BadStep, member.range, "this range has no second density")
            .help("for example: density = 0.1..0.9 step 0.1");
        continue;
      }
      for (Rational density = *first; density <= *last; density = density + step)
        found.push_back(Quantity(density));
    }
    return found;
  }

  /// One choice for each density; with one of them it is named as it was written.
  void addDensities(const Constant &densityValue, const Constant &whole, SparsityPattern pattern) {
    std::vector<Quantity> all = densities(densityValue);
    std::string written = diags.sources().text(whole.range).str();
    SourceRange inner = densityValue.range;
    bool inside = inner.file == whole.range.file && inner.begin >= whole.range.begin && inner.end <= whole.range.end;
    for (const Quantity &density : all) {
      pattern.density = density.toDouble();
      std::string text = written;
      if (densityValue.as<Choice>() && inside)
        text.replace(inner.begin - whole.range.begin, inner.end - inner.begin, density.print());
      else if (densityValue.as<Choice>())
        text = fmt::format("{} with density {}", written, density.print());
      add(pattern, text, whole.range);
    }
  }

  void unstructured(const CallValue &call, const Constant &whole, SparsityPattern pattern) {
    CallArguments arguments(reader, call, whole.range, {"density", "distribution"}, {"static", "dynamic"});
    const Constant *density = arguments.get("density");
    pattern.kind = Kind::Unstructured;
    if (times(arguments, pattern) && distribution(arguments, pattern) && density)
      addDensities(*density, whole, pattern);
  }

  void nm(const CallValue &call, const Constant &whole, SparsityPattern pattern) {
    structured = true;
    CallArguments arguments(reader, call, whole.range, {"n", "m", "along"}, {"transposable", "static", "dynamic"});
    const Constant *n = arguments.get("n"), *m = arguments.get("m"),
                   *along = arguments.get("along", /*required=*/false);
    if (!times(arguments, pattern))
      return;
    auto kept = reader.integer(*n, "n", 1, kMaxGroupSize), of = reader.integer(*m, "m", 1, kMaxGroupSize);
    std::string dimension = along ? reader.word(*along, "along", {"input", "output"}) : "input";
    if (!kept || !of || dimension.empty())
      return;
    if (*kept > *of) {
      diags.error(Code::OutOfRange, whole.range, fmt::format("nm({}, {}) keeps more than it has", *kept, *of))
          .help(fmt::format("nm({}, {}) keeps {} of every {} neighbours", *of, *kept, *of, *kept));
      return;
    }
    pattern.kind = Kind::Structured;
    pattern.kept = *kept, pattern.of = *of;
    pattern.density = static_cast<double>(*kept) / (*of);
    pattern.along = dimension == "output" ? SparsityPattern::Along::Output : SparsityPattern::Along::Reduction;
    pattern.transposable = transposable || arguments.flag("transposable");
    pattern.independent = false;
    std::string text = diags.sources().text(whole.range).str();
    add(pattern, transposable ? text + " transposable" : text, whole.range);
  }

  void block(const CallValue &call, const Constant &whole, SparsityPattern pattern) {
    CallArguments arguments(reader, call, whole.range, {"rows", "columns", "density", "distribution"},
                            {"static", "dynamic"});
    const Constant *rows = arguments.get("rows"), *columns = arguments.get("columns"),
                   *density = arguments.get("density");
    if (!times(arguments, pattern) || !distribution(arguments, pattern))
      return;
    auto height = reader.integer(*rows, "rows", 1, kMaxExtent),
         width = reader.integer(*columns, "columns", 1, kMaxExtent);
    if (!height || !width)
      return;
    pattern.kind = Kind::Block;
    pattern.blockRows = *height, pattern.blockColumns = *width;
    addDensities(*density, whole, pattern);
  }

  void banded(const CallValue &call, const Constant &whole, SparsityPattern pattern) {
    CallArguments arguments(reader, call, whole.range, {"band"}, {"static", "dynamic"});
    const Constant *stated = arguments.get("band");
    if (!times(arguments, pattern))
      return;
    auto band = reader.integer(*stated, "band", 0, kMaxExtent);
    if (!band)
      return;
    pattern.kind = Kind::Banded;
    pattern.band = *band;
    pattern.independent = false;
    add(pattern, diags.sources().text(whole.range).str(), whole.range);
  }

  void fromFile(const CallValue &call, const Constant &whole, SparsityPattern pattern) {
    bool histogram = call.name == "histogram";
    CallArguments arguments(reader, call, whole.range,
                            histogram ? std::vector<std::string>{"file", "window"} : std::vector<std::string>{"file"},
                            {"static", "dynamic"});
    const Constant *file = arguments.get("file"), *size = histogram ? arguments.get("window") : nullptr;
    if (!times(arguments, pattern))
      return;
    auto path = reader.text(*file, "file");
    auto window = histogram ? reader.integer(*size, "window", 1, kMaxWindow) : 1;
    if (!path || !window)
      return;
    std::string beside = reader.beside(*path, file->range);
    if (!histogram)
      pattern.independent = false;
    if (histogram ? readHistogram(beside, file->range, *window, pattern, diags)
                  : readMask(beside, file->range, pattern, diags))
      add(std::move(pattern), diags.sources().text(whole.range).str(), whole.range);
  }

  SparsityRequest::Rule &rule;
  bool transposable, structured = false, tooMany = false;
  BlockReader &reader;
  Diagnostics &diags;
};

std::optional<SparseFormat> formatOf(const Constant &value, BlockReader &reader) {
  using Format = SparseFormat::Kind;
  static const std::vector<std::pair<std::string, Format>> known{
      {"dense", Format::Dense},   {"bitmask", Format::Bitmask},
      {"nm", Format::Structured}, {"coordinates", Format::Coordinates},
      {"rows", Format::Rows},     {"run_length", Format::RunLength}};
  std::vector<std::string> names;
  for (const auto &[name, kind] : known)
    names.push_back(name);
  if (value.failed())
    return std::nullopt;
  auto *word = value.as<Word>();
  auto *call = value.as<CallValue>();
  std::string name = word ? word->text : call ? call->name : "";
  auto found = llvm::find(names, name);
  if (found == names.end()) {
    reader.diags
        .error(Code::UnknownChoice, value.range,
               fmt::format("a format is one of {}, not {}", fmt::join(names, ", "), value.describe()))
        .suggest(nearest(name, names));
    return std::nullopt;
  }
  SparseFormat format;
  format.kind = known[found - names.begin()].second;
  CallValue none;
  none.name = name;
  std::vector<std::string> keys;
  if (format.kind == Format::Structured)
    keys = {"n", "m"};
  else if (format.kind == Format::Coordinates || format.kind == Format::RunLength)
    keys = {"bits"};
  else if (format.kind == Format::Rows)
    keys = {"bits", "pointer_bits", "block_rows", "block_columns"};
  else if (format.kind == Format::Bitmask)
    keys = {"block_rows", "block_columns"};
  CallArguments arguments(reader, call ? *call : none, value.range, keys, {});
  bool good = arguments.good();
  auto take = [&](const char *key, int64_t &into, int64_t max, bool required = false) {
    const Constant *stated = llvm::is_contained(keys, key) ? arguments.get(key, required) : nullptr;
    auto number = stated ? reader.integer(*stated, key, 1, max) : std::nullopt;
    good &= arguments.good() && (!stated || number);
    into = number.value_or(into);
  };
  take("n", format.kept, kMaxGroupSize, true);
  take("m", format.of, kMaxGroupSize, true);
  take("bits", format.coordinateBits, 64);
  take("pointer_bits", format.pointerBits, 64);
  take("block_rows", format.blockRows, kMaxExtent);
  take("block_columns", format.blockColumns, kMaxExtent);
  if (good && format.kept > format.of) {
    reader.diags.error(Code::OutOfRange, value.range,
                       fmt::format("nm({}, {}) keeps more than it has", format.kept, format.of));
    good = false;
  }
  return good ? std::optional(format) : std::nullopt;
}
} // namespace

void readPatterns(const Constant &value, bool transposable, SparsityRequest::Rule &rule, BlockReader &reader) {
  PatternReader(rule, transposable, reader).read(value);
}

std::vector<SparseFormat> readFormats(const Constant &value, BlockReader &reader) {
  std::vector<SparseFormat> formats;
  auto *choice = value.as<Choice>();
  if (choice && choice->kind == Choice::Kind::Set && choice->members->empty())
    reader.diags.error(Code::EmptyRange, value.range, "there is no format to choose from");
  for (const Constant &member : membersOf(value))
    if (auto format = formatOf(member, reader))
      formats.push_back(*format);
  return formats;
}

} // namespace accord
