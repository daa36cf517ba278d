// Package harness calls one Go function with values made from bytes, for libFuzzer or `go test -fuzz`. Runs inside a cell.
//
//	HARNESS FLAG...                    as an engine: libFuzzer's flags and folders
//	HARNESS replay FILE                one input; exits with 77 where it does what it must not
//	HARNESS minimise FILE OUT SECONDS
//
// It goes on after a panic: each new one, told apart by its kind and the innermost frames of the target's code, is left in
// crashes/ as NAME.txt (as Go prints it), then NAME.input. What cannot be recovered from ends the process; go_engine.c sees
// that and keeps the input. What the target does to this process is judged outside: an input counts when it does the same
// in a fresh cell.
package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	work       = "/fuzz"
	root       = "/target/"
	exitFound  = 77
	exitHang   = 70
	textMax    = 65536
	crashesMax = 1000
	keyFrames  = 3
	lingering  = 100 * time.Millisecond
	ownFrame   = "of_hotcell" // in the files of ours, and in their packages
)

var (
	target   func(*Data) // what is fuzzed
	name     string
	begin    func() // what a target needs before it is called; may be nil
	expected = strings.Split(os.Getenv("HOTCELL_EXPECT"), "\n")
	seen     = map[string]bool{}
	met      = map[[16]uintptr]bool{}
	going    = false // on after what it found
	calls    uint32  // odd: one is going on
	current  []byte  // its input, as it was given
	stderr   = os.Stderr
	traced   = os.Getenv("HOTCELL_CORE") != ""
	words    = append(append([]string{}, os.Args[1:]...), "", "", "", "")
)

// Begun says that the target is called from now on, Told that this process ends as it means to.
var Begun, Told = func() {}, func() {}

// Found is something that a call must not do.
type Found struct {
	key, text string
}

// ---- what comes of a call ----

func safely(text func() string) (out string) {
	defer func() {
		if recover() != nil {
			out = "(it panics when it is told)"
		}
	}()
	return text()
}

// As Go prints what was given to panic.
func describe(value interface{}) (kind, text string) {
	switch it := value.(type) {
	case nil:
		return "nil", "nil"
	case runtime.Error:
		text = safely(it.Error)
		kind, _, _ = strings.Cut(text, " [")
		return kind, text
	case error:
		return fmt.Sprintf("%T", value), safely(it.Error)
	case fmt.Stringer:
		return fmt.Sprintf("%T", value), safely(it.String)
	case string:
		return "string", it
	}
	return fmt.Sprintf("%T", value), safely(func() string { return fmt.Sprintf("(%T) %+v", value, value) })
}

func isExpected(kind, text string) bool {
	for _, each := range expected {
		if each != "" && (strings.Contains(text, each) || strings.Contains(kind, each)) {
			return true
		}
	}
	return false
}

// The frames below the panic: what is above it is this harness.
func frames() (list []runtime.Frame) {
	var places [256]uintptr
	walk := runtime.CallersFrames(places[:runtime.Callers(2, places[:])])
	panicked := false
	for more := true; more; {
		var frame runtime.Frame
		frame, more = walk.Next()
		if frame.Function == "runtime.gopanic" {
			panicked, list = true, list[:0]
		} else if panicked {
			list = append(list, frame)
		}
	}
	return list
}

func keyOf(kind string, list []runtime.Frame) string {
	sum, count := kind+"\n", 0
	for _, own := range []bool{true, false} {
		for _, frame := range list {
			if count < keyFrames && (!own || (strings.HasPrefix(frame.File, root) && !strings.Contains(frame.File, ownFrame))) {
				sum += fmt.Sprintln(frame.Function, frame.Line)
				count++
			}
		}
	}
	return hash([]byte(sum))
}

// A name for bytes: FNV-1a. What is better costs many packages that every target would be built with.
func hash(data []byte) string {
	sum := uint64(14695981039346656037)
	for _, each := range data {
		sum = (sum ^ uint64(each)) * 1099511628211
	}
	return fmt.Sprintf("%016x", sum)
}

func printed(text string, list []runtime.Frame) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\npanic: %s\n\ngoroutine 1 [running]:\n", text)
	for _, frame := range list {
		if strings.Contains(frame.File, ownFrame) && frame.Function != "" {
			break // what called the target
		}
		fmt.Fprintf(&out, "%s(...)\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
	}
	whole := out.String()
	if len(whole) > textMax {
		whole = whole[:textMax]
	}
	return whole
}

// Whether an engine met it before, by the addresses on its stack: most inputs near a fault come to it again, and telling what
// it is takes longer than a call.
func isOld() bool {
	var places [16]uintptr
	count := runtime.Callers(3, places[:])
	if !going {
		return false
	}
	_, old := met[places]
	if !old && count > 0 && len(met) < crashesMax {
		met[places] = true
	}
	return old
}

// One input. The target is given a copy, which it may keep and change.
func one(raw []byte) (found *Found) {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		atomic.AddUint32(&calls, 1)
		if isOld() {
			return
		}
		if kind, text := describe(value); !isExpected(kind, text) {
			if traced {
				abort()
			}
			list := frames()
			found = &Found{keyOf(kind, list), printed(text, list)}
		}
	}()
	current = raw
	atomic.AddUint32(&calls, 1)
	target(&Data{append([]byte(nil), raw...)})
	atomic.AddUint32(&calls, 1)
	returned = true
	if failure != nil { // of a harness that told of it
		found, failure = failure, nil
	}
	return found
}

var failure *Found

// ---- files ----

// Whole or not at all; whoever was first keeps the name.
func leave(path string, data []byte) {
	part := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	if os.WriteFile(part, data, 0644) == nil {
		_ = os.Link(part, path)
	}
	_ = os.Remove(part)
}

