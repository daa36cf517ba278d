#include "campaign/ledger.h"
