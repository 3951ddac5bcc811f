// Assembly becomes the program that was counted by hand, and executes what an interpreter of the text executes.
#include "lib/microarchitecture/text/ImportAssembly.h"
#include "lib/microarchitecture/text/PrintProgram.h"
#include "test/lib/microarchitecture/OmaMachine.h"
#include "test/support/Random.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace accord::microarchitecture {
namespace {

std::string text(const Errors &errors) {
  std::string all;
  for (const Error &error : errors) {
    all += fmt::format("{}:{}: {} {}\n", error.location.line, error.location.column, entryOf(error.code).number.str(),
                       error.message);
    for (const auto &[place, note] : error.notes)
      all += fmt::format("  {}:{}: {}\n", place.line, place.column, note);
  }
  return all;
}

std::string imported(const std::string &from, const AssemblyOptions &options = {}) {
  const Microarchitecture oma = omaMachine();
  const auto program = importAssembly(from, "a.s", oma, options);
  return program ? printProgram(*program, oma) : text(program.error());
}

TEST(ImportAssembly, OneLoop) {
  EXPECT_EQ(imported("        li   r1, 0x1000\n"
                     "        li   r2, 0x1100   # the end\n"
                     "top:    load r3, 0(r1)\n"
                     "        mac  r4, r3, r3, r4\n"
                     "        addi r1, r1, 4    ; the next\n"
                     "        bne  r1, r2, top\n"
                     "        store r4, 4(r1)\n"),
            "program assembly on oma {\n"
            "  li    r1, 4096\n"
            "  li    r2, 4352\n"
            "  loop top 64 {\n"
            "    load  r3, r1, dmem[0x1000 + 4*top : 4 B]\n"
            "    mac   r4, r3, r3, r4\n"
            "    addi  r1, r1, 4\n"
            "    bne   r1, r2\n"
            "  }\n"
            "  store dmem[0x1104 : 4 B], r4, r1\n"
            "}\n");
}

TEST(ImportAssembly, NestOfLoopsWithAddressesOfBoth) {
  EXPECT_EQ(imported(".text\n li r1, 0\n li r9, 8\n li r10, 0x1000\n"
                     ".outer: li r2, 0\n mv_row: li r11, 16\n slli r5, r1, 6\n add r5, r5, r10\n"
                     "inner: fetch r3, dmem[r5 + 0 : 4 B]\n addi r5, r5, 4\n addi r2, r2, 1\n blt r2, r11, inner\n"
                     " addi r1, r1, 1\n bne r1, r9, .outer\n"),
            "program assembly on oma {\n"
            "  li    r1, 0\n  li    r9, 8\n  li    r10, 4096\n"
            "  loop \".outer\" 8 {\n"
            "    li    r2, 0\n    li    r11, 16\n    slli  r5, r1, 6\n    add   r5, r5, r10\n"
            "    loop inner 16 {\n"
            "      fetch r3, dmem[0x1000 + 64*\".outer\" + 4*inner : 4 B]\n"
            "      addi  r5, r5, 4\n      addi  r2, r2, 1\n      blt   r2, r11\n"
            "    }\n"
            "    addi  r1, r1, 1\n    bne   r1, r9\n"
            "  }\n"
            "}\n");
}

TEST(ImportAssembly, LoopThatJumpsBack) {
  EXPECT_EQ(imported("li r1, 0\nli r2, 10\nhead: beq r1, r2, done\nfetch r3, dmem[8*r1 + 0x2000 : 4 B]\n"
                     "addi r1, r1, 1\nj head\ndone: nop\n"),
            "program assembly on oma {\n"
            "  li    r1, 0\n  li    r2, 10\n"
            "  loop head 10 {\n"
            "    beq   r1, r2\n    fetch r3, dmem[0x2000 + 8*head : 4 B]\n    addi  r1, r1, 1\n    j     -3\n"
            "  }\n"
            "  beq   r1, r2\n"
            "  nop\n"
            "}\n");
}

/// A fence is no instruction: a loop with one is a loop, and branches count none.
TEST(ImportAssembly, Fences) {
  EXPECT_EQ(
      imported("li r1, 0\nli r2, 10\nhead: beq r1, r2, done\nfence\nfetch r3, dmem[8*r1 + 0x2000 : 4 B]\n"
               "addi r1, r1, 1\nj head\ndone: fence # all is there\nnop\n"),
      "program assembly on oma {\n"
      "  li    r1, 0\n  li    r2, 10\n"
      "  loop head 10 {\n"
      "    beq   r1, r2\n    fence\n    fetch r3, dmem[0x2000 + 8*head : 4 B]\n    addi  r1, r1, 1\n    j     -3\n"
      "  }\n"
      "  beq   r1, r2\n"
      "  fence\n"
      "  nop\n"
      "}\n");
  EXPECT_EQ(imported("nop\nfence r1\nnop\n"),
            "2:7: A0001 found 'r1' behind 'fence'; allowed here: the end of the line\n");
}

/// A loop whose address doubles is no loop of affine addresses; it is unrolled. One whose first iteration differs is a
/// loop behind it.
TEST(ImportAssembly, WhatIsNotAffineIsUnrolled) {
  EXPECT_EQ(imported("li r1, 4\nli r2, 32\nl: fetch r3, dmem[r1 + 0x1000 : 4 B]\nslli r1, r1, 1\nbne r1, r2, l\n"),
            "program assembly on oma {\n"
            "  li    r1, 4\n  li    r2, 32\n"
            "  fetch r3, dmem[0x1004 : 4 B]\n  slli  r1, r1, 1\n  bne   r1, r2\n"
            "  fetch r3, dmem[0x1008 : 4 B]\n  slli  r1, r1, 1\n  bne   r1, r2\n"
            "  fetch r3, dmem[0x1010 : 4 B]\n  slli  r1, r1, 1\n  bne   r1, r2\n"
            "}\n");
  EXPECT_EQ(imported("li r1, 0\nli r2, 5\nli r4, 0x3000\nl: fetch r3, dmem[r4 : 4 B]\nli r4, 0x2000\naddi r1, r1, 1\n"
                     "bne r1, r2, l\n"),
            "program assembly on oma {\n"
            "  li    r1, 0\n  li    r2, 5\n  li    r4, 12288\n"
            "  fetch r3, dmem[0x3000 : 4 B]\n  li    r4, 8192\n  addi  r1, r1, 1\n  bne   r1, r2\n"
            "  loop l 4 {\n"
            "    fetch r3, dmem[0x2000 : 4 B]\n    li    r4, 8192\n    addi  r1, r1, 1\n    bne   r1, r2\n"
            "  }\n"
            "}\n");
}

/// 10^13 iterations are found as fast as ten.
TEST(ImportAssembly, LoopsAreNotExecuted) {
  EXPECT_EQ(imported("li r2, 20000\nli r4, 0\na: li r5, 0\nb: li r1, 0\nc: addi r1, r1, 1\nbne r1, r2, c\n"
                     "addi r5, r5, 1\nbne r5, r2, b\naddi r4, r4, 1\nbne r4, r2, a\n"),
            "program assembly on oma {\n  li   r2, 20000\n  li   r4, 0\n  loop a 20000 {\n    li   r5, 0\n"
            "    loop b 20000 {\n      li   r1, 0\n      loop c 20000 {\n        addi r1, r1, 1\n        bne  r1, r2\n"
            "      }\n      addi r5, r5, 1\n      bne  r5, r2\n    }\n    addi r4, r4, 1\n    bne  r4, r2\n  }\n}\n");
}

TEST(ImportAssembly, WrongAssemblyNamesThePlace) {
  AssemblyOptions few;
  few.maxInstructions = 1000;
  const std::pair<const char *, const char *> cases[] = {
      {"l: nop\nl: nop\n", "2:1: A0105 label 'l' stands twice\n  1:1: the first one\n"},
      {"bne r1, r2, top\n", "1:13: A0104 no line has the label 'top'\n"},
      {"bne r1, r2\n", "1:1: A1304 'bne' names no label to go on at\n"},
      {"mac r1, rr2, r3, r4\n", "1:9: A1304 machine 'oma' has no register 'rr2', and 'mac' takes no label\n"},
      {"mac r1, r2, r3, r44\n", "1:17: A1304 machine 'oma' has no register 'r44'\n"},
      {"mac r1, r2\n",
       "1:1: A1304 'mac' takes 1 register written, 3 registers read; found 2 registers, 0 memory operands "
       "and 0 immediates\n"},
      {"load r1, 4(r2)\n", "1:1: A0309 the value of 'r2' is not known here: nothing set it\n"},
      {"fetch r2, dmem[0x1000]\n load r1, 4(r2)\n",
       "2:2: A0309 the value of 'r2' is not known here: 'fetch' of line 1 set it\n"},
      {"copy dmem[0x1000], dmem[0x2000]\n",
       "1:20: A1304 the bytes that 'copy' moves are not known; say them, as in 'dmem[r1 : 4 B]'\n"},
      {"li r1, 0x20000\nload r1, 0(r1)\n",
       "2:1: A1305 'load' reaches the addresses 131072 to 131075 of 'dmem', which has 4096 to 65535\n"},
      {"l: nop\nj l\n", "1:4: A1306 more than 1000 instructions would be unrolled\n"
                        "  2:1: 'j' of line 2 ends no loop that could be proved: the loop has no way out\n"},
      {"li r1, 0\nli r2, 7\nl: addi r1, r1, 2\nbne r1, r2, l\n",
       "3:4: A1306 more than 1000 instructions would be unrolled\n"
       "  4:1: 'bne' of line 4 ends no loop that could be proved: the loop does not end within 2^46 iterations\n"},
      {"fetch r1, dmem[0x1000]\nli r2, 7\nl: addi r1, r1, 1\nbne r1, r2, l\n",
       "4:1: A0309 the value of 'r1' is not known here: 'addi' of line 3 set it\n"},
      {"li r1, 2147483647\nslli r1, r1, 4\n",
       "2:1: A0302 'slli' makes values from 34359738352 to 34359738352, which a register of 32 bits does not hold\n"},
      {"li r1, -1\nli r2, 4294967295\nl: bne r1, r2, l\n",
       "3:4: A1306 more than 1000 instructions would be unrolled\n"
       "  3:4: 'bne' of line 3 ends no loop that could be proved: the loop does not end within 2^46 iterations\n"},
      {"li r1, -1\nli r2, 4294967295\nl: beq r1, r2, l\n",
       "3:4: A0302 'beq' compares values from -1 to 4294967295, which registers of 32 bits do not tell apart\n"},
      {"lii r1, 4\n", "1:1: A1304 machine 'oma' has no opcode 'lii'\n"},
      {"li r1 4\n", "1:7: A0001 found the number 4; allowed here: ',' and another operand, or the end of the line\n"},
      {"li r1, 4 }\n", "1:10: A0001 found '}'; allowed here: the end of the line\n"},
      {"load r1, 4(r2\n", "1:14: A0001 found the end of the line; allowed here: ')'\n"},
      {"load r1, dmem[r1*r2]\n", "1:18: A1304 a term of an address has one register at most, found a product\n"},
      {"load r1, dmem[q]\n", "1:15: A0104 'q' is no register\n"},
  };
  for (const auto &[wrong, expected] : cases)
    EXPECT_EQ(imported(wrong, few), expected) << wrong;
}

/// Executes assembly as it stands: opcodes and addresses in the order in which they come.
class Interpreter {
public:
  explicit Interpreter(const std::vector<std::string> &lines) : lines(lines) { r[5] = 7; }

