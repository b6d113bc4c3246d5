package shard

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tensor"
)

// Reader reads some fields of samples.
type Reader struct {
	d       *Dataset
	columns []column
	want    []sample.Field // of records
	reading Reading
	wiring  []wiringOf
}

// Types are those of the fields that are read.
func (r *Reader) Types() (all []sample.Type) {
	for _, c := range r.columns {
		all = append(all, c.Type)
	}
	return all
}

func (r *Reader) wires(shard int, s *index.Segment) (*wiring, error) {
	if w := r.wiring[shard].Load(); w != nil {
		return w, nil
	}
	numbersOf := func(names []string, has func(name string) int) (all []int) {
		for _, name := range names {
			if at := has(name); at >= 0 {
				all = append(all, at)
			}
		}
		return all
	}
	part := func(name string) int {
		return slices.IndexFunc(s.Fields, func(f index.Field) bool { return f.Name == name })
	}
	w := &wiring{record: numbersOf([]string{""}, part)}
	for _, c := range r.columns {
		var at []int
		var of numbered
		switch c.how {
		case asIs, parsed, member, decimal, codes:
			at = numbersOf(c.parts, part)
		case number, derived:
			of = numberOf(s, c.From)
		}
		w.field, w.number = append(w.field, at), append(w.number, of)
	}
	if len(r.want) > 0 {
		var err error
		if w.parser, err = r.d.parserOf(shard, s); err != nil {
			return nil, err
		}
		if l, ok := w.parser.(Lenient); ok {
			w.parser = l.Strictly(r.reading)
		}
	}
	r.wiring[shard].Store(w)
	return w, nil
}

// parserOf returns what reads the records of a shard.
func (d *Dataset) parserOf(shard int, s *index.Segment) (Parser, error) {
	name := d.shards[shard].key
	switch f := d.formatOf(shard).(type) {
	case Headed:
		header := s.Header
		if _, ok := f.(Textual); ok && d.replaces {
			header = Replaced(header)
		}
		p, err := f.With(header)
		if err != nil {
			return nil, &Error{Shard: name, At: -1, Err: err}
		}
		return p, nil
	case Parser:
		return f, nil
	}
	return nil, &Error{Shard: name, At: -1, Err: index.ErrDamaged}
}

// Locate finds out where a sample is, and how many bytes reading it takes. It reads
// nothing.
func (r *Reader) Locate(i int64, p *Place) error {
	r.d.life.RLock()
	defer r.d.life.RUnlock()
	if r.d.closed {
		return ErrClosed
	}
	return r.locate(i, p)
}

func (r *Reader) locate(i int64, p *Place) error {
	p.shard, p.in = r.d.index.Find(i)
	var err error
	if p.segment, err = r.d.segment(p.shard); err != nil {
		return err
	}
	if p.wires, err = r.wires(p.shard, p.segment); err != nil {
		return err
	}
	if p.parts, err = p.segment.Parts(p.in, p.parts[:0]); err != nil {
		return &Error{Shard: r.d.shards[p.shard].key, At: -1, Err: err}
	}

	size, head := r.d.index.Shards[p.shard].Size, int64(0)
	if f, ok := r.d.Format.(Preceded); ok {
		head = f.Head()
	}
	p.unpacked = p.segment.Blocks() > 0
	p.wanted = p.wanted[:0]
	p.chosen = slices.Grow(p.chosen[:0], len(r.columns))[:len(r.columns)]
	for k := range r.columns {
		at := p.wires.field[k]
		switch r.columns[k].how {
		case asIs, parsed, member, decimal, codes:
		case field:
			at = p.wires.record
		default:
			continue
		}
		part := p.find(at)
		switch {
		case part == nil && r.columns[k].nullable():
			p.chosen[k] = noPart
			continue
		case part == nil:
			return r.lacks(p, &r.columns[k])
		case !p.unpacked && (part.At > size-part.Len || part.At < head):
			return &Error{Shard: r.d.shards[p.shard].key, At: part.At, Err: index.ErrDamaged}
		}
		p.chosen[k] = *part
		if !r.columns[k].IsNull || r.columns[k].how == member || r.columns[k].how == field {
			p.want(*part)
		}
	}

	p.spans, p.Bytes = p.spans[:0], 0
	for _, w := range p.wanted {
		w.At, w.Len = w.At-head, w.Len+head
		if w.Len < 0 || w.Len > math.MaxInt64-p.Bytes {
			return &Error{Shard: r.d.shards[p.shard].key, At: w.At, Err: index.ErrDamaged}
		}
		if n := len(p.spans); n > 0 && !p.unpacked {
			if last := &p.spans[n-1]; w.At <= last.end+gap {
				p.Bytes += max(0, w.At+w.Len-last.end)
				last.end = max(last.end, w.At+w.Len)
				continue
			}
		}
		p.spans = append(p.spans, span{at: w.At, end: w.At + w.Len, in: p.Bytes})
		p.Bytes += w.Len
	}
	return nil
}

