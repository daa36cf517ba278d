package HOTCELL_PACKAGE

import (
	hotcellHarness "HOTCELL_MODULE/harness_of_hotcell"
	hotcellFlag "flag"
	hotcellTesting "testing"
)

func TestHotcell(t *hotcellTesting.T) {
	hotcellHarness.Corpus(t)
}

func FuzzHotcell(f *hotcellTesting.F) {
	hotcellHarness.Engine(f, hotcellFlag.Lookup("test.fuzzworker").Value.String() == "true")
}
