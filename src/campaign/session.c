#include "campaign/session.h"
