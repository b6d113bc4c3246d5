package custom

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Operation is what headrace.Operation says.
type Operation[In, Out any] interface {
	Do(ctx context.Context, in In) (Out, error)
}

// Register adds an operation to those that recipes can name.
func Register[In, Out any](name, doc string, new func() Operation[In, Out]) error {
	sig, err := signatureOf(reflect.TypeFor[In](), reflect.TypeFor[Out]())
	if err != nil {
		return fmt.Errorf("headrace: operation %q: %w", name, err)
	}
	if new == nil {
		return fmt.Errorf("headrace: operation %q: its function is nil", name)
	}
	op := new()
	if err := checkArguments(op); err != nil {
		return fmt.Errorf("headrace: operation %q: %w", name, err)
	}
	if _, ok := op.(resulter); sig.gives != nil && sig.shows == nil && !ok {
		return fmt.Errorf("headrace: operation %q gives the image %q and reads none: "+
			"it needs a method Result(media.Form) (media.Form, error) for its form", name, sig.gives.name)
	}
	return recipe.Register(recipe.Op{Name: name, Doc: doc, New: func() recipe.Args { return &held[In, Out]{new()} }})
}

// Args makes arguments of a step of an operation.
func Args[In, Out any](op Operation[In, Out]) recipe.Args { return &held[In, Out]{op} }

// held is an operation as the arguments of a step.
type held[In, Out any] struct{ op Operation[In, Out] }

// Held implements recipe.Holder.
func (h *held[In, Out]) Held() any { return h.op }

// MarshalJSON writes the arguments.
func (h *held[In, Out]) MarshalJSON() ([]byte, error) { return json.Marshal(h.op) }

// Check implements recipe.Args.
func (h *held[In, Out]) Check(in sample.Schema) (sample.Schema, error) {
	sig, err := signatureOf(reflect.TypeFor[In](), reflect.TypeFor[Out]())
	if err != nil {
		return in, err
	}
	out, err := sig.check(in, h.op)
	return out, errors.Join(err, checkWritten(h.op))
}

// checkWritten refuses arguments that no recipe can have: states tell recipes apart by
// what is written of them.
func checkWritten(op any) error {
	if _, err := json.Marshal(op); err != nil {
		return fmt.Errorf("has arguments that cannot be written: %w", err)
	}
	return nil
}

// resulter and checker are what an operation may have besides Do.
type (
	resulter interface {
		Result(media.Form) (media.Form, error)
	}
	checker interface{ Check() error }
)

// checkArguments refuses what cannot be written in a recipe, or would mean something else
// when it is read again.
func checkArguments(op any) error {
	v := reflect.ValueOf(op)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("is %T: must be a pointer to a struct, whose fields are the arguments", op)
	}

	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(v.Elem().Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		// With a tag its fields would be nested in JSON, and arguments have one level.
		if f.Anonymous && (f.Type.Kind() != reflect.Struct || f.Tag.Get("json") != "") {
			return fmt.Errorf("it embeds %v: only structs without a tag may be embedded", f.Type)
		}
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}

		name = cmp.Or(name, f.Name)
		switch {
		case seen[name]:
			return fmt.Errorf("two of its arguments are called %q", name)
		case options != "": // what is left out would be read as the default, and text as no number
			return fmt.Errorf("its argument %s has the tag json:%q: must be a name alone", f.Name, f.Tag.Get("json"))
		case !writable(f.Type):
			return fmt.Errorf("its argument %s is a %v: must be bool, int, int64, uint64, "+
				"float64, string, and pointers, lists and arrays of these", f.Name, f.Type)
		}
		seen[name] = true
	}
	return nil
}

// writable tells whether recipes can hold a value of the type.
func writable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || writable(t.Elem())
	default:
		return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) ||
			slices.Contains([]reflect.Kind{reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64,
				reflect.Float64, reflect.String}, t.Kind())
	}
}
