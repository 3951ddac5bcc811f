#include "lib/latency/forms/ExpressionPrinter.h"
#include "lib/latency/forms/Print.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

class Writer : FormWriter {
public:
  explicit Writer(const LatencyModel &model)
      : FormWriter(model, {model.name + "_", "/", FormLanguage::C}), n(model.name) {}

  std::string run() {
    head();
    helpers();
    types();
    check();
    evaluate();
    wrappers();
    selfTest();
    line("#endif");
    return out;
  }

private:
  void head() {
    std::string guard = n;
    std::transform(guard.begin(), guard.end(), guard.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    line("/* Step time, memory and FLOPs of training '{}' on '{}': C99, no dependency.", commentText(m.model),
         commentText(m.machine));
    line(" * Written by accord {}. Operations keep the order of the plan: there the plan's own step is {} s{}.",
         commentText(m.version), ExpressionPrinter::real(m.planStep),
         m.exact ? ", and so is this model's"
                 : "; this model's is a little shorter, as the plan waits where it need not");
    line(" *\n * Arguments, and where the model holds:");
    for (const LatencyArgument &a : m.arguments())
      line(" *   {:<24} {:<8} {} [{}]", a.name, commentText(a.unit), commentText(a.text), commentText(rangeText(a)));
    for (const std::string &note : m.notes)
      line(" * Note: {}.", commentText(note));
    line(" * Check it with: cc -x c -DMODEL_SELF_TEST latency_model.h -o test && ./test */");
    line("#ifndef {0}_LATENCY_MODEL_H\n#define {0}_LATENCY_MODEL_H\n#include <stdint.h>", guard);
    line("#ifdef MODEL_SELF_TEST\n#include <stdio.h>\n#endif");
    line("#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n");
  }

  void helpers() {
    line("static inline double {0}_max_f(double a, double b) {{ return a < b ? b : a; }}\n"
         "static inline double {0}_min_f(double a, double b) {{ return b < a ? b : a; }}\n"
         "static inline int64_t {0}_max_i(int64_t a, int64_t b) {{ return a < b ? b : a; }}\n"
         "static inline int64_t {0}_min_i(int64_t a, int64_t b) {{ return b < a ? b : a; }}\n"
         "static inline int64_t {0}_ceildiv(int64_t a, int64_t b) {{ return a / b + (a % b > 0); }}\n"
         "/* Whole picoseconds, rounded up but for a rounding error. */\n"
         "static inline int64_t {0}_ps(double seconds, int64_t most) {{\n"
         "  const double ps = seconds * 1e12;\n"
         "  if (!(ps < (double)most))\n"
         "    return most;\n"
         "  const int64_t down = (int64_t)ps;\n"
         "  int64_t nearest = (int64_t)(ps + 0.5);\n"
         "  if ((double)nearest - ps == 0.5) /* half way: to the even one */\n"
         "    nearest -= nearest & 1;\n"
         "  const double whole = (double)nearest;\n"
         "  const double off = ps > whole ? ps - whole : whole - ps;\n"
         "  if (off <= ps * 8.8817841970012523e-16)\n"
         "    return nearest;\n"
         "  return (double)down < ps ? down + 1 : down;\n"
         "}}\n",
         n);
    if (m.uses(NodeKind::SquareRoot))
      line("/* The largest whole m in 1..{1} with m * m * a <= b. */\n"
           "static inline int64_t {0}_root(double a, double b) {{\n"
           "  int64_t root = 0;\n"
           "  for (int64_t bit = {2}; bit > 0; bit /= 2) {{\n"
           "    const double tried = (double)(root + bit);\n"
           "    if (tried * tried * a <= b)\n"
           "      root += bit;\n"
           "  }}\n"
           "  return root > 0 ? root : 1;\n"
           "}}\n",
           n, kMaxRoot, (kMaxRoot + 1) / 2);
  }

  void types() {
    line("typedef struct {{");
    for (const LatencyArgument &a : m.arguments())
      line("  {} {}; /* {}: {} */", a.integer ? "int64_t" : "double", a.name, commentText(a.unit), commentText(a.text));
    line("}} {}_arguments;\ntypedef struct {{", n);
    for (const LatencyModel::Output &o : m.outputs)
      line("  double {}; /* {} */", o.name, commentText(o.text));
    line("}} {}_result;\n", n);
    line("/* The plan's own. */\nstatic inline {0}_arguments {0}_defaults(void) {{\n  {0}_arguments a;", n);
    for (const LatencyArgument &a : m.arguments())
      line("  a.{} = {};", a.name, literal(a, a.initial));
    line("  return a;\n}}\n");
  }

  void check() {
    line("/* What a status of {0}_evaluate means. */\n"
         "static inline const char *{0}_message(int status) {{\n  switch (status) {{\n"
         "  case 0: return \"the model holds\";",
         n);
    int status = 0;
    for (const LatencyArgument &a : m.arguments())
      line("  case {}: return \"{} is {} {}\";", ++status, a.name, a.allowed.empty() ? "outside of" : "none of",
           commentText(rangeText(a)));
    for (const LatencyModel::Guard &guard : m.guards)
      line("  case {}: return \"{}\";", ++status, commentText(guard.text));
    line("  default: return \"unknown status\";\n  }}\n}}\n");
    line("/* 0, or 1 + the place of the first argument that is outside of its range. */\n"
         "static inline int {0}_check(const {0}_arguments *a) {{",
         n);
    status = 0;
    for (const LatencyArgument &a : m.arguments()) {
      if (!a.allowed.empty()) {
        std::string one;
        for (int64_t value : a.allowed)
          one += fmt::format("{}a->{} == {}", one.empty() ? "" : " || ", a.name, text.integer(value));
        line("  if (!({}))\n    return {};", one, ++status);
        continue;
      }
      std::string multiple = a.multiple > 1 ? fmt::format(" && a->{} % {} == 0", a.name, text.integer(a.multiple)) : "";
      line("  if (!(a->{0} >= {1} && a->{0} <= {2}{3}))\n    return {4};", a.name, literal(a, a.min), literal(a, a.max),
           multiple, ++status);
    }
    line("  return 0;\n}}\n");
  }

  void evaluate() {
    line("/* 0 and the results, or a status (see {0}_message) and NaN. */\n"
         "static inline int {0}_evaluate(const {0}_arguments *a, {0}_result *result) {{\n"
         "  const double zero = 0.0;\n  const int status = {0}_check(a);",
         n);
    for (const LatencyModel::Output &o : m.outputs)
      line("  result->{} = zero / zero;", o.name);
    line("  if (status)\n    return status;");
    for (const LatencyArgument &a : m.arguments())
      line("  const {} {} = a->{};", a.integer ? "int64_t" : "double", a.name, a.name);
    for (const LatencyArgument &a : m.arguments())
      line("  (void){};", a.name);
    auto guard = [&](size_t i) {
      line("  if (!({} <= {}))\n    return {}; /* {} */", text.use(m.guards[i].min), text.use(m.guards[i].max),
           m.arguments().size() + i + 1, commentText(m.guards[i].text));
    };
    body(guard, [&](NodeId id, const std::string &comment) {
      if (!comment.empty())
        line("  /* {} */", comment);
      line("  const {} t{} = {};", m.nodes[id].integer ? "int64_t" : "double", id, text.definition(id));
    });
    for (const LatencyModel::Output &o : m.outputs)
      line("  result->{} = {};", o.name, text.use(o.node));
    line("  return 0;\n}}\n");
  }

  void wrappers() {
    line("/* Cores that compute `compute` times as fast, memories that deliver `bandwidth` times as much. */\n"
         "static inline double {0}_step_time_scaled_s(int64_t batch, int64_t microbatch, int64_t sequence,\n"
         "    double compute, double bandwidth) {{\n"
         "  {0}_arguments a = {0}_defaults();\n  {0}_result r;\n"
         "  a.batch = batch, a.microbatch = microbatch, a.sequence = sequence;",
         n);
    for (const LatencyArgument &a : m.arguments())
      if (a.unit == "FLOP/s" || (a.unit == "B/s" && !a.network))
        line("  a.{} *= {};", a.name, a.unit == "B/s" ? "bandwidth" : "compute");
    line("  (void)compute, (void)bandwidth;\n  (void){0}_evaluate(&a, &r);\n  return r.step_time_s;\n}}\n", n);
    auto microbatch = static_cast<int64_t>(m.arguments()[kMicrobatch].initial);
    for (const LatencyModel::Output &o : m.outputs)
      line("/* {3}; NaN where the model does not hold. The second at the plan's micro-batch. */\n"
           "static inline double {0}_{1}_at(int64_t batch, int64_t microbatch, int64_t sequence) {{\n"
           "  {0}_arguments a = {0}_defaults();\n  {0}_result r;\n"
           "  a.batch = batch, a.microbatch = microbatch, a.sequence = sequence;\n"
           "  (void){0}_evaluate(&a, &r);\n  return r.{1};\n}}\n"
           "static inline double {0}_{1}(int64_t batch, int64_t sequence) {{\n"
           "  return {0}_{1}_at(batch, {2}, sequence);\n}}\n",
           n, o.name, text.integer(microbatch), commentText(o.text));
    if (m.argument("tensor_parallel"))
      stepOnDevices();
  }

  /// By the parallel degrees; a model without pipelines has two of them.
  void stepOnDevices() {
    bool pipeline = m.argument("pipeline_parallel").has_value();
    line("/* The step on {2} devices; NaN where the model does not hold. */\n"
         "static inline double {0}_step_time_on_s(int64_t batch, int64_t microbatch, int64_t sequence,\n"
         "    int64_t tensor_parallel, {1}int64_t data_parallel) {{\n"
         "  {0}_arguments a = {0}_defaults();\n  {0}_result r;\n"
         "  a.batch = batch, a.microbatch = microbatch, a.sequence = sequence;\n"
         "  a.tensor_parallel = tensor_parallel, {3}a.data_parallel = data_parallel;\n"
         "  (void){0}_evaluate(&a, &r);\n  return r.step_time_s;\n}}\n",
         n, pipeline ? "int64_t pipeline_parallel, " : "",
         pipeline ? "tensor_parallel * pipeline_parallel * data_parallel" : "tensor_parallel * data_parallel",
         pipeline ? "a.pipeline_parallel = pipeline_parallel, " : "");
  }

  void selfTest() {
    line("#ifdef MODEL_SELF_TEST\n"
         "static int {0}_same(double a, double b) {{\n"
         "  const double off = a > b ? a - b : b - a, size = b < 0 ? -b : b;\n"
         "  return off <= 1e-12 * size;\n}}\n"
         "/* Stored samples, then what has to be refused. */\n"
         "int main(void) {{\n"
         "  static const struct {{ {0}_arguments a; {0}_result r; }} samples[] = {{",
         n);
    for (const LatencyModel::Sample &s : m.samples)
      line("    {{{{{}}}, {{{}, {}, {}}}}},", literals(s), ExpressionPrinter::real(s.result.step),
           ExpressionPrinter::real(s.result.memory), ExpressionPrinter::real(s.result.flops));
    line("  }};\n  const int count = (int)(sizeof samples / sizeof samples[0]);\n  int passed = 0;\n"
         "  for (int i = 0; i < count; ++i) {{\n    {0}_result r;\n"
         "    if ({0}_evaluate(&samples[i].a, &r) == 0 &&\n"
         "        {0}_same(r.step_time_s, samples[i].r.step_time_s) &&\n"
         "        r.memory_bytes == samples[i].r.memory_bytes && {0}_same(r.flops, samples[i].r.flops))\n"
         "      ++passed;\n    else\n      printf(\"sample %d is not what was stored\\n\", i);\n  }}",
         n);
    line("  {{\n    {0}_arguments a = {0}_defaults();\n    {0}_result r;\n    a.batch = 0;\n"
         "    if ({0}_evaluate(&a, &r) != 1 || r.step_time_s == r.step_time_s) {{\n"
         "      printf(\"a batch of 0 is not refused\\n\");\n      return 1;\n    }}\n  }}",
         n);
    line("  printf(\"%s: %d of %d samples\\n\", passed == count ? \"pass\" : \"fail\", passed, count);\n"
         "  return passed == count ? 0 : 1;\n}}\n#endif");
  }

  std::string n;
};

} // namespace

std::string printC(const LatencyModel &model) { return Writer(model).run(); }

} // namespace accord
