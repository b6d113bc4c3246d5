package argument

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Complete returns the arguments with what the tags `default` of their fields say where
// nothing is given: text as it is, and else JSON. Arguments without such tags are
// returned themselves, and others as a copy.
func Complete[T any](args T) T {
	t := reflect.TypeOf(args)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || reflect.ValueOf(args).IsNil() {
		return args // what is wrong with them is found later
	}

	var whole reflect.Value
	for _, f := range Fields(t.Elem()) {
		usual, ok := f.Tag.Lookup("default")
		if !ok {
			continue
		}
		if !whole.IsValid() {
			whole = reflect.New(t.Elem())
			whole.Elem().Set(reflect.ValueOf(args).Elem())
		}
		if v := whole.Elem().FieldByIndex(f.Index); v.IsZero() {
			fill(v, usual)
		}
	}
	if !whole.IsValid() {
		return args
	}
	return whole.Interface().(T)
}

func fill(v reflect.Value, usual string) {
	if v.Kind() == reflect.String {
		v.SetString(usual)
	} else if err := json.Unmarshal([]byte(usual), v.Addr().Interface()); err != nil {
		panic(fmt.Sprintf("recipe: the default %s of a %v: %v", usual, v.Type(), err))
	}
}
