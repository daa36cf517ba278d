package harness

// A function that is called with JSON documents, for --schema: a line each on descriptor 4, an answer a line on 3. Those are not
// the ones that the target has for stdin and stdout.

import (
	"bufio"
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"syscall"
)

const (
	answersFd   = 3
	documentsFd = 4
	answerMax   = 3500
)

type answer map[string]interface{}

type served struct {
	function reflect.Value
	names    []string // of its parameters
	taken    int      // of them by documents
}

var (
	jsonType = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
	textType = reflect.TypeOf((*encoding.TextUnmarshaler)(nil)).Elem()
)

// ---- values ----

func decodesItself(it reflect.Type) bool {
	return reflect.PtrTo(it).Implements(jsonType) || reflect.PtrTo(it).Implements(textType)
}

func isReader(it reflect.Type) bool {
	return it.Kind() == reflect.Interface && it.NumMethod() > 0 && (readerType.Implements(it) || bufferType.Implements(it))
}

// The type in it that no document has; nil: there is none. Fields of structs are only asked for where a document names them.
func undecodable(it reflect.Type, depth int) reflect.Type {
	switch kind := it.Kind(); {
	case decodesItself(it) || depth > depthMax:
		return nil
	case kind == reflect.Slice || kind == reflect.Array || kind == reflect.Ptr:
		return undecodable(it.Elem(), depth+1)
	case kind == reflect.Map:
		if key := it.Key(); key.Kind() != reflect.String && (key.Kind() < reflect.Int || key.Kind() > reflect.Uintptr) && !decodesItself(key) {
			return key
		}
		return undecodable(it.Elem(), depth+1)
	case kind == reflect.Interface && it.NumMethod() > 0,
		kind == reflect.Complex64, kind == reflect.Complex128, kind == reflect.Chan, kind == reflect.Func, kind == reflect.UnsafePointer:
		return it
	}
	return nil
}

func isServable(it reflect.Type) bool {
	return it == contextType || it == errorType || isReader(it) || undecodable(it, 0) == nil
}

// The text of a JSON string; of anything else, the document's own.
func textOf(raw []byte) (text string, isString bool) {
	isString = json.Unmarshal(raw, &text) == nil && raw[0] == '"'
	if !isString {
		text = string(raw)
	}
	return text, isString
}

// Whether it fits. Whole: it is all of the document.
func decode(to reflect.Value, raw []byte, whole bool) bool {
	it := to.Type()
	text, isString := textOf(raw)
	switch {
	case it == errorType && isString:
		to.Set(reflect.ValueOf(errors.New(text)))
	case it.Kind() == reflect.Interface && it.NumMethod() > 0 && !isString && string(raw) == "null":
	case it == errorType:
		return false
	case isReader(it) && readerType.Implements(it):
		to.Set(reflect.ValueOf(bytes.NewReader([]byte(text))))
	case isReader(it):
		to.Set(reflect.ValueOf(bytes.NewBufferString(text)))
	case isText(it) && !decodesItself(it) && (isString || whole):
		if it.Kind() == reflect.String {
			to.SetString(text)
		} else {
			to.SetBytes([]byte(text))
		}
	default:
		return json.Unmarshal(raw, to.Addr().Interface()) == nil
	}
	return true
}

// The members of an object whose keys are all names of parameters; nil: it is another document.
func (it *served) members(document []byte) (members map[string]json.RawMessage) {
	if json.Unmarshal(document, &members) != nil || (len(members) == 0 && it.taken == 1) {
		return nil
	}
	for key := range members {
		known := false
		for _, each := range it.names {
			known = known || (each == key && each != "_")
		}
		if !known {
			return nil
		}
	}
	return members
}

// Arguments made of a document; what is not in it is zero. Else why it does not fit, in words that nobody takes for an error's.
func (it *served) arguments(document []byte) (list []reflect.Value, misfit string) {
	kind := it.function.Type()
	members := it.members(document)
	if members == nil && it.taken != 1 {
		return nil, "the document is no object with the names of its parameters"
	}
	for i := 0; i < kind.NumIn(); i++ {
		value := reflect.New(kind.In(i)).Elem()
		list = append(list, value)
		if kind.In(i) == contextType {
			value.Set(reflect.ValueOf(context.Background()))
			continue
		}
		raw, is := members[it.names[i]]
		if members == nil {
			raw, is = document, true
		}
		if is && !decode(value, raw, members == nil) {
			return nil, fmt.Sprintf("its parameter %d is of type %v, and the value is none", i+1, kind.In(i))
		}
	}
	return list, ""
}

// ---- answers ----

// What it returned, if JSON has it and it is short; else its type.
func told(list []reflect.Value) (value interface{}) {
	var all []interface{}
	var types []string
	defer func() {
		if recover() != nil { // it tells itself, and fails at that
			value = strings.Join(types, ", ")
		}
	}()
	for _, each := range list {
		types = append(types, each.Type().String())
		all = append(all, each.Interface())
	}
	value = all
	if len(all) < 2 {
		value = append(all, nil)[0]
	}
	if text, err := json.Marshal(value); err == nil && len(text) <= answerMax {
		return json.RawMessage(text)
	}
	return strings.Join(types, ", ")
}

func (it *served) call(document []byte) answer {
	list, misfit := it.arguments(document)
	if misfit != "" {
		return answer{"rejected": misfit}
	}
	call := it.function.Call
	if it.function.Type().IsVariadic() {
		call = it.function.CallSlice
	}
	out := call(list)
	if last := len(out) - 1; last >= 0 && out[last].Type().Implements(errorType) {
		if kind := out[last].Kind(); (kind == reflect.Interface || kind == reflect.Ptr) && !out[last].IsNil() {
			return answer{"rejected": fmt.Sprintf("by %T, which it returned", out[last].Interface())}
		}
		out = out[:last]
	}
	return answer{"result": told(out)}
}

func answerOf(found *Found) answer {
	text := strings.TrimSpace(found.text)
	if len(text) > answerMax {
		text = text[:answerMax]
	}
	return answer{"exception": strings.SplitN(text, "\n", 2)[0], "traceback": text}
}

func (it *served) run() {
	syscall.CloseOnExec(answersFd)
	syscall.CloseOnExec(documentsFd)
	in, out := bufio.NewReader(os.NewFile(documentsFd, "documents")), os.NewFile(answersFd, "answers")
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			end(0)
		}
		var said answer
		target = func(d *Data) { said = it.call(d.bytes) }
		if found := one(bytes.TrimSpace(line)); found != nil {
			said = answerOf(found)
		} else if said == nil {
			said = answer{"rejected": "by a panic, which is declared"}
		}
		text, _ := json.Marshal(said)
		if _, err := out.Write(append(text, '\n')); err != nil {
			end(1)
		}
	}
}

// Serve says what is called with documents, and how its parameters are called.
func Serve(called string, function interface{}, names ...string) {
	it := &served{function: reflect.ValueOf(function), names: names}
	name, target = called, func(*Data) {}
	begin = func() { // and never ends it
		Told = func() {}
		for kind, i := it.function.Type(), 0; i < kind.NumIn(); i++ {
			if !isServable(kind.In(i)) {
				refuse("%s: its parameter %d, of type %v, cannot be made from a document", called, i+1, kind.In(i))
			}
			if kind.In(i) != contextType {
				it.taken++
			}
		}
		it.run()
	}
}
