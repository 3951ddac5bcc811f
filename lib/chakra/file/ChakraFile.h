// Execution traces as files: messages of protobuf one behind the other, each with its length before it; the first is
// about the whole, each other one is a node.
#pragma once
#include "lib/chakra/problem/ExecutionTrace.h"

namespace accord::chakra {

/// The bytes of a trace. A node has the attributes that ASTRA-sim reads (is_cpu_op, num_ops, tensor_size, comm_type,
/// comm_size, comm_src, comm_dst, comm_tag, pg_name), and of Accord `accord_seconds`, `accord_phase` and
/// `accord_result_bytes`. Whole microseconds of starts and ends are rounded, so that durations add up.
std::string toBytes(const ExecutionTrace &trace);

/// A trace, checked. Errors: A0008 it cannot be read; A0001 it is no such trace, damaged or cut short; A0007 a message
/// of more than 64 MiB; those of `check`. Attributes that are not known are passed over.
Result<ExecutionTrace, Errors> readTrace(const std::string &path);

} // namespace accord::chakra
