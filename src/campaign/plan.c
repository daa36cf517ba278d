#include "campaign/plan.h"
