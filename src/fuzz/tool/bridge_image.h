/* The bridge, the whole program, as bytes of this one. */
#ifndef HOTCELL_FUZZ_TOOL_BRIDGE_IMAGE_H
#define HOTCELL_FUZZ_TOOL_BRIDGE_IMAGE_H

extern const unsigned char bridge_image[], bridge_image_end[];

#endif
