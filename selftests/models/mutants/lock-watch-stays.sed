# SPDX-License-Identifier: GPL-2.0
# model: lock -DNR=1 -DNW=2
# breaks: watch_is_there
# The watch of a waiter that has left stays in the list.
s/^\twatch = \(watch != \(id\) -> watch : .*/\twatch = (true -> watch : (nr_writers -> writers[0] : \t\t\\/
