// A reader of nested settings, "a=1;b=[c=x;d=2]", that takes anything and fails never.
"use strict";

/** @param {Buffer} data */
function count(data) {
  let depth = 0, most = 0, pairs = 0, numbers = 0, inValue = false, name = 0, value = 0, digits = 0;
  for (const byte of data) {
    if (byte === 0x5b) {
      depth++;
      most = Math.max(most, depth);
      name = 0;
      inValue = false;
    } else if (byte === 0x5d && depth) {
      depth--;
    } else if (byte === 0x3d && name) {
      inValue = true;
      value = digits = 0;
    } else if (byte === 0x3b || byte === 0x5d) {
      pairs += inValue && value ? 1 : 0;
      numbers += inValue && value && digits === value ? 1 : 0;
      name = 0;
      inValue = false;
    } else if (inValue) {
      value++;
      digits += byte >= 0x30 && byte <= 0x39 ? 1 : 0;
    } else if (byte >= 0x61 && byte <= 0x7a) {
      name++;
    }
  }
  return pairs + numbers + most;
}

module.exports = { count };
