************************************************************************
file with basedata            : none, written by hand
initial value random generator: 1
************************************************************************
projects                      :  1
jobs (incl. supersource/sink ):  7
horizon                       :  15
RESOURCES
  - renewable                 :  1   R
  - nonrenewable              :  0   N
  - doubly constrained        :  0   D
************************************************************************
PROJECT INFORMATION:
pronr.  #jobs rel.date duedate tardcost  MPM-Time
    1      5      0       15       0        3
************************************************************************
PRECEDENCE RELATIONS:
jobnr.    #modes  #successors   successors
   1        1          5           2   3   4   5   6
   2        2          1           7
   3        1          1           7
   4        1          1           7
   5        1          1           7
   6        1          1           7
   7        1          0
************************************************************************
REQUESTS/DURATIONS:
jobnr. mode duration  R 1
------------------------------------------------------------------------
  1      1     0       0
  2      1     3       1
         2     4       1
  3      1     3       1
  4      1     3       1
  5      1     3       1
  6      1     3       1
  7      1     0       0
************************************************************************
RESOURCEAVAILABILITIES:
  R 1
    2
************************************************************************