  std::vector<std::pair<std::string, int64_t>> run(size_t max) {
    std::vector<std::pair<std::string, int64_t>> trace;
    for (size_t at = 0; at < lines.size() && trace.size() < max;) {
      std::string line = lines[at];
      if (line[0] == 'l' && line[1] != 'i')
        line = line.substr(line.find(": ") + 2);
      char op[16] = "";
      int a = 0, b = 0;
      long long c = 0;
      int64_t address = 0;
      size_t next = at + 1;
      if (sscanf(line.c_str(), "fetch r%d, dmem[r%d + %lld", &a, &b, &c) == 3)
        strcpy(op, "fetch"), address = r[b] + c;
      else if (sscanf(line.c_str(), "li r%d, %lld", &a, &c) == 2)
        strcpy(op, "li"), r[a] = c;
      else if (sscanf(line.c_str(), "addi r%d, r%d, %lld", &a, &b, &c) == 3)
        strcpy(op, "addi"), r[a] = int64_t(uint64_t(r[b]) + uint64_t(c));
      else if (int d = 0; sscanf(line.c_str(), "add r%d, r%d, r%d", &a, &b, &d) == 3)
        strcpy(op, "add"), r[a] = int64_t(uint64_t(r[b]) + uint64_t(r[d]));
      else if (sscanf(line.c_str(), "%3[a-z] r%d, r%d, l%lld", op, &a, &b, &c) == 4 ||
               sscanf(line.c_str(), "%1[j] l%lld", op, &c) == 2) {
        const bool isTaken = op == std::string("j")     ? true
                             : op == std::string("bne") ? r[a] != r[b]
                             : op == std::string("beq") ? r[a] == r[b]
                                                        : r[a] < r[b];
        if (isTaken)
          for (size_t l = 0; l < lines.size(); ++l)
            if (lines[l].rfind(fmt::format("l{}: ", c), 0) == 0)
              next = l;
      }
      trace.push_back({op, address});
      at = next;
    }
    return trace;
  }

private:
  const std::vector<std::string> &lines;
  std::map<int, int64_t> r;
};

std::vector<std::pair<std::string, int64_t>> executed(const InstructionProgram &program,
                                                      const Microarchitecture &machine) {
  std::vector<std::pair<std::string, int64_t>> trace;
  std::vector<int64_t> around;
  auto walk = [&](auto &self, const Body &body) -> void {
    for (const Item &item : body) {
      if (item.loop != kNone) {
        around.push_back(0);
        for (int64_t k = 0; k < program.loops[item.loop].count; ++k)
          around.back() = k, self(self, program.loops[item.loop].body);
        around.pop_back();
        continue;
      }
      const Instruction &is = program.instructions[item.instruction];
      int64_t address = is.memory.empty() ? 0 : is.memory[0].address.base;
      for (size_t d = 0; !is.memory.empty() && d < is.memory[0].address.strides.size(); ++d)
        address += is.memory[0].address.strides[d] * around[d];
      trace.push_back({machine.opcodes[is.opcode].name, address});
    }
  };
  walk(walk, program.body);
  return trace;
}

/// Nests of counted loops of both forms, with branches and registers that are set where nobody expects it.
class AssemblyCases {
public:
  explicit AssemblyCases(uint64_t seed) : draw(seed) {
    lines = {"li r1, 100000", "li r2, 200000", "li r3, 300000", "li r4, 400000"};
    for (int64_t d = 0; d < 3; ++d)
      lines.push_back(fmt::format("li r{}, {}", 10 + d, draw.draw(1, 6)));
    block(0);
  }

