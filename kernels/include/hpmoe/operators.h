// What an implementation of AscendC that checks its calls is told of external operators: that one begins, its name and the bytes that it may use
// of each on-chip memory, from address 0 on (of UB, or of L1, L0A, L0B and L0C); and that it has returned. Others need not know.
#pragma once

#ifndef HPMOE_OPERATOR_BEGINS
#define HPMOE_OPERATOR_BEGINS(...)
#define HPMOE_OPERATOR_ENDS()
#endif