func (r *Reader) lacks(p *Place, c *column) error {
	for _, f := range r.d.index.Fields {
		if f.Name == c.parts[0] && f.Type != nil { // a column, which a table says it has
			return r.wrong(p, c, c.needsOne())
		}
	}
	var has []string
	for _, k := range p.parts {
		has = append(has, p.segment.Fields[k.Field].Name)
	}
	return fmt.Errorf("%w: %q; sample %d of %s has %s", ErrNoField, c.From, p.in, r.d.shards[p.shard].key, words.List(has))
}

// TooLarge returns the error for a sample of more bytes than may be.
func TooLarge(bytes, most int64) error {
	return fmt.Errorf("%w: %d bytes; the limit is %d, raise it with max_bytes", store.ErrTooLarge, bytes, most)
}

// Read reads the sample that was found by Locate into buf, which has room for Bytes. The
// values are in buf, or in memory of the Place until it is used again, or in memory of
// their own. The last result is how many bytes were read from files.
func (r *Reader) Read(ctx context.Context, p *Place, buf []byte) ([]Value, int64, error) {
	r.d.life.RLock()
	defer r.d.life.RUnlock()
	if r.d.closed {
		return nil, 0, ErrClosed
	}
	return r.read(ctx, p, buf)
}

func (r *Reader) read(ctx context.Context, p *Place, buf []byte) ([]Value, int64, error) {
	read := int64(0)
	if len(p.spans) > 0 {
		var err error
		if read, err = r.fill(ctx, p, buf); err != nil {
			return nil, read, err
		}
	}
	if f, ok := r.d.Format.(Preceded); ok {
		if err := r.d.compare(f, p, buf); err != nil {
			return nil, read, err
		}
	}
	p.values = slices.Grow(p.values[:0], len(r.columns))[:len(r.columns)]
	clear(p.values)
	p.numbers = p.numbers[:0]
	if cap(p.numbers) < 8*len(r.columns) {
		p.numbers = make([]byte, 0, 8*len(r.columns)) // so that values stay where they are
	}
	if len(r.want) > 0 {
		if err := r.record(p, buf); err != nil {
			return nil, read, err
		}
	}
	for k := range r.columns {
		if err := r.value(p, k, buf); err != nil {
			return nil, read, r.wrong(p, &r.columns[k], err)
		}
	}
	return p.values, read, nil
}

func (r *Reader) wrong(p *Place, c *column, err error) error {
	return fmt.Errorf("field %q: %w\nin %s, sample %d", c.From, err, r.d.shards[p.shard].key, p.in)
}

// fill reads all spans.
func (r *Reader) fill(ctx context.Context, p *Place, buf []byte) (read int64, err error) {
	if p.lends {
		if len(p.lent) < len(p.spans) {
			p.lent = slices.Grow(p.lent, len(p.spans)-len(p.lent))[:len(p.spans)]
		}
		lacks := false
		for k := range p.spans {
			s := &p.spans[k]
			part, n, err := r.d.lend(ctx, segmentOf{p.shard, p.segment}, &p.lent[k], s.at, s.end-s.at)
			if read += n; err != nil {
				return read, err
			}
			s.data, lacks = part, lacks || part == nil
		}
		if !lacks {
			return read, nil
		}
	}

	h, err := r.d.handles.take(p.shard)
	if err != nil {
		return read, err
	}
	defer r.d.handles.give(h)
	for _, s := range p.spans {
		if s.data != nil {
			continue
		}
		to, n := buf[s.in:][:s.end-s.at], int64(0)
		if p.unpacked {
			n, err = r.d.unpackInto(ctx, segmentOf{p.shard, p.segment}, h.file, s.at, to)
		} else if err = readFull(h.file, to, s.at); err == nil {
			n = int64(len(to))
		}
		if read += n; err != nil {
			return read, err
		}
	}
	return read, nil
}

// mostParsed is how much memory for parsed values a Place keeps.
const mostParsed = 1 << 20

// record parses a record, and gives columns their values.
func (r *Reader) record(p *Place, buf []byte) error {
	record := p.find(p.wires.record)
	if record == nil {
		return &Error{Shard: r.d.shards[p.shard].key, At: -1, Err: index.ErrDamaged}
	}
	if cap(p.parsed) > mostParsed {
		p.parsed = nil
	}
	p.fields = slices.Grow(p.fields[:0], len(r.want))[:len(r.want)]
	clear(p.fields)
	var err error
	if p.parsed, err = p.wires.parser.Parse(p.of(*record, buf), r.want, p.fields, p.parsed[:0]); err != nil {
		return fmt.Errorf("%w\nin %s, sample %d", err, r.d.shards[p.shard].key, p.in)
	}
	for k := range r.columns {
		if r.columns[k].how == field {
			p.values[k] = p.fields[r.columns[k].want]
		}
	}
	return nil
}