  std::vector<std::string> lines;

private:
  int64_t reg() { return draw.draw(1, 5); }

  void plain() {
    const int64_t one = reg(), kind = draw.draw(0, 9);
    if (kind == 0)
      lines.push_back(fmt::format("li r{}, {}", one, draw.draw(10, 30) * 10000));
    else if (kind == 1)
      lines.push_back(fmt::format("add r{}, r{}, r{}", one, reg(), reg()));
    else if (kind == 2 && labels > 0)
      lines.push_back(fmt::format("{} r{}, r{}, l{}",
                                  draw.flip()   ? "bne"
                                  : draw.flip() ? "blt"
                                                : "beq",
                                  reg(), reg(), draw.draw(0, labels - 1)));
    else if (kind < 6)
      lines.push_back(fmt::format("fetch r6, dmem[r{} + {} : 4 B]", one, draw.draw(1, 9) * 4));
    else
      lines.push_back(fmt::format("addi r{}, r{}, {}", one, draw.draw(0, 5) ? one : reg(), draw.draw(-2, 3) * 100));
  }

  void block(int64_t depth) {
    for (int64_t items = draw.draw(1, 4); items > 0; --items) {
      if (depth == 3 || draw.draw(0, 2) == 0) {
        plain();
        continue;
      }
      const int64_t counter = 7 + depth, label = labels;
      labels += 2;
      lines.push_back(fmt::format("li r{}, 0", counter));
      if (draw.flip()) {
        lines.push_back(fmt::format("l{}: addi r{}, r{}, 1", label, counter, counter));
        block(depth + 1);
        lines.push_back(fmt::format("{} r{}, r{}, l{}", draw.flip() ? "bne" : "blt", counter, 10 + depth, label));
        lines.push_back(fmt::format("l{}: addi r1, r1, 0", label + 1));
      } else {
        lines.push_back(fmt::format("l{}: beq r{}, r{}, l{}", label, counter, 10 + depth, label + 1));
        block(depth + 1);
        lines.push_back(fmt::format("addi r{}, r{}, 1", counter, counter));
        lines.push_back(fmt::format("j l{}", label));
        lines.push_back(fmt::format("l{}: addi r1, r1, 4", label + 1));
      }
    }
  }