func leaveFound(found *Found, raw []byte) {
	if seen[found.key] || len(seen) >= crashesMax {
		return
	}
	seen[found.key] = true
	leave(filepath.Join(work, "crashes", found.key+".txt"), []byte(found.text))
	leave(filepath.Join(work, "crashes", found.key+".input"), raw)
}

// For whoever traces this process to have its core: by this thread, with all that called it still there.
func abort() {
	runtime.LockOSThread()
	_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGABRT))
}

func end(code int) {
	if code != 0 && traced {
		abort()
	}
	Told()
	os.Exit(code)
}

func refuse(format string, words ...interface{}) {
	fmt.Fprintf(stderr, format+"\n", words...)
	end(1)
}

// ---- an input that takes too long ----

func stacks() string {
	buf := make([]byte, 1<<20)
	all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	for _, each := range all {
		if strings.Contains(each, "harness_of_hotcell.one(") {
			return each
		}
	}
	return strings.Join(all, "\n\n")
}

func watch(seconds int, hang func(report string)) {
	last, ticks := uint32(0), 0
	for {
		time.Sleep(time.Second)
		now := atomic.LoadUint32(&calls)
		if now != last || now%2 == 0 {
			last, ticks = now, 0
			continue
		}
		if ticks++; ticks >= seconds {
			hang(fmt.Sprintf("\n==1== ERROR: libFuzzer: timeout after %d seconds\n%s\n", ticks, stacks()))
		}
	}
}

func flag(prefix, fallback string) string {
	for _, each := range os.Args[1:] {
		if strings.HasPrefix(each, prefix) {
			fallback = each[len(prefix):]
		}
	}
	return fallback
}

func secondsOf(text string) int {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 {
		return 10
	}
	return seconds
}

// ---- what it is called for ----

// Start makes ready. It does not return where one input was asked for.
func Start() {
	if asked := os.Getenv("HOTCELL_WORDS"); asked != "" {
		words = append(strings.Fields(asked), words...)
		Told = func() { _ = os.WriteFile("/tmp/told", nil, 0644) }
	}
	if limit, err := strconv.Atoi(os.Getenv("HOTCELL_STACK")); err == nil && limit > 0 {
		debug.SetMaxStack(limit)
	}
	if begin != nil {
		begin()
	}
	if target == nil {
		refuse("the function that is to be called is not there")
	}
	Begun()
	switch words[0] {
	case "replay":
		fmt.Fprintln(stderr) // what follows begins a line
		go watch(secondsOf(os.Getenv("HOTCELL_SECONDS")), func(report string) {
			fmt.Fprint(stderr, report)
			end(exitHang)
		})
		replay(words[1])
	case "minimise":
		minimise(words[1], words[2], words[3])
	case "cover":
	default:
		going = true
		go watch(secondsOf(flag("-timeout=", os.Getenv("HOTCELL_SECONDS"))), func(report string) {
			raw := current
			if os.Getenv("HOTCELL_WORDS") != "" { // an engine that does not take it from us
				leaveFound(&Found{hash(raw), report}, raw)
				end(exitHang)
			}
			path := flag("-artifact_prefix=", work+"/crashes/") + "timeout-" + hash(raw)
			_ = os.WriteFile(path, raw, 0644)
			fmt.Fprintf(stderr, "%sTest unit written to %s\n", report, path)
			end(exitHang)
		})
	}
}

func read(path string) []byte {
	raw, err := os.ReadFile(path)
	if err != nil {
		refuse("%v", err)
	}
	return raw
}

func replay(path string) {
	before := runtime.NumGoroutine()
	found := one(read(path))
	if found == nil && runtime.NumGoroutine() > before {
		time.Sleep(lingering) // what it began may fail later
	}
	if found != nil {
		fmt.Fprint(stderr, found.text)
		end(exitFound)
	}
	end(0)
}

type minimum struct {
	best, out, key string
	until          time.Time
}

// Whether it does the same; where it does, it is kept.
func (it *minimum) try(raw string) bool {
	found := one([]byte(raw))
	if found == nil || found.key != it.key {
		return false
	}
	it.best = raw
	if os.WriteFile(it.out+".part", []byte(raw), 0644) == nil {
		_ = os.Rename(it.out+".part", it.out)
	}
	return true
}

func (it *minimum) over() bool {
	return !time.Now().Before(it.until)
}

func (it *minimum) shorten() {
	for size := (len(it.best) + 1) / 2; size > 0; {
		shorter := false
		for at := 0; at < len(it.best) && !it.over(); {
			stop := at + size
			if stop > len(it.best) {
				stop = len(it.best)
			}
			if it.try(it.best[:at] + it.best[stop:]) {
				shorter = true
			} else {
				at += size
			}
		}
		if size > 1 {
			size /= 2
		} else if !shorter || it.over() {
			return
		}
	}
}

// Parts are taken away, then bytes made plain, as long as the same comes of it.
func minimise(path, out, seconds string) {
	it := &minimum{best: string(read(path)), out: out, until: time.Now().Add(time.Duration(secondsOf(seconds)) * time.Second)}
	found := one([]byte(it.best))
	if found == nil {
		end(1)
	}
	it.key = found.key
	it.shorten()
	for at := 0; at < len(it.best); at++ {
		for _, plain := range "0a A" {
			if it.best[at] == byte(plain) || it.over() || it.try(it.best[:at]+string(plain)+it.best[at+1:]) {
				break
			}
		}
	}
	end(0)
}

// One is an input of the engine's.
func One(raw []byte) {
	if found := one(raw); found != nil {
		leaveFound(found, raw)
	}
}
