package harness

import (
	"bytes"
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Fuzz tests, FuzzXxx: package testing is given ourselves as its engine. It runs the test as a coordinator, which tells the
// types and the seeds, and then as a worker, which gives us what runs one input.

type entry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []interface{}
	Generation int
	IsSeed     bool
}

type engine struct {
	fuzz  func(*testing.F)
	types []reflect.Type
	seeds []entry
	run   chan func(entry) error
	ended chan int
}

func (*engine) ImportPath() string                              { return "" }
func (*engine) ModulePath() string                              { return "" }
func (*engine) SetPanicOnExit0(bool)                            {}
func (*engine) StartCPUProfile(io.Writer) error                 { return nil }
func (*engine) StopCPUProfile()                                 {}
func (*engine) StartTestLog(io.Writer)                          {}
func (*engine) StopTestLog() error                              { return nil }
func (*engine) WriteProfileTo(string, io.Writer, int) error     { return nil }
func (*engine) ResetCoverage()                                  {}
func (*engine) SnapshotCoverage()                               {}
func (*engine) CheckCorpus([]interface{}, []reflect.Type) error { return nil }
func (*engine) MatchString(pattern, text string) (bool, error) {
	return strings.Trim(pattern, "^$") == text, nil
}
func (*engine) InitRuntimeCoverage() (string, func(string, string) (string, error), func() float64) {
	return "", nil, nil
}

func (it *engine) ReadCorpus(folder string, types []reflect.Type) (list []entry, _ error) {
	files, _ := os.ReadDir(folder)
	for _, each := range files {
		text, err := os.ReadFile(filepath.Join(folder, each.Name()))
		if values, ok := parseCorpus(string(text)); err == nil && ok && len(values) == len(types) {
			list = append(list, entry{Path: each.Name(), Values: values})
		}
	}
	return list, nil
}

func (it *engine) CoordinateFuzzing(_ time.Duration, _ int64, _ time.Duration, _ int64, _ int, seeds []entry, types []reflect.Type, _, _ string) error {
	it.types = types
	it.seeds = seeds
	return nil
}

func (it *engine) RunFuzzWorker(run func(entry) error) error {
	it.run <- run
	select {} // the test stays where it is
}

func (it *engine) start(worker string) {
	for name, value := range map[string]string{"test.run": "^$", "test.fuzz": "^" + name + "$", "test.fuzzcachedir": "/tmp", "test.fuzzworker": worker} {
		_ = goflag.Set(name, value)
	}
	it.ended <- testing.MainStart(it, nil, nil, []testing.InternalFuzzTarget{{Name: name, Fn: it.fuzz}}, nil).Run()
}

// Fuzz says which fuzz test it is.
func Fuzz(called, folder string, fuzz func(*testing.F)) {
	name, target = called, func(*Data) {}
	begin = func() {
		it := &engine{fuzz: fuzz, run: make(chan func(entry) error), ended: make(chan int)}
		_ = os.Chdir(folder)
		testing.Init()
		words := os.Args
		os.Args = words[:1] // the flags are libFuzzer's
		if !goflag.Parsed() {
			goflag.Parse()
		}
		os.Args = words
		saved := map[string]string{}
		goflag.VisitAll(func(each *goflag.Flag) { saved[each.Name] = each.Value.String() })
		go it.start("false")
		<-it.ended
		if it.types == nil {
			refuse("%s ended without a call of f.Fuzz", called)
		}
		go it.start("true")
		select {
		case run := <-it.run:
			target = it.caller(run)
		case <-it.ended:
			refuse("%s ended without a call of f.Fuzz", called)
		}
		for _, each := range []string{"test.run", "test.fuzz", "test.fuzzcachedir", "test.fuzzworker"} {
			_ = goflag.Set(each, saved[each])
		}
		if words[0] != "replay" && words[0] != "minimise" && words[0] != "cover" {
			it.plant()
		}
	}
}

func (it *engine) caller(run func(entry) error) func(*Data) {
	return func(d *Data) {
		values := make([]interface{}, 0, len(it.types))
		for _, each := range d.values(it.types) {
			values = append(values, each.Interface())
		}
		if err := run(entry{Values: values}); err != nil && !isExpected("", err.Error()) {
			failure = failed(err.Error())
		}
	}
}

// A panic, as package testing tells of it: set in, and with frames of its own.
func panicked(lines []string) *Found {
	var out, own strings.Builder
	for i, each := range lines {
		each = strings.TrimSpace(each)
		if i == 0 {
			each = each[strings.Index(each, "panic: "):] + "\n"
		} else if strings.Contains(each, ".go:") {
			each = "\t" + each
		}
		if strings.HasPrefix(each, "\t"+root) {
			own.WriteString(each)
		}
		out.WriteString(each + "\n")
	}
	return &Found{hash([]byte(own.String())), "\n" + out.String()}
}

