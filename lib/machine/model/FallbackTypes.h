// In which arithmetic a machine computes what it has no unit for.
#pragma once
#include <string>
#include <vector>

namespace accord {

/// The type itself, then types that represent it with at least its width: fp8 -> fp16 -> bf16 ->
/// tf32 -> fp32 -> fp64, bf16 -> fp16 -> tf32 -> …, fp16 -> bf16 -> …, int4 -> int8 -> int16 ->
/// int32 -> int64; an integer last of all to fp32 (data sheets of vector cores seldom list
/// integers).
std::vector<std::string> fallbackTypes(const std::string &type);

} // namespace accord
