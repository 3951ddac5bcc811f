#include "test/fuzz/readers/Programs.h"

void accord::fuzz::readAccel(std::string_view input) { readProgram(input, "fuzz.accel"); }
