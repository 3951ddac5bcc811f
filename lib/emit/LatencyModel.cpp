#include "lib/emit/LatencyModel.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>

using namespace llvm;
namespace accord {

double latencyOf(const LatencyOperation &op, double B, double S, double compute, double bandwidth);

namespace {

/// Picoseconds of one iteration of a region.
int64_t lengthOf(const LatencyModelInput &input, RegionId r, double B, double S) {
  std::vector<int64_t> end(input.operations.size());
  int64_t length = 0;
  for (OperationId id : input.regions[r].operations) {
    const LatencyOperation &op = input.operations[id];
    int64_t start = 0;
    for (OperationId before : op.after)
      start = std::max(start, end[before]);
    int64_t duration = op.body != kNone
                           ? op.count * lengthOf(input, op.body, B, S)
                           : Picoseconds::ceil(Seconds(latencyOf(op, B, S, 1, 1))).value;
    length = std::max(length, end[id] = start + duration);
  }
  return length;
}

/// The shortest decimal that reads back, marked as floating point.
std::string literal(double value) {
  char buffer[40];
  auto end = std::to_chars(buffer, std::end(buffer), value);
  std::string text(buffer, end.ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string comment(StringRef text) {
  std::string out;
  for (char c : text)
    out += c == '*' || c == '/' || c == '\\' || static_cast<unsigned char>(c) < 32 ? '_' : c;
  return out;
}

class Writer {
public:
  explicit Writer(const LatencyModelInput &input) : in(input), n(input.name) {}

  std::string run() {
    head();
    std::vector<bool> done(in.regions.size());
    for (RegionId r = 0; r < in.regions.size(); ++r)
      region(r, done);
    step();
    memory();
    flops();
    wrappers();
    line("#endif");
    return out;
  }

private:
  template <typename... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    out += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void head() {
    std::string guard = n;
    for (char &c : guard)
      c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    line("/* Step time, memory and FLOPs of training '{}' on '{}': C99, no dependency.",
         comment(in.model), comment(in.machine));
    line(" * Written by accord {}. Operations keep the order of the plan (batch {}, micro-batch "
         "{}, sequence {});",
         comment(in.version), in.batch, in.microbatch, in.sequence);
    line(" * there the plan's own step is {} s{}.", literal(in.planStep.seconds().value),
         in.exact ? ", and so is this model's"
                  : "; this model's is a little shorter, as the plan waits where it need not");
    line(" *");
    line(" * batch: samples per step. microbatch: samples at a time; ceil(batch / microbatch) "
         "micro-batches, then one update.");
    line(" * sequence: tokens per sample. In formulas B is the micro-batch and S the sequence. */");
    line("#ifndef {0}_LATENCY_MODEL_H\n#define {0}_LATENCY_MODEL_H\n#include <stdint.h>\n", guard);
    line("static inline double {}_larger(double a, double b) {{ return a > b ? a : b; }}", n);
    line("static inline int64_t {}_later(int64_t a, int64_t b) {{ return a > b ? a : b; }}", n);
    bool tiled = false;
    for (const LatencyOperation &op : in.operations) {
      tiled |= !op.tilings.empty();
      for (const auto &core : op.cores)
        for (const LatencyOperation::Part &part : core)
          tiled |= !part.tilings.empty();
    }
    if (tiled)
      line("/* x rounded up to whole tiles */\n"
           "static inline double {}_padded(double x, double tile) {{\n"
           "  double q = x / tile;\n"
           "  double whole = (double)(int64_t)q;\n"
           "  return (whole < q ? whole + 1.0 : whole) * tile;\n"
           "}}",
           n);
    line("/* Whole picoseconds, rounded up but for a rounding error. */\n"
         "static inline int64_t {}_ps(double seconds) {{\n"
         "  double ps = seconds * 1e12;\n"
         "  double whole = (double)(int64_t)(ps + 0.5);\n"
         "  double off = ps > whole ? ps - whole : whole - ps;\n"
         "  int64_t down = (int64_t)ps;\n"
         "  if (off <= ps * 8.8817841970012523e-16)\n"
         "    return (int64_t)whole;\n"
         "  return (double)down < ps ? down + 1 : down;\n"
         "}}\n",
         n);
  }

  std::string ident(RegionId r) const {
    return fmt::format("{}_{}_{}_ps", n, cName(in.regions[r].name), r);
  }

  std::string arithmetic(const LatencyOperation::Part &part) {
    std::string rate = literal(part.rate) + " * compute";
    if (!part.tilings.empty()) {
      std::string extents, padded;
      for (const auto &tiling : part.tilings) {
        extents += (extents.empty() ? "(" : " * (") + tiling.extent.code() + ")";
        padded += (padded.empty() ? "" : " * ") +
                  fmt::format("{}_padded({}, {}.0)", n, tiling.extent.code(), tiling.tile);
      }
      rate += fmt::format(" * ({} / ({}))", extents, padded);
    }
    return fmt::format("({}) / ({})", part.flops.code(), rate);
  }

  std::string time(const LatencyOperation &op) {
    std::string compute;
    if (op.rate > 0)
      compute = arithmetic({op.flops, op.rate, op.tilings});
    for (const auto &core : op.cores) {
      std::string sum;
      for (const LatencyOperation::Part &part : core)
        if (part.rate > 0)
          sum += (sum.empty() ? "" : " + ") + arithmetic(part);
      if (!sum.empty())
        compute = compute.empty() ? sum : fmt::format("{}_larger({},\n      {})", n, compute, sum);
    }
    for (const auto &level : op.traffic) {
      std::string latency = level.latency > 0 ? literal(level.latency) + " + " : "";
      std::string transfer = fmt::format("{}({}) / ({} * bandwidth)", latency, level.bytes.code(),
                                         literal(level.bandwidth));
      compute = compute.empty() ? transfer
                                : fmt::format("{}_larger({},\n      {})", n, compute, transfer);
    }
    return compute.empty() ? "0.0" : compute;
  }

  void region(RegionId r, std::vector<bool> &done) {
    if (done[r])
      return;
    done[r] = true;
    for (OperationId id : in.regions[r].operations)
      if (in.operations[id].body != kNone)
        region(in.operations[id].body, done);
    const char *what = r == kMicrobatchRegion ? "one micro-batch"
                       : r == kUpdateRegion   ? "the update"
                                              : "one iteration";
    line("/* {}: {}, from its first start to its last end */", comment(in.regions[r].name), what);
    line("static inline int64_t {}(double B, double S, double compute, double bandwidth) {{",
         ident(r));
    line("  int64_t length = 0;");
    for (OperationId id : in.regions[r].operations) {
      const LatencyOperation &op = in.operations[id];
      std::string start = "0";
      for (OperationId before : op.after)
        start = start == "0" ? fmt::format("end{}", before)
                             : fmt::format("{}_later({}, end{})", n, start, before);
      std::string duration = op.body != kNone ? fmt::format("{} * {}(B, S, compute, bandwidth)",
                                                            op.count, ident(op.body))
                             : op.rate > 0 || !op.cores.empty() || !op.traffic.empty()
                                 ? fmt::format("{}_ps({})", n, time(op))
                                 : "0";
      line("  /* {} ({}, {}) */", comment(op.name), comment(op.kind), name(op.phase));
      std::string sum = duration == "0" ? start
                        : start == "0"  ? duration
                                        : start + " +\n    " + duration;
      line("  const int64_t end{} = {};", id, sum);
      line("  length = {}_later(length, end{});", n, id);
    }
    line("  (void)B, (void)S, (void)compute, (void)bandwidth;\n  return length;\n}}\n");
  }

  void step() {
    line("static inline double {}_step_time_scaled_s(int64_t batch, int64_t microbatch, int64_t "
         "sequence,\n"
         "    double compute, double bandwidth) {{\n"
         "  const int64_t microbatches = (batch + microbatch - 1) / microbatch;\n"
         "  const double B = (double)microbatch, S = (double)sequence;\n"
         "  return 1e-12 * (double)(microbatches * {}(B, S, compute, bandwidth) +\n"
         "    {}(B, S, compute, bandwidth));\n}}",
         n, ident(kMicrobatchRegion), ident(kUpdateRegion));
    line("static inline double {0}_step_time_s_at(int64_t batch, int64_t microbatch, int64_t "
         "sequence) {{\n"
         "  return {0}_step_time_scaled_s(batch, microbatch, sequence, 1.0, 1.0);\n}}\n",
         n);
  }

  void memory() {
    line("/* Largest of what is held at the moments that can be the fullest. */");
    line("static inline double {}_memory_bytes_at(int64_t batch, int64_t microbatch, int64_t "
         "sequence) {{",
         n);
    line("  const double B = (double)microbatch, S = (double)sequence;\n  double most = 0.0;");
    for (const LiveSet &set : in.liveSets) {
      line("  /* {} */", comment(set.where));
      line("  most = {}_larger(most, {});", n, set.bytes.code());
    }
    line("  (void)batch, (void)B, (void)S;\n  return most;\n}}\n");
  }

  void flops() {
    line("static inline double {}_flops_at(int64_t batch, int64_t microbatch, int64_t sequence) {{",
         n);
    line("  const double microbatches = (double)((batch + microbatch - 1) / microbatch);\n"
         "  const double B = (double)microbatch, S = (double)sequence;\n  double one = 0.0, update "
         "= 0.0;");
    for (const LatencyOperation &op : in.operations)
      if (!op.flops.zero())
        line("  {} += {}.0 * ({}); /* {} */", op.update ? "update" : "one", op.executions,
             op.flops.code(), comment(op.name));
    line("  (void)B, (void)S;\n  return microbatches * one + update;\n}}\n");
  }

  void wrappers() {
    line("/* At the plan's micro-batch of {}. */", in.microbatch);
    for (const char *what : {"step_time_s", "memory_bytes", "flops"})
      line("static inline double {0}_{1}(int64_t batch, int64_t sequence) {{\n"
           "  return {0}_{1}_at(batch, {2}, sequence);\n}}",
           n, what, in.microbatch);
  }

  const LatencyModelInput &in;
  std::string n, out;
};

} // namespace

LatencyResult evaluateLatency(const LatencyModelInput &input, int64_t batch, int64_t microbatch,
                              int64_t sequence) {
  LatencyResult result;
  double B = static_cast<double>(microbatch), S = static_cast<double>(sequence);
  int64_t microbatches = (batch + microbatch - 1) / microbatch;
  result.step =
      1e-12 * static_cast<double>(microbatches * lengthOf(input, kMicrobatchRegion, B, S) +
                                  lengthOf(input, kUpdateRegion, B, S));
  for (const LiveSet &set : input.liveSets)
    result.memory = std::max(result.memory, set.bytes(B, S));
  double one = 0, last = 0;
  for (const LatencyOperation &op : input.operations)
    (op.update ? last : one) += static_cast<double>(op.executions) * op.flops(B, S);
  result.flops = static_cast<double>(microbatches) * one + last;
  return result;
}

std::string emitLatencyC(const LatencyModelInput &input) { return Writer(input).run(); }

std::string cName(StringRef name) {
  std::string out;
  for (unsigned char c : name)
    out += std::isalnum(c) && c < 128 ? static_cast<char>(c) : '_';
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "m_" + out : out;
}

} // namespace accord
