// Hooks around external operators, for an implementation of AscendC that checks calls. Other implementations ignore
// them. HPMOE_OPERATOR_BEGINS takes the operator's name and the number of bytes, from address 0 on, that the operator
// may use: of UB, or of L1, L0A, L0B and L0C. HPMOE_OPERATOR_ENDS says that the operator has returned.
#pragma once

#ifndef HPMOE_OPERATOR_BEGINS
#define HPMOE_OPERATOR_BEGINS(...)
#define HPMOE_OPERATOR_ENDS()
#endif
