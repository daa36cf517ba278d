/* Which addresses are this machine's own: the kernel is asked, at the moment of connecting. */
#ifndef HOTCELL_NET_LOCAL_H
#define HOTCELL_NET_LOCAL_H

#include <sys/socket.h>

void local_prepare(void); /* before everything is taken away; without it no address is known to be another's */
/* NULL: it is somebody else's. Else why not (static): it is one of this machine's, whatever interface or table has it, one
 * that reaches many, or the kernel does not say. */
const char *local_refusal(const struct sockaddr *address);

#endif
