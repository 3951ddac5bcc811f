// What work a call of PyTorch or a kernel does, by its name and by what it was given.
#pragma once
#include "lib/comparison/problem/Communication.h"
#include "lib/comparison/trace/TraceEvents.h"
#include "llvm/ADT/StringRef.h"

namespace accord::comparison {

enum class CallRole : uint8_t {
  Work,    ///< it and all that it calls is one operation
  Wrapper, ///< work is in what it calls: "aten::matmul", a function of the automatic differentiation
  NoWork   ///< a view, an allocation, a question: "aten::view", "aten::empty"
};

struct CallWork {
  CallRole role = CallRole::Wrapper;
  Signature work; ///< of `Work`
};

/// By the names of PyTorch 2; a call in "aten::" that is not known is work of the class Other. Sizes follow from the
/// shapes (products: FLOPs, of a convolution with its strides; else the elements of the largest operand) and are 0
/// where they were not recorded.
CallWork workOf(llvm::StringRef name, const CallInputs &inputs);

/// By the name of a kernel that no call is known of, as of a graph of kernels: the class alone.
Signature workOfKernel(llvm::StringRef name);

/// Whether a kernel is one of a library of collectives (NCCL, RCCL).
bool isCollectiveKernel(llvm::StringRef name);

/// What a collective does, by the name of its call ("allreduce", "_reduce_scatter_base", "send") or, where that says
/// nothing, by its kernel ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"). An all-to-all has kernels of messages.
CommunicationKind communicationOf(llvm::StringRef call, llvm::StringRef kernel);

/// Bytes of the whole tensor of a collective: the larger of what goes in and comes out. 0: not known.
int64_t bytesOf(const CollectiveArguments &arguments);

} // namespace accord::comparison
