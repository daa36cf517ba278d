/* The program that attacks, whole, as bytes of this one. */
#ifndef HOTCELL_REVIEW_PROGRAM_IMAGE_H
#define HOTCELL_REVIEW_PROGRAM_IMAGE_H

extern const unsigned char program_image[], program_image_end[];

#endif
