#include "campaign/state.h"