  MachineCases draw;
  int64_t labels = 0;
};

TEST(ImportAssembly, RandomProgramsExecuteTheSame) {
  Microarchitecture oma = omaMachine();
  oma.storages[0].begin = 0, oma.storages[0].end = int64_t(1) << 50;
  oma.registers[0].bits = 64;
  int read = 0, withLoops = 0;
  int64_t compressed = 0;
  const auto count = static_cast<uint64_t>(cases(800));
  for (uint64_t seed = 0; seed < count; ++seed) {
    const std::vector<std::string> lines = AssemblyCases(seed).lines;
    AssemblyOptions options;
    options.maxInstructions = 500;
    options.values = {{{0, 5}, 7}};
    std::string all;
    for (const std::string &line : lines)
      all += line + "\n";
    const auto program = importAssembly(all, "a.s", oma, options);
    if (!program || executedInstructions(*program) > 20'000)
      continue;
    ++read, withLoops += !program->loops.empty();
    compressed += int64_t(executedInstructions(*program)) - int64_t(program->instructions.size());
    ASSERT_EQ(executed(*program, oma), Interpreter(lines).run(50'000)) << seed << "\n"
                                                                       << all << printProgram(*program, oma);
  }
  EXPECT_GT(read, count / 2);
  EXPECT_GT(withLoops, count / 3);
  EXPECT_GT(compressed, 15 * count);
}

TEST(ImportAssembly, NoTextCrashes) {
  const Microarchitecture oma = omaMachine();
  const std::string whole = "li r1, 0\nli r2, 9\n.a: li r4, 0x1000\nb: load r3, 8(r4)\nstore r3, dmem[r4 + 4 : 4 B]\n"
                            "addi r4, r4, 4\nbne r4, r2, b\nbeq r1, r2, c\naddi r1, r1, 1\nj .a\nc: nop\n";
  AssemblyOptions few;
  few.maxInstructions = 100;
  SplitMix random(3);
  for (int turn = 0; turn < 20000; ++turn) {
    std::string changed = whole;
    for (uint64_t n = random.below(3) + 1; n > 0; --n)
      changed[random.below(changed.size())] = random.below(2) ? whole[random.below(whole.size())] : char(random.next());
    (void)importAssembly(changed, "a.s", oma, few);
  }
}

} // namespace
} // namespace accord::microarchitecture
