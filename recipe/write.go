package recipe

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace/internal/format"
	"github.com/headrace/headrace/internal/rawjson"
)

// MarshalJSON writes r complete, without the names that steps have by default: equal
// recipes give equal text.
func (r Recipe) MarshalJSON() ([]byte, error) {
	steps, err := Chain(defaultNames{}.without(r.Complete().Steps)).MarshalJSON()
	if err != nil {
		return nil, r.unwritable(err)
	}
	return fmt.Appendf(nil, `{"headrace":%d,"seed":%d,"steps":%s}`, Version, r.Seed, steps), nil
}

// unwritable says which step cannot be written.
func (r Recipe) unwritable(err error) error {
	for i, s := range r.Complete().All() {
		if n, ok := s.Args.(Nesting); ok {
			s.Args = n.With(make([]Chain, len(n.Chains())))
		}
		if _, err := json.Marshal(s.Args); err != nil {
			return &Error{Step: i, Name: s.Name, Path: "args", Err: fmt.Errorf("cannot be written: %w", err)}
		}
		if _, err := json.Marshal(s.Failures); err != nil {
			return &Error{Step: i, Name: s.Name, Path: "failures", Err: fmt.Errorf("cannot be written: %w", err)}
		}
	}
	return err
}

// MarshalJSON writes a list of steps.
func (c Chain) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, s := range c {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = s.append(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func (s Step) append(b []byte) ([]byte, error) {
	args, err := plainJSON(s.Args)
	if err != nil {
		return nil, err
	}
	if string(args) == "{}" && s.Name == "" && s.Failures == nil {
		return rawjson.AppendQuote(b, s.Op), nil
	}
	b = append(append(rawjson.AppendQuote(append(b, '{'), s.Op), ':'), args...)
	if s.Name != "" {
		b = rawjson.AppendQuote(append(b, `,"name":`...), s.Name)
	}
	if s.Failures != nil {
		failures, err := plainJSON(s.Failures)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"failures":`...), failures...)
	}
	return append(b, '}'), nil
}

// plainJSON writes a value without the escapes that are for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// defaultNames counts the steps of each operation, as completion does.
type defaultNames map[string]int

// without returns steps of which those have no name that would get just this one.
func (d defaultNames) without(steps []Step) []Step {
	all := make([]Step, len(steps))
	for i, s := range steps {
		if d[s.Op]++; s.Name == numbered(s.Op, d[s.Op]) {
			s.Name = ""
		}
		if n, ok := s.Args.(Nesting); ok {
			s.Args = n.With(each(n.Chains(), d.without))
		}
		all[i] = s
	}
	return all
}

// UnmarshalJSON reads as [Parse] does.
func (r *Recipe) UnmarshalJSON(b []byte) (err error) {
	*r, err = Parse(b)
	return err
}

// YAML writes r as a file for people: complete, but without the names that steps have by
// default. [Read] makes the same recipe of it. It is nil where an argument has no form at
// all, as NaN has none.
func (r Recipe) YAML() []byte { return File{Recipe: r}.YAML() }

// YAML writes the recipe and its section "loader", if it has one. Variables are replaced.
func (f File) YAML() []byte { return f.write(format.YAML) }

// JSON writes what [File.YAML] does, in JSON. What "${" means in files makes it differ
// from what [Recipe.MarshalJSON] writes.
func (f File) JSON() []byte { return f.write(format.JSON) }

func (f File) write(as func([]format.Section) []byte) []byte {
	doc, err := f.Recipe.MarshalJSON()
	if err != nil {
		return nil
	}
	var all []format.Section
	for quoted, member := range rawjson.Value(doc).Members() {
		key, _ := rawjson.Unquote(quoted)
		all = append(all, format.Section{Key: key, Value: member})
	}
	if f.Loader != nil {
		all = append(all, format.Section{Key: "loader", Value: bytes.TrimSpace(f.Loader)})
	}
	return as(all)
}
