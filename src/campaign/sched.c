#include "campaign/sched.h"
