package lines

import (
	"bytes"
	"context"
	"fmt"

	"headrace/sample"
	"headrace/shard"
	"headrace/shard/index"
)

// JSONL is a JSON object on each line.
type JSONL struct{ packing }

var (
	_ shard.Unpacker = JSONL{}
	_ shard.Lenient  = JSONL{}
)

// Lenient says that fields are read as the types that a user says.
func (JSONL) Lenient() {}

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
	var s sample.Schema
	err := walkObject(record, func(path string, v jsonValue) error {
		if path != "" && s.Find(path) < 0 {
			s = append(s, sample.Field{Name: path, Type: v.fieldType()})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	return s, nil
}

// Parse reads values of a record. Text is what a string says, and JSON where the value is
// something else.
func (JSONL) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	clear(into[:len(want)])
	err := walkWanted(record, want, func(i int, v jsonValue) (err error) {
		if into[i] = (shard.Value{}); v.null() {
			return nil
		}
		if into[i], scratch, err = v.as(want[i].Type, scratch); err != nil {
			return fmt.Errorf("field %q: %w", want[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return scratch, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	for i, w := range want {
		if w.Type.Kind != sample.Tensor || into[i].Bytes != nil || into[i].Shape != nil {
			continue
		}
		before := len(scratch)
		if scratch, err = missing(scratch, w); err != nil {
			return scratch, fmt.Errorf("%w: field %q: %w", shard.ErrCorrupt, w.Name, err)
		}
		into[i].Bytes = scratch[before:]
	}
	return scratch, nil
}
