#include "campaign/report.h"
