package headrace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"headrace/media"
	"headrace/recipe"
	"headrace/sample"
)

// Operation is what a program adds to the operations of recipes: [Register] gives it a name. It is a pointer to a struct whose fields are its
// arguments, and is shared by all samples: Do is called by several goroutines at once and changes nothing in it.
//
// In and Out are structs. Each of their fields has a tag with the name of the field of samples that it takes or gives:
//
//	type in struct {
//		Image media.Pixels `field:"image"`
//		Bytes []byte       `field:"bytes,take"`
//	}
//	type out struct {
//		Lightness float32 `field:"lightness"`
//	}
//
// A field is a bool, a number of a stated size (int64, uint8, float32, …), an array of these, text (string), bytes ([]byte) or an image
// (media.Pixels). What is given takes the place of a field of the same name, or is a new one, which batches then have too. A field
// that In takes with ",take" is not passed on. In may besides have a [Rand], a [Canvas] and a sample.ID, without tags.
//
// What In holds is the sample's: it must not be kept after the call, and changed only where Out gives it back under the same name. What
// Out holds is given away.
//
// An error is the failure of the sample, as is a panic; the error pipe.Skip drops it without one. A step whose failures say so tries again: Do is then called with
// the same In, which it must have left as it was. With a time limit, Do may still run when it is called for the same sample again. The context ends when the loader is stopped. At most
// as many operations run at once as there are cores to use, so Do should compute and not wait.
//
// An operation may have two methods more, called before anything runs:
//
//	Check() error                                // what is wrong with the arguments; recipe.Wrong names one
//	Result(media.Form) (media.Form, error)       // what becomes of the form of the image
//
// Without Result the image that Out gives has the form of the one in In. Result is given that form, or the zero Form where In has no image;
// a height or width may be media.Unknown, before and after. It is asked again for each sample, by several goroutines at once, for how much
// memory will be needed.
type Operation[In, Out any] interface {
	Do(ctx context.Context, in In) (Out, error)
}

// Register adds an operation, so that recipes can name it. New returns one whose fields hold their defaults; they have the tags `json`, the name of the
// argument, and `doc`, a sentence about it; `choices`, `min` and `max` may say what it takes. The random numbers of an operation are those of its step's name in a recipe.
//
// A saved state counts arguments as part of the recipe, but not the code: it cannot tell that an operation has been changed.
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
		return fmt.Errorf("headrace: operation %q gives the image %q and reads none: it needs a method Result(media.Form) (media.Form, error) that says of which form", name, sig.gives.name)
	}
	return recipe.Register(recipe.Op{Name: name, Doc: doc, New: func() recipe.Args { return &held[In, Out]{new()} }})
}

// Args makes arguments of a recipe's step of an operation that was registered:
//
//	recipe.Step{Args: headrace.Args(&Solarize{Threshold: 100})}
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
	if _, unwritten := h.MarshalJSON(); unwritten != nil { // states tell recipes apart by what is written of them
		err = errors.Join(err, fmt.Errorf("has arguments that cannot be written: %w", unwritten))
	}
	return out, err
}

// resulter and checker are what an operation may have besides Do.
type (
	resulter interface {
		Result(media.Form) (media.Form, error)
	}
	checker interface{ Check() error }
)

// checkArguments refuses what cannot be written in a recipe, or would mean something else when it is read again.
func checkArguments(op any) error {
	v := reflect.ValueOf(op)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("is %T: takes a pointer to a struct, whose fields are the arguments", op)
	}
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(v.Elem().Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (f.Type.Kind() != reflect.Struct || f.Tag.Get("json") != "") {
			return fmt.Errorf("it embeds %v: takes structs without a tag, whose fields are arguments too", f.Type)
		}
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		name = cmp.Or(name, f.Name)
		switch {
		case seen[name]:
			return fmt.Errorf("two of its arguments are called %q", name)
		case options != "": // what is left out would be read as the default, and text as no number
			return fmt.Errorf("its argument %s has the tag json:%q: takes a name alone", f.Name, f.Tag.Get("json"))
		case !writable(f.Type):
			return fmt.Errorf("its argument %s is a %v: takes bool, int, int64, uint64, float64, string, and pointers, lists and arrays of these", f.Name, f.Type)
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
			slices.Contains([]reflect.Kind{reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64, reflect.String}, t.Kind())
	}
}
