// What both languages share: names, quantities, expressions, entries, constraints, imports, comments.
//
// Line ends mean nothing. The lexer knows only a handful of reserved words; every other word with a meaning (`import`,
// `require`, `step`, `per`, …) arrives as IDENT and gets the token type of `tokens` below from lib/syntax/Tokens.cpp where,
// by its neighbours, it can only be that word. So `step = 3` and `weight = 2` stay ordinary keys, and the rules below
// are decided by one token of lookahead. There also NUMBER and a unit on the same line become one QUANTITY (`16 GiB`,
// `64 B/cycle`), and `else if` becomes one ELSE_IF.
grammar Common;

tokens {
  QUANTITY, CROSS, POW2, STEP, ELSE_IF, IMPORT, LET, REQUIRE, PREFER, MAXIMIZE, MINIMIZE, LABEL, PATH, SOURCE, FROM, PER,
  WEIGHT, CONFIDENCE, SAMPLES, ERROR, TRANSPOSABLE, OF, FOR, ON, IN, AS, INPUT, VAR, REPEAT, LOSS, MODULE, MODEL,
  OPERATION, GRADIENT, SURROGATE, SCAN, REVERSE
}

file : importLine* (declaration ','?)* EOF ;

importLine : IMPORT STRING ','? ;

declaration : constant | description ;

constant : LET IDENT '=' expr ;

// accelerator t(clock = 1 GHz) {…} · train t = gpt() on selene {…} · sparsity for t {…} · ensemble e of gpt {…}
description : IDENT IDENT? parameters? ((OF | FOR) IDENT)? ('=' expr)? (ON IDENT)? block ;

parameters : '(' (parameter (',' parameter)* ','?)? ')' ;
parameter : IDENT indices? (':' IDENT)? ('=' expr)? ;
indices : '[' (IDENT (',' IDENT)* ','?)? ']' ; // of an operand: only in `.dnn`

// ---- Entries ----

block : '{' (entry ','?)* '}' ;
entry : constraint | path | item ;

// clock = 940 MHz · memory hbm : dram {…} · core mxu[2] : tensor {…} · sparse nm(2, 4) {…} · weights of block.* = nm(2, 4) ·
// wide thin thin = 0.01
item : IDENT (IDENT+ | STRING)? arguments? count? (':' type)? (OF pattern)? ('=' expr)? clause* (block clause*)? ;
count : '[' expr ']' ;
type : IDENT arguments? ;
pattern : (IDENT | '*' | '.')+ ;

clause
  : SOURCE STRING
  | FROM STRING
  | PER chain
  | WEIGHT chain
  | CONFIDENCE chain
  | SAMPLES chain
  | ERROR '=' chain
  | TRANSPOSABLE
  ;

constraint : (REQUIRE | PREFER | MAXIMIZE | MINIMIZE) (LABEL ':')? expr clause* ;

path : PATH stop ('->' stop)+ ;
stop : IDENT | '{' IDENT (',' IDENT)* ','? '}' ;

// ---- Expressions ----

expr
  : IF expr THEN expr (ELSE_IF expr THEN expr)* ELSE expr
  | POW2 chain '..' chain
  | chain ('..' chain (STEP chain)?)?
  ;

// Operators are one flat list; what binds tighter is decided in lib/syntax/Expressions.h, loosest first:
//   or · and · not · == != < <= > >= · x (shape) · + - · * / % · signs · ^
chain : operand (infix operand)* ;
infix
  : OR | AND | '==' | '!=' | '<' | '<=' | '>' | '>=' | CROSS | '+' | '-' | '*' | '/' | '%' | '^'
  ;
operand : sign* primary suffix* ;
sign : '-' | '+' | NOT ;

primary
  : QUANTITY
  | NUMBER
  | STRING
  | TRUE
  | FALSE
  | IDENT
  | '(' expr ')'
  | '[' (expr (',' expr)* ','?)? ']'
  | '{' (braceItem (',' braceItem)* ','?)? '}'
  ;
braceItem : expr (':' expr)? ;

suffix : '.' IDENT | '[' expr (',' expr)* ']' | arguments ;
arguments : '(' (argument (',' argument)* ','?)? ')' ;
argument : expr ('=' expr)? ;

// ---- Tokens ----

IF : 'if' ;
THEN : 'then' ;
ELSE : 'else' ;
AND : 'and' ;
OR : 'or' ;
NOT : 'not' ;
TRUE : 'true' ;
FALSE : 'false' ;

IDENT : [a-zA-Z_] [a-zA-Z0-9_]* ;
// 1..64 is a range: a point belongs to the number only if a digit follows. In 0x10 B the unit stands apart: B is a digit.
NUMBER : [0-9] [0-9_]* ('.' [0-9]+)? ([eE] [+-]? [0-9]+)? | '0' [xX] [0-9a-fA-F] [0-9a-fA-F_]* ;
STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
OPEN_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* ;

LBRACE : '{' ; RBRACE : '}' ; LPAREN : '(' ; RPAREN : ')' ; LBRACKET : '[' ; RBRACKET : ']' ;
ARROW : '->' ; RANGE : '..' ; DOT : '.' ; COMMA : ',' ; COLON : ':' ;
EQ : '==' ; NE : '!=' ; LE : '<=' ; GE : '>=' ; LT : '<' ; GT : '>' ; ASSIGN : '=' ;
PLUS : '+' ; MINUS : '-' ; STAR : '*' ; SLASH : '/' ; PERCENT : '%' ; CARET : '^' ;

// Always a comment; whole-number division is floor_div(a, b).
COMMENT : '//' ~[\r\n]* ;
BLANK : [ \t\r\n]+ -> skip ;
OTHER : . ;
