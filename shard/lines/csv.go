package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// CSV is a table, whose first row has the names of its columns. The values of .tsv files
// are separated by tabs, and others by commas.
type CSV struct{ packing }

var (
	_ shard.Unpacker = CSV{}
	_ shard.Lenient  = CSV{}
	_ shard.Headed   = CSV{}
	_ shard.Textual  = CSV{}
)

// Seen fails as Schema does.
func (CSV) Seen([]byte) ([]shard.Seen, error) { return nil, errHeadless }

// Optional implements [shard.Lenient]. A table cannot tell text that is empty from none.
func (CSV) Optional(t sample.Type) bool { return t.Kind != sample.Tensor || isFloat(t) }

// Strictly returns the same: of rows nothing is known before With.
func (c CSV) Strictly(shard.Reading) shard.Parser { return c }

// Textual implements [shard.Textual].
func (CSV) Textual() {}

// Name returns "csv".
func (CSV) Name() string { return "csv" }

// Suffixes returns ".csv", ".tsv" and those of packed files.
func (CSV) Suffixes() []string { return suffixes(".csv", ".tsv") }

// maxHeader is more than the names of any table take.
const maxHeader = 16 << 20

// Scan finds the rows, and checks that each has as many values as there are names.
func (CSV) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	comma := byte(',')
	name := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(f.Name()), ".gz"), ".zst")
	if strings.HasSuffix(name, ".tsv") {
		comma = '\t'
	}
	return scan(ctx, f, found, &csvRows{comma: comma, commas: []byte{comma}})
}

// csvState is where in a value a row is.
type csvState uint8

const (
	fieldStart csvState = iota // nothing of the value was seen
	inPlain                    // a value that began without a quote
	inQuotes
	afterQuote // in a value in quotes, after one that may end it
)

type csvRows struct {
	comma  byte
	commas []byte
	state  csvState
	fields int    // that have ended in this row
	any    bool   // the row has a character
	header []byte // until it has ended
	names  int    // how many; 0: the header has not ended
}

// piece follows quotes, which may hide commas and line breaks.
func (c *csvRows) piece(s *splitter, p []byte) error {
	if c.names == 0 {
		if len(c.header)+len(p) > maxHeader {
			return s.wrong(shard.ErrUnsupported, "the names of the columns have more than %d bytes", maxHeader)
		}
		c.header = append(c.header, p...)
	}
	// A carriage return before the line feed is no character of the row.
	c.any = c.any || len(p) > 1 || p[0] != '\r'
	if c.state != inQuotes && bytes.IndexByte(p, '"') < 0 {
		c.fields += bytes.Count(p, c.commas)
		c.state = inPlain
		if p[len(p)-1] == c.comma {
			c.state = fieldStart
		}
		return nil
	}

	for len(p) > 0 {
		if c.state == inQuotes {
			n := bytes.IndexByte(p, '"')
			if n < 0 {
				return nil
			}
			p = p[n+1:]
			c.state = afterQuote
			continue
		}
		switch b := p[0]; {
		case b == c.comma:
			c.fields++
			c.state = fieldStart
		case b == '"' && (c.state == fieldStart || c.state == afterQuote):
			c.state = inQuotes
		default:
			c.state = inPlain
		}
		p = p[1:]
	}
	return nil
}

func (c *csvRows) end(s *splitter, at int64) error {
	if c.state == inQuotes {
		if c.names == 0 {
			c.header = append(c.header, '\n')
		}
		return nil
	}

	end := s.trim(at)
	switch {
	case !c.any: // an empty row
	case c.names == 0:
		c.names = c.fields + 1
		s.found.Header = append([]byte{c.comma}, c.header...)
		header := s.found.Header
		if s.found.Replaces {
			header = shard.Replaced(header)
		}
		if _, err := newTable(header); err != nil {
			return s.wrong(shard.ErrUnsupported, "%v", err)
		}
	case c.fields+1 != c.names:
		return s.wrong(shard.ErrCorrupt, "it has %d values, and there are %d columns", c.fields+1, c.names)
	default:
		if err := s.sample("", end); err != nil {
			return err
		}
	}

	c.state, c.fields, c.any = fieldStart, 0, false
	s.begin = at + 1
	return nil
}

