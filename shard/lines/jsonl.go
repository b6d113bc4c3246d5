package lines

import (
	"bytes"
	"context"
	"fmt"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// JSONL is a JSON object on each line.
type JSONL struct{ packing }

var (
	_ shard.Unpacker = JSONL{}
	_ shard.Lenient  = JSONL{}
	_ shard.Textual  = JSONL{}
)

// Textual implements [shard.Textual].
func (JSONL) Textual() {}

// Name returns "jsonl".
func (JSONL) Name() string { return "jsonl" }

// Suffixes returns ".jsonl", ".ndjson", ".json" and those of packed files. A file that is
// one JSON array has the last of them too, and is refused.
func (JSONL) Suffixes() []string { return suffixes(".jsonl", ".ndjson", ".json") }

// Scan finds the lines that are not empty. Of each it looks at the first character alone.
func (JSONL) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	return scan(ctx, f, found, &jsonLines{})
}

type jsonLines struct{ object bool } // the line has begun, as an object does

func (l *jsonLines) piece(s *splitter, p []byte) error {
	if l.object {
		return nil
	}
	p = bytes.TrimLeft(p, " \t\r")
	switch {
	case len(p) == 0:
		return nil
	case p[0] == '[' && s.line == 1:
		return s.wrong(shard.ErrUnsupported, "it begins a JSON array; write an object on each line instead (jq -c '.[]')")
	case p[0] != '{':
		return s.wrong(shard.ErrCorrupt, "it begins with %q, and a JSON object begins with {", p[0])
	}
	l.object = true
	return nil
}

func (l *jsonLines) end(s *splitter, at int64) error {
	var err error
	if l.object {
		err = s.sample("", s.trim(at))
	}
	l.object = false
	s.begin = at + 1
	return err
}

func (l *jsonLines) finish(s *splitter) error { return l.end(s, s.at) }

// Schema returns the fields of an object: what is in other objects by its path.
func (JSONL) Schema(record []byte) (sample.Schema, error) {
	seen, err := JSONL{}.Seen(record)
	var s sample.Schema
	for _, f := range seen {
		if f.Refused == "" {
			s = append(s, f.Field)
		}
	}
	return s, err
}

// Seen implements [shard.Lenient].
func (JSONL) Seen(record []byte) (all []shard.Seen, err error) {
	known := map[string]bool{}
	dots, err := walkObject(record, func(path string, v jsonValue) error {
		if !known[path] {
			known[path] = true
			f := v.seen()
			if f.Name = path; path == "" {
				f.Refused = "its name is empty, and a field needs one"
			}
			all = append(all, f)
		}
		return nil
	})
	if err == nil && dots {
		var found map[string]string
		found, err = clashes(record, false)
		for i, f := range all {
			if why := found[f.Name]; why != "" {
				all[i].Refused = why
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	return all, nil
}

// Optional implements [shard.Lenient].
func (JSONL) Optional(t sample.Type) bool { return isFloat(t) }

// Strictly implements [shard.Lenient].
func (JSONL) Strictly(r shard.Reading) shard.Parser { return strictJSONL{reading: r} }

// strictJSONL is JSONL whose fields have the types of their first values.
type strictJSONL struct {
	JSONL
	reading shard.Reading
}

// Parse is that of JSONL without conversions.
func (p strictJSONL) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	return parseRecord(record, want, p.reading, into, scratch)
}

// Parse reads values of a record. Text is what a string says, and JSON where the value is
// something else.
func (JSONL) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	return parseRecord(record, want, shard.Reading{}, into, scratch)
}

func parseRecord(record []byte, want []sample.Field, how shard.Reading, into []shard.Value, scratch []byte) ([]byte, error) {
	clear(into[:len(want)])
	err := walkWanted(record, want, how, func(r *jsonReader, i int) (err error) {
		if t := want[i].Type; t.Kind == sample.Tensor && len(t.Shape) == 1 {
			before := len(scratch)
			if all, n, ok := r.wholes(scratch, t.DType, t.Shape[0]); ok {
				scratch, into[i] = all, shard.Value{Bytes: all[before:], Shape: []int{n}}
				return nil
			}
		}
		v, err := r.value()
		if into[i] = (shard.Value{}); err != nil || v.null() {
			return err
		}
		as := shard.AsSaid
		if len(how.As) > 0 {
			as = how.As[i]
		}
		if into[i], scratch, err = v.as(want[i].Type, as, scratch); err != nil {
			return fmt.Errorf("field %q: %w", want[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return scratch, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	for i, w := range want {
		if into[i].Bytes != nil || into[i].Shape != nil {
			continue
		}
		if into[i].Null = len(how.Nullable) > 0 && how.Nullable[i]; into[i].Null {
			continue
		}
		before := len(scratch)
		if scratch, err = missing(scratch, w.Type); err != nil {
			return scratch, fmt.Errorf("field %q: %w", w.Name, err)
		}
		into[i].Bytes = scratch[before:]
	}
	return scratch, nil
}
