// Programs as text: what is read is what was written, and each kind of error names its place.
#include "lib/microarchitecture/text/ParseProgram.h"
#include "lib/microarchitecture/text/PrintProgram.h"
#include "test/lib/microarchitecture/OmaMachine.h"
#include "gtest/gtest.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

const char *const kGemm = R"(program gemm on oma {
  loop i 64 {
    loop j 64 {
      load  r1, r5, dmem[0x1000 + 256*i + 4*j : 4 B]
      mac   r3, r1, r2, r3
    }
    store dmem[0x8000 + 4*i : 4 B], r3, sp
  }
  copy  dmem[0x2000 : 1 KiB], dmem[0x1000 : 1 KiB]
  loop tail 8 {
    addi  r1, r1, -4
    fetch r2, dmem[0x101c - 4*tail : 4 B]
    nop
  }
}
)";

std::string text(const Errors &errors) {
  std::string all;
  for (const Error &error : errors) {
    all += fmt::format("{}:{}: {} {}", error.location.line, error.location.column, entryOf(error.code).number.str(),
                       error.message);
    all += error.suggestion.empty() ? "\n" : " (" + error.suggestion + ")\n";
  }
  return all;
}

std::vector<int64_t> strides(const Address &of) {
  std::vector<int64_t> all = of.strides;
  while (!all.empty() && all.back() == 0)
    all.pop_back();
  return all;
}

bool isSame(const Instruction &a, const Instruction &b) {
  if (a.opcode != b.opcode || a.reads != b.reads || a.writes != b.writes || a.immediates != b.immediates ||
      a.memory.size() != b.memory.size())
    return false;
  for (size_t o = 0; o < a.memory.size(); ++o)
    if (a.memory[o].storage != b.memory[o].storage || a.memory[o].bytes != b.memory[o].bytes ||
        a.memory[o].address.base != b.memory[o].address.base ||
        strides(a.memory[o].address) != strides(b.memory[o].address))
      return false;
  return true;
}

bool isSame(const InstructionProgram &a, const Body &of, const InstructionProgram &b, const Body &with) {
  if (of.size() != with.size())
    return false;
  for (size_t i = 0; i < of.size(); ++i) {
    if ((of[i].loop == kNone) != (with[i].loop == kNone))
      return false;
    if (of[i].isFence() != with[i].isFence())
      return false;
    if (of[i].isFence())
      continue;
    if (of[i].loop == kNone) {
      if (!isSame(a.instructions[of[i].instruction], b.instructions[with[i].instruction]))
        return false;
      continue;
    }
    const InstructionLoop &x = a.loops[of[i].loop], &y = b.loops[with[i].loop];
    if (x.name != y.name || x.count != y.count || !isSame(a, x.body, b, y.body))
      return false;
  }
  return true;
}

TEST(ProgramText, CanonicalTextsArePrintedAsTheyAre) {
  const Microarchitecture oma = omaMachine();
  ASSERT_TRUE(check(oma).empty());
  const auto program = parseProgram(kGemm, "gemm", oma);
  ASSERT_TRUE(program) << text(program.error());
  EXPECT_EQ(printProgram(*program, oma), kGemm);
  EXPECT_EQ(executedInstructions(*program), 64 * (64 * 2 + 1) + 1 + 8 * 3);
  EXPECT_EQ(program->instructions[0].location.line, 4u);
  EXPECT_EQ(program->instructions[0].location.column, 7u);
  // Loads come first among the memory operands of an instruction, and destinations in its text.
  EXPECT_EQ(program->instructions[3].memory[0].address.base, 0x1000);
  EXPECT_EQ(program->instructions[2].reads.size(), 2u);
}

TEST(ProgramText, RandomProgramsReadBack) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    MachineCases cases(seed);
    const Microarchitecture machine = cases.machine();
    InstructionProgram program = cases.program(machine, 20);
    if (seed % 2 == 0)
      addFences(program, seed);
    const std::string once = printProgram(program, machine);
    const auto read = parseProgram(once, "random", machine);
    ASSERT_TRUE(read) << seed << once << text(read.error());
    ASSERT_TRUE(isSame(program, program.body, *read, read->body)) << once;
    ASSERT_EQ(printProgram(*read, machine), once);
  }
}

