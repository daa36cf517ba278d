#include "campaign/metrics.h"
