#include "campaign/alert.h"
