#include "lib/microarchitecture/mapping/RowOperations.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

using Kind = RowStatement::Kind;

ContractionTensor tensorOf(const std::string &name, const std::vector<ContractionLoop> &loops,
                           std::initializer_list<Index> of) {
  ContractionTensor made;
  made.name = name;
  for (Index loop : of)
    made.dimensions.push_back({{{loop, 1}}, loops[loop].extent});
  return made;
}
std::string number(double value) { return fmt::format("{:.17g}", value); }

/// Mean and 1 / deviation of the row.
void statistics(RowOperation &into, int64_t count) {
  const std::string share = number(1.0 / double(count));
  into.passes.push_back({true, {{Kind::Sum, "total", "x"}}});
  into.passes.push_back({false, {{Kind::Let, "mean", "total " + share + " *"}}});
  into.passes.push_back({true, {{Kind::Sum, "squares", "x mean - sq"}}});
  into.passes.push_back({false, {{Kind::Let, "r", "1 squares " + share + " * 1e-5 + sqrt /"}}});
}
/// dx = r (g - mean(g) - n mean(g n)), g = dy scale, n = (x - mean) r (Ioffe, Szegedy, Batch Normalization, 2015).
void normGradient(RowOperation &into, int64_t count, bool sumsOfRow) {
  const std::string share = number(1.0 / double(count));
  const RowStatement normal{Kind::Let, "n", "x mean - r *"}, scaled{Kind::Let, "g", "dy scale *"};
  RowPass sums{true, {normal, scaled, {Kind::Sum, "sum_g", "g"}, {Kind::Sum, "sum_gn", "g n *"}}};
  if (sumsOfRow)
    sums.statements = {normal, {Kind::Sum, "sum_dy", "dy"}, {Kind::Sum, "sum_dyn", "dy n *"}};
  else
    sums.statements.insert(sums.statements.end(), {{Kind::Add, "dscale", "dy n *"}, {Kind::Add, "doffset", "dy"}});
  into.passes.push_back(std::move(sums));
  if (sumsOfRow) // one scale and offset for the row
    into.passes.push_back({false,
                           {{Kind::Store, "dscale", "sum_dyn"},
                            {Kind::Store, "doffset", "sum_dy"},
                            {Kind::Let, "sum_g", "sum_dy scale *"},
                            {Kind::Let, "sum_gn", "sum_dyn scale *"}}});
  into.passes.push_back(
      {false, {{Kind::Let, "mean_g", "sum_g " + share + " *"}, {Kind::Let, "mean_gn", "sum_gn " + share + " *"}}});
  into.passes.push_back({true, {normal, scaled, {Kind::Store, "dx", "g mean_g - n mean_gn * - r *"}}});
}

void softmax(RowOperation &made, bool isGradient) {
  if (isGradient) {
    made.passes = {{true, {{Kind::Sum, "dot", "dy y *"}}}, {true, {{Kind::Store, "dx", "dy dot - y *"}}}};
    return;
  }
  made.passes = {{true, {{Kind::Max, "top", "x"}}},
                 {true, {{Kind::Let, "e", "x top - exp"}, {Kind::Sum, "sum", "e"}, {Kind::Store, "y", "e"}}},
                 {true, {{Kind::Store, "y", "y sum /"}}}};
}

void crossEntropy(RowOperation &made, int64_t rows, bool isGradient) {
  const std::string share = number(1.0 / double(rows));
  made.passes = {{true, {{Kind::Max, "top", "x"}}}};
  if (isGradient) {
    made.passes.push_back({true, {{Kind::Sum, "sum", "x top - exp"}}});
    made.passes.push_back({true, {{Kind::Store, "dx", "x top - exp sum / positions labels = - " + share + " *"}}});
    return;
  }
  made.passes.push_back({true, {{Kind::Sum, "sum", "x top - exp"}, {Kind::Sum, "picked", "positions labels = x *"}}});
  made.passes.push_back({false, {{Kind::Store, "losses", "sum log top + picked - " + share + " *"}}});
}

