// SPDX-License-Identifier: GPL-2.0
//: 1 is not compiled: a table of before and after