// "--- FAIL: FuzzX (0.00s)\n    x_test.go:7: what it said"
func failed(text string) *Found {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, each := range lines {
		if strings.Contains(each, ".go:") && strings.Contains(each, ": panic: ") && i+1 < len(lines) && strings.Contains(lines[i+1], "goroutine ") {
			return panicked(lines[i:])
		}
	}
	said := strings.TrimSpace(lines[len(lines)-1])
	for _, each := range lines {
		if strings.HasPrefix(each, "    ") {
			said = strings.TrimSpace(each)
			break
		}
	}
	place, what, _ := strings.Cut(said, ": ")
	file, line, _ := strings.Cut(place, ":")
	return &Found{hash([]byte(place)),
		fmt.Sprintf("\n--- FAIL: %s\n\ngoroutine 1 [running]:\n%s(...)\n\t%s/%s:%s\n\n%s\n", what, name, here(), file, line, text)}
}

func here() string {
	folder, _ := os.Getwd()
	return folder
}

func (it *engine) plant() {
	for _, each := range it.seeds {
		if raw, ok := encode(each.Values); ok {
			leave(work+"/corpus/"+hash(raw), raw)
		}
	}
}

// ---- files of `go test -fuzz` ----

var errForm = errors.New("not one that is known")

func parseInteger(name, text string) (interface{}, error) {
	if value, _, _, err := strconv.UnquoteChar(strings.Trim(text, "'"), '\''); err == nil && strings.HasPrefix(text, "'") {
		text = strconv.Itoa(int(value))
	}
	if strings.HasPrefix(name, "uint") || name == "byte" {
		value, err := strconv.ParseUint(text, 0, 64)
		return map[string]interface{}{"uint": uint(value), "uint8": uint8(value), "byte": uint8(value), "uint16": uint16(value), "uint32": uint32(value),
			"uint64": value}[name], err
	}
	value, err := strconv.ParseInt(text, 0, 64)
	return map[string]interface{}{"int": int(value), "int8": int8(value), "int16": int16(value), "int32": int32(value), "rune": int32(value),
		"int64": value}[name], err
}

func parseValue(name, text string) (interface{}, error) {
	switch name {
	case "[]byte":
		value, err := strconv.Unquote(text)
		return []byte(value), err
	case "string":
		value, err := strconv.Unquote(text)
		return value, err
	case "bool":
		return text == "true", nil
	case "float32":
		value, err := strconv.ParseFloat(text, 32)
		return float32(value), err
	case "float64":
		value, err := strconv.ParseFloat(text, 64)
		return value, err
	case "math.Float32frombits":
		value, err := strconv.ParseUint(text, 0, 32)
		return math.Float32frombits(uint32(value)), err
	case "math.Float64frombits":
		value, err := strconv.ParseUint(text, 0, 64)
		return math.Float64frombits(value), err
	}
	value, err := parseInteger(name, text)
	if value == nil {
		return nil, errForm
	}
	return value, err
}

// "go test fuzz v1", then a line a value.
func parseCorpus(text string) (list []interface{}, ok bool) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if strings.TrimSpace(lines[0]) != "go test fuzz v1" {
		return nil, false
	}
	for _, each := range lines[1:] {
		each = strings.TrimSpace(each)
		open := strings.Index(each, "(")
		if open < 0 || !strings.HasSuffix(each, ")") {
			return nil, false
		}
		value, err := parseValue(each[:open], each[open+1:len(each)-1])
		if err != nil {
			return nil, false
		}
		list = append(list, value)
	}
	return list, true
}

// ---- as a test of its own: without clang, and for coverage ----

// Corpus does what the words say that are in the environment: "replay FILE" and such, "cover FOLDER", "raw FILE OUT".
func Corpus(t *testing.T) {
	asked := append(strings.Fields(os.Getenv("HOTCELL_WORDS")), "", "", "")
	if asked[0] == "raw" {
		text, _ := os.ReadFile(asked[1])
		if raw, ok := raw(text); ok {
			leave(asked[2], raw)
		}
		return
	}
	Start()
	files, _ := os.ReadDir(asked[1])
	for _, each := range files {
		if raw, err := os.ReadFile(filepath.Join(asked[1], each.Name())); err == nil && each.Type().IsRegular() {
			_ = one(raw)
		}
	}
}

// Engine is Go's own.
func Engine(f *testing.F, worker bool) {
	Start()
	files, _ := os.ReadDir(work + "/corpus")
	for _, each := range files {
		if raw, err := os.ReadFile(filepath.Join(work, "corpus", each.Name())); err == nil && each.Type().IsRegular() {
			f.Add(raw)
		}
	}
	if !worker {
		go gather()
	}
	f.Fuzz(func(t *testing.T, raw []byte) { One(raw) })
}

// What Go's engine found worth keeping, for the corpus that others read, too.
func gather() {
	known := map[string]bool{}
	for {
		time.Sleep(time.Second)
		files, _ := os.ReadDir("/tmp/cache/FuzzHotcell")
		for _, each := range files {
			text, err := os.ReadFile("/tmp/cache/FuzzHotcell/" + each.Name())
			if known[each.Name()] || err != nil {
				continue
			}
			known[each.Name()] = true
			if raw, ok := raw(text); ok {
				leave(work+"/corpus/"+each.Name(), raw)
			}
		}
	}
}

func raw(text []byte) ([]byte, bool) {
	if values, ok := parseCorpus(string(bytes.TrimSpace(text))); ok && len(values) == 1 {
		raw, ok := values[0].([]byte)
		return raw, ok
	}
	return nil, false
}