void rmsNorm(RowOperation &made, int64_t length, bool isGradient) {
  const std::string share = number(1.0 / double(length));
  made.passes = {{true, {{Kind::Sum, "squares", "x sq"}}},
                 {false, {{Kind::Let, "r", "1 squares " + share + " * 1e-5 + sqrt /"}}}};
  if (!isGradient) {
    made.passes.push_back({true, {{Kind::Store, "y", "x r * scale *"}}});
    return;
  }
  made.passes.push_back(
      {true, {{Kind::Let, "n", "x r *"}, {Kind::Sum, "sum_gn", "dy scale * n *"}, {Kind::Add, "dscale", "dy n *"}}});
  made.passes.push_back({false, {{Kind::Let, "mean_gn", "sum_gn " + share + " *"}}});
  made.passes.push_back({true, {{Kind::Store, "dx", "dy scale * x r * mean_gn * - r *"}}});
}

} // namespace

std::optional<RowOperation> lineOperation(const std::string &kind, int64_t rows, int64_t length) {
  RowOperation made;
  made.name = kind, made.outer = 1;
  made.loops = {{"row", rows, false}, {"element", length, true}};
  auto whole = [&](const char *name) { made.tensors.push_back(tensorOf(name, made.loops, {0, 1})); };
  auto line = [&](const char *name) { made.tensors.push_back(tensorOf(name, made.loops, {1})); };
  auto column = [&](const char *name) { made.tensors.push_back(tensorOf(name, made.loops, {0})); };
  if (kind == "softmax") {
    whole("x"), whole("y");
    softmax(made, false);
  } else if (kind == "softmax_grad") {
    whole("dy"), whole("y"), whole("dx");
    softmax(made, true);
  } else if (kind == "layer_norm") {
    whole("x"), line("scale"), line("offset"), whole("y");
    statistics(made, length);
    made.passes.push_back({true, {{Kind::Store, "y", "x mean - r * scale * offset +"}}});
  } else if (kind == "layer_norm_grad") {
    whole("dy"), whole("x"), line("scale"), whole("dx"), line("dscale"), line("doffset");
    statistics(made, length);
    normGradient(made, length, false);
  } else if (kind == "rms_norm") {
    whole("x"), line("scale"), whole("y");
    rmsNorm(made, length, false);
  } else if (kind == "rms_norm_grad") {
    whole("dy"), whole("x"), line("scale"), whole("dx"), line("dscale");
    rmsNorm(made, length, true);
  } else if (kind == "update_rowwise_adagrad") {
    whole("g"), whole("w"), column("s");
    made.passes = {{true, {{Kind::Sum, "squares", "g sq"}}},
                   {false,
                    {{Kind::Let, "s_new", "squares " + number(1.0 / double(length)) + " * s +"},
                     {Kind::Store, "s", "s_new"},
                     {Kind::Let, "rate", "0.1 s_new sqrt 1e-8 + /"}}},
                   {true, {{Kind::Store, "w", "w g rate * -"}}}};
  } else if (kind == "cross_entropy") {
    whole("x"), column("labels"), line("positions"), column("losses");
    crossEntropy(made, rows, false);
  } else if (kind == "cross_entropy_grad") {
    whole("x"), column("labels"), line("positions"), whole("dx");
    crossEntropy(made, rows, true);
  } else {
    return std::nullopt;
  }
  return made;
}

std::optional<RowOperation> channelNorm(const std::string &kind, int64_t images, int64_t groups, int64_t channels,
                                        int64_t points) {
  const bool isBatch = kind == "batch_norm" || kind == "batch_norm_grad";
  const bool isGradient = kind == "batch_norm_grad" || kind == "group_norm_grad";
  if (!isBatch && kind != "group_norm" && kind != "group_norm_grad")
    return std::nullopt;
  RowOperation made;
  made.name = kind;
  // Loops: those of the statistics, then those of the row.
  const ContractionLoop image{"image", images, false}, group{"group", groups, false},
      channel{"channel", channels, false}, point{"point", points, false};
  Index n, g, c, p;
  if (isBatch)
    made.loops = {group, channel, image, point}, made.outer = 2, g = 0, c = 1, n = 2, p = 3;
  else
    made.loops = {image, group, channel, point}, made.outer = 2, n = 0, g = 1, c = 2, p = 3;
  auto whole = [&](const char *name) { made.tensors.push_back(tensorOf(name, made.loops, {n, g, c, p})); };
  auto perChannel = [&](const char *name) { made.tensors.push_back(tensorOf(name, made.loops, {g, c})); };
  const int64_t count = isBatch ? images * points : channels * points;
  if (isGradient)
    whole("dy");
  whole("x"), perChannel("scale");
  if (isGradient)
    whole("dx"), perChannel("dscale"), perChannel("doffset");
  else
    perChannel("offset"), whole("y");
  statistics(made, count);
  if (isGradient)
    normGradient(made, count, isBatch);
  else
    made.passes.push_back({true, {{Kind::Store, "y", "x mean - r * scale * offset +"}}});
  return made;
}

