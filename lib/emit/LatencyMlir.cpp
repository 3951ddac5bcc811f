// The latency model as func and arith: the same recurrence, for compilers and for Accord's own JIT.
#include "lib/emit/LatencyModel.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

using namespace llvm;
namespace accord {
namespace {

/// A 64-bit float attribute, exactly: shortest decimal, which MLIR wants with a point.
std::string number(double value) {
  char buffer[40];
  auto end = std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  size_t e = text.find('e');
  return text.find('.') == std::string::npos ? text.insert(e, ".0") : text;
}

class Writer {
public:
  explicit Writer(const LatencyModelInput &input) : in(input) {}

  std::string run() {
    line("// Step time, memory and FLOPs of training '{}' on '{}', written by accord {}.", in.model,
         in.machine, in.version);
    line("// Arguments: samples per step, samples per micro-batch, tokens per sample.");
    line("module {{");
    padded();
    picoseconds();
    for (RegionId r = 0; r < in.regions.size(); ++r)
      region(r);
    step();
    memory();
    flops();
    line("}}");
    return out;
  }

private:
  template <typename... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    out += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  /// One operation with a result; the result's name.
  template <typename... Args>
  std::string value(fmt::format_string<Args...> format, Args &&...args) {
    std::string name = fmt::format("%v{}", next++);
    out += "    " + name + " = " + fmt::format(format, std::forward<Args>(args)...) + "\n";
    return name;
  }
  std::string constant(double v) {
    auto [it, fresh] = constants.try_emplace(number(v));
    if (fresh)
      it->second = value("arith.constant {} : f64", number(v));
    return it->second;
  }
  std::string integer(int64_t v) { return value("arith.constant {} : i64", v); }
  std::string binary(const char *op, const std::string &a, const std::string &b) {
    return value("arith.{} {}, {} : f64", op, a, b);
  }
  void open(const std::string &signature) {
    next = 0;
    constants.clear();
    line("  func.func {} {{", signature);
  }

  std::string polynomial(const Polynomial &p) {
    std::string sum;
    for (unsigned i = 0; i < Polynomial::kB; ++i) {
      const auto &k = p.c[i];
      if (k == std::array<int64_t, Polynomial::kS>{})
        continue;
      std::string inner = constant(static_cast<double>(k[0])), high;
      if (k[2])
        high = binary("addf", constant(static_cast<double>(k[1])),
                      binary("mulf", "%S", constant(static_cast<double>(k[2]))));
      else if (k[1])
        high = constant(static_cast<double>(k[1]));
      if (!high.empty())
        inner = binary("addf", inner, binary("mulf", "%S", high));
      std::string term = i ? binary("mulf", "%B", inner) : inner;
      sum = sum.empty() ? term : binary("addf", sum, term);
    }
    if (sum.empty())
      return constant(0);
    return p.denominator == 1 ? sum
                              : binary("divf", sum, constant(static_cast<double>(p.denominator)));
  }

  void padded() {
    open("private @padded(%x: f64, %tile: f64) -> f64");
    std::string q = binary("divf", "%x", "%tile");
    std::string whole =
        value("arith.sitofp {} : i64 to f64", value("arith.fptosi {} : f64 to i64", q));
    std::string less = value("arith.cmpf olt, {}, {} : f64", whole, q);
    std::string up = binary("addf", whole, constant(1));
    std::string tiles = value("arith.select {}, {}, {} : f64", less, up, whole);
    line("    return {} : f64\n  }}", binary("mulf", tiles, "%tile"));
  }

  /// Whole picoseconds, rounded up but for a rounding error: Picoseconds::ceil.
  void picoseconds() {
    open("private @ps(%seconds: f64) -> i64");
    std::string ps = binary("mulf", "%seconds", constant(1e12));
    std::string near = value("arith.fptosi {} : f64 to i64", binary("addf", ps, constant(0.5)));
    std::string off = binary("subf", ps, value("arith.sitofp {} : i64 to f64", near));
    off = binary("maximumf", off, value("arith.negf {} : f64", off));
    std::string exact =
        value("arith.cmpf ole, {}, {} : f64", off, binary("mulf", ps, constant(0x1p-50)));
    std::string down = value("arith.fptosi {} : f64 to i64", ps);
    std::string less =
        value("arith.cmpf olt, {}, {} : f64", value("arith.sitofp {} : i64 to f64", down), ps);
    std::string up = value("arith.addi {}, {} : i64", down, integer(1));
    std::string ceil = value("arith.select {}, {}, {} : i64", less, up, down);
    line("    return {} : i64\n  }}", value("arith.select {}, {}, {} : i64", exact, near, ceil));
  }

