#include "campaign/view.h"
