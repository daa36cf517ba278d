/* Calls that older kernel headers do not name, with the numbers they have on every machine: what the filter says of a call does
 * not depend on where it was built. */
#ifndef HOTCELL_CELL_NATIVE_INSIDE_NEWER_CALLS_H
#define HOTCELL_CELL_NATIVE_INSIDE_NEWER_CALLS_H

#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453 /* Linux 6.6 */
#endif
#ifndef SYS_mseal
#define SYS_mseal 462 /* Linux 6.10 */
#endif

#endif