  std::string arithmetic(const LatencyOperation::Part &part) {
    std::string rate = constant(part.rate), extents, padding;
    for (const auto &tiling : part.tilings) {
      std::string extent = polynomial(tiling.extent);
      std::string whole = value("func.call @padded({}, {}) : (f64, f64) -> f64", extent,
                                constant(static_cast<double>(tiling.tile)));
      extents = extents.empty() ? extent : binary("mulf", extents, extent);
      padding = padding.empty() ? whole : binary("mulf", padding, whole);
    }
    if (!extents.empty())
      rate = binary("mulf", rate, binary("divf", extents, padding));
    return binary("divf", polynomial(part.flops), rate);
  }

  std::string seconds(const LatencyOperation &op) {
    std::string longest;
    if (op.rate > 0)
      longest = arithmetic({op.flops, op.rate, op.tilings});
    for (const auto &core : op.cores) {
      std::string sum;
      for (const LatencyOperation::Part &part : core)
        if (part.rate > 0) {
          std::string one = arithmetic(part);
          sum = sum.empty() ? one : binary("addf", sum, one);
        }
      if (!sum.empty())
        longest = longest.empty() ? sum : binary("maximumf", longest, sum);
    }
    for (const auto &level : op.traffic) {
      std::string time = binary("divf", polynomial(level.bytes), constant(level.bandwidth));
      if (level.latency > 0)
        time = binary("addf", constant(level.latency), time);
      longest = longest.empty() ? time : binary("maximumf", longest, time);
    }
    return longest;
  }

  std::string ident(RegionId r) const {
    return fmt::format("@{}_{}_ps", cName(in.regions[r].name), r);
  }

  void region(RegionId r) {
    open(fmt::format("private {}(%B: f64, %S: f64) -> i64", ident(r)));
    std::string zero = integer(0), length = zero;
    std::map<OperationId, std::string> end;
    for (OperationId id : in.regions[r].operations) {
      const LatencyOperation &op = in.operations[id];
      std::string start;
      for (OperationId before : op.after)
        start = start.empty() ? end[before] : value("arith.maxsi {}, {} : i64", start, end[before]);
      if (start.empty())
        start = zero;
      std::string comment;
      for (char c : op.name)
        comment += static_cast<unsigned char>(c) < 32 ? ' ' : c;
      line("    // {}", comment);
      std::string duration = zero;
      if (op.body != kNone) {
        std::string one = value("func.call {}(%B, %S) : (f64, f64) -> i64", ident(op.body));
        duration = value("arith.muli {}, {} : i64", one, integer(op.count));
      } else if (std::string time = seconds(op); !time.empty()) {
        duration = value("func.call @ps({}) : (f64) -> i64", time);
      }
      end[id] = value("arith.addi {}, {} : i64", start, duration);
      length = value("arith.maxsi {}, {} : i64", length, end[id]);
    }
    line("    return {} : i64\n  }}", length);
  }

  void openPublic(const char *what) {
    open(
        fmt::format("@{}_{}(%batch: i64, %microbatch: i64, %sequence: i64) -> f64", in.name, what));
    line("    %B = arith.sitofp %microbatch : i64 to f64\n    %S = arith.sitofp %sequence : i64 to "
         "f64");
  }
  std::string microbatches() { return value("arith.ceildivsi %batch, %microbatch : i64"); }

  void step() {
    openPublic("step_time_s");
    std::string one = value("func.call {}(%B, %S) : (f64, f64) -> i64", ident(kMicrobatchRegion));
    std::string last = value("func.call {}(%B, %S) : (f64, f64) -> i64", ident(kUpdateRegion));
    std::string all = value("arith.muli {}, {} : i64", microbatches(), one);
    std::string sum =
        value("arith.sitofp {} : i64 to f64", value("arith.addi {}, {} : i64", all, last));
    line("    return {} : f64\n  }}", binary("mulf", constant(1e-12), sum));
  }
  void memory() {
    openPublic("memory_bytes");
    std::string most = constant(0);
    for (const LiveSet &set : in.liveSets) {
      line("    // {}", set.where);
      most = binary("maximumf", most, polynomial(set.bytes));
    }
    line("    return {} : f64\n  }}", most);
  }
  void flops() {
    openPublic("flops");
    std::string one = constant(0), update = one;
    for (const LatencyOperation &op : in.operations) {
      if (op.flops.zero())
        continue;
      std::string &sum = op.update ? update : one;
      std::string term =
          binary("mulf", constant(static_cast<double>(op.executions)), polynomial(op.flops));
      sum = binary("addf", sum, term);
    }
    std::string n = value("arith.sitofp {} : i64 to f64", microbatches());
    line("    return {} : f64\n  }}", binary("addf", binary("mulf", n, one), update));
  }

  const LatencyModelInput &in;
  std::string out;
  unsigned next = 0;
  std::map<std::string, std::string>
      constants; ///< of the function being written: they dominate all that follows
};
} // namespace

std::string emitLatencyMlir(const LatencyModelInput &input) { return Writer(input).run(); }

} // namespace accord
