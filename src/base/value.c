#include "base/value.h"
