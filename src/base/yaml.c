#include "base/yaml.h"
