#include "campaign/status.h"
