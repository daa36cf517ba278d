/* Attacks on the kernel's surface. */
#include "review/attack.h"

const struct review_attack review_kernel[] = {
	{
		.id = "kernel.namespaces",
		.technique = "make new namespaces: unshare, clone and clone3, each kind, also with the upper half of the flags set",
		.cve = "CVE-2022-0185",
		.safe = "refused",
		.without = "seccomp",
		.program = "kernel namespaces",
		.tries = 20,
		.but = "clone3-plain",
	},
	{0},
};
