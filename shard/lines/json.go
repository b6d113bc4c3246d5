package lines

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
)

// A reader of JSON that finds values and leaves them where they are. What it accepts is
// what Python's json does, except halves of surrogate pairs: numbers can be NaN and
// Infinity, and of a name that comes twice the last counts.

// jsonValue is the text of a value, without blanks around.
type jsonValue []byte

func (v jsonValue) null() bool { return string(v) == "null" }

// maxNesting is as deep as Python goes.
const maxNesting = 900

type jsonReader struct {
	b     []byte
	at    int
	depth int
	all   bool // everything is wanted

	replaces bool // U+FFFD for what is not UTF-8 in names
	dots     bool // a name has one, so two members may have one path
}

// jsonError says where in the record something is wrong.
func (r *jsonReader) wrong(what string) error {
	return fmt.Errorf("column %d: %s", r.at+1, what)
}

func (r *jsonReader) blanks() {
	for r.at < len(r.b) {
		switch r.b[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// next returns the next byte that is not blank; 0: there is none.
func (r *jsonReader) next() byte {
	if r.blanks(); r.at < len(r.b) {
		return r.b[r.at]
	}
	return 0
}

// expect takes a byte.
func (r *jsonReader) expect(c byte) error {
	switch got := r.next(); {
	case r.at >= len(r.b):
		return r.wrong(fmt.Sprintf("it ends where %q should follow", c))
	case got != c:
		return r.wrong(fmt.Sprintf("%q where %q should follow", got, c))
	}
	r.at++
	return nil
}

// object calls each for the values of an object, which reads them. name is what is
// between the quotes.
func (r *jsonReader) object(each func(name []byte) error) error {
	return r.members('{', '}', func() error {
		name, err := r.value()
		if err != nil {
			return err
		}
		if name[0] != '"' {
			return r.wrong("a name is not a string")
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		return each(name[1 : len(name)-1])
	})
}

// members calls each for what is between brackets, separated by commas.
func (r *jsonReader) members(open, closing byte, each func() error) error {
	if r.depth++; r.depth > maxNesting {
		return r.wrong("it is nested too deeply")
	}
	if err := r.expect(open); err != nil {
		return err
	}
	for first := true; ; first = false {
		switch c := r.next(); {
		case c == closing:
			r.at++
			r.depth--
			return nil
		case !first:
			if err := r.expect(','); err != nil {
				return err
			}
			if r.next() == closing {
				return r.wrong("nothing follows a comma")
			}
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// value reads over a value.
func (r *jsonReader) value() (jsonValue, error) {
	c := r.next()
	begin := r.at
	var err error
	switch {
	case r.at >= len(r.b):
		err = r.wrong("it ends where a value should follow")
	case c == '"':
		err = r.str()
	case c == '{':
		err = r.object(func([]byte) error { _, err := r.value(); return err })
	case c == '[':
		err = r.members('[', ']', func() error { _, err := r.value(); return err })
	case beginsNumber(c):
		err = r.number()
	default:
		for _, word := range []string{"true", "false", "null"} {
			if bytes.HasPrefix(r.b[r.at:], []byte(word)) {
				r.at += len(word)
				return r.b[begin:r.at], nil
			}
		}
		err = r.wrong(fmt.Sprintf("%q does not begin a value", c))
	}
	return r.b[begin:r.at], err
}

// str reads over a string. What its escapes say is not looked at.
func (r *jsonReader) str() error {
	for i := r.at + 1; i < len(r.b); i++ {
		n := bytes.IndexByte(r.b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for r.b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			r.at = i + 1
			return nil
		}
	}
	return r.wrong("a string does not end")
}

func (r *jsonReader) number() error {
	rest := r.b[r.at:]
	n := numberLength(rest)
	for _, word := range [...]string{"NaN", "Infinity", "-Infinity"} {
		if n == 0 && bytes.HasPrefix(rest, []byte(word)) {
			n = len(word)
		}
	}
	if n == 0 {
		return r.wrong("a number is malformed")
	}
	r.at += n
	return nil
}

// numberLength is how long the number is that text begins with.
func numberLength(b []byte) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}

	if i+1 < len(b) && b[i] == '.' && b[i+1] >= '0' && b[i+1] <= '9' {
		i++
		digits()
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		end := i
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			i = end
		}
	}
	return i
}

// name appends what a name says, and notes whether it has a dot.
func (r *jsonReader) name(dst, name []byte) ([]byte, error) {
	if isPlain(name) {
		return append(dst, name...), nil
	}
	begin := len(dst)
	dst, err := unquote(dst, name)
	if err != nil {
		return dst, r.wrong(err.Error())
	}
	if !utf8.Valid(dst[begin:]) {
		if !r.replaces {
			return dst, r.wrong(fmt.Sprintf("the name %q is not UTF-8: write it as UTF-8, "+
				"or replace it with errors=\"replace\"", dst[begin:]))
		}
		dst = append(dst[:begin], shard.Replaced(dst[begin:])...)
	}
	r.dots = r.dots || hasDot(dst[begin:])
	return dst, nil
}

// isPlain tells a name of ASCII without dots and escapes, as most are: one look at its
// bytes will do.
func isPlain(name []byte) bool {
	for _, c := range name {
		if c == '.' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unquote appends what a string says, whose quotes are taken away. Half of a surrogate
// pair is an error, as UTF-8 has none.
func unquote(dst, s []byte) ([]byte, error) {
	for len(s) > 0 {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return append(dst, s...), nil
		}
		dst = append(dst, s[:n]...)
		if s = s[n+1:]; len(s) == 0 {
			return dst, errors.New("an escape is not complete")
		}

		c := s[0]
		s = s[1:]
		if c == 'u' {
			v, ok := hex4(s)
			if !ok {
				return dst, errors.New("an escape is not Unicode")
			}
			s = s[4:]
			if utf16.IsSurrogate(v) {
				low := rune(-1)
				if len(s) > 1 && s[0] == '\\' && s[1] == 'u' {
					if l, ok := hex4(s[2:]); ok {
						low = l
					}
				}
				half := v
				if v = utf16.DecodeRune(v, low); v == utf8.RuneError {
					return dst, fmt.Errorf("the escape \\u%04x is half of a surrogate pair, which UTF-8 cannot have", half)
				}
				s = s[6:]
			}
			dst = utf8.AppendRune(dst, v)
			continue
		}

		i := strings.IndexByte(`"\/bfnrt`, c)
		if i < 0 {
			return dst, fmt.Errorf("the escape \\%c is not known", c)
		}
		dst = append(dst, "\"\\/\b\f\n\r\t"[i])
	}
	return dst, nil
}

func hex4(s []byte) (v rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// walkObject calls each for all values of a record that are no objects. dots says that a
// name has one.
func walkObject(record []byte, each func(path string, v jsonValue) error) (dots bool, err error) {
	r := jsonReader{b: record}
	if err := r.walk("", each); err != nil {
		return false, err
	}
	return r.dots, r.ended()
}

func (r *jsonReader) ended() error {
	if r.next(); r.at < len(r.b) {
		return r.wrong("something follows the object")
	}
	return nil
}

func (r *jsonReader) walk(above string, each func(path string, v jsonValue) error) error {
	return r.object(func(name []byte) error {
		plain, err := r.name(nil, name)
		if err != nil {
			return err
		}
		path := above + string(plain)
		if r.next() == '{' {
			return r.walk(path+".", each)
		}
		v, err := r.value()
		if err != nil {
			return err
		}
		return each(path, v)
	})
}

// walkWanted calls each for the values that are wanted, which reads them, and reads over
// the others, unless there may be none.
func walkWanted(record []byte, want []sample.Field, how shard.Reading, each func(r *jsonReader, i int) error) error {
	r := jsonReader{b: record, all: how.All, replaces: how.Replaces}
	if err := r.wanted(nil, want, each); err != nil {
		return err
	}
	if r.dots {
		found, err := clashes(record, how.Replaces)
		if err != nil {
			return err
		}
		for _, w := range want {
			if why := found[w.Name]; why != "" {
				return errors.New(why)
			}
		}
	}
	return r.ended()
}

func (r *jsonReader) wanted(above []byte, want []sample.Field, each func(r *jsonReader, i int) error) error {
	return r.object(func(name []byte) error {
		path, err := r.name(above, name)
		if err != nil {
			return err
		}

		whole, inside := -1, false
		for i := range want {
			w := want[i].Name
			whole = pickIf(string(path) == w, i, whole)
			inside = inside || len(w) > len(path) && w[len(path)] == '.' && w[:len(path)] == string(path)
		}
		begin := r.at
		if (inside || r.all && whole < 0) && r.next() == '{' {
			if err := r.wanted(append(path, '.'), want, each); err != nil {
				return err
			}
			if whole < 0 {
				return nil
			}
		}

		if whole < 0 {
			v, err := r.value()
			if err == nil && r.all && !v.null() {
				err = unexpected(string(path))
			}
			return err
		}
		for i := range want { // a field may be wanted twice
			if want[i].Name == want[whole].Name {
				r.at = begin
				if err := each(r, i); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// unexpected is the error of a field that the records which were looked at lack.
func unexpected(path string) error {
	return fmt.Errorf("it has the field %q, which the first ones lack: name the fields to read, in fields", path)
}

func pickIf(b bool, x, y int) int {
	if b {
		return x
	}
	return y
}

// seen is what a value is taken for.
func (v jsonValue) seen() (f shard.Seen) {
	f.Type = sample.TextType
	switch v[0] {
	case 't', 'f':
		f.Type = sample.TensorType(tensor.Bool)
	case '[':
		var a arrayType
		switch a.look(v, 0); {
		case a.none:
			var d textlist.Depth
			if v.lookForText(&d, 1); d.Axes() > 0 {
				f.Type.Shape = slices.Repeat([]int{tensor.Unknown}, d.Axes())
			} else {
				f.Source = true
			}
		case !a.d.Valid():
			f.Open = true
		default:
			f.Type = sample.TensorType(a.d, append([]int{tensor.Unknown}, a.shape[1:]...)...)
		}
	case 'n':
		f.Open, f.Null = true, true
	case '"':
	default:
		f.Type = sample.TensorType(v.number())
	}
	return f
}

// number is the type of a number.
func (v jsonValue) number() tensor.DType {
	if bytes.ContainsAny(v, ".eENI") {
		return tensor.Float64
	}
	return tensor.Int64
}

func (v jsonValue) isNumber() bool { return beginsNumber(v[0]) }

// beginsNumber reports whether a value that begins so is a number; NaN and Infinity are
// among them, as Python writes them.
func beginsNumber(c byte) bool {
	switch c {
	case '-', 'N', 'I':
		return true
	}
	return c >= '0' && c <= '9'
}

func (v jsonValue) isBool() bool { return v[0] == 't' || v[0] == 'f' }

// mostAxes is how many axes an array of lists can have.
const mostAxes = 8

// arrayType finds out what array a list is: its elements are all numbers or all booleans,
// and lists in it are equally long.
type arrayType struct {
	d     tensor.DType // Invalid: there is no element
	shape []int        // -1: not known yet
	depth int          // at which elements are; 0: not known
	none  bool         // it is no array
}

func (a *arrayType) look(v jsonValue, axis int) {
	if axis == mostAxes || a.depth > 0 && axis >= a.depth {
		a.none = true
		return
	}
	if axis == len(a.shape) {
		a.shape = append(a.shape, -1)
	}
	n := 0
	r := jsonReader{b: v}
	err := r.members('[', ']', func() error {
		e, err := r.value()
		if err != nil {
			return err
		}
		n++
		switch {
		case e[0] == '[':
			a.look(e, axis+1)
		case e.isNumber() || e.isBool():
			a.element(e, axis+1)
		default:
			a.none = a.none || !e.null()
		}
		if a.none {
			return errors.New("no array")
		}
		return nil
	})
	switch {
	case err != nil || a.shape[axis] >= 0 && a.shape[axis] != n:
		a.none = true
	case axis > 0:
		a.shape[axis] = n
	}
}

func (a *arrayType) element(e jsonValue, depth int) {
	d := tensor.Bool
	if e.isNumber() {
		d = e.number()
	}
	switch {
	case a.depth > 0 && a.depth != depth, len(a.shape) > depth: // a list was there before
		a.none = true
	case a.d.Valid() && (d == tensor.Bool) != (a.d == tensor.Bool):
		a.none = true
	case a.d != tensor.Float64:
		a.d = d
	}
	a.depth = depth
}

// as makes a value what is wanted.
func (v jsonValue) as(t sample.Type, how shard.As, scratch []byte) (shard.Value, []byte, error) {
	if t.Kind == sample.Text && len(t.Shape) > 0 {
		return v.texts(t, how, scratch)
	}
	if t.Kind != sample.Tensor {
		return v.text(how, scratch)
	}
	before := len(scratch)
	if len(t.Shape) == 0 {
		scratch, err := v.append(scratch, t.DType, how)
		return shard.Value{Bytes: scratch[before:]}, scratch, err
	}
	if len(t.Shape) > mostAxes {
		return shard.Value{}, scratch, fmt.Errorf("%v has more than %d axes", t, mostAxes)
	}
	shape := slices.Clone([]int(t.Shape))
	scratch, err := v.array(scratch, t.DType, shape, how)
	for axis, n := range shape {
		shape[axis] = max(n, 0) // of an empty list
	}
	return shard.Value{Bytes: scratch[before:], Shape: shape}, scratch, err
}

// convert is what to do about a value of another type than the first.
const convert = "give the field's type in fields, such as str, to convert its values"

func (v jsonValue) text(how shard.As, scratch []byte) (shard.Value, []byte, error) {
	switch {
	case v[0] != '"' && how == shard.AsFound:
		return shard.Value{}, scratch, fmt.Errorf("it is %.40s, and the first value is text: "+convert, v)
	case v[0] != '[' && v[0] != '{' && how == shard.AsSource:
		return shard.Value{}, scratch, fmt.Errorf("it is %.40s, and the first value is a list or an object: "+convert, v)
	case v[0] != '"':
		return shard.Value{Bytes: v}, scratch, nil
	}
	s := v[1 : len(v)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return shard.Value{Bytes: s}, scratch, nil
	}
	before := len(scratch)
	scratch, err := unquote(scratch, s)
	return shard.Value{Bytes: scratch[before:]}, scratch, err
}

// lookForText finds out how deep lists of text are.
func (v jsonValue) lookForText(d *textlist.Depth, axis int) {
	if d.List(axis); d.None() {
		return
	}
	r := jsonReader{b: v}
	err := r.members('[', ']', func() error {
		e, err := r.value()
		switch {
		case err != nil || e.null():
		case e[0] == '"':
			d.Text(axis)
		case e[0] == '[':
			e.lookForText(d, axis+1)
		default:
			d.Other()
		}
		return err
	})
	if err != nil {
		d.Other()
	}
}

// texts makes a stream of a list of text.
func (v jsonValue) texts(t sample.Type, how shard.As, scratch []byte) (shard.Value, []byte, error) {
	if scratch == nil {
		scratch = []byte{} // an empty list is one
	}
	before := len(scratch)
	scratch, err := v.stream(scratch, len(t.Shape), 1, how)
	return shard.Value{Bytes: slices.Clip(scratch[before:])}, scratch, err
}

func (v jsonValue) stream(scratch []byte, axes, axis int, how shard.As) ([]byte, error) {
	if v[0] != '[' {
		return scratch, fmt.Errorf("%.40s is not a list of text: "+convert, v)
	}
	r := jsonReader{b: v}
	err := r.members('[', ']', func() error {
		e, err := r.value()
		if err != nil {
			return err
		}
		switch {
		case e.null() && axis < axes:
			scratch = textlist.AppendMark(scratch, axis)
			return nil
		case e.null():
			scratch = textlist.AppendText(scratch, "")
			return nil
		case axis < axes:
			scratch, err = e.stream(textlist.AppendMark(scratch, axis), axes, axis+1, how)
			return err
		case e[0] != '"' && how != shard.AsSaid:
			return fmt.Errorf("%.40s is among its elements, and the first was text: "+convert, e)
		case e[0] != '"':
			scratch = textlist.AppendText(scratch, []byte(e))
			return nil
		}
		begin := len(scratch)
		scratch, err = unquote(textlist.AppendText(scratch, ""), e[1:len(e)-1])
		binary.LittleEndian.PutUint32(scratch[begin:], uint32(len(scratch)-begin-4))
		return err
	})
	return scratch, err
}

// append appends a number.
func (v jsonValue) append(scratch []byte, d tensor.DType, how shard.As) ([]byte, error) {
	if how == shard.AsFound && (v.isBool() != (d == tensor.Bool) || !v.isBool() && !v.isNumber()) {
		return scratch, fmt.Errorf("it is %.40s, and the first value is %v: "+convert, v, d)
	}
	return appendNumber(scratch, d, v)
}

// array appends the elements of a list, and sets the extents that are open.
func (v jsonValue) array(scratch []byte, d tensor.DType, shape []int, how shard.As) ([]byte, error) {
	if v[0] != '[' {
		return scratch, fmt.Errorf("%.20q is not a list of numbers", v)
	}
	n := 0
	r := jsonReader{b: v}
	err := r.members('[', ']', func() error {
		e, err := r.value()
		if err != nil {
			return err
		}
		n++
		switch {
		case len(shape) > 1:
			scratch, err = e.array(scratch, d, shape[1:], how)
		case e.null():
			scratch, err = appendMissing(scratch, d)
		default:
			scratch, err = e.append(scratch, d, how)
		}
		return err
	})
	switch {
	case err != nil:
		return scratch, err
	case shape[0] == tensor.Unknown:
		shape[0] = n
	case shape[0] != n:
		return scratch, fmt.Errorf("a list has %d elements, want %d", n, shape[0])
	}
	return scratch, nil
}
