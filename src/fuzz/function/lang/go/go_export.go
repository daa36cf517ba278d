package main

import "C"

import (
	hotcellHarness "HOTCELL_MODULE/harness_of_hotcell"
	hotcellUnsafe "unsafe"
)

//export HotcellStart
func HotcellStart(begun, told uintptr) {
	hotcellHarness.Begun = func() { *(*uint32)(hotcellUnsafe.Pointer(begun)) = 1 }
	hotcellHarness.Told = func() { *(*uint32)(hotcellUnsafe.Pointer(told)) = 1 }
	hotcellHarness.Start()
}

//export HotcellOne
func HotcellOne(data uintptr, size uint64) {
	hotcellHarness.One(hotcellUnsafe.Slice((*byte)(hotcellUnsafe.Pointer(data)), int(size)))
}