// present gives a column its value, if there is one.
func (r *Reader) present(p *Place, k int, buf []byte) error {
	c, into, at := &r.columns[k], &p.values[k], p.chosen[k]
	switch {
	case c.how == nothing, c.how == field && into.Null, c.ofPart() && at.Field < 0:
		return c.needsOne()
	}
	switch c.how {
	case key:
		into.Bytes = []byte(r.d.keyOf(p.shard, p.in))
		return nil
	case field:
		if isTexts(c.Type) {
			return c.texts(into, into.Bytes)
		}
		var err error
		if into.Bytes, err = c.utf8(into.Bytes); err != nil {
			return err
		}
		return fits(c.Type, into)
	case asIs:
		if into.Bytes = p.of(at, buf); isTexts(c.Type) {
			return c.texts(into, into.Bytes)
		}
		var err error
		if into.Bytes, err = c.utf8(into.Bytes); err != nil {
			return err
		}
		return fits(c.Type, into)
	case parsed:
		return p.number(into, func(dst []byte) ([]byte, error) { return appendParsed(dst, p.of(at, buf), c.Type.DType) })
	case decimal:
		digits, err := r.d.digitsOf(p.of(at, buf))
		if err != nil {
			return err
		}
		return c.decimal(p, into, digits)
	case codes:
		return p.number(into, func(dst []byte) ([]byte, error) { return c.code(dst, p.of(at, buf)) })
	case number, derived:
		if c.scaled {
			digits, err := r.digitsIn(p, &p.wires.number[k])
			if err == ErrNoValue {
				return c.needsOne()
			}
			if err != nil {
				return err
			}
			return c.decimal(p, into, digits)
		}
		return p.number(into, func(dst []byte) ([]byte, error) { return r.indexed(p, c.Type.DType, &p.wires.number[k], dst) })
	}
	found, err := c.member(p.of(at, buf))
	if err == ErrNoValue {
		return c.needsOne()
	}
	if err != nil {
		return err
	}
	if !isOf(found, c.Type, c.as) {
		return fmt.Errorf("%w: it is %.40s, and the first value is %v: "+convert, ErrCorrupt, found, c.Type)
	}
	if isTexts(c.Type) {
		stream, err := appendTexts(nil, found, len(c.Type.Shape), 1, c.as)
		if err != nil {
			return err
		}
		return c.texts(into, stream)
	}
	if len(c.Type.Shape) > 0 && c.Type.Kind == sample.Tensor {
		return p.number(into, func(dst []byte) (all []byte, err error) {
			all, into.Shape, err = appendList(dst, found, c.Type, c.as)
			return all, err
		})
	}
	text, err := plain(found)
	if err != nil {
		return err
	}
	if c.Type.Kind != sample.Tensor {
		into.Bytes, err = c.utf8(text)
		return err
	}
	return p.number(into, func(dst []byte) ([]byte, error) { return appendParsed(dst, text, c.Type.DType) })
}

// indexed appends a number that is in the index. A shard that lacks it has it in no
// sample.
func (r *Reader) indexed(p *Place, d tensor.DType, n *numbered, dst []byte) ([]byte, error) {
	if n.at < 0 {
		return appendNull(dst, d)
	}
	if n.real {
		v, err := p.segment.Float(p.in, n.at)
		if err != nil {
			return nil, err
		}
		return appendReal(dst, v, d)
	}
	if n.some {
		none, err := p.segment.None(p.in, n.at)
		if err != nil {
			return nil, err
		}
		if none {
			return appendNull(dst, d)
		}
	}
	v, err := p.segment.Int(p.in, n.at)
	if err != nil {
		return nil, err
	}
	return appendBits(dst, v, n.dtype, d)
}

// hasPart tells whether a sample has a part.
func (d *Dataset) hasPart(i int64, name string) bool {
	n, in := d.index.Find(i)
	s, err := d.segment(n)
	if err != nil {
		return false
	}
	return s.Has(in, name)
}

// searched is how many samples of a shard are looked at for one that lacks a field.
const searched = 1 << 16

// Without says where the first sample is that lacks a part or a number: ", as in sample
// 3 of a.parquet".
func (d *Dataset) Without(name string) (where string, err error) {
	for n := range d.shards {
		s, err := d.segment(n)
		if err != nil {
			return "", err
		}
		for i := range min(s.Len(), searched) {
			if !s.Has(i, name) {
				return fmt.Sprintf(", as in sample %d of %s", i, d.shards[n].key), nil
			}
		}
	}
	return "", nil
}

// part reads one part of a sample, as it is.
func (d *Dataset) part(ctx context.Context, i int64, name string) ([]byte, error) {
	r := &Reader{d: d, wiring: make([]wiringOf, len(d.shards)),
		columns: []column{{how: asIs, parts: []string{name}, Column: Column{From: name, Type: sample.BytesType}}}}
	var p Place
	if err := r.Locate(i, &p); err != nil {
		return nil, err
	}
	values, _, err := r.Read(ctx, &p, make([]byte, p.Bytes))
	if err != nil {
		return nil, err
	}
	return values[0].Bytes, nil
}