func (c *csvRows) finish(s *splitter) error {
	if c.state == inQuotes {
		return s.wrong(shard.ErrTruncated, "a quote does not end, in the row that begins at byte %d", s.begin)
	}
	return c.end(s, s.at)
}

// Schema fails: the names are in the header, which With has.
func (CSV) Schema([]byte) (sample.Schema, error) { return nil, errHeadless }

// Parse fails as Schema does.
func (CSV) Parse(_ []byte, _ []sample.Field, _ []shard.Value, scratch []byte) ([]byte, error) {
	return scratch, errHeadless
}

var errHeadless = fmt.Errorf("%w: rows of CSV without the names of their columns", shard.ErrUnsupported)

// With returns the parser of a table with these columns.
func (CSV) With(header []byte) (shard.Parser, error) {
	t, err := newTable(header)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	return t, nil
}

// table is CSV with the names of its columns.
type table struct {
	CSV
	comma   byte
	names   []string
	reading shard.Reading
}

// Strictly implements [shard.Lenient].
func (t *table) Strictly(r shard.Reading) shard.Parser {
	return &table{comma: t.comma, names: t.names, reading: r}
}

func newTable(header []byte) (*table, error) {
	if len(header) == 0 {
		return &table{comma: ','}, nil
	}
	t := &table{comma: header[0]}
	row := header[1:]
	for more := true; more; {
		var v []byte
		var err error
		if v, row, more, _, err = t.field(row, nil); err != nil {
			return nil, err
		}
		if !utf8.Valid(v) {
			return nil, fmt.Errorf("the name of column %d, %q, is not UTF-8: write it as UTF-8, "+
				"or replace it with errors=\"replace\"", len(t.names)+1, v)
		}
		if len(v) > 0 && slices.Contains(t.names, string(v)) {
			return nil, fmt.Errorf("two columns are called %q", v)
		}
		t.names = append(t.names, string(v))
	}
	return t, nil
}

// field takes the next value of a row. more says that another one follows. A value that
// is not in the row as it is, is appended to scratch.
func (t *table) field(row, scratch []byte) (v, rest []byte, more bool, grown []byte, err error) {
	if len(row) == 0 || row[0] != '"' {
		n := bytes.IndexByte(row, t.comma)
		if n < 0 {
			return bytes.TrimSuffix(row, []byte("\r")), nil, false, scratch, nil
		}
		return row[:n], row[n+1:], true, scratch, nil
	}

	row = row[1:]
	n := bytes.IndexByte(row, '"')
	if n >= 0 && (n+1 == len(row) || row[n+1] == t.comma) {
		if n+1 == len(row) {
			return row[:n], nil, false, scratch, nil
		}
		return row[:n], row[n+2:], true, scratch, nil
	}

	// Quotes that are doubled, or text after the closing one, which belongs to the
	// value as Python has it.
	begin := len(scratch)
	quoted := true
	for i := 0; i < len(row); i++ {
		b := row[i]
		switch {
		case quoted && b == '"' && i+1 < len(row) && row[i+1] == '"':
			scratch = append(scratch, '"')
			i++
		case quoted && b == '"':
			quoted = false
		case !quoted && b == t.comma:
			return scratch[begin:], row[i+1:], true, scratch, nil
		case !quoted && b == '\r' && i+1 == len(row):
		default:
			scratch = append(scratch, b)
		}
	}
	if quoted {
		return nil, nil, false, scratch, fmt.Errorf("%w: a quote does not end", shard.ErrTruncated)
	}
	return scratch[begin:], nil, false, scratch, nil
}

