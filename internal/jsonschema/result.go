package jsonschema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

var (
	duration  = reflect.TypeFor[time.Duration]()
	marshaler = reflect.TypeFor[json.Marshaler]()
	texter    = reflect.TypeFor[encoding.TextMarshaler]()
)

// Result describes what encoding/json writes of values of a type, for programs that read
// it. Of the fields' tags it reads `json` and `doc`. Programs must let pass properties
// that they do not know: later versions may have more.
func Result(t reflect.Type) Schema { return result(t, nil) }

// result is Result below types that are being described: one that has itself is anything.
func result(t reflect.Type, within []reflect.Type) Schema {
	switch pointer := reflect.PointerTo(t); {
	case t == duration:
		return Scalar("integer")
	case t.Implements(marshaler) || pointer.Implements(marshaler):
		if own, ok := reflect.New(t).Interface().(interface{ ResultSchema() map[string]any }); ok {
			return own.ResultSchema()
		}
		return Schema{} // a form of its own
	case t.Implements(texter) || pointer.Implements(texter):
		return Scalar("string")
	}

	switch t.Kind() {
	case reflect.Bool:
		return Scalar("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Scalar("integer")
	case reflect.Float32, reflect.Float64:
		return Scalar("number")
	case reflect.String:
		return Scalar("string")
	case reflect.Pointer:
		return orNull(result(t.Elem(), within))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return orNull(Scalar("string"))
		}
		return orNull(Schema{"type": "array", "items": result(t.Elem(), within)})
	case reflect.Array:
		return Schema{"type": "array", "items": result(t.Elem(), within), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return orNull(Schema{"type": "object", "additionalProperties": result(t.Elem(), within)})
	case reflect.Struct:
		if slices.Contains(within, t) {
			return Schema{}
		}
		return properties(t, append(within, t))
	}
	return Schema{}
}

// properties describes the object that is written of a struct.
func properties(t reflect.Type, within []reflect.Type) Schema {
	all, required := Schema{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, more, _ := strings.Cut(tag, ",")
		inside := len(f.Index) > 1
		switch {
		case !f.IsExported() && !f.Anonymous, tag == "-", f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct:
			continue // the fields of an embedded struct come by themselves
		case inside && hides(t, f):
			continue
		case name == "":
			name = f.Name
		}
		s := Described(result(f.Type, within), f.Tag.Get("doc"))
		all[name] = s
		if strings.Contains(more, "omit") {
			all[name] = present(s)
			continue
		}
		required = append(required, name)
	}
	slices.Sort(required)
	return Schema{"type": "object", "properties": all, "required": required}
}

// hides reports whether a struct on the way to a field is no embedded one, and so writes
// the field below a name of its own.
func hides(t reflect.Type, f reflect.StructField) bool {
	for _, i := range f.Index[:len(f.Index)-1] {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		outer := t.Field(i)
		if _, tagged := outer.Tag.Lookup("json"); tagged {
			return true
		}
		t = outer.Type
	}
	return false
}

// orNull accepts null, too.
func orNull(s Schema) Schema {
	if len(s) == 0 {
		return s
	}
	return anyOf(s, Scalar("null"))
}

// present is the schema of a property that is left out if it is nothing: it is never
// null.
func present(s Schema) Schema {
	either, ok := s["anyOf"].([]any)
	if !ok {
		return s
	}
	one := either[0].(Schema)
	if text, ok := s["description"].(string); ok {
		one = Described(one, text)
	}
	return one
}
