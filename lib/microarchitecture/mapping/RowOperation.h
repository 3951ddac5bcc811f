// Operations that are no contraction: element-wise ones, reductions, softmax, normalizations, pooling, losses, updates,
// and the gradients of all of them, as passes over the rows of a loop nest.
#pragma once
#include "lib/microarchitecture/mapping/Contraction.h"
#include <variant>

namespace accord::microarchitecture {

/// What is done at each point of a pass, or once between passes. `formula` is in postfix order:
///
///   numbers; names of tensors, of earlier statements, of sums;
///   + - * / max min > =       of two (`>` and `=` give 1 or 0)
///   exp log sqrt tanh erf sq neg   of one (sq: the square)
///   fma                       x y z: x * y + z
struct RowStatement {
  enum class Kind : uint8_t {
    Let,   ///< `target` names the value: in a pass until the end of the point, else until the end of the row
    Store, ///< to the tensor `target`
    Sum,   ///< `target` names the sum over the row
    Max,   ///< `target` names the maximum over the row
    Add,   ///< to the tensor `target`, which begins at 0: several points may reach one element
  };
  Kind kind = Kind::Let;
  std::string target;
  std::string formula;
};
struct RowPass {
  bool overRow = true; ///< false: once a row
  std::vector<RowStatement> statements;
};

/// For each iteration of the first `outer` loops all passes, in order; each goes through all other loops.
struct RowOperation {
  std::string name;
  std::vector<ContractionLoop> loops; ///< `reduces` does not matter
  int64_t outer = 0;
  std::vector<ContractionTensor> tensors;
  std::vector<RowPass> passes;
  /// Tensors are stored in the order of their dimensions, whatever lanes go along: where moving data is the operation.
  bool inOrder = false;
};

/// What kernels are made of.
using KernelProblem = std::variant<Contraction, RowOperation>;

struct RowSchedule {
  Index vectorLoop = kNone; ///< lanes go along this loop, in which every tensor lies side by side or does not move
  int32_t lanes = 1;
  int64_t unroll = 1; ///< points or vectors of the innermost loop in one iteration
  /// Pieces of all tensors are copied to buffers: those of `strip` iterations of loop `stripLoop`, of all iterations of
  /// the loops in it, and of one iteration (or vector) of those around. kNone: tensors are used where they lie.
  Index stripLoop = kNone;
  int64_t strip = 1; ///< a multiple of the lanes where they go along that loop
  OpcodeRole copy = {};
  std::array<Index, 2> buffers = {kNone, kNone}; ///< storages: of what is only read, of what is written
  /// The next piece is copied while the present one is used, to a second buffer, where no piece is reached again.
  bool isDouble = false;
};

/// The tensors of the operation are the first ones of the kernel, stored as `rowLayout` says. Lanes along a loop of the
/// row are combined at the end of each sum (reduce_add, reduce_max); what a last, shorter vector does not have counts
/// as 0 in sums and as -1e30 in maxima. Refused (A1308): lanes along which a tensor does not lie side by side or a
/// result stays in place; formulas with an unknown word; pieces that are no boxes.
///
/// A strip of a loop around the rows has one piece of each tensor for all passes; a strip of a loop of the row has
/// pieces of its own in each pass, but those that no loop of the row moves are there once a row.
Result<LoopKernel> rowKernel(const RowOperation &operation, const RowSchedule &schedule);

/// Elements between iterations, [tensor][loop], and elements of each tensor: in the order of its dimensions, the one
/// that lanes go along last unless the operation is `inOrder`.
struct RowLayout {
  std::vector<std::vector<int64_t>> strides;
  std::vector<int64_t> elements;
};
RowLayout rowLayout(const RowOperation &operation, const RowSchedule &schedule);

/// The most lanes with which the machine can execute all that the operation does, along the longest loop that allows
/// it; else one element after the other. Where loads and stores do not reach the memory in which tensors begin, but
/// copies do, the outermost loop is cut of which a strip fits, with two buffers if possible, into the largest such
/// strips.
RowSchedule plainRowSchedule(const RowOperation &operation, const Microarchitecture &machine);

/// Roles of the words of a formula; an empty list and `wrong` where there is a word that is none.
std::vector<Role> rolesOf(const RowOperation &operation, std::string &wrong);

} // namespace accord::microarchitecture