// Schema takes values for numbers that read as such.
func (t *table) Schema(record []byte) (sample.Schema, error) {
	seen, err := t.Seen(record)
	var s sample.Schema
	for _, f := range seen {
		s = append(s, f.Field)
	}
	return s, err
}

// Seen implements [shard.Lenient].
func (t *table) Seen(record []byte) (all []shard.Seen, err error) {
	err = t.each(record, nil, func(i int, v, scratch []byte) ([]byte, error) {
		f := shard.Seen{Field: sample.Field{Name: t.names[i], Type: sample.TextType}, Open: len(v) == 0, Null: len(v) == 0}
		if f.Name == "" { // as of the index that pandas writes
			return scratch, nil
		}
		for _, d := range []tensor.DType{tensor.Int64, tensor.Float64} {
			if _, err := appendNumber(nil, d, v); (err == nil || errors.Is(err, errTooLarge)) && f.Type.Kind == sample.Text && !isWord(v) {
				f.Type = sample.TensorType(d)
			}
		}
		all = append(all, f)
		return scratch, nil
	})
	return all, err
}

// isWord tells text that reads as a number and is none, such as names and booleans.
func isWord(v []byte) bool {
	digits := false
	for _, c := range v {
		switch c {
		case 'x', 'X', 'p', 'P', '_':
			return true
		}
		digits = digits || c >= '0' && c <= '9'
	}
	return !digits
}

// each calls f for the values of a row.
func (t *table) each(row, scratch []byte, f func(i int, v, scratch []byte) ([]byte, error)) error {
	for i := range t.names {
		v, rest, more, grown, err := t.field(row, scratch)
		if err != nil {
			return err
		}
		if more != (i+1 < len(t.names)) {
			return fmt.Errorf("%w: it has another number of values than the %d columns", shard.ErrCorrupt, len(t.names))
		}
		if scratch, err = f(i, v, grown); err != nil {
			return err
		}
		row = rest
	}
	return nil
}

// Parse reads values of a row.
func (t *table) Parse(record []byte, want []sample.Field, into []shard.Value, scratch []byte) ([]byte, error) {
	for i, w := range want {
		if !slices.Contains(t.names, w.Name) {
			return scratch, fmt.Errorf("%w: %q; there are %q", shard.ErrNoField, w.Name, t.names)
		}
		into[i] = shard.Value{}
	}
	if t.reading.All {
		for _, name := range t.names {
			if name != "" && !slices.ContainsFunc(want, func(w sample.Field) bool { return w.Name == name }) {
				return scratch, fmt.Errorf("%w: %w", shard.ErrCorrupt, unexpected(name))
			}
		}
	}

	var out []byte
	err := t.each(record, scratch, func(column int, v, grown []byte) ([]byte, error) {
		for i, w := range want {
			if w.Name != t.names[column] {
				continue
			}
			if len(w.Type.Shape) > 0 {
				return nil, fmt.Errorf("%w: field %q: a table cannot hold %v", shard.ErrUnsupported, w.Name, w.Type)
			}
			if into[i].Null = len(v) == 0 && len(t.reading.Nullable) > 0 && t.reading.Nullable[i]; into[i].Null {
				continue
			}
			if w.Type.Kind != sample.Tensor {
				into[i].Bytes = v
				continue
			}
			before := len(grown)
			var err error
			found := len(t.reading.As) > 0 && t.reading.As[i] == shard.AsFound
			switch {
			case len(v) == 0:
				if grown, err = missing(grown, w.Type); err != nil {
					return nil, fmt.Errorf("field %q: %w", w.Name, err)
				}
			case found && isWord(v) && !bytes.ContainsAny(v, "nN"): // NaN and infinity are numbers
				err = notThat(w.Type.DType, v)
			default:
				grown, err = appendNumber(grown, w.Type.DType, v)
			}
			if err != nil {
				return nil, fmt.Errorf("%w: field %q: %w", shard.ErrCorrupt, w.Name, err)
			}
			into[i].Bytes = grown[before:]
		}
		out = grown
		return grown, nil
	})
	return out, err
}