std::optional<RowOperation> reduction(const std::string &kind, int64_t rows, int64_t length) {
  RowOperation made;
  made.name = kind, made.outer = 1;
  made.loops = {{"row", rows, false}, {"element", length, true}};
  auto whole = [&](const char *name) { made.tensors.push_back(tensorOf(name, made.loops, {0, 1})); };
  const std::string share = number(1.0 / double(length));
  std::string term, result = "sum " + share + " *";
  std::vector<RowStatement> before;
  if (kind == "reduce_sum" || kind == "reduce_dimensions") {
    whole("x"), term = "x", result = "sum";
  } else if (kind == "reduce_mean" || kind == "global_avg_pool" || kind == "mean") {
    whole("x"), term = "x";
  } else if (kind == "mse") {
    whole("a"), whole("b"), term = "a b - sq";
  } else if (kind == "smooth_l1") {
    whole("a"), whole("b"), term = "d m 0.5 * - m *";
    before = {{Kind::Let, "e", "a b -"}, {Kind::Let, "d", "e e neg max"}, {Kind::Let, "m", "d 1 min"}};
  } else if (kind == "binary_cross_entropy") {
    whole("x"), whole("labels"), term = "x 0 max x labels * - x x neg max neg exp 1 + log +";
  } else {
    return std::nullopt;
  }
  made.tensors.push_back(tensorOf("y", made.loops, {0}));
  before.push_back({Kind::Sum, "sum", term});
  made.passes = {{true, before}, {false, {{Kind::Store, "y", result}}}};
  return made;
}

std::optional<RowOperation> pool(const std::string &kind, const PoolShape &s) {
  RowOperation made;
  made.name = kind, made.outer = 4;
  made.loops = {{"image", s.images, false},         {"channel", s.channels, false},
                {"row", s.outRows, false},          {"column", s.outColumns, false},
                {"window_row", s.windowRows, true}, {"window_column", s.windowColumns, true}};
  auto input = [&](const char *name) {
    ContractionTensor tensor;
    tensor.name = name;
    tensor.dimensions = {{{{0, 1}}, s.images},
                         {{{1, 1}}, s.channels},
                         {{{2, s.rowStride}, {4, 1}}, s.rows},
                         {{{3, s.columnStride}, {5, 1}}, s.columns}};
    made.tensors.push_back(tensor);
  };
  auto output = [&](const char *name) { made.tensors.push_back(tensorOf(name, made.loops, {0, 1, 2, 3})); };
  const std::string share = number(1.0 / double(s.windowRows * s.windowColumns));
  if (kind == "max_pool") {
    input("x"), output("y");
    made.passes = {{true, {{Kind::Max, "top", "x"}}}, {false, {{Kind::Store, "y", "top"}}}};
  } else if (kind == "avg_pool") {
    input("x"), output("y");
    made.passes = {{true, {{Kind::Sum, "sum", "x"}}}, {false, {{Kind::Store, "y", "sum " + share + " *"}}}};
  } else if (kind == "max_pool_grad") {
    output("dy"), input("x"), output("y"), input("dx");
    made.passes = {{true, {{Kind::Add, "dx", "x y = dy *"}}}};
  } else if (kind == "avg_pool_grad") {
    output("dy"), input("dx");
    made.passes = {{false, {{Kind::Let, "part", "dy " + share + " *"}}}, {true, {{Kind::Add, "dx", "part"}}}};
  } else {
    return std::nullopt;
  }
  return made;
}

} // namespace accord::microarchitecture
