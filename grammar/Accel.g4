// Machines: accelerators and clusters. All of it is declarations of nested entries; `x` between two operands is the
// shape operator (128 x 128), which only this language has.
grammar Accel;
import Common;
