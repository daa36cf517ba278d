#include "campaign/record.h"