TEST(ProgramText, Fences) {
  Microarchitecture oma = omaMachine();
  const auto program = parseProgram("program p on oma { fence\n loop a 4 { nop\nfence } fence }", "p", oma);
  ASSERT_TRUE(program) << text(program.error());
  EXPECT_EQ(executedInstructions(*program), 4);
  EXPECT_EQ(printProgram(*program, oma),
            "program p on oma {\n  fence\n  loop a 4 {\n    nop\n    fence\n  }\n  fence\n}\n");
  // An opcode of that name stands between quotes.
  oma.opcodes[7].name = "fence";
  const auto both = parseProgram("program p on oma {\n  \"fence\"\n  fence\n}\n", "p", oma);
  ASSERT_TRUE(both) << text(both.error());
  EXPECT_EQ(executedInstructions(*both), 1);
  EXPECT_EQ(printProgram(*both, oma), "program p on oma {\n  \"fence\"\n  fence\n}\n");
}

TEST(ProgramText, FormsThatAreNotCanonical) {
  const Microarchitecture oma = omaMachine();
  const auto program = parseProgram("// a comment\n\nprogram p on oma { loop a 4 { loop b 3 {\n"
                                    "  load dmem[4096 + 4*(b - 2*(a - 3)) : 4 B], r[1], sp // operands by kind\n"
                                    "  load r1, sp[0], dmem[0x1000 + b*0x4 + 0*a : 4B] } } }",
                                    "p", oma);
  ASSERT_TRUE(program) << text(program.error());
  EXPECT_EQ(printProgram(*program, oma), "program p on oma {\n  loop a 4 {\n    loop b 3 {\n"
                                         "      load r1, sp, dmem[0x1018 - 8*a + 4*b : 4 B]\n"
                                         "      load r1, sp, dmem[0x1000 + 4*b : 4 B]\n    }\n  }\n}\n");
}

TEST(ProgramText, NamesThatAreNoWords) {
  Microarchitecture oma = omaMachine();
  oma.name = "one \"mac\"", oma.opcodes[7].name = "loop", oma.opcodes[4].name = "add imm",
  oma.storages[0].name = "d\\m";
  oma.registers.push_back({"r1", 4, 32, 0, 0, false, {}});
  for (Unit &unit : oma.units)
    unit.reads.push_back(2), unit.writes.push_back(2);
  InstructionProgram program;
  program.name = "2";
  program.loops = {{"", 2, {{kNone, 1}}, {}}, {"", 3, {{0, kNone}, {1, kNone}, {2, kNone}}, {}}};
  program.body = {{kNone, 0}};
  Instruction nop, addi, load;
  nop.opcode = 7, addi.opcode = 4, load.opcode = 1;
  addi.reads = {{0, 12}}, addi.writes = {{2, 2}}, addi.immediates = {INT64_MIN};
  load.reads = {{2, 0}}, load.writes = {{0, 15}}, load.memory = {{0, {0x1000, {64, -1}}, 4}};
  load.memory[0].address.base = 0x1010;
  program.instructions = {nop, addi, load};
  ASSERT_TRUE(check(program, oma).empty());
  const std::string printed = printProgram(program, oma);
  EXPECT_EQ(printed, "program \"2\" on \"one \\\"mac\\\"\" {\n  loop loop0 2 {\n    loop loop1 3 {\n"
                     "      \"loop\"\n"
                     "      \"add imm\" r1[2], r[12], -9223372036854775808\n"
                     "      load      r15, r1[0], \"d\\\\m\"[0x1010 + 64*loop0 - loop1 : 4 B]\n    }\n  }\n}\n");
  const auto read = parseProgram(printed, "p", oma);
  ASSERT_TRUE(read) << text(read.error());
  EXPECT_EQ(read->instructions[1].writes[0], (Register{2, 2}));
}

