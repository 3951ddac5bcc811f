// A program of torch.export as plain data: torch/_export/serde/schema.py of PyTorch, major version 8. Internal to
// lib/import.
#pragma once
#include "lib/import/text/DnnTextBuilder.h"
#include <memory>

namespace accord::import {

enum class TorchType : uint8_t { Float, Integer, Boolean, Other };

/// An extent or number of the file: a number, or an expression in symbols.
struct TorchExtent {
  int64_t number = 0;
  std::string expression;      ///< in the form of sympy's srepr; empty: the number
  std::optional<int64_t> hint; ///< of the example that was traced
};

struct TorchMeta {
  TorchType type = TorchType::Float;
  int64_t dtype = 7; ///< torch's number: 7 is float32, 13 bfloat16
  std::vector<TorchExtent> sizes;
};

struct TorchArgument {
  enum class Kind : uint8_t { None, Tensor, Tensors, Integers, Number, Numbers, Text, Boolean, Type, Graph, Other };
  Kind kind = Kind::None;
  std::vector<std::string> names;                        ///< of tensors; "" is none
  std::vector<std::pair<std::string, int64_t>> integers; ///< the name of a computed one, or the number
  bool list = false;                                     ///< whether the integers are a list
  std::vector<double> numbers;
  std::string text;
  int64_t number = 0; ///< a truth, or the number of a type
};

struct TorchNode {
  std::string target; ///< aten.conv2d.default
  std::string op;     ///< aten.conv2d: without its overload, and without the _ of those in place
  bool inPlace = false;
  std::string name;   ///< of the node
  std::string module; ///< encoder.layers.0.mlp: the module that calls it
  std::string type;   ///< class of that module
  std::string source; ///< model.py:12
  std::map<std::string, TorchArgument> arguments;
  std::vector<std::string> order; ///< names of the arguments, as they stand
  std::vector<std::string> outputs;
  bool fails = false; ///< a higher-order operation: it holds a graph

  const TorchArgument *find(const std::string &key) const;
};

struct TorchInput {
  enum class Kind : uint8_t { User, Parameter, Buffer, Constant, Other };
  Kind kind = Kind::User;
  std::string value;  ///< its name in the graph
  std::string target; ///< its name in the module
};

struct TorchModel {
  std::string version; ///< of torch
  std::vector<TorchInput> inputs;
  std::vector<std::string> outputs; ///< those of the user, or the losses
  std::vector<TorchNode> nodes;
  std::map<std::string, TorchMeta> tensors;
  std::map<std::string, TorchExtent> integers;
  std::map<std::string, std::vector<double>> known; ///< numbers of buffers and constants of integers, by their targets
  std::string optimizer;                            ///< its class; empty if the file states none
  int64_t batch = 0;                                ///< samples of a step, if the file states them
};

/// Reads the file. Errors: it cannot be read, is no program of torch.export, or of another version.
std::optional<TorchModel> readTorch(Diagnostics &diags, const std::string &path, FileId &file);

/// The value of an expression such as `Mul(Integer(3), Symbol('s0'))`; nothing if it has another form, a symbol without
/// a value, or passes 2^58.
std::optional<int64_t> torchValue(const std::string &expression, const std::map<std::string, int64_t> &symbols);
/// The symbols of an expression.
std::set<std::string> torchSymbols(const std::string &expression);

} // namespace accord::import
