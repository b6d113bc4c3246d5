package argument

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// CheckTags holds arguments against the tags of their fields: `choices`, `min` and `max`,
// and `required`, which a pointer, a list, text that JSON leaves out where it is empty,
// and what has a method IsZero can lack.
func CheckTags(args any) error {
	args = Struct(args)
	var errs []error
	v := reflect.ValueOf(args).Elem()
	for _, f := range Fields(v.Type()) {
		errs = append(errs, checkTag(args, f, v.FieldByIndex(f.Index)))
	}
	return errors.Join(errs...)
}

func checkTag(args any, f reflect.StructField, v reflect.Value) error {
	name := Name(f)
	if lacking(f, v) {
		return Given(name, !Required(f))
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}

	least, most := f.Tag.Get("min"), f.Tag.Get("max")
	switch {
	case v.Kind() == reflect.String && f.Tag.Get("choices") != "":
		return OneOf(name, v.String(), choices(args, name))
	case v.CanInt():
		return within(name, float64(v.Int()), least, most)
	case v.CanUint():
		return within(name, float64(v.Uint()), least, most)
	case v.CanFloat():
		return within(name, v.Float(), least, most)
	}
	return nil
}

// lacking tells whether an argument is not given, as far as its type shows that.
func lacking(f reflect.StructField, v reflect.Value) bool {
	if own, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return own.IsZero()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0 && strings.Contains(f.Tag.Get("json"), ",omitempty")
	}
	return false
}

// within says what is wrong with a number that has limits; "" is none.
func within(name string, x float64, least, most string) error {
	low, noLow := strconv.ParseFloat(least, 64)
	high, noHigh := strconv.ParseFloat(most, 64)
	if (noLow != nil || x >= low) && (noHigh != nil || x <= high) {
		return nil
	}

	must := fmt.Sprintf("from %s to %s", least, most)
	switch {
	case noLow != nil:
		must = "at most " + most
	case noHigh != nil:
		must = "at least " + least
	}
	return Wrong(name, "is %s: must be %s", inDigits(x), must)
}

// inDigits writes a number as its limits are written, without an exponent, unless that
// is long.
func inDigits(x float64) string {
	if digits := strconv.FormatFloat(x, 'f', -1, 64); len(digits) <= len("-9223372036854775808") {
		return digits
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
