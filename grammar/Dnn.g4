// Training: modules and models are statements over tensors, operations over their elements; trainings, sparsity, ensembles, jobs and tunings are entries.
grammar Dnn;
import Common;

declaration : constant | operation | module | model | description ;

// operation scores(q[i, d], k[j, d]) -> s[i, j] { s = sum(q[i, d] * k[j, d], over = d) }
operation : OPERATION IDENT parameters '->' IDENT indices? body ;
module : MODULE IDENT parameters ('->' IDENT (',' IDENT)*)? body ;
model : MODEL IDENT parameters? body ;

body : '{' (statement ','?)* '}' ;
statement : input | bind | repeat | scan | forLoop | when | loss ;

input : INPUT IDENT ':' IDENT ('[' expr (',' expr)* ']')? ;
bind : (LET | VAR | GRADIENT | SURROGATE)? IDENT (',' IDENT)* '=' expr ;
repeat : REPEAT expr (AS IDENT)? body ;
scan : SCAN REVERSE? expr (',' expr)* AS IDENT (',' IDENT)* ('->' IDENT (',' IDENT)*)? body ;
forLoop : FOR IDENT IN expr body ;
when : IF expr body (ELSE_IF expr body)* (ELSE body)? ;
loss : LOSS expr ;
