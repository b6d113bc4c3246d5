// Package counters reads the tags that describe the numbers of a struct, and does what
// follows from these: intervals, sums, and the tables of the docs.
//
//	type Shards struct {
//		Read int64 `json:"read_bytes" counter:"bytes" doc:"bytes read from shards"`
//		Open int64 `json:"open" gauge:"files" doc:"shards that are open"`
//	}
//
// A counter only grows, so the difference of two readings has come between them. A gauge
// has its value of the moment. The tag has the unit of the number in JSON; doc describes
// it. A field with doc alone is a label: whose numbers these are.
//
// Numbers are int, int64, time.Duration or float64, or pointers to int64, which are nil
// if nobody knows the number. Structs within the struct, and behind pointers, are treated
// likewise. Lists are their owner's business, who knows which elements belong together.
//
// # Concurrency
//
// [Load] may be called while others add to the numbers with package sync/atomic. All else
// is for values that nobody changes.
//
// # Testing
//
// The tests of this package have structs of their own; those of package stats check that
// every number of a loader is described.
package counters

import (
	"reflect"
	"strings"
	"sync/atomic"
)

// Kinds of figures.
const (
	CounterKind = "counter"
	GaugeKind   = "gauge"
	LabelKind   = "" // no number: it says whose numbers these are
)

// Figure describes a field.
type Figure struct {
	Name string // in JSON
	Kind string // CounterKind, GaugeKind or LabelKind
	Unit string // of the number as it is in JSON; "": it has none
	Doc  string // its description, without a capital and a full stop
}

// Of describes the fields of a struct type that are in JSON, in their order. Those of
// embedded structs are among them; other structs within are types of their own.
func Of(t reflect.Type) (all []Figure) {
	for field := range t.Fields() {
		if field.Anonymous {
			all = append(all, Of(field.Type)...)
			continue
		}
		if f := FigureOf(field); f.Name != "-" {
			all = append(all, f)
		}
	}
	return all
}

// FigureOf describes a field.
func FigureOf(field reflect.StructField) Figure {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	kind, unit := kindOf(field)
	return Figure{name, kind, unit, field.Tag.Get("doc")}
}

func kindOf(field reflect.StructField) (kind, unit string) {
	for _, kind := range []string{CounterKind, GaugeKind} {
		if unit, tagged := field.Tag.Lookup(kind); tagged {
			return kind, unit
		}
	}
	return LabelKind, ""
}

// Add adds the counters of other to those of s, so many times: -1 for the interval since
// other. Gauges stay.
func Add[T any](s *T, times int64, other T) {
	walk(reflect.ValueOf(s).Elem(), reflect.ValueOf(other), func(field reflect.StructField, to, more reflect.Value) {
		if kind, _ := kindOf(field); kind == CounterKind {
			add(to, times, more)
		}
	})
}

// AddClocks is [Add] for the counters of time alone.
func AddClocks[T any](s *T, times int64, other T) {
	walk(reflect.ValueOf(s).Elem(), reflect.ValueOf(other), func(field reflect.StructField, to, more reflect.Value) {
		if kind, unit := kindOf(field); kind == CounterKind && unit == "ns" {
			add(to, times, more)
		}
	})
}

// Merge adds counters and gauges, for two things that are shown as one.
func Merge[T any](s *T, other T) {
	walk(reflect.ValueOf(s).Elem(), reflect.ValueOf(other), func(field reflect.StructField, to, more reflect.Value) {
		if kind, _ := kindOf(field); kind != LabelKind {
			add(to, 1, more)
		}
	})
}

// Load reads counters that others are adding to, each by itself.
func Load[T any](s *T) (now T) {
	walk(reflect.ValueOf(&now).Elem(), reflect.ValueOf(s).Elem(), func(_ reflect.StructField, to, from reflect.Value) {
		to.SetInt(atomic.LoadInt64(from.Addr().Interface().(*int64)))
	})
	return now
}

// walk visits the fields of two structs of one type that have tags.
func walk(to, from reflect.Value, visit func(field reflect.StructField, to, from reflect.Value)) {
	for i := range to.NumField() {
		field, a, b := to.Type().Field(i), to.Field(i), from.Field(i)
		if !field.IsExported() && !field.Anonymous {
			continue
		}
		if kind, _ := kindOf(field); kind != LabelKind {
			visit(field, a, b)
			continue
		}
		if a.Kind() == reflect.Pointer && !a.IsNil() && a.Elem().Kind() == reflect.Struct {
			if b.IsNil() {
				a.SetZero() // unknown at one of two moments, unknown between them
				continue
			}
			own := reflect.New(a.Type().Elem()) // others may have the pointer, too
			own.Elem().Set(a.Elem())
			a.Set(own)
			a, b = own.Elem(), b.Elem()
		}
		if a.Kind() == reflect.Struct {
			walk(a, b, visit)
		}
	}
}

// add adds a number of a struct so many times to another. Unknown is not 0: a sum that
// has it in it is unknown.
func add(to reflect.Value, times int64, more reflect.Value) {
	switch to.Kind() {
	case reflect.Pointer:
		if to.IsNil() || more.IsNil() {
			to.SetZero()
			return
		}
		to.Set(reflect.ValueOf(new(to.Elem().Int() + times*more.Elem().Int())))
	case reflect.Float64:
		to.SetFloat(to.Float() + float64(times)*more.Float())
	default:
		to.SetInt(to.Int() + times*more.Int())
	}
}
