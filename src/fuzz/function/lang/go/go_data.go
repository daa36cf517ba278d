package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
)

const (
	itemsMax = 8 // of a slice
	depthMax = 4 // of types in types
)

// Data is an input, or what is left of it. Numbers are taken from its end, texts from its beginning.
type Data struct {
	bytes []byte
}

// Number is an integer of so many bytes; where too few are left, the others are 0.
func (d *Data) Number(size int) (value uint64) {
	if size > len(d.bytes) {
		size = len(d.bytes)
	}
	left := len(d.bytes) - size
	for i, each := range d.bytes[left:] {
		value |= uint64(each) << (8 * i)
	}
	d.bytes = d.bytes[:left]
	return value
}

func (d *Data) Bool() bool       { return d.Number(1)&1 == 1 }
func (d *Data) Float32() float32 { return math.Float32frombits(uint32(d.Number(4))) }
func (d *Data) Float64() float64 { return math.Float64frombits(d.Number(8)) }

// Part is all that is left, where it is the last; else as many bytes as one of them says. Nothing can be had behind its end.
func (d *Data) Part(last bool) []byte {
	count := len(d.bytes)
	if !last {
		if count = int(d.Number(1)); count > len(d.bytes) {
			count = len(d.bytes)
		}
	}
	part := d.bytes[:count:count]
	d.bytes = d.bytes[count:]
	return part
}

// ---- any type ----

func isNumber(kind reflect.Kind) bool {
	return kind >= reflect.Bool && kind <= reflect.Complex128
}

func isText(it reflect.Type) bool {
	return it.Kind() == reflect.String || (it.Kind() == reflect.Slice && it.Elem().Kind() == reflect.Uint8)
}

var (
	contextType = reflect.TypeOf((*context.Context)(nil)).Elem()
	errorType   = reflect.TypeOf((*error)(nil)).Elem()
	readerType  = reflect.TypeOf((*bytes.Reader)(nil))
	bufferType  = reflect.TypeOf((*bytes.Buffer)(nil))
)

// The type in it that cannot be made; nil: all can.
func unmakeable(it reflect.Type, depth int) reflect.Type {
	switch kind := it.Kind(); {
	case isNumber(kind) || kind == reflect.String || depth > depthMax:
		return nil
	case kind == reflect.Slice || kind == reflect.Array || kind == reflect.Ptr:
		return unmakeable(it.Elem(), depth+1)
	case kind == reflect.Map:
		if bad := unmakeable(it.Key(), depth+1); bad != nil {
			return bad
		}
		return unmakeable(it.Elem(), depth+1)
	case kind == reflect.Struct:
		for i := 0; i < it.NumField(); i++ {
			if field := it.Field(i); field.PkgPath == "" {
				if bad := unmakeable(field.Type, depth+1); bad != nil {
					return bad
				}
			}
		}
		return nil
	case kind == reflect.Interface:
		if it.NumMethod() == 0 || it == contextType || it == errorType || readerType.Implements(it) || bufferType.Implements(it) {
			return nil
		}
	}
	return it
}

func (d *Data) number(to reflect.Value) {
	switch kind := to.Kind(); {
	case kind == reflect.Bool:
		to.SetBool(d.Bool())
	case kind >= reflect.Int && kind <= reflect.Int64:
		to.SetInt(int64(d.Number(int(to.Type().Size()))<<(64-8*to.Type().Size())) >> (64 - 8*to.Type().Size()))
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		to.SetUint(d.Number(int(to.Type().Size())))
	case kind == reflect.Float32:
		to.SetFloat(float64(d.Float32()))
	case kind == reflect.Float64:
		to.SetFloat(d.Float64())
	default:
		to.SetComplex(complex(d.Float64(), d.Float64()))
	}
}

func (d *Data) anything(to reflect.Value) {
	var value interface{}
	switch it := to.Type(); {
	case it == contextType:
		value = context.Background()
	case it == errorType:
		value = errors.New(string(d.Part(false)))
	case it.NumMethod() > 0 && readerType.Implements(it):
		value = bytes.NewReader(d.Part(false))
	case it.NumMethod() > 0:
		value = bytes.NewBuffer(d.Part(false))
	default:
		switch d.Number(1) % 6 {
		case 0:
			return
		case 1:
			value = d.Bool()
		case 2:
			value = int(d.Number(8))
		case 3:
			value = d.Float64()
		case 4:
			value = d.Part(false)
		default:
			value = string(d.Part(false))
		}
	}
	to.Set(reflect.ValueOf(value))
}

