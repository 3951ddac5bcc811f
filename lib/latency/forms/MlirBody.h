// The description as operations of func, arith and (over several configurations at once) math.
#pragma once
#include "lib/latency/model/LatencyModel.h"

namespace accord {

/// Writes operations on scalars (lanes 1: only func and arith) or on vectors of `lanes` configurations.
class MlirBody {
public:
  MlirBody(const LatencyModel &model, unsigned lanes, std::string &out, std::string indent);

  /// Status and outputs, given the SSA name of each argument; an empty one is the argument's initial value. Outside of
  /// the domain the outputs are NaN, and nothing is computed that could trap.
  struct Results {
    std::string status; ///< i32
    std::vector<std::string> outputs;
  };
  Results emit(const std::vector<std::string> &arguments);

  std::string real() const { return type("f64"); }
  std::string integer() const { return type("i64"); }
  std::string type(const char *element) const;
  /// The function that scalar bodies call: seconds -> whole picoseconds.
  static void picosecondsFunction(const std::string &name, std::string &out);
  static std::string number(double value);
  /// The function that scalar bodies call for square roots.
  static void rootFunction(const std::string &name, std::string &out);

private:
  std::string value(const std::string &text);
  std::string realConstant(double v);
  std::string integerConstant(int64_t v, const char *element = "i64");
  std::string binary(const char *op, const std::string &a, const std::string &b, bool real);
  std::string select(const std::string &condition, const std::string &a, const std::string &b, const std::string &type);
  std::string inside(const LatencyArgument &argument, const std::string &name);
  std::string wholeReal(const std::string &name);    ///< of an integer in 0..2^52
  std::string wholeInteger(const std::string &name); ///< of a whole real in 0..2^52
  std::string picoseconds(const std::string &seconds, int64_t max);
  std::string ceilDivide(const Node &node);
  std::string chosen(const Node &node); ///< a Select
  std::string root(const std::string &a, const std::string &b);
  std::string polynomial(const Node &node);
  std::string compute(NodeId id);

  const LatencyModel &model;
  unsigned lanes;
  std::string &out, indent;
  unsigned next = 0;
  std::map<std::string, std::string> known; ///< constants, and operations of equal text
  std::vector<std::string> names;           ///< by node
};

} // namespace accord
