/* doord, the whole program, as bytes of this one. */
#ifndef HOTCELL_DOOR_DOORD_IMAGE_H
#define HOTCELL_DOOR_DOORD_IMAGE_H

extern const unsigned char doord_image[], doord_image_end[];

#endif
