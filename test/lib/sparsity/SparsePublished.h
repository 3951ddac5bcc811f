// Cycles that others published of sparse accelerators: outputs and measured values in the artifact of Sparseloop (Wu et
// al., MICRO 2022; github.com/Accelergy-Project/micro22-sparseloop-artifact), by folder of it.
#pragma once
#include <cstdint>

namespace accord::published {

/// fig13_dstc_setup/scripts/baseline.yaml: time of the dual-side sparse tensor core (Wang et al., ISCA 2021, figure 21)
/// at densities of both operands, read off a chart; outer products of 32 x 32 on 8 x 16 multipliers.
struct DualSide {
  double a, b, time;
};
inline constexpr DualSide kDualSide[] = {
    {1.0, 1.0, 4600}, {1.0, 0.4, 2500}, {0.9, 1.0, 4160}, {0.9, 0.4, 2300}, {0.7, 1.0, 3300},
    {0.7, 0.4, 1820}, {0.5, 1.0, 2690}, {0.5, 0.4, 1480}, {0.3, 1.0, 1930}, {0.3, 0.4, 1100},
};

/// fig12_eyerissv2_pe_setup: point-wise layers of MobileNet 0.5 on one processing element of Eyeriss v2 that skips the
/// zeros of both operands: densities as stated (to two digits), cycles of its simulator and of Sparseloop.
struct SinglePe {
  const char *layer;
  int64_t outputs, pixels, inputs;
  double activations, weights;
  int64_t simulated, sparseloop;
};
inline constexpr SinglePe kSinglePe[] = {
    {"L07", 64, 32 * 32, 64, 0.73, 0.52, 1702140, 1592158}, {"L09", 128, 16 * 16, 64, 0.86, 0.82, 1499682, 1478912},
    {"L13", 256, 8 * 8, 128, 0.83, 0.64, 1144158, 1114008}, {"L19", 256, 8 * 8, 256, 0.61, 0.55, 1457458, 1407190},
    {"L21", 256, 8 * 8, 256, 0.64, 0.60, 1677684, 1610614}, {"L23", 256, 8 * 8, 256, 0.61, 0.70, 1821557, 1790969},
    {"L25", 512, 4 * 4, 256, 0.68, 0.65, 948572, 926942},   {"L27", 512, 4 * 4, 512, 0.58, 0.30, 775316, 729810},
};

/// L07 again, as its masks are (workload/mobilenet0.5-sparse/actual_data): pixels and outputs that are not zero, by
/// input channel. Of each channel every pair meets, so these counts say all that a single element's cycles follow from.
inline constexpr int kL07Pixels[] = {1021, 799,  1024, 1024, 1024, 946,  31,   1024, 1024, 0,    1024, 1023, 995,
                                     925,  255,  963,  732,  1019, 798,  1023, 951,  0,    769,  356,  1024, 183,
                                     993,  948,  0,    930,  1020, 1024, 1005, 1007, 1022, 632,  63,   809,  1012,
                                     156,  1020, 268,  828,  35,   995,  1024, 994,  344,  1024, 1022, 1024, 1024,
                                     0,    292,  58,   445,  1024, 1018, 473,  1017, 584,  1023, 1024, 578};
inline constexpr int kL07Outputs[] = {37, 45, 36, 44, 29, 35, 25, 38, 38, 0,  37, 38, 40, 29, 38, 33,
                                      38, 32, 42, 43, 38, 0,  27, 37, 27, 38, 30, 31, 0,  27, 31, 40,
                                      29, 27, 33, 35, 33, 41, 33, 41, 35, 32, 34, 29, 30, 38, 29, 32,
                                      47, 44, 42, 39, 0,  32, 39, 37, 41, 34, 37, 32, 38, 30, 42, 43};

/// fig15_stc_related_setup/ref_outputs: Sparseloop on 1,024 multipliers of eight bits beside a memory of 42 words a
/// cycle; weights keep `kept` of `of`; `activations` is the density of the other operand, which is moved dense, or
/// (`compressed`) as a mask and what is not zero. Words that a full cycle of multipliers asks for are of the artifact's
/// architecture files.
struct Structured {
  int64_t m, k, n, kept, of;
  double activations;
  int64_t dense, flexible, runLength, compressed;
};
inline constexpr Structured kStructured[] = {
    {128, 1152, 1024, 2, 4, 0.44, 147456, 73728, 73728, 73728},
    {512, 1024, 256, 2, 4, 0.27, 131072, 65536, 65536, 65536},
    {512, 128, 1024, 2, 4, 0.56, 65536, 32768, 32768, 32768},
    {512, 256, 1024, 2, 4, 0.82, 131072, 65536, 65536, 65536},
    {128, 1152, 1024, 2, 6, 0.44, 147456, 70218, 67877, 49153},
    {512, 1024, 256, 2, 6, 0.27, 131072, 64366, 62221, 45057},
    {512, 128, 1024, 2, 6, 0.56, 65536, 35109, 33939, 25092},
    {512, 256, 1024, 2, 6, 0.82, 131072, 70218, 67877, 64787},
    {128, 1152, 1024, 2, 8, 0.44, 147456, 66707, 66707, 42271},
    {512, 1024, 256, 2, 8, 0.27, 131072, 59295, 59295, 32768},
    {512, 128, 1024, 2, 8, 0.56, 65536, 29648, 29648, 21784},
    {512, 256, 1024, 2, 8, 0.82, 131072, 59295, 59295, 56549},
};

} // namespace accord::published