func (d *Data) fill(to reflect.Value, depth int) {
	if depth > depthMax {
		return
	}
	switch it := to.Type(); {
	case isText(it):
		d.text(to, false)
	case isNumber(to.Kind()):
		d.number(to)
	case to.Kind() == reflect.Interface:
		d.anything(to)
	case to.Kind() == reflect.Ptr:
		if d.Number(1)%8 != 0 {
			to.Set(reflect.New(it.Elem()))
			d.fill(to.Elem(), depth+1)
		}
	case to.Kind() == reflect.Slice:
		to.Set(reflect.MakeSlice(it, int(d.Number(1)%(itemsMax+1)), itemsMax))
		fallthrough
	case to.Kind() == reflect.Array:
		for i := 0; i < to.Len(); i++ {
			d.fill(to.Index(i), depth+1)
		}
	case to.Kind() == reflect.Map:
		to.Set(reflect.MakeMap(it))
		for count := d.Number(1) % (itemsMax + 1); count > 0; count-- {
			key, value := reflect.New(it.Key()).Elem(), reflect.New(it.Elem()).Elem()
			d.fill(key, depth+1)
			d.fill(value, depth+1)
			if key.Type().Comparable() && key.Kind() != reflect.Interface {
				to.SetMapIndex(key, value)
			}
		}
	case to.Kind() == reflect.Struct:
		for i := 0; i < to.NumField(); i++ {
			if it.Field(i).PkgPath == "" {
				d.fill(to.Field(i), depth+1)
			}
		}
	}
}

func (d *Data) text(to reflect.Value, last bool) {
	if to.Kind() == reflect.String {
		to.SetString(string(d.Part(last)))
	} else {
		to.SetBytes(d.Part(last))
	}
}

// Values of these types: numbers, then what has parts, then the last text, which is what the others left.
func (d *Data) values(types []reflect.Type) []reflect.Value {
	list := make([]reflect.Value, len(types))
	last := -1
	for i, each := range types {
		list[i] = reflect.New(each).Elem()
		if isNumber(each.Kind()) {
			d.number(list[i])
		} else if isText(each) {
			last = i
		}
	}
	for i, each := range types {
		if i != last && !isNumber(each.Kind()) {
			d.fill(list[i], 0)
		}
	}
	if last >= 0 {
		d.text(list[last], true)
	}
	return list
}

// The input that values() makes these of; false: there is none, or they are of other types than those of fuzz tests.
func encode(list []interface{}) ([]byte, bool) {
	var body, tail []byte
	last := -1
	put := func(value uint64, size int) {
		number := make([]byte, size)
		for i := range number {
			number[i] = byte(value >> (8 * i))
		}
		tail = append(number, tail...)
	}
	for i, each := range list {
		it := reflect.ValueOf(each)
		switch kind := it.Kind(); {
		case kind == reflect.Invalid:
			return nil, false
		case isText(it.Type()):
			last = i
		case kind == reflect.Bool:
			put(map[bool]uint64{true: 1}[it.Bool()], 1)
		case kind >= reflect.Int && kind <= reflect.Int64:
			put(uint64(it.Int()), int(it.Type().Size()))
		case kind >= reflect.Uint && kind <= reflect.Uint64:
			put(it.Uint(), int(it.Type().Size()))
		case kind == reflect.Float32:
			put(uint64(math.Float32bits(float32(it.Float()))), 4)
		case kind == reflect.Float64:
			put(math.Float64bits(it.Float()), 8)
		default:
			return nil, false
		}
	}
	for i, each := range list {
		it := reflect.ValueOf(each)
		if !isText(it.Type()) {
			continue
		}
		text := fmt.Sprintf("%s", each)
		if i != last {
			if len(text) > 255 {
				return nil, false
			}
			put(uint64(len(text)), 1)
		}
		body = append(body, text...)
	}
	return append(body, tail...), true
}

// ---- registering ----

func typesOf(it reflect.Type, from int, who string) (list []reflect.Type) {
	for i := from; i < it.NumIn(); i++ {
		if bad := unmakeable(it.In(i), 0); bad != nil {
			refuse("%s: its parameter %d, of type %v, cannot be made from bytes (%v); write a fuzz test, FuzzXxx", who, i+1-from, it.In(i),
				bad)
		}
		list = append(list, it.In(i))
	}
	return list
}

// Function says what is fuzzed: it, by a call that makes the arguments, or by its type.
func Function(called string, it interface{}, call func(*Data)) {
	name, target = called, call
	if call != nil {
		return
	}
	begin = func() {
		value := reflect.ValueOf(it)
		types := typesOf(value.Type(), 0, called)
		target = func(d *Data) {
			list := d.values(types)
			if value.Type().IsVariadic() {
				_ = value.CallSlice(list)
			} else {
				_ = value.Call(list)
			}
		}
	}
	target = func(*Data) {}
}
