/* SPDX-License-Identifier: GPL-2.0 */
/* What the calls of share_gate.h promise: see share_gate_test.h. */
#ifndef SHARE_GATE_TEST_CONTRACT_H
#define SHARE_GATE_TEST_CONTRACT_H

int gate_test_contract(u32 which);
int gate_test_misuse(u32 which);

#endif /* SHARE_GATE_TEST_CONTRACT_H */