TEST(ProgramText, WrongProgramsNameThePlace) {
  const Microarchitecture oma = omaMachine();
  auto in = [](const std::string &lines) { return "program p on oma {\n  loop i 64 {\n" + lines + "\n  }\n}\n"; };
  const std::pair<std::string, const char *> cases[] = {
      {"prog p on oma {\n}\n", "1:1: A0001 found 'prog'; allowed here: 'program'\n"},
      {"program p on omar {\n}\n", "1:14: A0104 the program is for machine 'omar', not for 'oma' (oma)\n"},
      {"program p on oma {\n  nop\n",
       "3:1: A0002 found the end of the text; allowed here: an opcode, 'loop', 'fence' or '}'\n"},
      {"program p on oma {\n}\n}\n", "3:1: A0001 found '}' behind the program; allowed here: nothing\n"},
      {in("    maac r1, r2, r3, r4"), "3:5: A1304 machine 'oma' has no opcode 'maac' (mac)\n"},
      {in("    fence r1"), "3:11: A0001 found 'r1' behind 'fence'; allowed here: the end of the line\n"},
      {in("    fence 1, 2"), "3:11: A0001 found the number 1 behind 'fence'; allowed here: the end of the line\n"},
      {in("    fenc"), "3:5: A1304 machine 'oma' has no opcode 'fenc' (fence)\n"},
      {in("    lop j 4 {"), "3:5: A1304 machine 'oma' has no opcode 'lop' (loop)\n"},
      {in("    mac r1, r2, r3"),
       "3:5: A1304 'mac' takes 1 register written, 3 registers read; found 3 registers, 0 memory "
       "operands and 0 immediates\n"},
      {in("    mac r1, r2, r3, r4, r5"),
       "3:25: A1304 'mac' takes 1 register written, 3 registers read; this register is one too many\n"},
      {in("    mac r1, r2, r3, r16"), "3:21: A1304 register file 'r' has the registers 0 to 15, not 16\n"},
      {in("    mac r1, r2, r3, r[16]"), "3:23: A1304 register file 'r' has the registers 0 to 15, not 16\n"},
      {in("    mac r1, r2, r3, rr4"), "3:21: A1304 machine 'oma' has no register or memory 'rr4' (r4)\n"},
      {in("    fetch r1, dmen[0x1000 : 4 B]"),
       "3:15: A1304 machine 'oma' has no register file or memory 'dmen' (dmem)\n"},
      {in("    fetch r1, dmem"), "3:15: A1304 memory 'dmem' needs an address, as in 'dmem[0x1000 : 4 B]'\n"},
      {in("    fetch r1, dmem[0x1000]"),
       "3:26: A0001 found ']'; allowed here: '+', '-', '*' or ': ' and the bytes that "
       "are moved, as in 'dmem[0x1000 : 4 B]'\n"},
      {in("    fetch r1, dmem[0x1000 : 4]"), "3:30: A0202 found ']'; a number of bytes needs its unit, as '4 B'\n"},
      {in("    fetch r1, dmem[0x1000 : 4 W]"),
       "3:31: A0201 bytes have no unit 'W'; allowed here: B, KiB, MiB, GiB, TiB\n"},
      {in("    fetch r1, dmem[0x1000 : 0 B]"), "3:29: A1304 an operand moves from 1 B to 1 TiB, not 0 B\n"},
      {in("    fetch r1, dmem[0x1000 + 4*k : 4 B]"), "3:31: A0104 'k' is no loop around the instruction\n"},
      {in("    fetch r1, dmem[0x1000 + i*i : 4 B]"),
       "3:31: A1304 a term of an address has one loop around the instruction at most, found a product\n"},
      {in("    fetch r1, dmem[0x1000 + 4096*i : 4 B]"),
       "3:15: A1305 'fetch' reaches the addresses 4096 to 262147 of 'dmem', which has 4096 to 65535\n"},
      {in("    addi r1, r1, 9223372036854775808"), "3:18: A0205 a number without a sign is at most 2^63 - 1\n"},
      {in("    addi r1, r1, 99999999999999999999"), "3:18: A0205 a number is at most 2^63\n"},
      {in("    addi r1 r1, 4"),
       "3:13: A0001 found 'r1'; allowed here: ',' and another operand, or the end of the line\n"},
      {in("    addi r1, r1, "), "3:18: A0001 found the end of the line; allowed here: a register, a memory operand "
                                "'memory[address : bytes]' or an immediate\n"},
      {in("    nop 4"), "3:9: A1304 'nop' takes no operands; this immediate is one too many\n"},
      {in("    nop @"), "3:9: A0003 '@' means nothing here\n"},
      {in("    loop i 4 {\n nop\n }"), "3:10: A0105 loop 'i' is in a loop of the same name\n"},
      {in("    loop j -4 {\n nop\n }"), "3:12: A1304 loop 'j' has -4 iterations, not from 0 to 2^46\n"},
      {in("    loop j {\n nop\n }"), "3:12: A0001 found '{'; allowed here: the number of iterations\n"},
      {in("    loop 4 {\n nop\n }"), "3:10: A0001 found the number 4; allowed here: the name of the loop\n"},
      {in("    \"nop"), "3:5: A0004 a quoted name does not end in its line\n"},
      // All errors of a text, and columns that count characters.
      {in("    maac r1\n    nop // ä\n    /* ä */ nop\n    loop j 70368744177665 {\n      nop r1\n    }\n    lod r1"),
       "3:5: A1304 machine 'oma' has no opcode 'maac' (mac)\n5:5: A0003 '/' means nothing here\n"
       "5:6: A0001 found '*'; allowed here: an opcode, 'loop', 'fence' or '}'\n5:8: A0003 a character means nothing "
       "here (byte "
       "0xc3)\n5:11: A0003 '/' means nothing here\n"
       "6:12: A1304 loop 'j' has 70368744177665 iterations, not from 0 to 2^46\n"
       "7:11: A1304 'nop' takes no operands; this register is one too many\n"
       "9:5: A1304 machine 'oma' has no opcode 'lod' (load)\n"},
  };
  for (const auto &[wrong, expected] : cases) {
    const auto read = parseProgram(wrong, "p", oma);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(text(read.error()), expected) << wrong;
  }
}

