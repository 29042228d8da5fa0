// Hooks around external operators, for an implementation of AscendC that checks calls: an operator starts (its name and
// the bytes that it may use of UB, or of L1, L0A, L0B and L0C, from address 0 on), and it has returned. Other
// implementations ignore them.
#pragma once

#ifndef HPMOE_OPERATOR_BEGINS
#define HPMOE_OPERATOR_BEGINS(...)
#define HPMOE_OPERATOR_ENDS()
#endif