TEST(ProgramText, NoTextIsTooDeepOrTooLong) {
  const Microarchitecture oma = omaMachine();
  std::string nest = "program p on oma {\n", brackets = "program p on oma {\nfetch r1, dmem[";
  for (int depth = 0; depth < 100'000; ++depth)
    nest += fmt::format("loop l{} 1 {{\n", depth), brackets += "(";
  auto deep = parseProgram(nest + std::string(100'001, '}'), "p", oma);
  ASSERT_FALSE(deep);
  EXPECT_EQ(text(deep.error()), "66:1: A0005 more than 64 loops are in each other\n");
  EXPECT_FALSE(parseProgram(brackets, "p", oma));
  EXPECT_FALSE(parseProgram(std::string(100'000, '@'), "p", oma));
  std::string name(200'000, 'r');
  EXPECT_FALSE(parseProgram("program p on oma {\n" + name + "\n}", "p", oma));
}

/// Any prefix, and any text with one byte changed, is read or refused.
TEST(ProgramText, NoTextCrashes) {
  const Microarchitecture oma = omaMachine();
  const std::string whole = kGemm;
  SplitMix random(7);
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_FALSE(parseProgram(whole.substr(0, length), "p", oma) && length + 1 < whole.size()) << length;
    std::string changed = whole;
    changed[length] = char(random.next());
    if (auto read = parseProgram(changed, "p", oma))
      ASSERT_TRUE(parseProgram(printProgram(*read, oma), "p", oma));
  }
}

} // namespace
} // namespace accord::microarchitecture
